// Lays out graphs beside the page, so that a large one does not delay its frames.

import { layers } from "./layout.mjs";

const page = /** @type {any} */ (self);

page.onmessage = (/** @type {{ data: { key: string, vertices: any[] } }} */ { data }) =>
  page.postMessage({ key: data.key, layout: layers(data.vertices) });
