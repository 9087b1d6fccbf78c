// Generated from spec/ by generate.mjs. Do not edit.
//
// The types of requests, results and events. There is no code in this file.


/**
 * A JSON value, typed as by `JSON.parse`.
 * @typedef {any} Json
 */

/**
 * The address of a request: an agent id, `{"handler": name}` or `{"capability": name}`.
 * @typedef {AgentId | { handler: HandlerName } | { capability: string }} Address
 */

/**
 * An agent.
 * @typedef {object} Agent
 * @property {string[]} capabilities - The capabilities of the agent.
 * @property {Timestamp | null} [ended_at] - When that session ended. Absent while it is active.
 * @property {AgentId} id - The id of the agent.
 * @property {Timestamp} last_seen_at - The last recorded sign of life: a heartbeat or another command of the agent. It is
 *   recorded when a quarter of `ttl_ms` has passed since the last one. Calls that change
 *   nothing, and calls that wait, renew the session without a record.
 * @property {Json} [metadata] - Metadata given at registration. Absent if none was given.
 * @property {AgentId | null} [parent] - The agent that supervises that session. Absent if there is none.
 * @property {Timestamp} registered_at - When that session started.
 * @property {AgentStatus} status - The status.
 * @property {Token} [token] - The token of the current session, or of the last one. Absent unless the caller is the
 *   agent, an operator or an admin.
 * @property {number} ttl_ms - Time to live of the session in milliseconds. Every accepted call of the agent renews it.
 */

/**
 * Id of an agent.
 * @typedef {string} AgentId
 */

/**
 * @typedef {object} AgentPrecondition
 * @property {boolean} active - Whether it must have a session.
 * @property {AgentId} agent - The agent.
 */

/**
 * The status of an agent.
 * @typedef {"active" | "left" | "lost"} AgentStatus
 */

/**
 * The reply to a request.
 * @typedef {object} Answered
 * @property {Json} body - The body of the reply.
 * @property {AgentId} from - The agent that replied.
 * @property {MessageId} request - The request.
 */

/**
 * The approval of a hand-off.
 * @typedef {object} Approval
 * @property {AgentId | null} [approved_by] - The agent that approved it. Absent if it is not approved.
 * @property {AgentId[]} [by] - The agents that may approve. If omitted, any agent except the giver and the receiver.
 * @property {Timestamp | null} [expires_at] - When the approval expires. Absent if it is not approved or does not expire.
 * @property {number | null} [expires_ms] - How long an approval is valid, in milliseconds. Absent if as long as the offer.
 */

/**
 * Whether a hand-off needs an approval, or the terms of that approval.
 * @typedef {boolean | ApprovalWanted} ApprovalTerms
 */

/**
 * The agents that must approve a hand-off, and how long an approval is valid.
 * @typedef {object} ApprovalWanted
 * @property {AgentId[]} [by] - The approvers. If omitted, any agent except the giver and the receiver.
 * @property {number | null} [expires_ms] - How long an approval is valid, in milliseconds. If omitted, as long as the offer.
 */

/**
 * The result of an arrival.
 * @typedef {object} Arrival
 * @property {number} arrived - The number of arrivals in the generation.
 * @property {number} count - The number of arrivals that opens it.
 * @property {Generation} generation - The generation that it counts for.
 * @property {BarrierName} name - The barrier.
 * @property {boolean} opened - Whether that generation has opened.
 */

/**
 * The metadata of an artifact.
 * @typedef {object} Artifact
 * @property {ArtifactId} artifact - The id: the SHA-256 of the bytes.
 * @property {number} bytes - The size in bytes.
 * @property {Timestamp | null} [expires_at] - When it is deleted unless something references it by then. Absent while it is referenced.
 * @property {string[]} [holders] - The first of these records, as subjects. Absent if there are none.
 * @property {number} keep_ms - How long it is kept while nothing references it, in milliseconds.
 * @property {MediaType} media_type - The media type.
 * @property {ContentName | null} [name] - File name for display. Absent if none was given.
 * @property {Timestamp} put_at - When it was last uploaded.
 * @property {AgentId} put_by - The agent that last uploaded it.
 * @property {number} references - The number of records that reference it.
 */

/**
 * Id of an artifact: the SHA-256 of its bytes.
 * @typedef {string} ArtifactId
 */

/**
 * The further fields of a request.
 * @typedef {object} Asked
 * @property {Address} address - The address of the request.
 * @property {Given | null} [answer] - The reply. Absent before the request is answered.
 * @property {Timestamp} deadline - Until when it can be answered.
 * @property {IdempotencyKey | null} [key] - The requester's idempotency key: a repeated request replaces the first. Absent if none was
 *   given.
 */

/**
 * A point in history: a revision, or a time (RFC 3339). A time selects the last revision up
 * to then, unless the field says otherwise.
 * @typedef {number | string} At
 */

/**
 * The delay before the next attempt: `initial_ms`, multiplied by `multiplier` after each
 * failure, up to `max_ms`, and randomised by the fraction `jitter` in both directions.
 * @typedef {object} Backoff
 * @property {number} [initial_ms] - The delay before the first retry in milliseconds.
 * @property {number} [jitter] - The fraction of random variation, 0 to 1, so that tasks that failed together are not
 *   retried together.
 * @property {number} [max_ms] - The maximum delay in milliseconds, before jitter.
 * @property {number} [multiplier] - The factor by which each delay grows; at least 1.
 */

/**
 * A barrier.
 * @typedef {object} Barrier
 * @property {AgentId[]} arrived - The agents that have arrived.
 * @property {number | null} [count] - The number of arrivals that opens it. Absent before the first arrival.
 * @property {Generation} generation - The current generation. Earlier ones have opened or were reset.
 * @property {BarrierName} name - The name of the barrier.
 * @property {number} waiting - The number of arrived agents with a waiting call.
 */

/**
 * Name of a barrier.
 * @typedef {string} BarrierName
 */

/**
 * How the dependency is known.
 * @typedef {"handoff" | "rule" | "stage" | "contract"} By
 */

/**
 * One link in the chain of events that led to something.
 * @typedef {object} Cause
 * @property {AgentId} agent - The agent that did it.
 * @property {HandoffId | null} [handoff] - The hand-off through which it arrived. Absent if there was none.
 * @property {Revision} revision - The revision.
 * @property {string} sentence - The event as a sentence.
 * @property {string} subject - The subject of the event.
 * @property {TaskId | null} [task] - The task that the agent worked on. Absent if there was none.
 * @property {Timestamp} time - The time.
 * @property {string} type - The event type, such as `state.set`.
 */

/**
 * One change of an entry.
 * @typedef {object} Change
 * @property {AgentId} agent - The agent that did it.
 * @property {Key} key - The key.
 * @property {NamespaceName} namespace - The namespace.
 * @property {Json} [new_value] - The new value. Absent if the entry was deleted.
 * @property {Json} [old_value] - The previous value. Absent if there was no entry.
 * @property {string} operation - The event type, such as `state.set`.
 * @property {Revision} revision - The revision.
 * @property {Source | null} [source] - The origin of a transferred value. Absent for other changes.
 * @property {Timestamp} time - The time.
 */

/**
 * How a subject changed.
 * @typedef {"created" | "changed" | "ended" | "passed"} ChangeOfSubject
 */

/**
 * The check of a rule, compiled. It is stored as its source.
 * @typedef {{ required_keys: string[] } | { schema: JsonSchema } | { expression: Expression } | { capability: string } | { receiver_alive: boolean } | { state_bytes_max: number } | { hops_max: number }} Check
 */

/**
 * A checkpoint.
 * @typedef {object} Checkpoint
 * @property {number} bytes - The size of the state in bytes.
 * @property {Checksum} checksum - The checksum of the state.
 * @property {StateType | null} [content_type] - The type of the state, if it is bytes. Absent if it is JSON.
 * @property {string | null} [description] - Human-readable description. Absent if none was given.
 * @property {CheckpointId} id - The id of the checkpoint.
 * @property {CheckpointKey | null} [key] - The key that its author gave it. Absent if none was given.
 * @property {CheckpointLabel | null} [label] - The label. Absent if it has none.
 * @property {Json} [metadata] - The metadata. Absent if none was given.
 * @property {number} number - The number within the task, starting at 1.
 * @property {CheckpointId | null} [parent] - The checkpoint that it continues. Absent if it is the first.
 * @property {CheckpointKey | null} [parent_key] - The key of the checkpoint that it continues, as its author gave it. Absent if none was
 *   given.
 * @property {Revision} revision - The revision of the commit that saved it.
 * @property {Timestamp} saved_at - When it was saved.
 * @property {AgentId} saved_by - The agent that saved it.
 * @property {Json} [state] - The state, byte for byte as it was saved; with `content_type`, a string in Base64. Absent
 *   in lists and in the answer to `checkpoint.save`.
 * @property {TaskId} task - The task, or any other id of a unit of work.
 * @property {PendingWrite[]} [writes] - The pending writes after it, by path, writer and index. Absent if there are none, in
 *   lists, and in answers to commands.
 */

/**
 * Id of a checkpoint.
 * @typedef {string} CheckpointId
 */

/**
 * Key of a checkpoint, which its author chose. Keys sort by their bytes.
 * @typedef {string} CheckpointKey
 */

/**
 * Label of a checkpoint.
 * @typedef {string} CheckpointLabel
 */

/**
 * A retention rule. Labelled checkpoints and heads are always kept.
 * @typedef {object} CheckpointRule
 * @property {number | null} [keep] - The number of newest checkpoints to keep per task; labelled ones are not counted. Absent
 *   if the number is not bounded.
 * @property {number | null} [max_age_ms] - The maximum age in milliseconds. Absent if the age is not bounded.
 * @property {Pattern} task - The tasks that it applies to.
 */

/**
 * CRC-32 of the bytes.
 * @typedef {string} Checksum
 */

/**
 * A CEL expression about `event` that must be true.
 * @typedef {string} Condition
 */

/**
 * Name of an artifact or a secret.
 * @typedef {string} ContentName
 */

/**
 * The context of an agent.
 * @typedef {object} Context
 * @property {ContextLeftOut[]} [left_out] - The items that were left out.
 * @property {ContextSection[]} sections - The parts of the text.
 * @property {string} text - The whole text, ready to be put into a prompt.
 * @property {number} token_budget - The maximum number of tokens.
 * @property {number} tokens - The number of tokens of the text.
 * @property {Traceparent | null} [traceparent] - W3C trace context (`traceparent`) of the task, to be continued; it is not part of the
 *   text. Absent if there is none.
 */

/**
 * The items that were left out of a context.
 * @typedef {object} ContextLeftOut
 * @property {number} tokens - The number of tokens that it would have had; 0 if unknown.
 * @property {string} what - The name of what was left out.
 * @property {ContextWhy} why - The reason.
 */

/**
 * A part of a context.
 * @typedef {object} ContextSection
 * @property {string[]} items - The names of what it contains.
 * @property {string} name - The name of the part.
 * @property {string} text - Its text.
 * @property {number} tokens - The number of tokens of the text.
 */

/**
 * Why something was left out.
 * @typedef {"budget" | "missing" | "not_examined"} ContextWhy
 */

/**
 * A key with its writers and readers.
 * @typedef {object} Contract
 * @property {string} key - `namespace/key`.
 * @property {PresentKey | null} [present] - The current state of the key. Absent if it does not exist.
 * @property {KeyReader[]} readers - The dependencies on it.
 * @property {string[]} writers - Agents, and `stage:PIPELINE/STAGE`.
 */

/**
 * Name of a contract.
 * @typedef {string} ContractName
 */

/**
 * A broken dependency, or one that would break.
 * @typedef {object} ContractProblem
 * @property {string[]} depended_on_by - The dependents.
 * @property {string} detail - A description in words.
 * @property {string} key - `namespace/key`.
 * @property {Trouble} problem - The kind of problem.
 */

/**
 * The terms that a receiver expects of one key, or of all keys that match a pattern.
 * @typedef {object} ContractTerms
 * @property {string[]} [fields] - Fields that the value contains: names, or JSON Pointers (RFC 6901) such as `/owner/name`.
 * @property {Pattern} key - `namespace/key`, or a pattern of such names.
 * @property {boolean} [optional] - Whether the entry may be deleted. If `false`, that breaks the contract.
 * @property {JsonSchema | null} [schema] - A JSON Schema that the value satisfies. If omitted, any value does.
 * @property {ValueKind | null} [type] - The JSON type of the value. If omitted, any.
 */

/**
 * The changes of a copy that another copy does not include yet.
 * @typedef {object} CopyChanges
 * @property {CopyId} copy - The copy.
 * @property {EntryChange[]} [entries] - The entries that changed, by namespace and key.
 * @property {boolean} [more] - Whether there are later changes.
 * @property {NamespaceChange[]} [namespaces] - The namespaces that changed or that `entries` are in, by name.
 * @property {OtherChanges[]} [others] - The other changes, which are not synchronized, by kind.
 * @property {Revision} revision - The revision that this reflects.
 * @property {Seen[]} [seen] - The revisions of other copies that the copy includes at `revision`.
 * @property {Seen[]} [seen_before] - The revisions of other copies that it included at `since`.
 * @property {Revision} since - The changes after this revision.
 * @property {Timestamp} time - The time of that revision.
 * @property {WorkspaceName} workspace - The name of the workspace.
 */

/**
 * Id of a copy of a workspace.
 * @typedef {string} CopyId
 */

/**
 * Tasks by status. Only finished tasks that are still kept are counted.
 * @typedef {object} Counts
 * @property {number} blocked - Pending tasks that wait for another task.
 * @property {number} cancelled - Cancelled tasks.
 * @property {number} completed - Completed tasks.
 * @property {number} delayed - Pending tasks whose start time has not come.
 * @property {number} failed - Failed tasks.
 * @property {number} [handed_off] - Tasks that were handed to an agent that has not claimed them yet.
 * @property {number} in_progress - Tasks with a lease.
 * @property {number} pending - Pending: `ready`, `delayed` and `blocked` together.
 * @property {number} ready - Pending tasks that can be claimed now.
 * @property {number} waiting_review - Tasks that wait for review.
 */

/**
 * A declared contract.
 * @typedef {object} DeclaredContract
 * @property {Timestamp} declared_at - When it was declared.
 * @property {ContractTerms[]} keys - The keys, with what is expected of them.
 * @property {ContractName} name - The name of the contract.
 * @property {OnBreak} on_break - The effect on a command that would break the contract.
 * @property {AgentId} owner - The agent that declared it and depends on the keys.
 * @property {Revision} revision - The revision of the last change.
 */

/**
 * A delivery to a receiver.
 * @typedef {object} Delivery
 * @property {AgentId} receiver - The receiver.
 * @property {Timestamp} until - When it is delivered again unless it is answered.
 */

/**
 * The changes of one subject.
 * @typedef {object} Difference
 * @property {ChangeOfSubject} change - How it changed.
 * @property {number} count - The number of events.
 * @property {Happened[]} events - The last events, oldest first.
 * @property {Json} [new_value] - For an entry, the new value. Absent if the entry was deleted.
 * @property {Json} [old_value] - For an entry, the previous value. Absent if there was no entry.
 * @property {string} subject - The subject, such as `tasks/t-7` or `state/shared/plan`.
 */

/**
 * A page of the changes between two revisions or times.
 * @typedef {object} Differences
 * @property {string | null} [cursor] - The cursor of the next page. Absent on the last page.
 * @property {Difference[]} differences - The changes, by subject.
 * @property {Revision} from - The revision after which they start.
 * @property {Revision} to - The last revision.
 */

/**
 * A write: the copy and the revision that made it.
 * @typedef {object} Dot
 * @property {CopyId} copy - The copy.
 * @property {Revision} revision - Its revision.
 */

/**
 * Statistics of durations. Percentiles are accurate to within an eighth.
 * @typedef {object} Durations
 * @property {number} average_ms - Their average in milliseconds.
 * @property {number} count - The number of durations.
 * @property {number} max_ms - The maximum in milliseconds.
 * @property {number} [min_ms] - The minimum in milliseconds.
 * @property {number} p50_ms - The median in milliseconds.
 * @property {number} p95_ms - The 95th percentile in milliseconds.
 * @property {number} p99_ms - The 99th percentile in milliseconds.
 * @property {number} [total_ms] - Their sum in milliseconds.
 */

/**
 * An entry of shared state.
 * @typedef {object} Entry
 * @property {string} checksum - CRC-32 of the value, as `crc32:` and eight hexadecimal digits.
 * @property {boolean} [ephemeral] - Whether it is deleted when the session of its author ends. Absent if `false`.
 * @property {Timestamp | null} [expires_at] - When it expires. Absent if it does not.
 * @property {Key} key - The key.
 * @property {NamespaceName} namespace - The namespace.
 * @property {Revision} revision - The revision of the last change.
 * @property {Timestamp} updated_at - When it was last written.
 * @property {AgentId} updated_by - The agent that last wrote it.
 * @property {Json} value - The value.
 * @property {Version} version - The version, which grows by one with every change. A new key starts at 1; one that was
 *   deleted continues after its last version, and in a workspace whose name was used by a
 *   deleted one, new keys start above the versions there.
 * @property {Warning[]} [warnings] - Warnings about the write. Absent if there are none.
 */

/**
 * An entry that changed.
 * @typedef {object} EntryChange
 * @property {Timestamp | null} [expires_at] - When it expires. Absent if it does not.
 * @property {Key} key - The key.
 * @property {NamespaceName} namespace - The namespace.
 * @property {Json} [value] - Its value. Absent if it was deleted.
 * @property {Json} [was] - Its value at `since`. Absent if there was none.
 * @property {Written} written - Its last change.
 */

/**
 * @typedef {object} EntryPrecondition
 * @property {boolean | null} [exists] - Whether the entry must exist. If omitted, not checked.
 * @property {Key} key - The key.
 * @property {NamespaceName} namespace - The namespace.
 * @property {Json} [value] - The entry must have this value. `null` means the value null, not that there is no entry:
 *   use `exists` for that. If omitted, not checked.
 * @property {Version | null} [version] - The entry must have this version; 0 means that it must not exist. If omitted, not checked.
 */

/**
 * The order of events.
 * @typedef {"newest" | "oldest"} EventOrder
 */

/**
 * A page of events. It may have fewer results than requested, or none, and not be the last:
 * only the last page has no cursor.
 * @typedef {object} EventPage
 * @property {string | null} [cursor] - The cursor of the next page. Absent on the last page.
 * @property {Json[]} events - The events, as watches deliver them.
 * @property {Revision} oldest - Events up to this revision are no longer kept.
 */

/**
 * Type of a user event: words with dots between them.
 * @typedef {string} EventType
 */

/**
 * The word `all`.
 * @typedef {"all"} Every
 */

/**
 * The causes of the state of something, latest first.
 * @typedef {object} Explanation
 * @property {Cause[]} causes - The causes, latest first.
 * @property {boolean} complete - Whether the list reaches back to the first cause. If not, earlier history is no longer
 *   kept, or the chain is longer than the limit.
 * @property {Revision} revision - The revision that the explanation reflects.
 * @property {string} subject - The subject that is explained.
 */

/**
 * A CEL expression that must be true.
 * @typedef {string} Expression
 */

/**
 * One reason.
 * @typedef {object} Fact
 * @property {AgentId | null} [agent] - The agent that it is about. Absent if there is none.
 * @property {Timestamp | null} [at] - The time that it is about. Absent if there is none.
 * @property {string} code - A stable code, such as `waits_for`, `delayed` or `no_capable_agent`.
 * @property {string} detail - The reason as part of a sentence.
 * @property {TaskId | null} [task] - The other task that it is about. Absent if there is none.
 */

/**
 * A reason of failed attempts.
 * @typedef {object} Failure
 * @property {number} count - The number of failed attempts.
 * @property {string} reason - The `code`, `reason` or `type` of the error, or its text; `other` for all rare ones.
 */

/**
 * A violation that a rule found.
 * @typedef {object} Finding
 * @property {boolean} [broken] - Whether the rule could not be evaluated. It then counts as an error, whatever its
 *   severity. Absent if `false`.
 * @property {string} detail - The violation, in words.
 * @property {RuleName} rule - The rule.
 */

/**
 * A new workspace that was created from another.
 * @typedef {object} Forked
 * @property {WorkspaceName} id - The name of the workspace.
 * @property {Origin} origin - Its origin.
 * @property {Revision} revision - The revision with which it starts.
 */

/**
 * A search result.
 * @typedef {object} Found
 * @property {Timestamp | null} [created_at] - When it was created. Absent for keys.
 * @property {Record<string, string>} fields - The fields that it can be found by.
 * @property {SearchKind} kind - The kind.
 * @property {Revision} revision - The revision of the last change, or of the event.
 * @property {string} subject - The subject: `tasks/t-7`, `inbox/bob/m-7` or `state/shared/plan`.
 * @property {Timestamp} updated_at - The time of that revision.
 */

/**
 * Frames that were read.
 * @typedef {object} Frames
 * @property {StreamFrame[]} frames - The frames, in order.
 * @property {number} next - The offset to read next.
 * @property {StreamStatus} status - Whether more frames may follow.
 * @property {StreamName} stream - The stream.
 */

/**
 * Generation of a barrier, counted from 1.
 * @typedef {number} Generation
 */

/**
 * The reply to a request: a body or an error.
 * @typedef {object} Given
 * @property {Json} [body] - The body. Absent if the reply is an error.
 * @property {Json} [error] - The error. Absent if the reply has a body.
 */

/**
 * Name of a group of tasks.
 * @typedef {string} GroupName
 */

/**
 * An agent that is registered for a handler.
 * @typedef {object} Handler
 * @property {AgentId} agent - The agent.
 * @property {HandlerName} handler - The handler.
 * @property {Timestamp} since - When it was registered.
 */

/**
 * Name of a handler of requests.
 * @typedef {string} HandlerName
 */

/**
 * A hand-off.
 * @typedef {object} Handoff
 * @property {Approval | null} [approval] - The required approval. Absent if none is required.
 * @property {Json} [artifacts] - References to what the work has produced. Absent if not given.
 * @property {Record<string, Json>} [changes] - The changed members of `state`. Absent if there are none.
 * @property {string} content - Digest of what the receiver gets and of the progress of the task; equal digests mean that
 *   nothing has changed.
 * @property {boolean} [copy] - Whether the giver keeps its own keys and the receiver gets copies. Absent if `false`.
 * @property {Timestamp} created_at - When it was offered.
 * @property {Timestamp} deadline - When the offer expires.
 * @property {number} [deliveries] - The number of deliveries.
 * @property {Delivery | null} [delivery] - The current delivery. Absent if it is not delivered.
 * @property {string} digest - Digest of the proposal; an approval is bound to it.
 * @property {Timestamp | null} [ended_at] - When it ended. Absent before that.
 * @property {Json} [error] - The error. Absent unless it failed.
 * @property {AgentId} from - The giver.
 * @property {number} hops - How often the task was handed over before.
 * @property {HandoffId} id - The id of the hand-off.
 * @property {Selected[]} [keys] - Keys and patterns of keys that are handed over. Absent if there are none.
 * @property {Json} [notes] - Further notes. Absent if not given.
 * @property {OnLoop | null} [on_loop] - The action if the task is handed around in a loop. Absent if not given.
 * @property {Json} [output_keys] - Names of what the work has produced. Absent if not given.
 * @property {Passage | null} [passage] - The stages of a pipeline between which it happened. Absent if it did not.
 * @property {string | null} [reason] - The reason. Absent if not given.
 * @property {Receipt | null} [receipt] - The task and keys that the receiver got. Absent before acceptance.
 * @property {AgentId | null} [receiver] - The agent that accepted it. Absent before that.
 * @property {number} redeliver_ms - How long after a delivery without an answer it is delivered again, in milliseconds.
 * @property {Json} [remaining_work] - Remaining work. Absent if not given.
 * @property {Json} [result] - The result. Absent if there is none.
 * @property {Record<string, Json>} [state] - Context as a flat object. Absent if empty.
 * @property {HandoffStatus} status - The status.
 * @property {Step[]} steps - The steps so far.
 * @property {TaskId | null} [task] - The task that is handed over. Absent if there is none.
 * @property {Receiver} to - The receiver: an agent id, or `{"capability": name}`.
 * @property {Traceparent | null} [traceparent] - W3C trace context (`traceparent`). Absent if not given.
 * @property {Timestamp} updated_at - When it was last changed.
 * @property {Finding[]} [warnings] - Findings of rules that did not stop it. Absent if there are none.
 * @property {Json} [work_completed] - Completed work. Absent if not given.
 */

/**
 * Id of a hand-off.
 * @typedef {string} HandoffId
 */

/**
 * @typedef {object} HandoffPrecondition
 * @property {HandoffId} handoff - The hand-off.
 * @property {HandoffStatus} status - The status that it must have.
 */

/**
 * Statistics about the hand-offs of a workspace.
 * @typedef {object} HandoffStatistics
 * @property {Durations} acceptance - Durations from offer to acceptance.
 * @property {number} accepted - The number that were accepted and are not completed.
 * @property {number} cancelled - The number that were cancelled.
 * @property {number} completed - The number that were completed.
 * @property {number} count - The total number.
 * @property {Durations} durations - Durations from offer to end.
 * @property {number} expired - The number that expired.
 * @property {number} failed - The number that failed.
 * @property {number} open - The number that can still be accepted.
 * @property {Pair[]} [pairs] - The same per pair of agents, most frequent first. Absent if there are none.
 * @property {number} rejected - The number that were rejected.
 * @property {number} success_rate - The share of completed ones among those that ended; 0 if none has.
 * @property {number} validation_errors - The number that failed because of a rule.
 */

/**
 * The status of a hand-off.
 * @typedef {"offered" | "approved" | "delivered" | "accepted" | "rejected" | "expired" | "cancelled" | "completed" | "failed"} HandoffStatus
 */

/**
 * One event in short.
 * @typedef {object} Happened
 * @property {AgentId} agent - The agent that did it.
 * @property {Revision} revision - The revision.
 * @property {Timestamp} time - The time.
 * @property {string} type - The event type, such as `task.claimed`.
 */

/**
 * A held lock.
 * @typedef {object} Hold
 * @property {Timestamp} acquired_at - When it was acquired.
 * @property {Timestamp} expires_at - When it expires unless it is renewed.
 * @property {AgentId} holder - The holder.
 * @property {LockName} name - The lock.
 * @property {Token} [token] - The fencing token of the hold. Absent unless the caller is the holder, an operator or an
 *   admin.
 * @property {number} ttl_ms - The time to live in milliseconds that a renewal grants.
 */

/**
 * Idempotency key: repeating a request with the same key has no second effect.
 * @typedef {string} IdempotencyKey
 */

/**
 * A join.
 * @typedef {object} Join
 * @property {Timestamp} created_at - When it was created.
 * @property {AgentId} created_by - The agent that created it.
 * @property {Timestamp | null} [deadline] - The deadline. Absent if there is none.
 * @property {GroupName | null} [group] - The group. Absent if tasks are named.
 * @property {JoinId} id - The id of the join.
 * @property {Part[]} members - The tasks in the order they were named, or in order of creation in the group.
 * @property {Need} need - The condition.
 * @property {string | null} [reason] - Why it failed, in words. Absent unless it failed.
 * @property {Timestamp | null} [settled_at] - When it settled. Absent while it is waiting.
 * @property {JoinStatus} status - The status.
 */

/**
 * Id of a join.
 * @typedef {string} JoinId
 */

/**
 * The status of a join.
 * @typedef {"waiting" | "satisfied" | "failed" | "expired"} JoinStatus
 */

/**
 * A JSON Schema without external references.
 * @typedef {Record<string, Json> | boolean} JsonSchema
 */

/**
 * Key of an entry within its namespace.
 * @typedef {string} Key
 */

/**
 * A key as `namespace/key`.
 * @typedef {string} KeyName
 */

/**
 * A dependency on a key.
 * @typedef {object} KeyReader
 * @property {By} by - How the dependency is known.
 * @property {ValueKind | null} [kind] - The JSON type that was received or declared. Absent if not known.
 * @property {Version | null} [version] - The version that was received. Absent if not known.
 * @property {string} who - An agent or a pattern of agents, `rule:NAME`, or `stage:PIPELINE/STAGE`.
 */

/**
 * Rules for the keys that match a pattern.
 * @typedef {object} KeyRules
 * @property {Pattern} pattern - The keys.
 * @property {Rules} rules - The rules for these keys.
 */

/**
 * The category of an error, which determines HTTP status and exit code.
 * @typedef {"invalid" | "denied" | "not_found" | "conflict" | "stale" | "too_large" | "exhausted" | "unavailable"} Kind
 */

/**
 * A copy, and what it includes of others.
 * @typedef {object} Known
 * @property {CopyId} copy - The copy.
 * @property {Seen[]} [seen] - The revisions of other copies that it includes.
 */

/**
 * The right to work on a task for a limited time.
 * @typedef {object} Lease
 * @property {boolean} [abandoned] - Whether the session of the holder has ended: the token is invalid, and the task can only
 *   be taken over by the hand-off. Absent if `false`.
 * @property {Timestamp} claimed_at - When it was claimed.
 * @property {Timestamp} expires_at - When it expires unless it is renewed.
 * @property {HandoffId | null} [handoff] - The hand-off that offers the task; until that is settled the lease does not expire. Absent
 *   if there is none.
 * @property {AgentId} holder - The holder.
 * @property {number} lease_ms - The lease in milliseconds that a renewal grants.
 * @property {Token} [token] - The fencing token, which every later call about the task must carry. Absent unless the
 *   caller is the holder, an operator or an admin.
 */

/**
 * A key that the receiver did not get.
 * @typedef {object} LeftOut
 * @property {KeyName} key - `namespace/key` as it was selected.
 * @property {string} reason - `missing`, or `too_large` to be part of the answer.
 */

/**
 * One edge of a deadlock: each agent waits for the next.
 * @typedef {object} Link
 * @property {AgentId} agent - The agent that waits.
 * @property {AgentId} held_by - The holder of that lock.
 * @property {LockName} waits_for - The lock that it waits for.
 */

/**
 * A workspace in a list.
 * @typedef {object} ListedWorkspace
 * @property {WorkspaceName} id - The name of the workspace.
 * @property {Revision} revision - The revision of its last change.
 */

/**
 * A lock.
 * @typedef {object} Lock
 * @property {Hold | null} [hold] - The hold. Absent if the lock is free.
 * @property {LockName} name - The name of the lock.
 * @property {LockStatus} status - Whether it is held.
 * @property {Wait[]} waiters - The wait queue, first in line first.
 */

/**
 * Name of a lock.
 * @typedef {string} LockName
 */

/**
 * @typedef {object} LockPrecondition
 * @property {boolean | null} [held] - Whether an agent must hold it. If omitted, not checked.
 * @property {AgentId | null} [holder] - The agent that must hold it. If omitted, not checked.
 * @property {LockName} name - The name of the lock.
 */

/**
 * Whether a lock is held.
 * @typedef {"held" | "free"} LockStatus
 */

/**
 * How a workspace came from another.
 * @typedef {"fork" | "import"} Manner
 */

/**
 * Media type of an artifact.
 * @typedef {string} MediaType
 */

/**
 * How the server combines a written value with the existing one.
 * @typedef {"last_write_wins" | "reject" | "json_merge" | "append" | "union" | "counter" | "max"} Merge
 */

/**
 * A message.
 * @typedef {object} Message
 * @property {Json} body - The body.
 * @property {Timestamp | null} [delivered_at] - When it was last delivered. Absent if it never was.
 * @property {number} deliveries - The number of deliveries.
 * @property {Timestamp | null} [ended_at] - When it was acknowledged, answered, expired or lost. Absent before that.
 * @property {Timestamp | null} [expires_at] - When it expires unless it is acknowledged. Absent if it does not expire.
 * @property {AgentId} from - The sender.
 * @property {MessageId} id - The id of the message. Ids sort by time.
 * @property {boolean | null} [keep] - `false` if it is a live request, which is only in memory. Absent for everything that is
 *   kept.
 * @property {Timestamp | null} [redeliver_at] - When it is delivered again unless it is acknowledged. Absent unless it is delivered.
 * @property {MessageId | null} [reply_to] - The message that it answers. Absent if there is none.
 * @property {Asked | null} [request] - Further fields of a request. Absent for other messages.
 * @property {Revision} [revision] - The revision of the last change.
 * @property {Timestamp} sent_at - When it was sent.
 * @property {MessageStatus} status - The status.
 * @property {MessageId} thread - The first message of its conversation; its own id if it starts one.
 * @property {AgentId} to - The owner of the inbox.
 * @property {Traceparent | null} [traceparent] - W3C trace context (`traceparent`), to be continued by the receiver. Absent if none was
 *   given.
 * @property {Timestamp} [updated_at] - When it was last changed.
 */

/**
 * Id of a message.
 * @typedef {string} MessageId
 */

/**
 * The status of a message.
 * @typedef {"waiting" | "delivered" | "dead" | "acked" | "replied" | "expired" | "timed_out" | "lost"} MessageStatus
 */

/**
 * The answer to a write with `return: minimal`.
 * @typedef {object} Minimal
 * @property {string | null} [id] - The id of the task, message, hand-off, join or checkpoint. Absent for other records.
 * @property {Task | null} [next] - The task that was claimed in the same commit, in full. Absent if there is none.
 * @property {string | null} [status] - The status of the task, message, hand-off or session. Absent for other records.
 * @property {Token | null} [token] - The fencing token of the caller's lease or session. Absent if it has none.
 * @property {Version | null} [version] - The version of the entry. Absent for other records.
 * @property {Warning[]} [warnings] - Warnings about the call. Absent if there are none.
 */

/**
 * A namespace.
 * @typedef {object} Namespace
 * @property {Timestamp} created_at - When it was created.
 * @property {AgentId} created_by - The agent that created it.
 * @property {NamespaceName} name - The name.
 * @property {Revision} revision - The revision that created it or last changed its rules.
 * @property {Rules} rules - The rules for writes.
 */

/**
 * A namespace in a document.
 * @typedef {object} NamespaceChange
 * @property {NamespaceName} name - The name.
 * @property {Rules | null} [rules] - Its rules. Absent if there is no such namespace.
 * @property {Written | null} [written] - Its last change. Absent if it has not changed.
 */

/**
 * Name of a namespace of shared state.
 * @typedef {string} NamespaceName
 */

/**
 * @typedef {object} NamespacePrecondition
 * @property {boolean} exists - Whether it must exist.
 * @property {NamespaceName} name - The name of the namespace.
 */

/**
 * The condition that a join waits for.
 * @typedef {number | Every} Need
 */

/**
 * One write of a step.
 * @typedef {object} NewWrite
 * @property {string} channel - The channel that is written to, as the caller names it.
 * @property {StateType | null} [content_type] - The type of the bytes. If omitted, the value is JSON.
 * @property {number} index - Its index among the writes of the step.
 * @property {boolean} [replace] - Replace a write with the same writer and index. If `false`, the existing write is kept.
 * @property {Json} value - The value: any JSON; with `content_type`, a string with bytes in Base64.
 */

/**
 * Claims the next task in the same commit that completes one.
 * @typedef {object} Next
 * @property {string[] | null} [capabilities] - The capabilities of the caller. If omitted, those of its session.
 * @property {number | null} [lease_ms] - The lease in milliseconds, unless it is renewed.
 * @property {TaskType[] | null} [types] - Only tasks of these types. If omitted, any type.
 */

/**
 * The effect on a command that would break a contract.
 * @typedef {"warn" | "refuse"} OnBreak
 */

/**
 * The action on a task after its last attempt has failed.
 * @typedef {"fail" | "review" | { agent: AgentId }} OnExhausted
 */

/**
 * The action if a task is handed around in a loop.
 * @typedef {"refuse" | "review"} OnLoop
 */

/**
 * The origin of a workspace that did not start empty.
 * @typedef {object} Origin
 * @property {AgentId} by - The agent that requested it.
 * @property {CopyId | null} [copy] - The copy that it came from, for `workspace.sync`. Absent if an older version recorded the
 *   origin.
 * @property {Manner} manner - How it was created.
 * @property {Revision} revision - The revision of that workspace.
 * @property {Timestamp} time - The time of that revision.
 * @property {WorkspaceName} workspace - The workspace whose content it started with.
 */

/**
 * How much of one kind changed that is not synchronized.
 * @typedef {object} OtherChanges
 * @property {number} count - How many changed.
 * @property {string} kind - The kind, such as `tasks`; `ephemeral` for entries that are bound to a session.
 */

/**
 * A page of entries.
 * @typedef {object} Page
 * @property {string | null} [cursor] - The cursor of the next page. Absent on the last page.
 * @property {Entry[]} entries - The entries, by namespace and key.
 * @property {Revision} revision - The revision that the page reflects.
 */

/**
 * Statistics about the hand-offs from one agent to another.
 * @typedef {object} Pair
 * @property {number} completed - The number that were completed.
 * @property {number} count - The total number.
 * @property {Durations} durations - Durations from offer to end.
 * @property {number} ended_otherwise - The number that ended otherwise.
 * @property {AgentId} from - The giver.
 * @property {string} to - The receiver as addressed: an agent, or a capability.
 */

/**
 * A task in a join.
 * @typedef {object} Part
 * @property {Json} [error] - The error of the task. Absent if it did not fail.
 * @property {boolean} late - Whether the task finished after the join had settled.
 * @property {boolean} [omitted] - Whether the result is too large to be copied here; read it from the task. Absent if
 *   `false`.
 * @property {Json} [result] - The result of the task. Absent if it has none.
 * @property {TaskStatus} status - The status of the task.
 * @property {TaskId} task - The task.
 */

/**
 * The stages of a pipeline between which a hand-off happened.
 * @typedef {object} Passage
 * @property {StageName} from_stage - The completed stage.
 * @property {number | null} [omitted_bytes] - The size of the output in bytes, if it is too large for `state`. Absent if it is not.
 * @property {PipelineName} pipeline - The pipeline.
 * @property {StageName} to_stage - The stage that was started.
 */

/**
 * A pattern: `*` matches any text within a segment, `**` any text.
 * @typedef {string} Pattern
 */

/**
 * A pending write as callers see it.
 * @typedef {object} PendingWrite
 * @property {string} channel - The channel that is written to.
 * @property {StateType | null} [content_type] - The type of the bytes. Absent if the value is JSON.
 * @property {number} index - Its index among the writes of the step.
 * @property {string} [path] - The place of the step. Absent if none was given.
 * @property {Json} value - The value: JSON; with `content_type`, a string with bytes in Base64.
 * @property {string} writer - The step that wrote it.
 */

/**
 * A held permit.
 * @typedef {object} Permit
 * @property {Timestamp} acquired_at - When it was acquired.
 * @property {Timestamp} expires_at - When it expires unless it is renewed.
 * @property {AgentId} holder - The holder.
 * @property {SemaphoreName} name - The semaphore.
 * @property {Token} [token] - The fencing token of the permit. Absent unless the caller is the holder, an operator or an
 *   admin.
 * @property {number} ttl_ms - The time to live in milliseconds that a renewal grants.
 * @property {number} [weight] - How many permits of the semaphore it takes.
 */

/**
 * A call that waits for a permit.
 * @typedef {object} PermitWait
 * @property {AgentId} agent - The agent that waits.
 * @property {WaitId} id - The waiting call.
 * @property {Timestamp} since - When it started to wait.
 * @property {Timestamp} until - When the wait times out.
 * @property {number} [weight] - How many permits it waits for.
 */

/**
 * A pipeline.
 * @typedef {object} Pipeline
 * @property {boolean} automatic - Whether a task is created for every stage that becomes ready.
 * @property {Timestamp} created_at - When it was created.
 * @property {AgentId} created_by - The agent that created it.
 * @property {StageName[]} current - The stages that are running.
 * @property {Timestamp | null} [finished_at] - When it was completed, failed or aborted. Absent before that.
 * @property {Json} [input] - The input of the first stages. Absent if not given.
 * @property {Json} [metadata] - An object with free-form metadata. Absent if not given.
 * @property {PipelineName} name - The name of the pipeline.
 * @property {StageName[]} ready - The stages that can be started.
 * @property {string | null} [reason] - Why it was aborted. Absent if no reason was given.
 * @property {Revision} revision - The revision of the last change.
 * @property {Stage[]} stages - Its stages, in the order they were defined.
 * @property {Timestamp | null} [started_at] - When its first stage was started. Absent before that.
 * @property {PipelineStatus} status - The status.
 * @property {Traceparent | null} [traceparent] - W3C trace context (`traceparent`) of the pipeline and its tasks. Absent if not given.
 * @property {Timestamp} updated_at - When it was last changed.
 */

/**
 * Name of a pipeline.
 * @typedef {string} PipelineName
 */

/**
 * The status of a pipeline.
 * @typedef {"created" | "running" | "completed" | "failed" | "aborted"} PipelineStatus
 */

/**
 * A pipeline in a list.
 * @typedef {object} PipelineSummary
 * @property {boolean} automatic - Whether a task is created for every stage that becomes ready.
 * @property {Timestamp} created_at - When it was created.
 * @property {AgentId} created_by - The agent that created it.
 * @property {StageName[]} current - The stages that are running.
 * @property {number} done - The number of stages that are completed or skipped.
 * @property {StageName[]} failed - The stages that have failed.
 * @property {Timestamp | null} [finished_at] - When it was completed, failed or aborted. Absent before that.
 * @property {PipelineName} name - The name of the pipeline.
 * @property {StageName[]} ready - The stages that can be started.
 * @property {number} stages - The number of stages.
 * @property {PipelineStatus} status - The status.
 * @property {Timestamp} updated_at - When it was last changed.
 */

/**
 * A precondition of a transaction.
 * @typedef {{ entry: EntryPrecondition } | { namespace: NamespacePrecondition } | { agent: AgentPrecondition } | { task: TaskPrecondition } | { lock: LockPrecondition } | { handoff: HandoffPrecondition } | { token: Token } | { revision: Revision }} Precondition
 */

/**
 * The current state of a key.
 * @typedef {object} PresentKey
 * @property {ValueKind} kind - The JSON type of the value.
 * @property {Version} version - The version.
 */

/**
 * An error. Further members are facts about it.
 * @typedef {object} Problem
 * @property {string} code - Error code, stable across releases.
 * @property {string} detail - A description of the error, as a sentence.
 * @property {string} hint - The next step, as a sentence.
 * @property {Kind} kind - The category of the error.
 * @property {number} status - The HTTP status.
 * @property {string} title - The title of the HTTP status.
 * @property {string} type - The documentation of the error code.
 */

/**
 * The progress of a task.
 * @typedef {object} Progress
 * @property {Timestamp} at - When it was reported.
 * @property {number} fraction - The completed fraction, 0 to 1.
 * @property {string | null} [note] - A note in words. Absent if not given.
 */

/**
 * The result of `topic.publish`.
 * @typedef {object} Published
 * @property {boolean} durable - Whether it was recorded.
 * @property {number} posts - The number of recorded messages of the topic.
 * @property {TopicName} topic - The topic.
 */

/**
 * A reaction.
 * @typedef {object} Reaction
 * @property {Timestamp} added_at - When it was added.
 * @property {AgentId} added_by - The agent that added it, as which it runs.
 * @property {boolean} [built_in] - Whether it exists in every workspace. Absent if `false`.
 * @property {number} [calls] - The number of pending webhook calls.
 * @property {Json[]} [do] - The commands to execute. `{{field}}` is replaced by a field of the event. Absent if there
 *   are none.
 * @property {boolean} enabled - Whether it is enabled.
 * @property {number} failures - How often it has failed.
 * @property {ReactionName} name - The name of the reaction.
 * @property {ReactionOn} on - The events that it runs on.
 * @property {Revision} revision - The revision of the last change.
 * @property {number} runs - How often it has run.
 * @property {ReactionTrouble | null} [trouble] - The last failure. Absent if it never failed.
 * @property {Webhook | null} [webhook] - The webhook to call. Absent if there is none.
 */

/**
 * Name of a reaction.
 * @typedef {string} ReactionName
 */

/**
 * The events that a reaction runs on: everything that is given must match. `type` or
 * `subject` is required.
 * @typedef {object} ReactionOn
 * @property {Pattern | null} [subject] - The subject, such as `state/shared/**`. If omitted, any subject.
 * @property {Pattern | null} [type] - The event type, such as `task.completed` or `deploy.*`. If omitted, any type.
 * @property {Condition | null} [where] - A CEL expression about `event` that must be true. If omitted, none.
 */

/**
 * The last failure of a reaction.
 * @typedef {object} ReactionTrouble
 * @property {Timestamp} at - When it happened.
 * @property {string} code - The code of the rejection.
 * @property {string} detail - The error, in words.
 * @property {Revision} revision - The revision of the commit.
 */

/**
 * The task and keys that the receiver got.
 * @typedef {object} Receipt
 * @property {Taken[]} [keys] - The keys with versions and sizes. Absent if there are none.
 * @property {LeftOut[]} [left_out] - Selected keys that were left out. Absent if there are none.
 * @property {number} state_bytes - The size of `state` in bytes.
 */

/**
 * The id of an agent, or a capability that the receiver must have.
 * @typedef {string | { capability: string }} Receiver
 */

/**
 * A page of search results, newest first.
 * @typedef {object} Results
 * @property {string | null} [cursor] - The cursor of the next page. Absent on the last page. A page may be short or empty and not
 *   be the last.
 * @property {Revision} events_since - Events up to this revision are not searched; 0 if all are. They are in the history.
 * @property {Found[]} found - The results on this page.
 * @property {Revision} keys_since - Keys that were last written up to this revision are not searched; 0 if all are.
 */

/**
 * How much history is kept. History beyond either bound is removed.
 * @typedef {object} Retention
 * @property {number} history_age_ms - The maximum age in milliseconds.
 * @property {number} history_count - The number of revisions.
 */

/**
 * The agents that may accept a result: those that are named, and those that have a
 * capability. If there are none, any agent may. The agent that did the work can never accept
 * it.
 * @typedef {object} Reviewers
 * @property {AgentId[]} [agents] - The agents that may accept it.
 * @property {string | null} [capability] - Every agent with a session and this capability may accept it, too. Default: none.
 */

/**
 * Position of a commit in the history of its workspace; each commit adds one.
 * @typedef {number} Revision
 */

/**
 * A rule.
 * @typedef {object} Rule
 * @property {Timestamp} added_at - When it was added.
 * @property {AgentId} added_by - The agent that added it.
 * @property {Check} check - The requirement.
 * @property {string | null} [message] - A message for the violator. Absent if not given.
 * @property {RuleName} name - The name of the rule.
 * @property {RuleOn} [on] - When it applies. Absent if always.
 * @property {Revision} revision - The revision of the last change.
 * @property {Severity} severity - How serious a violation is.
 */

/**
 * Name of a rule for hand-offs.
 * @typedef {string} RuleName
 */

/**
 * When a rule applies: everything that is given must match.
 * @typedef {object} RuleOn
 * @property {Pattern | null} [from] - The giver. If omitted, any.
 * @property {Pattern | null} [task_type] - The task type. A hand-off without a task does not match. If omitted, any.
 * @property {Pattern | null} [to] - The receiver. A hand-off to a capability does not match. If omitted, any.
 */

/**
 * Rules for the values that are written to a namespace, or to keys that match a pattern.
 * @typedef {object} Rules
 * @property {boolean} [append_only] - Existing keys only grow, by `append` and `union`; they cannot be overwritten or deleted.
 * @property {boolean} [flat] - Warn about values that contain objects or lists of objects.
 * @property {KeyRules[]} [keys] - Rules for some keys. The first pattern that matches applies instead of the rules above.
 * @property {Merge | null} [merge] - How `state.set` combines the new value with the existing one.
 * @property {JsonSchema | null} [schema] - A JSON Schema that every new value must satisfy. Default: none.
 * @property {number | null} [schema_version] - The version of the schema, for readers. It can only increase. Default: none.
 * @property {number | null} [ttl_ms] - Time to live of entries without their own, in milliseconds. If omitted, entries do not
 *   expire.
 * @property {number | null} [value_bytes_max] - The maximum size of a value in bytes. If omitted, the general limit.
 */

/**
 * The kind of a search result.
 * @typedef {"task" | "message" | "key" | "event"} SearchKind
 */

/**
 * A text that is never shown.
 * @typedef {string} Secret
 */

/**
 * Reference to a secret.
 * @typedef {string} SecretId
 */

/**
 * The metadata of a secret.
 * @typedef {object} SecretRecord
 * @property {number} bytes - The size of the value in bytes.
 * @property {Timestamp | null} [expires_at] - When it expires. Absent if it does not.
 * @property {ContentName | null} [name] - Name for display. Absent if none was given.
 * @property {Timestamp} put_at - When it was stored.
 * @property {AgentId} put_by - The agent that stored it.
 * @property {Timestamp | null} [revealed_at] - When the value was last read. Absent if it never was.
 * @property {AgentId | null} [revealed_to] - The agent that last read the value. Absent if it was never read.
 * @property {number} reveals - How often the value was read.
 * @property {SecretId} secret - The reference.
 */

/**
 * How far a copy includes the changes of another one.
 * @typedef {object} Seen
 * @property {CopyId} copy - The other copy.
 * @property {Revision} revision - Its last revision that is included.
 * @property {Timestamp} time - The time of that revision, by which the other copy recognizes it.
 */

/**
 * A key as `namespace/key`, optionally with a required version. Without a version, a key
 * with `*` is a pattern for keys of that namespace.
 * @typedef {string | { key: string, version?: number }} Selected
 */

/**
 * A semaphore.
 * @typedef {object} Semaphore
 * @property {number} free - The number of free permits. 0 while more permits are held than the semaphore has, after it
 *   was made smaller.
 * @property {Permit[]} holders - The held permits, oldest first.
 * @property {SemaphoreName} name - The name of the semaphore.
 * @property {number} permits - The number of permits.
 * @property {PermitWait[]} waiters - The wait queue, first in line first.
 */

/**
 * Name of a semaphore.
 * @typedef {string} SemaphoreName
 */

/**
 * The result of an append.
 * @typedef {object} Sent
 * @property {number} frames - The number of frames.
 * @property {number} next - The offset of the next frame.
 * @property {number | null} [offset] - The offset of the first frame. Absent if frames are not kept.
 * @property {StreamName} stream - The stream.
 */

/**
 * How serious a violation is.
 * @typedef {"error" | "warning"} Severity
 */

/**
 * The origin of a transferred value.
 * @typedef {object} Source
 * @property {AgentId} agent - The agent that had written it.
 * @property {NamespaceName} namespace - The namespace that it was in.
 * @property {Revision} revision - The revision that had written it there.
 * @property {Version} version - The version that it had there.
 */

/**
 * The spending of a task with its subtasks, of an agent or of the workspace, and its budget.
 * @typedef {object} SpendAccount
 * @property {SpendBudget | null} [budget] - The budget. Absent if there is none.
 * @property {SpendBudget | null} [left] - The remaining budget. Absent if there is none.
 * @property {SpendPayer} of - The task, the agent or the workspace that it belongs to.
 * @property {SpendAmounts} spent - The total.
 * @property {boolean} used_up - Whether a limit of the budget is reached.
 */

/**
 * An amount of spending.
 * @typedef {object} SpendAmounts
 * @property {number} calls - Calls of a model or a tool.
 * @property {number} cost_micros - Money, in millionths of the currency that the workspace uses.
 * @property {number} tokens - Tokens of a language model.
 */

/**
 * A limit for each unit. A unit without a limit is not limited.
 * @typedef {object} SpendBudget
 * @property {number | null} [calls] - The maximum number of calls. If omitted, calls are not limited.
 * @property {number | null} [cost_micros] - The maximum amount of money, in millionths of the currency. If omitted, money is not
 *   limited.
 * @property {number | null} [tokens] - The maximum number of tokens. If omitted, tokens are not limited.
 */

/**
 * One record of spending.
 * @typedef {object} SpendEntry
 * @property {AgentId} agent - The agent that spent it.
 * @property {string | null} [model] - The model or tool. Absent if not given.
 * @property {string | null} [note] - A note. Absent if not given.
 * @property {number} number - Its number, counted from 1 in the workspace.
 * @property {Revision} revision - The revision.
 * @property {SpendAmounts} spent - The amounts.
 * @property {TaskId | null} [task] - The task. Absent if there is none.
 * @property {Timestamp} time - When it was recorded.
 */

/**
 * The accounts that spending is charged to, and that can have a budget.
 * @typedef {{ task: TaskId } | { agent: AgentId } | "workspace"} SpendPayer
 */

/**
 * A new record, and what it was charged to.
 * @typedef {object} SpendRecorded
 * @property {SpendAccount[]} [budgets] - The budgets that it was charged to. Absent if there are none.
 * @property {SpendEntry} record - The record.
 */

/**
 * A total, and the budgets that apply to it.
 * @typedef {object} SpendTotal
 * @property {SpendAccount[]} [above] - The budgets of the tasks above, nearest first, and of the workspace. Absent if there are
 *   none.
 * @property {SpendAccount} account - The total, and its own budget.
 */

/**
 * A stage of a pipeline.
 * @typedef {object} Stage
 * @property {StageName[]} after - The stages that it follows.
 * @property {AgentId | null} [agent] - The only agent that may work on it. Absent if any agent may.
 * @property {number} attempts - How often it was started.
 * @property {string[]} [capabilities] - Capabilities that an agent needs to claim its task. Absent if there are none.
 * @property {string | null} [description] - Human-readable description. Absent if not given.
 * @property {boolean} [each] - Whether one task per element of its input is created. Absent if `false`.
 * @property {Json} [error] - The error. Absent unless it failed.
 * @property {Timestamp | null} [finished_at] - When it was completed, failed or skipped. Absent before that.
 * @property {Json} [input] - Its input. In a whole pipeline only an input given at its start; otherwise it is the
 *   output of the stages before it. Absent if there is none.
 * @property {number | null} [max_retries] - How often its task is retried automatically, or how often it may be retried. Absent if not
 *   given.
 * @property {StageName} name - The name of the stage.
 * @property {Json} [output] - Its output. Absent before it is submitted or completed.
 * @property {Pattern[]} [reads] - Keys that it reads. Absent if there are none.
 * @property {Timestamp | null} [ready_at] - When it became ready. Absent before that.
 * @property {string | null} [reason] - Why it was skipped, or the note of the last review. Absent if none was given.
 * @property {number} retries - How often it was retried after a failure.
 * @property {boolean} [review] - Whether its output must be accepted by another agent. Absent if `false`.
 * @property {Reviewers | null} [reviewers] - The agents that may accept its output. Absent if any agent except the one that did the
 *   work may.
 * @property {Timestamp | null} [started_at] - When it was last started. Absent before that.
 * @property {StageStatus} status - The status.
 * @property {AgentId | null} [submitted_by] - The agent whose output waits for review. Absent if none waits.
 * @property {TaskId[]} [tasks] - Its tasks, in order. Absent if there are none.
 * @property {TaskType | null} [type] - The type of its task. Absent if not given.
 * @property {AgentId | null} [worker] - The agent that works or last worked on it. Absent before the first start.
 * @property {Pattern[]} [writes] - Keys that it writes. Absent if there are none.
 */

/**
 * The definition of a stage.
 * @typedef {object} StageDesign
 * @property {StageName[] | null} [after] - The stages that it follows; an empty list makes it a first stage. If omitted, the stage
 *   before it in the list.
 * @property {AgentId | null} [agent] - The only agent that may work on it. If omitted, any agent.
 * @property {Backoff | null} [backoff] - Backoff between attempts at its task. If omitted, the default of `Backoff`.
 * @property {string[]} [capabilities] - Capabilities that an agent needs to claim its task.
 * @property {number | null} [deadline_ms] - Deadline of its task in milliseconds from when the stage is ready. If omitted, none.
 * @property {string | null} [description] - Human-readable description. Default: none.
 * @property {boolean} [each] - Create one task per element of its input, which must be a list; the output is the list of
 *   results.
 * @property {number | null} [max_retries] - How often its task is retried automatically; if omitted, the default of `task.create`.
 *   Without a task, how often the stage may be retried; if omitted, without a limit.
 * @property {StageName} name - The name, unique within the pipeline.
 * @property {OnExhausted | null} [on_exhausted] - The action on its task after the last attempt.
 * @property {number | null} [priority] - The priority of its task.
 * @property {Pattern[]} [reads] - Keys that it reads, for documentation and contracts.
 * @property {boolean} [review] - Whether its output must be accepted by another agent before the stage is completed: with
 *   `task.review` if it has a task, else with `pipeline.review_stage`.
 * @property {Reviewers | null} [reviewers] - The agents that may accept its output. If given, it has `review`. If omitted, any agent
 *   except the one that did the work.
 * @property {TaskType | null} [type] - The type of its task. If omitted, the name of the stage.
 * @property {Pattern[]} [writes] - Keys that it writes, for documentation and contracts.
 */

/**
 * A finished stage, and what can start next.
 * @typedef {object} StageMoved
 * @property {Stage | null} [next] - The first stage that can be started now. `null` if none can.
 * @property {StageName[]} ready - Every stage that can be started now.
 * @property {Stage} stage - The stage.
 * @property {PipelineStatus} status - The status of the pipeline.
 */

/**
 * Name of a stage of a pipeline.
 * @typedef {string} StageName
 */

/**
 * The output of a stage.
 * @typedef {object} StageOutput
 * @property {Json} [output] - The output. Absent before it is submitted, or the stage is completed.
 * @property {PipelineName} pipeline - The pipeline.
 * @property {StageName} stage - The stage.
 * @property {StageStatus} status - The status of the stage.
 */

/**
 * The status of a stage.
 * @typedef {"pending" | "ready" | "running" | "waiting_review" | "completed" | "failed" | "skipped"} StageStatus
 */

/**
 * Type of bytes, as their author names it.
 * @typedef {string} StateType
 */

/**
 * Statistics about the tasks of a workspace, or of one type.
 * @typedef {object} Statistics
 * @property {number} claims_waiting - The number of waiting claims.
 * @property {Failure[]} failures - Reasons of failed attempts, most frequent first.
 * @property {Counts} tasks - Tasks by status.
 * @property {TimeInState} time_in_state - How long tasks stayed in each status.
 */

/**
 * One step of a hand-off.
 * @typedef {object} Step
 * @property {Timestamp} at - When it happened.
 * @property {AgentId | null} [by] - The agent that did it. Absent if it was the engine.
 * @property {string | null} [detail] - Details in words. Absent if there are none.
 * @property {StepStatus} status - The outcome.
 * @property {string} step - The step: `validate`, `transfer_state`, `transfer_task`, an event of the offer, or
 *   `stage_completed` and `stage_started` between the stages of a pipeline.
 */

/**
 * The outcome of a step.
 * @typedef {"completed" | "failed"} StepStatus
 */

/**
 * A stream.
 * @typedef {object} Stream
 * @property {number} bytes - The size of the kept frames in bytes.
 * @property {number} bytes_max - The maximum size of the kept frames in bytes.
 * @property {Timestamp} created_at - When it was created.
 * @property {AgentId} created_by - The agent that created it.
 * @property {number} first - The first offset that is kept.
 * @property {number} frames_max - The maximum number of frames to keep.
 * @property {boolean} kept - Whether frames are kept.
 * @property {number} next - The offset of the next frame.
 * @property {number} readers_waiting - The number of waiting readers.
 * @property {string | null} [reason] - Why it was closed. Absent if no reason was given.
 * @property {StreamStatus} status - The status.
 * @property {StreamName} stream - The name of the stream.
 * @property {Timestamp} updated_at - When it was last changed.
 */

/**
 * One frame.
 * @typedef {object} StreamFrame
 * @property {Json} data - The content.
 * @property {number} offset - The offset in the stream.
 */

/**
 * Name of a stream.
 * @typedef {string} StreamName
 */

/**
 * The status of a stream.
 * @typedef {"open" | "closed"} StreamStatus
 */

/**
 * The side whose value to use.
 * @typedef {"ours" | "theirs"} SyncChoice
 */

/**
 * A conflict that the rules leave to a person.
 * @typedef {object} SyncConflict
 * @property {Key} key - The key.
 * @property {NamespaceName} namespace - The namespace.
 * @property {Json} [ours] - The value in this copy. Absent if it was deleted.
 * @property {Json} [theirs] - The value in the other copy. Absent if it was deleted.
 */

/**
 * A decision of a conflict.
 * @typedef {object} SyncDecision
 * @property {Key} key - The key.
 * @property {NamespaceName} namespace - The namespace.
 * @property {SyncChoice} take - The side whose value to use.
 */

/**
 * The outcome for one key or namespace.
 * @typedef {object} SyncOutcome
 * @property {WonBy} by - The reason.
 * @property {Key | null} [key] - The key. Absent for the rules of the namespace itself.
 * @property {Json} [lost] - The value that lost a conflict. Absent if there was none, or if it was a deletion.
 * @property {NamespaceName} namespace - The namespace.
 * @property {Won} won - The side whose value is there afterwards.
 */

/**
 * The result of a synchronization.
 * @typedef {object} SyncReport
 * @property {boolean} changed - Whether anything was new. If not, nothing was written.
 * @property {SyncConflict[]} [conflicts] - Conflicts that need a decision; only in a dry run, otherwise the request is refused.
 * @property {CopyId} copy - This copy.
 * @property {boolean} [more] - Whether the other copy has later changes, to be synchronized next.
 * @property {OtherChanges[]} [others] - The other changes in the other copy, which were not synchronized, by kind.
 * @property {SyncOutcome[]} outcomes - The outcomes, by namespace and key.
 * @property {Revision} revision - The revision of the other copy that is included now.
 * @property {CopyId} with - The other copy.
 * @property {WorkspaceName} workspace - The name of the other workspace.
 */

/**
 * A key that the receiver got.
 * @typedef {object} Taken
 * @property {number} bytes - The size of its value in bytes.
 * @property {boolean} [copied] - Whether it was copied from the giver's namespace to the receiver's. Absent if `false`.
 * @property {KeyName} key - `namespace/key` as it was selected.
 * @property {ValueKind} kind - The JSON type of its value.
 * @property {boolean} [moved] - Whether it moved from the giver's namespace to the receiver's. Absent if `false`.
 * @property {Version} version - The version that was handed over.
 */

/**
 * A task.
 * @typedef {object} Task
 * @property {Json} [artifacts] - References to what it produced: a list. Absent if there are none.
 * @property {AgentId | null} [assigned_agent] - The only agent that may claim it. Absent if any agent may.
 * @property {number} attempts - How often it was claimed.
 * @property {Backoff} backoff - The delay before a retry.
 * @property {string[]} [capabilities] - Capabilities that an agent needs to claim it. Absent if there are none.
 * @property {Timestamp} created_at - When it was created.
 * @property {Timestamp | null} [deadline] - It fails unless it is finished by then. Absent if there is none.
 * @property {Json} [definition] - The work as data. Absent if not given.
 * @property {TaskId[]} [depends_on] - Tasks that must be completed first. Absent if there are none.
 * @property {string | null} [description] - Human-readable description. Absent if not given.
 * @property {Json} [error] - The error of the last failed attempt. Absent if there is none.
 * @property {Timestamp | null} [finished_at] - When it was completed, failed or cancelled. Absent before that.
 * @property {GroupName | null} [group] - The group. Absent if it has none.
 * @property {TaskId} id - The id of the task.
 * @property {Lease | null} [lease] - The lease. Absent if no agent holds it.
 * @property {number} max_retries - How often a failed attempt is retried.
 * @property {Json} [metadata] - An object with free-form metadata. Absent if not given.
 * @property {Timestamp | null} [not_before] - It cannot be claimed before this time. Absent if there is none.
 * @property {OnExhausted} on_exhausted - The action after the last attempt.
 * @property {TaskId | null} [parent] - The parent task; if that is cancelled, this one is too. Absent if it has none.
 * @property {number} priority - The priority; higher is claimed first.
 * @property {Progress | null} [progress] - The last reported progress. Absent if there is none.
 * @property {string | null} [reason] - The reason of the last release, cancellation or review. Absent if not given.
 * @property {AgentId} requested_by - The agent that created it.
 * @property {Json} [result] - The result; for a task in progress, the result so far. Absent if there is none.
 * @property {number} retries - The number of failed attempts.
 * @property {boolean} [review] - Whether its result must be accepted before it is completed. Absent if `false`.
 * @property {Reviewers | null} [reviewers] - The agents that may accept its result. Absent if any agent except the one that did the
 *   work may.
 * @property {Revision} revision - The revision of the last change.
 * @property {Json} [schema_version] - The version of the schema of `definition`. Absent if not given.
 * @property {Timestamp | null} [started_at] - When it was first claimed. Absent before that.
 * @property {TaskStatus} status - The status.
 * @property {AgentId | null} [submitted_by] - The agent whose result waits for review. Absent if no result waits.
 * @property {Traceparent | null} [traceparent] - W3C trace context (`traceparent`), to be continued by the worker. Absent if not given.
 * @property {TaskType} type - The task type.
 * @property {Timestamp} updated_at - When it was last changed.
 * @property {TaskId[]} [waiting_for] - The dependencies that are not completed yet. Absent if there are none.
 * @property {Warning[]} [warnings] - Warnings about the call that created it. Absent if there are none.
 */

/**
 * Id of a task.
 * @typedef {string} TaskId
 */

/**
 * @typedef {object} TaskPrecondition
 * @property {AgentId | null} [holder] - The agent that must hold its lease. If omitted, not checked.
 * @property {TaskStatus | null} [status] - The status that it must have. If omitted, not checked.
 * @property {TaskId} task - The task.
 */

/**
 * The status of a task.
 * @typedef {"pending" | "in_progress" | "handed_off" | "waiting_review" | "completed" | "failed" | "cancelled"} TaskStatus
 */

/**
 * Type of a task.
 * @typedef {string} TaskType
 */

/**
 * How long tasks stayed in each status.
 * @typedef {object} TimeInState
 * @property {Durations} [handed_off] - Until the receiver of a hand-off claimed them.
 * @property {Durations} in_progress - Until the attempt was completed, failed or released.
 * @property {Durations} pending - Until they were claimed.
 * @property {Durations} waiting_review - Until they were reviewed.
 */

/**
 * A time in UTC with milliseconds (RFC 3339).
 * @typedef {string} Timestamp
 */

/**
 * Fencing token. Later tokens are larger.
 * @typedef {number} Token
 */

/**
 * A topic. Only recorded messages are counted.
 * @typedef {object} Topic
 * @property {Timestamp} last_at - When the last message was published.
 * @property {AgentId} last_by - The agent that published it.
 * @property {number} posts - The number of messages.
 * @property {TopicName} topic - The name of the topic.
 */

/**
 * Name of a topic.
 * @typedef {string} TopicName
 */

/**
 * W3C trace context (`traceparent`).
 * @typedef {string} Traceparent
 */

/**
 * A hand-off in a portable form.
 * @typedef {object} TransferContext
 * @property {HandoffId | null} [handoff_id] - The hand-off that this was exported from. Absent in contexts of other systems.
 * @property {string | null} [originating_agent] - The giver: an id or an address. Absent if unknown.
 * @property {string | null} [originating_task_id] - The task at its origin. Absent if there is none.
 * @property {Json} [output_keys] - Names of what was produced. Absent if none were given.
 * @property {string | null} [reason] - The reason. Absent if none was given.
 * @property {Record<string, Json>} [state] - The flat object of context.
 * @property {Traceparent | null} [traceparent] - W3C trace context (`traceparent`). Absent if none was given.
 */

/**
 * An event of a task.
 * @typedef {object} Transition
 * @property {AgentId} agent - The agent that caused it.
 * @property {Json} fields - The fields of the event.
 * @property {Revision} revision - The revision.
 * @property {Timestamp} time - The time.
 * @property {string} type - The event type, such as `task.claimed`.
 */

/**
 * The kinds of problems of a key.
 * @typedef {"vanished" | "retyped" | "renamed" | "schema" | "broken"} Trouble
 */

/**
 * The JSON type of a value.
 * @typedef {"object" | "array" | "string" | "number" | "boolean" | "null"} ValueKind
 */

/**
 * The verdict of a review.
 * @typedef {"retry" | "complete" | "fail"} Verdict
 */

/**
 * Version of an entry: 1 when it is created, plus one for every change.
 * @typedef {number} Version
 */

/**
 * A waiting call.
 * @typedef {object} Wait
 * @property {AgentId} agent - The agent that waits.
 * @property {WaitId} id - The waiting call.
 * @property {Timestamp} since - When it started to wait.
 * @property {Timestamp} until - When the wait times out.
 */

/**
 * A waiting call.
 * @typedef {number} WaitId
 */

/**
 * The check of a rule, as it is given. Exactly one field must be given.
 * @typedef {object} WantedCheck
 * @property {string | null} [capability] - A capability that the receiver must have. If omitted, another field is required.
 * @property {string | null} [expression] - A CEL expression that must be true. If omitted, another field is required.
 * @property {number | null} [hops_max] - How often the work may change hands. If omitted, another field is required.
 * @property {boolean | null} [receiver_alive] - `true`: the receiver must have a session. If omitted, another field is required.
 * @property {string[] | null} [required_keys] - Names that the state must have. If omitted, another field is required.
 * @property {JsonSchema | null} [schema] - A JSON Schema for the state as one object. If omitted, another field is required.
 * @property {number | null} [state_bytes_max] - The maximum size of the state, names and values, in bytes. If omitted, another field is
 *   required.
 */

/**
 * A webhook.
 * @typedef {object} WantedWebhook
 * @property {number | null} [retries] - How often a failed call is retried.
 * @property {Secret | null} [secret] - The secret that signs the calls. It is never returned. If omitted, calls are not signed.
 * @property {number | null} [timeout_ms] - The timeout of one attempt in milliseconds.
 * @property {string} url - The URL to post to; `http://` or `https://`.
 */

/**
 * A warning about a request that was accepted.
 * @typedef {object} Warning
 * @property {string} code - A stable code, such as `state.nested_value`.
 * @property {string} detail - A description in words.
 */

/**
 * A webhook as it is stored and shown.
 * @typedef {object} Webhook
 * @property {number} retries - How often a failed call is retried.
 * @property {boolean} [signed] - Whether calls are signed. Absent if `false`.
 * @property {number} timeout_ms - The timeout of one attempt in milliseconds.
 * @property {string} url - The URL to post to.
 */

/**
 * Why a task has its status.
 * @typedef {object} Why
 * @property {Fact[]} facts - The reasons one by one.
 * @property {string} sentence - All reasons as one sentence.
 * @property {TaskStatus} status - The status.
 * @property {TaskId} task - The task.
 */

/**
 * The side whose value is there afterwards.
 * @typedef {"ours" | "theirs" | "merged"} Won
 */

/**
 * The reason for an outcome.
 * @typedef {"newer" | "last_write" | "rule" | "decision" | "in_use"} WonBy
 */

/**
 * The next work of an agent.
 * @typedef {{ handoff: Handoff } | { message: Message } | { task: Task }} Work
 */

/**
 * A kind of work.
 * @typedef {"handoff" | "message" | "task"} WorkKind
 */

/**
 * Name of a workspace.
 * @typedef {string} WorkspaceName
 */

/**
 * When, by whom and where something was written.
 * @typedef {object} Written
 * @property {AgentId} by - The agent.
 * @property {Dot[]} dots - The writes that produced it: several if it was combined from several.
 * @property {Timestamp} time - The time.
 */

/**
 * A page of results, by id.
 * @typedef {object} AgentAgents
 * @property {Agent[]} agents - The results on this page.
 * @property {AgentId | null} [cursor] - The cursor of the next page. Absent on the last page.
 */

/**
 * A page of artifacts.
 * @typedef {object} ArtifactArtifacts
 * @property {Artifact[]} artifacts - The results on this page, by id.
 * @property {number} bytes - The total size of all artifacts of the workspace in bytes.
 * @property {ArtifactId | null} [cursor] - The cursor of the next page. Absent on the last page.
 */

/**
 * A page of checkpoints.
 * @typedef {object} CheckpointCheckpoints
 * @property {Checkpoint[]} checkpoints - The results on this page, newest first.
 * @property {CheckpointId | null} [cursor] - The cursor of the next page. Absent on the last page.
 */

/**
 * Checkpoints were copied.
 * @typedef {object} CheckpointCopied
 * @property {number} copied - The number of copied checkpoints.
 */

/**
 * Checkpoints by key, with states and pending writes.
 * @typedef {object} CheckpointHistoryResult
 * @property {Checkpoint[]} checkpoints - The results on this page, largest key first.
 * @property {CheckpointKey | null} [cursor] - The cursor of the next page. Absent on the last page.
 */

/**
 * The head of a task. `null` if the task has no checkpoint.
 * @typedef {Checkpoint | null} CheckpointLatestResult
 */

/**
 * Checkpoints were deleted.
 * @typedef {object} CheckpointPruned
 * @property {number} bytes - The number of bytes that no other checkpoint shares.
 * @property {number} pruned - The number of deleted checkpoints.
 */

/**
 * The retention rules.
 * @typedef {object} CheckpointRules
 * @property {CheckpointRule[]} rules - The rules by pattern. The longest pattern that matches a task applies.
 */

/**
 * Pending writes were stored.
 * @typedef {object} CheckpointWritten
 * @property {number} written - The number of writes that were stored; the others existed already.
 */

/**
 * A page of keys with their writers and readers, by key.
 * @typedef {object} ContractContracts
 * @property {Contract[]} contracts - The results on this page.
 * @property {string | null} [cursor] - The cursor of the next page. Absent on the last page.
 */

/**
 * A page of declared contracts, by name.
 * @typedef {object} ContractDeclarations
 * @property {ContractName | null} [cursor] - The cursor of the next page. Absent on the last page.
 * @property {DeclaredContract[]} declarations - The results on this page.
 */

/**
 * Problems by key; empty if there are none.
 * @typedef {object} ContractProblems
 * @property {ContractProblem[]} problems - The problems.
 */

/**
 * The event was emitted.
 * @typedef {object} EventEmitted
 * @property {string} subject - The subject to watch it under.
 * @property {EventType} type - The type.
 */

/**
 * The caller accepted it.
 * @typedef {object} HandoffAccepted
 * @property {Handoff} handoff - The hand-off with its receipt.
 * @property {Task | null} [task] - The task with the caller's lease. Absent if the hand-off has no task.
 * @property {Record<string, Json>} [values] - The values of the received keys, by `namespace/key` as they were selected. Absent if no
 *   keys were handed over.
 */

/**
 * A page of hand-offs, by id.
 * @typedef {object} HandoffHandoffs
 * @property {HandoffId | null} [cursor] - The cursor of the next page. Absent on the last page.
 * @property {Handoff[]} handoffs - The results on this page.
 */

/**
 * The next hand-off. `null` if there was none in time.
 * @typedef {Handoff | null} HandoffReceived
 */

/**
 * The result of a validation.
 * @typedef {object} HandoffVerdict
 * @property {Finding[]} errors - Rules and checks that forbid it.
 * @property {boolean} valid - Whether the offer would be made.
 * @property {Finding[]} warnings - Findings that do not forbid it.
 */

/**
 * The settled join. `null` if it did not settle in time.
 * @typedef {Join | null} JoinSettled
 */

/**
 * The acquired or renewed hold. `null` if the lock was not granted in time.
 * @typedef {Hold | null} LockHold
 */

/**
 * A page of results, by name.
 * @typedef {object} LockLocks
 * @property {LockName | null} [cursor] - The cursor of the next page. Absent on the last page.
 * @property {Link[][]} deadlocks - Deadlocks: cycles of agents that wait for each other.
 * @property {Lock[]} locks - The results on this page.
 */

/**
 * The messages are acknowledged.
 * @typedef {object} MessageAcked
 * @property {MessageId[]} messages - Their ids.
 */

/**
 * A page of handlers, by handler and agent.
 * @typedef {object} MessageHandlers
 * @property {string | null} [cursor] - The cursor of the next page. Absent on the last page.
 * @property {Handler[]} handlers - The results on this page.
 */

/**
 * A page of messages, by id.
 * @typedef {object} MessageMessages
 * @property {MessageId | null} [cursor] - The cursor of the next page. Absent on the last page.
 * @property {Message[]} messages - The results on this page.
 */

/**
 * The received messages, oldest first. Empty if there were none in time.
 * @typedef {object} MessageReceived
 * @property {Message[]} messages - The messages.
 */

/**
 * A page of results, by name.
 * @typedef {object} NamespaceNamespaces
 * @property {NamespaceName | null} [cursor] - The cursor of the next page. Absent on the last page.
 * @property {Namespace[]} namespaces - The results on this page.
 */

/**
 * A page of pipelines, by name.
 * @typedef {object} PipelinePipelines
 * @property {PipelineName | null} [cursor] - The cursor of the next page. Absent on the last page.
 * @property {PipelineSummary[]} pipelines - The results on this page.
 */

/**
 * A page of results, by name.
 * @typedef {object} ReactionReactions
 * @property {ReactionName | null} [cursor] - The cursor of the next page. Absent on the last page.
 * @property {Reaction[]} reactions - The results on this page.
 */

/**
 * A page of results, by name.
 * @typedef {object} RuleRules
 * @property {RuleName | null} [cursor] - The cursor of the next page. Absent on the last page.
 * @property {Rule[]} rules - The results on this page.
 */

/**
 * A page of secrets.
 * @typedef {object} SecretSecrets
 * @property {SecretId | null} [cursor] - The cursor of the next page. Absent on the last page.
 * @property {SecretRecord[]} secrets - The results on this page, by reference.
 */

/**
 * The acquired or renewed permit. `null` if none was granted in time.
 * @typedef {Permit | null} SemaphorePermit
 */

/**
 * A page of results, by name.
 * @typedef {object} SemaphoreSemaphores
 * @property {SemaphoreName | null} [cursor] - The cursor of the next page. Absent on the last page.
 * @property {Semaphore[]} semaphores - The results on this page.
 */

/**
 * A page of records, latest first.
 * @typedef {object} SpendRecords
 * @property {number | null} [cursor] - The cursor of the next page. Absent on the last page.
 * @property {number | null} [oldest] - The number of the oldest record that is kept here; the history has the events of older
 *   ones. Absent if there is none.
 * @property {number} recorded - How many were ever recorded.
 * @property {SpendEntry[]} records - The results on this page.
 */

/**
 * A page of changes, newest first; or the differences between two revisions, by key.
 * @typedef {object} StateChanges
 * @property {Change[]} changes - The changes.
 * @property {string | null} [cursor] - The cursor of the next page. Absent on the last page.
 * @property {Revision} [oldest] - Changes up to this revision are no longer kept; 0 if all are kept.
 */

/**
 * The moved keys.
 * @typedef {object} StateMoved
 * @property {Key[]} keys - The keys.
 */

/**
 * A page of streams, by name.
 * @typedef {object} StreamStreams
 * @property {StreamName | null} [cursor] - The cursor of the next page. Absent on the last page.
 * @property {Stream[]} streams - The results on this page.
 */

/**
 * The claimed task. `null` if there was none in time.
 * @typedef {Task | null} TaskClaimed
 */

/**
 * The tasks that were claimed with a `limit` above 1, in order. Empty if there was none in
 * time.
 * @typedef {object} TaskClaimedTasks
 * @property {Task[]} tasks - The tasks.
 */

/**
 * A task was completed.
 * @typedef {object} TaskCompleted
 * @property {Task | null} [next] - The task claimed by `then_claim`. Absent if there was none, or `then_claim` was not given.
 * @property {Task} task - The completed task.
 */

/**
 * A page of events of a task, newest first.
 * @typedef {object} TaskHistoryResult
 * @property {string | null} [cursor] - The cursor of the next page. Absent on the last page.
 * @property {Transition[]} events - The results on this page.
 * @property {Revision} [oldest] - Events up to this revision are no longer kept; 0 if all are kept.
 */

/**
 * A page of tasks, by id. It may have fewer results than requested, or none, and not be the
 * last: only the last page has no cursor.
 * @typedef {object} TaskTasks
 * @property {TaskId | null} [cursor] - The cursor of the next page. Absent on the last page.
 * @property {Task[]} tasks - The results on this page.
 */

/**
 * A page of results, by name.
 * @typedef {object} TopicTopics
 * @property {TopicName | null} [cursor] - The cursor of the next page. Absent on the last page.
 * @property {Topic[]} topics - The results on this page.
 */

/**
 * The hand-off with its new status. `null` if it was not reached in time.
 * @typedef {Handoff | null} WaitHandoff
 */

/**
 * The next work. `null` if there was none in time.
 * @typedef {Work | null} WaitNext
 */

/**
 * The task with its new status. `null` if it was not reached in time.
 * @typedef {Task | null} WaitTask
 */

/**
 * The configuration and size of a workspace.
 * @typedef {object} WorkspaceWorkspace
 * @property {number} agents - The number of known agents.
 * @property {number} entries - The number of entries of shared state.
 * @property {number} namespaces - The number of namespaces.
 * @property {Origin | null} [origin] - Its origin. Absent if it started empty.
 * @property {Retention} retention - How much history it keeps.
 */

/**
 * A page of workspaces, by name.
 * @typedef {object} WorkspaceWorkspaces
 * @property {WorkspaceName | null} [cursor] - The cursor of the next page. Absent on the last page.
 * @property {ListedWorkspace[]} workspaces - The results on this page.
 */

/**
 * Optional fields of `state.set`.
 * @typedef {object} StateSetOptions
 * @property {NamespaceName | undefined} [namespace] - The namespace.
 * @property {boolean | undefined} [ephemeral] - Delete the entry when the session of the caller ends.
 * @property {Revision | null | undefined} [expected_revision] - Write only if the entry was last changed by this revision; 0 means that it must not exist.
 *   If omitted, the revision is not checked.
 * @property {Json} [expected_value] - Write only if the entry has this value. `null` means the value null, not that there is no
 *   entry: use `if_absent` for that. If omitted, the value is not checked.
 * @property {Version | null | undefined} [expected_version] - Write only if the entry has this version; 0 means that it must not exist. If omitted, the
 *   version is not checked.
 * @property {boolean | undefined} [if_absent] - Write only if the entry does not exist.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 * @property {number | null | undefined} [ttl_ms] - Time to live in milliseconds. The entry is deleted when it elapses without another write.
 *   If omitted, the `ttl_ms` of the namespace, if it has one.
 */

/**
 * `state.set` as a command.
 * @typedef {{ command: "state.set", namespace: NamespaceName, key: Key, value: Json } & StateSetOptions} StateSetCommand
 */

/**
 * Optional fields of `state.patch`.
 * @typedef {object} StatePatchBase
 * @property {NamespaceName | undefined} [namespace] - The namespace.
 * @property {Revision | null | undefined} [expected_revision] - Write only if the entry was last changed by this revision; 0 means that it must not exist.
 *   If omitted, the revision is not checked.
 * @property {Version | null | undefined} [expected_version] - Write only if the entry has this version; 0 means that it must not exist. If omitted, the
 *   version is not checked.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * Fields of `state.patch`, of which one says what to do.
 * @typedef {StatePatchBase & ({ merge: Json } | { json_patch: Json } | { append: Json } | { union: Json } | { increment: Json } | { max: Json })} StatePatchOptions
 */

/**
 * `state.patch` as a command.
 * @typedef {{ command: "state.patch", namespace: NamespaceName, key: Key } & StatePatchOptions} StatePatchCommand
 */

/**
 * Optional fields of `state.delete`.
 * @typedef {object} StateDeleteOptions
 * @property {NamespaceName | undefined} [namespace] - The namespace.
 * @property {Revision | null | undefined} [expected_revision] - Delete only if the entry was last changed by this revision. If omitted, the revision is
 *   not checked.
 * @property {Version | null | undefined} [expected_version] - Delete only if the entry has this version. If omitted, the version is not checked.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `state.delete` as a command.
 * @typedef {{ command: "state.delete", namespace: NamespaceName, key: Key } & StateDeleteOptions} StateDeleteCommand
 */

/**
 * Optional fields of `state.transfer`.
 * @typedef {object} StateTransferOptions
 * @property {boolean | undefined} [copy] - Copy the entries: the source keeps its own. If `false`, they move.
 * @property {Key[] | null | undefined} [keys] - The keys to move. If omitted, all keys.
 * @property {boolean | undefined} [overwrite] - Replace entries of the same key in the target. If `false`, they are a conflict.
 * @property {Pattern | null | undefined} [pattern] - Move only keys that match this pattern. If omitted, any key.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `state.transfer` as a command.
 * @typedef {{ command: "state.transfer", from_namespace: NamespaceName, to_namespace: NamespaceName } & StateTransferOptions} StateTransferCommand
 */

/**
 * Optional fields of `state.get`.
 * @typedef {object} StateGetOptions
 * @property {NamespaceName | undefined} [namespace] - The namespace.
 * @property {Revision | null | undefined} [at] - Read the entry as of this revision. If omitted, the present.
 */

/**
 * `state.get` as a command.
 * @typedef {{ command: "state.get", namespace: NamespaceName, key: Key } & StateGetOptions} StateGetCommand
 */

/**
 * Optional fields of `state.list`.
 * @typedef {object} StateListOptions
 * @property {NamespaceName | undefined} [namespace] - The namespace.
 * @property {Revision | null | undefined} [at] - Read the entries as of this revision. If omitted, the present.
 * @property {string | null | undefined} [cursor] - The `cursor` of the previous page. If omitted, the first page is returned.
 * @property {number | null | undefined} [limit] - The maximum number of results.
 * @property {Pattern | null | undefined} [pattern] - Only keys that match this pattern. If omitted, any key.
 * @property {string | null | undefined} [prefix] - Only keys with this prefix. If omitted, any key.
 */

/**
 * `state.list` as a command.
 * @typedef {{ command: "state.list", namespace: NamespaceName } & StateListOptions} StateListCommand
 */

/**
 * Optional fields of `state.history`.
 * @typedef {object} StateHistoryOptions
 * @property {AgentId | null | undefined} [author] - Only changes by this agent. If omitted, any agent.
 * @property {string | null | undefined} [cursor] - The `cursor` of the previous page. If omitted, the first page is returned.
 * @property {Revision | null | undefined} [from] - The oldest revision to include. If omitted, the oldest that is kept.
 * @property {Key | null | undefined} [key] - Only this key; requires `namespace`. If omitted, any key.
 * @property {number | null | undefined} [limit] - The maximum number of results.
 * @property {NamespaceName | null | undefined} [namespace] - Only this namespace. If omitted, all namespaces.
 * @property {Pattern | null | undefined} [pattern] - Only keys that match this pattern. If omitted, any key.
 * @property {Revision | null | undefined} [to] - The newest revision to include. If omitted, the present.
 */

/**
 * `state.history` as a command.
 * @typedef {{ command: "state.history" } & StateHistoryOptions} StateHistoryCommand
 */

/**
 * Optional fields of `state.snapshot`.
 * @typedef {object} StateSnapshotOptions
 * @property {Revision | null | undefined} [at] - The revision. If omitted, the present.
 * @property {string | null | undefined} [cursor] - The `cursor` of the previous page. The next page shows the same revision, regardless of
 *   later writes. If omitted, the first page is returned.
 * @property {number | null | undefined} [limit] - The maximum number of entries.
 * @property {NamespaceName | null | undefined} [namespace] - Only this namespace. If omitted, all namespaces.
 */

/**
 * `state.snapshot` as a command.
 * @typedef {{ command: "state.snapshot" } & StateSnapshotOptions} StateSnapshotCommand
 */

/**
 * Optional fields of `state.diff`.
 * @typedef {object} StateDiffOptions
 * @property {NamespaceName | null | undefined} [namespace] - Only this namespace. If omitted, all namespaces.
 * @property {Revision | null | undefined} [to] - The second revision. If omitted, the present.
 */

/**
 * `state.diff` as a command.
 * @typedef {{ command: "state.diff", from: Revision } & StateDiffOptions} StateDiffCommand
 */

/**
 * Optional fields of `namespace.create`.
 * @typedef {object} NamespaceCreateOptions
 * @property {Rules | undefined} [rules] - The rules for writes. If omitted, there are none.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `namespace.create` as a command.
 * @typedef {{ command: "namespace.create", name: NamespaceName } & NamespaceCreateOptions} NamespaceCreateCommand
 */

/**
 * Optional fields of `namespace.configure`.
 * @typedef {object} NamespaceConfigureOptions
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `namespace.configure` as a command.
 * @typedef {{ command: "namespace.configure", name: NamespaceName, rules: Rules } & NamespaceConfigureOptions} NamespaceConfigureCommand
 */

/**
 * Optional fields of `namespace.delete`.
 * @typedef {object} NamespaceDeleteOptions
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `namespace.delete` as a command.
 * @typedef {{ command: "namespace.delete", name: NamespaceName } & NamespaceDeleteOptions} NamespaceDeleteCommand
 */

/**
 * Optional fields of `namespace.list`.
 * @typedef {object} NamespaceListOptions
 * @property {At | undefined} [at] - As it was at this revision or time.
 * @property {NamespaceName | null | undefined} [cursor] - The `cursor` of the previous page. If omitted, the first page is returned.
 * @property {number | null | undefined} [limit] - The maximum number of results.
 */

/**
 * `namespace.list` as a command.
 * @typedef {{ command: "namespace.list" } & NamespaceListOptions} NamespaceListCommand
 */

/**
 * Optional fields of `namespace.get`.
 * @typedef {object} NamespaceGetOptions
 * @property {At | undefined} [at] - As it was at this revision or time.
 */

/**
 * `namespace.get` as a command.
 * @typedef {{ command: "namespace.get", name: NamespaceName } & NamespaceGetOptions} NamespaceGetCommand
 */

/**
 * Optional fields of `agent.register`.
 * @typedef {object} AgentRegisterOptions
 * @property {AgentId | undefined} [agent] - The id of the agent.
 * @property {string[] | undefined} [capabilities] - The capabilities of the agent. Tasks and hand-offs that require capabilities go to agents
 *   that have all of them.
 * @property {Json} [metadata] - Any JSON that describes the agent. Default: none.
 * @property {AgentId | null | undefined} [parent] - The agent that supervises this one, which must have a session. When that session ends,
 *   this one ends in the same commit. Default: none.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 * @property {number | null | undefined} [ttl_ms] - Time to live of the session in milliseconds. The agent is lost if it makes no call for
 *   this long, and none of its calls waits.
 */

/**
 * `agent.register` as a command.
 * @typedef {{ command: "agent.register" } & AgentRegisterOptions} AgentRegisterCommand
 */

/**
 * Optional fields of `agent.heartbeat`.
 * @typedef {object} AgentHeartbeatOptions
 * @property {AgentId | undefined} [agent] - The agent.
 * @property {Token | null | undefined} [token] - The token of the session. If omitted, the current session is renewed.
 */

/**
 * `agent.heartbeat` as a command.
 * @typedef {{ command: "agent.heartbeat" } & AgentHeartbeatOptions} AgentHeartbeatCommand
 */

/**
 * Optional fields of `agent.leave`.
 * @typedef {object} AgentLeaveOptions
 * @property {AgentId | undefined} [agent] - The agent.
 * @property {Token | null | undefined} [token] - The token of the session. If omitted, the current session is ended.
 */

/**
 * `agent.leave` as a command.
 * @typedef {{ command: "agent.leave" } & AgentLeaveOptions} AgentLeaveCommand
 */

/**
 * Optional fields of `agent.get`.
 * @typedef {object} AgentGetOptions
 * @property {At | undefined} [at] - As it was at this revision or time.
 */

/**
 * `agent.get` as a command.
 * @typedef {{ command: "agent.get", agent: AgentId } & AgentGetOptions} AgentGetCommand
 */

/**
 * Optional fields of `agent.list`.
 * @typedef {object} AgentListOptions
 * @property {At | undefined} [at] - As it was at this revision or time.
 * @property {string | null | undefined} [capability] - Only agents with this capability. If omitted, all agents.
 * @property {AgentId | null | undefined} [cursor] - The `cursor` of the previous page. If omitted, the first page is returned.
 * @property {number | null | undefined} [limit] - The maximum number of results.
 * @property {AgentStatus | null | undefined} [status] - Only agents with this status. If omitted, any status.
 */

/**
 * `agent.list` as a command.
 * @typedef {{ command: "agent.list" } & AgentListOptions} AgentListCommand
 */

/**
 * Optional fields of `message.send`.
 * @typedef {object} MessageSendOptions
 * @property {MessageId | null | undefined} [reply_to] - The message that it answers, of the same conversation. Default: none.
 * @property {MessageId | null | undefined} [thread] - The first message of the conversation that it belongs to. If omitted, the conversation of
 *   `reply_to`, or a new one.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 * @property {Traceparent | null | undefined} [traceparent] - W3C trace context (`traceparent`). Default: none.
 * @property {number | null | undefined} [ttl_ms] - Time to live in milliseconds. If omitted, the message does not expire.
 */

/**
 * `message.send` as a command.
 * @typedef {{ command: "message.send", to: AgentId, body: Json } & MessageSendOptions} MessageSendCommand
 */

/**
 * Optional fields of `message.request`.
 * @typedef {object} MessageRequestOptions
 * @property {boolean | null | undefined} [keep] - Record the request and its reply. If `false`, the request is live: it is delivered at most
 *   once, its reply goes straight to the caller, and both are only in memory. It is lost with
 *   the server or the session of its handler, and has no idempotency key.
 * @property {number | null | undefined} [timeout_ms] - How long to wait for the reply, in milliseconds.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 * @property {Traceparent | null | undefined} [traceparent] - W3C trace context (`traceparent`). Default: none.
 */

/**
 * `message.request` as a command.
 * @typedef {{ command: "message.request", to: Address, body: Json } & MessageRequestOptions} MessageRequestCommand
 */

/**
 * Optional fields of `message.reply`.
 * @typedef {object} MessageReplyOptions
 * @property {Json} [body] - The body of the reply. If omitted, `error` is required.
 * @property {Json} [error] - The error. If omitted, `body` is required.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `message.reply` as a command.
 * @typedef {{ command: "message.reply", request: MessageId } & MessageReplyOptions} MessageReplyCommand
 */

/**
 * Optional fields of `message.get`.
 * @typedef {object} MessageGetOptions
 * @property {At | undefined} [at] - As it was at this revision or time.
 */

/**
 * `message.get` as a command.
 * @typedef {{ command: "message.get", message: MessageId } & MessageGetOptions} MessageGetCommand
 */

/**
 * Optional fields of `inbox.receive`.
 * @typedef {object} InboxReceiveOptions
 * @property {AgentId | null | undefined} [agent] - The owner of the inbox, which must be the caller. If omitted, the caller.
 * @property {number | null | undefined} [limit] - The maximum number of messages.
 * @property {number | null | undefined} [redeliver_ms] - How long after a delivery without an acknowledgement a message is delivered again, in
 *   milliseconds.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 * @property {number | null | undefined} [wait_ms] - How long to wait if the inbox is empty, in milliseconds. If omitted, the call does not
 *   wait.
 */

/**
 * `inbox.receive` as a command.
 * @typedef {{ command: "inbox.receive" } & InboxReceiveOptions} InboxReceiveCommand
 */

/**
 * Optional fields of `inbox.ack`.
 * @typedef {object} InboxAckOptions
 * @property {AgentId | null | undefined} [agent] - The owner of the inbox, which must be the caller. If omitted, the caller.
 * @property {MessageId | null | undefined} [message] - One message. If omitted, `messages` is required.
 * @property {MessageId[] | undefined} [messages] - Several messages.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `inbox.ack` as a command.
 * @typedef {{ command: "inbox.ack" } & InboxAckOptions} InboxAckCommand
 */

/**
 * Optional fields of `inbox.requeue`.
 * @typedef {object} InboxRequeueOptions
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `inbox.requeue` as a command.
 * @typedef {{ command: "inbox.requeue", message: MessageId } & InboxRequeueOptions} InboxRequeueCommand
 */

/**
 * Optional fields of `inbox.list`.
 * @typedef {object} InboxListOptions
 * @property {AgentId | null | undefined} [agent] - The owner of the inbox. If omitted, all inboxes.
 * @property {At | undefined} [at] - As it was at this revision or time.
 * @property {MessageId | null | undefined} [cursor] - The `cursor` of the previous page. If omitted, the first page is returned.
 * @property {number | null | undefined} [limit] - The maximum number of results.
 * @property {MessageStatus | null | undefined} [status] - Only messages with this status. If omitted, any status.
 * @property {MessageId | null | undefined} [thread] - Only messages of this conversation. If omitted, any.
 */

/**
 * `inbox.list` as a command.
 * @typedef {{ command: "inbox.list" } & InboxListOptions} InboxListCommand
 */

/**
 * Optional fields of `handler.register`.
 * @typedef {object} HandlerRegisterOptions
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `handler.register` as a command.
 * @typedef {{ command: "handler.register", handler: HandlerName } & HandlerRegisterOptions} HandlerRegisterCommand
 */

/**
 * Optional fields of `handler.remove`.
 * @typedef {object} HandlerRemoveOptions
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `handler.remove` as a command.
 * @typedef {{ command: "handler.remove", handler: HandlerName } & HandlerRemoveOptions} HandlerRemoveCommand
 */

/**
 * Optional fields of `handler.list`.
 * @typedef {object} HandlerListOptions
 * @property {At | undefined} [at] - As it was at this revision or time.
 * @property {string | null | undefined} [cursor] - The `cursor` of the previous page. If omitted, the first page is returned.
 * @property {HandlerName | null | undefined} [handler] - Only this handler. If omitted, all handlers.
 * @property {number | null | undefined} [limit] - The maximum number of results.
 */

/**
 * `handler.list` as a command.
 * @typedef {{ command: "handler.list" } & HandlerListOptions} HandlerListCommand
 */

/**
 * Optional fields of `topic.publish`.
 * @typedef {object} TopicPublishOptions
 * @property {boolean | null | undefined} [durable] - Record the message in the log. If `false`, it is only delivered to current watches.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 * @property {Traceparent | null | undefined} [traceparent] - W3C trace context (`traceparent`). Default: none.
 */

/**
 * `topic.publish` as a command.
 * @typedef {{ command: "topic.publish", topic: TopicName, body: Json } & TopicPublishOptions} TopicPublishCommand
 */

/**
 * Optional fields of `topic.get`.
 * @typedef {object} TopicGetOptions
 * @property {At | undefined} [at] - As it was at this revision or time.
 */

/**
 * `topic.get` as a command.
 * @typedef {{ command: "topic.get", topic: TopicName } & TopicGetOptions} TopicGetCommand
 */

/**
 * Optional fields of `topic.list`.
 * @typedef {object} TopicListOptions
 * @property {At | undefined} [at] - As it was at this revision or time.
 * @property {TopicName | null | undefined} [cursor] - The `cursor` of the previous page. If omitted, the first page is returned.
 * @property {number | null | undefined} [limit] - The maximum number of results.
 * @property {string | null | undefined} [prefix] - Only topics with this prefix. If omitted, all topics.
 */

/**
 * `topic.list` as a command.
 * @typedef {{ command: "topic.list" } & TopicListOptions} TopicListCommand
 */

/**
 * Optional fields of `stream.create`.
 * @typedef {object} StreamCreateOptions
 * @property {number | null | undefined} [bytes_max] - The maximum size of the kept frames in bytes; the oldest are dropped first.
 * @property {number | null | undefined} [frames_max] - The maximum number of frames to keep; the oldest are dropped first.
 * @property {boolean | null | undefined} [kept] - Keep frames, so that readers can read them later. If `false`, frames are only delivered to
 *   current watches of `streams/NAME`.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `stream.create` as a command.
 * @typedef {{ command: "stream.create", stream: StreamName } & StreamCreateOptions} StreamCreateCommand
 */

/**
 * Optional fields of `stream.send`.
 * @typedef {object} StreamSendOptions
 * @property {Json} [data] - One frame. If omitted, `frames` is required.
 * @property {Json[] | undefined} [frames] - Several frames, in order.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `stream.send` as a command.
 * @typedef {{ command: "stream.send", stream: StreamName } & StreamSendOptions} StreamSendCommand
 */

/**
 * Optional fields of `stream.receive`.
 * @typedef {object} StreamReceiveOptions
 * @property {number | null | undefined} [from] - The first offset to read. If omitted, the first that is kept.
 * @property {number | null | undefined} [limit] - The maximum number of frames.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 * @property {number | null | undefined} [wait_ms] - How long to wait at the end of the stream for more, in milliseconds. If omitted, the call
 *   does not wait.
 */

/**
 * `stream.receive` as a command.
 * @typedef {{ command: "stream.receive", stream: StreamName } & StreamReceiveOptions} StreamReceiveCommand
 */

/**
 * Optional fields of `stream.close`.
 * @typedef {object} StreamCloseOptions
 * @property {string | null | undefined} [reason] - The reason, which is recorded. Default: none.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `stream.close` as a command.
 * @typedef {{ command: "stream.close", stream: StreamName } & StreamCloseOptions} StreamCloseCommand
 */

/**
 * Optional fields of `stream.delete`.
 * @typedef {object} StreamDeleteOptions
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `stream.delete` as a command.
 * @typedef {{ command: "stream.delete", stream: StreamName } & StreamDeleteOptions} StreamDeleteCommand
 */

/**
 * Optional fields of `stream.get`.
 * @typedef {object} StreamGetOptions
 * @property {At | undefined} [at] - As it was at this revision or time.
 */

/**
 * `stream.get` as a command.
 * @typedef {{ command: "stream.get", stream: StreamName } & StreamGetOptions} StreamGetCommand
 */

/**
 * Optional fields of `stream.list`.
 * @typedef {object} StreamListOptions
 * @property {At | undefined} [at] - As it was at this revision or time.
 * @property {StreamName | null | undefined} [cursor] - The `cursor` of the previous page. If omitted, the first page is returned.
 * @property {number | null | undefined} [limit] - The maximum number of results.
 */

/**
 * `stream.list` as a command.
 * @typedef {{ command: "stream.list" } & StreamListOptions} StreamListCommand
 */

/**
 * Optional fields of `rule.add`.
 * @typedef {object} RuleAddOptions
 * @property {string | null | undefined} [message] - A message for the violator, shown before the details. Default: none.
 * @property {RuleOn | undefined} [on] - When it applies. If omitted, always.
 * @property {Severity | undefined} [severity] - How serious a violation is.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `rule.add` as a command.
 * @typedef {{ command: "rule.add", name: RuleName, check: WantedCheck } & RuleAddOptions} RuleAddCommand
 */

/**
 * Optional fields of `rule.remove`.
 * @typedef {object} RuleRemoveOptions
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `rule.remove` as a command.
 * @typedef {{ command: "rule.remove", name: RuleName } & RuleRemoveOptions} RuleRemoveCommand
 */

/**
 * Optional fields of `rule.list`.
 * @typedef {object} RuleListOptions
 * @property {At | undefined} [at] - As it was at this revision or time.
 * @property {RuleName | null | undefined} [cursor] - The `cursor` of the previous page. If omitted, the first page is returned.
 * @property {number | null | undefined} [limit] - The maximum number of results.
 */

/**
 * `rule.list` as a command.
 * @typedef {{ command: "rule.list" } & RuleListOptions} RuleListCommand
 */

/**
 * Optional fields of `event.emit`.
 * @typedef {object} EventEmitOptions
 * @property {Json} [payload] - Any JSON. Default: none.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `event.emit` as a command.
 * @typedef {{ command: "event.emit", type: EventType } & EventEmitOptions} EventEmitCommand
 */

/**
 * Optional fields of `event.history`.
 * @typedef {object} EventHistoryOptions
 * @property {string | null | undefined} [cursor] - The `cursor` of the previous page. If omitted, the first page is returned.
 * @property {At | null | undefined} [from] - The first revision or time to include. If omitted, the oldest that is kept.
 * @property {number | null | undefined} [limit] - The maximum number of results.
 * @property {EventOrder | undefined} [order] - The order of the results.
 * @property {AgentId | null | undefined} [source] - Only events caused by this agent. If omitted, any agent.
 * @property {Pattern | null | undefined} [subject] - Only subjects that match, such as `tasks/**`. If omitted, any subject.
 * @property {At | null | undefined} [to] - The last revision or time to include. If omitted, the present.
 * @property {Pattern | null | undefined} [type] - Only types that match, such as `task.*`. If omitted, any type.
 */

/**
 * `event.history` as a command.
 * @typedef {{ command: "event.history" } & EventHistoryOptions} EventHistoryCommand
 */

/**
 * Optional fields of `reaction.add`.
 * @typedef {object} ReactionAddOptions
 * @property {Json[] | undefined} [do] - Commands to execute, as objects with `command`. `{{field}}` is replaced by a field of the
 *   event.
 * @property {boolean | null | undefined} [enabled] - Whether it runs.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 * @property {WantedWebhook | null | undefined} [webhook] - A webhook to call. Default: none.
 */

/**
 * `reaction.add` as a command.
 * @typedef {{ command: "reaction.add", name: ReactionName, on: ReactionOn } & ReactionAddOptions} ReactionAddCommand
 */

/**
 * Optional fields of `reaction.remove`.
 * @typedef {object} ReactionRemoveOptions
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `reaction.remove` as a command.
 * @typedef {{ command: "reaction.remove", name: ReactionName } & ReactionRemoveOptions} ReactionRemoveCommand
 */

/**
 * Optional fields of `reaction.enable`.
 * @typedef {object} ReactionEnableOptions
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `reaction.enable` as a command.
 * @typedef {{ command: "reaction.enable", name: ReactionName } & ReactionEnableOptions} ReactionEnableCommand
 */

/**
 * Optional fields of `reaction.disable`.
 * @typedef {object} ReactionDisableOptions
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `reaction.disable` as a command.
 * @typedef {{ command: "reaction.disable", name: ReactionName } & ReactionDisableOptions} ReactionDisableCommand
 */

/**
 * Optional fields of `reaction.get`.
 * @typedef {object} ReactionGetOptions
 * @property {At | undefined} [at] - As it was at this revision or time.
 */

/**
 * `reaction.get` as a command.
 * @typedef {{ command: "reaction.get", name: ReactionName } & ReactionGetOptions} ReactionGetCommand
 */

/**
 * Optional fields of `reaction.list`.
 * @typedef {object} ReactionListOptions
 * @property {At | undefined} [at] - As it was at this revision or time.
 * @property {ReactionName | null | undefined} [cursor] - The `cursor` of the previous page. If omitted, the first page is returned.
 * @property {number | null | undefined} [limit] - The maximum number of results.
 */

/**
 * `reaction.list` as a command.
 * @typedef {{ command: "reaction.list" } & ReactionListOptions} ReactionListCommand
 */

/**
 * Optional fields of `contract.declare`.
 * @typedef {object} ContractDeclareOptions
 * @property {OnBreak | undefined} [on_break] - The effect on a command that would break the contract.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `contract.declare` as a command.
 * @typedef {{ command: "contract.declare", name: ContractName, keys: ContractTerms[] } & ContractDeclareOptions} ContractDeclareCommand
 */

/**
 * Optional fields of `contract.delete`.
 * @typedef {object} ContractDeleteOptions
 * @property {boolean | undefined} [force] - Delete it even if another agent owns it.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `contract.delete` as a command.
 * @typedef {{ command: "contract.delete", name: ContractName } & ContractDeleteOptions} ContractDeleteCommand
 */

/**
 * Optional fields of `contract.list`.
 * @typedef {object} ContractListOptions
 * @property {At | undefined} [at] - As it was at this revision or time.
 * @property {ContractName | null | undefined} [cursor] - The `cursor` of the previous page. If omitted, the first page is returned.
 * @property {number | null | undefined} [limit] - The maximum number of results.
 */

/**
 * `contract.list` as a command.
 * @typedef {{ command: "contract.list" } & ContractListOptions} ContractListCommand
 */

/**
 * Optional fields of `contract.show`.
 * @typedef {object} ContractShowOptions
 * @property {At | undefined} [at] - As it was at this revision or time.
 * @property {string | null | undefined} [cursor] - The `cursor` of the previous page. If omitted, the first page is returned.
 * @property {number | null | undefined} [limit] - The maximum number of results.
 * @property {Pattern | null | undefined} [pattern] - Only keys that match, as `namespace/key`. If omitted, all keys.
 */

/**
 * `contract.show` as a command.
 * @typedef {{ command: "contract.show" } & ContractShowOptions} ContractShowCommand
 */

/**
 * Optional fields of `contract.check`.
 * @typedef {object} ContractCheckOptions
 * @property {At | undefined} [at] - As it was at this revision or time.
 * @property {NamespaceName | null | undefined} [namespace] - Only keys of this namespace. If omitted, all namespaces.
 * @property {JsonSchema | null | undefined} [schema] - A JSON Schema to check as the future schema of the namespace; requires `namespace`. If
 *   omitted, the present state is checked.
 */

/**
 * `contract.check` as a command.
 * @typedef {{ command: "contract.check" } & ContractCheckOptions} ContractCheckCommand
 */

/**
 * Optional fields of `context.build`.
 * @typedef {object} ContextBuildOptions
 * @property {AgentId | undefined} [agent] - The agent.
 * @property {At | undefined} [at] - As it was at this revision or time.
 * @property {TaskId | null | undefined} [task] - The task that the context is for. If omitted, the context describes the workspace.
 * @property {number | null | undefined} [token_budget] - The maximum number of tokens.
 */

/**
 * `context.build` as a command.
 * @typedef {{ command: "context.build" } & ContextBuildOptions} ContextBuildCommand
 */

/**
 * Optional fields of `lock.acquire`.
 * @typedef {object} LockAcquireOptions
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 * @property {number | null | undefined} [ttl_ms] - Time to live of the hold in milliseconds, unless it is renewed.
 * @property {number | null | undefined} [wait_ms] - How long to wait for the lock, in milliseconds. If omitted, the call does not wait.
 */

/**
 * `lock.acquire` as a command.
 * @typedef {{ command: "lock.acquire", name: LockName } & LockAcquireOptions} LockAcquireCommand
 */

/**
 * Optional fields of `lock.renew`.
 * @typedef {object} LockRenewOptions
 * @property {number | null | undefined} [ttl_ms] - The new time to live in milliseconds, from now on. If omitted, the previous one.
 */

/**
 * `lock.renew` as a command.
 * @typedef {{ command: "lock.renew", name: LockName, token: Token } & LockRenewOptions} LockRenewCommand
 */

/**
 * Optional fields of `lock.release`.
 * @typedef {{}} LockReleaseOptions
 */

/**
 * `lock.release` as a command.
 * @typedef {{ command: "lock.release", name: LockName, token: Token } & LockReleaseOptions} LockReleaseCommand
 */

/**
 * Optional fields of `lock.get`.
 * @typedef {object} LockGetOptions
 * @property {At | undefined} [at] - As it was at this revision or time.
 */

/**
 * `lock.get` as a command.
 * @typedef {{ command: "lock.get", name: LockName } & LockGetOptions} LockGetCommand
 */

/**
 * Optional fields of `lock.list`.
 * @typedef {object} LockListOptions
 * @property {At | undefined} [at] - As it was at this revision or time.
 * @property {LockName | null | undefined} [cursor] - The `cursor` of the previous page. If omitted, the first page is returned.
 * @property {number | null | undefined} [limit] - The maximum number of results.
 */

/**
 * `lock.list` as a command.
 * @typedef {{ command: "lock.list" } & LockListOptions} LockListCommand
 */

/**
 * Optional fields of `semaphore.acquire`.
 * @typedef {object} SemaphoreAcquireOptions
 * @property {number | null | undefined} [permits] - The number of permits of the semaphore. Required in the first call for a name; later calls
 *   must give the same number, unless `semaphore.resize` has set another since. If omitted
 *   later, the existing number.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 * @property {number | null | undefined} [ttl_ms] - Time to live of the permit in milliseconds, unless it is renewed.
 * @property {number | null | undefined} [wait_ms] - How long to wait for a permit, in milliseconds. If omitted, the call does not wait.
 * @property {number | null | undefined} [weight] - How many of the permits to take, at most as many as the semaphore has. They are acquired
 *   and released together, under one token.
 */

/**
 * `semaphore.acquire` as a command.
 * @typedef {{ command: "semaphore.acquire", name: SemaphoreName } & SemaphoreAcquireOptions} SemaphoreAcquireCommand
 */

/**
 * Optional fields of `semaphore.renew`.
 * @typedef {object} SemaphoreRenewOptions
 * @property {number | null | undefined} [ttl_ms] - The new time to live in milliseconds, from now on. If omitted, the previous one.
 */

/**
 * `semaphore.renew` as a command.
 * @typedef {{ command: "semaphore.renew", name: SemaphoreName, token: Token } & SemaphoreRenewOptions} SemaphoreRenewCommand
 */

/**
 * Optional fields of `semaphore.release`.
 * @typedef {{}} SemaphoreReleaseOptions
 */

/**
 * `semaphore.release` as a command.
 * @typedef {{ command: "semaphore.release", name: SemaphoreName, token: Token } & SemaphoreReleaseOptions} SemaphoreReleaseCommand
 */

/**
 * Optional fields of `semaphore.resize`.
 * @typedef {object} SemaphoreResizeOptions
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `semaphore.resize` as a command.
 * @typedef {{ command: "semaphore.resize", name: SemaphoreName, permits: number } & SemaphoreResizeOptions} SemaphoreResizeCommand
 */

/**
 * Optional fields of `semaphore.get`.
 * @typedef {object} SemaphoreGetOptions
 * @property {At | undefined} [at] - As it was at this revision or time.
 */

/**
 * `semaphore.get` as a command.
 * @typedef {{ command: "semaphore.get", name: SemaphoreName } & SemaphoreGetOptions} SemaphoreGetCommand
 */

/**
 * Optional fields of `semaphore.list`.
 * @typedef {object} SemaphoreListOptions
 * @property {At | undefined} [at] - As it was at this revision or time.
 * @property {SemaphoreName | null | undefined} [cursor] - The `cursor` of the previous page. If omitted, the first page is returned.
 * @property {number | null | undefined} [limit] - The maximum number of results.
 */

/**
 * `semaphore.list` as a command.
 * @typedef {{ command: "semaphore.list" } & SemaphoreListOptions} SemaphoreListCommand
 */

/**
 * Optional fields of `task.create`.
 * @typedef {object} TaskCreateOptions
 * @property {AgentId | null | undefined} [assigned_agent] - The only agent that may claim it. If omitted, any agent.
 * @property {Backoff | null | undefined} [backoff] - The delay before a retry. If omitted, the defaults of `Backoff`.
 * @property {SpendBudget | null | undefined} [budget] - The budget of the task and its subtasks. Once it is used up, none of them can start. If
 *   omitted, only the budgets of the tasks above it, the agent and the workspace apply.
 * @property {string[] | undefined} [capabilities] - Capabilities that an agent needs to claim it.
 * @property {number | null | undefined} [deadline_ms] - Deadline in milliseconds from now; the task fails unless it is finished by then. If
 *   omitted, none.
 * @property {Json} [definition] - The work as data: any JSON. Default: none.
 * @property {number | null | undefined} [delay_ms] - Delay in milliseconds before it can be claimed. If omitted, none.
 * @property {TaskId[] | undefined} [depends_on] - Tasks that must be completed first. If one of them fails or is cancelled, this task is
 *   cancelled.
 * @property {string | null | undefined} [description] - Human-readable description. Default: none.
 * @property {GroupName | null | undefined} [group] - A group, for joins and filters. Default: none.
 * @property {TaskId | null | undefined} [id] - The id of the task. If omitted, it is generated. In a WebSocket frame, where `id` numbers
 *   the request, the field is called `task`.
 * @property {boolean | undefined} [if_capable] - Reject the task if no active agent is able to claim it. If `false`, that is a warning.
 * @property {number | null | undefined} [max_retries] - How often a failed attempt is retried.
 * @property {Json} [metadata] - An object with free-form metadata. Default: none.
 * @property {OnExhausted | null | undefined} [on_exhausted] - The action after the last attempt.
 * @property {TaskId | null | undefined} [parent] - The parent task. If that is cancelled, this one is too; if its lease is lost, this one
 *   returns to the queue; if it fails, this one is not affected. Default: none.
 * @property {number | null | undefined} [priority] - The priority; higher is claimed first. One point is worth one minute of age.
 * @property {boolean | undefined} [review] - Whether its result must be accepted by another agent before it is completed. If `true`,
 *   `task.complete` submits the result, and `task.review` decides on it.
 * @property {Reviewers | null | undefined} [reviewers] - The agents that may accept its result. If given, it has `review`. If omitted, any agent
 *   except the one that did the work.
 * @property {Json} [schema_version] - The version of the schema of `definition`: a string or a number. Default: none.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 * @property {Traceparent | null | undefined} [traceparent] - W3C trace context (`traceparent`). Default: none.
 */

/**
 * `task.create` as a command.
 * @typedef {{ command: "task.create", type: TaskType } & TaskCreateOptions} TaskCreateCommand
 */

/**
 * Optional fields of `task.claim`.
 * @typedef {object} TaskClaimOptions
 * @property {string[] | null | undefined} [capabilities] - The capabilities of the caller. If omitted, those of its session.
 * @property {number | null | undefined} [lease_ms] - The lease in milliseconds, unless it is renewed.
 * @property {TaskId | null | undefined} [task] - Only this task. If omitted, any task.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 * @property {TaskType[] | null | undefined} [types] - Only tasks of these types. If omitted, any type.
 * @property {number | null | undefined} [wait_ms] - How long to wait for a task, in milliseconds. If omitted, the call does not wait.
 */

/**
 * `task.claim` as a command.
 * @typedef {{ command: "task.claim" } & TaskClaimOptions} TaskClaimCommand
 */

/**
 * Optional fields of `task.heartbeat`.
 * @typedef {object} TaskHeartbeatOptions
 * @property {number | null | undefined} [lease_ms] - The new lease in milliseconds, from now on. If omitted, the previous one.
 */

/**
 * `task.heartbeat` as a command.
 * @typedef {{ command: "task.heartbeat", task: TaskId, token: Token } & TaskHeartbeatOptions} TaskHeartbeatCommand
 */

/**
 * Optional fields of `task.progress`.
 * @typedef {object} TaskProgressOptions
 * @property {string | null | undefined} [note] - A note in words. Default: none.
 */

/**
 * `task.progress` as a command.
 * @typedef {{ command: "task.progress", task: TaskId, token: Token, fraction: number } & TaskProgressOptions} TaskProgressCommand
 */

/**
 * Optional fields of `task.update`.
 * @typedef {{}} TaskUpdateOptions
 */

/**
 * `task.update` as a command.
 * @typedef {{ command: "task.update", task: TaskId, token: Token, fields: Json } & TaskUpdateOptions} TaskUpdateCommand
 */

/**
 * Optional fields of `task.release`.
 * @typedef {object} TaskReleaseOptions
 * @property {string | null | undefined} [reason] - The reason, which is recorded. Default: none.
 */

/**
 * `task.release` as a command.
 * @typedef {{ command: "task.release", task: TaskId, token: Token } & TaskReleaseOptions} TaskReleaseCommand
 */

/**
 * Optional fields of `task.complete`.
 * @typedef {object} TaskCompleteOptions
 * @property {Json} [artifacts] - References to what it produced: a list, usually of artifact ids. Default: none.
 * @property {Json} [result] - The result. If omitted, the result so far.
 * @property {Next | null | undefined} [then_claim] - Claim the next task in the same commit. If omitted, no task is claimed.
 */

/**
 * `task.complete` as a command.
 * @typedef {{ command: "task.complete", task: TaskId, token: Token } & TaskCompleteOptions} TaskCompleteCommand
 */

/**
 * Optional fields of `task.fail`.
 * @typedef {object} TaskFailOptions
 * @property {boolean | null | undefined} [retryable] - Whether a retry may help. If `false`, the task is not retried.
 */

/**
 * `task.fail` as a command.
 * @typedef {{ command: "task.fail", task: TaskId, token: Token, error: Json } & TaskFailOptions} TaskFailCommand
 */

/**
 * Optional fields of `task.cancel`.
 * @typedef {object} TaskCancelOptions
 * @property {string | null | undefined} [reason] - The reason, which is recorded. Default: none.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `task.cancel` as a command.
 * @typedef {{ command: "task.cancel", task: TaskId } & TaskCancelOptions} TaskCancelCommand
 */

/**
 * Optional fields of `task.review`.
 * @typedef {object} TaskReviewOptions
 * @property {number | null | undefined} [attempt] - The number of the attempt that was reviewed: `attempts` of the task. The verdict is
 *   refused if another attempt waits for review. If omitted, the verdict is about the attempt
 *   that waits.
 * @property {string | null | undefined} [note] - A note, which is recorded. Default: none.
 * @property {Json} [result] - The result. If omitted, the result so far.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `task.review` as a command.
 * @typedef {{ command: "task.review", task: TaskId, verdict: Verdict } & TaskReviewOptions} TaskReviewCommand
 */

/**
 * Optional fields of `task.retry`.
 * @typedef {object} TaskRetryOptions
 * @property {number | null | undefined} [deadline_ms] - A new deadline, in milliseconds from now. Default: the task keeps its deadline, or has
 *   none if that has passed.
 * @property {string | null | undefined} [reason] - The reason for the retry. Default: none.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `task.retry` as a command.
 * @typedef {{ command: "task.retry", task: TaskId } & TaskRetryOptions} TaskRetryCommand
 */

/**
 * Optional fields of `task.get`.
 * @typedef {object} TaskGetOptions
 * @property {At | undefined} [at] - As it was at this revision or time.
 */

/**
 * `task.get` as a command.
 * @typedef {{ command: "task.get", task: TaskId } & TaskGetOptions} TaskGetCommand
 */

/**
 * Optional fields of `task.list`.
 * @typedef {object} TaskListOptions
 * @property {AgentId | null | undefined} [agent] - Only tasks that this agent holds or is assigned to. If omitted, any agent.
 * @property {At | undefined} [at] - As it was at this revision or time.
 * @property {TaskId | null | undefined} [cursor] - The `cursor` of the previous page. If omitted, the first page is returned.
 * @property {GroupName | null | undefined} [group] - Only tasks of this group. If omitted, any group.
 * @property {number | null | undefined} [limit] - The maximum number of results.
 * @property {TaskId | null | undefined} [parent] - Only direct subtasks of this task. If omitted, any task.
 * @property {TaskStatus | null | undefined} [status] - Only tasks with this status. If omitted, any status.
 * @property {TaskType | null | undefined} [type] - Only tasks of this type. If omitted, any type.
 */

/**
 * `task.list` as a command.
 * @typedef {{ command: "task.list" } & TaskListOptions} TaskListCommand
 */

/**
 * Optional fields of `task.stats`.
 * @typedef {object} TaskStatsOptions
 * @property {At | undefined} [at] - As it was at this revision or time.
 * @property {TaskType | null | undefined} [type] - Only tasks of this type. If omitted, all tasks.
 */

/**
 * `task.stats` as a command.
 * @typedef {{ command: "task.stats" } & TaskStatsOptions} TaskStatsCommand
 */

/**
 * Optional fields of `task.why`.
 * @typedef {object} TaskWhyOptions
 * @property {At | undefined} [at] - As it was at this revision or time.
 */

/**
 * `task.why` as a command.
 * @typedef {{ command: "task.why", task: TaskId } & TaskWhyOptions} TaskWhyCommand
 */

/**
 * Optional fields of `task.history`.
 * @typedef {object} TaskHistoryOptions
 * @property {string | null | undefined} [cursor] - The `cursor` of the previous page. If omitted, the first page is returned.
 * @property {number | null | undefined} [limit] - The maximum number of results.
 */

/**
 * `task.history` as a command.
 * @typedef {{ command: "task.history", task: TaskId } & TaskHistoryOptions} TaskHistoryCommand
 */

/**
 * Optional fields of `spend.record`.
 * @typedef {object} SpendRecordOptions
 * @property {number | null | undefined} [calls] - Calls of a model or a tool.
 * @property {number | null | undefined} [cost_micros] - Money, in millionths of the currency that the workspace uses.
 * @property {string | null | undefined} [model] - The model or tool. Default: none.
 * @property {string | null | undefined} [note] - A note. Default: none.
 * @property {boolean | undefined} [strict] - Reject the record if it exceeds any budget. Use it before a call. If `false`, the record
 *   is always accepted.
 * @property {TaskId | null | undefined} [task] - The task that it was spent on. It is charged to the tasks above it too. If omitted, it is
 *   charged to the agent and the workspace only.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 * @property {number | null | undefined} [tokens] - Tokens of a language model.
 */

/**
 * `spend.record` as a command.
 * @typedef {{ command: "spend.record" } & SpendRecordOptions} SpendRecordCommand
 */

/**
 * Optional fields of `spend.limit`.
 * @typedef {object} SpendLimitOptions
 * @property {SpendBudget | undefined} [budget] - The limits, which replace the previous ones. If omitted, there is no budget.
 * @property {SpendPayer | undefined} [of] - The owner of the budget: `{"task": "t-7"}`, `{"agent": "ada"}` or `"workspace"`. If
 *   omitted, the workspace.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `spend.limit` as a command.
 * @typedef {{ command: "spend.limit" } & SpendLimitOptions} SpendLimitCommand
 */

/**
 * Optional fields of `spend.get`.
 * @typedef {object} SpendGetOptions
 * @property {AgentId | null | undefined} [agent] - The agent. If omitted, the task or the workspace.
 * @property {At | undefined} [at] - As it was at this revision or time.
 * @property {TaskId | null | undefined} [task] - The task, with its subtasks. If omitted, the agent or the workspace.
 */

/**
 * `spend.get` as a command.
 * @typedef {{ command: "spend.get" } & SpendGetOptions} SpendGetCommand
 */

/**
 * Optional fields of `spend.list`.
 * @typedef {object} SpendListOptions
 * @property {AgentId | null | undefined} [agent] - Only records of this agent. If omitted, any agent.
 * @property {At | undefined} [at] - As it was at this revision or time.
 * @property {number | null | undefined} [cursor] - The `cursor` of the previous page. If omitted, the first page is returned.
 * @property {number | null | undefined} [limit] - The maximum number of results.
 * @property {TaskId | null | undefined} [task] - Only records of this task itself. If omitted, any task and none.
 */

/**
 * `spend.list` as a command.
 * @typedef {{ command: "spend.list" } & SpendListOptions} SpendListCommand
 */

/**
 * Optional fields of `barrier.arrive`.
 * @typedef {object} BarrierArriveOptions
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 * @property {number | null | undefined} [wait_ms] - How long to wait for the barrier to open, in milliseconds. If omitted, the call returns at
 *   once and the arrival stays. If the wait times out, the arrival is withdrawn.
 */

/**
 * `barrier.arrive` as a command.
 * @typedef {{ command: "barrier.arrive", name: BarrierName, count: number } & BarrierArriveOptions} BarrierArriveCommand
 */

/**
 * Optional fields of `barrier.reset`.
 * @typedef {object} BarrierResetOptions
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `barrier.reset` as a command.
 * @typedef {{ command: "barrier.reset", name: BarrierName } & BarrierResetOptions} BarrierResetCommand
 */

/**
 * Optional fields of `barrier.get`.
 * @typedef {object} BarrierGetOptions
 * @property {At | undefined} [at] - As it was at this revision or time.
 */

/**
 * `barrier.get` as a command.
 * @typedef {{ command: "barrier.get", name: BarrierName } & BarrierGetOptions} BarrierGetCommand
 */

/**
 * Optional fields of `join.create`.
 * @typedef {object} JoinCreateOptions
 * @property {number | null | undefined} [deadline_ms] - How long the join waits, in milliseconds. If omitted, there is no limit.
 * @property {GroupName | null | undefined} [group] - The group. Tasks that are added to the group later belong to the join too. If omitted,
 *   `tasks` is required.
 * @property {JoinId | null | undefined} [id] - The id of the join. If omitted, it is generated. In a WebSocket frame, where `id` numbers
 *   the request, the field is called `join`.
 * @property {Need | null | undefined} [need] - The number of tasks that must complete, or `"all"`: every task must finish, with any
 *   outcome.
 * @property {TaskId[] | null | undefined} [tasks] - The tasks. If omitted, `group` is required.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `join.create` as a command.
 * @typedef {{ command: "join.create" } & JoinCreateOptions} JoinCreateCommand
 */

/**
 * Optional fields of `join.wait`.
 * @typedef {object} JoinWaitOptions
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 * @property {number | null | undefined} [wait_ms] - How long to wait, in milliseconds. If omitted, the call does not wait.
 */

/**
 * `join.wait` as a command.
 * @typedef {{ command: "join.wait", join: JoinId } & JoinWaitOptions} JoinWaitCommand
 */

/**
 * Optional fields of `join.get`.
 * @typedef {object} JoinGetOptions
 * @property {At | undefined} [at] - As it was at this revision or time.
 */

/**
 * `join.get` as a command.
 * @typedef {{ command: "join.get", join: JoinId } & JoinGetOptions} JoinGetCommand
 */

/**
 * Optional fields of `pipeline.create`.
 * @typedef {object} PipelineCreateOptions
 * @property {boolean | undefined} [automatic] - Create a task for every stage that becomes ready; the result of the task is the output of
 *   the stage.
 * @property {Json} [input] - The input of the first stages. Default: none.
 * @property {Json} [metadata] - An object with free-form metadata. Default: none.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 * @property {Traceparent | null | undefined} [traceparent] - W3C trace context (`traceparent`) of the pipeline and its tasks. Default: none.
 */

/**
 * `pipeline.create` as a command.
 * @typedef {{ command: "pipeline.create", pipeline: PipelineName, stages: StageDesign[] } & PipelineCreateOptions} PipelineCreateCommand
 */

/**
 * Optional fields of `pipeline.start_stage`.
 * @typedef {object} PipelineStartStageOptions
 * @property {Json} [input] - The input of the stage. If omitted, the outputs of the stages before it.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `pipeline.start_stage` as a command.
 * @typedef {{ command: "pipeline.start_stage", pipeline: PipelineName, stage: StageName } & PipelineStartStageOptions} PipelineStartStageCommand
 */

/**
 * Optional fields of `pipeline.complete_stage`.
 * @typedef {object} PipelineCompleteStageOptions
 * @property {Json} [output] - The output of the stage. If omitted, `null`.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `pipeline.complete_stage` as a command.
 * @typedef {{ command: "pipeline.complete_stage", pipeline: PipelineName, stage: StageName } & PipelineCompleteStageOptions} PipelineCompleteStageCommand
 */

/**
 * Optional fields of `pipeline.review_stage`.
 * @typedef {object} PipelineReviewStageOptions
 * @property {number | null | undefined} [attempt] - The number of the attempt that was reviewed: `attempts` of the stage. The verdict is
 *   refused if another attempt waits for review. If omitted, the verdict is about the attempt
 *   that waits.
 * @property {string | null | undefined} [note] - A note, which is recorded. Default: none.
 * @property {Json} [output] - The output, if it is accepted. If omitted, the submitted one.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `pipeline.review_stage` as a command.
 * @typedef {{ command: "pipeline.review_stage", pipeline: PipelineName, stage: StageName, verdict: Verdict } & PipelineReviewStageOptions} PipelineReviewStageCommand
 */

/**
 * Optional fields of `pipeline.fail_stage`.
 * @typedef {object} PipelineFailStageOptions
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `pipeline.fail_stage` as a command.
 * @typedef {{ command: "pipeline.fail_stage", pipeline: PipelineName, stage: StageName, error: Json } & PipelineFailStageOptions} PipelineFailStageCommand
 */

/**
 * Optional fields of `pipeline.retry_stage`.
 * @typedef {object} PipelineRetryStageOptions
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `pipeline.retry_stage` as a command.
 * @typedef {{ command: "pipeline.retry_stage", pipeline: PipelineName, stage: StageName } & PipelineRetryStageOptions} PipelineRetryStageCommand
 */

/**
 * Optional fields of `pipeline.skip_stage`.
 * @typedef {object} PipelineSkipStageOptions
 * @property {string | null | undefined} [reason] - The reason, which is recorded. Default: none.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `pipeline.skip_stage` as a command.
 * @typedef {{ command: "pipeline.skip_stage", pipeline: PipelineName, stage: StageName } & PipelineSkipStageOptions} PipelineSkipStageCommand
 */

/**
 * Optional fields of `pipeline.abort`.
 * @typedef {object} PipelineAbortOptions
 * @property {string | null | undefined} [reason] - The reason, which is recorded. Default: none.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `pipeline.abort` as a command.
 * @typedef {{ command: "pipeline.abort", pipeline: PipelineName } & PipelineAbortOptions} PipelineAbortCommand
 */

/**
 * Optional fields of `pipeline.delete`.
 * @typedef {object} PipelineDeleteOptions
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `pipeline.delete` as a command.
 * @typedef {{ command: "pipeline.delete", pipeline: PipelineName } & PipelineDeleteOptions} PipelineDeleteCommand
 */

/**
 * Optional fields of `pipeline.get`.
 * @typedef {object} PipelineGetOptions
 * @property {At | undefined} [at] - As it was at this revision or time.
 */

/**
 * `pipeline.get` as a command.
 * @typedef {{ command: "pipeline.get", pipeline: PipelineName } & PipelineGetOptions} PipelineGetCommand
 */

/**
 * Optional fields of `pipeline.output`.
 * @typedef {object} PipelineOutputOptions
 * @property {At | undefined} [at] - As it was at this revision or time.
 */

/**
 * `pipeline.output` as a command.
 * @typedef {{ command: "pipeline.output", pipeline: PipelineName, stage: StageName } & PipelineOutputOptions} PipelineOutputCommand
 */

/**
 * Optional fields of `pipeline.list`.
 * @typedef {object} PipelineListOptions
 * @property {At | undefined} [at] - As it was at this revision or time.
 * @property {PipelineName | null | undefined} [cursor] - The `cursor` of the previous page. If omitted, the first page is returned.
 * @property {number | null | undefined} [limit] - The maximum number of results.
 * @property {PipelineStatus | null | undefined} [status] - Only pipelines with this status. If omitted, any status.
 */

/**
 * `pipeline.list` as a command.
 * @typedef {{ command: "pipeline.list" } & PipelineListOptions} PipelineListCommand
 */

/**
 * Optional fields of `checkpoint.save`.
 * @typedef {object} CheckpointSaveOptions
 * @property {StateType | null | undefined} [content_type] - The type of the bytes, as the caller names it. If omitted, the state is JSON.
 * @property {string | null | undefined} [description] - Human-readable description. Default: none.
 * @property {CheckpointKey | null | undefined} [key] - A key of the caller's choice, unique within the task. A checkpoint with the same key is
 *   replaced. Default: none.
 * @property {CheckpointLabel | null | undefined} [label] - A label. Labelled checkpoints are not removed by retention rules. Default: none.
 * @property {Json} [metadata] - An object to filter lists by. Default: none.
 * @property {CheckpointId | null | undefined} [parent] - The checkpoint that this one continues. If omitted, the one with `parent_key`; without
 *   `key` and `parent_key`, the head of the task.
 * @property {CheckpointKey | null | undefined} [parent_key] - The key of the checkpoint that this one continues. It need not exist. Default: none.
 * @property {Token | null | undefined} [token] - The token of the task's lease. Required if the task exists in this workspace. If omitted
 *   for any other unit of work, no token is checked.
 */

/**
 * `checkpoint.save` as a command.
 * @typedef {{ command: "checkpoint.save", task: TaskId, state: Json } & CheckpointSaveOptions} CheckpointSaveCommand
 */

/**
 * Optional fields of `checkpoint.restore`.
 * @typedef {object} CheckpointRestoreOptions
 * @property {Token | null | undefined} [token] - The token of the task's lease. Required if the task is leased; if omitted otherwise, no
 *   token is checked.
 */

/**
 * `checkpoint.restore` as a command.
 * @typedef {{ command: "checkpoint.restore", checkpoint: CheckpointId } & CheckpointRestoreOptions} CheckpointRestoreCommand
 */

/**
 * Optional fields of `checkpoint.fork`.
 * @typedef {object} CheckpointForkOptions
 * @property {Token | null | undefined} [token] - The token of that task's lease. Required if the task is leased; if omitted otherwise, no
 *   token is checked.
 */

/**
 * `checkpoint.fork` as a command.
 * @typedef {{ command: "checkpoint.fork", checkpoint: CheckpointId, task: TaskId } & CheckpointForkOptions} CheckpointForkCommand
 */

/**
 * Optional fields of `checkpoint.label`.
 * @typedef {object} CheckpointLabelOptions
 * @property {CheckpointLabel | null | undefined} [label] - The new label. If omitted, the label is removed.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `checkpoint.label` as a command.
 * @typedef {{ command: "checkpoint.label", checkpoint: CheckpointId } & CheckpointLabelOptions} CheckpointLabelCommand
 */

/**
 * Optional fields of `checkpoint.write`.
 * @typedef {object} CheckpointWriteOptions
 * @property {string | undefined} [path] - The place of the step. Writes are returned by path, writer and index. Default: empty.
 * @property {Token | null | undefined} [token] - The token of the task's lease. Required if the task exists in this workspace. If omitted
 *   for any other unit of work, no token is checked.
 */

/**
 * `checkpoint.write` as a command.
 * @typedef {{ command: "checkpoint.write", task: TaskId, key: CheckpointKey, writer: string, writes: NewWrite[] } & CheckpointWriteOptions} CheckpointWriteCommand
 */

/**
 * Optional fields of `checkpoint.copy`.
 * @typedef {object} CheckpointCopyOptions
 * @property {Token | null | undefined} [token] - The token of that task's lease. Required if the task is leased; if omitted otherwise, no
 *   token is checked.
 */

/**
 * `checkpoint.copy` as a command.
 * @typedef {{ command: "checkpoint.copy", task: TaskId, to: TaskId } & CheckpointCopyOptions} CheckpointCopyCommand
 */

/**
 * Optional fields of `checkpoint.prune`.
 * @typedef {object} CheckpointPruneOptions
 * @property {boolean | undefined} [all] - Also delete the head and labelled checkpoints. If it deletes the last one, it also deletes
 *   pending writes after checkpoints that were never saved.
 * @property {number | null | undefined} [keep] - The number of newest checkpoints to keep. Labelled ones are not counted unless `all` is
 *   set. If omitted, the number does not matter.
 * @property {CheckpointKey[] | null | undefined} [keys] - Delete only checkpoints with one of these keys. If omitted, any.
 * @property {Json} [metadata] - Delete only checkpoints whose metadata contains this object, as `@>` of `PostgreSQL`
 *   defines it. If omitted, any.
 * @property {number | null | undefined} [older_than_ms] - The minimum age of a deleted checkpoint in milliseconds. If omitted, age does not matter.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `checkpoint.prune` as a command.
 * @typedef {{ command: "checkpoint.prune", task: TaskId } & CheckpointPruneOptions} CheckpointPruneCommand
 */

/**
 * Optional fields of `checkpoint.retain`.
 * @typedef {object} CheckpointRetainOptions
 * @property {number | null | undefined} [keep] - The number of newest checkpoints to keep per task; labelled ones are not counted. If
 *   omitted, the number is not limited.
 * @property {number | null | undefined} [max_age_ms] - The maximum age in milliseconds. If omitted, age is not limited.
 * @property {Pattern | null | undefined} [task] - The tasks that the rule applies to. If omitted, all tasks without a more specific rule.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `checkpoint.retain` as a command.
 * @typedef {{ command: "checkpoint.retain" } & CheckpointRetainOptions} CheckpointRetainCommand
 */

/**
 * Optional fields of `checkpoint.latest`.
 * @typedef {object} CheckpointLatestOptions
 * @property {At | undefined} [at] - As it was at this revision or time.
 */

/**
 * `checkpoint.latest` as a command.
 * @typedef {{ command: "checkpoint.latest", task: TaskId } & CheckpointLatestOptions} CheckpointLatestCommand
 */

/**
 * Optional fields of `checkpoint.get`.
 * @typedef {object} CheckpointGetOptions
 * @property {At | undefined} [at] - As it was at this revision or time.
 */

/**
 * `checkpoint.get` as a command.
 * @typedef {{ command: "checkpoint.get", checkpoint: CheckpointId } & CheckpointGetOptions} CheckpointGetCommand
 */

/**
 * Optional fields of `checkpoint.list`.
 * @typedef {object} CheckpointListOptions
 * @property {At | undefined} [at] - As it was at this revision or time.
 * @property {CheckpointId | null | undefined} [before] - Only checkpoints older than this one. If omitted, any.
 * @property {CheckpointId | null | undefined} [cursor] - The `cursor` of the previous page. If omitted, the first page is returned.
 * @property {CheckpointLabel | null | undefined} [label] - Only checkpoints with this label. If omitted, any.
 * @property {number | null | undefined} [limit] - The maximum number of results.
 * @property {Json} [metadata] - Only checkpoints whose metadata contains this object, as `@>` of `PostgreSQL` defines it.
 *   If omitted, any.
 * @property {TaskId | null | undefined} [task] - Only checkpoints of this task. If omitted, of all tasks.
 */

/**
 * `checkpoint.list` as a command.
 * @typedef {{ command: "checkpoint.list" } & CheckpointListOptions} CheckpointListCommand
 */

/**
 * Optional fields of `checkpoint.history`.
 * @typedef {object} CheckpointHistoryOptions
 * @property {At | undefined} [at] - As it was at this revision or time.
 * @property {CheckpointKey | null | undefined} [before] - Only checkpoints with smaller keys than this one. If omitted, any.
 * @property {CheckpointKey | null | undefined} [cursor] - The `cursor` of the previous page. If omitted, the first page is returned.
 * @property {CheckpointKey | null | undefined} [key] - Only the checkpoint with this key. If omitted, all that have keys.
 * @property {number | null | undefined} [limit] - The maximum number of results.
 * @property {Json} [metadata] - Only checkpoints whose metadata contains this object, as `@>` of `PostgreSQL` defines it.
 *   If omitted, any.
 * @property {CheckpointKey | null | undefined} [prefix] - Only checkpoints whose keys start with this text. If omitted, any.
 */

/**
 * `checkpoint.history` as a command.
 * @typedef {{ command: "checkpoint.history", task: TaskId } & CheckpointHistoryOptions} CheckpointHistoryCommand
 */

/**
 * Optional fields of `checkpoint.retention`.
 * @typedef {object} CheckpointRetentionOptions
 * @property {At | undefined} [at] - As it was at this revision or time.
 */

/**
 * `checkpoint.retention` as a command.
 * @typedef {{ command: "checkpoint.retention" } & CheckpointRetentionOptions} CheckpointRetentionCommand
 */

/**
 * Optional fields of `artifact.delete`.
 * @typedef {object} ArtifactDeleteOptions
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `artifact.delete` as a command.
 * @typedef {{ command: "artifact.delete", artifact: ArtifactId } & ArtifactDeleteOptions} ArtifactDeleteCommand
 */

/**
 * Optional fields of `artifact.get`.
 * @typedef {object} ArtifactGetOptions
 * @property {At | undefined} [at] - As it was at this revision or time.
 */

/**
 * `artifact.get` as a command.
 * @typedef {{ command: "artifact.get", artifact: ArtifactId } & ArtifactGetOptions} ArtifactGetCommand
 */

/**
 * Optional fields of `artifact.list`.
 * @typedef {object} ArtifactListOptions
 * @property {At | undefined} [at] - As it was at this revision or time.
 * @property {ArtifactId | null | undefined} [cursor] - The `cursor` of the previous page. If omitted, the first page is returned.
 * @property {boolean | undefined} [free] - Only artifacts that nothing references.
 * @property {number | null | undefined} [limit] - The maximum number of results.
 * @property {ContentName | null | undefined} [name] - Only artifacts with this name. If omitted, any name.
 */

/**
 * `artifact.list` as a command.
 * @typedef {{ command: "artifact.list" } & ArtifactListOptions} ArtifactListCommand
 */

/**
 * Optional fields of `secret.delete`.
 * @typedef {object} SecretDeleteOptions
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `secret.delete` as a command.
 * @typedef {{ command: "secret.delete", secret: SecretId } & SecretDeleteOptions} SecretDeleteCommand
 */

/**
 * Optional fields of `secret.get`.
 * @typedef {object} SecretGetOptions
 * @property {At | undefined} [at] - As it was at this revision or time.
 */

/**
 * `secret.get` as a command.
 * @typedef {{ command: "secret.get", secret: SecretId } & SecretGetOptions} SecretGetCommand
 */

/**
 * Optional fields of `secret.list`.
 * @typedef {object} SecretListOptions
 * @property {At | undefined} [at] - As it was at this revision or time.
 * @property {SecretId | null | undefined} [cursor] - The `cursor` of the previous page. If omitted, the first page is returned.
 * @property {number | null | undefined} [limit] - The maximum number of results.
 */

/**
 * `secret.list` as a command.
 * @typedef {{ command: "secret.list" } & SecretListOptions} SecretListCommand
 */

/**
 * Optional fields of `handoff.offer`.
 * @typedef {object} HandoffOfferOptions
 * @property {ApprovalTerms | null | undefined} [approval] - Require an approval: `true`, or an object that names the approvers and how long an
 *   approval is valid.
 * @property {Json} [artifacts] - References to what the work has produced: a list, usually of artifact ids. Default: none.
 * @property {boolean | undefined} [copy] - Copy the keys in the giver's own namespace: the giver keeps them. If `false`, they move.
 * @property {number | null | undefined} [deadline_ms] - How long the receiver has to accept, in milliseconds.
 * @property {Selected[] | undefined} [keys] - Keys to hand over, as `namespace/key`. Keys in the giver's own namespace move to the
 *   receiver's; others stay where they are. The answer to `handoff.accept` contains their
 *   values. A key with `*` is a pattern, such as `agent:ada/**`: it selects the keys of its
 *   namespace that match it at the moment of the move, possibly none.
 * @property {Json} [notes] - Further notes for the receiver, as any JSON. Default: none.
 * @property {OnLoop | null | undefined} [on_loop] - The action if the task is handed around in a loop.
 * @property {Json} [output_keys] - Names of what the work has produced, as any JSON. Default: none.
 * @property {string | null | undefined} [reason] - The reason, which is recorded. Default: none.
 * @property {number | null | undefined} [redeliver_ms] - How long after a delivery without an answer it is delivered again, in milliseconds.
 * @property {Json} [remaining_work] - Remaining work, as any JSON. Default: none.
 * @property {Record<string, Json> | undefined} [state] - Context for the receiver as a flat object.
 * @property {TaskId | null | undefined} [task] - The task to hand over. If omitted, only context and keys are offered; `handoff.execute`
 *   requires it.
 * @property {Token | null | undefined} [token] - The token of the giver's lease. Required with `task`. If omitted, there is no task.
 * @property {Traceparent | null | undefined} [traceparent] - W3C trace context (`traceparent`). Default: none.
 * @property {Json} [work_completed] - Completed work, as any JSON. Default: none.
 */

/**
 * `handoff.offer` as a command.
 * @typedef {{ command: "handoff.offer", to: Receiver } & HandoffOfferOptions} HandoffOfferCommand
 */

/**
 * Optional fields of `handoff.import_context`.
 * @typedef {object} HandoffImportContextOptions
 * @property {ApprovalTerms | null | undefined} [approval] - Require an approval: `true`, or an object that names the approvers and how long an
 *   approval is valid.
 * @property {number | null | undefined} [deadline_ms] - How long the receiver has to accept, in milliseconds.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `handoff.import_context` as a command.
 * @typedef {{ command: "handoff.import_context", context: TransferContext, to: Receiver } & HandoffImportContextOptions} HandoffImportContextCommand
 */

/**
 * Optional fields of `handoff.execute`.
 * @typedef {object} HandoffExecuteOptions
 * @property {ApprovalTerms | null | undefined} [approval] - Require an approval: `true`, or an object that names the approvers and how long an
 *   approval is valid.
 * @property {Json} [artifacts] - References to what the work has produced: a list, usually of artifact ids. Default: none.
 * @property {boolean | undefined} [copy] - Copy the keys in the giver's own namespace: the giver keeps them. If `false`, they move.
 * @property {number | null | undefined} [deadline_ms] - How long the receiver has to accept, in milliseconds.
 * @property {Selected[] | undefined} [keys] - Keys to hand over, as `namespace/key`. Keys in the giver's own namespace move to the
 *   receiver's; others stay where they are. The answer to `handoff.accept` contains their
 *   values. A key with `*` is a pattern, such as `agent:ada/**`: it selects the keys of its
 *   namespace that match it at the moment of the move, possibly none.
 * @property {Json} [notes] - Further notes for the receiver, as any JSON. Default: none.
 * @property {OnLoop | null | undefined} [on_loop] - The action if the task is handed around in a loop.
 * @property {Json} [output_keys] - Names of what the work has produced, as any JSON. Default: none.
 * @property {string | null | undefined} [reason] - The reason, which is recorded. Default: none.
 * @property {number | null | undefined} [redeliver_ms] - How long after a delivery without an answer it is delivered again, in milliseconds.
 * @property {Json} [remaining_work] - Remaining work, as any JSON. Default: none.
 * @property {Record<string, Json> | undefined} [state] - Context for the receiver as a flat object.
 * @property {TaskId | null | undefined} [task] - The task to hand over. If omitted, only context and keys are offered; `handoff.execute`
 *   requires it.
 * @property {Token | null | undefined} [token] - The token of the giver's lease. Required with `task`. If omitted, there is no task.
 * @property {Traceparent | null | undefined} [traceparent] - W3C trace context (`traceparent`). Default: none.
 * @property {Json} [work_completed] - Completed work, as any JSON. Default: none.
 */

/**
 * `handoff.execute` as a command.
 * @typedef {{ command: "handoff.execute", to: Receiver } & HandoffExecuteOptions} HandoffExecuteCommand
 */

/**
 * Optional fields of `handoff.execute_all`.
 * @typedef {object} HandoffExecuteAllOptions
 * @property {boolean | undefined} [copy] - Copy the keys: the caller keeps them. If `false`, they move.
 * @property {number | null | undefined} [deadline_ms] - How long the receiver has to claim the tasks, in milliseconds.
 * @property {Json} [notes] - Further notes for the receiver, as any JSON. Default: none.
 * @property {boolean | undefined} [overwrite] - Replace keys that the receiver already has. If `false`, they are a conflict.
 * @property {string | null | undefined} [reason] - The reason, which is recorded. Default: none.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `handoff.execute_all` as a command.
 * @typedef {{ command: "handoff.execute_all", to: AgentId } & HandoffExecuteAllOptions} HandoffExecuteAllCommand
 */

/**
 * Optional fields of `handoff.validate`.
 * @typedef {object} HandoffValidateOptions
 * @property {ApprovalTerms | null | undefined} [approval] - Require an approval: `true`, or an object that names the approvers and how long an
 *   approval is valid.
 * @property {Json} [artifacts] - References to what the work has produced: a list, usually of artifact ids. Default: none.
 * @property {boolean | undefined} [copy] - Copy the keys in the giver's own namespace: the giver keeps them. If `false`, they move.
 * @property {number | null | undefined} [deadline_ms] - How long the receiver has to accept, in milliseconds.
 * @property {Selected[] | undefined} [keys] - Keys to hand over, as `namespace/key`. Keys in the giver's own namespace move to the
 *   receiver's; others stay where they are. The answer to `handoff.accept` contains their
 *   values. A key with `*` is a pattern, such as `agent:ada/**`: it selects the keys of its
 *   namespace that match it at the moment of the move, possibly none.
 * @property {Json} [notes] - Further notes for the receiver, as any JSON. Default: none.
 * @property {OnLoop | null | undefined} [on_loop] - The action if the task is handed around in a loop.
 * @property {Json} [output_keys] - Names of what the work has produced, as any JSON. Default: none.
 * @property {string | null | undefined} [reason] - The reason, which is recorded. Default: none.
 * @property {number | null | undefined} [redeliver_ms] - How long after a delivery without an answer it is delivered again, in milliseconds.
 * @property {Json} [remaining_work] - Remaining work, as any JSON. Default: none.
 * @property {Record<string, Json> | undefined} [state] - Context for the receiver as a flat object.
 * @property {TaskId | null | undefined} [task] - The task to hand over. If omitted, only context and keys are offered; `handoff.execute`
 *   requires it.
 * @property {Token | null | undefined} [token] - The token of the giver's lease. Required with `task`. If omitted, there is no task.
 * @property {Traceparent | null | undefined} [traceparent] - W3C trace context (`traceparent`). Default: none.
 * @property {Json} [work_completed] - Completed work, as any JSON. Default: none.
 */

/**
 * `handoff.validate` as a command.
 * @typedef {{ command: "handoff.validate", to: Receiver } & HandoffValidateOptions} HandoffValidateCommand
 */

/**
 * Optional fields of `handoff.receive`.
 * @typedef {object} HandoffReceiveOptions
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 * @property {number | null | undefined} [wait_ms] - How long to wait for a hand-off, in milliseconds. If omitted, the call does not wait.
 */

/**
 * `handoff.receive` as a command.
 * @typedef {{ command: "handoff.receive" } & HandoffReceiveOptions} HandoffReceiveCommand
 */

/**
 * Optional fields of `handoff.accept`.
 * @typedef {object} HandoffAcceptOptions
 * @property {number | null | undefined} [lease_ms] - The receiver's lease of the task in milliseconds. If omitted, the length of the giver's
 *   lease.
 * @property {boolean | undefined} [overwrite] - Replace keys that exist in the receiver's namespace. If `false`, they are a conflict.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `handoff.accept` as a command.
 * @typedef {{ command: "handoff.accept", handoff: HandoffId } & HandoffAcceptOptions} HandoffAcceptCommand
 */

/**
 * Optional fields of `handoff.reject`.
 * @typedef {object} HandoffRejectOptions
 * @property {string | null | undefined} [reason] - The reason, which is recorded. Default: none.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `handoff.reject` as a command.
 * @typedef {{ command: "handoff.reject", handoff: HandoffId } & HandoffRejectOptions} HandoffRejectCommand
 */

/**
 * Optional fields of `handoff.complete`.
 * @typedef {object} HandoffCompleteOptions
 * @property {Record<string, Json> | undefined} [changes] - The changed members of the hand-off's `state`.
 * @property {Json} [result] - The result. Default: none.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `handoff.complete` as a command.
 * @typedef {{ command: "handoff.complete", handoff: HandoffId } & HandoffCompleteOptions} HandoffCompleteCommand
 */

/**
 * Optional fields of `handoff.cancel`.
 * @typedef {object} HandoffCancelOptions
 * @property {string | null | undefined} [reason] - The reason, which is recorded. Default: none.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `handoff.cancel` as a command.
 * @typedef {{ command: "handoff.cancel", handoff: HandoffId } & HandoffCancelOptions} HandoffCancelCommand
 */

/**
 * Optional fields of `handoff.approve`.
 * @typedef {object} HandoffApproveOptions
 * @property {string | null | undefined} [digest] - The `digest` of the hand-off that is approved. If it does not match, the approval is
 *   rejected. If omitted, it is not compared.
 * @property {string | null | undefined} [reason] - The reason, which is recorded. Default: none.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `handoff.approve` as a command.
 * @typedef {{ command: "handoff.approve", handoff: HandoffId } & HandoffApproveOptions} HandoffApproveCommand
 */

/**
 * Optional fields of `handoff.get`.
 * @typedef {object} HandoffGetOptions
 * @property {At | undefined} [at] - As it was at this revision or time.
 */

/**
 * `handoff.get` as a command.
 * @typedef {{ command: "handoff.get", handoff: HandoffId } & HandoffGetOptions} HandoffGetCommand
 */

/**
 * Optional fields of `handoff.list`.
 * @typedef {object} HandoffListOptions
 * @property {At | undefined} [at] - As it was at this revision or time.
 * @property {HandoffId | null | undefined} [cursor] - The `cursor` of the previous page. If omitted, the first page is returned.
 * @property {AgentId | null | undefined} [from] - Only hand-offs of this giver. If omitted, any giver.
 * @property {number | null | undefined} [limit] - The maximum number of results.
 * @property {HandoffStatus | null | undefined} [status] - Only hand-offs with this status. If omitted, any status.
 * @property {TaskId | null | undefined} [task] - Only hand-offs of this task. If omitted, any task.
 * @property {AgentId | null | undefined} [to] - Only hand-offs that this agent may accept or has accepted. If omitted, any receiver.
 */

/**
 * `handoff.list` as a command.
 * @typedef {{ command: "handoff.list" } & HandoffListOptions} HandoffListCommand
 */

/**
 * Optional fields of `handoff.history`.
 * @typedef {object} HandoffHistoryOptions
 * @property {At | undefined} [at] - As it was at this revision or time.
 */

/**
 * `handoff.history` as a command.
 * @typedef {{ command: "handoff.history", task: TaskId } & HandoffHistoryOptions} HandoffHistoryCommand
 */

/**
 * Optional fields of `handoff.export`.
 * @typedef {object} HandoffExportOptions
 * @property {At | undefined} [at] - As it was at this revision or time.
 */

/**
 * `handoff.export` as a command.
 * @typedef {{ command: "handoff.export", handoff: HandoffId } & HandoffExportOptions} HandoffExportCommand
 */

/**
 * Optional fields of `handoff.stats`.
 * @typedef {object} HandoffStatsOptions
 * @property {At | undefined} [at] - As it was at this revision or time.
 */

/**
 * `handoff.stats` as a command.
 * @typedef {{ command: "handoff.stats" } & HandoffStatsOptions} HandoffStatsCommand
 */

/**
 * Optional fields of `task.wait`.
 * @typedef {object} TaskWaitOptions
 * @property {TaskStatus[] | null | undefined} [statuses] - Return as soon as the task has one of these statuses. If omitted, when it has finished. A
 *   finished task always ends the wait.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 * @property {number | null | undefined} [wait_ms] - How long to wait, in milliseconds. If omitted, the call does not wait.
 */

/**
 * `task.wait` as a command.
 * @typedef {{ command: "task.wait", task: TaskId } & TaskWaitOptions} TaskWaitCommand
 */

/**
 * Optional fields of `agent.next`.
 * @typedef {object} AgentNextOptions
 * @property {string[] | null | undefined} [capabilities] - The capabilities of the caller for tasks. If omitted, those of its session.
 * @property {WorkKind[] | null | undefined} [kinds] - The kinds of work to receive, at least two. If omitted, all.
 * @property {number | null | undefined} [lease_ms] - The lease of a task in milliseconds, unless it is renewed.
 * @property {number | null | undefined} [redeliver_ms] - How long after a delivery without an acknowledgement a message is delivered again, in
 *   milliseconds.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 * @property {TaskType[] | null | undefined} [types] - Only tasks of these types. If omitted, any type.
 * @property {number | null | undefined} [wait_ms] - How long to wait for work, in milliseconds. If omitted, the call does not wait.
 */

/**
 * `agent.next` as a command.
 * @typedef {{ command: "agent.next" } & AgentNextOptions} AgentNextCommand
 */

/**
 * Optional fields of `handoff.wait`.
 * @typedef {object} HandoffWaitOptions
 * @property {HandoffStatus[] | null | undefined} [statuses] - Return as soon as the hand-off has one of these statuses. If omitted, when it has ended. A
 *   hand-off that has ended always ends the wait.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 * @property {number | null | undefined} [wait_ms] - How long to wait, in milliseconds. If omitted, the call does not wait.
 */

/**
 * `handoff.wait` as a command.
 * @typedef {{ command: "handoff.wait", handoff: HandoffId } & HandoffWaitOptions} HandoffWaitCommand
 */

/**
 * Optional fields of `workspace.configure`.
 * @typedef {object} WorkspaceConfigureOptions
 * @property {number | null | undefined} [history_age_ms] - How long to keep history, in milliseconds. If omitted, unchanged.
 * @property {number | null | undefined} [history_count] - The number of revisions of history to keep. If omitted, unchanged.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `workspace.configure` as a command.
 * @typedef {{ command: "workspace.configure" } & WorkspaceConfigureOptions} WorkspaceConfigureCommand
 */

/**
 * Optional fields of `workspace.sync`.
 * @typedef {object} WorkspaceSyncOptions
 * @property {SyncDecision[] | undefined} [decisions] - Decisions about conflicts, which apply instead of the rules.
 * @property {boolean | undefined} [dry_run] - Only report: change nothing.
 * @property {number | undefined} [token] - Rejected if the lease, hold, permit or session of this token has ended.
 */

/**
 * `workspace.sync` as a command.
 * @typedef {{ command: "workspace.sync", theirs: CopyChanges, ours: CopyChanges } & WorkspaceSyncOptions} WorkspaceSyncCommand
 */

/**
 * Optional fields of `workspace.get`.
 * @typedef {object} WorkspaceGetOptions
 * @property {At | undefined} [at] - As it was at this revision or time.
 */

/**
 * `workspace.get` as a command.
 * @typedef {{ command: "workspace.get" } & WorkspaceGetOptions} WorkspaceGetCommand
 */

/**
 * Optional fields of `workspace.list`.
 * @typedef {object} WorkspaceListOptions
 * @property {WorkspaceName | null | undefined} [cursor] - The `cursor` of the previous page. If omitted, the first page is returned.
 * @property {number | null | undefined} [limit] - The maximum number of results.
 */

/**
 * `workspace.list` as a command.
 * @typedef {{ command: "workspace.list" } & WorkspaceListOptions} WorkspaceListCommand
 */

/**
 * Optional fields of `workspace.fork`.
 * @typedef {object} WorkspaceForkOptions
 * @property {At | null | undefined} [at] - The revision or time to fork from. If omitted, the present.
 */

/**
 * `workspace.fork` as a command.
 * @typedef {{ command: "workspace.fork", to: WorkspaceName } & WorkspaceForkOptions} WorkspaceForkCommand
 */

/**
 * Optional fields of `workspace.delete`.
 * @typedef {{}} WorkspaceDeleteOptions
 */

/**
 * `workspace.delete` as a command.
 * @typedef {{ command: "workspace.delete", revision: Revision } & WorkspaceDeleteOptions} WorkspaceDeleteCommand
 */

/**
 * Optional fields of `workspace.diff`.
 * @typedef {object} WorkspaceDiffOptions
 * @property {string | null | undefined} [cursor] - The `cursor` of the previous page. If omitted, the first page is returned.
 * @property {number | null | undefined} [limit] - The maximum number of subjects.
 * @property {Pattern | null | undefined} [pattern] - Only subjects that match. If omitted, all subjects.
 * @property {At | null | undefined} [to] - The last revision or time to include. If omitted, the present.
 */

/**
 * `workspace.diff` as a command.
 * @typedef {{ command: "workspace.diff", from: At } & WorkspaceDiffOptions} WorkspaceDiffCommand
 */

/**
 * Optional fields of `workspace.changes`.
 * @typedef {object} WorkspaceChangesOptions
 * @property {KeyName[] | null | undefined} [keys] - Only these keys, as `namespace/key`, and `namespaces`. If omitted, all keys and
 *   namespaces.
 * @property {number | null | undefined} [limit] - The maximum number of entries. The document ends with the revision that exceeds it.
 * @property {NamespaceName[] | null | undefined} [namespaces] - Only these namespaces, and `keys`. If omitted, all.
 * @property {Known | null | undefined} [with] - The copy that the changes are for, and what it includes of others. If omitted, no changes
 *   are listed: the response identifies this copy.
 */

/**
 * `workspace.changes` as a command.
 * @typedef {{ command: "workspace.changes" } & WorkspaceChangesOptions} WorkspaceChangesCommand
 */

/**
 * Optional fields of `workspace.search`.
 * @typedef {object} WorkspaceSearchOptions
 * @property {string | null | undefined} [cursor] - The `cursor` of the previous page. If omitted, the first page is returned.
 * @property {number | null | undefined} [limit] - The maximum number of results.
 */

/**
 * `workspace.search` as a command.
 * @typedef {{ command: "workspace.search", query: string } & WorkspaceSearchOptions} WorkspaceSearchCommand
 */

/**
 * Optional fields of `workspace.why`.
 * @typedef {object} WorkspaceWhyOptions
 * @property {At | null | undefined} [at] - The revision or time to explain. If omitted, the present.
 */

/**
 * `workspace.why` as a command.
 * @typedef {{ command: "workspace.why", subject: string } & WorkspaceWhyOptions} WorkspaceWhyCommand
 */

/**
 * The result of every operation, by name.
 * @typedef {{ "state.set": Entry, "state.patch": Entry, "state.delete": Entry, "state.transfer": StateMoved, "state.get": Entry, "state.list": Page, "state.history": StateChanges, "state.snapshot": Page, "state.diff": StateChanges, "namespace.create": Namespace, "namespace.configure": Namespace, "namespace.delete": Namespace, "namespace.list": NamespaceNamespaces, "namespace.get": Namespace, "agent.register": Agent, "agent.heartbeat": Agent, "agent.leave": Agent, "agent.get": Agent, "agent.list": AgentAgents, "message.send": Message, "message.request": Answered, "message.reply": Message, "message.get": Message, "inbox.receive": MessageReceived, "inbox.ack": MessageAcked, "inbox.requeue": Message, "inbox.list": MessageMessages, "handler.register": Handler, "handler.remove": Handler, "handler.list": MessageHandlers, "topic.publish": Published, "topic.get": Topic, "topic.list": TopicTopics, "stream.create": Stream, "stream.send": Sent, "stream.receive": Frames, "stream.close": Stream, "stream.delete": Stream, "stream.get": Stream, "stream.list": StreamStreams, "rule.add": Rule, "rule.remove": Rule, "rule.list": RuleRules, "event.emit": EventEmitted, "event.history": EventPage, "reaction.add": Reaction, "reaction.remove": Reaction, "reaction.enable": Reaction, "reaction.disable": Reaction, "reaction.get": Reaction, "reaction.list": ReactionReactions, "contract.declare": DeclaredContract, "contract.delete": DeclaredContract, "contract.list": ContractDeclarations, "contract.show": ContractContracts, "contract.check": ContractProblems, "context.build": Context, "lock.acquire": LockHold, "lock.renew": Hold, "lock.release": Lock, "lock.get": Lock, "lock.list": LockLocks, "semaphore.acquire": SemaphorePermit, "semaphore.renew": Permit, "semaphore.release": Semaphore, "semaphore.resize": Semaphore, "semaphore.get": Semaphore, "semaphore.list": SemaphoreSemaphores, "task.create": Task, "task.claim": TaskClaimed, "task.heartbeat": Task, "task.progress": Task, "task.update": Task, "task.release": Task, "task.complete": TaskCompleted, "task.fail": Task, "task.cancel": Task, "task.review": Task, "task.retry": Task, "task.get": Task, "task.list": TaskTasks, "task.stats": Statistics, "task.why": Why, "task.history": TaskHistoryResult, "spend.record": SpendRecorded, "spend.limit": SpendTotal, "spend.get": SpendTotal, "spend.list": SpendRecords, "barrier.arrive": Arrival, "barrier.reset": Barrier, "barrier.get": Barrier, "join.create": Join, "join.wait": JoinSettled, "join.get": Join, "pipeline.create": Pipeline, "pipeline.start_stage": Stage, "pipeline.complete_stage": StageMoved, "pipeline.review_stage": StageMoved, "pipeline.fail_stage": Stage, "pipeline.retry_stage": Stage, "pipeline.skip_stage": StageMoved, "pipeline.abort": Pipeline, "pipeline.delete": Pipeline, "pipeline.get": Pipeline, "pipeline.output": StageOutput, "pipeline.list": PipelinePipelines, "checkpoint.save": Checkpoint, "checkpoint.restore": Checkpoint, "checkpoint.fork": Checkpoint, "checkpoint.label": Checkpoint, "checkpoint.write": CheckpointWritten, "checkpoint.copy": CheckpointCopied, "checkpoint.prune": CheckpointPruned, "checkpoint.retain": CheckpointRules, "checkpoint.latest": CheckpointLatestResult, "checkpoint.get": Checkpoint, "checkpoint.list": CheckpointCheckpoints, "checkpoint.history": CheckpointHistoryResult, "checkpoint.retention": CheckpointRules, "artifact.delete": Artifact, "artifact.get": Artifact, "artifact.list": ArtifactArtifacts, "secret.delete": SecretRecord, "secret.get": SecretRecord, "secret.list": SecretSecrets, "handoff.offer": Handoff, "handoff.import_context": Handoff, "handoff.execute": Handoff, "handoff.execute_all": HandoffHandoffs, "handoff.validate": HandoffVerdict, "handoff.receive": HandoffReceived, "handoff.accept": HandoffAccepted, "handoff.reject": Handoff, "handoff.complete": Handoff, "handoff.cancel": Handoff, "handoff.approve": Handoff, "handoff.get": Handoff, "handoff.list": HandoffHandoffs, "handoff.history": HandoffHandoffs, "handoff.export": TransferContext, "handoff.stats": HandoffStatistics, "task.wait": WaitTask, "agent.next": WaitNext, "handoff.wait": WaitHandoff, "workspace.configure": WorkspaceWorkspace, "workspace.sync": SyncReport, "workspace.get": WorkspaceWorkspace, "workspace.list": WorkspaceWorkspaces, "workspace.fork": Forked, "workspace.delete": ListedWorkspace, "workspace.diff": Differences, "workspace.changes": CopyChanges, "workspace.search": Results, "workspace.why": Explanation }} Replies
 */

/**
 * The command of every operation, by name.
 * @typedef {{ "state.set": StateSetCommand, "state.patch": StatePatchCommand, "state.delete": StateDeleteCommand, "state.transfer": StateTransferCommand, "state.get": StateGetCommand, "state.list": StateListCommand, "state.history": StateHistoryCommand, "state.snapshot": StateSnapshotCommand, "state.diff": StateDiffCommand, "namespace.create": NamespaceCreateCommand, "namespace.configure": NamespaceConfigureCommand, "namespace.delete": NamespaceDeleteCommand, "namespace.list": NamespaceListCommand, "namespace.get": NamespaceGetCommand, "agent.register": AgentRegisterCommand, "agent.heartbeat": AgentHeartbeatCommand, "agent.leave": AgentLeaveCommand, "agent.get": AgentGetCommand, "agent.list": AgentListCommand, "message.send": MessageSendCommand, "message.request": MessageRequestCommand, "message.reply": MessageReplyCommand, "message.get": MessageGetCommand, "inbox.receive": InboxReceiveCommand, "inbox.ack": InboxAckCommand, "inbox.requeue": InboxRequeueCommand, "inbox.list": InboxListCommand, "handler.register": HandlerRegisterCommand, "handler.remove": HandlerRemoveCommand, "handler.list": HandlerListCommand, "topic.publish": TopicPublishCommand, "topic.get": TopicGetCommand, "topic.list": TopicListCommand, "stream.create": StreamCreateCommand, "stream.send": StreamSendCommand, "stream.receive": StreamReceiveCommand, "stream.close": StreamCloseCommand, "stream.delete": StreamDeleteCommand, "stream.get": StreamGetCommand, "stream.list": StreamListCommand, "rule.add": RuleAddCommand, "rule.remove": RuleRemoveCommand, "rule.list": RuleListCommand, "event.emit": EventEmitCommand, "event.history": EventHistoryCommand, "reaction.add": ReactionAddCommand, "reaction.remove": ReactionRemoveCommand, "reaction.enable": ReactionEnableCommand, "reaction.disable": ReactionDisableCommand, "reaction.get": ReactionGetCommand, "reaction.list": ReactionListCommand, "contract.declare": ContractDeclareCommand, "contract.delete": ContractDeleteCommand, "contract.list": ContractListCommand, "contract.show": ContractShowCommand, "contract.check": ContractCheckCommand, "context.build": ContextBuildCommand, "lock.acquire": LockAcquireCommand, "lock.renew": LockRenewCommand, "lock.release": LockReleaseCommand, "lock.get": LockGetCommand, "lock.list": LockListCommand, "semaphore.acquire": SemaphoreAcquireCommand, "semaphore.renew": SemaphoreRenewCommand, "semaphore.release": SemaphoreReleaseCommand, "semaphore.resize": SemaphoreResizeCommand, "semaphore.get": SemaphoreGetCommand, "semaphore.list": SemaphoreListCommand, "task.create": TaskCreateCommand, "task.claim": TaskClaimCommand, "task.heartbeat": TaskHeartbeatCommand, "task.progress": TaskProgressCommand, "task.update": TaskUpdateCommand, "task.release": TaskReleaseCommand, "task.complete": TaskCompleteCommand, "task.fail": TaskFailCommand, "task.cancel": TaskCancelCommand, "task.review": TaskReviewCommand, "task.retry": TaskRetryCommand, "task.get": TaskGetCommand, "task.list": TaskListCommand, "task.stats": TaskStatsCommand, "task.why": TaskWhyCommand, "task.history": TaskHistoryCommand, "spend.record": SpendRecordCommand, "spend.limit": SpendLimitCommand, "spend.get": SpendGetCommand, "spend.list": SpendListCommand, "barrier.arrive": BarrierArriveCommand, "barrier.reset": BarrierResetCommand, "barrier.get": BarrierGetCommand, "join.create": JoinCreateCommand, "join.wait": JoinWaitCommand, "join.get": JoinGetCommand, "pipeline.create": PipelineCreateCommand, "pipeline.start_stage": PipelineStartStageCommand, "pipeline.complete_stage": PipelineCompleteStageCommand, "pipeline.review_stage": PipelineReviewStageCommand, "pipeline.fail_stage": PipelineFailStageCommand, "pipeline.retry_stage": PipelineRetryStageCommand, "pipeline.skip_stage": PipelineSkipStageCommand, "pipeline.abort": PipelineAbortCommand, "pipeline.delete": PipelineDeleteCommand, "pipeline.get": PipelineGetCommand, "pipeline.output": PipelineOutputCommand, "pipeline.list": PipelineListCommand, "checkpoint.save": CheckpointSaveCommand, "checkpoint.restore": CheckpointRestoreCommand, "checkpoint.fork": CheckpointForkCommand, "checkpoint.label": CheckpointLabelCommand, "checkpoint.write": CheckpointWriteCommand, "checkpoint.copy": CheckpointCopyCommand, "checkpoint.prune": CheckpointPruneCommand, "checkpoint.retain": CheckpointRetainCommand, "checkpoint.latest": CheckpointLatestCommand, "checkpoint.get": CheckpointGetCommand, "checkpoint.list": CheckpointListCommand, "checkpoint.history": CheckpointHistoryCommand, "checkpoint.retention": CheckpointRetentionCommand, "artifact.delete": ArtifactDeleteCommand, "artifact.get": ArtifactGetCommand, "artifact.list": ArtifactListCommand, "secret.delete": SecretDeleteCommand, "secret.get": SecretGetCommand, "secret.list": SecretListCommand, "handoff.offer": HandoffOfferCommand, "handoff.import_context": HandoffImportContextCommand, "handoff.execute": HandoffExecuteCommand, "handoff.execute_all": HandoffExecuteAllCommand, "handoff.validate": HandoffValidateCommand, "handoff.receive": HandoffReceiveCommand, "handoff.accept": HandoffAcceptCommand, "handoff.reject": HandoffRejectCommand, "handoff.complete": HandoffCompleteCommand, "handoff.cancel": HandoffCancelCommand, "handoff.approve": HandoffApproveCommand, "handoff.get": HandoffGetCommand, "handoff.list": HandoffListCommand, "handoff.history": HandoffHistoryCommand, "handoff.export": HandoffExportCommand, "handoff.stats": HandoffStatsCommand, "task.wait": TaskWaitCommand, "agent.next": AgentNextCommand, "handoff.wait": HandoffWaitCommand, "workspace.configure": WorkspaceConfigureCommand, "workspace.sync": WorkspaceSyncCommand, "workspace.get": WorkspaceGetCommand, "workspace.list": WorkspaceListCommand, "workspace.fork": WorkspaceForkCommand, "workspace.delete": WorkspaceDeleteCommand, "workspace.diff": WorkspaceDiffCommand, "workspace.changes": WorkspaceChangesCommand, "workspace.search": WorkspaceSearchCommand, "workspace.why": WorkspaceWhyCommand }} Commands
 */

/**
 * The names of all operations.
 * @typedef {keyof Commands} OperationName
 */

/**
 * The names of the operations that change something.
 * @typedef {"state.set" | "state.patch" | "state.delete" | "state.transfer" | "namespace.create" | "namespace.configure" | "namespace.delete" | "agent.register" | "agent.heartbeat" | "agent.leave" | "message.send" | "message.request" | "message.reply" | "inbox.receive" | "inbox.ack" | "inbox.requeue" | "handler.register" | "handler.remove" | "topic.publish" | "stream.create" | "stream.send" | "stream.receive" | "stream.close" | "stream.delete" | "rule.add" | "rule.remove" | "event.emit" | "reaction.add" | "reaction.remove" | "reaction.enable" | "reaction.disable" | "contract.declare" | "contract.delete" | "lock.acquire" | "lock.renew" | "lock.release" | "semaphore.acquire" | "semaphore.renew" | "semaphore.release" | "semaphore.resize" | "task.create" | "task.claim" | "task.heartbeat" | "task.progress" | "task.update" | "task.release" | "task.complete" | "task.fail" | "task.cancel" | "task.review" | "task.retry" | "spend.record" | "spend.limit" | "barrier.arrive" | "barrier.reset" | "join.create" | "join.wait" | "pipeline.create" | "pipeline.start_stage" | "pipeline.complete_stage" | "pipeline.review_stage" | "pipeline.fail_stage" | "pipeline.retry_stage" | "pipeline.skip_stage" | "pipeline.abort" | "pipeline.delete" | "checkpoint.save" | "checkpoint.restore" | "checkpoint.fork" | "checkpoint.label" | "checkpoint.write" | "checkpoint.copy" | "checkpoint.prune" | "checkpoint.retain" | "artifact.delete" | "secret.delete" | "handoff.offer" | "handoff.import_context" | "handoff.execute" | "handoff.execute_all" | "handoff.validate" | "handoff.receive" | "handoff.accept" | "handoff.reject" | "handoff.complete" | "handoff.cancel" | "handoff.approve" | "task.wait" | "agent.next" | "handoff.wait" | "workspace.configure" | "workspace.sync"} ChangeName
 */

/**
 * The names of the operations with a minimal answer.
 * @typedef {"state.set" | "state.patch" | "state.delete" | "agent.register" | "agent.heartbeat" | "agent.leave" | "message.send" | "message.reply" | "inbox.requeue" | "lock.release" | "semaphore.release" | "semaphore.resize" | "task.create" | "task.heartbeat" | "task.progress" | "task.update" | "task.release" | "task.complete" | "task.fail" | "task.cancel" | "task.review" | "task.retry" | "join.create" | "checkpoint.save" | "checkpoint.fork" | "checkpoint.label" | "handoff.offer" | "handoff.import_context" | "handoff.execute" | "handoff.reject" | "handoff.complete" | "handoff.cancel" | "handoff.approve"} MinimalName
 */

/**
 * Any command or query.
 * @typedef {Commands[OperationName]} Command
 */

/**
 * A command of a transaction.
 * @typedef {Commands[ChangeName] & { optional?: boolean }} TransactionCommand
 */

/**
 * What every event has. `last` marks the last event of a commit that a watch receives.
 * @typedef {object} EventEnvelope
 * @property {number} revision - The revision of the commit.
 * @property {number} index - The place of the event in the commit.
 * @property {string} time - When it was committed.
 * @property {string} agent - The agent that caused it.
 * @property {string} subject - What it is about, such as `state/shared/plan`.
 * @property {boolean} [last] - Whether it is the last event of its commit for this watch.
 * @property {boolean} [live] - Whether it is not stored, so that no later watch receives it.
 */

/**
 * `agent.forgotten`
 * @typedef {EventEnvelope & { type: "agent.forgotten" }} AgentForgottenEvent
 */

/**
 * `agent.joined`
 * @typedef {EventEnvelope & { type: "agent.joined", capabilities: string[], metadata?: Json, parent?: AgentId, replaces?: number, token?: Token, ttl_ms: number }} AgentJoinedEvent
 */

/**
 * `agent.left`
 * @typedef {EventEnvelope & { type: "agent.left" }} AgentLeftEvent
 */

/**
 * `agent.lost`
 * @typedef {EventEnvelope & { type: "agent.lost", because?: string }} AgentLostEvent
 */

/**
 * `agent.seen`
 * @typedef {EventEnvelope & { type: "agent.seen" }} AgentSeenEvent
 */

/**
 * `artifact.deleted`
 * @typedef {EventEnvelope & { type: "artifact.deleted", artifact: ArtifactId }} ArtifactDeletedEvent
 */

/**
 * `artifact.expired`
 * @typedef {EventEnvelope & { type: "artifact.expired", artifact: ArtifactId }} ArtifactExpiredEvent
 */

/**
 * `artifact.put`
 * @typedef {EventEnvelope & { type: "artifact.put", artifact: ArtifactId, bytes: number, keep_ms: number, media_type: MediaType, name?: ContentName, place?: string }} ArtifactPutEvent
 */

/**
 * `barrier.arrived`
 * @typedef {EventEnvelope & { type: "barrier.arrived", count: number, generation: Generation, name: BarrierName, party: string, until?: string, wait?: number }} BarrierArrivedEvent
 */

/**
 * `barrier.forgotten`
 * @typedef {EventEnvelope & { type: "barrier.forgotten", generation: Generation, name: BarrierName }} BarrierForgottenEvent
 */

/**
 * `barrier.opened`
 * @typedef {EventEnvelope & { type: "barrier.opened", generation: Generation, name: BarrierName }} BarrierOpenedEvent
 */

/**
 * `barrier.passed`
 * @typedef {EventEnvelope & { type: "barrier.passed", count: number, generation: Generation, name: BarrierName, party: string, wait: number }} BarrierPassedEvent
 */

/**
 * `barrier.reset`
 * @typedef {EventEnvelope & { type: "barrier.reset", generation: Generation, name: BarrierName }} BarrierResetEvent
 */

/**
 * `barrier.withdrawn`
 * @typedef {EventEnvelope & { type: "barrier.withdrawn", count: number, generation: Generation, left?: string, name: BarrierName, party: string, wait?: number }} BarrierWithdrawnEvent
 */

/**
 * `checkpoint.copied`
 * @typedef {EventEnvelope & { type: "checkpoint.copied", checkpoint: CheckpointId, count: number, source: string, task: TaskId }} CheckpointCopiedEvent
 */

/**
 * `checkpoint.forked`
 * @typedef {EventEnvelope & { type: "checkpoint.forked", checkpoint: CheckpointId, source: string, task: TaskId }} CheckpointForkedEvent
 */

/**
 * `checkpoint.labelled`
 * @typedef {EventEnvelope & { type: "checkpoint.labelled", checkpoint: CheckpointId, label?: CheckpointLabel, task: TaskId }} CheckpointLabelledEvent
 */

/**
 * `checkpoint.pruned`
 * @typedef {EventEnvelope & { type: "checkpoint.pruned", bytes: number, numbers: number[][], task: TaskId, why: string }} CheckpointPrunedEvent
 */

/**
 * `checkpoint.restored`
 * @typedef {EventEnvelope & { type: "checkpoint.restored", checkpoint: CheckpointId, task: TaskId }} CheckpointRestoredEvent
 */

/**
 * `checkpoint.retained`
 * @typedef {EventEnvelope & { type: "checkpoint.retained", rule: Record<string, Json> }} CheckpointRetainedEvent
 */

/**
 * `checkpoint.saved`
 * @typedef {EventEnvelope & { type: "checkpoint.saved", artifacts?: string[], bytes: number, checkpoint: CheckpointId, checksum: Checksum, content_type?: StateType, description?: string, key?: CheckpointKey, label?: CheckpointLabel, metadata?: Json, parent?: CheckpointId, parent_key?: CheckpointKey, recipe: Record<string, Json>[], task: TaskId }} CheckpointSavedEvent
 */

/**
 * `checkpoint.written`
 * @typedef {EventEnvelope & { type: "checkpoint.written", key: CheckpointKey, task: TaskId, writes: NewWrite[] }} CheckpointWrittenEvent
 */

/**
 * `contract.broken`
 * @typedef {EventEnvelope & { type: "contract.broken", breach: Record<string, Json>, name: ContractName, others?: number, owner: string }} ContractBrokenEvent
 */

/**
 * `contract.declared`
 * @typedef {EventEnvelope & { type: "contract.declared", keys: ContractTerms[], name: ContractName, on_break?: OnBreak, replaced?: boolean }} ContractDeclaredEvent
 */

/**
 * `contract.deleted`
 * @typedef {EventEnvelope & { type: "contract.deleted", name: ContractName }} ContractDeletedEvent
 */

/**
 * `handoff.accepted`
 * @typedef {EventEnvelope & { type: "handoff.accepted", handoff: HandoffId, lease_ms?: number, receipt?: Receipt, receiver?: AgentId }} HandoffAcceptedEvent
 */

/**
 * `handoff.approved`
 * @typedef {EventEnvelope & { type: "handoff.approved", by: string, content?: string, digest: string, handoff: HandoffId, reason?: string, until: string }} HandoffApprovedEvent
 */

/**
 * `handoff.cancelled`
 * @typedef {EventEnvelope & { type: "handoff.cancelled", handoff: HandoffId, reason?: string }} HandoffCancelledEvent
 */

/**
 * `handoff.completed`
 * @typedef {EventEnvelope & { type: "handoff.completed", changes?: Record<string, Json>, handoff: HandoffId, result?: Json }} HandoffCompletedEvent
 */

/**
 * `handoff.delivered`
 * @typedef {EventEnvelope & { type: "handoff.delivered", handoff: HandoffId, receiver?: AgentId, until: string, wait?: number }} HandoffDeliveredEvent
 */

/**
 * `handoff.executed`
 * @typedef {EventEnvelope & { type: "handoff.executed", approval?: Approval, artifacts?: Json, content: string, created_at: Timestamp, deadline: Timestamp, deliveries?: number, digest: string, from: AgentId, hops: number, id: HandoffId, keys?: Selected[], notes?: Json, on_loop?: OnLoop, output_keys?: Json, reason?: string, redeliver_ms: number, remaining_work?: Json, state?: Record<string, Json>, status: HandoffStatus, steps: Step[], task: TaskId, to: Receiver, traceparent?: Traceparent, updated_at: Timestamp, work_completed?: Json }} HandoffExecutedEvent
 */

/**
 * `handoff.expired`
 * @typedef {EventEnvelope & { type: "handoff.expired", handoff: HandoffId, reason?: string }} HandoffExpiredEvent
 */

/**
 * `handoff.failed`
 * @typedef {EventEnvelope & { type: "handoff.failed", error?: Json, handoff: HandoffId }} HandoffFailedEvent
 */

/**
 * `handoff.gave_up`
 * @typedef {EventEnvelope & { type: "handoff.gave_up", left: string, receiver?: AgentId, wait: number }} HandoffGaveUpEvent
 */

/**
 * `handoff.offered`
 * @typedef {EventEnvelope & { type: "handoff.offered", approval?: Approval, artifacts?: Json, content: string, created_at: Timestamp, deadline: Timestamp, deliveries?: number, digest: string, from: AgentId, hops: number, id: HandoffId, keys?: Selected[], notes?: Json, on_loop?: OnLoop, output_keys?: Json, reason?: string, redeliver_ms: number, remaining_work?: Json, state?: Record<string, Json>, status: HandoffStatus, steps: Step[], task?: TaskId, to: Receiver, traceparent?: Traceparent, updated_at: Timestamp, work_completed?: Json }} HandoffOfferedEvent
 */

/**
 * `handoff.passed`
 * @typedef {EventEnvelope & { type: "handoff.passed", content: string, copy?: boolean, created_at: Timestamp, deadline: Timestamp, deliveries?: number, digest: string, from: AgentId, hops: number, id: HandoffId, keys?: Selected[], passage?: Passage, redeliver_ms: number, state?: Record<string, Json>, status: HandoffStatus, steps: Step[], to: Receiver, updated_at: Timestamp }} HandoffPassedEvent
 */

/**
 * `handoff.queued`
 * @typedef {EventEnvelope & { type: "handoff.queued", receiver?: AgentId, until: string, wait: number }} HandoffQueuedEvent
 */

/**
 * `handoff.refused`
 * @typedef {EventEnvelope & { type: "handoff.refused", approval?: Approval, artifacts?: Json, content: string, created_at: Timestamp, deadline: Timestamp, deliveries?: number, digest: string, from: AgentId, hops: number, id: HandoffId, keys?: Selected[], notes?: Json, on_loop?: OnLoop, output_keys?: Json, reason?: string, redeliver_ms: number, remaining_work?: Json, state?: Record<string, Json>, status: HandoffStatus, steps: Step[], task: TaskId, to: Receiver, traceparent?: Traceparent, updated_at: Timestamp, work_completed?: Json }} HandoffRefusedEvent
 */

/**
 * `handoff.rejected`
 * @typedef {EventEnvelope & { type: "handoff.rejected", by: string, handoff: HandoffId, reason?: string }} HandoffRejectedEvent
 */

/**
 * `handoff.undelivered`
 * @typedef {EventEnvelope & { type: "handoff.undelivered", handoff: HandoffId }} HandoffUndeliveredEvent
 */

/**
 * `join.answered`
 * @typedef {EventEnvelope & { type: "join.answered", join: JoinId, wait: number, waiter: string }} JoinAnsweredEvent
 */

/**
 * `join.created`
 * @typedef {EventEnvelope & { type: "join.created", deadline?: Timestamp, group?: GroupName, join: JoinId, need: Need, tasks?: TaskId[] }} JoinCreatedEvent
 */

/**
 * `join.gave_up`
 * @typedef {EventEnvelope & { type: "join.gave_up", join: JoinId, left: string, wait: number, waiter: string }} JoinGaveUpEvent
 */

/**
 * `join.queued`
 * @typedef {EventEnvelope & { type: "join.queued", join: JoinId, until: string, wait: number, waiter: string }} JoinQueuedEvent
 */

/**
 * `join.settled`
 * @typedef {EventEnvelope & { type: "join.settled", join: JoinId, reason?: string, status: JoinStatus }} JoinSettledEvent
 */

/**
 * `lock.acquired`
 * @typedef {EventEnvelope & { type: "lock.acquired", holder: string, name: LockName, token: Token, ttl_ms?: number, wait?: number }} LockAcquiredEvent
 */

/**
 * `lock.dropped`
 * @typedef {EventEnvelope & { type: "lock.dropped", name: LockName, token: Token }} LockDroppedEvent
 */

/**
 * `lock.expired`
 * @typedef {EventEnvelope & { type: "lock.expired", name: LockName, token: Token }} LockExpiredEvent
 */

/**
 * `lock.gave_up`
 * @typedef {EventEnvelope & { type: "lock.gave_up", left: string, name: LockName, wait: number, waiter: string }} LockGaveUpEvent
 */

/**
 * `lock.queued`
 * @typedef {EventEnvelope & { type: "lock.queued", name: LockName, ttl_ms?: number, until: string, wait: number, waiter: string }} LockQueuedEvent
 */

/**
 * `lock.released`
 * @typedef {EventEnvelope & { type: "lock.released", name: LockName, token: Token }} LockReleasedEvent
 */

/**
 * `lock.renewed`
 * @typedef {EventEnvelope & { type: "lock.renewed", name: LockName, ttl_ms?: number }} LockRenewedEvent
 */

/**
 * `message.acked`
 * @typedef {EventEnvelope & { type: "message.acked", message: MessageId, to: AgentId }} MessageAckedEvent
 */

/**
 * `message.delivered`
 * @typedef {EventEnvelope & { type: "message.delivered", message: MessageId, to: AgentId, until: string, wait?: number }} MessageDeliveredEvent
 */

/**
 * `message.died`
 * @typedef {EventEnvelope & { type: "message.died", message: MessageId, to: AgentId }} MessageDiedEvent
 */

/**
 * `message.expired`
 * @typedef {EventEnvelope & { type: "message.expired", message: MessageId, to: AgentId }} MessageExpiredEvent
 */

/**
 * `message.gave_up`
 * @typedef {EventEnvelope & { type: "message.gave_up", left: string, message?: MessageId, receiver: string, wait: number }} MessageGaveUpEvent
 */

/**
 * `message.handler_added`
 * @typedef {EventEnvelope & { type: "message.handler_added", handler: HandlerName, holder: string }} MessageHandlerAddedEvent
 */

/**
 * `message.handler_removed`
 * @typedef {EventEnvelope & { type: "message.handler_removed", handler: HandlerName, holder: string }} MessageHandlerRemovedEvent
 */

/**
 * `message.handlers_gone`
 * @typedef {EventEnvelope & { type: "message.handlers_gone", holder: string }} MessageHandlersGoneEvent
 */

/**
 * `message.lost`
 * @typedef {EventEnvelope & { type: "message.lost", message: MessageId, to: AgentId, wait: number }} MessageLostEvent
 */

/**
 * `message.polled`
 * @typedef {EventEnvelope & { type: "message.polled", receiver: string }} MessagePolledEvent
 */

/**
 * `message.queued`
 * @typedef {EventEnvelope & { type: "message.queued", receiver: string, redeliver_ms?: number, until: string, wait: number }} MessageQueuedEvent
 */

/**
 * `message.rejoined`
 * @typedef {EventEnvelope & { type: "message.rejoined", message: MessageId, requester: string, to: AgentId, wait: number }} MessageRejoinedEvent
 */

/**
 * `message.replied`
 * @typedef {EventEnvelope & { type: "message.replied", answer: Record<string, Json>, holds?: boolean, message: MessageId, to: AgentId, wait?: number }} MessageRepliedEvent
 */

/**
 * `message.requeued`
 * @typedef {EventEnvelope & { type: "message.requeued", message: MessageId, to: AgentId }} MessageRequeuedEvent
 */

/**
 * `message.rerouted`
 * @typedef {EventEnvelope & { type: "message.rerouted", message: MessageId, next: string, to: AgentId }} MessageReroutedEvent
 */

/**
 * `message.returned`
 * @typedef {EventEnvelope & { type: "message.returned", message: MessageId, to: AgentId }} MessageReturnedEvent
 */

/**
 * `message.sent`
 * @typedef {EventEnvelope & { type: "message.sent", body: Json, expires_at?: Timestamp, holds?: boolean, message: MessageId, reply_to?: MessageId, request?: MessageId, thread?: MessageId, to: AgentId, traceparent?: Traceparent }} MessageSentEvent
 */

/**
 * `message.timed_out`
 * @typedef {EventEnvelope & { type: "message.timed_out", message: MessageId, to: AgentId, wait: number }} MessageTimedOutEvent
 */

/**
 * `namespace.configured`
 * @typedef {EventEnvelope & { type: "namespace.configured", name: NamespaceName, rules: Rules }} NamespaceConfiguredEvent
 */

/**
 * `namespace.created`
 * @typedef {EventEnvelope & { type: "namespace.created", name: NamespaceName, rules: Rules }} NamespaceCreatedEvent
 */

/**
 * `namespace.deleted`
 * @typedef {EventEnvelope & { type: "namespace.deleted", name: NamespaceName }} NamespaceDeletedEvent
 */

/**
 * `pipeline.aborted`
 * @typedef {EventEnvelope & { type: "pipeline.aborted", pipeline: PipelineName, reason?: string }} PipelineAbortedEvent
 */

/**
 * `pipeline.completed`
 * @typedef {EventEnvelope & { type: "pipeline.completed", pipeline: PipelineName }} PipelineCompletedEvent
 */

/**
 * `pipeline.created`
 * @typedef {EventEnvelope & { type: "pipeline.created", automatic?: boolean, input?: Json, metadata?: Json, pipeline: PipelineName, stages: Stage[], traceparent?: Traceparent }} PipelineCreatedEvent
 */

/**
 * `pipeline.deleted`
 * @typedef {EventEnvelope & { type: "pipeline.deleted", pipeline: PipelineName }} PipelineDeletedEvent
 */

/**
 * `pipeline.failed`
 * @typedef {EventEnvelope & { type: "pipeline.failed", pipeline: PipelineName }} PipelineFailedEvent
 */

/**
 * `pipeline.stage_abandoned`
 * @typedef {EventEnvelope & { type: "pipeline.stage_abandoned", pipeline: PipelineName, stage: StageName, worker: string }} PipelineStageAbandonedEvent
 */

/**
 * `pipeline.stage_completed`
 * @typedef {EventEnvelope & { type: "pipeline.stage_completed", output?: Json, pipeline: PipelineName, stage: StageName }} PipelineStageCompletedEvent
 */

/**
 * `pipeline.stage_failed`
 * @typedef {EventEnvelope & { type: "pipeline.stage_failed", error: Json, pipeline: PipelineName, stage: StageName }} PipelineStageFailedEvent
 */

/**
 * `pipeline.stage_ready`
 * @typedef {EventEnvelope & { type: "pipeline.stage_ready", pipeline: PipelineName, stage: StageName, tasks?: string[] }} PipelineStageReadyEvent
 */

/**
 * `pipeline.stage_retried`
 * @typedef {EventEnvelope & { type: "pipeline.stage_retried", pipeline: PipelineName, stage: StageName }} PipelineStageRetriedEvent
 */

/**
 * `pipeline.stage_reviewed`
 * @typedef {EventEnvelope & { type: "pipeline.stage_reviewed", note?: string, pipeline: PipelineName, stage: StageName, verdict: Verdict }} PipelineStageReviewedEvent
 */

/**
 * `pipeline.stage_skipped`
 * @typedef {EventEnvelope & { type: "pipeline.stage_skipped", pipeline: PipelineName, reason?: string, stage: StageName }} PipelineStageSkippedEvent
 */

/**
 * `pipeline.stage_started`
 * @typedef {EventEnvelope & { type: "pipeline.stage_started", input?: Json, pipeline: PipelineName, stage: StageName, worker: string }} PipelineStageStartedEvent
 */

/**
 * `pipeline.stage_submitted`
 * @typedef {EventEnvelope & { type: "pipeline.stage_submitted", output?: Json, pipeline: PipelineName, stage: StageName }} PipelineStageSubmittedEvent
 */

/**
 * `reaction.added`
 * @typedef {EventEnvelope & { type: "reaction.added", do?: Json[], enabled: boolean, on: ReactionOn, reaction: string, replaced: boolean, webhook?: Webhook }} ReactionAddedEvent
 */

/**
 * `reaction.call_begun`
 * @typedef {EventEnvelope & { type: "reaction.call_begun", attempt: number, call: number, reaction: string, until: string }} ReactionCallBegunEvent
 */

/**
 * `reaction.call_dead`
 * @typedef {EventEnvelope & { type: "reaction.call_dead", attempt: number, call: number, detail: string, reaction: string }} ReactionCallDeadEvent
 */

/**
 * `reaction.call_done`
 * @typedef {EventEnvelope & { type: "reaction.call_done", attempt: number, call: number, reaction: string, status: number }} ReactionCallDoneEvent
 */

/**
 * `reaction.call_failed`
 * @typedef {EventEnvelope & { type: "reaction.call_failed", again_at: string, attempt: number, call: number, detail: string, reaction: string }} ReactionCallFailedEvent
 */

/**
 * `reaction.called`
 * @typedef {EventEnvelope & { type: "reaction.called", body: Record<string, Json>, call: number, give_up_at: string, reaction: string }} ReactionCalledEvent
 */

/**
 * `reaction.disabled`
 * @typedef {EventEnvelope & { type: "reaction.disabled", reaction: string }} ReactionDisabledEvent
 */

/**
 * `reaction.enabled`
 * @typedef {EventEnvelope & { type: "reaction.enabled", reaction: string }} ReactionEnabledEvent
 */

/**
 * `reaction.failed`
 * @typedef {EventEnvelope & { type: "reaction.failed", cause: number, code: string, command: number, detail: string, reaction: string }} ReactionFailedEvent
 */

/**
 * `reaction.ran`
 * @typedef {EventEnvelope & { type: "reaction.ran", by: string, cause: number, depth: number, events: number, reaction: string }} ReactionRanEvent
 */

/**
 * `reaction.removed`
 * @typedef {EventEnvelope & { type: "reaction.removed", reaction: string }} ReactionRemovedEvent
 */

/**
 * `reaction.sealed`
 * @typedef {EventEnvelope & { type: "reaction.sealed", reaction: string, secret: string }} ReactionSealedEvent
 */

/**
 * `reaction.stopped`
 * @typedef {EventEnvelope & { type: "reaction.stopped", cause: number, limit?: number, max: number, reaction: string }} ReactionStoppedEvent
 */

/**
 * `rule.added`
 * @typedef {EventEnvelope & { type: "rule.added", check: Check, message?: string, name: RuleName, on?: RuleOn, replaced: boolean, severity?: Severity }} RuleAddedEvent
 */

/**
 * `rule.removed`
 * @typedef {EventEnvelope & { type: "rule.removed", name: RuleName }} RuleRemovedEvent
 */

/**
 * `secret.deleted`
 * @typedef {EventEnvelope & { type: "secret.deleted", secret: SecretId }} SecretDeletedEvent
 */

/**
 * `secret.expired`
 * @typedef {EventEnvelope & { type: "secret.expired", secret: SecretId }} SecretExpiredEvent
 */

/**
 * `secret.put`
 * @typedef {EventEnvelope & { type: "secret.put", bytes: number, expires_at?: string, name?: string, secret: SecretId }} SecretPutEvent
 */

/**
 * `secret.revealed`
 * @typedef {EventEnvelope & { type: "secret.revealed", secret: SecretId }} SecretRevealedEvent
 */

/**
 * `semaphore.acquired`
 * @typedef {EventEnvelope & { type: "semaphore.acquired", holder: string, name: SemaphoreName, token: Token, ttl_ms?: number, wait?: number, weight?: number }} SemaphoreAcquiredEvent
 */

/**
 * `semaphore.created`
 * @typedef {EventEnvelope & { type: "semaphore.created", name: SemaphoreName, permits: number }} SemaphoreCreatedEvent
 */

/**
 * `semaphore.dropped`
 * @typedef {EventEnvelope & { type: "semaphore.dropped", name: SemaphoreName, token: Token }} SemaphoreDroppedEvent
 */

/**
 * `semaphore.expired`
 * @typedef {EventEnvelope & { type: "semaphore.expired", name: SemaphoreName, token: Token }} SemaphoreExpiredEvent
 */

/**
 * `semaphore.forgotten`
 * @typedef {EventEnvelope & { type: "semaphore.forgotten", name: SemaphoreName }} SemaphoreForgottenEvent
 */

/**
 * `semaphore.gave_up`
 * @typedef {EventEnvelope & { type: "semaphore.gave_up", left: string, name: SemaphoreName, wait: number, waiter: string, weight?: number }} SemaphoreGaveUpEvent
 */

/**
 * `semaphore.queued`
 * @typedef {EventEnvelope & { type: "semaphore.queued", name: SemaphoreName, ttl_ms?: number, until: string, wait: number, waiter: string, weight?: number }} SemaphoreQueuedEvent
 */

/**
 * `semaphore.released`
 * @typedef {EventEnvelope & { type: "semaphore.released", name: SemaphoreName, token: Token }} SemaphoreReleasedEvent
 */

/**
 * `semaphore.renewed`
 * @typedef {EventEnvelope & { type: "semaphore.renewed", name: SemaphoreName, token: Token, ttl_ms?: number }} SemaphoreRenewedEvent
 */

/**
 * `semaphore.resized`
 * @typedef {EventEnvelope & { type: "semaphore.resized", name: SemaphoreName, permits: number }} SemaphoreResizedEvent
 */

/**
 * `spend.exhausted`
 * @typedef {EventEnvelope & { type: "spend.exhausted", limit?: number, of?: SpendPayer, unit: string, used: number }} SpendExhaustedEvent
 */

/**
 * `spend.limited`
 * @typedef {EventEnvelope & { type: "spend.limited", budget?: SpendBudget, of?: SpendPayer }} SpendLimitedEvent
 */

/**
 * `spend.recorded`
 * @typedef {EventEnvelope & { type: "spend.recorded", by: string, model?: string, note?: string, number: number, spent: Record<string, Json>, tasks?: string[] }} SpendRecordedEvent
 */

/**
 * `state.copied`
 * @typedef {EventEnvelope & { type: "state.copied", key: Key, namespace: NamespaceName, operation: string, value: Json, version: number }} StateCopiedEvent
 */

/**
 * `state.deleted`
 * @typedef {EventEnvelope & { type: "state.deleted", key: Key, namespace: NamespaceName, removal: string, version: number }} StateDeletedEvent
 */

/**
 * `state.expired`
 * @typedef {EventEnvelope & { type: "state.expired", key: Key, namespace: NamespaceName, removal: string, version: number }} StateExpiredEvent
 */

/**
 * `state.let_go`
 * @typedef {EventEnvelope & { type: "state.let_go", key: Key, namespace: NamespaceName, removal: string, version: number }} StateLetGoEvent
 */

/**
 * `state.patched`
 * @typedef {EventEnvelope & { type: "state.patched", key: Key, namespace: NamespaceName, operation: string, value: Json, version: number }} StatePatchedEvent
 */

/**
 * `state.set`
 * @typedef {EventEnvelope & { type: "state.set", key: Key, namespace: NamespaceName, value: Json, version: number }} StateSetEvent
 */

/**
 * `state.sync_deleted`
 * @typedef {EventEnvelope & { type: "state.sync_deleted", key: Key, namespace: NamespaceName, removal: string, version: number }} StateSyncDeletedEvent
 */

/**
 * `state.synced`
 * @typedef {EventEnvelope & { type: "state.synced", key: Key, namespace: NamespaceName, operation: string, value: Json, version: number }} StateSyncedEvent
 */

/**
 * `state.transferred`
 * @typedef {EventEnvelope & { type: "state.transferred", bound_to?: string, expires_at?: string, key: Key, namespace: NamespaceName, operation: string, source?: Record<string, Json>, value: Json, version: number }} StateTransferredEvent
 */

/**
 * `state.transferred_away`
 * @typedef {EventEnvelope & { type: "state.transferred_away", key: Key, namespace: NamespaceName, removal: string, version: number }} StateTransferredAwayEvent
 */

/**
 * `stream.closed`
 * @typedef {EventEnvelope & { type: "stream.closed", reason?: string, stream: StreamName }} StreamClosedEvent
 */

/**
 * `stream.created`
 * @typedef {EventEnvelope & { type: "stream.created", bytes_max: number, frames_max: number, kept: boolean, stream: StreamName }} StreamCreatedEvent
 */

/**
 * `stream.deleted`
 * @typedef {EventEnvelope & { type: "stream.deleted", stream: StreamName }} StreamDeletedEvent
 */

/**
 * `stream.gave_up`
 * @typedef {EventEnvelope & { type: "stream.gave_up", from?: number, left: string, reader: string, stream: StreamName, wait: number }} StreamGaveUpEvent
 */

/**
 * `stream.queued`
 * @typedef {EventEnvelope & { type: "stream.queued", from?: number, limit?: number, reader: string, stream: StreamName, until: string, wait: number }} StreamQueuedEvent
 */

/**
 * `stream.sent`
 * @typedef {EventEnvelope & { type: "stream.sent", frames?: Json[], live?: boolean, offset?: number, stream: StreamName }} StreamSentEvent
 */

/**
 * `stream.told`
 * @typedef {EventEnvelope & { type: "stream.told", from?: number, limit?: number, reader: string, stream: StreamName, wait: number }} StreamToldEvent
 */

/**
 * `task.abandoned`
 * @typedef {EventEnvelope & { type: "task.abandoned", handoff: string, task: TaskId }} TaskAbandonedEvent
 */

/**
 * `task.cancelled`
 * @typedef {EventEnvelope & { type: "task.cancelled", because?: string, reason?: string, task: TaskId }} TaskCancelledEvent
 */

/**
 * `task.claimed`
 * @typedef {EventEnvelope & { type: "task.claimed", holder: string, lease_ms?: number, task: TaskId, token: Token, wait?: number }} TaskClaimedEvent
 */

/**
 * `task.completed`
 * @typedef {EventEnvelope & { type: "task.completed", artifacts?: Json, result?: Json, task: TaskId }} TaskCompletedEvent
 */

/**
 * `task.created`
 * @typedef {EventEnvelope & { type: "task.created", assigned_agent?: AgentId, backoff?: Backoff, budget?: SpendBudget, capabilities?: string[], deadline?: Timestamp, definition?: Json, depends_on?: TaskId[], description?: string, group?: GroupName, max_retries?: number, metadata?: Json, not_before?: Timestamp, on_exhausted?: OnExhausted, parent?: TaskId, priority?: number, ready?: boolean, review?: boolean, schema_version?: Json, task: TaskId, task_type: string, traceparent?: Traceparent }} TaskCreatedEvent
 */

/**
 * `task.failed`
 * @typedef {EventEnvelope & { type: "task.failed", cause: string, error: Json, outcome: Record<string, Json>, task: TaskId }} TaskFailedEvent
 */

/**
 * `task.gave_up`
 * @typedef {EventEnvelope & { type: "task.gave_up", claimant: string, left: string, wait: number }} TaskGaveUpEvent
 */

/**
 * `task.handed_off`
 * @typedef {EventEnvelope & { type: "task.handed_off", handoff: string, returns: Record<string, Json>, task: TaskId, to: string }} TaskHandedOffEvent
 */

/**
 * `task.handed_over`
 * @typedef {EventEnvelope & { type: "task.handed_over", handoff: string, holder: string, lease_ms?: number, task: TaskId, token: Token }} TaskHandedOverEvent
 */

/**
 * `task.offered`
 * @typedef {EventEnvelope & { type: "task.offered", handoff: string, task: TaskId }} TaskOfferedEvent
 */

/**
 * `task.progressed`
 * @typedef {EventEnvelope & { type: "task.progressed", fraction: number, note?: string, task: TaskId }} TaskProgressedEvent
 */

/**
 * `task.queued`
 * @typedef {EventEnvelope & { type: "task.queued", capabilities?: string[], claimant: string, lease_ms?: number, limit?: number, task?: TaskId, types?: TaskType[], until: string, wait: number }} TaskQueuedEvent
 */

/**
 * `task.ready`
 * @typedef {EventEnvelope & { type: "task.ready", task: TaskId }} TaskReadyEvent
 */

/**
 * `task.released`
 * @typedef {EventEnvelope & { type: "task.released", reason?: string, task: TaskId }} TaskReleasedEvent
 */

/**
 * `task.renewed`
 * @typedef {EventEnvelope & { type: "task.renewed", lease_ms?: number, task: TaskId }} TaskRenewedEvent
 */

/**
 * `task.retried`
 * @typedef {EventEnvelope & { type: "task.retried", because?: string, deadline?: Timestamp, reason?: string, task: TaskId }} TaskRetriedEvent
 */

/**
 * `task.reviewed`
 * @typedef {EventEnvelope & { type: "task.reviewed", accepts?: boolean, task: TaskId, verdict: Verdict }} TaskReviewedEvent
 */

/**
 * `task.submitted`
 * @typedef {EventEnvelope & { type: "task.submitted", result?: Json, task: TaskId }} TaskSubmittedEvent
 */

/**
 * `task.taken_back`
 * @typedef {EventEnvelope & { type: "task.taken_back", handoff: string, task: TaskId }} TaskTakenBackEvent
 */

/**
 * `task.updated`
 * @typedef {EventEnvelope & { type: "task.updated", definition?: Json, description?: string, metadata?: Json, priority: number, result?: Json, task: TaskId }} TaskUpdatedEvent
 */

/**
 * `topic.posted`
 * @typedef {EventEnvelope & { type: "topic.posted", body: Json, live?: boolean, topic: TopicName, traceparent?: Traceparent }} TopicPostedEvent
 */

/**
 * `wait.answered`
 * @typedef {EventEnvelope & { type: "wait.answered", goal: Record<string, Json>, wait: number, waiter: string }} WaitAnsweredEvent
 */

/**
 * `wait.gave_up`
 * @typedef {EventEnvelope & { type: "wait.gave_up", goal: Record<string, Json>, left: string, wait: number, waiter: string }} WaitGaveUpEvent
 */

/**
 * `wait.queued`
 * @typedef {EventEnvelope & { type: "wait.queued", goal: Record<string, Json>, until: Timestamp, wait: number, waiter: string }} WaitQueuedEvent
 */

/**
 * `workspace.configured`
 * @typedef {EventEnvelope & { type: "workspace.configured", retention: Record<string, Json> }} WorkspaceConfiguredEvent
 */

/**
 * `workspace.founded`
 * @typedef {EventEnvelope & { type: "workspace.founded", origin: Record<string, Json> }} WorkspaceFoundedEvent
 */

/**
 * `workspace.synced`
 * @typedef {EventEnvelope & { type: "workspace.synced", copy: string, seen: Record<string, Json>[], taken: Record<string, Json>[], up_to: number, with?: Known }} WorkspaceSyncedEvent
 */

/**
 * An event that an agent emitted: its type is chosen by the agent.
 * @typedef {EventEnvelope & { type: string, payload?: Json }} EmittedEvent
 */

/**
 * Any event of Baton itself, by `type`.
 * @typedef {AgentForgottenEvent | AgentJoinedEvent | AgentLeftEvent | AgentLostEvent | AgentSeenEvent | ArtifactDeletedEvent | ArtifactExpiredEvent | ArtifactPutEvent | BarrierArrivedEvent | BarrierForgottenEvent | BarrierOpenedEvent | BarrierPassedEvent | BarrierResetEvent | BarrierWithdrawnEvent | CheckpointCopiedEvent | CheckpointForkedEvent | CheckpointLabelledEvent | CheckpointPrunedEvent | CheckpointRestoredEvent | CheckpointRetainedEvent | CheckpointSavedEvent | CheckpointWrittenEvent | ContractBrokenEvent | ContractDeclaredEvent | ContractDeletedEvent | HandoffAcceptedEvent | HandoffApprovedEvent | HandoffCancelledEvent | HandoffCompletedEvent | HandoffDeliveredEvent | HandoffExecutedEvent | HandoffExpiredEvent | HandoffFailedEvent | HandoffGaveUpEvent | HandoffOfferedEvent | HandoffPassedEvent | HandoffQueuedEvent | HandoffRefusedEvent | HandoffRejectedEvent | HandoffUndeliveredEvent | JoinAnsweredEvent | JoinCreatedEvent | JoinGaveUpEvent | JoinQueuedEvent | JoinSettledEvent | LockAcquiredEvent | LockDroppedEvent | LockExpiredEvent | LockGaveUpEvent | LockQueuedEvent | LockReleasedEvent | LockRenewedEvent | MessageAckedEvent | MessageDeliveredEvent | MessageDiedEvent | MessageExpiredEvent | MessageGaveUpEvent | MessageHandlerAddedEvent | MessageHandlerRemovedEvent | MessageHandlersGoneEvent | MessageLostEvent | MessagePolledEvent | MessageQueuedEvent | MessageRejoinedEvent | MessageRepliedEvent | MessageRequeuedEvent | MessageReroutedEvent | MessageReturnedEvent | MessageSentEvent | MessageTimedOutEvent | NamespaceConfiguredEvent | NamespaceCreatedEvent | NamespaceDeletedEvent | PipelineAbortedEvent | PipelineCompletedEvent | PipelineCreatedEvent | PipelineDeletedEvent | PipelineFailedEvent | PipelineStageAbandonedEvent | PipelineStageCompletedEvent | PipelineStageFailedEvent | PipelineStageReadyEvent | PipelineStageRetriedEvent | PipelineStageReviewedEvent | PipelineStageSkippedEvent | PipelineStageStartedEvent | PipelineStageSubmittedEvent | ReactionAddedEvent | ReactionCallBegunEvent | ReactionCallDeadEvent | ReactionCallDoneEvent | ReactionCallFailedEvent | ReactionCalledEvent | ReactionDisabledEvent | ReactionEnabledEvent | ReactionFailedEvent | ReactionRanEvent | ReactionRemovedEvent | ReactionSealedEvent | ReactionStoppedEvent | RuleAddedEvent | RuleRemovedEvent | SecretDeletedEvent | SecretExpiredEvent | SecretPutEvent | SecretRevealedEvent | SemaphoreAcquiredEvent | SemaphoreCreatedEvent | SemaphoreDroppedEvent | SemaphoreExpiredEvent | SemaphoreForgottenEvent | SemaphoreGaveUpEvent | SemaphoreQueuedEvent | SemaphoreReleasedEvent | SemaphoreRenewedEvent | SemaphoreResizedEvent | SpendExhaustedEvent | SpendLimitedEvent | SpendRecordedEvent | StateCopiedEvent | StateDeletedEvent | StateExpiredEvent | StateLetGoEvent | StatePatchedEvent | StateSetEvent | StateSyncDeletedEvent | StateSyncedEvent | StateTransferredEvent | StateTransferredAwayEvent | StreamClosedEvent | StreamCreatedEvent | StreamDeletedEvent | StreamGaveUpEvent | StreamQueuedEvent | StreamSentEvent | StreamToldEvent | TaskAbandonedEvent | TaskCancelledEvent | TaskClaimedEvent | TaskCompletedEvent | TaskCreatedEvent | TaskFailedEvent | TaskGaveUpEvent | TaskHandedOffEvent | TaskHandedOverEvent | TaskOfferedEvent | TaskProgressedEvent | TaskQueuedEvent | TaskReadyEvent | TaskReleasedEvent | TaskRenewedEvent | TaskRetriedEvent | TaskReviewedEvent | TaskSubmittedEvent | TaskTakenBackEvent | TaskUpdatedEvent | TopicPostedEvent | WaitAnsweredEvent | WaitGaveUpEvent | WaitQueuedEvent | WorkspaceConfiguredEvent | WorkspaceFoundedEvent | WorkspaceSyncedEvent} BatonEvent
 */

/**
 * The event of a type; an emitted event if the type is not one of Baton's.
 * @template {string} T
 * @typedef {Extract<BatonEvent, { type: T }> extends never ? EmittedEvent : Extract<BatonEvent, { type: T }>} EventOf
 */

export {};
