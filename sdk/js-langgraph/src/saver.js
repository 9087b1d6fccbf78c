// A checkpointer of LangGraph whose checkpoints are checkpoints of a workspace.
//
// | operation | requests, one after another |
// |---|---|
// | `put` | one |
// | `putWrites` | one |
// | `getTuple` | one; two more if channels have more than a megabyte |
// | `getDeltaChannelHistory` | one for every hundred checkpoints, or four mebibytes of them |
// | `list` | the same, and two for each checkpoint with channels of more than a megabyte |

import {
  BaseCheckpointSaver,
  copyCheckpoint,
  getCheckpointId,
  maxChannelVersion,
  TASKS,
  WRITES_IDX_MAP,
} from "@langchain/langgraph-checkpoint";
import { Entries } from "./entries.js";
import { Found, PAGE_CHECKPOINTS, scan } from "./found.js";
import {
  checkpointKey,
  namespacePrefix,
  partKey,
  taskOf,
  threadOf,
  valueKey,
  valuesPrefix,
  writeValueKey,
} from "./keys.js";
import { readingPython } from "./python.js";
import { base64Of, CONTENT_TYPE, contains, divided, packed, stored } from "./values.js";

/** @import { RunnableConfig } from "@langchain/core/runnables" */
/** @import { ChannelVersions, Checkpoint } from "@langchain/langgraph-checkpoint" */
/** @import { CheckpointListOptions, CheckpointMetadata } from "@langchain/langgraph-checkpoint" */
/** @import { CheckpointTuple, DeltaChannelHistory } from "@langchain/langgraph-checkpoint" */
/** @import { PendingWrite, SerializerProtocol } from "@langchain/langgraph-checkpoint" */
/** @import { Workspace } from "@baton/sdk" */
/** @import { CheckpointHistoryOptions, NewWrite, TransactionCommand } from "@baton/sdk/types" */
/** @import { Write } from "./found.js" */
/** @import { Place } from "./keys.js" */
/** @import { Header, Typed } from "./values.js" */

/** Channels with more bytes have entries of their own, which are written only when they change. */
const INLINE_LENGTH_MAX = 1_000_000;
/** How many bytes the values in a checkpoint have together; the server accepts four mebibytes. */
const INLINE_TOTAL_MAX = 3_000_000;
/** How many bytes the values of a task's writes have together. */
const WRITES_TOTAL_MAX = 2_000_000;
const KNOWN_MAX = 4_096;
/** Digits of the number in a version, so that versions sort as texts. */
const VERSION_DIGITS = 16;

/** @extends {BaseCheckpointSaver<string>} */
export class BatonSaver extends BaseCheckpointSaver {
  #workspace;
  #entries;
  /** The keys of large values that are stored: they are not written with every checkpoint. */
  #known = new Set();

  /**
   * @param {Workspace} workspace
   * @param {{ namespace?: string, serde?: SerializerProtocol }} [options] - The names of threads in
   *   the workspace begin with the namespace. Large values are in the namespace of this name, which
   *   is created when it is first used.
   */
  constructor(workspace, { namespace = "langgraph", serde } = {}) {
    super(serde);
    if (!serde) this.serde = readingPython(this.serde);
    this.#workspace = workspace;
    this.#entries = new Entries(workspace, namespace);
  }

  /**
   * The version after another one. Two forks of a thread count from the same version, and large
   * values are found by their version: a random part keeps them apart.
   * @override
   * @param {string | number | undefined} current
   * @returns {string}
   */
  getNextVersion(current) {
    const number = current === undefined ? 0 : Number.parseInt(String(current), 10);
    return `${String(number + 1).padStart(VERSION_DIGITS, "0")}.${randomName()}`;
  }

  /**
   * @override
   * @param {RunnableConfig} config
   * @returns {Promise<CheckpointTuple | undefined>}
   */
  async getTuple(config) {
    const { thread, namespace } = placeIn(config);
    if (thread === undefined) return undefined;
    const found = await this.#first({ thread, namespace, id: getCheckpointId(config) });
    return found && (await this.#tuple(found));
  }

  /**
   * @override
   * @param {RunnableConfig} config
   * @param {CheckpointListOptions} [options]
   * @returns {AsyncGenerator<CheckpointTuple>}
   */
  async *list(config, { limit = Infinity, before, filter } = {}) {
    const { checkpoint_ns: namespace, checkpoint_id: id } = config.configurable ?? {};
    const { thread } = placeIn(config);
    const end = before?.configurable?.checkpoint_id;
    let left = limit;
    if (left <= 0) return;
    // Fewer are read if it is known that all of them are wanted.
    const page = filter || id ? PAGE_CHECKPOINTS : Math.min(limit, PAGE_CHECKPOINTS);
    for await (const found of this.#newestFirst(thread, namespace, end, page)) {
      if ((id && found.place.id !== id) || (end !== undefined && found.place.id >= end)) continue;
      if (filter && !contains(await found.metadata(), filter)) continue;
      yield await this.#tuple(found);
      left -= 1;
      if (left <= 0) return;
    }
  }

  /**
   * Walks from a checkpoint to its ancestors, which follow it in the order of the keys.
   * @override
   * @param {{ config: RunnableConfig, channels: string[] }} options
   * @returns {Promise<Record<string, DeltaChannelHistory>>}
   */
  async getDeltaChannelHistory({ config, channels }) {
    const { thread, namespace } = requiredPlace(config);
    const remaining = new Set(channels);
    /** @type {Map<string, Write[][]>} */
    const collected = new Map(channels.map((channel) => [channel, []]));
    /** @type {Record<string, any>} */
    const seeds = {};
    let place = { thread, namespace, id: getCheckpointId(config) };
    for await (const found of this.#ancestors(place)) {
      if (remaining.size === 0) break;
      const writes = await found.pendingWrites((channel) => remaining.has(channel));
      for (const channel of remaining)
        collected.get(channel)?.unshift(writes.filter(([, it]) => it === channel));
      const { channel_versions: versions = {} } = await found.content();
      Object.assign(seeds, await found.values(versions, remaining));
      for (const channel of Object.keys(seeds)) remaining.delete(channel);
    }
    const histories = Array.from(collected, ([channel, writes]) => [
      channel,
      { writes: writes.flat(), ...(channel in seeds ? { seed: seeds[channel] } : {}) },
    ]);
    return Object.fromEntries(histories);
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
    const place = { ...requiredPlace(config), id: checkpoint.id };
    const parent = config.configurable?.checkpoint_id;
    const { channel_values: values, ...content } = copyCheckpoint(checkpoint);
    if (!parent) await this.#keepStored(place, content, values, newVersions);
    const { inline, large, before } = await this.#divided(place, content, values, newVersions);
    /** @type {[string, Typed][]} */
    const parts = [
      ["checkpoint", await stored(this.serde, content, "the checkpoint")],
      ["metadata", await stored(this.serde, metadata, "the metadata")],
      ...inline,
    ];
    const run = /** @type {any} */ (metadata)?.run_id;
    /** @type {Header} */
    const header = {
      parts: parts.map(([name, { type, bytes }]) => [name, type, bytes.length]),
      large: large.map(([channel]) => channel),
      ...(parent ? { parent } : {}),
    };
    const state = packed(
      header,
      parts.map(([, { bytes }]) => bytes),
    );
    const command = {
      command: /** @type {const} */ ("checkpoint.save"),
      task: taskOf(this.#entries.namespace, place.thread),
      state,
      key: checkpointKey(place),
      content_type: CONTENT_TYPE,
      ...(parent ? { parent_key: checkpointKey({ ...place, id: parent }) } : {}),
      ...(typeof run === "string" ? { metadata: { run_id: run } } : {}),
    };
    if (before.length > 0) await this.#entries.write(before, command);
    else await this.#workspace.execute(command);
    this.#remember(large.map(([, key]) => key));
    return configOf(place);
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
    const id = getCheckpointId(config);
    if (!id) throw new Error("writes need a `checkpoint_id` in `configurable`");
    const place = { ...requiredPlace(config), id };
    const values = await Promise.all(
      writes.map(([channel, value]) => stored(this.serde, value, nameOf(channel))),
    );
    /** @type {TransactionCommand[]} */
    const before = [];
    let left = WRITES_TOTAL_MAX;
    const given = writes.map(([channel], position) => {
      const value = /** @type {Typed} */ (values[position]);
      const index = WRITES_IDX_MAP[channel] ?? position;
      /** @type {Omit<NewWrite, "value">} */
      const write = { index, channel, ...(index < 0 ? { replace: true } : {}) };
      if (value.bytes.length <= left) {
        left -= value.bytes.length;
        return { ...write, value: base64Of(value.bytes), content_type: value.type };
      }
      const name = randomName();
      const [head, parts] = divided(value);
      before.push(...this.#setParts(writeValueKey(place, name), parts));
      return { ...write, value: { ...head, at: name } };
    });
    const command = {
      command: /** @type {const} */ ("checkpoint.write"),
      task: taskOf(this.#entries.namespace, place.thread),
      key: checkpointKey(place),
      writer: taskId,
      writes: given,
    };
    if (before.length > 0) await this.#entries.write(before, command);
    else await this.#workspace.execute(command);
  }

  /** @override @param {string} threadId */
  async deleteThread(threadId) {
    this.#known.clear();
    const task = taskOf(this.#entries.namespace, threadId);
    await this.#workspace.checkpoints.prune(task, { all: true });
    await this.#entries.clear(valuesPrefix(threadId));
  }

  /**
   * Removes values that have not changed and that no checkpoint of the namespace has. Others have
   * been stored, because LangGraph copies a first checkpoint like this.
   * @param {Place} place
   * @param {{ channel_versions: ChannelVersions }} content
   * @param {Record<string, unknown>} values
   * @param {ChannelVersions} newVersions
   */
  async #keepStored({ thread, namespace }, content, values, newVersions) {
    const missing = new Set(Object.keys(values).filter((channel) => !(channel in newVersions)));
    if (missing.size === 0) return;
    for await (const found of this.#scan(thread, { prefix: namespacePrefix(namespace) })) {
      const { channel_versions: versions = {} } = await found.content();
      for (const channel of found.channels)
        if (versions[channel] === content.channel_versions[channel]) missing.delete(channel);
      if (missing.size === 0) return;
    }
    for (const channel of missing) delete values[channel];
  }

  /**
   * The values in the checkpoint, the channels with entries of their own and the keys of those, and
   * the commands that write them.
   * @param {Place} place
   * @param {{ channel_versions: ChannelVersions }} content
   * @param {Record<string, unknown>} values
   * @param {ChannelVersions} newVersions
   */
  async #divided(place, { channel_versions: versions }, values, newVersions) {
    /** @type {[string, Typed][]} */
    const inline = [];
    /** @type {[string, string][]} */
    const large = [];
    /** @type {TransactionCommand[]} */
    const before = [];
    let left = INLINE_TOTAL_MAX;
    for (const [channel, value] of Object.entries(values)) {
      const version = versions[channel];
      if (version === undefined) continue;
      const key = valueKey(place, channel, version);
      if (!(channel in newVersions) && this.#known.has(key)) {
        large.push([channel, key]);
        continue;
      }
      const it = await stored(this.serde, value, nameOf(channel));
      if (it.bytes.length <= Math.min(INLINE_LENGTH_MAX, left)) {
        inline.push([`=${channel}`, it]);
        left -= it.bytes.length;
      } else {
        const [head, parts] = divided(it);
        large.push([channel, key]);
        before.push(...this.#setParts(key, parts), this.#entries.set(key, head));
      }
    }
    return { inline, large, before };
  }

  /** @param {string} key @param {string[]} parts */
  #setParts(key, parts) {
    return parts.map((part, index) => this.#entries.set(partKey(key, index), part));
  }

  /** @param {string[]} keys */
  #remember(keys) {
    for (const key of keys) this.#known.add(key);
    for (const key of this.#known) {
      if (this.#known.size <= KNOWN_MAX) return;
      this.#known.delete(key);
    }
  }

  /** @param {string} thread @param {CheckpointHistoryOptions} [options] */
  #scan(thread, options) {
    return scan(this.#workspace, this.serde, this.#entries, thread, options);
  }

  /** A checkpoint; the newest of its namespace if it has no id. @param {Place} place */
  async #first(place) {
    const where = place.id
      ? { key: checkpointKey(place) }
      : { prefix: namespacePrefix(place.namespace) };
    for await (const found of this.#scan(place.thread, { ...where, limit: 1 })) return found;
    return undefined;
  }

  /**
   * The ancestors of a checkpoint, the nearest first.
   * @param {Place} start
   * @returns {AsyncGenerator<Found, void, void>}
   */
  async *#ancestors(start) {
    const prefix = namespacePrefix(start.namespace);
    const all = this.#scan(start.thread, { prefix });
    /** @type {Place | undefined} */
    let wanted = start;
    try {
      for (let isFirst = true; wanted; isFirst = false) {
        const found = await this.#ancestor(all, wanted);
        if (!found) return;
        if (!isFirst) yield found;
        wanted = found.parent;
      }
    } finally {
      await all.return();
    }
  }

  /** @param {AsyncGenerator<Found, void, void>} all @param {Place} place */
  async #ancestor(all, place) {
    for (;;) {
      const { value: found } = await all.next();
      if (found && (!place.id || found.place.id === place.id)) return found;
      // Its id is greater than that of a descendant, or the descendant was the last one.
      if (!found || found.place.id < place.id)
        return place.id ? await this.#first(place) : undefined;
    }
  }

  /**
   * @param {string | undefined} thread
   * @param {string | undefined} namespace
   * @param {string | undefined} end - Only checkpoints with lesser ids, if they are in order.
   * @param {number} page
   * @returns {AsyncGenerator<Found, void, void>}
   */
  async *#newestFirst(thread, namespace, end, page) {
    if (thread !== undefined && namespace !== undefined) {
      const before = end === undefined ? undefined : checkpointKey({ thread, namespace, id: end });
      yield* this.#scan(thread, { prefix: namespacePrefix(namespace), before, limit: page });
      return;
    }
    const all = [];
    for (const it of thread === undefined ? await this.#threads() : [thread]) {
      const prefix = namespace === undefined ? undefined : namespacePrefix(namespace);
      for await (const found of this.#scan(it, { prefix })) all.push(found);
    }
    yield* all.sort((a, b) => (a.place.id < b.place.id ? 1 : -1));
  }

  /** The threads that have checkpoints. @returns {Promise<Set<string>>} */
  async #threads() {
    const threads = new Set();
    for await (const { task } of this.#workspace.checkpoints.listAll({ limit: 1_000 })) {
      const thread = threadOf(this.#entries.namespace, task);
      if (thread !== undefined) threads.add(thread);
    }
    return threads;
  }

  /** @param {Found} found @returns {Promise<CheckpointTuple>} */
  async #tuple(found) {
    const { place, parent } = found;
    const content = await found.content();
    const values = await found.values(content.channel_versions ?? {});
    const checkpoint = { ...content, channel_values: values };
    if (checkpoint.v < 4 && parent) await this.#movePendingSends(checkpoint, parent);
    return {
      config: configOf(place),
      checkpoint,
      metadata: await found.metadata(),
      pendingWrites: await found.pendingWrites(),
      ...(parent ? { parentConfig: configOf(parent) } : {}),
    };
  }

  /**
   * Before version 4, what a checkpoint was to send was among the writes of its parent.
   * @param {any} checkpoint
   * @param {Place} parent
   */
  async #movePendingSends(checkpoint, parent) {
    const found = await this.#first(parent);
    const sends = (await found?.pendingWrites((channel) => channel === TASKS)) ?? [];
    const versions = Object.values(checkpoint.channel_versions ?? {});
    checkpoint.channel_values[TASKS] = sends.map(([, , value]) => value);
    checkpoint.channel_versions = {
      ...checkpoint.channel_versions,
      [TASKS]:
        versions.length > 0
          ? maxChannelVersion(.../** @type {any[]} */ (versions))
          : this.getNextVersion(undefined),
    };
  }
}

/** Sixteen random hexadecimal digits. */
function randomName() {
  const words = crypto.getRandomValues(new Uint32Array(2));
  return Array.from(words, (word) => word.toString(16).padStart(8, "0")).join("");
}

/** @param {RunnableConfig} config */
const placeIn = ({ configurable }) => ({
  thread: configurable?.thread_id === undefined ? undefined : String(configurable.thread_id),
  namespace: /** @type {string} */ (configurable?.checkpoint_ns ?? ""),
});

/** @param {RunnableConfig} config */
function requiredPlace(config) {
  const { thread, namespace } = placeIn(config);
  if (thread === undefined) throw new Error("a checkpoint needs a `thread_id` in `configurable`");
  return { thread, namespace };
}

/** @param {Place} place @returns {RunnableConfig} */
const configOf = ({ thread, namespace, id }) => ({
  configurable: { thread_id: thread, checkpoint_ns: namespace, checkpoint_id: id },
});

/** A channel, in words. @param {string} channel */
const nameOf = (channel) => `the value of the channel \`${channel}\``;
