// A service: receives the messages of an agent, and answers the requests among them.
//
//                                         ┌── next, received in the same commit ◀─┐
//                                         ▼                                       │
//   session ──▶ handlers registered ──▶ receive ──▶ handler ─▶ a result ─▶ reply ─┤
//     ▲  │                                ▲           └─────▶ an error ─▶ reply with the error
//     │  └ a heartbeat, beside it         └── ack, if it is no request
//     └── the session is lost: all of it begins again
//
// 1. A request is answered with what its handler returned or threw. A message that is no request is
//    acknowledged if its handler succeeded, and delivered again if not.
// 2. When it is stopped, nothing new is received, what was begun is finished, and the session ends.
// 3. An unreachable server is no reason to end.

import { BatonError, isFinal, isSessionEnded } from "./errors.js";
import { Renewal } from "./renewal.js";
import { onAbort, pause } from "./timing.js";
import { answerAndReceive, REDELIVER_MS, sendOrSayWhy } from "./answers.js";
import { failureOf } from "./failures.js";
import { atLeastOne } from "./options.js";

/** @import { Outcome } from "./answers.js" */
/** @import { Workspace } from "./workspace.js" */
/** @import * as T from "./generated/types.js" */

/** How long one call waits for messages. */
const WAIT_MS = 30_000;
/** The pause after something that failed. */
const PAUSE_MS = 1_000;

/**
 * @typedef {object} ServiceOptions
 * @property {number | undefined} [concurrency] - How many handlers run at a time; 1 if not given.
 * @property {number | undefined} [ttl_ms] - How long the session lasts without a heartbeat.
 * @property {string[] | undefined} [capabilities] - What the agent can do.
 */

/**
 * The counts of a service.
 * @typedef {object} Served
 * @property {number} answered - Requests that were answered, and messages that were acknowledged.
 * @property {number} failed - Requests that were answered with an error, and messages that are
 *   delivered again.
 * @property {number} lost - Requests whose caller no longer waited for the answer.
 */

/**
 * @typedef {(body: any, message: T.Message, context: { signal: AbortSignal }) => unknown}
 *   MessageHandler
 */

export class Service {
  #workspace;
  #options;
  #concurrency;
  /** @type {Map<string, MessageHandler>} */
  #handlers = new Map();
  /** @type {MessageHandler | undefined} */
  #other;
  #stop = new AbortController();
  /** @type {Served} */
  #served = { answered: 0, failed: 0, lost: 0 };

  /** @param {Workspace} workspace @param {ServiceOptions} options */
  constructor(workspace, options) {
    this.#workspace = workspace;
    this.#options = options;
    this.#concurrency = atLeastOne("concurrency", options.concurrency);
  }

  /**
   * Answers requests to `{"handler": name}`: with what the handler returns, or with its error.
   * @param {string} name
   * @param {MessageHandler} handler
   */
  handle(name, handler) {
    this.#handlers.set(name, handler);
    return this;
  }

  /**
   * Handles everything else: messages, and requests to the agent or a capability.
   * @param {MessageHandler} handler
   */
  onMessage(handler) {
    this.#other = handler;
    return this;
  }

  /** Receives nothing more. {@link Service.run} ends when what was begun is finished. */
  stop() {
    this.#stop.abort();
  }

  /**
   * Serves until it is stopped, by {@link Service.stop} or by the signal. It throws only if serving
   * makes no sense: a name is invalid, or it is not allowed.
   * @param {{ signal?: AbortSignal | undefined }} [options]
   * @returns {Promise<Served>}
   */
  async run({ signal } = {}) {
    if (signal?.aborted) this.stop();
    const forget = onAbort(signal, () => this.stop());
    try {
      while (!this.#stop.signal.aborted) {
        try {
          await this.#session();
        } catch (error) {
          if (isFinal(error) && !isSuperseded(error)) throw error;
          await pause(PAUSE_MS, this.#stop.signal);
        }
      }
      return this.#served;
    } finally {
      forget();
    }
  }

  /** One session, until it is lost or the service is stopped. */
  async #session() {
    const { agents, handlers } = this.#workspace;
    const { ttl_ms, capabilities } = this.#options;
    const { token, ttl_ms: granted } = await agents.register({ ttl_ms, capabilities });
    const upkeep = this.#workspace.caller.with({ isUpkeep: true });
    const renewal = new Renewal("the session", granted, (options) =>
      upkeep.call("agent.heartbeat", { token }, options),
    );
    try {
      for (const name of this.#handlers.keys()) await handlers.register(name);
      const slots = Array.from({ length: this.#concurrency }, () => this.#slot(renewal.signal));
      await Promise.all(slots);
    } catch (error) {
      // Its handlers are notified: their requests go to other agents.
      if (isSessionEnded(error)) renewal.lost(error);
      throw error;
    } finally {
      renewal.stop();
      // It also ends by itself, only later.
      if (!renewal.signal.aborted) await agents.leave({ token }).catch(() => {});
    }
    renewal.signal.throwIfAborted();
  }

  /** @param {AbortSignal} lost */
  async #slot(lost) {
    const signal = AbortSignal.any([this.#stop.signal, lost]);
    while (!signal.aborted) {
      let [message] = await this.#receive(signal);
      while (message) message = await this.#serve(message, lost, signal);
    }
  }

  /** @param {AbortSignal} signal @returns {Promise<T.Message[]>} */
  async #receive(signal) {
    try {
      const options = { limit: 1, wait_ms: WAIT_MS, redeliver_ms: REDELIVER_MS, signal };
      const { messages } = await this.#workspace.inbox.receive(options);
      return messages;
    } catch (error) {
      if (signal.aborted) return [];
      if (isFinal(error)) throw error;
      await pause(PAUSE_MS, signal);
      return [];
    }
  }

  /** @param {Outcome} outcome - It was sent. */
  #count(outcome) {
    if ("body" in outcome) this.#served.answered += 1;
    else this.#served.failed += 1;
  }

  /**
   * @param {T.Message} message
   * @param {AbortSignal} lost
   * @param {AbortSignal} signal - Ends the wait for the next message.
   * @returns {Promise<T.Message | undefined>} The next message, if it was received with the answer.
   */
  async #serve(message, lost, signal) {
    const address = message.request?.address;
    const name = typeof address === "object" && "handler" in address ? address.handler : undefined;
    const handler = (name !== undefined && this.#handlers.get(name)) || this.#other;
    /** @type {Outcome} */
    let outcome;
    try {
      if (!handler) throw new Error("this agent has no handler for the message");
      outcome = { body: (await handler(message.body, message, { signal: lost })) ?? null };
    } catch (error) {
      outcome = { error: failureOf(error).error };
    }
    if (lost.aborted) {
      this.#served.lost += 1;
      return undefined;
    }
    try {
      const waiting = { wait_ms: WAIT_MS, signal };
      const send = (/** @type {Outcome} */ it) =>
        answerAndReceive(this.#workspace, message, (outcome = it), waiting);
      const { result: next } = await sendOrSayWhy(outcome, send);
      this.#count(outcome);
      return next;
    } catch (error) {
      if (isSessionEnded(error)) {
        this.#count(outcome);
        throw error;
      }
      if (!(error instanceof BatonError)) throw error;
      this.#served.lost += 1;
      return undefined;
    }
  }
}

/** Whether a session was lost or replaced, so that another one can begin. @param {unknown} error */
const isSuperseded = (error) => error instanceof BatonError && error.kind === "stale";
