// The actions of a person on shared state and contracts.

import { cli, here } from "./actions.mjs";
import { app } from "./app.mjs";
import { compact, indented } from "./json-text.mjs";

/** @import { Action } from "./app.mjs" */
/** @import * as T from "../../sdk/js/src/generated/types.js" */

/**
 * Writes a value that is given as JSON.
 * @param {string} namespace @param {string} key @param {string | undefined} value
 * @param {{ expected_version?: number, if_absent?: boolean }} only
 */
const set = (namespace, key, value, only) =>
  app.write({ command: "state.set", namespace, key, ...only }, { value });

/** @param {string} namespace @returns {Action} */
export const createAction = (namespace) => ({
  label: "New entry",
  effect: `Writes an entry of ${namespace} that does not exist yet.`,
  fields: [
    { name: "key", label: "Key" },
    { name: "value", label: "Value (JSON)", type: "json" },
  ],
  cli: cli`state set --namespace ${namespace} --if-absent KEY JSON`,
  run: async ({ key, value }) => {
    await set(namespace, key, value, { if_absent: true });
    app.go("state", [namespace, key]);
  },
});

/** @param {T.Entry & { text: string }} entry @returns {Action} */
export const editAction = ({ namespace, key, text, version }) => ({
  label: "Edit",
  effect: `Writes a new version of ${namespace}/${key}, if it still has version ${version}.`,
  fields: [{ name: "value", label: "Value (JSON)", type: "json", value: indented(text) }],
  cli: cli`state set --namespace ${namespace} --if-version ${version} ${key} JSON`,
  run: ({ value }) => {
    // What was not changed is written as it was, white space included.
    const next = value === compact(text) ? text : value;
    return set(namespace, key, next, { expected_version: version });
  },
});

/** @param {T.Entry} entry @returns {Action} */
export const deleteAction = ({ namespace, key, version }) => ({
  label: "Delete",
  effect: `Deletes ${namespace}/${key}, if it still has version ${version}. Its history is kept.`,
  isDangerous: true,
  cli: cli`state delete --namespace ${namespace} --if-version ${version} ${key}`,
  run: () => here().state.in(namespace).delete(key, { expected_version: version }),
});

/** @param {T.Entry} entry @param {T.Change} change @returns {Action} */
export const revertAction = ({ namespace, key, version }, { revision }) => ({
  label: "Revert to this",
  effect: `Writes the value of revision ${revision} as a new version. Nothing is removed from history.`,
  isDangerous: true,
  run: async () => {
    const { result } = await app.ask({ command: "state.get", namespace, key }, revision);
    return set(namespace, key, result.text, { expected_version: version });
  },
});

/** @returns {Action} */
export const declareAction = () => ({
  label: "New contract",
  effect: "You depend on these keys: writes that break them are reported, or refused.",
  cli: cli`contract declare NAME KEY`,
  fields: [
    { name: "name", label: "Name" },
    { name: "keys", label: "Keys (JSON)", type: "json", value: '[{"key": "shared/plan", "type": "object"}]' },
    { name: "on_break", label: "A write that breaks it", type: "select", options: ["warn", "refuse"] },
  ],
  run: ({ name, keys, on_break }) =>
    app.write({ command: "contract.declare", name, on_break }, { keys }),
});

/** @param {T.DeclaredContract} contract @returns {Action[]} */
export const contractActions = ({ name, owner }) => [
  {
    label: "Delete",
    effect: `What ${owner} expects is no longer checked.`,
    isDangerous: true,
    cli: cli`contract delete --force ${name}`,
    run: () => here().contracts.delete(name, { force: true }),
  },
];
