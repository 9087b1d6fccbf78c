// Reads MessagePack, as the serialiser of LangGraph for Python writes it.

/** A reader of one value after another. */
export class Reader {
  #bytes;
  #view;
  #extension;
  #at = 0;

  /**
   * @param {Uint8Array} bytes
   * @param {(code: number, bytes: Uint8Array) => unknown} extension - What an extension is read as.
   */
  constructor(bytes, extension) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#extension = extension;
  }

  /**
   * The next value. Maps are lists of pairs in a `Map`; integers of more than 53 bits are rounded.
   * @returns {unknown}
   */
  next() {
    const first = this.#unsigned(1);
    if (first < 0x80) return first;
    if (first < 0x90) return this.#map(first & 0x0f);
    if (first < 0xa0) return this.#list(first & 0x0f);
    if (first < 0xc0) return this.#text(first & 0x1f);
    if (first >= 0xe0) return first - 0x100;
    return this.#long(first);
  }

  /** A value whose first byte says only what it is. @param {number} first @returns {unknown} */
  #long(first) {
    // Of one, two, four and eight bytes, or of one, two and four.
    const size = (/** @type {number} */ base) => 1 << (first - base);
    if (first === 0xc0) return null;
    if (first === 0xc2 || first === 0xc3) return first === 0xc3;
    if (first >= 0xc4 && first <= 0xc6) return this.#take(this.#unsigned(size(0xc4)));
    if (first >= 0xc7 && first <= 0xc9) return this.#extended(this.#unsigned(size(0xc7)));
    if (first === 0xca) return this.#view.getFloat32(this.#skip(4));
    if (first === 0xcb) return this.#view.getFloat64(this.#skip(8));
    if (first >= 0xcc && first <= 0xcf) return this.#unsigned(size(0xcc));
    if (first >= 0xd0 && first <= 0xd3) return this.#signed(size(0xd0));
    if (first >= 0xd4 && first <= 0xd8) return this.#extended(size(0xd4));
    if (first >= 0xd9 && first <= 0xdb) return this.#text(this.#unsigned(size(0xd9)));
    if (first === 0xdc || first === 0xdd) return this.#list(this.#unsigned(2 * size(0xdc)));
    if (first === 0xde || first === 0xdf) return this.#map(this.#unsigned(2 * size(0xde)));
    throw new Error("a value in MessagePack is damaged; restore the workspace from a backup");
  }

  /** Reads the next bytes, and returns their position. @param {number} length */
  #skip(length) {
    const at = this.#at;
    this.#at += length;
    return at;
  }

  /** @param {number} length */
  #take(length) {
    const at = this.#skip(length);
    return this.#bytes.subarray(at, at + length);
  }

  /** @param {number} size @returns {number} */
  #unsigned(size) {
    const at = this.#skip(size);
    if (size === 1) return this.#view.getUint8(at);
    if (size === 2) return this.#view.getUint16(at);
    return size === 4 ? this.#view.getUint32(at) : Number(this.#view.getBigUint64(at));
  }

  /** @param {number} size @returns {number} */
  #signed(size) {
    const at = this.#skip(size);
    if (size === 1) return this.#view.getInt8(at);
    if (size === 2) return this.#view.getInt16(at);
    return size === 4 ? this.#view.getInt32(at) : Number(this.#view.getBigInt64(at));
  }

  /** @param {number} length */
  #text(length) {
    return new TextDecoder().decode(this.#take(length));
  }

  /** @param {number} length */
  #list(length) {
    return Array.from({ length }, () => this.next());
  }

  /** @param {number} length */
  #map(length) {
    return new Map(
      Array.from({ length }, () => /** @type {[unknown, unknown]} */ ([this.next(), this.next()])),
    );
  }

  /** @param {number} length */
  #extended(length) {
    const code = this.#view.getInt8(this.#skip(1));
    return this.#extension(code, this.#take(length));
  }
}
