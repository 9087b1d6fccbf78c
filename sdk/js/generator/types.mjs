// types.js: the types of everything that is sent and received.

import { eventTypes } from "./events.mjs";
import { comment, heading, pascalCase, wrapped } from "./names.mjs";
import { described } from "./operation.mjs";
import { references, typeOf } from "./schema.mjs";

/** @typedef {import("./schema.mjs").Schema} Schema */
/** @typedef {{ operations: Schema[], schemas: Record<string, Schema>, events: Schema[] }} Spec */

/** Schemas that no operation refers to, and that the SDK uses. */
const BESIDES = ["At", "Problem", "Precondition", "Artifact", "Secret", "Forked", "Minimal", "Revision"];

/** @param {string} name @param {string} type @param {boolean} isRequired @param {string} [text] */
export function property(name, type, isRequired, text) {
    const [first, ...rest] = wrapped(text);
    const named = isRequired ? name : `[${name}]`;
    return [
        `@property {${type}} ${named}${first ? ` - ${first}` : ""}`,
        ...rest.map((line) => `  ${line}`),
    ];
}

/**
 * The type of an option, which may be `undefined` also for programs that are compiled with
 * `exactOptionalPropertyTypes`.
 * @param {string} type
 */
const optional = (type) => (type === "Json" ? type : `${type} | undefined`);

/** @param {string} name @param {Schema} schema */
function schemaType(name, schema) {
    const text = wrapped(schema.description);
    const isPlain = schema.type === "object" && schema.properties && !schema.oneOf && !schema.anyOf;
    if (!isPlain) return comment([...text, `@typedef {${typeOf(schema)}} ${pascalCase(name)}`]);
    const required = new Set(schema.required ?? []);
    const properties = Object.entries(schema.properties).flatMap(([field, it]) =>
        property(field, typeOf(it), required.has(field), it.description),
    );
    return comment([...text, `@typedef {object} ${pascalCase(name)}`, ...properties]);
}

/** @param {import("./operation.mjs").Described} operation */
function operationTypes(operation) {
    const { name, type, parameters, options, forms, bound } = operation;
    const inForm = new Set(forms.flatMap((form) => form.required));
    const plain = options.filter((field) => !inForm.has(field.name));
    const base = forms.length > 0 ? `${type}Base` : `${type}Options`;
    const properties = plain.flatMap((it) =>
        property(it.name, optional(typeOf(it.schema)), false, it.schema.description),
    );
    const out = [];
    if (properties.length > 0) {
        out.push(
            comment([
                `Optional fields of \`${name}\`.`,
                `@typedef {object} ${base}`,
                ...properties,
            ]),
        );
    } else {
        out.push(comment([`Optional fields of \`${name}\`.`, `@typedef {{}} ${base}`]));
    }
    if (forms.length > 0) {
        const typeOfField = new Map(options.map((field) => [field.name, typeOf(field.schema)]));
        const alternatives = forms.map(({ required }) => {
            const members = required.map((field) => `${field}: ${typeOfField.get(field)}`);
            return `{ ${members.join(", ")} }`;
        });
        const text = `Fields of \`${name}\`, of which one says what to do.`;
        out.push(
            comment([text, `@typedef {${base} & (${alternatives.join(" | ")})} ${type}Options`]),
        );
    }
    const required = [...(bound ? [bound] : []), ...parameters];
    const members = [`command: ${JSON.stringify(name)}`].concat(
        required.map((it) => `${it.name}${it.isRequired ? "" : "?"}: ${typeOf(it.schema)}`),
    );
    const command = `{ ${members.join(", ")} } & ${type}Options`;
    out.push(comment([`\`${name}\` as a command.`, `@typedef {${command}} ${type}Command`]));
    return out;
}

/**
 * The names of schemas, and of all that they refer to.
 * @param {Record<string, Schema>} schemas
 * @param {string[]} names
 */
function reachable(schemas, names) {
    const found = new Set(names);
    // A set that grows is iterated to its end.
    for (const name of found) {
        for (const other of references(schemas[name])) found.add(other);
    }
    return [...found].sort();
}

/** @param {Spec} spec */
export function typesFile({ operations, schemas, events }) {
    const all = operations.map((operation) => described(operation, schemas));
    const names = reachable(schemas, [
        ...BESIDES,
        ...references(operations.map((it) => [it.fields, it.reply, it.other_reply?.reply])),
    ]);
    const short = (/** @type {string} */ name) => JSON.stringify(name);
    const replies = all.map((it) => `${short(it.name)}: ${it.reply}`);
    const commands = all.map((it) => `${short(it.name)}: ${it.type}Command`);
    const changes = all.filter((it) => it.changes).map((it) => short(it.name));
    const minimal = operations.filter((it) => it.minimal).map((it) => short(it.name));
    // A type is written on one line: the compiler copies the asterisks of further lines.
    return [
        heading("The types of requests, results and events. There is no code in this file."),
        comment(["A JSON value, typed as by `JSON.parse`.", "@typedef {any} Json"]),
        ...names.map((name) => schemaType(name, schemas[name] ?? {})),
        ...all.flatMap(operationTypes),
        comment([
            "The result of every operation, by name.",
            `@typedef {{ ${replies.join(", ")} }} Replies`,
        ]),
        comment([
            "The command of every operation, by name.",
            `@typedef {{ ${commands.join(", ")} }} Commands`,
        ]),
        comment(["The names of all operations.", "@typedef {keyof Commands} OperationName"]),
        comment([
            "The names of the operations that change something.",
            `@typedef {${changes.join(" | ")}} ChangeName`,
        ]),
        comment([
            "The names of the operations with a minimal answer.",
            `@typedef {${minimal.join(" | ")}} MinimalName`,
        ]),
        comment(["Any command or query.", "@typedef {Commands[OperationName]} Command"]),
        comment([
            "A command of a transaction.",
            "@typedef {Commands[ChangeName] & { optional?: boolean }} TransactionCommand",
        ]),
        ...eventTypes({ operations, schemas, events }),
        "export {};\n",
    ].join("\n\n");
}
