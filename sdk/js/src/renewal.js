// Keeps what ends by itself unless it is renewed: a lock, a permit, a lease, a session.

import { isFinal, LeaseLostError } from "./errors.js";
import { unref } from "./timing.js";

/** Renewals in the time that each lasts: two may fail before it is too late. */
const RENEWALS_PER_TTL = 3;

/**
 * Renews until it is stopped, or what is renewed is lost: when the server says so, or when no
 * renewal has succeeded for as long as one lasts. Other errors, such as a broken connection, lead
 * to
 * another attempt.
 */
export class Renewal {
  #what;
  #ttlMs;
  #renew;
  #keptUntil;
  #stopped = new AbortController();
  #lost = new AbortController();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  /** @type {unknown} */
  #last;

  /**
   * @param {string} what - What is renewed, in words.
   * @param {number} ttlMs - How long a renewal lasts.
   * @param {(options: { signal: AbortSignal }) => Promise<unknown>} renew
   */
  constructor(what, ttlMs, renew) {
    this.#what = what;
    this.#ttlMs = ttlMs;
    this.#renew = renew;
    this.#keptUntil = performance.now() + ttlMs;
    this.#schedule();
  }

  /** Aborted when it is lost, with a {@link LeaseLostError}. */
  get signal() {
    return this.#lost.signal;
  }

  /** Renews no longer. */
  stop() {
    clearTimeout(this.#timer);
    this.#stopped.abort();
  }

  /** @param {string} reason @param {unknown} cause */
  #lose(reason, cause) {
    if (this.#stopped.signal.aborted) return;
    this.stop();
    this.#lost.abort(new LeaseLostError(this.#what, reason, { cause }));
  }

  #loseInSilence = () => this.#lose(`it could not be renewed within ${this.#ttlMs} ms`, this.#last);

  #schedule() {
    if (this.#stopped.signal.aborted) return;
    const left = this.#keptUntil - performance.now();
    const wait = Math.max(0, Math.min(this.#ttlMs / RENEWALS_PER_TTL, left));
    this.#timer = setTimeout(() => void this.#beat(), wait);
    unref(this.#timer);
  }

  async #beat() {
    // Counted from before it is sent: the server cannot have renewed it earlier.
    const begun = performance.now();
    const left = this.#keptUntil - begun;
    if (left <= 0) return this.#loseInSilence();
    const late = setTimeout(this.#loseInSilence, left);
    try {
      await this.#renew({ signal: this.#stopped.signal });
      this.#keptUntil = begun + this.#ttlMs;
      this.#last = undefined;
    } catch (error) {
      if (isFinal(error)) this.#lose(error instanceof Error ? error.message : String(error), error);
      this.#last = error;
    } finally {
      clearTimeout(late);
    }
    this.#schedule();
  }
}
