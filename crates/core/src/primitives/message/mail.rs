//! The rules of sending, receiving and acknowledging.

use super::decide::{self, received};
use super::{Message, Status};
use crate::artifact::is_any_in;
use crate::limits;
use crate::message::{
    Ack, Decided, Event, Receive, Rejection, Reply, Send, Sent, Table, View, requests,
};
use crate::names::{AgentId, MessageId};
use crate::numbers::WaitId;
use crate::refusal::{bad, has_room, json_fits, within};
use crate::space::stamp::Stamp;
use crate::time::Timestamp;

/// One event, and the message to answer with.
pub(crate) fn decided(message: MessageId, event: Event) -> Decided {
    Decided::new(vec![event], decide::message(message))
}

/// A message that is known.
pub(crate) fn known<'a>(table: &'a Table, id: &MessageId) -> Result<&'a Message, Rejection> {
    let found = table.get(id).map(AsRef::as_ref);
    found.ok_or_else(|| Rejection::NotFound { message: id.clone() })
}

/// Whether another message is allowed in an inbox and in the workspace.
pub(crate) fn check_room(table: &Table, to: &AgentId) -> Result<(), Rejection> {
    let inbox = table.store().inbox(to);
    let (messages_max, bytes_max) = (limits::INBOX_MESSAGES_MAX, limits::INBOX_BYTES_MAX);
    if inbox.messages >= messages_max || inbox.bytes >= bytes_max {
        let (to, messages, bytes) = (to.clone(), inbox.messages, inbox.bytes);
        return Err(Rejection::InboxFull { to, messages, bytes, messages_max, bytes_max });
    }
    let open = table.store().open();
    Ok(has_room([
        ("messages in this workspace", open.messages, limits::MESSAGES_MAX),
        ("bytes of messages in this workspace", open.bytes, limits::MESSAGES_BYTES_MAX),
    ])?)
}

/// Sends a message.
pub(crate) fn send(table: &Table, command: Send, stamp: &Stamp) -> Result<Decided, Rejection> {
    let Send { to, body, thread, reply_to, ttl_ms, traceparent } = command;
    json_fits("body", Some(&body), limits::VALUE_BYTES_MAX)?;
    let range = (limits::TTL_MS_MIN, limits::TTL_MS_MAX);
    within("ttl_ms", ttl_ms, range.0, range)?;
    check_room(table, &to)?;
    let expires_at = ttl_ms.map(|ttl_ms| stamp.now.after(ttl_ms));
    // The message that it answers may have been forgotten; its id still identifies the
    // conversation.
    let answered = reply_to.as_ref().map(|id| match table.get(id) {
        Some(message) => message.thread.clone(),
        None => id.clone(),
    });
    let thread = thread.or(answered);
    let message = table.fresh_id(stamp.revision);
    let id = message.clone();
    let holds = is_any_in([&body]);
    let sent = Sent {
        message: id,
        to,
        body,
        holds,
        thread,
        reply_to,
        expires_at,
        traceparent,
        request: None,
    };
    Ok(decided(message, Event::Sent(Box::new(sent))))
}

/// Delivers the oldest mail to the caller, or queues the call.
pub(crate) fn receive(
    table: &Table,
    view: &impl View,
    command: &Receive,
    stamp: &Stamp,
) -> Result<Decided, Rejection> {
    receive_besides(table, view, command, None, stamp)
}

/// The same, without the message that the same command answers.
pub(crate) fn receive_besides(
    table: &Table,
    view: &impl View,
    command: &Receive,
    answered: Option<&MessageId>,
    stamp: &Stamp,
) -> Result<Decided, Rejection> {
    let Receive { agent, wait_ms, limit, redeliver_ms } = command;
    let receiver = own(agent.as_ref(), stamp)?;
    let wait_ms = within("wait_ms", *wait_ms, 0, (0, limits::WAIT_MS_MAX))?;
    let most = limits::RECEIVED_MAX as u64;
    let limit = within("limit", *limit, limits::PAGE_DEFAULT as u64, (1, most))?;
    let range = (limits::REDELIVER_MS_MIN, limits::REDELIVER_MS_MAX);
    let redeliver_ms = within("redeliver_ms", *redeliver_ms, limits::REDELIVER_MS_DEFAULT, range)?;
    let waits = table.receivers().of_agent(receiver).count();
    let what = "calls of this agent that wait for mail";
    has_room([(what, waits, limits::RECEIVES_PER_AGENT_MAX)])?;
    let mut bytes = 0;
    let waiting = table.store().waiting(receiver).filter(|message| !message.is_over(stamp.now));
    let waiting = waiting.filter(|message| answered != Some(&message.id));
    let waiting = waiting.take(usize::try_from(limit).expect("it is small"));
    let events = waiting.take_while(|message| {
        bytes += message.bytes();
        bytes == message.bytes() || bytes <= limits::PAGE_BYTES_MAX
    });
    let events: Vec<Event> =
        events.map(|message| delivered(message, redeliver_ms, None, stamp.now)).collect();
    if events.is_empty() && wait_ms > 0 {
        return queue(table, receiver, wait_ms, redeliver_ms, stamp);
    }
    let ids = events.iter().filter_map(Event::message).map(|(_, id)| id.clone()).collect();
    // The request is recorded once: from then on the agent can receive requests, although it does
    // not wait.
    let is_new = events.is_empty() && view.session_since(receiver).is_some();
    let polled = is_new && !requests::listens(table, view, receiver);
    let polled = polled.then(|| Event::Polled { receiver: receiver.clone() });
    let events = events.into_iter().chain(polled).collect();
    Ok(Decided::new(events, received(ids)))
}

fn queue(
    table: &Table,
    receiver: &AgentId,
    wait_ms: u64,
    redeliver_ms: u64,
    stamp: &Stamp,
) -> Result<Decided, Rejection> {
    let waits = table.receivers().all().len();
    has_room([("calls that wait for mail", waits, limits::WAITS_MAX)])?;
    let (wait, until) = (stamp.wait(), stamp.now.after(wait_ms));
    let queued = Event::Queued { wait, receiver: receiver.clone(), until, redeliver_ms };
    Ok(Decided::waits(queued))
}

/// The caller, which may also be named explicitly.
fn own<'a>(named: Option<&AgentId>, stamp: &'a Stamp) -> Result<&'a AgentId, Rejection> {
    match named {
        Some(owner) if *owner != stamp.agent => {
            Err(Rejection::NotYours { owner: owner.clone(), caller: stamp.agent.clone() })
        }
        Some(_) | None => Ok(&stamp.agent),
    }
}

/// A request is delivered once: its handler is monitored through its session.
fn delivered(message: &Message, redeliver_ms: u64, wait: Option<WaitId>, now: Timestamp) -> Event {
    let deadline = message.request.as_ref().map(|asked| asked.deadline);
    let until = deadline.unwrap_or_else(|| now.after(redeliver_ms));
    Event::Delivered { message: message.id.clone(), to: message.to.clone(), until, wait }
}

/// Delivers the oldest mail of an agent to its first waiting call.
pub(crate) fn deliver(table: &Table, to: &AgentId, stamp: &Stamp) -> Vec<Event> {
    let waiter = table.receivers().of(to).next();
    let message = table.next_for(to, stamp.now);
    let event = waiter.zip(message).map(|(waiter, message)| {
        delivered(message, waiter.ttl_ms, Some(waiter.wait.id), stamp.now)
    });
    event.into_iter().collect()
}

/// Acknowledges mail.
pub(crate) fn ack(table: &Table, command: Ack, stamp: &Stamp) -> Result<Decided, Rejection> {
    let Ack { agent, message, messages } = command;
    let caller = own(agent.as_ref(), stamp)?;
    let ids: Vec<MessageId> = message.into_iter().chain(messages).collect();
    if ids.is_empty() || ids.len() > limits::RECEIVED_MAX {
        let reason = format!("name 1 to {} of them, not {}", limits::RECEIVED_MAX, ids.len());
        return Err(bad("messages", reason).into());
    }
    let mut events: Vec<Event> = Vec::new();
    for id in &ids {
        let found = known(table, id)?;
        if found.to != *caller {
            let (owner, caller) = (found.to.clone(), caller.clone());
            return Err(Rejection::NotYours { owner, caller });
        }
        if found.request.is_some() && found.status.is_open() {
            return Err(wrong_status(found, "acknowledged: answer the request"));
        }
        // Acknowledging twice, or after the message has ended, is a no-op.
        let is_new = matches!(found.status, Status::Waiting | Status::Delivered | Status::Dead);
        let acked = Event::Acked { message: id.clone(), to: found.to.clone() };
        if is_new && !events.contains(&acked) {
            events.push(acked);
        }
    }
    #[cfg(feature = "planted")]
    if crate::planted::is("message.ack_forgotten") {
        events.clear();
    }
    Ok(Decided::reply(events, Reply::Acked { messages: ids }))
}

pub(crate) fn wrong_status(message: &Message, what: &'static str) -> Rejection {
    Rejection::WrongStatus { message: message.id.clone(), status: message.status, what }
}

/// Delivers a dead message again.
pub(crate) fn requeue(table: &Table, id: MessageId, stamp: &Stamp) -> Result<Decided, Rejection> {
    let message = known(table, &id)?;
    if message.to != stamp.agent {
        let (owner, caller) = (message.to.clone(), stamp.agent.clone());
        return Err(Rejection::NotYours { owner, caller });
    }
    if message.status != Status::Dead {
        return Err(wrong_status(message, "delivered again"));
    }
    check_room(table, &message.to)?;
    let to = message.to.clone();
    Ok(decided(id.clone(), Event::Requeued { message: id, to }))
}

/// The timed transition of a message that is due.
pub(crate) fn overdue(table: &Table, message: &Message, now: Timestamp) -> Event {
    let (id, to) = (message.id.clone(), message.to.clone());
    if message.request.is_some() {
        let wait = table.requesters().of(&id).next().map(|waiter| waiter.wait.id);
        return Event::TimedOut { message: id, to, wait };
    }
    if message.is_over(now) {
        return Event::Expired { message: id, to };
    }
    if message.deliveries >= limits::DELIVERIES_MAX {
        return Event::Died { message: id, to };
    }
    Event::Returned { message: id, to }
}
