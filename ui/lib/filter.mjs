// The filter language of the server (docs/search.md), as far as a page needs it: which list answers
// a filter, and whether a task that has changed still matches.

/** @typedef {{ field: string, value: string, not: boolean }} Term */

/** Fields that `task.list` filters by itself. */
const LISTED = new Set(["status", "type", "agent", "group"]);

/**
 * @param {string} text
 * @returns {Term[]}
 */
export function parseFilter(text) {
  /** @type {Term[]} */
  const terms = [];
  const pattern = /(-?)(?:([a-z]+)(:|[<>]=?))?("[^"]*"|\S+)/g;
  for (const [, minus, field = "", mark = ":", quoted = ""] of text.matchAll(pattern)) {
    const value = quoted.replace(/^"|"$/g, "");
    if (value === "") continue;
    // A comparison of times is left to the server, as it was written.
    const name = mark === ":" ? field : `${field}${mark}`;
    terms.push({ field: name, value, not: minus === "-" });
  }
  return terms;
}

/** @param {Term[]} terms */
export const formatFilter = (terms) =>
  terms
    .map(({ field, value, not }) => {
      const quoted = /\s/.test(value) ? `"${value}"` : value;
      const mark = field === "" || /[<>=]$/.test(field) ? "" : ":";
      return `${not ? "-" : ""}${field}${mark}${quoted}`;
    })
    .join(" ");

/**
 * The same filter with one field set, or removed if the value is empty.
 * @param {string} text
 * @param {string} field
 * @param {string} value
 */
export function withField(text, field, value) {
  const terms = parseFilter(text).filter((term) => term.field !== field || term.not);
  if (value !== "") terms.push({ field, value, not: false });
  return formatFilter(terms);
}

/** @param {string} text @param {string} field */
export const fieldOf = (text, field) =>
  parseFilter(text).find((term) => term.field === field && !term.not)?.value ?? "";

/**
 * Fields for `task.list` if that can answer the filter; otherwise nothing, and the index must.
 * @param {string} text
 * @returns {Record<string, string> | undefined}
 */
export function listFields(text) {
  /** @type {Record<string, string>} */
  const fields = {};
  for (const { field, value, not } of parseFilter(text)) {
    if (not || !LISTED.has(field) || field in fields) return undefined;
    fields[field] = value;
  }
  return fields;
}

/**
 * Whether a task matches. Times cannot be decided here and count as matching.
 * @param {any} task
 * @param {Term[]} terms
 */
export function matches(task, terms) {
  return terms.every(({ field, value, not }) => matchesTerm(task, field, value) !== not);
}

/** @param {any} task @param {string} field @param {string} value */
function matchesTerm(task, field, value) {
  switch (field) {
    case "status":
    case "type":
    case "group":
    case "id":
      return task[field] === value;
    case "agent":
    case "to":
      return (task.lease?.holder ?? task.assigned_agent) === value;
    case "by":
    case "from":
      return task.requested_by === value;
    case "":
      return JSON.stringify(task).toLowerCase().includes(value.toLowerCase());
    default:
      return true;
  }
}
