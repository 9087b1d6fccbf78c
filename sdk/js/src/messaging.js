// Messages, hand-offs and streams as async iterators.

import {
  HandoffOperations,
  InboxOperations,
  MessageOperations,
  StreamOperations,
} from "./generated/groups.js";

/** @import { CallOptions } from "./caller.js" */
/** @import * as T from "./generated/types.js" */

/** How long one call waits: shorter than most proxies take to drop a silent connection. */
const WAIT_MS = 30_000;
/** How many items one call returns at most. */
const LIMIT = 100;

export class Messages extends MessageOperations {
  /**
   * Answers a request, and receives the next message in the same commit. If the inbox is empty, it
   * waits `wait_ms` for one.
   * @param {string} request
   * @param {{ body: unknown } | { error: unknown }} outcome
   * @param {{ wait_ms: number, redeliver_ms?: number } & CallOptions} options
   * @returns {Promise<T.Message | undefined>}
   */
  async replyAndReceive(request, outcome, options) {
    /** @type {any} */
    const received = await this.caller.call("message.reply", { request, ...outcome }, options);
    return received.messages[0];
  }
}

export class Inbox extends InboxOperations {
  /**
   * The messages of the agent, as they arrive. A message is delivered again unless it is
   * acknowledged
   * with {@link Inbox.ack} within `redeliver_ms`.
   * @param {Pick<T.InboxReceiveOptions, "agent" | "redeliver_ms"> & CallOptions} [options]
   * @returns {AsyncGenerator<T.Message, void, void>}
   */
  async *listen(options) {
    for (;;) {
      // One at a time: a message that is not being handled yet must stay available to others.
      const { messages } = await this.receive({ ...options, limit: 1, wait_ms: WAIT_MS });
      yield* messages;
    }
  }
}

export class Handoffs extends HandoffOperations {
  /**
   * The hand-offs that are offered to the agent, as they arrive.
   * @param {CallOptions} [options]
   * @returns {AsyncGenerator<T.Handoff, void, void>}
   */
  async *listen(options) {
    for (;;) {
      const handoff = await this.receive({ ...options, wait_ms: WAIT_MS });
      if (handoff) yield handoff;
    }
  }
}

export class Streams extends StreamOperations {
  /**
   * The frames of a stream, from an offset on, until the stream is closed.
   * @param {string} stream
   * @param {{ from?: number } & CallOptions} [options]
   * @returns {AsyncGenerator<T.StreamFrame, void, void>}
   */
  async *frames(stream, { from = 0, ...options } = {}) {
    for (let offset = from; ;) {
      const fields = { ...options, from: offset, limit: LIMIT, wait_ms: WAIT_MS };
      const { frames, next, status } = await this.receive(stream, fields);
      yield* frames;
      offset = next;
      if (status === "closed" && frames.length === 0) return;
    }
  }
}
