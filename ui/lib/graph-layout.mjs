// The layout of a graph: at once if it is small, in a worker otherwise.

import { useEffect, useMemo, useState } from "./html.mjs";
import { layers } from "./layout.mjs";

/** @import { Vertex } from "./layout.mjs" */

/** So many vertices are laid out in less than a millisecond. */
const SMALL = 60;

/** @type {Worker | undefined} */
let worker;
/** The callers that wait for a layout. @type {Map<string, Set<(layout: any) => void>>} */
const waiting = new Map();

/**
 * @param {string} key
 * @param {Vertex[]} vertices
 * @param {(layout: any) => void} done
 */
function layOut(key, vertices, done) {
  const others = waiting.get(key) ?? new Set();
  waiting.set(key, others.add(done));
  if (!worker) {
    worker = new Worker(new URL("layout-worker.mjs", import.meta.url), { type: "module" });
    worker.onmessage = ({ data }) => {
      for (const notify of waiting.get(data.key) ?? []) notify(data.layout);
      waiting.delete(data.key);
    };
  }
  if (others.size === 1) worker.postMessage({ key, vertices });
  return () => void others.delete(done);
}

/**
 * The layout of a graph; the previous one, or none, until that of a large one has been made.
 * @param {Vertex[]} given
 * @returns {ReturnType<typeof layers> | undefined}
 */
export function useLayers(given) {
  const vertices = given.map(({ id, after }) => ({ id, after }));
  const key = JSON.stringify(vertices);
  const isSmall = vertices.length <= SMALL;
  const small = useMemo(() => (isSmall ? layers(vertices) : undefined), [key]);
  const [large, setLarge] = useState(/** @type {any} */ (undefined));
  useEffect(() => (isSmall ? undefined : layOut(key, vertices, setLarge)), [key]);
  return small ?? large;
}
