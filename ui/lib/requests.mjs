// Requests that the SDK cannot make as they are needed here: it always names the agent that acts,
// and it parses JSON.

import { memberText, parse, withMembers } from "./json-text.mjs";

/** @import { Client, Workspace } from "@baton/sdk" */

/** @param {Client | undefined} client @param {Workspace | undefined} workspace @param {string} body */
async function post(client, workspace, body) {
  if (!client || !workspace) throw new Error("no workspace is open");
  const path = `/v1/${encodeURIComponent(workspace.name)}/commands`;
  const headers = { "content-type": "application/json" };
  const response = await client.fetch(path, { method: "POST", headers, body });
  return response.text();
}

/**
 * Whether a query is for {@link ask}. The agent of `inbox.list` is the owner of the inbox: without
 * any, the messages of all inboxes are listed. The values of entries are read as they were written.
 * @param {any} command
 */
export const isPlain = ({ command, agent }) =>
  (command === "inbox.list" && !agent) || command === "state.get" || command === "state.history";

/**
 * Answers a query. The answer to `state.get` has the text of the value, too.
 * @param {Client | undefined} client
 * @param {Workspace} workspace
 * @param {any} command
 * @param {number | undefined} at
 */
export async function ask(client, workspace, command, at) {
  const agent = command.command === "inbox.list" ? undefined : workspace.agent;
  const text = await post(client, workspace, JSON.stringify({ ...command, agent, at }));
  const answer = parse(text);
  if (command.command === "state.get") answer.result.text = memberText(text, "result", "value");
  return answer;
}

/**
 * Executes a command with fields that are given as JSON.
 * @param {Client | undefined} client
 * @param {Workspace | undefined} workspace
 * @param {Record<string, unknown>} command
 * @param {Record<string, string | undefined>} texts
 */
export async function write(client, workspace, command, texts) {
  const agent = workspace?.agent;
  const text = await post(client, workspace, withMembers({ agent, ...command }, texts));
  return JSON.parse(text).result;
}
