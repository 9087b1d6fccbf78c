// Contracts: who depends on which keys, what they expect of them, and what is broken.

import { ActionButton, AgentLink, Facts, Section } from "../components/basics.mjs";
import { contractActions, declareAction } from "../lib/state-actions.mjs";
import { app } from "../lib/app.mjs";
import { words } from "../lib/format.mjs";
import { useQuery } from "../lib/hooks.mjs";
import { html } from "../lib/html.mjs";

const LIMIT = 1_000;

/** The expectation of a contract about a key, in words. @param {any} terms */
const expected = ({ type, fields = [], schema, optional }) =>
  [
    type && `is ${/^[aeiou]/.test(type) ? "an" : "a"} ${type}`,
    fields.length > 0 && `has ${fields.join(", ")}`,
    schema !== undefined && "satisfies a schema",
    optional && "may be absent",
  ]
    .filter(Boolean)
    .join(", ") || "exists";

/** A link to an entry, if it is one and no pattern of them. @param {{ name: string }} props */
function KeyLink({ name }) {
  const [namespace = "", ...rest] = name.split("/");
  if (name.includes("*")) return html`<span class="id">${name}</span>`;
  return html`<a class="id" href=${app.href("state", [namespace, rest.join("/")])}>${name}</a>`;
}

/** The list of problems. @param {{ problems: any[] }} props */
const Problems = ({ problems }) =>
  html`<ul class="list">
    ${problems.map(
      (it) => html`<li key=${it.key + it.problem} class="tone-bad">
        <div class="list-main">
          <strong>✕ ${words(it.problem)}</strong> <${KeyLink} name=${it.key} />: ${it.detail}
          <span class="faint">${it.depended_on_by.join(", ")}</span>
        </div>
      </li>`,
    )}
  </ul>`;

/** The contracts of the workspace, and what breaks them. */
export function Contracts() {
  const declared = useQuery("contract.list", { limit: LIMIT });
  const { data: checked } = useQuery("contract.check");
  const list = declared.data?.declarations ?? [];
  const problems = checked?.problems ?? [];
  return html`<${Section} title="Contracts" tools=${html`<${ActionButton} action=${declareAction()} />`}>
    ${declared.error && html`<p class="faint pad">${declared.error.message}</p>`}
    ${declared.data && list.length === 0 && html`<p class="faint pad">No contracts. An agent that depends on keys can declare what it expects of them.</p>`}
    <ul class="list">
      ${list.map(
        (/** @type {any} */ it) => html`<li key=${it.name} data-row tabindex="-1">
          <div class="list-main">
            <strong>${it.name}</strong> of <${AgentLink} agent=${it.owner} />
            <span class="faint">${it.on_break === "refuse" ? "refuses a write that breaks it" : "warns of a write that breaks it"}</span>
            ${it.keys.map((/** @type {any} */ terms) => html`<p key=${terms.key}><${KeyLink} name=${terms.key} /> ${expected(terms)}</p>`)}
          </div>
          <div class="tools">${contractActions(it).map((action) => html`<${ActionButton} key=${action.label} action=${action} />`)}</div>
        </li>`,
      )}
    </ul>
    ${problems.length > 0 && html`<h3 class="pad">Broken</h3><${Problems} problems=${problems} />`}
  <//>`;
}

/** @param {string} who */
const whoLink = (who) =>
  /[:*]/.test(who) ? html`<span class="id">${who}</span>` : html`<${AgentLink} agent=${who} />`;

/** The agents that write an entry, and those that depend on it. @param {{ namespace: string, name: string }} props */
export function Dependents({ namespace, name }) {
  const key = `${namespace}/${name}`;
  const { data } = useQuery("contract.show", { pattern: key, limit: LIMIT });
  const { data: checked } = useQuery("contract.check", { namespace });
  const of = (data?.contracts ?? []).find((/** @type {any} */ it) => it.key === key);
  const problems = (checked?.problems ?? []).filter((/** @type {any} */ it) => it.key === key);
  if (!of && problems.length === 0) return null;
  const list = (/** @type {any[]} */ items) =>
    items.length > 0 &&
    items.map((it, index) => html`<span key=${index}>${index > 0 && ", "}${it}</span>`);
  return html`<${Section} title="Who depends on it">
    <${Facts}
      facts=${[
        ["Writers", list((of?.writers ?? []).map(whoLink))],
        ["Readers", list((of?.readers ?? []).map((/** @type {any} */ it) => html`${whoLink(it.who)} <small class="faint">${words(it.by)}${it.kind ? `, ${it.kind}` : ""}</small>`))],
      ]}
    />
    ${problems.length > 0 && html`<${Problems} problems=${problems} />`}
  <//>`;
}
