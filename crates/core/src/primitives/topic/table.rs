//! The table of topics.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use super::vocabulary::{Event, Topic};
use crate::limits;
use crate::names::TopicName;
use crate::primitive::{self, Forgotten};
use crate::space::batch::Moment;
use crate::time::Timestamp;

/// Every topic that something was lately posted to. Changes only by `Table::evolve`,
/// `Table::undo` and `Table::trim`.
#[derive(Default)]
pub struct Table {
    topics: BTreeMap<TopicName, Topic>,
    // Who was posted to longest ago is forgotten first.
    by_time: BTreeSet<(Timestamp, TopicName)>,
}

/// How to take back one change: the topic as it was.
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

    /// Forgets what was posted to longest ago, if there are too many topics. It happens after every
    /// batch, to the same ones whenever the batch is replayed.
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

    /// How often something was posted there.
    pub fn posts(&self, name: &TopicName) -> u64 {
        self.topics.get(name).map_or(0, |topic| topic.posts)
    }

    /// Topics by name, whose names begin so, after one of them.
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
