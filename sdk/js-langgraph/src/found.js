// Checkpoints and the writes after them, as they are found.

import { partKey, placeOf, taskOf, valueKey, writeValueKey } from "./keys.js";
import { bytesOf, CONTENT_TYPE, loaded, unpacked } from "./values.js";

/** @import { SerializerProtocol } from "@langchain/langgraph-checkpoint" */
/** @import { Workspace } from "@baton/sdk" */
/** @import { Checkpoint, CheckpointHistoryOptions } from "@baton/sdk/types" */
/** @import { Entries } from "./entries.js" */
/** @import { Place } from "./keys.js" */
/** @import { Head, Typed } from "./values.js" */

export const PAGE_CHECKPOINTS = 100;

/** @typedef {[task: string, channel: string, value: unknown]} Write */

/** A checkpoint and the writes after it. */
export class Found {
  #serde;
  #entries;
  #header;
  #writes;
  /** The values that `Header` names. @type {Map<string, Typed>} */
  #parts;

  /**
   * @param {SerializerProtocol} serde
   * @param {Entries} entries - Those of large values.
   * @param {string} thread
   * @param {Checkpoint} checkpoint
   */
  constructor(serde, entries, thread, checkpoint) {
    this.#serde = serde;
    this.#entries = entries;
    this.place = placeOf(thread, checkpoint.key ?? "");
    this.#writes = checkpoint.writes ?? [];
    [this.#header, this.#parts] = unpacked(checkpoint.state);
  }

  /** Whether a checkpoint is one of LangGraph. @param {Checkpoint} checkpoint */
  static is({ content_type: type, state }) {
    return type === CONTENT_TYPE || (!type && Object(state).langgraph !== undefined);
  }

  /** The checkpoint before this one. @returns {Place | undefined} */
  get parent() {
    const id = this.#header.parent;
    return id === undefined ? undefined : { ...this.place, id };
  }

  /** The channels that have values. */
  get channels() {
    const inline = [...this.#parts.keys()].filter((it) => it.startsWith("="));
    return [...inline.map((it) => it.slice(1)), ...(this.#header.large ?? [])];
  }

  /** @returns {Promise<any>} */
  async metadata() {
    return await this.#part("metadata");
  }

  /** The checkpoint without the values of its channels. @returns {Promise<any>} */
  async content() {
    return await this.#part("checkpoint");
  }

  /**
   * The values of channels; of all of them if none are named.
   * @param {Record<string, string | number>} versions
   * @param {Set<string>} [channels]
   * @returns {Promise<Record<string, any>>}
   */
  async values(versions, channels) {
    /** @param {string} channel */
    const isWanted = (channel) => !channels || channels.has(channel);
    const inline = Array.from(this.#parts, async ([name, part]) => {
      if (!name.startsWith("=") || !isWanted(name.slice(1))) return [];
      return [[name.slice(1), await loaded(this.#serde, part)]];
    });
    const large = (this.#header.large ?? []).map(async (channel) => {
      const version = versions[channel];
      if (version === undefined || !isWanted(channel)) return [];
      const key = valueKey(this.place, channel, version);
      const [head] = await this.#entries.values([key]);
      return [[channel, await this.#joined(key, head)]];
    });
    return Object.fromEntries((await Promise.all([...inline, ...large])).flat());
  }

  /**
   * The writes after it, which the server has sorted by path, task and index.
   * @param {(channel: string) => boolean} [isWanted]
   * @returns {Promise<Write[]>}
   */
  async pendingWrites(isWanted = () => true) {
    const wanted = this.#writes.filter(({ channel }) => isWanted(channel));
    return await Promise.all(
      wanted.map(async ({ writer, channel, content_type: type, value }) => {
        const isLarge = type === undefined || type === null;
        const given = isLarge
          ? await this.#joined(writeValueKey(this.place, value.at), value)
          : await loaded(this.#serde, { type, bytes: bytesOf(value) });
        return /** @type {Write} */ ([writer, channel, given]);
      }),
    );
  }

  /** @param {string} name */
  async #part(name) {
    return await loaded(this.#serde, /** @type {Typed} */ (this.#parts.get(name)));
  }

  /** @param {string} key @param {Head} head */
  async #joined(key, { type, parts }) {
    const keys = Array.from({ length: parts }, (_, index) => partKey(key, index));
    const text = (await this.#entries.values(keys)).join("");
    return await loaded(this.#serde, { type, bytes: bytesOf(text) });
  }
}

/**
 * The checkpoints of a thread, by key: within a namespace of LangGraph, the newest first.
 * @param {Workspace} workspace
 * @param {SerializerProtocol} serde
 * @param {Entries} entries
 * @param {string} thread
 * @param {CheckpointHistoryOptions} [options]
 * @returns {AsyncGenerator<Found, void, void>}
 */
export async function* scan(workspace, serde, entries, thread, options) {
  const task = taskOf(entries.namespace, thread);
  const all = workspace.checkpoints.historyAll(task, { limit: PAGE_CHECKPOINTS, ...options });
  for await (const checkpoint of all) {
    if (Found.is(checkpoint)) yield new Found(serde, entries, thread, checkpoint);
  }
}
