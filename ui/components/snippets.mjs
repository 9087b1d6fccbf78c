// How to begin, with the address of this server.

import { app } from "../lib/app.mjs";
import { html, useState } from "../lib/html.mjs";
import { Copy } from "./basics.mjs";

/** @param {string} url @param {string} workspace @returns {Record<string, string>} */
const snippets = (url, workspace) => ({
  Demo: `BATON_URL=${url} baton demo --for 60s`,
  "Command line": `export BATON_URL=${url}
baton --workspace ${workspace} task create summarise
baton --workspace ${workspace} watch`,
  Python: `import baton

client = baton.connect("${url}")
ada = client.workspace("${workspace}", agent="ada")
ada.tasks.create("summarise", definition={"paper": 7})`,
  JavaScript: `import { connect } from "@baton/sdk";

const baton = await connect("${url}");
const ada = baton.workspace("${workspace}", { agent: "ada" });
await ada.tasks.create("summarise", { definition: { paper: 7 } });`,
  HTTP: `curl -sf ${url}/v1/${workspace}/tasks -H 'Baton-Agent: ada' \\
  -H 'content-type: application/json' -d '{"type": "summarise"}'`,
});

export function Snippets() {
  const all = snippets(location.origin, app.route.workspace || "default");
  const [chosen, choose] = useState("Demo");
  const text = all[chosen] ?? "";
  return html`<div class="snippets">
    <div class="tabs" role="group" aria-label="Languages">
      ${Object.keys(all).map(
        (name) =>
          html`<button type="button" key=${name} aria-pressed=${name === chosen} onClick=${() => choose(name)}>${name}</button>`,
      )}
    </div>
    <pre class="text" tabindex="0">${text}</pre>
    <${Copy} text=${text} label="Copy" />
  </div>`;
}
