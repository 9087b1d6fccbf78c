// How values are written for people.

const UNITS = /** @type {[string, number][]} */ ([
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1_000],
]);

/** A duration, such as `2.4 s`, `3 min` or `5 h`. @param {number} ms */
export function duration(ms) {
  const size = Math.abs(ms);
  if (size < 1_000) return `${Math.round(ms)} ms`;
  for (const [unit, length] of UNITS) {
    if (size < length) continue;
    const amount = ms / length;
    return `${Math.abs(amount) < 10 ? Math.round(amount * 10) / 10 : Math.round(amount)} ${unit}`;
  }
  return `${Math.round(ms)} ms`;
}

/**
 * How long ago or in how long: `12 s ago`, `in 3 min`.
 * @param {string | number} time
 * @param {number} now
 */
export function relative(time, now) {
  const age = now - new Date(time).getTime();
  if (Number.isNaN(age)) return "";
  if (Math.abs(age) < 1_000) return "now";
  const text = duration(Math.abs(age)).replace(/\.\d/, "");
  return age > 0 ? `${text} ago` : `in ${text}`;
}

/** The time of day with milliseconds, in the zone of the reader. @param {string | number} time */
export function clock(time) {
  const date = new Date(time);
  const two = (/** @type {number} */ number) => String(number).padStart(2, "0");
  const parts = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(":");
  return `${parts}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}

// Making a format takes a hundred times as long as using it.
const ABSOLUTE = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });
const GROUPED = new Intl.NumberFormat("en-US");

/** Date, time and zone. @param {string | number} time */
export function absolute(time) {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? "" : ABSOLUTE.format(date);
}

/** @param {number} count */
export function bytes(count) {
  if (count < 1_024) return `${count} B`;
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let amount = count;
  let unit = "";
  for (const next of units) {
    if (amount < 1_024) break;
    amount /= 1_024;
    unit = next;
  }
  return `${amount < 10 ? amount.toFixed(1) : Math.round(amount)} ${unit}`;
}

/** Digits in groups of three. @param {number} value */
export const count = (value) => GROUPED.format(value);

/** One or many. @param {number} number @param {string} noun @param {string} [plural] */
export const plural = (number, noun, plural = `${noun}s`) =>
  `${count(number)} ${number === 1 ? noun : plural}`;

/** A value on one line. @param {unknown} value @param {number} [max] */
export function preview(value, max = 120) {
  if (value === undefined) return "";
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  const line = text.replace(/\s+/g, " ");
  return line.length > max ? `${line.slice(0, max - 1)}…` : line;
}

/** @param {string} word */
export const words = (word) => word.replaceAll("_", " ");

/**
 * The spending, with the limits of its budget; nothing if nothing was spent or limited.
 * @param {any} account
 */
export function spent(account) {
  const parts = ["tokens", "cost_micros", "calls"].flatMap((unit) => {
    const [used, limit] = [account?.spent[unit] ?? 0, account?.budget?.[unit]];
    if (limit !== undefined) return [`${count(used)} of ${count(limit)} ${words(unit)}`];
    return used > 0 ? [`${count(used)} ${words(unit)}`] : [];
  });
  return parts.length > 0 ? parts.join(", ") : undefined;
}
