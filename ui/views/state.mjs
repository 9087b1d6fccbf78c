// Shared state: a tree of keys, the versions of an entry, and their differences.

import {
  ActionButton,
  AgentLink,
  Empty,
  Facts,
  Page,
  Section,
  Time,
} from "../components/basics.mjs";
import { Diff, Json } from "../components/json.mjs";
import { createAction, deleteAction, editAction, revertAction } from "../lib/state-actions.mjs";
import { app } from "../lib/app.mjs";
import { plural, preview, words } from "../lib/format.mjs";
import { useChanges, useQuery } from "../lib/hooks.mjs";
import { classes, html, useState } from "../lib/html.mjs";
import { treeOf } from "../lib/tree.mjs";
import { Contracts, Dependents } from "./contracts.mjs";

/** @import { Branch } from "../lib/tree.mjs" */

const LIMIT = 10_000;

/** @param {{ branch: Branch, namespace: string, chosen: string, depth: number }} props @returns {any} */
function Tree({ branch, namespace, chosen, depth }) {
  const [isOpen, setOpen] = useState(depth === 0 || chosen.startsWith(`${branch.path}/`));
  const below = [...branch.branches.values()];
  return html`<li>
    ${
      depth > 0 &&
      html`<button type="button" class="tree-row" data-row aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>
      <span aria-hidden="true">${isOpen ? "▾" : "▸"}</span> <span class="name">${branch.name}/</span> <small class="faint">${branch.count}</small>
    </button>`
    }
    ${
      isOpen &&
      html`<ul>
      ${below.map((it) => html`<${Tree} key=${it.path} branch=${it} namespace=${namespace} chosen=${chosen} depth=${depth + 1} />`)}
      ${branch.entries.slice(0, 500).map(
        (entry) => html`<li key=${entry.key}>
          <a
            class="tree-row"
            data-row
            aria-current=${entry.key === chosen ? "true" : undefined}
            href=${app.href("state", [namespace, entry.key])}
            ><span class="name">${entry.name}</span> <small class="faint clip">${preview(entry.value, 40)}</small></a
          >
        </li>`,
      )}
      ${branch.entries.length > 500 && html`<li class="faint">${branch.entries.length - 500} more</li>`}
    </ul>`
    }
  </li>`;
}

/** @param {{ namespace: string, name: string }} props */
function EntryDetails({ namespace, name }) {
  const { data: entry, error } = useQuery("state.get", { namespace, key: name });
  const history = useQuery("state.history", { namespace, key: name, limit: 200 }, { now: true });
  const changes = (history.data?.changes ?? []).filter(
    (/** @type {any} */ it) => app.at === undefined || it.revision <= app.at,
  );
  const [chosen, choose] = useState(/** @type {[number, number] | undefined} */ (undefined));
  const at = (/** @type {number} */ revision) =>
    changes.find((/** @type {any} */ it) => it.revision === revision);
  const [from, to] = chosen ?? [changes[1]?.revision, changes[0]?.revision];
  const tools =
    entry &&
    html`<${ActionButton} action=${editAction(entry)} /><${ActionButton} action=${deleteAction(entry)} />`;
  return html`<${Section} title=${html`<span class="id">${namespace}/${name}</span>`} tools=${tools}>
      ${error && html`<p class="faint pad">${error.message}</p>`}
      ${
        entry &&
        html`<${Facts}
          facts=${[
            ["Version", entry.version],
            ["Written by", html`<${AgentLink} agent=${entry.updated_by} />`],
            ["Written", html`<${Time} time=${entry.updated_at} />`],
            ["Expires", entry.expires_at && html`<${Time} time=${entry.expires_at} />`],
          ]}
        /><${Json} value=${entry.value} text=${entry.text} />`
      }
    <//>
    <${Dependents} namespace=${namespace} name=${name} />
    <${Section} title="Versions">
      <ul class="list">
        ${changes.map(
          (
            /** @type {any} */ it,
            /** @type {number} */ index,
          ) => html`<li key=${it.revision} class=${classes(it.revision === to && "chosen")}>
            <div class="list-main">
              <button type="button" class="link" aria-pressed=${it.revision === to} onClick=${() => choose([changes[index + 1]?.revision ?? 0, it.revision])}>revision ${it.revision}</button>
              ${words(it.operation.split(".")[1] ?? "")} by <${AgentLink} agent=${it.agent} /> <span class="faint"><${Time} time=${it.time} /></span>
            </div>
            <div class="tools">
              ${it.revision !== to && html`<button type="button" class="button" onClick=${() => choose([Math.min(it.revision, to ?? 0), Math.max(it.revision, to ?? 0)])}>Compare</button>`}
              ${entry && index > 0 && it.new_value !== undefined && html`<${ActionButton} action=${revertAction(entry, it)} />`}
            </div>
          </li>`,
        )}
      </ul>
    <//>
    ${
      to !== undefined &&
      html`<${Section} title=${from ? `Revision ${from} → ${to}` : `Revision ${to}`}>
      <${Diff} before=${from ? at(from)?.new_value : at(to)?.old_value} after=${at(to)?.new_value} />
    <//>`
    }`;
}

export function State() {
  useChanges();
  const [namespace = "shared", name = ""] = app.route.path;
  const namespaces = useQuery("namespace.list", { limit: 1_000 });
  const { data, error } = useQuery("state.list", { namespace, limit: LIMIT });
  const entries = data?.entries ?? [];
  const names = (namespaces.data?.namespaces ?? []).map((/** @type {any} */ it) => it.name);
  return html`<${Page} title="State" note=${data && plural(entries.length, "entry", "entries")} error=${error} tools=${html`<${ActionButton} action=${createAction(namespace)} />`}>
    <div class="columns state">
      <${Section}
        title="Keys"
        tools=${html`<select aria-label="Namespace" value=${namespace} onChange=${(/** @type {any} */ event) => app.go("state", [event.target.value])}>
          ${[...new Set([namespace, ...names])].map((it) => html`<option key=${it} value=${it}>${it}</option>`)}
        </select>`}
      >
        ${data && entries.length === 0 && html`<${Empty} title="No entries"><pre class="text">baton state set plan '{"step": 1}'</pre><//>`}
        <ul class="tree"><${Tree} branch=${treeOf(entries)} namespace=${namespace} chosen=${name} depth=${0} /></ul>
        ${data?.cursor && html`<p class="faint pad">Only the first ${LIMIT} keys.</p>`}
      <//>
      <div>${name ? html`<${EntryDetails} key=${name} namespace=${namespace} name=${name} />` : html`<p class="faint pad">Choose a key to see its versions.</p><${Contracts} />`}</div>
    </div>
  <//>`;
}
