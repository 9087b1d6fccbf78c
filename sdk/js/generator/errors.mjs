// errors.js: one class for each kind of error.

import { comment, heading, pascalCase, wrapped } from "./names.mjs";

/** @param {import("./types.mjs").Spec} spec */
export function errorsFile({ schemas }) {
    const kinds = /** @type {{ const: string, description: string }[]} */ (
        schemas.Kind?.oneOf ?? []
    );
    const classes = kinds.map(
        ({ const: kind, description }) =>
            `${comment(wrapped(description))}\nexport class ${pascalCase(kind)}Error extends BatonError {}`,
    );
    const members = kinds.map(({ const: kind }) => `  ${kind}: ${pascalCase(kind)}Error,`);
    const union = kinds.map(({ const: kind }) => JSON.stringify(kind)).join(" | ");
    return [
        heading("One class for each kind of error."),
        'import { BatonError } from "../baton-error.js";',
        comment(["What the caller should do about an error.", `@typedef {${union}} Kind`]),
        ...classes,
        `${comment(["The class of every kind."])}\nexport const ERRORS = {\n${members.join("\n")}\n};\n`,
    ].join("\n\n");
}
