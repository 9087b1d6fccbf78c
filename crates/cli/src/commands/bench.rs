//! `baton bench`: measure a running server from this machine.
//!
//! Every worker has its own connection and one request in flight. The results include the cost of
//! this program, which may share the machine with the server: they show what a client sees, not the
//! maximum of the server.

use std::convert::Infallible;
use std::io;
use std::time::{Duration, Instant};

use baton_client::{Client, Options, State};
use clap::Args;
use serde::Serialize;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::progress::{Progress, Unit};
use crate::supervised::{FAREWELL, StopSignals};

const AFTER_HELP: &str = "\
Examples:
  baton bench
  baton bench --seconds 10 --concurrency 64

The benchmark writes 200-byte values to the workspace `baton-bench`, one key per connection, and
deletes them at the end, also when it is interrupted. Each connection has one request in flight. A
write counts when it is durable. All load comes from this one process.";

/// A separate workspace, so that no other data is touched.
const WORKSPACE: &str = "baton-bench";
const VALUE_BYTES: usize = 200;
/// Update interval of the progress bar: frequent enough to look alive, rare enough not to matter.
const TICK: Duration = Duration::from_millis(200);

/// Measure the throughput and latency of a server
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Bench {
    /// Duration in seconds: half writes, half reads
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=3600))]
    seconds: u64,
    /// Number of connections
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=1024))]
    concurrency: u16,
}

/// The result of one load.
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
        let mut signals = StopSignals::listen()?;
        let workers = signals.race(self.workers(context)).await?;
        let measured = signals.race(self.measure(&workers, output)).await;
        let tidying = async {
            for worker in &workers {
                worker.state.delete(&worker.key).await?;
            }
            Ok::<_, Failure>(())
        };
        if measured.is_ok() {
            tidying.await?;
        } else {
            // The reason why it ended matters more than keys that could not be deleted.
            let _ = timeout(FAREWELL, tidying).await;
        }
        let columns =
            ["load", "connections", "operations", "per_second", "p50_ms", "p99_ms", "max_ms"];
        output.many("measurements", &measured?, &columns)
    }

    async fn workers(&self, context: &Context) -> Result<Vec<Worker>, Failure> {
        let mut workers = Vec::new();
        // Idempotency keys would make the server store each response, and nothing is retried here.
        let options = Options { automatic_keys: false, ..Options::default() };
        for number in 0..self.concurrency {
            let client = context.connect(options.clone()).await?;
            workers.push(Worker::new(&client, number)?);
        }
        Ok(workers)
    }

    async fn measure(&self, workers: &[Worker], output: &Output) -> Result<Vec<Measured>, Failure> {
        let duration = Duration::from_millis(self.seconds * 500);
        let mut measured = Vec::new();
        let whole_ms = Some(self.seconds * 1_000);
        let progress = output.progress("measuring", Unit::Milliseconds, whole_ms);
        for load in [Load::Set, Load::Get] {
            let begun = now();
            // Dropped when it is interrupted, so that no worker writes after the keys are deleted.
            let mut jobs = JoinSet::new();
            for worker in workers {
                jobs.spawn(worker.clone().run(load, begun + duration));
            }
            let times = tokio::select! {
                times = all(&mut jobs) => times?,
                never = tick(&progress) => match never {},
            };
            measured.push(self.measured(load, begun.elapsed(), times));
        }
        Ok(measured)
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

#[expect(clippy::disallowed_methods, reason = "measuring durations is the purpose")]
fn now() -> Instant {
    Instant::now()
}

/// The latencies of all workers.
async fn all(jobs: &mut JoinSet<Result<Vec<Duration>, Failure>>) -> Result<Vec<Duration>, Failure> {
    let mut times = Vec::new();
    while let Some(done) = jobs.join_next().await {
        let done = done.map_err(|error| Failure::from(io::Error::from(error)))?;
        times.extend(done?);
    }
    Ok(times)
}

/// Advances the progress bar with time.
async fn tick(progress: &Progress) -> Infallible {
    let mut updated_at = now();
    loop {
        tokio::time::sleep(TICK).await;
        let passed = updated_at.elapsed();
        updated_at += passed;
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

    /// Sends requests until the time is over, and returns their latencies.
    async fn run(self, load: Load, until: Instant) -> Result<Vec<Duration>, Failure> {
        let mut times = Vec::new();
        // At least once, so that there is something to read.
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
