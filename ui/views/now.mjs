// The current activity, and the items that need a person.

import {
  ActionButton,
  AgentLink,
  Empty,
  Link,
  Page,
  Section,
  SubjectLink,
  Time,
} from "../components/basics.mjs";
import { Bars, Spans } from "../components/spans.mjs";
import { Snippets } from "../components/snippets.mjs";
import { agentActions, handoffActions, requeueAction, taskActions } from "../lib/actions.mjs";
import { app } from "../lib/app.mjs";
import { count, duration } from "../lib/format.mjs";
import { useChanges, useEvents, useQuery } from "../lib/hooks.mjs";
import { classes, html } from "../lib/html.mjs";
import { deadlockSentence } from "../lib/layout.mjs";
import { eventTone, isRoutine, needsYou, sentence } from "../lib/sentences.mjs";

/** How long the timeline of the fleet is, at most. */
const WINDOW_MS = 5 * 60_000;
/** An agent that was lost longer ago needs no action any more: its tasks went to others. */
const LOST_MS = 3_600_000;
const FEED_MAX = 40;
const LIMIT = 200;
const AGENTS_MAX = 1_000;
/** How many of the items that need a person are shown. */
const ITEMS_MAX = 50;

/** A number; `isMore` if it is only known to be at least that. @param {{ name: string, value: number | undefined, isMore?: boolean, view: string, query?: any, tone: string }} props */
const Counter = ({ name, value, isMore, view, query, tone }) =>
  html`<${Link} class=${classes("counter", `tone-${tone}`)} view=${view} query=${query}>
    <span class="counter-value">${value === undefined ? "–" : `${count(value)}${isMore ? "+" : ""}`}</span>
    <span>${name}</span>
  <//>`;

/** @param {{ kind: string, record: any }} item */
function actionsOf({ kind, record }) {
  if (kind === "task") return taskActions(record);
  if (kind === "handoff") return handoffActions(record);
  if (kind === "agent") return agentActions(record).slice(0, 1);
  if (kind === "message") return [requeueAction(record)];
  return [];
}

/** @param {{ kind: string, record: any }} item */
function hrefOf({ kind, record }) {
  if (kind === "task") return app.href("tasks", [record.id]);
  if (kind === "handoff") return app.href("handoffs", [record.id]);
  if (kind === "agent") return app.href("agents", [record.id]);
  if (kind === "message") return app.href("messages", [record.thread]);
  return app.href("locks");
}

/** @param {{ items: any[], all: number, isLoaded: boolean }} props */
function NeedsYou({ items, all, isLoaded }) {
  if (!isLoaded) return html`<p class="faint pad">Loading…</p>`;
  if (items.length === 0) return html`<p class="faint pad">Nothing needs you.</p>`;
  return html`<ul class="list">
    ${items.map(
      (item) => html`<li key=${item.kind + (item.record.id ?? item.text)} data-row tabindex="-1">
        <div class="list-main">
          <a href=${hrefOf(item)}>${item.text}</a>
          ${item.kind === "deadlock" && html`<p>${deadlockSentence(item.record)}</p>`}
          ${item.since && html`<span class="faint"><${Time} time=${item.since} /></span>`}
        </div>
        <div class="tools">
          ${actionsOf(item).map((action) => html`<${ActionButton} key=${action.label} action=${action} />`)}
        </div>
      </li>`,
    )}
    ${all > items.length && html`<li class="faint">${count(all - items.length)} more</li>`}
  </ul>`;
}

/**
 * Bars of the last minutes: what each agent worked on.
 * @param {any[]} events @param {any[]} active - Agents. @param {number} now
 */
function fleet(events, active, now) {
  /** @type {Map<string, any[]>} */
  const lanes = new Map(active.map(({ id }) => [id, []]));
  /** @type {Map<string, any>} */
  const open = new Map();
  const close = (
    /** @type {string} */ task,
    /** @type {number} */ at,
    /** @type {string} */ kind,
  ) => {
    const bar = open.get(task);
    if (bar) Object.assign(bar, { end: at, kind });
    open.delete(task);
  };
  for (const event of events) {
    const at = new Date(event.time).getTime();
    const { type, task } = event;
    if (type === "task.claimed" || type === "task.handed_over") {
      close(task, at, "released");
      const bar = {
        start: at,
        end: now,
        kind: "working",
        label: task,
        href: app.href("tasks", [task]),
      };
      open.set(task, bar);
      const holder = event.holder ?? event.agent;
      if (!lanes.has(holder)) lanes.set(holder, []);
      lanes.get(holder)?.push(bar);
    } else if (type === "task.completed") close(task, at, "done");
    else if (type === "task.failed") close(task, at, "failed");
    else if (type === "task.released" || type === "task.handed_off") close(task, at, "released");
    else if (type === "task.cancelled") close(task, at, "cancelled");
  }
  return [...lanes].map(([name, bars]) => ({
    key: name,
    name: html`<${AgentLink} agent=${name} />`,
    bars,
  }));
}

/** What needs a person at a time, and how much it is in all. @param {number} now */
function useNeeds(now) {
  const stats = useQuery("task.stats");
  const review = useQuery("task.list", { status: "waiting_review", limit: LIMIT });
  const failed = useQuery("task.list", { status: "failed", limit: LIMIT });
  const offered = useQuery("handoff.list", { status: "offered", limit: LIMIT });
  const dead = useQuery("inbox.list", { status: "dead", limit: LIMIT });
  const lost = useQuery("agent.list", { status: "lost", limit: AGENTS_MAX });
  const locks = useQuery("lock.list", { limit: LIMIT });
  const tasks = { review: review.data?.tasks ?? [], failed: failed.data?.tasks ?? [] };
  const items = needsYou({
    ...tasks,
    handoffs: offered.data?.handoffs ?? [],
    lost: (lost.data?.agents ?? []).filter(
      (/** @type {any} */ it) => Date.parse(it.ended_at) > now - LOST_MS,
    ),
    dead: dead.data?.messages ?? [],
    deadlocks: locks.data?.deadlocks ?? [],
  });
  const counted = stats.data?.tasks;
  const beyond = (/** @type {number | undefined} */ known, /** @type {any[]} */ listed) =>
    Math.max(0, (known ?? 0) - listed.length);
  return {
    stats,
    items: items.slice(0, ITEMS_MAX),
    all:
      items.length +
      beyond(counted?.waiting_review, tasks.review) +
      beyond(counted?.failed, tasks.failed),
    isMore: [offered, dead, lost].some((it) => it.data?.cursor),
    isLoaded: [review, failed, offered, dead, lost, locks].every((it) => it.data || it.error),
  };
}

export function Now() {
  useChanges();
  const { events, end } = useEvents();
  const { stats, items, all, isMore, isLoaded } = useNeeds(end);
  const agents = useQuery("agent.list", { status: "active", limit: AGENTS_MAX });
  const spending = useQuery("spend.get");
  const active = agents.data?.agents ?? [];
  // The feed may reach back less far.
  const first = events[0] ? Date.parse(events[0].time) : end;
  const start = Math.min(end - 1_000, Math.max(end - WINDOW_MS, first));
  const tasks = stats.data?.tasks;
  const isEmpty = app.at === undefined && agents.data && active.length === 0 && events.length === 0;
  const shown = events
    .filter((it) => !isRoutine(it))
    .slice(-FEED_MAX)
    .reverse();
  return html`<${Page} title="Now" error=${stats.error ?? agents.error}>
    <div class="counters">
      <${Counter} name="running" tone="run" view="tasks" query=${{ q: "status:in_progress" }} value=${tasks?.in_progress} />
      <${Counter} name="ready" tone="wait" view="tasks" query=${{ q: "status:pending" }} value=${tasks?.ready} />
      <${Counter} name=${all === 1 ? "needs you" : "need you"} tone=${all > 0 ? "ask" : "idle"} view="now" value=${isLoaded ? all : undefined} isMore=${isMore} />
      <${Counter} name="agents active" tone="good" view="agents" value=${agents.data && active.length} isMore=${agents.data?.cursor} />
      ${
        (spending.data?.account.spent.tokens ?? 0) > 0 &&
        html`<${Counter} name="tokens spent" tone=${spending.data.account.used_up ? "ask" : "idle"} view="metrics" value=${spending.data.account.spent.tokens} />`
      }
      <div class="counter wide"><span class="faint">events per second, last minute</span><${Rate} events=${events} end=${end} /></div>
    </div>
    ${
      isEmpty
        ? html`<${Empty} title="No agents yet"><${Snippets} /><//>`
        : html`<div class="columns">
          <div>
            <${Section} title="Needs you"><${NeedsYou} items=${items} all=${all} isLoaded=${isLoaded} /><//>
            <${Section} title=${`Fleet, last ${duration(end - start)}`}>
              <${Spans} label="What each agent worked on" start=${start} end=${end} lanes=${fleet(events, active, end)} />
            <//>
          </div>
          <${Section} title="Feed" tools=${html`<${Link} view="events">All events<//>`}>
            <ol class="feed">
              ${shown.map(
                (
                  event,
                ) => html`<li key=${`${event.revision}.${event.index}`} class=${`tone-${eventTone(event)}`}>
                  <${Time} time=${event.time} /> <${AgentLink} agent=${event.agent} /> ${sentence(event)}
                  <span class="hidden"><${SubjectLink} subject=${event.subject} /></span>
                </li>`,
              )}
            </ol>
            ${shown.length === 0 && html`<p class="faint pad">Nothing has happened yet.</p>`}
          <//>
        </div>`
    }
  <//>`;
}

/** @param {{ events: any[], end: number }} props */
function Rate({ events, end }) {
  const rates = app.at === undefined ? (app.feed?.rates ?? new Map()) : new Map();
  if (app.at !== undefined) {
    for (const { time } of events) {
      const second = Math.floor(Date.parse(time) / 1_000);
      rates.set(second, (rates.get(second) ?? 0) + 1);
    }
  }
  // The second of a moment of the past is over, and the present one is not.
  const last = Math.floor(end / 1_000) + (app.at === undefined ? 0 : 1);
  const counts = Array.from({ length: 60 }, (_, index) => rates.get(last - 60 + index) ?? 0);
  return html`<${Bars} counts=${counts} label="Events per second in the last minute" />`;
}
