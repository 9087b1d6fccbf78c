// The modules without I/O.

import assert from "node:assert/strict";
import { test } from "node:test";
import { parseAddress, Servers } from "../src/address.js";
import { Caller } from "../src/caller.js";
import { BatonError, ConflictError, fromProblem, OutcomeUnknownError, unreachable } from "../src/errors.js";
import { encode } from "../src/json.js";
import { backoff, settingsOf } from "../src/options.js";
import { Position } from "../src/position.js";
import { Requests } from "../src/requests.js";
import { serverSentEvents } from "../src/server-sent-events.js";
import { frame, FrameReader, TEXT } from "../src/sockets/frames.js";
import { frameOf, givingBack } from "../src/transport.js";
import { Watch } from "../src/watch.js";

test("addresses", () => {
    for (const [url, http] of [
        ["http://127.0.0.1:4747", "http://127.0.0.1:4747"],
        ["ws://localhost:80/", "http://localhost:80"],
        ["http://baton", "http://baton:4747"],
        ["https://baton.example", "https://baton.example:4747"],
        ["wss://[::1]:9/", "https://[::1]:9"],
    ]) {
        assert.equal(parseAddress(url).http, http);
    }
    for (const url of [
        "",
        "localhost:4747",
        "https://",
        "ftp://host",
        "http://:80",
        "http://host:",
        "http://host:port",
        "http://host:65536",
        "http://host/v1",
        "http://user@host",
        "http://host?x",
        "http://a b",
        "http://::1",
        "http://host\r\nX: y",
    ]) {
        assert.throws(() => parseAddress(url), { code: "client.bad_url", kind: "invalid" }, url);
    }
});

test("another server is used when one fails", async () => {
    const servers = new Servers("http://a, ws://b:1,http://c");
    assert.deepEqual([servers.url, servers.urls], ["http://a:4747", "http://a:4747,http://b:1,http://c:4747"]);
    const away = (name) => unreachable(name, "away");
    const tried = [];
    const connect = (accepted) =>
        servers.connect(async ({ http }) => {
            tried.push(http);
            if (!accepted.includes(http)) throw away(http);
            return http;
        });
    assert.equal(await connect(["http://b:1"]), "http://b:1");
    assert.equal(servers.url, "http://b:1");
    assert.equal(await connect(["http://a:4747"]), "http://a:4747");
    assert.deepEqual(tried.splice(0), ["http://a:4747", "http://b:1", "http://b:1", "http://c:4747", "http://a:4747"]);
    // When all fail, each was tried once, and the error is that of the one in use.
    await assert.rejects(connect([]), { message: /http:\/\/a:4747/ });
    assert.deepEqual(tried.splice(0), ["http://a:4747", "http://b:1", "http://c:4747"]);
    // A request that is at fault is not repeated elsewhere.
    const denied = fromProblem({ code: "access.denied", kind: "denied", detail: "no", hint: "" });
    await assert.rejects(servers.connect(async ({ http }) => (tried.push(http), Promise.reject(denied))), denied);
    assert.deepEqual(tried, ["http://a:4747"]);
    for (const urls of ["http://a,", ",http://a", "http://a,b", Array(33).fill("http://a").join(",")]) {
        assert.throws(() => new Servers(urls), { code: "client.bad_url" }, urls);
    }
});

test("waits double up to the longest, and are at least half of that", () => {
    const settings = settingsOf({});
    const waits = (chance) => [0, 1, 2, 30].map((failures) => backoff(settings, failures, chance));
    assert.deepEqual(waits(1), [50, 100, 200, 5_000]);
    assert.deepEqual(waits(0), [25, 50, 100, 2_500]);
});

test("a token with a line break is refused, and not repeated in the error", () => {
    assert.throws(
        () => settingsOf({ token: "baton_secret\n" }),
        (error) => error.code === "client.bad_token" && !error.message.includes("secret"),
    );
});

test("values that JSON cannot express are refused", () => {
    const circular = { name: "a" };
    circular.self = circular;
    for (const value of [
        NaN,
        Infinity,
        1n,
        () => 1,
        Symbol("s"),
        [undefined],
        new Map(),
        new Uint8Array(1),
        Buffer.from("a"),
        new ArrayBuffer(1),
        new Set(),
        new WeakMap(),
        Promise.resolve(1),
        new Error("e"),
        Object.assign(new Error("e"), { code: 1 }),
        /a/,
        new Date(NaN),
        new Blob([]),
        new Headers(),
        new URLSearchParams("a=b"),
        new Number(NaN),
        Object(10n),
        Object(Symbol("s")),
        "\ud800",
        circular,
    ]) {
        assert.throws(() => encode({ value }), { code: "client.not_json", kind: "invalid" });
        assert.throws(() => encode({ value: { deep: [value] } }), { code: "client.not_json" });
    }
    assert.throws(() => encode({ value: { a: [0, NaN] } }), /value\.a\[1\] is NaN/);
    assert.throws(() => encode({ value: circular }), /: value\.self is an object that it is inside of$/);
    const deep = Array(90).fill("a").reduce((inner, name) => ({ [name]: inner }), {});
    assert.throws(() => encode({ value: deep }), /: value[.a]+… is nested too deeply$/);
    const twice = {};
    assert.equal(encode({ one: twice, other: [twice, twice] }), '{"one":{},"other":[{},{}]}');
    class Point {
        x = 1;
        get [Symbol.toStringTag]() {
            return "Point";
        }
    }
    class Money {
        #cents = 5;
        toJSON = () => this.#cents;
    }
    const [point, money] = [new Point(), new Money()];
    const boxed = [new String("a"), new Number(1), new Boolean(false), Object.create(null), new URL("http://a")];
    assert.equal(
        encode({ point, money, boxed }),
        '{"point":{"x":1},"money":5,"boxed":["a",1,false,{},"http://a/"]}',
    );
    assert.throws(() => encode({ value: { a: Promise.resolve(1) } }), /: value\.a is an object of the class `Promise`$/);
    const date = new Date(0);
    assert.equal(
        encode({ date, absent: undefined, none: null }),
        `{"date":"${date.toISOString()}","none":null}`,
    );
});

test("a problem becomes the error of its kind", () => {
    const error = fromProblem({
        code: "state.version_conflict",
        kind: "conflict",
        detail: "d",
        hint: "h",
        entry: { version: 2 },
    });
    assert.ok(error instanceof ConflictError && error instanceof BatonError);
    assert.equal(error.name, "ConflictError");
    assert.deepEqual(
        [error.message, error.hint, error.facts],
        ["d", "h", { entry: { version: 2 } }],
    );
    assert.equal(error.isUnknown, false);
    const unknown = fromProblem({
        code: "engine.unknown_outcome",
        kind: "unavailable",
        detail: "d",
        hint: "h",
    });
    assert.ok(unknown instanceof OutcomeUnknownError && unknown.isUnknown);
    assert.equal(fromProblem("nonsense").code, "client.protocol");
});

const event = (revision, index, more = {}) => ({ type: "state.set", revision, index, ...more });

test("a position drops what has arrived, also in the middle of a commit", () => {
    const position = new Position({ from: 5 });
    assert.deepEqual(position.request, { from: 5 });
    assert.equal(position.begin(5), undefined);
    assert.match(position.begin(6), /instead of 5/);
    assert.ok(!position.advance(event(4, 0), true), "before the first");
    assert.ok(position.advance(event(5, 0), false));
    assert.ok(position.advance(event(5, 2), false));
    assert.equal(position.next, 5, "the commit is not complete");
    position.skipTo(9);
    assert.equal(position.next, 5, "whatever the server says");
    assert.ok(!position.advance(event(5, 0), false), "it arrives again after resuming");
    assert.ok(!position.advance(event(5, 2), false));
    assert.ok(position.advance(event(5, 3), true));
    assert.equal(position.next, 6);
    assert.ok(
        position.advance(event(5, 0, { live: true }), true),
        "what is not stored arrives once",
    );
    assert.equal(position.next, 6);
    position.skipTo(9);
    assert.equal(position.next, 9);
});

test("the server decides about a snapshot together with a revision", () => {
    const position = new Position({ snapshot: true, from: 5 });
    assert.deepEqual(position.request, { snapshot: true, from: 5 });
});

test("a position asks for a snapshot until it has arrived", () => {
    const position = new Position({ snapshot: true });
    assert.deepEqual(position.request, { snapshot: true });
    position.begin(4);
    assert.deepEqual(position.request, { snapshot: true }, "it has not arrived yet");
    assert.ok(!position.advance(event(4, 0), true), "events before it are in it");
    assert.ok(position.advance({ type: "snapshot", revision: 7, entries: [] }, true));
    assert.deepEqual(position.request, { from: 8 });
    assert.ok(!position.advance({ type: "snapshot", revision: 9, entries: [] }, true));
});

/** @param {object} [more] */
const request = (more) => ({
    workspace: "w",
    agent: "ada",
    command: "state.get",
    fields: {},
    idempotencyKey: undefined,
    effect: "asks",
    waitMs: 0,
    ...more,
});

function registry(options = {}) {
    const requests = new Requests(settingsOf(options));
    const outcomes = [];
    const add = (id, more) =>
        requests.add(id, request(more), (error, answer) =>
            outcomes.push([id, error?.code ?? answer]),
        );
    const sent = () => {
        const ids = [];
        requests.outgoing((text) => ids.push(JSON.parse(text).id));
        return ids;
    };
    return { requests, outcomes, add, sent };
}

test("a query about another agent names its caller", () => {
    const callerOf = (context, command, fields) => {
        /** @type {any} */
        let asked;
        const transport = { call: async (it) => ((asked = it), { revision: 1, result: {} }) };
        void new Caller(transport, context).call(command, fields);
        return JSON.parse(frameOf(1, asked)).caller;
    };
    const eve = { workspace: "w", agent: "eve" };
    assert.equal(callerOf(eve, "agent.get", { agent: "bob" }), "eve");
    assert.equal(callerOf(eve, "task.list", { agent: "bob" }), "eve");
    assert.equal(callerOf(eve, "agent.get", { agent: "eve" }), undefined);
    assert.equal(callerOf(eve, "task.list", {}), undefined);
    assert.equal(callerOf(eve, "agent.leave", { agent: "bob" }), undefined);
});

test("what was refused with the client is not said to be undone", () => {
    const { requests, outcomes, add, sent } = registry();
    add(1, { command: "task.claim", effect: "once", waitMs: 9 });
    add(2, { command: "message.request", effect: "once", waitMs: 9 });
    add(3, { command: "state.set", effect: "once" });
    sent();
    requests.broken("it rains");
    const denied = fromProblem({ code: "access.bad_token", kind: "denied", detail: "no", hint: "" });
    requests.rejectAll(denied, "no");
    assert.deepEqual(outcomes, [
        [1, "access.bad_token"],
        [2, "client.unknown_outcome"],
        [3, "client.unknown_outcome"],
    ]);
});

test("the id of what is created has its own name in a frame", () => {
    const frame = JSON.parse(
        frameOf(7, request({ command: "task.create", fields: { id: "t", type: "a" } })),
    );
    assert.deepEqual(frame, {
        id: 7,
        workspace: "w",
        agent: "ada",
        command: "task.create",
        task: "t",
        type: "a",
    });
});

test("requests are sent in order, no more than may be in flight, and again after a break", () => {
    const { requests, outcomes, add, sent } = registry({ inFlightMax: 2 });
    add(1, { effect: "once" });
    add(2, { waitMs: 1_000, effect: "once" });
    add(3);
    add(4, { effect: "changes" });
    assert.deepEqual(sent(), [1, 2, 3], "a call that waits does not count");
    requests.answered(1, { revision: 1, result: {} });
    assert.deepEqual(sent(), [4]);
    requests.broken("it rains");
    assert.deepEqual(outcomes, [
        [1, { revision: 1, result: {} }],
        [4, "client.unknown_outcome"],
    ]);
    assert.deepEqual(sent(), [2, 3]);
    assert.equal(requests.withdraw(2).mayBeDone, true, "it may have been executed");
    assert.equal(requests.withdraw(3).mayBeDone, false, "a query changes nothing");
    assert.ok(requests.isIdle);
});

test("what a server refuses while it shuts down is sent to the next", () => {
    const { requests, outcomes, add, sent } = registry();
    add(1, { effect: "changes" });
    assert.deepEqual(sent(), [1]);
    requests.postpone(1);
    requests.broken("it is gone");
    assert.deepEqual(outcomes, []);
    assert.deepEqual(sent(), [1]);
});

test("what is not answered properly is unknown if it changes something", () => {
    const { requests, outcomes, add, sent } = registry();
    add(1);
    add(2, { effect: "once" });
    sent();
    requests.answered(1, { revision: 1 });
    requests.answered(2, { result: {} });
    assert.deepEqual(outcomes, [
        [1, "client.protocol"],
        [2, "client.unknown_outcome"],
    ]);
});

test("there is no room for too many, too much or too large", () => {
    const { add } = registry({ queueMax: 2, queueBytesMax: 200, requestBytesMax: 300 });
    assert.throws(() => add(1, { fields: { key: "é".repeat(200) } }), {
        code: "request.too_large",
    });
    add(2, { fields: { key: "x".repeat(190) } });
    assert.throws(() => add(3), { code: "client.crowded" });
    const other = registry({ queueMax: 2 });
    other.add(1);
    other.add(2);
    assert.throws(() => other.add(3), { code: "client.crowded", kind: "exhausted" });
});

test("what is granted to a call that was given up is given back", () => {
    const { requests, add, sent } = registry();
    const givesBack = {
        command: "task.release",
        fields: {
            task: { path: ["id"] },
            token: { path: ["lease", "token"] },
            reason: { text: "why" },
        },
    };
    add(1, { command: "task.claim", effect: "once", waitMs: 10, givesBack });
    add(2, { command: "task.claim", effect: "once", waitMs: 10, givesBack });
    add(3, { command: "task.claim", effect: "once", waitMs: 0, givesBack });
    sent();
    requests.withdraw(1);
    requests.withdraw(2);
    requests.withdraw(3);
    const back = requests.answered(1, { revision: 1, result: { id: "t", lease: { token: 7 } } });
    assert.deepEqual(
        back.map(({ fields }) => fields),
        [{ task: "t", token: 7, reason: "why" }],
    );
    assert.deepEqual(requests.answered(2, { revision: 1, result: null }), []);
    const tasks = [7, 8].map((token) => ({ id: `t${token}`, lease: { token } }));
    const several = requests.answered(3, { revision: 1, result: { tasks } });
    assert.deepEqual(
        several.map(({ fields }) => fields.task),
        ["t7", "t8"],
    );
    assert.deepEqual(givingBack(request(), {}), []);
});

function watching(options = {}, signal = undefined, from = 1) {
    const log = [];
    const host = {
        due: (it) => {
            log.push("due");
            it.state = "asked";
        },
        stop: () => log.push("stop"),
        remove: () => log.push("remove"),
    };
    const watch = new Watch(
        { workspace: "w", agent: "a", pattern: "**", from },
        host,
        settingsOf(options),
        signal,
    );
    watch.begin(from);
    return { watch, log };
}

test("a slow reader has a bounded buffer, and misses nothing", async () => {
    const { watch, log } = watching({ watchQueueMax: 4 });
    for (let revision = 1; revision <= 6; revision += 1) watch.push(event(revision, 0), true, 10);
    assert.deepEqual([watch.state, log], ["full", ["stop"]]);
    const seen = [];
    for (let index = 0; index < 2; index += 1) seen.push((await watch.next()).value.revision);
    assert.deepEqual(log, ["stop", "due"], "half of it was read");
    assert.deepEqual(watch.fields.from, 5);
    watch.begin(5);
    for (let revision = 4; revision <= 7; revision += 1) watch.push(event(revision, 0), true, 10);
    for (let index = 0; index < 4; index += 1) seen.push((await watch.next()).value.revision);
    assert.deepEqual(seen, [1, 2, 3, 4, 5, 6]);
});

test("a large item always fits", async () => {
    const { watch } = watching({ watchQueueBytesMax: 5 });
    watch.push(event(1, 0), true, 100);
    watch.push(event(2, 0), true, 100);
    assert.equal((await watch.next()).value.revision, 1);
});

test("an abort ends a watch with its reason, at once", async () => {
    const controller = new AbortController();
    const { watch, log } = watching({}, controller.signal);
    watch.push(event(1, 0), true, 1);
    controller.abort(new Error("enough"));
    await assert.rejects(watch.next(), /enough/);
    assert.deepEqual(await watch.next(), { done: true, value: undefined });
    assert.deepEqual(log, ["stop", "remove"]);
});

test("a watch that is refused ends; one that lags is resumed", async () => {
    const lagged = watching();
    lagged.watch.ended(
        fromProblem({
            code: "watch.lagged",
            kind: "unavailable",
            detail: "d",
            hint: "h",
            resume_from: 9,
        }),
    );
    assert.deepEqual([lagged.log, lagged.watch.fields.from], [["due"], 9]);
    const denied = watching();
    denied.watch.ended(
        fromProblem({ code: "access.role", kind: "denied", detail: "d", hint: "h" }),
    );
    await assert.rejects(denied.watch.next(), { code: "access.role" });
});

test("a server that would begin later has lost something", async () => {
    const { watch } = watching({}, undefined, 5);
    watch.interrupt();
    watch.begin(6);
    await assert.rejects(watch.next(), { code: "client.protocol" });
});

/** A frame as a server sends it: the same without a mask. */
function unmasked(payload, { opcode = TEXT, isFinal = true } = {}) {
    const body = Buffer.from(payload);
    const head = body.length < 126 ? [body.length] : [126, body.length >> 8, body.length & 255];
    return Buffer.concat([Buffer.from([(isFinal ? 0x80 : 0) | opcode, ...head]), body]);
}

test("frames are read from pieces of any size", () => {
    const texts = ["a", "b".repeat(500), "é"];
    const split = [
        unmasked("con", { isFinal: false }),
        unmasked("ping", { opcode: 9 }),
        unmasked("tinued", { opcode: 0 }),
    ];
    const bytes = Buffer.concat([...texts.map((text) => unmasked(text)), ...split]);
    for (const size of [1, 2, 3, 7, 100, bytes.length]) {
        const seen = [];
        const reader = new FrameReader(1_000, ({ payload }) => seen.push(payload.toString()));
        for (let offset = 0; offset < bytes.length; offset += size)
            reader.push(bytes.subarray(offset, offset + size));
        assert.deepEqual(seen, [...texts, "ping", "continued"], `pieces of ${size}`);
    }
    assert.throws(() => new FrameReader(10, () => {}).push(unmasked("x".repeat(11))), /too large/);
    assert.throws(() => new FrameReader(10, () => {}).push(frame(TEXT, "x")), /malformed/);
});

test("frames are written with a mask, whatever their length", () => {
    for (const length of [0, 125, 126, 65_535, 65_536]) {
        const payload = "x".repeat(length);
        const bytes = frame(TEXT, payload);
        const start = bytes.length - length;
        const mask = bytes.subarray(start - 4, start);
        const clear = Buffer.from(
            bytes.subarray(start).map((byte, index) => byte ^ mask[index & 3]),
        );
        assert.equal(clear.toString(), payload);
        assert.equal(bytes[1] >> 7, 1);
    }
});

test("Server-Sent Events are read from pieces of any size", async () => {
    const text = "retry: 1\n: hello\n\nevent: a\nid: 1\ndata: {}\n\ndata: x\ndata: é\n\n";
    const bytes = new TextEncoder().encode(text);
    for (const size of [1, 5, bytes.length]) {
        const body = new ReadableStream({
            start(controller) {
                for (let offset = 0; offset < bytes.length; offset += size)
                    controller.enqueue(bytes.slice(offset, offset + size));
                controller.close();
            },
        });
        const seen = [];
        for await (const it of serverSentEvents(body)) seen.push(it);
        assert.deepEqual(seen, [
            { event: "a", id: "1", data: "{}" },
            { event: "message", id: undefined, data: "x\né" },
        ]);
    }
});
