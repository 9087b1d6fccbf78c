// Settings of a client, each with its reason.

import { badToken } from "./errors.js";

/**
 * @typedef {object} ClientOptions
 * @property {string | undefined} [token] - The access token, if the server requires one: `baton_…` or a JWT.
 * @property {string | undefined} [agent] - The agent that acts, unless a workspace handle names another one.
 * @property {string | undefined} [workspace] - The workspace of `client.workspace()` without a name.
 * @property {"socket" | "http" | undefined} [transport] - One WebSocket for all calls, or an HTTP request for
 *   each. The default is the WebSocket.
 * @property {number | undefined} [requestTimeoutMs] - How long a call may take, over as many connections as it
 *   needs, in addition to the time that it asks to wait.
 * @property {number | undefined} [connectTimeoutMs] - How long one attempt to connect may take.
 * @property {number | undefined} [backoffMinMs] - The first wait before connecting again; each further one is
 *   twice as long.
 * @property {number | undefined} [backoffMaxMs] - The longest wait before connecting again.
 * @property {number | undefined} [silenceMaxMs] - A connection on which nothing arrives for so long is closed,
 *   and the next server is used. The client pings the server in the second half of that time. The
 *   default is 8 seconds in Node.js and 20 seconds elsewhere.
 * @property {boolean | undefined} [automaticKeys] - Gives every command without an idempotency key one of its
 *   own, so that it can be repeated when the connection breaks. Each costs the workspace an answer
 *   that is kept for a day.
 * @property {number | undefined} [queueMax] - How many calls may wait to be sent.
 * @property {number | undefined} [queueBytesMax] - How many bytes unanswered calls may have together.
 * @property {number | undefined} [requestBytesMax] - How many bytes one call may have: what a server accepts.
 * @property {number | undefined} [inFlightMax] - How many calls are sent without waiting for the answers of
 *   earlier ones. Calls that ask to wait are not counted.
 * @property {number | undefined} [watchesMax] - How many watches one client may have.
 * @property {number | undefined} [watchQueueMax] - How many events may wait for one watcher. When there are
 *   more, the watch is stopped at the server, and resumed when the watcher has caught up.
 * @property {number | undefined} [watchQueueBytesMax] - How many bytes of events may wait for one watcher.
 */

/** @typedef {Pick<ClientOptions, "token" | "transport">} OptionalSettings */
/** @typedef {Required<Omit<ClientOptions, keyof OptionalSettings>> & OptionalSettings} Settings */

const DEFAULTS = {
  agent: "anonymous",
  workspace: "default",
  requestTimeoutMs: 30_000,
  connectTimeoutMs: 5_000,
  backoffMinMs: 50,
  backoffMaxMs: 5_000,
  silenceMaxMs: 8_000,
  automaticKeys: true,
  queueMax: 16_384,
  queueBytesMax: 64 * 1024 * 1024,
  requestBytesMax: 9 * 1024 * 1024,
  inFlightMax: 256,
  watchesMax: 256,
  watchQueueMax: 1_024,
  watchQueueBytesMax: 16 * 1024 * 1024,
};

/**
 * The longest silence where a WebSocket reports a message when it is complete, and nothing before:
 * what seems to be silence may be a large answer over a slow line.
 */
export const PLATFORM_SILENCE_MAX_MS = 20_000;

/**
 * Options with the defaults for what is not given.
 * @param {ClientOptions} options
 * @returns {Settings}
 */
export function settingsOf(options) {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  const settings = { ...DEFAULTS, ...Object.fromEntries(given) };
  const { token } = /** @type {Settings} */ (settings);
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token)) throw badToken();
  return settings;
}

/**
 * How long to wait before the attempt after so many failed ones. It varies, so that clients that
 * lost a server together do not return together.
 * @param {Pick<Settings, "backoffMinMs" | "backoffMaxMs">} settings
 * @param {number} failures
 * @param {number} chance - From 0 to 1.
 */
export function backoff({ backoffMinMs, backoffMaxMs }, failures, chance = Math.random()) {
  const doubled = Math.min(backoffMinMs * 2 ** Math.min(failures, 20), backoffMaxMs);
  return doubled * (0.5 + chance / 2);
}

/**
 * How many of something there are, which is one if not given.
 * @param {string} name
 * @param {number} [given]
 */
export function atLeastOne(name, given = 1) {
  if (Number.isSafeInteger(given) && given >= 1) return given;
  throw new RangeError(`\`${name}\` must be an integer of at least 1, not ${given}`);
}
