// The files that a page loads: they import each other and nothing else, and they work with the
// WebSocket and fetch of the platform.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { Server } from "./server.mjs";

const run = promisify(execFile);
const entry = new URL("../index.js", import.meta.url);
/** Version 20 has the WebSocket behind a flag. */
const flags = "WebSocket" in globalThis ? [] : ["--experimental-websocket"];

/** @type {Server} */
let server;
/** @type {Server} */
let guarded;
before(
    async () => ([server, guarded] = await Promise.all([Server.start(), Server.start("--tokens")])),
);
after(() => Promise.all([server.end(), guarded.end()]));

/** Every file that a page loads. */
function modules() {
    const found = new Set([entry.href]);
    // A set that grows is iterated to its end.
    for (const module of found) {
        const text = readFileSync(new URL(module), "utf8");
        for (const [, name] of text.matchAll(/^(?:import|export)\s[^;]*?from "([^"]+)";$/gms)) {
            assert.match(name, /^\.{1,2}\//, `${module} imports ${name}`);
            found.add(new URL(name, module).href);
        }
    }
    return [...found];
}

test("a page loads files of the package only, and no type declarations", () => {
    const loaded = modules();
    assert.ok(loaded.length > 20);
    assert.ok(!loaded.some((name) => name.endsWith("/types.js") || name.includes("node-socket")));
});

/** @param {string} url @param {string} [token] @param {string} [program] */
async function play(url, token, program = "") {
    const text = `
    import { connect } from ${JSON.stringify(entry.href)};
    const baton = await connect(${JSON.stringify(url)}, { token: ${JSON.stringify(token)}, agent: "page" });
    const page = baton.workspace("web");
    const watch = page.watch("state/**");
    await watch.started;
    const { version } = await page.state.set("a", 1);
    const { value: event } = await watch.next();
    await watch.return();
    ${program}
    await baton.close();
    console.log(JSON.stringify({ version, type: event.type, agent: event.agent }));
  `;
    const { stdout } = await run(process.execPath, [...flags, "--input-type=module", "-e", text]);
    return JSON.parse(stdout);
}

test("it works with the WebSocket of the platform", async () => {
    assert.deepEqual(await play(server.url), { version: 1, type: "state.set", agent: "page" });
});

test("a token is sent in the handshake as a sub-protocol", async () => {
    assert.deepEqual(await play(guarded.url, guarded.token), {
        version: 1,
        type: "state.set",
        agent: "page",
    });
});

test("why a handshake was refused is found out", async () => {
    const text = (url) => `
    import { connect } from ${JSON.stringify(entry.href)};
    console.log(await connect(${JSON.stringify(url)}, { transport: "socket" }).catch((error) => error.code));
  `;
    const codeAt = async (url) =>
        (
            await run(process.execPath, [...flags, "--input-type=module", "-e", text(url)])
        ).stdout.trim();
    assert.equal(await codeAt(guarded.url), "access.no_token");
    assert.equal(await codeAt("http://127.0.0.1:1"), "client.unreachable");
});
