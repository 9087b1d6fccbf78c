// The rows of a list of tasks, of which there may be a hundred thousand: which they are, in which
// order, and which of them have to be read again.
//
// The list is read once, page by page. After that, events say what has changed: rows in view are read
// again, others when they come into view. The order changes only when `settle` or `merge` is called,
// so that nothing moves while a person looks at it; new rows wait until then.

/** @import { Store } from "./store.mjs" */

/** Lists of at most so many tasks are kept current as a whole, and read again if events were missed. */
const FEW = 2_000;
/** So many tasks are read at a time. */
const READS_MAX = 100;
/** More rows than this are not loaded. */
export const ROWS_MAX = 200_000;
/** The time between two changes of the order, and between two readings of the list. */
const MERGE_MS = 1_000;
const RELOAD_MS = 5_000;

/**
 * @typedef {object} Source
 * @property {() => AsyncIterable<{ revision: number, tasks: any[] }>} pages - The tasks of the list,
 *   and the revision at which each page was read.
 * @property {(id: string) => Promise<any>} read - One task; nothing if it does not exist.
 * @property {boolean} isAll - Whether every task is in the list.
 * @property {(task: any) => boolean} [matches] - Whether a task is in the list; if not given, only
 *   reading the list again tells.
 * @property {() => number} [now]
 */

export class TaskRows {
  /** The rows, in the order in which they are shown. @type {string[]} */
  ids = [];
  isLoading = true;
  /** Whether there are more tasks than rows. */
  isMore = false;
  /** @type {any} */
  error;
  /** The revision of the last change of every task of the list. @type {Map<string, number>} */
  #revisions = new Map();
  /** Tasks of the list that are not among the rows yet. @type {Set<string>} */
  #waiting = new Set();
  /** Tasks of the list that have changed since they were read. @type {Set<string>} */
  #dirty = new Set();
  /** Tasks that may belong to the list since they have changed. @type {Set<string>} */
  #candidates = new Set();
  /** @type {string[]} */
  #visible = [];
  /** The revision at which the list was read: that of its first page. */
  #readAt = 0;
  /** Events after this revision are delivered. */
  #begunAt = 0;
  /** Whether events were missed. */
  #isOutdated = false;
  #isMoved = false;
  #isReading = false;
  #turn = 0;
  #mergedAt = -Infinity;
  #loadedAt = -Infinity;
  #store;
  #source;
  #now;

  /** @param {Store} store @param {Source} source */
  constructor(store, source) {
    this.#store = store;
    this.#source = source;
    this.#now = source.now ?? (() => performance.now());
  }

  /** How many rows are not shown yet. */
  get waiting() {
    return this.#waiting.size;
  }

  /** Whether reading the list again may show other rows. */
  get isOutdated() {
    return this.#isOutdated && this.ids.length > FEW;
  }

  /** Reads the list. What is shown remains until it is read. */
  async load() {
    const turn = (this.#turn += 1);
    this.isLoading = true;
    this.#isOutdated = false;
    this.#readAt = Infinity;
    /** @type {Set<string>} */
    const seen = new Set();
    const before = new Set(this.#revisions.keys());
    try {
      for await (const { revision, tasks } of this.#source.pages()) {
        if (turn !== this.#turn) return;
        this.#readAt = Math.min(this.#readAt, revision);
        for (const task of tasks) {
          seen.add(task.id);
          this.#take(task);
        }
        if (this.ids.length === 0) this.merge();
        this.#store.changedSoon();
        this.isMore = seen.size >= ROWS_MAX;
        if (this.isMore) break;
      }
      for (const id of before) if (!seen.has(id)) this.#forget(id);
      this.error = undefined;
    } catch (error) {
      if (turn !== this.#turn) return;
      this.error = error;
    }
    this.isLoading = false;
    this.#loadedAt = this.#now();
    this.#isMoved = true;
    this.#mergedAt = -Infinity;
    if (this.#readAt < this.#begunAt) this.missed();
    this.#store.changedSoon();
  }

  stop() {
    this.#turn += 1;
  }

  /** @param {any} task */
  #take(task) {
    this.#store.put("task", task.id, task);
    const known = this.#revisions.get(task.id);
    if (known === undefined) this.#waiting.add(task.id);
    if (known === undefined || known <= task.revision) {
      this.#revisions.set(task.id, task.revision);
      this.#dirty.delete(task.id);
    }
  }

  /** @param {string} id */
  #forget(id) {
    this.#revisions.delete(id);
    this.#waiting.delete(id);
    this.#dirty.delete(id);
    this.#isMoved = true;
  }

  /** @param {{ subject: string, type: string, revision: number }} event */
  event({ subject, type, revision }) {
    if (!subject.startsWith("tasks/")) return;
    const id = subject.slice("tasks/".length);
    if (this.#revisions.has(id)) {
      this.#revisions.set(id, revision);
      this.#dirty.add(id);
      this.#isMoved = true;
    } else if (this.#source.isAll) {
      if (type !== "task.created") return;
      this.#revisions.set(id, revision);
      this.#waiting.add(id);
      this.#dirty.add(id);
    } else if (this.#source.matches && this.#candidates.size < READS_MAX) this.#candidates.add(id);
    else this.#isOutdated = true;
  }

  /** Events after this revision are delivered from here on. @param {number} revision */
  begun(revision) {
    this.#begunAt = revision;
    if (!this.isLoading && this.#readAt < revision) this.missed();
  }

  /** Events were missed: anything may have changed. */
  missed() {
    this.#isOutdated = true;
    for (const id of this.#visible) this.#dirty.add(id);
  }

  /** Which rows are in view. @param {number} first @param {number} last */
  show(first, last) {
    this.#visible = this.ids.slice(first, last);
  }

  /** Reads what has changed and is in view, or may belong to the list. */
  async tick() {
    const { ids } = this;
    const isDue = this.#now() > this.#loadedAt + RELOAD_MS;
    if (this.#isOutdated && ids.length <= FEW && !this.isLoading && isDue) return this.load();
    if (this.#isReading) return;
    const isDirty = (/** @type {string} */ id) =>
      this.#dirty.has(id) || (this.#revisions.has(id) && !this.#store.get("task", id));
    const wanted = this.#visible.filter(isDirty);
    if (ids.length <= FEW) wanted.push(...[...this.#dirty].filter((id) => !wanted.includes(id)));
    wanted.push(...this.#candidates);
    this.#isReading = true;
    await Promise.all(wanted.slice(0, READS_MAX).map((id) => this.#read(id)));
    this.#isReading = false;
  }

  /** @param {string} id */
  async #read(id) {
    const isCandidate = this.#candidates.delete(id);
    this.#dirty.delete(id);
    const turn = this.#turn;
    const task = await this.#source.read(id).catch(() => {
      this.#isOutdated = true;
      return this.#store.get("task", id);
    });
    if (turn !== this.#turn && !this.#revisions.has(id)) return;
    if (!task) this.#forget(id);
    else if (!isCandidate || this.#source.matches?.(task)) this.#take(task);
    this.#store.changedSoon();
  }

  /** Shows new rows, unless a person looks at the present ones. @param {boolean} isLookedAt */
  settle(isLookedAt) {
    const isChanged = this.#isMoved || this.#waiting.size > 0;
    if (!isChanged || isLookedAt || this.#now() < this.#mergedAt + MERGE_MS) return;
    this.merge();
  }

  /** Shows new rows, the task that changed last first. */
  merge() {
    const ids = [...this.#revisions.keys()];
    // One number for revision and place: typed arrays of numbers are sorted ten times as fast.
    const keys = new Float64Array(ids.length);
    let index = 0;
    for (const revision of this.#revisions.values()) {
      keys[index] = revision * ROWS_MAX * 2 + index;
      index += 1;
    }
    keys.sort();
    this.ids = Array.from(keys, (_, at) => {
      const key = keys[keys.length - 1 - at] ?? 0;
      return ids[key % (ROWS_MAX * 2)] ?? "";
    });
    this.#waiting.clear();
    this.#isMoved = false;
    this.#mergedAt = this.#now();
    this.#store.changedSoon();
  }

  /** Shows new rows at once; reads the list again if events were missed. */
  refresh() {
    if (this.#isOutdated) void this.load();
    this.merge();
  }

  /** The tasks that are known, in the order of the rows. @param {number} [max] */
  tasks(max = Infinity) {
    const found = [];
    for (const id of this.ids) {
      const task = this.#store.get("task", id);
      if (task) found.push(task);
      if (found.length >= max) break;
    }
    return found;
  }
}
