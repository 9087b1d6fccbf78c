//! Proof that the simulator bites: bugs planted on purpose, each found within a few hundred seeds.
//!
//! A run that finds nothing means something only because these are found. Needs the feature
//! `planted`; without it the bugs are not compiled.
#![cfg(feature = "planted")]

use baton_sim::simulate;

/// A bug that takes more seeds than this counts as not found.
const SEEDS_MAX: u64 = 300;
/// Seeds that must be clean when nothing is planted.
const SEEDS_CLEAN: u64 = 100;

/// Every planted bug, and what goes wrong with it.
const PLANTED: [(&str, &str); 25] = [
    ("state.version_stands_still", "a write does not raise the version"),
    ("state.ignore_expected_version", "a stale write wins"),
    ("state.expire_early", "entries go ten seconds too early"),
    ("space.forget_undo", "a refused transaction stays in part"),
    ("space.receipt_not_kept", "a repeated request takes effect again"),
    ("space.replay_skips", "some batches are not replayed"),
    ("policy.lost_agent_keeps", "entries outlive the session they are bound to"),
    ("agent.lost_early", "an agent is called lost after half its silence"),
    ("entries.capture_too_new", "a snapshot shows later changes"),
    ("event.namespace_unseen", "watchers are not told that a namespace went"),
    ("machine.answer_before_durable", "a write is acknowledged before it is durable"),
    ("machine.dirty_read", "a read shows what may yet be lost"),
    ("machine.tells_too_much", "a read names a revision that may yet be lost"),
    ("watch.resume_one_late", "a watcher that lagged misses a commit"),
    ("watch.skip_some", "some commits are not delivered"),
    ("settled.lost_counts", "a lost write is acknowledged"),
    ("past.one_too_far", "the past shows one revision too much"),
    ("keeping.truncate_too_far", "the log forgets what somebody needs"),
    ("keeping.does_not_wait", "a snapshot or fold rests on what may yet be lost"),
    ("loading.older_than_base", "a workspace is loaded from before its base"),
    ("log.skip_sync", "an append is acknowledged before it is synced"),
    ("log.ignore_bad_record", "a damaged record is taken for the end of the log"),
    ("log.reuse_without_position_check", "old records in recycled segments are accepted"),
    ("log.lose_last_on_rotate", "a new segment forgets the last record of the old one"),
    ("log.no_directory_sync", "names of files are not made durable"),
];

fn plant(name: Option<&'static str>) {
    baton_core::planted::set(name);
    baton_log::planted::set(name);
}

/// The first seed that finds something, and what.
fn first_breach(seeds: u64) -> Option<(u64, String)> {
    (1..=seeds).find_map(|seed| simulate(seed, None, None).breach.map(|breach| (seed, breach)))
}

#[test]
fn without_a_planted_bug_nothing_is_found() {
    plant(None);
    assert_eq!(first_breach(SEEDS_CLEAN), None);
}

#[test]
fn every_planted_bug_is_found() {
    std::panic::set_hook(Box::new(|_| {}));
    let mut missed = Vec::new();
    for (name, what) in PLANTED {
        plant(Some(name));
        match first_breach(SEEDS_MAX) {
            Some((seed, breach)) => {
                let breach: String = breach.chars().take(120).collect();
                println!("{name} ({what}): found by seed {seed}: {breach}");
            }
            None => missed.push(name),
        }
    }
    plant(None);
    assert!(missed.is_empty(), "not found within {SEEDS_MAX} seeds: {missed:?}");
}
