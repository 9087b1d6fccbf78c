// Charts with uPlot, which is loaded when the first one is shown.

import { html, useEffect, useRef } from "../lib/html.mjs";

/** @type {Promise<any> | undefined} */
let loading;

/** @returns {Promise<any>} */
function loadPlot() {
  loading ??= new Promise((resolve, reject) => {
    const style = document.createElement("link");
    Object.assign(style, { rel: "stylesheet", href: "/ui/vendor/uplot.css" });
    const script = document.createElement("script");
    Object.assign(script, {
      src: "/ui/vendor/uplot.js",
      onload: () => resolve(/** @type {any} */ (globalThis).uPlot),
      onerror: () => reject(new Error("uPlot could not be loaded")),
    });
    document.head.append(style, script);
  });
  return loading;
}

/** The present value of a colour, which depends on the theme. @param {string} name */
function colour(name) {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

/**
 * @param {{ title: string, series: { name: string, tone: string }[], data: (number | null)[][],
 *   unit?: string }} props - `data`: times in seconds, then a list of values for each series.
 */
export function Chart({ title, series, data, unit = "" }) {
  const box = useRef(/** @type {any} */ (null));
  const plot = useRef(/** @type {any} */ (null));
  useEffect(() => {
    let isOver = false;
    const axis = {
      stroke: () => colour("--faint"),
      grid: { stroke: () => colour("--line"), width: 1 },
      ticks: { show: false },
    };
    const options = () => ({
      width: box.current.clientWidth,
      height: 180,
      cursor: { sync: { key: "metrics" } },
      legend: { live: true },
      axes: [
        axis,
        {
          ...axis,
          size: 54,
          values: (/** @type {any} */ _, /** @type {number[]} */ at) =>
            at.map((it) => `${it}${unit}`),
        },
      ],
      series: [
        {},
        ...series.map(({ name, tone }) => ({
          label: name,
          stroke: colour(`--${tone}`),
          width: 2,
          points: { show: false },
        })),
      ],
    });
    void loadPlot().then((uPlot) => {
      if (isOver || !box.current) return;
      plot.current = new uPlot(options(), data, box.current);
    });
    const resize = () => plot.current?.setSize({ width: box.current.clientWidth, height: 180 });
    addEventListener("resize", resize);
    return () => {
      isOver = true;
      removeEventListener("resize", resize);
      plot.current?.destroy();
      plot.current = null;
    };
  }, []);
  useEffect(() => plot.current?.setData(data), [data]);
  return html`<figure class="chart"><figcaption>${title}</figcaption><div ref=${box}></div></figure>`;
}
