//! Requests in flight: all that is ready is submitted, waited for once, and answered together.

use std::collections::VecDeque;
use std::sync::Arc;

use baton::machine::{Absent, Asked, Held};
use baton::{Baton, Error, Submitted, Waiting};
use baton_core::wire::FastCall;
use baton_core::{AgentId, Answer, Query, Rejection, Request, WorkspaceName};
use baton_handle::{Caller, Carrier};

use crate::shared::Shared;

#[cfg(test)]
mod tests;

/// Requests that were submitted and are not answered yet, each with the caller's mark for it.
pub(crate) struct InFlight<T> {
    waiting: VecDeque<(T, Held<Result<Answer, Rejection>>)>,
}

/// Why a request could not be submitted at once.
pub(crate) enum Stalled<R> {
    /// The workspace must be loaded first.
    Absent(R),
    /// The group is full; wait for it.
    Crowded(R, u64),
}

/// What became of a request.
pub(crate) enum SubmitOutcome<R> {
    /// It is in flight.
    InFlight,
    /// Something has to happen first.
    Stalled(Stalled<R>),
    /// It waits for another command, and is answered on its own.
    Waits(Waiting),
}

/// What became of a query.
pub(crate) enum LookUpOutcome {
    /// It is in flight.
    InFlight,
    /// It is about the past, which takes its time.
    Past,
    /// The workspace must be loaded first.
    Absent,
}

impl<T> Default for InFlight<T> {
    fn default() -> Self {
        Self { waiting: VecDeque::new() }
    }
}

impl<T> InFlight<T> {
    /// Takes over what another one has, to be answered after its own.
    pub(crate) fn append(&mut self, other: &mut Self) {
        if self.is_empty() {
            std::mem::swap(&mut self.waiting, &mut other.waiting);
        } else {
            self.waiting.append(&mut other.waiting);
        }
    }

    /// The last group that something in it waits for; 0 if nothing does.
    pub(crate) fn last_group(&self) -> u64 {
        self.waiting.iter().map(|(_, held)| held.group()).max().unwrap_or(0)
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Submits a request.
    pub(crate) fn submit(
        &mut self,
        baton: &Baton,
        workspace: &WorkspaceName,
        agent: &AgentId,
        request: Request,
        mark: T,
    ) -> Result<SubmitOutcome<(Request, T)>, Error> {
        Ok(match baton.submit(workspace, request, agent)? {
            Submitted::Held(held) => {
                self.waiting.push_back((mark, held));
                SubmitOutcome::InFlight
            }
            Submitted::Waits(waiting) => SubmitOutcome::Waits(waiting),
            Submitted::Absent(request) => SubmitOutcome::Stalled(Stalled::Absent((request, mark))),
            Submitted::Crowded(request, group) => {
                SubmitOutcome::Stalled(Stalled::Crowded((request, mark), group))
            }
        })
    }

    /// Does what is plain at once; false if it is not, and nothing has happened.
    pub(crate) fn do_plainly(
        &mut self,
        baton: &Baton,
        workspace: &WorkspaceName,
        agent: &AgentId,
        call: &FastCall<'_>,
        mark: T,
    ) -> bool {
        let held = match call {
            FastCall::Set(set) => baton.fast_set(workspace, set, agent),
            FastCall::Get { namespace, key } => baton.fast_get(workspace, namespace, key),
        };
        let Some(held) = held else { return false };
        self.waiting.push_back((mark, held));
        true
    }

    /// Submits a query.
    pub(crate) fn look_up(
        &mut self,
        baton: &Baton,
        workspace: &WorkspaceName,
        query: &Query,
        mark: T,
    ) -> Result<LookUpOutcome, Error> {
        match baton.query(workspace, query)? {
            Ok(Asked::Present(held)) => {
                self.waiting.push_back((mark, held));
                Ok(LookUpOutcome::InFlight)
            }
            Ok(Asked::Past(_)) => Ok(LookUpOutcome::Past),
            Err(Absent(())) => Ok(LookUpOutcome::Absent),
        }
    }

    /// The next answer, if it needs no waiting.
    pub(crate) fn ready(&mut self) -> Option<(T, Result<Answer, Error>)> {
        if self.waiting.front()?.1.group() > 0 {
            return None;
        }
        let (mark, held) = self.waiting.pop_front()?;
        Some((mark, held.open(0).map_err(Error::Rejected)))
    }

    /// Waits until the fate of all of it is known.
    pub(crate) async fn await_durable(&self, baton: &Baton) {
        let last = self.last_group();
        // Whether it is durable is asked for each request: they may lie in several groups, and one
        // may be lost though a later one is well.
        let _ = baton.wait_durable(last).await;
    }

    /// The next answer, after that.
    pub(crate) fn next(&mut self, baton: &Baton) -> Option<(T, Result<Answer, Error>)> {
        let next = self.known(baton);
        assert!(next.is_some() || self.is_empty(), "it was waited for");
        next
    }

    /// The next answer, if its fate is known.
    pub(crate) fn known(&mut self, baton: &Baton) -> Option<(T, Result<Answer, Error>)> {
        let fate = baton.group_status(self.waiting.front()?.1.group())?;
        let (mark, held) = self.waiting.pop_front()?;
        Some((mark, fate.and_then(|durable| held.open(durable).map_err(Error::Rejected))))
    }
}

/// Answers a query about the past, which is read from files, on another thread.
pub(crate) async fn query_past(
    shared: Arc<Shared>,
    caller: Caller,
    query: Query,
) -> Result<Answer, Error> {
    let _permit = shared.past.acquire().await.expect("the places are never closed");
    let baton = shared.baton.clone();
    let runtime = tokio::runtime::Handle::current();
    let job = move || runtime.block_on(baton.ask(&caller, query));
    match tokio::task::spawn_blocking(job).await {
        Ok(answer) => answer,
        Err(error) => Err(Error::Storage { what: error.to_string() }),
    }
}
