// Tasks: a table, a board and a timeline of the same query; and one task.

import {
  ActionButton,
  AgentLink,
  Empty,
  Page,
  Progress,
  Status,
  Tabs,
  Time,
} from "../components/basics.mjs";
import { Table } from "../components/table.mjs";
import { createTaskAction, taskActions } from "../lib/actions.mjs";
import { app } from "../lib/app.mjs";
import { count, plural, words } from "../lib/format.mjs";
import { fieldOf, listFields, matches, parseFilter, withField } from "../lib/filter.mjs";
import { useChanges, useQuery, useTaskRows } from "../lib/hooks.mjs";
import { html, useEffect, useState } from "../lib/html.mjs";
import { FOUND_MAX, found, listed } from "../lib/task-lists.mjs";
import { Board, STATUSES, Timeline } from "./task-board.mjs";
import { TaskPage } from "./task.mjs";

/** @import { Rows } from "../components/table.mjs" */
/** @import { TaskRows } from "../lib/task-rows.mjs" */

/** The past is listed up to so many tasks: as many as one answer has. */
const LIMIT = 10_000;

/** @typedef {{ tasks: Rows<any> | undefined, rows?: TaskRows, error: any, note: string }} Listed */

/** The tasks that match a filter: from the list, or from the index. @param {string} text @returns {Listed} */
function useTasks(text) {
  const { at } = app;
  const fields = listFields(text);
  // The index knows the present only. The past is listed whole, and filtered here.
  const past = useQuery(at === undefined ? undefined : "task.list", { ...fields, limit: LIMIT });
  const rows = useTaskRows(`${at === undefined} ${text}`, () => {
    if (at !== undefined) return undefined;
    return fields ? listed(fields) : found(text);
  });
  if (rows) {
    const { isLoading, isMore, error, ids } = rows;
    const tasks = isLoading && ids.length === 0 ? undefined : lazily(rows);
    const more = isMore || (!fields && ids.length >= FOUND_MAX) ? " and more: narrow the filter" : "";
    const note = `${plural(ids.length, "task")}${isLoading && rows.waiting > 0 ? ", loading…" : more}`;
    return { tasks, rows, error, note };
  }
  const terms = parseFilter(text);
  const all = past.data?.tasks.filter((/** @type {any} */ task) => matches(task, terms));
  const tasks = all?.sort((/** @type {any} */ a, /** @type {any} */ b) => b.revision - a.revision);
  const more = past.data?.cursor ? " and more: narrow the filter" : "";
  return { tasks, error: past.error, note: tasks && `${plural(tasks.length, "task")}${more}` };
}

/** Rows that are looked up when they are shown. @param {TaskRows} rows @returns {Rows<any>} */
function lazily({ ids }) {
  return {
    length: ids.length,
    at: (index) => app.store.get("task", ids[index] ?? "") ?? { id: ids[index] },
  };
}

/** @type {import("../components/table.mjs").Column[]} */
const COLUMNS = [
  { name: "Task", width: 150, cell: (it) => html`<span class="id">${it.id}</span>` },
  {
    name: "Description",
    class: "grow",
    cell: (it) => html`<span class="clip">${it.description ?? ""}</span>`,
  },
  { name: "Type", width: 110, cell: (it) => it.type },
  { name: "Status", width: 130, cell: (it) => it.status && html`<${Status} status=${it.status} />` },
  {
    name: "Agent",
    width: 110,
    cell: (it) => html`<${AgentLink} agent=${it.lease?.holder ?? it.assigned_agent} />`,
  },
  {
    name: "Progress",
    width: 130,
    cell: ({ progress }) =>
      progress &&
      html`<${Progress} fraction=${progress.fraction} label=${`${Math.round(100 * progress.fraction)} % ${progress.note ?? ""}`} />`,
  },
  { name: "Attempts", width: 84, class: "number", cell: (it) => it.attempts },
  { name: "Changed", width: 120, cell: (it) => html`<${Time} time=${it.updated_at} />` },
];

/** Whether a person looks at rows that must not move: scrolled to, pointed at, in focus. */
function isLookedAt() {
  const box = document.querySelector("#main .table-box");
  const isScrolled = (box?.scrollTop ?? 0) > 0 || (document.scrollingElement?.scrollTop ?? 0) > 0;
  return isScrolled || Boolean(box?.querySelector("tr:hover, tr:focus-within"));
}

/** @param {{ tasks: Rows<any>, rows?: TaskRows, text: string }} props */
function TaskTable({ tasks, rows, text }) {
  const [selection, setSelection] = useState(/** @type {Set<string>} */ (new Set()));
  const select = (/** @type {string} */ id, /** @type {boolean} */ isOn) =>
    setSelection((old) => new Set(isOn ? [...old, id] : [...old].filter((it) => it !== id)));
  const terms = parseFilter(text);
  const chosen = [...selection].map((id) => app.store.get("task", id)).filter(Boolean);
  useEffect(() => {
    if (!app.isPaused) rows?.settle(selection.size > 0 || isLookedAt());
  });
  return html`${chosen.length > 0 && html`<${Bulk} tasks=${chosen} done=${() => setSelection(new Set())} />`}
    <div class="table-with-new">
    ${rows && html`<${NewRows} rows=${rows} />`}
    <${Table}
      label="Tasks"
      rows=${tasks}
      columns=${COLUMNS}
      id=${(/** @type {any} */ it) => it.id}
      isDim=${(/** @type {any} */ it) => it.type !== undefined && !matches(it, terms)}
      onOpen=${(/** @type {any} */ it) => app.go("tasks", [it.id])}
      onView=${(/** @type {number} */ first, /** @type {number} */ last) => rows?.show(first, last)}
      selection=${selection}
      onSelect=${app.may("worker") && app.at === undefined ? select : undefined}
    /></div>`;
}

/** Rows that wait until the reader wants them. @param {{ rows: TaskRows }} props */
function NewRows({ rows }) {
  if (rows.isLoading || (rows.waiting === 0 && !rows.isOutdated)) return null;
  const show = () => {
    rows.refresh();
    document.querySelector("#main .table-box")?.scrollTo(0, 0);
  };
  return html`<button type="button" class="button new-rows" onClick=${show}>
    ${rows.waiting > 0 ? `${count(rows.waiting)} new ↑` : "Read again ↑"}
  </button>`;
}

/** Actions on several tasks. @param {{ tasks: any[], done: () => void }} props */
function Bulk({ tasks, done }) {
  const all = (/** @type {string} */ label) =>
    tasks.flatMap((task) => taskActions(task).filter((action) => action.label === label));
  const bulk = ["Retry", "Cancel", "Release"].map((label) => ({ label, actions: all(label) }));
  return html`<div class="bulk" role="group" aria-label="Selected tasks">
    <span>${plural(tasks.length, "task")} selected</span>
    ${bulk
      .filter(({ actions }) => actions.length > 0)
      .map(
        ({ label, actions }) => html`<${ActionButton}
          key=${label}
          action=${{
            label: `${label} ${actions.length}`,
            effect: `${label}: ${plural(actions.length, "task")} of those selected. ${actions[0]?.effect ?? ""}`,
            isDangerous: true,
            fields: [{ name: "reason", label: "Reason", isOptional: true }],
            run: async (/** @type {any} */ values) => {
              const ended = await Promise.allSettled(actions.map((action) => action.run(values)));
              const refused = ended.filter(({ status }) => status === "rejected").length;
              done();
              return `${label}: ${actions.length - refused} done${refused ? `, ${refused} refused` : ""}`;
            },
          }}
        />`,
      )}
    <button type="button" class="button" onClick=${done}>Select none</button>
  </div>`;
}

/** @param {{ text: string }} props */
function FilterBar({ text }) {
  const stats = useQuery("task.stats");
  const [draft, setDraft] = useState(text);
  useEffect(() => setDraft(text), [text]);
  const counts = stats.data?.tasks ?? {};
  const chosen = fieldOf(text, "status");
  const apply = (/** @type {any} */ event) => {
    event.preventDefault();
    app.setQuery({ q: draft.trim() || undefined });
  };
  return html`<form class="filter" onSubmit=${apply} role="search">
      <input
        type="text"
        aria-label="Filter"
        placeholder="status:failed type:review agent:ada words"
        value=${draft}
        onInput=${(/** @type {any} */ event) => setDraft(event.target.value)}
      />
      <button type="submit" class="button">Filter</button>
    </form>
    <div class="chips" role="group" aria-label="Status">
      ${["", ...STATUSES].map(
        (status) => html`<button
          type="button"
          key=${status}
          aria-pressed=${chosen === status}
          onClick=${() => app.setQuery({ q: withField(text, "status", status) || undefined })}
        >
          ${status === "" ? "all" : words(status)} ${status !== "" && html`<span class="faint">${counts[status] ?? ""}</span>`}
        </button>`,
      )}
    </div>`;
}

/** @param {{ show: string, tasks: Rows<any>, rows?: TaskRows, text: string }} props */
function Shown({ show, tasks, rows, text }) {
  if (show === "table") return html`<${TaskTable} tasks=${tasks} rows=${rows} text=${text} />`;
  const known = rows ? rows.tasks() : /** @type {any[]} */ (tasks);
  if (show === "board") return html`<${Board} tasks=${known} rows=${rows} />`;
  return html`<${Timeline} tasks=${known} rows=${rows} />`;
}

function TaskList() {
  const text = app.route.query.q ?? "";
  const show = app.route.query.view ?? "table";
  const { tasks, rows, error, note } = useTasks(text);
  const isEmpty = tasks?.length === 0 && !rows?.isLoading;
  const tabs = html`<${Tabs} label="View" name="view" value=${show} tabs=${[
    ["table", "Table"],
    ["board", "Board"],
    ["timeline", "Timeline"],
  ]} />`;
  return html`<${Page} title="Tasks" note=${note} error=${error} tools=${html`${tabs}<${ActionButton} class="primary" action=${createTaskAction()} />`}>
    <${FilterBar} text=${text} />
    ${
      isEmpty &&
      html`<${Empty} title=${text ? "No task matches" : "No tasks yet"}>
      <p>Tasks are work that agents claim.</p><pre class="text">baton task create summarise</pre>
    <//>`
    }
    ${tasks && !isEmpty && html`<${Shown} show=${show} tasks=${tasks} rows=${rows} text=${text} />`}
  <//>`;
}

export function Tasks() {
  useChanges();
  const [id] = app.route.path;
  return id ? html`<${TaskPage} id=${id} />` : html`<${TaskList} />`;
}
