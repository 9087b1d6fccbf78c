// Values: as a tree that opens, as text, and as the difference of two.

import { diffLines } from "../lib/diff.mjs";
import { preview } from "../lib/format.mjs";
import { classes, html, useState } from "../lib/html.mjs";
import { indented, numberText } from "../lib/json-text.mjs";

/** How deep a tree is open at first. */
const OPEN_DEPTH = 2;
/** How many members are shown at once. */
const MEMBERS_MAX = 200;

/** @param {{ value: any, name?: string, depth?: number }} props @returns {any} */
function Node({ value, name, depth = 0 }) {
  const [isOpen, setOpen] = useState(depth < OPEN_DEPTH);
  const [max, setMax] = useState(MEMBERS_MAX);
  const label = name === undefined ? null : html`<span class="json-name">${name}: </span>`;
  const digits = numberText(value);
  if (value === null || typeof value !== "object" || digits) {
    const kind = value === null ? "null" : digits ? "number" : typeof value;
    const text = typeof value === "string" ? `"${value}"` : (digits ?? String(value));
    return html`<div class="json-row">${label}<span class=${`json-${kind}`}>${text}</span></div>`;
  }
  const members = Object.entries(value);
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  if (members.length === 0) return html`<div class="json-row">${label}${open}${close}</div>`;
  return html`<div>
    <button
      type="button"
      class="json-row json-toggle"
      aria-expanded=${isOpen}
      onClick=${() => setOpen(!isOpen)}
    >
      <span class="json-mark" aria-hidden="true">${isOpen ? "▾" : "▸"}</span>${label}
      ${isOpen ? open : preview(value, 80)}
    </button>
    ${
      isOpen &&
      html`<div class="json-members">
        ${members
          .slice(0, max)
          .map(
            ([key, member]) =>
              html`<${Node} key=${key} name=${key} value=${member} depth=${depth + 1} />`,
          )}
        ${
          members.length > max &&
          html`<button type="button" class="button" onClick=${() => setMax(max + MEMBERS_MAX)}>
          ${members.length - max} more
        </button>`
        }
      </div>
      <div class="json-row">${close}</div>`
    }
  </div>`;
}

/** A value; `text` is its JSON, if that is known as it was written. @param {{ value: any, text?: string }} props */
export function Json({ value, text }) {
  const [isRaw, setRaw] = useState(false);
  if (value === undefined) return html`<p class="faint pad">None.</p>`;
  if (typeof value === "string") return html`<pre class="text">${value}</pre>`;
  return html`<div class="json">
    <button type="button" class="json-raw" aria-pressed=${isRaw} onClick=${() => setRaw(!isRaw)}>
      ${isRaw ? "tree" : "text"}
    </button>
    ${
      isRaw
        ? html`<pre class="text">${text === undefined ? JSON.stringify(value, null, 2) : indented(text)}</pre>`
        : html`<${Node} value=${value} />`
    }
  </div>`;
}

const MARKS = { same: " ", added: "+", removed: "−" };

/** @param {{ before: any, after: any }} props */
export function Diff({ before, after }) {
  const lines = diffLines(before, after);
  return html`<div class="diff" role="figure" aria-label="The difference">
    ${lines.map(
      ({ kind, text }, index) =>
        html`<div key=${index} class=${classes("diff-line", `diff-${kind}`)}
          ><span aria-hidden="true">${MARKS[kind]}</span> ${text}</div
        >`,
    )}
  </div>`;
}
