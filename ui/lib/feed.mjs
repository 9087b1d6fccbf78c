// The live feed: events as they are committed, and whether the server is there.
//
//            ┌────── fewer events ──────┐
//            ▼                          │
//   start ─▶ watch ── too many events ─▶ poll the newest every second
//            │  ▲                       │
//            ▼  │ visible               │
//           rest ◀──── hidden ──────────┘

/** @typedef {"connecting" | "live" | "busy" | "lost" | "limited" | "refused"} FeedState */

/** How many events are kept for the pages. */
const KEPT = 4_000;
/** How many events of the past are shown at first. */
const FIRST = 2_000;
/** How often the server is asked whether it is there. */
const CHECK_MS = 2_000;
/**
 * More events a second than this are not all delivered: they cannot be read, and a server that
 * sends them to a hundred pages has less time for its agents.
 */
const WATCHED_MAX = 500;
/** With fewer again, for so many polls, all are. */
const CALM = 250;
const CALM_POLLS = 3;
const POLL_MS = 1_000;
const POLLED = 100;

/**
 * @typedef {object} FeedSource
 * @property {(limit: number, signal: AbortSignal) =>
 *   Promise<{ revision: number, oldest: number, events: any[] }>} newest - The newest events, oldest
 *   first.
 * @property {(from: number, signal: AbortSignal) => AsyncIterable<any[]>} watch - Events as they happen.
 * @property {(ms: number) => Promise<boolean>} isThere - Whether the server answers within a time.
 */

/**
 * @typedef {object} Listener
 * @property {(event: any) => void} event
 * @property {(revision: number) => void} begun - Every event after this revision is delivered from
 *   here on: an answer about an earlier one may be out of date.
 * @property {() => void} changed - The state of the feed has changed.
 * @property {() => void} back - Events were missed: everything may have changed.
 * @property {(error: any) => void} denied
 */

export class Feed {
  /** The newest events, oldest first. @type {any[]} */
  events = [];
  /** @type {FeedState} */
  state = "connecting";
  revision = 0;
  oldest = 0;
  /** Events that arrived in each second, newest last. @type {Map<number, number>} */
  rates = new Map();
  #source;
  #on;
  /** Ends the present watch or polling. */
  #end = new AbortController();
  #isBegun = false;
  #isStopped = false;
  #isResting = false;
  /** @type {ReturnType<typeof setInterval> | undefined} */
  #checks;

  /** @param {FeedSource} source @param {Listener} on */
  constructor(source, on) {
    this.#source = source;
    this.#on = on;
  }

  start() {
    this.#begin(() => this.#follow());
    this.#checks = setInterval(() => void this.#check(), CHECK_MS);
  }

  stop() {
    this.#isStopped = true;
    this.#end.abort();
    clearInterval(this.#checks);
  }

  /** Asks and receives nothing while the page is hidden. @param {boolean} isResting */
  rest(isResting) {
    if (this.#isStopped || this.#isResting === isResting) return;
    this.#isResting = isResting;
    clearInterval(this.#checks);
    this.#end.abort();
    if (isResting) return;
    this.start();
  }

  /** @param {(signal: AbortSignal) => Promise<void>} run */
  #begin(run) {
    this.#end.abort();
    this.#end = new AbortController();
    const { signal } = this.#end;
    run(signal).catch((error) => signal.aborted || this.#failed(error));
  }

  /** @param {any} error */
  #failed(error) {
    const { kind, code } = error;
    if (kind !== "denied") {
      // The watch fell behind, or the server ended it: begin again with what is newest.
      this.#become("lost");
      const { signal } = this.#end;
      setTimeout(() => signal.aborted || this.#begin(() => this.#follow()), CHECK_MS);
      return;
    }
    // A token for some namespaces may not watch everything. The pages ask from time to time.
    if (String(code).startsWith("access.") && /token|jwt/.test(String(code)))
      this.#on.denied(error);
    else this.#become(code === "access.workspace" ? "refused" : "limited");
  }

  async #follow() {
    const { signal } = this.#end;
    const { revision, oldest, events } = await this.#source.newest(FIRST, signal);
    Object.assign(this, { revision, oldest, events });
    this.rates.clear();
    for (const { time } of events) this.#count(Date.parse(time), 1);
    // Events that happened meanwhile are in the history, and no listener was called for them.
    if (this.#isBegun) this.#on.back();
    else this.#on.begun(revision);
    this.#isBegun = true;
    this.#become("live");
    await this.#watch(signal);
  }

  /** @param {AbortSignal} signal */
  async #watch(signal) {
    let [second, arrived] = [0, 0];
    for await (const events of this.#source.watch(this.revision + 1, signal)) {
      for (const event of events) this.#take(event);
      this.#count(Date.now(), events.length);
      const now = Math.floor(Date.now() / 1_000);
      arrived = events.length + (now === second ? arrived : 0);
      second = now;
      if (arrived > WATCHED_MAX) return this.#begin((next) => this.#poll(next));
    }
  }

  /** @param {AbortSignal} signal */
  async #poll(signal) {
    this.#become("busy");
    for (let calm = 0; calm < CALM_POLLS; ) {
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      if (signal.aborted) return;
      const before = this.revision;
      const { revision, oldest, events } = await this.#source.newest(POLLED, signal);
      this.oldest = oldest;
      for (const event of events) if (event.revision > before) this.#take(event);
      this.revision = revision;
      this.#count(Date.now(), revision - before);
      if ((events[0]?.revision ?? 0) > before + 1) this.#on.back();
      calm = revision - before < CALM ? calm + 1 : 0;
    }
    this.#become("live");
    this.#begin((next) => this.#watch(next));
  }

  /** @param {any} event */
  #take(event) {
    this.events.push(event);
    if (this.events.length > 2 * KEPT) this.events.splice(0, this.events.length - KEPT);
    this.revision = Math.max(this.revision, event.revision);
    this.#on.event(event);
  }

  /** @param {number} time @param {number} events */
  #count(time, events) {
    const second = Math.floor(time / 1_000);
    this.rates.set(second, (this.rates.get(second) ?? 0) + events);
    if (this.rates.size > 600)
      this.rates.delete(/** @type {number} */ (this.rates.keys().next().value));
  }

  /** @param {FeedState} state */
  #become(state) {
    if (this.state === state) return;
    const wasLost = this.state === "lost";
    this.state = state;
    if (wasLost && state !== "lost") this.#on.back();
    this.#on.changed();
  }

  async #check() {
    const isThere = await this.#source.isThere(CHECK_MS);
    if (this.#isStopped || this.#isResting) return;
    if (!isThere) this.#become("lost");
    else if (this.state === "lost") this.#become("live");
    else if (this.state === "limited") this.#on.back();
  }
}
