// groups.js: a method for every operation. Required fields are parameters, in the order of their
// declaration; optional ones are members of the last parameter, beside those of the call.

import { camelCase, comment, heading, pascalCase, wrapped } from "./names.mjs";
import { described } from "./operation.mjs";
import { typeOf } from "./schema.mjs";

/** @typedef {import("./operation.mjs").Described} Described */

/** The types of types.js as seen from another file. @param {string} type */
const qualified = (type) =>
    type.replace(/(?<!["\w.])([A-Z]\w*)(?!["\w])/g, (name) =>
        name === "Record" ? name : `T.${name}`,
    );

/** @param {Described} operation */
function parameterLines({ parameters, options, forms, type }) {
    const lines = parameters.flatMap((field) => {
        const [first, ...rest] = wrapped(field.schema.description, 84);
        const head = `@param {${qualified(typeOf(field.schema))}} ${camelCase(field.name)}`;
        return [`${head}${first ? ` - ${first}` : ""}`, ...rest.map((line) => `  ${line}`)];
    });
    const own = options.length > 0 ? `T.${type}Options & CallOptions` : "CallOptions";
    return [...lines, `@param {${own}} ${forms.length > 0 ? "options" : "[options]"}`];
}

/** @param {Described} operation */
function method(operation) {
    const { name, summary, bound, parameters, reply, method: methodName } = operation;
    const names = parameters.map((field) => camelCase(field.name));
    const members = parameters.map((field) =>
        field.name === camelCase(field.name)
            ? field.name
            : `${field.name}: ${camelCase(field.name)}`,
    );
    if (bound) members.unshift("namespace: this.namespace");
    const fields = members.length > 0 ? `{ ${members.join(", ")} }` : "{}";
    const lines = [`${summary}.`, ...parameterLines(operation), `@returns {Promise<T.${reply}>}`];
    const call = `this.caller.call("${name}", ${fields}, options)`;
    const parts = [
        `${comment(lines, "  ")}\n  ${methodName}(${[...names, "options"].join(", ")}) {\n    return ${call};\n  }`,
    ];
    if (operation.pages) parts.push(pagesMethod(operation, names, fields));
    return parts.join("\n\n");
}

/** @param {Described} operation @param {string[]} names @param {string} fields */
function pagesMethod(operation, names, fields) {
    const { name, summary, pages, method: methodName } = operation;
    const item = pages ? qualified(typeOf(pages.items)) : "unknown";
    const text = `${summary}: every item, page after page.`;
    const lines = [
        text,
        ...parameterLines(operation),
        `@returns {AsyncGenerator<${item}, void, void>}`,
    ];
    const call = `pagesOf(this.caller, "${name}", "${pages?.list}", ${fields}, options)`;
    const parameters = [...names, "options"].join(", ");
    return `${comment(lines, "  ")}\n  ${methodName}All(${parameters}) {\n    return ${call};\n  }`;
}

/** @param {string} group @param {Described[]} operations */
function groupClass(group, operations) {
    const name = `${pascalCase(group)}Operations`;
    const constructor =
        group === "state"
            ? "  /** @param {Caller} caller @param {string} namespace */\n" +
              "  constructor(caller, namespace) {\n    this.caller = caller;\n" +
              "    /** The namespace of the entries. */\n    this.namespace = namespace;\n  }"
            : "  /** @param {Caller} caller */\n  constructor(caller) {\n    this.caller = caller;\n  }";
    const methods = operations.map(method);
    return `${comment([`The operations \`${group}.*\`.`])}\nexport class ${name} {\n${[constructor, ...methods].join("\n\n")}\n}`;
}

/** @param {import("./types.mjs").Spec} spec */
export function groupsFile({ operations, schemas }) {
    /** @type {Map<string, Described[]>} */
    const groups = new Map();
    for (const operation of operations) {
        const it = described(operation, schemas);
        groups.set(it.group, [...(groups.get(it.group) ?? []), it]);
    }
    const classes = [...groups].map(([group, its]) => groupClass(group, its));
    return `${heading("A method for every operation.")}
import { pagesOf } from "../pages.js";

/** @import * as T from "./types.js" */
/** @import { CallOptions, Caller } from "../caller.js" */

${classes.join("\n\n")}
`;
}
