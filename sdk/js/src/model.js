// Models behind an endpoint that implements the OpenAI chat completions API.
//
// 1. One call is made. It has a time limit, and the size of the response is bounded.
// 2. The API key is sent to the endpoint only: redirects are not followed.
//
// Deliberately absent: tools, streaming and conversations, which belong to a framework.

import { BatonError, InvalidError, ModelError } from "./errors.js";
import { reasonOf } from "./http.js";
import { encode } from "./json.js";
import { afterLimit, onAbort } from "./timing.js";

/** The default time limit for a completion. */
const TIMEOUT_MS = 600_000;
/** How much of a response is read. */
const ANSWER_BYTES_MAX = 16 << 20;
/** How much of an error response is reported. */
const DETAIL_CHARACTERS_MAX = 300;

/**
 * @typedef {object} EndpointOptions
 * @property {string | undefined} [key] - The API key, if the endpoint needs one.
 * @property {number | undefined} [timeoutMs] - How long a completion may take; ten minutes if not given.
 * @property {typeof fetch | undefined} [fetch] - Used instead of `fetch`, such as one with another dispatcher.
 */

/**
 * @typedef {object} Completion
 * @property {string} text
 * @property {string} model - The model, as the endpoint names it.
 * @property {any} usage - The usage, as the endpoint counts it.
 */

/** An endpoint that implements the OpenAI chat completions API, with a model. */
export class Endpoint {
  #key;
  #fetch;
  #target;

  /**
   * @param {string} baseUrl - Such as `http://127.0.0.1:11434/v1`.
   * @param {string} model - The model, as the endpoint names it.
   * @param {EndpointOptions} [options]
   */
  constructor(baseUrl, model, { key, timeoutMs = TIMEOUT_MS, fetch } = {}) {
    /** The URL that was given. */
    this.url = baseUrl;
    /** The model. */
    this.model = model;
    /** How long a completion may take. */
    this.timeoutMs = timeoutMs;
    this.#target = `${parsed(baseUrl)}/chat/completions`;
    // The key is not repeated here.
    if (key !== undefined && !/^[!-~]*$/.test(key)) {
      throw badEndpoint(baseUrl, "the API key has invalid characters, such as a line break");
    }
    this.#key = key;
    this.#fetch = fetch;
  }

  /**
   * The endpoint that `OPENAI_BASE_URL` names, with the key of `OPENAI_API_KEY` if there is one.
   * @param {string} model
   * @param {Omit<EndpointOptions, "key">} [options]
   */
  static fromEnvironment(model, options) {
    const environment = /** @type {any} */ (globalThis).process?.env ?? {};
    const { OPENAI_BASE_URL: url = "", OPENAI_API_KEY: key } = environment;
    return new Endpoint(url, model, { ...options, key: key || undefined });
  }

  /**
   * Asks the model. Throws a {@link ModelError} if there is no completion.
   * @param {string} instructions
   * @param {string} context
   * @param {{ signal?: AbortSignal | undefined }} [options]
   * @returns {Promise<Completion>}
   */
  async complete(instructions, context, { signal } = {}) {
    const messages = [
      { role: "system", content: instructions },
      { role: "user", content: context },
    ];
    const body = encode({ model: this.model, messages });
    const controller = new AbortController();
    const late = () => controller.abort(unreachable(`no response within ${this.timeoutMs} ms`));
    const timer = afterLimit(this.timeoutMs, late);
    const forget = onAbort(signal, () => controller.abort(signal?.reason));
    try {
      signal?.throwIfAborted();
      return completionOf(await this.#post(body, controller.signal), this.model);
    } catch (error) {
      controller.signal.throwIfAborted();
      throw error;
    } finally {
      clearTimeout(timer);
      forget();
    }
  }

  /** The body of the response. @param {string} body @param {AbortSignal} signal */
  async #post(body, signal) {
    const headers = new Headers({ "content-type": "application/json" });
    if (this.#key !== undefined) headers.set("authorization", `Bearer ${this.#key}`);
    let response;
    let text;
    try {
      response = await (this.#fetch ?? fetch)(this.#target, {
        method: "POST",
        headers,
        body,
        signal,
        redirect: "manual",
        credentials: "omit",
        referrerPolicy: "no-referrer",
      });
      text = await textOf(response);
    } catch (cause) {
      if (cause instanceof BatonError) throw cause;
      throw unreachable(reasonOf(cause), { cause });
    }
    if (response.ok) return text;
    const { status } = response;
    const detail = [...text.slice(0, 2 * DETAIL_CHARACTERS_MAX)].slice(0, DETAIL_CHARACTERS_MAX);
    const reason = `the endpoint answered with status ${status}: ${detail.join("")}`;
    throw new ModelError(reason, { status });
  }
}

/** A response as text. @param {Response} response */
async function textOf(response) {
  const reader = response.body?.getReader();
  if (!reader) return "";
  const decoder = new TextDecoder();
  const parts = [];
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return parts.join("") + decoder.decode();
    bytes += value.length;
    if (bytes > ANSWER_BYTES_MAX) {
      await reader.cancel();
      throw unreachable(`the response has more than ${ANSWER_BYTES_MAX} bytes`);
    }
    parts.push(decoder.decode(value, { stream: true }));
  }
}

/** The completion in a response. @param {string} text @param {string} model @returns {Completion} */
function completionOf(text, model) {
  let answer;
  try {
    answer = JSON.parse(text);
    // Nothing may be in it that cannot be stored as a result.
    encode({ answer });
  } catch (cause) {
    throw odd(cause instanceof Error ? cause.message : String(cause), { cause });
  }
  const content = answer?.choices?.[0]?.message?.content;
  if (typeof content !== "string" || content.trim() === "") throw odd("there is no text in it");
  const named = typeof answer.model === "string" ? answer.model : model;
  return { text: content, model: named, usage: answer.usage ?? null };
}

/** The prefix of every path. @param {string} url */
function parsed(url) {
  if (!/^https?:\/\//.test(url)) {
    throw badEndpoint(url, "it must begin with `http://` or `https://`");
  }
  const host = /^https?:\/\/(?:\[[0-9A-Fa-f:.%]+\]|[^/:[\]]+)(?::(\d{1,5}))?(?:\/.*)?$/.exec(url);
  if (!host || !/^[!-~]*$/.test(url) || /[?#@]/.test(url)) {
    throw badEndpoint(url, "it must have a host, and only a port and a path besides");
  }
  if (Number(host[1] ?? 0) > 65_535) throw badEndpoint(url, "the port must be from 0 to 65535");
  return url.replace(/\/+$/, "");
}

/** @param {string} url @param {string} reason */
const badEndpoint = (url, reason) =>
  new InvalidError({
    code: "client.bad_endpoint",
    kind: "invalid",
    detail: `the endpoint \`${url.slice(0, 200)}\` cannot be used: ${reason}`,
    hint: "use a URL such as `http://127.0.0.1:11434/v1`, or set OPENAI_BASE_URL to it",
  });

/** @param {string} reason @param {ErrorOptions} [options] */
const unreachable = (reason, options) =>
  new ModelError(`the model could not be asked: ${reason}`, options);

/** @param {string} reason @param {ErrorOptions} [options] */
const odd = (reason, options) =>
  new ModelError(`the endpoint answered otherwise than it should: ${reason}`, options);
