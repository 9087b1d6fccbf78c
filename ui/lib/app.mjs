// The state of the page: the session, the workspace that is shown, the address, and what is open.

import { Feed } from "./feed.mjs";
import { sourceOf } from "./feed-source.mjs";
import { Lists } from "./lists.mjs";
import { parseMoment } from "./moment.mjs";
import { firstWorkspace, isWorkspaceName } from "./names.mjs";
import { Queries } from "./queries.mjs";
import * as requests from "./requests.mjs";
import { formatRoute, parseRoute } from "./route.mjs";
import * as session from "./session.mjs";
import { Store } from "./store.mjs";

/** @import { Client, Workspace } from "@baton/sdk" */
/** @import { Role } from "./session.mjs" */

/**
 * @typedef {object} Field - What a dialog asks for.
 * @property {string} name
 * @property {string} label
 * @property {"text" | "json" | "select" | "checkbox"} [type]
 * @property {string} [value]
 * @property {string[]} [options]
 * @property {boolean} [isOptional]
 */

/**
 * @typedef {object} Action
 * @property {string} label
 * @property {string} effect - What happens, as a sentence.
 * @property {Role} [needs]
 * @property {boolean} [isDangerous] - Asks before it is done.
 * @property {Field[]} [fields]
 * @property {string} [cli] - The same on the command line.
 * @property {(values: Record<string, any>) => Promise<unknown>} run
 */

/** @typedef {{ id: number, text: string, hint?: string, isBad: boolean }} Notice */

const OPEN_TO_ALL = "Signed out. This server requires no token.";
const NOTICE_MS = 6_000;
/** How often lists of tasks read what has changed. */
const TICK_MS = 250;
/** A page that is hidden only for a moment, as while tabs are switched, is not interrupted. */
const REST_MS = 2_000;

class App {
  store = new Store((run) => requestAnimationFrame(run));
  queries = new Queries(this.store, (command, at) => this.ask(command, at));
  route = parseRoute(location.hash);
  /** @type {"opening" | "signin" | "open" | "failed"} */
  phase = "opening";
  /** Why there is no session. @type {any} */
  problem;
  /** @type {Client | undefined} */
  client;
  /** @type {session.Grant} */
  grant = { role: "reader" };
  agent = "";
  /** @type {Workspace | undefined} */
  workspace;
  /** @type {Feed | undefined} */
  feed;
  /** @type {string[]} */
  workspaces = [];
  /** @type {Notice[]} */
  notices = [];
  /** @type {(Action & { isBusy?: boolean, error?: any }) | undefined} */
  dialog;
  isPaletteOpen = false;
  isHelpOpen = false;
  isPaused = false;
  lists = new Lists();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #rest;

  /** The revision that is shown; the present if none. */
  get at() {
    return parseMoment(this.route.query.at);
  }

  changed() {
    this.store.changed();
  }

  async start() {
    addEventListener("hashchange", () => this.#moved());
    document.addEventListener("visibilitychange", () => this.#hidden());
    setInterval(() => this.#isQuiet() || this.lists.tick(), TICK_MS);
    setInterval(() => this.#isQuiet() || this.changed(), 1_000);
    await this.signIn();
  }

  /** Opens a session with the token of this tab, or asks for one. */
  async signIn() {
    this.phase = "opening";
    this.problem = undefined;
    this.changed();
    try {
      const { client, grant, agent } = await session.open();
      Object.assign(this, { client, grant, agent, phase: "open" });
      const listed = this.#listWorkspaces();
      // An address with a workspace needs no list of them to be shown.
      if (this.route.workspace === "") await listed;
      this.#moved();
    } catch (error) {
      this.problem = error;
      this.phase = session.isAboutToken(error) ? "signin" : "failed";
      this.changed();
    }
  }

  /**
   * Forgets the token. Without one, the server may still be open to everyone.
   * @param {any} [problem] - Why, if the server said so.
   */
  signOut(problem) {
    session.keepToken(undefined);
    this.feed?.stop();
    void this.client?.close();
    Object.assign(this, { client: undefined, workspace: undefined, feed: undefined });
    this.store.clear();
    this.queries.clear();
    Object.assign(this, { phase: "signin", problem, dialog: undefined });
    if (problem) this.changed();
    else void this.signIn().then(() => this.phase === "open" && this.notify(OPEN_TO_ALL));
  }

  async #listWorkspaces() {
    if (this.client)
      this.workspaces = await session.workspaces(this.client, this.grant, this.agent);
    this.changed();
  }

  #moved() {
    this.route = parseRoute(location.hash);
    Object.assign(this, { dialog: undefined, isPaletteOpen: false, isHelpOpen: false });
    if (this.phase !== "open" || !this.client) return this.changed();
    const { workspace } = this.route;
    if (!isWorkspaceName(workspace)) {
      if (workspace !== "") this.notify(`No workspace can be named ${workspace}`, { isBad: true });
      const last = session.lastWorkspace();
      const first = firstWorkspace(last, this.workspaces, this.grant.workspaces);
      location.replace(formatRoute({ workspace: first, view: "now" }));
      return;
    }
    if (this.workspace?.name !== workspace) this.#openWorkspace(workspace);
    this.changed();
  }

  /** @param {string} name */
  #openWorkspace(name) {
    session.keepWorkspace(name);
    this.feed?.stop();
    this.queries.clear();
    this.store.clear();
    this.workspace = this.client?.workspace(name, { agent: this.agent });
    if (!this.workspace) return;
    this.feed = new Feed(sourceOf(this.workspace), {
      event: (event) => this.#happened(event),
      begun: (revision) => {
        this.queries.begun(revision);
        this.lists.begun(revision);
      },
      changed: () => {
        this.queries.isSlow = this.feed?.state === "busy";
        this.changed();
      },
      back: () => this.#missed(),
      denied: (error) => this.signOut(error),
    });
    this.feed.start();
    if (document.hidden) this.#hidden();
  }

  /** @param {any} event */
  #happened(event) {
    this.queries.touched(event);
    this.lists.event(event);
    this.store.changedSoon();
  }

  /** Events were missed. */
  #missed() {
    this.queries.touchedAll();
    this.lists.missed();
  }

  #hidden() {
    this.#pauseQueries();
    clearTimeout(this.#rest);
    if (!document.hidden) this.feed?.rest(false);
    else this.#rest = setTimeout(() => this.feed?.rest(true), REST_MS);
  }

  /** Whether nothing is asked: the page is hidden or paused. */
  #isQuiet() {
    return this.isPaused || document.hidden || this.at !== undefined;
  }

  #pauseQueries() {
    this.queries.pause(this.isPaused || document.hidden);
  }

  togglePause() {
    this.isPaused = !this.isPaused;
    this.#pauseQueries();
    if (!this.isPaused) this.#missed();
    this.changed();
  }

  /** @param {any} command @param {number | undefined} at */
  ask(command, at) {
    if (!this.workspace) return Promise.reject(new Error("no workspace is open"));
    if (requests.isPlain(command)) return requests.ask(this.client, this.workspace, command, at);
    const handle = at === undefined ? this.workspace : this.workspace.at(at);
    return /** @type {Promise<any>} */ (handle.execute(command));
  }

  /**
   * Executes a command with fields that are JSON as a person wrote it.
   * @param {Record<string, unknown>} command
   * @param {Record<string, string | undefined>} texts
   */
  write(command, texts) {
    return requests.write(this.client, this.workspace, command, texts);
  }

  /** @param {Role} needed */
  may(needed) {
    return session.mayAs(this.grant, needed);
  }

  /**
   * The address of a view of this workspace, at the moment that is shown.
   * @param {string} view
   * @param {string[]} [path]
   * @param {Record<string, string | number | undefined>} [query]
   */
  href(view, path = [], query = {}) {
    const { workspace } = this.route;
    return formatRoute({ workspace, view, path, query: { at: this.at, ...query } });
  }

  /** @param {string} view @param {string[]} [path] @param {Record<string, any>} [query] */
  go(view, path, query) {
    location.hash = this.href(view, path, query);
  }

  /** Changes some parameters of the present address. @param {Record<string, any>} changes */
  setQuery(changes) {
    const { view, path, query } = this.route;
    const next = formatRoute({ ...this.route, view, path, query: { ...query, ...changes } });
    history.replaceState(null, "", next);
    this.route = parseRoute(location.hash);
    this.changed();
  }

  /** @param {string} text @param {{ isBad?: boolean, hint?: string }} [more] */
  notify(text, { isBad = false, hint } = {}) {
    const notice = { id: Date.now() + Math.random(), text, hint, isBad };
    this.notices = [...this.notices, notice];
    setTimeout(() => this.dismiss(notice), isBad ? 2 * NOTICE_MS : NOTICE_MS);
    this.changed();
  }

  /** @param {Notice} notice */
  dismiss(notice) {
    this.notices = this.notices.filter((it) => it !== notice);
    this.changed();
  }

  /** Asks what an action needs, if anything, and does it. @param {Action} action */
  perform(action) {
    if (action.isDangerous || action.fields?.length) {
      this.dialog = { ...action };
      this.changed();
      return;
    }
    void this.#do(action, {});
  }

  /** @param {Record<string, any>} values */
  async confirmDialog(values) {
    const { dialog } = this;
    if (!dialog || dialog.isBusy) return;
    Object.assign(dialog, { isBusy: true, error: undefined });
    this.changed();
    const error = await this.#do(dialog, values);
    if (error) Object.assign(dialog, { isBusy: false, error });
    else if (this.dialog === dialog) this.dialog = undefined;
    this.changed();
  }

  closeDialog() {
    this.dialog = undefined;
    this.changed();
  }

  /** @param {Action} action @param {Record<string, any>} values */
  async #do(action, values) {
    try {
      const said = await action.run(values);
      this.notify(typeof said === "string" ? said : `${action.label}: done`);
      return undefined;
    } catch (error) {
      const { message, hint } = /** @type {any} */ (error);
      if (!this.dialog) this.notify(`${action.label}: ${message}`, { isBad: true, hint });
      return error;
    } finally {
      this.queries.touchedAll();
    }
  }
}

export const app = new App();
