// All calls and watches of a client over one WebSocket.

import { Connection } from "./connection.js";
import {
  closed,
  crowded,
  fromProblem,
  isPassing,
  isShuttingDown,
  timedOut,
  unknownOutcome,
  unreachable,
} from "./errors.js";
import { Requests } from "./requests.js";
import { afterLimit, onAbort } from "./timing.js";
import { frameOf } from "./transport.js";
import { Watch } from "./watch.js";

/** @import { Servers } from "./address.js" */
/** @import { Dial } from "./connection.js" */
/** @import { Settings } from "./options.js" */
/** @import { Answer, Limits, Request } from "./transport.js" */
/** @import { WatchRequest } from "./watch.js" */

export class SocketTransport {
  #settings;
  #servers;
  #connection;
  #requests;
  #nextId = 1;
  /** @type {Set<Watch<any>>} */
  #watches = new Set();
  /** @type {Map<number, Watch<any>>} */
  #subscriptions = new Map();
  /** The server accepts nothing new, because it shuts down. */
  #isLeaving = false;
  #isClosing = false;
  /** @type {() => void} */
  #onIdle = () => {};

  /**
   * @param {Servers} servers
   * @param {Settings} settings
   * @param {Dial} dial
   */
  constructor(servers, settings, dial) {
    this.#settings = settings;
    this.#servers = servers;
    this.#requests = new Requests(settings);
    this.#connection = new Connection(servers, settings, dial, {
      onOpen: () => this.#opened(),
      onMessage: (text) => this.#received(text),
      onBroken: (reason) => this.#broken(reason),
      onDenied: (error) => this.#denied(error),
    });
  }

  /** Connects for the first time; the error says why that fails. */
  async open() {
    await this.#connection.open();
  }

  /**
   * @param {Request} request
   * @param {Limits} [limits]
   * @returns {Promise<Answer>}
   */
  call(request, { signal, timeoutMs = this.#settings.requestTimeoutMs } = {}) {
    if (this.#isClosing) return Promise.reject(closed());
    if (signal?.aborted) return Promise.reject(signal.reason);
    const id = this.#nextId++;
    const allowed = timeoutMs + request.waitMs;
    return new Promise((resolve, reject) => {
      const settle = () => {
        clearTimeout(timer);
        forget();
        this.#checkIdle();
      };
      const timer = afterLimit(allowed, () => {
        const error = this.#late(this.#withdraw(id), allowed);
        settle();
        reject(error);
      });
      const forget = onAbort(signal, () => {
        this.#withdraw(id);
        settle();
        reject(signal?.reason);
      });
      try {
        this.#requests.add(id, request, (error, answer) => {
          settle();
          if (answer) resolve(answer);
          else reject(error);
        });
      } catch (error) {
        settle();
        reject(error);
      }
      this.#flush();
      this.#connection.want();
    });
  }

  /**
   * Frames of one turn of the event loop are written together.
   * @param {Request[]} requests
   * @param {Limits} [limits]
   */
  callMany(requests, limits) {
    return Promise.allSettled(requests.map((request) => this.call(request, limits)));
  }

  /**
   * @param {WatchRequest} request
   * @param {AbortSignal} [signal]
   * @returns {Watch<any>}
   */
  watch(request, signal) {
    const { watchesMax } = this.#settings;
    if (this.#isClosing) throw closed();
    signal?.throwIfAborted();
    if (this.#watches.size >= watchesMax) throw crowded("watches", watchesMax);
    /** @type {Watch<any>} */
    const watch = new Watch(
      request,
      {
        due: (it) => this.#subscribe(it),
        stop: (it) => this.#unsubscribe(it),
        remove: (it) => this.#watches.delete(it),
      },
      this.#settings,
      signal,
    );
    this.#watches.add(watch);
    this.#subscribe(watch);
    this.#connection.want();
    return watch;
  }

  async close() {
    if (!this.#isClosing) {
      this.#isClosing = true;
      const idle = new Promise(
        (/** @type {(value: void) => void} */ resolve) => (this.#onIdle = resolve),
      );
      this.#checkIdle();
      await idle;
      this.#connection.close();
      this.#requests.rejectAll(closed(), "the client was closed");
      for (const watch of [...this.#watches]) watch.finish(closed());
    }
  }

  #checkIdle() {
    if (this.#isClosing && this.#requests.isIdle) this.#onIdle();
  }

  #flush() {
    if (!this.#connection.isOpen || this.#isLeaving) return;
    this.#requests.outgoing((text) => this.#connection.send(text));
  }

  /** @param {Watch<any>} watch */
  #subscribe(watch) {
    if (watch.state !== "due" || !this.#connection.isOpen || this.#isLeaving) return;
    const id = this.#nextId++;
    watch.subscription = id;
    watch.state = "asked";
    this.#subscriptions.set(id, watch);
    const { workspace, agent } = watch.request;
    const request = { workspace, agent, command: "watch", fields: watch.fields };
    this.#connection.send(
      frameOf(id, { ...request, idempotencyKey: undefined, effect: "asks", waitMs: 0 }),
    );
  }

  /** @param {Watch<any>} watch */
  #unsubscribe(watch) {
    const { subscription } = watch;
    watch.subscription = undefined;
    if (subscription === undefined || !this.#subscriptions.delete(subscription)) return;
    const frame = { id: this.#nextId++, command: "unwatch", watch: subscription };
    this.#connection.send(JSON.stringify(frame));
  }

  #opened() {
    this.#isLeaving = false;
    this.#flush();
    for (const watch of this.#watches) this.#subscribe(watch);
  }

  /** @param {string} reason */
  #broken(reason) {
    this.#subscriptions.clear();
    for (const watch of this.#watches) watch.interrupt();
    this.#requests.broken(reason);
    this.#checkIdle();
  }

  /** @param {import("./baton-error.js").BatonError} error */
  #denied(error) {
    this.#requests.rejectAll(error, error.message);
    for (const watch of [...this.#watches]) watch.finish(error);
    this.#checkIdle();
  }

  /** @param {number} id */
  #withdraw(id) {
    const withdrawn = this.#requests.withdraw(id);
    this.#flush();
    this.#checkIdle();
    return withdrawn;
  }

  /** @param {ReturnType<Requests["withdraw"]>} withdrawn @param {number} allowed */
  #late({ mayBeDone, refusal }, allowed) {
    if (mayBeDone) return unknownOutcome(`no response within ${allowed} ms`);
    if (refusal) return refusal;
    if (this.#connection.isOpen) return timedOut(allowed);
    return unreachable(this.#servers.urls, this.#connection.reason);
  }

  /** @param {string} text */
  #received(text) {
    /** @type {any} */
    let frame;
    try {
      frame = JSON.parse(text);
    } catch {
      this.#connection.drop("the server sent something that is not JSON");
      return;
    }
    const isLeaving = frame.error !== undefined && isShuttingDown(frame.error?.code);
    if (isLeaving) this.#isLeaving = true;
    const canMove = frame.error !== undefined && this.#canMove(frame.error.code);
    if (frame.watch !== undefined) this.#pushed(frame, text.length);
    else if (this.#subscriptions.has(frame.id)) this.#subscribed(frame, canMove);
    else if (frame.id === undefined)
      this.#connection.drop(`the server objects: ${frame.error?.detail}`);
    else if (isLeaving) this.#requests.postpone(frame.id);
    else if (canMove && this.#requests.isSent(frame.id)) {
      this.#move(this.#requests.refused(frame.id, fromProblem(frame.error)));
    } else this.#answered(frame);
  }

  /**
   * Whether another server may serve what is refused with this code, and may be asked.
   * @param {string} code
   */
  #canMove(code) {
    return (
      isPassing(code) &&
      this.#servers.areSeveral &&
      !this.#isClosing &&
      this.#requests.canBeRepeated
    );
  }

  /** Goes to the next server. @param {number} refusals - How many were left before, and this. */
  #move(refusals) {
    const why = { isSuspect: true, failures: refusals - 1 };
    this.#connection.drop("the server cannot serve the workspace", why);
  }

  /** @param {any} frame */
  #answered(frame) {
    for (const unwanted of this.#requests.answered(frame.id, frame)) {
      // If it cannot be given back, it ends by itself when its time is over.
      this.#requests.add(this.#nextId++, unwanted, () => {});
    }
    this.#flush();
  }

  /** @param {any} frame @param {boolean} canMove */
  #subscribed(frame, canMove) {
    const watch = this.#subscriptions.get(frame.id);
    if (canMove && watch) {
      this.#move(watch.refused());
    } else if (frame.error !== undefined) {
      this.#subscriptions.delete(frame.id);
      watch?.ended(fromProblem(frame.error));
    } else {
      watch?.begin(frame.result?.from);
    }
  }

  /** @param {any} frame @param {number} bytes */
  #pushed({ watch: id, event, snapshot, error }, bytes) {
    const watch = this.#subscriptions.get(id);
    if (!watch) return;
    if (error !== undefined) {
      this.#subscriptions.delete(id);
      watch.subscription = undefined;
      watch.ended(fromProblem(error));
    } else if (event !== undefined) {
      watch.push(event, event.last === true, bytes);
    } else if (snapshot !== undefined) {
      watch.push({ type: "snapshot", ...snapshot }, true, bytes);
    }
  }
}
