// How to begin, with the address of this server.

import { cli } from "../lib/actions.mjs";
import { app } from "../lib/app.mjs";
import { quoted } from "../lib/command-line.mjs";
import { html, useState } from "../lib/html.mjs";
import { Copy } from "./basics.mjs";

/** @param {string} url @param {string} workspace @returns {Record<string, string>} */
const snippets = (url, workspace) => ({
  Demo: `BATON_URL=${url} baton demo --for 60s`,
  "Command line": `export BATON_URL=${url}
${cli`task create summarise`}
${cli`watch`}`,
  Python: `import baton

client = baton.connect("${url}")
ada = client.workspace("${workspace}", agent="ada")
ada.tasks.create("summarise", definition={"paper": 7})`,
  JavaScript: `import { connect } from "@baton/sdk";

const baton = await connect("${url}");
const ada = baton.workspace("${workspace}", { agent: "ada" });
await ada.tasks.create("summarise", { definition: { paper: 7 } });`,
  HTTP: `curl -sf ${quoted(`${url}/v1/${encodeURIComponent(workspace)}/tasks`)} -H 'Baton-Agent: ada' \\
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
