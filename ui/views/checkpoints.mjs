// Checkpoints of a unit of work, the newest first; two of them compared.

import {
  ActionButton,
  AgentLink,
  Empty,
  Facts,
  Page,
  Section,
  TaskLink,
  Time,
} from "../components/basics.mjs";
import { Diff, Json } from "../components/json.mjs";
import { checkpointActions } from "../lib/actions.mjs";
import { app } from "../lib/app.mjs";
import { bytes, plural } from "../lib/format.mjs";
import { useChanges, useQuery } from "../lib/hooks.mjs";
import { classes, html } from "../lib/html.mjs";

const LIMIT = 2_000;

/** @param {{ id: string }} props */
function Details({ id }) {
  const { data: checkpoint, error } = useQuery("checkpoint.get", { checkpoint: id });
  const other = app.route.query.with;
  const compared = useQuery(other ? "checkpoint.get" : undefined, { checkpoint: other ?? "" });
  if (!checkpoint) return html`<${Empty} title=${error?.message ?? "Loading…"} />`;
  const tools = html`${checkpointActions(checkpoint).map((action) => html`<${ActionButton} key=${action.label} action=${action} />`)}`;
  return html`<${Section} title=${html`<span class="id">${id}</span>`} tools=${tools}>
      <${Facts}
        facts=${[
          ["Task", html`<${TaskLink} task=${checkpoint.task} />`],
          ["Number", checkpoint.number],
          ["Label", checkpoint.label],
          ["Description", checkpoint.description],
          ["Saved by", html`<${AgentLink} agent=${checkpoint.saved_by} />`],
          ["Saved", html`<${Time} time=${checkpoint.saved_at} />`],
          [
            "Continues",
            checkpoint.parent &&
              html`<a class="id" href=${app.href("checkpoints", [checkpoint.parent])}>${checkpoint.parent}</a>`,
          ],
          ["Size", bytes(checkpoint.bytes)],
          ["Checksum", html`<code>${checkpoint.checksum}</code>`],
        ]}
      />
      <div class="part"><h3>State</h3><${Json} value=${checkpoint.state} /></div>
    <//>
    ${compared.data && html`<${Section} title=${`${other} → ${id}`}><${Diff} before=${compared.data.state} after=${checkpoint.state} /><//>`}`;
}

export function Checkpoints() {
  useChanges();
  const [chosen] = app.route.path;
  const { task } = app.route.query;
  const { data, error } = useQuery("checkpoint.list", { limit: LIMIT, ...(task && { task }) });
  const list = data?.checkpoints ?? [];
  /** @type {Map<string, any[]>} */
  const byTask = new Map();
  for (const it of list) byTask.set(it.task, [...(byTask.get(it.task) ?? []), it]);
  const groups = [...byTask].slice(0, 60);
  const tools =
    task &&
    html`<button type="button" class="button" onClick=${() => app.setQuery({ task: undefined })}>All tasks</button>`;
  return html`<${Page} title="Checkpoints" note=${data && plural(list.length, "checkpoint")} error=${error} tools=${tools}>
    ${
      data &&
      list.length === 0 &&
      html`<${Empty} title="No checkpoints">
      <p>A checkpoint keeps the state of a task, so that another agent can continue from it.</p>
      <pre class="text">baton checkpoint save thread-7 '{"step": 3}'</pre>
    <//>`
    }
    <div class="columns state">
      <div>
        ${groups.map(
          ([
            name,
            of,
          ]) => html`<${Section} key=${name} title=${html`<a class="id" href=${app.href("checkpoints", [], { task: name })}>${name}</a>`}>
            <ol class="line">
              ${of.slice(0, task ? 500 : 4).map(
                (
                  it,
                ) => html`<li key=${it.id} class=${classes(it.id === chosen && "chosen", it.label && "labelled")}>
                  <a data-row href=${app.href("checkpoints", [it.id], { task })}>${it.number}. ${it.label ?? it.description ?? it.id}</a>
                  <span class="faint"> ${it.saved_by}, <${Time} time=${it.saved_at} /></span>
                  ${chosen && it.id !== chosen && html` <button type="button" class="link" onClick=${() => app.setQuery({ with: it.id })}>compare</button>`}
                </li>`,
              )}
            </ol>
            ${!task && of.length > 4 && html`<p class="faint pad">${of.length - 4} more</p>`}
          <//>`,
        )}
      </div>
      <div>${chosen ? html`<${Details} id=${chosen} />` : list.length > 0 && html`<${Empty} title="Choose a checkpoint" />`}</div>
    </div>
  <//>`;
}
