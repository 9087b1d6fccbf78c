// One operation as the generated files need it.

import { groupOf, methodOf, pascalCase, referenced } from "./names.mjs";

/** @typedef {import("./schema.mjs").Schema} Schema */
/** @typedef {{ name: string, schema: Schema, isRequired: boolean }} Field */

const TOKEN = {
    description: "Rejected if the lease, hold, permit or session of this token has ended.",
};

/** The operations that act on an agent other than the caller only if it is named. */
const NAMES_ANOTHER_AGENT = new Set(["agent.get"]);

/**
 * The fields of an operation in the order of its parameters: path first, then as declared.
 * @param {Schema} operation
 * @param {Record<string, Schema>} schemas
 * @returns {Field[]}
 */
export function fieldsOf(operation, schemas) {
    const { name, effect, token, past, other_reply: other } = operation;
    // With these the call has another reply: a method written by hand offers them.
    const fields = Object.fromEntries(
        Object.entries(operation.fields).filter(([field]) => !other?.fields.includes(field)),
    );
    const isActor = (/** @type {string} */ field) =>
        field === "agent" && operation.agent === "field" && !NAMES_ANOTHER_AGENT.has(name);
    const declared = schemas[name]?.required ?? [];
    const order = (/** @type {string} */ field) => {
        const index = declared.indexOf(field);
        return index < 0 ? declared.length : index;
    };
    const all = Object.entries(fields).map(([field, { required, schema }]) => ({
        name: field,
        schema,
        isRequired: required && !isActor(field),
    }));
    if (effect === "changes" && token === "fence" && !("token" in fields)) {
        all.push({ name: "token", schema: { ...TOKEN, type: "integer" }, isRequired: false });
    }
    if (past === "at" && !("at" in fields)) {
        const description = "As it was at this revision or time.";
        const schema = { description, $ref: "openapi.json#/components/schemas/At" };
        all.push({ name: "at", schema, isRequired: false });
    }
    return all.sort((a, b) => order(a.name) - order(b.name) || (a.name < b.name ? -1 : 1));
}

/**
 * Whether the handle of a group has a value for a required field.
 * @param {Field} field
 * @param {string} group
 */
const isBound = (field, group) =>
    group === "state" && field.name === "namespace" && field.isRequired;

/** @param {Schema} operation @param {Record<string, Schema>} schemas */
export function described(operation, schemas) {
    const fields = fieldsOf(operation, schemas);
    const group = groupOf(operation.name);
    const bound = fields.find((field) => isBound(field, group));
    const reply = referenced(operation.reply.$ref);
    const pages =
        "cursor" in operation.fields ? pageOf(schemas[reply] ?? {}, operation.name) : undefined;
    return {
        name: /** @type {string} */ (operation.name),
        summary: /** @type {string} */ (operation.summary),
        changes: operation.effect === "changes",
        group,
        method: methodOf(operation.name),
        type: pascalCase(operation.name),
        reply: pascalCase(reply),
        fields,
        forms: /** @type {{ required: string[] }[]} */ (operation.forms ?? []),
        bound,
        parameters: fields.filter((field) => field.isRequired && field !== bound),
        options: fields.filter((field) => !field.isRequired || field === bound),
        pages,
    };
}

/** @typedef {ReturnType<typeof described>} Described */

/**
 * The list of a page, and the schema of its items.
 * @param {Schema} reply
 * @param {string} operation
 */
function pageOf(reply, operation) {
    const lists = Object.entries(reply.properties ?? {}).filter(([, it]) => it.type === "array");
    // A list of locks also names deadlocks; the items have the name of the group.
    const list =
        lists.length === 1 ? lists[0] : lists.find(([name]) => name === `${groupOf(operation)}s`);
    if (!list) throw new Error(`the page of ${operation} has no list`);
    return { list: list[0], items: /** @type {Schema} */ (list[1].items) };
}
