// Numbers over time, kept while the page is open: a sample each second, for ten minutes.

/** @typedef {Record<string, number | null>} Sample */

const KEPT = 600;
/** How far events of the past are used, in seconds: what was before the page was opened. */
const SEEDED = 120;

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
    const failed = failures.reduce(
      (/** @type {number} */ sum, /** @type {any} */ it) => sum + it.count,
      0,
    );
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

  /**
   * Numbers of the time before the first sample, as far as events tell them.
   * @param {{ type: string, time: string }[]} events
   * @param {number} now - In seconds.
   */
  seed(events, now) {
    if (this.#samples.length > 0) return;
    const first = Math.floor(now) - SEEDED;
    /** @type {Sample[]} */
    const samples = Array.from({ length: SEEDED }, (_, index) => ({
      ...{ time: first + index, completed: 0, failures: 0, events: 0 },
      ...{ running: null, ready: null, blocked: null, p50: null, p95: null },
    }));
    for (const { type, time } of events) {
      const sample = samples[Math.floor(Date.parse(time) / 1_000) - first];
      if (!sample) continue;
      sample.events = (sample.events ?? 0) + 1;
      if (type === "task.completed") sample.completed = (sample.completed ?? 0) + 1;
      if (type === "task.failed") sample.failures = (sample.failures ?? 0) + 1;
    }
    this.#samples = samples;
  }

  /** Times, and the values of some numbers. @param {...string} names @returns {(number | null)[][]} */
  columns(...names) {
    return ["time", ...names].map((name) => this.#samples.map((sample) => sample[name] ?? null));
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
