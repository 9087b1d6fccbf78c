//! Work: tasks and locks against what people use for them, over their own protocols.
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
//! Servers, turns and the driver are those of [`crate::peers`], and so are the rules:
//!
//! 1. All are durable: whatever a request was answered with survives a power cut. Only Postgres's
//!    advisory locks are not, since there are none that are.
//! 2. A worker or client has one connection and one request in flight, and its next request needs
//!    the answer to the one before: see [`cycle`].
//! 3. Where there is a choice the peer's quickest way is taken: it deletes what is done, keeps no
//!    result and no history, and does not renew its leases.
//! 4. One refusal, one empty answer or two holders of a lock fail the run.
//!
//! Without Baton a peer stands in for it: what then differs from 1 is the machine's noise.
//!
//! Deliberately absent: workers that wait for work, whose rate is that of whoever creates it.

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

/// Names by which servers are left out.
pub(crate) const SERVERS: [&str; 5] = ["baton", "redis", "postgres", "etcd", BULLMQ];
const BULLMQ: &str = "bullmq";

/// Workers of a queue, and clients of locks.
pub(crate) const CLIENTS: usize = 16;
/// Of a lock that is not released: longer than any is held.
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
    // A load in process has nobody who could stand in.
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

/// Servers that the loads asked for need, so that nothing is installed for the others.
fn wanted(options: &Options) -> Vec<Kind> {
    let rates = cycle_rates::LOADS.iter().filter(|load| options.wants(load.name));
    let mut wanted: Vec<Kind> = rates.flat_map(cycle_rates::Load::kinds).collect();
    if options.wants(contention::NAME) {
        wanted.extend([Kind::Baton, Kind::Postgres]);
    }
    let all = [Kind::Baton, Kind::Redis, Kind::Postgres, Kind::Etcd];
    all.into_iter().filter(|kind| wanted.contains(kind)).collect()
}
