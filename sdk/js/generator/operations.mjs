// operations.js: what the client needs to know about an operation when it sends it.

import { heading } from "./names.mjs";

/** @typedef {import("./schema.mjs").Schema} Schema */

/** @param {Schema} operation */
function row(operation) {
    const { name, effect, agent, token, past, waits, gives_back: givesBack } = operation;
    const parts = [`changes: ${effect === "changes"}`, `agent: "${agent}"`];
    if (token) parts.push(`token: "${token}"`);
    if (past === "at") parts.push("takesAt: true");
    if (waits) parts.push(`waits: "${waits}"`);
    if (givesBack) {
        const fields = Object.entries(givesBack.fields).map(([field, from]) => {
            const source = /** @type {{ pointer?: string, text?: string }} */ (from);
            return source.pointer
                ? `${field}: { path: ${JSON.stringify(source.pointer.split("/").slice(1))} }`
                : `${field}: { text: ${JSON.stringify(source.text)} }`;
        });
        parts.push(
            `givesBack: { command: "${givesBack.operation}", fields: { ${fields.join(", ")} } }`,
        );
    }
    return `  "${name}": { ${parts.join(", ")} },`;
}

/** @param {import("./types.mjs").Spec} spec */
export function operationsFile({ operations }) {
    return `${heading("What the client needs to know about each operation.")}
/**
 * @typedef {object} Operation
 * @property {boolean} changes - Whether it changes something; otherwise it is a query.
 * @property {"acts" | "field" | "narrows"} agent - What the field \`agent\` means: the agent that
 *   acts, the agent that the operation is about and that acts, or a filter.
 * @property {"fence" | "field"} [token] - Whether any token may fence it, or a field is its token.
 * @property {boolean} [takesAt] - Whether it can be asked about the past with \`at\`.
 * @property {"wait_ms" | "timeout_ms"} [waits] - The field that says how long it waits.
 * @property {GivesBack} [givesBack] - The command that returns what a waiting call was granted.
 */

/**
 * @typedef {object} GivesBack
 * @property {string} command
 * @property {Record<string, { path: string[] } | { text: string }>} fields
 */

/** @type {Record<string, Operation>} */
export const OPERATIONS = {
${operations.map(row).join("\n")}
};
`;
}
