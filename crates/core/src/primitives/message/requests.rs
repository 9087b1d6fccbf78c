//! The rules of requests and their replies.

use std::collections::BTreeMap;

use super::mail::{self, check_room, decided, known, wrong_status};
use super::{Address, Given, Message, Status};
use crate::artifact::is_any_in;
use crate::limits;
use crate::message::{
    Answered, Decided, Event, Failed, Receive, Rejection, Reply, Request, Requested, Respond, Sent,
    Table, View,
};
use crate::names::AgentId;
use crate::refusal::{bad, json_fits, within};
use crate::space::stamp::Stamp;

/// Sends a request to an agent that handles it, and lets the caller wait.
pub(crate) fn request(
    table: &Table,
    view: &impl View,
    command: Request,
    stamp: &Stamp,
) -> Result<Decided, Rejection> {
    if command.is_live() {
        // Live requests are no commands of a commit.
        let what = "it cannot be part of a transaction";
        return Err(Rejection::NotKept { what });
    }
    let timeout_ms = check_request(&command)?;
    let Request { to: address, body, traceparent, .. } = command;
    if let Some(decided) = repeated(table, &address, &body, stamp) {
        return decided;
    }
    let Some(to) = route(table, view, &address, None) else {
        return Err(Rejection::NoHandler { to: address });
    };
    check_room(table, &to)?;
    check_desk(table, &to)?;
    let message = table.fresh_id(stamp.revision);
    let (deadline, key) = (stamp.now.after(timeout_ms), stamp.key.clone());
    let request = Some(Requested { address, deadline, wait: stamp.wait(), key });
    let holds = is_any_in([&body]);
    let (thread, reply_to, expires_at) = (None, None, None);
    let sent =
        Sent { message, to, body, holds, thread, reply_to, expires_at, traceparent, request };
    Ok(Decided::waits(Event::Sent(Box::new(sent))))
}

/// Checks the fields of a request; returns how long its caller waits.
pub(crate) fn check_request(request: &Request) -> Result<u64, Rejection> {
    let Request { to: address, body, timeout_ms, .. } = request;
    let range = (1, limits::WAIT_MS_MAX);
    let timeout_ms = within("timeout_ms", *timeout_ms, limits::REQUEST_MS_DEFAULT, range)?;
    json_fits("body", Some(body), limits::REQUEST_BYTES_MAX)?;
    match address.problem() {
        Some(reason) => Err(bad("to", reason).into()),
        None => Ok(timeout_ms),
    }
}

/// The same request with the same key was sent before, and its caller was disconnected.
fn repeated(
    table: &Table,
    address: &Address,
    body: &crate::json::Json,
    stamp: &Stamp,
) -> Option<Result<Decided, Rejection>> {
    let key = stamp.key.as_ref()?;
    let message = table.store().keyed(&stamp.agent, key)?;
    let asked = message.request.as_ref()?;
    if asked.address != *address || message.body != *body {
        return None;
    }
    let too_late = || {
        let (request, handler) = (message.id.clone(), message.to.clone());
        Some(Err(Rejection::TimedOut { request, handler }))
    };
    match message.status {
        // The deadline counts before its expiry is recorded.
        Status::Waiting | Status::Delivered if asked.deadline <= stamp.now => too_late(),
        Status::Waiting | Status::Delivered => {
            let (id, to) = (message.id.clone(), message.to.clone());
            let (requester, wait) = (stamp.agent.clone(), stamp.wait());
            let event = Event::Rejoined { message: id, to, requester, wait };
            Some(Ok(Decided::waits(event)))
        }
        Status::Replied => Some(answered(message).map(|reply| Decided::reply(Vec::new(), reply))),
        Status::TimedOut => too_late(),
        Status::Dead | Status::Acked | Status::Expired | Status::Lost => None,
    }
}

/// The reply to the requester.
pub(crate) fn answered(message: &Message) -> Result<Reply, Rejection> {
    let given = message.request.as_ref().and_then(|asked| asked.answer.as_ref());
    let Given { body, error } = given.expect("it was answered");
    let (request, from) = (message.id.clone(), message.to.clone());
    match (body, error) {
        (_, Some(error)) => {
            let error = error.clone();
            Err(Rejection::HandlerFailed(Failed { request, handler: from, error }))
        }
        (Some(body), None) => Ok(Reply::Replied(Answered { request, body: body.clone(), from })),
        (None, None) => unreachable!("an answer has a body or an error"),
    }
}

/// How many requests of a lost agent are reassigned in one batch.
fn check_desk(table: &Table, to: &AgentId) -> Result<(), Rejection> {
    let (messages_max, bytes_max) =
        (limits::REQUESTS_PER_AGENT_MAX, limits::REQUESTS_BYTES_PER_AGENT_MAX);
    let inbox = table.store().inbox(to);
    if inbox.messages < messages_max && inbox.bytes < bytes_max {
        // Its requests are a part of what is open there.
        return Ok(());
    }
    let sizes = table.store().requests(to).map(Message::bytes);
    let (messages, bytes) = sizes.fold((0, 0), |(count, sum), bytes| (count + 1, sum + bytes));
    if messages >= messages_max || bytes >= bytes_max {
        let to = to.clone();
        return Err(Rejection::InboxFull { to, messages, bytes, messages_max, bytes_max });
    }
    Ok(())
}

/// The agent that gets the request: among its handlers, the one whose last request is longest ago.
pub(crate) fn route(
    table: &Table,
    view: &impl View,
    address: &Address,
    gone: Option<&AgentId>,
) -> Option<AgentId> {
    let is_there = |agent: &&AgentId| gone != Some(*agent);
    match address {
        Address::Agent(agent) => {
            Some(agent).filter(is_there).filter(|it| listens(table, view, it)).cloned()
        }
        Address::Handler { handler } => {
            let agents = table.registry().of(handler).map(|handler| &handler.agent);
            table.registry().next(agents.filter(is_there)).cloned()
        }
        Address::Capability { capability } => {
            let agents = view.capable(capability);
            let able = agents.iter().filter(is_there).filter(|it| listens(table, view, it));
            table.registry().next(able).cloned()
        }
    }
}

/// Whether an agent will see a request: it waits for mail, or has asked for it in this session, or
/// answers for some handler.
pub(crate) fn listens(table: &Table, view: &impl View, agent: &AgentId) -> bool {
    if table.receivers().of(agent).next().is_some() {
        return true;
    }
    let Some(since) = view.session_since(agent) else { return false };
    let heard = table.registry().listener(agent).map(|listener| listener.heard_at);
    heard.is_some_and(|moment| moment >= since) || table.registry().of_agent(agent).next().is_some()
}

/// Reassigns the requests of an agent that is gone. Each is passed to the next handler, and no
/// agent gets more of them than its limit.
pub(crate) fn passed_on<'a>(
    table: &'a Table,
    view: &impl View,
    requests: impl Iterator<Item = &'a Message>,
    gone: &AgentId,
) -> Vec<Event> {
    let mut given: BTreeMap<AgentId, usize> = BTreeMap::new();
    let passed = requests.map(|message| {
        let asked = message.request.as_ref().expect("these are requests");
        let next = route(table, view, &asked.address, Some(gone)).filter(|next| {
            let count = given.entry(next.clone()).or_default();
            *count += 1;
            let there = table.store().requests(next).count();
            there + *count <= limits::REQUESTS_PER_AGENT_MAX
        });
        let (id, to) = (message.id.clone(), message.to.clone());
        match next {
            Some(next) => Event::Rerouted { message: id, to, next },
            None => {
                let wait = table.requesters().of(&id).next().map(|waiter| waiter.wait.id);
                Event::Lost { message: id, to, wait }
            }
        }
    });
    passed.collect()
}

/// Checks the fields of a reply.
pub(crate) fn check_respond(respond: &Respond) -> Result<(), Rejection> {
    let Respond { body, error, wait_ms, redeliver_ms, .. } = respond;
    if wait_ms.is_none() && redeliver_ms.is_some() {
        return Err(bad("redeliver_ms", "give it with `wait_ms`").into());
    }
    if body.is_some() == error.is_some() {
        return Err(bad("body", "give either a body or an error").into());
    }
    for (field, json) in [("body", body), ("error", error)] {
        json_fits(field, json.as_ref(), limits::VALUE_BYTES_MAX)?;
    }
    Ok(())
}

/// Replies to a request, and optionally receives the next message.
pub(crate) fn reply(
    table: &Table,
    view: &impl View,
    command: Respond,
    stamp: &Stamp,
) -> Result<Decided, Rejection> {
    check_respond(&command)?;
    if command.request.is_live() {
        let what = "the reply to it cannot be part of a transaction";
        return Err(Rejection::NotKept { what });
    }
    let receive = command.receive();
    let Respond { request: id, body, error, .. } = command;
    let message = known(table, &id)?;
    let Some(asked) = &message.request else {
        return Err(wrong_status(message, "answered: it is not a request"));
    };
    if message.to != stamp.agent {
        let (owner, caller) = (message.to.clone(), stamp.agent.clone());
        return Err(Rejection::NotYours { owner, caller });
    }
    #[cfg(feature = "planted")]
    let is_late = asked.deadline <= stamp.now && !crate::planted::is("message.late_reply_counts");
    #[cfg(not(feature = "planted"))]
    let is_late = asked.deadline <= stamp.now;
    let (to, answer) = (message.to.clone(), Given { body, error });
    let next = |receive: &Receive| mail::receive_besides(table, view, receive, Some(&id), stamp);
    match message.status {
        // A caller that was disconnected while it waited for the next message asks again.
        Status::Replied => match &receive {
            Some(receive) if asked.answer.as_ref() == Some(&answer) => return next(receive),
            Some(_) | None => return Err(Rejection::AlreadyReplied { request: id }),
        },
        Status::Waiting | Status::Delivered if !is_late => {}
        status => return Err(Rejection::TooLate { request: id, status }),
    }
    let wait = table.requesters().of(&id).next().map(|waiter| waiter.wait.id);
    let holds = is_any_in(answer.body.iter().chain(&answer.error));
    let replied = Event::Replied { message: id.clone(), to, answer, holds, wait };
    let Some(receive) = receive else { return Ok(decided(id, replied)) };
    let mut received = next(&receive)?;
    received.events.insert(0, replied);
    Ok(received)
}
