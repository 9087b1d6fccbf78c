//! The rules of topics, one function per command.

use super::refusals::Rejection;
use super::table::Table;
use super::vocabulary::{Command, Event, Published, Query, Reply, Signal};
use crate::limits;
use crate::page;
use crate::primitive::{self, Rules};
use crate::refusal::json_fits;
use crate::space::stamp::Stamp;
use crate::space::{Happening, ReplyPlan, Space};

/// The outcome of a command.
type Decided = primitive::Decided<Event>;

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
        Ok(happening.take(decide(command)?))
    }

    fn query(space: &Space, query: &Query) -> Option<Result<Reply, Rejection>> {
        Some(self::query(&space.topic, query))
    }
}

/// Decides a command.
fn decide(command: Command) -> Result<Decided, Rejection> {
    let Command::Publish { topic, body, durable, traceparent } = command;
    json_fits("body", Some(&body), limits::VALUE_BYTES_MAX)?;
    let durable = durable.unwrap_or(true);
    let event = Event::Posted { topic: topic.clone(), body, traceparent, live: !durable };
    let plan = ReplyPlan::after(move |space| {
        let posts = space.topic.posts(&topic);
        Reply::Published(Published { topic, durable, posts })
    });
    Ok(Decided::new(vec![event], plan))
}

/// Answers a query.
pub fn query(table: &Table, query: &Query) -> Result<Reply, Rejection> {
    match query {
        Query::Get { topic } => match table.get(topic) {
            Some(found) => Ok(Reply::Topic(found.clone())),
            None => Err(Rejection::NotFound { topic: topic.clone() }),
        },
        Query::List { prefix, limit, cursor } => {
            let limit = page::limit(*limit)?;
            let prefix = prefix.as_deref().unwrap_or_default();
            let found = table.after(prefix, cursor.as_ref()).cloned();
            let (topics, cursor) = page::first(found, limit, |last| last.name.clone());
            Ok(Reply::Topics { topics, cursor })
        }
    }
}
