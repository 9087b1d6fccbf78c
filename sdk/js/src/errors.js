// Errors: those that the server reports, and those that the client finds itself.

import { BatonError } from "./baton-error.js";
import {
  ConflictError,
  ERRORS,
  ExhaustedError,
  InvalidError,
  StaleError,
  UnavailableError,
} from "./generated/errors.js";

export { BatonError };
export * from "./generated/errors.js";

/**
 * A command was sent, and no answer arrived: it is unknown whether it was executed. Repeat it with
 * the same idempotency key, or read the current state.
 */
export class OutcomeUnknownError extends UnavailableError {}

/**
 * The error that a server reported.
 * @param {unknown} problem
 * @returns {BatonError}
 */
export function fromProblem(problem) {
  const given = /** @type {Record<string, any>} */ (
    typeof problem === "object" ? (problem ?? {}) : {}
  );
  if (typeof given.code !== "string" || !(given.kind in ERRORS)) {
    return notUnderstood("an error without a code and a kind");
  }
  const { code, kind, detail = code, hint = "", ...facts } = given;
  const known = /** @type {keyof typeof ERRORS} */ (kind);
  const type = code === "engine.unknown_outcome" ? OutcomeUnknownError : ERRORS[known];
  return new type({ code, kind: known, detail, hint, ...facts });
}

/** @param {string} url @param {string} reason */
export const badUrl = (url, reason) =>
  new InvalidError({
    code: "client.bad_url",
    kind: "invalid",
    detail: `\`${url.slice(0, 200)}\` is not the URL of a server: ${reason}`,
    hint: "use a URL such as `http://127.0.0.1:4747`",
  });

export const badToken = () =>
  new InvalidError({
    code: "client.bad_token",
    kind: "invalid",
    detail: "the token has invalid characters, such as a line break",
    hint: "use the token exactly as printed by `baton token create`, on one line",
  });

/** @param {string} what @param {ErrorOptions} [options] */
export const notJson = (what, options) =>
  new InvalidError(
    {
      code: "client.not_json",
      kind: "invalid",
      detail: `the value is not JSON: ${what}`,
      hint: "use strings, finite numbers, booleans, null, and arrays and objects of them",
    },
    options,
  );

/** @param {string} name @param {string} reason */
export const badName = (name, reason) =>
  new InvalidError({
    code: "request.bad_name",
    kind: "invalid",
    detail: `\`${name}\` is not a valid name: ${reason}`,
    hint: "use another name",
  });

/** @param {number} given @param {number} max */
export const tooLarge = (given, max) =>
  fromProblem({
    code: "request.too_large",
    kind: "too_large",
    detail: `the request has ${given} bytes; at most ${max} are allowed`,
    hint: "split it into several requests",
    given,
    max,
  });

/** @param {string} url @param {string} reason @param {ErrorOptions} [options] */
export const unreachable = (url, reason, options) =>
  new UnavailableError(
    {
      code: "client.unreachable",
      kind: "unavailable",
      detail: `cannot connect to ${url}: ${reason}`,
      hint: "start the server with `baton serve`, or correct the URL",
    },
    options,
  );

/** @param {string} reason @param {ErrorOptions} [options] */
export const unknownOutcome = (reason, options) =>
  new OutcomeUnknownError(
    {
      code: "client.unknown_outcome",
      kind: "unavailable",
      detail: `the outcome of the command is unknown: ${reason}`,
      hint: "retry with the same idempotency key, or read the current state",
    },
    options,
  );

/** @param {number} milliseconds */
export const timedOut = (milliseconds) =>
  new UnavailableError({
    code: "client.timeout",
    kind: "unavailable",
    detail: `no response within ${milliseconds} ms`,
    hint: "retry, or check the server",
  });

/** @param {string} what @param {ErrorOptions} [options] */
export const notUnderstood = (what, options) =>
  new UnavailableError(
    {
      code: "client.protocol",
      kind: "unavailable",
      detail: `the server's response was not understood: ${what}`,
      hint: "use a client and a server of the same release",
    },
    options,
  );

export const closed = () =>
  new UnavailableError({
    code: "client.closed",
    kind: "unavailable",
    detail: "the client is closed",
    hint: "connect again",
  });

/** @param {string} what @param {number} max */
export const crowded = (what, max) =>
  new ExhaustedError({
    code: "client.crowded",
    kind: "exhausted",
    detail: `too many ${what} are waiting in the client (limit ${max})`,
    hint: "wait for some of them, then retry",
  });

/** @param {string} task */
export const notClaimed = (task) =>
  new InvalidError({
    code: "client.not_claimed",
    kind: "invalid",
    detail: `task \`${task}\` is not held by this agent`,
    hint: "claim it, and pass the job, or the task as `tasks.claim` returns it",
  });

/**
 * There is no completion of a model. The attempt of the task failed with this reason. `facts` has
 * the `status` of the response, if it was one of an error.
 */
export class ModelError extends UnavailableError {
  /** @param {string} reason @param {ErrorOptions & { status?: number }} [options] */
  constructor(reason, { status, ...options } = {}) {
    super(
      {
        code: "client.model_failed",
        kind: "unavailable",
        detail: reason,
        hint: "check the endpoint, the name of the model and the key",
        ...(status === undefined ? {} : { status }),
      },
      options,
    );
  }
}

/** The lock or permit did not become free in time. */
export class NotAcquiredError extends ConflictError {
  /** @param {string} what @param {number} waitMs */
  constructor(what, waitMs) {
    super({
      code: "client.not_acquired",
      kind: "conflict",
      detail: `${what} was not free within ${waitMs} ms`,
      hint: "wait longer with `wait_ms`, or try again later",
    });
  }
}

/** A lease, lock, permit or session has ended: another agent may have it by now. */
export class LeaseLostError extends StaleError {
  /** @param {string} what @param {string} reason @param {ErrorOptions} [options] */
  constructor(what, reason, options) {
    super(
      {
        code: "client.lease_lost",
        kind: "stale",
        detail: `${what} is lost: ${reason}`,
        hint: "stop this work at once; claim or acquire it again if it is still wanted",
      },
      options,
    );
  }
}

/** A task that was waited for did not complete. */
export class TaskFailedError extends ConflictError {
  /** @param {string} task @param {string} status @param {unknown} error */
  constructor(task, status, error) {
    super({
      code: "client.task_failed",
      kind: "conflict",
      detail: `task \`${task}\` is ${status}`,
      hint: "read the task with `tasks.get`; create it again if it is still wanted",
      task,
      status,
      error,
    });
  }
}

/**
 * Whether a server refuses with this code because it shuts down: nothing was done.
 * @param {string} code
 */
export const isShuttingDown = (code) => code === "server.closing" || code === "engine.closed";

/**
 * Why a server of several may refuse what another one, or a later moment, does not: it has lost the
 * workspace or its log. True if the request may have been executed nevertheless.
 */
const PASSING = new Map([
  ["cluster.elsewhere", false],
  ["cluster.no_owner", false],
  ["cluster.owner_lost", true],
  ["cluster.owner_unreachable", false],
  ["engine.stopped", false],
  ["engine.unknown_outcome", true],
  ["log.away", false],
  ["log.fenced", false],
]);

/** Whether another server may serve what one refuses with this code. @param {string} code */
export const isPassing = (code) => PASSING.has(code);

/** Whether a request may have been executed that is refused with this. @param {string} code */
export const mayBeDone = (code) => PASSING.get(code) === true;

/** Whether the session of the agent ended while a call waited. @param {unknown} error */
export const isSessionEnded = (error) =>
  error instanceof BatonError && error.code.endsWith(".session_ended");

/** Whether a call under a lease says that the lease has ended. @param {unknown} error */
export const hasLostLease = (error) =>
  error instanceof BatonError &&
  (error.code.endsWith(".stale_token") || error.code === "task.finished");

/** Kinds of errors after which the same request would fail again. */
const FINAL = new Set(["invalid", "denied", "not_found", "conflict", "stale"]);

/** Whether repeating the request would fail again. @param {unknown} error */
export const isFinal = (error) => error instanceof BatonError && FINAL.has(error.kind);
