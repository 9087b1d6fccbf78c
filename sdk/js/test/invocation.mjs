// Calls of generated methods by the name of their operation.

import { OPERATIONS } from "../src/generated/operations.js";

const PLURAL = new Set(["state", "inbox", "context"]);
/** Groups whose property has another name. */
const GROUPS = { spend: "spending" };
const METHODS = { "workspace.list": "workspaces" };
/** In scenarios and frames, what is created is named by its noun. */
const IDS = { "task.create": "task", "join.create": "join" };

const camelCase = (name) => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
const snakeCase = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** The object of a workspace that has the method of an operation. */
export function groupOf(workspace, command) {
    const [group] = command.split(".");
    if (group === "workspace") return workspace;
    return workspace[GROUPS[group] ?? (PLURAL.has(group) ? group : `${group}s`)];
}

export const methodOf = (command) =>
    METHODS[command] ?? camelCase(command.slice(command.indexOf(".") + 1));

/** The names of the parameters of a method, as fields, without the options. */
export function parametersOf(method) {
    const [, list] = /^[^(]*\(([^)]*)\)/.exec(method.toString());
    return list
        .split(",")
        .map((name) => snakeCase(name.split("=")[0].trim()))
        .filter((name) => name !== "options");
}

/**
 * A call of the method of an operation with these fields; none if a parameter is missing.
 * @returns {(() => Promise<unknown>) | undefined}
 */
export function invocation(workspace, command, given, options) {
    if (!OPERATIONS[command]) return undefined;
    const renamed = IDS[command];
    const { [renamed]: id, ...fields } = given;
    if (id !== undefined) fields.id = id;
    const group = groupOf(workspace, command);
    const method = group[methodOf(command)];
    const parameters = parametersOf(method);
    if (parameters.some((name) => fields[name] === undefined)) return undefined;
    const rest = Object.fromEntries(
        Object.entries(fields).filter(([name]) => !parameters.includes(name)),
    );
    return () =>
        method.apply(group, [...parameters.map((name) => fields[name]), { ...rest, ...options }]);
}
