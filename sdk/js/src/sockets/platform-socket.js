// The WebSocket of browsers, Bun and Deno.

import { fromProblem, unreachable } from "../errors.js";
import { afterLimit, limitSignal } from "../timing.js";

/** @import { Dial } from "../connection.js" */

const SUB_PROTOCOL = "baton.v1.json";
/** How a sub-protocol begins that carries a token. */
const BEARER_PROTOCOL = "baton.bearer.";
/** The characters of a sub-protocol's name, and of the tokens of servers and JWTs. */
const NAME = /^[!#$%&'*+\-.^_`|~\w]+$/;

/** Bun and Deno send headers in the handshake; the standard and browsers know none. */
const canSendHeaders = "Bun" in globalThis || "Deno" in globalThis;

/**
 * Whether the handshake can carry this token: as a header, or as the name of a sub-protocol.
 * @param {string} token
 */
export const canSendToken = (token) => canSendHeaders || NAME.test(token);

/** @param {string | undefined} token */
function handshakeOf(token) {
  if (token === undefined) return [SUB_PROTOCOL];
  if (!canSendHeaders) return [SUB_PROTOCOL, `${BEARER_PROTOCOL}${token}`];
  return { protocols: [SUB_PROTOCOL], headers: { authorization: `Bearer ${token}` } };
}

/** @type {Dial} */
export const dialPlatformSocket = (address, { token, connectTimeoutMs }, { onMessage, onClose }) =>
  new Promise((resolve, reject) => {
    const url = `${address.webSocket}/v1/ws`;
    const socket = new WebSocket(url, /** @type {any} */ (handshakeOf(token)));
    const timer = afterLimit(connectTimeoutMs, () => {
      socket.close();
      reject(unreachable(address.http, `no connection within ${connectTimeoutMs} ms`));
    });
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
      signal: limitSignal(timeoutMs),
    });
    const error = fromProblem(await response.json());
    return error.kind === "denied" ? error : unreachable(url, error.message);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    return unreachable(url, reason, { cause });
  }
}
