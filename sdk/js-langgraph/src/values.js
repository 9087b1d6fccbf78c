// Values of LangGraph as JSON. Its serialiser returns a type and bytes; bytes of JSON are kept as
// text, so that people can read them, and others in Base64.

/** @import { SerializerProtocol } from "@langchain/langgraph-checkpoint" */

/** @typedef {{ type: string, text: string } | { type: string, base64: string }} Stored */

/** A value of Baton has at most one mebibyte; a longer text is divided. */
export const PART_LENGTH_MAX = 250_000;

/**
 * @param {SerializerProtocol} serde
 * @param {unknown} value
 * @returns {Promise<Stored>}
 */
export async function stored(serde, value) {
  const [type, bytes] = await serde.dumpsTyped(value);
  if (type === "json") return { type, text: new TextDecoder().decode(bytes) };
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return { type, base64: btoa(binary) };
}

/**
 * @param {SerializerProtocol} serde
 * @param {Stored} given
 * @returns {Promise<any>}
 */
export async function loaded(serde, given) {
  if ("text" in given) return await serde.loadsTyped(given.type, given.text);
  const bytes = Uint8Array.from(atob(given.base64), (letter) => letter.charCodeAt(0));
  return await serde.loadsTyped(given.type, bytes);
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
