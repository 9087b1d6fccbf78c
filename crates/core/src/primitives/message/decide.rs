//! The rules of messages, one function per command.

use super::refusals::Rejection;
use super::table::Table;
use super::vocabulary::{Command, Event, Query, Reply, Signal};
use crate::limits;
use crate::message::requests::{self, answered};
use crate::message::{Handler, List, Message, Status, mail};
use crate::names::{AgentId, HandlerName, MessageId};
use crate::numbers::WaitId;
use crate::page::{self, Selection};
use crate::primitive::{self, Rules};
use crate::refusal::has_room;
use crate::space::stamp::Stamp;
use crate::space::{Happening, ReplyPlan, Space, TablesView};
use crate::time::Timestamp;
use crate::waiting::wait::Left;

/// The table of agents, as far as messages read it.
pub trait View {
    /// When the session of an agent started, if it has one.
    fn session_since(&self, agent: &AgentId) -> Option<Timestamp>;
    /// The agents with a session that have this capability.
    fn capable(&self, capability: &str) -> Vec<AgentId>;
    /// The capabilities of an agent with a session.
    fn capabilities(&self, agent: &AgentId) -> Vec<String>;
}

/// The outcome of a command.
pub(crate) type Decided = primitive::Decided<Event>;

/// The message, as it is after the events.
pub(super) fn message(id: MessageId) -> ReplyPlan {
    ReplyPlan::after(move |space| Reply::Message(Box::new(found(&space.message, &id))))
}

/// The received messages, as they are after the events.
pub(super) fn received(ids: Vec<MessageId>) -> ReplyPlan {
    ReplyPlan::after(move |space| {
        let messages = ids.iter().map(|id| found(&space.message, id)).collect();
        Reply::Received { messages }
    })
}

fn found(table: &Table, id: &MessageId) -> Message {
    Message::clone(table.get(id).expect("only known messages are answered with"))
}

impl Rules for Table {
    type Command = Command;
    type Signal = Signal;
    type Query = Query;
    type Reply = Reply;
    type Rejection = Rejection;

    fn decide(
        space: &Space,
        command: Command,
        stamp: &Stamp,
        happening: &mut Happening<'_>,
    ) -> Result<ReplyPlan, Rejection> {
        Ok(happening.take(decide(&space.message, &TablesView::of(space), command, stamp)?))
    }

    fn expire(space: &Space, stamp: &Stamp) -> Vec<Event> {
        let table = &space.message;
        let now = stamp.now;
        // Waits first: a call that timed out must not receive anything.
        let waits = table.receivers().overdue(now).map(|waiter| Event::GaveUp {
            wait: waiter.wait.id,
            receiver: waiter.wait.agent.clone(),
            left: Left::Timeout,
            message: None,
        });
        // Mail that is due again may go to a call whose answer has to be stored, and all must fit
        // into a batch.
        let mut bytes = 0;
        let messages = table.store().due(now).take_while(|message| {
            bytes += message.bytes();
            bytes == message.bytes() || bytes <= limits::READY_BYTES_MAX
        });
        let messages = messages.map(|message| mail::overdue(table, message, now));
        waits.chain(messages).take(limits::EXPIRIES_PER_BATCH_MAX).collect()
    }

    fn give_up(space: &Space, wait: WaitId) -> Vec<Event> {
        let table = &space.message;
        let receiver = table.receivers().get(wait).map(|waiter| (&waiter.wait, None));
        let requester = table.requesters().get(wait);
        let requester = requester.map(|waiter| (&waiter.wait, Some(waiter.name.clone())));
        let event = receiver.or(requester).map(|(waiter, message)| Event::GaveUp {
            wait,
            receiver: waiter.agent.clone(),
            left: Left::Gone,
            message,
        });
        event.into_iter().collect()
    }

    fn let_go(space: &Space, agent: &AgentId, _stamp: &Stamp) -> Vec<Event> {
        let_go(&space.message, &TablesView::of(space), agent)
    }

    fn handle(space: &Space, signal: Signal, stamp: &Stamp) -> Result<Vec<Event>, Rejection> {
        let Signal::Deliver { to } = signal;
        Ok(mail::deliver(&space.message, &to, stamp))
    }

    fn query(space: &Space, query: &Query) -> Option<Result<Reply, Rejection>> {
        Some(self::query(&space.message, query))
    }

    fn ending(space: &Space, event: &Event) -> Result<Reply, Rejection> {
        ending(&space.message, event)
    }
}

/// Decides a command against the current table.
pub(crate) fn decide(
    table: &Table,
    view: &impl View,
    command: Command,
    stamp: &Stamp,
) -> Result<Decided, Rejection> {
    match command {
        Command::Send(send) => mail::send(table, send, stamp),
        Command::Request(request) => requests::request(table, view, request, stamp),
        Command::Reply(respond) => requests::reply(table, view, respond, stamp),
        Command::Receive(receive) => mail::receive(table, view, &receive, stamp),
        Command::Ack(ack) => mail::ack(table, ack, stamp),
        Command::Requeue { message } => mail::requeue(table, message, stamp),
        Command::Register { handler } => register(table, view, handler, stamp),
        Command::Remove { handler } => remove(table, handler, stamp),
    }
}

fn register(
    table: &Table,
    view: &impl View,
    handler: HandlerName,
    stamp: &Stamp,
) -> Result<Decided, Rejection> {
    let caller = stamp.agent.clone();
    if view.session_since(&caller).is_none() {
        return Err(Rejection::NoSession { caller });
    }
    let registered = (handler.clone(), caller.clone());
    let plan = ReplyPlan::after(move |space| {
        let found = space.message.registry().handler(&registered.0, &registered.1);
        Reply::Handler(found.expect("it was just registered").clone())
    });
    if table.registry().handler(&handler, &caller).is_some() {
        return Ok(Decided::new(Vec::new(), plan));
    }
    has_room([
        (
            "handlers of this agent",
            table.registry().of_agent(&caller).count(),
            limits::HANDLERS_PER_AGENT_MAX,
        ),
        (
            "agents that answer for this handler",
            table.registry().of(&handler).take(limits::HANDLERS_PER_NAME_MAX).count(),
            limits::HANDLERS_PER_NAME_MAX,
        ),
    ])?;
    Ok(Decided::new(vec![Event::HandlerAdded { handler, holder: caller }], plan))
}

fn remove(table: &Table, handler: HandlerName, stamp: &Stamp) -> Result<Decided, Rejection> {
    let caller = stamp.agent.clone();
    let Some(found) = table.registry().handler(&handler, &caller).cloned() else {
        return Err(Rejection::NoSuchHandler { handler, caller });
    };
    let removed = Event::HandlerRemoved { handler, holder: caller };
    Ok(Decided::reply(vec![removed], Reply::Handler(found)))
}

/// Its unacknowledged mail is delivered again when due; only requests cannot wait for that.
fn let_go(table: &Table, view: &impl View, agent: &AgentId) -> Vec<Event> {
    let waits = table.receivers().of_agent(agent).map(|waiter| Event::GaveUp {
        wait: waiter.wait.id,
        receiver: agent.clone(),
        left: Left::SessionEnded,
        message: None,
    });
    let holder = agent.clone();
    let gone = table.registry().of_agent(agent).next().map(|_| Event::HandlersGone { holder });
    let requests = table.store().requests(agent);
    let passed_on = requests::passed_on(table, view, requests, agent);
    waits.chain(gone).chain(passed_on).collect()
}

/// The result of the waiting call that this event ends.
pub fn ending(table: &Table, event: &Event) -> Result<Reply, Rejection> {
    match event {
        Event::Delivered { message, .. } => {
            let message = table.get(message).expect("it was just delivered");
            Ok(Reply::Received { messages: vec![Message::clone(message)] })
        }
        Event::Replied { message, .. } => {
            answered(table.get(message).expect("it was just answered"))
        }
        Event::TimedOut { message, to, .. } => {
            Err(Rejection::TimedOut { request: message.clone(), handler: to.clone() })
        }
        Event::Lost { message, to, .. } => {
            Err(Rejection::HandlerLost { request: message.clone(), handler: to.clone() })
        }
        Event::GaveUp { left: Left::SessionEnded, receiver, .. } => {
            Err(Rejection::SessionEnded { agent: receiver.clone() })
        }
        Event::GaveUp {
            left: Left::Timeout | Left::Gone | Left::Elsewhere | Left::TooHeavy,
            ..
        }
        | Event::Sent(_)
        | Event::Returned { .. }
        | Event::Acked { .. }
        | Event::Died { .. }
        | Event::Expired { .. }
        | Event::Requeued { .. }
        | Event::Rerouted { .. }
        | Event::Rejoined { .. }
        | Event::Queued { .. }
        | Event::Polled { .. }
        | Event::HandlerAdded { .. }
        | Event::HandlerRemoved { .. }
        | Event::HandlersGone { .. } => Ok(Reply::Received { messages: Vec::new() }),
    }
}

/// Answers a query.
pub fn query(table: &Table, query: &Query) -> Result<Reply, Rejection> {
    match query {
        Query::Get { message } => {
            let found = mail::known(table, message)?;
            Ok(Reply::Message(Box::new(found.clone())))
        }
        Query::List(query) => list(table, query),
        Query::Handlers { handler, limit, cursor } => {
            handlers(table, handler.as_ref(), *limit, cursor.as_deref())
        }
    }
}

fn list(table: &Table, query: &List) -> Result<Reply, Rejection> {
    let List { agent, status, thread, limit, cursor } = query;
    let limit = page::limit(*limit)?;
    let wanted = |message: &Message| {
        status.is_none_or(|status: Status| message.status == status)
            && thread.as_ref().is_none_or(|thread| message.thread == *thread)
    };
    let candidates = table.store().after(agent.as_ref(), cursor.as_ref());
    let shown = |message: &Message| (message.clone(), message.bytes());
    let selection = Selection { candidates, is_wanted: wanted, limit };
    let (messages, cursor) = selection.first(shown, |message| message.id.clone());
    Ok(Reply::Messages { messages, cursor })
}

fn handlers(
    table: &Table,
    handler: Option<&HandlerName>,
    limit: Option<u64>,
    cursor: Option<&str>,
) -> Result<Reply, Rejection> {
    let limit = page::limit(limit)?;
    let is_after = |found: &&Handler| {
        let Some((name, agent)) = cursor.and_then(|cursor| cursor.split_once('/')) else {
            return true;
        };
        (found.handler.as_str(), found.agent.as_str()) > (name, agent)
    };
    let is_wanted = |found: &&Handler| handler.is_none_or(|name| found.handler == *name);
    let found = table.registry().handlers().filter(is_wanted).filter(is_after);
    let (handlers, cursor) =
        page::first(found.cloned(), limit, |last| format!("{}/{}", last.handler, last.agent));
    Ok(Reply::Handlers { handlers, cursor })
}
