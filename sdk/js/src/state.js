// Shared state: entries of a namespace.

import { BatonError, NotFoundError } from "./errors.js";
import { StateOperations } from "./generated/groups.js";

/** @import { CallOptions } from "./caller.js" */
/** @import * as T from "./generated/types.js" */

/**
 * @template V
 * @typedef {Omit<T.Entry, "value"> & { value: V }} EntryOf - An entry whose value has a known type.
 */

/** @typedef {{ namespace?: string, token?: number } & CallOptions} PatchOptions */

export class State extends StateOperations {
  /**
   * The entries of another namespace.
   * @param {string} namespace
   * @returns {State}
   */
  in(namespace) {
    return new State(this.caller, namespace);
  }

  /**
   * Reads an entry. Throws a `NotFoundError` if there is none.
   * @override
   * @template [V=any]
   * @param {string} key
   * @param {T.StateGetOptions & CallOptions} [options]
   * @returns {Promise<EntryOf<V>>}
   */
  get(key, options) {
    return /** @type {Promise<any>} */ (super.get(key, options));
  }

  /**
   * Reads an entry, or nothing if there is none.
   * @template [V=any]
   * @param {string} key
   * @param {T.StateGetOptions & CallOptions} [options]
   * @returns {Promise<EntryOf<V> | undefined>}
   */
  async find(key, options) {
    try {
      return await this.get(key, options);
    } catch (error) {
      if (error instanceof NotFoundError && error.code === "state.not_found") return undefined;
      throw error;
    }
  }

  /**
   * Changes an entry by a function of its value, which is called again if another agent has changed
   * the entry meanwhile. The value is `undefined` if there is no entry.
   * @template [V=any]
   * @param {string} key
   * @param {(value: V | undefined, entry: EntryOf<V> | undefined) => V | Promise<V>} change
   * @param {{ namespace?: string, token?: number, ttl_ms?: number } & CallOptions} [options]
   * @returns {Promise<EntryOf<V>>}
   */
  async update(key, change, options = {}) {
    const { namespace, signal, timeoutMs } = options;
    let entry = /** @type {EntryOf<V> | undefined} */ (
      await this.find(key, { ...(namespace === undefined ? {} : { namespace }), signal, timeoutMs })
    );
    for (;;) {
      const value = await change(entry?.value, entry);
      try {
        const written = await this.set(key, value, {
          ...options,
          expected_version: entry?.version ?? 0,
        });
        return /** @type {any} */ (written);
      } catch (error) {
        const isConflict = error instanceof BatonError && error.code === "state.version_conflict";
        if (!isConflict || !("entry" in error.facts)) throw error;
        entry = error.facts.entry ?? undefined;
      }
    }
  }

  /**
   * Applies a JSON Merge Patch (RFC 7396).
   * @param {string} key
   * @param {unknown} patch
   * @param {PatchOptions} [options]
   */
  merge(key, patch, options) {
    return this.patch(key, { ...options, merge: patch });
  }

  /**
   * Appends a value, or the elements of a list.
   * @param {string} key
   * @param {unknown} value
   * @param {PatchOptions} [options]
   */
  append(key, value, options) {
    return this.patch(key, { ...options, append: value });
  }

  /**
   * Adds to a number; a missing entry counts as 0.
   * @param {string} key
   * @param {number} [by]
   * @param {PatchOptions} [options]
   */
  increment(key, by = 1, options) {
    return this.patch(key, { ...options, increment: by });
  }
}
