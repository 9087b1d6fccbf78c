//! Dynamic shell completion: commands and options, and live names from the server.
//!
//! ```text
//!   tab ──▶ the shell ──▶ COMPLETE=bash baton -- baton task get t-00…
//!                                        │
//!                    which argument, and of which kind? ──▶ task.list ──▶ the ids that match
//! ```
//!
//! 1. If the server is unreachable, slow or denies access, nothing is offered and nothing is
//!    printed, so that the line being typed is not disturbed.
//! 2. The kind of an argument follows from its name, in one table. A test lists the arguments that
//!    must be in it.
//! 3. The request uses the settings on the line so far: `--workspace`, `--url` and the like.
//!
//! Deliberately absent: values and pipeline stages, which no operation lists.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::time::Duration;

use baton_client::Method;
use baton_core::limits;
use clap::{Arg, Command, CommandFactory};
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use serde_json::{Value, json};

use crate::arguments::{Arguments, Globals};
use crate::context::Context;
use crate::settings::Settings;

/// Set by the script of the shell: which shell asks, and which word is being completed.
const REQUEST: &str = "COMPLETE";
const CURRENT: &str = "_CLAP_COMPLETE_INDEX";

/// What `task add --on-exhausted` takes.
const EXHAUSTED: &str = "fail\nreview\nagent:";
/// The types of the events of a workspace, one per line. A test compares them with `spec`.
const EVENT_TYPES: &str = include_str!("event_types.txt");

/// How long to wait for the server, unless [`PATIENCE`] is set.
const PATIENCE_MS: u64 = 700;
const PATIENCE: &str = "BATON_COMPLETION_MS";

/// A kind of object on the server, and how to list all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kind {
    /// The operation that lists them.
    command: &'static str,
    /// The fields of the response: the list, the name of an object, and its description.
    list: &'static str,
    name: &'static str,
    about: &'static str,
}

const fn kind(
    command: &'static str,
    list: &'static str,
    name: &'static str,
    about: &'static str,
) -> Kind {
    Kind { command, list, name, about }
}

const AGENTS: Kind = kind("agent.list", "agents", "id", "status");
const ARTIFACTS: Kind = kind("artifact.list", "artifacts", "artifact", "name");
const CHECKPOINTS: Kind = kind("checkpoint.list", "checkpoints", "id", "task");
const CONTRACTS: Kind = kind("contract.list", "declarations", "name", "owner");
const HANDOFFS: Kind = kind("handoff.list", "handoffs", "id", "status");
const KEYS: Kind = kind("state.list", "entries", "key", "updated_by");
const LOCKS: Kind = kind("lock.list", "locks", "name", "status");
const MESSAGES: Kind = kind("inbox.list", "messages", "id", "from");
const NAMESPACES: Kind = kind("namespace.list", "namespaces", "name", "created_by");
const PIPELINES: Kind = kind("pipeline.list", "pipelines", "name", "status");
const REACTIONS: Kind = kind("reaction.list", "reactions", "name", "added_by");
const RULES: Kind = kind("rule.list", "rules", "name", "severity");
const SECRETS: Kind = kind("secret.list", "secrets", "secret", "name");
const SEMAPHORES: Kind = kind("semaphore.list", "semaphores", "name", "free");
const STREAMS: Kind = kind("stream.list", "streams", "stream", "status");
const TASKS: Kind = kind("task.list", "tasks", "id", "status");
const TASK_TYPES: Kind = kind("task.list", "tasks", "type", "");
const TOPICS: Kind = kind("topic.list", "topics", "topic", "last_by");
const WORKSPACES: Kind = kind("workspace.list", "workspaces", "id", "revision");

/// The kind of an argument, by its command and name.
fn kind_of(noun: &str, argument: &Arg) -> Option<Kind> {
    let shown = argument.get_value_names().and_then(|names| names.first());
    match (noun, argument.get_id().as_str(), shown?.as_str()) {
        (_, "workspace", _) | ("workspace", "name", "NAME") => Some(WORKSPACES),
        (_, "agent", _) | (_, _, "AGENT") | ("message" | "handoff", "to", _) => Some(AGENTS),
        ("state", _, "KEY" | "PREFIX") | ("why", "subject", _) => Some(KEYS),
        ("state" | "contract", "namespace", _) | ("namespace", "name", _) => Some(NAMESPACES),
        ("task" | "next", _, "TYPE") => Some(TASK_TYPES),
        ("lock", "name", _) => Some(LOCKS),
        ("semaphore", "name", _) => Some(SEMAPHORES),
        ("rule", "name", _) => Some(RULES),
        ("contract", "name", _) => Some(CONTRACTS),
        ("reaction", "name", _) => Some(REACTIONS),
        (_, _, "TASK") => Some(TASKS),
        (_, _, "HANDOFF") => Some(HANDOFFS),
        (_, _, "CHECKPOINT") => Some(CHECKPOINTS),
        (_, _, "PIPELINE") => Some(PIPELINES),
        (_, _, "ARTIFACT") => Some(ARTIFACTS),
        (_, _, "SECRET") => Some(SECRETS),
        (_, _, "MESSAGE" | "REQUEST") => Some(MESSAGES),
        (_, _, "STREAM") => Some(STREAMS),
        (_, _, "TOPIC") => Some(TOPICS),
        _ => None,
    }
}

/// The words that an argument takes besides names of objects, by its command and name.
fn words_of(noun: &str, argument: &Arg) -> Option<fn(&OsStr) -> Vec<CompletionCandidate>> {
    match (noun, argument.get_id().as_str()) {
        ("task", "on_exhausted") => Some(|word| fitting(EXHAUSTED, word)),
        ("watch", "types") | ("event", "types" | "kind") => Some(|word| fitting(EVENT_TYPES, word)),
        _ => None,
    }
}

fn fitting(words: &'static str, word: &OsStr) -> Vec<CompletionCandidate> {
    let word = word.to_str().unwrap_or_default();
    let fitting = words.lines().filter(|name| name.starts_with(word));
    fitting.map(CompletionCandidate::new).collect()
}

/// An object whose id has a short form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Named {
    Task,
    Handoff,
    Checkpoint,
    Message,
    Join,
    /// Any of them, after its kind: `tasks/t-7`.
    Subject,
}

impl Named {
    /// The kind of object that an argument names by its id.
    pub(crate) fn of(noun: &str, argument: &Arg) -> Option<Self> {
        if argument.get_id() == "join" {
            return Some(Self::Join);
        }
        if noun == "why" && argument.get_id() == "subject" {
            return Some(Self::Subject);
        }
        match kind_of(noun, argument)? {
            TASKS => Some(Self::Task),
            HANDOFFS => Some(Self::Handoff),
            CHECKPOINTS => Some(Self::Checkpoint),
            MESSAGES => Some(Self::Message),
            _ => None,
        }
    }
}

/// Answers a completion request from a shell and exits; otherwise does nothing.
pub(crate) fn run_if_requested() {
    if std::env::var_os(REQUEST).is_none() {
        return;
    }
    let words = without_values(&Arguments::command(), std::env::args_os().collect());
    let folder = std::env::current_dir().ok();
    let request = CompleteEnv::with_factory(|| live(Arguments::command(), "")).bin("baton");
    if request.try_complete(words, folder.as_deref()).unwrap_or_else(|error| error.exit()) {
        std::process::exit(0);
    }
}

/// The words of a line, with a placeholder for each value of a global option but the one that is
/// being completed: the completion takes a value such as `demo` for the command of that name.
fn without_values(command: &Command, mut words: Vec<OsString>) -> Vec<OsString> {
    // The line follows the first `--`. The shell passes the number of the word that is being
    // completed.
    let Some(start) = words.iter().position(|word| word == "--") else { return words };
    let current = std::env::var(CURRENT).ok().and_then(|index| index.parse::<usize>().ok());
    let current = current.map_or(words.len() - 1, |index| start + 1 + index);
    let takes_value = |word: &OsStr| {
        command.get_arguments().any(|argument| {
            let long = argument.get_long().map(|name| format!("--{name}"));
            let short = argument.get_short().map(|name| format!("-{name}"));
            let is_named = [long, short].into_iter().flatten().any(|name| word == name.as_str());
            is_named && argument.is_global_set() && argument.get_action().takes_values()
        })
    };
    let mut place = start + 1;
    while place + 1 < words.len() {
        if takes_value(&words[place]) {
            place += 1;
            if place != current {
                words[place] = "_".into();
            }
        }
        place += 1;
    }
    words
}

/// The command with a completer for every argument that names an object.
fn live(command: Command, noun: &str) -> Command {
    let noun = noun.to_owned();
    let of = noun.clone();
    let command = command.mut_args(move |argument| {
        if let Some(words) = words_of(&of, &argument) {
            return argument.add(ArgValueCompleter::new(words));
        }
        match kind_of(&of, &argument) {
            Some(kind) => {
                argument.add(ArgValueCompleter::new(move |word: &OsStr| offers(kind, word)))
            }
            None => argument,
        }
    });
    command.mut_subcommands(move |inner| {
        let noun = if noun.is_empty() { inner.get_name().to_owned() } else { noun.clone() };
        live(inner, &noun)
    })
}

fn offers(kind: Kind, word: &OsStr) -> Vec<CompletionCandidate> {
    let words: Vec<String> = std::env::args().collect();
    let found = word.to_str().and_then(|word| Some((word, asked(kind, word, &words)?)));
    let Some((word, answer)) = found else { return Vec::new() };
    let rows = answer["result"][kind.list].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut seen = BTreeSet::new();
    let fitting = rows.iter().filter_map(|row| {
        let name = row[kind.name].as_str().filter(|name| name.starts_with(word))?;
        // Many tasks have the same type.
        seen.insert(name).then_some(())?;
        let about = match &row[kind.about] {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        };
        Some(CompletionCandidate::new(name).help(about.map(Into::into)))
    });
    fitting.collect()
}

/// Asks the server; errors are ignored.
fn asked(kind: Kind, word: &str, words: &[String]) -> Option<Value> {
    let said = |name: &str| option(words, name);
    let globals = Globals {
        url: said("--url"),
        workspace: said("--workspace"),
        agent: said("--agent"),
        access_token: said("--access-token"),
        ca_file: said("--ca-file"),
        config: said("--config").map(Into::into),
        ..Globals::default()
    };
    let settings = Settings::of(&globals).ok()?;
    let context = Context::new(settings, globals);
    let mut question = json!({"command": kind.command, "limit": limits::PAGE_DEFAULT});
    match kind {
        KEYS => {
            let namespace = said("--namespace").or_else(|| said("-n"));
            question["namespace"] = json!(namespace.as_deref().unwrap_or("shared"));
            question["prefix"] = json!(word);
        }
        MESSAGES => question["agent"] = json!(context.agent()),
        // A cursor is a name: what follows the typed prefix begins with it.
        TASKS | AGENTS | LOCKS | WORKSPACES if !word.is_empty() => question["cursor"] = json!(word),
        _ => {}
    }
    let path = format!("{}/commands", context.workspace_name());
    let patience_ms = std::env::var(PATIENCE).ok().and_then(|text| text.parse().ok());
    let patience = Duration::from_millis(patience_ms.unwrap_or(PATIENCE_MS));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    runtime.block_on(async {
        let answer = context.administer::<Value>(Method::POST, &path, Some(&question));
        tokio::time::timeout(patience, answer).await.ok()?.ok()
    })
}

/// The value of an option on the line so far.
fn option(words: &[String], name: &str) -> Option<String> {
    words.iter().enumerate().find_map(|(place, word)| match word.strip_prefix(name) {
        Some("") => words.get(place + 1).cloned(),
        Some(rest) => rest.strip_prefix('=').map(str::to_owned),
        None => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every argument that has a kind, as `noun verb ARGUMENT`.
    fn known(command: &Command, path: &str, noun: &str, found: &mut Vec<(String, Kind)>) {
        for argument in command.get_arguments() {
            if let Some(kind) = kind_of(noun, argument) {
                found.push((format!("{path} {}", argument.get_id()).trim().to_owned(), kind));
            }
        }
        for inner in command.get_subcommands() {
            let name = inner.get_name();
            let noun = if noun.is_empty() { name } else { noun };
            known(inner, format!("{path} {name}").trim(), noun, found);
        }
    }

    #[test]
    fn the_kind_of_an_argument_follows_from_its_name() {
        let mut found = Vec::new();
        known(&Arguments::command(), "", "", &mut found);
        let expected = [
            ("workspace", WORKSPACES),
            ("agent", AGENTS),
            ("agent get id", AGENTS),
            ("artifact get artifact", ARTIFACTS),
            ("checkpoint restore checkpoint", CHECKPOINTS),
            ("context task", TASKS),
            ("contract rm name", CONTRACTS),
            ("handoff accept handoff", HANDOFFS),
            ("handoff offer to", AGENTS),
            ("handoff offer task", TASKS),
            ("inbox ack messages", MESSAGES),
            ("lock release name", LOCKS),
            ("message send to", AGENTS),
            ("namespace delete name", NAMESPACES),
            ("pipeline show pipeline", PIPELINES),
            ("reaction enable name", REACTIONS),
            ("rule rm name", RULES),
            ("secret reveal secret", SECRETS),
            ("semaphore release name", SEMAPHORES),
            ("state get key", KEYS),
            ("state namespace", NAMESPACES),
            ("stream tail stream", STREAMS),
            ("task claim task", TASKS),
            ("task claim types", TASK_TYPES),
            ("task ls task_type", TASK_TYPES),
            ("next types", TASK_TYPES),
            ("task done task", TASKS),
            ("task why task", TASKS),
            ("topic publish topic", TOPICS),
            ("workspace export name", WORKSPACES),
        ];
        for (path, kind) in expected {
            assert!(found.contains(&(path.to_owned(), kind)), "{path}: {found:#?}");
        }
        let strange = found.iter().find(|(path, _)| path.ends_with("idempotency_key"));
        assert_eq!(strange, None, "an idempotency key is not an entry");
    }

    /// The parser of short ids makes text of them.
    fn ids_are_texts(command: &Command, noun: &str) {
        for argument in command.get_arguments() {
            if Named::of(noun, argument).is_some() {
                let text = std::any::TypeId::of::<String>();
                assert!(argument.get_value_parser().type_id() == text, "{noun}: {argument:?}");
            }
        }
        for inner in command.get_subcommands() {
            ids_are_texts(inner, if noun.is_empty() { inner.get_name() } else { noun });
        }
    }

    #[test]
    fn every_argument_that_is_an_id_is_text() {
        ids_are_texts(&Arguments::command(), "");
    }

    #[test]
    fn every_event_type_is_offered() {
        let golden: Value =
            serde_json::from_str(include_str!("../../../spec/events.json")).unwrap();
        let golden = golden["examples"].as_array().unwrap().iter();
        let missing: Vec<&str> = golden
            .filter_map(|example| example["name"].as_str())
            .filter(|name| !["deploy.finished", "receipt.awaited", "receipt.kept"].contains(name))
            .filter(|name| !EVENT_TYPES.lines().any(|known| known == *name))
            .collect();
        assert_eq!(missing, [""; 0], "add them to event_types.txt, in order");
        assert!(EVENT_TYPES.lines().is_sorted());
    }

    #[test]
    fn every_list_operation_exists() {
        for kind in [
            AGENTS,
            ARTIFACTS,
            CHECKPOINTS,
            HANDOFFS,
            KEYS,
            LOCKS,
            MESSAGES,
            NAMESPACES,
            PIPELINES,
            REACTIONS,
            RULES,
            SECRETS,
            SEMAPHORES,
            STREAMS,
            TASKS,
            TOPICS,
            WORKSPACES,
        ] {
            let operation = baton_core::wire::operation(kind.command);
            assert!(operation.is_some(), "{}", kind.command);
        }
    }

    #[test]
    fn options_are_found_on_the_line_so_far() {
        let words: Vec<String> =
            "baton -- baton --workspace=a --url b task get t-".split(' ').map(Into::into).collect();
        assert_eq!(option(&words, "--workspace").as_deref(), Some("a"));
        assert_eq!(option(&words, "--url").as_deref(), Some("b"));
        assert_eq!(option(&words, "--agent"), None);
    }
}
