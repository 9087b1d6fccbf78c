// Graphs of LangGraph with their checkpoints and memories in Baton.

import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { promisify } from "node:util";
import { connect } from "@baton/sdk";
import { Annotation, Command, END, interrupt, START, StateGraph } from "@langchain/langgraph";
import { MemorySaver, uuid6 } from "@langchain/langgraph-checkpoint";
import { Server } from "../../js/test/server.mjs";
import { BatonSaver, BatonStore } from "../index.js";
import { checkpointKey, placeOf, taskOf, threadOf } from "../src/keys.js";

let server;
let client;
beforeAll(async () => {
    server = await Server.start();
    client = await connect(server.url, { agent: "graph" });
});
afterAll(async () => {
    await client.close();
    await server.end();
});
const workspace = () => client.workspace(randomUUID());

const State = Annotation.Root({
    draft: Annotation(),
    log: Annotation({ reducer: (a, b) => a.concat(b), default: () => [] }),
});

/** @param {{ checkpointer: BatonSaver, store?: BatonStore }} options */
function article(options) {
    return new StateGraph(State)
        .addNode("write", () => ({ draft: "v1", log: ["written"] }))
        .addNode("review", (state) => {
            const verdict = interrupt({ draft: state.draft });
            return { log: [`reviewed: ${verdict}`] };
        })
        .addEdge(START, "write")
        .addEdge("write", "review")
        .addEdge("review", END)
        .compile(options);
}

test("a graph that was interrupted is continued by another process, after the server was killed", async () => {
    const name = randomUUID();
    const config = { configurable: { thread_id: "article/7 ä" } };
    const first = article({ checkpointer: new BatonSaver(client.workspace(name)) });
    const interrupted = await first.invoke({ log: ["begun"] }, config);
    expect(interrupted.__interrupt__[0].value).toEqual({ draft: "v1" });
    await server.kill();
    await server.start();
    const other = await connect(server.url);
    const second = article({ checkpointer: new BatonSaver(other.workspace(name)) });
    expect((await second.getState(config)).next).toEqual(["review"]);
    const done = await second.invoke(new Command({ resume: "approved" }), config);
    expect(done.log).toEqual(["begun", "written", "reviewed: approved"]);
    const history = [];
    for await (const state of second.getStateHistory(config)) history.push(state.next.join());
    expect(history).toEqual(["", "review", "write", "__start__"]);
    await other.close();
});

test("a thread can be forked from an earlier checkpoint, as with the saver in memory", async () => {
    const outcomes = [];
    for (const checkpointer of [new BatonSaver(workspace()), new MemorySaver()]) {
        const graph = article({ checkpointer });
        const config = { configurable: { thread_id: "t" } };
        await graph.invoke({ log: [] }, config);
        const earlier = (await graph.getState(config)).config;
        await graph.invoke(new Command({ resume: "no" }), config);
        const again = await graph.invoke(new Command({ resume: "yes" }), earlier);
        const fork = await graph.updateState(earlier, { draft: "v2" });
        const forked = await graph.getState(fork);
        const steps = [];
        for await (const state of graph.getStateHistory(config))
            steps.push([state.next, state.values.draft]);
        outcomes.push({ again: again.log, draft: forked.values.draft, next: forked.next, steps });
    }
    expect(outcomes[0]).toEqual(outcomes[1]);
    expect(outcomes[0].draft).toBe("v2");
});

test("values that are large or not text", async () => {
    const saver = new BatonSaver(workspace());
    const config = { configurable: { thread_id: "t", checkpoint_ns: "" } };
    const large = "é😀".repeat(200_000);
    const bytes = Uint8Array.from({ length: 300_000 }, (_, index) => index & 255);
    const checkpoint = {
        v: 4,
        id: uuid6(0),
        ts: new Date().toISOString(),
        channel_values: { large, bytes, when: new Set([1]), nothing: null },
        channel_versions: { large: 1, bytes: 1, when: 1, nothing: 1 },
        versions_seen: {},
    };
    const saved = await saver.put(
        config,
        checkpoint,
        { source: "input", step: 0, parents: {} },
        checkpoint.channel_versions,
    );
    const { channel_values: values } = (await saver.getTuple(saved)).checkpoint;
    expect(values.large === large).toBe(true);
    expect(Buffer.from(values.bytes).equals(Buffer.from(bytes))).toBe(true);
    expect(values.when).toEqual(new Set([1]));
    expect(values.nothing).toBe(null);
    await saver.deleteThread("t");
    expect(await saver.getTuple(saved)).toBe(undefined);
});

test("values that are larger than a transaction, or too large for a write", async () => {
    const saver = new BatonSaver(workspace());
    const config = { configurable: { thread_id: "t", checkpoint_ns: "" } };
    const values = Object.fromEntries(["a", "b", "c"].map((it) => [it, it.repeat(5_000_000)]));
    const versions = { a: 1, b: 1, c: 1 };
    const checkpoint = {
        v: 4,
        id: uuid6(0),
        ts: "",
        channel_values: values,
        channel_versions: versions,
        versions_seen: {},
    };
    const metadata = { source: "input", step: 0, parents: {} };
    const first = await saver.put(config, checkpoint, metadata, versions);
    await saver.putWrites(first, [["small", 1], ...Object.entries(values)], "task");
    const found = await saver.getTuple(first);
    expect(found.checkpoint.channel_values).toEqual(values);
    expect(found.pendingWrites.map(([, channel, value]) => [channel, value])).toEqual([
        ["small", 1],
        ...Object.entries(values),
    ]);
    // Values that have not changed are not written again.
    const second = await saver.put(first, { ...checkpoint, id: uuid6(1) }, metadata, {});
    expect((await saver.getTuple(second)).checkpoint.channel_values).toEqual(values);
});

test("an operation is one request", async () => {
    const it = workspace();
    const saver = new BatonSaver(it);
    const calls = vi.spyOn(it.caller.transport, "call");
    const config = { configurable: { thread_id: "t", checkpoint_ns: "" } };
    const checkpoint = {
        v: 4,
        id: uuid6(0),
        ts: "",
        channel_values: { a: 1 },
        channel_versions: { a: 1 },
        versions_seen: {},
    };
    const metadata = { source: "input", step: 0, parents: {} };
    const saved = await saver.put(config, checkpoint, metadata, { a: 1 });
    await saver.putWrites(saved, [["a", 2]], "task");
    await saver.putWrites(saved, [["a", 3]], "task");
    expect((await saver.getTuple(config)).pendingWrites).toEqual([["task", "a", 2]]);
    expect((await saver.getTuple(saved)).checkpoint.channel_values).toEqual({ a: 1 });
    expect(calls.mock.calls.map(([request]) => request.command)).toEqual([
        "checkpoint.save",
        "checkpoint.write",
        "checkpoint.write",
        "checkpoint.history",
        "checkpoint.history",
    ]);
    calls.mockRestore();
});

test("checkpoints of others are left alone", async () => {
    const it = workspace();
    const saver = new BatonSaver(it);
    const config = { configurable: { thread_id: "t" } };
    await article({ checkpointer: saver }).updateState(config, { draft: "v0" }, "write");
    for (const [key, state] of Object.entries({ "/9": { step: 1 }, "/8": "text", "/7": null }))
        await it.checkpoints.save("langgraph:t", state, { key });
    const found = [];
    for await (const { checkpoint: it } of saver.list(config)) found.push(it.channel_values.draft);
    expect(found).toEqual(["v0"]);
    expect((await saver.getTuple(config)).checkpoint.channel_values.draft).toBe("v0");
});

test("a first checkpoint that is copied keeps its values", async () => {
    const saver = new BatonSaver(workspace());
    const graph = article({ checkpointer: saver });
    const config = { configurable: { thread_id: "t" } };
    await graph.updateState(config, { draft: "v0" }, "write");
    const first = (await graph.getState(config)).config;
    const copy = await graph.updateState(first, null, "__copy__");
    expect(copy.configurable.checkpoint_id).not.toBe(first.configurable.checkpoint_id);
    const { values, parentConfig } = await graph.getState(copy);
    expect(values).toEqual({ draft: "v0", log: [] });
    expect(parentConfig).toBe(undefined);
});

test("the first write of a task counts; of errors and interrupts the last", async () => {
    const saver = new BatonSaver(workspace());
    const config = { configurable: { thread_id: "t", checkpoint_ns: "", checkpoint_id: uuid6(0) } };
    const checkpoint = {
        v: 4,
        id: config.configurable.checkpoint_id,
        ts: "",
        channel_values: {},
        channel_versions: {},
        versions_seen: {},
    };
    // Writes may arrive before their checkpoint.
    await Promise.all([
        saver.putWrites(config, [["a", 1]], "task"),
        saver.putWrites(
            config,
            [
                ["a", 1],
                ["b", 2],
            ],
            "task",
        ),
    ]);
    await saver.putWrites(
        config,
        [
            ["a", 9],
            ["b", 9],
        ],
        "task",
    );
    await saver.putWrites(config, [["__resume__", 1]], "task");
    await saver.putWrites(config, [["__resume__", 2]], "task");
    expect(await saver.getTuple(config)).toBe(undefined);
    await saver.put(
        { configurable: { thread_id: "t", checkpoint_ns: "" } },
        checkpoint,
        { source: "input", step: 0, parents: {} },
        {},
    );
    expect((await saver.getTuple(config)).pendingWrites).toEqual([
        ["task", "__resume__", 2],
        ["task", "a", 1],
        ["task", "b", 2],
    ]);
});

test("names of threads and checkpoints can be read again", () => {
    for (const thread of ["article-7", "a/b:c", "@", "é😀", ""]) {
        const task = taskOf("langgraph", thread);
        expect(task).toMatch(/^langgraph:[A-Za-z0-9._@-]*$/);
        expect(threadOf("langgraph", task)).toBe(thread);
    }
    expect(threadOf("langgraph", "other:a")).toBe(undefined);
    const place = { thread: "a/b", namespace: "x:1|y/2", id: "1f0/é" };
    expect(placeOf("a/b", checkpointKey(place))).toEqual(place);
});

describe("the store", () => {
    test("items are written, read, replaced and deleted", async () => {
        const store = new BatonStore(workspace());
        await store.put(["users", "ada"], "likes", { food: "pizza" });
        const first = await store.get(["users", "ada"], "likes");
        expect(first.value).toEqual({ food: "pizza" });
        await store.put(["users", "ada"], "likes", { food: "soup" });
        const second = await store.get(["users", "ada"], "likes");
        expect(second.value).toEqual({ food: "soup" });
        expect(second.createdAt).toEqual(first.createdAt);
        expect(second.updatedAt.getTime()).toBeGreaterThanOrEqual(first.updatedAt.getTime());
        await store.delete(["users", "ada"], "likes");
        await store.delete(["users", "ada"], "likes");
        expect(await store.get(["users", "ada"], "likes")).toBe(null);
    });

    test("a search is hierarchical, filtered and paged", async () => {
        const store = new BatonStore(workspace());
        for (let age = 1; age <= 5; age += 1)
            await store.put(["users", `u${age}`], "about", { age, kind: "user" });
        await store.put(["users-of-old"], "about", { age: 9 });
        const ages = async (options) =>
            (await store.search(["users"], options)).map((item) => item.value.age);
        expect(await ages()).toEqual([1, 2, 3, 4, 5]);
        expect(await ages({ limit: 2, offset: 1 })).toEqual([2, 3]);
        expect(await ages({ filter: { age: { $gte: 2, $lt: 4 } } })).toEqual([2, 3]);
        expect(await ages({ filter: { kind: "user", age: { $in: [5] } } })).toEqual([5]);
        expect((await store.search([])).length).toBe(6);
        await expect(store.search(["users"], { query: "who" })).rejects.toThrow(/embeddings/);
    });

    test("namespaces are matched, cut and counted once", async () => {
        const store = new BatonStore(workspace());
        for (const namespace of [["a", "b", "c"], ["a", "b", "d"], ["a", "x", "c"], ["z"]])
            await store.put(namespace, "k", {});
        expect(await store.listNamespaces({ prefix: ["a"], maxDepth: 2 })).toEqual([
            ["a", "b"],
            ["a", "x"],
        ]);
        expect(await store.listNamespaces({ suffix: ["c"] })).toEqual([
            ["a", "b", "c"],
            ["a", "x", "c"],
        ]);
        expect(await store.listNamespaces({ prefix: ["*", "b"] })).toEqual([
            ["a", "b", "c"],
            ["a", "b", "d"],
        ]);
        expect(await store.listNamespaces({ limit: 1, offset: 3 })).toEqual([["z"]]);
    });

    test("a graph uses it", async () => {
        const it = workspace();
        const store = new BatonStore(it);
        const graph = new StateGraph(State)
            .addNode("remember", async (_, config) => {
                await config.store.put(["memories"], "colour", { is: "blue" });
                return { log: [(await config.store.get(["memories"], "colour")).value.is] };
            })
            .addEdge(START, "remember")
            .compile({ checkpointer: new BatonSaver(it), store });
        const { log } = await graph.invoke({ log: [] }, { configurable: { thread_id: "t" } });
        expect(log).toEqual(["blue"]);
        expect((await store.search(["memories"])).length).toBe(1);
    });
});

test("the example of the README runs", async () => {
    const [, text] = /^```js\n(.*?)^```$/ms.exec(
        readFileSync(new URL("../README.md", import.meta.url), "utf8"),
    );
    // In the folder of the package, so that it finds the package by its name.
    const path = new URL(`./readme-${process.pid}.mjs`, import.meta.url);
    writeFileSync(path, text);
    try {
        const { stdout } = await promisify(execFile)(process.execPath, [path.pathname], {
            env: { ...process.env, BATON_URL: server.url },
        });
        expect(stdout).toContain("About leases");
    } finally {
        rmSync(path);
    }
});

test.each([
    ["a function", () => 1],
    ["a symbol", Symbol("s")],
    ["a bigint", 1n],
    ["a bigint in an object", { deep: [1n] }],
])("a channel with %s is refused, and the thread stays readable", async (_, unstorable) => {
    const checkpointer = new BatonSaver(workspace());
    const config = { configurable: { thread_id: "t" } };
    let draft = "v1";
    const graph = new StateGraph(State)
        .addNode("write", () => ({ draft }))
        .addEdge(START, "write")
        .compile({ checkpointer });
    await graph.invoke({ log: ["begun"] }, config);
    draft = unstorable;
    await expect(graph.invoke({ log: ["again"] }, config)).rejects.toThrow(
        /`draft` is (a function|a symbol|or contains a bigint), which cannot be stored/,
    );
    draft = "v2";
    expect((await graph.getState(config)).values.log).toContain("begun");
    expect((await graph.invoke({ log: ["last"] }, config)).draft).toBe("v2");
    const { checkpoint } = await checkpointer.getTuple(config);
    await expect(
        checkpointer.putWrites(config, [["draft", unstorable]], "task"),
    ).rejects.toThrow();
    expect(checkpoint.channel_values.draft).toBe("v2");
});
