// Graphs as SVG: stages from left to right, and agents on a circle.

import { useLayers } from "../lib/graph-layout.mjs";
import { circle } from "../lib/layout.mjs";
import { classes, html } from "../lib/html.mjs";
import { look } from "../lib/sentences.mjs";

const BOX = { width: 168, height: 52, right: 56, below: 22, margin: 12 };

/**
 * @param {{ vertices: { id: string, after: string[], status: string, note?: string }[],
 *   label: string, chosen?: string, onChoose?: (id: string) => void }} props
 */
export function StageGraph({ vertices, label, chosen, onChoose }) {
  const layout = useLayers(vertices);
  if (!layout) return html`<p class="faint pad" role="status">Laying out ${vertices.length} stages…</p>`;
  const { placed, edges, layers: columns, rows } = layout;
  const at = new Map(
    placed.map(({ id, layer, row }) => [
      id,
      {
        x: BOX.margin + layer * (BOX.width + BOX.right),
        y: BOX.margin + row * (BOX.height + BOX.below),
      },
    ]),
  );
  const byId = new Map(vertices.map((vertex) => [vertex.id, vertex]));
  const width = 2 * BOX.margin + columns * (BOX.width + BOX.right) - BOX.right;
  const height = 2 * BOX.margin + rows * (BOX.height + BOX.below) - BOX.below;
  return html`<div class="scroll-x" tabindex="0" role="region" aria-label=${label}>
    <svg class="graph" viewBox=${`0 0 ${width} ${height}`} width=${width} height=${height} role="group" aria-label=${label}>
      ${edges.map(([from, to]) => {
        const [a, b] = [at.get(from), at.get(to)];
        if (!a || !b) return null;
        const [x1, y1] = [a.x + BOX.width, a.y + BOX.height / 2];
        const [x2, y2] = [b.x, b.y + BOX.height / 2];
        const middle = (x1 + x2) / 2;
        return html`<path key=${`${from}→${to}`} class="edge" d=${`M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2 - 6} ${y2}m-4 -4l5 4l-5 4`} />`;
      })}
      ${placed.map(({ id }) => {
        const place = at.get(id);
        const vertex = byId.get(id);
        if (!place || !vertex) return null;
        const { tone, sign, label: words } = look(vertex.status);
        const choose = () => onChoose?.(id);
        return html`<g
          key=${id}
          class=${classes("node", `tone-${tone}`, chosen === id && "chosen")}
          transform=${`translate(${place.x} ${place.y})`}
          role="button"
          tabindex="0"
          onClick=${choose}
          onKeyDown=${(/** @type {KeyboardEvent} */ event) => event.key === "Enter" && choose()}
        >
          <rect width=${BOX.width} height=${BOX.height} rx="8" />
          <text x="12" y="22" class="node-name">${sign} ${short(id, 18)}</text>
          <text x="12" y="40" class="node-note">${short(vertex.note ?? words, 24)}</text>
        </g>`;
      })}
    </svg>
  </div>`;
}

/** @param {string} text @param {number} max */
const short = (text, max) => (text.length > max ? `${text.slice(0, max - 1)}…` : text);

/**
 * Givers and receivers of hand-offs; the width of a line shows how often.
 * @param {{ pairs: { from: string, to: string, count: number, completed: number }[] }} props
 */
export function PairGraph({ pairs }) {
  const names = [...new Set(pairs.flatMap(({ from, to }) => [from, to]))];
  const radius = Math.max(110, names.length * 16);
  const size = 2 * radius + 160;
  const places = circle(names.length, radius);
  const at = new Map(names.map((name, index) => [name, places[index] ?? { x: 0, y: 0 }]));
  const most = Math.max(1, ...pairs.map(({ count }) => count));
  const words = `Hand-offs between ${names.length} agents; the table has the same numbers`;
  return html`<div class="scroll-x" tabindex="0" role="region" aria-label="Graph of hand-offs">
    <svg class="graph" viewBox=${`${-size / 2} ${-size / 2} ${size} ${size}`} width=${Math.min(size, 620)} role="img" aria-label=${words}>
      ${pairs.map(({ from, to, count }) => {
        const [a, b] = [at.get(from), at.get(to)];
        if (!a || !b) return null;
        const [middleX, middleY] = [(a.x + b.x) / 3.2, (a.y + b.y) / 3.2];
        return html`<g key=${`${from}→${to}`}>
          <path class="edge flow" stroke-width=${1 + (7 * count) / most} d=${`M${a.x} ${a.y}Q${middleX} ${middleY} ${b.x} ${b.y}`} />
          <text class="node-note" x=${(a.x + b.x) / 2.4} y=${(a.y + b.y) / 2.4} text-anchor="middle">${count}</text>
        </g>`;
      })}
      ${names.map((name) => {
        const { x, y } = at.get(name) ?? { x: 0, y: 0 };
        return html`<g key=${name} class="node" transform=${`translate(${x} ${y})`}>
          <circle r="26" /><text class="node-name" y="5" text-anchor="middle">${short(name, 8)}</text>
        </g>`;
      })}
    </svg>
  </div>`;
}
