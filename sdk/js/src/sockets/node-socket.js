// A WebSocket for Node.js, over its own HTTP client.
//
// Node.js has a WebSocket without a flag from version 22 on. It can neither send a token in the
// handshake by the standard, nor report why a handshake was refused. This one does both, and works
// in version 20.

import { createHash, randomBytes } from "node:crypto";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { fromProblem, notUnderstood, unreachable } from "../errors.js";
import { afterLimit } from "../timing.js";
import { CLOSE, frame, FrameReader, PING, PONG, TEXT } from "./frames.js";

/** @import { IncomingMessage } from "node:http" */
/** @import { Duplex } from "node:stream" */
/** @import { Address } from "../address.js" */
/** @import { Dial, Socket, SocketEvents } from "../connection.js" */

const SUB_PROTOCOL = "baton.v1.json";
const ACCEPTED = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/** The largest message of a server. */
const MESSAGE_BYTES_MAX = 64 * 1024 * 1024;
/** The largest refusal of a handshake. */
const REFUSAL_BYTES_MAX = 64 * 1024;
/** The characters of a header. Other names are refused with the first call. */
const HEADER_VALUE = /^[\x21-\x7e]+$/;
/** Normal closure, in the two bytes of a close frame. */
const NORMAL = Buffer.from([0x03, 0xe8]);

/** @type {Dial} */
export const dialNodeSocket = (address, { token, workspace, connectTimeoutMs }, events) =>
  new Promise((resolve, reject) => {
    const key = randomBytes(16).toString("base64");
    const request = address.http.startsWith("https:") ? httpsRequest : httpRequest;
    const outgoing = request(`${address.http}/v1/ws`, {
      headers: {
        connection: "Upgrade",
        upgrade: "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": key,
        "sec-websocket-protocol": SUB_PROTOCOL,
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(HEADER_VALUE.test(workspace) ? { "baton-workspace": workspace } : {}),
      },
    });
    const fail = (/** @type {Error} */ error) => {
      clearTimeout(timer);
      reject(error);
      outgoing.destroy();
    };
    const timer = afterLimit(connectTimeoutMs, () => {
      fail(unreachable(address.http, `no connection within ${connectTimeoutMs} ms`));
    });
    outgoing.on("error", (cause) => fail(unreachable(address.http, explained(cause), { cause })));
    outgoing.on("response", (response) => void refused(address, response).then(fail));
    outgoing.on("upgrade", (response, stream, head) => {
      clearTimeout(timer);
      const expected = createHash("sha1")
        .update(key + ACCEPTED)
        .digest("base64");
      if (response.headers["sec-websocket-accept"] !== expected) {
        stream.destroy();
        fail(notUnderstood("its handshake is not that of a WebSocket"));
        return;
      }
      const owner = response.headers["baton-owner"];
      const socket = serve(stream, head, events);
      resolve(typeof owner === "string" ? { ...socket, owner } : socket);
    });
    outgoing.end();
  });

/** Why a connection could not be made. @param {Error & { errors?: Error[] }} error */
const explained = (error) =>
  error.message || error.errors?.map((it) => it.message).join(", ") || error.name;

/**
 * The error of a handshake that was refused.
 * @param {Address} address
 * @param {IncomingMessage} response
 */
async function refused(address, response) {
  let text = "";
  try {
    for await (const chunk of response.setEncoding("utf8")) {
      text += chunk;
      if (text.length > REFUSAL_BYTES_MAX) break;
    }
    return fromProblem(JSON.parse(text));
  } catch (cause) {
    const what = `${address.http} answers ${response.statusCode} to a WebSocket`;
    return notUnderstood(what, { cause });
  }
}

/**
 * @param {Duplex} stream
 * @param {Buffer} head - Bytes that arrived with the handshake.
 * @param {SocketEvents} events
 * @returns {Socket}
 */
function serve(stream, head, { onHeard, onMessage, onClose }) {
  let isOpen = true;
  const end = (/** @type {string} */ reason) => {
    if (!isOpen) return;
    isOpen = false;
    stream.destroy();
    onClose(reason);
  };
  /** Frames of one turn of the event loop are written together. @type {Buffer[]} */
  let unwritten = [];
  const flush = () => {
    const frames = unwritten;
    unwritten = [];
    if (isOpen)
      stream.write(frames.length === 1 ? /** @type {Buffer} */ (frames[0]) : Buffer.concat(frames));
  };
  const write = (/** @type {Buffer} */ bytes) => {
    if (unwritten.push(bytes) === 1) queueMicrotask(flush);
  };
  const reader = new FrameReader(MESSAGE_BYTES_MAX, ({ opcode, payload }) => {
    if (opcode === TEXT) onMessage(payload.toString("utf8"));
    else if (opcode === PING) write(frame(PONG, payload));
    else if (opcode === CLOSE)
      end(payload.subarray(2).toString("utf8") || "the server closed the connection");
  });
  const take = (/** @type {Buffer} */ chunk) => {
    onHeard?.();
    try {
      reader.push(chunk);
    } catch (error) {
      end(error instanceof Error ? error.message : String(error));
    }
  };
  if ("setNoDelay" in stream && typeof stream.setNoDelay === "function") stream.setNoDelay(true);
  if (head.length > 0) stream.unshift(head);
  stream.on("data", take);
  stream.on("error", (error) => end(error.message));
  stream.on("close", () => end("the connection was closed"));
  stream.on("end", () => end("the server closed the connection"));
  return {
    send: (text) => write(frame(TEXT, text)),
    close: () => {
      if (!isOpen) return;
      write(frame(CLOSE, NORMAL));
      flush();
      isOpen = false;
      stream.end();
      setTimeout(() => stream.destroy(), 1_000).unref();
    },
  };
}
