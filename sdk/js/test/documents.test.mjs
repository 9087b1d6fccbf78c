// Every block of JavaScript in the documents, and every example, is checked by TypeScript and run.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import {
    existsSync,
    mkdirSync,
    mkdtempSync,
    readdirSync,
    readFileSync,
    rmSync,
    symlinkSync,
    writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { ChatServer } from "./chat-server.mjs";
import { Server } from "./server.mjs";

const run = promisify(execFile);
const sdk = fileURLToPath(new URL("..", import.meta.url));
const root = join(sdk, "../..");
const folder = mkdtempSync(join(tmpdir(), "baton-js-documents-"));

/** @type {Server} */
let server;
/** @type {ChatServer} */
let model;
const programs = [];

const documents = [
    "README.md",
    "docs/context.md",
    "docs/javascript.md",
    "docs/rules.md",
    "sdk/js/README.md",
];
const documented = [];
for (const name of documents) {
    const blocks = [...readFileSync(join(root, name), "utf8").matchAll(/^```js\n(.*?)^```$/gms)];
    blocks.forEach(([, text], index) => {
        programs.push({ title: `${name}, block ${index + 1}`, text });
        documented.push(`${name.replaceAll("/", "-")}-${index + 1}.mts`);
        writeFileSync(join(folder, documented.at(-1)), text);
    });
}
for (const name of readdirSync(join(root, "examples/js")).filter((it) => it.endsWith(".mjs"))) {
    programs.push({
        title: `examples/js/${name}`,
        text: readFileSync(join(root, "examples/js", name), "utf8"),
    });
}

before(async () => {
    mkdirSync(join(folder, "node_modules/@baton"), { recursive: true });
    symlinkSync(sdk, join(folder, "node_modules/@baton/sdk"));
    const files = programs.map(({ text }, index) => {
        const path = join(folder, `program-${index}.mjs`);
        writeFileSync(path, text);
        return basename(path);
    });
    assert.ok(
        existsSync(join(sdk, "types/node.d.ts")),
        "run `npx tsc -p tsconfig.types.json` first",
    );
    const options = [
        "--skipLibCheck",
        "--target",
        "ES2022",
        "--module",
        "NodeNext",
        "--lib",
        "ES2023,ESNext.Disposable,DOM",
        "--types",
        "node",
        "--typeRoots",
        join(sdk, "node_modules/@types"),
    ];
    const compile = (...more) =>
        run(join(sdk, "node_modules/.bin/tsc"), [...options, ...more], { cwd: folder }).catch(
            ({ stdout }) => assert.fail(stdout),
        );
    // Also removes `await using`, which Node.js 20 does not know.
    await compile("--allowJs", "--checkJs", "--strict", "false", "--outDir", "out", ...files);
    // The same text in TypeScript.
    await compile("--strict", "--noEmit", ...documented);
    server = await Server.start();
    model = await ChatServer.start();
});
after(async () => {
    await server?.end();
    await model?.end();
    rmSync(folder, { recursive: true, force: true });
});

programs.forEach(({ title }, index) => {
    test(title, async () => {
        const environment = {
            ...process.env,
            BATON_URL: server.url,
            OPENAI_BASE_URL: model.url,
        };
        const text = readFileSync(join(folder, `out/program-${index}.mjs`), "utf8");
        const path = join(folder, `run-${index}.mjs`);
        writeFileSync(path, text.replaceAll("http://127.0.0.1:4747", server.url));
        const { stderr } = await run(process.execPath, [path], {
            env: environment,
            timeout: 30_000,
        });
        assert.equal(stderr, "");
    });
});
