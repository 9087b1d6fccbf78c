// What open dashboards cost a server: its write rate with and without a hundred of them on the screen
// "Now", in turns.
//
//   BATON_PROGRAM=target/dist/baton node ui/bench/dashboards.mjs [DASHBOARDS] [TURNS]
//
// The dashboards are the modules of the page that talk to the server, in one other process, without
// drawing. `baton bench` writes.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { connect } from "../../sdk/js/node.js";
import { Feed } from "../lib/feed.mjs";
import { Queries } from "../lib/queries.mjs";
import { Store } from "../lib/store.mjs";
import { TestServer } from "../test/server.mjs";

/** The workspace that `baton bench` writes to. */
const WORKSPACE = "baton-bench";
/** What the screen "Now" asks. @type {[string, Record<string, unknown>][]} */
const QUESTIONS = [
  ["task.stats", {}],
  ["agent.list", { limit: 200 }],
  ["task.list", { status: "waiting_review", limit: 200 }],
  ["task.list", { status: "failed", limit: 200 }],
  ["handoff.list", { status: "offered", limit: 200 }],
  ["inbox.list", { status: "dead", limit: 200 }],
  ["lock.list", { limit: 200 }],
];
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
  const feeds = await Promise.all(Array.from({ length: count }, () => open(url)));
  console.log("open");
  const states = () => {
    const by = Object.groupBy?.(feeds, ({ state }) => state) ?? {};
    return Object.entries(by).map(([state, of]) => `${of?.length} ${state}`).join(", ");
  };
  process.stdin.on("data", () => console.log(states()));
  process.stdin.on("end", () => process.exit(0));
}

/** The writes a second in four seconds. @param {TestServer} server @returns {Promise<number>} */
async function write(server) {
  const program = process.env.BATON_PROGRAM ?? "baton";
  const child = spawn(program, ["bench", "--seconds", "8", "--concurrency", "64", "--json"], {
    env: server.environment,
    stdio: ["ignore", "pipe", "ignore"],
  });
  let said = "";
  child.stdout.on("data", (chunk) => (said += chunk));
  await once(child, "exit");
  return JSON.parse(said).find((/** @type {any} */ { load }) => load === "set").per_second;
}

/** @param {number} count @param {number} turns */
async function measure(count, turns) {
  const server = await TestServer.start();
  const script = fileURLToPath(import.meta.url);
  const rates = /** @type {number[][]} */ ([[], []]);
  await write(server);
  for (let turn = 0; turn < turns; turn += 1) {
    rates[0]?.push(await write(server));
    const child = spawn("node", [script, server.api, String(count)], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    await once(child.stdout, "data");
    rates[1]?.push(await write(server));
    child.stdin.write("?");
    const [states] = await once(child.stdout, "data");
    child.stdin.end();
    await once(child, "exit");
    const [without = NaN, withThem = NaN] = rates.map((it) => it.at(-1) ?? NaN);
    console.log(`${without.toFixed(0)} writes/s alone, ${withThem.toFixed(0)} with ${count} dashboards: ${(withThem / without).toFixed(2)} (${String(states).trim()})`);
  }
  const ratios = (rates[1] ?? []).map((it, turn) => it / (rates[0]?.[turn] ?? NaN)).sort((a, b) => a - b);
  console.log(`median ratio ${ratios[Math.floor(ratios.length / 2)]?.toFixed(2)}`);
  await server.stop();
}

if (first.startsWith("http")) await dashboards(first, Number(second));
else await measure(Number(first || 100), Number(second ?? 5));
