// A task that is worked on: its lease is renewed until it is completed, failed, released or handed
// over.

import { asyncDispose } from "./dispose.js";
import { BatonError } from "./errors.js";
import { Renewal } from "./renewal.js";

/** @import { CallOptions } from "./caller.js" */
/** @import { Workspace } from "./workspace.js" */
/** @import * as T from "./generated/types.js" */

/** @typedef {T.Task & { lease: T.Lease }} ClaimedTask */

/**
 * @template [D=any]
 */
export class Job {
  #caller;
  #renewal;
  #isSettled = false;

  /**
   * @param {Workspace} workspace
   * @param {ClaimedTask} task
   */
  constructor(workspace, task) {
    const { token, lease_ms } = task.lease;
    this.#caller = workspace.caller;
    /** The task as it was claimed. */
    this.task = task;
    /** The id of the task. */
    this.id = task.id;
    /** The fencing token of the lease. */
    this.token = token;
    /** What is to be done. @type {D} */
    this.definition = /** @type {any} */ (task.definition);
    /** How often the task was claimed, this time included. */
    this.attempt = task.attempts;
    /**
     * The workspace under the lease: changes made through it are rejected once the lease is lost.
     */
    this.workspace = workspace.under(token);
    this.#renewal = new Renewal(`the lease of task \`${task.id}\``, lease_ms, ({ signal }) =>
      this.#caller.call("task.heartbeat", { task: task.id, token }, { signal }),
    );
  }

  /** Aborted when the lease is lost, with a `LeaseLostError`: another agent may have the task. */
  get signal() {
    return this.#renewal.signal;
  }

  /** Whether it was completed, failed, released or handed over. */
  get isSettled() {
    return this.#isSettled;
  }

  /**
   * Reports how far the work is, from 0 to 1.
   * @param {number} fraction
   * @param {string} [note]
   * @param {CallOptions} [options]
   * @returns {Promise<T.Task>}
   */
  progress(fraction, note, options) {
    return this.#caller.call("task.progress", { ...this.#lease, fraction, note }, options);
  }

  /**
   * Saves how far the work is, for the next attempt.
   * @param {unknown} state
   * @param {T.CheckpointSaveOptions & CallOptions} [options]
   * @returns {Promise<T.Checkpoint>}
   */
  checkpoint(state, options) {
    return this.#caller.call("checkpoint.save", { ...this.#lease, state }, options);
  }

  /**
   * The last checkpoint of the task, if there is one.
   * @param {CallOptions} [options]
   * @returns {Promise<T.CheckpointLatestResult>}
   */
  latestCheckpoint(options) {
    return this.#caller.call("checkpoint.latest", { task: this.id }, options);
  }

  /**
   * Completes the task.
   * @param {unknown} [result]
   * @param {T.TaskCompleteOptions & CallOptions} [options]
   * @returns {Promise<T.TaskCompleted>}
   */
  complete(result, options) {
    return this.#settle(() =>
      this.#caller.call("task.complete", { ...this.#lease, result }, options),
    );
  }

  /**
   * Fails this attempt. The task is tried again after its backoff, unless `retryable` is false or
   * its retries are used up.
   * @param {unknown} error
   * @param {T.TaskFailOptions & CallOptions} [options]
   * @returns {Promise<T.Task>}
   */
  fail(error, options) {
    return this.#settle(() => this.#caller.call("task.fail", { ...this.#lease, error }, options));
  }

  /**
   * Gives the task back, for another agent to claim at once.
   * @param {string} [reason]
   * @param {CallOptions} [options]
   * @returns {Promise<T.Task>}
   */
  release(reason, options) {
    return this.#settle(() =>
      this.#caller.call("task.release", { ...this.#lease, reason }, options),
    );
  }

  /**
   * Offers the task to another agent, with what it needs to continue. The lease stays with this
   * agent until the offer is accepted; it is no longer renewed from here.
   * @param {T.Receiver} to
   * @param {T.HandoffOfferOptions & CallOptions} [options]
   * @returns {Promise<T.Handoff>}
   */
  handoff(to, options) {
    return this.#settle(() => this.#caller.call("handoff.offer", { ...this.#lease, to }, options));
  }

  /** Renews the lease no longer, and leaves the task as it is. */
  abandon() {
    this.#isSettled = true;
    this.#renewal.stop();
  }

  /** Releases the task if it was not settled, for `await using`. */
  async [asyncDispose]() {
    if (this.#isSettled) return;
    try {
      await this.release("the worker ended without a result");
    } catch (error) {
      this.abandon();
      if (!(error instanceof BatonError)) throw error;
    }
  }

  get #lease() {
    return { task: this.id, token: this.token };
  }

  /**
   * @template R
   * @param {() => Promise<R>} call
   * @returns {Promise<R>}
   */
  async #settle(call) {
    const result = await call();
    this.abandon();
    return result;
  }
}
