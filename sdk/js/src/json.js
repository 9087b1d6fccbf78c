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

/** @typedef {object[]} Around - The objects around a value, the outermost first. */

/** The beginning of a path that is long. @param {string} path */
const brief = (path) => (path.length > 80 ? `${path.slice(0, 80)}…` : path);

/** @param {object} value */
const classOf = (value) => Object.prototype.toString.call(value).slice("[object ".length, -1);

/**
 * Whether an object of a built-in class would be stored as something else: its content is not in
 * enumerable properties.
 * @param {object} value
 */
function isOpaque(value) {
  const name = classOf(value);
  if (name === "Object" || name === "Array") return false;
  if (value instanceof Error || value instanceof Map || value instanceof Set) return true;
  return name === "Error" || Object.keys(value).length === 0;
}

/** @param {object} value */
const isBoxed = (value) =>
  value instanceof Number ||
  value instanceof String ||
  value instanceof Boolean ||
  value instanceof BigInt;

/** @param {unknown} value @param {string} path @param {Around} around */
function check(value, path, around) {
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
      if (value !== null) checkObject(value, path, around);
      return;
    default:
      throw notJson(`${path} is ${typeof value === "bigint" ? "a bigint" : `${typeof value}`}`);
  }
}

/** @param {object} value @param {string} path @param {Around} around */
function checkObject(value, path, around) {
  // Before the depth, so that the path of what contains itself ends where it begins again.
  if (around.includes(value)) throw notJson(`${path} is an object that it is inside of`);
  if (around.length > DEPTH_MAX) throw notJson(`${brief(path)} is nested too deeply`);
  around.push(value);
  checkMembers(value, path, around);
  around.pop();
}

/** @param {object} value @param {string} path @param {Around} around */
function checkMembers(value, path, around) {
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) {
      check(value[index], `${path}[${index}]`, around);
    }
    return;
  }
  const isBytes = ArrayBuffer.isView(value);
  if (!isBytes && "toJSON" in value && typeof value.toJSON === "function") {
    if (value instanceof Date && Number.isNaN(value.getTime())) {
      throw notJson(`${path} is an invalid Date`);
    }
    check(value.toJSON(), path, around);
    return;
  }
  if (isBoxed(value)) {
    check(value.valueOf(), path, around);
    return;
  }
  if (isBytes || isOpaque(value)) {
    throw notJson(`${path} is an object of the class \`${classOf(value)}\``);
  }
  for (const name of Object.keys(value)) {
    if (!isWellFormed(name)) throw notJson(`a name in ${path} contains half a surrogate pair`);
    const member = /** @type {Record<string, unknown>} */ (value)[name];
    // A member that is undefined is absent, as everywhere in JavaScript.
    if (member !== undefined) check(member, around.length === 1 ? name : `${path}.${name}`, around);
  }
}

/**
 * An object as JSON text.
 * @param {Record<string, unknown>} value
 * @returns {string}
 */
export function encode(value) {
  checkObject(value, "the request", []);
  return JSON.stringify(value);
}

/** How many bytes a text has in UTF-8. @param {string} text */
export const byteLength = (text) => new TextEncoder().encode(text).length;
