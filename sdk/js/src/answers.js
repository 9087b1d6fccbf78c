// The outcome of a message after its handler.

import { BatonError, isSessionEnded } from "./errors.js";
import { failureOf, isUnstorable } from "./failures.js";

/** @import { Workspace } from "./workspace.js" */
/** @import * as T from "./generated/types.js" */

/** @typedef {{ body: unknown } | { error: unknown }} Outcome */

/** When a message that is not acknowledged is delivered again: calls of models take minutes. */
export const REDELIVER_MS = 600_000;
/** A reply that is repeated gets one of these if the first was executed; no more is known of a live request. */
const REPLIED = ["message.already_replied", "message.live_over"];

/**
 * Sends an outcome; if it cannot be stored, an error that says why, so that the sender does not wait
 * for nothing.
 * @template R
 * @param {Outcome} outcome
 * @param {(outcome: Outcome) => Promise<R>} send
 * @returns {Promise<{ outcome: Outcome, result: R }>} What was sent, and what that returned.
 */
export async function sendOrSayWhy(outcome, send) {
  try {
    return { outcome, result: await send(outcome) };
  } catch (refusal) {
    if (!isUnstorable(refusal)) throw refusal;
    const { error } = failureOf(refusal);
    return { outcome: { error }, result: await send({ error }) };
  }
}

/**
 * Answers a request, and waits for the next message in the same call until the signal. If that
 * wait is ended, it is not known whether the answer was sent: another call says so.
 * @param {Workspace} workspace
 * @param {T.Message} message
 * @param {Outcome} outcome
 * @param {{ wait_ms: number, signal: AbortSignal }} waiting
 * @returns {Promise<T.Message | undefined>}
 */
export async function answerAndReceive(workspace, message, outcome, waiting) {
  if (!message.request || waiting.signal.aborted) {
    await answer(workspace, message, outcome);
    return undefined;
  }
  try {
    const options = { ...waiting, redeliver_ms: REDELIVER_MS };
    return await workspace.messages.replyAndReceive(message.id, outcome, options);
  } catch (ended) {
    if (isUnstorable(ended)) throw ended;
    try {
      await answer(workspace, message, outcome);
    } catch (error) {
      const isSent = error instanceof BatonError && REPLIED.includes(error.code);
      if (!isSent) throw error;
    }
    // The answer was sent, and nothing more is received in this session.
    if (isSessionEnded(ended)) throw ended;
    return undefined;
  }
}

/**
 * Answers a request with what its handler returned or threw. A message that is no request is
 * acknowledged if its handler succeeded, and delivered again if not.
 * @param {Workspace} workspace
 * @param {T.Message} message
 * @param {Outcome} outcome
 */
export async function answer(workspace, message, outcome) {
  const { id } = message;
  if (message.request) {
    // The sender gets the answer, and the request itself is not needed again.
    await workspace.executeMinimal({ command: "message.reply", request: id, ...outcome });
  } else if ("body" in outcome) await workspace.inbox.ack({ message: id });
}
