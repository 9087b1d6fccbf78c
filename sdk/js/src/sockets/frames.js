// Frames of RFC 6455, as a client writes and reads them.
//
//    byte 0          byte 1            then
//   +-+---+------+  +-+---------+  +-----------------+------------+---------+
//   |F| 0 |opcode|  |M| length  |  | 2 or 8 bytes of | 4 bytes of | payload |
//   +-+---+------+  +-+---------+  | length, if any  | mask       |         |
//                                  +-----------------+------------+---------+

import { randomFillSync } from "node:crypto";

export const TEXT = 0x1;
export const CLOSE = 0x8;
export const PING = 0x9;
export const PONG = 0xa;

/** @typedef {{ opcode: number, payload: Buffer }} Message */

const masks = Buffer.allocUnsafe(4096);
let nextMask = masks.length;

/** The position of four unused random bytes in `masks`. */
function takeMask() {
  if (nextMask === masks.length) {
    randomFillSync(masks);
    nextMask = 0;
  }
  nextMask += 4;
  return nextMask - 4;
}

/**
 * A whole message as one frame.
 * @param {number} opcode
 * @param {string | Buffer} payload
 * @returns {Buffer}
 */
export function frame(opcode, payload) {
  const length = typeof payload === "string" ? Buffer.byteLength(payload) : payload.length;
  const extended = length < 126 ? 0 : length < 65_536 ? 2 : 8;
  const start = 2 + extended + 4;
  const out = Buffer.allocUnsafe(start + length);
  out[0] = 0x80 | opcode;
  out[1] = 0x80 | (extended === 0 ? length : extended === 2 ? 126 : 127);
  if (extended === 2) out.writeUInt16BE(length, 2);
  else if (extended === 8) out.writeBigUInt64BE(BigInt(length), 2);
  if (typeof payload === "string") out.write(payload, start);
  else payload.copy(out, start);
  const mask = takeMask();
  masks.copy(out, start - 4, mask, mask + 4);
  for (let index = 0; index < length; index += 1) {
    out[start + index] =
      /** @type {number} */ (out[start + index]) ^
      /** @type {number} */ (masks[mask + (index & 3)]);
  }
  return out;
}

/** Assembles messages from the bytes that arrive. */
export class FrameReader {
  #bytesMax;
  #onMessage;
  /** Bytes of which the frame is not complete. @type {Buffer[]} */
  #chunks = [];
  #buffered = 0;
  /** How many bytes are needed to continue. */
  #needed = 2;
  /** Parts of a message that is not complete. @type {Buffer[]} */
  #parts = [];
  #partBytes = 0;
  #opcode = 0;

  /**
   * @param {number} bytesMax - The largest message.
   * @param {(message: Message) => void} onMessage
   */
  constructor(bytesMax, onMessage) {
    this.#bytesMax = bytesMax;
    this.#onMessage = onMessage;
  }

  /** Takes what has arrived. Throws if the server violates the protocol. @param {Buffer} chunk */
  push(chunk) {
    this.#chunks.push(chunk);
    this.#buffered += chunk.length;
    if (this.#buffered < this.#needed) return;
    const bytes = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks, this.#buffered);
    let offset = 0;
    for (;;) {
      const size = this.#read(bytes, offset);
      if (size === 0) break;
      offset += size;
    }
    const rest = bytes.subarray(offset);
    this.#chunks = rest.length === 0 ? [] : [rest];
    this.#buffered = rest.length;
  }

  /**
   * Reads the frame at an offset.
   * @param {Buffer} bytes
   * @param {number} offset
   * @returns {number} Its size; 0 if it is not complete.
   */
  #read(bytes, offset) {
    const available = bytes.length - offset;
    if (available < 2) return this.#need(2);
    const first = bytes.readUInt8(offset);
    const short = bytes.readUInt8(offset + 1);
    if (short & 0x80 || first & 0x70) throw new Error("the server sent a malformed frame");
    const head = short < 126 ? 2 : short === 126 ? 4 : 10;
    if (available < head) return this.#need(head);
    const length =
      short < 126
        ? short
        : short === 126
          ? bytes.readUInt16BE(offset + 2)
          : Number(bytes.readBigUInt64BE(offset + 2));
    if (length + this.#partBytes > this.#bytesMax)
      throw new Error("the server sent too large a message");
    if (available < head + length) return this.#need(head + length);
    const payload = bytes.subarray(offset + head, offset + head + length);
    this.#take(first & 0x0f, (first & 0x80) !== 0, payload);
    this.#needed = 2;
    return head + length;
  }

  /** @param {number} bytes */
  #need(bytes) {
    this.#needed = bytes;
    return 0;
  }

  /** @param {number} opcode @param {boolean} isFinal @param {Buffer} payload */
  #take(opcode, isFinal, payload) {
    if (opcode >= 0x8) {
      this.#onMessage({ opcode, payload });
      return;
    }
    if (opcode !== 0) this.#opcode = opcode;
    if (isFinal && this.#parts.length === 0) {
      this.#onMessage({ opcode: this.#opcode, payload });
      return;
    }
    this.#parts.push(payload);
    this.#partBytes += payload.length;
    if (!isFinal) return;
    const whole = Buffer.concat(this.#parts, this.#partBytes);
    this.#parts = [];
    this.#partBytes = 0;
    this.#onMessage({ opcode: this.#opcode, payload: whole });
  }
}
