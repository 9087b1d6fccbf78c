// A table that may have a hundred thousand rows: only those in view are in the document.

import { visibleRows } from "../lib/layout.mjs";
import { classes, html, useEffect, useRef, useState } from "../lib/html.mjs";

/**
 * @typedef {object} Column
 * @property {string} name
 * @property {(row: any) => any} cell
 * @property {string} [class]
 * @property {number} [width] - In a long table, whose columns have fixed widths.
 */

/**
 * @template R
 * @typedef {{ readonly length: number, at(index: number): R | undefined }} Rows - An array, or what
 *   finds its rows when they are shown.
 */

/**
 * @typedef {object} TableProps
 * @property {Rows<any>} rows
 * @property {Column[]} columns
 * @property {(row: any) => string} id
 * @property {string} label
 * @property {(row: any) => void} [onOpen]
 * @property {(row: any) => boolean} [isDim]
 * @property {Set<string>} [selection]
 * @property {(id: string, isSelected: boolean) => void} [onSelect]
 * @property {(first: number, last: number) => void} [onView] - Which rows are in view.
 */

const ROW_HEIGHT = 38;
/** Shorter tables are drawn whole. */
const WHOLE_MAX = 120;

/** The scroll position of a long table. @param {any} box @param {boolean} isWhole */
function useScroll(box, isWhole) {
  const [view, setView] = useState({ top: 0, height: 800 });
  useEffect(() => {
    const element = box.current;
    if (!element || isWhole) return;
    const measure = () =>
      setView((old) => {
        // Only another first row changes what is drawn.
        const top = Math.floor(element.scrollTop / ROW_HEIGHT) * ROW_HEIGHT;
        const height = element.clientHeight;
        return old.top === top && old.height === height ? old : { top, height };
      });
    measure();
    element.addEventListener("scroll", measure, { passive: true });
    return () => element.removeEventListener("scroll", measure);
  }, [isWhole]);
  return view;
}

/** @param {TableProps} props */
export function Table(props) {
  const { rows, columns, label, onSelect, onView } = props;
  const box = useRef(/** @type {any} */ (null));
  const drawn = useRef(/** @type {Map<string, any>} */ (new Map()));
  const isWhole = rows.length <= WHOLE_MAX;
  const view = useScroll(box, isWhole);
  const { first, last, above, height } = isWhole
    ? { first: 0, last: rows.length, above: 0, height: 0 }
    : visibleRows(rows.length, ROW_HEIGHT, view.top, view.height);
  useEffect(() => onView?.(first, last), [first, last, rows]);
  const below = isWhole ? 0 : height - above - (last - first) * ROW_HEIGHT;
  const width = columns.length + (onSelect ? 1 : 0);
  const shown = [];
  for (let index = first; index < last; index += 1) shown.push(rows.at(index));
  drawn.current = drawRows(props, shown.filter(Boolean), drawn.current);
  return html`<div
    ref=${box}
    class=${classes("table-box", !isWhole && "table-long")}
    tabindex="0"
    role="region"
    aria-label=${label}
  >
    <table aria-rowcount=${rows.length}>
      ${!isWhole && html`<colgroup>${onSelect && html`<col width="34" />`}${columns.map((it) => html`<col key=${it.name} width=${it.width} />`)}</colgroup>`}
      <thead>
        <tr>
          ${onSelect && html`<th class="check"><span class="hidden">Selected</span></th>`}
          ${columns.map((it) => html`<th key=${it.name} class=${it.class} scope="col">${it.name}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${above > 0 && html`<tr aria-hidden="true"><td colspan=${width} class="gap" style=${{ height: `${above}px` }}></td></tr>`}
        ${[...drawn.current.values()].map(({ drawing }) => drawing)}
        ${below > 0 && html`<tr aria-hidden="true"><td colspan=${width} class="gap" style=${{ height: `${below}px` }}></td></tr>`}
      </tbody>
    </table>
  </div>`;
}

/**
 * Draws rows. A row whose record is the same as before is not drawn again, except once a second for
 * the times in it.
 * @param {TableProps} props
 * @param {any[]} rows
 * @param {Map<string, any>} before
 */
function drawRows(props, rows, before) {
  const { columns, id, isDim, selection } = props;
  const second = Math.floor(Date.now() / 1_000);
  const drawn = new Map();
  for (const row of rows) {
    const key = id(row);
    const now = { row, columns, second, isDim: isDim?.(row), isChosen: selection?.has(key) };
    const was = before.get(key);
    const isSame = was && Object.entries(now).every(([name, value]) => was[name] === value);
    drawn.set(key, isSame ? was : { ...now, drawing: drawRow(props, row, key, now) });
  }
  return drawn;
}

/**
 * @param {TableProps} props
 * @param {any} row
 * @param {string} key
 * @param {{ isDim: boolean | undefined, isChosen: boolean | undefined }} look
 */
function drawRow({ columns, onOpen, onSelect }, row, key, { isDim, isChosen }) {
  return html`<tr
    key=${key}
    data-row
    tabindex=${onOpen ? 0 : undefined}
    class=${classes(onOpen && "opens", isDim && "dim")}
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
          checked=${isChosen}
          onClick=${(/** @type {any} */ event) => event.stopPropagation()}
          onChange=${(/** @type {any} */ event) => onSelect(key, event.target.checked)}
        />
      </td>`
    }
    ${columns.map((it) => html`<td key=${it.name} class=${it.class}>${it.cell(row)}</td>`)}
  </tr>`;
}
