//! The simulator: the real engine on a failing disk, with misbehaving agents, checked by an
//! independent auditor.
//!
//! ```text
//!   seed ──▶ plan ──▶ step by step: an agent acts, a flush, maintenance, a fault, time passes
//!                        │
//!                        ▼
//!            shard (real) ──▶ file log (real) ──▶ faulty disk
//!                        │                │ tap
//!                        ▼                ▼
//!                     answers ───────▶ auditor ──▶ nothing, or a breach
//! ```
//!
//! One seed is one world: single-threaded, without its own clock or randomness, so the same seed
//! gives the same bytes. At the end of each seed the faults stop, and everything that is due must
//! happen.
//!
//! | module | part |
//! |---|---|
//! | `plan` | what the seed decides before the first step |
//! | [`actors`] | scripted agents, a module for each primitive |
//! | [`models`] | the auditor's own model of each primitive |
//! | [`auditor`] | checks what must be true, with independent code |
//! | `world` | executes one step after another |
//! | `requests` | requests and queries, from the call to the answer |
//! | `history` | queries of the past |
//! | `maintenance` | maintenance, snapshots in slices, fresh servers that must show the same |
//! | `faults`, `recovery` | kills, power cuts, failing operations, and what must exist afterwards |
//! | `convergence` | the end: faults stop, everything that is due happens |
//! | `servers` | several servers that share a database with one shard or several |
//! | `story` | requests and answers in words |
//! | [`coverage`], [`trace`] | which rare events occurred, and the trace |
//!
//! Deliberately absent: threads and the network. Their additions are tested elsewhere; here every
//! interleaving is a choice of the seed.

pub mod actors;
pub mod auditor;
mod convergence;
pub mod coverage;
mod faults;
mod history;
mod live_requests;
mod long_work;
mod maintenance;
pub mod models;
pub mod plan;
mod recovery;
mod requests;
pub mod rng;
mod servers;
mod story;
pub mod tap;
pub mod trace;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};

use auditor::Audit;
use coverage::Coverage;
use servers::Fleet;
use trace::Listener;
use world::World;

/// The outcome of one seed.
pub struct Outcome {
    /// The seed.
    pub seed: u64,
    /// The number of steps.
    pub steps: u64,
    /// The number of faults.
    pub faults: u64,
    /// A digest of the whole run; the same in every run.
    pub digest: u64,
    /// The rare events that occurred.
    pub coverage: Coverage,
    /// The breach, if there was one.
    pub breach: Option<String>,
}

/// Runs one seed.
pub fn simulate(seed: u64, steps: Option<u64>, listener: Option<Listener>) -> Outcome {
    let mut world = World::new(seed, steps, listener);
    let breach = breach_of(|| world.run());
    let digest = world.trace.digest();
    let World { steps, faults, coverage, .. } = world;
    Outcome { seed, steps, faults, digest, coverage, breach }
}

/// How many servers share how many shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FleetSize {
    /// The number of servers.
    pub servers: usize,
    /// The number of shards. One is owned by one server at a time; several are placed among them.
    pub shards: u32,
}

/// Runs one seed of several servers that share one database.
pub fn simulate_servers(
    seed: u64,
    size: FleetSize,
    steps: Option<u64>,
    listener: Option<Listener>,
) -> Outcome {
    let mut fleet = Fleet::new(seed, size, steps, listener);
    let breach = breach_of(|| fleet.run());
    let digest = fleet.trace.digest();
    let Fleet { steps, faults, coverage, .. } = fleet;
    Outcome { seed, steps, faults, digest, coverage, breach }
}

/// A failed assertion inside the engine is a breach like any other.
fn breach_of(run: impl FnOnce() -> Audit) -> Option<String> {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(())) => None,
        Ok(Err(breach)) => Some(breach.0),
        Err(panic) => Some(format!("panic: {}", words_of(panic.as_ref()))),
    }
}

fn words_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "without a word".to_owned())
}
