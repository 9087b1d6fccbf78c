// The actions of a person on shared state and contracts.

import { cli, here } from "./actions.mjs";

/** @import { Action } from "./app.mjs" */
/** @import * as T from "../../sdk/js/src/generated/types.js" */

/** @param {T.Entry} entry @returns {Action} */
export const editAction = ({ namespace, key, value, version }) => ({
  label: "Edit",
  effect: `Writes a new version of ${namespace}/${key}, if it still has version ${version}.`,
  fields: [
    {
      name: "value",
      label: "Value (JSON)",
      type: "json",
      value: JSON.stringify(value, null, 2),
    },
  ],
  cli: cli`state set --namespace ${namespace} --if-version ${version} ${key} JSON`,
  run: ({ value: next }) =>
    here().state.in(namespace).set(key, next, { expected_version: version }),
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
export const revertAction = ({ namespace, key, version }, { revision, new_value }) => ({
  label: "Revert to this",
  effect: `Writes the value of revision ${revision} as a new version. Nothing is removed from history.`,
  isDangerous: true,
  run: () => here().state.in(namespace).set(key, new_value, { expected_version: version }),
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
  run: ({ name, keys, on_break }) => here().contracts.declare(name, keys, { on_break }),
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
