// Hand-offs: the queue, what the receiver sees, and who hands over to whom.

import {
  ActionButton,
  AgentLink,
  Empty,
  Facts,
  Page,
  Section,
  Status,
  Tabs,
  TaskLink,
  Time,
} from "../components/basics.mjs";
import { PairGraph } from "../components/graph.mjs";
import { Json } from "../components/json.mjs";
import { Table } from "../components/table.mjs";
import { handoffActions } from "../lib/actions.mjs";
import { app } from "../lib/app.mjs";
import { count, duration, plural, words } from "../lib/format.mjs";
import { useChanges, useQuery } from "../lib/hooks.mjs";
import { html } from "../lib/html.mjs";
import { receiver } from "../lib/sentences.mjs";

const OPEN = new Set(["offered", "approved", "delivered", "accepted"]);
const LIMIT = 2_000;

const COLUMNS = [
  { name: "Hand-off", cell: (/** @type {any} */ it) => html`<span class="id">${it.id}</span>` },
  { name: "From", cell: (/** @type {any} */ it) => html`<${AgentLink} agent=${it.from} />` },
  { name: "To", cell: (/** @type {any} */ it) => receiver(it.to) },
  { name: "Task", cell: (/** @type {any} */ it) => html`<${TaskLink} task=${it.task} />` },
  { name: "Status", cell: (/** @type {any} */ it) => html`<${Status} status=${it.status} />` },
  {
    name: "Reason",
    class: "grow",
    cell: (/** @type {any} */ it) => html`<span class="clip">${it.reason ?? ""}</span>`,
  },
  { name: "Changed", cell: (/** @type {any} */ it) => html`<${Time} time=${it.updated_at} />` },
];

function HandoffList() {
  const show = app.route.query.view ?? "open";
  const { data, error } = useQuery("handoff.list", { limit: LIMIT });
  const stats = useQuery("handoff.stats");
  const all = [...(data?.handoffs ?? [])].reverse();
  const rows = show === "open" ? all.filter(({ status }) => OPEN.has(status)) : all;
  const pairs = stats.data?.pairs ?? [];
  const tabs = [
    ["open", "In progress"],
    ["all", "All"],
    ["graph", "Graph"],
  ];
  return html`<${Page}
    title="Hand-offs"
    note=${stats.data && `${plural(stats.data.count, "hand-off")}, ${Math.round(100 * stats.data.success_rate)} % completed`}
    tools=${html`<${Tabs} label="Show" name="view" value=${show} tabs=${tabs} />`}
    error=${error}
  >
    ${
      show === "graph" &&
      html`<div class="columns">
      <${Section} title="Who hands over to whom"><${PairGraph} pairs=${pairs} /><//>
      <${Section} title="Numbers">
        <${Table}
          label="Pairs"
          rows=${pairs}
          id=${(/** @type {any} */ it) => `${it.from}→${it.to}`}
          columns=${[
            {
              name: "From",
              cell: (/** @type {any} */ it) => html`<${AgentLink} agent=${it.from} />`,
            },
            { name: "To", cell: (/** @type {any} */ it) => it.to },
            { name: "All", class: "number", cell: (/** @type {any} */ it) => it.count },
            { name: "Completed", class: "number", cell: (/** @type {any} */ it) => it.completed },
            {
              name: "p95",
              class: "number",
              cell: (/** @type {any} */ it) => duration(it.durations.p95_ms),
            },
          ]}
        />
      <//>
    </div>`
    }
    ${
      show !== "graph" &&
      data &&
      rows.length === 0 &&
      html`<${Empty} title=${show === "open" ? "No hand-off is in progress" : "No hand-offs yet"}>
      <p>A hand-off moves a task and its context from one agent to another in one commit.</p>
      <pre class="text">baton handoff offer bob --task t-7 --token 12</pre>
    <//>`
    }
    ${
      show !== "graph" &&
      rows.length > 0 &&
      html`<${Table} label="Hand-offs" rows=${rows} columns=${COLUMNS} id=${(/** @type {any} */ it) => it.id} onOpen=${(/** @type {any} */ it) => app.go("handoffs", [it.id])} />`
    }
    ${show !== "graph" && data?.cursor && html`<p class="faint pad">Only of the oldest ${count(LIMIT)}.</p>`}
  <//>`;
}

/** The content of a hand-off, as the receiver gets it. @param {{ handoff: any }} props */
function Bundle({ handoff }) {
  const parts = /** @type {[string, any][]} */ ([
    ["Reason", handoff.reason],
    ["Completed work", handoff.work_completed],
    ["Remaining work", handoff.remaining_work],
    ["Notes", handoff.notes],
    ["State", handoff.state],
    ["Stages", handoff.passage],
    ["Keys", handoff.receipt ?? handoff.keys],
    ["Artifacts", handoff.artifacts],
    ["Output keys", handoff.output_keys],
    ["Changes", handoff.changes],
    ["Result", handoff.result],
    ["Error", handoff.error],
  ]);
  return html`${parts
    .filter(([, value]) => value !== undefined)
    .map(
      ([name, value]) =>
        html`<div class="part" key=${name}><h3>${name}</h3><${Json} value=${value} /></div>`,
    )}`;
}

/** @param {{ id: string }} props */
function HandoffPage({ id }) {
  const { data: handoff, error } = useQuery("handoff.get", { handoff: id });
  const { data: context } = useQuery("handoff.export", { handoff: id });
  const title = html`<span class="id">${id}</span>`;
  if (!handoff) return html`<${Page} title=${title} error=${error} />`;
  const { approval } = handoff;
  return html`<${Page}
    title=${title}
    note=${html`<${Status} status=${handoff.status} />`}
    tools=${html`${handoffActions(handoff).map((action) => html`<${ActionButton} key=${action.label} action=${action} />`)}`}
    error=${error}
  >
    <p class="lead"><${AgentLink} agent=${handoff.from} /> → ${typeof handoff.to === "string" ? html`<${AgentLink} agent=${handoff.to} />` : receiver(handoff.to)}${handoff.task && html`: <${TaskLink} task=${handoff.task} />`}</p>
    <div class="columns">
      <div>
        <${Section} title="What the receiver sees"><${Bundle} handoff=${handoff} /><//>
        ${context && html`<${Section} title="Portable context"><${Json} value=${context} /><//>`}
      </div>
      <div>
        <${Section} title="Steps">
          <ol class="feed">
            ${handoff.steps.map(
              (/** @type {any} */ it, /** @type {number} */ index) => html`<li key=${index}>
                <${Time} time=${it.at} /> ${it.by && html`<${AgentLink} agent=${it.by} />`} ${words(it.step)} <${Status} status=${it.status} /> ${it.detail ?? ""}
              </li>`,
            )}
          </ol>
        <//>
        <${Section} title="About">
          <${Facts}
            facts=${[
              ["Receiver", handoff.receiver && html`<${AgentLink} agent=${handoff.receiver} />`],
              [
                "Approval",
                approval &&
                  (approval.approved_by
                    ? html`by <${AgentLink} agent=${approval.approved_by} />`
                    : `required${approval.by?.length ? ` of ${approval.by.join(" or ")}` : ""}`),
              ],
              [
                "Warnings",
                handoff.warnings
                  ?.map((/** @type {any} */ it) => `${it.rule}: ${it.detail}`)
                  .join("; "),
              ],
              ["Deliveries", handoff.deliveries],
              ["Handed over before", handoff.hops],
              ["Expires", html`<${Time} time=${handoff.deadline} />`],
              ["Digest", html`<code>${handoff.digest}</code>`],
            ]}
          />
        <//>
      </div>
    </div>
  <//>`;
}

export function Handoffs() {
  useChanges();
  const [id] = app.route.path;
  return id ? html`<${HandoffPage} id=${id} />` : html`<${HandoffList} />`;
}
