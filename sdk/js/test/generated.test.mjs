// Every operation of the specification has a method that sends its fields under their names.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Caller } from "../src/caller.js";
import { Workspace } from "../src/workspace.js";
import { invocation } from "./invocation.mjs";

const { operations } = JSON.parse(
    readFileSync(new URL("../../../spec/operations.json", import.meta.url), "utf8"),
);

for (const { name, example } of operations) {
    test(name, async () => {
        const sent = [];
        const transport = {
            call: async (request) => (sent.push(request), { revision: 1, result: { ok: 1 } }),
        };
        const workspace = new Workspace(new Caller(transport, { workspace: "w", agent: "ada" }), {
            url: "",
        });
        const call = invocation(workspace, name, example, {});
        assert.ok(call, "its example has every parameter");
        assert.deepEqual(await call(), { ok: 1 });
        const [{ command, fields }] = sent;
        assert.equal(command, name);
        assert.deepEqual(fields, example);
    });
}
