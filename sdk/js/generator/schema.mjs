// JSON Schema as types of TypeScript, written in JSDoc.

import { pascalCase, referenced } from "./names.mjs";

/** @typedef {Record<string, any>} Schema */

/** The type of any JSON value. */
const JSON_VALUE = "Json";

/** @param {string} name */
const propertyName = (name) => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name));

/** @param {string[]} types */
function union(types) {
    const distinct = [...new Set(types)];
    if (distinct.includes(JSON_VALUE)) return JSON_VALUE;
    return distinct.join(" | ");
}

/** @param {string} type */
const grouped = (type) => (type.includes(" | ") || type.includes(" & ") ? `(${type})` : type);

/** @param {Schema} schema @returns {string} */
function objectType(schema) {
    const required = new Set(schema.required ?? []);
    const members = Object.entries(schema.properties ?? {}).map(([name, property]) => {
        const type = typeOf(property);
        return `${propertyName(name)}${required.has(name) ? "" : "?"}: ${type}`;
    });
    if (members.length > 0) return `{ ${members.join(", ")} }`;
    const values = schema.additionalProperties;
    if (values === false) return "Record<string, never>";
    return `Record<string, ${typeof values === "object" ? typeOf(values) : JSON_VALUE}>`;
}

/** @param {string} type @param {Schema} schema @returns {string} */
function simpleType(type, schema) {
    switch (type) {
        case "array":
            return `${grouped(typeof schema.items === "object" ? typeOf(schema.items) : JSON_VALUE)}[]`;
        case "object":
            return objectType(schema);
        case "integer":
            return "number";
        default:
            return type;
    }
}

/**
 * The type of the values that a schema accepts. A schema without a type accepts any JSON value.
 * @param {Schema | boolean} schema
 * @returns {string}
 */
export function typeOf(schema) {
    if (typeof schema === "boolean") return JSON_VALUE;
    if (schema.$ref) return pascalCase(referenced(schema.$ref));
    if ("const" in schema) return JSON.stringify(schema.const);
    if (schema.enum)
        return union(schema.enum.map((/** @type {unknown} */ it) => JSON.stringify(it)));
    const alternatives = schema.anyOf ?? schema.oneOf;
    if (alternatives && !schema.properties) return union(alternatives.map(typeOf));
    if (schema.allOf) return schema.allOf.map(typeOf).map(grouped).join(" & ");
    if (Array.isArray(schema.type))
        return union(schema.type.map((type) => simpleType(type, schema)));
    if (schema.type) return simpleType(schema.type, schema);
    return JSON_VALUE;
}

/**
 * The names of all schemas that a schema refers to.
 * @param {unknown} schema
 * @returns {string[]}
 */
export function references(schema) {
    if (Array.isArray(schema)) return schema.flatMap(references);
    if (typeof schema !== "object" || schema === null) return [];
    return Object.entries(schema).flatMap(([name, value]) =>
        name === "$ref" && typeof value === "string" ? [referenced(value)] : references(value),
    );
}
