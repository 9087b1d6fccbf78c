// How to connect, who may, and what is kept.

import {
  ActionButton,
  Copy,
  Facts,
  Page,
  Problem,
  Section,
  Status,
  Time,
} from "../components/basics.mjs";
import { Snippets } from "../components/snippets.mjs";
import { Table } from "../components/table.mjs";
import { app } from "../lib/app.mjs";
import { commandLine } from "../lib/command-line.mjs";
import { count, duration } from "../lib/format.mjs";
import { useChanges, useQuery } from "../lib/hooks.mjs";
import { html, useEffect, useState } from "../lib/html.mjs";
import { checkAgentName } from "../lib/names.mjs";
import { agentName, keepAgentName, token } from "../lib/session.mjs";

/** @param {string} path @param {RequestInit} [init] */
const request = async (path, init) => /** @type {Response} */ (await app.client?.fetch(path, init));

/** The answer of a route of the server. @param {string | undefined} path @returns {{ data: any, error: any, again: () => void }} */
function useRoute(path) {
  const [answer, setAnswer] = useState(/** @type {any} */ ({}));
  const read = () => {
    if (!path) return;
    void request(path)
      .then((response) => response.json())
      .then(
        (data) => setAnswer({ data }),
        (error) => setAnswer({ error }),
      );
  };
  useEffect(read, [path]);
  return { ...answer, again: read };
}

function Tokens() {
  const { data, error, again } = useRoute("/v1/access/tokens");
  const [made, setMade] = useState("");
  const create = {
    label: "Create token",
    effect: "Anyone who has the token can do what its role permits. It is shown once.",
    needs: /** @type {const} */ ("admin"),
    fields: [
      { name: "name", label: "Name" },
      {
        name: "role",
        label: "Role",
        type: /** @type {const} */ ("select"),
        options: ["reader", "worker", "operator", "admin"],
        value: "worker",
      },
      { name: "agent", label: "Acts only as this agent", isOptional: true },
      { name: "workspaces", label: "Only workspaces that match", isOptional: true },
    ],
    run: async (/** @type {any} */ { name, role, agent, workspaces }) => {
      const grant = {
        role,
        ...(agent && { agent }),
        ...(workspaces && { workspaces: [workspaces] }),
      };
      const headers = { "content-type": "application/json" };
      const response = await request("/v1/access/tokens", {
        method: "POST",
        headers,
        body: JSON.stringify({ name, grant }),
      });
      setMade((await response.json()).token);
      again();
      return `Created the token ${name}`;
    },
  };
  const revoke = (/** @type {any} */ it) => ({
    label: "Revoke",
    effect: `${it.name} stops working with the next request, and its connections are closed.`,
    needs: /** @type {const} */ ("admin"),
    isDangerous: true,
    run: async () => {
      await request(`/v1/access/tokens/${encodeURIComponent(it.id)}`, { method: "DELETE" });
      again();
    },
  });
  const columns = [
    { name: "Name", cell: (/** @type {any} */ it) => it.name },
    { name: "Role", cell: (/** @type {any} */ it) => it.role },
    { name: "Agent", cell: (/** @type {any} */ it) => it.agent ?? "any" },
    { name: "Workspaces", cell: (/** @type {any} */ it) => it.workspaces?.join(", ") ?? "all" },
    {
      name: "Created",
      cell: (/** @type {any} */ it) => html`<${Time} time=${it.created_at} />`,
    },
    {
      name: "Expires",
      cell: (/** @type {any} */ it) =>
        it.expires_at ? html`<${Time} time=${it.expires_at} />` : "never",
    },
    {
      name: "Actions",
      cell: (/** @type {any} */ it) =>
        it.revoked_at
          ? html`<${Status} status="expired" label="revoked" />`
          : html`<${ActionButton} action=${revoke(it)} />`,
    },
  ];
  return html`<${Section} title="Tokens" tools=${html`<${ActionButton} action=${create} />`}>
    <${Problem} error=${error} />
    ${made && html`<p class="pad">The new token, shown once: <${Copy} text=${made} /></p>`}
    ${data?.tokens.length > 0 && html`<${Table} label="Tokens" rows=${data.tokens} columns=${columns} id=${(/** @type {any} */ it) => it.id} />`}
    ${data?.tokens.length === 0 && html`<p class="faint pad">There are none: every caller on this machine may do everything. <code>baton serve --tokens</code> requires them.</p>`}
  <//>`;
}

function Retention() {
  const { data } = useQuery("workspace.get", {}, { now: true });
  const retention = data?.retention;
  const change = {
    label: "Change retention",
    effect: "History beyond the new bounds is removed in the background, and cannot be read again.",
    needs: /** @type {const} */ ("operator"),
    isDangerous: true,
    fields: [
      {
        name: "history_count",
        label: "Revisions to keep",
        value: String(retention?.history_count ?? ""),
      },
      {
        name: "history_age_ms",
        label: "Milliseconds to keep",
        value: String(retention?.history_age_ms ?? ""),
      },
    ],
    run: async (/** @type {any} */ { history_count, history_age_ms }) => {
      await app.workspace?.configure({
        history_count: Number(history_count),
        history_age_ms: Number(history_age_ms),
      });
    },
  };
  return html`<${Section} title="Workspace" tools=${html`<${ActionButton} action=${change} />`}>
    <${Facts}
      facts=${[
        ["Name", app.route.workspace],
        [
          "History",
          retention &&
            `${count(retention.history_count)} revisions, at most ${duration(retention.history_age_ms)}`,
        ],
        ["Entries", data && count(data.entries)],
        ["Namespaces", data && count(data.namespaces)],
        ["Agents", data && count(data.agents)],
        [
          "Origin",
          data?.origin &&
            `${data.origin.manner} of ${data.origin.workspace} at revision ${data.origin.revision}`,
        ],
      ]}
    />
  <//>`;
}

/** Saves what a route answers as a file. @param {string} path @param {string} name */
async function download(path, name) {
  const response = await request(path);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await response.blob());
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
  return `Saved ${name}`;
}

function Files() {
  const { workspace } = app.route;
  const backup = {
    label: "Back up the server",
    effect: "Saves all workspaces with their history and secret values as one file.",
    needs: /** @type {const} */ ("admin"),
    isDangerous: true,
    cli: "baton backup FILE",
    run: () => download("/v1/access/backup", "backup.baton"),
  };
  const save = {
    label: "Export this workspace",
    effect: "Saves its state and artifacts as one file, without history and secret values.",
    needs: /** @type {const} */ ("admin"),
    cli: commandLine`baton workspace export ${workspace} FILE`,
    run: () => download(`/v1/${encodeURIComponent(workspace)}/export`, `${workspace}.baton`),
  };
  if (!app.may("admin")) return null;
  return html`<${Section} title="Files"><p class="pad tools"><${ActionButton} action=${backup} /><${ActionButton} action=${save} /></p><//>`;
}

function You() {
  const rename = {
    label: "Act as",
    effect: "What you do is recorded under this name.",
    needs: /** @type {const} */ ("reader"),
    fields: [{ name: "agent", label: "Agent", value: agentName() }],
    run: async (/** @type {any} */ { agent }) => {
      checkAgentName(agent);
      keepAgentName(agent);
      location.reload();
    },
  };
  return html`<${Section} title="You" tools=${html`${!app.grant.agent && html`<${ActionButton} action=${rename} />`}
    ${token() && html`<button type="button" class="button" onClick=${() => app.signOut()}>Sign out</button>`}`}>
    <${Facts}
      facts=${[
        ["Agent", app.agent],
        ["Role", app.grant.role],
        ["Workspaces", app.grant.workspaces?.join(", ") ?? "all"],
        ["Namespaces", app.grant.namespaces?.join(", ") ?? "all"],
      ]}
    />
  <//>`;
}

/** Served by this server, so that they are those of its version. */
const documents = () => html`<a href="/docs/guide">Guide</a>${" "}
  <a href="/docs/reference">Reference</a>${" "}
  <a href="/docs/errors">Errors</a>${" "}
  <a href="/llms.txt">llms.txt</a>`;

export function Connect() {
  useChanges();
  const health = useRoute("/healthz");
  const ready = useRoute("/readyz");
  return html`<${Page} title="Connect and settings">
    <div class="columns">
      <div>
        <${Section} title="Connect an agent"><${Snippets} /><//>
        ${app.may("admin") && html`<${Tokens} />`}
      </div>
      <div>
        <${You} /><${Retention} /><${Files} />
        <${Section} title="Server">
          <${Facts}
            facts=${[
              ["Address", html`<${Copy} text=${location.origin} />`],
              ["Version", health.data?.version],
              ["Ready", ready.data?.status ?? ready.error?.message],
              ["API", html`<a href="/openapi.json">openapi.json</a>`],
              ["Documentation", documents()],
            ]}
          />
        <//>
      </div>
    </div>
  <//>`;
}
