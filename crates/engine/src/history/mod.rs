//! The history of one workspace: the locations of all batches that can still be read.
//!
//! ```text
//!   revision   0 ─────── floor ──────────────────────────────── archived ────────── present
//!              dropped   │ base │ run │ run │      run          │ tail (in the log) │
//! ```
//!
//! New batches are in the log; [`Tail`] has their locations. When the tail has grown, the engine
//! writes it into an immutable [`Run`], searchable by revision and by subject, and the log can be
//! truncated. Runs that retention no longer covers are folded into the base, a snapshot of the
//! state after them. So the cost of a query about the past depends on its result: one lookup per
//! run, and the tail is bounded.
//!
//! Invariants:
//!
//! 1. Base, runs and tail follow each other without gap or overlap.
//! 2. A batch leaves the tail only when it is in a committed run.
//! 3. A query about a revision before the floor is answered with `gone`.

pub mod past;
pub mod run;
mod tail;

use std::sync::Arc;

use baton_core::Revision;

pub use tail::{LogLocation, Tail, subject_hash};

use crate::snapshot::Snapshot;
use run::Run;

/// The locations of the batches of one workspace.
pub struct History {
    /// The state after the batches that are no longer kept; none if all are kept.
    pub base: Option<Arc<Snapshot>>,
    /// Archived batches, oldest first.
    pub runs: Vec<Arc<Run>>,
    /// Batches that are in the log only.
    pub tail: Tail,
    /// The oldest revision whose state can be read; batches after it can be read.
    pub floor: Revision,
}

/// The location of one batch.
pub enum BatchLocation {
    /// In an archived run.
    Run(Arc<Run>),
    /// In the log.
    Log(LogLocation),
    /// It was dropped, or does not exist yet.
    Missing,
}

impl History {
    /// A workspace without history.
    pub fn empty() -> Self {
        Self { base: None, runs: Vec::new(), tail: Tail::from(1), floor: Revision(0) }
    }

    /// The newest revision that is in a run or the base.
    pub fn archived(&self) -> Revision {
        let base = self.base.as_ref().map_or(0, |base| base.revision().0);
        Revision(self.runs.last().map_or(base, |run| run.last()))
    }

    /// The location of a batch. One before the floor can also be located, until it is folded into
    /// the base: an entry that has not changed since then is part of every later revision.
    pub fn find(&self, revision: Revision) -> BatchLocation {
        if let Some(location) = self.tail.find(revision) {
            return BatchLocation::Log(location);
        }
        let index = self.runs.partition_point(|run| run.last() < revision.0);
        match self.runs.get(index).filter(|run| run.first() <= revision.0) {
            Some(run) => BatchLocation::Run(Arc::clone(run)),
            None => BatchLocation::Missing,
        }
    }

    /// Adds a run that contains the oldest part of the tail.
    pub fn archive(&mut self, replaced: usize, run: Arc<Run>) {
        let last = Revision(run.last());
        self.runs.truncate(self.runs.len() - replaced);
        self.runs.push(run);
        self.tail.forget(last);
        self.check();
    }

    /// Asserts the first invariant of the module.
    pub fn check(&self) {
        let mut next = self.base.as_ref().map_or(0, |base| base.revision().0) + 1;
        for run in &self.runs {
            assert_eq!(run.first(), next, "runs follow each other");
            next = run.last() + 1;
        }
        assert_eq!(self.tail.first().0, next, "the tail follows the runs");
    }
}
