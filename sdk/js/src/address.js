// The addresses of servers.

import { BatonError, badUrl } from "./errors.js";

/** The port that a server listens on by default. */
const PORT_DEFAULT = 4747;

/**
 * @typedef {object} Address
 * @property {string} http - The URL for requests, without a slash at the end.
 * @property {string} webSocket - The URL for a WebSocket, without a slash at the end.
 */

/**
 * Reads `http://host:port`, `https://…`, `ws://…` or `wss://…`.
 * @param {string} url
 * @returns {Address}
 */
export function parseAddress(url) {
  const match = /^(https?|wss?):\/\/([^/]*)\/?$/.exec(url);
  if (!match) {
    throw badUrl(url, "it must be `http://`, `https://`, `ws://` or `wss://` and a host and port");
  }
  const [, scheme, authority] = /** @type {[string, string, string]} */ (
    /** @type {unknown} */ (match)
  );
  const parts = /^(\[[0-9A-Fa-f:.%]+\]|[\w.-]+)(?::(\d{1,5}))?$/.exec(authority);
  if (!parts || Number(parts[2] ?? 0) > 65_535) {
    throw badUrl(url, "it must name one host and port, an IPv6 address in brackets");
  }
  const secure = scheme === "https" || scheme === "wss" ? "s" : "";
  const host = `${parts[1]}:${parts[2] ?? PORT_DEFAULT}`;
  return { http: `http${secure}://${host}`, webSocket: `ws${secure}://${host}` };
}

/** More than a cluster has servers, and few enough to try all of them. */
const SERVERS_MAX = 32;

/** The servers that a client can use: one, or several that share their data. */
export class Servers {
  #addresses;
  /** The index of the one in use, or the one that is tried next. */
  #current = 0;
  /** The server that was left because it fell silent or could not serve, until another accepts. */
  #suspect = "";

  /** @param {string} urls - One URL, or several with commas between them. */
  constructor(urls) {
    this.#addresses = urls.split(",").map((url) => parseAddress(url.trim()));
    if (this.#addresses.length > SERVERS_MAX) {
      throw badUrl(urls, `it names more than ${SERVERS_MAX} servers`);
    }
  }

  /** The URL of the server in use. */
  get url() {
    return /** @type {Address} */ (this.#addresses[this.#current]).http;
  }

  /** All URLs, for messages. */
  get urls() {
    return this.#addresses.map((address) => address.http).join(",");
  }

  /** Whether there is more than one. */
  get areSeveral() {
    return this.#addresses.length > 1;
  }

  /**
   * The connection is over: the server in use is tried last. One that is suspect, because it fell
   * silent or could not serve, is not preferred as the owner either.
   * @param {boolean} isSuspect
   */
  leave(isSuspect) {
    this.#suspect = isSuspect ? this.url : "";
    this.skip(this.url);
  }

  /** Moves to the next server, unless that was done since. @param {string} url - What failed. */
  skip(url) {
    if (url === this.url) this.#current = (this.#current + 1) % this.#addresses.length;
  }

  /**
   * Connects to the first server that accepts it, beginning with the one in use. If none does,
   * throws the error of that one.
   * @template T
   * @param {(address: Address) => Promise<T>} connect
   * @returns {Promise<T>}
   */
  async connect(connect) {
    /** @type {unknown[]} */
    const errors = [];
    while (errors.length < this.#addresses.length) {
      const address = /** @type {Address} */ (this.#addresses[this.#current]);
      try {
        return await connect(address);
      } catch (error) {
        // Another server may accept it, unless the request itself is at fault.
        if (!(error instanceof BatonError && error.kind === "unavailable")) throw error;
        errors.push(error);
        this.skip(address.http);
      }
    }
    throw errors[0];
  }

  /**
   * Connects as `connect` does, and then to the server that owns the workspace instead, if that is
   * one of the servers: the token is shown to no other. If it cannot be reached, the connection
   * that there is will do.
   * @template {{ owner?: string, close: () => void }} T
   * @param {(address: Address) => Promise<T>} connect
   * @returns {Promise<T>}
   */
  async connectToOwner(connect) {
    const avoided = new Set();
    const first = await this.connect((address) =>
      connect(address).catch((error) => {
        avoided.add(address.http);
        throw error;
      }),
    );
    avoided.add(this.#suspect);
    this.#suspect = "";
    const index = this.#addresses.findIndex(({ http }) => http === first.owner);
    if (index < 0 || index === this.#current || avoided.has(first.owner)) return first;
    try {
      const better = await connect(/** @type {Address} */ (this.#addresses[index]));
      this.#current = index;
      first.close();
      return better;
    } catch {
      return first;
    }
  }
}
