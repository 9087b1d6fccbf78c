// A checkpointer of LangGraph whose checkpoints are entries of a workspace.
//
// | operation | requests, one after another |
// |---|---|
// | `put` | one transaction: the checkpoint and the channels that changed |
// | `putWrites` | one; two if the task has written before |
// | `getTuple` | two: the checkpoint with its writes, then its channels, together |
// | `deleteThread` | one list and one transaction for every 500 entries |

import {
  BaseCheckpointSaver,
  copyCheckpoint,
  getCheckpointId,
  maxChannelVersion,
  TASKS,
  WRITES_IDX_MAP,
} from "@langchain/langgraph-checkpoint";
import { Entries } from "./entries.js";
import {
  checkpointPrefix,
  namespacePrefix,
  placeOf,
  threadPrefix,
  valueKey,
  valuesPrefix,
} from "./keys.js";
import { contains, loaded, stored } from "./values.js";

/** @import { RunnableConfig } from "@langchain/core/runnables" */
/** @import { ChannelVersions, Checkpoint } from "@langchain/langgraph-checkpoint" */
/** @import { CheckpointListOptions, CheckpointMetadata } from "@langchain/langgraph-checkpoint" */
/** @import { CheckpointTuple, PendingWrite } from "@langchain/langgraph-checkpoint" */
/** @import { SerializerProtocol } from "@langchain/langgraph-checkpoint" */
/** @import { Workspace } from "@baton/sdk" */
/** @import { Stored } from "./values.js" */

/** @typedef {{ checkpoint: Stored, metadata: Stored, parent?: string }} StoredCheckpoint */
/** @typedef {{ index: number, channel: string, value: Stored }} StoredWrite */

/**
 * A checkpoint and the writes after it, as entries.
 * @typedef {object} Found
 * @property {string} thread
 * @property {string} namespace
 * @property {string} id
 * @property {StoredCheckpoint | undefined} checkpoint - None if only its writes have arrived.
 * @property {{ task: string, writes: StoredWrite[] }[]} writes
 */

/** Digits of the number in a version, so that versions sort as texts. */
const VERSION_DIGITS = 16;

/** @extends {BaseCheckpointSaver<string>} */
export class BatonSaver extends BaseCheckpointSaver {
  #entries;

  /**
   * @param {Workspace} workspace
   * @param {{ namespace?: string, serde?: SerializerProtocol }} [options]
   */
  constructor(workspace, { namespace = "langgraph", serde } = {}) {
    super(serde);
    this.#entries = new Entries(workspace, namespace);
  }

  /**
   * The version after another one. Two forks of a thread count from the same version, and the
   * values
   * of a channel are found by their version: a random part keeps them apart.
   * @override
   * @param {string | number | undefined} current
   * @returns {string}
   */
  getNextVersion(current) {
    const number = current === undefined ? 0 : Number.parseInt(String(current), 10);
    const random = crypto.getRandomValues(new Uint32Array(2));
    const suffix = [...random].map((word) => word.toString(16).padStart(8, "0")).join("");
    return `${String(number + 1).padStart(VERSION_DIGITS, "0")}.${suffix}`;
  }

  /**
   * @override
   * @param {RunnableConfig} config
   * @returns {Promise<CheckpointTuple | undefined>}
   */
  async getTuple(config) {
    const { thread, namespace } = placeIn(config);
    if (thread === undefined) return undefined;
    const id = getCheckpointId(config);
    const prefix = id
      ? checkpointPrefix(thread, namespace, id)
      : namespacePrefix(thread, namespace);
    for await (const found of this.#find(prefix)) {
      if (found.checkpoint) return await this.#tuple(found, found.checkpoint);
    }
    return undefined;
  }

  /**
   * @override
   * @param {RunnableConfig} config
   * @param {CheckpointListOptions} [options]
   * @returns {AsyncGenerator<CheckpointTuple>}
   */
  async *list(config, { limit = Infinity, before, filter } = {}) {
    const {
      thread_id: thread,
      checkpoint_ns: namespace,
      checkpoint_id: id,
    } = config.configurable ?? {};
    const end = before?.configurable?.checkpoint_id;
    let left = limit;
    for await (const found of this.#newestFirst(thread, namespace)) {
      if (left <= 0) return;
      const isWanted = (!id || found.id === id) && (end === undefined || found.id < end);
      if (!found.checkpoint || !isWanted) continue;
      const metadata = await loaded(this.serde, found.checkpoint.metadata);
      if (filter && !contains(metadata, filter)) continue;
      left -= 1;
      yield await this.#tuple(found, found.checkpoint);
    }
  }

  /**
   * @override
   * @param {RunnableConfig} config
   * @param {Checkpoint} checkpoint
   * @param {CheckpointMetadata} metadata
   * @param {ChannelVersions} newVersions
   * @returns {Promise<RunnableConfig>}
   */
  async put(config, checkpoint, metadata, newVersions) {
    const { thread, namespace } = requiredPlace(config);
    const { channel_values: values, ...rest } = copyCheckpoint(checkpoint);
    const changed = Object.entries(newVersions).filter(([channel]) => channel in values);
    const parent = config.configurable?.checkpoint_id;
    /** @type {StoredCheckpoint} */
    const entry = {
      checkpoint: await stored(this.serde, rest),
      metadata: await stored(this.serde, metadata),
      ...(parent === undefined ? {} : { parent }),
    };
    const channels = changed.map(async ([channel, version]) => {
      const value = await stored(this.serde, values[channel]);
      return /** @type {[string, unknown]} */ ([
        valueKey(thread, namespace, channel, version),
        value,
      ]);
    });
    const key = `${checkpointPrefix(thread, namespace, checkpoint.id)}c`;
    await this.#entries.write([...(await Promise.all(channels)), [key, entry]]);
    return configOf({ thread, namespace, id: checkpoint.id });
  }

  /**
   * Stores the writes of a task. A write that is repeated keeps its first value; those of LangGraph
   * itself, such as errors and interrupts, have the last one.
   * @override
   * @param {RunnableConfig} config
   * @param {PendingWrite[]} writes
   * @param {string} taskId
   */
  async putWrites(config, writes, taskId) {
    const { thread, namespace } = requiredPlace(config);
    const id = config.configurable?.checkpoint_id;
    if (id === undefined) throw new Error("writes need a `checkpoint_id` in `configurable`");
    const given = await Promise.all(
      writes.map(async ([channel, value], position) => ({
        index: WRITES_IDX_MAP[channel] ?? position,
        channel,
        value: await stored(this.serde, value),
      })),
    );
    const key = `${checkpointPrefix(thread, namespace, id)}w/${encodeURIComponent(taskId)}`;
    await this.#entries.merge(key, (/** @type {StoredWrite[]} */ present = []) => {
      const merged = new Map(present.map((write) => [write.index, write]));
      for (const write of given) {
        if (write.index < 0 || !merged.has(write.index)) merged.set(write.index, write);
      }
      return [...merged.values()].sort((a, b) => a.index - b.index);
    });
  }

  /** @override @param {string} threadId */
  async deleteThread(threadId) {
    await this.#entries.delete([threadPrefix(threadId), valuesPrefix(threadId)]);
  }

  /**
   * Checkpoints under a prefix, with their writes, in the order of their keys: the newest first
   * within a namespace.
   * @param {string} prefix
   * @returns {AsyncGenerator<Found, void, void>}
   */
  async *#find(prefix) {
    /** @type {Found | undefined} */
    let current;
    for await (const { key, value } of this.#entries.list(prefix)) {
      const { thread, namespace, id, task } = placeOf(key);
      const isSame =
        current?.id === id && current.namespace === namespace && current.thread === thread;
      if (current && !isSame) yield current;
      if (!current || !isSame)
        current = { thread, namespace, id, checkpoint: undefined, writes: [] };
      if (task === undefined) current.checkpoint = value;
      else current.writes.push({ task, writes: value });
    }
    if (current) yield current;
  }

  /**
   * @param {string | undefined} thread
   * @param {string | undefined} namespace
   * @returns {AsyncGenerator<Found, void, void>}
   */
  async *#newestFirst(thread, namespace) {
    if (thread !== undefined && namespace !== undefined) {
      yield* this.#find(namespacePrefix(thread, namespace));
      return;
    }
    const all = [];
    for await (const found of this.#find(thread === undefined ? "t/" : threadPrefix(thread))) {
      if (namespace === undefined || found.namespace === namespace) all.push(found);
    }
    yield* all.sort((a, b) => (a.id < b.id ? 1 : -1));
  }

  /** @param {Found} found @param {StoredCheckpoint} entry @returns {Promise<CheckpointTuple>} */
  async #tuple(found, { checkpoint, metadata, parent }) {
    const { thread, namespace } = found;
    const rest = await loaded(this.serde, checkpoint);
    const channels = Object.entries(/** @type {ChannelVersions} */ (rest.channel_versions ?? {}));
    const values = await Promise.all(
      channels.map(async ([channel, version]) => {
        const value = await this.#entries.find(valueKey(thread, namespace, channel, version));
        return value === undefined ? [] : [[channel, await loaded(this.serde, value)]];
      }),
    );
    const whole = { ...rest, channel_values: Object.fromEntries(values.flat()) };
    if (whole.v < 4 && parent !== undefined) await this.#movePendingSends(whole, found, parent);
    return {
      config: configOf(found),
      checkpoint: whole,
      metadata: await loaded(this.serde, metadata),
      pendingWrites: await this.#pendingWrites(found),
      ...(parent === undefined
        ? {}
        : { parentConfig: configOf({ thread, namespace, id: parent }) }),
    };
  }

  /** @param {Found} found @returns {Promise<[string, string, unknown][]>} */
  async #pendingWrites({ writes }) {
    const all = writes.flatMap(({ task, writes: its }) => its.map((write) => ({ task, ...write })));
    return await Promise.all(
      all.map(
        async ({ task, channel, value }) =>
          /** @type {[string, string, unknown]} */ ([
            task,
            channel,
            await loaded(this.serde, value),
          ]),
      ),
    );
  }

  /**
   * Before version 4, what a checkpoint was to send was among the writes of its parent.
   * @param {any} checkpoint
   * @param {Found} found
   * @param {string} parent
   */
  async #movePendingSends(checkpoint, { thread, namespace }, parent) {
    const sends = [];
    for await (const found of this.#find(checkpointPrefix(thread, namespace, parent))) {
      const writes = await this.#pendingWrites(found);
      sends.push(...writes.filter(([, channel]) => channel === TASKS).map(([, , value]) => value));
    }
    const versions = Object.values(checkpoint.channel_versions ?? {});
    checkpoint.channel_values[TASKS] = sends;
    checkpoint.channel_versions = {
      ...checkpoint.channel_versions,
      [TASKS]:
        versions.length > 0
          ? maxChannelVersion(.../** @type {any[]} */ (versions))
          : this.getNextVersion(undefined),
    };
  }
}

/** @param {RunnableConfig} config */
const placeIn = ({ configurable }) => ({
  thread: /** @type {string | undefined} */ (configurable?.thread_id),
  namespace: /** @type {string} */ (configurable?.checkpoint_ns ?? ""),
});

/** @param {RunnableConfig} config */
function requiredPlace(config) {
  const { thread, namespace } = placeIn(config);
  if (thread === undefined) throw new Error("a checkpoint needs a `thread_id` in `configurable`");
  return { thread, namespace };
}

/** @param {{ thread: string, namespace: string, id: string }} place @returns {RunnableConfig} */
const configOf = ({ thread, namespace, id }) => ({
  configurable: { thread_id: thread, checkpoint_ns: namespace, checkpoint_id: id },
});
