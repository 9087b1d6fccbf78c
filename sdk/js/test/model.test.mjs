// Tasks that a model does: what it is sent, and what happens to its completions.

import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { inspect } from "node:util";
import { connect, Endpoint, LeaseLostError, ModelError } from "../node.js";
import { ChatServer, COMPLETION } from "./chat-server.mjs";
import { fresh, Server } from "./server.mjs";

/** @type {Server} */
let server;
let client;
const chats = [];
before(async () => {
    server = await Server.start();
    client = await connect(server.url);
});
afterEach(async () => {
    for (const chat of chats.splice(0)) await chat.end();
});
after(async () => {
    await client.close();
    await server.end();
});
const chatting = async (answer) => {
    const chat = await ChatServer.start(answer);
    chats.push(chat);
    return chat;
};
const at = (chat, timeoutMs = 30_000) =>
    new Endpoint(chat.url, "small", { key: "sk-hush", timeoutMs });
const saying = (content) => ({ choices: [{ message: { content } }] });

/** A workspace with a task. */
async function created(options) {
    const ada = client.workspace(fresh(), { agent: "ada" });
    const description = "Write as shared/style says";
    await ada.tasks.create("write", { id: "t", description, max_retries: 1, ...options });
    return ada;
}

/** Runs the task with a model that gives nothing; why the attempt failed. */
async function failing(endpoint) {
    const ada = await created();
    const job = await ada.claim();
    let thrown;
    await assert.rejects(ada.runWithContext(job, endpoint), (error) => {
        thrown = error;
        return error instanceof ModelError && error.code === "client.model_failed";
    });
    assert.ok(!inspect(thrown).includes("hush"));
    assert.equal(job.outcome, "failed");
    const { error, retries, status } = await ada.tasks.get("t");
    assert.equal(retries, 1);
    assert.notEqual(status, "failed");
    assert.equal(error, thrown.message);
    return thrown;
}

test("a model does a task, and the result says how", async () => {
    const ada = await created();
    await ada.state.set("style", "short");
    const chat = await chatting();
    const job = await ada.claim();
    const done = await ada.runWithContext(job, at(chat), { token_budget: 4_000 });
    assert.deepEqual([done.id, done.status, job.outcome], ["t", "completed", "completed"]);
    const result = await ada.tasks.result("t");
    assert.deepEqual([result.text, result.model], ["Done.", "small-1"]);
    assert.deepEqual(result.usage, COMPLETION.usage);
    const { sections, context_tokens: tokens, left_out: leftOut } = result.lineage;
    assert.deepEqual(Object.keys(sections[0]).sort(), ["items", "name", "tokens"]);
    assert.ok(sections.some(({ items }) => items.includes("entry shared/style")));
    assert.ok(tokens > 0 && tokens <= 4_000);
    assert.deepEqual(leftOut, []);
    const [{ path, headers, body }] = chat.requests;
    assert.equal(path, "/v1/chat/completions");
    assert.equal(headers.authorization, "Bearer sk-hush");
    assert.equal(body.model, "small");
    const [system, user] = body.messages;
    assert.deepEqual([system.role, user.role], ["system", "user"]);
    assert.match(system.content, /answer with the result alone/);
    assert.match(user.content, /Write as shared\/style says/);
    assert.match(user.content, /"short"/);
});

test("a claimed task is renewed while the model answers", async () => {
    const ada = await created();
    const [task] = await ada.tasks.claimSeveral(1, { lease_ms: 3_000 });
    const chat = await chatting({ pauseMs: 4_000 });
    const instructions = "Answer in one word.";
    const done = await ada.runWithContext(task, at(chat), { instructions });
    assert.equal(done.status, "completed");
    assert.equal(chat.requests[0].body.messages[0].content, instructions);
});

for (const [title, answer, wanted] of [
    ["an error", { status: 500, body: "overloaded" }, /answered with status 500: overloaded$/],
    ["a long error", { status: 401, body: "x".repeat(1_000) }, /status 401: x{300}$/],
    ["no JSON", { body: "no JSON" }, /answered otherwise than it should: /],
    ["half a character", { body: saying("\ud800") }, /answered otherwise than it should: /],
    ["an empty object", { body: {} }, /there is no text in it$/],
    ["a list", { body: [] }, /there is no text in it$/],
    ["no choice", { body: { choices: [] } }, /there is no text in it$/],
    ["null", { body: saying(null) }, /there is no text in it$/],
    ["a number", { body: saying(7) }, /there is no text in it$/],
    ["an empty text", { body: saying("") }, /there is no text in it$/],
    ["space", { body: saying(" \n") }, /there is no text in it$/],
    ["too much", { body: " ".repeat(17 << 20) }, /the response has more than 16777216 bytes$/],
]) {
    test(`a model that gives nothing fails the attempt: ${title}`, async () => {
        const error = await failing(at(await chatting(answer)));
        assert.match(error.message, wanted);
        assert.deepEqual(error.facts, answer.status ? { status: answer.status } : {});
    });
}

for (const answer of [{ pauseMs: 30_000 }, { drips: true }]) {
    test(`a model that is too slow fails the attempt: ${Object.keys(answer)}`, async () => {
        const error = await failing(at(await chatting(answer), 300));
        assert.equal(error.message, "the model could not be asked: no response within 300 ms");
    });
}

test("the key is not sent where an endpoint redirects to", async () => {
    const other = await chatting();
    const location = `http://localhost:${other.port}/v1/chat/completions`;
    const error = await failing(at(await chatting({ status: 307, body: "moved", location })));
    assert.equal(error.message, "the endpoint answered with status 307: moved");
    assert.deepEqual(other.requests, []);
});

test("nothing is sent to an endpoint that is not there or not authenticated", async () => {
    const chat = await chatting();
    const secure = new Endpoint(`https://127.0.0.1:${chat.port}/v1`, "small", { key: "sk-hush" });
    assert.match((await failing(secure)).message, /^the model could not be asked: /);
    assert.deepEqual(chat.requests, []);
    const gone = await ChatServer.start();
    const endpoint = at(gone);
    await gone.end();
    assert.match((await failing(endpoint)).message, /ECONNREFUSED/);
});

test("a caller that does not hold the task calls no model", async () => {
    const ada = await created();
    const chat = await chatting();
    await assert.rejects(ada.runWithContext(await ada.tasks.get("t"), at(chat)), {
        code: "client.not_claimed",
    });
    const task = await ada.tasks.claim();
    await ada.tasks.cancel("t");
    await assert.rejects(ada.runWithContext(task, at(chat)), ({ kind }) =>
        ["stale", "conflict"].includes(kind),
    );
    assert.deepEqual(chat.requests, []);
});

test("a model is no longer waited for when the lease is lost", async () => {
    const ada = await created();
    const chat = await chatting({ pauseMs: 30_000 });
    const job = await ada.claim({ lease_ms: 1_000 });
    const running = ada.runWithContext(job, at(chat));
    await chat.asked;
    await ada.tasks.cancel("t");
    await assert.rejects(running, (error) => error instanceof LeaseLostError);
    assert.equal((await ada.tasks.get("t")).status, "cancelled");
});

test("a run that is aborted reports nothing", async () => {
    const ada = await created();
    const chat = await chatting({ pauseMs: 30_000 });
    const job = await ada.claim();
    const controller = new AbortController();
    const running = ada.runWithContext(job, at(chat), { signal: controller.signal });
    await chat.asked;
    controller.abort(new Error("enough"));
    await assert.rejects(running, { message: "enough" });
    assert.equal(job.isSettled, false);
    await job.release();
    await assert.rejects(ada.runWithContext(await ada.claim(), at(chat), controller), {
        message: "enough",
    });
});

test("a worker counts what its models did", async () => {
    const ada = client.workspace(fresh(), { agent: "ada" });
    for (const id of ["good", "bad"]) await ada.tasks.create("write", { id, max_retries: 0 });
    const [good, bad] = [await chatting(), await chatting({ status: 500 })];
    const worker = ada.worker().task("write", async (_, job) => {
        if (job.id === "bad") worker.stop();
        await ada.runWithContext(job, at(job.id === "good" ? good : bad));
    });
    const { completed, failed, released } = await worker.run();
    assert.deepEqual([completed, failed, released], [1, 1, 0]);
    assert.equal((await ada.tasks.get("good")).status, "completed");
    assert.equal((await ada.tasks.get("bad")).status, "failed");
});

test("an endpoint is read from the environment", async () => {
    const chat = await chatting();
    process.env.OPENAI_BASE_URL = `${chat.url}/`;
    process.env.OPENAI_API_KEY = "sk-hush";
    try {
        const endpoint = Endpoint.fromEnvironment("small");
        assert.equal(endpoint.timeoutMs, 600_000);
        assert.ok(!inspect(endpoint, { showHidden: true }).includes("hush"));
        assert.equal((await endpoint.complete("be", "short")).text, "Done.");
        process.env.OPENAI_API_KEY = "";
        await Endpoint.fromEnvironment("small").complete("be", "short");
        delete process.env.OPENAI_BASE_URL;
        assert.throws(() => Endpoint.fromEnvironment("small"), { code: "client.bad_endpoint" });
    } finally {
        delete process.env.OPENAI_BASE_URL;
        delete process.env.OPENAI_API_KEY;
    }
    const sent = chat.requests.map(({ path, headers }) => [path, headers.authorization]);
    assert.deepEqual(sent, [
        ["/v1/chat/completions", "Bearer sk-hush"],
        ["/v1/chat/completions", undefined],
    ]);
});

test("a URL or a key that makes no endpoint is rejected", () => {
    const bad =
        "a|ftp://a|http://|https://|http://:1|http://a:x|http://a:|http://u@a|http://a:65536|" +
        "http://a b|http://a/v1?x|http://a/\n|http://a/ü|http://[::1|http://::1|HTTP://a|";
    for (const url of bad.split("|")) {
        assert.throws(() => new Endpoint(url, "small"), { code: "client.bad_endpoint" }, url);
    }
    for (const url of ["http://a:81/v1/", "http://a", "https://a/v1", "https://[::1]:81"]) {
        assert.equal(new Endpoint(url, "small").url, url);
    }
    assert.throws(
        () => new Endpoint("http://a", "small", { key: "sk-hush\n" }),
        (error) => error.code === "client.bad_endpoint" && !inspect(error).includes("hush"),
    );
});
