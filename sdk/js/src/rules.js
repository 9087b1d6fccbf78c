// Rules for hand-offs that are functions.
//
// A rule that is data is kept by the server and applies to every client: `rules.add`. A rule that is
// a function applies to the hand-offs that are offered through the client it was added to. It is
// called before the offer is sent, and is treated like any other rule: an error blocks the hand-off,
// a warning does not, and a rule that throws blocks it whatever its severity.

import { Caller } from "./caller.js";
import { ConflictError } from "./errors.js";
import { RuleOperations } from "./generated/groups.js";

/** @import { CallOptions } from "./caller.js" */
/** @import * as T from "./generated/types.js" */

/** Operations that propose a hand-off. */
const PROPOSING = new Set([
  "handoff.offer",
  "handoff.import_context",
  "handoff.execute",
  "handoff.execute_all",
  "handoff.validate",
]);

/**
 * A hand-off that is about to be offered.
 * @typedef {object} Proposal
 * @property {string} from - The agent that offers it.
 * @property {T.Receiver} to - The agent that shall receive it, or `{ capability }`.
 * @property {string} [task] - The task that is handed over, if any.
 * @property {Record<string, any>} state - The values that are handed over, by name.
 * @property {string} [reason] - Why it is handed over.
 * @property {any} [notes] - What else the receiver should know.
 * @property {Record<string, any>} fields - The fields of the offer, as they will be sent.
 */

/**
 * The verdict of a rule: the violation as a text, or false; nothing or true if there is none.
 * @typedef {string | boolean | null | undefined | void} Verdict
 */

/** @typedef {(proposal: Proposal) => Verdict | Promise<Verdict>} RuleCallback */

/**
 * @typedef {object} CallbackOptions
 * @property {T.Severity | undefined} [severity] - `error` if not given.
 * @property {string | undefined} [from] - The givers it applies to, where `*` matches any text.
 * @property {string | undefined} [to] - The receivers it applies to, in the same way.
 */

/**
 * @typedef {object} Found
 * @property {T.Finding[]} errors
 * @property {T.Finding[]} warnings
 */

/**
 * @param {string} pattern
 * @returns {(text: string) => boolean}
 */
function matcher(pattern) {
  const parts = pattern.split("*").map((part) => part.replace(/[\\^$.|?+()[\]{}]/g, "\\$&"));
  const whole = new RegExp(`^${parts.join(".*")}$`, "su");
  return (text) => whole.test(text);
}

/** @param {string} from @param {Record<string, any>} fields @returns {Proposal} */
function proposalOf(from, fields) {
  const { to, task, notes } = fields;
  // The content of an imported context is that of the context.
  const { state, reason } = fields.context ?? fields;
  return { from, to, task, state: state ?? {}, reason, notes, fields };
}

/** The rules of a client that are functions. */
export class RuleBook {
  /** @type {Map<string, { isError: boolean, callback: RuleCallback, applies: (from: string, to: string) => boolean }>} */
  #rules = new Map();

  get isEmpty() {
    return this.#rules.size === 0;
  }

  /** @param {string} name @param {RuleCallback} callback @param {CallbackOptions} options */
  add(name, callback, { severity = "error", from = "*", to = "*" }) {
    if (typeof callback !== "function") throw new TypeError(`the rule \`${name}\` is no function`);
    const [isFrom, isTo] = [matcher(from), matcher(to)];
    this.#rules.set(name, {
      isError: severity === "error",
      callback,
      applies: (giver, receiver) => isFrom(giver) && isTo(receiver),
    });
  }

  /** @param {string} name */
  remove(name) {
    this.#rules.delete(name);
  }

  /** @param {Proposal} proposal */
  async check(proposal) {
    /** @type {Found} */
    const found = { errors: [], warnings: [] };
    const to = typeof proposal.to === "string" ? proposal.to : "";
    for (const [rule, { isError, callback, applies }] of [...this.#rules]) {
      if (!applies(proposal.from, to)) continue;
      try {
        const verdict = await callback(proposal);
        if (verdict === undefined || verdict === null || verdict === true) continue;
        const detail = typeof verdict === "string" ? verdict : "the rule is not satisfied";
        (isError ? found.errors : found.warnings).push({ rule, detail });
      } catch (error) {
        const thrown = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
        found.errors.push({ rule, detail: `the rule threw ${thrown}`, broken: true });
      }
    }
    return found;
  }
}

/**
 * The findings that the server reports for its own rules.
 * @param {Found} found
 */
function invalid({ errors, warnings }) {
  const listed = errors.map(({ rule, detail }) => `${rule}: ${detail}`).join("; ");
  return new ConflictError({
    code: "handoff.invalid",
    kind: "conflict",
    detail: `the hand-off is invalid: ${listed}`,
    hint: "fix what the rules object to, then offer again",
    errors,
    warnings,
  });
}

/** Checks the rules that are functions before a hand-off is offered. */
export class CheckingCaller extends Caller {
  #ruleBook;

  /** @param {Caller} caller @param {RuleBook} ruleBook */
  constructor({ transport, context, nextKey }, ruleBook) {
    super(transport, context, nextKey);
    this.#ruleBook = ruleBook;
  }

  /**
   * @template {T.OperationName} N
   * @param {N} command
   * @param {Record<string, unknown>} fields
   * @param {CallOptions & Record<string, unknown>} [options]
   * @returns {Promise<T.Replies[N]>}
   * @override
   */
  async call(command, fields, options) {
    if (this.#ruleBook.isEmpty || !PROPOSING.has(command)) {
      return await super.call(command, fields, options);
    }
    const { signal: _, idempotencyKey: __, timeoutMs: ___, ...further } = options ?? {};
    const proposal = proposalOf(this.context.agent, { ...fields, ...further });
    const found = await this.#ruleBook.check(proposal);
    options?.signal?.throwIfAborted();
    if (command !== "handoff.validate") {
      if (found.errors.length > 0) throw invalid(found);
      return await super.call(command, fields, options);
    }
    const verdict = /** @type {T.HandoffVerdict} */ (await super.call(command, fields, options));
    return /** @type {any} */ ({
      ...verdict,
      valid: verdict.valid && found.errors.length === 0,
      errors: [...verdict.errors, ...found.errors],
      warnings: [...verdict.warnings, ...found.warnings],
    });
  }
}

export class Rules extends RuleOperations {
  #ruleBook;

  /** @param {Caller} caller @param {RuleBook} ruleBook */
  constructor(caller, ruleBook) {
    super(caller);
    this.#ruleBook = ruleBook;
  }

  /**
   * Adds a rule that is a function, or replaces the one with this name. It is called with every
   * hand-off that is offered through this client, and returns what is wrong as a text, or nothing.
   * @param {string} name
   * @param {RuleCallback} callback
   * @param {CallbackOptions} [options]
   */
  callback(name, callback, options = {}) {
    this.#ruleBook.add(name, callback, options);
  }

  /** Removes a rule that is a function. @param {string} name */
  removeCallback(name) {
    this.#ruleBook.remove(name);
  }
}
