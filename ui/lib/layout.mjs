// Where things are drawn: graphs, bars over time, trees of waiting agents, histograms. Numbers in,
// numbers out.

/** @typedef {{ id: string, after: string[] }} Vertex */
/** @typedef {{ id: string, layer: number, row: number }} Placed */

/**
 * Layers from left to right: a vertex is right of everything that it follows. Within a layer, a
 * vertex is near those that it follows. Cycles are cut.
 * @param {Vertex[]} vertices
 * @returns {{ placed: Placed[], edges: [string, string][], layers: number, rows: number }}
 */
export function layers(vertices) {
  const byId = new Map(vertices.map((vertex) => [vertex.id, vertex]));
  /** @type {Map<string, number>} */
  const depth = new Map();
  const visiting = new Set();
  /** @param {string} id @returns {number} */
  const depthOf = (id) => {
    const known = depth.get(id);
    if (known !== undefined) return known;
    if (visiting.has(id)) return 0;
    visiting.add(id);
    const before = (byId.get(id)?.after ?? []).filter((other) => byId.has(other));
    const found = Math.max(-1, ...before.map(depthOf)) + 1;
    visiting.delete(id);
    depth.set(id, found);
    return found;
  };
  for (const { id } of vertices) depthOf(id);
  const columns = /** @type {Vertex[][]} */ ([]);
  for (const vertex of vertices) {
    const layer = depth.get(vertex.id) ?? 0;
    while (columns.length <= layer) columns.push([]);
    columns[layer]?.push(vertex);
  }
  /** @type {Map<string, number>} */
  const rows = new Map();
  for (const column of columns) {
    const near = column.map((vertex, index) => {
      const known = vertex.after.map((id) => rows.get(id)).filter((row) => row !== undefined);
      const sum = known.reduce((total, row) => total + row, 0);
      return { vertex, at: known.length > 0 ? sum / known.length : index };
    });
    near.sort((a, b) => a.at - b.at);
    near.forEach(({ vertex }, row) => rows.set(vertex.id, row));
  }
  const placed = vertices.map(({ id }) => ({
    id,
    layer: depth.get(id) ?? 0,
    row: rows.get(id) ?? 0,
  }));
  const edges = vertices.flatMap(({ id, after }) =>
    after
      .filter((other) => byId.has(other))
      .map((other) => /** @type {[string, string]} */ ([other, id])),
  );
  const height = Math.max(0, ...columns.map((column) => column.length));
  return { placed, edges, layers: columns.length, rows: height };
}

/**
 * Places on a circle, from the top, clockwise.
 * @param {number} count
 * @param {number} radius
 */
export function circle(count, radius) {
  return Array.from({ length: count }, (_, index) => {
    const angle = (2 * Math.PI * index) / Math.max(1, count) - Math.PI / 2;
    return { x: radius * Math.cos(angle), y: radius * Math.sin(angle) };
  });
}

/** @typedef {{ start: number, end: number, kind: string, label?: string }} Span */

/**
 * The attempts at a task from its events, oldest first: how long it waited, and who worked on it.
 * @param {{ type: string, time: string, agent: string, fields?: any }[]} events
 * @param {number} now
 * @returns {(Span & { agent?: string })[]}
 */
export function attempts(events, now) {
  /** @type {(Span & { agent?: string })[]} */
  const spans = [];
  /** @type {(Span & { agent?: string }) | undefined} */
  let open;
  const close = (/** @type {number} */ at, /** @type {string} */ kind = "") => {
    if (!open) return;
    open.end = at;
    if (kind) open.kind = kind;
    if (open.end > open.start || open.kind !== "waiting") spans.push(open);
    open = undefined;
  };
  for (const { type, time, agent, fields } of events) {
    const at = new Date(time).getTime();
    switch (type) {
      case "task.created":
      case "task.retried":
        close(at);
        open = { start: at, end: now, kind: "waiting" };
        break;
      case "task.claimed":
      case "task.handed_over":
        close(at);
        open = { start: at, end: now, kind: "working", agent: fields?.holder ?? agent };
        break;
      case "task.failed":
        close(at, "failed");
        if (isAgain(fields?.outcome)) open = { start: at, end: now, kind: "waiting" };
        break;
      case "task.released":
      case "task.handed_off":
        close(at, "released");
        open = { start: at, end: now, kind: "waiting" };
        break;
      case "task.submitted":
        close(at, "released");
        open = { start: at, end: now, kind: "waiting" };
        break;
      case "task.reviewed":
        close(at);
        if (fields?.verdict === "retry") open = { start: at, end: now, kind: "waiting" };
        break;
      case "task.completed":
        close(at, "done");
        break;
      case "task.cancelled":
        close(at, "cancelled");
        break;
    }
  }
  if (open) close(now);
  return spans;
}

/** Whether a failed attempt is followed by another. @param {unknown} outcome */
function isAgain(outcome) {
  const text = typeof outcome === "string" ? outcome : Object.keys(Object(outcome))[0];
  return text !== "failed" && text !== "fail" && text !== "failed_for_good";
}

/**
 * @typedef {object} Waiting
 * @property {string} agent
 * @property {string} [lock] - The lock that it waits for; none for a root.
 * @property {string} [since]
 * @property {Waiting[]} waiters - The agents that wait for a lock of this one.
 */

/**
 * The blocking tree: agents that block others and wait for no other are the roots. An agent in a
 * cycle has no root; the cycle is reported by the server, and begins here at its first agent.
 * @param {{ name: string, hold?: { holder: string }, waiters: { agent: string, since: string }[] }[]}
 *   locks
 * @returns {Waiting[]}
 */
export function blockingTree(locks) {
  const blocked = new Set(locks.flatMap(({ waiters }) => waiters.map(({ agent }) => agent)));
  const contested = locks.filter(({ hold, waiters }) => hold && waiters.length > 0);
  const holders = [...new Set(contested.map(({ hold }) => hold?.holder ?? ""))];
  /** @param {string} agent @param {Set<string>} above @returns {Waiting[]} */
  const waitersOf = (agent, above) =>
    contested
      .filter(({ hold }) => hold?.holder === agent)
      .flatMap(({ name, waiters }) =>
        waiters.map((wait) => ({
          agent: wait.agent,
          lock: name,
          since: wait.since,
          waiters: above.has(wait.agent)
            ? []
            : waitersOf(wait.agent, new Set([...above, wait.agent])),
        })),
      );
  const roots = holders.filter((agent) => !blocked.has(agent));
  /** @type {Set<string>} */
  const reached = new Set();
  const visit = (/** @type {Waiting} */ { agent, waiters }) => {
    reached.add(agent);
    waiters.forEach(visit);
  };
  const trees = [];
  for (const agent of [...roots, ...holders]) {
    if (reached.has(agent)) continue;
    const tree = { agent, waiters: waitersOf(agent, new Set([agent])) };
    visit(tree);
    trees.push(tree);
  }
  return trees;
}

/**
 * A deadlock as a sentence.
 * @param {{ agent: string, waits_for: string, held_by: string }[]} links
 */
export const deadlockSentence = (links) =>
  `${links.map(({ agent, waits_for, held_by }) => `${agent} waits for ${waits_for}, which ${held_by} holds`).join("; ")}. None of them can continue until one releases its lock.`;

/**
 * How many times fall into each of some intervals of equal length.
 * @param {number[]} times
 * @param {number} start
 * @param {number} end
 * @param {number} bins
 */
export function histogram(times, start, end, bins) {
  const counts = new Array(bins).fill(0);
  const width = (end - start) / bins;
  if (!(width > 0)) return counts;
  for (const time of times) {
    const bin = Math.floor((time - start) / width);
    if (bin >= 0 && bin < bins) counts[bin] += 1;
    else if (time === end) counts[bins - 1] += 1;
  }
  return counts;
}

/**
 * Which rows of a long list are visible.
 * @param {number} total
 * @param {number} rowHeight
 * @param {number} scrollTop
 * @param {number} height
 * @param {number} [margin]
 */
export function visibleRows(total, rowHeight, scrollTop, height, margin = 8) {
  const first = Math.max(0, Math.floor(scrollTop / rowHeight) - margin);
  const last = Math.min(total, Math.ceil((scrollTop + height) / rowHeight) + margin);
  return {
    first,
    last: Math.max(first, last),
    above: first * rowHeight,
    height: total * rowHeight,
  };
}
