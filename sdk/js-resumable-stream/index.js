// The parts of Redis that the package `resumable-stream` of the AI SDK needs, on Baton: keys that
// expire, a counter, and channels. Keys are entries of a namespace; channels are topics whose
// messages are not kept.

import { ConflictError } from "@baton/sdk";

/** @import { Publisher, Subscriber } from "resumable-stream/generic" */
/** @import { Workspace } from "@baton/sdk" */

/** How long a counter lives after it was last used: as long as `resumable-stream` keeps its keys. */
const COUNTER_MS = 24 * 3_600_000;
/** A longer message is published as several: a value has at most a mebibyte, and a character six bytes. */
const MESSAGE_MAX = 128 * 1_024;
/** The replies of Redis that `resumable-stream` looks for. */
const NOT_A_NUMBER = "ERR value is not an integer or out of range";

/**
 * The options `publisher` and `subscriber` of `createResumableStreamContext`.
 * @param {Workspace} workspace
 * @param {{ namespace?: string }} [options] - The namespace of the keys, `resumable-stream` if not
 *   given. It is created when it is first used.
 * @returns {{ publisher: Publisher, subscriber: Subscriber }}
 */
export function streamStore(workspace, { namespace = "resumable-stream" } = {}) {
  return {
    publisher: new BatonPublisher(workspace, namespace),
    subscriber: new BatonSubscriber(workspace),
  };
}

/** A name without the characters that separate topics or match several. @param {string} channel */
const topicOf = (channel) => encodeURIComponent(channel).replaceAll("*", "%2A");

/** @implements {Publisher} */
class BatonPublisher {
  #workspace;
  #namespace;
  #state;
  /** @type {Promise<void> | undefined} */
  #created;

  /** @param {Workspace} workspace @param {string} namespace */
  constructor(workspace, namespace) {
    this.#workspace = workspace;
    this.#namespace = namespace;
    this.#state = workspace.state.in(namespace);
  }

  async connect() {
    this.#created ??= this.#create();
    try {
      await this.#created;
    } catch (error) {
      this.#created = undefined;
      throw error;
    }
  }

  async #create() {
    try {
      await this.#workspace.namespaces.create(this.#namespace);
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error;
    }
  }

  /** @param {string} channel @param {string} message */
  async publish(channel, message) {
    const parts = message.match(new RegExp(`[^]{1,${MESSAGE_MAX}}`, "gu")) ?? [""];
    for (const part of parts)
      await this.#workspace.topics.publish(topicOf(channel), part, { durable: false });
  }

  /** @param {string} key @param {string} value @param {{ EX?: number }} [options] */
  async set(key, value, { EX: seconds } = {}) {
    await this.connect();
    await this.#state.set(key, value, seconds === undefined ? {} : { ttl_ms: seconds * 1_000 });
    return "OK";
  }

  /** @param {string} key */
  async get(key) {
    await this.connect();
    const entry = await this.#state.find(key);
    return /** @type {string | number | null} */ (entry?.value ?? null);
  }

  /** @param {string} key */
  async incr(key) {
    await this.connect();
    for (;;) {
      const entry = await this.#state.find(key);
      const next = Number(entry?.value ?? 0) + 1;
      if (!Number.isSafeInteger(next)) throw new Error(NOT_A_NUMBER);
      try {
        const expected = { expected_version: entry?.version ?? 0 };
        await this.#state.set(key, String(next), { ttl_ms: COUNTER_MS, ...expected });
        return next;
      } catch (error) {
        // Another client was faster: its value counts.
        if (!(error instanceof ConflictError) || error.code !== "state.version_conflict")
          throw error;
      }
    }
  }
}

/** @implements {Subscriber} */
class BatonSubscriber {
  #workspace;
  /** The watches of a channel. @type {Map<string, AbortController>} */
  #channels = new Map();

  /** @param {Workspace} workspace */
  constructor(workspace) {
    this.#workspace = workspace;
  }

  async connect() {}

  /**
   * Calls a function for each message that is published from now on.
   * @param {string} channel
   * @param {(message: string) => void} callback
   */
  async subscribe(channel, callback) {
    const end = this.#channels.get(channel) ?? new AbortController();
    this.#channels.set(channel, end);
    const { signal } = end;
    const watch = this.#workspace.watch(`topics/${topicOf(channel)}`, { signal });
    const deliver = async () => {
      for await (const event of watch) {
        if (event.type === "topic.posted") callback(/** @type {string} */ (event.body));
      }
    };
    // An error of the watch ends it, as a lost connection of Redis would: the sentinel, which
    // `resumable-stream` reads from time to time, ends the stream.
    deliver().catch(() => this.#forget(channel, end));
    await watch.started;
  }

  /** @param {string} channel */
  async unsubscribe(channel) {
    const end = this.#channels.get(channel);
    if (!end) return;
    this.#forget(channel, end);
    end.abort();
  }

  /** @param {string} channel @param {AbortController} end */
  #forget(channel, end) {
    if (this.#channels.get(channel) === end) this.#channels.delete(channel);
  }
}
