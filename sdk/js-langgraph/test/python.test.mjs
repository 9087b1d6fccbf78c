// Threads that LangGraph for Python and LangGraph.js share. `BATON_PYTHON` names a Python that has
// LangGraph: `scripts/js` does, once `scripts/python` has installed it.

import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { delimiter } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { connect } from "@baton/sdk";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import {
    Annotation,
    Command,
    interrupt,
    MessagesAnnotation,
    Send,
    START,
    StateGraph,
} from "@langchain/langgraph";
import { Server } from "../../js/test/server.mjs";
import { BatonSaver, BatonStore } from "../index.js";

const program = process.env.BATON_PYTHON;

/** The graph in Python. */
class Python {
    #process;
    #answers;

    constructor(url, workspace) {
        const path = (name) => fileURLToPath(new URL(name, import.meta.url));
        const sources = [path("../../python/src"), process.env.PYTHONPATH ?? ""];
        this.#process = spawn(program, [path("./python_graph.py"), url, workspace], {
            stdio: ["pipe", "pipe", "inherit"],
            env: { ...process.env, PYTHONPATH: sources.join(delimiter) },
        });
        this.#answers = createInterface({ input: this.#process.stdout })[Symbol.asyncIterator]();
    }

    async call(...line) {
        this.#process.stdin.write(`${JSON.stringify(line)}\n`);
        const { value, done } = await this.#answers.next();
        if (done) throw new Error("Python has ended: its error is above");
        const { result, error } = JSON.parse(value);
        if (error) throw new Error(error);
        return result;
    }

    async end() {
        this.#process.stdin.end();
        if (this.#process.exitCode === null) await once(this.#process, "exit");
    }
}

const State = Annotation.Root({
    ...MessagesAnnotation.spec,
    log: Annotation({ reducer: (a, b) => a.concat(b), default: () => [] }),
    values: Annotation(),
});

const graphOn = (checkpointer) =>
    new StateGraph(State)
        .addNode("write", () => ({
            log: ["written in JavaScript"],
            messages: [
                new AIMessage({
                    content: "found",
                    id: "m-2",
                    tool_calls: [{ name: "search", args: { q: "leases" }, id: "call-1" }],
                }),
            ],
        }))
        .addNode("review", (state) => ({
            log: [`${interrupt({ log: state.log })} in JavaScript`],
        }))
        .addNode("each", ({ part }) => ({ log: [`${part} in JavaScript`] }))
        .addEdge(START, "write")
        .addEdge("write", "review")
        .addConditionalEdges(
            "review",
            () => ["a", "b"].map((part) => new Send("each", { part })),
            ["each"],
        )
        .compile({ checkpointer, interruptBefore: ["each"] });

const message = () =>
    new HumanMessage({ content: "find", id: "m-1", additional_kwargs: { tone: "kind" } });

describe.skipIf(!program)("a thread of both languages", () => {
    let server;
    let client;
    let python;
    let workspace;
    let saver;
    let graph;
    const at = (thread) => ({ configurable: { thread_id: thread } });
    const history = async (thread) => {
        const found = [];
        for await (const { next, values, metadata } of graph.getStateHistory(at(thread)))
            found.push([next, values.log ?? null, metadata.source]);
        return found;
    };

    beforeAll(async () => {
        server = await Server.start();
        client = await connect(server.url, { agent: "javascript" });
        workspace = client.workspace(randomUUID());
        saver = new BatonSaver(workspace);
        graph = graphOn(saver);
        python = new Python(server.url, workspace.name);
    });
    afterAll(async () => {
        await python?.end();
        await client?.close();
        await server?.end();
    });

    test("begun in Python, continued in JavaScript, ended in Python", async () => {
        const begun = await python.call("begin", "p/ä");
        expect(begun.next).toEqual(["review"]);
        expect(begun.interrupts).toEqual([{ log: ["written in Python"] }]);
        const { next, values, tasks } = await graph.getState(at("p/ä"));
        expect(next).toEqual(["review"]);
        // The ids of tasks differ, so that LangGraph.js does not know whose the interrupt is.
        expect(tasks[0].interrupts).toEqual([]);
        expect(values.log).toEqual(["written in Python"]);
        const [first, second] = values.messages;
        expect(first).toBeInstanceOf(HumanMessage);
        expect(first).toMatchObject({ id: "m-1", content: "find" });
        expect(first.additional_kwargs).toEqual({ tone: "kind" });
        expect(second).toBeInstanceOf(AIMessage);
        expect(second.tool_calls).toMatchObject([{ name: "search", args: { q: "leases" } }]);
        expect(await history("p/ä")).toEqual(await python.call("history", "p/ä"));

        await graph.invoke(new Command({ resume: "approved" }), at("p/ä"));
        const sent = await python.call("state", "p/ä");
        expect(sent.next).toEqual(["each", "each"]);
        expect(sent.values.messages).toEqual(begun.values.messages);
        const { values: last } = await python.call("go_on", "p/ä");
        const log = ["written in Python", "approved in JavaScript", "a in Python", "b in Python"];
        expect(last.log).toEqual(log);
        expect((await graph.getState(at("p/ä"))).values.log).toEqual(log);
        expect(await history("p/ä")).toEqual(await python.call("history", "p/ä"));
    });

    test("begun in JavaScript, continued in Python, ended in JavaScript", async () => {
        const given = { log: [], messages: [message()], values: { set: new Set([1, 2]) } };
        await graph.invoke(given, at("j"));
        const begun = await python.call("state", "j");
        expect(begun.next).toEqual(["review"]);
        expect(begun.interrupts).toEqual([]);
        expect(begun.values).toMatchObject({
            log: ["written in JavaScript"],
            messages: [
                { type: "human", text: "find", id: "m-1", more: { tone: "kind" } },
                { type: "ai", text: "found", calls: [{ name: "search", args: { q: "leases" } }] },
            ],
            values: { set: [1, 2] },
        });
        await python.call("resume", "j", "approved");
        expect((await graph.getState(at("j"))).next).toEqual(["each", "each"]);
        const { log } = await graph.invoke(null, at("j"));
        const wanted = ["written in JavaScript", "approved in Python"];
        expect(log).toEqual([...wanted, "a in JavaScript", "b in JavaScript"]);
        expect((await python.call("state", "j")).values.log).toEqual(log);
    });

    test("values of Python", async () => {
        await python.call("begin", "values");
        const { values } = (await graph.getState(at("values"))).values;
        expect(values).toEqual({
            set: new Set([1, 2]),
            bytes: Uint8Array.of(0, 255),
            when: "2026-11-18T00:00:00+00:00",
            id: "12345678-1234-5678-1234-567812345678",
            point: { x: 1, y: 2 },
            pair: [1, "two"],
            numbers: [0, -1, 127, 128, -33, 70_000, -70_000, 2 ** 40, -(2 ** 40), 1.5, true, null],
            by_number: new Map([[1, "one"]]),
            nested: { ä: Array(20).fill({ deep: new Set(["er"]) }) },
            text: "é😀".repeat(40),
            looks_like: { lc: 3, lg_name: "Send" },
        });
    });

    test("values of JavaScript", async () => {
        const values = {
            set: new Set(["a"]),
            map: new Map([[1, "one"]]),
            bytes: Uint8Array.of(0, 255),
            nothing: undefined,
            when: new Date(0),
            objects: new Set([{}]),
        };
        await graph.invoke({ log: [], messages: [], values }, at("kinds"));
        expect(await python.call("kinds", "kinds")).toEqual({
            set: "set",
            map: "dict",
            bytes: "bytes",
            nothing: "NoneType",
            when: "str",
            objects: "dict",
        });
    });

    test("values too large for a checkpoint", async () => {
        const large = "é😀".repeat(400_000);
        await python.call("begin", "large", large);
        expect((await graph.getState(at("large"))).values.values === large).toBe(true);
        await graph.invoke({ log: [], messages: [], values: `${large}.` }, at("large too"));
        const { values } = await python.call("state", "large too");
        expect(values.values === `${large}.`).toBe(true);
    });

    test("threads are listed and deleted, and memories are found", async () => {
        await graph.invoke({ log: [] }, at("to be deleted"));
        const names = new Set();
        for await (const { config } of saver.list({})) names.add(config.configurable.thread_id);
        expect(await python.call("threads")).toEqual([...names].sort());
        await python.call("delete", "to be deleted");
        expect(await saver.getTuple(at("to be deleted"))).toBe(undefined);
        await saver.deleteThread("large");
        expect((await python.call("state", "large")).values).toEqual({});

        const store = new BatonStore(workspace);
        await store.put(["memories"], "js", { of: "JavaScript" });
        expect(await python.call("remember", "python", { of: "Python" })).toEqual(["js", "python"]);
        expect((await store.get(["memories"], "python")).value).toEqual({ of: "Python" });
    });
});
