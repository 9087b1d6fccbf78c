// The frame of every page: the rail, the bar at the top, the slider of time, notices.

import { app } from "../lib/app.mjs";
import { useChanges } from "../lib/hooks.mjs";
import { classes, html, useState } from "../lib/html.mjs";
import { checkWorkspaceName } from "../lib/names.mjs";
import { formatRoute } from "../lib/route.mjs";
import { nextTheme, theme } from "../lib/theme.mjs";
import { VIEWS } from "../lib/views.mjs";
import { Dialog } from "./dialog.mjs";
import { Help } from "./help.mjs";
import { Icon } from "./icon.mjs";
import { Palette } from "./palette.mjs";
import { SignIn } from "./signin.mjs";
import { Slider } from "./slider.mjs";

const LIVE = {
  connecting: ["wait", "Connecting"],
  live: ["good", "Live"],
  busy: ["good", "Live: the newest of many events, once per second"],
  lost: ["bad", "Disconnected"],
  limited: ["wait", "Polls every 2 s: the token may not watch everything"],
  refused: ["bad", "The token is not for this workspace"],
};

function Rail() {
  const [isOpen, setOpen] = useState(false);
  const { view } = app.route;
  return html`<nav class=${classes("rail", isOpen && "rail-open")} aria-label="Views">
    <div class="rail-head">
      <a class="brand" href=${app.href("now")}><${Icon} name="baton" /><span>Baton</span></a>
      <button
        type="button"
        class="rail-toggle"
        aria-expanded=${isOpen}
        aria-label="Menu"
        onClick=${() => setOpen(!isOpen)}
      >
        ☰
      </button>
    </div>
    <ul>
      ${VIEWS.map(
        ({ id, name, key }) => html`<li key=${id}>
          <a
            href=${app.href(id)}
            aria-current=${view === id ? "page" : undefined}
            title=${`${name} (g ${key})`}
            onClick=${() => setOpen(false)}
          >
            <${Icon} name=${id} /><span>${name}</span>
          </a>
        </li>`,
      )}
    </ul>
  </nav>`;
}

function WorkspaceSwitcher() {
  const { workspace } = app.route;
  const names = [...new Set([...app.workspaces, workspace])].filter(Boolean).sort();
  const change = (/** @type {any} */ event) => {
    const name = event.target.value;
    if (name === "+") {
      event.target.value = workspace;
      app.perform({
        label: "Open workspace",
        effect: "Shows another workspace. A workspace is created when it is first used.",
        needs: "reader",
        fields: [{ name: "name", label: "Name" }],
        run: async ({ name: wanted }) => {
          checkWorkspaceName(wanted);
          location.hash = formatRoute({ workspace: wanted, view: "now" });
          return `Showing ${wanted}`;
        },
      });
      return;
    }
    location.hash = formatRoute({ workspace: name, view: app.route.view });
  };
  return html`<select class="workspace" aria-label="Workspace" value=${workspace} onChange=${change}>
    ${names.map((name) => html`<option key=${name} value=${name}>${name}</option>`)}
    <option value="+">Other…</option>
  </select>`;
}

function LiveDot() {
  const state = app.feed?.state ?? "connecting";
  const [tone, words] = LIVE[state] ?? ["wait", state];
  const label = app.isPaused ? "Paused" : words;
  return html`<span class=${classes("live", `tone-${app.isPaused ? "wait" : tone}`)} role="status">
    <span class="dot" aria-hidden="true"></span><span class="live-words">${label}</span>
  </span>`;
}

function Bar() {
  const [, again] = useState(0);
  return html`<header class="bar">
    <${WorkspaceSwitcher} />
    <button type="button" class="search" onClick=${() => openPalette()}>
      <${Icon} name="search" /><span>Search or jump to…</span><kbd>/</kbd>
    </button>
    <span class="space"></span>
    <${LiveDot} />
    <button
      type="button"
      class="icon-button"
      aria-pressed=${app.isPaused}
      aria-label=${app.isPaused ? "Resume updates" : "Pause updates"}
      title=${app.isPaused ? "Resume updates" : "Pause updates"}
      onClick=${() => app.togglePause()}
    >
      <${Icon} name=${app.isPaused ? "play" : "pause"} />
    </button>
    <button
      type="button"
      class="icon-button"
      aria-label=${`Theme: ${theme()}`}
      title=${`Theme: ${theme()}`}
      onClick=${() => {
        nextTheme();
        again(Math.random());
      }}
    >
      <${Icon} name="theme" />
    </button>
    <a class="who" href=${app.href("connect")} title="You act as this agent, with this role">
      <span class="who-name">${app.agent}</span> <span class="role">${app.grant.role}</span>
    </a>
  </header>`;
}

export function openPalette() {
  app.isPaletteOpen = true;
  app.changed();
}

function Notices() {
  return html`<div class="notices" aria-live="polite">
    ${app.notices.map(
      (notice) => html`<div key=${notice.id} class=${classes("notice", notice.isBad && "bad")}>
        <span>${notice.text}${notice.hint && html`<br /><small>${notice.hint}</small>`}</span>
        <button type="button" aria-label="Dismiss" onClick=${() => app.dismiss(notice)}>×</button>
      </div>`,
    )}
  </div>`;
}

export function Shell() {
  useChanges();
  if (app.phase === "signin" || app.phase === "failed") return html`<${SignIn} />`;
  if (app.phase === "opening" || !app.workspace)
    return html`<p class="opening" role="status">Connecting…</p>`;
  const { workspace, view, path } = app.route;
  const shown = VIEWS.find(({ id }) => id === view) ?? VIEWS[0];
  const View = shown?.page;
  document.title = [path.at(-1), shown?.name, workspace, "Baton"].filter(Boolean).join(" · ");
  return html`<a class="skip" href="#main" onClick=${skip}>Skip to content</a>
    <${Rail} />
    <div class="frame">
      <${Bar} /><${Slider} />
      <main id="main" tabindex="-1" data-place=${[view, ...path].join("/")}>
        <${View} key=${[workspace, view, ...path].join("/")} />
      </main>
    </div>
    <${Notices} />
    ${app.dialog && html`<${Dialog} />`} ${app.isPaletteOpen && html`<${Palette} />`}
    ${app.isHelpOpen && html`<${Help} />`}`;
}

/** @param {Event} event */
function skip(event) {
  event.preventDefault();
  document.getElementById("main")?.focus();
}
