//! `baton bench`: what a running server does on this machine, measured from here.
//!
//! Every worker has a connection of its own and one request in flight. The numbers include this
//! program, which shares the machine with the server: they are what a program of this kind sees,
//! not the most that the server can do.

use std::convert::Infallible;
use std::io;
use std::time::{Duration, Instant};

use baton_client::{Client, Options, State};
use clap::Args;
use serde::Serialize;
use tokio::task::JoinHandle;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::progress::{Progress, Unit};

const AFTER_HELP: &str = "\
Examples:
  baton bench
  baton bench --seconds 10 --concurrency 64

It writes values of 200 bytes into the workspace `baton-bench`, one key for each connection, and
removes them at the end. Each connection has one request under way. Every write is durable before
it counts. The load comes from this one program, beside the server.";

/// Where the load goes, so that nothing of anyone is touched.
const WORKSPACE: &str = "baton-bench";
const VALUE_BYTES: usize = 200;
/// Often enough to look alive, and rarely enough not to be measured.
const TICK: Duration = Duration::from_millis(200);

/// Measure a running server: writes and reads, their rate and how long they take
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Bench {
    /// How long, half of it writing and half of it reading
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=3600))]
    seconds: u64,
    /// How many connections
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=1024))]
    concurrency: u16,
}

/// What one load came to.
#[derive(Serialize)]
struct Measured {
    load: &'static str,
    connections: u16,
    operations: usize,
    per_second: u64,
    p50_ms: f64,
    p99_ms: f64,
    max_ms: f64,
}

#[derive(Clone, Copy)]
enum Load {
    Set,
    Get,
}

impl Load {
    fn name(self) -> &'static str {
        match self {
            Self::Set => "set",
            Self::Get => "get",
        }
    }
}

impl Bench {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let mut workers = Vec::new();
        // A key for each write would cost the server a kept answer, and nothing here is repeated.
        let options = Options { automatic_keys: false, ..Options::default() };
        for number in 0..self.concurrency {
            let client = context.connect(options.clone()).await?;
            workers.push(Worker::new(&client, number)?);
        }
        let duration = Duration::from_millis(self.seconds * 500);
        let mut measured = Vec::new();
        let whole_ms = Some(self.seconds * 1_000);
        let progress = output.progress("measuring", Unit::Milliseconds, whole_ms);
        for load in [Load::Set, Load::Get] {
            let begun = now();
            let jobs: Vec<_> = workers
                .iter()
                .map(|worker| tokio::spawn(worker.clone().run(load, begun + duration)))
                .collect();
            let times = tokio::select! {
                times = all(jobs) => times?,
                never = tick(&progress) => match never {},
            };
            measured.push(self.measured(load, begun.elapsed(), times));
        }
        drop(progress);
        for worker in workers {
            worker.state.delete(&worker.key).await?;
        }
        let columns =
            ["load", "connections", "operations", "per_second", "p50_ms", "p99_ms", "max_ms"];
        output.many(&measured, &columns)
    }

    fn measured(&self, load: Load, elapsed: Duration, mut times: Vec<Duration>) -> Measured {
        times.sort();
        let at = |share: usize| {
            let place = (times.len() * share / 1000).min(times.len().saturating_sub(1));
            let time = times.get(place).copied().unwrap_or_default();
            (time.as_secs_f64() * 1e6).round() / 1e3
        };
        let per_second = times.len() as u128 * 1_000_000 / elapsed.as_micros().max(1);
        Measured {
            load: load.name(),
            connections: self.concurrency,
            operations: times.len(),
            per_second: u64::try_from(per_second).unwrap_or(u64::MAX),
            p50_ms: at(500),
            p99_ms: at(990),
            max_ms: at(1000),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "how long things take is what is asked for")]
fn now() -> Instant {
    Instant::now()
}

/// How long everything took that all of them did.
async fn all(
    jobs: Vec<JoinHandle<Result<Vec<Duration>, Failure>>>,
) -> Result<Vec<Duration>, Failure> {
    let mut times = Vec::new();
    for job in jobs {
        let done = job.await.map_err(|error| Failure::from(io::Error::from(error)))?;
        times.extend(done?);
    }
    Ok(times)
}

/// Tells how much of the time is over.
async fn tick(progress: &Progress) -> Infallible {
    let mut told_at = now();
    loop {
        tokio::time::sleep(TICK).await;
        let passed = told_at.elapsed();
        told_at += passed;
        progress.advance(u64::try_from(passed.as_millis()).unwrap_or(u64::MAX));
    }
}

#[derive(Clone)]
struct Worker {
    state: State,
    key: String,
    value: String,
}

impl Worker {
    fn new(client: &Client, number: u16) -> Result<Self, Failure> {
        let state = client.workspace(WORKSPACE)?.as_agent("bench")?.state("shared");
        let (key, value) = (format!("connection/{number}"), "x".repeat(VALUE_BYTES - 2));
        Ok(Self { state, key, value })
    }

    /// Does it until the time is over, and answers with how long each took.
    async fn run(self, load: Load, until: Instant) -> Result<Vec<Duration>, Failure> {
        let mut times = Vec::new();
        // Once in any case, so that there is something to read.
        loop {
            let begun = now();
            match load {
                Load::Set => self.state.set(&self.key, &self.value).await?,
                Load::Get => self.state.get(&self.key).await?,
            };
            let ended = now();
            times.push(ended - begun);
            if ended >= until {
                return Ok(times);
            }
        }
    }
}
