// Runs a task with a model: sends its context, and stores the completion as the result.
//
//   a task that was claimed ──▶ context.build ──▶ POST …/chat/completions ──▶ task.complete
//                                                              result, usage and lineage of it
//
// 1. The result of the task has the completion, its usage and its lineage: the sections of the
//    context, their sizes in tokens, and what was left out.
// 2. If there is no completion, the attempt fails with the reason, and the task is retried according
//    to its settings.
// 3. The lease is renewed meanwhile. If it is lost, the model is no longer waited for, and nothing is
//    reported.

import { BatonError, ModelError, notClaimed } from "./errors.js";
import { Job } from "./job.js";
import { onAbort } from "./timing.js";

/** @import { ClaimedTask } from "./job.js" */
/** @import { Completion, Endpoint } from "./model.js" */
/** @import { Workspace } from "./workspace.js" */
/** @import * as T from "./generated/types.js" */

/** The default instructions before the context. */
const INSTRUCTIONS =
  "You are one of several agents. Do the task that the user message describes, and answer with " +
  "the result alone.";

/**
 * @typedef {object} ModelRunOptions
 * @property {string | undefined} [instructions] - What precedes the context; there are default ones.
 * @property {number | undefined} [token_budget] - How many tokens the context may have.
 * @property {AbortSignal | undefined} [signal] - Stops waiting for the model. Nothing is reported then.
 */

/**
 * Runs a task that was claimed.
 * @param {Workspace} workspace
 * @param {Job | T.Task} work
 * @param {Endpoint} endpoint
 * @param {ModelRunOptions} options
 * @returns {Promise<T.Task>}
 */
export async function runWithContext(workspace, work, endpoint, options) {
  if (work instanceof Job) return await run(workspace, work, endpoint, options);
  const token = work.lease?.token;
  if (token === undefined || token === null) throw notClaimed(work.id);
  // Its lease may be half over, or lost: then the model is not called.
  await workspace.tasks.heartbeat(work.id, token, { signal: options.signal });
  const job = new Job(workspace, /** @type {ClaimedTask} */ (work));
  try {
    return await run(workspace, job, endpoint, options);
  } finally {
    job.abandon();
  }
}

/**
 * @param {Workspace} workspace
 * @param {Job} job
 * @param {Endpoint} endpoint
 * @param {ModelRunOptions} options
 */
async function run(workspace, job, endpoint, { instructions = INSTRUCTIONS, token_budget, signal }) {
  const { id: task } = job;
  const context = await workspace.context.build({ task, token_budget, signal });
  const given = new AbortController();
  const forget = [signal, job.signal].map((each) => {
    if (each?.aborted) given.abort(each.reason);
    return onAbort(each, () => given.abort(each?.reason));
  });
  let completion;
  try {
    completion = await endpoint.complete(instructions, context.text, { signal: given.signal });
  } catch (error) {
    if (error instanceof ModelError) await fail(job, error);
    throw error;
  } finally {
    for (const each of forget) each();
  }
  return (await job.complete(resultOf(completion, context))).task;
}

/** @param {Job} job @param {ModelError} error */
async function fail(job, error) {
  try {
    await job.fail(error.message);
  } catch (failure) {
    // The lease expires; the error of the model matters more.
    if (!(failure instanceof BatonError)) throw failure;
  }
}

/** The result of the task. @param {Completion} completion @param {T.Context} context */
function resultOf({ text, model, usage }, { sections, tokens, left_out = [] }) {
  const parts = sections.map(({ name, items, tokens: size }) => ({ name, items, tokens: size }));
  return { text, model, usage, lineage: { context_tokens: tokens, sections: parts, left_out } };
}
