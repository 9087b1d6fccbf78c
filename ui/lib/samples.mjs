// Numbers over time, kept while the page is open: a sample each second, for ten minutes.

/** @typedef {Record<string, number>} Sample */

const KEPT = 600;

export class Samples {
  /** @type {Sample[]} */
  #samples = [];
  /** @type {Sample | undefined} */
  #totals;

  /**
   * @param {number} time - In seconds.
   * @param {any} stats - The answer of `task.stats`.
   * @param {{ rates: Map<number, number> } | undefined} feed
   */
  add(time, stats, feed) {
    const { tasks, failures, time_in_state: times } = stats;
    const failed = failures.reduce((/** @type {number} */ sum, /** @type {any} */ it) => sum + it.count, 0);
    const totals = { completed: tasks.completed, failures: failed, time };
    const before = this.#totals;
    this.#totals = totals;
    const passed = before ? Math.max(0.5, time - (before.time ?? 0)) : 1;
    const rate = (/** @type {"completed" | "failures"} */ name) =>
      before ? Math.max(0, totals[name] - (before[name] ?? 0)) / passed : 0;
    this.#samples.push({
      time,
      running: tasks.in_progress,
      ready: tasks.ready,
      blocked: tasks.blocked,
      completed: rate("completed"),
      failures: rate("failures"),
      events: feed?.rates.get(Math.floor(time) - 1) ?? 0,
      p50: (times.pending?.p50_ms ?? 0) / 1_000,
      p95: (times.pending?.p95_ms ?? 0) / 1_000,
    });
    if (this.#samples.length > KEPT) this.#samples.shift();
  }

  /** Times, and the values of some numbers. @param {...string} names @returns {number[][]} */
  columns(...names) {
    return ["time", ...names].map((name) => this.#samples.map((sample) => sample[name] ?? 0));
  }
}

/** @type {Map<string, Samples>} */
const byWorkspace = new Map();

/** @param {string} workspace */
export function samplesOf(workspace) {
  const known = byWorkspace.get(workspace) ?? new Samples();
  byWorkspace.set(workspace, known);
  return known;
}
