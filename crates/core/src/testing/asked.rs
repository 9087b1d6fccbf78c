//! Parses requests. The [module](super) describes the syntax.

use serde_json::{Map, Value, json};

use crate::command::{Command, Mutation, Query, Request};
use crate::names::IdempotencyKey;
use crate::numbers::Token;
use crate::transaction::Precondition;

/// A request: a command or a transaction, perhaps with an idempotency key.
pub(super) fn read_request(asked: &str) -> Request {
    let (key, asked) = match asked.strip_prefix('#').and_then(|rest| rest.split_once(' ')) {
        Some((key, rest)) => (Some(IdempotencyKey::parse(key).unwrap()), rest),
        None => (None, asked),
    };
    let mutation = if let Some(all) = asked.strip_prefix("all:") {
        let parts = all.split('&').map(str::trim).filter(|part| !part.is_empty());
        let (require, commands): (Vec<&str>, Vec<&str>) =
            parts.partition(|part| part.starts_with("if "));
        Mutation::Transaction {
            require: require.into_iter().map(read_precondition).collect(),
            optional: optional(&commands),
            commands: commands
                .iter()
                .map(|it| read_command(it.trim_start_matches("try ")))
                .collect(),
        }
    } else if let Some((count, what)) =
        asked.strip_prefix("many ").and_then(|rest| rest.split_once(' '))
    {
        let numbers = 0..count.parse::<usize>().unwrap();
        let command = |number: usize| read_command(&what.replace("{}", &number.to_string()));
        let commands = numbers.map(command).collect();
        Mutation::Transaction { require: Vec::new(), commands, optional: Vec::new() }
    } else if let Some((token, what)) =
        asked.strip_prefix("under ").and_then(|rest| rest.split_once(' '))
    {
        let token = Token(token.parse().unwrap());
        Mutation::Fenced { token, command: Box::new(read_command(what)) }
    } else {
        Mutation::Command(read_command(asked))
    };
    Request { mutation, idempotency_key: key }
}

/// The indexes of commands that begin with `try`: they may have no effect.
fn optional(commands: &[&str]) -> Vec<usize> {
    let tried = commands.iter().enumerate().filter(|(_, command)| command.starts_with("try "));
    tried.map(|(index, _)| index).collect()
}

/// The words of a text; what is in brackets is one word with what is before it.
fn words(asked: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let split = asked.split(|letter: char| {
        match letter {
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            _ => {}
        }
        depth == 0 && letter.is_whitespace()
    });
    split.filter(|word| !word.is_empty()).collect()
}

/// A request as the tree that serde reads: `{"state": {"set": {...}}}`.
fn tree(asked: &str) -> Value {
    let mut words = words(asked).into_iter();
    let (noun, verb) = words.next().unwrap().split_once('.').expect("`noun.verb`");
    let names: &[&str] = match (noun, verb) {
        ("state", "set") => &["place", "value"],
        ("state", "patch" | "delete" | "get") => &["place"],
        ("state", "transfer") => &["from_namespace", "to_namespace"],
        ("state", "list") => &["namespace"],
        ("namespace", "create" | "configure" | "delete" | "get" | "ensure")
        | ("rule", "add" | "remove")
        | ("contract", "declare" | "delete")
        | ("reaction", "add" | "remove" | "enable" | "disable" | "get")
        | ("lock" | "semaphore", "acquire" | "renew" | "release" | "get" | "resize")
        | ("barrier", "arrive" | "reset" | "get") => &["name"],
        ("agent", "register" | "heartbeat" | "leave" | "get") => &["agent"],
        ("message", "send" | "request") => &["to", "body"],
        ("message", "reply") => &["request"],
        ("message", _) | ("inbox", "ack" | "requeue") => &["message"],
        ("handler", "register" | "remove") => &["handler"],
        ("topic", "publish") => &["topic", "body"],
        ("topic", "get") => &["topic"],
        ("stream", "send") => &["stream", "data"],
        ("stream", "create" | "receive" | "close" | "delete" | "get") => &["stream"],
        ("task", "create") | ("event", "emit") => &["type"],
        ("task", "claim" | "list" | "stats")
        | ("pipeline", "list")
        | ("handoff", "receive" | "list" | "stats") => &[],
        ("task", _) | ("checkpoint", "latest" | "prune" | "history") | ("handoff", "history") => {
            &["task"]
        }
        ("join", "wait" | "get") => &["join"],
        ("pipeline", "create" | "abort" | "delete" | "get") => &["pipeline"],
        ("pipeline", _) => &["pipeline", "stage"],
        ("checkpoint", "save") => &["task", "state"],
        ("checkpoint", "write") => &["task", "key", "writer", "writes"],
        ("checkpoint", "copy") => &["task", "to"],
        ("checkpoint", "restore" | "get" | "label") => &["checkpoint"],
        ("checkpoint", "fork") => &["checkpoint", "task"],
        ("artifact", "put" | "get" | "delete") => &["artifact"],
        ("secret", "put" | "get" | "reveal" | "delete") => &["secret"],
        ("handoff", "offer" | "execute" | "execute_all" | "import_context" | "validate") => &["to"],
        ("handoff", _) => &["handoff"],
        _ => &[],
    };
    let fields = read_fields(names, words);
    let unit = matches!(
        (noun, verb),
        ("workspace", "get") | ("checkpoint", "retention") | (_, "expire" | "follow")
    );
    if unit {
        json!({ noun: verb })
    } else if matches!((noun, verb), ("task" | "handoff", "wait") | ("agent", "next")) {
        json!({ "wait": { format!("{noun}.{verb}"): fields } })
    } else if matches!(noun, "inbox" | "handler") {
        json!({ "message": { format!("{noun}.{verb}"): fields } })
    } else {
        json!({ noun: { verb: fields } })
    }
}

fn read_fields<'a>(names: &[&str], words: impl Iterator<Item = &'a str>) -> Map<String, Value> {
    let mut names = names.iter();
    let mut fields = Map::new();
    for word in words {
        match names.next() {
            Some(&"place") => {
                let (namespace, key) = word.split_once('/').expect("`namespace/key`");
                fields.insert("namespace".into(), json!(namespace));
                fields.insert("key".into(), json!(key));
            }
            Some(name)
                if matches!(*name, "value" | "state" | "body" | "data" | "writes")
                    || word.starts_with('{') =>
            {
                drop(fields.insert((*name).to_owned(), read_value(word)));
            }
            Some(name) => drop(fields.insert((*name).to_owned(), json!(word))),
            None => match word.split_once('=') {
                Some((name, value)) => drop(fields.insert(name.to_owned(), read_value(value))),
                None => drop(fields.insert(word.to_owned(), json!(true))),
            },
        }
    }
    fields
}

fn read_value(word: &str) -> Value {
    match word.strip_prefix("bytes:") {
        Some(bytes) => json!("x".repeat(bytes.parse::<usize>().unwrap() - 2)),
        None => serde_json::from_str(word).unwrap_or_else(|error| panic!("`{word}`: {error}")),
    }
}

/// A command.
pub(crate) fn read_command(asked: &str) -> Command {
    serde_json::from_value(tree(asked)).unwrap_or_else(|error| panic!("`{asked}`: {error}"))
}

/// A query, if it is one.
pub(super) fn read_query(asked: &str) -> Option<Query> {
    const VERBS: [&str; 14] = [
        ".build",
        ".check",
        ".diff",
        ".export",
        ".get",
        ".history",
        ".latest",
        ".list",
        ".output",
        ".retention",
        ".show",
        ".snapshot",
        ".stats",
        ".why",
    ];
    let name = *words(asked).first()?;
    VERBS.iter().any(|verb| name.ends_with(verb)).then(|| {
        serde_json::from_value(tree(asked)).unwrap_or_else(|error| panic!("`{asked}`: {error}"))
    })
}

fn read_precondition(asked: &str) -> Precondition {
    let mut words = words(asked).into_iter().skip(1);
    let noun = words.next().unwrap();
    let tree = match noun {
        "revision" | "token" => json!({ noun: read_value(words.next().unwrap()) }),
        "entry" => json!({ noun: read_fields(&["place"], words) }),
        "namespace" | "lock" => json!({ noun: read_fields(&["name"], words) }),
        "task" | "handoff" => json!({ noun: read_fields(&[noun], words) }),
        _ => json!({ noun: read_fields(&["agent"], words) }),
    };
    serde_json::from_value(tree).unwrap_or_else(|error| panic!("`{asked}`: {error}"))
}
