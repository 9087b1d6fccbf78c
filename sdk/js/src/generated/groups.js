// Generated from spec/ by generate.mjs. Do not edit.
//
// A method for every operation.

import { pagesOf } from "../pages.js";

/** @import * as T from "./types.js" */
/** @import { CallOptions, Caller } from "../caller.js" */

/** The operations `state.*`. */
export class StateOperations {
  /** @param {Caller} caller @param {string} namespace */
  constructor(caller, namespace) {
    this.caller = caller;
    /** The namespace of the entries. */
    this.namespace = namespace;
  }

  /**
   * Write an entry.
   * @param {T.Key} key - The key.
   * @param {T.Json} value - The value: any JSON.
   * @param {T.StateSetOptions & CallOptions} [options]
   * @returns {Promise<T.Entry>}
   */
  set(key, value, options) {
    return this.caller.call("state.set", { namespace: this.namespace, key, value }, options);
  }

  /**
   * Patch an entry.
   * @param {T.Key} key - The key.
   * @param {T.StatePatchOptions & CallOptions} options
   * @returns {Promise<T.Entry>}
   */
  patch(key, options) {
    return this.caller.call("state.patch", { namespace: this.namespace, key }, options);
  }

  /**
   * Delete an entry.
   * @param {T.Key} key - The key.
   * @param {T.StateDeleteOptions & CallOptions} [options]
   * @returns {Promise<T.Entry>}
   */
  delete(key, options) {
    return this.caller.call("state.delete", { namespace: this.namespace, key }, options);
  }

  /**
   * Move or copy entries to another namespace.
   * @param {T.NamespaceName} fromNamespace - The namespace to move from.
   * @param {T.NamespaceName} toNamespace - The namespace to move to.
   * @param {T.StateTransferOptions & CallOptions} [options]
   * @returns {Promise<T.StateMoved>}
   */
  transfer(fromNamespace, toNamespace, options) {
    return this.caller.call("state.transfer", { from_namespace: fromNamespace, to_namespace: toNamespace }, options);
  }

  /**
   * Get an entry.
   * @param {T.Key} key - The key.
   * @param {T.StateGetOptions & CallOptions} [options]
   * @returns {Promise<T.Entry>}
   */
  get(key, options) {
    return this.caller.call("state.get", { namespace: this.namespace, key }, options);
  }

  /**
   * List the entries of a namespace.
   * @param {T.StateListOptions & CallOptions} [options]
   * @returns {Promise<T.Page>}
   */
  list(options) {
    return this.caller.call("state.list", { namespace: this.namespace }, options);
  }

  /**
   * List the entries of a namespace: every item, page after page.
   * @param {T.StateListOptions & CallOptions} [options]
   * @returns {AsyncGenerator<T.Entry, void, void>}
   */
  listAll(options) {
    return pagesOf(this.caller, "state.list", "entries", { namespace: this.namespace }, options);
  }

  /**
   * List changes to entries, newest first.
   * @param {T.StateHistoryOptions & CallOptions} [options]
   * @returns {Promise<T.StateChanges>}
   */
  history(options) {
    return this.caller.call("state.history", {}, options);
  }

  /**
   * List changes to entries, newest first: every item, page after page.
   * @param {T.StateHistoryOptions & CallOptions} [options]
   * @returns {AsyncGenerator<T.Change, void, void>}
   */
  historyAll(options) {
    return pagesOf(this.caller, "state.history", "changes", {}, options);
  }

  /**
   * List the entries of all namespaces at one revision.
   * @param {T.StateSnapshotOptions & CallOptions} [options]
   * @returns {Promise<T.Page>}
   */
  snapshot(options) {
    return this.caller.call("state.snapshot", {}, options);
  }

  /**
   * List the entries of all namespaces at one revision: every item, page after page.
   * @param {T.StateSnapshotOptions & CallOptions} [options]
   * @returns {AsyncGenerator<T.Entry, void, void>}
   */
  snapshotAll(options) {
    return pagesOf(this.caller, "state.snapshot", "entries", {}, options);
  }

  /**
   * List the entries that differ between two revisions.
   * @param {T.Revision} from - The first revision.
   * @param {T.StateDiffOptions & CallOptions} [options]
   * @returns {Promise<T.StateChanges>}
   */
  diff(from, options) {
    return this.caller.call("state.diff", { from }, options);
  }
}

/** The operations `namespace.*`. */
export class NamespaceOperations {
  /** @param {Caller} caller */
  constructor(caller) {
    this.caller = caller;
  }

  /**
   * Create a namespace.
   * @param {T.NamespaceName} name - The name of the namespace.
   * @param {T.NamespaceCreateOptions & CallOptions} [options]
   * @returns {Promise<T.Namespace>}
   */
  create(name, options) {
    return this.caller.call("namespace.create", { name }, options);
  }

  /**
   * Replace the rules of a namespace.
   * @param {T.NamespaceName} name - The name of the namespace.
   * @param {T.Rules} rules - The new rules.
   * @param {T.NamespaceConfigureOptions & CallOptions} [options]
   * @returns {Promise<T.Namespace>}
   */
  configure(name, rules, options) {
    return this.caller.call("namespace.configure", { name, rules }, options);
  }

  /**
   * Delete a namespace with all its entries.
   * @param {T.NamespaceName} name - The name of the namespace.
   * @param {T.NamespaceDeleteOptions & CallOptions} [options]
   * @returns {Promise<T.Namespace>}
   */
  delete(name, options) {
    return this.caller.call("namespace.delete", { name }, options);
  }

  /**
   * List namespaces.
   * @param {T.NamespaceListOptions & CallOptions} [options]
   * @returns {Promise<T.NamespaceNamespaces>}
   */
  list(options) {
    return this.caller.call("namespace.list", {}, options);
  }

  /**
   * List namespaces: every item, page after page.
   * @param {T.NamespaceListOptions & CallOptions} [options]
   * @returns {AsyncGenerator<T.Namespace, void, void>}
   */
  listAll(options) {
    return pagesOf(this.caller, "namespace.list", "namespaces", {}, options);
  }

  /**
   * Get a namespace.
   * @param {T.NamespaceName} name - The name of the namespace.
   * @param {T.NamespaceGetOptions & CallOptions} [options]
   * @returns {Promise<T.Namespace>}
   */
  get(name, options) {
    return this.caller.call("namespace.get", { name }, options);
  }
}

/** The operations `agent.*`. */
export class AgentOperations {
  /** @param {Caller} caller */
  constructor(caller) {
    this.caller = caller;
  }

  /**
   * Register an agent and start its session.
   * @param {T.AgentRegisterOptions & CallOptions} [options]
   * @returns {Promise<T.Agent>}
   */
  register(options) {
    return this.caller.call("agent.register", {}, options);
  }

  /**
   * Renew a session.
   * @param {T.AgentHeartbeatOptions & CallOptions} [options]
   * @returns {Promise<T.Agent>}
   */
  heartbeat(options) {
    return this.caller.call("agent.heartbeat", {}, options);
  }

  /**
   * End a session.
   * @param {T.AgentLeaveOptions & CallOptions} [options]
   * @returns {Promise<T.Agent>}
   */
  leave(options) {
    return this.caller.call("agent.leave", {}, options);
  }

  /**
   * Get an agent.
   * @param {T.AgentId} agent - The agent.
   * @param {T.AgentGetOptions & CallOptions} [options]
   * @returns {Promise<T.Agent>}
   */
  get(agent, options) {
    return this.caller.call("agent.get", { agent }, options);
  }

  /**
   * List agents.
   * @param {T.AgentListOptions & CallOptions} [options]
   * @returns {Promise<T.AgentAgents>}
   */
  list(options) {
    return this.caller.call("agent.list", {}, options);
  }

  /**
   * List agents: every item, page after page.
   * @param {T.AgentListOptions & CallOptions} [options]
   * @returns {AsyncGenerator<T.Agent, void, void>}
   */
  listAll(options) {
    return pagesOf(this.caller, "agent.list", "agents", {}, options);
  }

  /**
   * Receive the next hand-off, message or task, whichever comes first.
   * @param {T.AgentNextOptions & CallOptions} [options]
   * @returns {Promise<T.WaitNext>}
   */
  next(options) {
    return this.caller.call("agent.next", {}, options);
  }
}

/** The operations `message.*`. */
export class MessageOperations {
  /** @param {Caller} caller */
  constructor(caller) {
    this.caller = caller;
  }

  /**
   * Send a message to an agent's inbox.
   * @param {T.AgentId} to - The receiving agent. It need not be registered yet.
   * @param {T.Json} body - The body: any JSON.
   * @param {T.MessageSendOptions & CallOptions} [options]
   * @returns {Promise<T.Message>}
   */
  send(to, body, options) {
    return this.caller.call("message.send", { to, body }, options);
  }

  /**
   * Send a request and wait for the reply.
   * @param {T.Address} to - The address: an agent id, `{"handler": name}` or `{"capability": name}`.
   * @param {T.Json} body - The body: any JSON.
   * @param {T.MessageRequestOptions & CallOptions} [options]
   * @returns {Promise<T.Answered>}
   */
  request(to, body, options) {
    return this.caller.call("message.request", { to, body }, options);
  }

  /**
   * Reply to a request, optionally receiving the next message.
   * @param {T.MessageId} request - The id of the request.
   * @param {T.MessageReplyOptions & CallOptions} [options]
   * @returns {Promise<T.Message>}
   */
  reply(request, options) {
    return this.caller.call("message.reply", { request }, options);
  }

  /**
   * Get a message.
   * @param {T.MessageId} message - The message.
   * @param {T.MessageGetOptions & CallOptions} [options]
   * @returns {Promise<T.Message>}
   */
  get(message, options) {
    return this.caller.call("message.get", { message }, options);
  }
}

/** The operations `inbox.*`. */
export class InboxOperations {
  /** @param {Caller} caller */
  constructor(caller) {
    this.caller = caller;
  }

  /**
   * Receive messages, optionally waiting for one.
   * @param {T.InboxReceiveOptions & CallOptions} [options]
   * @returns {Promise<T.MessageReceived>}
   */
  receive(options) {
    return this.caller.call("inbox.receive", {}, options);
  }

  /**
   * Acknowledge messages, so that they are not delivered again.
   * @param {T.InboxAckOptions & CallOptions} [options]
   * @returns {Promise<T.MessageAcked>}
   */
  ack(options) {
    return this.caller.call("inbox.ack", {}, options);
  }

  /**
   * Return a dead message to its inbox.
   * @param {T.MessageId} message - The message.
   * @param {T.InboxRequeueOptions & CallOptions} [options]
   * @returns {Promise<T.Message>}
   */
  requeue(message, options) {
    return this.caller.call("inbox.requeue", { message }, options);
  }

  /**
   * List the messages of an inbox.
   * @param {T.InboxListOptions & CallOptions} [options]
   * @returns {Promise<T.MessageMessages>}
   */
  list(options) {
    return this.caller.call("inbox.list", {}, options);
  }

  /**
   * List the messages of an inbox: every item, page after page.
   * @param {T.InboxListOptions & CallOptions} [options]
   * @returns {AsyncGenerator<T.Message, void, void>}
   */
  listAll(options) {
    return pagesOf(this.caller, "inbox.list", "messages", {}, options);
  }
}

/** The operations `handler.*`. */
export class HandlerOperations {
  /** @param {Caller} caller */
  constructor(caller) {
    this.caller = caller;
  }

  /**
   * Register the caller for a handler.
   * @param {T.HandlerName} handler - The handler.
   * @param {T.HandlerRegisterOptions & CallOptions} [options]
   * @returns {Promise<T.Handler>}
   */
  register(handler, options) {
    return this.caller.call("handler.register", { handler }, options);
  }

  /**
   * Remove the caller from a handler.
   * @param {T.HandlerName} handler - The handler.
   * @param {T.HandlerRemoveOptions & CallOptions} [options]
   * @returns {Promise<T.Handler>}
   */
  remove(handler, options) {
    return this.caller.call("handler.remove", { handler }, options);
  }

  /**
   * List handlers and the agents registered for them.
   * @param {T.HandlerListOptions & CallOptions} [options]
   * @returns {Promise<T.MessageHandlers>}
   */
  list(options) {
    return this.caller.call("handler.list", {}, options);
  }

  /**
   * List handlers and the agents registered for them: every item, page after page.
   * @param {T.HandlerListOptions & CallOptions} [options]
   * @returns {AsyncGenerator<T.Handler, void, void>}
   */
  listAll(options) {
    return pagesOf(this.caller, "handler.list", "handlers", {}, options);
  }
}

/** The operations `topic.*`. */
export class TopicOperations {
  /** @param {Caller} caller */
  constructor(caller) {
    this.caller = caller;
  }

  /**
   * Publish a message to a topic.
   * @param {T.TopicName} topic - The topic.
   * @param {T.Json} body - The content: any JSON.
   * @param {T.TopicPublishOptions & CallOptions} [options]
   * @returns {Promise<T.Published>}
   */
  publish(topic, body, options) {
    return this.caller.call("topic.publish", { topic, body }, options);
  }

  /**
   * Get a topic.
   * @param {T.TopicName} topic - The topic.
   * @param {T.TopicGetOptions & CallOptions} [options]
   * @returns {Promise<T.Topic>}
   */
  get(topic, options) {
    return this.caller.call("topic.get", { topic }, options);
  }

  /**
   * List topics and their message counts.
   * @param {T.TopicListOptions & CallOptions} [options]
   * @returns {Promise<T.TopicTopics>}
   */
  list(options) {
    return this.caller.call("topic.list", {}, options);
  }

  /**
   * List topics and their message counts: every item, page after page.
   * @param {T.TopicListOptions & CallOptions} [options]
   * @returns {AsyncGenerator<T.Topic, void, void>}
   */
  listAll(options) {
    return pagesOf(this.caller, "topic.list", "topics", {}, options);
  }
}

/** The operations `stream.*`. */
export class StreamOperations {
  /** @param {Caller} caller */
  constructor(caller) {
    this.caller = caller;
  }

  /**
   * Create a stream.
   * @param {T.StreamName} stream - The name of the stream.
   * @param {T.StreamCreateOptions & CallOptions} [options]
   * @returns {Promise<T.Stream>}
   */
  create(stream, options) {
    return this.caller.call("stream.create", { stream }, options);
  }

  /**
   * Append frames to a stream.
   * @param {T.StreamName} stream - The stream.
   * @param {T.StreamSendOptions & CallOptions} [options]
   * @returns {Promise<T.Sent>}
   */
  send(stream, options) {
    return this.caller.call("stream.send", { stream }, options);
  }

  /**
   * Read frames, optionally waiting for more.
   * @param {T.StreamName} stream - The stream.
   * @param {T.StreamReceiveOptions & CallOptions} [options]
   * @returns {Promise<T.Frames>}
   */
  receive(stream, options) {
    return this.caller.call("stream.receive", { stream }, options);
  }

  /**
   * Close a stream.
   * @param {T.StreamName} stream - The stream.
   * @param {T.StreamCloseOptions & CallOptions} [options]
   * @returns {Promise<T.Stream>}
   */
  close(stream, options) {
    return this.caller.call("stream.close", { stream }, options);
  }

  /**
   * Delete a stream and its frames.
   * @param {T.StreamName} stream - The stream.
   * @param {T.StreamDeleteOptions & CallOptions} [options]
   * @returns {Promise<T.Stream>}
   */
  delete(stream, options) {
    return this.caller.call("stream.delete", { stream }, options);
  }

  /**
   * Get a stream.
   * @param {T.StreamName} stream - The stream.
   * @param {T.StreamGetOptions & CallOptions} [options]
   * @returns {Promise<T.Stream>}
   */
  get(stream, options) {
    return this.caller.call("stream.get", { stream }, options);
  }

  /**
   * List streams.
   * @param {T.StreamListOptions & CallOptions} [options]
   * @returns {Promise<T.StreamStreams>}
   */
  list(options) {
    return this.caller.call("stream.list", {}, options);
  }

  /**
   * List streams: every item, page after page.
   * @param {T.StreamListOptions & CallOptions} [options]
   * @returns {AsyncGenerator<T.Stream, void, void>}
   */
  listAll(options) {
    return pagesOf(this.caller, "stream.list", "streams", {}, options);
  }
}

/** The operations `rule.*`. */
export class RuleOperations {
  /** @param {Caller} caller */
  constructor(caller) {
    this.caller = caller;
  }

  /**
   * Add or replace a rule.
   * @param {T.RuleName} name - The name of the rule.
   * @param {T.WantedCheck} check - The requirement.
   * @param {T.RuleAddOptions & CallOptions} [options]
   * @returns {Promise<T.Rule>}
   */
  add(name, check, options) {
    return this.caller.call("rule.add", { name, check }, options);
  }

  /**
   * Remove a rule.
   * @param {T.RuleName} name - The name of the rule.
   * @param {T.RuleRemoveOptions & CallOptions} [options]
   * @returns {Promise<T.Rule>}
   */
  remove(name, options) {
    return this.caller.call("rule.remove", { name }, options);
  }

  /**
   * List rules.
   * @param {T.RuleListOptions & CallOptions} [options]
   * @returns {Promise<T.RuleRules>}
   */
  list(options) {
    return this.caller.call("rule.list", {}, options);
  }

  /**
   * List rules: every item, page after page.
   * @param {T.RuleListOptions & CallOptions} [options]
   * @returns {AsyncGenerator<T.Rule, void, void>}
   */
  listAll(options) {
    return pagesOf(this.caller, "rule.list", "rules", {}, options);
  }
}

/** The operations `event.*`. */
export class EventOperations {
  /** @param {Caller} caller */
  constructor(caller) {
    this.caller = caller;
  }

  /**
   * Emit an event of your own type.
   * @param {T.EventType} type - The type: words with dots between them, such as `deploy.finished`.
   * @param {T.EventEmitOptions & CallOptions} [options]
   * @returns {Promise<T.EventEmitted>}
   */
  emit(type, options) {
    return this.caller.call("event.emit", { type }, options);
  }

  /**
   * Query the event history.
   * @param {T.EventHistoryOptions & CallOptions} [options]
   * @returns {Promise<T.EventPage>}
   */
  history(options) {
    return this.caller.call("event.history", {}, options);
  }

  /**
   * Query the event history: every item, page after page.
   * @param {T.EventHistoryOptions & CallOptions} [options]
   * @returns {AsyncGenerator<T.Json, void, void>}
   */
  historyAll(options) {
    return pagesOf(this.caller, "event.history", "events", {}, options);
  }
}

/** The operations `reaction.*`. */
export class ReactionOperations {
  /** @param {Caller} caller */
  constructor(caller) {
    this.caller = caller;
  }

  /**
   * Add or replace a reaction.
   * @param {T.ReactionName} name - The name of the reaction.
   * @param {T.ReactionOn} on - The events that it runs on.
   * @param {T.ReactionAddOptions & CallOptions} [options]
   * @returns {Promise<T.Reaction>}
   */
  add(name, on, options) {
    return this.caller.call("reaction.add", { name, on }, options);
  }

  /**
   * Remove a reaction.
   * @param {T.ReactionName} name - The name of the reaction.
   * @param {T.ReactionRemoveOptions & CallOptions} [options]
   * @returns {Promise<T.Reaction>}
   */
  remove(name, options) {
    return this.caller.call("reaction.remove", { name }, options);
  }

  /**
   * Enable a reaction.
   * @param {T.ReactionName} name - The name of the reaction.
   * @param {T.ReactionEnableOptions & CallOptions} [options]
   * @returns {Promise<T.Reaction>}
   */
  enable(name, options) {
    return this.caller.call("reaction.enable", { name }, options);
  }

  /**
   * Disable a reaction.
   * @param {T.ReactionName} name - The name of the reaction.
   * @param {T.ReactionDisableOptions & CallOptions} [options]
   * @returns {Promise<T.Reaction>}
   */
  disable(name, options) {
    return this.caller.call("reaction.disable", { name }, options);
  }

  /**
   * Get a reaction.
   * @param {T.ReactionName} name - The name of the reaction.
   * @param {T.ReactionGetOptions & CallOptions} [options]
   * @returns {Promise<T.Reaction>}
   */
  get(name, options) {
    return this.caller.call("reaction.get", { name }, options);
  }

  /**
   * List reactions.
   * @param {T.ReactionListOptions & CallOptions} [options]
   * @returns {Promise<T.ReactionReactions>}
   */
  list(options) {
    return this.caller.call("reaction.list", {}, options);
  }

  /**
   * List reactions: every item, page after page.
   * @param {T.ReactionListOptions & CallOptions} [options]
   * @returns {AsyncGenerator<T.Reaction, void, void>}
   */
  listAll(options) {
    return pagesOf(this.caller, "reaction.list", "reactions", {}, options);
  }
}

/** The operations `contract.*`. */
export class ContractOperations {
  /** @param {Caller} caller */
  constructor(caller) {
    this.caller = caller;
  }

  /**
   * Declare the keys that you depend on.
   * @param {T.ContractName} name - The name of the contract.
   * @param {T.ContractTerms[]} keys - The keys that you depend on, at least one.
   * @param {T.ContractDeclareOptions & CallOptions} [options]
   * @returns {Promise<T.DeclaredContract>}
   */
  declare(name, keys, options) {
    return this.caller.call("contract.declare", { name, keys }, options);
  }

  /**
   * Delete a declared contract.
   * @param {T.ContractName} name - The name of the contract.
   * @param {T.ContractDeleteOptions & CallOptions} [options]
   * @returns {Promise<T.DeclaredContract>}
   */
  delete(name, options) {
    return this.caller.call("contract.delete", { name }, options);
  }

  /**
   * List declared contracts.
   * @param {T.ContractListOptions & CallOptions} [options]
   * @returns {Promise<T.ContractDeclarations>}
   */
  list(options) {
    return this.caller.call("contract.list", {}, options);
  }

  /**
   * List declared contracts: every item, page after page.
   * @param {T.ContractListOptions & CallOptions} [options]
   * @returns {AsyncGenerator<T.DeclaredContract, void, void>}
   */
  listAll(options) {
    return pagesOf(this.caller, "contract.list", "declarations", {}, options);
  }

  /**
   * List which agents write and read which keys.
   * @param {T.ContractShowOptions & CallOptions} [options]
   * @returns {Promise<T.ContractContracts>}
   */
  show(options) {
    return this.caller.call("contract.show", {}, options);
  }

  /**
   * List which agents write and read which keys: every item, page after page.
   * @param {T.ContractShowOptions & CallOptions} [options]
   * @returns {AsyncGenerator<T.Contract, void, void>}
   */
  showAll(options) {
    return pagesOf(this.caller, "contract.show", "contracts", {}, options);
  }

  /**
   * Find broken keys that agents, rules or stages depend on.
   * @param {T.ContractCheckOptions & CallOptions} [options]
   * @returns {Promise<T.ContractProblems>}
   */
  check(options) {
    return this.caller.call("contract.check", {}, options);
  }
}

/** The operations `context.*`. */
export class ContextOperations {
  /** @param {Caller} caller */
  constructor(caller) {
    this.caller = caller;
  }

  /**
   * Build the context of an agent as one text for a model.
   * @param {T.ContextBuildOptions & CallOptions} [options]
   * @returns {Promise<T.Context>}
   */
  build(options) {
    return this.caller.call("context.build", {}, options);
  }
}

/** The operations `lock.*`. */
export class LockOperations {
  /** @param {Caller} caller */
  constructor(caller) {
    this.caller = caller;
  }

  /**
   * Acquire a lock, optionally waiting for it.
   * @param {T.LockName} name - The lock.
   * @param {T.LockAcquireOptions & CallOptions} [options]
   * @returns {Promise<T.LockHold>}
   */
  acquire(name, options) {
    return this.caller.call("lock.acquire", { name }, options);
  }

  /**
   * Renew a lock.
   * @param {T.LockName} name - The lock.
   * @param {T.Token} token - The token of the hold.
   * @param {T.LockRenewOptions & CallOptions} [options]
   * @returns {Promise<T.Hold>}
   */
  renew(name, token, options) {
    return this.caller.call("lock.renew", { name, token }, options);
  }

  /**
   * Release a lock.
   * @param {T.LockName} name - The lock.
   * @param {T.Token} token - The token of the hold.
   * @param {CallOptions} [options]
   * @returns {Promise<T.Lock>}
   */
  release(name, token, options) {
    return this.caller.call("lock.release", { name, token }, options);
  }

  /**
   * Get a lock.
   * @param {T.LockName} name - The lock.
   * @param {T.LockGetOptions & CallOptions} [options]
   * @returns {Promise<T.Lock>}
   */
  get(name, options) {
    return this.caller.call("lock.get", { name }, options);
  }

  /**
   * List held locks, their wait queues and deadlocks.
   * @param {T.LockListOptions & CallOptions} [options]
   * @returns {Promise<T.LockLocks>}
   */
  list(options) {
    return this.caller.call("lock.list", {}, options);
  }

  /**
   * List held locks, their wait queues and deadlocks: every item, page after page.
   * @param {T.LockListOptions & CallOptions} [options]
   * @returns {AsyncGenerator<T.Lock, void, void>}
   */
  listAll(options) {
    return pagesOf(this.caller, "lock.list", "locks", {}, options);
  }
}

/** The operations `semaphore.*`. */
export class SemaphoreOperations {
  /** @param {Caller} caller */
  constructor(caller) {
    this.caller = caller;
  }

  /**
   * Acquire a permit, optionally waiting for one.
   * @param {T.SemaphoreName} name - The semaphore.
   * @param {T.SemaphoreAcquireOptions & CallOptions} [options]
   * @returns {Promise<T.SemaphorePermit>}
   */
  acquire(name, options) {
    return this.caller.call("semaphore.acquire", { name }, options);
  }

  /**
   * Renew a permit.
   * @param {T.SemaphoreName} name - The semaphore.
   * @param {T.Token} token - The token of the permit.
   * @param {T.SemaphoreRenewOptions & CallOptions} [options]
   * @returns {Promise<T.Permit>}
   */
  renew(name, token, options) {
    return this.caller.call("semaphore.renew", { name, token }, options);
  }

  /**
   * Release a permit.
   * @param {T.SemaphoreName} name - The semaphore.
   * @param {T.Token} token - The token of the permit.
   * @param {CallOptions} [options]
   * @returns {Promise<T.Semaphore>}
   */
  release(name, token, options) {
    return this.caller.call("semaphore.release", { name, token }, options);
  }

  /**
   * Change the number of permits of a semaphore.
   * @param {T.SemaphoreName} name - The semaphore.
   * @param {number} permits - The new number of permits. Calls of `semaphore.acquire` that give another number in
   *   `permits` are accepted from then on.
   * @param {T.SemaphoreResizeOptions & CallOptions} [options]
   * @returns {Promise<T.Semaphore>}
   */
  resize(name, permits, options) {
    return this.caller.call("semaphore.resize", { name, permits }, options);
  }

  /**
   * Get a semaphore.
   * @param {T.SemaphoreName} name - The semaphore.
   * @param {T.SemaphoreGetOptions & CallOptions} [options]
   * @returns {Promise<T.Semaphore>}
   */
  get(name, options) {
    return this.caller.call("semaphore.get", { name }, options);
  }

  /**
   * List semaphores with their holders and wait queues.
   * @param {T.SemaphoreListOptions & CallOptions} [options]
   * @returns {Promise<T.SemaphoreSemaphores>}
   */
  list(options) {
    return this.caller.call("semaphore.list", {}, options);
  }

  /**
   * List semaphores with their holders and wait queues: every item, page after page.
   * @param {T.SemaphoreListOptions & CallOptions} [options]
   * @returns {AsyncGenerator<T.Semaphore, void, void>}
   */
  listAll(options) {
    return pagesOf(this.caller, "semaphore.list", "semaphores", {}, options);
  }
}

/** The operations `task.*`. */
export class TaskOperations {
  /** @param {Caller} caller */
  constructor(caller) {
    this.caller = caller;
  }

  /**
   * Create a task.
   * @param {T.TaskType} type - The task type, which claims filter by.
   * @param {T.TaskCreateOptions & CallOptions} [options]
   * @returns {Promise<T.Task>}
   */
  create(type, options) {
    return this.caller.call("task.create", { type }, options);
  }

  /**
   * Claim the next task, optionally waiting for one.
   * @param {T.TaskClaimOptions & CallOptions} [options]
   * @returns {Promise<T.TaskClaimed>}
   */
  claim(options) {
    return this.caller.call("task.claim", {}, options);
  }

  /**
   * Renew the lease of a task.
   * @param {T.TaskId} task - The task.
   * @param {T.Token} token - The token of the lease.
   * @param {T.TaskHeartbeatOptions & CallOptions} [options]
   * @returns {Promise<T.Task>}
   */
  heartbeat(task, token, options) {
    return this.caller.call("task.heartbeat", { task, token }, options);
  }

  /**
   * Report progress and renew the lease.
   * @param {T.TaskId} task - The task.
   * @param {T.Token} token - The token of the lease.
   * @param {number} fraction - The completed fraction, 0 to 1.
   * @param {T.TaskProgressOptions & CallOptions} [options]
   * @returns {Promise<T.Task>}
   */
  progress(task, token, fraction, options) {
    return this.caller.call("task.progress", { task, token, fraction }, options);
  }

  /**
   * Update fields of a claimed task.
   * @param {T.TaskId} task - The task.
   * @param {T.Token} token - The token of the lease.
   * @param {T.Json} fields - An object with the fields to change.
   * @param {CallOptions} [options]
   * @returns {Promise<T.Task>}
   */
  update(task, token, fields, options) {
    return this.caller.call("task.update", { task, token, fields }, options);
  }

  /**
   * Release a task so that another agent can claim it.
   * @param {T.TaskId} task - The task.
   * @param {T.Token} token - The token of the lease.
   * @param {T.TaskReleaseOptions & CallOptions} [options]
   * @returns {Promise<T.Task>}
   */
  release(task, token, options) {
    return this.caller.call("task.release", { task, token }, options);
  }

  /**
   * Complete a task.
   * @param {T.TaskId} task - The task.
   * @param {T.Token} token - The token of the lease.
   * @param {T.TaskCompleteOptions & CallOptions} [options]
   * @returns {Promise<T.TaskCompleted>}
   */
  complete(task, token, options) {
    return this.caller.call("task.complete", { task, token }, options);
  }

  /**
   * Fail an attempt at a task.
   * @param {T.TaskId} task - The task.
   * @param {T.Token} token - The token of the lease.
   * @param {T.Json} error - The error.
   * @param {T.TaskFailOptions & CallOptions} [options]
   * @returns {Promise<T.Task>}
   */
  fail(task, token, error, options) {
    return this.caller.call("task.fail", { task, token, error }, options);
  }

  /**
   * Cancel a task and its subtasks.
   * @param {T.TaskId} task - The task.
   * @param {T.TaskCancelOptions & CallOptions} [options]
   * @returns {Promise<T.Task>}
   */
  cancel(task, options) {
    return this.caller.call("task.cancel", { task }, options);
  }

  /**
   * Decide on a task that waits for review.
   * @param {T.TaskId} task - The task.
   * @param {T.Verdict} verdict - The verdict.
   * @param {T.TaskReviewOptions & CallOptions} [options]
   * @returns {Promise<T.Task>}
   */
  review(task, verdict, options) {
    return this.caller.call("task.review", { task, verdict }, options);
  }

  /**
   * Retry a failed task under its own id.
   * @param {T.TaskId} task - The failed task.
   * @param {T.TaskRetryOptions & CallOptions} [options]
   * @returns {Promise<T.Task>}
   */
  retry(task, options) {
    return this.caller.call("task.retry", { task }, options);
  }

  /**
   * Get a task.
   * @param {T.TaskId} task - The task.
   * @param {T.TaskGetOptions & CallOptions} [options]
   * @returns {Promise<T.Task>}
   */
  get(task, options) {
    return this.caller.call("task.get", { task }, options);
  }

  /**
   * List tasks.
   * @param {T.TaskListOptions & CallOptions} [options]
   * @returns {Promise<T.TaskTasks>}
   */
  list(options) {
    return this.caller.call("task.list", {}, options);
  }

  /**
   * List tasks: every item, page after page.
   * @param {T.TaskListOptions & CallOptions} [options]
   * @returns {AsyncGenerator<T.Task, void, void>}
   */
  listAll(options) {
    return pagesOf(this.caller, "task.list", "tasks", {}, options);
  }

  /**
   * Get task counts, durations and failure reasons.
   * @param {T.TaskStatsOptions & CallOptions} [options]
   * @returns {Promise<T.Statistics>}
   */
  stats(options) {
    return this.caller.call("task.stats", {}, options);
  }

  /**
   * Explain why a task is not running.
   * @param {T.TaskId} task - The task.
   * @param {T.TaskWhyOptions & CallOptions} [options]
   * @returns {Promise<T.Why>}
   */
  why(task, options) {
    return this.caller.call("task.why", { task }, options);
  }

  /**
   * List the events of a task, newest first.
   * @param {T.TaskId} task - The task.
   * @param {T.TaskHistoryOptions & CallOptions} [options]
   * @returns {Promise<T.TaskHistoryResult>}
   */
  history(task, options) {
    return this.caller.call("task.history", { task }, options);
  }

  /**
   * List the events of a task, newest first: every item, page after page.
   * @param {T.TaskId} task - The task.
   * @param {T.TaskHistoryOptions & CallOptions} [options]
   * @returns {AsyncGenerator<T.Transition, void, void>}
   */
  historyAll(task, options) {
    return pagesOf(this.caller, "task.history", "events", { task }, options);
  }

  /**
   * Wait until a task has finished or has one of the given statuses.
   * @param {T.TaskId} task - The task.
   * @param {T.TaskWaitOptions & CallOptions} [options]
   * @returns {Promise<T.WaitTask>}
   */
  wait(task, options) {
    return this.caller.call("task.wait", { task }, options);
  }
}

/** The operations `spend.*`. */
export class SpendOperations {
  /** @param {Caller} caller */
  constructor(caller) {
    this.caller = caller;
  }

  /**
   * Record what was spent on a task, or reserve it before a call.
   * @param {T.SpendRecordOptions & CallOptions} [options]
   * @returns {Promise<T.SpendRecorded>}
   */
  record(options) {
    return this.caller.call("spend.record", {}, options);
  }

  /**
   * Set or remove the budget of a task, an agent or the workspace.
   * @param {T.SpendLimitOptions & CallOptions} [options]
   * @returns {Promise<T.SpendTotal>}
   */
  limit(options) {
    return this.caller.call("spend.limit", {}, options);
  }

  /**
   * Get what a task with its subtasks, an agent or the workspace has spent.
   * @param {T.SpendGetOptions & CallOptions} [options]
   * @returns {Promise<T.SpendTotal>}
   */
  get(options) {
    return this.caller.call("spend.get", {}, options);
  }

  /**
   * List the latest records of spending.
   * @param {T.SpendListOptions & CallOptions} [options]
   * @returns {Promise<T.SpendRecords>}
   */
  list(options) {
    return this.caller.call("spend.list", {}, options);
  }

  /**
   * List the latest records of spending: every item, page after page.
   * @param {T.SpendListOptions & CallOptions} [options]
   * @returns {AsyncGenerator<T.SpendEntry, void, void>}
   */
  listAll(options) {
    return pagesOf(this.caller, "spend.list", "records", {}, options);
  }
}

/** The operations `barrier.*`. */
export class BarrierOperations {
  /** @param {Caller} caller */
  constructor(caller) {
    this.caller = caller;
  }

  /**
   * Arrive at a barrier, optionally waiting until it opens.
   * @param {T.BarrierName} name - The barrier.
   * @param {number} count - The number of arrivals that opens the barrier. It must be the same in every call of
   *   a generation.
   * @param {T.BarrierArriveOptions & CallOptions} [options]
   * @returns {Promise<T.Arrival>}
   */
  arrive(name, count, options) {
    return this.caller.call("barrier.arrive", { name, count }, options);
  }

  /**
   * Discard all arrivals and start a new generation.
   * @param {T.BarrierName} name - The barrier.
   * @param {T.BarrierResetOptions & CallOptions} [options]
   * @returns {Promise<T.Barrier>}
   */
  reset(name, options) {
    return this.caller.call("barrier.reset", { name }, options);
  }

  /**
   * Get a barrier.
   * @param {T.BarrierName} name - The barrier.
   * @param {T.BarrierGetOptions & CallOptions} [options]
   * @returns {Promise<T.Barrier>}
   */
  get(name, options) {
    return this.caller.call("barrier.get", { name }, options);
  }
}

/** The operations `join.*`. */
export class JoinOperations {
  /** @param {Caller} caller */
  constructor(caller) {
    this.caller = caller;
  }

  /**
   * Create a join over a group or a list of tasks.
   * @param {T.JoinCreateOptions & CallOptions} [options]
   * @returns {Promise<T.Join>}
   */
  create(options) {
    return this.caller.call("join.create", {}, options);
  }

  /**
   * Wait until a join is settled.
   * @param {T.JoinId} join - The join.
   * @param {T.JoinWaitOptions & CallOptions} [options]
   * @returns {Promise<T.JoinSettled>}
   */
  wait(join, options) {
    return this.caller.call("join.wait", { join }, options);
  }

  /**
   * Get a join.
   * @param {T.JoinId} join - The join.
   * @param {T.JoinGetOptions & CallOptions} [options]
   * @returns {Promise<T.Join>}
   */
  get(join, options) {
    return this.caller.call("join.get", { join }, options);
  }
}

/** The operations `pipeline.*`. */
export class PipelineOperations {
  /** @param {Caller} caller */
  constructor(caller) {
    this.caller = caller;
  }

  /**
   * Create a pipeline.
   * @param {T.PipelineName} pipeline - The name of the pipeline.
   * @param {T.StageDesign[]} stages - The stages. Each follows the one before it in this list, unless it has `after`.
   * @param {T.PipelineCreateOptions & CallOptions} [options]
   * @returns {Promise<T.Pipeline>}
   */
  create(pipeline, stages, options) {
    return this.caller.call("pipeline.create", { pipeline, stages }, options);
  }

  /**
   * Start a stage.
   * @param {T.PipelineName} pipeline - The pipeline.
   * @param {T.StageName} stage - The stage.
   * @param {T.PipelineStartStageOptions & CallOptions} [options]
   * @returns {Promise<T.Stage>}
   */
  startStage(pipeline, stage, options) {
    return this.caller.call("pipeline.start_stage", { pipeline, stage }, options);
  }

  /**
   * Complete a stage.
   * @param {T.PipelineName} pipeline - The pipeline.
   * @param {T.StageName} stage - The stage.
   * @param {T.PipelineCompleteStageOptions & CallOptions} [options]
   * @returns {Promise<T.StageMoved>}
   */
  completeStage(pipeline, stage, options) {
    return this.caller.call("pipeline.complete_stage", { pipeline, stage }, options);
  }

  /**
   * Decide on a stage that waits for review.
   * @param {T.PipelineName} pipeline - The pipeline.
   * @param {T.StageName} stage - The stage.
   * @param {T.Verdict} verdict - The verdict: `complete` accepts the output, `retry` makes the stage ready to be
   *   started again, and `fail` fails it.
   * @param {T.PipelineReviewStageOptions & CallOptions} [options]
   * @returns {Promise<T.StageMoved>}
   */
  reviewStage(pipeline, stage, verdict, options) {
    return this.caller.call("pipeline.review_stage", { pipeline, stage, verdict }, options);
  }

  /**
   * Fail a stage.
   * @param {T.PipelineName} pipeline - The pipeline.
   * @param {T.StageName} stage - The stage.
   * @param {T.Json} error - The error.
   * @param {T.PipelineFailStageOptions & CallOptions} [options]
   * @returns {Promise<T.Stage>}
   */
  failStage(pipeline, stage, error, options) {
    return this.caller.call("pipeline.fail_stage", { pipeline, stage, error }, options);
  }

  /**
   * Retry a failed stage.
   * @param {T.PipelineName} pipeline - The pipeline.
   * @param {T.StageName} stage - The stage.
   * @param {T.PipelineRetryStageOptions & CallOptions} [options]
   * @returns {Promise<T.Stage>}
   */
  retryStage(pipeline, stage, options) {
    return this.caller.call("pipeline.retry_stage", { pipeline, stage }, options);
  }

  /**
   * Skip a stage.
   * @param {T.PipelineName} pipeline - The pipeline.
   * @param {T.StageName} stage - The stage.
   * @param {T.PipelineSkipStageOptions & CallOptions} [options]
   * @returns {Promise<T.StageMoved>}
   */
  skipStage(pipeline, stage, options) {
    return this.caller.call("pipeline.skip_stage", { pipeline, stage }, options);
  }

  /**
   * Abort a pipeline.
   * @param {T.PipelineName} pipeline - The pipeline.
   * @param {T.PipelineAbortOptions & CallOptions} [options]
   * @returns {Promise<T.Pipeline>}
   */
  abort(pipeline, options) {
    return this.caller.call("pipeline.abort", { pipeline }, options);
  }

  /**
   * Delete a finished pipeline.
   * @param {T.PipelineName} pipeline - The pipeline.
   * @param {T.PipelineDeleteOptions & CallOptions} [options]
   * @returns {Promise<T.Pipeline>}
   */
  delete(pipeline, options) {
    return this.caller.call("pipeline.delete", { pipeline }, options);
  }

  /**
   * Get a pipeline.
   * @param {T.PipelineName} pipeline - The pipeline.
   * @param {T.PipelineGetOptions & CallOptions} [options]
   * @returns {Promise<T.Pipeline>}
   */
  get(pipeline, options) {
    return this.caller.call("pipeline.get", { pipeline }, options);
  }

  /**
   * Get the output of a stage.
   * @param {T.PipelineName} pipeline - The pipeline.
   * @param {T.StageName} stage - The stage.
   * @param {T.PipelineOutputOptions & CallOptions} [options]
   * @returns {Promise<T.StageOutput>}
   */
  output(pipeline, stage, options) {
    return this.caller.call("pipeline.output", { pipeline, stage }, options);
  }

  /**
   * List pipelines.
   * @param {T.PipelineListOptions & CallOptions} [options]
   * @returns {Promise<T.PipelinePipelines>}
   */
  list(options) {
    return this.caller.call("pipeline.list", {}, options);
  }

  /**
   * List pipelines: every item, page after page.
   * @param {T.PipelineListOptions & CallOptions} [options]
   * @returns {AsyncGenerator<T.PipelineSummary, void, void>}
   */
  listAll(options) {
    return pagesOf(this.caller, "pipeline.list", "pipelines", {}, options);
  }
}

/** The operations `checkpoint.*`. */
export class CheckpointOperations {
  /** @param {Caller} caller */
  constructor(caller) {
    this.caller = caller;
  }

  /**
   * Save a checkpoint of a task or another unit of work.
   * @param {T.TaskId} task - The task, or any other id of a unit of work.
   * @param {T.Json} state - The state: any JSON, stored byte for byte; with `content_type`, a string with bytes
   *   in Base64.
   * @param {T.CheckpointSaveOptions & CallOptions} [options]
   * @returns {Promise<T.Checkpoint>}
   */
  save(task, state, options) {
    return this.caller.call("checkpoint.save", { task, state }, options);
  }

  /**
   * Make a checkpoint the current one of its task and return it.
   * @param {T.CheckpointId} checkpoint - The checkpoint.
   * @param {T.CheckpointRestoreOptions & CallOptions} [options]
   * @returns {Promise<T.Checkpoint>}
   */
  restore(checkpoint, options) {
    return this.caller.call("checkpoint.restore", { checkpoint }, options);
  }

  /**
   * Start the checkpoints of another task with a copy of this one.
   * @param {T.CheckpointId} checkpoint - The checkpoint.
   * @param {T.TaskId} task - The new task, or other unit of work. It must not have checkpoints yet.
   * @param {T.CheckpointForkOptions & CallOptions} [options]
   * @returns {Promise<T.Checkpoint>}
   */
  fork(checkpoint, task, options) {
    return this.caller.call("checkpoint.fork", { checkpoint, task }, options);
  }

  /**
   * Set or remove the label of a checkpoint.
   * @param {T.CheckpointId} checkpoint - The checkpoint.
   * @param {T.CheckpointLabelOptions & CallOptions} [options]
   * @returns {Promise<T.Checkpoint>}
   */
  label(checkpoint, options) {
    return this.caller.call("checkpoint.label", { checkpoint }, options);
  }

  /**
   * Store pending writes after a checkpoint.
   * @param {T.TaskId} task - The task, or any other id of a unit of work.
   * @param {T.CheckpointKey} key - The key of the checkpoint. It need not be saved yet.
   * @param {string} writer - The step that writes: together with `index` it identifies a write.
   * @param {T.NewWrite[]} writes - The writes.
   * @param {T.CheckpointWriteOptions & CallOptions} [options]
   * @returns {Promise<T.CheckpointWritten>}
   */
  write(task, key, writer, writes, options) {
    return this.caller.call("checkpoint.write", { task, key, writer, writes }, options);
  }

  /**
   * Copy all checkpoints of a task to another one.
   * @param {T.TaskId} task - The task whose checkpoints are copied.
   * @param {T.TaskId} to - The other task, or other unit of work. It must not have checkpoints yet.
   * @param {T.CheckpointCopyOptions & CallOptions} [options]
   * @returns {Promise<T.CheckpointCopied>}
   */
  copy(task, to, options) {
    return this.caller.call("checkpoint.copy", { task, to }, options);
  }

  /**
   * Delete checkpoints of a task by number, age, metadata or key.
   * @param {T.TaskId} task - The task.
   * @param {T.CheckpointPruneOptions & CallOptions} [options]
   * @returns {Promise<T.CheckpointPruned>}
   */
  prune(task, options) {
    return this.caller.call("checkpoint.prune", { task }, options);
  }

  /**
   * Set a retention rule for checkpoints.
   * @param {T.CheckpointRetainOptions & CallOptions} [options]
   * @returns {Promise<T.CheckpointRules>}
   */
  retain(options) {
    return this.caller.call("checkpoint.retain", {}, options);
  }

  /**
   * Get the current checkpoint of a task.
   * @param {T.TaskId} task - The task.
   * @param {T.CheckpointLatestOptions & CallOptions} [options]
   * @returns {Promise<T.CheckpointLatestResult>}
   */
  latest(task, options) {
    return this.caller.call("checkpoint.latest", { task }, options);
  }

  /**
   * Get a checkpoint with its state.
   * @param {T.CheckpointId} checkpoint - The checkpoint.
   * @param {T.CheckpointGetOptions & CallOptions} [options]
   * @returns {Promise<T.Checkpoint>}
   */
  get(checkpoint, options) {
    return this.caller.call("checkpoint.get", { checkpoint }, options);
  }

  /**
   * List checkpoints, newest first, without their states.
   * @param {T.CheckpointListOptions & CallOptions} [options]
   * @returns {Promise<T.CheckpointCheckpoints>}
   */
  list(options) {
    return this.caller.call("checkpoint.list", {}, options);
  }

  /**
   * List checkpoints, newest first, without their states: every item, page after page.
   * @param {T.CheckpointListOptions & CallOptions} [options]
   * @returns {AsyncGenerator<T.Checkpoint, void, void>}
   */
  listAll(options) {
    return pagesOf(this.caller, "checkpoint.list", "checkpoints", {}, options);
  }

  /**
   * Read checkpoints by key, with states and pending writes.
   * @param {T.TaskId} task - The task.
   * @param {T.CheckpointHistoryOptions & CallOptions} [options]
   * @returns {Promise<T.CheckpointHistoryResult>}
   */
  history(task, options) {
    return this.caller.call("checkpoint.history", { task }, options);
  }

  /**
   * Read checkpoints by key, with states and pending writes: every item, page after page.
   * @param {T.TaskId} task - The task.
   * @param {T.CheckpointHistoryOptions & CallOptions} [options]
   * @returns {AsyncGenerator<T.Checkpoint, void, void>}
   */
  historyAll(task, options) {
    return pagesOf(this.caller, "checkpoint.history", "checkpoints", { task }, options);
  }

  /**
   * List the retention rules for checkpoints.
   * @param {T.CheckpointRetentionOptions & CallOptions} [options]
   * @returns {Promise<T.CheckpointRules>}
   */
  retention(options) {
    return this.caller.call("checkpoint.retention", {}, options);
  }
}

/** The operations `artifact.*`. */
export class ArtifactOperations {
  /** @param {Caller} caller */
  constructor(caller) {
    this.caller = caller;
  }

  /**
   * Delete an artifact that nothing references.
   * @param {T.ArtifactId} artifact - The artifact.
   * @param {T.ArtifactDeleteOptions & CallOptions} [options]
   * @returns {Promise<T.Artifact>}
   */
  delete(artifact, options) {
    return this.caller.call("artifact.delete", { artifact }, options);
  }

  /**
   * Get the metadata of an artifact and its references.
   * @param {T.ArtifactId} artifact - The artifact.
   * @param {T.ArtifactGetOptions & CallOptions} [options]
   * @returns {Promise<T.Artifact>}
   */
  get(artifact, options) {
    return this.caller.call("artifact.get", { artifact }, options);
  }

  /**
   * List artifacts.
   * @param {T.ArtifactListOptions & CallOptions} [options]
   * @returns {Promise<T.ArtifactArtifacts>}
   */
  list(options) {
    return this.caller.call("artifact.list", {}, options);
  }

  /**
   * List artifacts: every item, page after page.
   * @param {T.ArtifactListOptions & CallOptions} [options]
   * @returns {AsyncGenerator<T.Artifact, void, void>}
   */
  listAll(options) {
    return pagesOf(this.caller, "artifact.list", "artifacts", {}, options);
  }
}

/** The operations `secret.*`. */
export class SecretOperations {
  /** @param {Caller} caller */
  constructor(caller) {
    this.caller = caller;
  }

  /**
   * Delete a secret permanently.
   * @param {T.SecretId} secret - The secret.
   * @param {T.SecretDeleteOptions & CallOptions} [options]
   * @returns {Promise<T.SecretRecord>}
   */
  delete(secret, options) {
    return this.caller.call("secret.delete", { secret }, options);
  }

  /**
   * Get the metadata of a secret.
   * @param {T.SecretId} secret - The secret.
   * @param {T.SecretGetOptions & CallOptions} [options]
   * @returns {Promise<T.SecretRecord>}
   */
  get(secret, options) {
    return this.caller.call("secret.get", { secret }, options);
  }

  /**
   * List secrets, without their values.
   * @param {T.SecretListOptions & CallOptions} [options]
   * @returns {Promise<T.SecretSecrets>}
   */
  list(options) {
    return this.caller.call("secret.list", {}, options);
  }

  /**
   * List secrets, without their values: every item, page after page.
   * @param {T.SecretListOptions & CallOptions} [options]
   * @returns {AsyncGenerator<T.SecretRecord, void, void>}
   */
  listAll(options) {
    return pagesOf(this.caller, "secret.list", "secrets", {}, options);
  }
}

/** The operations `handoff.*`. */
export class HandoffOperations {
  /** @param {Caller} caller */
  constructor(caller) {
    this.caller = caller;
  }

  /**
   * Offer work to an agent, which may accept or reject it.
   * @param {T.Receiver} to - The receiver: an agent id, or `{"capability": name}` for the first agent that has
   *   the capability and accepts.
   * @param {T.HandoffOfferOptions & CallOptions} [options]
   * @returns {Promise<T.Handoff>}
   */
  offer(to, options) {
    return this.caller.call("handoff.offer", { to }, options);
  }

  /**
   * Offer work from another system, given as a portable context.
   * @param {T.TransferContext} context - The context, as `handoff.export` returns it or another system sends it.
   * @param {T.Receiver} to - The receiver: an agent id, or `{"capability": name}` for the first agent that has
   *   the capability and accepts.
   * @param {T.HandoffImportContextOptions & CallOptions} [options]
   * @returns {Promise<T.Handoff>}
   */
  importContext(context, to, options) {
    return this.caller.call("handoff.import_context", { context, to }, options);
  }

  /**
   * Hand over a task and state at once, without acceptance.
   * @param {T.Receiver} to - The receiver: an agent id, or `{"capability": name}` for the first agent that has
   *   the capability and accepts.
   * @param {T.HandoffExecuteOptions & CallOptions} [options]
   * @returns {Promise<T.Handoff>}
   */
  execute(to, options) {
    return this.caller.call("handoff.execute", { to }, options);
  }

  /**
   * Hand over all tasks and keys of the caller at once, without acceptance.
   * @param {T.AgentId} to - The receiver.
   * @param {T.HandoffExecuteAllOptions & CallOptions} [options]
   * @returns {Promise<T.HandoffHandoffs>}
   */
  executeAll(to, options) {
    return this.caller.call("handoff.execute_all", { to }, options);
  }

  /**
   * Check an offer against the rules without making it.
   * @param {T.Receiver} to - The receiver: an agent id, or `{"capability": name}` for the first agent that has
   *   the capability and accepts.
   * @param {T.HandoffValidateOptions & CallOptions} [options]
   * @returns {Promise<T.HandoffVerdict>}
   */
  validate(to, options) {
    return this.caller.call("handoff.validate", { to }, options);
  }

  /**
   * Receive the next hand-off, optionally waiting for one.
   * @param {T.HandoffReceiveOptions & CallOptions} [options]
   * @returns {Promise<T.HandoffReceived>}
   */
  receive(options) {
    return this.caller.call("handoff.receive", {}, options);
  }

  /**
   * Accept a hand-off.
   * @param {T.HandoffId} handoff - The hand-off.
   * @param {T.HandoffAcceptOptions & CallOptions} [options]
   * @returns {Promise<T.HandoffAccepted>}
   */
  accept(handoff, options) {
    return this.caller.call("handoff.accept", { handoff }, options);
  }

  /**
   * Reject a hand-off.
   * @param {T.HandoffId} handoff - The hand-off.
   * @param {T.HandoffRejectOptions & CallOptions} [options]
   * @returns {Promise<T.Handoff>}
   */
  reject(handoff, options) {
    return this.caller.call("handoff.reject", { handoff }, options);
  }

  /**
   * Complete an accepted hand-off.
   * @param {T.HandoffId} handoff - The hand-off.
   * @param {T.HandoffCompleteOptions & CallOptions} [options]
   * @returns {Promise<T.Handoff>}
   */
  complete(handoff, options) {
    return this.caller.call("handoff.complete", { handoff }, options);
  }

  /**
   * Cancel a hand-off.
   * @param {T.HandoffId} handoff - The hand-off.
   * @param {T.HandoffCancelOptions & CallOptions} [options]
   * @returns {Promise<T.Handoff>}
   */
  cancel(handoff, options) {
    return this.caller.call("handoff.cancel", { handoff }, options);
  }

  /**
   * Approve a hand-off.
   * @param {T.HandoffId} handoff - The hand-off.
   * @param {T.HandoffApproveOptions & CallOptions} [options]
   * @returns {Promise<T.Handoff>}
   */
  approve(handoff, options) {
    return this.caller.call("handoff.approve", { handoff }, options);
  }

  /**
   * Get a hand-off.
   * @param {T.HandoffId} handoff - The hand-off.
   * @param {T.HandoffGetOptions & CallOptions} [options]
   * @returns {Promise<T.Handoff>}
   */
  get(handoff, options) {
    return this.caller.call("handoff.get", { handoff }, options);
  }

  /**
   * List hand-offs.
   * @param {T.HandoffListOptions & CallOptions} [options]
   * @returns {Promise<T.HandoffHandoffs>}
   */
  list(options) {
    return this.caller.call("handoff.list", {}, options);
  }

  /**
   * List hand-offs: every item, page after page.
   * @param {T.HandoffListOptions & CallOptions} [options]
   * @returns {AsyncGenerator<T.Handoff, void, void>}
   */
  listAll(options) {
    return pagesOf(this.caller, "handoff.list", "handoffs", {}, options);
  }

  /**
   * List the hand-offs of a task, oldest first.
   * @param {T.TaskId} task - The task.
   * @param {T.HandoffHistoryOptions & CallOptions} [options]
   * @returns {Promise<T.HandoffHandoffs>}
   */
  history(task, options) {
    return this.caller.call("handoff.history", { task }, options);
  }

  /**
   * Export a hand-off as a portable context.
   * @param {T.HandoffId} handoff - The hand-off.
   * @param {T.HandoffExportOptions & CallOptions} [options]
   * @returns {Promise<T.TransferContext>}
   */
  export(handoff, options) {
    return this.caller.call("handoff.export", { handoff }, options);
  }

  /**
   * Get hand-off statistics.
   * @param {T.HandoffStatsOptions & CallOptions} [options]
   * @returns {Promise<T.HandoffStatistics>}
   */
  stats(options) {
    return this.caller.call("handoff.stats", {}, options);
  }

  /**
   * Wait until a hand-off has ended or has one of the given statuses.
   * @param {T.HandoffId} handoff - The hand-off.
   * @param {T.HandoffWaitOptions & CallOptions} [options]
   * @returns {Promise<T.WaitHandoff>}
   */
  wait(handoff, options) {
    return this.caller.call("handoff.wait", { handoff }, options);
  }
}

/** The operations `workspace.*`. */
export class WorkspaceOperations {
  /** @param {Caller} caller */
  constructor(caller) {
    this.caller = caller;
  }

  /**
   * Configure a workspace.
   * @param {T.WorkspaceConfigureOptions & CallOptions} [options]
   * @returns {Promise<T.WorkspaceWorkspace>}
   */
  configure(options) {
    return this.caller.call("workspace.configure", {}, options);
  }

  /**
   * Apply the changes of another copy of a workspace.
   * @param {T.CopyChanges} theirs - The changes of the other copy: its response to `workspace.changes` with this copy.
   * @param {T.CopyChanges} ours - The changes of this copy: its response to `workspace.changes` with the other copy,
   *   for the keys and namespaces in `theirs`.
   * @param {T.WorkspaceSyncOptions & CallOptions} [options]
   * @returns {Promise<T.SyncReport>}
   */
  sync(theirs, ours, options) {
    return this.caller.call("workspace.sync", { theirs, ours }, options);
  }

  /**
   * Get a workspace.
   * @param {T.WorkspaceGetOptions & CallOptions} [options]
   * @returns {Promise<T.WorkspaceWorkspace>}
   */
  get(options) {
    return this.caller.call("workspace.get", {}, options);
  }

  /**
   * List workspaces.
   * @param {T.WorkspaceListOptions & CallOptions} [options]
   * @returns {Promise<T.WorkspaceWorkspaces>}
   */
  workspaces(options) {
    return this.caller.call("workspace.list", {}, options);
  }

  /**
   * List workspaces: every item, page after page.
   * @param {T.WorkspaceListOptions & CallOptions} [options]
   * @returns {AsyncGenerator<T.ListedWorkspace, void, void>}
   */
  workspacesAll(options) {
    return pagesOf(this.caller, "workspace.list", "workspaces", {}, options);
  }

  /**
   * Fork a workspace from its state at a revision or time.
   * @param {T.WorkspaceName} to - The name of the new workspace.
   * @param {T.WorkspaceForkOptions & CallOptions} [options]
   * @returns {Promise<T.Forked>}
   */
  fork(to, options) {
    return this.caller.call("workspace.fork", { to }, options);
  }

  /**
   * Delete a workspace with its history.
   * @param {T.Revision} revision - A revision of the workspace, such as its current one. It identifies the workspace:
   *   one that was created under the same name since is not deleted.
   * @param {CallOptions} [options]
   * @returns {Promise<T.ListedWorkspace>}
   */
  delete(revision, options) {
    return this.caller.call("workspace.delete", { revision }, options);
  }

  /**
   * List what changed between two revisions or times.
   * @param {T.At} from - The revision or time to start after.
   * @param {T.WorkspaceDiffOptions & CallOptions} [options]
   * @returns {Promise<T.Differences>}
   */
  diff(from, options) {
    return this.caller.call("workspace.diff", { from }, options);
  }

  /**
   * List what changed between two revisions or times: every item, page after page.
   * @param {T.At} from - The revision or time to start after.
   * @param {T.WorkspaceDiffOptions & CallOptions} [options]
   * @returns {AsyncGenerator<T.Difference, void, void>}
   */
  diffAll(from, options) {
    return pagesOf(this.caller, "workspace.diff", "differences", { from }, options);
  }

  /**
   * List the changes of a copy that another copy does not include yet.
   * @param {T.WorkspaceChangesOptions & CallOptions} [options]
   * @returns {Promise<T.CopyChanges>}
   */
  changes(options) {
    return this.caller.call("workspace.changes", {}, options);
  }

  /**
   * Search tasks, messages, keys and events.
   * @param {string} query - Words, phrases in quotation marks, and fields such as `status:failed`; all must
   *   match.
   * @param {T.WorkspaceSearchOptions & CallOptions} [options]
   * @returns {Promise<T.Results>}
   */
  search(query, options) {
    return this.caller.call("workspace.search", { query }, options);
  }

  /**
   * Search tasks, messages, keys and events: every item, page after page.
   * @param {string} query - Words, phrases in quotation marks, and fields such as `status:failed`; all must
   *   match.
   * @param {T.WorkspaceSearchOptions & CallOptions} [options]
   * @returns {AsyncGenerator<T.Found, void, void>}
   */
  searchAll(query, options) {
    return pagesOf(this.caller, "workspace.search", "found", { query }, options);
  }

  /**
   * Explain what led to an entry, a task or a hand-off.
   * @param {string} subject - The subject: `state/shared/plan`, `tasks/t-7` or `handoffs/h-7`.
   * @param {T.WorkspaceWhyOptions & CallOptions} [options]
   * @returns {Promise<T.Explanation>}
   */
  why(subject, options) {
    return this.caller.call("workspace.why", { subject }, options);
  }
}
