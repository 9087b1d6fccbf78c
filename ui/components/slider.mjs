// The slider of time: every page as it was at a revision.

import { app } from "../lib/app.mjs";
import { absolute } from "../lib/format.mjs";
import { useQuery } from "../lib/hooks.mjs";
import { classes, html } from "../lib/html.mjs";
import { positionOf, range, revisionAt, stepped } from "../lib/moment.mjs";

/** @returns {ReturnType<typeof range>} */
export const moments = () => range(app.feed?.oldest ?? 0, app.feed?.revision ?? 0);

/** Shows a moment; nothing means the present. @param {number | undefined} at */
export const showMoment = (at) => app.setQuery({ at });

/** @param {number} by */
export const step = (by) => showMoment(stepped(moments(), app.at, by));

export function Slider() {
  const all = moments();
  const { at } = app;
  const fields = { from: at ?? 0, limit: 1, order: "oldest" };
  const { data } = useQuery(at === undefined ? undefined : "event.history", fields, {
    now: true,
  });
  const time = data?.events[0]?.time;
  const isPast = at !== undefined;
  const words = isPast
    ? `Revision ${at}${time ? ` · ${absolute(time)}` : ""}`
    : `Revision ${all.newest}`;
  return html`<div class=${classes("slider", isPast && "past")} role="group" aria-label="Time">
    <button type="button" aria-label="One revision back" title="One revision back ([)" onClick=${() => step(-1)}>◂</button>
    <input
      type="range"
      min="0"
      max=${Math.max(1, all.steps)}
      value=${positionOf(all, at)}
      aria-label="Moment"
      aria-valuetext=${words}
      onInput=${(/** @type {any} */ event) => showMoment(revisionAt(all, Number(event.target.value)))}
    />
    <button
      type="button"
      aria-label="One revision forward"
      title="One revision forward (])"
      disabled=${!isPast}
      onClick=${() => step(1)}
    >
      ▸
    </button>
    <span class="slider-words">${words}</span>
    ${
      isPast &&
      html`<span class="slider-note">read-only</span>
      <button type="button" class="button primary" onClick=${() => showMoment(undefined)}>
        Back to now
      </button>`
    }
  </div>`;
}
