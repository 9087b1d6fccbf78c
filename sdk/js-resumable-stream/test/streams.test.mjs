// Streams of the AI SDK that are resumed through Baton, with the real packages.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import { connect } from "@baton/sdk";
import { createUIMessageStream, JsonToSseTransformStream } from "ai";
import { createResumableStreamContext } from "resumable-stream/generic";
import { Server } from "../../js/test/server.mjs";
import { streamStore } from "../index.js";

let server;
/** As two processes of an application behind a load balancer. */
let clients;
before(async () => {
  server = await Server.start();
  clients = await Promise.all(["one", "two"].map((agent) => connect(server.url, { agent })));
});
after(async () => {
  await Promise.all(clients.map((client) => client.close()));
  await server.end();
});

const contextOf = (client, name) =>
  createResumableStreamContext({ waitUntil: null, ...streamStore(client.workspace(name)) });

/** Contexts of two processes on one workspace. */
const contexts = () => {
  const name = randomUUID();
  return clients.map((client) => contextOf(client, name));
};

/** A stream of strings, and what writes it. */
function source() {
  let controller;
  const stream = new ReadableStream({ start: (given) => void (controller = given) });
  return { stream, write: (text) => controller.enqueue(text), end: () => controller.close() };
}

/** Reads at least so many characters, or all. */
async function read(reader, length = Infinity) {
  let text = "";
  while (text.length < length) {
    const { done, value } = await reader.read();
    if (done) break;
    text += value;
  }
  return text;
}

test("an id may have 222 bytes", async () => {
  const [one, two] = contexts();
  for (const id of ["x".repeat(222), `${"é".repeat(37)}`]) {
    const { stream, write, end } = source();
    const first = (await one.createNewResumableStream(id, () => stream)).getReader();
    write("Once");
    const second = (await two.resumeExistingStream(id)).getReader();
    assert.equal(await read(second, 4), "Once");
    end();
    assert.equal(await read(first), "Once");
    assert.equal(await read(second), "");
  }
  const long = "x".repeat(223);
  const { stream, end } = source();
  const reader = (await one.createNewResumableStream(long, () => stream)).getReader();
  await assert.rejects(two.resumeExistingStream(long), { kind: "invalid" });
  end();
  await read(reader);
});

test("a reader in another process resumes a stream where the first one lost it", async () => {
  const [one, two] = contexts();
  const { stream, write, end } = source();
  assert.equal(await two.hasExistingStream("chat-1"), null);
  assert.equal(await two.resumeExistingStream("chat-1"), undefined);
  const first = (await one.resumableStream("chat-1", () => stream)).getReader();
  write("Once upon ");
  assert.equal(await read(first, 10), "Once upon ");
  await first.cancel();
  const second = (
    await two.resumableStream("chat-1", () => assert.fail("it is in progress"), 5)
  ).getReader();
  assert.equal(await read(second, 5), "upon ");
  assert.equal(await two.hasExistingStream("chat-1"), true);
  write("a time");
  end();
  assert.equal(await read(second), "a time");
  assert.equal(await two.hasExistingStream("chat-1"), "DONE");
  assert.equal(await two.resumableStream("chat-1", () => assert.fail("it is done")), null);
});

test("a reader that comes late gets a long stream whole, whatever is in it", async () => {
  const [one, two] = contexts();
  const { stream, write, end } = source();
  const first = (await one.createNewResumableStream("a:b/c *ä", () => stream)).getReader();
  const long = `${"ä".repeat(300_000)}\u{1f600}`.repeat(5);
  write(long);
  await read(first, long.length);
  const late = (await two.resumeExistingStream("a:b/c *ä")).getReader();
  assert.equal(await read(late, long.length), long);
  write("\n\0\n");
  end();
  assert.equal(await read(late), "\n\0\n");
});

test("of several that begin a stream at the same time, one makes it", async () => {
  const both = contexts();
  let made = 0;
  const { stream, write, end } = source();
  const make = () => {
    made += 1;
    return stream;
  };
  const started = both.flatMap((context) => [1, 2, 3].map(() => context.resumableStream("s", make)));
  const first = await Promise.race(started);
  write("x");
  end();
  assert.ok(first);
  const texts = await Promise.all(
    started.map(async (it) => (await it) && (await read((await it).getReader()))),
  );
  assert.equal(made, 1);
  assert.ok(texts.every((text) => text === "x" || text === null), JSON.stringify(texts));
});

test("a response of the AI SDK is continued by a client that reconnects", async () => {
  const [one, two] = contexts();
  let proceed;
  const paused = new Promise((resolve) => (proceed = resolve));
  const messages = createUIMessageStream({
    async execute({ writer }) {
      writer.write({ type: "text-start", id: "t" });
      writer.write({ type: "text-delta", id: "t", delta: "Hello" });
      await paused;
      writer.write({ type: "text-delta", id: "t", delta: ", world" });
      writer.write({ type: "text-end", id: "t" });
    },
  });
  const sse = messages.pipeThrough(new JsonToSseTransformStream());
  const first = (await one.createNewResumableStream("chat-2", () => sse)).getReader();
  let seen = "";
  while (!seen.includes("Hello")) seen += await read(first, 1);
  await first.cancel();
  const second = (await two.resumeExistingStream("chat-2", seen.length)).getReader();
  proceed();
  const whole = seen + (await read(second));
  const deltas = whole
    .split("\n\n")
    .filter((line) => line.startsWith("data: {"))
    .map((line) => JSON.parse(line.slice(6)).delta ?? "");
  assert.equal(deltas.join(""), "Hello, world");
  assert.match(whole, /\[DONE\]\n\n$/);
});
