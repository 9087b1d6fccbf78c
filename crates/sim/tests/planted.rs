//! Proof that the simulator works: bugs planted on purpose, each found within a thousand seeds.
//!
//! A run without findings is meaningful only because these are found. Needs the feature `planted`;
//! without it the bugs are not compiled.
#![cfg(feature = "planted")]

use baton_sim::{FleetSize, simulate, simulate_servers};

/// A bug that takes more seeds than this counts as not found.
const SEEDS_MAX: u64 = 1_000;
/// Seeds with several servers are short, and some faults need a rare order of events.
const SHARED_SEEDS_MAX: u64 = 3_000;
/// Seeds that must be clean when nothing is planted.
const SEEDS_CLEAN: u64 = 100;

/// Every planted bug, and what goes wrong with it.
const PLANTED: [(&str, &str); 126] = [
    ("state.version_stands_still", "a write does not raise the version"),
    ("state.ignore_expected_version", "a stale write wins"),
    ("plainly.ignores_version", "a stale write wins on the fast path"),
    ("state.expire_early", "entries expire ten seconds too early"),
    ("space.forget_undo", "a refused transaction stays in part"),
    ("space.receipt_not_kept", "a repeated request takes effect again"),
    ("space.receipt_follows_its_entry", "a repeated request is answered with a later value"),
    ("space.replay_skips", "some batches are not replayed"),
    ("policy.lost_agent_keeps", "entries outlive the session they are bound to"),
    ("policy.child_keeps", "an agent that ends with its supervisor keeps its leases and locks"),
    ("agent.children_live_on", "an agent outlives its supervisor"),
    ("agent.only_heartbeats_count", "an agent that works is lost, since it sends no heartbeat"),
    ("agent.lost_early", "an agent is lost after half its time to live"),
    ("agent.lost_while_waiting", "an agent is lost in the middle of its waiting call"),
    ("agent.lost_after_waiting", "an agent is lost early after its waiting call"),
    ("space.anyone_uses_a_token", "an agent acts under the token of another"),
    ("access.tokens_are_shown", "an agent is shown the token of another"),
    ("space.stale_fence_holds", "a write under a stale token is accepted"),
    ("space.awaited_receipt_not_kept", "a repeated call gets a second hold"),
    ("head.forgets_token", "a token is issued twice after a restart"),
    ("rule.keeps_the_old_check", "a replaced rule still applies its old check"),
    ("rule.lost_in_a_snapshot", "a rule is lost after a restart"),
    ("rule.undone_stays", "a rule of a refused transaction stays"),
    ("reaction.failed_run_remains", "a refused reaction leaves effects"),
    ("reaction.runs_as_who_caused_it", "a reaction runs as the agent that caused it"),
    ("reaction.two_calls_at_once", "two calls of one reaction are in flight"),
    ("reaction.one_try_too_many", "a call is attempted once too often"),
    ("reaction.lost_in_a_snapshot", "a reaction is lost after a restart"),
    ("lock.ends_early", "a hold ends after half its time"),
    ("lock.last_in_line", "the last in the queue is served first"),
    ("lock.any_token_will_do", "a stale holder releases another's hold"),
    ("lock.ended_session_waits", "a lock is granted to an ended session"),
    ("lock.impatient", "a wait times out too early"),
    ("policy.free_lock_stays", "a free lock is not handed over"),
    ("semaphore.one_too_many", "there are more holders than permits"),
    ("semaphore.light_overtakes", "a light call passes a heavy one that waits"),
    ("semaphore.heavy_waits_in_vain", "a call waits for more permits than there are"),
    ("policy.departure_frees_nothing", "calls wait behind a heavy one that has left"),
    ("policy.growth_frees_nothing", "a larger semaphore grants nothing to those that wait"),
    ("barrier.one_too_few", "a barrier opens before all have arrived"),
    ("barrier.opens_twice", "a generation of a barrier opens twice"),
    ("barrier.the_dead_count", "an arrival of an ended session counts"),
    ("join.one_fewer_will_do", "a join opens before as many as needed are completed"),
    ("policy.ripe_join_waits", "a join does not settle with its last task"),
    ("policy.answered_call_stays", "a call gets a message and a task"),
    ("wait.only_completed_ends", "a call waits for a task that has failed"),
    ("policy.reached_status_waits", "a call is not answered when its status is reached"),
    ("artifact.held_expires", "an artifact expires although an entry references it"),
    ("artifact.forgets_holders", "after a restart references to an artifact are lost"),
    ("artifact.let_go_long_ago", "an artifact expires as soon as it is released"),
    ("artifact.messages_hold_nothing", "an artifact expires although a message references it"),
    ("search.misses_changes", "some changes are not found, and their previous state is"),
    ("contract.deletion_is_unchecked", "a deletion breaks a contract in silence"),
    ("contract.lost_in_a_snapshot", "a contract is lost after a restart"),
    ("contract.refusal_only_warns", "a contract that refuses only warns"),
    ("contract.moved_is_unread", "a dependency on a key that moved is not known"),
    ("checkpoint.stale_saves", "a worker that lost its lease saves"),
    ("checkpoint.frees_twice", "a chunk is freed although a checkpoint uses it"),
    ("checkpoint.head_forgotten", "a task continues from another checkpoint after a restart"),
    ("checkpoint.rule_prunes_one_more", "a rule prunes one too many"),
    ("checkpoint.first_write_replaced", "a write that must stay is replaced by a later one"),
    ("checkpoint.copy_loses_writes", "the copy of a thread lacks its pending writes"),
    ("pipeline.completes_twice", "a stage is completed although it is not running"),
    ("pipeline.own_work_accepted", "an agent accepts the output of its own stage"),
    ("pipeline.stage_stays_with_the_lost", "a stage waits for a worker that was lost"),
    ("pipeline.overtaken", "a stage is ready before the stages before it are finished"),
    ("policy.finished_task_is_ignored", "a stage does not end with its task"),
    ("policy.stage_keeps_its_tasks", "tasks continue although their stage has failed"),
    ("machine.gone_still_wait", "something is granted to a caller that is gone"),
    ("machine.forsakes_nobody", "calls of a process that is gone still wait"),
    ("task.work_below_goes_on", "a lease goes on below a task whose holder was lost"),
    ("task.any_token_will_do", "a stale holder completes another's task"),
    ("task.ends_early", "a lease ends after half its time"),
    ("task.lost_in_a_snapshot", "a task is lost after a restart"),
    ("task.one_dependency_suffices", "a task is ready before its dependencies are completed"),
    ("task.one_try_more", "a task is attempted once too often"),
    ("task.priority_ignored", "an older task is claimed before a more urgent one"),
    ("task.retried_alone", "a retried task leaves behind what was cancelled because of it"),
    ("task.review_skipped", "a task is completed although its result must be accepted"),
    ("task.any_reviewer", "an agent accepts a result that others must review"),
    ("task.own_work_accepted", "an agent accepts its own result"),
    ("task.starts_without_budget", "a task is claimed although its budget is used up"),
    ("spend.parent_not_charged", "a task above is not charged for its subtasks"),
    ("spend.strict_exceeds", "a strict record exceeds a budget"),
    ("task.any_claim_first", "a claim overtakes one that waits for longer"),
    ("task.several_share_a_token", "two tasks are claimed under one token"),
    ("policy.ready_task_stays", "a claim waits although a task is ready"),
    ("handoff.any_token_will_do", "a previous holder of a task offers it"),
    ("handoff.expires_early", "a hand-off expires at once"),
    ("policy.stage_is_not_handed_over", "no hand-off is recorded between stages"),
    ("handoff.last_key_forgotten", "a hand-off moves all selected keys but the last"),
    ("handoff.approval_skipped", "a hand-off is accepted without an approval"),
    ("policy.task_stays_behind", "a hand-off is accepted, and its task stays with the giver"),
    ("policy.handoff_left_behind", "a hand-off stays open when its task has ended"),
    ("policy.handoff_stays", "a call waits for a hand-off that can be delivered"),
    ("message.ack_forgotten", "an acknowledged message is delivered again"),
    ("message.late_reply_counts", "a request is answered after its deadline"),
    ("message.live_twice", "a live request is delivered to two agents"),
    ("message.newest_first", "the newest message is received first"),
    ("policy.mail_stays", "a call waits for messages that are available"),
    ("policy.stream_untold", "a call waits for frames that exist"),
    ("stream.drops_the_newest", "a full stream drops the newest frames"),
    ("machine.live_overtakes", "a live message arrives before the commit that it follows"),
    ("entries.capture_too_new", "a snapshot shows later changes"),
    ("event.namespace_unseen", "watchers do not receive the deletion of a namespace"),
    ("machine.answer_before_durable", "a write is acknowledged before it is durable"),
    ("machine.dirty_read", "a read returns what may still be lost"),
    ("machine.lent_dirty_read", "a read that takes long returns what may still be lost"),
    ("machine.tells_too_much", "a read states a revision that may still be lost"),
    ("watch.resume_one_late", "a watcher that lagged misses a commit"),
    ("watch.skip_some", "some commits are not delivered"),
    ("settled.lost_counts", "a lost write is acknowledged"),
    ("contents.secret_on_the_wrong_shelf", "a secret is stored with the artifacts"),
    ("founding.still_held", "a fork starts with holds of its origin"),
    ("deletion.not_recorded", "a deleted workspace comes back"),
    ("deletion.versions_again", "an entry has a version of a deleted workspace"),
    ("past.space_too_far", "a point-in-time read replays one revision too many"),
    ("past.one_too_far", "the past shows one revision too much"),
    ("keeping.truncate_too_far", "the log is truncated too far"),
    ("keeping.does_not_wait", "a snapshot or fold contains what may still be lost"),
    ("loading.older_than_base", "a workspace is loaded from before its base"),
    ("log.skip_sync", "an append is acknowledged before it is synced"),
    ("log.ignore_bad_record", "a damaged record is treated as the end of the log"),
    ("log.reuse_without_position_check", "old records in recycled segments are accepted"),
    ("log.lose_last_on_rotate", "a new segment forgets the last record of the old one"),
    ("log.no_directory_sync", "names of files are not made durable"),
];

/// Bugs of a log that several servers share. They are looked for with three servers.
const PLANTED_SHARED: [(&str, &str); 10] = [
    ("shared.append_unfenced", "a server that is no longer the owner appends"),
    ("shared.blobs_unfenced", "a server that is no longer the owner changes blobs"),
    ("shared.reads_without_licence", "a server that was asleep answers from memory"),
    ("shared.licence_from_the_answer", "a heartbeat that is answered late allows old answers"),
    ("shared.judges_while_blind", "a server that was cut off itself declares the owner gone"),
    ("shared.revives_after_gone", "a server that was declared gone goes on"),
    ("shared.keeps_served_since", "leases end early after a takeover"),
    ("shared.tail_not_read_again", "a new owner lacks what was appended while it waited"),
    ("shared.fenced_without_looking", "an applied write is reported as not applied"),
    ("shared.unknown_reported_as_lost", "a write of unknown outcome is reported as not applied"),
];
/// Bugs that need several shards, which the servers place among themselves.
const PLANTED_SHARDS: [(&str, &str); 3] = [
    ("shared.given_shard_still_answers", "a server answers from a shard that it has given back"),
    ("placement.unanswered_take_forgotten", "nobody serves a shard that was taken unheard"),
    ("placement.owner_gone_keeps_shards", "nobody takes the shards of a server that is gone"),
];
/// Servers that share one log.
const ONE_SHARD: FleetSize = FleetSize { servers: 3, shards: 1 };
/// Servers that share several.
const SHARDS: FleetSize = FleetSize { servers: 3, shards: 4 };

fn plant(name: Option<&'static str>) {
    baton_core::planted::set(name);
    baton_log::planted::set(name);
}

/// The first seed with a breach, and the breach.
fn first_breach(seeds: u64) -> Option<(u64, String)> {
    (1..=seeds).find_map(|seed| simulate(seed, None, None).breach.map(|breach| (seed, breach)))
}

/// The same with several servers.
fn first_breach_of(size: FleetSize, seeds: u64) -> Option<(u64, String)> {
    let breach = |seed| simulate_servers(seed, size, None, None).breach;
    (1..=seeds).find_map(|seed| breach(seed).map(|breach| (seed, breach)))
}

#[test]
fn without_a_planted_bug_nothing_is_found() {
    plant(None);
    assert_eq!(first_breach(SEEDS_CLEAN), None);
}

#[test]
fn without_a_planted_bug_nothing_is_found_with_several_servers() {
    plant(None);
    assert_eq!(first_breach_of(ONE_SHARD, SEEDS_CLEAN), None);
}

#[test]
fn without_a_planted_bug_nothing_is_found_with_several_shards() {
    plant(None);
    assert_eq!(first_breach_of(SHARDS, SEEDS_CLEAN), None);
}

/// Switches on one bug after the other. Bugs that no seed finds are returned.
fn missed(
    planted: &[(&'static str, &str)],
    seeds_max: u64,
    first_breach: impl Fn(u64) -> Option<(u64, String)>,
) -> Vec<&'static str> {
    std::panic::set_hook(Box::new(|_| {}));
    let mut missed = Vec::new();
    // A planted bug can be selected by its name, or by a prefix of it.
    let only = std::env::var("BATON_PLANTED").unwrap_or_default();
    for (name, what) in planted.iter().filter(|(name, _)| name.starts_with(&only)) {
        plant(Some(name));
        match first_breach(seeds_max) {
            Some((seed, breach)) => {
                let breach: String = breach.chars().take(120).collect();
                println!("{name} ({what}): found by seed {seed}: {breach}");
            }
            None => missed.push(*name),
        }
    }
    plant(None);
    missed
}

/// Finds every bug of a part.
fn finds(part: &[(&'static str, &str)]) {
    let missed = missed(part, SEEDS_MAX, first_breach);
    assert!(missed.is_empty(), "not found within {SEEDS_MAX} seeds: {missed:?}");
}

/// In parts, so that none comes near the time after which a test is stopped.
fn finds_quarter(number: usize) {
    let quarter = PLANTED.len().div_ceil(4);
    finds(PLANTED.chunks(quarter).nth(number).expect("there are four"));
}

#[test]
fn every_planted_bug_of_the_first_quarter_is_found() {
    finds_quarter(0);
}

#[test]
fn every_planted_bug_of_the_second_quarter_is_found() {
    finds_quarter(1);
}

#[test]
fn every_planted_bug_of_the_third_quarter_is_found() {
    finds_quarter(2);
}

#[test]
fn every_planted_bug_of_the_last_quarter_is_found() {
    finds_quarter(3);
}

/// In parts, too.
fn finds_shared_half(number: usize) {
    let half = PLANTED_SHARED.len().div_ceil(2);
    let bugs = PLANTED_SHARED.chunks(half).nth(number).expect("there are two");
    finds_shared(bugs, ONE_SHARD);
}

fn finds_shared(bugs: &[(&'static str, &str)], size: FleetSize) {
    let missed = missed(bugs, SHARED_SEEDS_MAX, |seeds| first_breach_of(size, seeds));
    assert!(missed.is_empty(), "not found within {SHARED_SEEDS_MAX} seeds: {missed:?}");
}

#[test]
fn every_planted_bug_of_the_first_half_of_a_shared_log_is_found() {
    finds_shared_half(0);
}

#[test]
fn every_planted_bug_of_the_second_half_of_a_shared_log_is_found() {
    finds_shared_half(1);
}

#[test]
fn every_planted_bug_of_several_shards_is_found() {
    finds_shared(&PLANTED_SHARDS, SHARDS);
}
