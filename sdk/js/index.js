// The SDK for browsers, Bun and Deno: it uses their WebSocket.

import { open } from "./src/client.js";
import { canSendToken, dialPlatformSocket } from "./src/sockets/platform-socket.js";

export * from "./src/exports.js";

/** @import { ClientOptions } from "./src/options.js" */

const environment = /** @type {any} */ (globalThis).process?.env ?? {};

/**
 * Connects to a server: `http://host:port`, or `https://…` if it uses TLS. Without a URL it is
 * `BATON_URL`, or the server of this machine.
 * @param {string} [url]
 * @param {ClientOptions} [options]
 */
export const connect = (url, options = {}) =>
  open({ dial: dialPlatformSocket, canSendToken, environment }, url, options);
