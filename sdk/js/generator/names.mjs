// Names of the specification as names of JavaScript.

/** `pipeline.start_stage` as `PipelineStartStage`. @param {string} name */
export const pascalCase = (name) =>
    name
        .split(/[^A-Za-z0-9]+/)
        .filter(Boolean)
        .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
        .join("");

/** `start_stage` as `startStage`. @param {string} name */
export const camelCase = (name) =>
    name.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase());

/** The group of an operation: `state` of `state.set`. @param {string} operation */
export const groupOf = (operation) => operation.slice(0, operation.indexOf("."));

/** Operations whose method has another name than the operation. */
const METHODS = /** @type {Record<string, string>} */ ({ "workspace.list": "workspaces" });

/** The method of an operation: `startStage`. @param {string} operation */
export const methodOf = (operation) =>
    METHODS[operation] ?? camelCase(operation.slice(operation.indexOf(".") + 1));

/** The last part of a `$ref`. @param {string} reference */
export const referenced = (reference) => reference.slice(reference.lastIndexOf("/") + 1);

/**
 * A description as lines of a JSDoc comment.
 * @param {string | undefined} text
 * @param {number} width
 * @returns {string[]}
 */
export function wrapped(text, width = 90) {
    const words = (text ?? "").replaceAll("*/", "*\\/").split(/\s+/).filter(Boolean);
    const lines = [];
    let line = "";
    for (const word of words) {
        if (line !== "" && line.length + 1 + word.length > width) {
            lines.push(line);
            line = "";
        }
        line += (line === "" ? "" : " ") + word;
    }
    return line === "" ? lines : [...lines, line];
}

/** @param {string[]} lines @param {string} indent */
export function comment(lines, indent = "") {
    if (lines.length === 1) return `${indent}/** ${lines[0]} */`;
    return [
        `${indent}/**`,
        ...lines.map((line) => `${indent} * ${line}`.trimEnd()),
        `${indent} */`,
    ].join("\n");
}

/** The first lines of every generated file. @param {string} what */
export const heading = (what) =>
    `// Generated from spec/ by generate.mjs. Do not edit.\n//\n// ${what}\n`;
