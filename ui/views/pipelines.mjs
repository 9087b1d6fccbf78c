// Pipelines and their runs: a graph of stages, and the same over time.

import {
  ActionButton,
  AgentLink,
  Empty,
  Facts,
  Page,
  Progress,
  Section,
  Status,
  Tabs,
  TaskLink,
  Time,
} from "../components/basics.mjs";
import { StageGraph } from "../components/graph.mjs";
import { Json } from "../components/json.mjs";
import { Spans } from "../components/spans.mjs";
import { Table } from "../components/table.mjs";
import { app } from "../lib/app.mjs";
import { duration, plural } from "../lib/format.mjs";
import { useChanges, useQuery } from "../lib/hooks.mjs";
import { html } from "../lib/html.mjs";
import { pipelineActions, stageActions } from "../lib/pipeline-actions.mjs";

const LIMIT = 2_000;
const SAMPLE = `baton pipeline create article research write check --automatic`;

const COLUMNS = [
  { name: "Pipeline", cell: (/** @type {any} */ it) => html`<span class="id">${it.name}</span>` },
  { name: "Status", cell: (/** @type {any} */ it) => html`<${Status} status=${it.status} />` },
  {
    name: "Stages",
    cell: (/** @type {any} */ it) =>
      html`<${Progress} fraction=${it.done / Math.max(1, it.stages)} label=${`${it.done} of ${it.stages} stages`} /> ${it.done} of ${it.stages}`,
  },
  { name: "Running", class: "grow", cell: (/** @type {any} */ it) => it.current.join(", ") },
  { name: "Failed", cell: (/** @type {any} */ it) => it.failed.join(", ") },
  {
    name: "Created by",
    cell: (/** @type {any} */ it) => html`<${AgentLink} agent=${it.created_by} />`,
  },
  { name: "Changed", cell: (/** @type {any} */ it) => html`<${Time} time=${it.updated_at} />` },
];

/** @param {string | undefined} text */
const time = (text) => (text ? new Date(text).getTime() : undefined);

/** @param {any} stage */
function note({ status, worker, started_at, finished_at }) {
  const [start, end] = [time(started_at), time(finished_at)];
  if (start && end) return `${worker ?? ""} ${duration(end - start)}`.trim();
  if (start) return `${worker ?? ""} for ${duration(Date.now() - start)}`.trim();
  return status;
}

function PipelineList() {
  const { data, error } = useQuery("pipeline.list", { limit: LIMIT });
  const rows = data?.pipelines ?? [];
  return html`<${Page} title="Pipelines" note=${data && plural(rows.length, "run")} error=${error}>
    ${
      data &&
      rows.length === 0 &&
      html`<${Empty} title="No pipelines yet">
      <p>A pipeline is stages in order; the output of one is the input of the next.</p>
      <pre class="text">${SAMPLE}</pre>
    <//>`
    }
    ${rows.length > 0 && html`<${Table} label="Pipelines" rows=${rows} columns=${COLUMNS} id=${(/** @type {any} */ it) => it.name} onOpen=${(/** @type {any} */ it) => app.go("pipelines", [it.name])} />`}
  <//>`;
}

/** @param {{ pipeline: any }} props */
function Gantt({ pipeline }) {
  const now = Date.now();
  const lanes = pipeline.stages.map((/** @type {any} */ stage) => {
    const [ready, start, end] = [
      time(stage.ready_at),
      time(stage.started_at),
      time(stage.finished_at),
    ];
    const kind =
      { completed: "done", failed: "failed", skipped: "cancelled" }[
        /** @type {string} */ (stage.status)
      ] ?? "working";
    const bars = [];
    if (ready && (start ?? end ?? now) > ready)
      bars.push({ start: ready, end: start ?? end ?? now, kind: "waiting", label: "ready" });
    if (start) bars.push({ start, end: end ?? now, kind, label: stage.worker });
    return { key: stage.name, name: stage.name, bars };
  });
  const start = time(pipeline.created_at) ?? now;
  return html`<${Spans} label="Stages over time" lanes=${lanes} start=${start} end=${time(pipeline.finished_at) ?? now} />`;
}

/** @param {{ pipeline: string, stage: any }} props */
function StageDetails({ pipeline, stage }) {
  const tools = html`${stageActions(pipeline, stage).map((action) => html`<${ActionButton} key=${action.label} action=${action} />`)}`;
  return html`<${Section} title=${stage.name} tools=${tools}>
    <${Facts}
      facts=${[
        ["Status", html`<${Status} status=${stage.status} />`],
        ["Agent", stage.worker && html`<${AgentLink} agent=${stage.worker} />`],
        ["After", stage.after.join(", ")],
        ["Needs", stage.capabilities?.join(", ")],
        ["Attempts", stage.attempts],
        ["Retries", stage.retries],
        [
          "Tasks",
          stage.tasks?.map(
            (/** @type {string} */ it) => html`<${TaskLink} key=${it} task=${it} /> `,
          ),
        ],
        ["Reason", stage.reason],
        ["Reads", stage.reads?.join(", ")],
        ["Writes", stage.writes?.join(", ")],
      ]}
    />
    ${stage.input !== undefined && html`<div class="part"><h3>Input</h3><${Json} value=${stage.input} /></div>`}
    ${stage.output !== undefined && html`<div class="part"><h3>Output</h3><${Json} value=${stage.output} /></div>`}
    ${stage.error !== undefined && html`<div class="part"><h3>Error</h3><${Json} value=${stage.error} /></div>`}
  <//>`;
}

/** The stage to look at first: what failed or runs. @param {any[]} stages */
const interesting = (stages) =>
  ["failed", "running", "ready"]
    .map((status) => stages.find((it) => it.status === status))
    .find(Boolean) ?? stages[0];

/** @param {{ name: string }} props */
function PipelinePage({ name }) {
  const { data: pipeline, error } = useQuery("pipeline.get", { pipeline: name });
  const title = html`<span class="id">${name}</span>`;
  if (!pipeline) return html`<${Page} title=${title} error=${error} />`;
  const show = app.route.query.view ?? "graph";
  const chosen =
    pipeline.stages.find((/** @type {any} */ it) => it.name === app.route.query.stage) ??
    interesting(pipeline.stages);
  const vertices = pipeline.stages.map((/** @type {any} */ it) => ({
    id: it.name,
    after: it.after,
    status: it.status,
    note: note(it),
  }));
  const tools = html`<${Tabs} label="View" name="view" value=${show} tabs=${[
    ["graph", "Graph"],
    ["gantt", "Over time"],
  ]} />
    ${pipelineActions(pipeline).map((action) => html`<${ActionButton} key=${action.label} action=${action} />`)}`;
  return html`<${Page} title=${title} note=${html`<${Status} status=${pipeline.status} />`} tools=${tools} error=${error}>
    <${Section} title="Stages">
      ${
        show === "graph"
          ? html`<${StageGraph} label="Stages" vertices=${vertices} chosen=${chosen?.name} onChoose=${(/** @type {string} */ stage) => app.setQuery({ stage })} />`
          : html`<${Gantt} pipeline=${pipeline} />`
      }
    <//>
    <div class="columns">
      ${chosen && html`<${StageDetails} pipeline=${name} stage=${chosen} />`}
      <${Section} title="About">
        <${Facts}
          facts=${[
            ["Created", html`<${Time} time=${pipeline.created_at} />`],
            ["By", html`<${AgentLink} agent=${pipeline.created_by} />`],
            ["Tasks are created", pipeline.automatic ? "automatically" : "by agents"],
            ["Reason", pipeline.reason],
            ["Input", pipeline.input !== undefined && html`<${Json} value=${pipeline.input} />`],
            [
              "Metadata",
              pipeline.metadata !== undefined && html`<${Json} value=${pipeline.metadata} />`,
            ],
          ]}
        />
      <//>
    </div>
  <//>`;
}

export function Pipelines() {
  useChanges();
  const [name] = app.route.path;
  return name ? html`<${PipelinePage} name=${name} />` : html`<${PipelineList} />`;
}
