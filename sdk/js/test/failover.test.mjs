// Several servers, of which some fall silent, refuse or cannot serve: calls go to the next one.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createServer as createHttpServer } from "node:http";
import { connect as connectTo, createServer } from "node:net";
import { after, before, test } from "node:test";
import { connect } from "../node.js";
import { connect as connectInBrowser } from "../index.js";
import { Servers } from "../src/address.js";
import { Connection } from "../src/connection.js";
import { settingsOf } from "../src/options.js";
import { Pulse } from "../src/pulse.js";
import { fresh, Server } from "./server.mjs";

/** @type {Server} */
let server;
before(async () => (server = await Server.start()));
after(() => server.end());

test("a silent server is pinged in the second half of the time, and gone at its end", () => {
    const pulse = new Pulse(8_000, 100);
    const seen = [];
    while (seen.at(-1)?.[1] !== "gone") {
        assert.equal(pulse.beat(pulse.due - 1), "nothing");
        seen.push([pulse.due, pulse.beat(pulse.due)]);
    }
    assert.deepEqual(seen, [[4_100, "ping"], [6_100, "ping"], [8_100, "gone"]]);
    assert.equal(pulse.silence(8_100), 8_000);
});

test("a sign of life begins the time again", () => {
    const pulse = new Pulse(8_000, 0);
    assert.deepEqual([pulse.beat(4_000), pulse.beat(6_000)], ["ping", "ping"]);
    pulse.heard(7_999);
    assert.equal(pulse.beat(8_000), "nothing");
    assert.equal(pulse.due, 11_999);
});

test("a client that was held up asks again", () => {
    const pulse = new Pulse(8_000, 0);
    assert.deepEqual([pulse.beat(50_000), pulse.beat(52_000)], ["ping", "ping"]);
    // What the server answered may not have been read: the end was due at 54,000.
    assert.equal(pulse.beat(70_000), "ping");
    assert.equal(pulse.beat(72_000), "gone");
});

test("a call outlives three dead servers", () => {
    const { silenceMaxMs, connectTimeoutMs, backoffMaxMs, requestTimeoutMs } = settingsOf({});
    assert.ok(silenceMaxMs + 3 * connectTimeoutMs + backoffMaxMs < requestTimeoutMs);
    assert.ok(silenceMaxMs < 10_000);
});

test("silence is noticed at its end, and the next server is dialled", async (context) => {
    context.mock.timers.enable({ apis: ["setTimeout", "Date"] });
    const servers = new Servers("http://a,http://b,http://c");
    const dialled = [];
    const sent = [];
    const dial = async ({ http }) => {
        dialled.push([Date.now(), http]);
        return { send: () => sent.push(Date.now()), close: () => {}, owner: "http://a:4747" };
    };
    const broken = [];
    const events = {
        onOpen: () => {},
        onMessage: () => {},
        onDenied: () => {},
        onBroken: (reason) => broken.push([Date.now(), reason]),
    };
    const connection = new Connection(servers, settingsOf({}), dial, events, () => Date.now());
    await connection.open();
    for (let now = 0; now < 8_100; now += 10) {
        context.mock.timers.tick(10);
        await Promise.resolve();
    }
    while (dialled.length < 2) await Promise.resolve();
    assert.deepEqual(broken, [[8_000, "nothing was received for 8000 ms"]]);
    assert.deepEqual(sent, [4_000, 6_000]);
    // The server that fell silent is not dialled as the owner either.
    assert.deepEqual(dialled.map(([, http]) => http), ["http://a:4747", "http://b:4747"]);
    connection.close();
});

test("a server that was left is tried last, and one that refused is not asked again as the owner", async () => {
    const servers = new Servers("http://a,http://b,http://c");
    const tried = [];
    const connectAs = (owner, refusing) =>
        servers.connectToOwner(async ({ http }) => {
            tried.push(http.slice(7, 8));
            if (refusing.includes(http)) {
                const { unreachable } = await import("../src/errors.js");
                throw unreachable(http, "away");
            }
            return { owner, close: () => {} };
        });
    servers.leave(false);
    await connectAs("http://c:4747", []);
    assert.deepEqual(tried.splice(0), ["b", "c"], "the owner is preferred");
    servers.leave(true);
    await connectAs("http://c:4747", []);
    assert.deepEqual(tried.splice(0), ["a"], "but not if it is suspect");
    servers.leave(false);
    await connectAs("http://b:4747", ["http://b:4747"]);
    assert.deepEqual(tried.splice(0), ["b", "c"], "nor if it has just refused");
});

/**
 * In front of a server: passes bytes on until it falls silent, like a process that is stopped. From
 * then on it still accepts connections, as the kernel does for a stopped process.
 */
async function frontOf({ url }) {
    const sockets = new Set();
    const front = { dials: 0, isSilent: false, url: "", close: () => {} };
    const listener = createServer((client) => {
        front.dials += 1;
        const upstream = connectTo(Number(new URL(url).port), "127.0.0.1");
        for (const [one, other] of [[client, upstream], [upstream, client]]) {
            sockets.add(one);
            one.on("data", (data) => front.isSilent || other.write(data));
            one.on("error", () => {});
            one.on("close", () => other.destroy());
        }
    });
    await new Promise((resolve) => listener.listen(0, "127.0.0.1", resolve));
    front.url = `http://127.0.0.1:${listener.address().port}`;
    front.close = () => {
        for (const socket of sockets) socket.destroy();
        listener.close();
    };
    return front;
}

for (const silent of [1, 2]) {
    test(`of three servers, ${silent} that fell silent are dialled last`, async () => {
        const fronts = await Promise.all([server, server, server].map(frontOf));
        const urls = fronts.map(({ url }) => url).join(",");
        const client = await connect(urls, { silenceMaxMs: 400, connectTimeoutMs: 400 });
        const { state } = client.workspace(fresh());
        await state.set("n", 0);
        for (const front of fronts.slice(0, silent)) front.isSilent = true;
        assert.equal((await state.set("n", 1)).version, 2, "it has one effect");
        assert.deepEqual(fronts.map(({ dials }) => dials), silent === 1 ? [1, 1, 0] : [1, 1, 1]);
        await client.close();
        for (const front of fronts) front.close();
    });
}

test("over HTTP, a server that is silent for most of the time is left", async () => {
    const fronts = await Promise.all([server, server].map(frontOf));
    const urls = fronts.map(({ url }) => url).join(",");
    const client = await connect(urls, { transport: "http" });
    const { state } = client.workspace(fresh());
    await state.set("n", 0);
    fronts[0].isSilent = true;
    const { version } = await state.set("n", 1, { timeoutMs: 3_000 });
    assert.equal(version, 2, "it has one effect");
    assert.equal(client.url, fronts[1].url);
    await client.close();
    for (const front of fronts) front.close();
});

const away = (code) => ({
    error: { code, kind: "unavailable", detail: "the log has not answered for 9 s", hint: "retry" },
});
const SERVED = { revision: 7, result: { version: 5 } };

/** The text of a frame that a client has sent, which is masked and short. @param {Buffer} bytes */
function* textsOf(bytes) {
    while (bytes.length > 0) {
        const short = bytes[1] & 0x7f;
        const start = short === 126 ? 8 : 6;
        const length = short === 126 ? bytes.readUInt16BE(2) : short;
        const mask = bytes.subarray(start - 4, start);
        const payload = bytes.subarray(start, start + length).map((it, at) => it ^ mask[at & 3]);
        if ((bytes[0] & 0xf) === 1) yield payload.toString();
        bytes = bytes.subarray(start + length);
    }
}

/** A server that answers every call in the same way. */
async function scripted(answer) {
    const calls = [];
    const listener = createHttpServer((request, response) => {
        let body = "";
        request.on("data", (data) => (body += data));
        request.on("end", () => {
            const isProbe = request.method === "GET";
            if (!isProbe) calls.push(JSON.parse(body));
            const problem = isProbe ? { code: "request.x", kind: "invalid" } : answer.error;
            response.writeHead(problem ? 503 : 200, { "content-type": "application/json" });
            response.end(JSON.stringify(problem ?? answer));
        });
    });
    const sockets = new Set();
    listener.on("upgrade", (request, socket) => {
        sockets.add(socket);
        socket.on("error", () => {});
        const accepted = createHash("sha1")
            .update(`${request.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
            .digest("base64");
        const head = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade"];
        const own = ["Sec-WebSocket-Protocol: baton.v1.json", `Sec-WebSocket-Accept: ${accepted}`];
        socket.write([...head, ...own, "", ""].join("\r\n"));
        socket.on("data", (data) => {
            for (const text of textsOf(data)) {
                const call = JSON.parse(text);
                calls.push(call);
                const payload = Buffer.from(JSON.stringify({ id: call.id, ...answer }));
                const length = payload.length < 126 ? [payload.length] : [126, 0, payload.length];
                socket.write(Buffer.concat([Buffer.from([0x81, ...length]), payload]));
            }
        });
    });
    await new Promise((resolve) => listener.listen(0, "127.0.0.1", resolve));
    const close = () => {
        for (const socket of sockets) socket.destroy();
        listener.closeAllConnections();
        listener.close();
    };
    return { url: `http://127.0.0.1:${listener.address().port}`, calls, close };
}

/** Makes a call through servers that answer so, and gives them to `check` with the outcome. */
async function callThrough(answers, options, check, call = (state) => state.set("k", 1)) {
    const servers = await Promise.all(answers.map(scripted));
    const client = await connect(servers.map(({ url }) => url).join(","), options);
    const workspace = client.workspace("w");
    try {
        await check(call(workspace.state, workspace), servers.map(({ calls }) => calls));
    } finally {
        await client.close();
        for (const each of servers) each.close();
    }
}

for (const transport of ["socket", "http"]) {
    for (const code of ["log.away", "log.fenced", "engine.unknown_outcome"]) {
        test(`a server that refuses with ${code} over ${transport} is left`, () =>
            callThrough([away(code), SERVED], { transport }, async (setting, [first, second]) => {
                assert.equal((await setting).version, 5);
                assert.deepEqual([first.length, second.length], [1, 1]);
                assert.equal(second[0].idempotency_key, first[0].idempotency_key);
            }));
    }

    test(`a refusal over ${transport} that does not pass is thrown in the end`, () => {
        const options = { transport, requestTimeoutMs: 1_000, backoffMaxMs: 50 };
        const answers = [away("log.away"), away("log.away")];
        const isRefused = async (reading, calls) => {
            await assert.rejects(reading, { code: "log.away" });
            assert.ok(calls.every(({ length }) => length > 0));
        };
        // A query: of a command in flight at the end, the outcome would be unknown.
        return callThrough(answers, options, isRefused, (state) => state.get("k"));
    });

    test(`what another server would refuse too is thrown at once over ${transport}`, () =>
        callThrough([away("engine.full"), SERVED], { transport }, async (setting, [first, second]) => {
            await assert.rejects(setting, { code: "engine.full" });
            assert.deepEqual([first.length, second.length], [1, 0]);
        }));

    test(`what may not be repeated is refused at once over ${transport}`, () => {
        const options = { transport, automaticKeys: false };
        const answers = [away("cluster.owner_lost"), SERVED];
        return callThrough(answers, options, async (setting, [first, second]) => {
            await assert.rejects(setting, { code: "cluster.owner_lost" });
            assert.deepEqual([first.length, second.length], [1, 0]);
        });
    });

    test(`a single server that cannot serve says so at once over ${transport}`, () =>
        callThrough([away("log.away")], { transport }, async (setting, [only]) => {
            await assert.rejects(setting, { code: "log.away" });
            assert.equal(only.length, 1);
        }));
}

test("a watch leaves a server that cannot serve", () => {
    const answers = [away("log.away"), { revision: 7, result: { from: 8 } }];
    return callThrough(
        answers,
        {},
        async (started, [first, second]) => {
            await started;
            assert.deepEqual([first.length, second.length], [1, 1]);
            assert.deepEqual(second[0], { ...first[0], id: second[0].id });
        },
        (_, workspace) => workspace.watch("state/**").started,
    );
});

test("variables that are set to nothing are not set", async () => {
    const names = ["BATON_TOKEN", "BATON_AGENT", "BATON_WORKSPACE"];
    for (const name of names) process.env[name] = "";
    try {
        for (const open of [connect, connectInBrowser]) {
            const client = await open(server.url, { transport: "http" });
            const own = client.workspace();
            await own.state.set("k", 1);
            assert.deepEqual([own.name, own.agent], ["default", "anonymous"]);
            await client.close();
        }
    } finally {
        for (const name of names) delete process.env[name];
    }
});

test("over HTTP, a timeout says what is known", async () => {
    const front = await frontOf(server);
    const client = await connect(front.url, { transport: "http", requestTimeoutMs: 200 });
    const { state } = client.workspace(fresh());
    front.isSilent = true;
    await assert.rejects(state.find("n"), { code: "client.timeout" });
    await assert.rejects(state.set("n", 1), { code: "client.unknown_outcome" });
    await client.close();
    front.close();
});
