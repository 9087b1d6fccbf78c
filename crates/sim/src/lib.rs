//! The simulator: the real engine on a disk that fails, among agents that misbehave, under an
//! auditor that believes nobody.
//!
//! ```text
//!   seed ──▶ plan ──▶ step by step: an agent acts, a flush, a chore, a fault, time passes
//!                        │
//!                        ▼
//!            shard (real) ──▶ file log (real) ──▶ faulty disk
//!                        │                │ tap
//!                        ▼                ▼
//!                     answers ───────▶ auditor ──▶ nothing, or what was broken
//! ```
//!
//! One seed is one world: single-threaded, without a clock or chance of its own, so the same seed
//! gives the same bytes. At the end of each seed the faults stop, and everything that is due must
//! come to pass.
//!
//! | module | part |
//! |---|---|
//! | `plan` | what the seed decides before the first step |
//! | `agents`, `things`, `questions` | scripted agents and what they talk about |
//! | `locking`, `sharing`, `meeting`, `working`, `saving` | the same about what can be held |
//! | `handing` | the same about what changes hands |
//! | `speaking` | the same about mail, requests, topics and streams |
//! | `hiding` | secrets, and where their values must not stand |
//! | `forking` | workspaces that begin with the content of another, and who goes on in them |
//! | `world` | one step after another |
//! | `serving` | requests and questions, from asking to the answer |
//! | `reading` | questions about the past |
//! | `watching` | watchers that lag, leave and resume |
//! | `upkeep` | chores, snapshots in slices, fresh servers that must show the same |
//! | `faults`, `recovery` | kills, power cuts, failing operations, and what must be there after |
//! | `settling` | the end: faults stop, everything settles |
//! | `story` | what is wanted and answered, in words |
//! | [`auditor`] | says what must be true, with code of its own |
//! | [`coverage`], [`trace`] | which rare events were met, and the story |
//!
//! Deliberately absent: threads and the network. What they add is tested elsewhere; here every
//! interleaving is a choice of the seed.

pub mod agents;
pub mod auditor;
pub mod chance;
pub mod coverage;
mod faults;
pub mod forking;
pub mod handing;
mod hiding;
pub mod locking;
pub mod meeting;
pub mod piping;
pub mod plan;
pub mod questions;
pub mod reacting;
mod reading;
mod recovery;
pub mod ruling;
pub mod saving;
pub mod searching;
mod serving;
mod settling;
pub mod sharing;
pub mod speaking;
pub mod storing;
mod story;
pub mod tap;
pub mod things;
pub mod trace;
mod upkeep;
mod watching;
pub mod working;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};

use coverage::Coverage;
use trace::Listener;
use world::World;

/// What came of one seed.
pub struct Outcome {
    /// Which.
    pub seed: u64,
    /// How many steps it took.
    pub steps: u64,
    /// How many faults it met.
    pub faults: u64,
    /// What everything adds up to; the same in every run.
    pub digest: u64,
    /// Which rare events it met.
    pub coverage: Coverage,
    /// What was broken, if anything.
    pub breach: Option<String>,
}

/// Runs one seed.
pub fn simulate(seed: u64, steps: Option<u64>, listener: Option<Listener>) -> Outcome {
    let mut world = World::new(seed, steps, listener);
    // An assertion inside the engine is a broken promise like any other.
    let run = catch_unwind(AssertUnwindSafe(|| world.run()));
    let breach = match run {
        Ok(Ok(())) => None,
        Ok(Err(breach)) => Some(breach.0),
        Err(panic) => Some(format!("panic: {}", words_of(panic.as_ref()))),
    };
    let digest = world.trace.digest();
    let World { steps, faults, coverage, .. } = world;
    Outcome { seed, steps, faults, digest, coverage, breach }
}

fn words_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "without a word".to_owned())
}
