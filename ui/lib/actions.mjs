// The actions of a person, each with its effect in words and its command.

import { app } from "./app.mjs";
import { commandLine } from "./command-line.mjs";
import { receiver } from "./sentences.mjs";

/** @import { Action, Field } from "./app.mjs" */
/** @import { Workspace } from "@baton/sdk" */
/** @import * as T from "../../sdk/js/src/generated/types.js" */

/** @type {Field} */
const NOTE = { name: "note", label: "Note", isOptional: true };
/** @type {Field} */
export const REASON = { name: "reason", label: "Reason", isOptional: true };
/** @type {Field} */
const TEXT = { name: "body", label: "Text" };

export const here = () => /** @type {Workspace} */ (app.workspace);
/**
 * The command of an action, as a template.
 * @param {TemplateStringsArray} parts @param {...string | number} values
 */
export const cli = (parts, ...values) =>
  `${commandLine`baton --workspace ${app.route.workspace}`} ${commandLine(parts, ...values)}`;
/**
 * The token of a lease, hold or permit. It is shown to its holder only, and only the holder can use
 * it: an action in the name of the holder asks for it in that name.
 * @param {any} before - As it was when the action was offered. @param {any} now
 */
const tokenOf = (before, now) => {
  const began = (/** @type {any} */ it) => it?.claimed_at ?? it?.acquired_at;
  if (now?.holder === before.holder && began(now) === began(before)) return now.token;
  throw new Error(`${before.holder} no longer holds it.`);
};
const ENDED = new Set(["completed", "failed", "cancelled"]);
/** The states in which a request can be answered. */
const OPEN = new Set(["waiting", "delivered"]);

/** The actions on a task. @param {T.Task} task @returns {Action[]} */
export function taskActions(task) {
  const { id, status, lease } = task;
  /** @type {Action[]} */
  const actions = [];
  if (status === "waiting_review") actions.push(...taskReviews(id));
  if (status === "failed") {
    actions.push({
      label: "Retry",
      effect: `${id} becomes available again under its own id, with as many attempts as at first.`,
      cli: cli`task retry ${id}`,
      fields: [REASON],
      run: (values) => here().tasks.retry(id, values),
    });
  }
  if (lease) actions.push(reassign(id, lease), releaseTask(id, lease));
  if (!ENDED.has(status)) {
    actions.push({
      label: "Cancel",
      effect: `${id} is cancelled, with its subtasks and the tasks that depend on it.`,
      isDangerous: true,
      cli: cli`task cancel ${id}`,
      fields: [REASON],
      run: (values) => here().tasks.cancel(id, values),
    });
  }
  return actions;
}

/**
 * The verdicts of a review: `effects` are those of Retry, Approve and Reject.
 * @param {(verdict: string) => string} command @param {string[]} effects
 * @param {(verdict: any, values: any) => Promise<any>} run @returns {Action[]}
 */
export const reviews = (command, effects, run) =>
  [
    ["retry", "Retry"],
    ["complete", "Approve"],
    ["fail", "Reject"],
  ].map(([verdict, label], index) => ({
    label: /** @type {string} */ (label),
    effect: /** @type {string} */ (effects[index]),
    fields: [NOTE],
    isDangerous: verdict === "fail",
    cli: command(/** @type {string} */ (verdict)),
    run: (/** @type {any} */ values) => run(verdict, values),
  }));

/** @param {string} id @returns {Action[]} */
const taskReviews = (id) =>
  reviews(
    (verdict) => cli`task review ${id} ${verdict}`,
    [
      `${id} returns to its queue; the note tells the next worker why.`,
      `${id} is completed with the result so far.`,
      `${id} fails for good; tasks that depend on it are cancelled.`,
    ],
    (verdict, values) => here().tasks.review(id, verdict, values),
  );

/** @param {string} id @param {T.Lease} lease @returns {Action} */
const releaseTask = (id, lease) => ({
  label: "Release",
  effect: `${lease.holder} loses its lease of ${id}, and another agent can claim it.`,
  isDangerous: true,
  cli: cli`--agent ${lease.holder} task release --token TOKEN ${id}`,
  fields: [REASON],
  run: async (values) => {
    const { tasks } = here().as(lease.holder);
    return tasks.release(id, tokenOf(lease, (await tasks.get(id)).lease), values);
  },
});

/** @param {string} id @param {T.Lease} lease @returns {Action} */
const reassign = (id, lease) => ({
  label: "Reassign",
  effect: `${id} is offered to another agent. ${lease.holder} keeps it until that agent accepts.`,
  fields: [{ name: "to", label: "Agent" }, REASON],
  cli: cli`--agent ${lease.holder} handoff offer AGENT --task ${id} --token TOKEN`,
  run: async ({ to, reason }) => {
    const { tasks, handoffs } = here().as(lease.holder);
    const token = tokenOf(lease, (await tasks.get(id)).lease);
    return handoffs.offer(to, { task: id, token, reason });
  },
});

/** The actions on a hand-off. @param {T.Handoff} handoff @returns {Action[]} */
export function handoffActions(handoff) {
  const { id, status, approval, digest, from, task, to } = handoff;
  if (!["offered", "approved", "delivered"].includes(status)) return [];
  /** @type {Action[]} */
  const actions = [];
  const what = task ?? "the context";
  if (approval && !approval.approved_by) {
    actions.push({
      label: "Approve",
      effect: `${receiver(to)} can accept ${what} from ${from}. The approval holds for exactly this proposal.`,
      fields: [REASON],
      cli: cli`handoff approve ${id}`,
      run: (values) => here().handoffs.approve(id, { digest, ...values }),
    });
    actions.push({
      label: "Reject",
      effect: `${from} keeps ${what}, with a renewed lease.`,
      isDangerous: true,
      fields: [REASON],
      cli: cli`handoff reject ${id}`,
      run: (values) => here().handoffs.reject(id, values),
    });
  }
  actions.push({
    label: "Withdraw",
    effect: `The offer ends in the name of ${from}, which keeps ${what}.`,
    isDangerous: true,
    fields: [REASON],
    cli: cli`--agent ${from} handoff cancel ${id}`,
    run: (values) => here().as(from).handoffs.cancel(id, values),
  });
  return actions;
}

/** @param {T.Lock} lock @returns {Action | null | undefined} */
export const lockAction = ({ name, hold, waiters }) =>
  hold && {
    label: "Release",
    effect: `${hold.holder} loses the lock ${name}. ${waiters[0] ? `${waiters[0].agent} gets it.` : "It is free."} Writes of ${hold.holder} under its token are rejected from then on.`,
    isDangerous: true,
    cli: cli`--agent ${hold.holder} lock release --token TOKEN ${name}`,
    run: async () => {
      const { locks } = here().as(hold.holder);
      return locks.release(name, tokenOf(hold, (await locks.get(name)).hold));
    },
  };

/** @param {string} name @param {T.Permit} permit @returns {Action} */
export const permitAction = (name, permit) => ({
  label: "Release",
  effect: `${permit.holder} loses its permit of ${name}.`,
  isDangerous: true,
  cli: cli`--agent ${permit.holder} semaphore release --token TOKEN ${name}`,
  run: async () => {
    const { semaphores } = here().as(permit.holder);
    const { holders } = await semaphores.get(name);
    const now = holders.find(
      (/** @type {any} */ it) =>
        it.holder === permit.holder && it.acquired_at === permit.acquired_at,
    );
    return semaphores.release(name, tokenOf(permit, now));
  },
});

/** @param {{ id: string, status?: string }} agent @returns {Action[]} */
export const agentActions = ({ id, status }) => [
  messageAction(id),
  ...(status === "active"
    ? [
        /** @type {Action} */ ({
          label: "End session",
          effect: `The session of ${id} ends: its locks are released, its tasks become available again.`,
          needs: "operator",
          isDangerous: true,
          cli: cli`agent leave ${id}`,
          run: () => here().agents.leave({ agent: id }),
        }),
      ]
    : []),
];

/** @param {string} to - The receiver is asked for if it is empty. @returns {Action} */
export const messageAction = (to) => ({
  label: "Send message",
  effect: to ? `${to} receives it in its inbox, from ${app.agent}.` : `It is from ${app.agent}.`,
  fields: [TEXT, ...(to ? [] : [{ name: "to", label: "Agent" }])],
  cli: cli`message send ${to || "AGENT"} TEXT`,
  run: ({ body, to: other }) => here().messages.send(other ?? to, body),
});

/** The reply to a message: the answer, if its sender waits for one. @param {T.Message} message @returns {Action} */
export const replyAction = ({ id, from, to, request, status }) =>
  request && OPEN.has(status)
    ? {
        label: "Reply",
        effect: `${from} waits for the answer of ${to}, and receives this one in its name.`,
        fields: [TEXT],
        cli: cli`--agent ${to} message reply ${id} TEXT`,
        run: ({ body }) => here().as(to).messages.reply(id, { body }),
      }
    : {
        label: "Reply",
        effect: `${from} receives it in its inbox, from ${app.agent}.`,
        fields: [TEXT],
        cli: cli`message send --reply-to ${id} ${from} TEXT`,
        run: ({ body }) => here().messages.send(from, body, { reply_to: id }),
      };

/** @param {T.Message} message @returns {Action} */
export const requeueAction = ({ id, to }) => ({
  label: "Deliver again",
  effect: `The message returns to the inbox of ${to}, in the name of ${to}.`,
  cli: cli`--agent ${to} inbox requeue ${id}`,
  run: () => here().as(to).inbox.requeue(id),
});

/** @param {T.Checkpoint} checkpoint @returns {Action[]} */
export const checkpointActions = ({ id, task, label }) => [
  {
    label: "Restore",
    effect: `${id} becomes the current checkpoint of ${task}: the next one continues from it. Later ones are kept.`,
    isDangerous: true,
    cli: cli`checkpoint restore ${id}`,
    run: () => here().checkpoints.restore(id),
  },
  {
    label: "Fork",
    effect: `Another task starts with a copy of ${id}.`,
    fields: [{ name: "task", label: "New task or unit of work" }],
    cli: cli`checkpoint fork ${id} TASK`,
    run: ({ task: other }) => here().checkpoints.fork(id, other),
  },
  {
    label: label ? "Change label" : "Label",
    effect: "A labelled checkpoint is not removed by retention rules.",
    fields: [{ name: "label", label: "Label", value: label ?? "", isOptional: true }],
    run: ({ label: next }) =>
      here().checkpoints.label(id, next === undefined ? {} : { label: next }),
  },
];

/** @returns {Action} */
export const createTaskAction = () => ({
  label: "New task",
  effect: "A waiting agent that can do it gets it at once.",
  cli: cli`task create TYPE`,
  fields: [
    { name: "type", label: "Type" },
    { name: "description", label: "Description", isOptional: true },
    { name: "definition", label: "Definition (JSON)", type: "json", isOptional: true },
    { name: "assigned_agent", label: "Only this agent", isOptional: true },
  ],
  run: async ({ definition, ...values }) => {
    const { id } = await app.write({ command: "task.create", ...values }, { definition });
    return `Created ${id}`;
  },
});
