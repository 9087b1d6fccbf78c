// Copies the vendored libraries from `node_modules`, and writes their hashes and licences.
//
//   npm install && node vendor.mjs

import { createHash } from "node:crypto";
import { copyFile, readFile, writeFile } from "node:fs/promises";

/** @type {Record<string, Record<string, string>>} */
const FILES = {
  preact: {
    "preact.mjs": "dist/preact.mjs",
    "preact-hooks.mjs": "hooks/dist/hooks.mjs",
    "LICENSE-preact.txt": "LICENSE",
  },
  htm: { "htm.mjs": "dist/htm.mjs", "LICENSE-htm.txt": "LICENSE" },
  uplot: {
    "uplot.js": "dist/uPlot.iife.min.js",
    "uplot.css": "dist/uPlot.min.css",
    "LICENSE-uplot.txt": "LICENSE",
  },
};

/** @param {string} path */
const at = (path) => new URL(path, import.meta.url);

const lock = JSON.parse(await readFile(at("package-lock.json"), "utf8"));
const packages = [];
for (const [name, files] of Object.entries(FILES)) {
  const { version, integrity, license } = lock.packages[`node_modules/${name}`];
  /** @type {Record<string, string>} */
  const hashes = {};
  for (const [file, source] of Object.entries(files)) {
    await copyFile(at(`node_modules/${name}/${source}`), at(`vendor/${file}`));
    const hash = createHash("sha384").update(await readFile(at(`vendor/${file}`)));
    hashes[file] = hash.digest("base64");
  }
  packages.push({ name, version, license, integrity, files: hashes });
}
await writeFile(at("vendor/manifest.json"), `${JSON.stringify({ packages }, null, 2)}\n`);
