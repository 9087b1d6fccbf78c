// Where the feed gets its events: the newest of the history, and a watch in a worker.

import { settings } from "./session.mjs";

/** @import { Workspace } from "@baton/sdk" */
/** @import { FeedSource } from "./feed.mjs" */

/** @param {Workspace} workspace @returns {FeedSource} */
export const sourceOf = (workspace) => ({
  async newest(limit, signal) {
    const command = /** @type {const} */ ({ command: "event.history", limit });
    const { revision, result } = await workspace.execute(command, { signal });
    return { revision, oldest: result.oldest, events: [...result.events].reverse() };
  },
  watch: (from, signal) => watch(workspace, from, signal),
  isThere: (ms) =>
    fetch("/healthz", { signal: AbortSignal.timeout(ms) })
      .then(({ ok }) => ok)
      .catch(() => false),
});

/**
 * Batches of events, until the signal is aborted.
 * @param {Workspace} workspace
 * @param {number} from
 * @param {AbortSignal} signal
 */
async function* watch({ name, agent }, from, signal) {
  const worker = new Worker(new URL("feed-worker.mjs", import.meta.url), { type: "module" });
  /** @type {any[]} */
  const arrived = [];
  let wake = () => {};
  const put = (/** @type {any} */ data) => {
    arrived.push(data);
    wake();
  };
  worker.onmessage = ({ data }) => put(data);
  worker.onerror = () => put({ error: { kind: "unavailable", message: "the worker failed" } });
  signal.addEventListener("abort", () => put({ error: signal.reason }), { once: true });
  const sdk = import.meta.resolve("@baton/sdk");
  const order = { sdk, url: location.origin, settings: settings(agent), workspace: name, from };
  worker.postMessage(order);
  try {
    for (;;) {
      const next = arrived.shift();
      if (next?.error) throw next.error;
      if (next) yield /** @type {any[]} */ (next.events);
      else await new Promise((resolve) => (wake = () => resolve(undefined)));
    }
  } finally {
    worker.terminate();
  }
}
