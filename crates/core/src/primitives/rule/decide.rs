//! The rules of rules, one function per command.

use super::refusals::Rejection;
use super::table::Table;
use super::vocabulary::{Add, Command, Event, Query, Reply, Signal};
use crate::expression::ExpressionError;
use crate::limits;
use crate::names::RuleName;
use crate::primitive::Rules;
use crate::refusal::TooMany;
use crate::rule::CheckError;
use crate::space::stamp::Stamp;
use crate::space::{Happening, ReplyPlan, Space};

/// The events of a command. The reply is the resulting rule, unless it was removed.
pub struct Decided {
    /// The events.
    pub events: Vec<Event>,
    /// The reply; if none, the rule after the events.
    pub reply: Option<Reply>,
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
        _stamp: &Stamp,
        happening: &mut Happening<'_>,
    ) -> Result<ReplyPlan, Rejection> {
        let name = command.name().clone();
        let decided = decide(&space.rule, command)?;
        happening.extend(decided.events);
        Ok(ReplyPlan::after(move |space| {
            let there = || space.rule.get(&name).expect("it was just added").clone();
            Some(decided.reply.unwrap_or_else(|| Reply::Rule(there())))
        }))
    }

    fn query(space: &Space, query: &Query) -> Option<Result<Reply, Rejection>> {
        Some(self::query(&space.rule, query))
    }
}

/// Decides a command against the current table.
pub fn decide(table: &Table, command: Command) -> Result<Decided, Rejection> {
    match command {
        Command::Add(add) => self::add(table, *add),
        Command::Remove { name } => remove(table, name),
    }
}

fn add(table: &Table, add: Add) -> Result<Decided, Rejection> {
    let Add { name, on, check, severity, message } = add;
    let replaced = table.get(&name).is_some();
    if !replaced && table.len() >= limits::RULES_MAX {
        return Err(TooMany { what: "rules", max: limits::RULES_MAX }.into());
    }
    let bytes = message.as_ref().map_or(0, String::len);
    if bytes > limits::RULE_MESSAGE_BYTES_MAX {
        let bytes_max = limits::RULE_MESSAGE_BYTES_MAX;
        return Err(Rejection::MessageTooLong { bytes, bytes_max });
    }
    let check = match check.compile() {
        Ok(check) => check,
        Err(CheckError::Expression(ExpressionError { offset, reason })) => {
            return Err(Rejection::BadExpression { name, offset, reason });
        }
        Err(fault) => return Err(Rejection::FaultyCheck { name, fault }),
    };
    let event = Event::Added { name, on, check, severity, message, replaced };
    Ok(Decided { events: vec![event], reply: None })
}

fn remove(table: &Table, name: RuleName) -> Result<Decided, Rejection> {
    let Some(rule) = table.get(&name) else { return Err(Rejection::NotFound { name }) };
    let reply = Some(Reply::Rule(rule.clone()));
    Ok(Decided { events: vec![Event::Removed { name }], reply })
}

/// Answers a query.
pub fn query(table: &Table, query: &Query) -> Result<Reply, Rejection> {
    match query {
        Query::List { limit, cursor } => {
            let limit = limit.unwrap_or(limits::PAGE_DEFAULT);
            if !(1..=limits::PAGE_MAX).contains(&limit) {
                return Err(Rejection::LimitOutOfRange { given: limit, max: limits::PAGE_MAX });
            }
            let mut rules: Vec<_> = table.after(cursor.as_ref()).take(limit + 1).cloned().collect();
            let more = rules.len() > limit;
            rules.truncate(limit);
            let cursor = rules.last().filter(|_| more).map(|last| last.name.clone());
            Ok(Reply::Rules { rules, cursor })
        }
    }
}
