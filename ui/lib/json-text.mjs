// JSON as it is written. A value that is parsed and written again is another one where JavaScript
// rounds a number, and `1.0` becomes `1`.

/**
 * Where the tokens of a text begin and end. The text is JSON.
 * @param {string} text
 * @returns {Generator<[number, number]>}
 */
function* tokens(text) {
  for (let start = 0; start < text.length; ) {
    const sign = text.charAt(start);
    let end = start + 1;
    if (sign === '"') {
      while (text[end] !== '"') end += text[end] === "\\" ? 2 : 1;
      end += 1;
    } else if (/\s/.test(sign)) {
      start = end;
      continue;
    } else if (!"{}[],:".includes(sign)) {
      while (end < text.length && !/[\s,\]}]/.test(text.charAt(end))) end += 1;
    }
    yield [start, end];
    start = end;
  }
}

/** The same without white space. Throws if it is not JSON. @param {string} text */
export function compact(text) {
  JSON.parse(text);
  return Array.from(tokens(text), ([start, end]) => text.slice(start, end)).join("");
}

/** The same with a line for each member. @param {string} text */
export function indented(text) {
  let [written, depth, last] = ["", 0, ""];
  for (const [start, end] of tokens(text)) {
    const token = text.slice(start, end);
    const isEnd = token === "}" || token === "]";
    if (isEnd) depth -= 1;
    const isEmpty = isEnd && (last === "{" || last === "[");
    if ((isEnd && !isEmpty) || (!isEnd && /^[{[,]$/.test(last)))
      written += `\n${"  ".repeat(depth)}`;
    written += token === ":" ? ": " : token;
    if (token === "{" || token === "[") depth += 1;
    last = token;
  }
  return written;
}

/**
 * The text of a member of an object, or of one inside of it.
 * @param {string} text
 * @param {...string} path
 * @returns {string | undefined}
 */
export function memberText(text, ...path) {
  const [name, ...rest] = path;
  if (name === undefined) return text;
  let [depth, key, from, last] = [0, "", -1, 0];
  let found;
  for (const [start, end] of tokens(text)) {
    const sign = text.charAt(start);
    if (depth === 1 && from >= 0 && (sign === "," || sign === "}")) {
      found = text.slice(from, last);
      from = -1;
    }
    if (sign === "}" || sign === "]") depth -= 1;
    if (sign === "{" || sign === "[") depth += 1;
    if (depth === 1 && sign === ":" && JSON.parse(key) === name) from = end;
    if (depth === 1 && sign === '"') key = text.slice(start, end);
    last = end;
  }
  return found === undefined ? undefined : memberText(found.trim(), ...rest);
}

/** In a longer text, numbers are those of JavaScript: looking at each takes many times as long. */
const EXACT_MAX = 1_000_000;

/**
 * The value of a text, with numbers that are written as they were, if the browser can.
 * @param {string} text
 */
export function parse(text) {
  const { rawJSON } = /** @type {any} */ (JSON);
  if (!rawJSON || text.length > EXACT_MAX) return JSON.parse(text);
  /** @type {any} */
  const exact = (/** @type {string} */ _, /** @type {any} */ value, /** @type {any} */ { source }) =>
    typeof value === "number" && source !== String(value) ? rawJSON(source) : value;
  return JSON.parse(text, exact);
}

/** The text of a number that is kept as it was written. @param {any} value @returns {string | undefined} */
export const numberText = (value) =>
  /** @type {any} */ (JSON).isRawJSON?.(value) ? value.rawJSON : undefined;

/**
 * An object as JSON, with further members that are given as JSON.
 * @param {Record<string, unknown>} value
 * @param {Record<string, string | undefined>} members
 */
export function withMembers(value, members) {
  const given = Object.entries(members).filter(([, text]) => text !== undefined);
  const parts = given.map(([name, text]) => `,${JSON.stringify(name)}:${text}`);
  return `${JSON.stringify(value).slice(0, -1)}${parts.join("")}}`;
}
