//! The auditor: independent code that predicts what Baton must have done, and compares.
//!
//! ```text
//!   tap on the log ──▶ record ──▶ Ledger (one per workspace): every batch, every timeline
//!                                   ▲            ▲             ▲              ▲
//!                              answers      watchers      past reads      recovery
//! ```
//!
//! It has two sources only: the records that the log has acknowledged, and the answers that callers
//! got. It never calls a rule of the core; where it needs one, it has its own simpler one, so that
//! both would have to be wrong in the same way.
//!
//! | module | checks that |
//! |---|---|
//! | [`crate::models`] | a module for each primitive |
//! | `ledger` | versions, tokens, times and ends are valid in every batch |
//! | `explain` | a batch is all that was requested, and nothing else |
//! | `answers`, `refusals` | every answer and every refusal was correct when it was decided |
//! | `reads` | a read of the present shows a durable revision, exactly |
//! | `tokens` | a fencing token is shown to its holder and to operators only |
//! | `history` | reads of the past, history and differences equal the ledger |
//!
//! Deliberately absent: what an unacknowledged request should have done. Its outcome is read from
//! the log once, after the restart, and must not change afterwards.

pub mod answers;
pub mod engine_events;
pub mod explain;
pub mod history;
pub mod ledger;
mod minimal;
pub mod reads;
mod refusals;
pub mod timeline;
pub mod tokens;

use std::collections::BTreeMap;
use std::sync::Arc;

use baton::codec;
use baton_core::{Batch, Timestamp, WorkspaceName};

use crate::models::fork::Fork;
pub use ledger::Ledger;

use crate::coverage::Coverage;

/// A breach: something that must hold does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach(pub String);

/// Nothing, or a breach.
pub type Audit<T = ()> = Result<T, Breach>;

/// Returns a breach unless a condition holds.
macro_rules! demand {
    ($holds:expr, $($words:tt)+) => {
        if !$holds {
            return Err($crate::auditor::Breach(format!($($words)+)));
        }
    };
}
pub(crate) use demand;

/// Everything that is known to be durable.
#[derive(Default)]
pub struct Auditor {
    ledgers: BTreeMap<WorkspaceName, Ledger>,
    /// Workspaces that were forked from another; none where that is unknown.
    forks: BTreeMap<WorkspaceName, Option<Fork>>,
}

impl Auditor {
    /// A workspace's ledger.
    pub fn ledger(&mut self, workspace: &WorkspaceName) -> &mut Ledger {
        self.ledgers.entry(workspace.clone()).or_insert_with(|| Ledger::new(workspace))
    }

    /// All ledgers, by workspace.
    pub fn ledgers(&mut self) -> impl Iterator<Item = (&WorkspaceName, &mut Ledger)> {
        self.ledgers.iter_mut()
    }

    /// Adds a workspace that was forked from another.
    pub fn add_fork(&mut self, name: WorkspaceName, fork: Fork) {
        self.forks.insert(name, Some(fork));
    }

    /// Adds a name under which a fork may exist although it was not answered.
    pub fn maybe_forked(&mut self, name: &WorkspaceName) {
        self.forks.entry(name.clone()).or_default();
    }

    /// Whether there is, or may be, a fork of this name.
    pub fn is_fork(&self, name: &WorkspaceName) -> bool {
        self.forks.contains_key(name)
    }

    /// A fork whose content is known.
    pub fn fork(&self, name: &WorkspaceName) -> Option<&Fork> {
        self.forks.get(name)?.as_ref()
    }

    /// The same, to be changed.
    pub fn fork_mut(&mut self, name: &WorkspaceName) -> Option<&mut Fork> {
        self.forks.get_mut(name)?.as_mut()
    }

    /// The content of a fork is no longer known.
    pub fn unknown_fork(&mut self, name: &WorkspaceName) {
        self.forks.insert(name.clone(), None);
    }

    /// All forks whose content is known, by name.
    pub fn forks(&self) -> Vec<WorkspaceName> {
        let known = self.forks.iter().filter(|(_, fork)| fork.is_some());
        known.map(|(name, _)| name.clone()).collect()
    }

    /// Adds a record that the log has acknowledged. Returns its batches, except those of forks.
    pub fn record(
        &mut self,
        body: &[u8],
        coverage: &mut Coverage,
    ) -> Audit<Vec<(WorkspaceName, Arc<Batch>)>> {
        let mut batches = Vec::new();
        for (workspace, batch) in frames(body)? {
            let batch = Arc::new(batch);
            if let Some(fork) = self.forks.get_mut(&workspace) {
                fork.as_mut().map_or(Ok(()), |fork| fork.add(&batch))?;
                continue;
            }
            self.ledger(&workspace).add(Arc::clone(&batch), coverage)?;
            batches.push((workspace, batch));
        }
        Ok(batches)
    }

    /// A record that was found in the log. It must be known; otherwise it must be the one whose
    /// outcome was unknown, and then all of it.
    pub fn found(&mut self, body: &[u8]) -> Audit<bool> {
        let frames = frames(body)?;
        let known = |auditor: &mut Self, (workspace, batch): &(WorkspaceName, Batch)| {
            let known = match auditor.forks.get(workspace) {
                // Nothing is predicted about a fork whose content is unknown.
                Some(None) => return None,
                Some(Some(fork)) => fork.batch(batch.revision.0).cloned(),
                None => auditor.ledger(workspace).batch(batch.revision.0).cloned(),
            };
            Some(known.map(|known| *known == *batch))
        };
        let found: Vec<_> = frames.iter().filter_map(|frame| known(self, frame)).collect();
        demand!(!found.contains(&Some(false)), "the log holds another batch than was acknowledged");
        let all = found.iter().all(|known| *known == Some(true));
        let none = found.iter().all(Option::is_none);
        demand!(all || none, "the log holds a record of which only a part was acknowledged");
        Ok(all)
    }

    /// Time passes.
    pub fn tick(&mut self, now: Timestamp) {
        self.ledgers.values_mut().for_each(|ledger| ledger.tick(now));
    }

    /// The server has lost its memory.
    pub fn forgotten(&mut self, now: Timestamp) {
        self.ledgers.values_mut().for_each(|ledger| ledger.forgotten(now));
    }

    /// The server is up from this time on.
    pub fn server_up(&mut self, now: Timestamp) {
        self.ledgers.values_mut().for_each(|ledger| ledger.server_up(now));
    }
}

/// The batches of a record.
pub(crate) fn frames(body: &[u8]) -> Audit<Vec<(WorkspaceName, Batch)>> {
    let odd = |error: &dyn std::fmt::Display| Breach(format!("a record cannot be read: {error}"));
    let mut batches = Vec::new();
    for outline in codec::outlines(body) {
        let (offset, outline) = outline.map_err(|error| odd(&error))?;
        let workspace = WorkspaceName::parse(outline.workspace).map_err(|error| odd(&error))?;
        let batch = codec::decode(&body[offset as usize..]).map_err(|error| odd(&error))?;
        batches.push((workspace, batch));
    }
    Ok(batches)
}
