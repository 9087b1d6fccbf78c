// The entries of a namespace of a workspace, which is created when it is first used.

import { BatonError, ConflictError, NotFoundError } from "@baton/sdk";

/** @import { State, Workspace } from "@baton/sdk" */
/** @import { Entry, TransactionCommand } from "@baton/sdk/types" */

/** How many commands a transaction has at most here; the server accepts a thousand. */
const COMMANDS_MAX = 500;
/** Four bytes each, at worst, are less than the nine mebibytes of a request. */
const TRANSACTION_CHARACTERS_MAX = 2_000_000;
/** For entries that may have a mebibyte each: the event of a deletion has the value. */
const LARGE_PAGE_ENTRIES = 16;

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

  get namespace() {
    return this.#namespace;
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

  /** A command that writes an entry. @param {string} key @param {unknown} value */
  set(key, value) {
    const namespace = this.#namespace;
    return { command: /** @type {const} */ ("state.set"), namespace, key, value };
  }

  /**
   * Executes commands in one transaction if they fit; if not, the last one is in the last
   * transaction, so that nothing refers to what is not there.
   * @param {TransactionCommand[]} before
   * @param {TransactionCommand} last
   */
  async write(before, last) {
    await this.state();
    let groups = grouped([...before, last]);
    if (groups.length > 1) groups = [...grouped(before), [last]];
    for (const group of groups) await this.#workspace.transaction(group);
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

  /** The values of entries that are there. @param {string[]} keys @returns {Promise<any[]>} */
  async values(keys) {
    const entries = await Promise.all(keys.map((key) => this.#state.get(key)));
    return entries.map((entry) => entry.value);
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

  /** Deletes everything under a prefix. @param {string} prefix */
  async clear(prefix) {
    const namespace = this.#namespace;
    for (;;) {
      const entries = await this.#page(prefix);
      if (entries.length === 0) return;
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

  /** The first entries under a prefix; none if there is no namespace. @param {string} prefix */
  async #page(prefix) {
    try {
      return (await this.#state.list({ prefix, limit: LARGE_PAGE_ENTRIES })).entries;
    } catch (error) {
      if (error instanceof NotFoundError) return [];
      throw error;
    }
  }

  async #create() {
    try {
      // To create one needs another role than to use it.
      await this.#workspace.namespaces.get(this.#namespace);
      return;
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
    }
    try {
      await this.#workspace.namespaces.create(this.#namespace);
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error;
    }
  }
}

/**
 * Commands in as few transactions as possible.
 * @param {TransactionCommand[]} commands
 */
function grouped(commands) {
  /** @type {TransactionCommand[][]} */
  const groups = [];
  let characters = 0;
  for (const command of commands) {
    const { value, state = value, writes = state } = /** @type {any} */ (command);
    const size = charactersOf(writes);
    const group = groups.at(-1);
    const fits = characters + size <= TRANSACTION_CHARACTERS_MAX && group?.length !== COMMANDS_MAX;
    if (group && fits) {
      group.push(command);
      characters += size;
    } else {
      groups.push([command]);
      characters = size;
    }
  }
  return groups;
}

/** About how many characters a value has as JSON. @param {unknown} value @returns {number} */
function charactersOf(value) {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 8;
  return Object.entries(value).reduce((sum, [name, it]) => sum + name.length + charactersOf(it), 0);
}
