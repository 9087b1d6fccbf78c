// Servers and browsers for the tests.

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const PROGRAM = process.env.BATON_PROGRAM ?? "baton";
const BROWSER = process.env.CHROMIUM ?? "/usr/bin/chromium";
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  // A page that the test answers, not the server, would count as one of another network.
  ...(process.env.UI_FROM_DISK ? ["--disable-features=LocalNetworkAccessChecks"] : []),
];

const ROOT = new URL("../../", import.meta.url);
/** The policy of the server, except that it names the import map by its hash. */
const POLICY = "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self'; connect-src 'self'; img-src 'self' data:";

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  server.close();
  return port;
}

/** A server of its own, which can be killed and started again. */
export class TestServer {
  /** @type {import("node:child_process").ChildProcess | undefined} */
  #child;
  token = "";
  /** Commands that wait for something, and end with the server. @type {any[]} */
  #beside = [];
  /** The address of the pages. */
  url = "";
  /** The address of the server. */
  api = "";
  #folder = "";
  #port = 0;
  /** @type {string[]} */
  #arguments = [];

  /** @param {...string} extra */
  static async start(...extra) {
    const server = new TestServer();
    server.#port = await freePort();
    server.#folder = await mkdtemp(join(tmpdir(), "baton-ui-"));
    server.#arguments = extra;
    server.api = `http://127.0.0.1:${server.#port}`;
    server.url = server.api;
    await server.run();
    return server;
  }

  async run() {
    const address = `127.0.0.1:${this.#port}`;
    const data = ["--data", join(this.#folder, "data")];
    const child = spawn(PROGRAM, ["serve", "--listen", address, ...data, ...this.#arguments]);
    this.#child = child;
    let text = "";
    child.stderr.on("data", (chunk) => {
      text += chunk;
      this.token ||= /BATON_TOKEN=(baton_\S+)/.exec(text)?.[1] ?? "";
    });
    for (;;) {
      const response = await fetch(`${this.api}/healthz`).catch(() => undefined);
      if (response?.ok) return;
      if (child.exitCode !== null) throw new Error(`the server ended: ${text}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  get pid() {
    return this.#child?.pid ?? NaN;
  }

  async kill() {
    const child = this.#child;
    if (!child || child.exitCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }

  async stop() {
    for (const child of this.#beside) child.kill("SIGKILL");
    await this.kill();
    await rm(this.#folder, { recursive: true, force: true });
  }

  get environment() {
    return {
      ...process.env,
      BATON_URL: this.api,
      ...(this.token && { BATON_TOKEN: this.token }),
    };
  }

  /** Runs a command of the program, and returns what it printed. @param {...string} command */
  baton(...command) {
    const done = spawnSync(PROGRAM, command, { env: this.environment, encoding: "utf8" });
    if (done.status !== 0) throw new Error(`baton ${command.join(" ")}: ${done.stderr}`);
    return done.stdout;
  }

  /** Runs what a person copied into a shell, in an empty folder. @param {string} line */
  async shell(line) {
    const cwd = await mkdtemp(join(tmpdir(), "baton-ui-"));
    const script = `baton() { "$BATON_PROGRAM" "$@"; }\n${line}`;
    const env = { ...this.environment, BATON_PROGRAM: PROGRAM };
    const done = spawnSync("bash", ["-c", script], { cwd, env, encoding: "utf8" });
    const made = await readdir(cwd);
    await rm(cwd, { recursive: true });
    if (done.status !== 0 || made.length > 0)
      throw new Error(`${line}: ${done.stderr}, made ${made}`);
    return done.stdout;
  }

  /** Starts a command of the program beside the test. @param {...string} command */
  beside(...command) {
    const child = spawn(PROGRAM, command, { env: this.environment, stdio: "ignore" });
    this.#beside.push(child);
    return child;
  }

  /**
   * A command of the API.
   * @param {string} workspace
   * @param {Record<string, unknown>} command
   * @returns {Promise<any>}
   */
  async command(workspace, command) {
    return JSON.parse(await this.text(workspace, JSON.stringify(command))).result;
  }

  /**
   * Executes many commands, none of which may be refused, and returns their results.
   * @param {string} workspace
   * @param {number} count
   * @param {(index: number) => Record<string, unknown>} command
   * @returns {Promise<any[]>}
   */
  async many(workspace, count, command) {
    const commands = Array.from({ length: count }, (_, index) => command(index));
    const answers = await this.text(workspace, JSON.stringify(commands));
    return JSON.parse(answers).map((/** @type {any} */ { error, result }) => {
      if (error) throw new Error(error.detail);
      return result;
    });
  }

  /** The answer to a command of the API as it is written. @param {string} workspace @param {string} body */
  async text(workspace, body) {
    /** @type {Record<string, string>} */
    const headers = { "content-type": "application/json" };
    if (this.token) headers.authorization = `Bearer ${this.token}`;
    const path = `${this.api}/v1/${workspace}/commands`;
    const response = await fetch(path, { method: "POST", headers, body });
    const answer = await response.text();
    if (!response.ok) throw new Error(`${body}: ${JSON.parse(answer).detail}`);
    return answer;
  }
}

export const launch = () => chromium.launch({ executablePath: BROWSER, args: FLAGS });

/**
 * Answers with the files on disk, so that the program need not be built again.
 * @param {import("playwright-core").BrowserContext} context
 */
async function serveFromDisk(context) {
  await context.route(/:\d+\/(ui\/.*)?$/, async (route) => {
    const { pathname } = new URL(route.request().url());
    const name = pathname === "/" ? "ui/index.html" : pathname.slice(1);
    const path = fileURLToPath(new URL(name.replace(/^ui\/sdk\//, "sdk/js/"), ROOT));
    await route.fulfill({ path, headers: { "content-security-policy": POLICY } });
  });
}

/**
 * A page that remembers what it logged.
 * @param {import("playwright-core").Browser} browser
 * @param {import("playwright-core").BrowserContextOptions} [options]
 */
export async function newPage(browser, options) {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 860 },
    ...options,
  });
  if (process.env.UI_FROM_DISK) await serveFromDisk(context);
  const page = await context.newPage();
  /** @type {string[]} */
  const problems = [];
  /** @type {string[]} */
  const hosts = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) problems.push(message.text());
  });
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("request", (request) => hosts.push(new URL(request.url()).host));
  // A bound for what never happens, not a measure of speed.
  page.setDefaultTimeout(120_000);
  return { page, problems, hosts, context };
}
