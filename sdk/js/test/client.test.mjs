// Calls against the real program, over a WebSocket and over HTTP.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { connect, ConflictError, DeniedError, NotFoundError, UnavailableError } from "../node.js";
import { fresh, Server } from "./server.mjs";

/** @type {Server} */
let server;
before(async () => (server = await Server.start()));
after(() => server.end());

for (const transport of ["socket", "http"]) {
    describe(`over ${transport}`, () => {
        let client;
        before(async () => (client = await connect(server.url, { transport, agent: "ada" })));
        after(() => client.close());
        const workspace = (agent = "ada") => client.workspace(fresh(), { agent });

        test("entries: write, read, find, patch, delete, list", async () => {
            const { state } = workspace();
            const first = await state.set("plan", { step: 1 });
            assert.equal(first.version, 1);
            assert.equal(first.updated_by, "ada");
            assert.deepEqual((await state.get("plan")).value, { step: 1 });
            assert.equal(await state.find("missing"), undefined);
            await assert.rejects(state.get("missing"), (error) => {
                assert.ok(error instanceof NotFoundError);
                assert.equal(error.code, "state.not_found");
                return error.hint !== "";
            });
            await state.merge("plan", { by: "ada" });
            await state.increment("count", 2);
            await state.append("log", ["a", "b"]);
            assert.deepEqual((await state.get("plan")).value, { step: 1, by: "ada" });
            await state
                .in("agent:x")
                .set("k", 1)
                .catch((error) => assert.equal(error.kind, "not_found"));
            const keys = [];
            for await (const entry of state.listAll({ limit: 1 })) keys.push(entry.key);
            assert.deepEqual(keys, ["count", "log", "plan"]);
            await state.delete("log");
            assert.equal(await state.find("log"), undefined);
        });

        test("a lost race reports the winner, and update repeats", async () => {
            const { state } = workspace();
            await state.set("n", 1);
            await assert.rejects(state.set("n", 2, { expected_version: 0 }), (error) => {
                assert.ok(error instanceof ConflictError);
                return error.facts.entry.value === 1;
            });
            await Promise.all(
                Array.from({ length: 20 }, () => state.update("n", (n = 0) => n + 1)),
            );
            assert.equal((await state.get("n")).value, 21);
            assert.equal((await state.update("new", (value) => value ?? "made")).value, "made");
            await assert.rejects(
                state.update("n", () => {
                    throw new Error("mine");
                }),
                /mine/,
            );
        });

        test("a batch is sent together, and each call counts by itself", async () => {
            const ada = workspace();
            const key = { namespace: "shared", key: "a" };
            const outcomes = await ada.batch([
                { command: "state.set", ...key, value: 1 },
                { command: "state.set", ...key, value: 2, expected_version: 9 },
                { command: "state.get", ...key },
                { command: "task.create", type: "write", id: "t" },
            ]);
            const [set, refused, read, created] = outcomes;
            assert.equal(set.value?.result.version, 1);
            assert.ok(refused.reason instanceof ConflictError);
            assert.equal(refused.reason.facts.entry.value, 1);
            assert.equal(read.value?.result.value, 1);
            assert.equal(created.value?.result.id, "t");
            const many = await ada.batch(
                Array.from({ length: 1_500 }, () => ({
                    command: /** @type {const} */ ("state.patch"),
                    namespace: "shared",
                    key: "count",
                    increment: 1,
                })),
            );
            assert.equal(many.at(-1)?.value?.result.value, 1_500);
            assert.deepEqual(await ada.batch([]), []);
            const stale = await ada.under(123_456).batch([{ command: "state.set", ...key, value: 3 }]);
            assert.equal(stale[0].reason.kind, "stale");
            await assert.rejects(
                ada
                    .batch([{ command: "state.get", ...key }], { signal: AbortSignal.abort() })
                    .then(([it]) => Promise.reject(it.reason)),
                { name: "AbortError" },
            );
        });

        test("a transaction is all or nothing", async () => {
            const ada = workspace();
            const { results } = await ada.transaction([
                { command: "state.set", namespace: "shared", key: "a", value: 1 },
                { command: "task.create", type: "write", id: "t" },
            ]);
            assert.equal(results[0].version, 1);
            assert.equal(results[1].id, "t");
            const require = [{ entry: { namespace: "shared", key: "a", version: 7 } }];
            await assert.rejects(
                ada.transaction(
                    [{ command: "state.set", namespace: "shared", key: "a", value: 2 }],
                    { require },
                ),
                { kind: "conflict" },
            );
            assert.equal((await ada.state.get("a")).value, 1);
        });

        test("the past, a token and another agent are views of a workspace", async () => {
            const ada = workspace();
            const { revision } = await ada.state.set("a", 1);
            await ada.state.set("a", 2);
            assert.equal((await ada.at(revision).state.get("a")).value, 1);
            assert.equal((await ada.as("bob").state.set("b", 1)).updated_by, "bob");
            const hold = await ada.locks.acquire("door");
            const under = ada.under(hold.token);
            await under.state.set("c", 1);
            await ada.locks.release("door", hold.token);
            await assert.rejects(under.state.set("c", 2), {
                code: "request.stale_token",
                kind: "stale",
            });
            await assert.rejects(
                under.transaction([
                    { command: "state.set", namespace: "shared", key: "c", value: 2 },
                ]),
                {
                    code: "transaction.precondition_failed",
                },
            );
        });

        test("a repeated key has one effect", async () => {
            const ada = workspace();
            const first = await ada.state.increment("n", 1, { idempotencyKey: "once" });
            const second = await ada.state.increment("n", 1, { idempotencyKey: "once" });
            assert.deepEqual(second, first);
        });

        test("lists of tasks are narrowed by agent, not by who asks", async () => {
            const ada = workspace();
            await ada.tasks.create("write", { assigned_agent: "bob" });
            assert.equal((await ada.tasks.list()).tasks.length, 1);
            const { tasks } = await ada.tasks.list({ agent: "cem" });
            assert.equal(tasks.length, 0);
        });

        test("values that are not JSON, and names that are not valid", async () => {
            const { state } = workspace();
            await assert.rejects(state.set("a", undefined), { code: "request.missing_field" });
            await assert.rejects(state.set("a", NaN), { code: "client.not_json" });
            await assert.rejects(state.set("a", 10n), { code: "client.not_json" });
            await assert.rejects(state.set("", 1), { kind: "invalid" });
            await assert.rejects(state.set("a", "x".repeat(1_100_000)), { kind: "too_large" });
            await assert.rejects(state.set("a", "x".repeat(9_500_000)), {
                code: "request.too_large",
            });
            await assert.rejects(state.set("a", "\ud800"), { kind: "invalid" });
            await state.set("a", { text: "é😀\u2028", list: [1.5, -0.1, 1e300, null, true] });
            assert.deepEqual((await state.get("a")).value, {
                text: "é😀\u2028",
                list: [1.5, -0.1, 1e300, null, true],
            });
        });

        test("a wait can be aborted, and what it is granted later is given back", async () => {
            const ada = workspace();
            const first = await ada.locks.acquire("door");
            const controller = new AbortController();
            const waiting = ada
                .as("bob")
                .locks.acquire("door", { wait_ms: 60_000, signal: controller.signal });
            await until(async () => (await ada.locks.get("door")).waiters?.length === 1);
            controller.abort(new Error("enough"));
            await assert.rejects(waiting, /enough/);
            await ada.locks.release("door", first.token);
            await until(async () => (await ada.locks.get("door")).status === "free");
            await assert.rejects(
                ada.state.get("a", { signal: AbortSignal.abort(new Error("before")) }),
                /before/,
            );
        });

        test("a watch: from a revision, of types, with a snapshot, left by break", async () => {
            const ada = workspace();
            await ada.state.set("a", 1);
            await ada.tasks.create("write", { id: "t" });
            const seen = [];
            for await (const event of ada.watch("**", { from: 1, types: ["task.created"] })) {
                seen.push(event.task);
                break;
            }
            assert.deepEqual(seen, ["t"]);
            const watch = ada.watch("state/**", { snapshot: true });
            const { value } = await watch.next();
            assert.equal(value.type, "snapshot");
            assert.deepEqual(
                value.entries.map((entry) => entry.key),
                ["a"],
            );
            await watch.started;
            await ada.state.set("b", 2);
            assert.equal((await watch.next()).value.key, "b");
            await watch.return();
            const now = ada.watch("state/**");
            await now.started;
            await ada.state.set("c", 3);
            assert.equal((await now.next()).value.key, "c");
            await now.return();
            const bad = ada.watch("");
            await assert.rejects(bad.next(), { kind: "invalid" });
        });

        test("a stream of frames ends when it is closed", async () => {
            const ada = workspace();
            await ada.streams.create("tokens");
            await ada.streams.send("tokens", { frames: ["one", "two"] });
            const reading = (async () => {
                const words = [];
                for await (const { data } of ada.streams.frames("tokens")) words.push(data);
                return words;
            })();
            await ada.streams.send("tokens", { data: "three" });
            await ada.streams.close("tokens");
            assert.deepEqual(await reading, ["one", "two", "three"]);
        });

        test("artifacts are streams of bytes", async () => {
            const ada = workspace();
            async function* pieces() {
                for (let index = 0; index < 40; index += 1)
                    yield new Uint8Array(65_536).fill(index);
            }
            const put = await ada.artifacts.put(pieces(), {
                name: "large",
                media_type: "application/x-test",
            });
            assert.equal(put.bytes, 40 * 65_536);
            const response = await ada.artifacts.read(put.artifact);
            let bytes = 0;
            for await (const piece of response.body) bytes += piece.length;
            assert.equal(bytes, put.bytes);
            const tail = await ada.artifacts.read(put.artifact, { from: put.bytes - 1 });
            assert.deepEqual([...new Uint8Array(await tail.arrayBuffer())], [39]);
            await assert.rejects(ada.artifacts.put("x", { expected: put.artifact }), {
                kind: "invalid",
            });
            await assert.rejects(ada.artifacts.read("sha256:" + "0".repeat(64)), {
                kind: "not_found",
            });
            const secret = await ada.secrets.put("hush");
            assert.equal(new TextDecoder().decode(await ada.secrets.reveal(secret.secret)), "hush");
        });

        test("export and import", async () => {
            const ada = workspace();
            await ada.state.set("a", 1);
            const copy = workspace();
            await copy.import((await ada.export()).body);
            assert.equal((await copy.state.get("a")).value, 1);
        });

        test("the state of a conversation", async () => {
            const session = workspace().session("app", "user", "s1");
            await session.apply({
                "app:theme": "dark",
                "user:name": "ada",
                plan: [1],
                "temp:draft": "x",
            });
            assert.deepEqual(await session.state(), {
                "app:theme": "dark",
                "user:name": "ada",
                plan: [1],
                "temp:draft": "x",
            });
            assert.equal(await session.get("app:theme"), "dark");
            assert.equal(await session.get("nothing"), undefined);
            assert.throws(() => workspace().session("a/b", "u", "s"), { code: "request.bad_name" });
        });

        test("nothing works after close", async () => {
            const other = await connect(server.url, { transport });
            const it = other.workspace(fresh());
            const watch = it.watch("**");
            await watch.started;
            const last = it.state.set("a", 1);
            const waiting = it.locks
                .acquire("door")
                .then(() => it.locks.acquire("door", { wait_ms: 60_000 }));
            await it.state.set("b", 1);
            waiting.catch(() => {});
            await last;
            await until(async () => (await it.locks.get("door")).waiters?.length === 1);
            await other.close();
            await other.close();
            await assert.rejects(waiting, { code: "client.closed" });
            await assert.rejects(it.state.get("a"), { code: "client.closed", kind: "unavailable" });
            assert.throws(() => it.watch("**"), { code: "client.closed" });
            await assert.rejects(
                async () => {
                    for await (const _ of watch);
                },
                { code: "client.closed" },
            );
        });
    });
}

test("a server that is not there, and a URL that is none", async () => {
    for (const transport of ["socket", "http"]) {
        await assert.rejects(connect("http://127.0.0.1:1", { transport }), (error) => {
            assert.ok(error instanceof UnavailableError);
            return error.code === "client.unreachable" && error.message.includes("127.0.0.1:1");
        });
        await assert.rejects(connect("nonsense", { transport }), { code: "client.bad_url" });
    }
});

test("a wrong token is denied, with the reason of the server", async () => {
    const closed = await Server.start("--tokens");
    try {
        for (const transport of ["socket", "http"]) {
            await assert.rejects(
                connect(closed.url, { transport, token: "baton_wrong" }),
                (error) => {
                    assert.ok(error instanceof DeniedError);
                    return error.code === "access.bad_token";
                },
            );
            await assert.rejects(connect(closed.url, { transport }), { code: "access.no_token" });
            const admin = await connect(closed.url, { transport, token: closed.token });
            await admin.workspace().state.set("a", 1);
            const body = JSON.stringify({ name: fresh(), grant: { role: "reader" } });
            const headers = { "content-type": "application/json" };
            const made = await (
                await admin.fetch("/v1/access/tokens", { method: "POST", body, headers })
            ).json();
            const reader = await connect(closed.url, { transport, token: made.token });
            await assert.rejects(reader.workspace().state.set("a", 2), {
                code: "access.role",
                kind: "denied",
            });
            const watch = reader.workspace().watch("**");
            await watch.started;
            await admin.fetch(`/v1/access/tokens/${made.record?.id ?? made.id}`, {
                method: "DELETE",
            });
            await assert.rejects(watch.next(), { kind: "denied" });
            await assert.rejects(reader.workspace().state.get("a"), { kind: "denied" });
            await reader.close();
            await admin.close();
        }
    } finally {
        await closed.end();
    }
});

/** @param {() => Promise<boolean>} condition */
async function until(condition) {
    for (let attempt = 0; !(await condition()); attempt += 1) {
        if (attempt > 500) throw new Error("it did not happen");
        await new Promise((resolve) => setTimeout(resolve, 10));
    }
}
