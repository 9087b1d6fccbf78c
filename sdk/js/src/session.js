// The state of a conversation, in the scopes of agent frameworks. The keys are described in
// docs/wire.md, and are the same for every client.

import { badName } from "./errors.js";

/** @import { CallOptions } from "./caller.js" */
/** @import { Workspace } from "./workspace.js" */

const NAMESPACE = "shared";
const TEMPORARY = "temp:";

export class Session {
  #workspace;
  /** The keys of each scope, by the prefix of its names. @type {Record<string, string>} */
  #scopes;
  /** The values that are not stored. @type {Map<string, unknown>} */
  #temporary = new Map();

  /**
   * @param {Workspace} workspace
   * @param {string} app
   * @param {string} user
   * @param {string} session
   */
  constructor(workspace, app, user, session) {
    for (const name of [app, user, session]) {
      // A slash would make the entries of one the entries of another.
      if (name === "" || name.includes("/"))
        throw badName(name, "it must not be empty or contain a `/`");
    }
    this.#workspace = workspace;
    this.#scopes = {
      "app:": `sessions/app/${app}/`,
      "user:": `sessions/user/${app}/${user}/`,
      "": `sessions/own/${app}/${user}/${session}/`,
    };
  }

  /**
   * The value of a name, if it has one.
   * @param {string} name
   * @param {CallOptions} [options]
   * @returns {Promise<any>}
   */
  async get(name, options) {
    if (name.startsWith(TEMPORARY)) return this.#temporary.get(name);
    const entry = await this.#workspace.state.in(NAMESPACE).find(this.#key(name), options);
    return entry?.value;
  }

  /**
   * All values, by name. Each scope is read as of one revision.
   * @param {CallOptions} [options]
   * @returns {Promise<Record<string, any>>}
   */
  async state(options) {
    const values = Object.fromEntries(this.#temporary);
    const state = this.#workspace.state.in(NAMESPACE);
    for (const [scope, prefix] of Object.entries(this.#scopes)) {
      for await (const { key, value } of state.listAll({ ...options, prefix })) {
        values[scope + key.slice(prefix.length)] = value;
      }
    }
    return values;
  }

  /**
   * Gives a name a value.
   * @param {string} name
   * @param {unknown} value
   * @param {CallOptions} [options]
   */
  async set(name, value, options) {
    await this.apply({ [name]: value }, options);
  }

  /**
   * Gives names values, all or none.
   * @param {Record<string, unknown>} changes
   * @param {CallOptions} [options]
   */
  async apply(changes, options) {
    const all = Object.entries(changes);
    const stored = all.filter(([name]) => !name.startsWith(TEMPORARY));
    if (stored.length > 0) {
      const commands = stored.map(([name, value]) => ({
        command: /** @type {const} */ ("state.set"),
        namespace: NAMESPACE,
        key: this.#key(name),
        value,
      }));
      await this.#workspace.transaction(commands, options);
    }
    for (const [name, value] of all) {
      if (name.startsWith(TEMPORARY)) this.#temporary.set(name, value);
    }
  }

  /** @param {string} name */
  #key(name) {
    const scope = ["app:", "user:"].find((prefix) => name.startsWith(prefix)) ?? "";
    return this.#scopes[scope] + name.slice(scope.length);
  }
}
