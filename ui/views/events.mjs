// Events: as they happen, how many over time, and by what they are about.

import { AgentLink, Copy, Empty, Page, Section, SubjectLink } from "../components/basics.mjs";
import { Json } from "../components/json.mjs";
import { Bars } from "../components/spans.mjs";
import { cli } from "../lib/actions.mjs";
import { app } from "../lib/app.mjs";
import { clock, count, plural } from "../lib/format.mjs";
import { useChanges, useQuery } from "../lib/hooks.mjs";
import { classes, html, useState } from "../lib/html.mjs";
import { histogram } from "../lib/layout.mjs";
import { eventTone, isRoutine, sentence } from "../lib/sentences.mjs";

const BINS = 80;
const SHOWN = 300;

/** How often each value occurs, the most frequent first. @param {any[]} events @param {(event: any) => string} of */
function facet(events, of) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const event of events) counts.set(of(event), (counts.get(of(event)) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a).slice(0, 12);
}

/** @param {{ title: string, name: string, events: any[], of: (event: any) => string }} props */
function Facet({ title, name, events, of }) {
  const chosen = app.route.query[name];
  return html`<div class="facet">
    <h3>${title}</h3>
    <ul>
      ${facet(events, of).map(
        ([value, number]) => html`<li key=${value}>
          <button type="button" aria-pressed=${chosen === value} onClick=${() => app.setQuery({ [name]: chosen === value ? undefined : value })}>
            <span class="clip">${value}</span> <span class="faint">${count(number)}</span>
          </button>
        </li>`,
      )}
    </ul>
  </div>`;
}

/** @param {{ event: any }} props */
function EventRow({ event }) {
  const [isOpen, setOpen] = useState(false);
  return html`<li class=${classes("event", `tone-${eventTone(event)}`)}>
    <button type="button" class="event-head" data-row aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>
      <span class="faint">${clock(event.time)}</span> <span class="event-type">${event.type}</span>
      <span class="clip">${event.agent} ${sentence(event)}</span> <span class="faint">${event.revision}</span>
    </button>
    ${
      isOpen &&
      html`<div class="event-body">
      <p><${SubjectLink} subject=${event.subject} /> by <${AgentLink} agent=${event.agent} /> ·
        <a href=${app.href("events", [], { at: event.revision })}>show everything at this moment</a></p>
      <${Json} value=${event} />
    </div>`
    }
  </li>`;
}

/** Saves events as lines of JSON. @param {any[]} events */
function save(events) {
  const text = events.map((event) => `${JSON.stringify(event)}\n`).join("");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/jsonl" }));
  link.download = `${app.route.workspace}-events.jsonl`;
  link.click();
  URL.revokeObjectURL(link.href);
}

export function Events() {
  useChanges();
  const { at, feed } = app;
  const { type, agent, subject, kind, all } = app.route.query;
  const isFiltered = Boolean(type || agent || subject || at !== undefined);
  const fields = {
    limit: 1_000,
    ...(type && { type }),
    ...(agent && { source: agent }),
    ...(subject && { subject }),
    ...(at !== undefined && { to: at }),
  };
  const history = useQuery(isFiltered ? "event.history" : undefined, fields, { now: true });
  const [frozen, setFrozen] = useState(/** @type {number | undefined} */ (undefined));
  const live = feed?.events ?? [];
  const newest = frozen === undefined ? live : live.filter(({ revision }) => revision <= frozen);
  const old = [...(history.data?.events ?? [])].reverse();
  const last = old.at(-1)?.revision ?? 0;
  const later =
    at !== undefined || !isFiltered
      ? []
      : newest.filter((it) => it.revision > last && isWanted(it, { type, agent, subject }));
  const known = isFiltered ? [...old, ...later] : newest;
  const events = known.filter(
    (it) => (all || !isRoutine(it)) && (!kind || it.type.startsWith(`${kind}.`)),
  );
  const times = events.map(({ time }) => new Date(time).getTime());
  const [start, end] = [Math.min(...times), Math.max(...times)];
  const shown = events.slice(-SHOWN).reverse();
  const waiting = live.length - newest.length;
  const tools = html`
    <label class="check-label"><input type="checkbox" checked=${Boolean(all)} onChange=${(/** @type {any} */ event) => app.setQuery({ all: event.target.checked ? 1 : undefined })} /> heartbeats</label>
    <button type="button" class="button" aria-pressed=${frozen !== undefined} onClick=${() => setFrozen(frozen === undefined ? (feed?.revision ?? 0) : undefined)}>
      ${frozen === undefined ? "Hold" : `Show ${count(waiting)} new`}
    </button>
    <button type="button" class="button" onClick=${() => save(events)}>Save as JSONL</button>`;
  return html`<${Page} title="Events" note=${plural(events.length, "event")} tools=${tools} error=${history.error}>
    ${
      isFiltered &&
      html`<p>
      ${[
        ["type", type],
        ["agent", agent],
        ["subject", subject],
      ]
        .filter(([, it]) => it)
        .map(
          ([name, value]) =>
            html`<button type="button" key=${name} class="chip" onClick=${() => app.setQuery({ [String(name)]: undefined })}>${name}: ${value} ×</button> `,
        )}
      ${subject && html`<${Copy} text=${cli`watch ${subject}`} />`}
    </p>`
    }
    ${events.length === 0 && html`<${Empty} title="No events" />`}
    ${
      events.length > 0 &&
      html`<${Section} title="How many">
        <${Bars} counts=${histogram(times, start, end, BINS)} label="Events over time" />
        <p class="faint pad axis-ends"><span>${clock(start)}</span><span>${clock(end)}</span></p>
      <//>
      <div class="columns facets">
        <div><${Facet} title="Type" name="type" events=${events} of=${(/** @type {any} */ it) => it.type} />
          <${Facet} title="Agent" name="agent" events=${events} of=${(/** @type {any} */ it) => it.agent} />
          <${Facet} title="Kind" name="kind" events=${events} of=${(/** @type {any} */ it) => it.type.split(".")[0]} /></div>
        <ol class="events">${shown.map((event) => html`<${EventRow} key=${`${event.revision}.${event.index}`} event=${event} />`)}</ol>
      </div>`
    }
  <//>`;
}

/** @param {any} event @param {{ type?: string, agent?: string, subject?: string }} wanted */
const isWanted = (event, { type, agent, subject }) =>
  (!type || event.type === type) &&
  (!agent || event.agent === agent) &&
  (!subject || event.subject === subject);
