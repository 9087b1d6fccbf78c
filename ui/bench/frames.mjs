// The times between frames while a table of many tasks scrolls and they change; the time of the
// first screen; and the cost of a hidden page.
//
//   BATON_PROGRAM=target/dist/baton node ui/bench/frames.mjs [TASKS] [CHANGES_PER_SECOND] [SECONDS]

import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { launch, newPage, TestServer } from "../test/server.mjs";

const [tasks = 100_000, rate = 2_000, seconds = 10] = process.argv.slice(2).map(Number);

/** @param {number[]} values @param {number} part */
const quantile = (values, part) =>
  [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))];

/** @param {TestServer} server */
async function fill(server) {
  for (let first = 0; first < tasks; first += 1_000) {
    const commands = Array.from({ length: Math.min(1_000, tasks - first) }, (_, index) => ({
      command: "task.create",
      type: "bulk",
      description: `task ${first + index} of a long list of work`,
    }));
    const response = await fetch(`${server.api}/v1/demo/commands`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(commands),
    });
    if (!response.ok) throw new Error(await response.text());
  }
}

/** Starts the load; the result ends it and says what it did. @param {TestServer} server */
function startLoad(server) {
  const script = fileURLToPath(new URL("load.mjs", import.meta.url));
  const child = spawn("node", [script, server.api, "demo", String(rate)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  let said = "";
  child.stdout.on("data", (chunk) => (said += chunk));
  return async () => {
    child.stdin.end();
    await once(child, "exit");
    return JSON.parse(said);
  };
}

/** Scrolls, and measures the time between frames. @param {number} ms */
const scrolled = (ms) =>
  new Promise((resolve) => {
    const box = /** @type {HTMLElement} */ (document.querySelector(".table-long"));
    /** @type {number[]} */
    const frames = [];
    let [first, last] = [0, 0];
    let step = 40;
    const frame = (/** @type {number} */ now) => {
      if (last > 0) frames.push(now - last);
      first ||= now;
      last = now;
      if (box.scrollTop + box.clientHeight >= box.scrollHeight - 1 || box.scrollTop === 0)
        step = box.scrollTop === 0 ? 40 : -40;
      box.scrollBy(0, step);
      if (now - first < ms) requestAnimationFrame(frame);
      else resolve(frames);
    };
    requestAnimationFrame(frame);
  });

/** The processor time of the page so far by kind, in seconds. @param {import("playwright-core").CDPSession} session */
async function spent(session) {
  const { metrics } = await session.send("Performance.getMetrics");
  const of = (/** @type {string} */ wanted) =>
    metrics.find(({ name }) => name === wanted)?.value ?? NaN;
  return {
    process: of("ProcessTime"),
    script: of("ScriptDuration"),
    style: of("RecalcStyleDuration"),
    layout: of("LayoutDuration"),
    tasks: of("TaskDuration"),
  };
}

/**
 * From the request to the first numbers, three times with what the first one left in the cache.
 * @param {import("playwright-core").Page} page
 * @param {string} url
 */
async function firstScreen(page, url) {
  await page.addInitScript(() => {
    const isShown = () => /\d/.test(document.querySelector(".counter-value")?.textContent ?? "");
    const observer = new MutationObserver(() => {
      if (!isShown()) return;
      performance.mark("shown");
      observer.disconnect();
    });
    observer.observe(document, { subtree: true, childList: true, characterData: true });
  });
  const times = [];
  for (let visit = 0; visit < 4; visit += 1) {
    await page.goto("about:blank");
    await page.goto(`${url}/#/demo/now`);
    await page.waitForFunction(() => performance.getEntriesByName("shown").length > 0);
    times.push(
      await page.evaluate(() =>
        ["first-contentful-paint", "shown"].map((it) =>
          Math.round(performance.getEntriesByName(it)[0]?.startTime ?? NaN),
        ),
      ),
    );
  }
  const words = times.map(([paint, shown]) => `${paint}/${shown}`);
  return `first screen, painted/with its numbers: ${words[0]} ms, then ${words.slice(1).join(", ")} ms`;
}

/**
 * The processor time of the page in each of some seconds while it is hidden, and the load continues.
 * @param {import("playwright-core").Page} page
 * @param {import("playwright-core").CDPSession} session
 */
async function hidden(page, session) {
  await page.evaluate(() => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => true });
    document.dispatchEvent(new Event("visibilitychange"));
  });
  await page.waitForTimeout(4_000);
  const before = await spent(session);
  await page.waitForTimeout(5_000);
  return ((await spent(session)).process - before.process) / 5;
}

const [server, browser] = await Promise.all([TestServer.start(), launch()]);
try {
  await fill(server);
  const { page, context } = await newPage(browser);
  console.log(await firstScreen(page, server.url));

  await page.goto(`${server.url}/#/demo/tasks`);
  await page.locator(".table-long tr[data-row]").first().waitFor();
  await page.waitForTimeout(3_000);
  const still = await page.evaluate(scrolled, 3_000);
  console.log(line("no changes", still));
  const stopLoad = startLoad(server);
  await page.waitForTimeout(2_000);
  const session = await context.newCDPSession(page);
  await session.send("Performance.enable");
  const before = await spent(session);
  if (process.env.TRACE) await browser.startTracing(page, { path: process.env.TRACE });
  const frames = await page.evaluate(scrolled, seconds * 1_000);
  if (process.env.TRACE) await browser.stopTracing();
  const after = await spent(session);
  const rows = await page.locator("table").getAttribute("aria-rowcount");
  const idle = await hidden(page, session);
  const load = await stopLoad();
  console.log(`${line(`${load.rate.toFixed(0)} changes/s`, frames)}, ${rows} rows`);
  const shares = Object.entries(after).map(
    ([name, value]) => `${name} ${((value - before[/** @type {keyof before} */ (name)]) / seconds).toFixed(2)}`,
  );
  console.log(`seconds of each second: ${shares.join(", ")}`);
  console.log(`hidden: ${idle.toFixed(3)} seconds of each second`);
} finally {
  await browser.close();
  await server.stop();
}

/** @param {string} what @param {number[]} frames */
function line(what, frames) {
  const [p50, p95, p99, max] = [0.5, 0.95, 0.99, 1].map((it) => quantile(frames, it)?.toFixed(1));
  return `scrolling, ${what}: frame p50 ${p50}, p95 ${p95}, p99 ${p99}, max ${max} ms`;
}
