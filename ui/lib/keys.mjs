// Keys that work on every page.

import { openPalette } from "../components/shell.mjs";
import { step } from "../components/slider.mjs";
import { app } from "./app.mjs";
import { VIEWS } from "./views.mjs";

/** How long the second key of `g t` may take. */
const SEQUENCE_MS = 1_200;

let startedAt = 0;

/** Whether a key is meant for what is being typed into. @param {EventTarget | null} target */
function isTyping(target) {
  const element = /** @type {HTMLElement | null} */ (target);
  return Boolean(element?.closest?.("input:not([type=range]), textarea, select"));
}

/** Whether a dialog is open, which has all keys, wherever the focus is. */
const isModal = () => document.querySelector("dialog[open]") !== null;

/** Moves the focus to the next row of a list. @param {number} by */
function moveInList(by) {
  const rows = [...document.querySelectorAll("#main [data-row]")];
  if (rows.length === 0) return;
  const at = rows.findIndex((row) => row.contains(document.activeElement));
  const next = rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : at + by];
  const element = /** @type {HTMLElement | undefined} */ (next);
  element?.focus();
  element?.scrollIntoView({ block: "nearest" });
}

/** @type {Record<string, () => void>} */
const ACTIONS = {
  "/": openPalette,
  j: () => moveInList(1),
  k: () => moveInList(-1),
  p: () => app.togglePause(),
  "[": () => step(-1),
  "]": () => app.at !== undefined && step(1),
  "?": () => {
    app.isHelpOpen = true;
    app.changed();
  },
  g: () => void (startedAt = Date.now()),
  Escape: () => app.at !== undefined && app.setQuery({ at: undefined }),
};

/** @param {KeyboardEvent} event */
function onKey(event) {
  if (app.phase !== "open") return;
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
    event.preventDefault();
    if (!isModal()) openPalette();
    return;
  }
  if (isModal()) return;
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  if (Date.now() - startedAt < SEQUENCE_MS) {
    startedAt = 0;
    const view = VIEWS.find(({ key }) => key === event.key);
    if (view) {
      event.preventDefault();
      app.go(view.id);
      return;
    }
  }
  const isRow = /** @type {HTMLElement} */ (event.target)?.dataset?.row !== undefined;
  if (isRow && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
    event.preventDefault();
    moveInList(event.key === "ArrowDown" ? 1 : -1);
    return;
  }
  const action = ACTIONS[event.key];
  if (!action) return;
  event.preventDefault();
  action();
}

export const listenForKeys = () => document.addEventListener("keydown", onKey);
