// A transport: the path of requests to the server and of answers and events back.

import { encode } from "./json.js";

/** @import { GivesBack } from "./generated/operations.js" */
/** @import { Watch, WatchRequest } from "./watch.js" */

/**
 * The effect of sending a request twice: none, because it is a query; none, because it has
 * an idempotency key; or a second effect.
 * @typedef {"asks" | "once" | "changes"} Effect
 */

/**
 * @typedef {object} Request
 * @property {string} workspace
 * @property {string | undefined} agent - The agent that acts, unless the fields name one.
 * @property {string} [caller] - The agent that acts, if the fields name another one.
 * @property {string} command
 * @property {Record<string, unknown>} fields
 * @property {string | undefined} idempotencyKey
 * @property {Effect} effect
 * @property {number} waitMs - How long it asks to wait.
 * @property {boolean} [isUpkeep] - The client makes it by itself, such as to renew a lock: closing does
 *   not wait for it.
 * @property {GivesBack} [givesBack] - The command that returns what it was granted.
 */

/**
 * @typedef {object} Answer
 * @property {number} revision
 * @property {unknown} [result]
 * @property {unknown[]} [results]
 */

/** @typedef {{ signal?: AbortSignal | undefined, timeoutMs?: number | undefined }} Limits */

/**
 * @typedef {object} Transport
 * @property {(request: Request, limits?: Limits) => Promise<Answer>} call
 * @property {(requests: Request[], limits?: Limits) => Promise<PromiseSettledResult<Answer>[]>} callMany
 *   - Sends requests of one workspace together.
 * @property {(request: WatchRequest, signal?: AbortSignal) => Watch<any>} watch
 * @property {() => Promise<void>} close - Finishes what was begun, and refuses everything else.
 */

/** Fields of a frame are beside its own, and `id` is the number of the request. */
const RENAMED = /** @type {Record<string, string>} */ ({
  "task.create": "task",
  "join.create": "join",
});

/** @param {Request} request */
export function bodyOf({ agent, caller, idempotencyKey, command, fields }) {
  const renamed = RENAMED[command];
  const { id, ...own } = fields;
  if (renamed && id !== undefined) own[renamed] = id;
  const named = own.agent ?? agent;
  return { ...own, agent: named, caller, idempotency_key: idempotencyKey, command };
}

/**
 * A request as a frame. Its number is first, so that the server can name it if the rest cannot be
 * read.
 * @param {number} id
 * @param {Request} request
 */
export const frameOf = (id, request) =>
  encode({ id, workspace: request.workspace, ...bodyOf(request) });

/** The items that a result grants: each item, if it is a list and nothing else. @param {unknown} result */
function granted(result) {
  if (result === null || result === undefined) return [];
  const [only, ...others] = typeof result === "object" ? Object.values(result) : [];
  return Array.isArray(only) && others.length === 0 ? only : [result];
}

/**
 * The requests that return what a call was granted, if it was granted something.
 * @param {Request} request
 * @param {unknown} result
 * @returns {Request[]}
 */
export function givingBack({ givesBack, workspace, agent }, result) {
  if (!givesBack) return [];
  return granted(result).map((each) => {
    const fields = Object.entries(givesBack.fields).map(([name, source]) => [
      name,
      "text" in source ? source.text : source.path.reduce((it, part) => it?.[part], each),
    ]);
    return {
      workspace,
      agent,
      command: givesBack.command,
      fields: Object.fromEntries(fields),
      idempotencyKey: undefined,
      effect: "changes",
      waitMs: 0,
    };
  });
}
