// The dashboard in a real browser, against a real server.

import assert from "node:assert/strict";
import { mkdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { DISGUISED, MARKUP, fill } from "./fill.mjs";
import { launch, newPage, TestServer } from "./server.mjs";

const SCREENS = {
  now: "Needs you",
  tasks: "22",
  "tasks?view=board": "in progress",
  "tasks?view=timeline": "long",
  "tasks/long": "Attempts",
  "tasks/broken": "Last error",
  agents: "lin",
  "agents/joe": "What it did",
  handoffs: "zoe knows it better",
  "handoffs?view=graph": "Who hands over to whom",
  pipelines: "article",
  "pipelines/article": "Stages",
  "pipelines/article?view=gantt": "research",
  state: "Keys",
  "state/shared/plan%2Foutline": "Versions",
  locks: "Deadlock",
  messages: "Conversations",
  events: "How many",
  checkpoints: "checkpoints",
  metrics: "Tasks by status",
  connect: "Connect an agent",
};
const folder = process.env.SCREENSHOTS;

/** @type {TestServer} */
let server;
/** @type {import("playwright-core").Browser} */
let browser;

before(async () => {
  [server, browser] = await Promise.all([TestServer.start(), launch()]);
  await fill(server);
  if (folder) await mkdir(folder, { recursive: true });
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

/** @param {import("playwright-core").Page} page @param {string} place @param {string} text */
async function open(page, place, text) {
  await page.goto(`${server.url}/#/demo/${place}`);
  const shown = decodeURIComponent(place.split("?")[0] ?? "");
  await page.locator(`main[data-place="${shown}"]`).getByText(text).first().waitFor();
}

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/**
 * The objections of axe. Only the colours depend on the theme.
 * @param {import("playwright-core").Page} page
 * @param {string} colorScheme
 */
async function seriousFindings(page, colorScheme) {
  // The policy of the page forbids scripts of others; a debugger may run them.
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axe);
  const options = colorScheme === "light" ? "{}" : '{ runOnly: ["color-contrast"] }';
  const found = await page.evaluate(`axe.run(document, ${options}).then((it) => it.violations)`);
  return /** @type {any[]} */ (found)
    .filter(({ impact }) => ["serious", "critical"].includes(impact))
    .map(({ id, nodes }) => `${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`);
}

for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
  for (const width of [1280, 390]) {
    test(`every screen opens without an error: ${colorScheme}, ${width} wide`, async () => {
      const viewport = { width, height: 860 };
      const { page, problems, hosts, context } = await newPage(browser, {
        colorScheme,
        viewport,
      });
      for (const [place, text] of Object.entries(SCREENS)) {
        await open(page, place, text);
        const name = place.replace(/\W+/g, "-");
        // Pictures show what arrives a moment later, too.
        if (folder) await page.waitForTimeout(1_500);
        if (folder)
          await page.screenshot({
            path: `${folder}/${name}-${width}-${colorScheme}.png`,
          });
        const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(over <= 0, `${place} is ${over} pixels too wide`);
        assert.deepEqual(problems, [], place);
        if (width > 1_000) assert.deepEqual(await seriousFindings(page, colorScheme), [], place);
      }
      assert.deepEqual(new Set(hosts), new Set([new URL(server.url).host]));
      assert.equal(await page.evaluate("window.hacked"), undefined);
      await context.close();
    });
  }
}

test("markup of agents is shown as text", async () => {
  const { page, problems, context } = await newPage(browser);
  await open(page, "messages", "Conversations");
  await page.locator("main a").getByText("<img src=x").first().click();
  await page.locator(".message .text").getByText(MARKUP).waitFor();
  await open(page, "messages", "Conversations");
  await page.locator("main a").getByText("[31mdelete").first().click();
  const disguised = page.locator(".message .text", { hasText: "[31mdelete" });
  assert.equal((await disguised.textContent())?.trim(), DISGUISED);
  assert.equal(await disguised.evaluate((it) => getComputedStyle(it).unicodeBidi), "isolate");
  await open(page, "tasks/broken", MARKUP);
  assert.equal(await page.locator("main img, main script").count(), 0);
  assert.equal(await page.evaluate("window.hacked"), undefined);
  assert.deepEqual(problems, []);
  await context.close();
});

test("the keyboard alone is enough: palette, list, action, time", async () => {
  const { page, problems, context } = await newPage(browser);
  await open(page, "now", "Needs you");
  await page.keyboard.press("g");
  await page.keyboard.press("t");
  await page.locator("h1", { hasText: "Tasks" }).waitFor();
  await page.keyboard.press("Control+k");
  await page.locator(".palette input:focus").waitFor();
  await page.keyboard.type("status:failed");
  await page.locator("#palette-list").getByText("tasks/broken").first().waitFor();
  await page.keyboard.press("Enter");
  await page.locator("h1", { hasText: "broken" }).waitFor();
  await page.getByRole("button", { name: "Retry", exact: true }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").getByText("becomes available again").waitFor();
  await page.keyboard.type("the memory is back");
  await page.keyboard.press("Enter");
  await page.locator(".status", { hasText: "pending" }).first().waitFor();
  await page.keyboard.press("[");
  await page.getByText("read-only").waitFor();
  assert.equal(await page.getByRole("button", { name: "Cancel" }).count(), 0);
  await page.keyboard.press("Escape");
  await page.getByText("read-only").waitFor({ state: "detached" });
  await page.keyboard.press("g");
  await page.keyboard.press("a");
  await page.locator("tr[data-row]").first().waitFor();
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.getByText("What it did").waitFor();
  await page.keyboard.press("?");
  await page.getByRole("dialog").getByText("one revision back").waitFor();
  assert.deepEqual(problems, []);
  await context.close();
});

test("an open dialog has all keys, also after a refusal, and ends with its page", async () => {
  const { page, context } = await newPage(browser);
  const run = (/** @type {any} */ command) => server.command("demo", command);
  await run({ command: "agent.register", agent: "brief" });
  await open(page, "agents/brief", "What it did");
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "End session" }).click();
  await dialog.waitFor();
  await page.evaluate("document.activeElement.blur()");
  await page.keyboard.press("g");
  await page.keyboard.press("t");
  await page.keyboard.press("/");
  await page.keyboard.press("Control+k");
  assert.equal(await page.locator("dialog[open]").count(), 1);
  assert.match(page.url(), /agents\/brief$/);
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await open(page, "state/shared/plan%2Foutline", "Versions");
  await page.getByRole("button", { name: "Edit" }).click();
  const figures = { command: "state.set", agent: "lin", namespace: "shared", key: "plan/outline" };
  await run({ ...figures, value: { title: "Tides", parts: [] } });
  await page.locator("dialog .confirm").click();
  await page.getByRole("alert").waitFor();
  await page.locator("dialog :focus").waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Edit" }).click();
  await dialog.waitFor();
  await page.evaluate("history.back()");
  await dialog.waitFor({ state: "detached" });
  await context.close();
});

test("a page shows any moment of the past", async () => {
  const { page, problems, context } = await newPage(browser);
  await server.command("demo", {
    command: "state.set",
    namespace: "shared",
    key: "clock",
    value: "before",
  });
  const { revision } = await server.command("demo", {
    command: "state.get",
    namespace: "shared",
    key: "clock",
  });
  await server.command("demo", {
    command: "state.set",
    namespace: "shared",
    key: "clock",
    value: "after",
  });
  await open(page, "state/shared/clock", "after");
  await open(page, `state/shared/clock?at=${revision}`, "before");
  await page.getByRole("button", { name: "Back to now" }).click();
  await page.locator("pre.text").getByText("after").waitFor();
  assert.deepEqual(problems, []);
  await context.close();
});

test("a row changes in place, and an entry is edited at its version and reverted", async () => {
  const { page, problems, context } = await newPage(browser);
  await server.command("demo", {
    command: "task.create",
    agent: "lin",
    task: "watched",
    type: "watched",
  });
  await open(page, "tasks?q=type:watched", "watched");
  await server.command("demo", { command: "task.cancel", agent: "lin", task: "watched" });
  await page.locator("tr", { hasText: "watched" }).getByText("cancelled").waitFor();
  await open(page, "state/shared/plan%2Foutline", "Versions");
  await page.getByRole("button", { name: "Edit" }).click();
  await page.locator("textarea").fill('{"title": "Ebb"}');
  await page.locator("dialog .confirm").click();
  await page.locator(".json-string").getByText("Ebb").waitFor();
  await page.getByRole("button", { name: "Revert to this" }).first().click();
  await page.locator("dialog .confirm").click();
  await page.locator(".json-string").getByText("Tides").first().waitFor();
  assert.deepEqual(problems, []);
  await context.close();
});

test("a value is written as it was, whatever numbers it has", async () => {
  const { page, problems, context } = await newPage(browser);
  const exact = '{ "id": 9007199254740993,\n  "f":1.0 }';
  const place = '"namespace":"shared","key":"exact"';
  const write = (/** @type {string} */ value) =>
    server.text("demo", `{"command":"state.set","agent":"lin",${place},"value":${value}}`);
  const value = async (/** @type {string} */ key) => {
    const answer = await server.text("demo", `{"command":"state.get",${place.replace("exact", key)}}`);
    return /"value":([^]*),"version"/.exec(answer)?.[1];
  };
  const confirm = async (/** @type {string} */ label) => {
    await page.locator("dialog .confirm").click();
    await page.locator("dialog").waitFor({ state: "detached" });
    await page.getByText(`${label}: done`).first().waitFor();
  };
  await write(exact);
  await open(page, "state/shared/exact", "Versions");
  await page.locator(".json-number").getByText("9007199254740993").waitFor();
  await page.getByRole("button", { name: "Edit" }).click();
  await confirm("Edit");
  assert.equal(await value("exact"), exact);
  await page.locator("dd").getByText("2", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Edit" }).click();
  assert.equal(await page.locator("textarea").inputValue(), '{\n  "id": 9007199254740993,\n  "f": 1.0\n}');
  await page.locator("textarea").fill('{"id": 12345678901234567890}');
  await confirm("Edit");
  assert.equal(await value("exact"), '{"id":12345678901234567890}');
  await page.locator("dd").getByText("3", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Revert to this" }).last().click();
  await confirm("Revert to this");
  assert.equal(await value("exact"), exact);
  await page.getByRole("button", { name: "New entry" }).click();
  await page.locator("dialog input[name=key]").fill("exact-too");
  await page.locator("textarea").fill("[-0, 1E2]");
  await confirm("New entry");
  assert.equal(await value("exact-too"), "[-0,1E2]");
  await open(page, "tasks", "22");
  await page.getByRole("button", { name: "New task" }).click();
  await page.locator("dialog input[name=type]").fill("exact");
  await page.locator("textarea").fill("9007199254740993");
  await page.locator("dialog .confirm").click();
  await page.getByText("Created").waitFor();
  const tasks = await server.text("demo", '{"command":"task.list","type":"exact"}');
  assert.match(tasks, /"definition":9007199254740993,/);
  assert.deepEqual(problems, []);
  await context.close();
});

test("supervisors and contracts are shown, and a contract is declared, broken and deleted", async () => {
  const { page, problems, context } = await newPage(browser);
  await open(page, "agents", "Supervisor");
  await page.locator("tr", { hasText: "apprentice" }).getByRole("link", { name: "joe" }).waitFor();
  await open(page, "agents/joe", "Supervises");
  await page.locator("dd").getByRole("link", { name: "apprentice" }).waitFor();
  await open(page, "state/shared/plan%2Foutline", "Who depends on it");
  await page.locator("dd").getByRole("link", { name: "zoe" }).waitFor();
  await open(page, "state", "outline");
  const figures = { command: "state.set", agent: "lin", namespace: "shared", key: "figures" };
  await page.getByRole("button", { name: "New contract" }).click();
  await page.locator("dialog input[name=name]").fill("numbers");
  await page.locator("dialog textarea").fill('[{"key": "shared/figures", "type": "number"}]');
  await page.locator("dialog select").selectOption("refuse");
  // The page is rendered again meanwhile: what was filled in stays.
  await server.command("demo", { ...figures, value: 7 });
  await page.locator("a", { hasText: "figures" }).first().waitFor();
  await page.waitForTimeout(1_500);
  assert.equal(await page.locator("dialog input[name=name]").inputValue(), "numbers");
  assert.equal(await page.locator("dialog select").inputValue(), "refuse");
  await page.locator("dialog select").selectOption("warn");
  await page.locator("dialog .confirm").click();
  const contract = page.locator("li", { hasText: "numbers" });
  await contract.getByText("is a number").waitFor();
  await server.command("demo", { ...figures, value: "seven" });
  await page.locator("li.tone-bad", { hasText: "shared/figures" }).waitFor();
  await contract.getByRole("button", { name: "Delete" }).click();
  await page.locator("dialog .confirm").click();
  await contract.waitFor({ state: "detached" });
  await page.locator("li.tone-bad").waitFor({ state: "detached" });
  assert.deepEqual(problems, []);
  await context.close();
});

test("a large graph is laid out beside the page", async () => {
  const { page, problems, context } = await newPage(browser);
  const stages = Array.from({ length: 100 }, (_, index) => ({
    name: `s${index}`,
    after: [...new Set([index - 10, index - (index % 10) - 10])]
      .filter((it) => it >= 0)
      .map((it) => `s${it}`),
  }));
  await server.command("demo", { command: "pipeline.create", pipeline: "large", stages });
  await open(page, "pipelines/large", "Stages");
  await page.locator("svg .node").nth(99).waitFor();
  assert.deepEqual(problems, []);
  await context.close();
});

test("a hidden page receives nothing, and continues when it is shown", async () => {
  const { page, context } = await newPage(browser);
  await open(page, "state", "Keys");
  const hide = (/** @type {boolean} */ isHidden) =>
    page.evaluate((value) => {
      Object.defineProperty(document, "hidden", { configurable: true, get: () => value });
      document.dispatchEvent(new Event("visibilitychange"));
    }, isHidden);
  await hide(true);
  // The worker that receives events ends.
  while (page.workers().length > 0) await page.waitForTimeout(50);
  const write = (/** @type {string} */ key) =>
    server.command("demo", { command: "state.set", namespace: "shared", key, value: 1 });
  await write("while-hidden");
  assert.equal(await page.locator("main").getByText("while-hidden").count(), 0);
  await hide(false);
  await page.locator("main").getByText("while-hidden").waitFor();
  await write("while-shown");
  await page.locator("main").getByText("while-shown").waitFor();
  await context.close();
});

test("a hand-off is approved by a person", async () => {
  const { page, problems, context } = await newPage(browser);
  await open(page, "now", "joe asks to hand long to zoe");
  const row = page.locator("li", { hasText: "joe asks to hand long to zoe" });
  await row.getByRole("button", { name: "Approve" }).click();
  await page.locator("dialog .confirm").click();
  await row.waitFor({ state: "detached" });
  await open(page, "handoffs", "approved");
  assert.deepEqual(problems, []);
  await context.close();
});

test("a session is ended, a dead message delivered again, a request answered", async () => {
  const { page, problems, context } = await newPage(browser);
  const run = (/** @type {any} */ command) => server.command("demo", command);
  const confirm = () => page.locator("dialog .confirm").click();
  for (const agent of ["asked", "leaver"]) await run({ command: "agent.register", agent });
  await open(page, "agents/leaver", "What it did");
  await page.getByRole("button", { name: "End session" }).click();
  await confirm();
  await page.locator("h1 + span").getByText("left").waitFor();
  const { id } = await run({ command: "message.send", agent: "lin", to: "asked", body: "dying" });
  const receive = { command: "inbox.receive", agent: "asked", redeliver_ms: 100, wait_ms: 5_000 };
  for (let delivery = 0; delivery < 10; delivery += 1) await run(receive);
  await open(page, `messages/${id}`, "dead");
  await page.getByRole("button", { name: "Deliver again" }).click();
  await page.locator(".message .status", { hasText: "waiting" }).waitFor();
  await run({ command: "inbox.ack", agent: "asked", messages: [id] });
  await run({ command: "handler.register", agent: "asked", handler: "agent:asked" });
  const body = "which colour?";
  const ask = { command: "message.request", agent: "lin", to: "asked", body, timeout_ms: 60_000 };
  const answered = run(ask);
  await open(page, "messages", "Conversations");
  await page.locator("main a", { hasText: body }).click();
  await page.locator(".message", { hasText: body }).getByRole("button", { name: "Reply" }).click();
  await page.getByRole("dialog").getByText("--agent asked message reply").waitFor();
  await page.locator("dialog input").fill("green");
  await confirm();
  assert.equal((await answered).body, "green");
  assert.deepEqual(problems, []);
  await context.close();
});

test("a command that is shown does what its button does, whatever the name is", async () => {
  const { page, context } = await newPage(browser);
  const key = "$(touch pwned) it's";
  const entry = { command: "state.set", agent: "lin", namespace: "shared", key, value: 1 };
  await server.command("demo", entry);
  await open(page, `state/shared/${encodeURIComponent(key)}`, "Versions");
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  const shown = await page.locator("dialog .cli code").textContent();
  await server.shell(String(shown));
  await page.locator("main").getByText("there is no entry").waitFor();
  await context.close();
});

test("the page continues after the server was killed", async () => {
  const other = await TestServer.start();
  const { page, context } = await newPage(browser);
  await other.command("demo", {
    command: "state.set",
    namespace: "shared",
    key: "first",
    value: 1,
  });
  await page.goto(`${other.url}/#/demo/state`);
  await page.locator("main").getByText("first").waitFor();
  await other.kill();
  await page.getByText("Disconnected").waitFor();
  await other.run();
  await page.getByText("Live", { exact: true }).waitFor();
  await other.command("demo", {
    command: "state.set",
    namespace: "shared",
    key: "second",
    value: 2,
  });
  await page.locator("main").getByText("second").waitFor();
  await context.close();
  await other.stop();
});

test("tokens: a wrong one is refused, a reader sees no button, a revoked one signs out", async () => {
  const guarded = await TestServer.start("--tokens");
  await guarded.command("demo", { command: "task.create", task: "t-1", type: "write" });
  const make = (/** @type {string} */ role) =>
    JSON.parse(guarded.baton("token", "create", role, "--role", role, "-o", "json"));
  const { page, context } = await newPage(browser);
  await page.goto(`${guarded.url}/#/demo/tasks/t-1`);
  await page.getByLabel("Token").fill("baton_wrong");
  await page.keyboard.press("Enter");
  await page.getByRole("alert").waitFor();
  const reader = make("reader");
  await page.getByLabel("Token").fill(reader.token);
  await page.keyboard.press("Enter");
  await page.locator("h1", { hasText: "t-1" }).waitFor();
  await page.getByText("Live", { exact: true }).waitFor();
  assert.equal(await page.getByRole("button", { name: "Cancel" }).count(), 0);
  assert.ok(!page.url().includes("baton_"));
  assert.equal(await page.evaluate("Object.values(localStorage).join().includes('baton_')"), false);
  await guarded.command("demo", { command: "task.cancel", task: "t-1" });
  await page.locator(".status", { hasText: "cancelled" }).waitFor();
  guarded.baton("token", "revoke", reader.id);
  await page.getByLabel("Token").waitFor();
  await page.getByLabel("Token").fill(make("worker").token);
  await page.keyboard.press("Enter");
  await page.goto(`${guarded.url}/#/demo/tasks`);
  await page.getByRole("button", { name: "New task" }).waitFor();
  await context.close();
  await guarded.stop();
});

test("tokens: one for an agent and a workspace watches it, and its workspace is opened", async () => {
  const guarded = await TestServer.start("--tokens");
  await guarded.command("demo", { command: "task.create", task: "t-1", type: "write" });
  const token = (/** @type {string[]} */ ...options) =>
    guarded.baton("token", "create", ...options, "--role", "worker", "--field", "token").trim();
  const { page, context } = await newPage(browser);
  const signIn = async (/** @type {string} */ given) => {
    await page.getByLabel("Token").fill(given);
    await page.keyboard.press("Enter");
  };
  await page.goto(`${guarded.url}/#/demo/tasks/t-1`);
  await signIn(token("bound", "--for", "ada"));
  await page.getByText("Live", { exact: true }).waitFor();
  await guarded.command("demo", { command: "task.cancel", task: "t-1" });
  await page.locator(".status", { hasText: "cancelled" }).waitFor();
  await page.locator("select.workspace option", { hasText: "demo" }).waitFor({ state: "attached" });
  await guarded.command("demo", { command: "message.send", to: "ada", body: "for ada" });
  await guarded.command("demo", { command: "message.send", to: "bob", body: "for bob" });
  await page.goto(`${guarded.url}/#/demo/messages`);
  await page.locator("main a", { hasText: "for bob" }).waitFor();
  await page.goto(`${guarded.url}/#/demo/connect`);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByText("requires an access token").waitFor();
  assert.equal(await page.getByRole("alert").count(), 0);
  await page.evaluate("localStorage.setItem('baton.workspace', 'default')");
  await page.goto(`${guarded.url}/`);
  await signIn(token("limited", "--in", "demo"));
  await page.waitForURL(/#\/demo\/now$/);
  await page.getByText("Live", { exact: true }).waitFor();
  await page.goto(`${guarded.url}/#/default/now`);
  await page.getByText("The token is not for this workspace").waitFor();
  await context.close();
  await guarded.stop();
});

test("names that the server refuses are not taken, and signing out of an open server opens it again", async () => {
  const { page, context } = await newPage(browser);
  await context.addInitScript("localStorage.setItem('baton.agent', 'a b')");
  await open(page, "connect", "Connect an agent");
  await page.locator(".who-name", { hasText: "dashboard" }).waitFor();
  await page.getByRole("button", { name: "Act as" }).click();
  await page.locator("dialog input").fill("日本");
  await page.locator("dialog .confirm").click();
  await page.getByRole("alert").getByText("letters, digits").waitFor();
  await page.keyboard.press("Escape");
  await page.locator("select.workspace").selectOption("+");
  await page.locator("dialog input").fill("../x");
  await page.locator("dialog .confirm").click();
  await page.getByRole("alert").getByText("letters, digits").waitFor();
  await page.keyboard.press("Escape");
  await page.goto(`${server.url}/#/a%20b/connect`);
  await page.waitForURL(/#\/demo\/now$/);
  await page.evaluate("sessionStorage.setItem('baton.token', 'baton_x')");
  await open(page, "connect", "Connect an agent");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByText("This server requires no token").waitFor();
  await page.getByText("Live", { exact: true }).waitFor();
  await server.command("demo", { command: "message.send", to: "nobody", body: "hello" });
  await open(page, "agents/nobody", "never registered here");
  await page.locator("main a", { hasText: "hello" }).waitFor();
  assert.equal(await page.getByRole("alert").count(), 0);
  await page.getByRole("button", { name: "Send message" }).waitFor();
  await context.close();
});

test("of many messages and hand-offs, the newest are shown", async () => {
  const full = await TestServer.start();
  const send = (/** @type {number} */ index) => ({
    command: "message.send",
    agent: "ada",
    to: "bob",
    body: `number ${index}.`,
  });
  await full.many("demo", 60, (index) => ({ ...send(index), to: "eve" }));
  await full.many("demo", 1_000, send);
  for (const agent of ["bob", "eve"]) {
    await full.command("demo", { command: "agent.register", agent });
    await full.many("demo", 60, (index) => ({
      command: "handoff.offer",
      agent,
      to: agent === "bob" ? "eve" : "bob",
      state: { index },
    }));
  }
  const { page, problems, context } = await newPage(browser);
  await page.goto(`${full.url}/#/demo/messages`);
  await page.getByText("1,000 conversations of the newest 1,000 messages").waitFor();
  await page.locator("main li", { hasText: "number 999." }).waitFor();
  await full.command("demo", send(1_000));
  await page.locator("main li", { hasText: "number 1000." }).waitFor();
  await page.getByRole("button", { name: "Waiting" }).click();
  await page.getByText("1,061 conversations", { exact: true }).waitFor();
  await page.goto(`${full.url}/#/demo/agents/eve`);
  await page.locator("main li", { hasText: "number 59." }).waitFor();
  assert.equal(await page.locator("main li", { hasText: "number " }).count(), 20);
  const handoffs = page.locator("section", { hasText: "Hand-offs" }).locator("li");
  const { handoffs: all } = await full.command("demo", { command: "handoff.list", limit: 1_000 });
  await handoffs.first().locator(`a[href$="${all.at(-1).id}"]`).waitFor();
  assert.equal(await handoffs.count(), 20);
  assert.deepEqual(problems, []);
  await context.close();
  await full.stop();
});

test("Now counts everything, and shows the past as it was, also when much has happened since", async () => {
  const busy = await TestServer.start();
  const ttl_ms = 86_400_000;
  const agent = (/** @type {number} */ index) => `agent-${index}`;
  await busy.many("demo", 254, (index) => ({ command: "agent.register", agent: agent(index), ttl_ms }));
  const task = { command: "task.create", agent: "agent-0", type: "x", max_retries: 0 };
  await busy.many("demo", 247, (index) => ({ ...task, task: `t-${index}` }));
  const claim = { command: "task.claim", agent: "agent-1", types: ["x"], lease_ms: 3_600_000 };
  const claimed = await busy.many("demo", 247, () => claim);
  await busy.many("demo", 247, (index) => {
    const { id, lease } = claimed[index];
    return { command: "task.fail", agent: "agent-1", task: id, token: lease.token, error: "no" };
  });
  const { events } = await busy.command("demo", { command: "event.history", limit: 1 });
  const write = { command: "state.set", agent: "late", namespace: "shared", key: "k" };
  for (let round = 0; round < 5; round += 1)
    await busy.many("demo", 1_000, (index) => ({ ...write, value: index }));
  const { page, problems, context } = await newPage(browser);
  const counter = (/** @type {string} */ name) =>
    page.locator(".counter", { hasText: name }).locator(".counter-value");
  await page.goto(`${busy.url}/#/demo/now`);
  await counter("need you").getByText("247", { exact: true }).waitFor();
  await counter("agents active").getByText("254", { exact: true }).waitFor();
  await page.locator("main li", { hasText: "197 more" }).waitFor();
  const feed = page.locator("ol.feed");
  await feed.getByText("late").first().waitFor();
  await page.goto(`${busy.url}/#/demo/now?at=${events[0].revision}`);
  await feed.getByText("failed t-246").waitFor();
  assert.equal(await feed.getByText("late").count(), 0);
  assert.ok(await page.locator(".spans a.span-failed").count() > 0);
  const rates = await page.locator(".counter.wide rect title").allTextContents();
  assert.ok(Number(rates.at(-1)) > 0, rates.join());
  await page.goto(`${busy.url}/#/demo/agents/agent-1?at=${events[0].revision}`);
  await page.locator("ol.feed").getByText("failed t-246").waitFor();
  assert.deepEqual(problems, []);
  await context.close();
  await busy.stop();
});

test("the longest names fit into every screen", async () => {
  const long = await TestServer.start();
  const name = (/** @type {string} */ sign, length = 128) => sign.repeat(length);
  const workspace = name("w", 64);
  const agent = name("a");
  const key = name("k", 512);
  const pipeline = name("p", 119);
  const run = (/** @type {any} */ command) => long.command(workspace, { agent, ...command });
  await run({ command: "agent.register", capabilities: [name("c", 60)] });
  await run({ command: "namespace.create", name: name("n") });
  for (const namespace of ["shared", name("n")])
    await run({ command: "state.set", namespace, key, value: name("v") });
  await run({ command: "state.set", namespace: "shared", key: `${name("d")}/${name("e")}`, value: 1 });
  await run({ command: "task.create", task: name("t", 119), type: name("y", 100) });
  await run({ command: "message.send", to: name("b"), body: name("m", 300) });
  await run({ command: "handoff.offer", to: name("b"), state: {}, reason: name("r", 200) });
  await run({ command: "lock.acquire", name: name("l", 256), ttl_ms: 3_600_000 });
  await run({ command: "pipeline.create", pipeline, stages: [{ name: name("s") }] });
  const places = [
    ...Object.keys(SCREENS).filter((it) => !/[/]/.test(it)),
    ...[`agents/${agent}`, `tasks/${name("t", 119)}`, `pipelines/${pipeline}`],
    ...[`state/shared/${key}`, `state/${name("n")}`],
  ];
  for (const width of [1280, 400]) {
    const { page, context } = await newPage(browser, { viewport: { width, height: 860 } });
    await page.addInitScript(`localStorage.setItem("baton.agent", "${agent}")`);
    for (const place of places) {
      await page.goto(`${long.url}/#/${workspace}/${place}`);
      await page.locator(`main[data-place="${place.split("?")[0]}"]`).waitFor();
      await page.getByText("Live", { exact: true }).waitFor();
      await page.waitForLoadState("networkidle");
      const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(over <= 0, `${place} is ${over} pixels too wide at ${width}`);
    }
    await context.close();
  }
  await long.stop();
});

test("tokens: an expired one signs out, and another one continues at the same place", async () => {
  const guarded = await TestServer.start("--tokens");
  await guarded.command("demo", { command: "task.create", task: "t-1", type: "write" });
  const make = (/** @type {string[]} */ ...options) =>
    JSON.parse(guarded.baton("token", "create", "r", "--role", "reader", ...options, "-o", "json"));
  const { page, context } = await newPage(browser);
  await page.goto(`${guarded.url}/#/demo/tasks/t-1`);
  await page.getByLabel("Token").fill(make("--ttl", "3s").token);
  await page.keyboard.press("Enter");
  const title = page.locator("h1", { hasText: "t-1" });
  // Where signing in takes longer than the token lasts, it is refused at once.
  await title.or(page.getByRole("alert")).first().waitFor();
  await page.getByLabel("Token").waitFor();
  await page.getByLabel("Token").fill(make().token);
  await page.keyboard.press("Enter");
  await title.waitFor();
  await context.close();
  await guarded.stop();
});

test("ten thousand tasks are a table of which little is in the document", async () => {
  const big = await TestServer.start();
  const task = (/** @type {number} */ index) => ({
    command: "task.create",
    type: "bulk",
    description: `task ${index}`,
  });
  for (let round = 0; round < 10; round += 1) await big.many("demo", 1_000, task);
  const { page, problems, context } = await newPage(browser);
  await page.goto(`${big.url}/#/demo/tasks`);
  await page.getByText("10,000 tasks").waitFor();
  assert.ok((await page.locator("tr[data-row]").count()) < 80);
  const box = page.locator(".table-long");
  await box.evaluate((it) => it.scrollTo(0, it.scrollHeight));
  await box.getByText("t-0000000001", { exact: true }).waitFor();
  await box.evaluate((it) => it.scrollTo(0, 190_000));
  await box.getByText("t-0000005000", { exact: true }).waitFor();
  // New rows wait until the reader asks for them, and move nothing.
  await big.command("demo", { command: "task.create", task: "newest", type: "bulk" });
  await page.getByRole("button", { name: "1 new" }).waitFor();
  assert.equal(await box.evaluate((it) => it.scrollTop), 190_000);
  await box.getByText("t-0000005000", { exact: true }).waitFor();
  await page.getByRole("button", { name: "1 new" }).click();
  await box.getByText("newest", { exact: true }).waitFor();
  assert.deepEqual(problems, []);
  await context.close();
  await big.stop();
});
