// The parameters of every call: the transport, the workspace and the agent that acts.

import { OPERATIONS } from "./generated/operations.js";

/** @import * as T from "./generated/types.js" */
/** @import { Answer, Request, Transport } from "./transport.js" */

/**
 * Options of every call.
 * @typedef {object} CallOptions
 * @property {AbortSignal | undefined} [signal] - Stops waiting for the answer. A call that was sent may have
 *   been executed; what a waiting call is granted afterwards is given back.
 * @property {string | undefined} [idempotencyKey] - Repeating a command under the same key has no second effect.
 * @property {number | undefined} [timeoutMs] - How long the call may take, in addition to the time that it asks
 *   to wait.
 */

/**
 * @typedef {object} Context
 * @property {string} workspace
 * @property {string} agent
 * @property {number} [token] - Fences every change.
 * @property {T.At} [at] - The moment that queries are about.
 * @property {boolean} [isUpkeep] - Its calls are made by the client itself.
 */

/**
 * @template {readonly T.TransactionCommand[]} C
 * @typedef {object} TransactionAnswer
 * @property {number} revision
 * @property {{ -readonly [I in keyof C]: T.Replies[C[I]["command"]] }} results
 */

/**
 * For each call its answer, or why it was refused.
 * @template {readonly T.Command[]} C
 * @typedef {{ -readonly [I in keyof C]: PromiseSettledResult<{
 *   revision: number, result: T.Replies[C[I]["command"]] }> }} BatchOutcomes
 */

/** How long `message.request` waits by default. */
const REQUEST_WAIT_MS = 30_000;

export class Caller {
  /**
   * @param {Transport} transport
   * @param {Context} context
   * @param {() => string} [nextKey] - Makes idempotency keys, unless that is disabled.
   */
  constructor(transport, context, nextKey) {
    this.transport = transport;
    this.context = context;
    this.nextKey = nextKey;
  }

  /** The same with another context. @param {Partial<Context>} changes */
  with(changes) {
    return new Caller(this.transport, { ...this.context, ...changes }, this.nextKey);
  }

  /**
   * Executes an operation, and returns its result.
   * @template {T.OperationName} N
   * @param {N} command
   * @param {Record<string, unknown>} fields
   * @param {CallOptions & Record<string, unknown>} [options] - Further fields beside the options.
   * @returns {Promise<T.Replies[N]>}
   */
  async call(command, fields, options) {
    const { signal, idempotencyKey, timeoutMs, ...further } = options ?? {};
    const request = this.#request(command, { ...fields, ...further }, idempotencyKey);
    const { result } = await this.transport.call(request, { signal, timeoutMs });
    return /** @type {any} */ (result);
  }

  /**
   * Executes a command given as data, and returns the whole answer.
   * @template {T.Command} C
   * @param {C} command
   * @param {CallOptions} [options]
   * @returns {Promise<{ revision: number, result: T.Replies[C["command"]] }>}
   */
  async execute({ command, ...fields }, { signal, timeoutMs, idempotencyKey } = {}) {
    const request = this.#request(command, fields, idempotencyKey);
    return /** @type {any} */ (await this.transport.call(request, { signal, timeoutMs }));
  }

  /**
   * Executes a command that is answered with what the caller cannot know, not the whole record.
   * @param {T.Commands[T.MinimalName]} command
   * @param {CallOptions} [options]
   * @returns {Promise<{ revision: number, result: T.Minimal }>}
   */
  async executeMinimal({ command, ...fields }, { signal, timeoutMs, idempotencyKey } = {}) {
    const request = this.#request(command, { ...fields, return: "minimal" }, idempotencyKey);
    return /** @type {any} */ (await this.transport.call(request, { signal, timeoutMs }));
  }

  /**
   * Sends several calls together. Each is executed independently, in this order.
   * @template {readonly T.Command[]} const C
   * @param {C} commands
   * @param {{ signal?: AbortSignal | undefined, timeoutMs?: number | undefined }} [options]
   * @returns {Promise<BatchOutcomes<C>>}
   */
  async batch(commands, options) {
    const requests = commands.map(({ command, ...fields }) => this.#request(command, fields));
    return /** @type {any} */ (await this.transport.callMany(requests, options));
  }

  /**
   * Executes commands together, or none of them.
   * @template {readonly T.TransactionCommand[]} const C
   * @param {C} commands
   * @param {CallOptions & { require?: T.Precondition[] | undefined }} [options]
   * @returns {Promise<TransactionAnswer<C>>}
   */
  async transaction(commands, { require = [], signal, timeoutMs, idempotencyKey } = {}) {
    const { token } = this.context;
    const fenced = token === undefined ? require : [{ token }, ...require];
    const key = idempotencyKey ?? this.nextKey?.();
    /** @type {Request} */
    const request = {
      workspace: this.context.workspace,
      agent: this.context.agent,
      command: "transaction",
      fields: { require: fenced, commands },
      idempotencyKey: key,
      effect: key === undefined ? "changes" : "once",
      waitMs: 0,
    };
    const answer = await this.transport.call(request, { signal, timeoutMs });
    return /** @type {any} */ ({ revision: answer.revision, results: answer.results });
  }

  /**
   * @param {string} command
   * @param {Record<string, unknown>} fields
   * @param {string} [idempotencyKey]
   * @returns {Request}
   */
  #request(command, fields, idempotencyKey) {
    const { workspace, agent, token, at, isUpkeep } = this.context;
    const operation = OPERATIONS[command];
    // Unknown to this release: the server decides. A repetition might have a second effect.
    const changes = operation?.changes ?? true;
    // A live request is not remembered, so it is not repeated under a key either.
    const isLive = command === "message.request" && fields.keep === false;
    const key = changes && !isLive ? (idempotencyKey ?? this.nextKey?.()) : idempotencyKey;
    if (changes && token !== undefined && operation?.token === "fence") fields.token ??= token;
    if (at !== undefined && operation?.takesAt) fields.at ??= at;
    const waits = operation?.waits;
    const waitDefault = waits === "timeout_ms" ? REQUEST_WAIT_MS : 0;
    // Otherwise the agent that a query is about would count as the caller, and be shown its
    // fencing tokens.
    const isAboutAgent = !changes && operation?.agent !== "acts";
    const isAboutAnother = isAboutAgent && (fields.agent ?? agent) !== agent;
    return {
      workspace,
      caller: isAboutAnother ? agent : undefined,
      agent: operation?.agent === "narrows" ? undefined : agent,
      command,
      fields,
      idempotencyKey: key,
      effect: !changes ? "asks" : key === undefined ? "changes" : "once",
      isUpkeep,
      waitMs: waits ? Number(fields[waits] ?? waitDefault) || 0 : 0,
      givesBack: operation?.givesBack,
    };
  }
}

/** @typedef {Answer} CallAnswer */
