// Where lists of tasks come from: `task.list`, or the index.

import { app } from "./app.mjs";
import { matches } from "./filter.mjs";

/** @import { Source } from "./task-rows.mjs" */

/** A list is read page by page. Taking one takes less than a frame. */
const PAGE = 500;
/** So many results of the index are read one by one. */
export const FOUND_MAX = 200;

/** A task, or nothing if it does not exist. @param {string} id */
const readTask = (id) =>
  /** @type {any} */ (app.workspace)?.tasks.get(id).catch((/** @type {any} */ error) => {
    if (error.kind === "not_found") return undefined;
    throw error;
  });

/** The tasks that `task.list` finds. @param {Record<string, string>} fields @returns {Source} */
export function listed(fields) {
  const terms = Object.entries(fields).map(([field, value]) => ({ field, value, not: false }));
  return {
    isAll: terms.length === 0,
    matches: (task) => matches(task, terms),
    read: readTask,
    async *pages() {
      for (let cursor; ; ) {
        const command = { command: "task.list", ...fields, limit: PAGE, ...(cursor && { cursor }) };
        const { revision, result } = await app.ask(command, undefined);
        yield { revision, tasks: result.tasks };
        ({ cursor } = result);
        if (!cursor) return;
      }
    },
  };
}

/** The tasks that the index finds. @param {string} text @returns {Source} */
export const found = (text) => ({
  isAll: false,
  read: readTask,
  async *pages() {
    const command = { command: "workspace.search", query: `kind:task ${text}`, limit: FOUND_MAX };
    const { revision, result } = await app.ask(command, undefined);
    const ids = result.found.map((/** @type {any} */ { subject }) => subject.slice(6));
    yield { revision, tasks: (await Promise.all(ids.map(readTask))).filter(Boolean) };
  },
});
