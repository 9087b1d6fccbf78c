//! Talk: requests, topics and streams against the usual alternatives, over their own protocols.
//!
//! | load | against | the ratio |
//! |---|---|---|
//! | request and reply, 16 pairs, kept and live | NATS core | of rates |
//! | live messages to 100 and 1,000 subscribers | Redis pub/sub | of events delivered |
//! | durable messages, 64 publishers | Redis Streams, NATS `JetStream`, both durable | of rates |
//! | a stream of 64-byte frames, 10 at a time | Redis Streams, `everysec` | of frames read |
//!
//! Servers, rounds, driver and rules are those of [`crate::peers`]. Durable operations are compared
//! with durable ones, except in two loads: Baton's requests, unless they are live, and its streams
//! survive a power cut, those of NATS core and of Redis with `everysec` do not.

mod broadcast;
mod durable_publish;
mod request_reply;
#[cfg(test)]
mod tests;

use crate::Outcome;
use crate::options::Options;
use crate::peers::processes;
use crate::peers::programs::Programs;
use crate::peers::{Bench, Kind, report_all};
use crate::report::Report;

/// Servers that can be left out.
pub(crate) const SERVERS: [&str; 3] = ["baton", "redis", "nats"];

/// Runs the selected loads.
pub(crate) fn run(options: &Options) -> Outcome<()> {
    report_all(options, "talk.json", |report| run_loads(options, report))
}

fn run_loads(options: &Options, report: &mut Report) -> Outcome<()> {
    let files = processes::allow_many_files();
    let programs = Programs::provide(options, &wanted(options), report)?;
    let bench = Bench { options, programs, files };
    if bench.is_control() {
        return Err("nothing replaces Baton here".into());
    }
    for load in request_reply::LOADS.iter().filter(|load| options.wants(load.name)) {
        request_reply::run(&bench, load, report)?;
    }
    for load in broadcast::LOADS.iter().filter(|load| options.wants(load.name)) {
        broadcast::run(&bench, load, report)?;
    }
    if options.wants(durable_publish::NAME) {
        durable_publish::run(&bench, report)?;
    }
    Ok(())
}

/// Servers that the selected loads need, so that nothing is installed for the others.
fn wanted(options: &Options) -> Vec<Kind> {
    let needs_nats = options.wants(durable_publish::NAME)
        || request_reply::LOADS.iter().any(|load| options.wants(load.name));
    let needs_redis = options.wants(durable_publish::NAME)
        || broadcast::LOADS.iter().any(|load| options.wants(load.name));
    let wanted = [(Kind::Baton, true), (Kind::Redis, needs_redis), (Kind::Nats, needs_nats)];
    wanted.into_iter().filter_map(|(kind, is_needed)| is_needed.then_some(kind)).collect()
}
