// How far a watch has come: what to ask for next, and what has arrived already.
//
// A commit may have several events, and a connection may break between them. The position is
// therefore the first revision that has not arrived completely, and the last event of it that has.

/** @import { WatchRequest, Pushed } from "./watch.js" */

export class Position {
  /** The first revision that has not arrived completely; undefined while only the server knows. */
  #next;
  /** The last event of that revision that has arrived. @type {number | undefined} */
  #within;
  #needsSnapshot;
  /** The revision that was asked for. */
  #from;

  /** @param {Pick<WatchRequest, "from" | "snapshot">} request */
  constructor({ from, snapshot = false }) {
    this.#needsSnapshot = snapshot;
    this.#from = from;
    this.#next = snapshot || from === undefined ? undefined : Math.max(from, 1);
  }

  /** The revision to resume from. */
  get next() {
    return this.#next ?? 1;
  }

  /** The fields of a request for what has not arrived. */
  get request() {
    // The server refuses a snapshot together with a revision, so it has to see both.
    if (!this.#needsSnapshot) return { from: this.#next };
    return this.#from === undefined ? { snapshot: true } : { snapshot: true, from: this.#from };
  }

  /**
   * The server sends from this revision on.
   * @param {number} from
   * @returns {string | undefined} What is wrong with that: a later revision would be a gap.
   */
  begin(from) {
    if (this.#needsSnapshot || this.#next === undefined) {
      this.#next = from;
      return undefined;
    }
    if (from <= this.#next) return undefined;
    return `the watch would begin at revision ${from} instead of ${this.#next}`;
  }

  /**
   * Takes note of an item.
   * @param {Pushed} item
   * @param {boolean} isLast - Whether its commit is complete with it.
   * @returns {boolean} Whether it is new.
   */
  advance(item, isLast) {
    if (item.type === "snapshot") {
      if (!this.#needsSnapshot) return false;
      this.#needsSnapshot = false;
      this.#next = item.revision + 1;
      this.#within = undefined;
      return true;
    }
    if (this.#needsSnapshot) return false;
    // An event that is not stored arrives once or not at all.
    if (item.live) return true;
    const { revision, index } = item;
    const isKnown =
      revision < this.next ||
      (revision === this.next && this.#within !== undefined && index <= this.#within);
    if (isKnown) return false;
    this.#next = isLast ? revision + 1 : revision;
    this.#within = isLast ? undefined : index;
    return true;
  }

  /**
   * The server knows that nothing before this revision is missing. If the last event of a commit
   * has not arrived, it is missing in any case.
   * @param {number} revision
   */
  skipTo(revision) {
    if (!this.#needsSnapshot && this.#within === undefined) {
      this.#next = Math.max(this.next, revision);
    }
  }
}
