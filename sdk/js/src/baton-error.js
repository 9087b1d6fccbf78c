/** @import { Kind } from "./generated/errors.js" */

/**
 * @typedef {object} Problem
 * @property {string} code - Stable across releases, such as `state.version_conflict`.
 * @property {Kind} kind - What the caller should do about it.
 * @property {string} detail - A description of the error, as a sentence.
 * @property {string} hint - The next step, as a sentence.
 */

/** Why a call failed. Every error of the SDK is of this class; the subclass is that of its kind. */
export class BatonError extends Error {
  /**
   * @param {Problem & Record<string, unknown>} problem
   * @param {ErrorOptions} [options]
   */
  constructor({ code, kind, detail, hint, ...facts }, options) {
    super(detail, options);
    this.name = new.target.name;
    /** Stable across releases; documented in `docs/errors.md`. */
    this.code = code;
    /** The recommended reaction of the caller. */
    this.kind = kind;
    /** The next step, as a sentence. */
    this.hint = hint;
    /**
     * The other facts that the server reported, such as the winning `entry` of a conflict.
     * @type {Record<string, any>}
     */
    this.facts = facts;
  }

  /** Whether the request may have been executed although it failed. */
  get isUnknown() {
    return this.code === "client.unknown_outcome" || this.code === "engine.unknown_outcome";
  }
}
