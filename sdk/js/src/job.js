// A task that is worked on: its lease is renewed until it is completed, failed, released or handed
// over.

import { asyncDispose } from "./dispose.js";
import { BatonError, hasLostLease } from "./errors.js";
import { recordOf } from "./failures.js";
import { Renewal } from "./renewal.js";

/** @import { CallOptions } from "./caller.js" */
/** @import { Workspace } from "./workspace.js" */
/** @import * as T from "./generated/types.js" */

/** @typedef {T.Task & { lease: T.Lease }} ClaimedTask */
/** @typedef {"completed" | "failed" | "released" | "handed_over"} Outcome */

/**
 * @template [D=any]
 */
export class Job {
  #caller;
  #handoffs;
  #renewal;
  #isSettled = false;
  /** @type {Outcome | undefined} */
  #outcome;

  /**
   * @param {Workspace} workspace
   * @param {ClaimedTask} task
   */
  constructor(workspace, task) {
    const { lease_ms } = task.lease;
    // A holder is always shown its token.
    const token = /** @type {number} */ (task.lease.token);
    this.#caller = workspace.caller;
    this.#handoffs = workspace.handoffs;
    /** The task as it was claimed. */
    this.task = task;
    /** The id of the task. */
    this.id = task.id;
    /** The fencing token of the lease. */
    this.token = token;
    /** The work to do. @type {D} */
    this.definition = /** @type {any} */ (task.definition);
    /** How often the task was claimed, this time included. */
    this.attempt = task.attempts;
    /**
     * The workspace under the lease: changes made through it are rejected once the lease is lost.
     */
    this.workspace = workspace.under(token);
    const upkeep = this.#caller.with({ isUpkeep: true });
    /** @param {CallOptions} options */
    const renew = (options) =>
      upkeep.call("task.heartbeat", { ...this.#lease, return: "minimal" }, options);
    this.#renewal = new Renewal(`the lease of task \`${task.id}\``, lease_ms, renew, this.#caller);
  }

  /** Aborted when the lease is lost, with a `LeaseLostError`: another agent may have the task. */
  get signal() {
    return this.#renewal.signal;
  }

  /** Whether it was completed, failed, released or handed over. */
  get isSettled() {
    return this.#isSettled;
  }

  /** The reported outcome; nothing if there is none. */
  get outcome() {
    return this.#outcome;
  }

  /**
   * Reports how far the work is, from 0 to 1.
   * @param {number} fraction
   * @param {string} [note]
   * @param {CallOptions} [options]
   * @returns {Promise<T.Task>}
   */
  progress(fraction, note, options) {
    return this.#underLease(
      this.#caller.call("task.progress", { ...this.#lease, fraction, note }, options),
    );
  }

  /**
   * Saves how far the work is, for the next attempt.
   * @param {unknown} state
   * @param {T.CheckpointSaveOptions & CallOptions} [options]
   * @returns {Promise<T.Checkpoint>}
   */
  checkpoint(state, options) {
    return this.#underLease(
      this.#caller.call("checkpoint.save", { ...this.#lease, state }, options),
    );
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
    return this.#settle("completed", () =>
      this.#caller.call("task.complete", { ...this.#lease, result }, options),
    );
  }

  /**
   * Completes the task, and claims the next one in the same commit. The answer is only that one.
   * @param {unknown} result
   * @param {T.Next} [next] - Which tasks to claim; none if not given.
   * @returns {Promise<T.Task | undefined>}
   */
  async completeAndClaim(result, next) {
    const fields = { ...this.#lease, result, then_claim: next, return: "minimal" };
    const answer = await this.#settle("completed", () =>
      this.#caller.call("task.complete", fields),
    );
    return answer.next ?? undefined;
  }

  /**
   * Fails this attempt. The task is tried again after its backoff, unless `retryable` is false or
   * its retries are used up.
   * @param {unknown} error - What is recorded; of an `Error`, its name and message.
   * @param {T.TaskFailOptions & CallOptions} [options]
   * @returns {Promise<T.Task>}
   */
  fail(error, options) {
    return this.#settle("failed", () =>
      this.#caller.call("task.fail", { ...this.#lease, error: recordOf(error) }, options),
    );
  }

  /**
   * Gives the task back, for another agent to claim at once.
   * @param {string} [reason]
   * @param {CallOptions} [options]
   * @returns {Promise<T.Task>}
   */
  release(reason, options) {
    return this.#settle("released", () =>
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
    return this.#settle("handed_over", () =>
      this.#handoffs.offer(to, { ...options, ...this.#lease }),
    );
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
   * @param {Outcome} outcome
   * @param {() => Promise<R>} call
   * @returns {Promise<R>}
   */
  async #settle(outcome, call) {
    const result = await this.#underLease(call());
    this.#outcome = outcome;
    this.abandon();
    return result;
  }

  /**
   * A call that is refused because the lease is lost aborts the signal before the next heartbeat.
   * @template R
   * @param {Promise<R>} call
   * @returns {Promise<R>}
   */
  async #underLease(call) {
    try {
      return await call;
    } catch (error) {
      if (hasLostLease(error)) this.#renewal.lost(error);
      throw error;
    }
  }
}
