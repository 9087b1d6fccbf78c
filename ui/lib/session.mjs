// The user of the page: the token, kept for this tab only; the agent that acts; the permissions of
// both.

import { connect } from "@baton/sdk";
import { isAgentName, isWorkspaceName } from "./names.mjs";

/** @import { Client } from "@baton/sdk" */
/** @typedef {"reader" | "worker" | "operator" | "admin"} Role */
/** @typedef {{ role: Role, agent?: string, workspaces?: string[], namespaces?: string[] }} Grant */

const TOKEN = "baton.token";
const AGENT = "baton.agent";
const WORKSPACE = "baton.workspace";
/** The agent that acts for the person at the page, unless they choose another name. */
const AGENT_DEFAULT = "dashboard";
const ROLES = /** @type {Role[]} */ (["reader", "worker", "operator", "admin"]);

export const token = () => sessionStorage.getItem(TOKEN) ?? undefined;

/** Keeps the token for this tab, or forgets it. @param {string | undefined} value */
export function keepToken(value) {
  if (value === undefined) sessionStorage.removeItem(TOKEN);
  else sessionStorage.setItem(TOKEN, value);
}

/** A name that is kept, if it is one: an earlier version kept any text. @param {string} item @param {(name: string) => boolean} isName */
function kept(item, isName) {
  const name = localStorage.getItem(item) ?? "";
  return isName(name) ? name : "";
}

export const agentName = () => kept(AGENT, isAgentName) || AGENT_DEFAULT;
/** @param {string} name */
export const keepAgentName = (name) => localStorage.setItem(AGENT, name);

export const lastWorkspace = () => kept(WORKSPACE, isWorkspaceName);
/** @param {string} name */
export const keepWorkspace = (name) => localStorage.setItem(WORKSPACE, name);

/** @param {Grant} grant @param {Role} needed */
export const mayAs = ({ role }, needed) => ROLES.indexOf(role) >= ROLES.indexOf(needed);

/** How this tab connects. @param {string} [agent] - The agent that acts. */
export const settings = (agent = agentName()) => ({
  ...{ token: token(), agent },
  ...{ silenceMaxMs: 12_000, backoffMaxMs: 2_000 },
});

/** Connects with the token of this tab, and finds out what it permits. */
export async function open() {
  const given = token();
  const headers = /** @type {Record<string, string>} */ (
    given ? { authorization: `Bearer ${given}` } : {}
  );
  // At the same time: the first screen waits for both. `connect` reports the objections of the
  // server.
  const asked = fetch("/v1/access/grant", { headers }).then((response) => response.json());
  const [client, grant] = await Promise.all([
    connect(location.origin, settings()),
    /** @type {Promise<Grant>} */ (asked),
  ]);
  return { client, grant, agent: grant.agent ?? agentName() };
}

/**
 * The names of the workspaces. A token for some workspaces may not list any: those that it names are
 * known.
 * @param {Client} client @param {Grant} grant @param {string} agent
 */
export async function workspaces(client, grant, agent) {
  if (grant.workspaces) return grant.workspaces.filter(isWorkspaceName);
  const handle = client.workspace(lastWorkspace() || "default", { agent });
  const listed = await handle.workspaces({ limit: 1_000 }).catch(() => undefined);
  return listed?.workspaces.map(({ id }) => id) ?? [];
}

/** Whether an error says that the token is missing or not valid. @param {any} error */
export const isAboutToken = (error) =>
  ["access.no_token", "access.bad_token", "access.bad_jwt"].includes(error?.code);
