// The cost of open dashboards for a server: its write rate with and without a hundred of them on
// the screen "Now", in turns.
//
//   BATON_PROGRAM=target/dist/baton node ui/bench/dashboards.mjs [DASHBOARDS] [TURNS]
//
// The dashboards are the modules of the page that talk to the server, in one other process of low
// priority, because they would be on other machines. `baton bench` writes.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { setPriority } from "node:os";
import { fileURLToPath } from "node:url";
import { connect } from "../../sdk/js/node.js";
import { Feed } from "../lib/feed.mjs";
import { Queries } from "../lib/queries.mjs";
import { Store } from "../lib/store.mjs";
import { TestServer } from "../test/server.mjs";

/** The workspace that `baton bench` writes to. */
const WORKSPACE = "baton-bench";
/** The queries of the screen "Now". @type {[string, Record<string, unknown>][]} */
const QUESTIONS = [
  ["task.stats", {}],
  ["agent.list", { limit: 200 }],
  ["task.list", { status: "waiting_review", limit: 200 }],
  ["task.list", { status: "failed", limit: 200 }],
  ["handoff.list", { status: "offered", limit: 200 }],
  ["inbox.list", { status: "dead", limit: 200 }],
  ["lock.list", { limit: 200 }],
];
/** How long is written at a time. */
const SECONDS = 10;
/** How long dashboards take to load, which is not measured. */
const SETTLE_MS = 5_000;
const [first = "", second] = process.argv.slice(2);

/** One dashboard. @param {string} url */
async function open(url) {
  const client = await connect(url, { agent: "dashboard" });
  const workspace = client.workspace(WORKSPACE);
  const store = new Store((run) => setTimeout(run, 16));
  const queries = new Queries(store, (command) => /** @type {any} */ (workspace.execute(command)));
  const feed = new Feed(
    {
      async newest(limit, signal) {
        const asked = /** @type {const} */ ({ command: "event.history", limit });
        const { revision, result } = await workspace.execute(asked, { signal });
        return { revision, oldest: result.oldest, events: [...result.events].reverse() };
      },
      async *watch(from, signal) {
        for await (const event of workspace.watch("**", { from, waits: true, signal })) yield [event];
      },
      isThere: () => fetch(`${url}/healthz`).then(({ ok }) => ok),
    },
    {
      event: (event) => queries.touched(event),
      changed: () => void (queries.isSlow = feed.state === "busy"),
      back: () => queries.touchedAll(),
      denied: (error) => {
        throw error;
      },
    },
  );
  feed.start();
  for (const [command, fields] of QUESTIONS) queries.hold(queries.use(command, fields, undefined));
  return feed;
}

/** Opens dashboards until the standard input ends. @param {string} url @param {number} count */
async function dashboards(url, count) {
  await Promise.all(Array.from({ length: count }, () => open(url)));
  console.log("open");
  process.stdin.resume();
  process.stdin.on("end", () => process.exit(0));
}

/** The processor time of a process so far, in milliseconds. @param {number} pid */
async function processor(pid) {
  const fields = (await readFile(`/proc/${pid}/stat`, "utf8")).split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/**
 * Writes a second, and the processor time of the server for each. `baton bench` writes for the first
 * half of its time and reads for the second.
 * @param {TestServer} server
 */
async function write(server) {
  const program = process.env.BATON_PROGRAM ?? "baton";
  const options = ["bench", "--seconds", String(2 * SECONDS), "--concurrency", "64", "--json"];
  const stdio = /** @type {const} */ (["ignore", "pipe", "ignore"]);
  const child = spawn(program, options, { env: server.environment, stdio });
  let said = "";
  child.stdout.on("data", (chunk) => (said += chunk));
  const ended = once(child, "exit");
  const before = await processor(server.pid);
  await new Promise((resolve) => setTimeout(resolve, SECONDS * 1_000));
  const used = (await processor(server.pid)) - before;
  await ended;
  const found = JSON.parse(said).find((/** @type {any} */ { load }) => load === "set");
  return { rate: found.per_second, cost: (1_000 * used) / found.operations };
}

/** @param {number[]} values */
const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;

/** @param {number} count @param {number} turns */
async function measure(count, turns) {
  const server = await TestServer.start();
  const script = fileURLToPath(import.meta.url);
  /** @type {{ rate: number, cost: number }[]} */
  const ratios = [];
  await write(server);
  for (let turn = 0; turn < turns; turn += 1) {
    const alone = await write(server);
    const child = spawn("node", [script, server.api, String(count)], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    await once(child.stdout, "data");
    setPriority(child.pid ?? 0, 19);
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    const shared = await write(server);
    child.stdin.end();
    await once(child, "exit");
    ratios.push({ rate: shared.rate / alone.rate, cost: shared.cost / alone.cost });
    console.log(`alone: ${line(alone)}; with ${count} dashboards: ${line(shared)}`);
  }
  const of = (/** @type {"rate" | "cost"} */ name) => median(ratios.map((it) => it[name])).toFixed(2);
  console.log(`median ratio: rate ${of("rate")}, processor time ${of("cost")}`);
  await server.stop();
}

/** @param {{ rate: number, cost: number }} measured */
const line = ({ rate, cost }) => `${rate} writes/s, ${cost.toFixed(1)} µs of the server each`;

if (first.startsWith("http")) await dashboards(first, Number(second));
else await measure(Number(first || 100), Number(second ?? 5));
