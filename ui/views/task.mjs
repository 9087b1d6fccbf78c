// One task: its attempts, what it waits for, why it is not running, and everything about it.

import {
  ActionButton,
  AgentLink,
  Facts,
  Page,
  Progress,
  Section,
  Status,
  TaskLink,
  Time,
} from "../components/basics.mjs";
import { Json } from "../components/json.mjs";
import { Spans } from "../components/spans.mjs";
import { taskActions } from "../lib/actions.mjs";
import { app } from "../lib/app.mjs";
import { absolute, duration, plural, spent, words } from "../lib/format.mjs";
import { useQuery } from "../lib/hooks.mjs";
import { html } from "../lib/html.mjs";
import { attempts } from "../lib/layout.mjs";
import { look, receiver, sentence } from "../lib/sentences.mjs";

/** @param {{ lease: any }} props */
function Lease({ lease }) {
  const left = new Date(lease.expires_at).getTime() - Date.now();
  const part = Math.max(0, Math.min(1, left / lease.lease_ms));
  const text =
    left > 0 ? `${duration(left)} left of ${duration(lease.lease_ms)}` : "about to expire";
  return html`<${AgentLink} agent=${lease.holder} /> <${Progress} fraction=${part} label=${text} />
    <small class="faint">${text}</small>`;
}

/** @param {{ task: any, events: any[] }} props */
function Attempts({ task, events }) {
  const now = app.at === undefined ? Date.now() : new Date(task.updated_at).getTime();
  const spans = attempts(events, now);
  const start = new Date(task.created_at).getTime();
  const end = Math.max(start + 1, ...spans.map((span) => span.end));
  let number = 0;
  const lanes = spans.map((span, index) => {
    const isWait = span.kind === "waiting";
    if (!isWait) number += 1;
    return {
      key: String(index),
      name: isWait
        ? html`<span class="faint">waiting</span>`
        : html`${number}. <${AgentLink} agent=${span.agent} />`,
      bars: [{ ...span, label: isWait ? "waiting" : words(span.kind) }],
    };
  });
  return html`<${Section} title="Attempts" tools=${html`<span class="faint">${plural(task.attempts, "attempt")}, ${duration(end - start)} in all</span>`}>
    <${Spans} label="Attempts over time" lanes=${lanes} start=${start} end=${end} />
  <//>`;
}

/** @param {{ id: string }} props */
function Why({ id }) {
  const { data } = useQuery("task.why", { task: id });
  if (!data) return null;
  const { tone } = look(data.status);
  return html`<p class=${`why tone-${tone}`}><strong>${data.sentence}</strong></p>`;
}

/** @param {{ id: string }} props */
function Causes({ id }) {
  const { data } = useQuery("workspace.why", { subject: `tasks/${id}` });
  const causes = data?.causes ?? [];
  if (causes.length === 0) return null;
  return html`<${Section} title="What led to this">
    <ol class="feed">
      ${causes.map((/** @type {any} */ it) => html`<li key=${it.revision}><${Time} time=${it.time} /> ${it.sentence}</li>`)}
    </ol>
  <//>`;
}

/** @param {{ id: string }} props */
export function TaskPage({ id }) {
  const { data: task, error } = useQuery("task.get", { task: id });
  const history = useQuery("task.history", { task: id, limit: 500 });
  const handoffs = useQuery("handoff.history", { task: id });
  const spending = useQuery("spend.get", { task: id });
  const title = html`<span class="id">${id}</span>`;
  if (!task) return html`<${Page} title=${title} error=${error} />`;
  const events = [...(history.data?.events ?? [])].reverse();
  const tools = html`${taskActions(task).map((action) => html`<${ActionButton} key=${action.label} action=${action} />`)}`;
  const links = (/** @type {string[] | undefined} */ ids) =>
    ids?.length ? ids.map((it) => html`<${TaskLink} key=${it} task=${it} /> `) : undefined;
  return html`<${Page} title=${title} note=${html`<${Status} status=${task.status} />`} tools=${tools} error=${error}>
    ${task.description && html`<p class="lead">${task.description}</p>`}
    <${Why} id=${id} />
    <div class="columns">
      <div>
        <${Attempts} task=${task} events=${events} />
        <${Section} title="Definition"><${Json} value=${task.definition} /><//>
        <${Section} title="Result"><${Json} value=${task.result} /><//>
        ${task.error !== undefined && html`<${Section} title="Last error"><${Json} value=${task.error} /><//>`}
        ${
          (handoffs.data?.handoffs.length ?? 0) > 0 &&
          html`<${Section} title="Hand-offs">
          <ul class="list">
            ${handoffs.data.handoffs.map(
              (/** @type {any} */ it) => html`<li key=${it.id}>
                <div class="list-main"><a href=${app.href("handoffs", [it.id])}>${it.from} → ${receiver(it.to)}</a> <${Status} status=${it.status} /></div>
                <span class="faint"><${Time} time=${it.created_at} /></span>
              </li>`,
            )}
          </ul>
        <//>`
        }
        <${Causes} id=${id} />
      </div>
      <div>
        <${Section} title="About">
          <${Facts}
            facts=${[
              ["Lease", task.lease && html`<${Lease} lease=${task.lease} />`],
              ["Type", task.type],
              [
                "Progress",
                task.progress &&
                  html`<${Progress} fraction=${task.progress.fraction} label="Progress" /> ${task.progress.note ?? ""}`,
              ],
              ["Requested by", html`<${AgentLink} agent=${task.requested_by} />`],
              [
                "Only for",
                task.assigned_agent && html`<${AgentLink} agent=${task.assigned_agent} />`,
              ],
              ["Needs", task.capabilities?.join(", ")],
              ["Priority", task.priority],
              ["Group", task.group],
              ["Parent", task.parent && html`<${TaskLink} task=${task.parent} />`],
              ["Depends on", links(task.depends_on)],
              ["Waits for", links(task.waiting_for)],
              ["Review", task.review && "another agent must accept the result"],
              ["Submitted by", task.submitted_by],
              ["Spent", spent(spending.data?.account)],
              ["Retries", `${task.retries} of ${task.max_retries}`],
              ["Not before", task.not_before && html`<${Time} time=${task.not_before} />`],
              ["Deadline", task.deadline && html`<${Time} time=${task.deadline} />`],
              ["Reason", task.reason],
              ["Created", absolute(task.created_at)],
              ["Revision", task.revision],
            ]}
          />
        <//>
        <${Section} title="Events">
          <ol class="feed">
            ${[...events]
              .reverse()
              .slice(0, 100)
              .map(
                (/** @type {any} */ it) => html`<li key=${`${it.revision}${it.type}`}>
                <${Time} time=${it.time} /> <${AgentLink} agent=${it.agent} /> ${sentence({ ...it.fields, type: it.type })}
              </li>`,
              )}
          </ol>
        <//>
      </div>
    </div>
  <//>`;
}
