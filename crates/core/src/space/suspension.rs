//! Commits, at once or in two parts: one whose reactions take long is suspended and finished later.
//!
//! ```text
//!   begin ──▶ decided, and few reactions ──▶ done
//!         └─▶ more work than allowed ──▶ suspended ──finish──▶ done
//! ```

use super::reactions::Reacting;
use super::stamp::Stamp;
use super::{CallOutcome, CommitBuilder, Committed, Space};
use crate::command::{Command, Mutation, Request};
use crate::names::AgentId;
use crate::primitive;
use crate::rejection::Rejection;
use crate::signal::Signal;
use crate::time::Timestamp;

/// How far a commit has come.
pub enum CommitProgress<O = CallOutcome> {
    /// It is complete.
    Done(Committed<O>),
    /// Its reactions take long: see [`Space::begin_commit`].
    Suspended(Box<Suspended<O>>),
}

impl<O> CommitProgress<O> {
    /// The same with another outcome.
    pub fn map<P>(self, map: impl FnOnce(O) -> P) -> CommitProgress<P> {
        match self {
            Self::Done(committed) => CommitProgress::Done(committed.map(map)),
            Self::Suspended(suspended) => {
                let Suspended { stamp, commit, outcome, reacting, is_done } = *suspended;
                let outcome = map(outcome);
                let suspended = Suspended { stamp, commit, outcome, reacting, is_done };
                CommitProgress::Suspended(Box::new(suspended))
            }
        }
    }
}

/// A commit whose reactions are not all done.
pub struct Suspended<O = CallOutcome> {
    pub(super) stamp: Stamp,
    pub(super) commit: CommitBuilder,
    pub(super) outcome: O,
    pub(super) reacting: Reacting,
    /// All reactions are done.
    pub(super) is_done: bool,
}

impl<O> Suspended<O> {
    /// The answer to the caller when it is complete.
    pub fn outcome(&self) -> &O {
        &self.outcome
    }

    /// How many events it has so far.
    #[cfg(test)]
    pub(crate) fn events(&self) -> usize {
        self.commit.events.len()
    }
}

impl CallOutcome {
    /// The same with the minimal form of its reply. A waiting call is answered in full: the awaited
    /// object is the answer.
    fn into_minimal(self) -> Self {
        match self {
            Self::Answered(answer) => Self::Answered(answer.into_minimal()),
            Self::Waits(wait) => Self::Waits(wait),
        }
    }
}

impl Space {
    /// Decides a request and applies its consequences, atomically.
    pub fn commit(
        &mut self,
        request: Request,
        agent: &AgentId,
        now: Timestamp,
    ) -> Result<Committed, Rejection> {
        match self.begin_commit(request, agent, now, usize::MAX)? {
            CommitProgress::Done(committed) => Ok(committed),
            CommitProgress::Suspended(suspended) => Ok(self.finish_commit(*suspended)),
        }
    }

    /// Decides a request and applies its consequences. If the reactions to it take more than this
    /// much work, the rest is left for [`Self::finish_commit`]: until then no other request of the
    /// workspace may be executed, since it is between two revisions.
    ///
    /// A unit of work is an event, also of a run that failed and was undone, a condition that was
    /// evaluated, 64 comparisons of an event with a reaction, or 4 KiB of an event that a condition
    /// may read or of a command that a reaction sends.
    pub fn begin_commit(
        &mut self,
        request: Request,
        agent: &AgentId,
        now: Timestamp,
        work_max: usize,
    ) -> Result<CommitProgress, Rejection> {
        let Request { mutation: Mutation::Minimal(mutation), idempotency_key } = request else {
            return self.begin_whole_commit(request, agent, now, work_max);
        };
        // The stored answer for a repetition is the complete one.
        let request = Request { mutation: *mutation, idempotency_key };
        let progress = self.begin_commit(request, agent, now, work_max)?;
        Ok(progress.map(CallOutcome::into_minimal))
    }

    fn begin_whole_commit(
        &mut self,
        request: Request,
        agent: &AgentId,
        now: Timestamp,
        work_max: usize,
    ) -> Result<CommitProgress, Rejection> {
        if !matches!(request.mutation, Mutation::Command(Command::Agent(_))) || !self.has_below() {
            return self.commit_with(request, agent, now, (true, work_max));
        }
        match self.commit_with(request.clone(), agent, now, (true, work_max)) {
            // All that is below does not fit into one commit.
            Err(Rejection::TooLarge { .. } | Rejection::PolicyRounds { .. }) => {
                self.commit_with(request, agent, now, (false, work_max))
            }
            done => done,
        }
    }

    /// Continues a commit of this workspace that was suspended, by about this much work. Returns
    /// whether all reactions are done: then it can be finished.
    pub fn continue_commit<O>(&mut self, suspended: &mut Suspended<O>, work: usize) -> bool {
        let Suspended { stamp, commit, reacting, is_done, .. } = suspended;
        *is_done = *is_done || self.react(reacting, work, stamp, commit);
        *is_done
    }

    /// Finishes a commit of this workspace that was suspended.
    pub fn finish_commit<O>(&mut self, suspended: Suspended<O>) -> Committed<O> {
        let mut suspended = suspended;
        let is_done = self.continue_commit(&mut suspended, usize::MAX);
        assert!(is_done, "the work of a commit is bounded");
        let Suspended { stamp, commit, outcome, reacting, .. } = suspended;
        self.finish(stamp, commit, (outcome, reacting.work()))
    }

    /// Handles signals and applies their consequences, atomically.
    pub fn signal(
        &mut self,
        signals: Vec<Signal>,
        now: Timestamp,
    ) -> Result<Committed<()>, Rejection> {
        match self.begin_signal(signals, now, usize::MAX)? {
            CommitProgress::Done(committed) => Ok(committed),
            CommitProgress::Suspended(suspended) => Ok(self.finish_commit(*suspended)),
        }
    }

    /// The same, unless it takes more than this much work: see [`Self::begin_commit`].
    pub fn begin_signal(
        &mut self,
        signals: Vec<Signal>,
        now: Timestamp,
        work_max: usize,
    ) -> Result<CommitProgress<()>, Rejection> {
        let may_end_sessions =
            matches!(signals[..], [Signal::Agent(_) | Signal::Task(primitive::Signal::Expire)]);
        if !may_end_sessions || !self.has_below() {
            return self.signal_with(signals, now, (true, work_max));
        }
        match self.signal_with(signals.clone(), now, (true, work_max)) {
            // The same as for a request.
            Err(Rejection::TooLarge { .. } | Rejection::PolicyRounds { .. }) => {
                self.signal_with(signals, now, (false, work_max))
            }
            done => done,
        }
    }
}
