// Names of threads, checkpoints and entries. The Python package has the same ones.
//
//   task NAMESPACE:THREAD, key CHECKPOINT_NS/CHECKPOINT    a checkpoint, with its writes
//
//   v/THREAD/CHECKPOINT_NS/CHANNEL/VERSION    the entry of a value too large for a checkpoint
//   v/THREAD/CHECKPOINT_NS//CHECKPOINT/NAME   the entry of a value too large for a write
//   s/LABEL/LABEL//KEY                        the entry of an item of the store
//
// Parts of keys are percent-encoded, so that a slash in a name does not end it. Keys of checkpoints
// sort as their ids, and the greatest is the newest.

/**
 * @typedef {object} Place - A checkpoint.
 * @property {string} thread
 * @property {string} namespace
 * @property {string} id
 */

/** The characters that the id of a task can contain, without the colon that ends the namespace and the escape. */
const IN_TASKS = /[A-Za-z0-9._-]/;

/**
 * The id under which the checkpoints of a thread are.
 * @param {string} namespace
 * @param {string} thread
 */
export function taskOf(namespace, thread) {
  const escaped = Array.from(new TextEncoder().encode(thread), (byte) => {
    const letter = String.fromCharCode(byte);
    return IN_TASKS.test(letter) ? letter : `@${byte.toString(16).padStart(2, "0")}`;
  });
  return `${namespace}:${escaped.join("")}`;
}

/**
 * The thread whose checkpoints are under an id; none if they are not of this namespace.
 * @param {string} namespace
 * @param {string} task
 */
export function threadOf(namespace, task) {
  const beginning = `${namespace}:`;
  if (!task.startsWith(beginning)) return undefined;
  const letters = task.slice(beginning.length).match(/@[0-9a-f]{2}|[^]/g) ?? [];
  const bytes = letters.map((it) =>
    it.length === 1 ? it.charCodeAt(0) : Number.parseInt(it.slice(1), 16),
  );
  return new TextDecoder().decode(Uint8Array.from(bytes));
}

/** The prefix of the keys of all checkpoints of a namespace of LangGraph. @param {string} name */
export const namespacePrefix = (name) => `${encodeURIComponent(name)}/`;

/** @param {Place} place */
export const checkpointKey = ({ namespace, id }) =>
  `${namespacePrefix(namespace)}${encodeURIComponent(id)}`;

/** The checkpoint that a key names. @param {string} thread @param {string} key @returns {Place} */
export function placeOf(thread, key) {
  const [namespace = "", id = ""] = key.split("/");
  return { thread, namespace: decodeURIComponent(namespace), id: decodeURIComponent(id) };
}

/** @param {string} thread */
export const valuesPrefix = (thread) => `v/${encodeURIComponent(thread)}/`;

/** @param {Place} place @param {string} channel @param {string | number} version */
export const valueKey = ({ thread, namespace }, channel, version) =>
  valuesPrefix(thread) + [namespace, channel, String(version)].map(encodeURIComponent).join("/");

/** @param {Place} place @param {string} name */
export const writeValueKey = ({ thread, namespace, id }, name) =>
  valuesPrefix(thread) + [namespace, "", id, name].map(encodeURIComponent).join("/");

/** The key of a part of a long value. @param {string} key @param {number} index */
export const partKey = (key, index) => `${key}#${index}`;
