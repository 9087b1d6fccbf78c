//! Live requests: requests that are only in memory, and lost with it.
//!
//! ```text
//!   request ──▶ waiting ──▶ delivered ──▶ replied: its caller is answered
//!                  │            │
//!                  └────────────┴──▶ not answered in time, its handler is gone, its caller is gone
//! ```
//!
//! They are not facts: no event is about them, and no snapshot, no copy of a workspace and no
//! history contains them. What holds a space in memory may hold such a table beside it, and ends
//! the waits of receivers to which this delivers.
//!
//! A request that no agent can take at once waits for any of the agents that handle it, not for a
//! particular one: nothing has to move if one of them is gone.
//!
//! Invariants, checked by [`LiveRequests::check`]:
//!
//! 1. A request waits at its address, or one agent has to answer it.
//! 2. It is delivered once, and never after its end.
//! 3. It ends once: then it is forgotten.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use super::requests::{answered, check_request, check_respond, route};
use super::{Address, Asked, Given, Message, Status};
use crate::limits;
use crate::message::{Rejection, Reply, Request, Respond, Table, View};
use crate::names::{AgentId, MessageId};
use crate::numbers::{Revision, WaitId};
use crate::refusal::has_room;
use crate::space::stamp::Stamp;
use crate::time::Timestamp;

/// The open live requests of a workspace.
#[derive(Default)]
pub struct LiveRequests {
    /// By number, in order of arrival.
    requests: BTreeMap<u64, Message>,
    numbers: BTreeMap<MessageId, u64>,
    /// Those that no agent has received.
    waiting: BTreeSet<(Address, u64)>,
    /// Those that an agent has to answer.
    delivered: BTreeSet<(AgentId, u64)>,
    deadlines: BTreeSet<(Timestamp, u64)>,
    /// The agents that wait for a reply.
    requesters: BTreeSet<(AgentId, u64)>,
    bytes: usize,
    /// The last request that each agent received.
    turns: BTreeMap<AgentId, u64>,
    /// The number of the last request.
    last: u64,
    /// When the last request arrived, and how many did so in the same millisecond.
    latest: (Timestamp, usize),
}

/// A live request for a call that waits for messages.
#[derive(Debug)]
pub struct LiveHanded {
    /// The waiting call, which has to be ended.
    pub wait: WaitId,
    /// The request.
    pub message: Message,
}

/// A live request that has ended.
#[derive(Debug)]
pub struct LiveEnded {
    /// The call that waits for the reply.
    pub wait: WaitId,
    /// The agent that waits.
    pub requester: AgentId,
    /// Its answer.
    pub result: Result<Reply, Rejection>,
}

impl LiveRequests {
    /// Accepts a request. Its caller waits for the reply; if an agent waits for messages, it is
    /// delivered.
    pub(crate) fn request(
        &mut self,
        table: &Table,
        view: &impl View,
        command: Request,
        stamp: &Stamp,
    ) -> Result<(WaitId, Option<LiveHanded>), Rejection> {
        if stamp.key.is_some() {
            let what = "it has no idempotency key, because nothing is remembered";
            return Err(Rejection::NotKept { what });
        }
        let timeout_ms = check_request(&command)?;
        let Request { to: address, body, traceparent, .. } = command;
        let ready = self.ready(table, view, &address);
        let next = ready.clone().or_else(|| route(table, view, &address, None));
        let Some(to) = next else { return Err(Rejection::NoHandler { to: address }) };
        has_room([
            ("live requests", self.requests.len(), limits::LIVE_REQUESTS_MAX),
            ("bytes of live requests", self.bytes, limits::LIVE_REQUESTS_BYTES_MAX),
        ])?;
        let (id, now) = (self.fresh_id(stamp.now), stamp.now);
        let deadline = now.after(timeout_ms);
        let request = Asked { address: address.clone(), deadline, key: None, answer: None };
        let message = Message {
            id: id.clone(),
            from: stamp.agent.clone(),
            to,
            body,
            sent_at: now,
            status: Status::Waiting,
            thread: id.clone(),
            reply_to: None,
            deliveries: 0,
            expires_at: None,
            traceparent,
            redeliver_at: None,
            delivered_at: None,
            updated_at: now,
            revision: Revision(0),
            ended_at: None,
            request: Some(Box::new(request)),
            keep: Some(false),
        };
        self.last += 1;
        let number = self.last;
        self.bytes += message.bytes();
        self.numbers.insert(id, number);
        self.deadlines.insert((deadline, number));
        self.requesters.insert((stamp.agent.clone(), number));
        self.waiting.insert((address, number));
        self.requests.insert(number, message);
        let handed = ready.and_then(|agent| self.hand(table, number, &agent, now));
        Ok((WaitId::of_live(number), handed))
    }

    /// An unused id. A restart must not repeat an id that a handler still has, so it is made of the
    /// time.
    fn fresh_id(&mut self, now: Timestamp) -> MessageId {
        let (moment, count) = self.latest;
        self.latest = if moment == now { (now, count + 1) } else { (now, 1) };
        MessageId::of_live(now, self.latest.1)
    }

    /// The agent that can take a request to this address at once: among those that wait for
    /// messages, the one whose last live request is longest ago.
    fn ready(&self, table: &Table, view: &impl View, address: &Address) -> Option<AgentId> {
        let waits = |agent: &&AgentId| table.receivers().of(agent).next().is_some();
        let turn = |agent: &&AgentId| {
            (self.turns.get(*agent).copied().unwrap_or_default(), (*agent).clone())
        };
        match address {
            Address::Agent(agent) => Some(agent).filter(waits).cloned(),
            Address::Handler { handler } => {
                let agents = table.registry().of(handler).map(|handler| &handler.agent);
                agents.filter(waits).min_by_key(turn).cloned()
            }
            Address::Capability { capability } => {
                let agents = view.capable(capability);
                agents.iter().filter(waits).min_by_key(turn).cloned()
            }
        }
    }

    /// Gives a waiting request to the first waiting call of an agent.
    fn hand(
        &mut self,
        table: &Table,
        number: u64,
        agent: &AgentId,
        now: Timestamp,
    ) -> Option<LiveHanded> {
        let wait = table.receivers().of(agent).next()?.wait.id;
        Some(LiveHanded { wait, message: self.deliver(number, agent, now) })
    }

    /// An agent has to answer it from now on.
    fn deliver(&mut self, number: u64, agent: &AgentId, now: Timestamp) -> Message {
        let message = self.requests.get_mut(&number).expect("a waiting request is open");
        let asked = message.request.as_ref().expect("these are requests");
        let place = (asked.address.clone(), number);
        #[cfg(feature = "planted")]
        let is_left = crate::planted::is("message.live_twice");
        #[cfg(not(feature = "planted"))]
        let is_left = false;
        if !is_left {
            self.waiting.remove(&place);
        }
        self.delivered.remove(&(message.to.clone(), number));
        message.to = agent.clone();
        message.status = Status::Delivered;
        message.deliveries = 1;
        message.delivered_at = Some(now);
        message.updated_at = now;
        self.delivered.insert((agent.clone(), number));
        if self.turns.len() >= limits::LISTENERS_MAX {
            self.turns.clear();
        }
        self.turns.insert(agent.clone(), number);
        message.clone()
    }

    /// The oldest request that an agent may take: to itself, to one of its handlers, or to one of
    /// its capabilities.
    fn next_for(
        &self,
        table: &Table,
        view: &impl View,
        agent: &AgentId,
        now: Timestamp,
    ) -> Option<u64> {
        if self.waiting.is_empty() {
            return None;
        }
        let own = std::iter::once(Address::Agent(agent.clone()));
        let handlers = table.registry().of_agent(agent).cloned();
        let handlers = handlers.map(|handler| Address::Handler { handler });
        let capabilities = view.capabilities(agent).into_iter();
        let capabilities = capabilities.map(|capability| Address::Capability { capability });
        let first = |address: Address| {
            let there = self.waiting.range((address.clone(), 0)..);
            let mut there = there.take_while(|(it, _)| *it == address).map(|(_, number)| *number);
            there.find(|number| !self.requests[number].is_over(now))
        };
        own.chain(handlers).chain(capabilities).filter_map(first).min()
    }

    /// Whether an agent may take a request.
    pub(crate) fn is_for(&self, table: &Table, view: &impl View, stamp: &Stamp) -> bool {
        self.next_for(table, view, &stamp.agent, stamp.now).is_some()
    }

    /// Delivers a request to an agent that asks for messages and finds none.
    pub(crate) fn receive(
        &mut self,
        table: &Table,
        view: &impl View,
        stamp: &Stamp,
    ) -> Option<Message> {
        let number = self.next_for(table, view, &stamp.agent, stamp.now)?;
        Some(self.deliver(number, &stamp.agent, stamp.now))
    }

    /// Delivers a request to the first waiting call of an agent, if there is one for it.
    pub(crate) fn serve(
        &mut self,
        table: &Table,
        view: &impl View,
        agent: &AgentId,
        now: Timestamp,
    ) -> Option<LiveHanded> {
        table.receivers().of(agent).next()?;
        let number = self.next_for(table, view, agent, now)?;
        self.hand(table, number, agent, now)
    }

    /// Whether an agent may reply to a request.
    pub(crate) fn check_reply(&self, respond: &Respond, stamp: &Stamp) -> Result<(), Rejection> {
        check_respond(respond)?;
        let open = self.numbers.get(&respond.request).map(|number| &self.requests[number]);
        let open = open.filter(|message| message.status == Status::Delivered);
        let Some(message) = open.filter(|message| !message.is_over(stamp.now)) else {
            return Err(Rejection::LiveOver { request: respond.request.clone() });
        };
        if message.to != stamp.agent {
            let (owner, caller) = (message.to.clone(), stamp.agent.clone());
            return Err(Rejection::NotYours { owner, caller });
        }
        Ok(())
    }

    /// The reply to an open request, which ends it. Returns the request as it ends; none if it has
    /// ended before.
    pub fn reply(
        &mut self,
        request: &MessageId,
        answer: Given,
        now: Timestamp,
    ) -> Option<(LiveEnded, Message)> {
        let number = *self.numbers.get(request)?;
        let mut message = self.forget(number);
        message.status = Status::Replied;
        message.updated_at = now;
        message.ended_at = Some(now);
        message.request.as_mut().expect("these are requests").answer = Some(answer);
        Some((ended(number, &message, answered(&message)), message))
    }

    /// The caller of a request waits no longer. Returns the agent that did.
    pub fn give_up(&mut self, wait: WaitId) -> Option<AgentId> {
        let number = wait.live_number().filter(|number| self.requests.contains_key(number))?;
        Some(self.forget(number).from)
    }

    /// Ends the requests whose time is over.
    pub fn expire(&mut self, now: Timestamp) -> Vec<LiveEnded> {
        let over = self.deadlines.iter().take_while(|(moment, _)| *moment <= now);
        let over: Vec<u64> = over.map(|(_, number)| *number).collect();
        let ends = over.into_iter().map(|number| {
            let message = self.forget(number);
            let (request, handler) = (message.id.clone(), message.to.clone());
            ended(number, &message, Err(Rejection::TimedOut { request, handler }))
        });
        ends.collect()
    }

    /// The session of an agent has ended: what it had to answer is lost. It is not delivered again.
    pub(crate) fn let_go(&mut self, agent: &AgentId) -> Vec<LiveEnded> {
        let had = self.delivered.range((agent.clone(), 0)..);
        let had: Vec<u64> =
            had.take_while(|(it, _)| it == agent).map(|(_, number)| *number).collect();
        had.into_iter().map(|number| self.lose(number)).collect()
    }

    /// Fewer agents may handle requests than before: ends those that none handles any more.
    pub(crate) fn reroute(&mut self, table: &Table, view: &impl View) -> Vec<LiveEnded> {
        let mut lost = Vec::new();
        let mut after = self.waiting.first().cloned();
        while let Some((address, _)) = after {
            let next = route(table, view, &address, None);
            let there = self.waiting.range((address.clone(), 0)..=(address.clone(), u64::MAX));
            let there: Vec<u64> = there.map(|(_, number)| *number).collect();
            for number in there {
                match &next {
                    Some(next) => {
                        let message = self.requests.get_mut(&number).expect("it is open");
                        message.to = next.clone();
                    }
                    None => lost.push(self.lose(number)),
                }
            }
            let last = (Bound::Excluded((address, u64::MAX)), Bound::Unbounded);
            after = self.waiting.range(last).next().cloned();
        }
        lost
    }

    fn lose(&mut self, number: u64) -> LiveEnded {
        let message = self.forget(number);
        let (request, handler) = (message.id.clone(), message.to.clone());
        ended(number, &message, Err(Rejection::HandlerLost { request, handler }))
    }

    fn forget(&mut self, number: u64) -> Message {
        let message = self.requests.remove(&number).expect("it is open");
        let asked = message.request.as_ref().expect("these are requests");
        self.numbers.remove(&message.id);
        self.waiting.remove(&(asked.address.clone(), number));
        self.delivered.remove(&(message.to.clone(), number));
        self.deadlines.remove(&(asked.deadline, number));
        self.requesters.remove(&(message.from.clone(), number));
        self.bytes -= message.bytes();
        message
    }

    /// When the time of the next request is over.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        self.deadlines.first().map(|(moment, _)| *moment)
    }

    /// Whether no request is open.
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// Whether requests wait for an agent.
    pub fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Whether an agent waits for a reply.
    pub(crate) fn has_requester(&self, agent: &AgentId) -> bool {
        let there = self.requesters.range((agent.clone(), 0)..).next();
        there.is_some_and(|(requester, _)| requester == agent)
    }

    /// The open requests, in order of arrival.
    pub fn all(&self) -> impl Iterator<Item = &Message> {
        self.requests.values()
    }

    /// Asserts the invariants, and that all indexes agree.
    pub fn check(&self) {
        let count = self.requests.len();
        let indexes = [self.numbers.len(), self.deadlines.len(), self.requesters.len()];
        assert_eq!(indexes, [count; 3], "each has an id, an end and a requester");
        let places = self.waiting.len() + self.delivered.len();
        assert_eq!(places, count, "each waits, or an agent has to answer it");
        for (number, message) in &self.requests {
            let asked = message.request.as_ref().expect("these are requests");
            assert_eq!(self.numbers.get(&message.id), Some(number), "it is found by its id");
            let waits = self.waiting.contains(&(asked.address.clone(), *number));
            let is_due = self.delivered.contains(&(message.to.clone(), *number));
            let due = (message.status == Status::Waiting, message.status == Status::Delivered);
            assert_eq!((waits, is_due), due, "its place is that of its status");
        }
        let bytes: usize = self.requests.values().map(Message::bytes).sum();
        assert_eq!(self.bytes, bytes, "all bytes are counted");
    }

    /// Asserts that no request waits for an agent whose call waits for messages.
    #[cfg(test)]
    pub(crate) fn check_served(&self, table: &Table, view: &impl View, now: Timestamp) {
        for waiter in table.receivers().all() {
            let next = self.next_for(table, view, &waiter.name, now);
            assert!(next.is_none(), "no call waits for a request that waits for it");
        }
    }
}

fn ended(number: u64, message: &Message, result: Result<Reply, Rejection>) -> LiveEnded {
    LiveEnded { wait: WaitId::of_live(number), requester: message.from.clone(), result }
}
