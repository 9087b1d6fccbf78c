// The command palette: views, workspaces, and whatever the index of the server finds.

import { app } from "../lib/app.mjs";
import { classes, html, useEffect, useRef, useState } from "../lib/html.mjs";
import { formatRoute, placeOf } from "../lib/route.mjs";
import { token } from "../lib/session.mjs";
import { nextTheme } from "../lib/theme.mjs";
import { VIEWS } from "../lib/views.mjs";

/** @typedef {{ name: string, note: string, run: () => void }} Entry */

const FOUND_MAX = 20;
/** The index is asked when nothing was typed for so long. */
const PAUSE_MS = 150;

/** @returns {Entry[]} */
const commands = () => [
  ...VIEWS.map(({ id, name, key }) => ({ name, note: `g ${key}`, run: () => app.go(id) })),
  ...app.workspaces.map((workspace) => ({
    name: `Workspace ${workspace}`,
    note: "open",
    run: () => void (location.hash = formatRoute({ workspace, view: "now" })),
  })),
  { name: "Switch theme", note: "", run: nextTheme },
  {
    name: app.isPaused ? "Resume updates" : "Pause updates",
    note: "p",
    run: () => app.togglePause(),
  },
  { name: "Keyboard help", note: "?", run: () => void (app.isHelpOpen = true) },
  ...(token() ? [{ name: "Sign out", note: "forgets the token", run: () => app.signOut() }] : []),
];

/** @param {string} text @returns {Promise<Entry[]>} */
async function search(text) {
  const found = await app.workspace?.search(text, { limit: FOUND_MAX }).catch(() => undefined);
  return (found?.found ?? []).map(({ subject, kind, fields }) => {
    const place = placeOf(subject);
    const about = /** @type {any} */ (fields);
    return {
      name: subject,
      note: [kind, about.type, about.status].filter(Boolean).join(" · "),
      run: () => (place ? app.go(place.view, place.path) : app.go("events", [], { subject })),
    };
  });
}

export function Palette() {
  const element = useRef(/** @type {any} */ (null));
  const [text, setText] = useState("");
  const [index, setIndex] = useState(0);
  const [found, setFound] = useState(/** @type {Entry[]} */ ([]));
  useEffect(() => {
    const before = document.activeElement;
    element.current?.showModal();
    return () => /** @type {any} */ (before)?.focus?.();
  }, []);
  useEffect(() => {
    if (text.trim().length < 2 || app.at !== undefined) return setFound([]);
    const timer = setTimeout(() => void search(text.trim()).then(setFound), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const close = () => {
    app.isPaletteOpen = false;
    app.changed();
  };
  const wanted = text.toLowerCase();
  /** @type {Entry[]} */
  const jump =
    /^[\w.-]+$/.test(text) && text.length > 2
      ? [{ name: `Task ${text}`, note: "open by id", run: () => app.go("tasks", [text]) }]
      : [];
  const shown = [
    ...commands().filter(({ name }) => name.toLowerCase().includes(wanted)),
    ...found,
    ...jump,
  ];
  const chosen = Math.min(index, shown.length - 1);
  const choose = (/** @type {Entry | undefined} */ entry) => {
    close();
    entry?.run();
    app.changed();
  };
  const onKey = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "ArrowDown") setIndex(Math.min(chosen + 1, shown.length - 1));
    else if (event.key === "ArrowUp") setIndex(Math.max(chosen - 1, 0));
    else if (event.key === "Enter") choose(shown[chosen]);
    else return;
    event.preventDefault();
  };
  return html`<dialog
    ref=${element}
    class="dialog palette"
    aria-label="Search or jump to"
    onCancel=${(/** @type {Event} */ event) => {
      event.preventDefault();
      close();
    }}
    onClick=${(/** @type {any} */ event) => event.target === element.current && close()}
  >
    <input
      type="text"
      role="combobox"
      aria-expanded="true"
      aria-controls="palette-list"
      aria-activedescendant=${`palette-${chosen}`}
      aria-label="Search tasks, messages, keys and events, or jump to a view"
      placeholder="Search, or jump to a view: status:failed, key:plan/**, words"
      value=${text}
      onInput=${(/** @type {any} */ event) => {
        setText(event.target.value);
        setIndex(0);
      }}
      onKeyDown=${onKey}
    />
    <ul id="palette-list" role="listbox" aria-label="Results">
      ${shown.map(
        (entry, position) => html`<li
          key=${entry.name + position}
          id=${`palette-${position}`}
          role="option"
          aria-selected=${position === chosen}
          class=${classes(position === chosen && "chosen")}
          onClick=${() => choose(entry)}
        >
          <span>${entry.name}</span><small>${entry.note}</small>
        </li>`,
      )}
      ${shown.length === 0 && html`<li class="faint" role="option" aria-selected="false">Nothing found</li>`}
    </ul>
  </dialog>`;
}
