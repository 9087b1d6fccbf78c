// Keeps what ends unless it is renewed: a lock, a permit, a lease, a session.
//
// Everything that an agent holds is lost when the session of the agent ends, and every renewal is a
// sign of life of that session. So it is renewed in a third of its own TTL or of that of the
// session, whichever is shorter.

import { isFinal, LeaseLostError } from "./errors.js";
import { unref } from "./timing.js";

/** @import { Caller } from "./caller.js" */

/** Renewals in the time that each lasts: two may fail before it is too late. */
const RENEWALS_PER_TTL = 3;
/**
 * When the session is read: early enough for the shortest one, which lasts 100 ms, and late enough
 * that work which ends at once needs no further call.
 */
const READS_SESSION_AFTER_MS = 33;
/** The pause after the session could not be read. */
const PAUSE_MS = 1_000;

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
  /** The time between two renewals. */
  #period;
  /** When it was renewed last, or when that was last tried. */
  #tried = performance.now();
  #stopped = new AbortController();
  #lost = new AbortController();
  #isRenewing = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #sessionTimer;
  /** @type {unknown} */
  #last;

  /**
   * @param {string} what - What is renewed, in words.
   * @param {number} ttlMs - How long a renewal lasts.
   * @param {(options: { signal: AbortSignal }) => Promise<unknown>} renew
   * @param {Caller} [holder] - Of what an agent holds: its session is kept too, if it has one.
   */
  constructor(what, ttlMs, renew, holder) {
    this.#what = what;
    this.#ttlMs = ttlMs;
    this.#renew = renew;
    this.#keptUntil = performance.now() + ttlMs;
    this.#period = ttlMs / RENEWALS_PER_TTL;
    this.#schedule();
    if (holder) this.#readSessionIn(READS_SESSION_AFTER_MS, holder);
  }

  /** Aborted when it is lost, with a {@link LeaseLostError}. */
  get signal() {
    return this.#lost.signal;
  }

  /** Renews no longer. */
  stop() {
    clearTimeout(this.#timer);
    clearTimeout(this.#sessionTimer);
    this.#stopped.abort();
  }

  /**
   * The server has answered another call so that it is lost.
   * @param {unknown} error
   */
  lost(error) {
    this.#lose(error instanceof Error ? error.message : String(error), error);
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
    const due = Math.min(this.#tried + this.#period, this.#keptUntil);
    this.#timer = setTimeout(() => void this.#beat(), Math.max(0, due - performance.now()));
    unref(this.#timer);
  }

  /** @param {number} wait @param {Caller} holder */
  #readSessionIn(wait, holder) {
    if (this.#stopped.signal.aborted) return;
    this.#sessionTimer = setTimeout(() => void this.#readSession(holder), wait);
    unref(this.#sessionTimer);
  }

  /** @param {Caller} holder */
  async #readSession(holder) {
    const { agent } = holder.context;
    const { signal } = this.#stopped;
    try {
      const { status, ttl_ms } = await holder
        .with({ isUpkeep: true })
        .call("agent.get", { agent }, { signal });
      if (status !== "active" || ttl_ms >= this.#ttlMs || signal.aborted) return;
      this.#period = ttl_ms / RENEWALS_PER_TTL;
      // A renewal under way schedules the next one.
      if (this.#isRenewing) return;
      clearTimeout(this.#timer);
      this.#schedule();
    } catch (error) {
      // Otherwise it was never registered, or it is not permitted to know.
      if (!isFinal(error)) this.#readSessionIn(PAUSE_MS, holder);
    }
  }

  async #beat() {
    // Counted from before it is sent: the server cannot have renewed it earlier.
    const begun = performance.now();
    const left = this.#keptUntil - begun;
    if (left <= 0) return this.#loseInSilence();
    const late = setTimeout(this.#loseInSilence, left);
    this.#isRenewing = true;
    try {
      await this.#renew({ signal: this.#stopped.signal });
      this.#keptUntil = begun + this.#ttlMs;
      this.#last = undefined;
    } catch (error) {
      if (isFinal(error)) this.lost(error);
      this.#last = error;
    } finally {
      clearTimeout(late);
      this.#isRenewing = false;
      this.#tried = performance.now();
    }
    this.#schedule();
  }
}
