// The server is killed, restarted, frozen and shut down under a client.

import assert from "node:assert/strict";
import { connect as connectTo, createServer } from "node:net";
import { after, before, test } from "node:test";
import { connect, OutcomeUnknownError } from "../node.js";
import { fresh, Server } from "./server.mjs";

const EVENTS = Number(process.env.BATON_JS_EVENTS ?? 2_000);
const KILLS = 5;

/** @type {Server} */
let server;
before(async () => (server = await Server.start()));
after(() => server.end());

for (const transport of ["socket", "http"]) {
    test(`another server is used over ${transport} when one fails`, async () => {
        const [first, second, name] = [await Server.start(), await Server.start(), fresh()];
        const urls = `http://127.0.0.1:9,${first.url}, ${second.url}`;
        const client = await connect(urls, { transport });
        const { state } = client.workspace(name);
        await state.set("k", 1);
        assert.equal(client.url, first.url);
        await first.kill();
        // The second server has other data, so the entry shows which one answers.
        assert.equal(await state.find("k"), undefined);
        assert.equal(client.url, second.url);
        await client.close();
        await Promise.all([first.end(), second.end()]);
    });

    test(`a watch over ${transport} misses nothing and repeats nothing while the server is killed`, async () => {
        const name = fresh();
        const [watcher, writer] = [
            await connect(server.url, { transport }),
            await connect(server.url),
        ];
        const { state } = writer.workspace(name);
        const seen = [];
        const watch = watcher.workspace(name).watch("state/**", { from: 1 });
        const reading = (async () => {
            for await (const { key } of watch) {
                seen.push(Number(key));
                if (seen.length === EVENTS) return;
            }
        })();
        let written = 0;
        const writing = (async () => {
            while (written < EVENTS) {
                const batch = Array.from({ length: Math.min(100, EVENTS - written) }, (_, index) =>
                    state.set(String(written + index), 1, { timeoutMs: 60_000 }),
                );
                await Promise.all(batch);
                written += batch.length;
            }
        })();
        for (let kill = 1; kill <= KILLS; kill += 1) {
            while (written < (EVENTS * kill) / (KILLS + 1))
                await new Promise((resolve) => setTimeout(resolve, 5));
            await server.kill();
            await server.start();
        }
        await writing;
        await reading;
        await watch.return();
        assert.deepEqual(new Set(seen).size, EVENTS, "every key once");
        const history = [];
        for await (const event of writer
            .workspace(name)
            .events.historyAll({ order: "oldest", limit: 1_000 })) {
            history.push(Number(event.key));
        }
        assert.deepEqual(seen, history);
        await Promise.all([watcher.close(), writer.close()]);
    });
}

/** In front of a server: passes on what it gets, and names the owner of the workspace. */
async function namingOwner(server, owner) {
    const workspaces = [];
    const front = createServer((client) => {
        const upstream = connectTo(Number(new URL(server).port), "127.0.0.1");
        client.once("data", (request) => {
            workspaces.push(/^baton-workspace: (.*)\r$/im.exec(request.toString("latin1"))?.[1]);
            upstream.write(request);
            client.pipe(upstream);
        });
        upstream.once("data", (response) => {
            const text = response.toString("latin1");
            const named = text.replace("\r\n", `\r\nbaton-owner: ${owner}\r\n`);
            client.write(Buffer.from(named, "latin1"));
            upstream.pipe(client);
        });
        for (const one of [client, upstream]) one.on("error", () => one.destroy());
    });
    await new Promise((resolve) => front.listen(0, "127.0.0.1", resolve));
    return { url: `http://127.0.0.1:${front.address().port}`, workspaces, close: () => front.close() };
}

test("the owner of the workspace is used", async () => {
    const [first, owner, workspace] = [await Server.start(), await Server.start(), fresh()];
    const away = "http://127.0.0.1:9";
    const front = await namingOwner(first.url, owner.url);
    const lost = await namingOwner(first.url, away);
    for (const [urls, used] of [
        [`${front.url},${owner.url}`, owner.url],
        [front.url, front.url],
        [`${front.url},${away}`, front.url],
        [`${lost.url},${away}`, lost.url],
    ]) {
        const client = await connect(urls, { workspace });
        assert.equal(client.url, used);
        assert.equal(await client.workspace().state.find("k"), undefined);
        await client.close();
    }
    assert.deepEqual(front.workspaces, [workspace, workspace, workspace]);
    front.close();
    lost.close();
    await Promise.all([first.end(), owner.end()]);
});

test("calls continue over a restart, with one effect each", async () => {
    const client = await connect(server.url);
    const ada = client.workspace(fresh());
    await ada.state.set("n", 0);
    const counting = Promise.all(Array.from({ length: 200 }, () => ada.state.increment("n")));
    await server.kill();
    await server.start();
    await counting;
    assert.equal((await ada.state.get("n")).value, 200);
    await client.close();
});

test("a waiting call takes its place again after a restart", async () => {
    const client = await connect(server.url);
    const ada = client.workspace(fresh(), { agent: "ada" });
    const first = await ada.lock("door");
    const waiting = ada.as("bob").lock("door");
    while (!(await ada.locks.get("door")).waiters?.length)
        await new Promise((resolve) => setTimeout(resolve, 5));
    await server.kill();
    await server.start();
    await first.release();
    const second = await waiting;
    assert.ok(second.token > first.token);
    await second.release();
    await client.close();
});

test("without keys, a command that was in flight has an unknown outcome", async () => {
    const client = await connect(server.url, { automaticKeys: false });
    const ada = client.workspace(fresh());
    await ada.state.set("n", 0);
    server.freeze();
    const isUnknown = (error) => error instanceof OutcomeUnknownError && error.isUnknown;
    const rejected = assert.rejects(ada.state.increment("n"), isUnknown);
    const asking = ada.state.get("n");
    await new Promise((resolve) => setTimeout(resolve, 50));
    await server.kill();
    await rejected;
    await server.start();
    assert.equal((await asking).value, 0, "a query is asked again");
    await client.close();
});

test("a server that does not answer: timeouts say what is known", async () => {
    const client = await connect(server.url, { requestTimeoutMs: 200 });
    const ada = client.workspace(fresh());
    await ada.state.set("n", 0);
    server.freeze();
    await assert.rejects(ada.state.get("n"), { code: "client.timeout" });
    await assert.rejects(ada.state.set("n", 1), { code: "client.unknown_outcome" });
    server.thaw();
    assert.equal((await ada.state.get("n", { timeoutMs: 10_000 })).version >= 1, true);
    await client.close();
});

test("a silent server is left, and calls go to the next connection", async () => {
    const client = await connect(server.url, { silenceMaxMs: 400 });
    const ada = client.workspace(fresh());
    await ada.state.set("n", 0);
    server.freeze();
    const asking = ada.state.get("n");
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    server.thaw();
    assert.equal((await asking).value, 0);
    await client.close();
});

test("a server that is away: nothing was done, and the watch continues later", async () => {
    const client = await connect(server.url, { requestTimeoutMs: 300 });
    const ada = client.workspace(fresh());
    await ada.state.set("n", 0);
    const watch = ada.watch("state/**");
    await watch.started;
    // A server that shuts down answers what it has begun, and refuses the rest.
    await server.kill("SIGTERM");
    await assert.rejects(ada.state.set("n", 1), { code: "client.unreachable" });
    await server.start();
    await ada.state.set("n", 2, { timeoutMs: 10_000 });
    assert.equal((await watch.next()).value.value, 2);
    await client.close();
});

test("a lock whose server is away for longer than it lasts is lost", async () => {
    const client = await connect(server.url);
    const lock = await client.workspace(fresh()).lock("door", { ttl_ms: 1_000 });
    server.freeze();
    await new Promise((resolve) => lock.signal.addEventListener("abort", resolve));
    assert.match(lock.signal.reason.message, /could not be renewed within 1000 ms/);
    server.thaw();
    await lock[Symbol.asyncDispose]();
    await client.close();
});

for (const transport of ["socket", "http"]) {
    test(`closing over ${transport} does not wait for calls that the client makes by itself`, async () => {
        const away = await Server.start();
        // Longer than the test may take: what closing waits for would be waited for until then.
        const client = await connect(away.url, { transport, requestTimeoutMs: 600_000 });
        const ada = client.workspace(fresh(), { agent: "ada" });
        await ada.lock("door", { ttl_ms: 300 });
        const service = ada.as("bob").service({ ttl_ms: 300 });
        const running = service.run();
        await ada.tasks.create("write");
        await ada.claim({ lease_ms: 300 });
        while ((await ada.agents.list()).agents.length === 0);
        const claiming = assert.rejects(ada.tasks.claim({ types: ["other"], wait_ms: 600_000 }));
        await away.kill();
        const late = assert.rejects(ada.tasks.claim({ types: ["other"], wait_ms: 600_000 }));
        const end = new AbortController();
        const watch = ada.watch("**", { signal: end.signal });
        const read = assert.rejects(watch.next());
        const unread = ada.watch("**");
        // Until all of them have been renewed, or were to be.
        await new Promise((resolve) => setTimeout(resolve, 250));
        end.abort();
        await client.close();
        await Promise.all([claiming, late, read, assert.rejects(unread.started)]);
        service.stop();
        await running;
        await away.end();
    });
}
