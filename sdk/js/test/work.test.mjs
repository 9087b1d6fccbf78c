// Locks, leases, workers and services against the real program.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
    connect,
    GiveUp,
    LeaseLostError,
    NotAcquiredError,
    RetryLater,
    TaskFailedError,
} from "../node.js";
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
const aborted = (signal) =>
    new Promise((resolve) => {
        if (signal.aborted) resolve(signal.reason);
        else signal.addEventListener("abort", () => resolve(signal.reason));
    });

test("a lock is renewed while it is held, and released by disposal", async () => {
    const ada = workspace();
    const lock = await ada.lock("door", { ttl_ms: 1_000 });
    await assert.rejects(ada.as("bob").lock("door", { wait_ms: 1_500 }), (error) => {
        assert.ok(error instanceof NotAcquiredError);
        return error.code === "client.not_acquired";
    });
    assert.equal(lock.signal.aborted, false);
    await lock[Symbol.asyncDispose]();
    const next = await ada.as("bob").lock("door", { wait_ms: 0 });
    assert.ok(next.token > lock.token);
    await next.release();
    await assert.rejects(next.release(), { kind: "stale" });
    await next[Symbol.asyncDispose]();
});

test("a hold that another ends is lost: its signal is aborted", async () => {
    const ada = workspace();
    const lock = await ada.lock("door", { ttl_ms: 1_000 });
    await ada.locks.release("door", lock.token);
    const reason = await aborted(lock.signal);
    assert.ok(reason instanceof LeaseLostError);
    assert.equal(reason.kind, "stale");
    await lock[Symbol.asyncDispose]();
});

test("permits are counted", async () => {
    const ada = workspace();
    const [one, two] = [
        await ada.semaphore("models", { permits: 2 }),
        await ada.semaphore("models"),
    ];
    await assert.rejects(ada.semaphore("models", { wait_ms: 0 }), {
        code: "client.not_acquired",
    });
    await one.release();
    const three = await ada.semaphore("models", { wait_ms: 0 });
    await Promise.all([two.release(), three.release()]);
    const both = await ada.semaphore("models", { permits: 2, weight: 2 });
    await assert.rejects(ada.semaphore("models", { wait_ms: 0 }), {
        code: "client.not_acquired",
    });
    assert.equal((await ada.semaphores.get("models")).holders[0].weight, 2);
    assert.equal((await ada.semaphores.resize("models", 3)).free, 1);
    await both.release();
    await assert.rejects(ada.semaphore("models", { weight: 4 }), { code: "semaphore.too_heavy" });
});

test("a waiting hold can be aborted", async () => {
    const ada = workspace();
    const lock = await ada.lock("door");
    const signal = AbortSignal.timeout(50);
    await assert.rejects(ada.lock("door", { signal }), { name: "TimeoutError" });
    await lock.release();
});

const NOTHING = { completed: 0, failed: 0, released: 0, lost: 0, handoffs: 0, messages: 0 };

test("a worker takes hand-offs, messages and tasks with one call", async () => {
    const ada = workspace();
    const bob = ada.as("bob");
    await bob.agents.register();
    const seen = [];
    const enough = () => seen.length === 3 && worker.stop();
    const worker = bob
        .worker()
        .task("count", (_, job) => {
            seen.push(job.id);
            enough();
        })
        .onHandoff(async (handoff, { handoffs }) => {
            seen.push(handoff.reason);
            await handoffs.accept(handoff.id);
            enough();
        })
        .onMessage((body) => {
            seen.push(body);
            enough();
        });
    await ada.tasks.create("count", { id: "one" });
    await ada.messages.send("bob", "hello");
    const { id } = await ada.handoffs.offer("bob", { reason: "yours" });
    const worked = await worker.run();
    assert.deepEqual(seen, ["yours", "hello", "one"]);
    assert.deepEqual(worked, { ...NOTHING, completed: 1, handoffs: 1, messages: 1 });
    assert.equal((await ada.handoffs.get(id)).status, "accepted");
    const service = bob.worker().onMessage((body) => {
        service.stop();
        return body + 1;
    });
    const running = service.run();
    assert.equal((await ada.messages.request("bob", 1)).body, 2);
    assert.deepEqual(await running, { ...NOTHING, messages: 1 });
});

test("a worker completes, fails, retries, gives up, releases and hands over", async () => {
    const ada = workspace();
    const backoff = { initial_ms: 10, multiplier: 1, max_ms: 10, jitter: 0 };
    const create = (id, definition) =>
        ada.tasks.create("sum", { id, definition, backoff, max_retries: 1 });
    await create("good", { numbers: [1, 2] });
    await create("later", { later: true });
    await create("never", { never: true });
    await create("odd", { odd: true });
    await create("handed", { hand: true });
    const notes = [];
    const bob = ada.as("bob");
    const worker = bob
        .worker({ concurrency: 2, lease_ms: 5_000 })
        .task("sum", async (definition, job) => {
            await job.progress(0.5, "half");
            if (definition.later && job.attempt === 1) throw new RetryLater({ status: 429 });
            if (definition.never) throw new GiveUp("no numbers");
            if (definition.odd) return { value: NaN };
            if (definition.hand) return await job.handoff("cem", { notes: "yours" });
            await job.workspace.state.append("log", job.id);
            await job.checkpoint({ done: 1 });
            notes.push((await job.latestCheckpoint())?.id ?? "none");
            return (definition.numbers ?? []).reduce((a, b) => a + b, 0);
        });
    const controller = new AbortController();
    const running = worker.run({ signal: controller.signal });
    assert.equal(await ada.tasks.result("good"), 3);
    assert.equal(await ada.tasks.result("later"), 0);
    for (const [task, detail] of [
        ["never", "no numbers"],
        ["odd", undefined],
    ]) {
        await assert.rejects(ada.tasks.result(task), (error) => {
            assert.ok(error instanceof TaskFailedError);
            if (detail) assert.equal(error.facts.error, detail);
            else assert.equal(error.facts.error.code, "client.not_json");
            return error.facts.status === "failed";
        });
    }
    const cem = ada.as("cem");
    for await (const handoff of cem.handoffs.listen()) {
        const { task } = await cem.handoffs.accept(handoff.id);
        await cem.tasks.complete(task.id, task.lease.token, { result: "done by cem" });
        break;
    }
    assert.equal(await ada.tasks.result("handed"), "done by cem");
    controller.abort();
    assert.deepEqual(await running, { ...NOTHING, completed: 2, failed: 3, released: 1, lost: 0 });
    assert.ok(notes.length === 2 && !notes.includes("none"));
});

test("a definition is checked with a validator of Standard Schema", async () => {
    const ada = workspace();
    const definition = {
        "~standard": {
            validate: (value) =>
                typeof value?.n === "number"
                    ? { value: { n: value.n * 2 } }
                    : { issues: [{ message: "n is not a number" }] },
        },
    };
    const worker = ada.worker().task("double", { definition }, ({ n }) => n);
    await ada.tasks.create("double", { id: "good", definition: { n: 2 } });
    await ada.tasks.create("double", { id: "bad", definition: { n: "2" } });
    const running = worker.run();
    assert.equal(await ada.tasks.result("good"), 4);
    await assert.rejects(
        ada.tasks.result("bad"),
        (error) => error.facts.error.issues[0] === "n is not a number",
    );
    worker.stop();
    await running;
});

test("a worker finishes what it began when it is stopped", async () => {
    const ada = workspace();
    await ada.tasks.create("slow", { id: "t" });
    await ada.tasks.create("slow", { id: "u" });
    let begun;
    const started = new Promise((resolve) => (begun = resolve));
    let finish;
    const finished = new Promise((resolve) => (finish = resolve));
    const worker = ada.worker().task("slow", async () => {
        begun();
        await finished;
        return "done";
    });
    const running = worker.run();
    await started;
    worker.stop();
    finish();
    assert.deepEqual(await running, { ...NOTHING, completed: 1, failed: 0, released: 0, lost: 0 });
    assert.equal(await ada.tasks.result("t"), "done");
    assert.equal((await ada.tasks.get("u")).status, "pending");
});

test("a handler whose lease is lost is notified, and reports nothing", async () => {
    const ada = workspace();
    await ada.tasks.create("slow", { id: "t" });
    let reason;
    const worker = ada.worker({ lease_ms: 1_000 }).task("slow", async (_, job) => {
        await ada.tasks.cancel("t");
        reason = await aborted(job.signal);
        worker.stop();
        await assert.rejects(job.workspace.state.set("late", 1), { kind: "stale" });
        return "too late";
    });
    assert.deepEqual(await worker.run(), { ...NOTHING, completed: 0, failed: 0, released: 0, lost: 1 });
    assert.ok(reason instanceof LeaseLostError);
    assert.equal((await ada.tasks.get("t")).status, "cancelled");
});

test("a worker that may not claim ends with the error", async () => {
    const ada = workspace();
    await assert.rejects(
        ada
            .worker()
            .task("not a type!", () => 1)
            .run(),
        { kind: "invalid" },
    );
});

test("a job is released by disposal, unless it was settled", async () => {
    const ada = workspace();
    await ada.tasks.create("write", { id: "t", definition: { a: 1 } });
    const job = await ada.claim({ types: ["write"] });
    assert.deepEqual([job.id, job.definition, job.attempt], ["t", { a: 1 }, 1]);
    await job[Symbol.asyncDispose]();
    assert.equal((await ada.tasks.get("t")).status, "pending");
    const again = await ada.claim({ task: "t" });
    await again.complete("done");
    await again[Symbol.asyncDispose]();
    assert.equal((await ada.tasks.get("t")).status, "completed");
    assert.equal(await ada.claim({ wait_ms: 0 }), undefined);
});

test("a join settles when its tasks have finished", async () => {
    const ada = workspace();
    for (const id of ["a", "b"]) await ada.tasks.create("write", { id, group: "all" });
    const { id } = await ada.joins.create({ id: "j", group: "all", need: "all" });
    assert.equal(id, "j");
    const settled = ada.joins.settled(id);
    for (let index = 0; index < 2; index += 1) await (await ada.claim()).complete(index);
    assert.equal((await settled).status, "satisfied");
});

test("a service answers requests and receives messages", async () => {
    const ada = workspace();
    const bob = ada.as("bob");
    const received = [];
    const service = bob
        .service({ concurrency: 2, ttl_ms: 5_000 })
        .handle("sum", (numbers) => numbers.reduce((a, b) => a + b, 0))
        .handle("broken", () => {
            throw new Error("out of order");
        })
        .onMessage((body) => void received.push(body));
    const running = service.run();
    const ask = async (handler, body) => {
        for (;;) {
            try {
                return (await ada.messages.request({ handler }, body)).body;
            } catch (error) {
                // It may not have registered yet.
                if (error.code !== "message.no_handler") throw error;
            }
        }
    };
    assert.equal(await ask("sum", [1, 2, 3]), 6);
    await assert.rejects(ask("broken", null), { code: "message.handler_failed" });
    await ada.messages.send("bob", "hello");
    while (received.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    assert.deepEqual(received, ["hello"]);
    service.stop();
    assert.deepEqual(await running, { answered: 2, failed: 1, lost: 0 });
    assert.notEqual((await ada.agents.get("bob")).status, "active");
});

test("several tasks are claimed with one call", async () => {
    const ada = workspace();
    for (const id of ["a", "b", "c"]) await ada.tasks.create("part", { id });
    const first = await ada.tasks.claimSeveral(2, { types: ["part"] });
    assert.deepEqual(
        first.map(({ id }) => id),
        ["a", "b"],
    );
    assert.notEqual(first[0].lease.token, first[1].lease.token);
    assert.deepEqual(
        (await ada.tasks.claimSeveral(1)).map(({ id }) => id),
        ["c"],
    );
    assert.deepEqual(await ada.tasks.claimSeveral(1), []);
    assert.deepEqual(await ada.tasks.claimSeveral(2, { wait_ms: 10 }), []);
});

test("a reply receives the next message", async () => {
    const ada = workspace();
    const bob = ada.as("bob");
    await bob.agents.register();
    await bob.handlers.register("echo");
    const asked = ada.messages.request({ handler: "echo" }, 1);
    const { messages } = await bob.inbox.receive({ limit: 1, wait_ms: 20_000 });
    await ada.messages.send("bob", "next");
    const reply = () => bob.messages.replyAndReceive(messages[0].id, { body: 2 }, { wait_ms: 10 });
    assert.equal((await reply()).body, "next");
    assert.equal((await asked).body, 2);
    assert.equal(await reply(), undefined);
});

test("messages of an inbox as an iterator", async () => {
    const ada = workspace();
    const bob = ada.as("bob");
    await ada.messages.send("bob", 1);
    await ada.messages.send("bob", 2);
    const seen = [];
    for await (const message of bob.inbox.listen({ signal: AbortSignal.timeout(10_000) })) {
        seen.push(message.body);
        await bob.inbox.ack({ message: message.id });
        if (seen.length === 2) break;
    }
    assert.deepEqual(seen, [1, 2]);
});

test("many waiting calls share one signal without a warning", async () => {
    const warnings = [];
    const note = (warning) => warnings.push(warning.name);
    process.on("warning", note);
    const ada = workspace();
    const controller = new AbortController();
    const waiting = Array.from({ length: 30 }, () =>
        ada.tasks.claim({ wait_ms: 60_000, signal: controller.signal }),
    );
    await ada.state.set("a", 1);
    controller.abort();
    assert.equal(
        (await Promise.allSettled(waiting)).every(({ status }) => status === "rejected"),
        true,
    );
    await new Promise((resolve) => setImmediate(resolve));
    process.off("warning", note);
    assert.deepEqual(warnings, []);
});
