// Every call as an HTTP request, every watch as a stream of Server-Sent Events. For networks that
// break WebSockets, and for tokens that cannot be the name of a sub-protocol.

import {
  BatonError,
  closed,
  crowded,
  fromProblem,
  isPassing,
  isShuttingDown,
  mayBeDone,
  notUnderstood,
  timedOut,
  tooLarge,
  unknownOutcome,
  unreachable,
} from "./errors.js";
import { reasonOf } from "./http.js";
import { byteLength, encode } from "./json.js";
import { backoff } from "./options.js";
import { serverSentEvents } from "./server-sent-events.js";
import { afterLimit, limitSignal, onAbort, pause } from "./timing.js";
import { bodyOf, givingBack } from "./transport.js";
import { Watch } from "./watch.js";

/** @import { Http } from "./http.js" */
/** @import { Settings } from "./options.js" */
/** @import { Answer, Limits, Request } from "./transport.js" */
/** @import { WatchRequest } from "./watch.js" */

/**
 * How long the first request may take: it shows whether the server is there, and the token valid.
 */
const PROBE = "/v1/ws";
/** The part of a call's time after which a request without a response goes to another server. */
const ATTEMPT = 2 / 3;
/** More calls than this are not sent in one list. */
const LIST_MAX = 1_000;

/**
 * The content of one HTTP request: one call, or a list of calls.
 * @typedef {object} Exchange
 * @property {string} path
 * @property {string} body
 * @property {Request[]} calls
 */

export class HttpTransport {
  #http;
  #settings;
  #end = new AbortController();
  #isClosing = false;
  /** Calls in progress that closing waits for. @type {Set<Promise<unknown>>} */
  #running = new Set();
  /** @type {Set<Watch<any>>} */
  #watches = new Set();
  /** @type {WeakMap<Watch<any>, AbortController>} */
  #streams = new WeakMap();

  /** @param {Http} http @param {Settings} settings */
  constructor(http, settings) {
    this.#http = http;
    this.#settings = settings;
  }

  /** Connects for the first time; the error says why that fails. */
  async open() {
    await this.#http.connect(() => this.#probe());
  }

  async #probe() {
    try {
      await this.#http.fetch(PROBE, {
        signal: limitSignal(this.#settings.connectTimeoutMs),
      });
    } catch (error) {
      // A request for a WebSocket that is none is refused after the token has been checked.
      if (error instanceof BatonError && error.kind === "invalid") return;
      throw error;
    }
  }

  /**
   * @param {Request} request
   * @param {Limits} [limits]
   * @returns {Promise<Answer>}
   */
  async call(request, limits) {
    const body = textOf(request);
    const [answer] = await this.#tracked({ path: pathOf(request), body, calls: [request] }, limits);
    return /** @type {Answer} */ (answer);
  }

  /**
   * @param {Request[]} requests
   * @param {Limits} [limits]
   * @returns {Promise<PromiseSettledResult<Answer>[]>}
   */
  async callMany(requests, limits) {
    /** @type {PromiseSettledResult<Answer>[]} */
    const outcomes = [];
    for (let first = 0; first < requests.length; first += LIST_MAX) {
      outcomes.push(...(await this.#callList(requests.slice(first, first + LIST_MAX), limits)));
    }
    return outcomes;
  }

  /**
   * @param {Request[]} calls
   * @param {Limits} [limits]
   * @returns {Promise<PromiseSettledResult<Answer>[]>}
   */
  async #callList(calls, limits) {
    try {
      const path = pathOf(/** @type {Request} */ (calls[0]));
      const exchange = { path, body: `[${calls.map(textOf).join(",")}]`, calls };
      return (await this.#tracked(exchange, limits)).map(({ error, ...answer }) =>
        error === undefined
          ? { status: "fulfilled", value: answer }
          : { status: "rejected", reason: fromProblem(error) },
      );
    } catch (reason) {
      return calls.map(() => ({ status: "rejected", reason }));
    }
  }

  /**
   * @param {Exchange} exchange
   * @param {Limits} [limits]
   */
  #tracked(exchange, limits = {}) {
    const answers = this.#send(exchange, limits);
    if (waitMsOf(exchange) > 0 || exchange.calls.every(({ isUpkeep }) => isUpkeep)) return answers;
    this.#running.add(answers);
    const forget = () => this.#running.delete(answers);
    answers.then(forget, forget);
    return answers;
  }

  /**
   * @param {Exchange} exchange
   * @param {Limits} limits
   * @returns {Promise<(Answer & { error?: unknown })[]>}
   */
  async #send(exchange, { signal, timeoutMs = this.#settings.requestTimeoutMs }) {
    if (this.#isClosing) throw closed();
    signal?.throwIfAborted();
    const { requestBytesMax } = this.#settings;
    const { body } = exchange;
    if (body.length * 3 > requestBytesMax && byteLength(body) > requestBytesMax) {
      throw tooLarge(byteLength(body), requestBytesMax);
    }
    const allowed = timeoutMs + waitMsOf(exchange);
    const stop = new AbortController();
    const timer = afterLimit(allowed, () => stop.abort(timedOut(allowed)));
    const forget = [onAbort(signal, () => stop.abort(signal?.reason))];
    forget.push(onAbort(this.#end.signal, () => stop.abort(closed())));
    try {
      return await this.#repeated(exchange, stop.signal, timeoutMs * ATTEMPT);
    } finally {
      clearTimeout(timer);
      for (const it of forget) it();
    }
  }

  /**
   * Sends a request until it is answered, if it may be repeated.
   * @param {Exchange} exchange
   * @param {AbortSignal} signal
   * @param {number} attemptMs - How long one server may take, if there are others.
   * @returns {Promise<(Answer & { error?: unknown })[]>} The answer to each call.
   */
  async #repeated(exchange, signal, attemptMs) {
    const { calls } = exchange;
    const isRepeatable = calls.every(({ effect }) => effect !== "changes");
    const canMove = isRepeatable && this.#http.areSeveral;
    let isUncertain = false;
    /** @type {unknown} */
    let refusal;
    for (let failures = 0; ; failures += 1) {
      const { url } = this.#http;
      try {
        const answers = await this.#attempt(exchange, signal, canMove ? attemptMs : Infinity);
        if (signal.aborted) this.#giveBack(calls, answers);
        return answers;
      } catch (error) {
        const mayChange = calls.some(({ effect }) => effect !== "asks");
        if (signal.aborted) throw this.#reasonOf(signal, refusal ?? error, isUncertain || mayChange);
        const isLost = !(error instanceof BatonError) || error.code === "client.unreachable";
        const isMoving = !isLost && canMove && isPassing(error.code);
        if (!isLost && !isMoving && !isShuttingDown(error.code)) throw error;
        refusal = error;
        const isUnknown = isLost || mayBeDone(error.code);
        isUncertain ||= isUnknown && mayChange;
        if (isLost && !isRepeatable) throw unknownOutcome(reasonOf(error), { cause: error });
        if (canMove) this.#http.skip(url);
        await pause(backoff(this.#settings, failures), signal);
        if (signal.aborted) throw this.#reasonOf(signal, error, isUncertain);
      }
    }
  }

  /**
   * Asks one server. One that is silent for too long is as good as unreachable.
   * @param {Exchange} exchange
   * @param {AbortSignal} signal
   * @param {number} attemptMs
   * @returns {Promise<(Answer & { error?: unknown })[]>}
   */
  async #attempt(exchange, signal, attemptMs) {
    const headers = { "content-type": "application/json" };
    const { path, body } = exchange;
    const { url } = this.#http;
    const stop = new AbortController();
    const forget = onAbort(signal, () => stop.abort(signal.reason));
    const allowed = attemptMs + waitMsOf(exchange);
    const late = () => stop.abort(unreachable(url, `no response within ${allowed} ms`));
    const timer = afterLimit(allowed, late);
    try {
      const init = { method: "POST", headers, body, signal: stop.signal };
      const response = await this.#http.fetch(path, init);
      return [await response.json()].flat();
    } finally {
      clearTimeout(timer);
      forget();
    }
  }

  /**
   * Why a call was given up.
   * @param {AbortSignal} signal
   * @param {unknown} last - What happened at the last attempt.
   * @param {boolean} isUncertain
   */
  #reasonOf({ reason }, last, isUncertain) {
    if (!(reason instanceof BatonError) || reason.code !== "client.timeout") return reason;
    if (isUncertain) return unknownOutcome(reason.message, { cause: last });
    const isKnown = last instanceof BatonError && last.kind === "unavailable";
    return isKnown && !isShuttingDown(last.code) ? last : reason;
  }

  /** @param {Request[]} calls @param {Answer[]} answers */
  #giveBack(calls, answers) {
    for (const [index, call] of calls.entries()) {
      for (const unwanted of givingBack(call, answers[index]?.result)) {
        this.call(unwanted).catch(() => {});
      }
    }
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
        due: (it) => void this.#follow(it),
        stop: (it) => this.#streams.get(it)?.abort(),
        remove: (it) => this.#watches.delete(it),
      },
      this.#settings,
      signal,
    );
    this.#watches.add(watch);
    void this.#follow(watch);
    return watch;
  }

  /** Reads one stream after another until the watch is full or over. @param {Watch<any>} watch */
  async #follow(watch) {
    for (let failures = 0; isDue(watch) && !this.#isClosing; failures += 1) {
      const stream = new AbortController();
      this.#streams.set(watch, stream);
      watch.state = "asked";
      try {
        await this.#stream(watch, stream.signal, () => (failures = 0));
      } catch (error) {
        const isLost = !(error instanceof BatonError) || error.code === "client.unreachable";
        if (!isLost) {
          // The watch says when it is due again.
          watch.ended(error);
          return;
        }
      }
      // A watch that was full and is read again may have another stream already.
      if (this.#streams.get(watch) !== stream) return;
      watch.interrupt();
      if (isDue(watch)) await pause(backoff(this.#settings, failures), this.#end.signal);
    }
  }

  /**
   * @param {Watch<any>} watch
   * @param {AbortSignal} signal
   * @param {() => void} onItem
   */
  async #stream(watch, signal, onItem) {
    const { workspace, agent } = watch.request;
    const fields = watch.fields;
    const place = `/v1/${encodeURIComponent(workspace)}`;
    if (!("snapshot" in fields) && fields.from === undefined) {
      // The stream does not say where it begins, so that is decided here.
      fields.from = (await this.#revision(workspace, agent, signal)) + 1;
      watch.begin(fields.from);
      watch.state = "asked";
    }
    const query = new URLSearchParams({ pattern: fields.pattern });
    if (fields.types?.length) query.set("types", fields.types.join(","));
    if (fields.waits) query.set("waits", "true");
    if ("snapshot" in fields) query.set("snapshot", "true");
    if (fields.from !== undefined) query.set("from", String(fields.from));
    const headers = { "baton-agent": agent };
    const response = await this.#http.fetch(`${place}/watch?${query}`, { headers, signal });
    if (!response.body) throw notUnderstood("the watch has no body");
    watch.begin("snapshot" in fields ? 1 : (fields.from ?? 1));
    for await (const { event, id, data } of serverSentEvents(response.body)) {
      const item = JSON.parse(data);
      if (event === "error") throw fromProblem(item);
      onItem();
      const typed = event === "snapshot" ? { type: "snapshot", ...item } : item;
      watch.push(typed, id !== undefined, data.length);
    }
  }

  /** @param {string} workspace @param {string} agent @param {AbortSignal} signal */
  async #revision(workspace, agent, signal) {
    const request = {
      workspace,
      agent,
      command: "workspace.get",
      fields: {},
      idempotencyKey: undefined,
      isUpkeep: true,
    };
    const answer = await this.call({ ...request, effect: "asks", waitMs: 0 }, { signal });
    return answer.revision;
  }

  async close() {
    if (this.#isClosing) return;
    this.#isClosing = true;
    await Promise.allSettled([...this.#running]);
    this.#end.abort();
    for (const watch of [...this.#watches]) watch.finish(closed());
  }
}

/** @param {Watch<any>} watch */
const isDue = (watch) => watch.state === "due";

/** @param {Request} request */
function pathOf({ workspace, command }) {
  const place = command === "transaction" ? "transactions" : "commands";
  return `/v1/${encodeURIComponent(workspace)}/${place}`;
}

/** How long it asks to wait. @param {Exchange} exchange */
const waitMsOf = ({ calls }) => Math.max(...calls.map(({ waitMs }) => waitMs));

/** @param {Request} request */
function textOf(request) {
  const { agent, idempotencyKey, command, fields } = request;
  if (command !== "transaction") return encode(bodyOf(request));
  return encode({ ...fields, agent, idempotency_key: idempotencyKey });
}
