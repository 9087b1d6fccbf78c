// The SDK for Node.js 20 and later.

import { open } from "./src/client.js";
import { dialNodeSocket } from "./src/sockets/node-socket.js";

export * from "./src/exports.js";
export { Endpoint } from "./src/model.js";

/** @import { ClientOptions } from "./src/options.js" */

/**
 * Connects to a server: `http://host:port`, or `https://…` if it uses TLS. Without a URL it is
 * `BATON_URL`, or the server of this machine.
 * @param {string} [url]
 * @param {ClientOptions} [options]
 */
export const connect = (url, options = {}) =>
  open({ dial: dialNodeSocket, canSendToken: () => true, environment: process.env }, url, options);
