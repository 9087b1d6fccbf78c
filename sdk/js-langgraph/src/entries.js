// The entries of a namespace of a workspace, which is created when it is first used.

import { BatonError, ConflictError, NotFoundError } from "@baton/sdk";
import { PART_LENGTH_MAX } from "./values.js";

/** @import { State, Workspace } from "@baton/sdk" */
/** @import { Entry } from "@baton/sdk/types" */

/** How many commands a transaction has at most here; the server accepts a thousand. */
const COMMANDS_MAX = 500;

export class Entries {
  #workspace;
  #namespace;
  #state;
  /** @type {Promise<void> | undefined} */
  #created;

  /** @param {Workspace} workspace @param {string} namespace */
  constructor(workspace, namespace) {
    this.#workspace = workspace;
    this.#namespace = namespace;
    this.#state = workspace.state.in(namespace);
  }

  /** @returns {Promise<State>} */
  async state() {
    this.#created ??= this.#create();
    try {
      await this.#created;
    } catch (error) {
      this.#created = undefined;
      throw error;
    }
    return this.#state;
  }

  /** Writes several entries, all or none. @param {[string, unknown][]} entries */
  async write(entries) {
    await this.state();
    const namespace = this.#namespace;
    const commands = entries
      .flatMap(([key, value]) => divided(key, value))
      .map(([key, value]) => ({
        command: /** @type {const} */ ("state.set"),
        namespace,
        key,
        value,
      }));
    await this.#workspace.transaction(commands);
  }

  /**
   * Changes an entry by a function of its value, which is called again if another client was
   * faster.
   * It is taken as absent at first, because it mostly is.
   * @param {string} key
   * @param {(value: any) => unknown} change
   */
  async merge(key, change) {
    const state = await this.state();
    for (let value, version = 0; ;) {
      try {
        await state.set(key, change(value), { expected_version: version });
        return;
      } catch (error) {
        if (!(error instanceof ConflictError) || error.code !== "state.version_conflict")
          throw error;
        ({ value, version } = error.facts.entry ?? { value: undefined, version: 0 });
      }
    }
  }

  /** The value of an entry; none if there is none. @param {string} key @returns {Promise<any>} */
  async find(key) {
    const state = await this.state();
    const entry = await state.find(key);
    const { parts, ...value } = entry?.value ?? {};
    if (parts === undefined) return entry?.value;
    const found = await Promise.all(
      Array.from({ length: parts }, (_, index) => state.get(partKey(key, index))),
    );
    return {
      type: value.type,
      [value.isText ? "text" : "base64"]: found.map((it) => it.value).join(""),
    };
  }

  /** @param {string} prefix @returns {AsyncGenerator<Entry, void, void>} */
  async *list(prefix) {
    const state = await this.state();
    yield* state.listAll({ prefix, limit: 100 });
  }

  /** Deletes an entry, if there is one. @param {string} key */
  async remove(key) {
    try {
      await (await this.state()).delete(key);
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
    }
  }

  /** Deletes everything under some prefixes. @param {string[]} prefixes */
  async delete(prefixes) {
    const namespace = this.#namespace;
    for (const prefix of prefixes) {
      for (;;) {
        const { entries } = await (await this.state()).list({ prefix, limit: COMMANDS_MAX });
        if (entries.length === 0) break;
        const commands = entries.map(({ key }) => ({
          command: /** @type {const} */ ("state.delete"),
          namespace,
          key,
        }));
        try {
          await this.#workspace.transaction(commands);
        } catch (error) {
          // Another client deleted some of them meanwhile: what is left is listed again.
          if (!(error instanceof BatonError) || error.code !== "transaction.command_refused")
            throw error;
        }
      }
    }
  }

  async #create() {
    try {
      await this.#workspace.namespaces.create(this.#namespace);
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error;
    }
  }
}

/** @param {string} key @param {number} index */
const partKey = (key, index) => `${key}#${index}`;

/**
 * An entry, or several of them if its value is too large for one.
 * @param {string} key
 * @param {any} value
 * @returns {[string, unknown][]}
 */
function divided(key, value) {
  const text = value?.text ?? value?.base64;
  if (typeof text !== "string" || text.length <= PART_LENGTH_MAX) return [[key, value]];
  const parts = text.match(new RegExp(`[^]{1,${PART_LENGTH_MAX}}`, "gu")) ?? [];
  const head = { type: value.type, isText: "text" in value, parts: parts.length };
  return [
    [key, head],
    .../** @type {[string, unknown][]} */ (parts.map((part, index) => [partKey(key, index), part])),
  ];
}
