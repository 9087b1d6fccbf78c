// Tasks as a board, and over time.

import { Progress, Status } from "../components/basics.mjs";
import { Spans } from "../components/spans.mjs";
import { app } from "../lib/app.mjs";
import { count, words } from "../lib/format.mjs";
import { html, useEffect } from "../lib/html.mjs";

/** @import { TaskRows } from "../lib/task-rows.mjs" */

/** The statuses of a task, in the order in which they are shown. */
export const STATUSES = [
  "in_progress",
  "pending",
  "handed_off",
  "waiting_review",
  "completed",
  "failed",
  "cancelled",
];
/** So many tasks are bars over time. */
const LANES_MAX = 60;
/** So many tasks are tiles of one status. */
const TILES_MAX = 50;

/** @param {{ tasks: any[], rows?: TaskRows }} props */
export function Board({ tasks, rows }) {
  useEffect(() => rows?.settle(false));
  return html`<div class="board" tabindex="0" role="region" aria-label="Board">
    ${STATUSES.map((status) => {
      const of = tasks.filter((task) => task.status === status);
      if (of.length === 0 && ["handed_off", "waiting_review", "cancelled"].includes(status))
        return null;
      return html`<section key=${status} class="lane-column">
        <h2><${Status} status=${status} /> <span class="faint">${count(of.length)}</span></h2>
        ${of.slice(0, TILES_MAX).map(
          (
            task,
          ) => html`<a key=${task.id} data-row class="tile" href=${app.href("tasks", [task.id])}>
            <span class="id">${task.id}</span>
            <span class="clip">${task.description ?? task.type}</span>
            <small class="faint">${task.lease?.holder ?? task.assigned_agent ?? task.type}</small>
            ${task.progress && status === "in_progress" && html`<${Progress} fraction=${task.progress.fraction} label="Progress" />`}
          </a>`,
        )}
        ${of.length > TILES_MAX && html`<p class="faint">${count(of.length - TILES_MAX)} more in the table</p>`}
      </section>`;
    })}
  </div>`;
}

/** @param {{ tasks: any[], rows?: TaskRows }} props */
export function Timeline({ tasks, rows }) {
  useEffect(() => rows?.settle(false));
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
