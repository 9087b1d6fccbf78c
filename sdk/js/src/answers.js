// What becomes of a message after its handler.

/** @import { Workspace } from "./workspace.js" */
/** @import * as T from "./generated/types.js" */

/** When a message that is not acknowledged is delivered again: calls of models take minutes. */
export const REDELIVER_MS = 600_000;

/**
 * Answers a request with what its handler returned or threw. A message that is no request is
 * acknowledged if its handler succeeded, and delivered again if not.
 * @param {Workspace} workspace
 * @param {T.Message} message
 * @param {{ body: unknown } | { error: unknown }} outcome
 */
export async function answer(workspace, message, outcome) {
  if (message.request) await workspace.messages.reply(message.id, outcome);
  else if ("body" in outcome) await workspace.inbox.ack({ message: message.id });
}
