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

/** The caller may not do this. Get permission or stop asking. */
export class DeniedError extends BatonError {}

/** The named thing does not exist. Create it or stop asking. */
export class NotFoundError extends BatonError {}

/** Someone else got there first. Read again, then decide. */
export class ConflictError extends BatonError {}

/** The caller's lease, token or session is old. Stop acting on it at once. */
export class StaleError extends BatonError {}

/** What was sent is larger than allowed. Send less, or store it as an artifact. */
export class TooLargeError extends BatonError {}

/** A limit is reached. Wait, or ask for less. */
export class ExhaustedError extends BatonError {}

/** Baton cannot serve this now. Try again later, or look at the server. */
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
