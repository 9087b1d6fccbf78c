// Agents, and one agent.

import {
  ActionButton,
  AgentLink,
  Empty,
  Facts,
  Page,
  Section,
  Status,
  TaskLink,
  Time,
} from "../components/basics.mjs";
import { Json } from "../components/json.mjs";
import { Snippets } from "../components/snippets.mjs";
import { Bars } from "../components/spans.mjs";
import { Table } from "../components/table.mjs";
import { agentActions } from "../lib/actions.mjs";
import { app } from "../lib/app.mjs";
import { count, duration, plural, preview } from "../lib/format.mjs";
import { histogram } from "../lib/layout.mjs";
import { useChanges, useEvents, useNewestMessages, useQuery } from "../lib/hooks.mjs";
import { html } from "../lib/html.mjs";
import { isRoutine, receiver, sentence } from "../lib/sentences.mjs";

const LIMIT = 1_000;
const ACTIVITY_MS = 5 * 60_000;
/** How many messages and hand-offs of one agent are shown. */
const SHOWN = 20;

/** How much an agent did in the last minutes. @param {{ agent: string }} props */
function Activity({ agent }) {
  const { events, end: now } = useEvents();
  const times = events
    .filter((it) => it.agent === agent && !isRoutine(it))
    .map(({ time }) => new Date(time).getTime());
  const counts = histogram(times, now - ACTIVITY_MS, now, 30);
  return html`<${Bars} counts=${counts} label=${`Events of ${agent} in the last five minutes`} />`;
}

/** The newest hand-offs, newest first: their ids sort by time. @param {any[]} handoffs */
const newest = (handoffs) =>
  handoffs.sort((a, b) => b.id.localeCompare(a.id)).slice(0, SHOWN);

const SUPERVISOR = {
  name: "Supervisor",
  cell: (/** @type {any} */ it) => html`<${AgentLink} agent=${it.parent} />`,
};

function AgentList() {
  const { data, error } = useQuery("agent.list", { limit: LIMIT });
  const running = useQuery("task.list", { status: "in_progress", limit: LIMIT });
  const locks = useQuery("lock.list", { limit: LIMIT });
  const inbox = useQuery("inbox.list", { status: "waiting", limit: LIMIT });
  const agents = data?.agents ?? [];
  const workOf = (/** @type {string} */ id) =>
    (running.data?.tasks ?? []).filter((/** @type {any} */ it) => it.lease?.holder === id);
  const locksOf = (/** @type {string} */ id) =>
    (locks.data?.locks ?? []).filter((/** @type {any} */ it) => it.hold?.holder === id).length;
  const mailOf = (/** @type {string} */ id) =>
    (inbox.data?.messages ?? []).filter((/** @type {any} */ it) => it.to === id).length;
  const mail = (/** @type {number} */ known) => (inbox.data?.cursor ? `${known}+` : known || "");
  const columns = [
    { name: "Agent", cell: (/** @type {any} */ it) => html`<${AgentLink} agent=${it.id} />` },
    {
      name: "Status",
      cell: (/** @type {any} */ it) => html`<${Status} status=${it.status} />`,
    },
    { name: "Can", cell: (/** @type {any} */ it) => it.capabilities.join(", ") },
    ...(agents.some((/** @type {any} */ it) => it.parent) ? [SUPERVISOR] : []),
    {
      name: "Works on",
      class: "grow",
      cell: (/** @type {any} */ it) =>
        workOf(it.id)
          .slice(0, 3)
          .map((/** @type {any} */ task) => html`<${TaskLink} key=${task.id} task=${task.id} /> `),
    },
    { name: "Locks", class: "number", cell: (/** @type {any} */ it) => locksOf(it.id) || "" },
    { name: "Inbox", class: "number", cell: (/** @type {any} */ it) => mail(mailOf(it.id)) },
    {
      name: "Heartbeat",
      cell: (/** @type {any} */ it) => html`<${Time} time=${it.last_seen_at} />`,
    },
    {
      name: "Last five minutes",
      class: "spark",
      cell: (/** @type {any} */ it) => html`<${Activity} agent=${it.id} />`,
    },
  ];
  return html`<${Page} title="Agents" note=${data && `${data.cursor ? "the first " : ""}${plural(agents.length, "agent")}`} error=${error}>
    ${data && agents.length === 0 && html`<${Empty} title="No agents yet"><${Snippets} /><//>`}
    ${
      agents.length > 0 &&
      html`<${Table} label="Agents" rows=${agents} columns=${columns} id=${(/** @type {any} */ it) => it.id} onOpen=${(/** @type {any} */ it) => app.go("agents", [it.id])} />`
    }
  <//>`;
}

/** @param {{ id: string }} props */
function AgentPage({ id }) {
  const { data: agent, error } = useQuery("agent.get", { agent: id });
  const agents = useQuery("agent.list", { limit: LIMIT });
  const supervised = (agents.data?.agents ?? []).filter(
    (/** @type {any} */ it) => it.parent === id && it.status === "active",
  );
  const tasks = useQuery("task.list", { agent: id, limit: LIMIT });
  const events = useQuery("event.history", { source: id, limit: 200, to: app.at }, { now: true });
  const inbox = useNewestMessages(SHOWN, { agent: id });
  const locks = useQuery("lock.list", { limit: LIMIT });
  const given = useQuery("handoff.list", { from: id, limit: LIMIT });
  const taken = useQuery("handoff.list", { to: id, limit: LIMIT });
  const held = (locks.data?.locks ?? []).filter((/** @type {any} */ it) => it.hold?.holder === id);
  const waits = (locks.data?.locks ?? []).filter((/** @type {any} */ it) =>
    it.waiters.some((/** @type {any} */ wait) => wait.agent === id),
  );
  const handoffs = newest([...(given.data?.handoffs ?? []), ...(taken.data?.handoffs ?? [])]);
  const current = (tasks.data?.tasks ?? []).filter(
    (/** @type {any} */ it) => it.lease?.holder === id,
  );
  // Messages wait for an agent that is not registered yet.
  const isUnknown = error?.code === "agent.not_found";
  const known = agent ?? (isUnknown ? { id } : undefined);
  const tools =
    known &&
    html`${agentActions(known).map((action) => html`<${ActionButton} key=${action.label} action=${action} />`)}`;
  return html`<${Page} title=${id} note=${agent ? html`<${Status} status=${agent.status} />` : isUnknown && "never registered here"} tools=${tools} error=${isUnknown ? undefined : error}>
    <div class="columns">
      <div>
        <${Section} title="Works on">
          ${current.length === 0 && html`<p class="faint pad">Nothing.</p>`}
          <ul class="list">
            ${current.map((/** @type {any} */ it) => html`<li key=${it.id}><div class="list-main"><${TaskLink} task=${it.id} /> ${it.description ?? it.type}</div><span class="faint"><${Time} time=${it.lease.claimed_at} /></span></li>`)}
          </ul>
        <//>
        <${Section} title="What it did"><${Activity} agent=${id} />
          <ol class="feed">
            ${(events.data?.events ?? [])
              .filter((/** @type {any} */ it) => !isRoutine(it))
              .slice(0, 60)
              .map(
                (/** @type {any} */ it) =>
                  html`<li key=${`${it.revision}.${it.index}`}><${Time} time=${it.time} /> ${sentence(it)}</li>`,
              )}
          </ol>
        <//>
      </div>
      <div>
        <${Section} title="About">
          <${Facts}
            facts=${[
              ["Can", agent?.capabilities.join(", ")],
              ["Supervisor", agent?.parent && html`<${AgentLink} agent=${agent.parent} />`],
              [
                "Supervises",
                supervised.length > 0 &&
                  supervised.map(
                    (/** @type {any} */ it, /** @type {number} */ index) =>
                      html`<span key=${it.id}>${index > 0 && ", "}<${AgentLink} agent=${it.id} /></span>`,
                  ),
              ],
              ["Since", agent && html`<${Time} time=${agent.registered_at} />`],
              ["Heartbeat", agent && html`<${Time} time=${agent.last_seen_at} />`],
              ["Time to live", agent && duration(agent.ttl_ms)],
              ["Holds", held.map((/** @type {any} */ it) => it.name).join(", ") || undefined],
              ["Waits for", waits.map((/** @type {any} */ it) => it.name).join(", ") || undefined],
              [
                "Metadata",
                agent?.metadata !== undefined && html`<${Json} value=${agent.metadata} />`,
              ],
            ]}
          />
        <//>
        <${Section} title="Inbox">
          ${inbox.data?.messages.length === 0 && html`<p class="faint pad">Empty.</p>`}
          <ul class="list">
            ${(inbox.data?.messages ?? [])
              .slice(-SHOWN)
              .reverse()
              .map(
                (/** @type {any} */ it) =>
                  html`<li key=${it.id}><div class="list-main"><a href=${app.href("messages", [it.thread])}>${preview(it.body, 80)}</a> <small class="faint">from ${it.from}</small></div><${Status} status=${it.status} /></li>`,
              )}
          </ul>
        <//>
        <${Section} title="Hand-offs">
          ${handoffs.length === 0 && html`<p class="faint pad">None.</p>`}
          <ul class="list">
            ${handoffs
              .map(
                (/** @type {any} */ it) =>
                  html`<li key=${it.id}><div class="list-main"><a href=${app.href("handoffs", [it.id])}>${it.from} → ${receiver(it.to)}</a> <small class="faint">${it.task ?? ""}</small></div><${Status} status=${it.status} /></li>`,
              )}
          </ul>
          ${(given.data?.cursor || taken.data?.cursor) && html`<p class="faint pad">Only of the oldest ${count(LIMIT)}.</p>`}
        <//>
      </div>
    </div>
  <//>`;
}

export function Agents() {
  useChanges();
  const [id] = app.route.path;
  return id ? html`<${AgentPage} id=${id} />` : html`<${AgentList} />`;
}
