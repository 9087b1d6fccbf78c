// What is recorded of a handler that failed: it can always be stored, whatever was thrown.

import { BatonError } from "./errors.js";
import { byteLength } from "./json.js";

/** How many bytes a text of an error may have. The server accepts an error of 64 KiB. */
const TEXT_BYTES_MAX = 60_000;
/** What is left of a longer text: in JSON, a character has six bytes at most. */
const CUT_LENGTH = 9_000;

/** Thrown by a handler: the attempt failed, and the task is tried again after its backoff. */
export class RetryLater extends Error {
  /** @param {unknown} [error] - What is recorded as the error of the attempt. */
  constructor(error) {
    super(messageOf(error, "the task is to be tried again"), causeOf(error));
    this.name = "RetryLater";
    this.error = error ?? this.message;
  }
}

/** Thrown by a handler: the task failed, and trying again would not help. */
export class GiveUp extends Error {
  /** @param {unknown} [error] - What is recorded as the error of the task. */
  constructor(error) {
    super(messageOf(error, "the task cannot succeed"), causeOf(error));
    this.name = "GiveUp";
    this.error = error ?? this.message;
  }
}

/** @param {unknown} error @param {string} otherwise */
function messageOf(error, otherwise) {
  if (typeof error === "string") return error;
  return error instanceof Error ? textOf(error) : otherwise;
}

/** @param {unknown} error @returns {ErrorOptions | undefined} */
const causeOf = (error) => (error instanceof Error ? { cause: error } : undefined);

/**
 * The record of an error of a handler.
 * @param {unknown} error
 * @returns {{ error: unknown, retryable: boolean }}
 */
export function failureOf(error) {
  if (error instanceof GiveUp) return { error: recordOf(error.error), retryable: false };
  if (error instanceof RetryLater) return { error: recordOf(error.error), retryable: true };
  const record = error instanceof Error ? recordOf(error) : textOf(error);
  return { error: record, retryable: true };
}

/**
 * A value as it is recorded, where an error or a long text cannot be stored as it is.
 * @param {unknown} value
 */
export function recordOf(value) {
  if (value instanceof BatonError) {
    return { code: value.code, detail: storable(value.message) };
  }
  return value instanceof Error || typeof value === "string" ? textOf(value) : value;
}

/**
 * Whether a record is refused because of what it contains: something that is not JSON, or too much.
 * @param {unknown} error
 * @returns {error is BatonError}
 */
export const isUnstorable = (error) =>
  error instanceof BatonError && (error.kind === "invalid" || error.kind === "too_large");

/** What was thrown, as text. @param {unknown} value */
function textOf(value) {
  try {
    return storable(value instanceof Error ? `${value.name}: ${value.message}` : String(value));
  } catch {
    // Such as an object without a prototype, or one whose `toString` throws.
    return "the handler threw a value that cannot be shown as text";
  }
}

/**
 * A text that can be stored: not too long, and with no half of a surrogate pair.
 * @param {string} text
 * @returns {string}
 */
function storable(text) {
  if (text.length <= TEXT_BYTES_MAX) {
    const whole = text.replace(/\p{Surrogate}/gu, "\ufffd");
    if (byteLength(JSON.stringify(whole)) <= TEXT_BYTES_MAX) return whole;
  }
  return `${storable(text.slice(0, CUT_LENGTH))}… (${text.length} characters)`;
}
