// Asks for a token if the server requires one. It is kept for this tab, and never in the address.

import { app } from "../lib/app.mjs";
import { html } from "../lib/html.mjs";
import { keepToken, token } from "../lib/session.mjs";
import { Copy, Problem } from "./basics.mjs";
import { Icon } from "./icon.mjs";

export function SignIn() {
  const isFailed = app.phase === "failed";
  const wasGiven = token() !== undefined || app.problem?.code !== "access.no_token";
  const submit = (/** @type {any} */ event) => {
    event.preventDefault();
    const given = String(new FormData(event.target).get("token") ?? "").trim();
    keepToken(given === "" ? undefined : given);
    void app.signIn();
  };
  return html`<main class="signin">
    <h1><${Icon} name="baton" /> Baton</h1>
    ${
      isFailed
        ? html`<p>The server cannot be reached.</p>
          <${Problem} error=${app.problem} />
          <button type="button" class="button primary" onClick=${() => void app.signIn()}>
            Try again
          </button>`
        : html`<form onSubmit=${submit}>
          <p>This server requires an access token.</p>
          ${wasGiven && html`<${Problem} error=${app.problem} />`}
          <label class="field" for="token">
            <span>Token</span>
            <input id="token" name="token" type="password" autocomplete="off" spellcheck=${false} />
          </label>
          <button type="submit" class="button primary">Sign in</button>
          <p class="faint">
            It is kept until this tab is closed. An admin creates tokens with
            <${Copy} text="baton token create me --role operator" />
          </p>
        </form>`
    }
  </main>`;
}
