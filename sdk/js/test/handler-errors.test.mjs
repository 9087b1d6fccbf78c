// What handlers throw and return that cannot be stored as it is: it is reported nevertheless.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { connect, GiveUp, RetryLater } from "../node.js";
import { fresh, Server } from "./server.mjs";

/** @type {Server} */
let server;
let client;
before(async () => {
    server = await Server.start();
    client = await connect(server.url);
});
after(async () => {
    await client.close();
    await server.end();
});
const workspace = (agent = "ada") => client.workspace(fresh(), { agent });
const half = "😀".slice(0, 1);
const long = "x".repeat(2_000_000);
const bare = Object.create(null);
const raise = (value) => () => {
    throw value;
};

/** The task after its first attempt, and the counts of the worker. */
async function attempt(handler) {
    const ada = workspace();
    const backoff = { initial_ms: 60_000 };
    await ada.tasks.create("odd", { id: "t", backoff, max_retries: 3 });
    const worker = ada.worker().task("odd", (definition, job) => {
        worker.stop();
        return handler(definition, job);
    });
    const { failed, lost } = await worker.run();
    return { ...(await ada.tasks.get("t")), failed, lost };
}

for (const [name, thrown, status, recorded] of [
    ["an error to retry", new RetryLater(new TypeError("busy")), "pending", /^TypeError: busy$/],
    ["an error to give up", new GiveUp(new TypeError("no")), "failed", /^TypeError: no$/],
    ["nothing to retry", new RetryLater(), "pending", /^the task is to be tried again$/],
    ["nothing to give up", new GiveUp(), "failed", /^the task cannot succeed$/],
    ["half a surrogate pair", new GiveUp(`bad input: ${half}`), "failed", /^bad input: \ufffd$/],
    ["a long text", new Error(long), "pending", /^Error: x{8000,}… \(2000007 characters\)$/],
    ["a long text to give up", new GiveUp(long), "failed", /^x{8000,}… \(2000000 characters\)$/],
    ["a text of many bytes", new GiveUp("\x01".repeat(60_000)), "failed", /\(60000 characters\)$/],
    ["a text that just fits", new GiveUp("x".repeat(50_000)), "failed", /^x{50000}$/],
    ["a bigint", new GiveUp({ n: 10n }), "failed", "client.not_json"],
    ["a bigint to retry", new RetryLater({ n: 10n }), "pending", "client.not_json"],
    ["a large object", new GiveUp({ long }), "failed", "task.too_large"],
    ["a value without text", bare, "pending", /cannot be shown as text$/],
    ["an error without text", Object.assign(new Error(), { message: bare }), "pending", /text$/],
]) {
    test(`a handler that throws ${name} is reported`, async () => {
        const task = await attempt(raise(thrown));
        assert.deepEqual([task.failed, task.lost, task.status], [1, 0, status]);
        if (recorded instanceof RegExp) assert.match(task.error, recorded);
        else assert.equal(task.error.code, recorded);
    });
}

test("a job that is failed with an error records it", async () => {
    const task = await attempt((_, job) => job.fail(new TypeError("no"), { retryable: false }));
    assert.deepEqual([task.failed, task.status, task.error], [1, "failed", "TypeError: no"]);
});

test("a worker without a handler does not claim tasks", async () => {
    const ada = workspace();
    await ada.tasks.create("report", { id: "t", max_retries: 5 });
    await assert.rejects(ada.worker().run(), /the worker has no handler/);
    assert.deepEqual((await ada.tasks.get("t")).status, "pending");
});

test("a number of handlers that is none is refused", () => {
    for (const concurrency of [NaN, 0, -1, 2.5, Infinity, "4"]) {
        assert.throws(() => workspace().worker({ concurrency }), RangeError);
        assert.throws(() => workspace().service({ concurrency }), RangeError);
    }
});

const answers = [
    [() => 10n, /not_json/],
    [() => long, /too_large/],
    [raise(new Error(half)), /\ufffd/],
    [raise(new Error(long)), /characters/],
    [raise(bare), /cannot be shown/],
    [raise(new GiveUp({ n: 10n })), /not_json/],
];

/** The error of a request, once the agent receives requests. */
async function refusal(ada, body) {
    for (;;) {
        try {
            await ada.messages.request("bob", body);
            assert.fail("the request was answered");
        } catch (error) {
            if (error.code !== "message.no_handler") return error;
        }
    }
}

/** Each handler answers with an error, and the next request is served. */
async function refused(ada) {
    for (const [index, [, expected]] of answers.entries()) {
        const { code, facts } = await refusal(ada, index);
        assert.equal(code, "message.handler_failed");
        assert.match(JSON.stringify(facts), expected);
    }
}

test("a service answers with an error when its answer cannot be stored", async () => {
    const ada = workspace();
    const bob = ada.as("bob");
    const service = bob.service().onMessage((index) => answers[index][0]());
    const running = service.run();
    await refused(ada).finally(() => service.stop());
    assert.deepEqual(await running, { answered: 0, failed: answers.length, lost: 0 });
});

test("a worker answers with an error when its answer cannot be stored", async () => {
    const ada = workspace();
    const bob = ada.as("bob");
    await bob.agents.register();
    const worker = bob.worker().onMessage((index) => answers[index][0]());
    const running = worker.run();
    await refused(ada).finally(() => worker.stop());
    const { failed, messages, lost } = await running;
    assert.deepEqual([failed, messages, lost], [answers.length, 0, 0]);
});
