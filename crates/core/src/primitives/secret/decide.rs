//! The rules of secrets, one function per command.

use super::refusals::Rejection;
use super::table::Table;
use super::vocabulary::{Command, Event, Put, Query, Reply, Secret, Signal};
use crate::limits;
use crate::names::SecretId;
use crate::primitive::Rules;
use crate::refusal::{fits, has_room, within};
use crate::space::stamp::Stamp;
use crate::space::{Happening, ReplyPlan as SpacePlan, Space};

/// The events of a command, and how to build its reply.
pub struct Decided {
    /// The events. Empty if nothing changes.
    pub events: Vec<Event>,
    /// Which reply to build once the events are applied.
    pub plan: ReplyPlan,
}

/// Which reply to build.
pub enum ReplyPlan {
    /// The secret.
    Secret(SecretId),
    /// The secret before it was deleted.
    Gone(Box<Secret>),
}

impl ReplyPlan {
    /// The reply, from the current table.
    pub(crate) fn reply(self, table: &Table) -> Reply {
        match self {
            Self::Secret(secret) => {
                let secret = table.get(&secret).expect("it is there after a put or a reveal");
                Reply::Secret(Box::new(secret.clone()))
            }
            Self::Gone(secret) => Reply::Secret(secret),
        }
    }
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
    ) -> Result<SpacePlan, Rejection> {
        let decided = decide(&space.secret, command, stamp)?;
        happening.extend(decided.events);
        let plan = decided.plan;
        Ok(SpacePlan::after(move |space| Some(plan.reply(&space.secret))))
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
pub fn decide(table: &Table, command: Command, stamp: &Stamp) -> Result<Decided, Rejection> {
    match command {
        Command::Put(command) => put(table, command, stamp),
        Command::Reveal { secret } => {
            known(table, &secret)?;
            let events = vec![Event::Revealed { secret: secret.clone() }];
            Ok(Decided { events, plan: ReplyPlan::Secret(secret) })
        }
        Command::Delete { secret } => {
            let gone = known(table, &secret)?.clone();
            let plan = ReplyPlan::Gone(Box::new(gone));
            Ok(Decided { events: vec![Event::Deleted { secret }], plan })
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
    Ok(Decided { events, plan: ReplyPlan::Secret(secret) })
}

/// Answers a query.
pub fn query(table: &Table, query: &Query) -> Result<Reply, Rejection> {
    match query {
        Query::Get { secret } => Ok(Reply::Secret(Box::new(known(table, secret)?.clone()))),
        Query::List { limit, cursor } => {
            let range = (1, limits::PAGE_MAX as u64);
            let limit = within("limit", *limit, limits::PAGE_DEFAULT as u64, range)?;
            let limit = usize::try_from(limit).expect("pages are small");
            let found = table.after(cursor.as_ref()).take(limit + 1);
            let mut secrets: Vec<Secret> = found.cloned().collect();
            let more = secrets.len() > limit;
            secrets.truncate(limit);
            let cursor = secrets.last().filter(|_| more).map(|last| last.secret.clone());
            Ok(Reply::Secrets { secrets, cursor })
        }
    }
}
