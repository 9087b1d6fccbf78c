//! The message store: every known message, with its indexes.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use super::{Message, Status};
use crate::limits;
use crate::names::{AgentId, IdempotencyKey, MessageId};
use crate::storage::{Records, relist};
use crate::time::Timestamp;

/// How much there is of something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// How many messages.
    pub messages: usize,
    /// Their total size in bytes.
    pub bytes: usize,
}

impl Amount {
    fn add(&mut self, bytes: usize) {
        self.messages += 1;
        self.bytes += bytes;
    }

    fn remove(&mut self, bytes: usize) {
        self.messages -= 1;
        self.bytes -= bytes;
    }
}

/// Every known message. Changes only by [`MessageStore::replace`] and [`MessageStore::trim`].
#[derive(Default)]
pub struct MessageStore {
    by_id: Records<MessageId, Arc<Message>>,
    by_inbox: BTreeSet<(AgentId, MessageId)>,
    waiting: BTreeSet<(AgentId, MessageId)>,
    delivered: BTreeSet<(AgentId, MessageId)>,
    // Unanswered requests, by the agent that has them.
    requests: BTreeSet<(AgentId, MessageId)>,
    by_key: BTreeMap<(AgentId, IdempotencyKey), MessageId>,
    timers: BTreeSet<(Timestamp, MessageId)>,
    // The first to be removed comes first.
    ended: BTreeSet<(Timestamp, MessageId)>,
    ended_bytes: usize,
    open: Amount,
    inboxes: BTreeMap<AgentId, Amount>,
    // Not logged: since when this server has been up to receive acknowledgements.
    awake_since: Timestamp,
}

/// Its place in an index by inbox.
type InboxKey<'a> = (&'a AgentId, &'a MessageId);

fn inbox_key(message: &Message) -> InboxKey<'_> {
    (&message.to, &message.id)
}

fn waiting(message: &Message) -> Option<InboxKey<'_>> {
    (message.status == Status::Waiting).then(|| inbox_key(message))
}

fn delivered(message: &Message) -> Option<InboxKey<'_>> {
    (message.status != Status::Waiting).then(|| inbox_key(message))
}

fn request(message: &Message) -> Option<InboxKey<'_>> {
    message.request.is_some().then(|| inbox_key(message))
}

fn ended(message: &Message) -> Option<(&Timestamp, &MessageId)> {
    message.ended_at.as_ref().map(|moment| (moment, &message.id))
}

fn key_of(message: &Message) -> Option<&IdempotencyKey> {
    message.request.as_ref()?.key.as_ref()
}

fn is_open(message: &Message) -> bool {
    message.ended_at.is_none()
}

impl MessageStore {
    /// Sets or removes a message; returns the previous one.
    pub fn replace(&mut self, id: &MessageId, after: Option<Arc<Message>>) -> Option<Arc<Message>> {
        let before = self.by_id.get(id).map(Arc::clone);
        self.relist(before.as_deref(), after.as_deref());
        match after {
            Some(after) => self.by_id.insert(id, after),
            None => self.by_id.remove(id),
        }
    }

    /// Updates the indexes for a message that was added, changed or removed.
    fn relist(&mut self, before: Option<&Message>, after: Option<&Message>) {
        let (earlier, later) = (before.filter(|it| is_open(it)), after.filter(|it| is_open(it)));
        let moments = [earlier, later].map(|it| it.and_then(|it| self.moment_of(it)));
        let moment = |it: usize| moments[it].as_ref();
        let timers =
            (moment(0).zip(earlier.map(|it| &it.id)), moment(1).zip(later.map(|it| &it.id)));
        relist(&mut self.timers, timers.0, timers.1);
        relist(&mut self.by_inbox, before.map(inbox_key), after.map(inbox_key));
        relist(&mut self.waiting, earlier.and_then(waiting), later.and_then(waiting));
        relist(&mut self.delivered, earlier.and_then(delivered), later.and_then(delivered));
        relist(&mut self.requests, earlier.and_then(request), later.and_then(request));
        relist(&mut self.ended, before.and_then(ended), after.and_then(ended));
        before.inspect(|message| self.unkey(message));
        after.inspect(|message| self.key(message));
        self.ended_bytes -= before.filter(|it| !is_open(it)).map_or(0, Message::bytes);
        self.ended_bytes += after.filter(|it| !is_open(it)).map_or(0, Message::bytes);
        let size = |it: Option<&Message>| it.map(|it| (it.to.clone(), it.bytes()));
        let (earlier, later) = (size(earlier), size(later));
        if earlier != later {
            self.recount(earlier, later);
        }
    }

    /// Updates the number and the size of open messages.
    fn recount(&mut self, before: Option<(AgentId, usize)>, after: Option<(AgentId, usize)>) {
        if let Some((agent, bytes)) = after {
            self.open.add(bytes);
            self.inboxes.entry(agent).or_default().add(bytes);
        }
        if let Some((agent, bytes)) = before {
            self.open.remove(bytes);
            let inbox = self.inboxes.get_mut(&agent).expect("what is open was counted");
            inbox.remove(bytes);
            if inbox.messages == 0 {
                self.inboxes.remove(&agent);
            }
        }
    }

    fn key(&mut self, message: &Message) {
        if let Some(key) = key_of(message) {
            let name = (message.from.clone(), key.clone());
            let newest = self.by_key.entry(name).or_insert_with(|| message.id.clone());
            if *newest < message.id {
                newest.clone_from(&message.id);
            }
        }
    }

    fn unkey(&mut self, message: &Message) {
        if let Some(key) = key_of(message) {
            let name = (message.from.clone(), key.clone());
            // A later request may have taken the key.
            if self.by_key.get(&name) == Some(&message.id) {
                self.by_key.remove(&name);
            }
        }
    }

    /// The next timed transition of an open message.
    fn moment_of(&self, message: &Message) -> Option<Timestamp> {
        let deadline = message.request.as_ref().map(|asked| asked.deadline);
        [message.expires_at, deadline, self.redelivery_of(message)].into_iter().flatten().min()
    }

    /// When a message is delivered again. Time without a server does not count, because it could
    /// not be acknowledged.
    fn redelivery_of(&self, message: &Message) -> Option<Timestamp> {
        let (from, until) = (message.delivered_at?, message.redeliver_at?);
        Some(until.max(self.awake_since.after(until.since(from))))
    }

    /// Whether a message is due to be delivered again.
    pub fn is_to_be_returned(&self, message: &Message, now: Timestamp) -> bool {
        self.redelivery_of(message).is_some_and(|moment| moment <= now)
    }

    /// Forgets the messages that ended first, if there are too many, and returns them. It runs
    /// after every batch, so that replay forgets the same ones.
    pub fn trim(&mut self) -> Vec<MessageId> {
        let mut forgotten = Vec::new();
        while self.ended.len() > limits::MESSAGES_ENDED_MAX
            || self.ended_bytes > limits::MESSAGES_ENDED_BYTES_MAX
        {
            let Some((_, id)) = self.ended.first().cloned() else { break };
            self.replace(&id, None);
            forgotten.push(id);
        }
        forgotten
    }

    /// A message.
    pub fn get(&self, id: &MessageId) -> Option<&Arc<Message>> {
        self.by_id.get(id)
    }

    /// Every known message, by id.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Message>> {
        self.by_id.values()
    }

    /// The number and total size of open messages.
    pub fn open(&self) -> Amount {
        self.open
    }

    /// The number and total size of open messages in one inbox.
    pub fn inbox(&self, agent: &AgentId) -> Amount {
        self.inboxes.get(agent).copied().unwrap_or_default()
    }

    /// The waiting messages of an inbox, oldest first.
    pub fn waiting<'a>(&'a self, agent: &'a AgentId) -> impl Iterator<Item = &'a Message> {
        self.of(&self.waiting, agent)
    }

    /// The messages that an agent has received and not acknowledged.
    pub fn delivered<'a>(&'a self, agent: &'a AgentId) -> impl Iterator<Item = &'a Message> {
        self.of(&self.delivered, agent)
    }

    /// The requests that an agent has to answer.
    pub fn requests<'a>(&'a self, agent: &'a AgentId) -> impl Iterator<Item = &'a Message> {
        self.of(&self.requests, agent)
    }

    fn of<'a>(
        &'a self,
        index: &'a BTreeSet<(AgentId, MessageId)>,
        agent: &'a AgentId,
    ) -> impl Iterator<Item = &'a Message> {
        let there = index.range((agent.clone(), MessageId::least())..);
        let there = there.take_while(move |(owner, _)| owner == agent);
        there.map(|(_, id)| self.by_id[id].as_ref())
    }

    /// The request with this idempotency key.
    pub fn keyed(&self, agent: &AgentId, key: &IdempotencyKey) -> Option<&Message> {
        let id = self.by_key.get(&(agent.clone(), key.clone()))?;
        self.by_id.get(id).map(AsRef::as_ref)
    }

    /// Messages of one inbox, or of all, by id after this one.
    pub fn after<'a>(
        &'a self,
        agent: Option<&'a AgentId>,
        cursor: Option<&'a MessageId>,
    ) -> Box<dyn Iterator<Item = &'a Message> + 'a> {
        let Some(agent) = agent else {
            return Box::new(self.by_id.after(cursor).map(Arc::as_ref));
        };
        let from = cursor.cloned().unwrap_or_else(MessageId::least);
        let from = Bound::Excluded((agent.clone(), from));
        let there = self.by_inbox.range((from, Bound::Unbounded));
        let there = there.take_while(move |(owner, _)| owner == agent);
        Box::new(there.map(|(_, id)| self.by_id[id].as_ref()))
    }

    /// Open messages with a due timed transition, by time.
    pub fn due(&self, now: Timestamp) -> impl Iterator<Item = &Message> {
        let over = self.timers.iter().take_while(move |(moment, _)| *moment <= now);
        over.map(|(_, id)| self.by_id[id].as_ref())
    }

    /// The next timed transition.
    pub fn next_moment(&self) -> Option<Timestamp> {
        self.timers.first().map(|(moment, _)| *moment)
    }

    /// The server resumed serving the workspace at this time.
    pub fn wake(&mut self, moment: Timestamp) {
        self.awake_since = moment;
        let open = self.by_id.values().filter(|message| message.ended_at.is_none());
        let timers = open.filter_map(|it| Some((self.moment_of(it)?, it.id.clone())));
        self.timers = timers.collect();
    }

    /// Asserts that all indexes agree.
    pub fn check(&self) {
        let mut open = Amount::default();
        let mut ended = 0;
        for message in self.by_id.values() {
            assert_eq!(message.status.is_open(), message.ended_at.is_none(), "{}", message.id);
            if message.ended_at.is_some() {
                ended += 1;
            } else {
                open.add(message.bytes());
            }
            let is_held = message.status == Status::Delivered;
            assert_eq!(message.redeliver_at.is_some(), is_held, "`{}` is held", message.id);
            let is_kept = self.by_inbox.contains(&(message.to.clone(), message.id.clone()));
            assert!(is_kept, "`{}` is in its inbox", message.id);
        }
        assert_eq!(self.by_inbox.len(), self.by_id.len(), "a message is in one inbox");
        assert_eq!((self.open, self.ended.len()), (open, ended), "all is counted");
        assert_eq!(self.waiting.len() + self.delivered.len(), open.messages, "in one line each");
        let counted: usize = self.inboxes.values().map(|inbox| inbox.messages).sum();
        assert_eq!(counted, open.messages, "every inbox is counted");
    }
}
