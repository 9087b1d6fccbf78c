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
import { Spans } from "../components/spans.mjs";
import { Table } from "../components/table.mjs";
import { createTaskAction, taskActions } from "../lib/actions.mjs";
import { app } from "../lib/app.mjs";
import { count, plural, words } from "../lib/format.mjs";
import { fieldOf, listFields, matches, parseFilter, withField } from "../lib/filter.mjs";
import { useChanges, useQuery } from "../lib/hooks.mjs";
import { html, useEffect, useState } from "../lib/html.mjs";
import { TaskPage } from "./task.mjs";

const STATUSES = [
  "in_progress",
  "pending",
  "handed_off",
  "waiting_review",
  "completed",
  "failed",
  "cancelled",
];
/** The server answers with so many tasks at most. */
const LIMIT = 10_000;
/** So many results of the index are read one by one. */
const FOUND_MAX = 200;
/** Acting on more than so many at once asks again. */
const LANES_MAX = 60;

/** The tasks that match a filter: from the list, or from the index. @param {string} text */
function useTasks(text) {
  const { at } = app;
  const fields = listFields(text);
  // The index knows the present only. The past is listed whole, and filtered here.
  const isListed = fields !== undefined || at !== undefined;
  const listed = useQuery(isListed ? "task.list" : undefined, {
    ...(fields ?? {}),
    limit: LIMIT,
  });
  const search = { query: `kind:task ${text}`, limit: FOUND_MAX };
  const found = useQuery(isListed ? undefined : "workspace.search", search);
  const [read, setRead] = useState(/** @type {any[] | undefined} */ (undefined));
  const ids = found.data?.found.map((/** @type {any} */ { subject }) =>
    subject.slice("tasks/".length),
  );
  const key = ids?.join(" ");
  useEffect(() => {
    if (!ids) return setRead(undefined);
    const { workspace } = app;
    void Promise.all(
      ids.map((/** @type {string} */ id) => workspace?.tasks.get(id).catch(() => undefined)),
    ).then((tasks) => {
      for (const task of tasks) if (task) app.store.put("task", task.id, task);
      setRead(tasks.filter(Boolean).map(({ id }) => id));
    });
  }, [key, found.revision]);
  const terms = parseFilter(text);
  if (!isListed) {
    const tasks = read?.map((id) => app.store.get("task", id)).filter(Boolean);
    return { tasks, terms, error: found.error, isMore: Boolean(found.data?.cursor) };
  }
  const all = listed.data?.tasks;
  const tasks = fields ? all : all?.filter((/** @type {any} */ task) => matches(task, terms));
  return { tasks, terms, error: listed.error, isMore: Boolean(listed.data?.cursor) };
}

/** Newest first. @param {any[]} tasks */
const sorted = (tasks) => [...tasks].sort((a, b) => (a.updated_at < b.updated_at ? 1 : -1));

const COLUMNS = [
  { name: "Task", cell: (/** @type {any} */ it) => html`<span class="id">${it.id}</span>` },
  {
    name: "Description",
    class: "grow",
    cell: (/** @type {any} */ it) => html`<span class="clip">${it.description ?? ""}</span>`,
  },
  { name: "Type", cell: (/** @type {any} */ it) => it.type },
  { name: "Status", cell: (/** @type {any} */ it) => html`<${Status} status=${it.status} />` },
  {
    name: "Agent",
    cell: (/** @type {any} */ it) =>
      html`<${AgentLink} agent=${it.lease?.holder ?? it.assigned_agent} />`,
  },
  {
    name: "Progress",
    cell: (/** @type {any} */ { progress }) =>
      progress &&
      html`<${Progress} fraction=${progress.fraction} label=${`${Math.round(100 * progress.fraction)} % ${progress.note ?? ""}`} />`,
  },
  { name: "Attempts", class: "number", cell: (/** @type {any} */ it) => it.attempts },
  { name: "Changed", cell: (/** @type {any} */ it) => html`<${Time} time=${it.updated_at} />` },
];

/** @param {{ tasks: any[], terms: any[] }} props */
function TaskTable({ tasks, terms }) {
  const [selection, setSelection] = useState(/** @type {Set<string>} */ (new Set()));
  const select = (/** @type {string} */ id, /** @type {boolean} */ isOn) => {
    const next = new Set(selection);
    if (isOn) next.add(id);
    else next.delete(id);
    setSelection(next);
  };
  const chosen = tasks.filter(({ id }) => selection.has(id));
  return html`${chosen.length > 0 && html`<${Bulk} tasks=${chosen} done=${() => setSelection(new Set())} />`}
    <${Table}
      label="Tasks"
      rows=${tasks}
      columns=${COLUMNS}
      id=${(/** @type {any} */ it) => it.id}
      isDim=${(/** @type {any} */ it) => !matches(it, terms)}
      onOpen=${(/** @type {any} */ it) => app.go("tasks", [it.id])}
      selection=${selection}
      onSelect=${app.may("worker") && app.at === undefined ? select : undefined}
    />`;
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

/** @param {{ tasks: any[] }} props */
function Board({ tasks }) {
  return html`<div class="board" tabindex="0" role="region" aria-label="Board">
    ${STATUSES.map((status) => {
      const of = tasks.filter((task) => task.status === status);
      if (of.length === 0 && ["handed_off", "waiting_review", "cancelled"].includes(status))
        return null;
      return html`<section key=${status} class="lane-column">
        <h2><${Status} status=${status} /> <span class="faint">${count(of.length)}</span></h2>
        ${of.slice(0, 50).map(
          (
            task,
          ) => html`<a key=${task.id} data-row class="tile" href=${app.href("tasks", [task.id])}>
            <span class="id">${task.id}</span>
            <span class="clip">${task.description ?? task.type}</span>
            <small class="faint">${task.lease?.holder ?? task.assigned_agent ?? task.type}</small>
            ${task.progress && status === "in_progress" && html`<${Progress} fraction=${task.progress.fraction} label="Progress" />`}
          </a>`,
        )}
        ${of.length > 50 && html`<p class="faint">${count(of.length - 50)} more in the table</p>`}
      </section>`;
    })}
  </div>`;
}

/** @param {{ tasks: any[] }} props */
function Timeline({ tasks }) {
  const shown = tasks.slice(0, LANES_MAX);
  const time = (/** @type {string | undefined} */ text) =>
    text ? new Date(text).getTime() : undefined;
  const now = Date.now();
  const lanes = shown.map((task) => {
    const created = time(task.created_at) ?? now;
    const started = time(task.started_at);
    const end = time(task.finished_at) ?? now;
    const kind =
      {
        completed: "done",
        failed: "failed",
        cancelled: "cancelled",
        waiting_review: "released",
      }[/** @type {string} */ (task.status)] ?? "working";
    const bars = [{ start: created, end: started ?? end, kind: "waiting", label: "waiting" }];
    if (started)
      bars.push({
        start: started,
        end,
        kind,
        label: task.lease?.holder ?? words(task.status),
      });
    return {
      key: task.id,
      name: html`<a class="id" data-row href=${app.href("tasks", [task.id])}>${task.id}</a>`,
      bars,
    };
  });
  const start = Math.min(now, ...lanes.map(({ bars }) => bars[0]?.start ?? now));
  const end = Math.max(start + 1, ...lanes.map(({ bars }) => bars.at(-1)?.end ?? start));
  return html`<${Spans} label="Tasks over time" lanes=${lanes} start=${start} end=${end} />
    ${tasks.length > LANES_MAX && html`<p class="faint pad">The ${LANES_MAX} that changed last of ${count(tasks.length)}.</p>`}`;
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

function TaskList() {
  const text = app.route.query.q ?? "";
  const show = app.route.query.view ?? "table";
  const { tasks, terms, error, isMore } = useTasks(text);
  const rows = sorted(tasks ?? []);
  const note =
    tasks && `${plural(rows.length, "task")}${isMore ? " and more: narrow the filter" : ""}`;
  const tabs = html`<${Tabs} label="View" name="view" value=${show} tabs=${[
    ["table", "Table"],
    ["board", "Board"],
    ["timeline", "Timeline"],
  ]} />`;
  return html`<${Page} title="Tasks" note=${note} error=${error} tools=${html`${tabs}<${ActionButton} class="primary" action=${createTaskAction()} />`}>
    <${FilterBar} text=${text} />
    ${
      tasks &&
      rows.length === 0 &&
      html`<${Empty} title=${text ? "No task matches" : "No tasks yet"}>
      <p>Tasks are work that agents claim.</p><pre class="text">baton task create summarise</pre>
    <//>`
    }
    ${rows.length > 0 && show === "table" && html`<${TaskTable} tasks=${rows} terms=${terms} />`}
    ${rows.length > 0 && show === "board" && html`<${Board} tasks=${rows} />`}
    ${rows.length > 0 && show === "timeline" && html`<${Timeline} tasks=${rows} />`}
  <//>`;
}

export function Tasks() {
  useChanges();
  const [id] = app.route.path;
  return id ? html`<${TaskPage} id=${id} />` : html`<${TaskList} />`;
}
