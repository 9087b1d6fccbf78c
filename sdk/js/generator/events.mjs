// Events as a discriminated union. spec/events.json has examples of stored events, from which the
// fields are known; their types are those of the fields with the same name in the operations and
// objects of the primitive, and otherwise those of the examples.

import { comment, groupOf, pascalCase } from "./names.mjs";
import { typeOf } from "./schema.mjs";

/** @typedef {import("./schema.mjs").Schema} Schema */
/** @typedef {import("./types.mjs").Spec} Spec */

/** Fields around those of an event; an own field of the same name is left out. */
const ENVELOPE = new Set(["revision", "index", "time", "agent", "type", "subject"]);

/** @param {unknown} value @returns {string} */
function inferred(value) {
    if (Array.isArray(value)) {
        const types = [...new Set(value.map(inferred))];
        return types.length === 1 ? `${types[0]}[]` : "Json[]";
    }
    if (typeof value === "object" && value !== null) return "Record<string, Json>";
    return value === null ? "Json" : typeof value;
}

/**
 * A field as the objects and operations of a primitive declare it.
 * @param {Spec} spec
 * @param {string} primitive
 * @param {string} field
 */
function knownField({ operations, schemas }, primitive, field) {
    const object = schemas[pascalCase(primitive)];
    const property = object?.properties?.[field];
    const isRequired = object?.required?.includes(field) ?? false;
    const declared = operations
        .filter((operation) => operation.primitive === primitive && operation.fields[field])
        .map((operation) => operation.fields[field])
        .map(({ schema, required }) => ({ schema, isRequired: required }));
    if (property) declared.unshift({ schema: property, isRequired });
    // A filter of a list is optional although every object has the field.
    return declared.find((it) => it.isRequired) ?? declared[0];
}

/** A field that is absent has no value, so it is never `null`. @param {string} type */
const present = (type) => type.replace(/ \| null$/, "");

/** @param {Spec} spec */
export function eventTypes(spec) {
    /** @type {Map<string, { primitive: string, examples: Record<string, unknown>[] }>} */
    const types = new Map();
    for (const { name, json } of spec.events) {
        const [primitive, body] = Object.entries(json)[0] ?? [];
        const type = name.split(" ")[0];
        // Receipts of idempotency keys are not public; what agents emit has a type of its own.
        if (!primitive || primitive === "event" || type.startsWith("receipt.")) continue;
        const found = types.get(type) ?? { primitive, examples: [] };
        found.examples.push(/** @type {any} */ (Object.values(body)[0]));
        types.set(type, found);
    }
    const names = [...types.keys()].sort();
    const unions = names.map((name) => `${pascalCase(name)}Event`);
    return [
        comment([
            "What every event has. `last` marks the last event of a commit that a watch receives.",
            "@typedef {object} EventEnvelope",
            "@property {number} revision - The revision of the commit.",
            "@property {number} index - The place of the event in the commit.",
            "@property {string} time - When it was committed.",
            "@property {string} agent - The agent that caused it.",
            "@property {string} subject - What it is about, such as `state/shared/plan`.",
            "@property {boolean} [last] - Whether it is the last event of its commit for this watch.",
            "@property {boolean} [live] - Whether it is not stored, so that no later watch receives it.",
        ]),
        ...names.map((name) => eventType(spec, name, /** @type {any} */ (types.get(name)))),
        comment([
            "An event that an agent emitted: its type is chosen by the agent.",
            "@typedef {EventEnvelope & { type: string, payload?: Json }} EmittedEvent",
        ]),
        comment([
            "Any event of Baton itself, by `type`.",
            `@typedef {${unions.join(" | ")}} BatonEvent`,
        ]),
        comment([
            "The event of a type; an emitted event if the type is not one of Baton's.",
            "@template {string} T",
            "@typedef {Extract<BatonEvent, { type: T }> extends never ? EmittedEvent : " +
                "Extract<BatonEvent, { type: T }>} EventOf",
        ]),
    ];
}

/**
 * @param {Spec} spec
 * @param {string} name
 * @param {{ primitive: string, examples: Record<string, unknown>[] }} found
 */
function eventType(spec, name, { primitive, examples }) {
    const fields = new Set(examples.flatMap((example) => Object.keys(example)));
    const members = [...fields]
        .filter((field) => !ENVELOPE.has(field))
        .sort()
        .map((field) => {
            const known = knownField(spec, primitive, field);
            const values = examples
                .filter((example) => field in example)
                .map((example) => example[field]);
            const type = known ? present(typeOf(known.schema)) : inferred(values[0]);
            const isAlways = values.length === examples.length && known?.isRequired !== false;
            return `${field}${isAlways ? "" : "?"}: ${type}`;
        });
    const own = [`type: ${JSON.stringify(name)}`, ...members].join(", ");
    const what = groupOf(name) === primitive ? "" : ` of ${primitive}`;
    return comment([
        `\`${name}\`${what}`,
        `@typedef {EventEnvelope & { ${own} }} ${pascalCase(name)}Event`,
    ]);
}
