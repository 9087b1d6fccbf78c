// The difference of two values, line by line of their JSON.

/** @typedef {{ kind: "same" | "added" | "removed", text: string }} Line */

/** More lines than this are not compared one by one: it would take their product in time. */
const LINES_MAX = 1_500;

/** @param {unknown} value */
const linesOf = (value) => (value === undefined ? [] : JSON.stringify(value, null, 2).split("\n"));

/**
 * @param {unknown} before
 * @param {unknown} after
 * @returns {Line[]}
 */
export function diffLines(before, after) {
  const [a, b] = [linesOf(before), linesOf(after)];
  if (a.length > LINES_MAX || b.length > LINES_MAX) {
    return [...a.map(removed), ...b.map(added)];
  }
  const lengths = commonLengths(a, b);
  /** @type {Line[]} */
  const lines = [];
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) {
      lines.push({ kind: "same", text: a[i] ?? "" });
      i += 1;
      j += 1;
    } else if ((lengths[i + 1]?.[j] ?? 0) >= (lengths[i]?.[j + 1] ?? 0)) {
      lines.push(removed(a[i] ?? ""));
      i += 1;
    } else {
      lines.push(added(b[j] ?? ""));
      j += 1;
    }
  }
  return [...lines, ...a.slice(i).map(removed), ...b.slice(j).map(added)];
}

/** @param {string} text @returns {Line} */
const removed = (text) => ({ kind: "removed", text });
/** @param {string} text @returns {Line} */
const added = (text) => ({ kind: "added", text });

/** The length of the longest common subsequence from each pair on. @param {string[]} a @param {string[]} b */
function commonLengths(a, b) {
  const rows = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i -= 1) {
    const [row, below] = [rows[i], rows[i + 1]];
    if (!row || !below) continue;
    for (let j = b.length - 1; j >= 0; j -= 1) {
      row[j] = a[i] === b[j] ? (below[j + 1] ?? 0) + 1 : Math.max(below[j] ?? 0, row[j + 1] ?? 0);
    }
  }
  return rows;
}
