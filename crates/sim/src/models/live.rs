//! Live requests, according to what their callers and receivers were told: the log knows nothing of
//! them.
//!
//! Laws:
//!
//! 1. A live request is delivered once at most, to an agent that handles it, before its time is
//!    over and while its caller waits.
//! 2. Only that agent replies, once and in time, and the caller gets that very reply.
//! 3. The end of a wait for messages without a reason was the delivery of a live request.
//! 4. Nothing of a request or a reply is in any file.
//! 5. What was not answered when a server loses its memory is never answered.

use std::collections::{BTreeMap, BTreeSet};

use baton_core::message::{Command, Given, Message, Rejection, Reply, Request, Respond, Status};
use baton_core::wait::{Reply as WaitReply, Work};
use baton_core::{
    AgentId, Answer, Command as AnyCommand, MessageId, Mutation, Rejection as AnyRejection,
    Reply as AnyReply, Request as AnyRequest, Timestamp,
};

use crate::auditor::answers::DecidedRequest;
use crate::auditor::ledger::Ledger;
use crate::auditor::{Audit, Breach, demand};
use crate::coverage::Coverage;

/// The prefix of every body of a live request and of its reply, which occurs nowhere else.
pub const MARK: &str = "lively-";

/// A live request.
struct Asked {
    requester: AgentId,
    request: Request,
    deadline: Timestamp,
    /// The agent that received it, and the revision at which it was shown.
    receiver: Option<(AgentId, u64)>,
    reply: Option<(AgentId, Given)>,
    /// Its caller was answered, or has gone, at this time.
    over_at: Option<Timestamp>,
}

/// The live requests of a workspace since the server has its memory.
#[derive(Default)]
pub struct LiveModel {
    /// By body: each is different.
    asked: BTreeMap<String, Asked>,
    bodies: BTreeMap<MessageId, String>,
    /// Waiting calls that received a live request, and whose end is not in the log yet.
    answered: BTreeSet<u64>,
    /// Waiting calls that ended without a reason in the log.
    unexplained: BTreeMap<u64, u64>,
}

impl LiveModel {
    /// The server has lost its memory.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// A waiting call ended without a reason. Whether a live request may have been it.
    pub fn may_explain(&mut self, wait: u64, revision: u64) -> bool {
        if !self.answered.remove(&wait) {
            self.unexplained.insert(wait, revision);
        }
        !self.asked.is_empty()
    }

    /// A waiting call has received a live request.
    pub fn explains(&mut self, wait: u64) {
        if self.unexplained.remove(&wait).is_none() {
            self.answered.insert(wait);
        }
    }

    /// The caller of a waiting call has gone: what it received is not known.
    pub fn gone(&mut self, wait: u64) {
        self.unexplained.remove(&wait);
    }

    /// Every answer that was given has been seen.
    pub fn check_explained(&self) -> Audit {
        let first = self.unexplained.iter().next();
        demand!(first.is_none(), "call {first:?} was given up, and received nothing");
        Ok(())
    }
}

/// A live request that is sent.
pub fn live_request(request: &AnyRequest) -> Option<&Request> {
    match request.mutation.executed() {
        Mutation::Command(AnyCommand::Message(Command::Request(asked))) if asked.is_live() => {
            Some(asked)
        }
        _ => None,
    }
}

/// A reply to a live request that is sent.
pub fn live_reply(request: &AnyRequest) -> Option<&Respond> {
    match request.mutation.executed() {
        Mutation::Command(AnyCommand::Message(Command::Reply(respond)))
            if respond.request.is_live() =>
        {
            Some(respond)
        }
        _ => None,
    }
}

/// What the log may contain of a request: of the reply to a live request only that its caller waits
/// for the next message.
pub fn recorded(request: &AnyRequest) -> AnyRequest {
    let receive = live_reply(request).and_then(Respond::receive);
    let Some(receive) = receive else { return request.clone() };
    let mutation = Mutation::Command(Command::Receive(receive).into());
    let is_minimal = matches!(request.mutation, Mutation::Minimal(_));
    let mutation = if is_minimal { mutation.into_minimal() } else { mutation };
    AnyRequest { mutation, idempotency_key: request.idempotency_key.clone() }
}

/// The live request that an answer contains.
pub fn received(answer: &Result<Answer, AnyRejection>) -> Option<&Message> {
    let message = match &answer.as_ref().ok()?.reply {
        AnyReply::Message(Reply::Received { messages }) => messages.first()?,
        AnyReply::Wait(WaitReply::Next(Some(Work::Message(message)))) => message,
        _ => return None,
    };
    (message.keep == Some(false)).then_some(message)
}

/// Checks that nothing of a live request occurs in what is stored.
pub fn check_unwritten(what: &str, seen: &[u8]) -> Audit {
    let occurs = seen.windows(MARK.len()).any(|part| part == MARK.as_bytes());
    demand!(!occurs, "a live request or its reply occurs in {what}");
    Ok(())
}

fn text(body: &baton_core::Json) -> String {
    String::from_utf8_lossy(body.as_bytes()).into_owned()
}

impl Ledger {
    /// A live request was accepted.
    pub(crate) fn live_asked(&mut self, agent: &AgentId, request: &Request, now: Timestamp) {
        let deadline = now.after(request.timeout_ms.unwrap_or(30_000));
        let (requester, receiver, reply, over_at) = (agent.clone(), None, None, None);
        let request = request.clone();
        let body = text(&request.body);
        let asked = Asked { requester, request, deadline, receiver, reply, over_at };
        self.waits.live.asked.insert(body, asked);
    }

    /// An agent received a live request.
    pub(crate) fn live_received(
        &mut self,
        message: &Message,
        receiver: &AgentId,
        revision: u64,
        coverage: &mut Coverage,
    ) -> Audit {
        demand!(revision <= self.head(), "revision {revision} is shown, and is not durable");
        let body = text(&message.body);
        let Some(asked) = self.waits.live.asked.get(&body) else {
            return Err(Breach(format!("nobody sent {message:?}")));
        };
        let address = asked.request.to.clone();
        demand!(asked.requester == message.from, "`{}` did not send it", message.from);
        demand!(message.to == *receiver, "`{receiver}` received {message:?}");
        demand!(message.status == Status::Delivered, "{message:?} was received");
        demand!(asked.receiver.is_none(), "{message:?} was received before: {:?}", asked.receiver);
        let moment = message.delivered_at.unwrap_or_default();
        demand!(moment < asked.deadline, "{message:?} was received too late");
        let is_gone = asked.over_at.is_some_and(|over| moment > over);
        demand!(!is_gone, "{message:?} was received after its end at {:?}", asked.over_at);
        let handles = self.handles(&address, receiver, revision);
        demand!(handles, "`{receiver}` does not handle {message:?} at revision {revision}");
        coverage.met("live: delivered");
        if let Some(asked) = self.waits.live.asked.get_mut(&body) {
            asked.receiver = Some((receiver.clone(), revision));
        }
        self.waits.live.bodies.insert(message.id.clone(), body);
        Ok(())
    }

    /// A reply to a live request was accepted.
    pub(crate) fn live_replied(
        &mut self,
        respond: &Respond,
        agent: &AgentId,
        (now, may_repeat): (Timestamp, bool),
    ) -> Audit {
        let LiveModel { asked, bodies, .. } = &mut self.waits.live;
        let body = bodies.get(&respond.request);
        let Some(asked) = body.and_then(|body| asked.get_mut(body)) else {
            // The wait after an earlier reply is found by its key.
            if may_repeat {
                return Ok(());
            }
            return Err(Breach(format!("`{agent}` has answered what it cannot know: {respond:?}")));
        };
        let owner = asked.receiver.as_ref().map(|(owner, _)| owner);
        demand!(owner == Some(agent), "`{agent}` has answered for {owner:?}");
        let given = Given { body: respond.body.clone(), error: respond.error.clone() };
        if may_repeat && asked.reply.as_ref().is_some_and(|(_, reply)| *reply == given) {
            return Ok(());
        }
        demand!(asked.reply.is_none(), "{respond:?} is the second answer");
        demand!(now < asked.deadline, "{respond:?} was accepted too late");
        asked.reply = Some((agent.clone(), given));
        Ok(())
    }

    /// The caller of a live request has gone.
    pub(crate) fn live_gone(&mut self, request: &Request, now: Timestamp) {
        if let Some(asked) = self.waits.live.asked.get_mut(&text(&request.body)) {
            asked.over_at = Some(now);
        }
    }

    /// The caller of a live request is answered.
    pub(crate) fn live_ended(
        &mut self,
        request: &Request,
        outcome: &Result<Answer, AnyRejection>,
        now: Timestamp,
        coverage: &mut Coverage,
    ) -> Audit {
        let Some(asked) = self.waits.live.asked.get(&text(&request.body)) else {
            return Err(Breach(format!("{request:?} was lost, and is answered: {outcome:?}")));
        };
        demand!(asked.over_at.is_none(), "{request:?} is answered again: {outcome:?}");
        let reply = outcome.as_ref().map(|answer| &answer.reply);
        match reply {
            Ok(AnyReply::Message(Reply::Replied(answered))) => {
                coverage.met("live: answered");
                let given = Given { body: Some(answered.body.clone()), error: None };
                self.live_answered(asked, &answered.request, (&answered.from, given))?;
            }
            Err(AnyRejection::Message(Rejection::HandlerFailed(failed))) => {
                let given = Given { body: None, error: Some(failed.error.clone()) };
                self.live_answered(asked, &failed.request, (&failed.handler, given))?;
            }
            Err(AnyRejection::Message(Rejection::TimedOut { .. })) => {
                coverage.met("live: timed out");
                demand!(asked.reply.is_none(), "{request:?} was answered in time");
                demand!(now >= asked.deadline, "{request:?} had time until {}", asked.deadline);
            }
            Err(AnyRejection::Message(Rejection::HandlerLost { .. })) => {
                coverage.met("live: its handler was lost");
                demand!(asked.reply.is_none(), "{request:?} was answered before");
                self.live_lost(asked)?;
            }
            _ => return Err(Breach(format!("{request:?} is answered with {outcome:?}"))),
        }
        self.live_gone(request, now);
        Ok(())
    }

    fn live_answered(
        &self,
        asked: &Asked,
        id: &MessageId,
        (from, given): (&AgentId, Given),
    ) -> Audit {
        let body = text(&asked.request.body);
        demand!(self.waits.live.bodies.get(id) == Some(&body), "`{id}` is not {:?}", asked.request);
        let due = asked.reply.as_ref();
        let is_it = due.is_some_and(|(agent, reply)| agent == from && *reply == given);
        demand!(is_it, "{:?} was answered with {due:?}, and not with {given:?}", asked.request);
        Ok(())
    }

    /// The session of its receiver must have ended since.
    fn live_lost(&self, asked: &Asked) -> Audit {
        let Some((receiver, at)) = &asked.receiver else { return Ok(()) };
        let token = |at| {
            let session = self.session(receiver, at).filter(|session| session.active);
            session.map(|session| session.token)
        };
        let (then, now) = (token(*at), token(self.head()));
        demand!(then != now, "the session of `{receiver}` has not ended: {then:?}");
        Ok(())
    }

    /// Checks a refusal that only live requests cause.
    pub(crate) fn refused_live(
        asked: &DecidedRequest<'_>,
        rejection: &Rejection,
        coverage: &mut Coverage,
    ) -> Audit {
        if let Rejection::LiveOver { request } = rejection {
            coverage.met("live: answered too late");
            demand!(request.is_live(), "`{request}` is not a live request");
            return Ok(());
        }
        let is_alone = asked.request.mutation.commands().len() == 1;
        let has_key = asked.request.idempotency_key.is_some();
        demand!(has_key || !is_alone, "a live request was sent alone, without a key");
        Ok(())
    }
}
