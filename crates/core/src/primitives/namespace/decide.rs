//! The rules of namespaces, one function per command.

use super::refusals::Rejection;
use super::table::Table;
use super::vocabulary::{Command, Event, Query, Reply, Signal};
use crate::limits;
use crate::names::NamespaceName;
use crate::namespace::rules::Rules;
use crate::page;
use crate::primitive;
use crate::refusal::TooMany;
use crate::space::stamp::Stamp;
use crate::space::{Happening, ReplyPlan, Space};

/// The outcome of a command.
type Decided = primitive::Decided<Event>;

/// The event, and the namespace as it is after it.
fn decided(event: Event) -> Decided {
    let name = event.name().clone();
    let plan = ReplyPlan::after(move |space| {
        Reply::Namespace(space.namespace.get(&name).expect("it was just written").clone())
    });
    Decided::new(vec![event], plan)
}

impl primitive::Rules for Table {
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
        Ok(happening.take(decide(&space.namespace, command)?))
    }

    fn handle(space: &Space, signal: Signal, _stamp: &Stamp) -> Result<Vec<Event>, Rejection> {
        let Signal::Ensure { name } = signal;
        ensure(&space.namespace, name)
    }

    fn query(space: &Space, query: &Query) -> Option<Result<Reply, Rejection>> {
        Some(self::query(&space.namespace, query))
    }
}

/// Decides a command against the current table.
fn decide(table: &Table, command: Command) -> Result<Decided, Rejection> {
    match command {
        Command::Create { name, rules } => create(table, name, rules).map(decided),
        Command::Configure { name, rules } => configure(table, name, rules),
        Command::Delete { name } => delete(table, name),
    }
}

fn create(table: &Table, name: NamespaceName, rules: Rules) -> Result<Event, Rejection> {
    if let Some(namespace) = table.get(&name) {
        return Err(Rejection::Exists { namespace: Box::new(namespace.clone()) });
    }
    if table.len() >= limits::NAMESPACES_MAX {
        return Err(TooMany { what: "namespaces", max: limits::NAMESPACES_MAX }.into());
    }
    check_rules(&name, &rules)?;
    Ok(Event::Created { name, rules })
}

fn configure(table: &Table, name: NamespaceName, rules: Rules) -> Result<Decided, Rejection> {
    let Some(namespace) = table.get(&name) else {
        return Err(Rejection::NotFound { name });
    };
    check_rules(&name, &rules)?;
    check_schema_version(&name, &namespace.rules, &rules)?;
    let pairs = rules.keys.iter().filter_map(|after| {
        let same = |before: &&crate::namespace::rules::KeyRules| before.pattern == after.pattern;
        Some((&namespace.rules.keys.iter().find(same)?.rules, &after.rules))
    });
    for (before, after) in pairs {
        check_schema_version(&name, before, after)?;
    }
    Ok(decided(Event::Configured { name, rules }))
}

fn delete(table: &Table, name: NamespaceName) -> Result<Decided, Rejection> {
    if name == NamespaceName::shared() {
        return Err(Rejection::Permanent { name });
    }
    let Some(namespace) = table.get(&name) else {
        return Err(Rejection::NotFound { name });
    };
    let reply = Reply::Namespace(namespace.clone());
    Ok(Decided::reply(vec![Event::Deleted { name }], reply))
}

/// Creates a namespace, unless there is one.
pub fn ensure(table: &Table, name: NamespaceName) -> Result<Vec<Event>, Rejection> {
    if table.get(&name).is_some() {
        return Ok(Vec::new());
    }
    Ok(vec![create(table, name, Rules::default())?])
}

fn check_rules(name: &NamespaceName, rules: &Rules) -> Result<(), Rejection> {
    match rules.fault() {
        Some(fault) => Err(Rejection::FaultyRules { name: name.clone(), fault }),
        None => Ok(()),
    }
}

/// Concurrent changes of a schema must be detected: where versions are used, a changed schema needs
/// a larger version, and a missing one counts as 0.
fn check_schema_version(
    name: &NamespaceName,
    before: &Rules,
    after: &Rules,
) -> Result<(), Rejection> {
    let Some(current) = before.schema_version else { return Ok(()) };
    if after.schema.is_none() && after.schema_version.is_none() {
        return Ok(());
    }
    let given = after.schema_version.unwrap_or_default();
    if given > current || (given == current && before.schema == after.schema) {
        return Ok(());
    }
    Err(Rejection::OldSchemaVersion { name: name.clone(), given, current })
}

/// Answers a query.
pub fn query(table: &Table, query: &Query) -> Result<Reply, Rejection> {
    match query {
        Query::Get { name } => match table.get(name) {
            Some(namespace) => Ok(Reply::Namespace(namespace.clone())),
            None => Err(Rejection::NotFound { name: name.clone() }),
        },
        Query::List { limit, cursor } => {
            let limit = limit.unwrap_or(limits::PAGE_DEFAULT);
            if !(1..=limits::PAGE_MAX).contains(&limit) {
                return Err(Rejection::LimitOutOfRange { given: limit, max: limits::PAGE_MAX });
            }
            let found = table.after(cursor.as_ref()).cloned();
            let (namespaces, cursor) = page::first(found, limit, |last| last.name.clone());
            Ok(Reply::Namespaces { namespaces, cursor })
        }
    }
}
