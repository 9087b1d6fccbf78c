//! The rules of rules, one function per command.

use super::refusals::Rejection;
use super::table::Table;
use super::vocabulary::{Add, Command, Event, Query, Reply, Signal};
use crate::expression::ExpressionError;
use crate::limits;
use crate::names::RuleName;
use crate::page;
use crate::primitive::{self, Rules};
use crate::refusal::TooMany;
use crate::rule::CheckError;
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
        space: &Space,
        command: Command,
        _stamp: &Stamp,
        happening: &mut Happening<'_>,
    ) -> Result<ReplyPlan, Rejection> {
        Ok(happening.take(decide(&space.rule, command)?))
    }

    fn query(space: &Space, query: &Query) -> Option<Result<Reply, Rejection>> {
        Some(self::query(&space.rule, query))
    }
}

/// Decides a command against the current table.
fn decide(table: &Table, command: Command) -> Result<Decided, Rejection> {
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
    let event = Event::Added { name: name.clone(), on, check, severity, message, replaced };
    let plan = ReplyPlan::after(move |space| {
        Reply::Rule(space.rule.get(&name).expect("it was just added").clone())
    });
    Ok(Decided::new(vec![event], plan))
}

fn remove(table: &Table, name: RuleName) -> Result<Decided, Rejection> {
    let Some(rule) = table.get(&name) else { return Err(Rejection::NotFound { name }) };
    let reply = Reply::Rule(rule.clone());
    Ok(Decided::reply(vec![Event::Removed { name }], reply))
}

/// Answers a query.
pub fn query(table: &Table, query: &Query) -> Result<Reply, Rejection> {
    match query {
        Query::List { limit, cursor } => {
            let limit = limit.unwrap_or(limits::PAGE_DEFAULT);
            if !(1..=limits::PAGE_MAX).contains(&limit) {
                return Err(Rejection::LimitOutOfRange { given: limit, max: limits::PAGE_MAX });
            }
            let found = table.after(cursor.as_ref()).cloned();
            let (rules, cursor) = page::first(found, limit, |last| last.name.clone());
            Ok(Reply::Rules { rules, cursor })
        }
    }
}
