//! Messages according to the log: the content of inboxes, the waiting calls, the replies.
//!
//! Laws:
//!
//! 1. A message is sent once, under an id that sorts after all before it.
//! 2. Messages of an inbox are received in the order they were sent, by the longest waiting call,
//!    and no call waits for a message that is available.
//! 3. A message that was received and not acknowledged is delivered again, never before its time,
//!    and times without a server do not count; after ten deliveries it is dead.
//! 4. A message that was acknowledged, answered, expired or lost is never delivered again.
//! 5. A request is delivered to an agent that handles it and is answered once, in time, by the
//!    agent that has it; the waiting call is answered by that very batch.
//! 6. When a session ends, its handlers are removed, and each of its requests is passed to another
//!    agent that handles it, or is lost.
//! 7. A topic counts what was posted, and only that.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use baton_core::message::Asked;
use baton_core::message::{Address, Event, Given, Message, Requested, Sent, Status};
use baton_core::topic::{self, Topic};
use baton_core::{AgentId, Batch, HandlerName, MessageId, Timestamp, TopicName, WaitId};

use crate::auditor::ledger::Ledger;
use crate::auditor::timeline::Timeline;
use crate::auditor::{Audit, Breach, demand};
use crate::coverage::Coverage;

/// How often a message is delivered before it is dead.
const DELIVERIES_MAX: u64 = 10;

/// A call that waits for mail.
type InboxWaiter = (u64, AgentId);

/// Everything about the messages and topics of a workspace.
#[derive(Default)]
pub struct Messages {
    mail: BTreeMap<MessageId, Timeline<Arc<Message>>>,
    queue: Timeline<Vec<InboxWaiter>>,
    /// The calls that wait for replies, by request.
    asking: BTreeMap<u64, MessageId>,
    handlers: Timeline<BTreeSet<(HandlerName, AgentId)>>,
    topics: BTreeMap<TopicName, Timeline<Topic>>,
    is_touched: bool,
}

impl Messages {
    /// A message as it was after a revision.
    pub fn at(&self, id: &MessageId, at: u64) -> Option<&Message> {
        self.mail.get(id)?.at(at).map(AsRef::as_ref)
    }

    /// All messages as they were after a revision, by id.
    pub fn all_at(&self, at: u64) -> impl Iterator<Item = &Message> {
        self.mail.values().filter_map(move |there| there.at(at)).map(AsRef::as_ref)
    }

    /// The hand-offs that an agent could receive after a revision, at a time, oldest first.
    pub fn waiting<'a>(
        &'a self,
        agent: &'a AgentId,
        now: Timestamp,
        at: u64,
    ) -> impl Iterator<Item = &'a Message> {
        self.all_at(at).filter(move |message| {
            message.to == *agent && message.status == Status::Waiting && !message.is_over(now)
        })
    }

    /// Whether an agent waited for mail after a revision.
    pub fn is_awaited(&self, agent: &AgentId, at: u64) -> bool {
        self.queue.at(at).is_some_and(|queue| queue.iter().any(|(_, there)| there == agent))
    }

    /// The registered handlers after a revision.
    pub fn handlers_at(&self, at: u64) -> impl Iterator<Item = &(HandlerName, AgentId)> {
        self.handlers.at(at).into_iter().flatten()
    }

    /// A topic as it was after a revision.
    pub fn topic(&self, name: &TopicName, at: u64) -> Option<&Topic> {
        self.topics.get(name)?.at(at)
    }

    fn set(&mut self, batch: &Batch, message: Message) {
        let id = message.id.clone();
        self.mail.entry(id).or_default().set(batch.revision.0, Arc::new(message));
    }

    fn set_queue(&mut self, batch: &Batch, change: impl FnOnce(&mut Vec<InboxWaiter>)) {
        let mut queue = self.queue.now().cloned().unwrap_or_default();
        change(&mut queue);
        self.queue.set(batch.revision.0, queue);
    }

    fn set_handlers(
        &mut self,
        batch: &Batch,
        change: impl FnOnce(&mut BTreeSet<(HandlerName, AgentId)>),
    ) {
        let mut handlers = self.handlers.now().cloned().unwrap_or_default();
        change(&mut handlers);
        self.handlers.set(batch.revision.0, handlers);
    }

    /// The call that waits for the answer to a request.
    fn asker(&self, id: &MessageId) -> Option<WaitId> {
        let mut asking = self.asking.iter().filter(|(_, there)| *there == id);
        asking.next().map(|(wait, _)| WaitId(*wait))
    }
}

impl Ledger {
    /// Whether an agent handles this address, after a revision.
    pub(crate) fn handles(&self, address: &Address, agent: &AgentId, at: u64) -> bool {
        match address {
            Address::Agent(named) => named == agent,
            Address::Handler { handler } => {
                let own = (handler.clone(), agent.clone());
                self.messages.handlers_at(at).any(|there| *there == own)
            }
            Address::Capability { capability } => self
                .session(agent, at)
                .is_some_and(|it| it.active && it.capabilities.contains(capability)),
        }
    }

    /// Applies a durable event about messages.
    pub(crate) fn add_message(
        &mut self,
        batch: &Batch,
        event: &Event,
        ended: &BTreeSet<AgentId>,
        coverage: &mut Coverage,
    ) -> Audit {
        self.messages.is_touched = true;
        match event {
            Event::Sent(sent) => self.sent(batch, sent, coverage),
            Event::Queued { wait, receiver, until, .. } => {
                self.waits.begin(batch, receiver, *wait, *until)?;
                let queue = (wait.0, receiver.clone());
                self.messages.set_queue(batch, |there| there.push(queue));
                Ok(())
            }
            Event::Polled { receiver } => {
                let session = self.session(receiver, u64::MAX);
                demand!(session.is_some_and(|it| it.active), "`{receiver}` has no session");
                coverage.met("message: polled");
                Ok(())
            }
            Event::GaveUp { wait, receiver, left, message } => {
                coverage.left(*left);
                self.waits.left(batch, *wait, receiver, *left, ended)?;
                match message {
                    Some(_) => drop(self.messages.asking.remove(&wait.0)),
                    None => {
                        self.messages.set_queue(batch, |queue| queue.retain(|it| it.0 != wait.0));
                    }
                }
                Ok(())
            }
            Event::HandlerAdded { .. }
            | Event::HandlerRemoved { .. }
            | Event::HandlersGone { .. } => self.handler_changed(batch, event, ended, coverage),
            Event::Rejoined { message, requester, wait, .. } => {
                let there = self.known_message(message)?;
                let asked = there.request.as_ref().filter(|_| is_open(there.status));
                let Some(until) = asked.map(|asked| asked.deadline) else {
                    return Err(Breach(format!("`{message}` is {:?}", there.status)));
                };
                demand!(there.from == *requester, "`{message}` is not by `{requester}`");
                demand!(self.messages.asker(message).is_none(), "two calls wait for `{message}`");
                self.waits.begin(batch, requester, *wait, until)?;
                self.messages.asking.insert(wait.0, message.clone());
                let (updated_at, revision) = (batch.time, batch.revision);
                self.messages.set(batch, Message { updated_at, revision, ..there });
                coverage.met("message: a requester came back");
                Ok(())
            }
            Event::Delivered { .. }
            | Event::Returned { .. }
            | Event::Acked { .. }
            | Event::Died { .. }
            | Event::Expired { .. }
            | Event::Requeued { .. }
            | Event::Replied { .. }
            | Event::TimedOut { .. }
            | Event::Lost { .. }
            | Event::Rerouted { .. } => {
                let (to, id) = event.message().expect("these are about a message");
                let before = self.known_message(id)?;
                demand!(before.to == *to, "`{id}` is in the inbox of `{}`", before.to);
                let after = self.changed_message(batch, &before, event, ended, coverage)?;
                self.messages.set(batch, after);
                Ok(())
            }
        }
    }

    fn handler_changed(
        &mut self,
        batch: &Batch,
        event: &Event,
        ended: &BTreeSet<AgentId>,
        coverage: &mut Coverage,
    ) -> Audit {
        match event {
            Event::HandlerAdded { handler, holder } => {
                let active = self.session(holder, u64::MAX).is_some_and(|it| it.active);
                demand!(active && batch.agent == *holder, "`{holder}` has no session");
                let own = (handler.clone(), holder.clone());
                self.messages.set_handlers(batch, |there| {
                    there.insert(own);
                });
            }
            Event::HandlerRemoved { handler, holder } => {
                let own = (handler.clone(), holder.clone());
                self.messages.set_handlers(batch, |there| {
                    there.remove(&own);
                });
            }
            Event::HandlersGone { holder } => {
                demand!(ended.contains(holder), "the session of `{holder}` has not ended");
                self.messages.set_handlers(batch, |there| there.retain(|it| it.1 != *holder));
                coverage.met("message: handlers ended with a session");
            }
            other => return Err(Breach(format!("{other:?} is not about a handler"))),
        }
        Ok(())
    }

    fn known_message(&self, id: &MessageId) -> Audit<Message> {
        let there = self.messages.at(id, u64::MAX).cloned();
        there.ok_or_else(|| Breach(format!("there is no message `{id}`")))
    }

    fn sent(&mut self, batch: &Batch, sent: &Sent, coverage: &mut Coverage) -> Audit {
        let Sent { message: id, to, body, holds, thread, reply_to, .. } = sent;
        let Sent { expires_at, traceparent, request, .. } = sent;
        let names_some = self.artifacts.any_in(body);
        demand!(!names_some || *holds, "`{id}` references artifacts, and holds none");
        if names_some {
            coverage.met("artifact: referenced by a message");
        }
        let last = self.messages.mail.last_key_value().map(|(last, _)| last);
        demand!(last.is_none_or(|last| last < id), "`{id}` follows {last:?}");
        let late = expires_at.is_some_and(|moment| moment <= batch.time);
        demand!(!late, "`{id}` is over before it begins");
        let asked = |it: &Requested| Asked {
            address: it.address.clone(),
            deadline: it.deadline,
            key: it.key.clone(),
            answer: None,
        };
        if let Some(it) = request {
            let handled = self.handles(&it.address, to, u64::MAX);
            demand!(handled, "`{to}` does not handle {}", it.address);
            self.waits.begin(batch, &batch.agent, it.wait, it.deadline)?;
            self.messages.asking.insert(it.wait.0, id.clone());
            coverage.met("message: requested");
        }
        let message = Message {
            id: id.clone(),
            from: batch.agent.clone(),
            to: to.clone(),
            body: body.clone(),
            sent_at: batch.time,
            status: Status::Waiting,
            thread: thread.as_ref().unwrap_or(id).clone(),
            reply_to: reply_to.clone(),
            deliveries: 0,
            expires_at: *expires_at,
            traceparent: traceparent.clone(),
            redeliver_at: None,
            delivered_at: None,
            ended_at: None,
            updated_at: batch.time,
            revision: batch.revision,
            request: request.as_ref().map(|it| Box::new(asked(it))),
            keep: None,
        };
        self.messages.set(batch, message);
        Ok(())
    }

    /// The message after an event, if the event is allowed.
    fn changed_message(
        &mut self,
        batch: &Batch,
        before: &Message,
        event: &Event,
        ended: &BTreeSet<AgentId>,
        coverage: &mut Coverage,
    ) -> Audit<Message> {
        let (id, now) = (before.id.clone(), batch.time);
        let (updated_at, revision) = (now, batch.revision);
        let mut after = Message { redeliver_at: None, updated_at, revision, ..before.clone() };
        let is_requeued = matches!(event, Event::Requeued { .. } | Event::Acked { .. })
            && before.status == Status::Dead;
        demand!(is_open(before.status) || is_requeued, "`{id}` was {:?}", before.status);
        after.status = match event {
            Event::Delivered { until, wait, .. } => {
                self.mail_delivered(batch, before, *wait, coverage)?;
                after.deliveries += 1;
                (after.delivered_at, after.redeliver_at) = (Some(now), Some(*until));
                Status::Delivered
            }
            Event::Returned { .. } | Event::Died { .. } => {
                let times = (before.delivered_at, before.redeliver_at);
                let (Some(from), Some(until)) = times else {
                    return Err(Breach(format!("`{id}` was not delivered")));
                };
                self.check_expired(batch, until, until.since(from))?;
                let is_dead = matches!(event, Event::Died { .. });
                let due = before.deliveries >= DELIVERIES_MAX;
                demand!(is_dead == due, "`{id}` was delivered {} times", before.deliveries);
                coverage.met(if is_dead { "message: died" } else { "message: redelivered" });
                if is_dead { Status::Dead } else { Status::Waiting }
            }
            Event::Acked { .. } => {
                demand!(batch.agent == before.to, "`{id}` is not the caller's");
                demand!(before.request.is_none(), "`{id}` is a request");
                coverage.met("message: acknowledged");
                Status::Acked
            }
            Event::Expired { .. } => {
                demand!(before.expires_at.is_some_and(|end| end <= now), "`{id}` expired early");
                coverage.met("message: expired");
                Status::Expired
            }
            Event::Requeued { .. } => {
                after.deliveries = 0;
                Status::Waiting
            }
            other => self.request_changed(batch, before, &mut after, other, ended, coverage)?,
        };
        after.ended_at = (!is_open(after.status)).then_some(now);
        Ok(after)
    }

    fn mail_delivered(
        &mut self,
        batch: &Batch,
        message: &Message,
        wait: Option<WaitId>,
        coverage: &mut Coverage,
    ) -> Audit {
        let to = &message.to;
        let first = self.messages.waiting(to, batch.time, u64::MAX).next().map(|it| &it.id);
        demand!(first == Some(&message.id), "{first:?} was to be received first");
        let Some(wait) = wait else {
            demand!(batch.agent == *to, "`{to}` received it by another's hand");
            return Ok(());
        };
        let queue = self.messages.queue.now().into_iter().flatten();
        let next = queue.filter(|(_, agent)| agent == to).map(|(wait, _)| *wait).next();
        demand!(next == Some(wait.0), "call {next:?} has waited longer than {wait}");
        self.waits.granted(batch, wait, to)?;
        self.messages.set_queue(batch, |queue| queue.retain(|it| it.0 != wait.0));
        coverage.met("message: received by a waiting call");
        Ok(())
    }

    fn request_changed(
        &mut self,
        batch: &Batch,
        before: &Message,
        after: &mut Message,
        event: &Event,
        ended: &BTreeSet<AgentId>,
        coverage: &mut Coverage,
    ) -> Audit<Status> {
        let (id, to) = (&before.id, &before.to);
        let Some(asked) = &mut after.request else {
            return Err(Breach(format!("`{id}` is no request")));
        };
        let asker = self.messages.asker(id);
        match event {
            Event::Replied { answer, wait, .. } => {
                demand!(batch.agent == *to, "`{id}` is answered by another");
                demand!(batch.time < asked.deadline, "`{id}` is answered too late");
                demand!(*wait == asker, "{asker:?} waits for it, {wait:?} is answered");
                let Given { body, error } = answer;
                demand!(body.is_some() != error.is_some(), "it is no answer: {answer:?}");
                asked.answer = Some(answer.clone());
                if let Some(wait) = wait {
                    self.waits.granted(batch, *wait, &before.from)?;
                }
                coverage.met("message: answered");
            }
            Event::TimedOut { wait, .. } => {
                demand!(asked.deadline <= batch.time, "`{id}` had until {}", asked.deadline);
                demand!(*wait == asker, "{asker:?} waits for it, {wait:?} is answered");
                if let Some(wait) = wait {
                    self.waits.reset(batch, *wait, &before.from)?;
                }
                coverage.met("message: timed out");
            }
            Event::Lost { wait, .. } => {
                demand!(ended.contains(to), "the session of `{to}` has not ended");
                demand!(*wait == asker, "{asker:?} waits for it, {wait:?} is answered");
                if let Address::Handler { handler } = &asked.address {
                    let mut others = self.messages.handlers_at(u64::MAX);
                    let other = others.find(|(name, agent)| name == handler && agent != to);
                    demand!(other.is_none(), "`{id}` was lost, but {other:?} is there");
                }
                if let Some(wait) = wait {
                    self.waits.reset(batch, *wait, &before.from)?;
                }
                coverage.met("message: its handler was lost");
            }
            Event::Rerouted { next, .. } => {
                let address = asked.address.clone();
                demand!(ended.contains(to) && next != to, "`{to}` still has `{id}`");
                demand!(self.handles(&address, next, u64::MAX), "`{next}` does not handle it");
                after.to = next.clone();
                coverage.met("message: rerouted to another handler");
                return Ok(Status::Waiting);
            }
            other => return Err(Breach(format!("{other:?} is not about a request"))),
        }
        if let Some(wait) = asker {
            self.messages.asking.remove(&wait.0);
        }
        Ok(match event {
            Event::Replied { .. } => Status::Replied,
            Event::TimedOut { .. } => Status::TimedOut,
            _ => Status::Lost,
        })
    }

    /// A batch is complete: no call waits for a message that is available, and no request is left
    /// with an ended session.
    pub(crate) fn check_messages(&mut self, batch: &Batch, ended: &BTreeSet<AgentId>) -> Audit {
        let is_touched = std::mem::take(&mut self.messages.is_touched);
        if !is_touched && ended.is_empty() {
            return Ok(());
        }
        for (wait, agent) in self.messages.queue.now().into_iter().flatten() {
            let there = self.messages.waiting(agent, batch.time, u64::MAX).next();
            demand!(there.is_none(), "call {wait} waits, but there is {there:?}");
        }
        let queue = self.messages.queue.now().into_iter().flatten();
        let stays = |agent: &AgentId, since: u64| ended.contains(agent) && since < batch.revision.0;
        let waits = queue.into_iter().find(|(wait, agent)| stays(agent, *wait));
        demand!(waits.is_none(), "{waits:?} waits although the session ended");
        let handlers = self.messages.handlers_at(u64::MAX);
        let left = handlers.into_iter().find(|(_, agent)| ended.contains(agent));
        demand!(left.is_none(), "{left:?} stays although the session ended");
        let mut requests =
            self.messages.all_at(u64::MAX).filter(|it| it.request.is_some() && is_open(it.status));
        let left = requests.find(|it| ended.contains(&it.to));
        demand!(left.is_none(), "{left:?} stays with an agent that is gone");
        Ok(())
    }

    /// A message that should have been redelivered or ended by this time.
    pub(crate) fn overdue_message(&self, now: Timestamp) -> Option<&Message> {
        let is_due = |message: &&Message| {
            let again = message.redeliver_at.filter(|_| message.status == Status::Delivered);
            is_open(message.status)
                && (message.is_over(now) || again.is_some_and(|again| again <= now))
        };
        self.messages.all_at(u64::MAX).find(is_due)
    }

    /// Applies a durable message of a topic.
    pub(crate) fn add_topic(
        &mut self,
        batch: &Batch,
        event: &topic::Event,
        coverage: &mut Coverage,
    ) -> Audit {
        let topic::Event::Posted { topic, live, .. } = event;
        demand!(!live, "a live message is in the log");
        let posts = self.messages.topic(topic, u64::MAX).map_or(0, |there| there.posts) + 1;
        let (last_at, last_by) = (batch.time, batch.agent.clone());
        let now = Topic { name: topic.clone(), posts, last_at, last_by };
        self.messages.topics.entry(topic.clone()).or_default().set(batch.revision.0, now);
        coverage.met("topic: posted");
        Ok(())
    }
}

/// Whether it may still be delivered without a request.
pub fn is_open(status: Status) -> bool {
    matches!(status, Status::Waiting | Status::Delivered)
}
