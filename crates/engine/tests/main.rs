//! The embedded engine through its public API, one file per story.
//!
//! | file | promises |
//! |---|---|
//! | `state` | entries, conditions, rules, merges, history, writers in contention |
//! | `past` | what was recorded while writing can be read later, wherever it has moved to |
//! | `time_travel` | every question about the past, differences, forks, reasons |
//! | `export` | a workspace as one file comes back whole, or not at all |
//! | `search` | what is found, by an index that goes along or is made anew |
//! | `watch` | every event in order, without gap or duplicate |
//! | `events` | handlers that fail alone, and what history tells of everything |
//! | `agents` | sessions, silence, what an agent leaves behind |
//! | `waits` | calls that wait are answered once, in order, and leave nothing behind |
//! | `contention` | locks and tasks that many callers want at once, checked for linearizability |
//! | `linearizability` | the checker of histories, which must refuse bad ones |
//! | `sessions` | scopes of names, and variables that go along with a hand-off and come back |
//! | `checkpoints` | states come back byte for byte, and are on disk once |
//! | `contents` | bytes come back, stay while they are named, leave nothing; secrets stay secret |
//! | `transactions` | all or nothing, and once |
//! | `durability` | what was acknowledged stays, what failed says so |
//! | `damage` | damaged, newer and occupied data is refused by name |
//! | `cancellation` | futures dropped, or held and not polled, harm nobody |
//! | `scale` | many workspaces, large ones, large groups |
//! | `bad_input` | every refusal has a code, facts and a hint, and changes nothing |
//! | `messages` | what is only told, requests, mail |
//! | `crash` | a process killed at any moment has lost nothing that it acknowledged |
//!
//! They are one program, because linking it once is quicker than linking twelve. No test sleeps or
//! measures time: where something happens behind a caller's back, [`harness::eventually`] looks
//! until it has happened.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed, and this says where")]

mod agents;
mod backups;
mod bad_input;
mod cancellation;
mod checkpoints;
mod contention;
mod contents;
mod crash;
mod damage;
mod durability;
mod events;
mod export;
mod gated_log;
mod harness;
mod linearizability;
mod messages;
mod past;
mod scale;
mod search;
mod sessions;
mod state;
mod time_travel;
mod transactions;
mod waits;
mod watch;
