//! The rules of secrets, one function per command.

use super::refusals::Rejection;
use super::table::Table;
use super::vocabulary::{Command, Event, Put, Query, Reply, Secret, Signal};
use crate::limits;
use crate::names::SecretId;
use crate::page;
use crate::primitive::{self, Rules};
use crate::refusal::{fits, has_room, within};
use crate::space::stamp::Stamp;
use crate::space::{Happening, ReplyPlan, Space};

/// The outcome of a command.
type Decided = primitive::Decided<Event>;

/// The secret, as it is after the events.
fn shown(secret: SecretId) -> ReplyPlan {
    ReplyPlan::after(move |space| {
        let secret = space.secret.get(&secret).expect("it is there after a put or a reveal");
        Reply::Secret(Box::new(secret.clone()))
    })
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
        Ok(happening.take(decide(&space.secret, command, stamp)?))
    }

    fn expire(space: &Space, stamp: &Stamp) -> Vec<Event> {
        let overdue = space.secret.overdue(stamp.now).take(limits::EXPIRIES_PER_BATCH_MAX);
        let events = overdue.map(|secret| Event::Expired { secret: secret.clone() });
        events.collect()
    }

    fn query(space: &Space, query: &Query) -> Option<Result<Reply, Rejection>> {
        Some(self::query(&space.secret, query))
    }
}

/// Decides a command against the current table.
fn decide(table: &Table, command: Command, stamp: &Stamp) -> Result<Decided, Rejection> {
    match command {
        Command::Put(command) => put(table, command, stamp),
        Command::Reveal { secret } => {
            known(table, &secret)?;
            let events = vec![Event::Revealed { secret: secret.clone() }];
            Ok(Decided::new(events, shown(secret)))
        }
        Command::Delete { secret } => {
            let gone = Box::new(known(table, &secret)?.clone());
            Ok(Decided::reply(vec![Event::Deleted { secret }], Reply::Secret(gone)))
        }
    }
}

fn known<'a>(table: &'a Table, secret: &SecretId) -> Result<&'a Secret, Rejection> {
    table.get(secret).ok_or_else(|| Rejection::NotFound { secret: secret.clone() })
}

/// Whether one secret may have this size. Also checked during the upload.
pub fn check_bytes(bytes: u64) -> Result<(), Rejection> {
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    Ok(fits("secret", bytes, limits::SECRET_BYTES_MAX)?)
}

fn put(table: &Table, command: Put, stamp: &Stamp) -> Result<Decided, Rejection> {
    let Put { secret, bytes, name, ttl_ms } = command;
    check_bytes(bytes)?;
    let range = (limits::TTL_MS_MIN, limits::TTL_MS_MAX);
    let ttl_ms = ttl_ms.map(|ttl_ms| within("ttl_ms", Some(ttl_ms), ttl_ms, range)).transpose()?;
    has_room([("secrets", table.len(), limits::SECRETS_MAX)])?;
    let expires_at = ttl_ms.map(|ttl_ms| stamp.now.after(ttl_ms));
    let events = vec![Event::Put { secret: secret.clone(), bytes, name, expires_at }];
    Ok(Decided::new(events, shown(secret)))
}

/// Answers a query.
pub fn query(table: &Table, query: &Query) -> Result<Reply, Rejection> {
    match query {
        Query::Get { secret } => Ok(Reply::Secret(Box::new(known(table, secret)?.clone()))),
        Query::List { limit, cursor } => {
            let limit = page::limit(*limit)?;
            let found = table.after(cursor.as_ref()).cloned();
            let (secrets, cursor) = page::first(found, limit, |last| last.secret.clone());
            Ok(Reply::Secrets { secrets, cursor })
        }
    }
}
