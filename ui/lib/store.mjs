// One normalised store: a record of a kind is kept once, however many lists show it. Listeners are
// called once per frame, however much has changed, and less often for data that no listener waits
// for.

/** @typedef {Record<string, any>} Found */

/**
 * Which list of an answer has records, of which kind, and which field is their id.
 * @type {Record<string, [list: string, kind: string, id: string]>}
 */
const LISTS = {
  "task.list": ["tasks", "task", "id"],
  "agent.list": ["agents", "agent", "id"],
  "handoff.list": ["handoffs", "handoff", "id"],
  "handoff.history": ["handoffs", "handoff", "id"],
  "inbox.list": ["messages", "message", "id"],
  "checkpoint.list": ["checkpoints", "checkpoint", "id"],
};

/** Answers that are one record. @type {Record<string, [kind: string, id: string]>} */
const SINGLE = {
  "task.get": ["task", "id"],
  "agent.get": ["agent", "id"],
  "handoff.get": ["handoff", "id"],
  "message.get": ["message", "id"],
};

/** The time between two calls of the listeners for events and answers. */
const GAP_MS = 100;

export class Store {
  /** @type {Map<string, Map<string, Found>>} */
  #tables = new Map();
  /** @type {Set<() => void>} */
  #listeners = new Set();
  #isDue = false;
  #isPlanned = false;
  #calledAt = -Infinity;
  #schedule;

  /** @param {(run: () => void) => void} schedule - Runs something at the next frame. */
  constructor(schedule) {
    this.#schedule = schedule;
  }

  /**
   * Takes the records out of an answer, and leaves their ids.
   * @param {string} command
   * @param {any} result
   * @param {string} [moment] - Records of the past are kept apart.
   * @returns {any}
   */
  absorb(command, result, moment = "") {
    const list = LISTS[command];
    if (list && result) {
      const [field, kind, id] = list;
      const found = /** @type {Found[]} */ (result[field] ?? []);
      for (const record of found) this.put(kind, record[id], record, moment);
      return { ...result, [field]: found.map((record) => record[id]) };
    }
    const single = SINGLE[command];
    if (single && result) {
      const [kind, id] = single;
      this.put(kind, result[id], result, moment);
      return result[id];
    }
    return result;
  }

  /**
   * The answer again, with the newest version of each record.
   * @param {string} command
   * @param {any} kept
   * @param {string} [moment]
   * @returns {any}
   */
  resolve(command, kept, moment = "") {
    const list = LISTS[command];
    if (list && kept) {
      const [field, kind] = list;
      const records = kept[field].map((/** @type {string} */ id) => this.get(kind, id, moment));
      return { ...kept, [field]: records.filter(Boolean) };
    }
    const single = SINGLE[command];
    if (single && kept !== undefined) return this.get(single[0], kept, moment);
    return kept;
  }

  /**
   * Answers may overtake each other: an older version of a record does not replace a newer one.
   * @param {string} kind
   * @param {string} id
   * @param {Found} record
   * @param {string} [moment]
   */
  put(kind, id, record, moment = "") {
    const name = moment ? `${kind}@${moment}` : kind;
    const table = this.#tables.get(name) ?? new Map();
    this.#tables.set(name, table);
    const known = table.get(id);
    if (known && (record.revision ?? Infinity) < (known.revision ?? 0)) return;
    table.set(id, record);
    this.changedSoon();
  }

  /** @param {string} kind @param {string} id @param {string} [moment] */
  get(kind, id, moment = "") {
    return this.#tables.get(moment ? `${kind}@${moment}` : kind)?.get(id);
  }

  /** Forgets everything, as when another workspace is shown. */
  clear() {
    this.#tables.clear();
    this.changed();
  }

  /** @param {() => void} listener @returns {() => void} */
  subscribe(listener) {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Calls the listeners at the next frame. */
  changed() {
    if (this.#isDue) return;
    this.#isDue = true;
    this.#schedule(() => {
      this.#isDue = false;
      this.#calledAt = performance.now();
      for (const listener of [...this.#listeners]) listener();
    });
  }

  /** Calls the listeners at the next frame, but not much more often than a person can read. */
  changedSoon() {
    if (this.#isDue || this.#isPlanned) return;
    const wait = this.#calledAt + GAP_MS - performance.now();
    if (wait <= 0) return this.changed();
    this.#isPlanned = true;
    setTimeout(() => {
      this.#isPlanned = false;
      this.changed();
    }, wait);
  }
}
