// Asks before something is done: says the effect, and takes what it needs.

import { app } from "../lib/app.mjs";
import { compact } from "../lib/json-text.mjs";
import { classes, html, useEffect, useRef, useState } from "../lib/html.mjs";
import { Copy, Problem } from "./basics.mjs";

/** @import { Field } from "../lib/app.mjs" */

/** What was filled in; JSON as its text. @param {Field} field @param {string} text */
function read({ type, label, isOptional }, text) {
  if (type === "json") {
    if (text.trim() === "" && isOptional) return undefined;
    try {
      return compact(text);
    } catch (error) {
      throw new Error(`${label} is not JSON: ${/** @type {Error} */ (error).message}`);
    }
  }
  if (text.trim() === "" && isOptional) return undefined;
  if (text.trim() === "") throw new Error(`${label} is missing`);
  return text;
}

/**
 * The page is rendered again while a person types, so a field is given its value only at first.
 * @param {{ field: Field, autofocus: boolean }} props
 */
function Input({ field, autofocus }) {
  const { name, label, type = "text", value = "", options = [], isOptional } = field;
  const common = { name, id: `field-${name}`, "data-autofocus": autofocus || undefined };
  return html`<label class="field" for=${common.id}>
    <span>${label}${isOptional && html` <small class="faint">optional</small>`}</span>
    ${
      type === "json"
        ? html`<textarea ...${common} rows="8" spellcheck=${false}>${value}</textarea>`
        : type === "select"
          ? html`<select ...${common}>
            ${options.map((it) => html`<option value=${it} selected=${it === value}>${it}</option>`)}
          </select>`
          : html`<input ...${common} type="text" defaultValue=${value} autocomplete="off" />`
    }
  </label>`;
}

export function Dialog() {
  const element = useRef(/** @type {any} */ (null));
  const [wrong, setWrong] = useState(/** @type {any} */ (undefined));
  useEffect(() => {
    const before = document.activeElement;
    element.current?.showModal();
    element.current?.querySelector("[data-autofocus], .confirm")?.focus();
    return () => /** @type {any} */ (before)?.focus?.();
  }, []);
  const { dialog } = app;
  // A button that is disabled, as while the action runs, loses the focus to the page below.
  useEffect(() => {
    if (dialog?.error && !element.current?.contains(document.activeElement))
      element.current?.querySelector(".confirm")?.focus();
  }, [dialog?.error]);
  if (!dialog) return null;
  const fields = dialog.fields ?? [];
  const submit = (/** @type {any} */ event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    try {
      const entries = fields.map((it) => [it.name, read(it, String(form.get(it.name) ?? ""))]);
      setWrong(undefined);
      void app.confirmDialog(Object.fromEntries(entries));
    } catch (error) {
      setWrong(error);
    }
  };
  return html`<dialog
    ref=${element}
    class="dialog"
    aria-labelledby="dialog-title"
    onCancel=${(/** @type {Event} */ event) => {
      event.preventDefault();
      app.closeDialog();
    }}
  >
    <form method="dialog" onSubmit=${submit}>
      <h2 id="dialog-title">${dialog.label}</h2>
      <p>${dialog.effect}</p>
      ${fields.map((field, index) => html`<${Input} key=${field.name} field=${field} autofocus=${index === 0} />`)}
      ${dialog.cli && html`<p class="cli">Command line: <${Copy} text=${dialog.cli} /></p>`}
      <${Problem} error=${wrong ?? dialog.error} />
      <div class="dialog-buttons">
        <button type="button" class="button" onClick=${() => app.closeDialog()}>Keep as it is</button>
        <button
          type="submit"
          class=${classes("button", "confirm", dialog.isDangerous ? "danger" : "primary")}
          disabled=${dialog.isBusy}
        >
          ${dialog.label}
        </button>
      </div>
    </form>
  </dialog>`;
}
