// The keys.

import { app } from "../lib/app.mjs";
import { html, useEffect, useRef } from "../lib/html.mjs";
import { VIEWS } from "../lib/views.mjs";

const KEYS = [
  ["/ or ctrl-k", "search, or jump to a view"],
  ["j, k or arrows", "move in a list"],
  ["enter", "open what is selected"],
  ["[ and ]", "one revision back, or forward"],
  ["p", "pause or resume updates"],
  ["escape", "close; leave the past"],
  ["?", "this help"],
];

export function Help() {
  const element = useRef(/** @type {any} */ (null));
  useEffect(() => element.current?.showModal(), []);
  const close = () => {
    app.isHelpOpen = false;
    app.changed();
  };
  const rows = [...KEYS, ...VIEWS.map(({ name, key }) => [`g ${key}`, name])];
  return html`<dialog ref=${element} class="dialog" aria-labelledby="help-title" onClose=${close}>
    <h2 id="help-title">Keyboard</h2>
    <dl class="keys">
      ${rows.map(([key, words]) => html`<div key=${key}><dt><kbd>${key}</kbd></dt><dd>${words}</dd></div>`)}
    </dl>
    <div class="dialog-buttons">
      <button type="button" class="button primary" onClick=${close}>Close</button>
    </div>
  </dialog>`;
}
