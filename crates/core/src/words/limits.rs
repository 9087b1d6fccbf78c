//! All limits of the rules, with their reasons. A request that exceeds a limit is refused with an
//! error that names it; nothing is truncated silently.

/// Longest key in bytes. Keys are read by people and are part of every event about the entry.
pub const KEY_BYTES_MAX: usize = 512;
/// Longest workspace name in bytes; it becomes a folder name on disk.
pub const WORKSPACE_BYTES_MAX: usize = 64;
/// Longest agent id in bytes.
pub const AGENT_BYTES_MAX: usize = 128;
/// Longest namespace name in bytes: room for `agent:` and the longest agent id.
pub const NAMESPACE_BYTES_MAX: usize = AGENT_BYTES_MAX + 32;
/// Largest value in bytes. Larger data belongs in artifacts, not in shared state.
pub const VALUE_BYTES_MAX: usize = 1 << 20;
/// Maximum number of commands in one transaction, which blocks all other requests.
pub const TRANSACTION_COMMANDS_MAX: usize = 1_000;
/// Maximum number of preconditions in one transaction, for the same reason.
pub const TRANSACTION_REQUIREMENTS_MAX: usize = 1_000;
/// Maximum number of events in one batch, whether from a transaction, a transfer or a policy.
pub const BATCH_EVENTS_MAX: usize = 10_000;
/// Largest batch in bytes; it must fit into one record of any log backend.
pub const BATCH_BYTES_MAX: usize = 8 << 20;
/// How many rounds of policies may follow one command. A cycle among policies ends here.
pub const POLICY_ROUNDS_MAX: usize = 16;
/// Maximum number of namespaces in a workspace. Each is a record that is never evicted
/// automatically.
pub const NAMESPACES_MAX: usize = 100_000;
/// Deleted keys of a workspace whose last version is kept by key: a few megabytes. When there are
/// more, new keys start at a higher version.
pub const RETIRED_VERSIONS_MAX: usize = if cfg!(test) { 20 } else { 10_000 };
/// Most rules for key patterns in one namespace; they are tried in order on every write.
pub const KEY_RULES_MAX: usize = 64;
/// Maximum number of agents in a workspace, far fewer than namespaces since each has one. The
/// sessions that ended first are forgotten first.
pub const AGENTS_MAX: usize = 10_000;
/// Maximum number of levels of agents that supervise each other: agents that start each other
/// without end reach it soon.
pub const AGENT_DEPTH_MAX: usize = 8;
/// Maximum number of capabilities of one agent.
pub const CAPABILITIES_MAX: usize = 64;
/// Maximum number of agents that may be named as the reviewers of a task or a stage.
pub const REVIEWERS_MAX: usize = 64;
/// Longest capability name in bytes.
pub const CAPABILITY_BYTES_MAX: usize = 128;
/// Largest metadata of an agent in bytes.
pub const METADATA_BYTES_MAX: usize = 64 << 10;
/// Maximum number of open messages in one inbox. An agent that never receives must not fill the
/// memory.
pub const INBOX_MESSAGES_MAX: usize = if cfg!(test) { 100 } else { 10_000 };
/// Maximum total size of them in bytes.
pub const INBOX_BYTES_MAX: usize = 32 << 20;
/// Maximum number of open messages in a workspace. Each is a record in memory.
pub const MESSAGES_MAX: usize = 200_000;
/// Maximum total size of them in bytes.
pub const MESSAGES_BYTES_MAX: usize = 256 << 20;
/// Messages that have ended and are kept for inspection; those that ended first are forgotten
/// first. The history keeps them longer.
pub const MESSAGES_ENDED_MAX: usize = if cfg!(test) { 100 } else { 50_000 };
/// Maximum total size of them in bytes.
pub const MESSAGES_ENDED_BYTES_MAX: usize = 64 << 20;
/// Maximum number of messages that one call receives or acknowledges: each is an event of one
/// batch.
pub const RECEIVED_MAX: usize = 1_000;
/// Maximum number of calls of one agent that wait for mail: the end of its session ends all of them
/// in one batch.
pub const RECEIVES_PER_AGENT_MAX: usize = 16;
/// Largest body of a request in bytes: it may have to move to another handler in the batch that
/// ends a session.
pub const REQUEST_BYTES_MAX: usize = 256 << 10;
/// Maximum number of requests that one agent has to answer at a time, for the same reason.
pub const REQUESTS_PER_AGENT_MAX: usize = 64;
/// Maximum total size of all but the last of them, in bytes.
pub const REQUESTS_BYTES_PER_AGENT_MAX: usize = 1 << 20;
/// Maximum number of live requests of a workspace that are not answered: each is a waiting call and
/// a record in memory, and more than agents can answer in time are better refused at once.
pub const LIVE_REQUESTS_MAX: usize = if cfg!(test) { 4 } else { 10_000 };
/// Maximum total size of all but the last of them, in bytes.
pub const LIVE_REQUESTS_BYTES_MAX: usize = 64 << 20;
/// Default timeout of a request.
pub const REQUEST_MS_DEFAULT: u64 = 30_000;
/// Longest time after which an unacknowledged message is delivered again: a day.
pub const REDELIVER_MS_MAX: u64 = 24 * 3_600_000;
/// Maximum number of handlers that one agent is registered for.
pub const HANDLERS_PER_AGENT_MAX: usize = 64;
/// Maximum number of agents that are registered for one handler: all of them are compared to find
/// the next one.
pub const HANDLERS_PER_NAME_MAX: usize = 1_000;
/// Maximum number of receiving agents that are remembered; the one that was silent longest is
/// forgotten first.
pub const LISTENERS_MAX: usize = AGENTS_MAX;
/// Maximum number of topics that are remembered; the one with the oldest last message is forgotten
/// first. Its messages are not: they are events.
pub const TOPICS_MAX: usize = if cfg!(test) { 100 } else { 10_000 };
/// Maximum number of streams in a workspace. Each is a record in memory.
pub const STREAMS_MAX: usize = 10_000;
/// Default number of frames that a stream keeps.
pub const STREAM_FRAMES_DEFAULT: u64 = 100_000;
/// Maximum number of frames that a stream keeps.
pub const STREAM_FRAMES_MAX: u64 = 1_000_000;
/// Default size of the frames that a stream keeps, in bytes.
pub const STREAM_BYTES_DEFAULT: u64 = 8 << 20;
/// Maximum size in bytes of frames that a stream keeps.
pub const STREAM_BYTES_MAX: u64 = 64 << 20;
/// Maximum size in bytes of frames that all streams of a workspace keep.
pub const STREAMS_BYTES_MAX: usize = 256 << 20;
/// Maximum number of frames in one send.
pub const STREAM_FRAMES_AT_ONCE_MAX: usize = 10_000;
/// Maximum number of calls that wait for one stream: all are answered in one batch.
pub const READERS_MAX: usize = 1_000;
/// Maximum number of calls of one agent that wait for streams: the end of its session ends all of
/// them in one batch.
pub const READERS_PER_AGENT_MAX: usize = 32;
/// Longest name of a rule for hand-offs in bytes.
pub const RULE_NAME_BYTES_MAX: usize = 128;
/// Maximum number of rules for hand-offs in a workspace: all of them may be evaluated for each
/// hand-off, which blocks all other requests.
pub const RULES_MAX: usize = 256;
/// Maximum number of names that one rule requires in the state.
pub const RULE_KEYS_MAX: usize = 100;
/// Longest expression of a rule in bytes: what a person can still read.
pub const EXPRESSION_BYTES_MAX: usize = 4 << 10;
/// Maximum depth of an expression. Each level takes stack, when it is compiled and when it runs.
pub const EXPRESSION_DEPTH_MAX: usize = 32;
/// Maximum number of steps of an expression: about a millisecond, which blocks all other requests.
/// Enough to scan the largest value of shared state once.
pub const EXPRESSION_STEPS_MAX: usize = 20_000;
/// Maximum number of steps of all rules in one commit, which may have a thousand hand-offs: about a
/// tenth of a second. A rule takes one step at least.
pub const RULE_STEPS_MAX: usize = 2_000_000;
/// Most bytes that rules read in one commit: the state of its hand-offs with the values of their
/// keys and, if a rule is an expression, their tasks. As much as a batch, and all of it is parsed.
pub const RULE_BYTES_MAX: usize = BATCH_BYTES_MAX;
/// Longest message of a rule in bytes: it is part of every finding.
pub const RULE_MESSAGE_BYTES_MAX: usize = 1 << 10;
/// Longest type of an event that an agent emits, in bytes.
pub const EVENT_TYPE_BYTES_MAX: usize = 128;
/// Largest payload of such an event in bytes: every watch receives it.
pub const EVENT_BYTES_MAX: usize = 256 << 10;
/// Maximum number of reactions in a workspace: all of them may be evaluated for every event, which
/// blocks all other requests.
pub const REACTIONS_MAX: usize = 256;
/// Maximum number of commands of one reaction.
pub const REACTION_COMMANDS_MAX: usize = 16;
/// Largest reaction in bytes: it is recorded in one event.
pub const REACTION_BYTES_MAX: usize = 64 << 10;
/// Maximum depth of reactions that trigger each other in one commit. A cycle ends here.
pub const REACTION_DEPTH_MAX: usize = 8;
/// Maximum number of runs of reactions in one commit: one for every command of the largest
/// transaction.
pub const REACTION_RUNS_MAX: usize = TRANSACTION_COMMANDS_MAX;
/// Maximum number of conditions of reactions that are evaluated in one commit, which blocks all
/// other requests.
pub const REACTION_LOOKS_MAX: usize = 10 * REACTION_RUNS_MAX;
/// Minimum token budget of a context: enough to describe the task.
pub const CONTEXT_TOKENS_MIN: u64 = 100;
/// Maximum token budget of a context: what the largest models accept, and what fits into a reply.
pub const CONTEXT_TOKENS_MAX: u64 = 1_000_000;
/// Default token budget of a context: a fraction of what any model accepts.
pub const CONTEXT_TOKENS_DEFAULT: u64 = 8_000;
/// Maximum number of entries that are examined for one context, which blocks all other requests.
pub const CONTEXT_ENTRIES_MAX: usize = 20_000;
/// Maximum number of words of a description and definition that are searched for keys.
pub const CONTEXT_WORDS_MAX: usize = 10_000;
/// Maximum number of entries that are in a context only because they changed last.
pub const CONTEXT_RECENT_MAX: usize = 50;
/// Maximum number of messages in a context.
pub const CONTEXT_MAIL_MAX: usize = 50;
/// Maximum number of other agents in a context.
pub const CONTEXT_OTHERS_MAX: usize = 50;
/// Maximum number of tasks of each of them.
pub const CONTEXT_HELD_MAX: usize = 5;
/// Longest address of a webhook in bytes.
pub const WEBHOOK_URL_BYTES_MAX: usize = 2_048;
/// Longest secret of a webhook in bytes.
pub const WEBHOOK_SECRET_BYTES_MAX: usize = 256;
/// Minimum timeout of one attempt of a call.
pub const WEBHOOK_TIMEOUT_MS_MIN: u64 = 100;
/// Maximum timeout of one attempt of a call: other calls of the reaction wait for it.
pub const WEBHOOK_TIMEOUT_MS_MAX: u64 = 60_000;
/// Default timeout of one attempt of a call.
pub const WEBHOOK_TIMEOUT_MS_DEFAULT: u64 = 10_000;
/// How long after that the outcome of the attempt must have been reported.
pub const WEBHOOK_SLACK_MS: u64 = 30_000;
/// Default number of retries of a call.
pub const WEBHOOK_RETRIES_DEFAULT: u64 = 5;
/// Maximum number of retries of a call.
pub const WEBHOOK_RETRIES_MAX: u64 = 20;
/// Delay before the first retry of a call; it doubles with each further one.
pub const WEBHOOK_PAUSE_MS: u64 = 1_000;
/// Maximum delay before a retry.
pub const WEBHOOK_PAUSE_MS_MAX: u64 = 300_000;
/// How long a call is attempted before it is given up: a day.
pub const WEBHOOK_GIVE_UP_MS: u64 = 24 * 3_600_000;
/// Largest call in bytes.
pub const WEBHOOK_BODY_BYTES_MAX: usize = 256 << 10;
/// Maximum number of pending calls of a workspace.
pub const WEBHOOK_CALLS_MAX: usize = 1_000;
/// Maximum total size of them in bytes.
pub const WEBHOOK_CALLS_BYTES_MAX: usize = 16 << 20;
/// Maximum number of declared contracts in a workspace: all of them may concern one write.
pub const CONTRACTS_MAX: usize = 256;
/// Maximum number of patterns with wildcards in them: all are matched on every write.
pub const CONTRACT_PATTERNS_MAX: usize = 256;
/// Maximum number of keys and patterns in one contract.
pub const CONTRACT_KEYS_MAX: usize = 64;
/// Maximum number of fields that a contract requires of one key.
pub const CONTRACT_FIELDS_MAX: usize = 64;
/// Largest contract in bytes, with its schemas: all contracts stay in memory.
pub const CONTRACT_DECLARATION_BYTES_MAX: usize = 64 << 10;
/// Maximum number of hand-offs, stages and keys that one query about contracts examines, which
/// blocks all other requests.
pub const CONTRACT_FACTS_MAX: usize = 200_000;
/// Maximum number of entries of a namespace that such a query examines.
pub const CONTRACT_ENTRIES_MAX: usize = 10_000;
/// Most bytes of their values: checking them takes a few tenths of a second.
pub const CONTRACT_BYTES_MAX: usize = 16 << 20;
/// About how much memory the index of one workspace takes, in bytes: some 300 for each task.
/// Content beyond it is not found, and every answer says so.
pub const SEARCH_BYTES_MAX: usize = 1 << 30;
/// Maximum number of events that are found by search; older ones are in the history.
pub const SEARCH_EVENTS_MAX: usize = if cfg!(test) { 500 } else { 250_000 };
/// Maximum number of documents that one page of a search examines: some milliseconds.
pub const SEARCH_EXAMINED_MAX: usize = if cfg!(test) { 200 } else { 200_000 };
/// Longest query of a search in bytes: it is written by hand.
pub const SEARCH_QUERY_BYTES_MAX: usize = 1 << 10;
/// Maximum number of words, phrases and fields in one search query: each makes every page slower.
pub const SEARCH_PARTS_MAX: usize = 32;
/// Maximum number of ephemeral entries of one agent: the end of its session removes all of them in
/// one batch.
pub const EPHEMERAL_PER_AGENT_MAX: usize = 1_000;
/// Longest name of a lock, a semaphore or a barrier, in bytes.
pub const HOLD_NAME_BYTES_MAX: usize = 256;
/// Maximum number of locks one agent may hold or wait for, of permits, and of barriers it may have
/// arrived at: the end of its session frees all of them in one batch.
pub const HOLDS_PER_AGENT_MAX: usize = 500;
/// Maximum number of locks that are held in a workspace at a time. Each is a record in memory.
pub const LOCKS_MAX: usize = 100_000;
/// Maximum number of semaphores in a workspace. Idle ones are forgotten first.
pub const SEMAPHORES_MAX: usize = 10_000;
/// Maximum number of permits of one semaphore. With more, there is no need to count.
pub const PERMITS_PER_SEMAPHORE_MAX: u64 = 10_000;
/// Maximum number of permits that are held in a workspace at a time. Each is a record in memory.
pub const PERMITS_MAX: usize = 100_000;
/// Maximum number of barriers in a workspace. Barriers without arrivals are forgotten first.
pub const BARRIERS_MAX: usize = 10_000;
/// Maximum number of arrivals that one barrier may need.
pub const BARRIER_COUNT_MAX: u64 = 10_000;
/// Maximum number of arrivals at barriers of a workspace that have not opened. Each is a record in
/// memory.
pub const ARRIVALS_MAX: usize = 100_000;
/// Maximum number of calls that wait at barriers of a workspace. All of them may wait at the same
/// one, and are answered in the one batch that opens it, with an event and perhaps a receipt for
/// each.
pub const BARRIER_WAITS_MAX: usize = 4_000;
/// Maximum number of calls that wait for a status of one task or hand-off, and of one agent.
pub const STATUS_WAITS_MAX: usize = 64;
/// Maximum number of calls that are answered by the commit that reaches their status; more follow
/// in later commits.
pub const STATUS_WAITS_ANSWERED_MAX: usize = 64;
/// Maximum number of calls of one kind that wait in a workspace at a time.
pub const WAITS_MAX: usize = 10_000;
/// Longest wait: an hour. To wait longer, a client repeats the call, so that no call waits forever.
pub const WAIT_MS_MAX: u64 = 3_600_000;
/// Shortest time to live of a hold.
pub const HOLD_TTL_MS_MIN: u64 = 100;
/// Longest time to live of a hold.
pub const HOLD_TTL_MS_MAX: u64 = 24 * 3_600_000;
/// Default time to live of a hold: several model calls, since a hold that is lost in the middle of
/// one costs more than one that lingers.
pub const HOLD_TTL_MS_DEFAULT: u64 = 300_000;
/// Maximum number of entries that expire in one batch; the rest follow in the next.
pub const EXPIRIES_PER_BATCH_MAX: usize = 1_000;
/// Maximum number of agents that are lost in one batch; the rest follow in the next. Each may
/// release as much as it is allowed to hold, and all of that must fit: a lock or a permit is
/// granted to the next waiter, whose answer may have to be stored; an arrival is withdrawn; joins
/// of its tasks settle; waits for their status end, in several rounds; the hand-offs of its tasks
/// fail; hand-offs and requests that it has not answered go to other agents, whose calls may be
/// waiting for them; and stages that it works on can be started again.
pub const LOST_PER_BATCH_MAX: usize = BATCH_EVENTS_MAX
    / (EPHEMERAL_PER_AGENT_MAX
        + 7 * HOLDS_PER_AGENT_MAX
        + LEASES_PER_AGENT_MAX
        + JOIN_WAITS_MAX
        + JOINS_SETTLED_AT_ONCE_MAX * (1 + JOIN_WAITS_MAX)
        + STATUS_WAITS_MAX
        + 4 * STATUS_WAITS_ANSWERED_MAX
        + FOLLOWING_EVENTS_BESIDE_MAX
        + LEASES_PER_AGENT_MAX
        + 4 * HANDOFFS_PER_AGENT_MAX
        + RECEIVES_PER_AGENT_MAX
        + 3 * REQUESTS_PER_AGENT_MAX
        + READERS_PER_AGENT_MAX
        + STAGES_PER_AGENT_MAX
        + 2);
const _: () = assert!(LOST_PER_BATCH_MAX > 0, "all that one agent may hold fits into a batch");
/// Shortest time to live of an entry.
pub const TTL_MS_MIN: u64 = 1;
/// Longest time to live of an entry: ten years. More is a mistake in units.
pub const TTL_MS_MAX: u64 = 10 * 366 * 24 * 3_600_000;
/// Minimum time to live of a session.
pub const AGENT_TTL_MS_MIN: u64 = 100;
/// Maximum time to live of a session.
pub const AGENT_TTL_MS_MAX: u64 = 24 * 3_600_000;
/// Default time to live of a session. Model calls take minutes, but heartbeats come from the
/// process around them.
pub const AGENT_TTL_MS_DEFAULT: u64 = 60_000;
/// A heartbeat is recorded only after this fraction of the time to live has passed since the last
/// recorded one, so that frequent heartbeats cost nothing.
pub const HEARTBEAT_FRACTION: u64 = 4;
/// Longest id of a copy of a workspace in bytes: its name, a dot, and a time in milliseconds.
pub const COPY_BYTES_MAX: usize = WORKSPACE_BYTES_MAX + 21;
/// Entries in one document of changes for another copy, by default and at most. Both documents of a
/// synchronization are one request, and its events one batch.
pub const SYNC_ENTRIES_DEFAULT: usize = 500;
/// Maximum number of entries in one document of changes. One commit of the other copy is not
/// divided, so that a document may have more than were asked for.
pub const SYNC_ENTRIES_MAX: usize = BATCH_EVENTS_MAX / 2;
/// Bytes of values after which a document of changes ends.
pub const SYNC_BYTES_MAX: usize = 1 << 20;
/// Maximum number of copies that a workspace keeps track of.
pub const COPIES_MAX: usize = 1_000;
/// Maximum number of conflicts in a refusal.
pub const CONFLICTS_SHOWN_MAX: usize = 100;
/// Entries per page by default.
pub const PAGE_DEFAULT: usize = 100;
/// Maximum number of entries per page: what one answer may hold.
pub const PAGE_MAX: usize = 10_000;
/// Longest idempotency key in bytes.
pub const IDEMPOTENCY_KEY_BYTES_MAX: usize = 256;
/// How long a stored answer is kept.
pub const RECEIPT_AGE_MS_MAX: u64 = 24 * 3_600_000;
/// How many stored answers a workspace keeps; the oldest go first.
pub const RECEIPTS_MAX: usize = 100_000;
/// How many bytes of stored answers a workspace keeps; the oldest go first, the newest stays.
pub const RECEIPTS_BYTES_MAX: usize = 64 << 20;
/// Revisions of history kept by default.
pub const HISTORY_COUNT_DEFAULT: u64 = 10_000_000;
/// Age of history kept by default: thirty days.
pub const HISTORY_AGE_MS_DEFAULT: u64 = 30 * 24 * 3_600_000;
/// Longest id of a task, name of a type of tasks or of a group, in bytes.
pub const TASK_BYTES_MAX: usize = 128;
/// Maximum number of tasks of a workspace that are not finished. Each takes some hundred bytes of
/// memory, so this is about a gigabyte: twice the million that claims are measured with.
pub const TASKS_MAX: usize = 2_000_000;
/// Finished tasks that are kept for inspection; those that finished first are forgotten first. The
/// history keeps them longer.
pub const TASKS_FINISHED_MAX: usize = if cfg!(test) { 20_000 } else { 100_000 };
/// Maximum size in bytes of finished tasks that are kept; those that finished first are forgotten
/// first. Each counts as a kilobyte more than its texts, so that most workspaces reach the limit of
/// their number first: it leaves 1.6 KB of definition and result for each of them.
pub const TASKS_FINISHED_BYTES_MAX: usize = if cfg!(test) { 32 << 20 } else { 256 << 20 };
/// Maximum number of tasks that one task may depend on.
pub const TASK_DEPENDENCIES_MAX: usize = 1_000;
/// Maximum number of tasks that may depend on one: its end affects all of them in one commit.
pub const TASK_DEPENDENTS_MAX: usize = 10_000;
/// Maximum number of levels of tasks and subtasks: agents that split their work without end reach
/// it soon.
pub const TASK_DEPTH_MAX: usize = 16;
/// Maximum total that is spent in a workspace, in any unit: the largest integer that JSON readers
/// with floating-point numbers keep exactly.
pub const SPENT_MAX: u64 = (1 << 53) - 1;
/// Maximum amount of one record, in any unit.
pub const SPENT_AT_ONCE_MAX: u64 = 1_000_000_000_000;
/// Records of spending that are kept; totals and the history include older ones.
pub const SPEND_RECORDS_MAX: usize = if cfg!(test) { 20 } else { 10_000 };
/// Maximum number of agents with a budget, and of agents without one whose total is kept.
pub const SPEND_AGENTS_MAX: usize = if cfg!(test) { 20 } else { 10_000 };
/// Longest name of a model or tool, in bytes.
pub const MODEL_BYTES_MAX: usize = 256;
/// Maximum number of tasks that one call cancels together, so that all of them fit into one commit.
pub const TASK_SUBTREE_MAX: usize = BATCH_EVENTS_MAX / 2;
/// Maximum number of tasks that one agent may hold or wait for: the end of its session frees all of
/// them in one batch.
pub const LEASES_PER_AGENT_MAX: usize = 1_000;
/// Maximum number of tasks that one call claims: an agent that holds more than it works on keeps
/// them from others.
pub const CLAIMED_MAX: usize = 100;
/// Maximum size in bytes of tasks that become ready in one commit. Each may be assigned to a
/// waiting claim, whose answer may have to be stored, and all of that must fit into one batch.
pub const READY_BYTES_MAX: usize = BATCH_BYTES_MAX / 4;
/// Maximum number of claims that wait in a workspace at a time.
pub const CLAIMS_WAITING_MAX: usize = 10_000;
/// Maximum number of types in one claim; each is looked up.
pub const CLAIM_TYPES_MAX: usize = 100;
/// Shortest lease of a task.
pub const LEASE_MS_MIN: u64 = 100;
/// Longest lease of a task.
pub const LEASE_MS_MAX: u64 = 24 * 3_600_000;
/// Default lease of a task: model calls take minutes, and a lease that is lost in the middle of one
/// costs the whole call.
pub const LEASE_MS_DEFAULT: u64 = 300_000;
/// Minimum priority of a task.
pub const PRIORITY_MIN: i32 = -100;
/// Maximum priority of a task.
pub const PRIORITY_MAX: i32 = 100;
/// The age that one point of priority is worth. A task is overtaken by later ones of higher
/// priority only for that long, so that no task starves.
pub const AGEING_MS: u64 = 60_000;
/// Default number of retries of a task.
pub const RETRIES_DEFAULT: u64 = 3;
/// Maximum number of retries of a task.
pub const RETRIES_MAX: u64 = 1_000;
/// Largest description of a task in bytes: it is read by people and appears in lists.
pub const DESCRIPTION_BYTES_MAX: usize = 16 << 10;
/// Largest error of a task, and list of artifacts, in bytes.
pub const ERROR_BYTES_MAX: usize = 64 << 10;
/// Longest reason or note in bytes.
pub const NOTE_BYTES_MAX: usize = 4 << 10;
/// Longest schema version of a task in bytes.
pub const SCHEMA_VERSION_BYTES_MAX: usize = 64;
/// Maximum number of tasks that one page of a list examines. The search for a rare status among a
/// million must not block other requests; the page then ends early, with a cursor.
pub const TASKS_EXAMINED_MAX: usize = 20_000;
/// Maximum number of distinct failure reasons; the rest are counted as one.
pub const FAILURE_REASONS_MAX: usize = 100;
/// Longest reason of a failure that is counted, in characters.
pub const FAILURE_REASON_CHARACTERS_MAX: usize = 120;
/// Maximum number of tasks in one join. A group that grows beyond that makes its join fail.
pub const JOIN_MEMBERS_MAX: usize = 1_000;
/// Maximum number of open joins in a workspace.
pub const JOINS_MAX: usize = 10_000;
/// Maximum number of members of open joins, where each group counts as its maximum size.
pub const JOINED_TASKS_MAX: usize = 2_000_000;
/// Maximum number of joins of one task or one group: each is updated when a task finishes.
pub const JOINS_PER_TASK_MAX: usize = 16;
/// Maximum number of joins that settle in the commit that caused it; more follow in later commits.
pub const JOINS_SETTLED_AT_ONCE_MAX: usize = 16;
/// Maximum number of calls that wait for one join, since all are answered in one commit; and of one
/// agent.
pub const JOIN_WAITS_MAX: usize = 80;
/// Maximum size in bytes of results that are copied into one join: it must fit into an answer.
pub const JOIN_BYTES_MAX: usize = 4 << 20;
/// Maximum size in bytes of results that are copied into all joins of a workspace.
pub const JOINS_BYTES_MAX: usize = 64 << 20;
/// Settled joins that are kept for inspection; those that settled first are forgotten first.
pub const JOINS_SETTLED_MAX: usize = 10_000;
/// Maximum number of tasks in the settled joins that are kept.
pub const SETTLED_TASKS_MAX: usize = 200_000;
/// Longest name of a pipeline in bytes: after `pipeline:` it names the group of its tasks.
pub const PIPELINE_NAME_BYTES_MAX: usize = TASK_BYTES_MAX - "pipeline:".len();
/// Maximum number of stages of one pipeline. All are examined whenever one changes.
pub const PIPELINE_STAGES_MAX: usize = 100;
/// Maximum number of key patterns that one stage declares to read, or to write.
pub const STAGE_PATTERNS_MAX: usize = 64;
/// Maximum number of tasks of one stage: they are created in one commit, and cancelled in one.
pub const STAGE_TASKS_MAX: usize = 1_000;
/// Maximum size in bytes of the tasks that are created for one stage: a batch has room for twice as
/// much, since each may be assigned to a waiting claim, whose answer may have to be stored.
pub const STAGE_TASKS_BYTES_MAX: usize = 3 << 20;
/// Maximum number of open tasks of one pipeline: aborting it cancels all in one commit. Stages for
/// which there is no room wait until others are finished.
pub const PIPELINE_TASKS_MAX: usize = 2 * STAGE_TASKS_MAX;
/// Maximum number of stages of manual pipelines that one agent works on: the end of its session
/// affects all of them in one batch.
pub const STAGES_PER_AGENT_MAX: usize = 60;
/// Maximum size in bytes of one pipeline with all its outputs: it must fit into an answer.
pub const PIPELINE_BYTES_MAX: usize = 4 << 20;
/// Maximum number of pipelines of a workspace that are not finished.
pub const PIPELINES_MAX: usize = 10_000;
/// Finished pipelines that are kept for inspection; those that finished first are forgotten first.
pub const PIPELINES_FINISHED_MAX: usize = 10_000;
/// Maximum size in bytes of all pipelines that are not finished, and of all finished ones that are
/// kept.
pub const PIPELINES_BYTES_MAX: usize = 64 << 20;
/// Maximum number of following events in the commit of a command about a pipeline, or in a separate
/// one.
pub const FOLLOWING_EVENTS_MAX: usize = 4 * STAGE_TASKS_MAX + PIPELINE_STAGES_MAX;
/// Maximum number of following events in the commit of an event about tasks; if there are more, all
/// of them follow in later commits.
pub const FOLLOWING_EVENTS_BESIDE_MAX: usize = STAGE_TASKS_MAX + PIPELINE_STAGES_MAX;
/// Maximum size of them in bytes.
pub const FOLLOWING_BYTES_BESIDE_MAX: usize = 512 << 10;
/// Largest state of a checkpoint in bytes: saved completely and restored with an idempotency key,
/// it must fit into a batch.
pub const CHECKPOINT_BYTES_MAX: usize = 4 << 20;
/// Longest label of a checkpoint in bytes: it is a name, and appears in lists.
pub const LABEL_BYTES_MAX: usize = 128;
/// Maximum number of checkpoints of one task: one call may prune them all.
pub const CHECKPOINTS_PER_TASK_MAX: usize = 10_000;
/// Maximum number of pending writes after one checkpoint: one reply has them all.
pub const CHECKPOINT_WRITES_MAX: usize = 10_000;
/// Maximum number of checkpoints of a workspace. Each is a record in memory.
pub const CHECKPOINTS_MAX: usize = 200_000;
/// Maximum memory in bytes of the checkpoints of a workspace; shared parts count once.
pub const CHECKPOINTS_BYTES_MAX: usize = if cfg!(test) { 16 << 20 } else { 256 << 20 };
/// Maximum number of retention rules of checkpoints; they are matched on every save.
pub const CHECKPOINT_RULES_MAX: usize = 64;
/// Maximum size in bytes of metadata and descriptions on one page of a list of checkpoints.
pub const PAGE_BYTES_MAX: usize = 4 << 20;
/// Largest artifact in bytes. Larger files belong on a file server.
pub const ARTIFACT_BYTES_MAX: usize = 16 << 30;
/// Maximum number of artifacts of a workspace. Each is a record in memory.
pub const ARTIFACTS_MAX: usize = 200_000;
/// Maximum total size of the artifacts of a workspace in bytes, so that one workspace cannot fill
/// the disk.
pub const ARTIFACTS_BYTES_MAX: usize = 256 << 30;
/// Minimum retention of an artifact without references: enough time to reference it.
pub const ARTIFACT_KEEP_MS_MIN: u64 = 1_000;
/// Default retention of an artifact without references: a day.
pub const ARTIFACT_KEEP_MS_DEFAULT: u64 = 24 * 3_600_000;
/// Maximum number of records shown of those that reference an artifact.
pub const HOLDERS_SHOWN_MAX: usize = 10;
/// Longest name of an artifact or a secret in bytes: a file name.
pub const CONTENT_NAME_BYTES_MAX: usize = 255;
/// Longest media type in bytes.
pub const MEDIA_TYPE_BYTES_MAX: usize = 127;
/// Largest secret in bytes: keys, passwords, a page about a person.
pub const SECRET_BYTES_MAX: usize = 64 << 10;
/// Maximum number of secrets of a workspace. Each is a record in memory and a blob.
pub const SECRETS_MAX: usize = 10_000;
/// Maximum number of hand-offs of a workspace that have not ended. Each is a record in memory.
pub const HANDOFFS_MAX: usize = 100_000;
/// Maximum size in bytes of hand-offs that have not ended.
pub const HANDOFFS_BYTES_MAX: usize = 256 << 20;
/// Ended hand-offs that are kept for inspection; those that ended first are forgotten first. The
/// history keeps them longer.
pub const HANDOFFS_FINISHED_MAX: usize = 100_000;
/// Maximum size in bytes of ended hand-offs that are kept.
pub const HANDOFFS_FINISHED_BYTES_MAX: usize = 128 << 20;
/// Maximum number of hand-offs that one agent has not answered, or has accepted without a task: the
/// end of its session affects all of them in one batch.
pub const HANDOFFS_PER_AGENT_MAX: usize = 100;
/// Largest context of a hand-off in bytes: a summary, not a transcript.
pub const HANDOFF_CONTEXT_BYTES_MAX: usize = 256 << 10;
/// Maximum number of keys in one hand-off, named or selected by patterns.
pub const HANDOFF_KEYS_MAX: usize = 1_000;
/// Maximum number of keys that are compared with the patterns of one hand-off: that takes time in
/// which no other request is decided.
pub const HANDOFF_KEYS_EXAMINED_MAX: usize = 20_000;
/// Maximum number of tasks that one call hands over together, so that all of them and their
/// consequences fit into one commit.
pub const HANDOFF_TASKS_MAX: usize = 100;
/// Maximum size in bytes of the values in the reply to the receiver; the rest is listed in the
/// receipt and can be read.
pub const HANDOFF_VALUES_BYTES_MAX: usize = 1 << 20;
/// Largest output of a stage in bytes that the record of its hand-over to the next stage contains;
/// a larger one can be read from the pipeline. A stage may follow many others in one commit.
pub const PASSED_OUTPUT_BYTES_MAX: usize = 16 << 10;
/// Shortest deadline of a hand-off.
pub const HANDOFF_DEADLINE_MS_MIN: u64 = 100;
/// Longest deadline of a hand-off: thirty days, since people may have to accept it.
pub const HANDOFF_DEADLINE_MS_MAX: u64 = 30 * 24 * 3_600_000;
/// Default deadline of a hand-off: an hour. The task makes no progress in the meantime.
pub const HANDOFF_DEADLINE_MS_DEFAULT: u64 = 3_600_000;
/// Shortest time after which an unanswered hand-off is delivered again.
pub const REDELIVER_MS_MIN: u64 = 100;
/// Default time after which an unanswered hand-off is delivered again: enough to examine it, not to
/// do it.
pub const REDELIVER_MS_DEFAULT: u64 = 60_000;
/// How often a hand-off is delivered before it is given up.
pub const DELIVERIES_MAX: u64 = 10;
/// How often a task may be handed over. More is probably a loop.
pub const HOPS_MAX: u64 = 64;
/// How many hand-offs of a task are examined to detect loops.
pub const HOPS_EXAMINED_MAX: usize = 64;
/// How often a giver may hand a task to the same receiver within the window below.
pub const REPEATED_EDGE_MAX: usize = 3;
/// The length of that window.
pub const REPEATED_EDGE_MS: u64 = 600_000;
/// Maximum number of named approvers.
pub const APPROVERS_MAX: usize = 64;
/// Longest trace context in bytes: what W3C Trace Context allows, with room for later versions.
pub const TRACEPARENT_BYTES_MAX: usize = 256;
/// Maximum number of pairs of agents whose hand-offs are counted separately.
pub const HANDOFF_PAIRS_MAX: usize = 1_000;
