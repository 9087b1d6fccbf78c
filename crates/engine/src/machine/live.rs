//! Live requests in the machine: they are in memory beside the tables of a workspace, and answered
//! without a commit.
//!
//! ```text
//!   request ──▶ a call waits for messages: its wait ends, and it gets the request ──▶ answered
//!           └─▶ none does: the request waits for the next call for messages ────────▶ answered
//!   reply ────▶ the call of the requester ──────────────────────────────────────────▶ answered
//! ```
//!
//! The end of the receiver's wait is the only event, and nobody waits until it is durable. The same
//! lock is held while the wait is taken out of the tables and its caller gets the request, so
//! nothing else can be granted to it. Answers depend on the sessions, handlers and messages that
//! were read: they are held until the newest commit about those is durable, as it was before the
//! wait ended.
//!
//! Invariants:
//!
//! 1. A workspace with open live requests stays in memory: their callers are waiters like others.
//! 2. Whatever discards a workspace answers those callers as it answers other waiters.

use std::sync::Arc;

use baton_core::message::{Given, LiveEnded, LiveRequests};
use baton_core::{
    AgentId, Answer, Batch, LiveCall, LiveDelivery, MessageId, Mutation, Rejection, Reply, Request,
    Revision, Timestamp, WaitId, WorkspaceName,
};

use super::deadlines::move_deadline;
use super::{Held, Machine, Queued, Resident};
use crate::admission::{Admission, HeldAnswer};
use crate::waiter::Waiter;

/// The live requests of a workspace in memory.
#[derive(Default)]
pub(super) struct Live {
    /// Most workspaces have none.
    requests: Option<Box<LiveRequests>>,
    /// When the first of them times out, by the time of the workspace.
    deadline: Option<Timestamp>,
    /// The newest commit on which answers about them depend.
    basis: Revision,
    /// Agents that the last commit may have made able to receive one.
    ready: Vec<AgentId>,
}

/// What an answer about a live request shows: it opens with this group, and has this revision.
#[derive(Clone, Copy)]
struct Shown {
    group: u64,
    revision: Revision,
}

impl Shown {
    fn held(self, reply: Reply) -> HeldAnswer {
        Held::new(Ok(Answer { revision: self.revision, reply }), self.group)
    }
}

impl Live {
    /// Whether requests wait for an agent.
    fn has_waiting(&self) -> bool {
        self.requests.as_ref().is_some_and(|requests| requests.has_waiting())
    }
}

impl Resident {
    /// Whether a call may be about live requests.
    pub(super) fn may_be_live(&self, request: &Request) -> bool {
        self.live.has_waiting() || request.is_live()
    }

    /// When an answer about a live request may be shown. Asked before the tables are changed.
    fn live_shown(&self, durable: u64) -> Shown {
        let group = self.undurable(self.live.basis, durable);
        Shown { group, revision: self.revision_after(group.max(durable)) }
    }

    /// Notes what a commit means for live requests; returns those that it ends.
    fn follow_live(&mut self, batch: &Batch) -> Vec<LiveEnded> {
        let effects = self.space.follow_live(self.live.requests.as_deref_mut(), batch);
        if effects.is_seen {
            self.live.basis = batch.revision;
        }
        self.live.ready = effects.ready;
        effects.ended
    }

    /// The agents that wait for the reply to a live request are not silent.
    pub(super) fn hear_live(&mut self, local: Timestamp) {
        if let Some(requests) = &self.live.requests {
            self.space.hear_live(requests, local);
        }
    }

    /// Any agent that waits for messages may receive a live request: its tables were away.
    pub(super) fn look_for_live_receivers(&mut self) {
        if self.live.has_waiting() {
            let receivers = self.space.message.receivers().all();
            self.live.ready = receivers.map(|waiter| waiter.name.clone()).collect();
        }
    }
}

impl Machine {
    /// Handles a call that is about live requests; if it is not, it is returned to be committed.
    pub(super) fn submit_live(
        &mut self,
        workspace: &WorkspaceName,
        request: Request,
        agent: &AgentId,
        now: Timestamp,
    ) -> Result<Admission<Queued, Request>, Request> {
        let resident = self.residents.get_mut(workspace).expect("it was just asked");
        let (shown, local) = (resident.live_shown(self.durable), resident.local(now));
        let is_minimal = matches!(request.mutation, Mutation::Minimal(_));
        let requests = resident.live.requests.get_or_insert_default();
        let call = resident.space.live_call(requests, request, agent, local);
        Ok(match call {
            LiveCall::Commit(request) => return Err(request),
            LiveCall::Refused(rejection) => {
                let group = resident.undurable(resident.space.revision(), self.durable);
                Admission::Answer(Held::new(Err(rejection), group))
            }
            LiveCall::Received(reply) => {
                self.hear_at(workspace, agent, now);
                Admission::Answer(shown.held(reply))
            }
            LiveCall::Waits(wait, delivery) => {
                let waiter = resident.register(workspace, wait);
                self.hear_at(workspace, agent, now);
                self.move_live_deadline(workspace);
                if let Some(delivery) = delivery {
                    self.deliver_request(workspace, delivery, shown, now);
                }
                Admission::Wait(Queued { waiter, group: shown.group, is_urgent: true })
            }
            LiveCall::Replied(reply, ended) => {
                self.hear_at(workspace, agent, now);
                self.end_request(workspace, ended, shown, now);
                let held = shown.held(if is_minimal { reply.into_minimal() } else { reply });
                Admission::Answer(held)
            }
            LiveCall::RepliesAndReceives { request, answer, next } => {
                let admission = self.submit(workspace, next, agent, now);
                self.reply_after(workspace, (&request, answer), &admission, shown, now);
                admission
            }
        })
    }

    /// Gives a reply, if the call that follows it is accepted.
    fn reply_after(
        &mut self,
        workspace: &WorkspaceName,
        (request, answer): (&MessageId, Given),
        admission: &Admission<Queued, Request>,
        shown: Shown,
        now: Timestamp,
    ) {
        let is_accepted = match admission {
            Admission::Answer(held) => held.judge(Result::is_ok),
            Admission::Wait(_) => true,
            Admission::Retry(..) => unreachable!("the workspace could serve it a moment ago"),
        };
        let Some(resident) = self.residents.get_mut(workspace) else { return };
        let local = resident.local(now);
        let requests = resident.live.requests.as_mut().filter(|_| is_accepted);
        if let Some((ended, _)) = requests.and_then(|it| it.reply(request, answer, local)) {
            self.end_request(workspace, ended, shown, now);
        }
    }

    /// An agent made a call without a commit.
    fn hear_at(&mut self, workspace: &WorkspaceName, agent: &AgentId, now: Timestamp) {
        let resident = self.residents.get_mut(workspace).filter(|there| !there.is_away());
        if let Some(resident) = resident {
            resident.used_at = now;
            resident.hear(&mut self.deadlines, workspace, agent, now);
        }
    }

    /// Gives a request to a waiting call, whose wait ends.
    fn deliver_request(
        &mut self,
        workspace: &WorkspaceName,
        delivery: LiveDelivery,
        shown: Shown,
        now: Timestamp,
    ) {
        let LiveDelivery { wait, reply } = delivery;
        let Some(resident) = self.residents.get_mut(workspace) else { return };
        let waiter = resident.waiters.remove(&wait);
        self.give_up_wait(workspace, wait, now);
        // No caller waits for the record that the wait has ended.
        self.defer_write(now);
        if let Some(waiter) = waiter {
            self.answer_live(waiter, shown, Ok(reply));
        }
    }

    /// Answers the caller of a request that has ended.
    fn end_request(
        &mut self,
        workspace: &WorkspaceName,
        ended: LiveEnded,
        shown: Shown,
        now: Timestamp,
    ) {
        let LiveEnded { wait, requester, result } = ended;
        let Some(resident) = self.residents.get_mut(workspace) else { return };
        let waiter = resident.waiters.remove(&wait);
        self.hear_at(workspace, &requester, now);
        self.move_live_deadline(workspace);
        if let Some(waiter) = waiter {
            self.answer_live(waiter, shown, result.map(Into::into).map_err(Into::into));
        }
    }

    fn answer_live(&mut self, waiter: Arc<Waiter>, shown: Shown, result: Result<Reply, Rejection>) {
        let answer = result.map(|reply| Answer { revision: shown.revision, reply });
        let groups = [Some(&mut self.open), self.in_flight.as_mut()];
        let ended = match groups.into_iter().flatten().find(|it| it.number == shown.group) {
            Some(group) => &mut group.ended,
            None => &mut self.live_wakers.waiters,
        };
        ended.push((waiter, Ok(answer)));
    }

    /// Follows a commit that is added to the open group: the end of a session ends requests, and
    /// their callers are answered when it is durable.
    pub(super) fn follow_with_live(&mut self, workspace: &WorkspaceName, batch: &Batch) {
        let resident = self.residents.get_mut(workspace).expect("it has just decided");
        let ended = resident.follow_live(batch);
        if ended.is_empty() {
            return;
        }
        for LiveEnded { wait, result, .. } in ended {
            if let Some(waiter) = resident.waiters.remove(&wait) {
                let revision = batch.revision;
                let answer = result.map(|reply| Answer { revision, reply: reply.into() });
                self.open.ended.push((waiter, Ok(answer.map_err(Into::into))));
            }
        }
        self.move_live_deadline(workspace);
    }

    /// Delivers waiting requests to the agents that the last commit may have made able to receive
    /// them.
    pub(super) fn serve_live(&mut self, workspace: &WorkspaceName, now: Timestamp) {
        let Some(resident) = self.residents.get_mut(workspace) else { return };
        let ready = std::mem::take(&mut resident.live.ready);
        for agent in ready {
            while let Some((delivery, shown)) = self.next_delivery(workspace, &agent, now) {
                self.deliver_request(workspace, delivery, shown, now);
            }
        }
    }

    fn next_delivery(
        &mut self,
        workspace: &WorkspaceName,
        agent: &AgentId,
        now: Timestamp,
    ) -> Option<(LiveDelivery, Shown)> {
        let resident = self.residents.get_mut(workspace).filter(|there| !there.is_away())?;
        if !resident.live.has_waiting() {
            return None;
        }
        let (shown, local) = (resident.live_shown(self.durable), resident.local(now));
        let requests = resident.live.requests.as_mut()?;
        Some((resident.space.serve_live(requests, agent, local)?, shown))
    }

    /// Ends the requests of a workspace whose time is over.
    pub(super) fn expire_live(&mut self, workspace: &WorkspaceName, now: Timestamp) {
        let resident = self.residents.get_mut(workspace).filter(|there| !there.is_away());
        let Some(resident) = resident else { return };
        let (shown, local) = (resident.live_shown(self.durable), resident.local(now));
        let Some(requests) = &mut resident.live.requests else { return };
        for ended in requests.expire(local) {
            self.end_request(workspace, ended, shown, now);
        }
    }

    /// The caller of a live request has gone.
    pub(super) fn give_up_live(&mut self, workspace: &WorkspaceName, wait: WaitId, now: Timestamp) {
        let Some(resident) = self.residents.get_mut(workspace) else { return };
        let Some(requests) = &mut resident.live.requests else { return };
        if let Some(requester) = requests.give_up(wait) {
            self.hear_at(workspace, &requester, now);
            self.move_live_deadline(workspace);
        }
    }

    fn move_live_deadline(&mut self, workspace: &WorkspaceName) {
        let Some(resident) = self.residents.get_mut(workspace) else { return };
        let after = resident.live.requests.as_ref().and_then(|it| it.next_deadline());
        let ahead_ms = resident.ahead_ms;
        let before = &mut resident.live.deadline;
        move_deadline(&mut self.live_deadlines, workspace, before, after, ahead_ms);
    }

    /// A workspace leaves memory, and its live requests with it.
    pub(super) fn forget_live(&mut self, workspace: &WorkspaceName, resident: &mut Resident) {
        let (before, ahead_ms) = (&mut resident.live.deadline, resident.ahead_ms);
        move_deadline(&mut self.live_deadlines, workspace, before, None, ahead_ms);
    }
}
