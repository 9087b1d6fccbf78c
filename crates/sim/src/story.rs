//! Requests, queries and answers as lines of a trace.

use std::fmt::Write as _;

use baton_core::state::{Command as StateCommand, Query as StateQuery, Reply as StateReply};
use baton_core::{
    Answer, Command, Entry, Json, Mutation, Query, Rejection, Reply, Request, Revision, Version,
    agent, namespace, workspace,
};

use crate::actors::agent::Action;

/// Longer values add no information.
const VALUE_CHARACTERS_MAX: usize = 24;

/// A request.
pub(crate) fn render_action(action: &Action) -> String {
    match action {
        Action::Submit(request) => requested(request),
        Action::Ask(query) => asked(query),
    }
}

fn requested(request: &Request) -> String {
    let mut line = match request.mutation.executed() {
        Mutation::Command(command) => commanded(command),
        Mutation::Minimal(mutation) => format!("{mutation:?}"),
        Mutation::Fenced { token, command } => format!("under {token} {}", commanded(command)),
        Mutation::Transaction { require, commands, .. } => {
            let commands: Vec<String> = commands.iter().map(commanded).collect();
            let all = commands.join(", and ");
            match require.len() {
                0 => format!("at once {all}"),
                count => format!("if {count} preconditions hold, at once {all}"),
            }
        }
    };
    if matches!(request.mutation, Mutation::Minimal(_)) {
        line.push_str(", answered minimally");
    }
    if let Some(key) = &request.idempotency_key {
        let _ = write!(line, " (key {key})");
    }
    line
}

fn commanded(command: &Command) -> String {
    match command {
        Command::State(StateCommand::Set(set)) => {
            let mut line = format!("sets {}/{} to {}", set.namespace, set.key, short(&set.value));
            line.push_str(&expected(set.expected_version));
            if set.if_absent {
                line.push_str(" if absent");
            }
            if let Some(ttl_ms) = set.ttl_ms {
                let _ = write!(line, " for {ttl_ms} ms");
            }
            if set.ephemeral {
                line.push_str(" for this session");
            }
            line
        }
        Command::State(StateCommand::Patch(patch)) => {
            let expected = expected(patch.expected_version);
            format!("patches {}/{}{expected}", patch.namespace, patch.key)
        }
        Command::State(StateCommand::Delete(delete)) => {
            let expected = expected(delete.expected_version);
            format!("deletes {}/{}{expected}", delete.namespace, delete.key)
        }
        Command::State(StateCommand::Transfer(transfer)) => {
            let what = transfer.keys.as_ref().map_or("everything".to_owned(), |keys| {
                let keys: Vec<&str> = keys.iter().map(baton_core::Key::as_str).collect();
                keys.join(" and ")
            });
            format!("moves {what} from {} to {}", transfer.from_namespace, transfer.to_namespace)
        }
        Command::Namespace(command) => of_namespace(command),
        Command::Agent(command) => match command {
            agent::Command::Register(register) => {
                format!("registers, may be silent for {} ms", register.ttl_ms.unwrap_or_default())
            }
            agent::Command::Heartbeat { token, .. } => format!("beats with token {token:?}"),
            agent::Command::Leave { token, .. } => format!("leaves with token {token:?}"),
        },
        Command::Workspace(workspace::Command::Configure { history_count, history_age_ms }) => {
            match (history_count, history_age_ms) {
                (Some(count), _) => format!("keeps {count} revisions of history"),
                (None, Some(age_ms)) => format!("keeps history for {age_ms} ms"),
                (None, None) => "keeps history as it is".to_owned(),
            }
        }
        command => format!("asks {command:?}"),
    }
}

fn of_namespace(command: &namespace::Command) -> String {
    let name = command.name();
    match command {
        namespace::Command::Create { .. } => format!("creates namespace {name}"),
        namespace::Command::Configure { .. } => format!("changes the rules of {name}"),
        namespace::Command::Delete { .. } => format!("deletes namespace {name}"),
    }
}

fn expected(version: Option<Version>) -> String {
    version.map_or(String::new(), |version| format!(" if it is at version {version}"))
}

fn at(revision: Option<Revision>) -> String {
    revision.map_or(String::new(), |revision| format!(" as of revision {revision}"))
}

fn asked(query: &Query) -> String {
    match query {
        Query::State(StateQuery::Get(get)) => {
            format!("reads {}/{}{}", get.namespace, get.key, at(get.at))
        }
        Query::State(StateQuery::List(list)) => format!("lists {}{}", list.namespace, at(list.at)),
        Query::State(StateQuery::Snapshot(snapshot)) => {
            format!("reads everything{}", at(snapshot.at))
        }
        Query::State(StateQuery::History(history)) => {
            let from = history.from.unwrap_or_default();
            match (&history.namespace, &history.key) {
                (Some(namespace), Some(key)) => {
                    format!("reads the history of {namespace}/{key} since {from}")
                }
                (Some(namespace), None) => format!("reads the history of {namespace} since {from}"),
                (None, _) => format!("reads the history since {from}"),
            }
        }
        Query::State(StateQuery::Diff(diff)) => {
            let to = diff.to.map_or("now".to_owned(), |to| to.to_string());
            format!("asks what differs between {} and {to}", diff.from)
        }
        Query::At(at, query) => format!("{} as of {at}", asked(query)),
        query => format!("asks {query:?}"),
    }
}

/// An answer.
pub(crate) fn render_answer(answer: &Result<Answer, Rejection>) -> String {
    match answer {
        Ok(Answer { revision, reply }) => format!("{} at revision {revision}", shown(reply)),
        Err(rejection) => format!("no, {rejection}"),
    }
}

fn shown(reply: &Reply) -> String {
    match reply {
        Reply::State(StateReply::Entry(entry)) => entry_shown(entry),
        Reply::State(StateReply::Entries(page)) => format!("{} entries", page.entries.len()),
        Reply::State(StateReply::Moved { keys }) => format!("{} moved", keys.len()),
        Reply::State(StateReply::Changes { changes, .. }) => format!("{} changes", changes.len()),
        Reply::Agent(agent::Reply::Agent(agent)) => {
            format!("{} is {} with token {}", agent.id, agent.status.word(), agent.token)
        }
        Reply::Agent(agent::Reply::Agents { agents, .. }) => format!("{} agents", agents.len()),
        Reply::Namespace(namespace::Reply::Namespace(namespace)) => {
            format!("namespace {}", namespace.name)
        }
        Reply::Namespace(namespace::Reply::Namespaces { namespaces, .. }) => {
            format!("{} namespaces", namespaces.len())
        }
        Reply::Workspace(workspace::Reply::Workspace { retention, entries, .. }) => {
            format!("{entries} entries, history of {} revisions", retention.history_count)
        }
        Reply::Transaction(replies) => replies.iter().map(shown).collect::<Vec<_>>().join(", and "),
        reply => format!("{reply:?}"),
    }
}

fn entry_shown(entry: &Entry) -> String {
    let (namespace, key, version) = (entry.namespace(), entry.key(), entry.version());
    format!("{namespace}/{key} is {}, version {version}", short(&entry.json()))
}

fn short(value: &Json) -> String {
    let text = value.as_str();
    if text.chars().count() <= VALUE_CHARACTERS_MAX {
        return text.to_owned();
    }
    let shown: String = text.chars().take(VALUE_CHARACTERS_MAX).collect();
    format!("{shown}…")
}
