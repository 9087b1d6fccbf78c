//! Requests in flight: everything that is ready is submitted, waited for once, and answered
//! together.

use std::collections::VecDeque;
use std::sync::Arc;

use baton::error::Error;
use baton::{Admission, Baton, Caller, Deferred, HeldAnswer, Waiting};
use baton_core::access::Viewer;
use baton_core::wire::FastCall;
use baton_core::{AgentId, Answer, Query, Request, WorkspaceName};

use crate::cluster::{ForkElsewhere, Listing};
use crate::large_answer::{is_large, is_large_written};
use crate::shared::Shared;

#[cfg(test)]
mod tests;

/// Requests that were submitted and are not answered yet, each with a mark that identifies it to
/// the caller.
pub(crate) struct InFlight<T> {
    waiting: VecDeque<(T, HeldAnswer)>,
}

impl<T> Default for InFlight<T> {
    fn default() -> Self {
        Self { waiting: VecDeque::new() }
    }
}

impl<T> InFlight<T> {
    /// Takes over the requests of another one, to be answered after its own.
    pub(crate) fn append(&mut self, other: &mut Self) {
        if self.is_empty() {
            std::mem::swap(&mut self.waiting, &mut other.waiting);
        } else {
            self.waiting.append(&mut other.waiting);
        }
    }

    /// The last group that a request in it waits for; 0 if none does.
    pub(crate) fn last_group(&self) -> u64 {
        self.waiting.iter().map(|(_, held)| held.group()).max().unwrap_or(0)
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Submits a request. If it is decided at once, it is in flight; if it waits, it is answered
    /// separately.
    pub(crate) fn submit(
        &mut self,
        baton: &Baton,
        workspace: &WorkspaceName,
        agent: &AgentId,
        request: Request,
        mark: T,
    ) -> Result<Admission<Waiting, Request, ()>, Error> {
        let admission = baton.submit(workspace, request, agent)?;
        Ok(admission.map_answer(|held| self.waiting.push_back((mark, held))))
    }

    /// Executes a call by the fast path; false if it does not apply, and then it had no effect.
    pub(crate) fn submit_fast(
        &mut self,
        baton: &Baton,
        workspace: &WorkspaceName,
        agent: &AgentId,
        call: &FastCall<'_>,
        mark: T,
    ) -> bool {
        let Some(held) = baton.fast_call(workspace, call, agent) else { return false };
        self.waiting.push_back((mark, held));
        true
    }

    /// Submits a query. An answer that takes long to encode is returned, to be answered separately.
    /// One about the past, or that takes long, waits: use [`query_deferred`].
    pub(crate) fn look_up(
        &mut self,
        baton: &Baton,
        workspace: &WorkspaceName,
        viewer: Viewer<'_>,
        query: &Query,
        mark: T,
    ) -> Result<Admission<Deferred, (), Option<HeldAnswer>>, Error> {
        let admission = baton.query(workspace, query, viewer)?;
        Ok(admission.map_answer(|held| {
            if held.judge(|answer| answer.as_ref().is_ok_and(is_large)) {
                return Some(held);
            }
            self.waiting.push_back((mark, held));
            None
        }))
    }

    /// Adds an answer that is not separate after all.
    pub(crate) fn add(&mut self, mark: T, held: HeldAnswer) {
        self.waiting.push_back((mark, held));
    }

    /// The next answer that needs no waiting.
    pub(crate) fn ready(&mut self) -> Option<(T, Result<Answer, Error>)> {
        if self.waiting.front()?.1.group() > 0 {
            return None;
        }
        let (mark, held) = self.waiting.pop_front()?;
        Some((mark, held.open(0).map_err(Error::Rejected)))
    }

    /// Waits until the outcome of all of them is known.
    pub(crate) async fn await_durable(&self, baton: &Baton) {
        let last = self.last_group();
        // Durability is checked per request: they may be in several groups, and one group may be
        // lost although a later one is durable.
        let _ = baton.wait_durable(last).await;
    }

    /// The next answer, after that.
    pub(crate) fn next(&mut self, baton: &Baton) -> Option<(T, Result<Answer, Error>)> {
        let next = self.known(baton);
        assert!(next.is_some() || self.is_empty(), "it was waited for");
        next
    }

    /// Whether the outcome of the next answer is known, and it takes long to encode.
    pub(crate) fn has_large(&self, baton: &Baton) -> bool {
        self.waiting.front().is_some_and(|(_, held)| {
            held.judge(|answer| answer.as_ref().is_ok_and(is_large_written))
                && baton.group_status(held.group()).is_some()
        })
    }

    /// The next answer, if its outcome is known.
    pub(crate) fn known(&mut self, baton: &Baton) -> Option<(T, Result<Answer, Error>)> {
        let fate = baton.group_status(self.waiting.front()?.1.group())?;
        let (mark, held) = self.waiting.pop_front()?;
        Some((mark, fate.and_then(|durable| held.open(durable).map_err(Error::Rejected))))
    }
}

/// Answers a query that is not answered at once: about the past, which is read from files, on
/// another thread; about the present, by a reader of the engine.
pub(crate) async fn query_deferred(
    shared: Arc<Shared>,
    caller: Caller,
    query: Query,
) -> Result<Answer, Error> {
    if !query.is_about_the_past() {
        return shared.baton.ask(&caller, query).await;
    }
    if let Some(listing) = Listing::of(&shared, &query) {
        return listing.answer().await;
    }
    let _permit = shared.past.acquire().await.expect("the places are never closed");
    if let Some(fork) = ForkElsewhere::of(&shared, &caller, &query) {
        return fork.answer().await;
    }
    let baton = shared.baton.clone();
    let runtime = tokio::runtime::Handle::current();
    let job = move || runtime.block_on(baton.ask(&caller, query));
    match tokio::task::spawn_blocking(job).await {
        Ok(answer) => answer,
        Err(error) => Err(Error::Storage { what: error.to_string() }),
    }
}
