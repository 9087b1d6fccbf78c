// Descriptions of events in words; and the presentation of a status by colour and by shape.

import { duration, preview, words } from "./format.mjs";

/** @typedef {"run" | "wait" | "good" | "bad" | "ask" | "idle"} Tone */

/** @type {Record<string, [Tone, string]>} */
const LOOKS = {
  in_progress: ["run", "●"],
  running: ["run", "●"],
  active: ["run", "●"],
  accepted: ["run", "●"],
  held: ["run", "●"],
  pending: ["wait", "◐"],
  ready: ["wait", "◐"],
  waiting: ["wait", "◐"],
  created: ["wait", "◐"],
  handed_off: ["wait", "◐"],
  delivered: ["wait", "◑"],
  approved: ["wait", "◑"],
  offered: ["ask", "▲"],
  waiting_review: ["ask", "▲"],
  completed: ["good", "✓"],
  acked: ["good", "✓"],
  replied: ["good", "✓"],
  failed: ["bad", "✕"],
  dead: ["bad", "✕"],
  lost: ["bad", "✕"],
  rejected: ["bad", "✕"],
  expired: ["bad", "✕"],
  timed_out: ["bad", "✕"],
  aborted: ["bad", "✕"],
};

/** @param {string} status @returns {{ tone: Tone, sign: string, label: string }} */
export function look(status) {
  const [tone, sign] = LOOKS[status] ?? ["idle", "–"];
  return { tone, sign, label: words(status) };
}

/** @type {Record<string, string>} */
const VERDICTS = { complete: "accepted", retry: "returned", fail: "rejected" };

/** @param {any} event @returns {string} */
const about = (event) =>
  event.task ??
  event.handoff ??
  event.name ??
  event.pipeline ??
  event.join ??
  event.stream ??
  event.topic ??
  event.key ??
  event.message ??
  event.id ??
  "";

/** @type {Record<string, (event: any) => string>} */
const SENTENCES = {
  "agent.joined": () => "joined",
  "agent.left": () => "left",
  "agent.lost": (it) =>
    it.because
      ? `was lost: the session of ${it.because}, its supervisor, ended`
      : "was lost: no heartbeat arrived in time",
  "agent.seen": () => "sent a heartbeat",
  "task.created": (it) => `created ${it.task}${it.description ? `: ${it.description}` : ""}`,
  "task.claimed": (it) => `claimed ${it.task}`,
  "task.completed": (it) => `completed ${it.task}`,
  "task.submitted": (it) => `submitted the result of ${it.task} for review`,
  "task.reviewed": (it) =>
    `${VERDICTS[it.verdict] ?? "reviewed"} ${it.task}${it.note ? `: ${it.note}` : ""}`,
  "task.failed": (it) => `failed ${it.task}${it.error ? `: ${preview(it.error, 80)}` : ""}`,
  "task.progressed": (it) =>
    `${it.task} is at ${Math.round(100 * it.fraction)} %${it.note ? `: ${it.note}` : ""}`,
  "task.renewed": (it) => `renewed its lease of ${it.task}`,
  "task.released": (it) => `released ${it.task}`,
  "task.ready": (it) => `${it.task} became ready`,
  "task.queued": () => "waits for a task",
  "task.gave_up": () => "stopped waiting for a task",
  "handoff.offered": (it) => `offers ${it.task ?? it.id} to ${receiver(it.to)}`,
  "handoff.accepted": (it) => `accepted ${it.handoff}`,
  "handoff.rejected": (it) => `rejected ${it.handoff}${it.reason ? `: ${it.reason}` : ""}`,
  "lock.acquired": (it) => `acquired lock ${it.name}`,
  "lock.queued": (it) => `waits for lock ${it.name}`,
  "lock.released": (it) => `released lock ${it.name}`,
  "lock.expired": (it) => `lock ${it.name} expired`,
  "message.sent": (it) => `sent ${it.to} a message: ${preview(it.body, 80)}`,
  "message.replied": (it) => `replied to ${it.message}`,
  "state.set": (it) => `set ${it.namespace}/${it.key} (version ${it.version})`,
  "state.patched": (it) => `changed ${it.namespace}/${it.key} (version ${it.version})`,
  "state.deleted": (it) => `deleted ${it.namespace}/${it.key}`,
  "contract.declared": (it) => `declared the contract ${it.name}`,
  "contract.deleted": (it) => `deleted the contract ${it.name}`,
  "contract.broken": (it) => `broke the contract ${it.name} of ${it.owner}`,
  "checkpoint.copied": (it) => `copied the checkpoints of ${it.source} to ${it.task}`,
  "checkpoint.written": (it) => `wrote after checkpoint ${it.key} of ${it.task}`,
  "checkpoint.saved": (it) => `saved a checkpoint of ${it.task}`,
  "topic.posted": (it) => `published to ${it.topic}: ${preview(it.body, 80)}`,
  "semaphore.acquired": (it) =>
    it.weight > 1
      ? `acquired ${it.weight} permits of ${it.name}`
      : `acquired a permit of ${it.name}`,
  "semaphore.resized": (it) => `set the permits of ${it.name} to ${it.permits}`,
};

/** @param {any} to */
export const receiver = (to) => (typeof to === "string" ? to : `any agent with ${to?.capability}`);

/** An event in words, without its agent. @param {any} event */
export function sentence(event) {
  const known = SENTENCES[event.type];
  if (known) return known(event);
  const [, verb = event.type] = String(event.type).split(".");
  return `${words(verb)} ${about(event)}`.trim();
}

/** Events that would bury the others: heartbeats, renewals, and calls that wait for work. */
const ROUTINE =
  /\.(seen|renewed|gave_up|answered|told|forgotten)$|^(task|message|handoff|join|stream)\.queued$/;

/** @param {any} event */
export const isRoutine = (event) => ROUTINE.test(event.type);

/** The tone of an event. @param {any} event @returns {Tone} */
export function eventTone({ type }) {
  if (/\.(failed|lost|expired|died|rejected|timed_out|stage_failed|aborted|refused|broken)$/.test(type))
    return "bad";
  if (/\.(completed|replied|acked|stage_completed|opened)$/.test(type)) return "good";
  if (/\.(queued|offered|waiting_review|delivered)$/.test(type)) return "wait";
  if (/\.(claimed|acquired|joined|accepted|stage_started)$/.test(type)) return "run";
  return "idle";
}

/** @param {any} task */
const waits = ({ id, submitted_by }) =>
  submitted_by ? `${id} waits for review: ${submitted_by} submitted a result` : `${id} waits for review`;

/**
 * The items that need a person, oldest first: reviews, approvals, failures, lost agents, dead messages,
 * deadlocks.
 * @param {{ review: any[], failed: any[], handoffs: any[], lost: any[], dead: any[],
 *   deadlocks: any[] }} found
 */
export function needsYou({ review, failed, handoffs, lost, dead, deadlocks }) {
  const items = [
    ...review.map((it) => item("task", it, it.updated_at, waits(it))),
    ...failed.map((it) => item("task", it, it.updated_at, `${it.id} failed for good`)),
    ...handoffs
      .filter(({ approval, status }) => approval && !approval.approved_by && status === "offered")
      .map((it) =>
        item(
          "handoff",
          it,
          it.created_at,
          `${it.from} asks to hand ${it.task ?? it.id} to ${receiver(it.to)}`,
        ),
      ),
    ...lost.map((it) =>
      item(
        "agent",
        it,
        it.ended_at ?? it.last_seen_at,
        `${it.id} was lost: no heartbeat for ${duration(it.ttl_ms)}`,
      ),
    ),
    ...dead.map((it) => item("message", it, it.updated_at, `a message to ${it.to} is dead`)),
    ...deadlocks.map((it) => item("deadlock", it, "", "agents wait for each other's locks")),
  ];
  return items.sort((a, b) => a.since.localeCompare(b.since));
}

/** @param {string} kind @param {any} record @param {string} since @param {string} text */
const item = (kind, record, since, text) => ({ kind, record, since: since ?? "", text });
