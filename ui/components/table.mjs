// A table that may have a hundred thousand rows: only those in view are in the document.

import { visibleRows } from "../lib/layout.mjs";
import { classes, html, useEffect, useRef, useState } from "../lib/html.mjs";

/**
 * @typedef {object} Column
 * @property {string} name
 * @property {(row: any) => any} cell
 * @property {string} [class]
 */

const ROW_HEIGHT = 38;
/** Shorter tables are drawn whole. */
const WHOLE_MAX = 120;

/**
 * @param {{ rows: any[], columns: Column[], id: (row: any) => string, label: string,
 *   onOpen?: (row: any) => void, isDim?: (row: any) => boolean, selection?: Set<string>,
 *   onSelect?: (id: string, isSelected: boolean) => void }} props
 */
export function Table({ rows, columns, id, label, onOpen, isDim, selection, onSelect }) {
  const box = useRef(/** @type {any} */ (null));
  const [view, setView] = useState({ top: 0, height: 800 });
  const isWhole = rows.length <= WHOLE_MAX;
  useEffect(() => {
    const element = box.current;
    if (!element || isWhole) return;
    const measure = () => setView({ top: element.scrollTop, height: element.clientHeight });
    measure();
    element.addEventListener("scroll", measure, { passive: true });
    return () => element.removeEventListener("scroll", measure);
  }, [isWhole]);
  const { first, last, above, height } = isWhole
    ? { first: 0, last: rows.length, above: 0, height: 0 }
    : visibleRows(rows.length, ROW_HEIGHT, view.top, view.height);
  const below = isWhole ? 0 : height - above - (last - first) * ROW_HEIGHT;
  const width = columns.length + (onSelect ? 1 : 0);
  return html`<div
    ref=${box}
    class=${classes("table-box", !isWhole && "table-long")}
    tabindex="0"
    role="region"
    aria-label=${label}
  >
    <table aria-rowcount=${rows.length}>
      <thead>
        <tr>
          ${onSelect && html`<th class="check"><span class="hidden">Selected</span></th>`}
          ${columns.map((it) => html`<th key=${it.name} class=${it.class} scope="col">${it.name}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${above > 0 && html`<tr aria-hidden="true"><td colspan=${width} class="gap" height=${above}></td></tr>`}
        ${rows.slice(first, last).map((row) => {
          const key = id(row);
          return html`<tr
            key=${key}
            data-row
            tabindex=${onOpen ? 0 : undefined}
            class=${classes(onOpen && "opens", isDim?.(row) && "dim")}
            onClick=${() => onOpen?.(row)}
            onKeyDown=${(/** @type {any} */ event) =>
              event.key === "Enter" && event.target === event.currentTarget && onOpen?.(row)}
          >
            ${
              onSelect &&
              html`<td class="check">
              <input
                type="checkbox"
                aria-label=${`Select ${key}`}
                checked=${selection?.has(key)}
                onClick=${(/** @type {any} */ event) => event.stopPropagation()}
                onChange=${(/** @type {any} */ event) => onSelect(key, event.target.checked)}
              />
            </td>`
            }
            ${columns.map((it) => html`<td key=${it.name} class=${it.class}>${it.cell(row)}</td>`)}
          </tr>`;
        })}
        ${below > 0 && html`<tr aria-hidden="true"><td colspan=${width} class="gap" height=${below}></td></tr>`}
      </tbody>
    </table>
  </div>`;
}
