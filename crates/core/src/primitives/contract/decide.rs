//! The rules of contracts, one function per command.

use super::refusals::Rejection;
use super::table::Table;
use super::terms::Terms;
use super::vocabulary::{Command, Declaration, Declare, Event, Query, Reply, Signal};
use crate::names::{AgentId, ContractName, Key, NamespaceName};
use crate::page;
use crate::primitive::{self, Rules};
use crate::refusal::{BadField, TooMany};
use crate::space::stamp::Stamp;
use crate::space::{Happening, ReplyPlan, Space};
use crate::{contracts, limits};

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
        stamp: &Stamp,
        happening: &mut Happening<'_>,
    ) -> Result<ReplyPlan, Rejection> {
        Ok(happening.take(decide(&space.contract, command, &stamp.agent)?))
    }

    fn query(space: &Space, query: &Query) -> Option<Result<Reply, Rejection>> {
        Some(match query {
            Query::List { limit, cursor } => list(&space.contract, *limit, cursor.as_ref()),
            Query::Show { pattern, limit, cursor } => {
                contracts::show(space, pattern.as_ref(), *limit, cursor.as_deref())
            }
            Query::Check { namespace, schema } => {
                contracts::check(space, namespace.as_ref(), schema.as_ref())
            }
        })
    }
}

/// Decides a command of an agent against the current table.
fn decide(table: &Table, command: Command, agent: &AgentId) -> Result<Decided, Rejection> {
    match command {
        Command::Declare(declare) => self::declare(table, *declare, agent),
        Command::Delete { name, force } => delete(table, name, force, agent),
    }
}

fn declare(table: &Table, declare: Declare, agent: &AgentId) -> Result<Decided, Rejection> {
    let Declare { name, keys, on_break } = declare;
    let before = table.get(&name);
    if let Some(before) = before {
        check_owner(before, agent)?;
    }
    if before.is_none() && table.len() >= limits::CONTRACTS_MAX {
        return Err(TooMany { what: "contracts", max: limits::CONTRACTS_MAX }.into());
    }
    check_keys(&keys)?;
    let wild = |terms: &&Terms| terms.key.is_exact().is_none();
    let dropped = before.map_or(0, |before| before.keys.iter().filter(wild).count());
    let patterns = table.patterns() - dropped + keys.iter().filter(wild).count();
    if patterns > limits::CONTRACT_PATTERNS_MAX {
        let max = limits::CONTRACT_PATTERNS_MAX;
        return Err(TooMany { what: "patterns of contracts", max }.into());
    }
    let replaced = before.is_some();
    let event = Event::Declared { name: name.clone(), keys, on_break, replaced };
    let plan = ReplyPlan::after(move |space| {
        Reply::Declaration(space.contract.get(&name).expect("it was just declared").clone())
    });
    Ok(Decided::new(vec![event], plan))
}

fn delete(
    table: &Table,
    name: ContractName,
    force: bool,
    agent: &AgentId,
) -> Result<Decided, Rejection> {
    let Some(contract) = table.get(&name) else { return Err(Rejection::NotFound { name }) };
    if !force {
        check_owner(contract, agent)?;
    }
    let reply = Reply::Declaration(contract.clone());
    Ok(Decided::reply(vec![Event::Deleted { name }], reply))
}

fn check_owner(contract: &Declaration, agent: &AgentId) -> Result<(), Rejection> {
    if contract.owner == *agent {
        return Ok(());
    }
    let (contract, owner) = (contract.name.clone(), contract.owner.clone());
    Err(Rejection::NotOwner { contract, owner })
}

fn check_keys(keys: &[Terms]) -> Result<(), BadField> {
    let bad = |reason: String| Err(BadField { field: "keys".into(), reason });
    if !(1..=limits::CONTRACT_KEYS_MAX).contains(&keys.len()) {
        let max = limits::CONTRACT_KEYS_MAX;
        return bad(format!("there must be between 1 and {max} keys, not {}", keys.len()));
    }
    let bytes: usize = keys.iter().map(Terms::weight).sum();
    if bytes > limits::CONTRACT_DECLARATION_BYTES_MAX {
        let max = limits::CONTRACT_DECLARATION_BYTES_MAX;
        return bad(format!("they have {bytes} bytes; the limit is {max}"));
    }
    for terms in keys {
        let key = terms.key.as_str();
        let is_named = terms.key.is_exact().is_none_or(|name| {
            let parts = name.split_once('/');
            parts.is_some_and(|(namespace, key)| {
                NamespaceName::parse(namespace).is_ok() && Key::parse(key).is_ok()
            })
        });
        if !is_named {
            return bad(format!("`{key}` is not `namespace/key`"));
        }
        if terms.fields.len() > limits::CONTRACT_FIELDS_MAX {
            let max = limits::CONTRACT_FIELDS_MAX;
            return bad(format!("`{key}` has more than {max} fields"));
        }
        if let Some(field) = terms.fields.iter().find(|field| !is_field(field)) {
            return bad(format!("`{field}` is neither a name nor a JSON Pointer"));
        }
    }
    Ok(())
}

/// Whether a text is the name of a field or a JSON Pointer to one, of a bearable length.
fn is_field(text: &str) -> bool {
    (1..=limits::KEY_BYTES_MAX).contains(&text.len()) && text != "/"
}

fn list(
    table: &Table,
    limit: Option<usize>,
    cursor: Option<&ContractName>,
) -> Result<Reply, Rejection> {
    let limit = limit.unwrap_or(limits::PAGE_DEFAULT);
    if !(1..=limits::PAGE_MAX).contains(&limit) {
        return Err(Rejection::LimitOutOfRange { given: limit, max: limits::PAGE_MAX });
    }
    let found = table.after(cursor).cloned();
    let (declarations, cursor) = page::first(found, limit, |last| last.name.clone());
    Ok(Reply::Declarations { declarations, cursor })
}
