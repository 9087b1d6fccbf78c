//! The namespaces that a call accesses.

use crate::command::{Command, Mutation, Query};
use crate::handoff::Selected;
use crate::names::NamespaceName;
use crate::pattern::Pattern;
use crate::transaction::Precondition;
use crate::wire::Call;
use crate::{contract, handoff, namespace, state, workspace};

/// The prefix of subjects of shared state.
const STATE: &str = "state/";
/// The prefixes of subjects whose events reveal shared state: events of namespaces contain rules,
/// those of contracts name keys and fields, and receipts contain replies.
const TELLING: [&str; 4] = [STATE, "contracts/", "namespaces/", "receipts/"];

/// The namespaces of shared state that a call touches.
#[derive(Debug, PartialEq)]
pub(super) enum Scope {
    /// Only these namespaces.
    These(Vec<NamespaceName>),
    /// All namespaces, or it cannot be known in advance.
    All,
}

impl Scope {
    const NOTHING: Self = Self::These(Vec::new());

    fn one(namespace: &NamespaceName) -> Self {
        Self::These(vec![namespace.clone()])
    }

    fn one_or_all(namespace: Option<&NamespaceName>) -> Self {
        namespace.map_or(Self::All, Self::one)
    }

    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::These(mut these), Self::These(those)) => {
                these.extend(those);
                Self::These(these)
            }
            (Self::All, _) | (_, Self::All) => Self::All,
        }
    }
}

/// The namespaces that a call accesses.
pub(super) fn scope(call: &Call) -> Scope {
    match call {
        Call::Command(command) => of_command(command),
        Call::Query(query) => of_query(query),
        Call::Transaction(mutation) => of_mutation(mutation),
        Call::Watch(watch) => of_pattern(&watch.pattern),
        Call::Unwatch { .. } | Call::Ping => Scope::NOTHING,
    }
}

fn of_mutation(mutation: &Mutation) -> Scope {
    match mutation {
        Mutation::Command(command) => of_command(command),
        Mutation::Fenced { command, .. } => of_command(command),
        Mutation::Transaction { require, commands, .. } => {
            let required = require.iter().map(of_precondition);
            required.chain(commands.iter().map(of_command)).fold(Scope::NOTHING, Scope::and)
        }
        Mutation::Minimal(mutation) => of_mutation(mutation),
    }
}

/// A pattern with one literal namespace accesses that one. A pattern whose namespace has a wildcard
/// counts as accessing all.
fn of_pattern(pattern: &Pattern) -> Scope {
    if !TELLING.into_iter().any(|beginning| pattern.reaches(beginning)) {
        return Scope::NOTHING;
    }
    let literal = pattern.literal_prefix().strip_prefix(STATE);
    let named = literal.and_then(|rest| rest.split_once('/')).map(|(name, _)| name);
    match named.and_then(|name| NamespaceName::parse(name).ok()) {
        Some(namespace) => Scope::These(vec![namespace]),
        None => Scope::All,
    }
}

fn of_precondition(precondition: &Precondition) -> Scope {
    match precondition {
        Precondition::Entry { namespace, .. } => Scope::one(namespace),
        Precondition::Namespace { name, .. } => Scope::one(name),
        Precondition::Agent { .. }
        | Precondition::Task { .. }
        | Precondition::Lock { .. }
        | Precondition::Handoff { .. }
        | Precondition::Token(_)
        | Precondition::Revision(_) => Scope::NOTHING,
    }
}

fn of_command(command: &Command) -> Scope {
    match command {
        Command::State(command) => of_state(command),
        Command::Namespace(command) => Scope::one(command.name()),
        Command::Handoff(command) => of_handoff(command),
        Command::Contract(command) => of_contract(command),
        // The first writes to any namespace, the others execute commands later, without the limits
        // of this grant.
        Command::Workspace(workspace::Command::Sync(_)) | Command::Reaction(_) => Scope::All,
        // No other primitive reads or writes shared state for its caller.
        _ => Scope::NOTHING,
    }
}

fn of_state(command: &state::Command) -> Scope {
    match command {
        state::Command::Set(set) => Scope::one(&set.namespace),
        state::Command::Patch(patch) => Scope::one(&patch.namespace),
        state::Command::Delete(delete) => Scope::one(&delete.namespace),
        state::Command::Transfer(transfer) => {
            Scope::one(&transfer.from_namespace).and(Scope::one(&transfer.to_namespace))
        }
    }
}

/// A contract reveals whether keys satisfy it.
fn of_contract(command: &contract::Command) -> Scope {
    let contract::Command::Declare(declare) = command else { return Scope::NOTHING };
    let literal = |terms: &contract::Terms| {
        let named = terms.key.literal_prefix().split_once('/').map(|(name, _)| name);
        let namespace = named.and_then(|name| NamespaceName::parse(name).ok());
        Scope::one_or_all(namespace.as_ref())
    };
    declare.keys.iter().map(literal).fold(Scope::NOTHING, Scope::and)
}

fn of_handoff(command: &handoff::Command) -> Scope {
    match command {
        handoff::Command::Offer(offer)
        | handoff::Command::Execute(offer)
        | handoff::Command::Validate(offer) => {
            let namespace = |selected: &Selected| NamespaceName::parse(selected.name.namespace());
            let namespaces = offer.keys.iter().map(namespace);
            Scope::These(namespaces.map(|it| it.expect("it was checked before")).collect())
        }
        // The giver had access to the keys that it selected; a context has none.
        handoff::Command::ImportContext(_)
        | handoff::Command::Receive { .. }
        | handoff::Command::Accept(_)
        | handoff::Command::Reject { .. }
        | handoff::Command::Complete(_)
        | handoff::Command::Cancel { .. }
        | handoff::Command::Approve { .. } => Scope::NOTHING,
        // The namespace of the caller, whose name is not part of the command.
        handoff::Command::ExecuteAll(_) => Scope::All,
    }
}

fn of_query(query: &Query) -> Scope {
    match query {
        Query::State(query) => match query {
            state::Query::Get(get) => Scope::one(&get.namespace),
            state::Query::List(list) => Scope::one(&list.namespace),
            state::Query::History(history) => Scope::one_or_all(history.namespace.as_ref()),
            state::Query::Snapshot(snapshot) => Scope::one_or_all(snapshot.namespace.as_ref()),
            state::Query::Diff(diff) => Scope::one_or_all(diff.namespace.as_ref()),
        },
        Query::Namespace(query) => match query {
            namespace::Query::List { .. } => Scope::All,
            namespace::Query::Get { name } => Scope::one(name),
        },
        Query::Contract(query) => match query {
            contract::Query::List { .. } | contract::Query::Show { .. } => Scope::All,
            contract::Query::Check { namespace, .. } => Scope::one_or_all(namespace.as_ref()),
        },
        // Both may show any event or entry.
        Query::UserEvent(_) | Query::Context(_) => Scope::All,
        Query::Workspace(query) => match query {
            workspace::Query::Get | workspace::Query::List { .. } => Scope::NOTHING,
            workspace::Query::Fork { .. }
            | workspace::Query::Delete { .. }
            | workspace::Query::Diff(_)
            | workspace::Query::Changes(_)
            | workspace::Query::Search(_)
            | workspace::Query::Why { .. } => Scope::All,
        },
        Query::At(_, query) => of_query(query),
        // No other primitive shows shared state.
        _ => Scope::NOTHING,
    }
}
