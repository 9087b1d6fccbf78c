// The session of an agent that works or holds something: it is kept, and work continues without it.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { connect, LeaseLostError } from "../node.js";
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

/** Much shorter than a lease, and long enough for a machine that is busy. */
const SESSION = { ttl_ms: 3_000 };
const soon = () => new Promise((resolve) => setTimeout(resolve, 20));

/** A workspace with an agent that has a session, and one that watches it from elsewhere. */
async function pair() {
    const ada = client.workspace(fresh(), { agent: "ada" });
    const bob = ada.as("bob");
    const { token } = await bob.agents.register(SESSION);
    return { ada, bob, token };
}

/** The status of an agent. It is read as another agent: `get` counts as a call of the agent. */
const statusOf = async (ada, agent) =>
    (await ada.agents.list()).agents.find(({ id }) => id === agent).status;

/** Waits until a session that begins now, and is not renewed, has ended: that of bob has not. */
async function outlived(ada) {
    await ada.as("silent").agents.register(SESSION);
    while ((await statusOf(ada, "silent")) === "active") await soon();
    assert.equal(await statusOf(ada, "bob"), "active");
}

test("a worker renews its lease often enough for its session", async () => {
    const { ada, bob } = await pair();
    await ada.tasks.create("slow", { id: "t" });
    const worker = bob.worker({ lease_ms: 60_000 }).task("slow", async () => {
        worker.stop();
        await outlived(ada);
        return "done";
    });
    assert.equal((await worker.run()).completed, 1);
    const { status, attempts } = await ada.tasks.get("t");
    assert.deepEqual([status, attempts], ["completed", 1]);
    assert.equal(await statusOf(ada, "bob"), "active");
});

test("locks and permits are renewed often enough for the session", async () => {
    const holds = [(bob) => bob.lock("door"), (bob) => bob.semaphore("gpu", { permits: 1 })];
    await Promise.all(
        holds.map(async (hold) => {
            const { ada, bob } = await pair();
            const held = await hold(bob);
            await outlived(ada);
            assert.equal(held.signal.aborted, false);
            await held.release();
        }),
    );
});

/** @type {Record<string, (worker: any) => any>} */
const LOOPS = {
    tasks: (worker) => worker,
    "tasks and messages": (worker) => worker.onMessage(() => {}),
};

for (const [what, extended] of Object.entries(LOOPS)) {
    test(`a worker for ${what} whose session ends while it waits continues`, async () => {
        const { ada, bob, token } = await pair();
        const worker = extended(
            bob.worker().task("count", () => {
                worker.stop();
            }),
        );
        const running = worker.run();
        const idle = async () => {
            while ((await ada.tasks.stats()).claims_waiting === 0) await soon();
        };
        await idle();
        // Another program of the agent ends its session, and then replaces that one.
        await ada.as("bob").agents.leave({ token });
        await idle();
        await ada.as("bob").agents.register(SESSION);
        await ada.tasks.create("count", { id: "t" });
        assert.equal((await running).completed, 1);
        assert.equal((await ada.tasks.get("t")).status, "completed");
    });
}

test("the signal of a job is aborted when its lease is lost with the session", async () => {
    const { ada, bob, token } = await pair();
    await ada.tasks.create("slow", { id: "t", max_retries: 0 });
    const worker = bob.worker().task("slow", async (_, job) => {
        worker.stop();
        await outlived(ada);
        await ada.as("bob").agents.leave({ token });
        await new Promise((resolve) => job.signal.addEventListener("abort", resolve));
        assert.ok(job.signal.reason instanceof LeaseLostError);
    });
    assert.equal((await worker.run()).lost, 1);
});

test("a result that is refused because the lease is lost aborts the signal", async () => {
    const { ada, bob, token } = await pair();
    await ada.tasks.create("slow", { id: "t", max_retries: 0 });
    let signal;
    const worker = bob.worker().task("slow", async (_, job) => {
        signal = job.signal;
        await ada.as("bob").agents.leave({ token });
        worker.stop();
    });
    assert.equal((await worker.run()).lost, 1);
    assert.ok(signal.reason instanceof LeaseLostError);
});

test("a service whose session is replaced while it waits registers again", async () => {
    const { ada, bob } = await pair();
    const service = bob.service(SESSION).handle("double", (number) => 2 * number);
    const running = service.run();
    const ready = async () => {
        while ((await ada.handlers.list()).handlers.length === 0) await soon();
    };
    await ready();
    // When it has answered, it waits for the next request.
    assert.equal((await ada.messages.request({ handler: "double" }, 1)).body, 2);
    const { token } = await ada.as("bob").agents.get("bob");
    await ada.as("bob").agents.leave({ token });
    await ready();
    assert.equal((await ada.messages.request({ handler: "double" }, 2)).body, 4);
    service.stop();
    assert.equal((await running).answered, 2);
});
