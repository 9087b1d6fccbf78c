// A store of LangGraph whose items are entries of a workspace. There is no index of embeddings: a
// search with a query is refused, instead of returning something else.

import { BaseStore } from "@langchain/langgraph-checkpoint";
import { Entries } from "./entries.js";

/** @import { GetOperation, Item } from "@langchain/langgraph-checkpoint" */
/** @import { ListNamespacesOperation, MatchCondition } from "@langchain/langgraph-checkpoint" */
/** @import { Operation, OperationResults, PutOperation } from "@langchain/langgraph-checkpoint" */
/** @import { SearchItem, SearchOperation } from "@langchain/langgraph-checkpoint" */
/** @import { Workspace } from "@baton/sdk" */

const ROOT = "s/";

/**
 * @typedef {object} StoredItem
 * @property {string[]} namespace
 * @property {string} key
 * @property {Record<string, any>} value
 * @property {string} created_at
 */

/** @param {string[]} namespace */
const prefixOf = (namespace) =>
  ROOT + namespace.map((label) => `${encodeURIComponent(label)}/`).join("");

/**
 * The key of an item. A label is never empty, so that `//` ends a namespace.
 * @param {string[]} namespace
 * @param {string} key
 */
const keyOf = (namespace, key) => `${prefixOf(namespace)}/${encodeURIComponent(key)}`;

export class BatonStore extends BaseStore {
  #entries;

  /** @param {Workspace} workspace @param {{ namespace?: string }} [options] */
  constructor(workspace, { namespace = "langgraph" } = {}) {
    super();
    this.#entries = new Entries(workspace, namespace);
  }

  /**
   * Executes operations: reads see the state before the writes, which are applied in order.
   * @override
   * @template {Operation[]} Op
   * @param {Op} operations
   * @returns {Promise<OperationResults<Op>>}
   */
  async batch(operations) {
    const results = await Promise.all(operations.map((operation) => this.#read(operation)));
    /** Only the last write of an item counts. @type {Map<string, PutOperation>} */
    const writes = new Map();
    for (const operation of operations) {
      if ("value" in operation) writes.set(keyOf(operation.namespace, operation.key), operation);
    }
    await Promise.all([...writes].map(([key, operation]) => this.#put(key, operation)));
    return /** @type {any} */ (results);
  }

  /** @param {Operation} operation */
  async #read(operation) {
    if ("namespacePrefix" in operation) return await this.#search(operation);
    if ("value" in operation) return undefined;
    if ("key" in operation) return await this.#get(operation);
    return await this.#listNamespaces(operation);
  }

  /** @param {GetOperation} operation @returns {Promise<Item | null>} */
  async #get({ namespace, key }) {
    const state = await this.#entries.state();
    const entry = await state.find(keyOf(namespace, key));
    return entry ? itemOf(entry) : null;
  }

  /** @param {string} entryKey @param {PutOperation} operation */
  async #put(entryKey, { namespace, key, value }) {
    if (namespace.length === 0 || namespace.includes(""))
      throw new Error("a namespace needs labels that are not empty");
    if (value === null) {
      await this.#entries.remove(entryKey);
      return;
    }
    const now = new Date().toISOString();
    // The first write decides when an item was created.
    await this.#entries.merge(entryKey, (/** @type {StoredItem | undefined} */ present) => ({
      namespace,
      key,
      value,
      created_at: present?.created_at ?? now,
    }));
  }

  /** @param {SearchOperation} operation @returns {Promise<SearchItem[]>} */
  async #search({ namespacePrefix, filter = {}, limit = 10, offset = 0, query }) {
    if (query !== undefined)
      throw new Error("this store has no index of embeddings, so it cannot search for a `query`");
    const found = [];
    for await (const entry of this.#entries.list(prefixOf(namespacePrefix))) {
      const item = itemOf(entry);
      if (Object.entries(filter).every(([name, wanted]) => matches(item.value[name], wanted)))
        found.push(item);
      if (found.length >= offset + limit) break;
    }
    return found.slice(offset, offset + limit);
  }

  /** @param {ListNamespacesOperation} operation @returns {Promise<string[][]>} */
  async #listNamespaces({ matchConditions = [], maxDepth = Infinity, limit, offset }) {
    /** @type {Map<string, string[]>} */
    const namespaces = new Map();
    for await (const { value } of this.#entries.list(ROOT)) {
      const { namespace } = /** @type {StoredItem} */ (value);
      if (!matchConditions.every((condition) => isMatch(condition, namespace))) continue;
      const cut = namespace.slice(0, maxDepth);
      namespaces.set(prefixOf(cut), cut);
    }
    return [...namespaces.values()].slice(offset, offset + limit);
  }
}

/** @param {{ value: StoredItem, updated_at: string }} entry @returns {Item} */
function itemOf({ value: { namespace, key, value, created_at }, updated_at }) {
  return {
    namespace,
    key,
    value,
    createdAt: new Date(created_at),
    updatedAt: new Date(updated_at),
  };
}

/** @param {MatchCondition} condition @param {string[]} namespace */
function isMatch({ matchType, path }, namespace) {
  if (path.length > namespace.length) return false;
  const start = matchType === "prefix" ? 0 : namespace.length - path.length;
  return path.every((label, index) => label === "*" || label === namespace[start + index]);
}

/** @type {Record<string, (value: any, wanted: any) => boolean>} */
const OPERATORS = {
  $eq: (value, wanted) => value === wanted,
  $ne: (value, wanted) => value !== wanted,
  $gt: (value, wanted) => Number(value) > Number(wanted),
  $gte: (value, wanted) => Number(value) >= Number(wanted),
  $lt: (value, wanted) => Number(value) < Number(wanted),
  $lte: (value, wanted) => Number(value) <= Number(wanted),
  $in: (value, wanted) => Array.isArray(wanted) && wanted.includes(value),
  $nin: (value, wanted) => !Array.isArray(wanted) || !wanted.includes(value),
};

/**
 * Whether a value is the wanted one, or satisfies its operators.
 * @param {any} value
 * @param {any} wanted
 */
function matches(value, wanted) {
  const names = typeof wanted === "object" && wanted !== null ? Object.keys(wanted) : [];
  if (names.length === 0 || !names.every((name) => name in OPERATORS)) return value === wanted;
  return names.every((name) => OPERATORS[name]?.(value, wanted[name]));
}
