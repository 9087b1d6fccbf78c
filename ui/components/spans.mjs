// Bars over time: attempts at a task, stages of a pipeline, what agents did.

import { clock, duration } from "../lib/format.mjs";
import { classes, html } from "../lib/html.mjs";

/**
 * @typedef {object} Bar
 * @property {number} start
 * @property {number} end
 * @property {string} kind - `waiting`, `working`, `done`, `failed`, `released` or `cancelled`.
 * @property {string} [label]
 * @property {string} [href]
 */

/** @typedef {{ name: any, key: string, bars: Bar[] }} Lane */

/** Marks of time along the axis. @param {number} start @param {number} end */
const ticks = (start, end) => [0, 0.25, 0.5, 0.75, 1].map((part) => start + part * (end - start));

/** @param {{ lanes: Lane[], start: number, end: number, label: string }} props */
export function Spans({ lanes, start, end, label }) {
  const length = Math.max(1, end - start);
  const percent = (/** @type {number} */ time) =>
    Math.max(0, Math.min(100, (100 * (time - start)) / length));
  return html`<div class="spans" role="figure" aria-label=${label}>
    ${lanes.map(
      ({ name, key, bars }) => html`<div class="lane" key=${key}>
        <div class="lane-name">${name}</div>
        <div class="lane-bars">
          ${bars
            .filter((bar) => bar.end >= start && bar.start <= end)
            .map((bar) => {
              const left = percent(bar.start);
              const style = {
                left: `${left}%`,
                width: `max(3px, ${percent(bar.end) - left}%)`,
              };
              const words = `${bar.label ?? bar.kind}: ${duration(bar.end - bar.start)}`;
              const name = classes("bar-of-time", `span-${bar.kind}`);
              return bar.href
                ? html`<a key=${bar.start + words} class=${name} style=${style} title=${words} href=${bar.href}><span>${bar.label}</span></a>`
                : html`<div key=${bar.start + words} class=${name} style=${style} title=${words}><span>${bar.label}</span></div>`;
            })}
        </div>
      </div>`,
    )}
    <div class="lane axis" aria-hidden="true">
      <div class="lane-name"></div>
      <div class="lane-bars">
        ${ticks(start, end).map((time) => html`<span key=${time}>${clock(time).slice(0, 8)}</span>`)}
      </div>
    </div>
  </div>`;
}

/**
 * Small bars, such as a histogram.
 * @param {{ counts: number[], label: string, onChoose?: (index: number) => void, marked?: number }}
 *   props
 */
export function Bars({ counts, label, onChoose, marked }) {
  const most = Math.max(1, ...counts);
  const width = 100 / Math.max(1, counts.length);
  return html`<svg class="bars" viewBox="0 0 100 24" preserveAspectRatio="none" role="img" aria-label=${label}>
    ${counts.map(
      (count, index) => html`<rect
        key=${index}
        x=${index * width}
        width=${Math.max(0.2, width - 0.25)}
        y=${24 - Math.max(count > 0 ? 1 : 0, (24 * count) / most)}
        height=${Math.max(count > 0 ? 1 : 0, (24 * count) / most)}
        class=${classes(index === marked && "marked")}
        onClick=${onChoose && (() => onChoose(index))}
      ><title>${count}</title></rect>`,
    )}
  </svg>`;
}
