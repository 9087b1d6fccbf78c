// Tasks, with what they need beyond one call.

import { TaskFailedError } from "./errors.js";
import { TaskOperations } from "./generated/groups.js";

/** @import { CallOptions } from "./caller.js" */
/** @import { Workspace } from "./workspace.js" */
/** @import * as T from "./generated/types.js" */

/** Types of events after which a task may have ended. */
const ENDS = ["task.completed", "task.failed", "task.cancelled", "task.reviewed"];
const ENDED = new Set(["completed", "failed", "cancelled"]);

export class Tasks extends TaskOperations {
  #workspace;

  /** @param {Workspace} workspace */
  constructor(workspace) {
    super(workspace.caller);
    this.#workspace = workspace;
  }

  /**
   * Claims as many tasks as are ready, at most `limit`, in one commit. If none is ready, it waits
   * `wait_ms` for the first.
   * @param {number} limit
   * @param {T.TaskClaimOptions & CallOptions} [options]
   * @returns {Promise<T.Task[]>}
   */
  async claimSeveral(limit, options) {
    /** @type {any} A claim of one task is answered with that task, or with none. */
    const claimed = await this.caller.call("task.claim", { limit }, options);
    if (!claimed) return [];
    return claimed.tasks ?? [claimed];
  }

  /**
   * Waits until a task is completed, and returns its result. Throws a `TaskFailedError` if it fails
   * or is cancelled.
   * @template [R=any]
   * @param {string} task
   * @param {Pick<CallOptions, "signal">} [options]
   * @returns {Promise<R>}
   */
  async result(task, { signal } = {}) {
    const watch = this.#workspace.watch(`tasks/${task}`, { types: ENDS, signal });
    try {
      await watch.started;
      for (;;) {
        const { status, result, error } = await this.get(task, { signal });
        if (status === "completed") return /** @type {any} */ (result);
        if (ENDED.has(status)) throw new TaskFailedError(task, status, error);
        await watch.next();
      }
    } finally {
      await watch.return();
    }
  }
}
