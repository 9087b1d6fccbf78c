// Values as JSON. `JSON.stringify` turns what JSON cannot express into `null` or leaves it out;
// here it is an error, because the value that is stored would not be the value that was given.

import { notJson } from "./errors.js";

/** The depth of values that the server accepts, with room for the envelope. */
const DEPTH_MAX = 80;

/**
 * Whether a text can be written in UTF-8.
 * @param {string & { isWellFormed?: () => boolean }} text
 */
const isWellFormed = (text) =>
  text.isWellFormed ? text.isWellFormed() : !/\p{Surrogate}/u.test(text);

/** @param {unknown} value @param {string} path @param {number} depth */
function check(value, path, depth) {
  switch (typeof value) {
    case "string":
      if (!isWellFormed(value)) throw notJson(`${path} contains half a surrogate pair`);
      return;
    case "boolean":
      return;
    case "number":
      if (!Number.isFinite(value)) throw notJson(`${path} is ${value}`);
      return;
    case "object":
      if (value !== null) checkObject(value, path, depth);
      return;
    default:
      throw notJson(`${path} is ${typeof value === "bigint" ? "a bigint" : `${typeof value}`}`);
  }
}

/** @param {object} value @param {string} path @param {number} depth */
function checkObject(value, path, depth) {
  if (depth > DEPTH_MAX) throw notJson(`${path} is nested too deeply, or contains itself`);
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) {
      check(value[index], `${path}[${index}]`, depth + 1);
    }
    return;
  }
  if ("toJSON" in value && typeof value.toJSON === "function") {
    check(value.toJSON(), path, depth + 1);
    return;
  }
  if (value instanceof Map || value instanceof Set || ArrayBuffer.isView(value)) {
    throw notJson(`${path} is a ${value.constructor.name}`);
  }
  for (const name of Object.keys(value)) {
    if (!isWellFormed(name)) throw notJson(`a name in ${path} contains half a surrogate pair`);
    const member = /** @type {Record<string, unknown>} */ (value)[name];
    // A member that is undefined is absent, as everywhere in JavaScript.
    if (member !== undefined) check(member, depth === 0 ? name : `${path}.${name}`, depth + 1);
  }
}

/**
 * An object as JSON text.
 * @param {Record<string, unknown>} value
 * @returns {string}
 */
export function encode(value) {
  checkObject(value, "the request", 0);
  return JSON.stringify(value);
}

/** How many bytes a text has in UTF-8. @param {string} text */
export const byteLength = (text) => new TextEncoder().encode(text).length;
