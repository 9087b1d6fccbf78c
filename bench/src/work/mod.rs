//! Work: tasks and locks against the usual alternatives, over their own protocols.
//!
//! | load | against | the ratio |
//! |---|---|---|
//! | task: create, claim, complete, 16 workers | Redis Streams, Postgres, `BullMQ` | of rates |
//! | lock: acquire, release, 16 clients with one each | Redis, etcd | of rates |
//! | hand-off: a task and 20 keys, 16 clients | one statement of Postgres | of rates |
//! | one lock, 16 clients, held for 1 ms | Postgres advisory locks | of times of hand-over |
//! | offer and accept after 1 M hand-offs | after none | of times, in process |
//! | claim one of 1 M pending tasks of 1,000 types | one of 1,000 | of times, in process |
//!
//! Servers, rounds, driver and rules are those of [`crate::peers`], and:
//!
//! 1. All are durable: every acknowledged request survives a power cut. Only Postgres's advisory
//!    locks do not, since there is no durable alternative.
//! 2. A worker or client has one connection and one request in flight, and its next request needs
//!    the previous answer: see [`cycle`].
//! 3. The fastest way of the peer is used: it deletes finished work, keeps no result and no
//!    history, and does not renew its leases.
//! 4. A refusal, an empty answer or two holders of a lock fail the run.
//!
//! Without Baton a peer takes its place: the deviation from 1 is then the noise of the machine.
//!
//! Deliberately absent: workers that wait for work, whose rate is that of its producers.

mod baton;
mod bullmq;
mod claims;
mod contention;
pub(crate) mod cycle;
mod cycle_rates;
mod etcd;
mod handoff_history;
mod handoffs;
mod postgres;
mod redis;
#[cfg(test)]
mod tests;

use crate::Outcome;
use crate::options::Options;
use crate::peers::programs::Programs;
use crate::peers::{Bench, Kind, processes, report_all};
use crate::report::Report;

/// Servers that can be left out.
pub(crate) const SERVERS: [&str; 5] = ["baton", "redis", "postgres", "etcd", BULLMQ];
const BULLMQ: &str = "bullmq";

/// Workers of a queue, and clients of locks.
pub(crate) const CLIENTS: usize = 16;
/// The time to live of a lock that is not released: longer than any is held.
pub(crate) const TTL_MS: u32 = 30_000;

/// Runs the selected loads.
pub(crate) fn run(options: &Options) -> Outcome<()> {
    report_all(options, "work.json", |report| run_loads(options, report))
}

fn run_loads(options: &Options, report: &mut Report) -> Outcome<()> {
    let files = processes::allow_many_files();
    let wanted = wanted(options);
    let programs = Programs::provide(options, &wanted, report)?;
    let bench = Bench { options, programs, files };
    // A load in process has no peer that could take the place of Baton.
    if !wanted.is_empty() {
        bench.tell_if_control(report);
    }
    for load in cycle_rates::LOADS.iter().filter(|load| options.wants(load.name)) {
        cycle_rates::run(&bench, load, report)?;
    }
    if options.wants(contention::NAME) {
        contention::run(&bench, report)?;
    }
    if options.wants(claims::NAME) && options.includes(Kind::Baton.word()) {
        claims::run(options, report)?;
    }
    if options.wants(handoff_history::NAME) && options.includes(Kind::Baton.word()) {
        handoff_history::run(options, report)?;
    }
    Ok(())
}

/// Servers that the selected loads need, so that nothing is installed for the others.
fn wanted(options: &Options) -> Vec<Kind> {
    let rates = cycle_rates::LOADS.iter().filter(|load| options.wants(load.name));
    let mut wanted: Vec<Kind> = rates.flat_map(cycle_rates::Load::kinds).collect();
    if options.wants(contention::NAME) {
        wanted.extend([Kind::Baton, Kind::Postgres]);
    }
    let all = [Kind::Baton, Kind::Redis, Kind::Postgres, Kind::Etcd];
    all.into_iter().filter(|kind| wanted.contains(kind)).collect()
}
