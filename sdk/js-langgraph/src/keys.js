// Keys of entries. Parts are encoded, so that a slash in a name does not end it.
//
//   t/THREAD/NAMESPACE/CHECKPOINT/c          a checkpoint
//   t/THREAD/NAMESPACE/CHECKPOINT/w/TASK     the writes of a task after it
//   v/THREAD/NAMESPACE/CHANNEL/VERSION       the value of a channel
//   s/LABEL/LABEL//KEY                       an item of the store
//
// Entries are listed in the order of their keys, and the newest checkpoint is wanted first. The id
// of
// a checkpoint is therefore written as the complement of its bytes: a greater id is a smaller key.

/**
 * After every hexadecimal digit, so that a longer id with the same beginning is the greater one.
 */
const END = "~";

/** @param {string} id */
export function descending(id) {
  const bytes = new TextEncoder().encode(id);
  return [...bytes].map((byte) => (255 - byte).toString(16).padStart(2, "0")).join("") + END;
}

/** @param {string} text */
function ascending(text) {
  const pairs = text.slice(0, -END.length).match(/../g) ?? [];
  return new TextDecoder().decode(
    Uint8Array.from(pairs, (pair) => 255 - Number.parseInt(pair, 16)),
  );
}

/** @param {string} thread */
export const threadPrefix = (thread) => `t/${encodeURIComponent(thread)}/`;

/** @param {string} thread @param {string} namespace */
export const namespacePrefix = (thread, namespace) =>
  `${threadPrefix(thread)}${encodeURIComponent(namespace)}/`;

/** @param {string} thread @param {string} namespace @param {string} id */
export const checkpointPrefix = (thread, namespace, id) =>
  `${namespacePrefix(thread, namespace)}${descending(id)}/`;

/** @param {string} thread */
export const valuesPrefix = (thread) => `v/${encodeURIComponent(thread)}/`;

/**
 * @param {string} thread
 * @param {string} namespace
 * @param {string} channel
 * @param {string | number} version
 */
export const valueKey = (thread, namespace, channel, version) =>
  [valuesPrefix(thread) + encodeURIComponent(namespace), channel, String(version)]
    .map((part, index) => (index === 0 ? part : encodeURIComponent(part)))
    .join("/");

/**
 * @typedef {object} Place - What the key of a checkpoint or of its writes says.
 * @property {string} thread
 * @property {string} namespace
 * @property {string} id
 * @property {string | undefined} task - None for the checkpoint itself.
 */

/** @param {string} key @returns {Place} */
export function placeOf(key) {
  const [, thread = "", namespace = "", id = "", , task] = key.split("/");
  return {
    thread: decodeURIComponent(thread),
    namespace: decodeURIComponent(namespace),
    id: ascending(id),
    task: task === undefined ? undefined : decodeURIComponent(task),
  };
}
