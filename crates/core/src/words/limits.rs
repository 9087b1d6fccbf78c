//! Every limit of the rules, with its reason. A limit reached is always answered with a rejection
//! that names the limit; nothing is cut short in silence.

/// Longest key in bytes. Keys are read by people and stand in every event about the entry.
pub const KEY_BYTES_MAX: usize = 512;
/// Longest workspace name in bytes; it becomes a folder name on disk.
pub const WORKSPACE_BYTES_MAX: usize = 64;
/// Longest agent id in bytes.
pub const AGENT_BYTES_MAX: usize = 128;
/// Longest namespace name in bytes: room for `agent:` and the longest agent id.
pub const NAMESPACE_BYTES_MAX: usize = AGENT_BYTES_MAX + 32;
/// Largest value in bytes. Larger things belong into artifacts, not into shared state.
pub const VALUE_BYTES_MAX: usize = 1 << 20;
/// Most commands in one transaction: they are decided without a pause for anyone else.
pub const TRANSACTION_COMMANDS_MAX: usize = 1_000;
/// Most preconditions in one transaction, for the same reason.
pub const TRANSACTION_REQUIREMENTS_MAX: usize = 1_000;
/// Most events one batch may hold, whether from a transaction, a transfer or a policy.
pub const BATCH_EVENTS_MAX: usize = 10_000;
/// Largest batch in bytes; it must fit into one record of any log backend.
pub const BATCH_BYTES_MAX: usize = 8 << 20;
/// How many rounds of policies may follow one command. A cycle among policies ends here.
pub const POLICY_ROUNDS_MAX: usize = 16;
/// Most namespaces in a workspace. Each costs a record that is never evicted by itself.
pub const NAMESPACES_MAX: usize = 100_000;
/// Deleted keys of a workspace whose last version is kept by key: a few megabytes. When there are
/// more, new keys start at a higher version.
pub const RETIRED_VERSIONS_MAX: usize = if cfg!(test) { 20 } else { 10_000 };
/// Most rules for key patterns in one namespace; they are tried in order on every write.
pub const KEY_RULES_MAX: usize = 64;
/// Most agents known to a workspace, far fewer than namespaces since each has one. Those that
/// ended first are forgotten first.
pub const AGENTS_MAX: usize = 10_000;
/// Most capabilities of one agent.
pub const CAPABILITIES_MAX: usize = 64;
/// Longest capability name in bytes.
pub const CAPABILITY_BYTES_MAX: usize = 128;
/// Largest metadata of an agent in bytes.
pub const METADATA_BYTES_MAX: usize = 64 << 10;
/// Most messages in one inbox that are not over. Whoever never looks must not fill the memory.
pub const INBOX_MESSAGES_MAX: usize = if cfg!(test) { 100 } else { 10_000 };
/// Most bytes of them.
pub const INBOX_BYTES_MAX: usize = 32 << 20;
/// Most messages of a workspace that are not over. Each is a record in memory.
pub const MESSAGES_MAX: usize = 200_000;
/// Most bytes of them.
pub const MESSAGES_BYTES_MAX: usize = 256 << 20;
/// Messages that are over and kept to be looked at; those that ended first are forgotten first.
/// History knows them for longer.
pub const MESSAGES_ENDED_MAX: usize = if cfg!(test) { 100 } else { 50_000 };
/// Most bytes of them.
pub const MESSAGES_ENDED_BYTES_MAX: usize = 64 << 20;
/// Most messages that one call receives or acknowledges: each is an event of one batch.
pub const RECEIVED_MAX: usize = 1_000;
/// Most calls of one agent that wait for mail: its death ends them all in one batch.
pub const RECEIVES_PER_AGENT_MAX: usize = 16;
/// Largest body of a request in bytes: it may have to move to another handler in the batch that
/// ends a session.
pub const REQUEST_BYTES_MAX: usize = 256 << 10;
/// Most requests that one agent has to answer at a time, for the same reason.
pub const REQUESTS_PER_AGENT_MAX: usize = 64;
/// Most bytes of them, but for the last.
pub const REQUESTS_BYTES_PER_AGENT_MAX: usize = 1 << 20;
/// How long a request waits for its answer unless the requester says otherwise.
pub const REQUEST_MS_DEFAULT: u64 = 30_000;
/// Longest time after which an unacknowledged message is delivered again: a day.
pub const REDELIVER_MS_MAX: u64 = 24 * 3_600_000;
/// Most handlers that one agent answers for.
pub const HANDLERS_PER_AGENT_MAX: usize = 64;
/// Most agents that answer for one handler: whose turn it is, is looked for among them.
pub const HANDLERS_PER_NAME_MAX: usize = 1_000;
/// Most agents of which is known that they have asked for their mail; the longest silent are
/// forgotten first.
pub const LISTENERS_MAX: usize = AGENTS_MAX;
/// Most topics that are known; what was posted to longest ago is forgotten first. The posts are
/// not: they are events.
pub const TOPICS_MAX: usize = if cfg!(test) { 100 } else { 10_000 };
/// Most streams in a workspace. Each is a record in memory.
pub const STREAMS_MAX: usize = 10_000;
/// Frames that a stream keeps unless its maker says otherwise.
pub const STREAM_FRAMES_DEFAULT: u64 = 100_000;
/// Most frames that a stream keeps.
pub const STREAM_FRAMES_MAX: u64 = 1_000_000;
/// Bytes of frames that a stream keeps unless its maker says otherwise.
pub const STREAM_BYTES_DEFAULT: u64 = 8 << 20;
/// Most bytes of frames that a stream keeps.
pub const STREAM_BYTES_MAX: u64 = 64 << 20;
/// Most bytes of frames that all streams of a workspace keep.
pub const STREAMS_BYTES_MAX: usize = 256 << 20;
/// Most frames in one send.
pub const STREAM_FRAMES_AT_ONCE_MAX: usize = 10_000;
/// Most calls that wait for one stream: all are answered in one batch.
pub const READERS_MAX: usize = 1_000;
/// Most calls of one agent that wait for streams: its death ends them all in one batch.
pub const READERS_PER_AGENT_MAX: usize = 32;
/// Longest name of a rule for hand-offs in bytes.
pub const RULE_NAME_BYTES_MAX: usize = 128;
/// Most rules for hand-offs in a workspace: all of them may be asked about each hand-off, while
/// nobody else is served.
pub const RULES_MAX: usize = 256;
/// Most names that one rule demands of the state.
pub const RULE_KEYS_MAX: usize = 100;
/// Longest expression of a rule in bytes: what a person would still read.
pub const EXPRESSION_BYTES_MAX: usize = 4 << 10;
/// How deep an expression may nest. Each level takes some stack, when it is read and when it runs.
pub const EXPRESSION_DEPTH_MAX: usize = 32;
/// How many steps an expression may take: about a millisecond, while nobody else is served. Enough
/// to look once through the largest value that shared state holds.
pub const EXPRESSION_STEPS_MAX: usize = 20_000;
/// Longest message of a rule in bytes: it is told to whoever breaks the rule, every time.
pub const RULE_MESSAGE_BYTES_MAX: usize = 1 << 10;
/// Longest type of an event that an agent emits, in bytes.
pub const EVENT_TYPE_BYTES_MAX: usize = 128;
/// Largest payload of such an event in bytes: every watcher gets it.
pub const EVENT_BYTES_MAX: usize = 256 << 10;
/// Most reactions in a workspace: all of them may be asked about every event, while nobody else is
/// served.
pub const REACTIONS_MAX: usize = 256;
/// Most commands of one reaction.
pub const REACTION_COMMANDS_MAX: usize = 16;
/// Largest reaction in bytes: what it does is written down whole.
pub const REACTION_BYTES_MAX: usize = 64 << 10;
/// How many levels deep reactions may cause each other in one commit. A circle ends here.
pub const REACTION_DEPTH_MAX: usize = 8;
/// Most runs of reactions in one commit: one for every command of the largest transaction.
pub const REACTION_RUNS_MAX: usize = TRANSACTION_COMMANDS_MAX;
/// Most conditions of reactions that are asked in one commit, while nobody else is served.
pub const REACTION_LOOKS_MAX: usize = 10 * REACTION_RUNS_MAX;
/// Fewest tokens of a context: enough to say what it is about.
pub const CONTEXT_TOKENS_MIN: u64 = 100;
/// Most tokens of a context: as much as the largest models take, and what fits into an answer.
pub const CONTEXT_TOKENS_MAX: u64 = 1_000_000;
/// Tokens of a context unless the reader says otherwise: a part of what any model takes.
pub const CONTEXT_TOKENS_DEFAULT: u64 = 8_000;
/// Most entries that are looked at for one context, while nobody else is served.
pub const CONTEXT_ENTRIES_MAX: usize = 20_000;
/// Most words of a description and definition in which keys are looked for.
pub const CONTEXT_WORDS_MAX: usize = 10_000;
/// Most entries that belong into a context only because they changed last.
pub const CONTEXT_RECENT_MAX: usize = 50;
/// Most messages in a context.
pub const CONTEXT_MAIL_MAX: usize = 50;
/// Most other agents in a context.
pub const CONTEXT_OTHERS_MAX: usize = 50;
/// Most tasks of each of them.
pub const CONTEXT_HELD_MAX: usize = 5;
/// Longest address of a webhook in bytes.
pub const WEBHOOK_URL_BYTES_MAX: usize = 2_048;
/// Longest secret of a webhook in bytes.
pub const WEBHOOK_SECRET_BYTES_MAX: usize = 256;
/// Shortest time that one try of a call may take.
pub const WEBHOOK_TIMEOUT_MS_MIN: u64 = 100;
/// Longest time that one try of a call may take: other calls of the reaction wait for it.
pub const WEBHOOK_TIMEOUT_MS_MAX: u64 = 60_000;
/// Time that one try of a call may take unless its author says otherwise.
pub const WEBHOOK_TIMEOUT_MS_DEFAULT: u64 = 10_000;
/// How long after that whoever makes the call must have been heard of.
pub const WEBHOOK_SLACK_MS: u64 = 30_000;
/// How often a call is tried again unless its author says otherwise.
pub const WEBHOOK_RETRIES_DEFAULT: u64 = 5;
/// How often a call may be tried again at most.
pub const WEBHOOK_RETRIES_MAX: u64 = 20;
/// How long to wait before the second try of a call; twice as long before each one after it.
pub const WEBHOOK_PAUSE_MS: u64 = 1_000;
/// How long to wait before another try at most.
pub const WEBHOOK_PAUSE_MS_MAX: u64 = 300_000;
/// How long a call may be late before it is to no use: a day.
pub const WEBHOOK_GIVE_UP_MS: u64 = 24 * 3_600_000;
/// Largest call in bytes.
pub const WEBHOOK_BODY_BYTES_MAX: usize = 256 << 10;
/// Most calls of a workspace that wait to be made.
pub const WEBHOOK_CALLS_MAX: usize = 1_000;
/// Most bytes of them.
pub const WEBHOOK_CALLS_BYTES_MAX: usize = 16 << 20;
/// Most hand-offs, stages and keys that one question about contracts looks at, while nobody else is
/// served.
pub const CONTRACT_FACTS_MAX: usize = 200_000;
/// Most entries of a namespace that such a question looks into.
pub const CONTRACT_ENTRIES_MAX: usize = 10_000;
/// About how much memory the index of one workspace takes, in bytes: some 300 for each task. What
/// is beyond is not found, and every answer says so.
pub const SEARCH_BYTES_MAX: usize = 1 << 30;
/// Most events that are found by search; older ones are in the history.
pub const SEARCH_EVENTS_MAX: usize = if cfg!(test) { 500 } else { 250_000 };
/// Most documents that one page of a search looks at: some milliseconds.
pub const SEARCH_EXAMINED_MAX: usize = if cfg!(test) { 200 } else { 200_000 };
/// Longest query of a search in bytes: it is written by hand.
pub const SEARCH_QUERY_BYTES_MAX: usize = 1 << 10;
/// Most words, phrases and fields in one query of a search: each makes every page dearer.
pub const SEARCH_PARTS_MAX: usize = 32;
/// Most ephemeral entries of one agent: its death removes them all in one batch.
pub const EPHEMERAL_PER_AGENT_MAX: usize = 1_000;
/// Longest name of a lock, a semaphore or a barrier, in bytes.
pub const HOLD_NAME_BYTES_MAX: usize = 256;
/// Most locks one agent may hold or wait for, most permits, and most barriers it may have arrived
/// at: its death frees them all in one batch.
pub const HOLDS_PER_AGENT_MAX: usize = 500;
/// Most locks that are held in a workspace at a time. Each is a record in memory.
pub const LOCKS_MAX: usize = 100_000;
/// Most semaphores in a workspace. Those that nobody holds a permit of are forgotten first.
pub const SEMAPHORES_MAX: usize = 10_000;
/// Most permits of one semaphore. Whoever needs more does not need to count.
pub const PERMITS_PER_SEMAPHORE_MAX: u64 = 10_000;
/// Most permits that are held in a workspace at a time. Each is a record in memory.
pub const PERMITS_MAX: usize = 100_000;
/// Most barriers in a workspace. Those at which nobody is are forgotten first.
pub const BARRIERS_MAX: usize = 10_000;
/// Most arrivals that one barrier may take.
pub const BARRIER_COUNT_MAX: u64 = 10_000;
/// Most arrivals at barriers of a workspace that have not opened. Each is a record in memory.
pub const ARRIVALS_MAX: usize = 100_000;
/// Most calls that wait at barriers of a workspace. All of them may wait at the same one, and are
/// answered in the one batch that opens it, with an event and perhaps a receipt for each.
pub const BARRIER_WAITS_MAX: usize = 4_000;
/// Most calls of one kind that wait in a workspace at a time.
pub const WAITS_MAX: usize = 10_000;
/// Longest wait: an hour. Whoever needs more asks again, so that nothing waits for ever.
pub const WAIT_MS_MAX: u64 = 3_600_000;
/// Shortest time to live of a hold.
pub const HOLD_TTL_MS_MIN: u64 = 100;
/// Longest time to live of a hold.
pub const HOLD_TTL_MS_MAX: u64 = 24 * 3_600_000;
/// Time to live of a hold unless the holder says otherwise: several model calls, since a hold that
/// is lost in the middle of one costs more than one that lingers.
pub const HOLD_TTL_MS_DEFAULT: u64 = 300_000;
/// Most entries that expire in one batch; the rest follow in the next.
pub const EXPIRIES_PER_BATCH_MAX: usize = 1_000;
/// Most agents that are lost in one batch; the rest follow in the next. Each may let go of as much
/// as it is allowed to hold, and all of that must fit: a lock or a permit goes on to the next in
/// line, whose answer may have to be kept; an arrival is withdrawn; joins of its
/// tasks settle; the hand-offs of its tasks fail, and what it has not answered goes to another, as
/// do the requests that it had, whose handlers may have waited for them.
pub const LOST_PER_BATCH_MAX: usize = BATCH_EVENTS_MAX
    / (EPHEMERAL_PER_AGENT_MAX
        + 7 * HOLDS_PER_AGENT_MAX
        + LEASES_PER_AGENT_MAX
        + JOIN_WAITS_MAX
        + JOINS_SETTLED_AT_ONCE_MAX * (1 + JOIN_WAITS_MAX)
        + FOLLOWING_EVENTS_BESIDE_MAX
        + LEASES_PER_AGENT_MAX
        + 4 * HANDOFFS_PER_AGENT_MAX
        + RECEIVES_PER_AGENT_MAX
        + 3 * REQUESTS_PER_AGENT_MAX
        + READERS_PER_AGENT_MAX
        + 2);
const _: () = assert!(LOST_PER_BATCH_MAX > 0, "all that one agent may hold fits into a batch");
/// Shortest time to live of an entry.
pub const TTL_MS_MIN: u64 = 1;
/// Longest time to live of an entry: ten years. More is a mistake in units.
pub const TTL_MS_MAX: u64 = 10 * 366 * 24 * 3_600_000;
/// Shortest silence after which an agent may be called lost.
pub const AGENT_TTL_MS_MIN: u64 = 100;
/// Longest silence after which an agent may be called lost.
pub const AGENT_TTL_MS_MAX: u64 = 24 * 3_600_000;
/// Silence after which an agent is called lost unless it said otherwise. Model calls take
/// minutes, but a heartbeat comes from the process around them.
pub const AGENT_TTL_MS_DEFAULT: u64 = 60_000;
/// A heartbeat is written down only after this part of the time to live has passed since the
/// last written one, so that beating often costs nothing.
pub const HEARTBEAT_FRACTION: u64 = 4;
/// Entries per page when the caller does not say.
pub const PAGE_DEFAULT: usize = 100;
/// Most entries per page: what one answer may hold.
pub const PAGE_MAX: usize = 10_000;
/// Longest idempotency key in bytes.
pub const IDEMPOTENCY_KEY_BYTES_MAX: usize = 256;
/// How long a stored answer is kept.
pub const RECEIPT_AGE_MS_MAX: u64 = 24 * 3_600_000;
/// How many stored answers a workspace keeps; the oldest go first.
pub const RECEIPTS_MAX: usize = 100_000;
/// How many bytes of stored answers a workspace keeps; the oldest go first, the newest stays.
pub const RECEIPTS_BYTES_MAX: usize = 64 << 20;
/// Revisions of history kept when the workspace does not say.
pub const HISTORY_COUNT_DEFAULT: u64 = 10_000_000;
/// Age of history kept when the workspace does not say: thirty days.
pub const HISTORY_AGE_MS_DEFAULT: u64 = 30 * 24 * 3_600_000;
/// Longest id of a task, name of a type of tasks or of a group, in bytes.
pub const TASK_BYTES_MAX: usize = 128;
/// Most tasks of a workspace that are not finished. Each takes some hundred bytes of memory, so
/// this is about a gigabyte: twice the million that claims are measured with.
pub const TASKS_MAX: usize = 2_000_000;
/// Finished tasks that are kept to be looked at; those that finished first are forgotten first.
/// History knows them for longer.
pub const TASKS_FINISHED_MAX: usize = 100_000;
/// Most tasks that one task may wait for.
pub const TASK_DEPENDENCIES_MAX: usize = 1_000;
/// Most tasks that may wait for one: its end concerns them all, in one commit.
pub const TASK_DEPENDENTS_MAX: usize = 10_000;
/// Most tasks that one call cancels together, so that all of them fit into one commit.
pub const TASK_SUBTREE_MAX: usize = BATCH_EVENTS_MAX / 2;
/// Most tasks that one agent may hold or wait for: its death frees them all in one batch.
pub const LEASES_PER_AGENT_MAX: usize = 1_000;
/// Most bytes of tasks that become ready together by themselves. Each may go to a claim that waits,
/// whose answer may have to be kept, and all of that must fit into one batch.
pub const READY_BYTES_MAX: usize = BATCH_BYTES_MAX / 4;
/// Most claims that wait in a workspace at a time.
pub const CLAIMS_WAITING_MAX: usize = 10_000;
/// Most types in one claim; each is looked at.
pub const CLAIM_TYPES_MAX: usize = 100;
/// Shortest lease of a task.
pub const LEASE_MS_MIN: u64 = 100;
/// Longest lease of a task.
pub const LEASE_MS_MAX: u64 = 24 * 3_600_000;
/// Lease of a task unless the worker says otherwise: model calls take minutes, and a lease that is
/// lost in the middle of one costs the whole call.
pub const LEASE_MS_DEFAULT: u64 = 300_000;
/// Least priority of a task.
pub const PRIORITY_MIN: i32 = -100;
/// Most priority of a task.
pub const PRIORITY_MAX: i32 = 100;
/// What one point of priority is worth in age. A task is overtaken by later ones of higher priority
/// for so long and no longer, so that nothing starves.
pub const AGEING_MS: u64 = 60_000;
/// How often a task may be tried again, unless its author says otherwise.
pub const RETRIES_DEFAULT: u64 = 3;
/// How often a task may be tried again at most.
pub const RETRIES_MAX: u64 = 1_000;
/// Largest description of a task in bytes: it is read by people and stands in lists.
pub const DESCRIPTION_BYTES_MAX: usize = 16 << 10;
/// Largest error of a task, and list of artifacts, in bytes.
pub const ERROR_BYTES_MAX: usize = 64 << 10;
/// Longest reason or note in bytes.
pub const NOTE_BYTES_MAX: usize = 4 << 10;
/// Longest schema version of a task in bytes.
pub const SCHEMA_VERSION_BYTES_MAX: usize = 64;
/// Most tasks that one page of a list looks at. A rare status among a million must not hold up
/// everyone else; the page ends early then and says where to go on.
pub const TASKS_EXAMINED_MAX: usize = 20_000;
/// Most distinct reasons of failures that are counted apart; the rest are counted as one.
pub const FAILURE_REASONS_MAX: usize = 100;
/// Longest reason of a failure that is counted, in characters.
pub const FAILURE_REASON_CHARACTERS_MAX: usize = 120;
/// Most tasks in one join. A group that grows beyond that makes its join fail.
pub const JOIN_MEMBERS_MAX: usize = 1_000;
/// Most joins of a workspace that wait.
pub const JOINS_MAX: usize = 10_000;
/// Most tasks that are in joins that wait, where each group counts as large as it may become.
pub const JOINED_TASKS_MAX: usize = 2_000_000;
/// Most joins that one task is named in, or one group: each is told when a task finishes.
pub const JOINS_PER_TASK_MAX: usize = 16;
/// Most joins that settle in one commit besides what caused it; more follow by themselves.
pub const JOINS_SETTLED_AT_ONCE_MAX: usize = 16;
/// Most calls that wait for one join, since all are answered in one commit; and most of one agent.
pub const JOIN_WAITS_MAX: usize = 100;
/// Most bytes of results that are copied into one join: it must fit into an answer.
pub const JOIN_BYTES_MAX: usize = 4 << 20;
/// Most bytes of results that are copied into all joins of a workspace.
pub const JOINS_BYTES_MAX: usize = 64 << 20;
/// Settled joins that are kept to be looked at; those that settled first are forgotten first.
pub const JOINS_SETTLED_MAX: usize = 10_000;
/// Most tasks in the settled joins that are kept.
pub const SETTLED_TASKS_MAX: usize = 200_000;
/// Longest name of a pipeline in bytes: after `pipeline:` it names the group of its tasks.
pub const PIPELINE_NAME_BYTES_MAX: usize = TASK_BYTES_MAX - "pipeline:".len();
/// Most stages of one pipeline. They are looked at whenever one changes.
pub const PIPELINE_STAGES_MAX: usize = 100;
/// Most patterns of keys that one stage says it reads, or writes.
pub const STAGE_PATTERNS_MAX: usize = 64;
/// Most tasks of one stage: they are made in one commit, and cancelled in one.
pub const STAGE_TASKS_MAX: usize = 1_000;
/// Most bytes of the tasks that are made for one stage: twice as much fits into one batch, since
/// each may go to a claim that waits, whose answer may have to be kept.
pub const STAGE_TASKS_BYTES_MAX: usize = 3 << 20;
/// Most tasks of one pipeline that are under way: aborting it cancels all in one commit. Stages for
/// which there is no room wait until others are done.
pub const PIPELINE_TASKS_MAX: usize = 2 * STAGE_TASKS_MAX;
/// Most bytes of one pipeline with all its outputs: it must fit into an answer.
pub const PIPELINE_BYTES_MAX: usize = 4 << 20;
/// Most pipelines of a workspace that are not finished.
pub const PIPELINES_MAX: usize = 10_000;
/// Finished pipelines that are kept to be looked at; those that finished first are forgotten first.
pub const PIPELINES_FINISHED_MAX: usize = 10_000;
/// Most bytes of all pipelines that are not finished, and of all finished ones that are kept.
pub const PIPELINES_BYTES_MAX: usize = 64 << 20;
/// Most events that follow in the pipeline that a command is about, or by themselves in one commit.
pub const FOLLOWING_EVENTS_MAX: usize = 4 * STAGE_TASKS_MAX + PIPELINE_STAGES_MAX;
/// Most events that follow in pipelines beside whatever happened to their tasks; if there is more,
/// all of it follows by itself.
pub const FOLLOWING_EVENTS_BESIDE_MAX: usize = STAGE_TASKS_MAX + PIPELINE_STAGES_MAX;
/// Most bytes of that, likewise.
pub const FOLLOWING_BYTES_BESIDE_MAX: usize = 512 << 10;
/// Largest state of a checkpoint in bytes: saved whole and restored under an idempotency key, it
/// must fit into a batch.
pub const CHECKPOINT_BYTES_MAX: usize = 4 << 20;
/// Longest label of a checkpoint in bytes: it is a name, and stands in lists.
pub const LABEL_BYTES_MAX: usize = 128;
/// Most checkpoints of one task: one call may prune them all.
pub const CHECKPOINTS_PER_TASK_MAX: usize = 10_000;
/// Most checkpoints of a workspace. Each is a record in memory.
pub const CHECKPOINTS_MAX: usize = 200_000;
/// Most bytes of memory that the checkpoints of a workspace take, what they share counted once.
pub const CHECKPOINTS_BYTES_MAX: usize = if cfg!(test) { 16 << 20 } else { 256 << 20 };
/// Most rules about how many checkpoints are kept; they are tried on every save.
pub const CHECKPOINT_RULES_MAX: usize = 64;
/// Most bytes of metadata and descriptions on one page of a list of checkpoints.
pub const PAGE_BYTES_MAX: usize = 4 << 20;
/// Largest artifact in bytes. What is larger belongs to a file server.
pub const ARTIFACT_BYTES_MAX: usize = 16 << 30;
/// Most artifacts of a workspace. Each is a record in memory.
pub const ARTIFACTS_MAX: usize = 200_000;
/// Most bytes of all artifacts of a workspace, so that one does not take the disk from all others.
pub const ARTIFACTS_BYTES_MAX: usize = 256 << 30;
/// Shortest time for which an artifact is kept that nobody names: enough to name it.
pub const ARTIFACT_KEEP_MS_MIN: u64 = 1_000;
/// That time unless whoever puts it says otherwise: a day.
pub const ARTIFACT_KEEP_MS_DEFAULT: u64 = 24 * 3_600_000;
/// Most records that are shown of those that name an artifact.
pub const HOLDERS_SHOWN_MAX: usize = 10;
/// Longest name of an artifact or a secret in bytes: a file name.
pub const CONTENT_NAME_BYTES_MAX: usize = 255;
/// Longest media type in bytes.
pub const MEDIA_TYPE_BYTES_MAX: usize = 127;
/// Largest secret in bytes: keys, passwords, a page about a person.
pub const SECRET_BYTES_MAX: usize = 64 << 10;
/// Most secrets of a workspace. Each is a record in memory and a blob.
pub const SECRETS_MAX: usize = 10_000;
/// Most hand-offs of a workspace that have not ended. Each is a record in memory.
pub const HANDOFFS_MAX: usize = 100_000;
/// Most bytes of hand-offs that have not ended.
pub const HANDOFFS_BYTES_MAX: usize = 256 << 20;
/// Ended hand-offs that are kept to be looked at; those that ended first are forgotten first.
/// History knows them for longer.
pub const HANDOFFS_FINISHED_MAX: usize = 100_000;
/// Most bytes of ended hand-offs that are kept.
pub const HANDOFFS_FINISHED_BYTES_MAX: usize = 128 << 20;
/// Most hand-offs that one agent has not answered, or has accepted without a task: its death
/// concerns them all in one batch.
pub const HANDOFFS_PER_AGENT_MAX: usize = 100;
/// Largest context of a hand-off in bytes: a summary, not a transcript.
pub const HANDOFF_CONTEXT_BYTES_MAX: usize = 256 << 10;
/// Most keys that go along with one hand-off.
pub const HANDOFF_KEYS_MAX: usize = 1_000;
/// Most bytes of values of such keys that stand in the answer to whoever accepts; the rest is
/// named in the receipt and can be read.
pub const HANDOFF_VALUES_BYTES_MAX: usize = 1 << 20;
/// Shortest time to accept a hand-off.
pub const HANDOFF_DEADLINE_MS_MIN: u64 = 100;
/// Longest time to accept a hand-off: thirty days. People take their time.
pub const HANDOFF_DEADLINE_MS_MAX: u64 = 30 * 24 * 3_600_000;
/// Time to accept a hand-off unless the giver says otherwise: an hour. The giver's task stands
/// still meanwhile.
pub const HANDOFF_DEADLINE_MS_DEFAULT: u64 = 3_600_000;
/// Shortest time after which an unanswered hand-off is delivered again.
pub const REDELIVER_MS_MIN: u64 = 100;
/// Time after which an unanswered hand-off is delivered again unless the giver says otherwise:
/// enough to look at it, not to do it.
pub const REDELIVER_MS_DEFAULT: u64 = 60_000;
/// How often a hand-off is delivered before it is given up.
pub const DELIVERIES_MAX: u64 = 10;
/// How often a task may change hands. A fleet that needs more has lost its way.
pub const HOPS_MAX: u64 = 64;
/// How many of the hand-offs of a task are looked at to find circles.
pub const HOPS_EXAMINED_MAX: usize = 64;
/// How often the same agent may hand a task to the same agent within a while.
pub const REPEATED_EDGE_MAX: usize = 3;
/// That while.
pub const REPEATED_EDGE_MS: u64 = 600_000;
/// Most agents that may be named as those who approve.
pub const APPROVERS_MAX: usize = 64;
/// Longest trace parent in bytes: what W3C Trace Context allows, and room for what may come.
pub const TRACEPARENT_BYTES_MAX: usize = 256;
/// Most pairs of agents whose hand-offs are counted apart.
pub const HANDOFF_PAIRS_MAX: usize = 1_000;
