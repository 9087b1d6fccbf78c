// Queues and durations: the numbers of the server, sampled while the page is open.

import { Page, Section, Status } from "../components/basics.mjs";
import { Chart } from "../components/chart.mjs";
import { Table } from "../components/table.mjs";
import { app } from "../lib/app.mjs";
import { count, duration, words } from "../lib/format.mjs";
import { useChanges, useQuery } from "../lib/hooks.mjs";
import { html, useEffect, useMemo, useState } from "../lib/html.mjs";
import { samplesOf } from "../lib/samples.mjs";

const LIMIT = 10_000;
const SAMPLE_MS = 1_000;

/** @param {any[]} tasks */
function depthByType(tasks) {
  /** @type {Map<string, Record<string, number>>} */
  const types = new Map();
  for (const { type, status } of tasks) {
    const row = types.get(type) ?? {};
    row[status] = (row[status] ?? 0) + 1;
    types.set(type, row);
  }
  return [...types].map(([type, counts]) => ({ type, ...counts }));
}

export function Metrics() {
  useChanges();
  const stats = useQuery("task.stats");
  const handoffs = useQuery("handoff.stats");
  const pending = useQuery("task.list", { status: "pending", limit: LIMIT });
  const running = useQuery("task.list", { status: "in_progress", limit: LIMIT });
  const [tick, setTick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setTick((it) => it + 1), SAMPLE_MS);
    return () => clearInterval(timer);
  }, []);
  const samples = samplesOf(app.route.workspace);
  const data = stats.data;
  useEffect(() => {
    if (!data || app.at !== undefined) return;
    samples.seed(app.feed?.events ?? [], Date.now() / 1_000);
    samples.add(Date.now() / 1_000, data, app.feed);
  }, [tick, Boolean(data)]);
  const depth = useMemo(() => samples.columns("running", "ready", "blocked"), [tick]);
  const flow = useMemo(() => samples.columns("completed", "failures"), [tick]);
  const events = useMemo(() => samples.columns("events"), [tick]);
  const waits = useMemo(() => samples.columns("p50", "p95"), [tick]);
  const types = depthByType([...(pending.data?.tasks ?? []), ...(running.data?.tasks ?? [])]);
  const states = Object.entries(data?.time_in_state ?? {}).map(([status, it]) => ({
    status,
    .../** @type {any} */ (it),
  }));
  const number = (/** @type {string} */ name) => ({
    name: words(name),
    class: "number",
    cell: (/** @type {any} */ it) => count(it[name] ?? 0),
  });
  const ms = (/** @type {string} */ name, /** @type {string} */ field) => ({
    name,
    class: "number",
    cell: (/** @type {any} */ it) => duration(it[field] ?? 0),
  });
  return html`<${Page} title="Queues and metrics" note="sampled every second while this page is open; for longer times scrape /metrics" error=${stats.error}>
    <div class="charts">
      <${Chart} title="Tasks by status" data=${depth} series=${[
        { name: "running", tone: "run" },
        { name: "ready", tone: "wait" },
        { name: "blocked", tone: "bad" },
      ]} />
      <${Chart} title="Tasks per second" data=${flow} series=${[
        { name: "completed", tone: "good" },
        { name: "failed attempts", tone: "bad" },
      ]} />
      <${Chart} title="Events per second" data=${events} series=${[{ name: "events", tone: "run" }]} />
      <${Chart} title="Time until a task is claimed, in s" data=${waits} series=${[
        { name: "median", tone: "good" },
        { name: "p95", tone: "wait" },
      ]} />
    </div>
    <div class="columns">
      <${Section} title="Queues">
        <${Table} label="Queues" rows=${types} id=${(/** @type {any} */ it) => it.type} columns=${[{ name: "Type", cell: (/** @type {any} */ it) => html`<a href=${app.href("tasks", [], { q: `type:${it.type}` })}>${it.type}</a>` }, number("pending"), number("in_progress")]} />
        ${types.length === 0 && html`<p class="faint pad">All queues are empty.</p>`}
      <//>
      <${Section} title="How long tasks stay in each status">
        <${Table} label="Durations" rows=${states} id=${(/** @type {any} */ it) => it.status} columns=${[{ name: "Status", cell: (/** @type {any} */ it) => html`<${Status} status=${it.status} />` }, number("count"), ms("median", "p50_ms"), ms("p95", "p95_ms"), ms("longest", "max_ms")]} />
      <//>
      <${Section} title="Why attempts fail">
        <${Table} label="Failures" rows=${data?.failures ?? []} id=${(/** @type {any} */ it) => it.reason} columns=${[{ name: "Reason", class: "grow", cell: (/** @type {any} */ it) => it.reason }, number("count")]} />
        ${data?.failures.length === 0 && html`<p class="faint pad">None has failed.</p>`}
      <//>
      <${Section} title="Hand-offs">
        <${Table} label="Hand-offs" rows=${handoffs.data ? [handoffs.data] : []} id=${() => "all"} columns=${["open", "accepted", "completed", "rejected", "failed", "expired"].map(number)} />
      <//>
    </div>
  <//>`;
}
