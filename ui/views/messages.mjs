// Messages: conversations, and one of them.

import {
  ActionButton,
  AgentLink,
  Empty,
  Page,
  Section,
  Status,
  Tabs,
  Time,
} from "../components/basics.mjs";
import { Json } from "../components/json.mjs";
import { messageAction, replyAction, requeueAction } from "../lib/actions.mjs";
import { app } from "../lib/app.mjs";
import { count, plural, preview } from "../lib/format.mjs";
import { useChanges, useNewestMessages, useQuery } from "../lib/hooks.mjs";
import { classes, html } from "../lib/html.mjs";

/** How many of the newest messages are shown, and of the oldest with a status. */
const NEWEST = 1_000;
const LIMIT = 2_000;
const THREADS_MAX = 200;
const STATUSES = [
  ["all", "All"],
  ["waiting", "Waiting"],
  ["delivered", "Delivered"],
  ["dead", "Dead"],
];

/** Conversations, the newest first. @param {any[]} messages */
function threadsOf(messages) {
  /** @type {Map<string, any[]>} */
  const threads = new Map();
  for (const message of messages) {
    const of = threads.get(message.thread) ?? [];
    of.push(message);
    threads.set(message.thread, of);
  }
  return [...threads.values()].sort((a, b) =>
    String(a.at(-1)?.sent_at) < String(b.at(-1)?.sent_at) ? 1 : -1,
  );
}

/** @param {{ message: any }} props */
function MessageCard({ message }) {
  const answer = message.request?.answer;
  return html`<article class="message">
    <header>
      <span><${AgentLink} agent=${message.from} /> → <${AgentLink} agent=${message.to} /></span>
      <span class="faint"><${Time} time=${message.sent_at} /></span>
      <${Status} status=${message.status} />
      ${message.deliveries > 1 && html`<small class="faint">${message.deliveries} deliveries</small>`}
      <div class="tools">
        ${message.status === "dead" && html`<${ActionButton} action=${requeueAction(message)} />`}
        <${ActionButton} action=${replyAction(message)} />
      </div>
    </header>
    <${Json} value=${message.body} />
    ${answer && html`<div class="answer"><h3>${answer.error === undefined ? "Answer" : "Error"}</h3><${Json} value=${answer.error ?? answer.body} /></div>`}
  </article>`;
}

/** @param {{ thread: string }} props */
function Thread({ thread }) {
  const { data, error } = useQuery("inbox.list", { thread, limit: LIMIT });
  const messages = data?.messages ?? [];
  return html`<${Section} title=${html`<span class="id">${thread}</span>`}>
    ${error && html`<p class="faint pad">${error.message}</p>`}
    ${messages.map((/** @type {any} */ it) => html`<${MessageCard} key=${it.id} message=${it} />`)}
    ${data?.cursor && html`<p class="faint pad">Only the oldest ${count(LIMIT)} messages.</p>`}
  <//>`;
}

export function Messages() {
  useChanges();
  const [chosen] = app.route.path;
  const show = app.route.query.show ?? "all";
  const isAll = show === "all";
  const newest = useNewestMessages(NEWEST, {}, isAll);
  const some = useQuery(isAll ? undefined : "inbox.list", { limit: LIMIT, status: show });
  const { data, error } = isAll ? newest : some;
  const topics = useQuery("topic.list", { limit: 100 });
  const threads = threadsOf(data?.messages ?? []);
  const which = data?.cursor ? "oldest" : data && isAll && newest.isCut && "newest";
  const part = which && ` of the ${which} ${plural(data.messages.length, "message")}`;
  const note = data && html`${plural(threads.length, "conversation")}${part}`;
  const tools = html`<${Tabs} label="Status" name="show" value=${show} tabs=${STATUSES} /><${ActionButton} class="primary" action=${messageAction("")} />`;
  return html`<${Page} title="Messages" note=${note} tools=${tools} error=${error}>
    ${data && threads.length === 0 && html`<${Empty} title="No messages"><pre class="text">baton message send ada "the draft is there"</pre><//>`}
    <div class="columns state">
      <div>
        ${
          threads.length > 0 &&
          html`<${Section} title="Conversations">
          <ul class="list">
            ${threads.slice(0, THREADS_MAX).map((messages) => {
              const [first] = messages;
              const last = messages.at(-1);
              return html`<li key=${first.thread} class=${classes(first.thread === chosen && "chosen")}>
                <a class="list-main" data-row href=${app.href("messages", [first.thread], { show: app.route.query.show })}>
                  <span class="clip">${preview(first.body, 90)}</span>
                  <small class="faint">${first.from} → ${first.to} · ${plural(messages.length, "message")}</small>
                </a>
                <${Status} status=${last.status} />
              </li>`;
            })}
          </ul>
          ${threads.length > THREADS_MAX && html`<p class="faint pad">Only the ${THREADS_MAX} of the newest messages.</p>`}
        <//>`
        }
        ${
          (topics.data?.topics.length ?? 0) > 0 &&
          html`<${Section} title="Topics">
          <ul class="list">
            ${topics.data.topics.map(
              (/** @type {any} */ it) =>
                html`<li key=${it.topic}><a class="list-main" href=${app.href("events", [], { subject: `topics/${it.topic}` })}>${it.topic}</a> <span class="faint">${plural(it.posts, "post")}, <${Time} time=${it.last_at} /></span></li>`,
            )}
          </ul>
        <//>`
        }
      </div>
      <div>${chosen ? html`<${Thread} thread=${chosen} />` : threads.length > 0 && html`<${Empty} title="Choose a conversation" />`}</div>
    </div>
  <//>`;
}
