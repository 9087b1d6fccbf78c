// A workspace, as one agent sees it.

import { Artifacts, ByteRoutes, Secrets } from "./contents.js";
import * as groups from "./generated/groups.js";
import { hold } from "./held.js";
import { Job } from "./job.js";
import { Joins } from "./joins.js";
import { Handoffs, Inbox, Messages, Streams } from "./messaging.js";
import { CheckingCaller, RuleBook, Rules } from "./rules.js";
import { Service } from "./service.js";
import { Session } from "./session.js";
import { State } from "./state.js";
import { Tasks } from "./tasks.js";
import { Worker } from "./worker.js";

/** @import { Bytes } from "./contents.js" */
/** @import { BatchOutcomes, CallOptions, Caller, Context, TransactionAnswer } from "./caller.js" */
/** @import { Held, HoldOptions, SemaphoreOptions } from "./held.js" */
/** @import { Http } from "./http.js" */
/** @import { ClaimedTask } from "./job.js" */
/** @import { Endpoint } from "./model.js" */
/** @import { ModelRunOptions } from "./model-runs.js" */
/** @import { ServiceOptions } from "./service.js" */
/** @import { Snapshot, Watch } from "./watch.js" */
/** @import { WorkerOptions } from "./worker.js" */
/** @import * as T from "./generated/types.js" */

/** The namespace that every workspace has. */
const NAMESPACE = "shared";

export class Workspace extends groups.WorkspaceOperations {
  #http;
  #routes;
  #ruleBook;

  /** @param {Caller} caller @param {Http} http @param {RuleBook} [ruleBook] */
  constructor(caller, http, ruleBook = new RuleBook()) {
    super(caller);
    this.#http = http;
    this.#ruleBook = ruleBook;
    this.#routes = new ByteRoutes(http, caller);
    /** Shared state: entries of the namespace `shared`; `state.in(name)` is another namespace. */
    this.state = new State(caller, NAMESPACE);
    this.namespaces = new groups.NamespaceOperations(caller);
    this.agents = new groups.AgentOperations(caller);
    this.messages = new Messages(caller);
    this.inbox = new Inbox(caller);
    this.handlers = new groups.HandlerOperations(caller);
    this.topics = new groups.TopicOperations(caller);
    this.streams = new Streams(caller);
    this.rules = new Rules(caller, ruleBook);
    this.events = new groups.EventOperations(caller);
    this.reactions = new groups.ReactionOperations(caller);
    this.contracts = new groups.ContractOperations(caller);
    this.context = new groups.ContextOperations(caller);
    this.locks = new groups.LockOperations(caller);
    this.semaphores = new groups.SemaphoreOperations(caller);
    this.spending = new groups.SpendOperations(caller);
    this.barriers = new groups.BarrierOperations(caller);
    this.tasks = new Tasks(this);
    this.joins = new Joins(caller);
    this.pipelines = new groups.PipelineOperations(caller);
    this.checkpoints = new groups.CheckpointOperations(caller);
    this.artifacts = new Artifacts(caller, this.#routes);
    this.secrets = new Secrets(caller, this.#routes);
    this.handoffs = new Handoffs(new CheckingCaller(caller, ruleBook));
  }

  /** The name of the workspace. */
  get name() {
    return this.caller.context.workspace;
  }

  /** The agent that acts. */
  get agent() {
    return this.caller.context.agent;
  }

  /** The same workspace for another agent. @param {string} agent */
  as(agent) {
    return this.#with({ agent });
  }

  /**
   * The same workspace under a token: changes are rejected with a `StaleError` once the lease,
   * hold,
   * permit or session of the token has ended.
   * @param {number} token
   */
  under(token) {
    return this.#with({ token });
  }

  /** The same workspace as it was at a revision or time. @param {T.At} moment */
  at(moment) {
    return this.#with({ at: moment });
  }

  /**
   * Executes a command or query given as data, and returns the answer with its revision.
   * @template {T.Command} const C
   * @param {C} command
   * @param {CallOptions} [options]
   * @returns {Promise<{ revision: number, result: T.Replies[C["command"]] }>}
   */
  execute(command, options) {
    return this.caller.execute(command, options);
  }

  /**
   * Executes a command that is answered with what the caller cannot know, such as the id, the
   * version and the token, instead of the whole record.
   * @param {T.Commands[T.MinimalName]} command
   * @param {CallOptions} [options]
   * @returns {Promise<{ revision: number, result: T.Minimal }>}
   */
  executeMinimal(command, options) {
    return this.caller.executeMinimal(command, options);
  }

  /**
   * Sends several calls with one message. Each is executed independently, in this order; one that is
   * refused does not stop the next. The outcomes are those of `Promise.allSettled`.
   * @template {readonly T.Command[]} const C
   * @param {C} commands
   * @param {{ signal?: AbortSignal | undefined, timeoutMs?: number | undefined }} [options]
   * @returns {Promise<BatchOutcomes<C>>}
   */
  batch(commands, options) {
    return this.caller.batch(commands, options);
  }

  /**
   * Executes commands together, or none of them, if all preconditions hold.
   * @template {readonly T.TransactionCommand[]} const C
   * @param {C} commands
   * @param {CallOptions & { require?: T.Precondition[] | undefined }} [options]
   * @returns {Promise<TransactionAnswer<C>>}
   */
  transaction(commands, options) {
    return this.caller.transaction(commands, options);
  }

  /**
   * Events whose subject matches a pattern, from now on or from a revision. The watch survives
   * broken
   * connections and restarts of the server, without gaps or duplicates.
   *
   * @template {string} [const N=T.BatonEvent["type"]]
   * @template {boolean} [S=false]
   * @param {string} [pattern] - Such as `state/shared/**`; everything if not given.
   * @param {{ types?: readonly N[] | undefined, from?: number | undefined,
   *   snapshot?: S | undefined, waits?: boolean | undefined,
   *   signal?: AbortSignal | undefined }} [options] - With `waits`, also the events about waiting
   *   calls.
   * @returns {Watch<T.EventOf<N> | (S extends true ? Snapshot : never)>}
   */
  watch(pattern = "**", { types, from, snapshot, waits, signal } = {}) {
    const { workspace, agent } = this.caller.context;
    return this.caller.transport.watch(
      { workspace, agent, pattern, types, from, snapshot, waits },
      signal,
    );
  }

  /**
   * Waits for a lock, and holds it until it is released: it is renewed meanwhile. Throws a
   * `NotAcquiredError` if it is not free within `wait_ms`.
   * @param {string} name
   * @param {HoldOptions & CallOptions} [options]
   * @returns {Promise<Held>}
   */
  lock(name, options = {}) {
    return hold(this.caller, "lock", name, options);
  }

  /**
   * Waits for a permit of a semaphore, or several with `weight`, and holds them until they are
   * released: they are renewed meanwhile. Throws a `NotAcquiredError` if they are not free within
   * `wait_ms`.
   * @param {string} name
   * @param {HoldOptions & CallOptions & SemaphoreOptions} [options]
   * @returns {Promise<Held>}
   */
  semaphore(name, options = {}) {
    return hold(this.caller, "semaphore", name, options);
  }

  /**
   * Claims the next task as a {@link Job}, whose lease is renewed until it is settled. None if there
   * is no task within `wait_ms`.
   * @template [D=any]
   * @param {T.TaskClaimOptions & CallOptions} [options]
   * @returns {Promise<Job<D> | undefined>}
   */
  async claim(options) {
    const task = await this.tasks.claim(options);
    return task?.lease ? new Job(this, /** @type {ClaimedTask} */ (task)) : undefined;
  }

  /**
   * Runs a claimed task with a model: sends its context to the endpoint, and completes the task with
   * `{ text, model, usage, lineage }`. The lease is renewed meanwhile. If there is no completion,
   * the attempt fails with the reason, which is retried according to the task, and a `ModelError` is
   * thrown.
   * @param {Job<any> | T.Task} work - The job, or the task as it was claimed.
   * @param {Endpoint} endpoint
   * @param {ModelRunOptions} [options]
   * @returns {Promise<T.Task>}
   */
  async runWithContext(work, endpoint, options = {}) {
    // Only when it is used: the dashboard does not load it.
    const { runWithContext } = await import("./model-runs.js");
    return runWithContext(this, work, endpoint, options);
  }

  /** A worker: claims tasks and runs a handler for each. @param {WorkerOptions} [options] */
  worker(options = {}) {
    return new Worker(this, options);
  }

  /**
   * A service: receives the messages of the agent and answers requests.
   * @param {ServiceOptions} [options]
   */
  service(options = {}) {
    return new Service(this, options);
  }

  /**
   * The state of a conversation.
   * @param {string} app
   * @param {string} user
   * @param {string} session
   */
  session(app, user, session) {
    return new Session(this, app, user, session);
  }

  /** The revision of the last change. @param {CallOptions} [options] */
  async revision(options) {
    const { revision } = await this.execute({ command: "workspace.get" }, options);
    return revision;
  }

  /**
   * The workspace as one file, as the response of `fetch`.
   * @param {{ at?: T.At | undefined, signal?: AbortSignal | undefined }} [options]
   */
  export({ at, signal } = {}) {
    return this.#routes.fetch("export", { at }, { signal });
  }

  /**
   * Creates the workspace from such a file.
   * @param {Bytes} bytes
   * @param {{ signal?: AbortSignal | undefined }} [options]
   * @returns {Promise<T.Forked>}
   */
  import(bytes, { signal } = {}) {
    const headers = { "content-type": "application/octet-stream" };
    return this.#routes.send("POST", "import", {}, bytes, { headers, signal });
  }

  /** @param {Partial<Context>} changes */
  #with(changes) {
    return new Workspace(this.caller.with(changes), this.#http, this.#ruleBook);
  }
}
