//! Benchmarks of Baton: every number is a ratio against a peer that was measured alternately in the
//! same run, because the machines they run on differ and are rarely quiet.
//!
//! ```text
//!   baton-bench kernel [--seconds S] [--turns N] [--keys N] [--only WORD] [--folder F] [--json F]
//!   baton-bench peers  [--seconds S] [--turns N] [--only WORD] [--folder F] [--json F]
//!                      [--baton PATH] [--without NAME,NAME]
//!   baton-bench deployed [--seconds S] [--turns N] [--only WORD] [--folder F] [--json F]
//!                      [--baton PATH]
//!   scripts/postgres baton-bench cluster [--seconds S] [--turns N] [--only WORD] [--folder F]
//!                      [--json F] [--baton PATH]
//!   baton-bench work   [--seconds S] [--turns N] [--keys N] [--only WORD] [--folder F] [--json F]
//!                      [--baton PATH] [--without NAME,NAME]
//!   baton-bench talk   [--seconds S] [--turns N] [--only WORD] [--folder F] [--json F]
//!                      [--baton PATH] [--without NAME,NAME]
//!   baton-bench search [--keys N] [--only WORD] [--folder F] [--json F]
//!   baton-bench soak   [--seconds S] [--folder F] [--json F] [--baton PATH]
//!   baton-bench fairness [--seconds S] [--turns N] [--only WORD] [--folder F] [--json F]
//!                      [--baton PATH]
//!   baton-bench mcp    [--seconds S] [--turns N] [--only WORD] [--folder F] [--json F]
//!                      [--baton PATH]
//! ```
//!
//! `kernel` measures the engine in process against a bare file; `peers` the server against Redis,
//! Postgres and etcd, and against a server of the same bytes without any logic, the floor that the
//! kernel leaves; `deployed` sets with tokens, quotas, a watcher, an expiry or idempotency keys
//! against bare ones; `cluster` servers that share a Postgres against one on its own disk, and what
//! a failure costs; `work` its tasks and locks against theirs and those of `BullMQ`; `talk` its
//! messages, topics and streams against Redis and NATS; `search` queries among a million tasks,
//! against a time limit; `soak` whether memory grows in ten minutes; `fairness` the latency of a
//! quiet tenant beside a noisy one, against its latency alone; `mcp` calls of tools against the
//! same command over HTTP, and the memory of a session.
//!
//! | option | means | default |
//! |---|---|---|
//! | `--seconds` | how long one round is measured | 1, of `soak` 600 |
//! | `--turns` | rounds of each side | 5 |
//! | `--keys` | keys, or tasks, of the loads that say "1 M" | 1000000 |
//! | `--only` | only loads whose name contains this word | all |
//! | `--folder` | where temporary data goes, on the disk to be measured | the temporary folder |
//! | `--json` | where to write the results as JSON as well | `target/peers.json`, … |
//! | `--baton` | the program that is measured | built from this repository |
//! | `--without` | `baton`, `redis`, `postgres`, `etcd`, `nats`, `bullmq`, `floor` | none |
//!
//! On a terminal, a line shows which load is measured and how far it is.
//!
//! It exits with 0 whenever it could measure: whether a missed target on a noisy machine matters is
//! for a person to judge.

mod cluster;
mod deployed;
mod fairness;
mod kernel;
mod mcp;
mod options;
mod peers;
mod report;
mod resources;
mod samples;
mod search;
mod soak;
mod talk;
mod work;

use std::error::Error;
use std::process::ExitCode;

use options::{Mode, Options};

// The product uses the same allocator; memory per key would mean little with another.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The result of a step: errors are for people, so one text suffices.
pub(crate) type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let outcome = match Options::parse(std::env::args().skip(1)) {
        Ok(Mode::Kernel(options)) => kernel::run(&options),
        Ok(Mode::Peers(options)) => peers::run(&options),
        Ok(Mode::Deployed(options)) => deployed::run(&options),
        Ok(Mode::Cluster(options)) => cluster::run(&options),
        Ok(Mode::Work(options)) => work::run(&options),
        Ok(Mode::Talk(options)) => talk::run(&options),
        Ok(Mode::Search(options)) => search::run(&options),
        Ok(Mode::Soak(options)) => soak::run(&options),
        Ok(Mode::Fairness(options)) => fairness::run(&options),
        Ok(Mode::Mcp(options)) => mcp::run(&options),
        Ok(Mode::Part(part)) => kernel::run_part(&part),
        Err(error) => Err(error.into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report::complain(&error.to_string());
            ExitCode::FAILURE
        }
    }
}
