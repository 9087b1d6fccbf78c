// Questions to the server, each asked once however many parts of a page need its answer, and asked
// again when an event says that the answer may have changed.

/** @import { Store } from "./store.mjs" */

/**
 * @typedef {object} Query
 * @property {string} key
 * @property {string} command
 * @property {Record<string, unknown>} fields
 * @property {number | undefined} at - The revision that it is about; the present if not given.
 * @property {any} kept - The answer, with ids for records.
 * @property {any} error
 * @property {boolean} isLoading
 * @property {boolean} isStale
 * @property {number} users
 * @property {number} askedAt
 * @property {number} tookMs
 * @property {number} revision - The revision of the answer.
 * @property {number} begunAt - Events after this revision are delivered: an answer about an earlier
 *   one is asked for again.
 */

/** Subjects whose events change the answers of operations. @type {Record<string, string[]>} */
const TOPICS = {
  task: ["tasks"],
  agent: ["agents"],
  handoff: ["handoffs"],
  pipeline: ["pipelines"],
  lock: ["locks"],
  semaphore: ["semaphores"],
  inbox: ["inbox"],
  message: ["inbox"],
  state: ["state"],
  namespace: ["namespaces"],
  contract: ["contracts", "state", "namespaces"],
  checkpoint: ["checkpoints"],
  topic: ["topics"],
  stream: ["streams"],
  handler: ["handlers"],
};
/** The time between two answers to the same question, at least. */
const PAUSE_MS = 500;
/** Lists as long as this are asked for less often, and what the server could not answer just now. */
const LONG = 500;
const LONG_PAUSE_MS = 5_000;
/** The same when more happens than a person can follow: every page would ask all the time. */
const SLOW_PAUSE_MS = 2_000;
/** Answers that are not shown are forgotten when there are more. */
const IDLE_MAX = 60;

export class Queries {
  /** @type {Map<string, Query>} */
  #queries = new Map();
  /** @type {Map<Query, ReturnType<typeof setTimeout>>} */
  #timers = new Map();
  #store;
  #ask;
  #isPaused = false;
  /** Whether questions are asked less often. */
  isSlow = false;

  /**
   * @param {Store} store
   * @param {(command: any, at: number | undefined) => Promise<{ revision: number, result: any }>} ask
   */
  constructor(store, ask) {
    this.#store = store;
    this.#ask = ask;
  }

  /**
   * @param {string} command
   * @param {Record<string, unknown>} fields
   * @param {number | undefined} at
   */
  use(command, fields, at) {
    const key = JSON.stringify([command, fields, at]);
    let query = this.#queries.get(key);
    if (!query) {
      query = {
        ...{ key, command, fields, at, kept: undefined, error: undefined, users: 0 },
        ...{ isLoading: false, isStale: true, askedAt: 0, tookMs: 0, revision: 0 },
        begunAt: 0,
      };
      this.#queries.set(key, query);
      this.#forgetIdle();
    }
    return query;
  }

  /** @param {Query} query @returns {() => void} */
  hold(query) {
    query.users += 1;
    if (query.isStale) this.#plan(query, 0);
    return () => {
      query.users -= 1;
    };
  }

  /** @param {Query} query */
  answer({ command, kept, at }) {
    return this.#store.resolve(command, kept, at === undefined ? "" : String(at));
  }

  /** An event happened. @param {{ subject: string }} event */
  touched({ subject }) {
    const [topic = ""] = subject.split("/");
    for (const query of this.#queries.values()) {
      if (query.at === undefined && isTouched(query, topic, subject)) this.#stale(query);
    }
  }

  /**
   * Events after this revision are delivered from here on: what was answered about an earlier one may
   * have changed without an event.
   * @param {number} revision
   */
  begun(revision) {
    for (const query of this.#queries.values()) {
      if (query.at !== undefined) continue;
      if (query.isLoading) query.begunAt = revision;
      else if (query.askedAt > 0 && query.revision < revision) this.#stale(query);
    }
  }

  /** Everything may have changed, as after a lost connection. */
  touchedAll() {
    for (const query of this.#queries.values()) if (query.at === undefined) this.#stale(query);
  }

  /** Asks nothing while paused. @param {boolean} isPaused */
  pause(isPaused) {
    this.#isPaused = isPaused;
    if (isPaused) return;
    for (const query of this.#queries.values()) if (query.isStale) this.#plan(query, 0);
  }

  /** Asks again at once. @param {Query} query */
  refresh(query) {
    query.isStale = true;
    return this.#run(query);
  }

  clear() {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
    this.#queries.clear();
  }

  /** @param {Query} query */
  #stale(query) {
    query.isStale = true;
    const isLong = (query.kept?.tasks?.length ?? 0) > LONG;
    const least = this.isSlow ? SLOW_PAUSE_MS : PAUSE_MS;
    const pause = isLong ? LONG_PAUSE_MS : Math.max(least, 4 * query.tookMs);
    const due = query.askedAt + Math.min(pause, LONG_PAUSE_MS);
    this.#plan(query, Math.max(0, due - Date.now()));
  }

  /** @param {Query} query @param {number} delay */
  #plan(query, delay) {
    if (query.users === 0 || this.#isPaused || this.#timers.has(query)) return;
    const timer = setTimeout(() => {
      this.#timers.delete(query);
      void this.#run(query);
    }, delay);
    this.#timers.set(query, timer);
  }

  /** @param {Query} query */
  async #run(query) {
    if (query.isLoading) return;
    query.isLoading = true;
    query.isStale = false;
    query.askedAt = Date.now();
    this.#store.changedSoon();
    const { command, fields, at } = query;
    try {
      const { revision, result } = await this.#ask({ command, ...fields }, at);
      query.kept = this.#store.absorb(command, result, at === undefined ? "" : String(at));
      query.revision = revision;
      query.error = undefined;
    } catch (error) {
      query.error = error;
    }
    query.isLoading = false;
    query.tookMs = Date.now() - query.askedAt;
    this.#store.changedSoon();
    if (query.revision < query.begunAt) query.isStale = true;
    query.begunAt = 0;
    if (query.isStale) this.#stale(query);
    else if (query.error?.kind === "unavailable") this.#plan(query, LONG_PAUSE_MS);
  }

  #forgetIdle() {
    const idle = [...this.#queries.values()].filter(({ users, isLoading }) => !users && !isLoading);
    for (const query of idle.slice(0, Math.max(0, idle.length - IDLE_MAX))) {
      this.#queries.delete(query.key);
    }
  }
}

/** @param {Query} query @param {string} topic @param {string} subject */
function isTouched({ command, fields }, topic, subject) {
  const [kind = ""] = command.split(".");
  if (!(TOPICS[kind] ?? [kind]).includes(topic)) return false;
  // A question about one task is not touched by another.
  if (kind === "task" && typeof fields.task === "string") return subject === `tasks/${fields.task}`;
  if (kind === "state" && typeof fields.key === "string")
    return subject === `state/${fields.namespace}/${fields.key}`;
  return true;
}
