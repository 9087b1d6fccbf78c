// A watch: events of a workspace, in order, without gaps or duplicates, over as many connections as
// it takes.
//
//            ┌───────── the connection broke, or the server ended it ─────────┐
//            ▼                                                                │
//   start ─▶ due ──transport──▶ asked ──answer──▶ live ──▶ buffer ──▶ for await
//            ▲                                     │
//            └─── the reader caught up ── full ◀───┘ too much is in the buffer
//
// The transport delivers, the watch decides what is new and keeps it until it is read. A reader
// that
// is slow affects no other: its buffer is bounded, and its subscription is given back to the server
// while the buffer is full.

import { asyncDispose } from "./dispose.js";
import { isShuttingDown, notUnderstood } from "./errors.js";
import { backoff } from "./options.js";
import { Position } from "./position.js";
import { onAbort } from "./timing.js";

/** @import { BatonError } from "./baton-error.js" */
/** @import { Settings } from "./options.js" */
/** @import * as T from "./generated/types.js" */

/**
 * @typedef {object} WatchRequest
 * @property {string} workspace
 * @property {string} agent
 * @property {string} pattern - Which subjects, such as `state/shared/**`.
 * @property {readonly string[]} [types] - Only events of these types.
 * @property {boolean} [waits] - Also the events that are only about waiting calls.
 * @property {number} [from] - From this revision on; from now on if not given.
 * @property {boolean} [snapshot] - Begin with the entries that match.
 */

/** @typedef {{ type: "snapshot", revision: number, entries: T.Entry[] }} Snapshot */
/** @typedef {T.BatonEvent | Snapshot} Pushed */
/** @typedef {"due" | "asked" | "live" | "full" | "over"} WatchState */

/**
 * @typedef {object} WatchHost - What a transport does for a watch.
 * @property {(watch: Watch<any>) => void} due - Subscribe, when that is possible.
 * @property {(watch: Watch<any>) => void} stop - End the subscription.
 * @property {(watch: Watch<any>) => void} remove - The watch is over.
 */

/**
 * A call of `next` that waits.
 * @template E
 * @typedef {object} Reader
 * @property {(result: IteratorResult<E, undefined>) => void} resolve
 * @property {(error: unknown) => void} reject
 */

/**
 * @template [E=T.BatonEvent]
 * @implements {AsyncIterableIterator<E>}
 */
export class Watch {
  /** @type {WatchState} */
  state = "due";
  /** The number of the subscription, chosen by the transport. @type {number | undefined} */
  subscription;
  /**
   * Resolves when the server has accepted the watch: later commits are delivered.
   * @type {Promise<void>}
   */
  started;

  #host;
  #settings;
  #forget;
  #position;
  /** @type {{ item: any, bytes: number }[]} */
  #buffer = [];
  #bufferBytes = 0;
  /** @type {Reader<E>[]} */
  #readers = [];
  /** @type {{ error?: unknown } | undefined} */
  #end;
  /** How often the server has ended it since the last item. */
  #failures = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  /** @type {() => void} */
  #begun = () => {};
  /** @type {(error: unknown) => void} */
  #refused = () => {};
  #isBegun = false;

  /**
   * @param {WatchRequest} request
   * @param {WatchHost} host
   * @param {Settings} settings
   * @param {AbortSignal} [signal]
   */
  constructor(request, host, settings, signal) {
    this.request = request;
    this.#host = host;
    this.#settings = settings;
    this.#position = new Position(request);
    this.started = new Promise((resolve, reject) => {
      this.#begun = resolve;
      this.#refused = reject;
    });
    // The error is also thrown to the reader; who does not await `started` need not handle it.
    this.started.catch(() => {});
    this.#forget = onAbort(signal, () => {
      this.#buffer = [];
      this.finish(signal?.reason);
    });
  }

  /** The revision from which a watch that replaces this one has to start. */
  get resumeFrom() {
    const first = this.#buffer[0]?.item;
    return first ? first.revision : this.#position.next;
  }

  /** The fields of the next subscription. */
  get fields() {
    const { pattern, types, waits } = this.request;
    return { pattern, types, waits, ...this.#position.request };
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  /** @returns {Promise<IteratorResult<E, undefined>>} */
  next() {
    const ready = this.#buffer.shift();
    if (ready) {
      this.#bufferBytes -= ready.bytes;
      if (this.state === "full" && this.#hasCaughtUp()) this.#becomeDue();
      return Promise.resolve({ done: false, value: ready.item });
    }
    if (this.#end) {
      const { error } = this.#end;
      this.#end = {};
      return error ? Promise.reject(error) : Promise.resolve({ done: true, value: undefined });
    }
    return new Promise((resolve, reject) => this.#readers.push({ resolve, reject }));
  }

  /** Ends the watch. @returns {Promise<IteratorResult<E, undefined>>} */
  return() {
    this.#buffer = [];
    this.finish();
    return Promise.resolve({ done: true, value: undefined });
  }

  /** Ends the watch, for `await using`. */
  async [asyncDispose]() {
    await this.return();
  }

  /** The server has accepted the subscription. @param {number} from */
  begin(from) {
    const fault = this.#position.begin(from);
    if (fault) {
      this.#host.stop(this);
      this.finish(notUnderstood(fault));
      return;
    }
    this.state = "live";
    this.#isBegun = true;
    this.#begun();
  }

  /**
   * Something was delivered.
   * @param {Pushed} item
   * @param {boolean} isLast
   * @param {number} bytes
   */
  push(item, isLast, bytes) {
    if (this.state !== "live") return;
    if (this.#isFull()) {
      this.state = "full";
      this.#host.stop(this);
      return;
    }
    this.#failures = 0;
    if (!this.#position.advance(item, isLast)) return;
    const reader = this.#readers.shift();
    if (reader) {
      reader.resolve({ done: false, value: /** @type {any} */ (item) });
      return;
    }
    this.#buffer.push({ item, bytes });
    this.#bufferBytes += bytes;
  }

  /**
   * The server ended or refused the subscription.
   * @param {BatonError} error
   */
  ended(error) {
    if (this.state === "over") return;
    const resumeFrom = error.facts.resume_from;
    const mayPass = error.kind === "unavailable" || error.kind === "exhausted";
    const isResumed = this.#isBegun && (resumeFrom !== undefined || mayPass);
    // A server that shuts down is like a connection that breaks.
    if (!isResumed && !isShuttingDown(error.code)) {
      this.finish(error);
      return;
    }
    if (resumeFrom !== undefined) this.#position.skipTo(resumeFrom);
    // The first time at once; a server that keeps ending it is given time.
    const wait = this.#failures === 0 ? 0 : backoff(this.#settings, this.#failures - 1);
    this.#failures += 1;
    if (this.#hasCaughtUp()) this.#becomeDue(wait);
    else this.state = "full";
  }

  /** The server could not serve it, another one may. @returns {number} How many were tried. */
  refused() {
    this.#failures += 1;
    return this.#failures;
  }

  /** The connection broke, and the subscription with it. */
  interrupt() {
    if (this.state === "asked" || this.state === "live") this.state = "due";
  }

  /** Nothing more will be delivered. @param {unknown} [error] */
  finish(error) {
    if (this.state === "over") return;
    const wasSubscribed = this.state === "asked" || this.state === "live";
    this.state = "over";
    clearTimeout(this.#timer);
    this.#forget();
    if (wasSubscribed) this.#host.stop(this);
    this.#host.remove(this);
    this.#refused(error ?? new Error("the watch was ended"));
    const [first, ...others] = this.#readers.splice(0);
    this.#end = { error: first ? undefined : error };
    if (first && error) first.reject(error);
    else first?.resolve({ done: true, value: undefined });
    for (const reader of others) reader.resolve({ done: true, value: undefined });
  }

  #becomeDue(wait = 0) {
    this.state = "due";
    if (wait === 0) this.#host.due(this);
    else this.#timer = setTimeout(() => this.#host.due(this), wait);
  }

  /** One item always fits, however large it is. */
  #isFull() {
    const { watchQueueMax, watchQueueBytesMax } = this.#settings;
    const isTooMuch =
      this.#buffer.length >= watchQueueMax || this.#bufferBytes >= watchQueueBytesMax;
    return this.#buffer.length > 0 && isTooMuch;
  }

  #hasCaughtUp() {
    const { watchQueueMax, watchQueueBytesMax } = this.#settings;
    return this.#buffer.length <= watchQueueMax / 2 && this.#bufferBytes <= watchQueueBytesMax / 2;
  }
}
