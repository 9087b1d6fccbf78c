//! Measures how long workspaces do not answer when their server is killed or stopped.
//!
//! ```text
//!   kill -9      requests to every workspace of the dead server, at the others, until one is
//!                answered
//!   told to end  requests to a workspace of each of its shards, one after the other: the longest
//!                time between two answers
//! ```

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::json;

use super::database::Database;
use super::group::{Group, Owners};
use super::sets::{Sets, Transport, WORKSPACES, workspace};
use crate::Outcome;
use crate::options::Options;
use crate::peers::baton::ask_http;
use crate::peers::processes::Server;
use crate::report::{Comparison, Report, Target, median, progress};
use crate::resources::{Stopwatch, pause};

const SERVERS: usize = 3;
/// The limits that times are compared with.
const FAILOVER_MAX_S: f64 = 5.0;
const FAILOVER_MEDIAN_S: f64 = 3.2;
const DRAIN_MAX_S: f64 = 1.0;
/// After this, a workspace is lost.
const ANSWER_MAX: Duration = Duration::from_mins(1);
/// Between two requests to one workspace.
const REQUEST_EVERY: Duration = Duration::from_millis(5);

/// Kills and ends servers by turns.
pub(super) fn run(
    program: &Path,
    options: &Options,
    database: &mut Database,
    report: &mut Report,
) -> Outcome<()> {
    let mut group = Group::start(program, options, database, ("bench_failures", SERVERS, None))?;
    Sets::new(Transport::WebSocket, WORKSPACES).fill(&group)?;
    let (mut killed, mut ended) = (Vec::new(), Vec::new());
    for turn in 0..options.turns {
        progress(&format!("failures: round {}", turn + 1), turn, options.turns);
        killed.push(kill(&mut group)?);
        group.add()?;
        group.owners()?;
        ended.push(end(&mut group)?);
        group.add()?;
        group.owners()?;
    }
    let all = |of: fn(&[f64]) -> f64, turns: &[Vec<f64>]| {
        turns.iter().map(|seconds| of(seconds)).collect::<Vec<f64>>()
    };
    report.add(line(
        "failures: kill -9 of one of three, all its workspaces",
        &all(longest, &killed),
        FAILOVER_MAX_S,
    ));
    report.add(line(
        "failures: kill -9 of one of three, half its workspaces",
        &all(median, &killed),
        FAILOVER_MEDIAN_S,
    ));
    report.add(line(
        "failures: one of three ends, the longest pause",
        &all(longest, &ended),
        DRAIN_MAX_S,
    ));
    report.add(line(
        "failures: one of three ends, half the pauses",
        &all(median, &ended),
        DRAIN_MAX_S,
    ));
    Ok(())
}

fn longest(seconds: &[f64]) -> f64 {
    seconds.iter().copied().fold(0.0, f64::max)
}

/// Times against a limit. The slowest round counts.
fn line(name: &str, seconds: &[f64], most: f64) -> Comparison {
    let ratios: Vec<f64> = seconds.iter().map(|seconds| seconds / most).collect();
    let sides = (format!("{:.2} s", longest(seconds)), format!("{most} s"));
    let shown = seconds.iter().map(|seconds| format!("{seconds:.2}")).collect::<Vec<_>>();
    let compared = Comparison::of_ratios(name, &ratios, sides);
    Comparison {
        ratio: longest(&ratios),
        note: format!("by turn {} s", shown.join(", ")),
        facts: json!({ "seconds": seconds, "most": most }),
        ..compared
    }
    .target(Target::AtMost(1.0))
}

/// The workspaces of a server.
fn workspaces_of(owners: &Owners, place: usize) -> Vec<String> {
    (0..WORKSPACES).map(workspace).filter(|name| owners.of(name) == place).collect()
}

/// One workspace of each shard of a server.
fn one_of_each_shard(owners: &Owners, place: usize) -> Vec<String> {
    let shards = u32::try_from(owners.0.len()).expect("there are few shards");
    let owned = (0..shards).filter(|shard| owners.0[*shard as usize] == place);
    let first = |shard| {
        (0..WORKSPACES).map(workspace).find(|name| baton_server::shard_of(name, shards) == shard)
    };
    owned.filter_map(first).collect()
}

/// Kills the first server; returns after how many seconds each of its workspaces answered again.
fn kill(group: &mut Group) -> Outcome<Vec<f64>> {
    let owners = group.owners()?;
    let names = workspaces_of(&owners, 0);
    let ports: Vec<u16> = group.servers[1..].iter().map(Server::port).collect();
    let clock = Stopwatch::start();
    // A server is killed when it is dropped.
    drop(group.servers.remove(0));
    let answered = thread::scope(|scope| {
        let clock = &clock;
        let asking = names.iter().zip(ports.iter().cycle()).map(|(name, port)| {
            scope.spawn(move || {
                while set(*port, name).is_err() && clock.elapsed() < ANSWER_MAX {
                    pause(REQUEST_EVERY);
                }
                clock.elapsed().as_secs_f64()
            })
        });
        let asking: Vec<_> = asking.collect();
        asking.into_iter().map(thread::ScopedJoinHandle::join).collect::<Result<Vec<_>, _>>()
    });
    let answered = answered.map_err(|_| "a caller panicked")?;
    if longest(&answered) >= ANSWER_MAX.as_secs_f64() {
        return Err("a workspace did not answer again".into());
    }
    Ok(answered)
}

/// Tells the first server to end; returns the longest pause of a workspace of each of its shards.
fn end(group: &mut Group) -> Outcome<Vec<f64>> {
    let owners = group.owners()?;
    let names = one_of_each_shard(&owners, 0);
    let ports: Vec<u16> = group.servers[1..].iter().map(Server::port).collect();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let is_over = &is_over;
        let asking = names.iter().zip(ports.iter().cycle());
        let asking: Vec<_> = asking
            .map(|(name, port)| scope.spawn(move || longest_pause(*port, name, is_over)))
            .collect();
        let ended = group.servers.remove(0).terminate();
        // Requests that were interrupted at the end must be answered too.
        is_over.store(true, Ordering::SeqCst);
        let pauses = asking.into_iter().map(|one| one.join().map_err(|_| "a caller panicked"));
        let pauses = pauses.collect::<Result<Vec<_>, _>>()?;
        ended?;
        Ok(pauses)
    })
}

/// The longest time between two answers, of which the last is after the end.
fn longest_pause(port: u16, workspace: &str, is_over: &AtomicBool) -> f64 {
    let (mut most, mut is_last) = (Duration::ZERO, false);
    let mut since = Stopwatch::start();
    while !is_last && since.elapsed() < ANSWER_MAX {
        is_last = is_over.load(Ordering::SeqCst);
        if set(port, workspace).is_ok() {
            most = most.max(since.elapsed());
            since = Stopwatch::start();
        } else {
            is_last = false;
        }
        pause(REQUEST_EVERY);
    }
    most.max(since.elapsed()).as_secs_f64()
}

fn set(port: u16, workspace: &str) -> Result<(), String> {
    let path = format!("/v1/{workspace}/state/shared/plan");
    ask_http(port, "PUT", &path, "1").map(drop).map_err(|error| error.to_string())
}
