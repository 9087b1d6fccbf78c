// Time limits that are longer than a timer can be.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { connect } from "../node.js";
import { afterLimit } from "../src/timing.js";
import { fresh, Server } from "./server.mjs";

/** @type {Server} */
let server;
before(async () => (server = await Server.start()));
after(() => server.end());

for (const transport of ["socket", "http"]) {
    test(`an infinite time limit over ${transport} is none`, async () => {
        const connectTimeoutMs = Infinity;
        const silenceMaxMs = Infinity;
        for (const requestTimeoutMs of [Infinity, 2 ** 40]) {
            const options = { transport, requestTimeoutMs, connectTimeoutMs, silenceMaxMs };
            const client = await connect(server.url, options);
            const ada = client.workspace(fresh(), { agent: "ada" });
            // It takes longer than the millisecond of a timer that is too long.
            const claiming = ada.tasks.claim({ wait_ms: 100 });
            assert.equal(await claiming, null);
            const timeoutMs = requestTimeoutMs;
            assert.equal(await ada.tasks.claim({ wait_ms: 100, timeoutMs }), null);
            await assert.rejects(ada.state.get("k", { timeoutMs: NaN }), RangeError);
            await client.close();
        }
    });
}

test("a timer that cannot last so long is none", () => {
    assert.equal(afterLimit(2 ** 31, assert.fail), undefined);
    clearTimeout(afterLimit(2 ** 31 - 1, assert.fail));
    assert.throws(() => afterLimit(NaN, assert.fail), RangeError);
});
