// Bytes: artifacts and secrets. They are sent over HTTP, as streams.

import { unknownOutcome } from "./errors.js";
import { ArtifactOperations, SecretOperations } from "./generated/groups.js";

/** @import { CallOptions, Caller } from "./caller.js" */
/** @import { Http } from "./http.js" */
/** @import * as T from "./generated/types.js" */

/** @typedef {string | Blob | ArrayBuffer | ArrayBufferView<ArrayBuffer>} WholeBytes */
/** @typedef {WholeBytes | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>} Bytes */
/** @typedef {Pick<CallOptions, "signal">} TransferOptions */

/** Browsers send a body as a stream over HTTP/2 only, so there it is collected first. */
const streamsUploads = typeof (/** @type {any} */ (globalThis).document) === "undefined";

/**
 * @param {Bytes} bytes
 * @returns {Promise<RequestInit & { duplex?: "half" }>}
 */
async function bodyOf(bytes) {
  if (
    typeof bytes === "string" ||
    bytes instanceof Blob ||
    bytes instanceof ArrayBuffer ||
    ArrayBuffer.isView(bytes)
  ) {
    return { body: bytes };
  }
  const stream = bytes instanceof ReadableStream ? bytes : streamOf(bytes);
  return streamsUploads
    ? { body: stream, duplex: "half" }
    : { body: await new Response(stream).blob() };
}

/** @param {AsyncIterable<Uint8Array>} bytes @returns {ReadableStream<Uint8Array>} */
function streamOf(bytes) {
  const iterator = bytes[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await iterator.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await iterator.return?.();
    },
  });
}

/** The routes of a workspace for bytes. */
export class ByteRoutes {
  #http;
  #caller;

  /** @param {Http} http @param {Caller} caller */
  constructor(http, caller) {
    this.#http = http;
    this.#caller = caller;
  }

  /**
   * @param {string} path
   * @param {Record<string, string | number | undefined>} query
   * @param {RequestInit & { duplex?: "half" }} init
   */
  fetch(path, query, init) {
    const { workspace, agent } = this.#caller.context;
    const given = Object.entries(query).filter(([, value]) => value !== undefined);
    const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
    const headers = new Headers(init.headers);
    headers.set("baton-agent", agent);
    const place = `/v1/${encodeURIComponent(workspace)}/${path}`;
    return this.#http.fetch(search.size > 0 ? `${place}?${search}` : place, { ...init, headers });
  }

  /**
   * Sends bytes. It cannot be repeated, because a stream can be read once.
   * @param {string} method
   * @param {string} path
   * @param {Record<string, string | number | undefined>} query
   * @param {Bytes} bytes
   * @param {{ headers?: Record<string, string>, signal?: AbortSignal | undefined }} init
   */
  async send(method, path, query, bytes, init) {
    try {
      const response = await this.fetch(path, query, { method, ...init, ...(await bodyOf(bytes)) });
      return await response.json();
    } catch (error) {
      const isLost =
        error instanceof Error && "code" in error && error.code === "client.unreachable";
      if (isLost) throw unknownOutcome(error.message, { cause: error });
      throw error;
    }
  }
}

export class Artifacts extends ArtifactOperations {
  #routes;

  /** @param {Caller} caller @param {ByteRoutes} routes */
  constructor(caller, routes) {
    super(caller);
    this.#routes = routes;
  }

  /**
   * Stores bytes. The same bytes are the same artifact.
   * @param {Bytes} bytes
   * @param {{ name?: string, media_type?: string, keep_ms?: number, expected?: string } &
   * TransferOptions} [options] -
   *   `keep_ms` is how long it is kept while nothing refers to it, `expected` the id that the bytes
   *   must have.
   * @returns {Promise<T.Artifact>}
   */
  put(bytes, { name, media_type, keep_ms, expected, signal } = {}) {
    /** @type {Record<string, string>} */
    const headers = { "content-type": media_type ?? "application/octet-stream" };
    if (expected !== undefined) headers["baton-artifact"] = expected;
    return this.#routes.send("PUT", "artifacts", { name, keep_ms }, bytes, { headers, signal });
  }

  /**
   * Reads an artifact, from an offset if that is given. The result is the response of `fetch`:
   * `.body` is the stream of its bytes, `.text()` and `.arrayBuffer()` collect them.
   * @param {string} artifact
   * @param {{ from?: number } & TransferOptions} [options]
   * @returns {Promise<Response>}
   */
  read(artifact, { from, signal } = {}) {
    /** @type {Record<string, string>} */
    const headers = from === undefined ? {} : { range: `bytes=${from}-` };
    return this.#routes.fetch(`artifacts/${encodeURIComponent(artifact)}`, {}, { headers, signal });
  }
}

export class Secrets extends SecretOperations {
  #routes;

  /** @param {Caller} caller @param {ByteRoutes} routes */
  constructor(caller, routes) {
    super(caller);
    this.#routes = routes;
  }

  /**
   * Stores a secret.
   * @param {Bytes} value
   * @param {{ name?: string, ttl_ms?: number } & TransferOptions} [options]
   * @returns {Promise<T.SecretRecord>}
   */
  put(value, { name, ttl_ms, signal } = {}) {
    const headers = { "content-type": "application/octet-stream" };
    return this.#routes.send("PUT", "secrets", { name, ttl_ms }, value, { headers, signal });
  }

  /**
   * Reads the value of a secret, which is recorded.
   * @param {string} secret
   * @param {TransferOptions} [options]
   * @returns {Promise<Uint8Array>}
   */
  async reveal(secret, { signal } = {}) {
    const path = `secrets/${encodeURIComponent(secret)}/reveal`;
    const response = await this.#routes.fetch(path, {}, { method: "POST", signal });
    return new Uint8Array(await response.arrayBuffer());
  }
}
