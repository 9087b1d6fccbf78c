// A worker: claims tasks, runs a handler for each, and reports the results.
//
//            ┌──────────────── next, claimed in the same commit ◀──────────┐
//            ▼                                                             │
//   claim ──▶ handler ─────▶ a result ─▶ complete ─────────────────────────┘
//     ▲         │ │ └──────▶ an error ─▶ fail
//     │         │ └ a heartbeat in a third of the lease, or of the session, beside it
//     └─────────┴── the lease is lost: `job.signal` is aborted, and nothing is reported
//
// 1. Every task that was claimed is completed, failed, released or handed over, unless its lease is
//    lost or the server cannot be reached for that long.
// 2. When it is stopped, nothing new is claimed, and what was begun is finished.
// 3. An unreachable server is no reason to end: the worker tries again.
// 4. A worker with several handlers at a time claims tasks for all of them in its first call.
// 5. A worker with handlers for hand-offs or messages waits for these and for tasks in one call. It
//    does not claim the next task when it completes one: a hand-off or a message may be first.
// 6. If the session of the agent ends while the worker waits, it claims again, without a session.

import { answer, REDELIVER_MS, sendOrSayWhy } from "./answers.js";
import { BatonError, isFinal, isSessionEnded } from "./errors.js";
import { failureOf, GiveUp, isUnstorable } from "./failures.js";
import { Job } from "./job.js";
import { atLeastOne } from "./options.js";
import { onAbort, pause } from "./timing.js";

/** @import { StandardSchema } from "./standard-schema.js" */
/** @import { Outcome } from "./answers.js" */
/** @import { ClaimedTask } from "./job.js" */
/** @import { Workspace } from "./workspace.js" */
/** @import * as T from "./generated/types.js" */

/** How long one claim waits: shorter than most proxies take to drop a silent connection. */
const WAIT_MS = 30_000;
/** How many tasks one call may claim. */
const SEVERAL_MAX = 100;
/** The pause after a claim that failed. */
const PAUSE_MS = 1_000;

/**
 * @typedef {object} WorkerOptions
 * @property {number | undefined} [concurrency] - How many tasks are worked on at a time; 1 if not given.
 * @property {number | undefined} [lease_ms] - How long a lease lasts without a heartbeat, and so how long it
 *   takes until others get the task if this program dies.
 * @property {string[] | undefined} [capabilities] - What the worker can do, instead of what its agent registered
 *   with.
 */

/**
 * The counts of a worker.
 * @typedef {object} Worked
 * @property {number} completed - Tasks that were completed.
 * @property {number} failed - Attempts that failed and were reported.
 * @property {number} released - Tasks that were released or handed over by their handler.
 * @property {number} lost - Tasks whose lease was lost, or whose outcome could not be reported.
 * @property {number} handoffs - Hand-offs whose handler returned.
 * @property {number} messages - Messages that were acknowledged, and requests that were answered.
 */

/**
 * @template D
 * @typedef {(definition: D, job: Job<D>) => unknown} TaskHandler
 */

/** @typedef {(handoff: T.Handoff, workspace: Workspace) => unknown} HandoffHandler */
/** @typedef {(body: any, message: T.Message) => unknown} MailHandler */
/** @typedef {{ result: unknown } | { error: unknown, retryable: boolean }} Settled */
/** @typedef {{ task: ClaimedTask } | { handoff: T.Handoff } | { message: T.Message }} Work */

export class Worker {
  #workspace;
  #options;
  #concurrency;
  /** @type {Map<string, { handler: TaskHandler<any>, schema: StandardSchema<any> | undefined }>} */
  #handlers = new Map();
  /** @type {HandoffHandler | undefined} */
  #onHandoff;
  /** @type {MailHandler | undefined} */
  #onMessage;
  #stop = new AbortController();
  /** @type {Worked} */
  #worked = { completed: 0, failed: 0, released: 0, lost: 0, handoffs: 0, messages: 0 };

  /** @param {Workspace} workspace @param {WorkerOptions} options */
  constructor(workspace, options) {
    this.#workspace = workspace;
    this.#options = options;
    this.#concurrency = atLeastOne("concurrency", options.concurrency);
  }

  /**
   * Runs a handler for tasks of a type. What it returns is the result of the task; what it throws
   * is
   * the error of the attempt. The definition of the task is checked with a validator of Standard
   * Schema, such as one of zod or valibot, if one is given.
   * @template [D=any]
   * @overload
   * @param {string} type
   * @param {TaskHandler<D>} handler
   * @returns {this}
   */
  /**
   * @template D
   * @overload
   * @param {string} type
   * @param {{ definition: StandardSchema<D> }} options
   * @param {TaskHandler<D>} handler
   * @returns {this}
   */
  /**
   * @param {string} type
   * @param {TaskHandler<any> | { definition: StandardSchema<any> }} second
   * @param {TaskHandler<any>} [third]
   * @returns {this}
   */
  task(type, second, third) {
    const handler = typeof second === "function" ? second : third;
    const schema = typeof second === "function" ? undefined : second.definition;
    if (!handler) throw new TypeError(`the tasks of type \`${type}\` have no handler`);
    this.#handlers.set(type, { handler, schema });
    return this;
  }

  /**
   * Handles hand-offs that are offered to this agent. The handler accepts or rejects them; one that
   * it does not answer is delivered again.
   * @param {HandoffHandler} handler
   */
  onHandoff(handler) {
    this.#onHandoff = handler;
    return this;
  }

  /**
   * Handles messages to this agent. A message is acknowledged when the handler returns, and
   * delivered again if it throws; a request is answered with what the handler returns or throws.
   * @param {MailHandler} handler
   */
  onMessage(handler) {
    this.#onMessage = handler;
    return this;
  }

  /** Claims nothing more. {@link Worker.run} ends when what was begun is finished. */
  stop() {
    this.#stop.abort();
  }

  /**
   * Works until it is stopped, by {@link Worker.stop} or by the signal, and what was begun is
   * finished. It throws only if claiming makes no sense: there is no handler, a name is invalid, or
   * it is not allowed.
   * @param {{ signal?: AbortSignal | undefined }} [options]
   * @returns {Promise<Worked>}
   */
  async run({ signal } = {}) {
    // Otherwise it would claim every task of the workspace, only to fail it.
    if (this.#isForTasks && this.#handlers.size === 0) {
      throw new TypeError("the worker has no handler: add one with `worker.task(type, handler)`");
    }
    if (signal?.aborted) this.stop();
    const forget = onAbort(signal, () => this.stop());
    try {
      const count = this.#concurrency;
      const first = await this.#first(count);
      const slots = Array.from({ length: count }, (_, slot) => this.#slot(first[slot]));
      const outcomes = await Promise.allSettled(slots);
      const failed = outcomes.find((outcome) => outcome.status === "rejected");
      if (failed) throw failed.reason;
      return this.#worked;
    } finally {
      forget();
    }
  }

  get #next() {
    const { lease_ms, capabilities } = this.#options;
    const types = this.#handlers.size > 0 ? [...this.#handlers.keys()] : undefined;
    return { types, lease_ms, capabilities };
  }

  /** Whether it handles nothing but tasks. */
  get #isForTasks() {
    return !this.#onHandoff && !this.#onMessage;
  }

  /**
   * Claims the tasks that are ready when the slots start. If that fails, each slot claims for itself.
   * @param {number} count
   * @returns {Promise<Work[]>}
   */
  async #first(count) {
    const { signal } = this.#stop;
    if (count < 2 || !this.#isForTasks || signal.aborted) return [];
    try {
      const limit = Math.min(count, SEVERAL_MAX);
      const tasks = await this.#workspace.tasks.claimSeveral(limit, { ...this.#next, signal });
      return tasks.map((task) => ({ task: /** @type {ClaimedTask} */ (task) }));
    } catch {
      return [];
    }
  }

  /** @param {Work | undefined} work - What it begins with. */
  async #slot(work) {
    for (;;) {
      work ??= await this.#take();
      if (!work) return;
      work = await this.#do(work);
    }
  }

  /** The next work; none when it is stopped. @returns {Promise<Work | undefined>} */
  async #take() {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        const work = await this.#receive({ wait_ms: WAIT_MS, signal });
        if (work) return work;
      } catch (error) {
        if (signal.aborted) return undefined;
        // Only the call that waited is refused: an agent without a session may claim too.
        if (isFinal(error) && !isSessionEnded(error)) {
          this.stop();
          throw error;
        }
        await pause(PAUSE_MS, signal);
      }
    }
    return undefined;
  }

  /**
   * @param {{ wait_ms: number, signal: AbortSignal }} waiting
   * @returns {Promise<Work | undefined>}
   */
  async #receive(waiting) {
    const { agents, handoffs, inbox, tasks } = this.#workspace;
    const withTasks = this.#isForTasks || this.#handlers.size > 0;
    if (withTasks && this.#isForTasks) {
      const task = await tasks.claim({ ...this.#next, ...waiting });
      return task?.lease ? { task: /** @type {ClaimedTask} */ (task) } : undefined;
    }
    if (!withTasks && !this.#onMessage) {
      const handoff = await handoffs.receive(waiting);
      return handoff ? { handoff } : undefined;
    }
    const redeliver_ms = this.#onMessage && REDELIVER_MS;
    if (!withTasks && !this.#onHandoff) {
      const { messages } = await inbox.receive({ limit: 1, redeliver_ms, ...waiting });
      return messages[0] && { message: messages[0] };
    }
    /** @type {T.WorkKind[]} */
    const kinds = [];
    if (this.#onHandoff) kinds.push("handoff");
    if (this.#onMessage) kinds.push("message");
    if (withTasks) kinds.push("task");
    const next = await agents.next({ ...this.#next, kinds, redeliver_ms, ...waiting });
    return /** @type {Work | undefined} */ (next ?? undefined);
  }

  /** @param {Work} work @returns {Promise<Work | undefined>} The next task, if it was claimed. */
  async #do(work) {
    if ("task" in work) {
      const task = await this.#work(new Job(this.#workspace, work.task));
      return task && { task };
    }
    if ("handoff" in work) await this.#offered(work.handoff);
    else await this.#answer(work.message);
    return undefined;
  }

  /** @param {T.Handoff} handoff */
  async #offered(handoff) {
    try {
      await this.#onHandoff?.(handoff, this.#workspace);
      this.#worked.handoffs += 1;
    } catch {
      this.#worked.failed += 1;
    }
  }

  /** @param {T.Message} message */
  async #answer(message) {
    /** @type {Outcome} */
    let outcome;
    try {
      outcome = { body: (await this.#onMessage?.(message.body, message)) ?? null };
    } catch (error) {
      outcome = { error: failureOf(error).error };
    }
    try {
      const send = (/** @type {Outcome} */ it) => answer(this.#workspace, message, it);
      ({ outcome } = await sendOrSayWhy(outcome, send));
      if ("body" in outcome) this.#worked.messages += 1;
      else this.#worked.failed += 1;
    } catch (error) {
      if (!(error instanceof BatonError)) throw error;
      this.#worked.lost += 1;
    }
  }

  /**
   * Runs the handler of a task, and reports what came of it.
   * @param {Job} job
   * @returns {Promise<ClaimedTask | undefined>} The next task, if it was claimed at the same time.
   */
  async #work(job) {
    /** @type {Settled} */
    let outcome;
    try {
      outcome = { result: await this.#handle(job) };
    } catch (error) {
      outcome = failureOf(error);
    }
    if (job.isSettled) {
      const { outcome } = job;
      const isReported = outcome === "completed" || outcome === "failed";
      this.#worked[isReported ? outcome : "released"] += 1;
      return undefined;
    }
    if (job.signal.aborted) {
      this.#worked.lost += 1;
      return undefined;
    }
    return await this.#report(job, outcome);
  }

  /** @param {Job} job */
  async #handle(job) {
    const found = this.#handlers.get(job.task.type);
    if (!found) throw new GiveUp(`there is no handler for tasks of type \`${job.task.type}\``);
    if (!found.schema) return await found.handler(job.definition, job);
    const checked = await found.schema["~standard"].validate(job.definition);
    if (checked.issues) {
      throw new GiveUp({
        code: "definition.invalid",
        issues: checked.issues.map(({ message }) => message),
      });
    }
    return await found.handler(checked.value, job);
  }

  /**
   * @param {Job} job
   * @param {Settled} outcome
   * @param {boolean} [isFallback] - It says why another outcome could not be stored.
   * @returns {Promise<ClaimedTask | undefined>}
   */
  async #report(job, outcome, isFallback = false) {
    try {
      if ("result" in outcome) {
        const canClaim = this.#isForTasks && !this.#stop.signal.aborted;
        const then_claim = canClaim ? this.#next : undefined;
        const next = await job.completeAndClaim(outcome.result, then_claim);
        this.#worked.completed += 1;
        return next?.lease ? /** @type {ClaimedTask} */ (next) : undefined;
      }
      await job.fail(outcome.error, { retryable: outcome.retryable });
      this.#worked.failed += 1;
    } catch (error) {
      const instead = isFallback ? undefined : insteadOf(outcome, error);
      if (instead) return await this.#report(job, instead, true);
      job.abandon();
      this.#worked.lost += 1;
    }
    return undefined;
  }
}

/**
 * What is reported instead of an outcome that cannot be stored; nothing if it was refused for
 * another reason. A result would be the same at the next attempt.
 * @param {Settled} outcome
 * @param {unknown} refusal
 * @returns {Settled | undefined}
 */
function insteadOf(outcome, refusal) {
  if (!isUnstorable(refusal)) return undefined;
  return { ...failureOf(refusal), retryable: "error" in outcome && outcome.retryable };
}
