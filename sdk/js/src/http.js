// Requests over HTTP, with the token, and errors as the server reports them.

import { fromProblem, notUnderstood, unreachable } from "./errors.js";

/** @import { Servers } from "./address.js" */
/** @import { BatonError } from "./baton-error.js" */

export class Http {
  #servers;
  #token;

  /** @param {Servers} servers @param {string | undefined} token */
  constructor(servers, token) {
    this.#servers = servers;
    this.#token = token;
  }

  /** The URL of the server in use. */
  get url() {
    return this.#servers.url;
  }

  /** Whether there are several servers. */
  get areSeveral() {
    return this.#servers.areSeveral;
  }

  /** The next request goes to another server. @param {string} url - The one that failed. */
  skip(url) {
    this.#servers.skip(url);
  }

  /**
   * Repeats an attempt at each server until one accepts it.
   * @template T
   * @param {() => Promise<T>} attempt
   */
  connect(attempt) {
    return this.#servers.connect(attempt);
  }

  /**
   * Sends a request. Throws what the server reports; `client.unreachable` if there is no response.
   * @param {string} path
   * @param {RequestInit & { duplex?: "half" }} [init]
   * @returns {Promise<Response>}
   */
  async fetch(path, init = {}) {
    const headers = new Headers(init.headers);
    if (this.#token !== undefined) headers.set("authorization", `Bearer ${this.#token}`);
    const { url } = this;
    let response;
    try {
      response = await fetch(url + path, { ...init, headers, credentials: "omit" });
    } catch (cause) {
      init.signal?.throwIfAborted();
      // The next and all repeated requests go to another server.
      this.#servers.skip(url);
      throw unreachable(url, reasonOf(cause), { cause });
    }
    if (!response.ok) throw await problemOf(response);
    return response;
  }
}

/** The reason of a failed fetch, which has it as its cause in Node.js. @param {unknown} error */
export function reasonOf(error) {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const { code, message } = /** @type {{ code?: string, message?: string }} */ (cause ?? {});
  return message || code || String(cause);
}

/** @param {Response} response @returns {Promise<BatonError>} */
async function problemOf(response) {
  try {
    const { type, title: _, status, ...problem } = await response.json();
    // Fields about the form of the document are not facts; a fact of the same name comes later.
    if (!String(type).startsWith("/docs/errors#")) problem.type = type;
    if (status !== response.status) problem.status = status;
    return fromProblem(problem);
  } catch (cause) {
    return notUnderstood(`it answers ${response.status} without a problem document`, { cause });
  }
}
