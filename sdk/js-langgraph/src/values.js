// Values of LangGraph as bytes, in the form that the Python package has as well.
//
// The state of a checkpoint is one run of bytes: a header in JSON, which says what follows, and the
// values one after another. The server stores the common parts of two checkpoints once. A state
// that Python has saved is JSON if all of its values are.

/** @import { SerializerProtocol } from "@langchain/langgraph-checkpoint" */

/** @typedef {{ type: string, bytes: Uint8Array }} Typed - A serialised value. */
/** @typedef {{ type: string, parts: number }} Head - What is known of a value in several parts. */

/**
 * @typedef {object} Header
 * @property {[name: string, type: string, length: number][]} parts - What follows: the checkpoint,
 *   its metadata, and the values of channels, whose names begin with an equals sign here.
 * @property {string[]} [large] - The channels whose values have entries of their own.
 * @property {string} [parent] - The id of the checkpoint before this one.
 */

export const CONTENT_TYPE = "langgraph.v1";
/** A value of Baton has at most one mebibyte; a longer text is divided. */
const PART_LENGTH_MAX = 250_000;
const LENGTH_BYTES = 4;
/** What the serialiser of LangGraph writes for a value that `JSON.stringify` refuses. */
const UNSERIALISED = '"[unable to serialize, circular reference is too complex to analyze]"';
/** How many arguments a function is called with at most. */
const ARGUMENTS_MAX = 0x8000;

/**
 * @param {SerializerProtocol} serde
 * @param {unknown} value
 * @param {string} what - What the value is, for an error.
 * @returns {Promise<Typed>}
 */
export async function stored(serde, value, what) {
  const [type, bytes] = await serde.dumpsTyped(value);
  if (type !== "json") return { type, bytes };
  // The serialiser of LangGraph writes nothing for a function, and cannot read that.
  if (bytes.length === 0)
    throw new TypeError(`${what} is a ${typeof value}, which cannot be stored`);
  // It writes this text instead of the whole value.
  if (bytes.length === UNSERIALISED.length && typeof value !== "string") {
    if (new TextDecoder().decode(bytes) === UNSERIALISED)
      throw new TypeError(`${what} is or contains a bigint, which cannot be stored`);
  }
  return { type, bytes };
}

/** @param {SerializerProtocol} serde @param {Typed} given @returns {Promise<any>} */
export async function loaded(serde, { type, bytes }) {
  return await serde.loadsTyped(type, bytes);
}

/** @param {Uint8Array} bytes */
export function base64Of(bytes) {
  if (typeof Buffer !== "undefined")
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
  let binary = "";
  for (let at = 0; at < bytes.length; at += ARGUMENTS_MAX)
    binary += String.fromCharCode(...bytes.subarray(at, at + ARGUMENTS_MAX));
  return btoa(binary);
}

/** @param {string} text @returns {Uint8Array} */
export function bytesOf(text) {
  if (typeof Buffer !== "undefined") {
    const { buffer, byteOffset, length } = Buffer.from(text, "base64");
    return new Uint8Array(buffer, byteOffset, length);
  }
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

/**
 * The head and the parts of a value that has entries of its own.
 * @param {Typed} given
 * @returns {[Head, string[]]}
 */
export function divided({ type, bytes }) {
  const text = base64Of(bytes);
  const parts = [];
  for (let at = 0; at < text.length; at += PART_LENGTH_MAX)
    parts.push(text.slice(at, at + PART_LENGTH_MAX));
  return [{ type, parts: parts.length }, parts];
}

/** A header and what follows it, in Base64. @param {Header} header @param {Uint8Array[]} values */
export function packed(header, values) {
  const head = new TextEncoder().encode(JSON.stringify(header));
  const length = values.reduce((sum, it) => sum + it.length, LENGTH_BYTES + head.length);
  const bytes = new Uint8Array(length);
  new DataView(bytes.buffer).setUint32(0, head.length);
  let at = LENGTH_BYTES;
  for (const it of [head, ...values]) {
    bytes.set(it, at);
    at += it.length;
  }
  return base64Of(bytes);
}

/**
 * The header and the parts of a state.
 * @param {any} state
 * @returns {[Pick<Header, "large" | "parent">, Map<string, Typed>]}
 */
export function unpacked(state) {
  if (typeof state !== "string") return [state, partsOf(state)];
  const bytes = bytesOf(state);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = LENGTH_BYTES + view.getUint32(0);
  /** @type {Header} */
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(LENGTH_BYTES, at)));
  const parts = new Map();
  for (const [name, type, length] of header.parts) {
    parts.set(name, { type, bytes: bytes.subarray(at, at + length) });
    at += length;
  }
  return [header, parts];
}

/** @param {{ checkpoint: any, metadata: any, values: Record<string, any> }} state */
function partsOf({ checkpoint, metadata, values }) {
  const channels = Object.entries(values).map(([name, value]) => [`=${name}`, value]);
  const parts = [["checkpoint", checkpoint], ["metadata", metadata], ...channels];
  const encoder = new TextEncoder();
  return new Map(
    parts.map(([name, value]) => [
      name,
      { type: "json", bytes: encoder.encode(JSON.stringify(value)) },
    ]),
  );
}

/**
 * Whether a value contains all that another one has.
 * @param {any} value
 * @param {any} wanted
 * @returns {boolean}
 */
export function contains(value, wanted) {
  if (typeof wanted !== "object" || wanted === null) return value === wanted;
  if (typeof value !== "object" || value === null || Array.isArray(value) !== Array.isArray(wanted))
    return false;
  return Object.entries(wanted).every(([name, it]) => contains(value[name], it));
}
