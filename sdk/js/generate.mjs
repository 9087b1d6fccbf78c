// Generates src/generated from the golden files in spec/.
//
//   node generate.mjs           writes the files
//   node generate.mjs --check   fails if a file differs from what would be written
//
// The output is committed, so that the package needs no build step and a change of the API is
// visible in review.

import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { errorsFile } from "./generator/errors.mjs";
import { groupsFile } from "./generator/groups.mjs";
import { operationsFile } from "./generator/operations.mjs";
import { typesFile } from "./generator/types.mjs";

const root = new URL("../../", import.meta.url);
const target = new URL("src/generated/", import.meta.url);

/** @param {string} name */
const readSpec = (name) => JSON.parse(readFileSync(new URL(`spec/${name}`, root), "utf8"));

const { operations } = readSpec("operations.json");
const schemas = readSpec("openapi.json").components.schemas;
const events = readSpec("events.json").examples;
const spec = { operations, schemas, events };

const files = {
    "errors.js": errorsFile(spec),
    "groups.js": groupsFile(spec),
    "operations.js": operationsFile(spec),
    "types.js": typesFile(spec),
};

const isCheck = process.argv.includes("--check");
let differs = false;
for (const [name, text] of Object.entries(files)) {
    const path = new URL(name, target);
    if (!isCheck) {
        writeFileSync(path, text);
        continue;
    }
    let present = "";
    try {
        present = readFileSync(path, "utf8");
    } catch {
        // A missing file differs.
    }
    if (present !== text) {
        differs = true;
        console.error(
            `${fileURLToPath(path)} differs from spec/: run \`node sdk/js/generate.mjs\``,
        );
    }
}
process.exitCode = differs ? 1 : 0;
