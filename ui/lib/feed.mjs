// The live feed: events as they are committed, and whether the server is there.

/** @import { Workspace } from "@baton/sdk" */

/** @typedef {"connecting" | "live" | "lost" | "limited"} FeedState */

/** How many events are kept for the pages. */
const KEPT = 4_000;
/** How many events of the past are shown at first. */
const FIRST = 2_000;
/** How often the server is asked whether it is there. */
const CHECK_MS = 2_000;

export class Feed {
  /** The newest events, oldest first. @type {any[]} */
  events = [];
  /** @type {FeedState} */
  state = "connecting";
  revision = 0;
  oldest = 0;
  /** Events that arrived in each second, newest last. @type {Map<number, number>} */
  rates = new Map();
  #workspace;
  #on;
  #end = new AbortController();
  /** @type {ReturnType<typeof setInterval> | undefined} */
  #checks;

  /**
   * @param {Workspace} workspace
   * @param {{ event: (event: any) => void, changed: () => void, back: () => void,
   *   denied: (error: any) => void }} on
   */
  constructor(workspace, on) {
    this.#workspace = workspace;
    this.#on = on;
  }

  start() {
    this.#checks = setInterval(() => void this.#check(), CHECK_MS);
    void this.#follow();
  }

  stop() {
    this.#end.abort();
    clearInterval(this.#checks);
  }

  async #follow() {
    const { signal } = this.#end;
    try {
      const command = /** @type {const} */ ({ command: "event.history", limit: FIRST });
      const { revision, result } = await this.#workspace.execute(command, { signal });
      this.revision = revision;
      this.oldest = result.oldest;
      this.events = [...result.events].reverse();
      this.rates.clear();
      for (const { time } of this.events) this.#count(Date.parse(time));
      this.#become("live");
      for await (const event of this.#workspace.watch("**", { from: revision + 1, waits: true, signal })) {
        this.#take(event);
      }
    } catch (error) {
      if (signal.aborted) return;
      const { kind, code } = /** @type {any} */ (error);
      if (kind !== "denied") {
        // The watch fell behind, or the server ended it: begin again with what is newest.
        this.#become("lost");
        setTimeout(() => void (signal.aborted || this.#follow()), CHECK_MS);
        return;
      }
      // A token for some namespaces may not watch everything. The pages ask from time to time.
      if (String(code).startsWith("access.") && /token|jwt/.test(String(code)))
        this.#on.denied(error);
      else this.#become("limited");
    }
  }

  /** @param {any} event */
  #take(event) {
    this.events.push(event);
    if (this.events.length > 2 * KEPT) this.events.splice(0, this.events.length - KEPT);
    this.revision = Math.max(this.revision, event.revision);
    this.#count(Date.now());
    this.#on.event(event);
  }

  /** @param {number} time */
  #count(time) {
    const second = Math.floor(time / 1_000);
    this.rates.set(second, (this.rates.get(second) ?? 0) + 1);
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
    const isThere = await fetch("/healthz", { signal: AbortSignal.timeout(CHECK_MS) })
      .then((response) => response.ok)
      .catch(() => false);
    if (this.#end.signal.aborted) return;
    if (!isThere) this.#become("lost");
    else if (this.state === "lost") this.#become("live");
    else if (this.state === "limited") this.#on.back();
  }
}
