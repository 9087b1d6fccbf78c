// Requests without an answer: what waits to be sent, and what waits for its answer.
//
//   add ──▶ unsent ──outgoing──▶ in flight ──answered──▶ settled
//             ▲                      │
//             └── broken, if it may ─┤
//                 be repeated        └── broken, if it may not ──▶ rejected: unknown outcome
//
// 1. Requests are sent in the order of their numbers, also after a broken connection.
// 2. A command whose outcome is unknown is never reported as not executed.
// 3. Anything granted to a call that was given up is returned.
//
// Calls that ask to wait are not counted as in flight, because they may take an hour.

import {
  crowded,
  fromProblem,
  mayBeDone,
  notUnderstood,
  tooLarge,
  unknownOutcome,
} from "./errors.js";
import { byteLength } from "./json.js";
import { frameOf, givingBack } from "./transport.js";

/** @import { BatonError } from "./errors.js" */
/** @import { Settings } from "./options.js" */
/** @import { Answer, Request } from "./transport.js" */

/** The operations that have an effect before they wait. */
const SENDS_FIRST = ["message.request", "message.reply"];

/**
 * @typedef {object} Pending
 * @property {Request} request
 * @property {string} text
 * @property {boolean} isSent
 * @property {boolean} isUncertain - It was in flight when an earlier connection broke.
 * @property {Settle} settle
 * @property {number} refusals - How many servers have refused it for a reason that passes.
 * @property {BatonError} [refusal] - The newest of these reasons.
 */

/**
 * Called once, with an error or an answer.
 * @typedef {(error: unknown, answer?: Answer) => void} Settle
 */

/**
 * A frame with an answer.
 * @typedef {object} AnswerFrame
 * @property {unknown} [revision]
 * @property {unknown} [result]
 * @property {unknown} [results]
 * @property {unknown} [error]
 */

export class Requests {
  #settings;
  /** @type {Map<number, Pending>} */
  #pending = new Map();
  /**
   * The requests that are to be sent, in the order of their numbers.
   * @type {Map<number, Pending>}
   */
  #unsent = new Map();
  #inFlight = 0;
  #bytes = 0;
  /** Waiting calls in flight that were given up. @type {Map<number, Request>} */
  #givenUp = new Map();

  /** @param {Settings} settings */
  constructor(settings) {
    this.#settings = settings;
  }

  /** Whether there is nothing in progress that closing waits for. */
  get isIdle() {
    for (const pending of this.#pending.values()) if (isFinished(pending)) return false;
    return true;
  }

  /**
   * Takes a request, to be sent. Throws if there is no room for it.
   * @param {number} id
   * @param {Request} request
   * @param {Settle} settle
   */
  add(id, request, settle) {
    const { requestBytesMax, queueMax, queueBytesMax } = this.#settings;
    const text = frameOf(id, request);
    // A character has at most three bytes, so most texts need not be counted.
    if (text.length * 3 > requestBytesMax) {
      const bytes = byteLength(text);
      if (bytes > requestBytesMax) throw tooLarge(bytes, requestBytesMax);
    }
    if (this.#unsent.size >= queueMax) throw crowded("calls", queueMax);
    if (this.#bytes > 0 && this.#bytes + text.length > queueBytesMax) {
      throw crowded("bytes of calls", queueBytesMax);
    }
    this.#bytes += text.length;
    /** @type {Pending} */
    const pending = { request, text, isSent: false, isUncertain: false, settle, refusals: 0 };
    this.#pending.set(id, pending);
    this.#unsent.set(id, pending);
  }

  /** Sends what may be sent now, in order. @param {(text: string) => void} send */
  outgoing(send) {
    for (const [id, pending] of this.#unsent) {
      if (this.#inFlight >= this.#settings.inFlightMax) return;
      this.#unsent.delete(id);
      pending.isSent = true;
      if (pending.request.waitMs === 0) this.#inFlight += 1;
      send(pending.text);
    }
  }

  /**
   * Settles the request that a frame answers.
   * @param {number} id
   * @param {AnswerFrame} frame
   * @returns {Request[]} The requests that give back what was granted too late.
   */
  answered(id, frame) {
    const givenUp = this.#givenUp.get(id);
    if (givenUp) {
      this.#givenUp.delete(id);
      return givingBack(givenUp, frame.result);
    }
    const pending = this.#remove(id);
    if (!pending) return [];
    const { request, settle } = pending;
    if (frame.error !== undefined) settle(fromProblem(frame.error));
    else if (isAnswer(request, frame)) settle(undefined, frame);
    else if (request.effect === "asks") settle(notUnderstood("it has no revision or no result"));
    else settle(unknownOutcome("the response was not understood"));
    return [];
  }

  /**
   * The server refused a request because it shuts down: it is for the next connection.
   * @param {number} id
   */
  postpone(id) {
    const pending = this.#pending.get(id);
    if (!pending?.isSent) return;
    const { request, settle } = pending;
    if (request.effect === "changes" && SENDS_FIRST.includes(request.command)) {
      // It may have been executed before it waited.
      this.#remove(id);
      settle(unknownOutcome("the server was shut down before the answer arrived"));
      return;
    }
    this.#requeue([[id, pending]]);
  }

  /** Whether a request was sent, and is not answered. @param {number} id */
  isSent(id) {
    return this.#pending.get(id)?.isSent === true;
  }

  /** Whether everything that was sent may be sent again. */
  get canBeRepeated() {
    return ![...this.#pending.values()].some((it) => it.isSent && it.request.effect === "changes");
  }

  /**
   * A server cannot serve a request now: it is for the next one.
   * @param {number} id
   * @param {BatonError} error
   * @returns {number} How many servers have refused it; 0 if it was not sent.
   */
  refused(id, error) {
    const pending = this.#pending.get(id);
    if (!pending?.isSent) return 0;
    pending.refusals += 1;
    pending.refusal = error;
    pending.isUncertain ||= mayBeDone(error.code);
    this.#requeue([[id, pending]]);
    return pending.refusals;
  }

  /** The connection broke. What may be repeated will be. @param {string} reason */
  broken(reason) {
    // The server knows that these callers are gone.
    this.#givenUp.clear();
    const sent = [...this.#pending].filter(([, pending]) => pending.isSent);
    for (const [id, { request, settle }] of sent) {
      if (request.effect !== "changes") continue;
      this.#remove(id);
      settle(unknownOutcome(`the connection broke before the answer arrived: ${reason}`));
    }
    const repeatable = sent.filter(([id]) => this.#pending.has(id));
    for (const [, pending] of repeatable) pending.isUncertain = true;
    this.#requeue(repeatable);
  }

  /**
   * No caller waits for a request any longer.
   * @param {number} id
   * @returns {{ mayBeDone: boolean, refusal?: BatonError }} Whether it may have changed something,
   *   and why servers have refused it.
   */
  withdraw(id) {
    const pending = this.#remove(id);
    if (!pending) return { mayBeDone: false };
    const { request, isSent, isUncertain, refusal } = pending;
    if (isSent && request.givesBack) this.#givenUp.set(id, request);
    return { mayBeDone: (isSent || isUncertain) && request.effect !== "asks", refusal };
  }

  /**
   * Rejects everything that is in progress. A call that only waits is cancelled by the server when
   * its connection ends; a request or a reply to an agent was sent before it waited.
   * @param {unknown} error - For what has changed nothing; the rest has an unknown outcome.
   * @param {string} reason
   */
  rejectAll(error, reason) {
    for (const [id, { request, isSent, isUncertain, settle }] of [...this.#pending]) {
      this.#remove(id);
      const onlyWaits = request.waitMs > 0 && !SENDS_FIRST.includes(request.command);
      const mayBeDone = (isSent || isUncertain) && request.effect !== "asks" && !onlyWaits;
      settle(mayBeDone ? unknownOutcome(reason) : error);
    }
  }

  /** @param {[number, Pending][]} sent */
  #requeue(sent) {
    for (const [, pending] of sent) {
      pending.isSent = false;
      if (pending.request.waitMs === 0) this.#inFlight -= 1;
    }
    this.#unsent = new Map([...sent, ...this.#unsent].sort(([a], [b]) => a - b));
  }

  /** @param {number} id */
  #remove(id) {
    const pending = this.#pending.get(id);
    if (!pending) return undefined;
    this.#pending.delete(id);
    this.#unsent.delete(id);
    this.#bytes -= pending.text.length;
    if (pending.isSent && pending.request.waitMs === 0) this.#inFlight -= 1;
    return pending;
  }
}

/**
 * Whether a request is finished before the client is closed: not one that the client makes by
 * itself, and not one that only waits, which may take an hour.
 * @param {Pending} pending
 */
function isFinished({ request, isSent }) {
  if (request.isUpkeep) return false;
  return request.waitMs === 0 || (!isSent && SENDS_FIRST.includes(request.command));
}

/**
 * @param {Request} request
 * @param {AnswerFrame} frame
 * @returns {frame is Answer}
 */
function isAnswer(request, frame) {
  if (typeof frame.revision !== "number") return false;
  return request.command === "transaction"
    ? Array.isArray(frame.results)
    : frame.result !== undefined;
}
