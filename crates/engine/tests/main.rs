//! The embedded engine through its public API, one file per topic.
//!
//! | file | tests |
//! |---|---|
//! | `state` | entries, conditions, rules, merges, history, writers in contention |
//! | `past` | the recorded history can be read later, wherever it has moved to |
//! | `past_reads` | how often a page of the past reads the log |
//! | `time_travel` | every query about the past, differences, forks, causes |
//! | `sync` | copies that have changed independently get the same values |
//! | `export` | a workspace as one file is imported completely or not at all |
//! | `search` | results, with an updated index and with a new one |
//! | `watch` | every event in order, without gap or duplicate |
//! | `events` | handlers that fail separately, and the history of all events |
//! | `agents` | sessions, lost agents, what an agent leaves behind |
//! | `waits` | waiting calls are answered once, in order, and leave nothing behind |
//! | `contention` | locks and tasks under contention, checked for linearizability |
//! | `linearizability` | the checker of histories, which must reject bad ones |
//! | `sessions` | scopes of names, and variables that move with a hand-off and back |
//! | `checkpoints` | states are restored byte for byte, and stored once |
//! | `contents` | bytes are read back and stay while referenced; secrets stay secret |
//! | `transactions` | all or nothing, and once |
//! | `durability` | acknowledged writes stay, failures are reported |
//! | `database` | `open("postgres://…")`, with the feature `postgres` |
//! | `damage` | damaged, newer and occupied data is refused with a specific error |
//! | `cancellation` | futures dropped, or held and not polled, harm no other caller |
//! | `scale` | many workspaces, large ones, large groups |
//! | `bad_input` | every refusal has a code, facts and a hint, and changes nothing |
//! | `messages` | live messages, requests, mail |
//! | `crash` | a process killed at any moment has lost nothing that it acknowledged |
//!
//! They are one program, because linking it once is faster than linking twelve. No test sleeps or
//! measures time: where something happens in the background, [`harness::eventually`] polls until it
//! has happened.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed, and this says where")]

mod agents;
mod backups;
mod bad_input;
mod cancellation;
mod checkpoints;
mod contention;
mod contents;
mod counting_log;
mod crash;
mod damage;
#[cfg(feature = "postgres")]
mod database;
mod durability;
mod events;
mod export;
mod gated_log;
mod harness;
mod linearizability;
mod long_work;
mod messages;
mod past;
mod past_reads;
mod scale;
mod search;
mod sessions;
mod state;
mod sync;
mod time_travel;
mod transactions;
mod waits;
mod watch;
