// Changes tasks of a workspace at a steady rate, until its standard input ends. A separate process,
// so that it does not delay the frames.
//
//   node ui/bench/load.mjs URL WORKSPACE CHANGES_PER_SECOND

import { connect } from "../../sdk/js/node.js";

const [url = "", workspace = "", wanted = "2000"] = process.argv.slice(2);
const rate = Number(wanted);
/** So many tasks are in progress at a time. */
const HELD = 200;
const TICK_MS = 10;

const client = await connect(url);
const { tasks } = client.workspace(workspace, { agent: "load" });
/** @type {any[]} */
const held = [];
let changes = 0;
let turn = 0;
let claiming = 0;

/** Creates, claims, reports progress and completes in turn: about as many of each. */
async function change() {
  turn += 1;
  const kind = turn % 4;
  if (kind === 0) await tasks.create("bulk", { description: `task ${turn} of the load` });
  else if (kind === 1 || held.length === 0) await claim();
  else {
    const task = /** @type {any} */ (held.shift());
    if (kind === 2 && held.length > HELD) await tasks.complete(task.id, task.lease.token);
    else {
      held.push(task);
      await tasks.progress(task.id, task.lease.token, (turn % 100) / 100);
    }
  }
  changes += 1;
}

async function claim() {
  if (claiming + held.length > 2 * HELD) return;
  claiming += 1;
  const claimed = await tasks.claim({ types: ["bulk"], lease_ms: 600_000 });
  claiming -= 1;
  if (claimed) held.push(claimed);
}

const begun = performance.now();
let due = 0;
/** @type {unknown} */
let problem;
const timer = setInterval(() => {
  const target = ((performance.now() - begun) * rate) / 1_000;
  for (; due < target; due += 1) void change().catch((error) => (problem = error));
}, TICK_MS);
process.stdin.resume();
process.stdin.on("end", async () => {
  clearInterval(timer);
  const seconds = (performance.now() - begun) / 1_000;
  if (problem) throw problem;
  console.log(JSON.stringify({ changes, rate: changes / seconds }));
  await client.close();
  process.exit(0);
});
