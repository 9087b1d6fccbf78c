// The SDK for browsers, with their WebSocket: what the dashboard loads.

import { open } from "./client.js";
import { PLATFORM_SILENCE_MAX_MS } from "./options.js";
import { canSendToken, dialPlatformSocket } from "./sockets/platform-socket.js";

export * from "./exports.js";

/** @import { ClientOptions } from "./options.js" */

const environment = /** @type {any} */ (globalThis).process?.env ?? {};

/**
 * Connects to a server: `http://host:port`, or `https://…` if it uses TLS. Without a URL it is
 * `BATON_URL`, or the server of this machine.
 * @param {string} [url]
 * @param {ClientOptions} [options]
 */
export const connect = (url, options = {}) =>
  open({ dial: dialPlatformSocket, canSendToken, environment }, url, {
    ...options,
    silenceMaxMs: options.silenceMaxMs ?? PLATFORM_SILENCE_MAX_MS,
  });
