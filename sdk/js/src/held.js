// A lock or a permit that is held, and renewed while it is.

import { asyncDispose } from "./dispose.js";
import { BatonError, NotAcquiredError } from "./errors.js";
import { Renewal } from "./renewal.js";

/** @import { CallOptions, Caller } from "./caller.js" */

/** The longest wait of one call. */
const WAIT_MS_MAX = 3_600_000;

/**
 * @typedef {object} HoldOptions
 * @property {number | undefined} [wait_ms] - How long to wait for it; as long as it takes if not given.
 * @property {number | undefined} [ttl_ms] - How long it lasts without a renewal, and so how long it takes until
 *   others get it if this program dies. It is renewed in a third of that, or of the TTL of the
 *   agent's session if that is shorter.
 */

/**
 * @typedef {object} SemaphoreOptions
 * @property {number | undefined} [permits] - How many permits the semaphore has; required in its first use.
 * @property {number | undefined} [weight] - How many of them to take; one if not given.
 */

/** @typedef {{ name: string, token: number, ttl_ms: number }} Grant */

/**
 * A lock or a permit. Release it with `await using`, or with {@link Held.release}.
 */
export class Held {
  #caller;
  #group;
  #renewal;

  /**
   * @param {Caller} caller
   * @param {"lock" | "semaphore"} group
   * @param {Grant} grant
   */
  constructor(caller, group, grant) {
    this.#caller = caller;
    this.#group = group;
    /** The name of the lock or semaphore. */
    this.name = grant.name;
    /** The fencing token: larger than every token that was issued before. */
    this.token = grant.token;
    const { name, token, ttl_ms } = grant;
    const upkeep = caller.with({ isUpkeep: true });
    /** @param {CallOptions} options */
    const renew = (options) => upkeep.call(`${group}.renew`, { name, token, ttl_ms }, options);
    this.#renewal = new Renewal(`${group} \`${name}\``, ttl_ms, renew, caller);
  }

  /** Aborted when it is lost, with a `LeaseLostError`: stop what is done under it. */
  get signal() {
    return this.#renewal.signal;
  }

  /** Releases it. Throws a `StaleError` if it was lost. @param {CallOptions} [options] */
  async release(options) {
    this.#renewal.stop();
    const { name, token } = this;
    await this.#caller.call(`${this.#group}.release`, { name, token }, options);
  }

  /** Releases it, for `await using`. If that fails, it ends by itself when its time is over. */
  async [asyncDispose]() {
    try {
      await this.release();
    } catch (error) {
      if (!(error instanceof BatonError)) throw error;
    }
  }
}

/**
 * Waits for a lock or a permit, and holds it.
 * @param {Caller} caller
 * @param {"lock" | "semaphore"} group
 * @param {string} name
 * @param {HoldOptions & CallOptions & SemaphoreOptions} options
 */
export async function hold(caller, group, name, { wait_ms = Infinity, ...options }) {
  const until = performance.now() + wait_ms;
  for (;;) {
    const left = Math.max(0, Math.min(until - performance.now(), WAIT_MS_MAX));
    const fields = { name, wait_ms: Math.ceil(left) };
    const grant = await caller.call(`${group}.acquire`, fields, /** @type {any} */ (options));
    // A holder is always shown its token.
    if (grant) return new Held(caller, group, /** @type {Grant} */ (grant));
    if (performance.now() >= until) throw new NotAcquiredError(`${group} \`${name}\``, wait_ms);
  }
}
