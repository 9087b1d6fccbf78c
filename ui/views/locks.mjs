// Locks and semaphores: who holds, who waits, who blocks whom.

import {
  ActionButton,
  AgentLink,
  Empty,
  Page,
  Progress,
  Section,
  Time,
} from "../components/basics.mjs";
import { Table } from "../components/table.mjs";
import { lockAction, permitAction } from "../lib/actions.mjs";
import { duration, plural } from "../lib/format.mjs";
import { useChanges, useQuery } from "../lib/hooks.mjs";
import { html } from "../lib/html.mjs";
import { blockingTree, deadlockSentence } from "../lib/layout.mjs";

/** @import { Waiting } from "../lib/layout.mjs" */

const LIMIT = 1_000;

/** @param {{ hold: any }} props */
function Left({ hold }) {
  const left = new Date(hold.expires_at).getTime() - Date.now();
  const part = Math.max(0, Math.min(1, left / hold.ttl_ms));
  const text = left > 0 ? `${duration(left)} left` : "expired";
  return html`<${Progress} fraction=${part} label=${text} /> <small class="faint">${text}</small>`;
}

/** @param {{ waiting: Waiting }} props @returns {any} */
function Blocked({ waiting }) {
  return html`<li>
    <${AgentLink} agent=${waiting.agent} />
    ${waiting.lock && html` waits for <span class="id">${waiting.lock}</span> <span class="faint"><${Time} time=${waiting.since} /></span>`}
    ${waiting.waiters.length > 0 && html`<ul>${waiting.waiters.map((it) => html`<${Blocked} key=${it.agent + it.lock} waiting=${it} />`)}</ul>`}
  </li>`;
}

const COLUMNS = [
  { name: "Lock", cell: (/** @type {any} */ it) => html`<span class="id">${it.name}</span>` },
  {
    name: "Holder",
    cell: (/** @type {any} */ it) => html`<${AgentLink} agent=${it.hold?.holder} />`,
  },
  {
    name: "Since",
    cell: (/** @type {any} */ it) => html`<${Time} time=${it.hold?.acquired_at} />`,
  },
  {
    name: "Lease",
    cell: (/** @type {any} */ it) => it.hold && html`<${Left} hold=${it.hold} />`,
  },
  {
    name: "Waiters, in order",
    class: "grow",
    cell: (/** @type {any} */ it) =>
      it.waiters.map(
        (/** @type {any} */ wait, /** @type {number} */ index) =>
          html`<span key=${wait.id}>${index > 0 && ", "}<${AgentLink} agent=${wait.agent} /></span>`,
      ),
  },
  {
    name: "Actions",
    cell: (/** @type {any} */ it) => {
      const action = lockAction(it);
      return action && html`<${ActionButton} action=${action} />`;
    },
  },
];

const PERMITS = [
  {
    name: "Semaphore",
    cell: (/** @type {any} */ it) => html`<span class="id">${it.name}</span>`,
  },
  {
    name: "Holder",
    cell: (/** @type {any} */ it) => html`<${AgentLink} agent=${it.permit?.holder} />`,
  },
  {
    name: "Lease",
    cell: (/** @type {any} */ it) => it.permit && html`<${Left} hold=${it.permit} />`,
  },
  { name: "Weight", class: "number", cell: (/** @type {any} */ it) => it.permit?.weight },
  { name: "Free", class: "number", cell: (/** @type {any} */ it) => `${it.free} of ${it.all}` },
  { name: "Waiters", class: "number", cell: (/** @type {any} */ it) => it.waiters },
  {
    name: "Actions",
    cell: (/** @type {any} */ it) =>
      it.permit && html`<${ActionButton} action=${permitAction(it.name, it.permit)} />`,
  },
];

/** A row for each permit, or one if none is held. @param {any} semaphore */
function permitRows({ name, permits, free, holders = [], waiters }) {
  const about = { name, all: permits, free, waiters: waiters.length };
  return holders.length > 0
    ? holders.map((/** @type {any} */ permit) => ({ ...about, permit }))
    : [about];
}

export function Locks() {
  useChanges();
  const { data, error } = useQuery("lock.list", { limit: LIMIT });
  const semaphores = useQuery("semaphore.list", { limit: LIMIT });
  const locks = data?.locks ?? [];
  const trees = blockingTree(locks);
  const deadlocks = data?.deadlocks ?? [];
  const permits = (semaphores.data?.semaphores ?? []).flatMap(permitRows);
  const waiters = locks.reduce(
    (/** @type {number} */ sum, /** @type {any} */ it) => sum + it.waiters.length,
    0,
  );
  return html`<${Page} title="Locks" note=${data && `${plural(locks.length, "lock")} held, ${plural(waiters, "waiter")}`} error=${error}>
    ${deadlocks.map(
      (/** @type {any[]} */ links, /** @type {number} */ index) =>
        html`<div key=${index} class="problem" role="alert"><p><strong>Deadlock.</strong> ${deadlockSentence(links)}</p></div>`,
    )}
    ${data && locks.length === 0 && html`<${Empty} title="Nothing is held"><pre class="text">baton lock acquire release --ttl 60s</pre><//>`}
    ${locks.length > 0 && html`<${Table} label="Locks" rows=${locks} columns=${COLUMNS} id=${(/** @type {any} */ it) => it.name} />`}
    ${
      trees.length > 0 &&
      html`<${Section} title="Who blocks whom">
      <ul class="blocking">${trees.map((it) => html`<${Blocked} key=${it.agent} waiting=${it} />`)}</ul>
    <//>`
    }
    ${
      permits.length > 0 &&
      html`<${Section} title="Semaphores">
      <${Table} label="Semaphores" rows=${permits} columns=${PERMITS} id=${(/** @type {any} */ it) => `${it.name} ${it.permit?.holder ?? ""} ${it.permit?.acquired_at ?? ""}`} />
    <//>`
    }
  <//>`;
}
