// The modules that need no browser.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { commandLine, quoted } from "../lib/command-line.mjs";
import { diffLines } from "../lib/diff.mjs";
import { formatFilter, listFields, matches, parseFilter, withField } from "../lib/filter.mjs";
import { bytes, duration, plural, preview, relative } from "../lib/format.mjs";
import { compact, indented, memberText, numberText, parse, withMembers } from "../lib/json-text.mjs";
import {
  attempts,
  blockingTree,
  deadlockSentence,
  histogram,
  layers,
  visibleRows,
} from "../lib/layout.mjs";
import { firstWorkspace, isAgentName, isForWorkspace, isWorkspaceName } from "../lib/names.mjs";
import { parseMoment, positionOf, range, revisionAt, stepped } from "../lib/moment.mjs";
import { Queries } from "../lib/queries.mjs";
import { formatRoute, parseRoute, placeOf } from "../lib/route.mjs";
import { Samples } from "../lib/samples.mjs";
import { look, needsYou, sentence } from "../lib/sentences.mjs";
import { Feed } from "../lib/feed.mjs";
import { Store } from "../lib/store.mjs";
import { TaskRows } from "../lib/task-rows.mjs";
import { treeOf } from "../lib/tree.mjs";

const ui = fileURLToPath(new URL("..", import.meta.url));

test("an address is read as it was written", () => {
  const route = {
    workspace: "team a",
    view: "state",
    path: ["shared", "plan/outline"],
    query: { at: "7" },
  };
  const hash = formatRoute(route);
  assert.equal(hash, "#/team%20a/state/shared/plan%2Foutline?at=7");
  assert.deepEqual(parseRoute(hash), route);
  assert.deepEqual(parseRoute(""), { workspace: "", view: "now", path: [], query: {} });
  assert.equal(parseRoute("#/a/%E0%A4%A/x").view, "%E0%A4%A");
});

test("names are those that the server accepts, and the first workspace is one that the token is for", () => {
  const schemas = JSON.parse(readFileSync(`${ui}/../spec/openapi.json`, "utf8")).components.schemas;
  const texts = ["ada", "a.b:c@d-e_f", "a b", "", "../x", "-x", "日本", "a/b", "x".repeat(64), "x".repeat(65)];
  texts.push("x".repeat(128), "x".repeat(129));
  for (const text of texts) {
    const isValid = (/** @type {any} */ { pattern, maxLength }) =>
      new RegExp(pattern).test(text) && text.length <= maxLength;
    assert.equal(isAgentName(text), isValid(schemas.AgentId), text);
    assert.equal(isWorkspaceName(text), isValid(schemas.WorkspaceName), text);
  }
  assert.ok(isForWorkspace(["demo", "team-*"], "team-a"));
  assert.ok(!isForWorkspace(["demo", "team.*"], "team-a"));
  assert.equal(firstWorkspace("", [], undefined), "default");
  assert.equal(firstWorkspace("old", ["a", "b"], undefined), "a");
  assert.equal(firstWorkspace("b", ["a", "b"], undefined), "b");
  assert.equal(firstWorkspace("default", ["demo"], ["demo"]), "demo");
  assert.equal(firstWorkspace("team-a", ["demo"], ["demo", "team-*"]), "team-a");
});

test("a subject leads to the page that shows it", () => {
  assert.deepEqual(placeOf("tasks/t-7"), { view: "tasks", path: ["t-7"] });
  assert.deepEqual(placeOf("state/shared/plan/a"), { view: "state", path: ["shared", "plan/a"] });
  assert.deepEqual(placeOf("inbox/bob/m-7"), { view: "messages", path: ["m-7"] });
  assert.equal(placeOf("topics/news"), undefined);
});

test("a name is one word of a shell command, whatever it contains", () => {
  const names = ["plain-1", "$(touch /tmp/x)", "`id`", "it's", 'a "b"', "", "~", "a\\b", "#x", "日本", "\u009bm'\\n"];
  for (const name of names) {
    const { stdout } = spawnSync("bash", ["-c", `printf %s ${quoted(name)}`], {
      env: { ...process.env, LC_ALL: "C.UTF-8" },
      encoding: "utf8",
    });
    assert.equal(stdout, name);
  }
  assert.equal(commandLine`task retry ${"t-7"}`, "task retry t-7");
  assert.equal(commandLine`lock release ${"sem x"} --token`, "lock release 'sem x' --token");
  assert.equal(commandLine`state delete ${"--all"}`, "state delete -- --all");
});

test("durations, ages and sizes", () => {
  assert.equal(duration(240), "240 ms");
  assert.equal(duration(2_430), "2.4 s");
  assert.equal(duration(190_000), "3.2 min");
  assert.equal(duration(26 * 3_600_000), "1.1 d");
  assert.equal(relative(1_000, 13_400), "12 s ago");
  assert.equal(relative(61_000, 1_000), "in 1 min");
  assert.equal(bytes(12), "12 B");
  assert.equal(bytes(3 * 1024 * 1024), "3.0 MiB");
  assert.equal(plural(1, "task"), "1 task");
  assert.equal(plural(2_000, "entry", "entries"), "2,000 entries");
  assert.equal(preview({ a: "x\ny" }, 8), '{"a":"x…');
});

test("JSON keeps its digits and escapes when it is laid out, taken apart and put together", () => {
  const text = '{ "id": 9007199254740993,\n "f":1.0,"e":{ },"l":[ ],"s":"a, \\"b\\\\","n":[1e400, -0]}';
  const short = '{"id":9007199254740993,"f":1.0,"e":{},"l":[],"s":"a, \\"b\\\\","n":[1e400,-0]}';
  assert.equal(compact(text), short);
  assert.equal(compact(indented(short)), short);
  assert.deepEqual(indented('{"a":[1,{}],"b":"x:y"}').split("\n"), [
    "{",
    '  "a": [',
    "    1,",
    "    {}",
    "  ],",
    '  "b": "x:y"',
    "}",
  ]);
  assert.equal(indented("12345678901234567890"), "12345678901234567890");
  assert.throws(() => compact('{"a":1,}'), SyntaxError);
  const answer = `{"revision":1,"result":{"key":"value","value":${text},"version":2}}`;
  assert.equal(memberText(answer, "result", "value"), text);
  assert.equal(memberText(answer, "result", "missing"), undefined);
  assert.equal(memberText('{"a":1,"a":2}', "a"), "2");
  assert.equal(withMembers({ a: 1 }, { b: "1.0", c: undefined }), '{"a":1,"b":1.0}');
  // Node.js 20 does not keep the text of numbers.
  assert.equal(numberText(parse("[1]")[0]), undefined);
  assert.equal(parse(short).s, 'a, "b\\');
});

test("a filter is a list of terms, and what the list can answer is left to it", () => {
  assert.deepEqual(listFields("status:failed agent:ada"), { status: "failed", agent: "ada" });
  assert.equal(listFields("status:failed memory"), undefined);
  assert.equal(listFields("-status:failed"), undefined);
  assert.deepEqual(listFields(""), {});
  assert.equal(
    formatFilter(parseFilter('type:"a b" -agent:bob created>-1h word')),
    'type:"a b" -agent:bob created>-1h word',
  );
  assert.equal(withField("status:failed word", "status", "pending"), "word status:pending");
  assert.equal(withField("status:failed word", "status", ""), "word");
  const task = { id: "t", type: "build", status: "failed", error: "Out of memory" };
  assert.ok(matches(task, parseFilter("status:failed memory -agent:bob")));
  assert.ok(!matches(task, parseFilter("status:pending")));
});

test("the slider covers the kept history, and its end is the present", () => {
  const all = range(100, 5_100);
  assert.deepEqual(all, { first: 101, newest: 5_100, steps: 1_000 });
  assert.equal(revisionAt(all, 1_000), undefined);
  assert.equal(revisionAt(all, 0), 101);
  assert.equal(positionOf(all, undefined), 1_000);
  for (const position of [0, 1, 499, 999]) {
    assert.equal(positionOf(all, revisionAt(all, position)), position);
  }
  assert.equal(stepped(all, undefined, -1), 5_099);
  assert.equal(stepped(all, 5_099, 1), undefined);
  assert.equal(stepped(all, 101, -1), 101);
  assert.deepEqual(range(0, 0).steps, 0);
  assert.equal(parseMoment("12"), 12);
  assert.equal(parseMoment("x"), undefined);
});

test("stages are right of what they follow, and cycles end", () => {
  const {
    placed,
    edges,
    layers: columns,
    rows,
  } = layers([
    { id: "a", after: [] },
    { id: "b", after: [] },
    { id: "c", after: ["a", "b"] },
    { id: "d", after: ["c", "missing"] },
  ]);
  assert.deepEqual(
    placed.map(({ layer }) => layer),
    [0, 0, 1, 2],
  );
  assert.deepEqual(edges, [
    ["a", "c"],
    ["b", "c"],
    ["c", "d"],
  ]);
  assert.deepEqual([columns, rows], [3, 2]);
  assert.equal(
    layers([
      { id: "a", after: ["b"] },
      { id: "b", after: ["a"] },
    ]).placed.length,
    2,
  );
});

test("attempts show waiting apart from working", () => {
  const at = (/** @type {number} */ second) => new Date(second * 1_000).toISOString();
  const spans = attempts(
    [
      { type: "task.created", time: at(0), agent: "ada" },
      { type: "task.claimed", time: at(5), agent: "bob", fields: { holder: "bob" } },
      { type: "task.failed", time: at(8), agent: "bob", fields: { outcome: "again" } },
      { type: "task.claimed", time: at(9), agent: "eve", fields: { holder: "eve" } },
      { type: "task.completed", time: at(12), agent: "eve" },
    ],
    20_000,
  );
  const seen = spans.map(({ start, end, kind, agent }) => [
    start / 1_000,
    end / 1_000,
    kind,
    agent,
  ]);
  assert.deepEqual(seen, [
    [0, 5, "waiting", undefined],
    [5, 8, "failed", "bob"],
    [8, 9, "waiting", undefined],
    [9, 12, "done", "eve"],
  ]);
});

test("the blocking tree begins with agents that block others and do not wait", () => {
  const wait = (/** @type {string} */ agent) => ({ agent, since: "2026-01-01T00:00:00Z" });
  const locks = [
    { name: "a", hold: { holder: "ada" }, waiters: [wait("bob")] },
    { name: "b", hold: { holder: "bob" }, waiters: [wait("eve")] },
  ];
  const [tree] = blockingTree(locks);
  assert.equal(tree?.agent, "ada");
  assert.equal(tree?.waiters[0]?.agent, "bob");
  assert.equal(tree?.waiters[0]?.waiters[0]?.lock, "b");
  const cycle = [
    { name: "a", hold: { holder: "ada" }, waiters: [wait("bob")] },
    { name: "b", hold: { holder: "bob" }, waiters: [wait("ada")] },
  ];
  assert.equal(blockingTree(cycle).length, 1);
  const links = [
    { agent: "ada", waits_for: "b", held_by: "bob" },
    { agent: "bob", waits_for: "a", held_by: "ada" },
  ];
  assert.match(
    deadlockSentence(links),
    /^ada waits for b, which bob holds; bob waits for a, which ada holds\./,
  );
});

test("histograms and windows", () => {
  assert.deepEqual(histogram([0, 1, 5, 10], 0, 10, 2), [2, 2]);
  assert.deepEqual(histogram([1], 1, 1, 2), [0, 0]);
  const { first, last, height } = visibleRows(100_000, 38, 38_000, 800);
  assert.deepEqual([first, last, height], [992, 1_030, 3_800_000]);
});

test("a difference has the lines of both", () => {
  const lines = diffLines({ a: 1, b: 2 }, { a: 1, b: 3 });
  assert.deepEqual(
    lines.map(({ kind }) => kind),
    ["same", "same", "removed", "added", "same"],
  );
  assert.deepEqual(diffLines(undefined, 1), [{ kind: "added", text: "1" }]);
});

test("a record is kept once, and an older version does not replace a newer one", () => {
  let notified = 0;
  /** @type {(() => void)[]} */
  const frames = [];
  const store = new Store((run) => frames.push(run));
  store.subscribe(() => (notified += 1));
  const kept = store.absorb("task.list", {
    tasks: [{ id: "t", revision: 5, status: "pending" }],
  });
  assert.deepEqual(kept, { tasks: ["t"] });
  store.put("task", "t", { id: "t", revision: 7, status: "completed" });
  store.absorb("task.get", { id: "t", revision: 6, status: "in_progress" });
  assert.equal(store.resolve("task.list", kept).tasks[0].status, "completed");
  store.put("task", "t", { id: "t", revision: 3 }, "3");
  assert.equal(store.get("task", "t").revision, 7);
  assert.equal(frames.length, 1);
  frames[0]?.();
  assert.equal(notified, 1);
});

test("a question is asked once for all, and again when an event touches it", async () => {
  /** @type {any[]} */
  const asked = [];
  const store = new Store((run) => run());
  const queries = new Queries(store, async (command) => {
    asked.push(command);
    return { revision: asked.length, result: { id: "t", revision: asked.length } };
  });
  const query = queries.use("task.get", { task: "t" }, undefined);
  assert.equal(queries.use("task.get", { task: "t" }, undefined), query);
  await queries.refresh(query);
  assert.equal(queries.answer(query).revision, 1);
  queries.touched({ subject: "tasks/other" });
  assert.equal(query.isStale, false);
  queries.touched({ subject: "tasks/t" });
  assert.equal(query.isStale, true);
  const past = queries.use("task.get", { task: "t" }, 4);
  past.isStale = false;
  queries.touched({ subject: "tasks/t" });
  assert.equal(past.isStale, false);
  queries.clear();
});

/** Tasks as a server has them. @param {number} count */
function tasksOf(count) {
  const revision = (/** @type {number} */ index) => index + 1;
  const tasks = Array.from({ length: count }, (_, index) => ({
    ...{ id: `t-${index}`, type: "bulk", status: "pending", revision: revision(index) },
  }));
  const byId = new Map(tasks.map((task) => [task.id, task]));
  /** @type {string[]} */
  const read = [];
  const at = { revision: count };
  const source = {
    isAll: true,
    now: () => 0,
    matches: (/** @type {any} */ task) => task.status === "pending",
    async read(/** @type {string} */ id) {
      read.push(id);
      return byId.get(id);
    },
    async *pages() {
      for (let first = 0; first < tasks.length; first += 500)
        yield { revision: at.revision, tasks: tasks.slice(first, first + 500) };
    },
  };
  return { tasks, byId, read, source, at };
}

test("a hundred thousand rows: the newest first, and only those in view are read again", async () => {
  const { byId, read, source } = tasksOf(100_000);
  const rows = new TaskRows(new Store(() => {}), source);
  await rows.load();
  rows.merge();
  assert.equal(rows.ids.length, 100_000);
  assert.deepEqual(rows.ids.slice(0, 2), ["t-99999", "t-99998"]);
  assert.equal(rows.ids.at(-1), "t-0");
  rows.show(0, 40);
  const changed = { ...byId.get("t-99990"), status: "completed", revision: 200_000 };
  byId.set("t-99990", /** @type {any} */ (changed));
  rows.event({ subject: "tasks/t-99990", type: "task.completed", revision: 200_000 });
  rows.event({ subject: "tasks/t-7", type: "task.completed", revision: 200_001 });
  rows.event({ subject: "tasks/new", type: "task.created", revision: 200_002 });
  await rows.tick();
  assert.deepEqual(read, ["t-99990"]);
  assert.equal(rows.tasks(10)[9].status, "completed");
  assert.equal(rows.ids[0], "t-99999", "nothing moves while a person looks");
  assert.equal(rows.waiting, 1);
  rows.settle(true);
  assert.equal(rows.waiting, 1);
  rows.merge();
  assert.deepEqual(rows.ids.slice(0, 3), ["new", "t-7", "t-99990"]);
  rows.show(0, 3);
  await rows.tick();
  assert.deepEqual(read.slice(1).sort(), ["new", "t-7"]);
  rows.merge();
  assert.equal(rows.ids[0], "t-7", "a task that does not exist is no row");
});

test("a filtered list reads what may belong to it, and is read again if events were missed", async () => {
  const { tasks, byId, read, source } = tasksOf(3);
  let now = 0;
  const rows = new TaskRows(new Store(() => {}), { ...source, isAll: false, now: () => now });
  await rows.load();
  for (const [id, status] of [["mine", "pending"], ["other", "failed"]]) {
    byId.set(/** @type {string} */ (id), /** @type {any} */ ({ id, status, revision: 9 }));
    rows.event({ subject: `tasks/${id}`, type: "task.released", revision: 9 });
  }
  await rows.tick();
  rows.merge();
  assert.deepEqual(read, ["mine", "other"]);
  assert.deepEqual(rows.ids, ["mine", "t-2", "t-1", "t-0"]);
  tasks.splice(0, 1);
  rows.missed();
  await rows.tick();
  assert.equal(rows.ids.length, 4, "not at once");
  now = 10_000;
  await rows.tick();
  rows.merge();
  assert.deepEqual(rows.ids, ["t-2", "t-1"]);
});

test("what was answered before the feed began is asked for again", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout", "Date"] });
  const store = new Store((run) => run());
  let revision = 4;
  /** @type {(() => void)[]} */
  const answers = [];
  const queries = new Queries(store, (command) => {
    const answer = { revision, result: command };
    return new Promise((resolve) => answers.push(() => resolve(answer)));
  });
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  const arrive = async () => {
    for (const answer of answers.splice(0)) answer();
    await settled();
  };
  t.mock.timers.tick(1_000);
  const early = queries.use("state.list", {}, undefined);
  const past = queries.use("state.list", {}, 3);
  queries.hold(early);
  queries.hold(past);
  t.mock.timers.tick(0);
  await arrive();
  const late = queries.use("task.list", {}, undefined);
  queries.hold(late);
  t.mock.timers.tick(0);
  revision = 5;
  const current = queries.use("agent.list", {}, undefined);
  queries.hold(current);
  t.mock.timers.tick(0);
  queries.begun(5);
  await arrive();
  t.mock.timers.tick(5_000);
  assert.equal(answers.length, 2, "those about revision 4");
  await arrive();
  assert.deepEqual([early, late, current, past].map((it) => it.revision), [5, 5, 5, 4]);
  t.mock.timers.tick(60_000);
  assert.equal(answers.length, 0);
  queries.clear();
});

test("a question that the server could not answer is asked again, and soon after a slow answer", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout", "Date"] });
  /** @type {any[]} */
  const errors = [{ kind: "unavailable" }];
  let asked = 0;
  const queries = new Queries(new Store((run) => run()), async () => {
    asked += 1;
    t.mock.timers.tick(60_000);
    if (errors.length > 0) throw errors.pop();
    return { revision: 7, result: {} };
  });
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  const query = queries.use("contract.check", {}, undefined);
  queries.hold(query);
  t.mock.timers.tick(0);
  await settled();
  assert.equal(query.error.kind, "unavailable");
  t.mock.timers.tick(5_000);
  await settled();
  assert.deepEqual([query.error, asked], [undefined, 2]);
  queries.touched({ subject: "state/shared/a" });
  t.mock.timers.tick(0);
  await settled();
  assert.equal(asked, 3);
  queries.clear();
});

test("a list that was read before the feed began is read again", async () => {
  const { tasks, source, at } = tasksOf(2);
  let now = 10_000;
  const rows = new TaskRows(new Store(() => {}), { ...source, now: () => now });
  await rows.load();
  tasks.push({ id: "meanwhile", type: "bulk", status: "pending", revision: 3 });
  at.revision = 3;
  rows.begun(3);
  now += 10_000;
  await rows.tick();
  rows.merge();
  assert.deepEqual(rows.ids, ["meanwhile", "t-1", "t-0"]);
  rows.begun(3);
  assert.equal(rows.isOutdated, false);
});

test("the feed watches, polls while too much happens, and rests on a hidden page", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval", "setTimeout", "Date"] });
  let revision = 0;
  /** @type {string[]} */
  const did = [];
  const event = () => ({ revision: (revision += 1), subject: "tasks/t", time: "2026-01-01" });
  /** @type {(events: any[]) => void} */
  let deliver = () => {};
  /** @type {(error: Error) => void} */
  let refuse = () => {};
  const source = {
    async newest(/** @type {number} */ limit) {
      did.push(`newest ${limit}`);
      return { revision, oldest: 1, events: [] };
    },
    async *watch(/** @type {number} */ from, /** @type {AbortSignal} */ signal) {
      did.push(`watch ${from}`);
      while (!signal.aborted) {
        yield await new Promise((resolve, reject) => {
          deliver = resolve;
          refuse = reject;
          signal.addEventListener("abort", () => reject(signal.reason));
        });
      }
    },
    isThere: async () => true,
  };
  const on = {
    event() {},
    changed() {},
    back: () => did.push("back"),
    begun: (/** @type {number} */ at) => did.push(`begun ${at}`),
    denied() {},
  };
  const feed = new Feed(source, on);
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  const pass = async (/** @type {number} */ ms) => {
    t.mock.timers.tick(ms);
    await settled();
  };
  feed.start();
  await settled();
  assert.deepEqual(did.splice(0), ["newest 2000", "begun 0", "watch 1"]);
  deliver([event(), event()]);
  await settled();
  assert.equal(feed.events.length, 2);
  deliver(Array.from({ length: 4_000 }, event));
  await settled();
  assert.equal(feed.state, "busy");
  revision += 2_000;
  for (let second = 0; second < 4; second += 1) await pass(1_000);
  assert.equal(feed.state, "live");
  assert.deepEqual(did.splice(0), [...Array(4).fill("newest 100"), "watch 6003"]);
  feed.rest(true);
  await pass(60_000);
  assert.deepEqual(did.splice(0), []);
  feed.rest(false);
  await settled();
  assert.deepEqual(did.splice(0), ["newest 2000", "back", "watch 6003"]);
  // A watch that failed begins again, and pages ask for what happened meanwhile.
  refuse(Object.assign(new Error("gone"), { kind: "unavailable" }));
  await settled();
  assert.equal(feed.state, "lost");
  await pass(2_000);
  assert.deepEqual([...new Set(did)], ["newest 2000", "back", "watch 6003"]);
  feed.stop();
});

test("what needs a person is listed oldest first", () => {
  const items = needsYou({
    review: [{ id: "t-2", updated_at: "2026-01-02" }],
    failed: [{ id: "t-1", updated_at: "2026-01-01" }],
    handoffs: [{ id: "h", from: "a", to: "b", status: "offered", created_at: "2026-01-03" }],
    lost: [],
    dead: [],
    deadlocks: [],
  });
  assert.deepEqual(
    items.map(({ text }) => text),
    ["t-1 failed for good", "t-2 waits for review"],
  );
});

test("events are sentences, and every status has a shape", () => {
  assert.equal(sentence({ type: "task.claimed", task: "t-7" }), "claimed t-7");
  assert.equal(sentence({ type: "barrier.opened", name: "start" }), "opened start");
  assert.equal(look("in_progress").label, "in progress");
  assert.equal(look("unheard_of").tone, "idle");
});

test("keys are a tree, and samples are rates", () => {
  const tree = treeOf([
    { key: "plan/a", value: 1 },
    { key: "plan/b", value: 2 },
    { key: "x", value: 3 },
  ]);
  assert.equal(tree.branches.get("plan")?.count, 2);
  assert.deepEqual(
    tree.entries.map(({ name }) => name),
    ["x"],
  );
  const samples = new Samples();
  const stats = (/** @type {number} */ completed) => ({
    tasks: { in_progress: 1, ready: 2, blocked: 0, completed },
    failures: [],
    time_in_state: { pending: { p50_ms: 500, p95_ms: 1_000 } },
  });
  samples.add(10, stats(4), undefined);
  samples.add(12, stats(10), undefined);
  assert.deepEqual(samples.columns("completed"), [
    [10, 12],
    [0, 3],
  ]);
});

/** @param {string} folder @returns {string[]} */
const filesIn = (folder) =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => `${folder}/${name}`)
    .filter((file) => statSync(file).isFile());

test("vendored files are those of the manifest", () => {
  const manifest = JSON.parse(readFileSync(`${ui}/vendor/manifest.json`, "utf8"));
  const hash = (/** @type {string} */ file) =>
    createHash("sha384")
      .update(readFileSync(`${ui}/vendor/${file}`))
      .digest("base64");
  const named = manifest.packages.flatMap((/** @type {any} */ it) => Object.entries(it.files));
  for (const [file, expected] of named) assert.equal(hash(file), expected, file);
  const there = readdirSync(`${ui}/vendor`)
    .filter((name) => name !== "manifest.json")
    .sort();
  assert.deepEqual(named.map(([file]) => file).sort(), there);
});

test("the files are less than 400 KB, and no text of agents is parsed as HTML", () => {
  const own = ["styles", "lib", "components", "views", "vendor"].flatMap((it) =>
    filesIn(`${ui}/${it}`),
  );
  const size = own.reduce((sum, file) => sum + statSync(file).size, 0);
  assert.ok(size < 400 * 1024, `${size} bytes`);
  for (const file of own.filter((it) => it.endsWith(".mjs") && !it.includes("/vendor/"))) {
    const text = readFileSync(file, "utf8");
    assert.doesNotMatch(
      text,
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(/,
      file,
    );
    assert.ok(text.split("\n").length <= 320, `${file} is too long`);
  }
});
