// Keys as a tree: what is before a slash is a branch.

/**
 * @typedef {object} Branch
 * @property {string} name
 * @property {string} path
 * @property {number} count - How many entries are below.
 * @property {Map<string, Branch>} branches
 * @property {{ key: string, name: string, value: any }[]} entries
 */

/** @param {string} name @param {string} path @returns {Branch} */
const branch = (name, path) => ({ name, path, count: 0, branches: new Map(), entries: [] });

/** @param {{ key: string, value: any }[]} entries @returns {Branch} */
export function treeOf(entries) {
  const root = branch("", "");
  for (const { key, value } of entries) {
    const parts = key.split("/");
    const name = parts.pop() ?? "";
    let at = root;
    at.count += 1;
    for (const part of parts) {
      const path = at.path ? `${at.path}/${part}` : part;
      const next = at.branches.get(part) ?? branch(part, path);
      at.branches.set(part, next);
      next.count += 1;
      at = next;
    }
    at.entries.push({ key, name, value });
  }
  return root;
}
