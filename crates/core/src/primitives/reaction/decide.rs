//! The rules of reactions, one function per command. They are run by the space, since their
//! commands may be about anything.

use super::refusals::Rejection;
use super::table::Table;
use super::vocabulary::{Add, Command, Event, Query, Reply, Signal};
use crate::json::shortened;
use crate::limits;
use crate::names::ReactionName;
use crate::page;
use crate::primitive::{self, Rules};
use crate::reaction::{Outcome, PendingCall, Unusable, WebhookCall, WebhookSpec, check_commands};
use crate::refusal::{fits, has_room};
use crate::space::stamp::Stamp;
use crate::space::{Happening, ReplyPlan, Space};
use crate::time::Timestamp;

/// The outcome of a command.
type Decided = primitive::Decided<Event>;

/// The reaction, as it is after the events.
fn reaction(name: ReactionName) -> ReplyPlan {
    ReplyPlan::after(move |space| {
        Reply::Reaction(Box::new(space.reaction.shown(&name).expect("it is there")))
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
        Ok(happening.take(decide(&space.reaction, command, stamp)?))
    }

    fn expire(space: &Space, stamp: &Stamp) -> Vec<Event> {
        let table = &space.reaction;
        let due = table.overdue(stamp.now).take(limits::EXPIRIES_PER_BATCH_MAX);
        let events = due.map(|call| match call.until {
            Some(_) => failed(table, call, "its outcome was not reported in time", true, stamp.now),
            None => failed(table, call, "the call was not made in time", false, stamp.now),
        });
        events.collect()
    }

    fn query(space: &Space, query: &Query) -> Option<Result<Reply, Rejection>> {
        Some(self::query(&space.reaction, query))
    }
}

/// Decides a command against the current table.
fn decide(table: &Table, command: Command, stamp: &Stamp) -> Result<Decided, Rejection> {
    match command {
        Command::Add(add) => self::add(table, *add),
        Command::Remove { name } => remove(table, name),
        Command::Enable { name } => switch(table, name, true),
        Command::Disable { name } => switch(table, name, false),
        Command::Take { max } => Ok(take(table, max, stamp)),
        Command::Settle { call, attempt, outcome } => {
            Ok(settle(table, call, attempt, outcome, stamp))
        }
    }
}

fn add(table: &Table, add: Add) -> Result<Decided, Rejection> {
    let Add { name, on, commands, webhook, enabled } = add;
    let before = table.get(&name);
    if before.is_some_and(|record| record.built_in) {
        return Err(Rejection::BuiltIn { name });
    }
    if before.is_none() {
        has_room([("reactions", table.len(), limits::REACTIONS_MAX)])?;
    }
    if on.kind.is_none() && on.subject.is_none() {
        return Err(Rejection::Pointless { name, reason: "runs on nothing in particular" });
    }
    if commands.is_empty() && webhook.is_none() {
        return Err(Rejection::Pointless { name, reason: "does nothing" });
    }
    has_room([("commands", commands.len().saturating_sub(1), limits::REACTION_COMMANDS_MAX)])?;
    let bytes = on.weight() + commands.iter().map(|it| it.as_bytes().len()).sum::<usize>();
    fits("do", bytes, limits::REACTION_BYTES_MAX)?;
    if let Err((index, reason)) = check_commands(&commands) {
        return Err(Rejection::BadCommand { name, index, reason: shortened(&reason) });
    }
    let bad_webhook = |cause| match cause {
        Unusable::Range(cause) => Rejection::OutOfRange(cause),
        Unusable::Url(reason) => {
            Rejection::BadWebhook { name: name.clone(), reason: format!("the url: {reason}") }
        }
        Unusable::Secret => {
            let max = limits::WEBHOOK_SECRET_BYTES_MAX;
            let reason = format!("the secret must have 1 to {max} bytes");
            Rejection::BadWebhook { name: name.clone(), reason }
        }
    };
    let (webhook, secret) = match webhook.map(WebhookSpec::checked).transpose() {
        Ok(webhook) => webhook.map_or((None, None), |(webhook, secret)| (Some(webhook), secret)),
        Err(cause) => return Err(bad_webhook(cause)),
    };
    let (reaction, replaced) = (name.clone(), before.is_some());
    let enabled = enabled.unwrap_or(true);
    let mut events = vec![Event::Added { reaction, on, commands, webhook, enabled, replaced }];
    events.extend(secret.map(|secret| Event::Sealed { reaction: name.clone(), secret }));
    Ok(Decided::new(events, self::reaction(name)))
}

fn remove(table: &Table, name: ReactionName) -> Result<Decided, Rejection> {
    let Some(record) = table.get(&name) else { return Err(Rejection::NotFound { name }) };
    if record.built_in {
        return Err(Rejection::BuiltIn { name });
    }
    let reply = Reply::Reaction(Box::new(record.shown(table.calls_of(&name))));
    Ok(Decided::reply(vec![Event::Removed { reaction: name }], reply))
}

fn switch(table: &Table, name: ReactionName, enabled: bool) -> Result<Decided, Rejection> {
    let Some(record) = table.get(&name) else { return Err(Rejection::NotFound { name }) };
    let reaction = name.clone();
    let events = match (record.enabled, enabled) {
        (false, true) => vec![Event::Enabled { reaction }],
        (true, false) => vec![Event::Disabled { reaction }],
        (true, true) | (false, false) => Vec::new(),
    };
    Ok(Decided::new(events, self::reaction(name)))
}

/// The event of a failed attempt: retried, or dead.
fn failed(table: &Table, call: &PendingCall, detail: &str, again: bool, now: Timestamp) -> Event {
    let (reaction, attempt) = (call.reaction.clone(), call.attempts);
    let detail = shortened(detail);
    let webhook = table.get(&reaction).and_then(|record| record.webhook.as_ref());
    let retries = webhook.map_or(0, |webhook| webhook.retries);
    let again_at = Timestamp(now.0 + call.pause_ms());
    #[cfg(feature = "planted")]
    let retries = retries + u64::from(crate::planted::is("reaction.one_try_too_many"));
    if again && attempt <= retries && again_at < call.give_up_at {
        return Event::CallFailed { reaction, call: call.number, attempt, detail, again_at };
    }
    Event::CallDead { reaction, call: call.number, attempt, detail }
}

fn take(table: &Table, max: usize, stamp: &Stamp) -> Decided {
    let mut events = Vec::new();
    let mut calls = Vec::new();
    let mut next_at: Option<Timestamp> = None;
    for call in table.first_calls() {
        let record = table.get(&call.reaction).expect("a call is of a reaction that is there");
        let Some(webhook) = &record.webhook else { continue };
        if call.not_before > stamp.now || calls.len() >= max {
            let at = call.not_before.max(stamp.now);
            next_at = Some(next_at.map_or(at, |earlier| earlier.min(at)));
            continue;
        }
        let attempt = call.attempts + 1;
        let until = Timestamp(stamp.now.0 + webhook.timeout_ms + limits::WEBHOOK_SLACK_MS);
        let (reaction, number) = (call.reaction.clone(), call.number);
        events.push(Event::CallBegun { reaction: reaction.clone(), call: number, attempt, until });
        let (webhook, secret) = (webhook.clone(), record.secret.clone());
        let (at, body) = (stamp.now, call.body.clone());
        calls.push(WebhookCall { number, reaction, attempt, at, webhook, secret, body });
    }
    Decided::reply(events, Reply::Calls { calls, next_at })
}

fn settle(table: &Table, number: u64, attempt: u64, outcome: Outcome, stamp: &Stamp) -> Decided {
    let is_it = |call: &&PendingCall| call.attempts == attempt && call.until.is_some();
    // A late report is ignored: the attempt already counts as failed, or the reaction was removed.
    let Some(call) = table.call(number).filter(is_it) else {
        return Decided::reply(Vec::new(), Reply::Done);
    };
    let event = match outcome {
        Outcome::Done { status } => {
            Event::CallDone { reaction: call.reaction.clone(), call: number, attempt, status }
        }
        Outcome::Failed { detail, again } => failed(table, call, &detail, again, stamp.now),
    };
    Decided::reply(vec![event], Reply::Done)
}

/// Answers a query.
pub fn query(table: &Table, query: &Query) -> Result<Reply, Rejection> {
    match query {
        Query::Get { name } => match table.shown(name) {
            Some(reaction) => Ok(Reply::Reaction(Box::new(reaction))),
            None => Err(Rejection::NotFound { name: name.clone() }),
        },
        Query::List { limit, cursor } => {
            let limit = page::limit(*limit)?;
            let found = table.after(cursor.as_ref());
            let found = found.map(|record| record.shown(table.calls_of(&record.name)));
            let (reactions, cursor) = page::first(found, limit, |last| last.name.clone());
            Ok(Reply::Reactions { reactions, cursor })
        }
    }
}
