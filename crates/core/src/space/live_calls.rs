//! Calls that are about live requests: they are no commits.
//!
//! ```text
//!   call ──▶ about a live request? ──no──▶ commit
//!                    │ yes
//!                    └──▶ the table of live requests, which is beside the space
//! ```
//!
//! The space is only read: which agents have sessions, are registered for handlers and wait for
//! messages. A waiting call to which a request is delivered has to be ended by the signal for a
//! caller that has gone, since no event says that it was answered.

use super::{Batch, Happening, Space, TablesView};
use crate::agent;
use crate::command::{Command, Mutation, Request};
use crate::event::Event;
use crate::message::{self, Given, LiveEnded, LiveHanded, LiveRequests, Message};
use crate::names::{AgentId, IdempotencyKey, MessageId};
use crate::numbers::{Token, WaitId};
use crate::policy;
use crate::primitive::Rules;
use crate::rejection::Rejection;
use crate::reply::Reply;
use crate::space::CommitEffort;
use crate::space::stamp::Stamp;
use crate::time::Timestamp;
use crate::wait::{self, WorkKind, as_next};
use crate::waiting::wait::Step;

/// What a call is for live requests.
#[derive(Debug)]
pub enum LiveCall {
    /// Nothing: it is to be committed.
    Commit(Request),
    /// It is refused.
    Refused(Rejection),
    /// It received a live request.
    Received(Reply),
    /// It is a live request, and waits. A waiting call may get it.
    Waits(WaitId, Option<LiveDelivery>),
    /// It has replied, and another call is answered.
    Replied(Reply, LiveEnded),
    /// It replies and receives: `next` is to be committed first, and if that is not refused the
    /// reply is given by [`LiveRequests::reply`].
    RepliesAndReceives {
        /// The live request.
        request: MessageId,
        /// The reply.
        answer: Given,
        /// What receives the next message.
        next: Request,
    },
}

/// A live request for a waiting call, which has to be ended.
#[derive(Debug)]
pub struct LiveDelivery {
    /// The waiting call.
    pub wait: WaitId,
    /// Its answer.
    pub reply: Reply,
}

/// The effects of a commit on live requests.
#[derive(Debug, Default)]
pub struct LiveEffects {
    /// Requests that ended with it.
    pub ended: Vec<LiveEnded>,
    /// Agents that may receive waiting requests since then.
    pub ready: Vec<AgentId>,
    /// Whether an answer about a live request after this commit must not be shown before the commit
    /// is durable.
    pub is_seen: bool,
}

impl Space {
    /// Handles a call, if it is about live requests.
    pub fn live_call(
        &self,
        live: &mut LiveRequests,
        request: Request,
        agent: &AgentId,
        now: Timestamp,
    ) -> LiveCall {
        match request.mutation.single() {
            Some(Command::Message(message::Command::Request(asked))) if asked.is_live() => {
                self.live_request(live, request, agent, now)
            }
            Some(Command::Message(message::Command::Reply(respond)))
                if respond.request.is_live() =>
            {
                self.live_reply(live, request, agent, now)
            }
            Some(command) if live.has_waiting() && receives(command) => {
                self.live_receive(live, request, agent, now)
            }
            Some(_) | None => LiveCall::Commit(request),
        }
    }

    fn live_request(
        &self,
        live: &mut LiveRequests,
        request: Request,
        agent: &AgentId,
        now: Timestamp,
    ) -> LiveCall {
        let Request { mutation, idempotency_key } = request;
        let stamp = self.stamp(agent, now, idempotency_key, true);
        let checked = self.check_fence(mutation.fence(), agent);
        let Some(Command::Message(message::Command::Request(asked))) = mutation.into_single()
        else {
            unreachable!("it is a request")
        };
        let command = Command::Message(message::Command::Request(asked.clone()));
        if let Err(rejection) = checked.and_then(|()| self.check_artifact_refs(&command)) {
            return LiveCall::Refused(rejection);
        }
        match live.request(&self.message, &TablesView::of(self), asked, &stamp) {
            Ok((wait, handed)) => LiveCall::Waits(wait, handed.map(|it| self.delivery(it))),
            Err(rejection) => LiveCall::Refused(rejection.into()),
        }
    }

    fn live_reply(
        &self,
        live: &mut LiveRequests,
        mut request: Request,
        agent: &AgentId,
        now: Timestamp,
    ) -> LiveCall {
        let command = request.mutation.single_mut().expect("it is one command");
        let Command::Message(message::Command::Reply(respond)) = command else {
            unreachable!("it is a reply")
        };
        let respond = respond.clone();
        let receive = respond.receive().map(message::Command::Receive);
        if let Some(receive) = &receive {
            *command = receive.clone().into();
            // A caller that was disconnected while it waited for the next message asks again.
            if self.knows(agent, request.idempotency_key.as_ref()) {
                return LiveCall::Commit(request);
            }
        }
        let stamp = self.stamp(agent, now, None, true);
        let checked = self.check_fence(request.mutation.fence(), agent);
        let checked = checked.and_then(|()| Ok(live.check_reply(&respond, &stamp)?));
        let replies = Command::Message(message::Command::Reply(respond.clone()));
        if let Err(rejection) = checked.and_then(|()| self.check_artifact_refs(&replies)) {
            return LiveCall::Refused(rejection);
        }
        let message::Respond { request: id, body, error, .. } = respond;
        let answer = Given { body, error };
        if receive.is_some() {
            return LiveCall::RepliesAndReceives { request: id, answer, next: request };
        }
        let (ended, message) = live.reply(&id, answer, stamp.now).expect("it was just checked");
        LiveCall::Replied(message::Reply::Message(Box::new(message)).into(), ended)
    }

    /// A live request is received by a call that would otherwise wait, or find nothing.
    fn live_receive(
        &self,
        live: &mut LiveRequests,
        request: Request,
        agent: &AgentId,
        now: Timestamp,
    ) -> LiveCall {
        let (stamp, view) = (self.stamp(agent, now, None, true), TablesView::of(self));
        let is_for = live.is_for(&self.message, &view, &stamp);
        if !is_for || self.knows(agent, request.idempotency_key.as_ref()) {
            return LiveCall::Commit(request);
        }
        let command = request.mutation.single().expect("it is one command").clone();
        let is_next = matches!(command, Command::Wait(_));
        let fence = request.mutation.fence();
        // What is refused is refused in the words of a commit.
        let finds_nothing =
            self.check_fence(fence, agent).is_ok() && self.finds_nothing(command, &stamp);
        if !finds_nothing {
            return LiveCall::Commit(request);
        }
        match live.receive(&self.message, &view, &stamp) {
            Some(message) => LiveCall::Received(received(message, is_next)),
            None => LiveCall::Commit(request),
        }
    }

    /// Whether a call for messages would wait, or be answered with nothing.
    fn finds_nothing(&self, command: Command, stamp: &Stamp) -> bool {
        let (mut events, mut unwritten, effort) = (Vec::new(), Vec::new(), CommitEffort::default());
        let happening =
            &mut Happening { events: &mut events, live: &mut unwritten, effort: &effort };
        let is_accepted = match command {
            Command::Message(command) => {
                message::Table::decide(self, command, stamp, happening).is_ok()
            }
            Command::Wait(command) => wait::Table::decide(self, command, stamp, happening).is_ok(),
            _ => false,
        };
        is_accepted && events.iter().all(Event::is_about_waiting)
    }

    /// Whether a request with this key was made before, and is answered as before.
    fn knows(&self, agent: &AgentId, key: Option<&IdempotencyKey>) -> bool {
        key.is_some_and(|key| {
            self.receipts.find(agent, key).is_some() || self.keyed_waits.find(agent, key).is_some()
        })
    }

    fn delivery(&self, handed: LiveHanded) -> LiveDelivery {
        let LiveHanded { wait, message } = handed;
        let is_next = policy::is_in_several_queues(self, wait);
        LiveDelivery { wait, reply: received(message, is_next) }
    }

    /// Delivers a waiting live request to a waiting call of an agent, if there are both.
    pub fn serve_live(
        &self,
        live: &mut LiveRequests,
        agent: &AgentId,
        now: Timestamp,
    ) -> Option<LiveDelivery> {
        let now = now.max(self.time);
        let handed = live.serve(&self.message, &TablesView::of(self), agent, now)?;
        Some(self.delivery(handed))
    }

    /// Follows a commit. The space is as it is afterwards.
    pub fn follow_live(&self, live: Option<&mut LiveRequests>, batch: &Batch) -> LiveEffects {
        let mut effects = LiveEffects { is_seen: is_seen(batch), ..LiveEffects::default() };
        let Some(live) = live.filter(|live| !live.is_empty()) else { return effects };
        let mut is_fewer = false;
        for event in &batch.events {
            match event {
                Event::Agent(agent::Event::Joined { agent, replaces, .. }) => {
                    if replaces.is_some() {
                        effects.ended.append(&mut live.let_go(agent));
                        is_fewer = true;
                    }
                    effects.ready.push(agent.clone());
                }
                Event::Agent(agent::Event::Left { agent } | agent::Event::Lost { agent, .. }) => {
                    effects.ended.append(&mut live.let_go(agent));
                    is_fewer = true;
                }
                Event::Message(
                    message::Event::HandlerRemoved { .. } | message::Event::HandlersGone { .. },
                ) => is_fewer = true,
                Event::Message(
                    message::Event::HandlerAdded { holder: agent, .. }
                    | message::Event::Queued { receiver: agent, .. },
                ) => effects.ready.push(agent.clone()),
                _ => {}
            }
        }
        if is_fewer {
            let mut lost = live.reroute(&self.message, &TablesView::of(self));
            effects.ended.append(&mut lost);
        }
        effects
    }

    /// Asserts that no call waits for a live request that waits for it.
    #[cfg(test)]
    pub(crate) fn check_live(&self, live: &LiveRequests, now: Timestamp) {
        live.check_served(&self.message, &TablesView::of(self), now);
    }

    /// The agents that wait for the reply to a live request are not silent, see
    /// `hear_waiting`.
    pub fn hear_live(&mut self, live: &LiveRequests, now: Timestamp) {
        let now = now.max(self.time);
        let waiting = self.agent.silent(now).filter(|agent| live.has_requester(agent));
        let waiting: Vec<AgentId> = waiting.cloned().collect();
        for agent in waiting {
            self.agent.hear(&agent, now);
        }
    }
}

/// Whether answers about live requests depend on a commit. They depend on sessions, handlers and
/// messages, and on what a call has done before it began to wait; but not on the record that it
/// waits, since nobody relies on that.
fn is_seen(batch: &Batch) -> bool {
    let (mut begins, mut does) = (false, false);
    for event in &batch.events {
        begins |= matches!(event.wait(), Some(Step::Begins(_)));
        match event {
            Event::Agent(agent::Event::Seen { .. }) | Event::Awaited(_) => {}
            Event::Agent(_) => return true,
            event if event.is_about_waiting() => {}
            Event::Message(_) => return true,
            _ => does = true,
        }
    }
    begins && does
}

fn receives(command: &Command) -> bool {
    match command {
        Command::Message(message::Command::Receive(_)) => true,
        Command::Wait(wait::Command::Next(next)) => next.wants(WorkKind::Message),
        _ => false,
    }
}

/// The answer to a call that receives a live request.
fn received(message: Message, is_next: bool) -> Reply {
    let reply = message::Reply::Received { messages: vec![message] }.into();
    if is_next { as_next(reply) } else { reply }
}

impl Request {
    /// Whether it is a live request, or the reply to one.
    pub fn is_live(&self) -> bool {
        match self.mutation.single() {
            Some(Command::Message(message::Command::Request(asked))) => asked.is_live(),
            Some(Command::Message(message::Command::Reply(respond))) => respond.request.is_live(),
            Some(_) | None => false,
        }
    }
}

impl Mutation {
    /// Whether it is recorded if it is accepted: a live request is not.
    pub fn is_kept(&self) -> bool {
        let command = self.single();
        !matches!(
            command,
            Some(Command::Message(message::Command::Request(asked))) if asked.is_live()
        )
    }

    /// Its command, if it is one.
    fn single(&self) -> Option<&Command> {
        match self {
            Self::Command(command) => Some(command),
            Self::Fenced { command, .. } => Some(command),
            Self::Minimal(mutation) => mutation.single(),
            Self::Transaction { .. } => None,
        }
    }

    fn single_mut(&mut self) -> Option<&mut Command> {
        match self {
            Self::Command(command) => Some(command),
            Self::Fenced { command, .. } => Some(command),
            Self::Minimal(mutation) => mutation.single_mut(),
            Self::Transaction { .. } => None,
        }
    }

    fn into_single(self) -> Option<Command> {
        match self {
            Self::Command(command) => Some(command),
            Self::Fenced { command, .. } => Some(*command),
            Self::Minimal(mutation) => mutation.into_single(),
            Self::Transaction { .. } => None,
        }
    }

    /// The token that must be live.
    fn fence(&self) -> Option<Token> {
        match self {
            Self::Fenced { token, .. } => Some(*token),
            Self::Minimal(mutation) => mutation.fence(),
            Self::Command(_) | Self::Transaction { .. } => None,
        }
    }
}
