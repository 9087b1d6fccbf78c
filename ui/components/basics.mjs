// The smallest parts: status, time, id, link, button, empty and failed states.

import { app } from "../lib/app.mjs";
import { absolute, relative } from "../lib/format.mjs";
import { classes, html } from "../lib/html.mjs";
import { placeOf } from "../lib/route.mjs";
import { look } from "../lib/sentences.mjs";

/** @import { Action } from "../lib/app.mjs" */

/** A status by colour, shape and word. @param {{ status: string, label?: string }} props */
export function Status({ status, label }) {
  const { tone, sign, label: words } = look(status);
  return html`<span class=${classes("status", `tone-${tone}`)}
    ><span aria-hidden="true">${sign}</span> ${label ?? words}</span
  >`;
}

/** A time relative to now; the absolute one is its title. @param {{ time?: string }} props */
export function Time({ time }) {
  if (!time) return html`<span class="faint">–</span>`;
  return html`<time datetime=${time} title=${absolute(time)}>${relative(time, Date.now())}</time>`;
}

/**
 * A link to a place of this workspace.
 * @param {{ view: string, path?: string[], query?: Record<string, any>, class?: string,
 *   children?: any, title?: string }} props
 */
export function Link({ view, path, query, children, title, class: name }) {
  return html`<a class=${name} title=${title} href=${app.href(view, path, query)}>${children}</a>`;
}

/** A link to an agent. @param {{ agent?: string }} props */
export function AgentLink({ agent }) {
  if (!agent) return html`<span class="faint">–</span>`;
  return html`<a class="agent" href=${app.href("agents", [agent])}>${agent}</a>`;
}

/** A link to a task. @param {{ task?: string }} props */
export function TaskLink({ task }) {
  if (!task) return html`<span class="faint">–</span>`;
  return html`<a class="id" href=${app.href("tasks", [task])}>${task}</a>`;
}

/** A link to what an event is about, if a page shows it. @param {{ subject: string }} props */
export function SubjectLink({ subject }) {
  const place = placeOf(subject);
  if (!place) return html`<span class="id">${subject}</span>`;
  return html`<a class="id" href=${app.href(place.view, place.path)}>${subject}</a>`;
}

/**
 * A button for an action. It is absent if the role does not permit it, or the past is shown.
 * @param {{ action: Action, class?: string }} props
 */
export function ActionButton({ action, class: name }) {
  if (!app.may(action.needs ?? "worker") || app.at !== undefined) return null;
  return html`<button
    type="button"
    class=${classes("button", action.isDangerous && "danger", name)}
    title=${action.effect}
    onClick=${(/** @type {Event} */ event) => {
      event.stopPropagation();
      app.perform(action);
    }}
  >
    ${action.label}
  </button>`;
}

/** A text that can be copied. @param {{ text: string, label?: string }} props */
export function Copy({ text, label }) {
  const copy = async () => {
    await navigator.clipboard?.writeText(text).catch(() => {});
    app.notify("Copied");
  };
  return html`<button type="button" class="copy" title="Copy" onClick=${copy}>
    <code>${label ?? text}</code>
  </button>`;
}

/** The content of an empty screen. @param {{ title: string, children?: any }} props */
export function Empty({ title, children }) {
  return html`<div class="empty"><p class="empty-title">${title}</p>${children}</div>`;
}

/** An error, with what to do next. @param {{ error: any }} props */
export function Problem({ error }) {
  if (!error) return null;
  return html`<div class="problem" role="alert">
    <p>${error.message ?? String(error)}</p>
    ${error.hint && html`<p class="hint">${error.hint}</p>`}
    ${error.code && html`<p class="faint"><code>${error.code}</code></p>`}
  </div>`;
}

/**
 * A page: its title, its tools, and its content.
 * @param {{ title: any, tools?: any, children?: any, error?: any, note?: any }} props
 */
export function Page({ title, tools, children, error, note }) {
  return html`<div class="page">
    <header class="page-head">
      <h1>${title}</h1>
      ${note && html`<span class="faint">${note}</span>`}
      <div class="tools">${tools}</div>
    </header>
    ${error && html`<${Problem} error=${error} />`} ${children}
  </div>`;
}

/**
 * Tabs whose choice is in the address.
 * @param {{ name: string, tabs: [string, string][], value: string, label: string }} props
 */
export function Tabs({ name, tabs, value, label }) {
  return html`<div class="tabs" role="group" aria-label=${label}>
    ${tabs.map(
      ([id, text], index) => html`<button
        type="button"
        key=${id}
        aria-pressed=${value === id}
        onClick=${() => app.setQuery({ [name]: index === 0 ? undefined : id })}
      >
        ${text}
      </button>`,
    )}
  </div>`;
}

/** Facts about one thing. @param {{ facts: [string, any][] }} props */
export function Facts({ facts }) {
  const given = facts.filter(
    ([, value]) => value !== undefined && value !== null && value !== "" && value !== false,
  );
  return html`<dl class="facts">
    ${given.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}
  </dl>`;
}

/** A bar of progress. @param {{ fraction: number, label: string }} props */
export function Progress({ fraction, label }) {
  return html`<progress max="1" value=${fraction} aria-label=${label} title=${label}></progress>`;
}

/** A heading with its content. @param {{ title: any, tools?: any, children?: any }} props */
export function Section({ title, tools, children }) {
  return html`<section class="card">
    <header class="card-head"><h2>${title}</h2><div class="tools">${tools}</div></header>
    ${children}
  </section>`;
}
