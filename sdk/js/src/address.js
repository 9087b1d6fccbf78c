// The address of a server.

import { badUrl } from "./errors.js";

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
