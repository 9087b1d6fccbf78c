//! The table of messages.

use std::sync::Arc;

use super::vocabulary::{Event, Sent};
use crate::message::{
    Asked, Facts, Handler, HandlerRegistry, Listener, Message, MessageStore, Replaced, Status,
};
use crate::names::{AgentId, HandlerName, MessageId};
use crate::numbers::{Revision, WaitId};
use crate::primitive::{self, Forgotten};
use crate::space::batch::Moment;
use crate::time::Timestamp;
use crate::waiting::wait::Wait;
use crate::waiting::wait_queue::{WaitQueues, Waiter};

/// All messages of a workspace, the calls that wait for one, and the handlers. Changes only by
/// `Table::evolve`, `Table::undo` and `Table::trim`.
#[derive(Default)]
pub struct Table {
    store: MessageStore,
    registry: HandlerRegistry,
    receivers: WaitQueues<AgentId>,
    requesters: WaitQueues<MessageId>,
    // How many messages the last sending revision has sent: their ids are numbered.
    latest: (Revision, usize),
}

/// How to undo one change.
#[derive(Default)]
pub struct Undo {
    message: Option<(MessageId, Option<Arc<Message>>)>,
    receiver: Option<(WaitId, Option<Waiter<AgentId>>)>,
    requester: Option<(WaitId, Option<Waiter<MessageId>>)>,
    listener: Replaced<AgentId, Listener>,
    handlers: Vec<((HandlerName, AgentId), Option<Handler>)>,
    latest: (Revision, usize),
    turns: u64,
}

impl primitive::Table for Table {
    type Event = Event;
    type Undo = Undo;
    type Facts = Facts;

    fn evolve(&mut self, event: &Event, moment: &Moment<'_>) -> Undo {
        let mut undo =
            Undo { latest: self.latest, turns: self.registry.turns(), ..Undo::default() };
        self.evolve_desks(event, moment, &mut undo);
        self.evolve_waits(event, moment, &mut undo);
        if let Some((_, id)) = event.message() {
            let after = match self.store.get(id) {
                Some(before) => changed(before, event, moment),
                None => {
                    let is_next = self.latest.0 == moment.revision;
                    let number = if is_next { self.latest.1 + 1 } else { 1 };
                    self.latest = (moment.revision, number);
                    sent(event, moment)
                }
            };
            undo.message = Some((id.clone(), self.store.replace(id, Some(Arc::new(after)))));
        }
        undo
    }

    fn undo(&mut self, undo: Undo) {
        let Undo { message, receiver, requester, listener, handlers, latest, turns } = undo;
        if let Some((id, before)) = message {
            self.store.replace(&id, before);
        }
        if let Some((id, before)) = receiver {
            self.receivers.replace(id, before);
        }
        if let Some((id, before)) = requester {
            self.requesters.replace(id, before);
        }
        for ((handler, agent), before) in handlers {
            self.registry.replace_handler(&handler, &agent, before);
        }
        if let Some((agent, before)) = listener {
            self.registry.replace_listener(&agent, before);
        }
        self.registry.set_turns(turns);
        self.latest = latest;
    }

    fn facts(&self) -> Facts {
        Facts {
            records: self.store.all().map(Arc::clone).collect(),
            receivers: self.receivers.all().cloned().collect(),
            requesters: self.requesters.all().cloned().collect(),
            handlers: self.registry.handlers().cloned().collect(),
            listeners: self.registry.listeners().map(|(agent, it)| (agent.clone(), *it)).collect(),
            turns: self.registry.turns(),
        }
    }

    fn restore(facts: Facts) -> Self {
        let mut table = Self::default();
        for message in facts.records {
            table.store.replace(&message.id.clone(), Some(message));
        }
        for waiter in facts.receivers {
            table.receivers.replace(waiter.wait.id, Some(waiter));
        }
        for waiter in facts.requesters {
            table.requesters.replace(waiter.wait.id, Some(waiter));
        }
        for handler in facts.handlers {
            let (name, agent) = (handler.handler.clone(), handler.agent.clone());
            table.registry.replace_handler(&name, &agent, Some(handler));
        }
        for (agent, listener) in facts.listeners {
            table.registry.replace_listener(&agent, Some(listener));
        }
        table.registry.set_turns(facts.turns);
        table
    }

    fn check(&self) {
        self.store.check();
        self.registry.check();
        self.receivers.check();
        self.requesters.check();
        for waiter in self.receivers.all() {
            let mail = self.next_for(&waiter.name, waiter.wait.since);
            assert!(mail.is_none(), "no call waits for available mail");
        }
        for waiter in self.requesters.all() {
            let request = self.get(&waiter.name).expect("an open request is known");
            assert!(request.status.is_open(), "no call waits for the answer to an ended request");
        }
    }

    fn next_deadline(&self) -> Option<Timestamp> {
        // A call that waits for a reply waits as long as the request.
        [self.store.next_moment(), self.receivers.next_end()].into_iter().flatten().min()
    }

    fn wake(&mut self, moment: Timestamp) {
        self.store.wake(moment);
    }

    fn trim(&mut self) -> Vec<Forgotten> {
        self.registry.trim();
        self.store.trim().into_iter().map(Forgotten::Message).collect()
    }

    fn wait_ids(&self) -> impl Iterator<Item = WaitId> {
        let receivers = self.receivers.all().map(|waiter| waiter.wait.id);
        receivers.chain(self.requesters.all().map(|waiter| waiter.wait.id))
    }

    fn caller(&self, wait: WaitId) -> Option<&AgentId> {
        self.receivers.caller(wait).or_else(|| self.requesters.caller(wait))
    }

    fn has_caller(&self, agent: &AgentId) -> bool {
        self.receivers.has_caller(agent) || self.requesters.has_caller(agent)
    }
}

impl Table {
    fn evolve_desks(&mut self, event: &Event, moment: &Moment<'_>, undo: &mut Undo) {
        match event {
            Event::Queued { receiver, .. }
            | Event::Delivered { to: receiver, .. }
            | Event::Polled { receiver } => {
                let before = self.registry.listener(receiver).unwrap_or_default();
                let after = Listener { heard_at: moment.time, ..before };
                let before = self.registry.replace_listener(receiver, Some(after));
                undo.listener = Some((receiver.clone(), before));
            }
            Event::Sent(sent) if sent.request.is_some() => self.give_turn(&sent.to, undo),
            Event::Rerouted { next, .. } => self.give_turn(next, undo),
            Event::HandlerAdded { handler, holder } => {
                let (name, agent, since) = (handler.clone(), holder.clone(), moment.time);
                let after = Handler { handler: name.clone(), agent: agent.clone(), since };
                let before = self.registry.replace_handler(handler, holder, Some(after));
                undo.handlers.push(((name, agent), before));
            }
            Event::HandlerRemoved { handler, holder } => {
                let before = self.registry.replace_handler(handler, holder, None);
                undo.handlers.push(((handler.clone(), holder.clone()), before));
            }
            Event::HandlersGone { holder } => {
                let names: Vec<HandlerName> = self.registry.of_agent(holder).cloned().collect();
                for name in names {
                    let before = self.registry.replace_handler(&name, holder, None);
                    undo.handlers.push(((name, holder.clone()), before));
                }
            }
            Event::Sent(_)
            | Event::Returned { .. }
            | Event::Acked { .. }
            | Event::Died { .. }
            | Event::Expired { .. }
            | Event::Requeued { .. }
            | Event::Replied { .. }
            | Event::TimedOut { .. }
            | Event::Lost { .. }
            | Event::Rejoined { .. }
            | Event::GaveUp { .. } => {}
        }
    }

    /// Records that an agent was assigned a request.
    fn give_turn(&mut self, agent: &AgentId, undo: &mut Undo) {
        let turn = self.registry.turns() + 1;
        self.registry.set_turns(turn);
        let before = self.registry.listener(agent).unwrap_or_default();
        let before = self.registry.replace_listener(agent, Some(Listener { turn, ..before }));
        undo.listener = Some((agent.clone(), before));
    }

    fn evolve_waits(&mut self, event: &Event, moment: &Moment<'_>, undo: &mut Undo) {
        match event {
            Event::Queued { wait, receiver, until, redeliver_ms } => {
                let (agent, since, until) = (receiver.clone(), moment.time, *until);
                let there = Wait { id: *wait, agent, since, until };
                let waiter = Waiter::new(receiver.clone(), there, *redeliver_ms);
                undo.receiver = Some((*wait, self.receivers.replace(*wait, Some(waiter))));
            }
            Event::Delivered { wait: Some(wait), .. }
            | Event::GaveUp { wait, message: None, .. } => {
                undo.receiver = Some((*wait, self.receivers.replace(*wait, None)));
            }
            Event::Sent(sent) => {
                if let Some(asked) = &sent.request {
                    let (wait, until) = (asked.wait, asked.deadline);
                    let requester = moment.agent;
                    self.begin_wait(wait, &sent.message, requester, until, moment, undo);
                }
            }
            Event::Rejoined { message, requester, wait, .. } => {
                let asked = self.store.get(message).and_then(|it| it.request.as_ref());
                let until = asked.expect("only requests are repeated").deadline;
                self.begin_wait(*wait, message, requester, until, moment, undo);
            }
            Event::Replied { wait: Some(wait), .. }
            | Event::TimedOut { wait: Some(wait), .. }
            | Event::Lost { wait: Some(wait), .. }
            | Event::GaveUp { wait, message: Some(_), .. } => {
                undo.requester = Some((*wait, self.requesters.replace(*wait, None)));
            }
            Event::Delivered { wait: None, .. }
            | Event::Polled { .. }
            | Event::Replied { wait: None, .. }
            | Event::TimedOut { wait: None, .. }
            | Event::Lost { wait: None, .. }
            | Event::Returned { .. }
            | Event::Acked { .. }
            | Event::Died { .. }
            | Event::Expired { .. }
            | Event::Requeued { .. }
            | Event::Rerouted { .. }
            | Event::HandlerAdded { .. }
            | Event::HandlerRemoved { .. }
            | Event::HandlersGone { .. } => {}
        }
    }

    fn begin_wait(
        &mut self,
        wait: WaitId,
        message: &MessageId,
        requester: &AgentId,
        until: Timestamp,
        moment: &Moment<'_>,
        undo: &mut Undo,
    ) {
        let there = Wait { id: wait, agent: requester.clone(), since: moment.time, until };
        let waiter = Waiter::new(message.clone(), there, 0);
        undo.requester = Some((wait, self.requesters.replace(wait, Some(waiter))));
    }

    /// A message.
    pub fn get(&self, id: &MessageId) -> Option<&Arc<Message>> {
        self.store.get(id)
    }

    /// All messages.
    pub fn store(&self) -> &MessageStore {
        &self.store
    }

    /// The handlers of requests.
    pub fn registry(&self) -> &HandlerRegistry {
        &self.registry
    }

    /// The calls that wait for mail.
    pub fn receivers(&self) -> &WaitQueues<AgentId> {
        &self.receivers
    }

    /// The calls that wait for a reply.
    pub fn requesters(&self) -> &WaitQueues<MessageId> {
        &self.requesters
    }

    /// The oldest mail that can be delivered to an agent.
    pub fn next_for<'a>(&'a self, agent: &'a AgentId, now: Timestamp) -> Option<&'a Message> {
        let mut waiting = self.store.waiting(agent).filter(|message| !message.is_over(now));
        #[cfg(feature = "planted")]
        if crate::planted::is("message.newest_first") {
            return waiting.last();
        }
        waiting.next()
    }

    /// An unused id for a message that is sent by this revision.
    pub fn fresh_id(&self, revision: Revision) -> MessageId {
        let number = if self.latest.0 == revision { self.latest.1 + 1 } else { 1 };
        MessageId::of_revision(revision, number)
    }
}

/// The record of a new message.
fn sent(event: &Event, moment: &Moment<'_>) -> Message {
    let Event::Sent(sent) = event else { panic!("only a known message changes") };
    let Sent { message, to, body, holds: _, thread, reply_to, expires_at, traceparent, request } =
        sent.as_ref();
    let asked = |asked: &super::vocabulary::Requested| Asked {
        address: asked.address.clone(),
        deadline: asked.deadline,
        key: asked.key.clone(),
        answer: None,
    };
    Message {
        id: message.clone(),
        from: moment.agent.clone(),
        to: to.clone(),
        body: body.clone(),
        sent_at: moment.time,
        status: Status::Waiting,
        thread: thread.as_ref().unwrap_or(message).clone(),
        reply_to: reply_to.clone(),
        deliveries: 0,
        expires_at: *expires_at,
        traceparent: traceparent.clone(),
        redeliver_at: None,
        delivered_at: None,
        updated_at: moment.time,
        revision: moment.revision,
        ended_at: None,
        request: request.as_ref().map(|it| Box::new(asked(it))),
        keep: None,
    }
}

/// The record of a message after an event.
fn changed(before: &Message, event: &Event, moment: &Moment<'_>) -> Message {
    let (updated_at, revision) = (moment.time, moment.revision);
    let mut message = Message { redeliver_at: None, updated_at, revision, ..before.clone() };
    let status = match event {
        Event::Delivered { until, .. } => {
            message.deliveries += 1;
            message.delivered_at = Some(moment.time);
            message.redeliver_at = Some(*until);
            Status::Delivered
        }
        Event::Returned { .. } => Status::Waiting,
        Event::Requeued { .. } => {
            message.deliveries = 0;
            Status::Waiting
        }
        Event::Rerouted { next, .. } => {
            message.to = next.clone();
            Status::Waiting
        }
        Event::Replied { answer, .. } => {
            let asked = message.request.as_mut().expect("only requests are answered");
            asked.answer = Some(answer.clone());
            Status::Replied
        }
        Event::Acked { .. } => Status::Acked,
        Event::Died { .. } => Status::Dead,
        Event::Expired { .. } => Status::Expired,
        Event::TimedOut { .. } => Status::TimedOut,
        Event::Lost { .. } => Status::Lost,
        Event::Rejoined { .. } => {
            message.redeliver_at = before.redeliver_at;
            before.status
        }
        Event::Sent(_)
        | Event::Queued { .. }
        | Event::GaveUp { .. }
        | Event::Polled { .. }
        | Event::HandlerAdded { .. }
        | Event::HandlerRemoved { .. }
        | Event::HandlersGone { .. } => panic!("a message is sent once"),
    };
    message.status = status;
    message.ended_at = (!status.is_open()).then_some(moment.time);
    message
}
