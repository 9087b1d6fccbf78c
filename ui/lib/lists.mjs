// The lists of tasks that are shown, and keep themselves current.

/** @import { TaskRows } from "./task-rows.mjs" */

export class Lists {
  /** @type {Set<TaskRows>} */
  #lists = new Set();

  /** Keeps a list current until the returned function is called. @param {TaskRows} rows */
  follow(rows) {
    this.#lists.add(rows);
    void rows.load();
    return () => {
      this.#lists.delete(rows);
      rows.stop();
    };
  }

  /** @param {any} event */
  event(event) {
    for (const rows of this.#lists) rows.event(event);
  }

  /** Events after this revision are delivered from here on. @param {number} revision */
  begun(revision) {
    for (const rows of this.#lists) rows.begun(revision);
  }

  /** Events were missed. */
  missed() {
    for (const rows of this.#lists) rows.missed();
  }

  /** Reads what has changed. */
  tick() {
    for (const rows of this.#lists) void rows.tick();
  }
}
