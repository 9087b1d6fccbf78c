// Generated from spec/ by generate.mjs. Do not edit.
//
// One class for each kind of error.


import { BatonError } from "../baton-error.js";

/**
 * What the caller should do about an error.
 * @typedef {"invalid" | "denied" | "not_found" | "conflict" | "stale" | "too_large" | "exhausted" | "unavailable"} Kind
 */

/** The request can never succeed as written. Fix it. */
export class InvalidError extends BatonError {}

/** The caller is not allowed to do this. Get permission or give up. */
export class DeniedError extends BatonError {}

/** The named object does not exist. Create it or give up. */
export class NotFoundError extends BatonError {}

/** Another caller was faster. Read again, then decide. */
export class ConflictError extends BatonError {}

/** The caller's lease, token or session has ended. Stop acting on it at once. */
export class StaleError extends BatonError {}

/** The request or a part of it is too large. Send less, or store it elsewhere. */
export class TooLargeError extends BatonError {}

/** A limit is reached. Wait, or ask for less. */
export class ExhaustedError extends BatonError {}

/** Baton cannot serve the request now. Retry later, or check the server. */
export class UnavailableError extends BatonError {}

/** The class of every kind. */
export const ERRORS = {
  invalid: InvalidError,
  denied: DeniedError,
  not_found: NotFoundError,
  conflict: ConflictError,
  stale: StaleError,
  too_large: TooLargeError,
  exhausted: ExhaustedError,
  unavailable: UnavailableError,
};
