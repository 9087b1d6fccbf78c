//! The rules of topics, one function per command.

use super::refusals::Rejection;
use super::table::Table;
use super::vocabulary::{Command, Event, Published, Query, Reply, Signal};
use crate::limits;
use crate::names::TopicName;
use crate::primitive::Rules;
use crate::refusal::{json_fits, within};
use crate::space::stamp::Stamp;
use crate::space::{Happening, ReplyPlan, Space};

/// The event of a command, and its topic.
pub struct Decided {
    /// The published message.
    pub event: Event,
    /// Whether it is recorded; otherwise it is only delivered.
    pub is_durable: bool,
    /// The topic.
    pub topic: TopicName,
}

impl Rules for Table {
    type Command = Command;
    type Signal = Signal;
    type Query = Query;
    type Reply = Reply;
    type Rejection = Rejection;

    fn decide(
        _space: &Space,
        command: Command,
        _stamp: &Stamp,
        happening: &mut Happening<'_>,
    ) -> Result<ReplyPlan, Rejection> {
        let Decided { event, is_durable, topic } = decide(command)?;
        if is_durable {
            happening.add(event);
        } else {
            happening.tell(event);
        }
        Ok(ReplyPlan::after(move |space| {
            let posts = space.topic.posts(&topic);
            Some(Reply::Published(Published { topic, durable: is_durable, posts }))
        }))
    }

    fn query(space: &Space, query: &Query) -> Option<Result<Reply, Rejection>> {
        Some(self::query(&space.topic, query))
    }
}

/// Decides a command.
pub fn decide(command: Command) -> Result<Decided, Rejection> {
    let Command::Publish { topic, body, durable, traceparent } = command;
    json_fits("body", Some(&body), limits::VALUE_BYTES_MAX)?;
    let is_durable = durable.unwrap_or(true);
    let event = Event::Posted { topic: topic.clone(), body, traceparent, live: !is_durable };
    Ok(Decided { event, is_durable, topic })
}

/// Answers a query.
pub fn query(table: &Table, query: &Query) -> Result<Reply, Rejection> {
    match query {
        Query::Get { topic } => match table.get(topic) {
            Some(found) => Ok(Reply::Topic(found.clone())),
            None => Err(Rejection::NotFound { topic: topic.clone() }),
        },
        Query::List { prefix, limit, cursor } => {
            let range = (1, limits::PAGE_MAX as u64);
            let limit = within("limit", *limit, limits::PAGE_DEFAULT as u64, range)?;
            let limit = usize::try_from(limit).expect("pages are small");
            let prefix = prefix.as_deref().unwrap_or_default();
            let found = table.after(prefix, cursor.as_ref());
            let mut topics: Vec<_> = found.take(limit + 1).cloned().collect();
            let more = topics.len() > limit;
            topics.truncate(limit);
            let cursor = topics.last().filter(|_| more).map(|last| last.name.clone());
            Ok(Reply::Topics { topics, cursor })
        }
    }
}
