// Icons, drawn as lines of one width.

import { html } from "../lib/html.mjs";

/** @type {Record<string, string>} */
const PATHS = {
  baton: "M5 19 19 5M4 20l3-1-2-2zM17 7l3-3",
  now: "M3 12h4l3-8 4 16 3-8h4",
  tasks: "M4 6h2M4 12h2M4 18h2M9 6h11M9 12h11M9 18h11",
  agents: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4 21c0-4 4-6 8-6s8 2 8 6",
  handoffs: "M4 8h12l-3-3M20 16H8l3 3",
  pipelines: "M3 6h6v5H3zM15 4h6v5h-6zM15 15h6v5h-6zM9 8h3v9h3M12 7h3",
  state: "M4 6c0-3 16-3 16 0s-16 3-16 0v12c0 3 16 3 16 0V6M4 12c0 3 16 3 16 0",
  locks: "M6 11h12v9H6zM8 11V8a4 4 0 0 1 8 0v3",
  messages: "M4 5h16v11H9l-5 4z",
  events: "M4 5v15M4 7h13M4 12h9M4 17h15",
  checkpoints: "M6 3v18M6 7h6a4 4 0 0 1 4 4v3M6 5.5v-.1M16 16.5v-.1",
  metrics: "M4 20V4M4 20h16M8 16v-4M12 16V8M16 16v-6",
  connect: "M9 7V3M15 7V3M6 7h12v4a6 6 0 0 1-12 0zM12 17v4",
  search: "M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM16 16l5 5",
  pause: "M8 5v14M16 5v14",
  play: "M7 5l12 7-12 7z",
  theme: "M12 3a9 9 0 1 0 9 9 7 7 0 0 1-9-9z",
};

/** @param {{ name: string }} props */
export const Icon = ({ name }) =>
  html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
    <path d=${PATHS[name] ?? PATHS.now} />
  </svg>`;
