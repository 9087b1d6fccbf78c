// A client of a server, or of several that share their data.

import { Servers } from "./address.js";
import { Caller } from "./caller.js";
import { asyncDispose } from "./dispose.js";
import { Http } from "./http.js";
import { settingsOf } from "./options.js";
import { keySource } from "./random.js";
import { RuleBook } from "./rules.js";
import { SocketTransport } from "./socket-transport.js";
import { Workspace } from "./workspace.js";

/** @import { Dial } from "./connection.js" */
/** @import { ClientOptions, Settings } from "./options.js" */
/** @import { Transport } from "./transport.js" */

/**
 * The differences between platforms.
 * @typedef {object} Platform
 * @property {Dial} dial - Opens a WebSocket.
 * @property {(token: string) => boolean} canSendToken - Whether the handshake can carry a token.
 * @property {Record<string, string | undefined>} environment
 */

/** The server of this machine. */
const URL_DEFAULT = "http://127.0.0.1:4747";

export class Client {
  #transport;
  #http;
  #settings;
  #nextKey;
  #ruleBook = new RuleBook();

  /** @param {Transport} transport @param {Http} http @param {Settings} settings */
  constructor(transport, http, settings) {
    this.#transport = transport;
    this.#http = http;
    this.#settings = settings;
    this.#nextKey = settings.automaticKeys ? keySource() : undefined;
  }

  /** The URL of the server in use. */
  get url() {
    return this.#http.url;
  }

  /**
   * A workspace, which is created with its first change.
   * @param {string} [name]
   * @param {{ agent?: string | undefined }} [options]
   */
  workspace(name = this.#settings.workspace, { agent = this.#settings.agent } = {}) {
    const caller = new Caller(this.#transport, { workspace: name, agent }, this.#nextKey);
    return new Workspace(caller, this.#http, this.#ruleBook);
  }

  /**
   * Sends a request to a route of the server that is not in a workspace, such as
   * `/v1/access/tokens`,
   * with the token of this client. Throws what the server reports.
   * @param {string} path
   * @param {RequestInit} [init]
   */
  fetch(path, init) {
    return this.#http.fetch(path, init);
  }

  /** Finishes what was begun, disconnects, and refuses everything from then on. */
  async close() {
    await this.#transport.close();
  }

  /** Closes the client, for `await using`. */
  async [asyncDispose]() {
    await this.close();
  }
}

/** Loaded when it is used, which is seldom. @param {Http} http @param {Settings} settings */
async function httpTransport(http, settings) {
  const { HttpTransport } = await import("./http-transport.js");
  return new HttpTransport(http, settings);
}

/**
 * Connects to a server. If the first connection fails, the error says why; later ones are made
 * again
 * automatically.
 * @param {Platform} platform
 * @param {string | undefined} url
 * @param {ClientOptions} options
 */
export async function open(platform, url, options) {
  const { BATON_URL, BATON_TOKEN, BATON_AGENT, BATON_WORKSPACE } = platform.environment;
  const settings = settingsOf({
    ...options,
    // A variable that is set to nothing is as good as not set.
    token: options.token ?? (BATON_TOKEN || undefined),
    agent: options.agent ?? (BATON_AGENT || undefined),
    workspace: options.workspace ?? (BATON_WORKSPACE || undefined),
  });
  const servers = new Servers(url ?? (BATON_URL || URL_DEFAULT));
  const http = new Http(servers, settings.token);
  const needsHttp = settings.token !== undefined && !platform.canSendToken(settings.token);
  const isHttp = (settings.transport ?? (needsHttp ? "http" : "socket")) === "http";
  const transport = isHttp
    ? await httpTransport(http, settings)
    : new SocketTransport(servers, settings, platform.dial);
  await transport.open();
  return new Client(transport, http, settings);
}
