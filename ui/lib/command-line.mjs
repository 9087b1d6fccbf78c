// Commands for a shell. The names in them come from agents, and may be anything.

/** What a shell takes as it is. */
const PLAIN = /^[\w./:@%+,=-]+$/;
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/g;

/** A text as one word of a shell command. @param {unknown} value */
export function quoted(value) {
  const text = String(value);
  if (PLAIN.test(text)) return text;
  if (text.search(CONTROL) < 0) return `'${text.replaceAll("'", "'\\''")}'`;
  const code = (/** @type {string} */ sign) =>
    `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return `$'${text.replace(/[\\']/g, "\\$&").replace(CONTROL, code)}'`;
}

/**
 * A template whose values are words of a shell command. A name that begins with a hyphen is no
 * option: it follows `--`, so options come first.
 * @param {TemplateStringsArray} parts
 * @param {...unknown} values
 */
export const commandLine = (parts, ...values) =>
  values.reduce(
    (/** @type {string} */ line, value, index) =>
      `${line}${String(value).startsWith("-") ? "-- " : ""}${quoted(value)}${parts[index + 1]}`,
    parts[0] ?? "",
  );
