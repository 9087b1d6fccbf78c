//! The table of topics.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use super::vocabulary::{Event, Topic};
use crate::limits;
use crate::names::TopicName;
use crate::primitive::{self, Forgotten};
use crate::space::batch::Moment;
use crate::time::Timestamp;

/// The topics with the latest messages. Changes only by `Table::evolve`, `Table::undo` and
/// `Table::trim`.
#[derive(Default)]
pub struct Table {
    topics: BTreeMap<TopicName, Topic>,
    // The topic with the oldest last message is forgotten first.
    by_time: BTreeSet<(Timestamp, TopicName)>,
}

/// How to undo one change: the previous topic.
pub struct Undo {
    name: TopicName,
    before: Option<Topic>,
}

impl primitive::Table for Table {
    type Event = Event;
    type Undo = Undo;
    type Facts = Vec<Topic>;

    fn evolve(&mut self, event: &Event, moment: &Moment<'_>) -> Undo {
        let name = event.topic();
        let posts = self.topics.get(name).map_or(0, |topic| topic.posts) + 1;
        let (last_at, last_by) = (moment.time, moment.agent.clone());
        let after = Topic { name: name.clone(), posts, last_at, last_by };
        Undo { name: name.clone(), before: self.replace(name, Some(after)) }
    }

    fn undo(&mut self, undo: Undo) {
        self.replace(&undo.name, undo.before);
    }

    fn facts(&self) -> Self::Facts {
        self.topics.values().cloned().collect()
    }

    fn restore(topics: Self::Facts) -> Self {
        let mut table = Self::default();
        for topic in topics {
            table.replace(&topic.name.clone(), Some(topic));
        }
        table
    }

    fn check(&self) {
        assert_eq!(self.topics.len(), self.by_time.len(), "every topic has its time");
        assert!(self.topics.values().all(|topic| topic.posts > 0), "what is known was posted to");
    }

    /// Forgets the topics with the oldest last messages, if there are too many. It runs after every
    /// batch, so that replay forgets the same ones.
    fn trim(&mut self) -> Vec<Forgotten> {
        while self.topics.len() > limits::TOPICS_MAX {
            let Some((_, name)) = self.by_time.first().cloned() else { break };
            self.replace(&name, None);
        }
        Vec::new()
    }
}

impl Table {
    fn replace(&mut self, name: &TopicName, after: Option<Topic>) -> Option<Topic> {
        let before = self.topics.remove(name);
        if let Some(before) = &before {
            self.by_time.remove(&(before.last_at, name.clone()));
        }
        if let Some(after) = after {
            self.by_time.insert((after.last_at, name.clone()));
            self.topics.insert(name.clone(), after);
        }
        before
    }

    /// A topic.
    pub fn get(&self, name: &TopicName) -> Option<&Topic> {
        self.topics.get(name)
    }

    /// The number of messages published to it.
    pub fn posts(&self, name: &TopicName) -> u64 {
        self.topics.get(name).map_or(0, |topic| topic.posts)
    }

    /// Topics with this prefix by name, after this one.
    pub fn after<'a>(
        &'a self,
        prefix: &'a str,
        cursor: Option<&'a TopicName>,
    ) -> impl Iterator<Item = &'a Topic> {
        let from = match cursor {
            Some(cursor) if cursor.as_str() >= prefix => Bound::Excluded(cursor.as_str()),
            Some(_) | None => Bound::Included(prefix),
        };
        let there = self.topics.range::<str, _>((from, Bound::Unbounded));
        there.take_while(move |(name, _)| name.as_str().starts_with(prefix)).map(|(_, it)| it)
    }
}
