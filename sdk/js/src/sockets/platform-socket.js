// The WebSocket of browsers, Bun and Deno.

import { fromProblem, unreachable } from "../errors.js";

/** @import { Dial } from "../connection.js" */

const SUB_PROTOCOL = "baton.v1.json";

/** Bun and Deno send headers in the handshake; the standard and browsers know none. */
export const canSendHeaders = "Bun" in globalThis || "Deno" in globalThis;

/** @type {Dial} */
export const dialPlatformSocket = (address, { token, connectTimeoutMs }, { onMessage, onClose }) =>
  new Promise((resolve, reject) => {
    const url = `${address.webSocket}/v1/ws`;
    const headers = { authorization: `Bearer ${token}` };
    const options = token === undefined ? [SUB_PROTOCOL] : { protocols: [SUB_PROTOCOL], headers };
    const socket = new WebSocket(url, /** @type {any} */ (options));
    const timer = setTimeout(() => {
      socket.close();
      reject(unreachable(address.http, `no connection within ${connectTimeoutMs} ms`));
    }, connectTimeoutMs);
    /** @type {"connecting" | "open" | "over"} */
    let state = "connecting";
    const end = (/** @type {string} */ reason) => {
      clearTimeout(timer);
      if (state === "open") onClose(reason);
      else if (state === "connecting")
        void explained(address.http, token, connectTimeoutMs).then(reject);
      state = "over";
    };
    socket.onopen = () => {
      clearTimeout(timer);
      state = "open";
      resolve({ send: (text) => socket.send(text), close: () => socket.close() });
    };
    socket.onmessage = (event) => onMessage(event.data);
    socket.onclose = (event) =>
      end(event.reason || `the connection was closed with code ${event.code}`);
    // Some platforms report a refused handshake by this alone.
    socket.onerror = () => end("the connection failed");
  });

/**
 * Why a handshake failed, which a WebSocket does not tell: the same request as plain HTTP is
 * refused
 * for the same reason.
 * @param {string} url
 * @param {string | undefined} token
 * @param {number} timeoutMs
 */
async function explained(url, token, timeoutMs) {
  try {
    /** @type {Record<string, string>} */
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const response = await fetch(`${url}/v1/ws`, {
      headers,
      signal: AbortSignal.timeout(timeoutMs),
    });
    const error = fromProblem(await response.json());
    return error.kind === "denied" ? error : unreachable(url, error.message);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    return unreachable(url, reason, { cause });
  }
}
