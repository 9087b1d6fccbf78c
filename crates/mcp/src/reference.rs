//! References: short names of ids, and the objects that references name.
//!
//! | reference | names |
//! |---|---|
//! | `t-7`, `tasks/t-7`, `lint-1` | a task |
//! | `h-9`, `m-3`, `c-2` | a hand-off, a message, a checkpoint |
//! | `shared/plan`, `state/shared/plan`, with `@42` or `@40..42` | state |
//! | `shared/plan@1@now` | the entry with the key `plan@1` |
//! | `agents/ada`, `locks/NAME`, `pipelines/NAME` | these |
//!
//! An id that the server made is a letter and ten digits; its short name omits the zeros. Since a
//! task can be created with any id, a short name of a task that could mean two is refused.

use baton_client::Workspace;
use baton_core::names;
pub(crate) use baton_core::names::{long, short};
use baton_core::wire::Problem;
use serde_json::{Value, json};

use crate::operation::{bad, given, perform};

/// The first parts of references that are no namespaces: an entry of such a namespace is named with
/// `state/` before it.
const KINDS: [&str; 9] = [
    "tasks",
    "handoffs",
    "messages",
    "checkpoints",
    "inbox",
    "agents",
    "locks",
    "pipelines",
    "state",
];
/// What follows a key that ends like a revision.
const NOW: &str = "now";

/// The object of a reference.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reference {
    Task(String),
    Handoff(String),
    Message(String),
    Checkpoint(String),
    Agent(String),
    Lock(String),
    Pipeline(String),
    Entry { namespace: String, key: String, at: Moment },
}

/// The moment of an entry.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    Now,
    At(u64),
    Between(u64, u64),
}

/// The id of a task that is named by its id or its short name.
pub(crate) async fn task_id(workspace: &Workspace, name: &str) -> Result<String, Problem> {
    let id = long(name);
    if id == name {
        return Ok(id);
    }
    let exists = async |task: &str| {
        let found = perform(workspace, "task.get", given(json!({"task": task}))).await;
        match found {
            Ok(_) => Ok(true),
            Err(problem) if problem.code == "task.not_found" => Ok(false),
            Err(problem) => Err(problem),
        }
    };
    match (exists(name).await?, exists(&id).await?) {
        (true, true) => Err(bad("task", &format!("`{name}` could also mean `{id}`: say {id}"))),
        (true, false) => Ok(name.to_owned()),
        (false, _) => Ok(id),
    }
}

impl Reference {
    /// Reads a reference.
    pub(crate) fn parse(text: &str) -> Result<Self, Problem> {
        let (kind, rest) = text.split_once('/').unwrap_or(("", text));
        if rest.is_empty() {
            return Err(bad("ref", "it must name something, such as t-7 or shared/plan"));
        }
        if !kind.is_empty() {
            return match kind {
                "tasks" => Ok(Self::Task(rest.to_owned())),
                "handoffs" => Ok(Self::Handoff(long(rest))),
                "messages" => Ok(Self::Message(long(rest))),
                "checkpoints" => Ok(Self::Checkpoint(long(rest))),
                "inbox" => Ok(Self::Message(long(rest.rsplit('/').next().unwrap_or(rest)))),
                "agents" => Ok(Self::Agent(rest.to_owned())),
                "locks" => Ok(Self::Lock(rest.to_owned())),
                "pipelines" => Ok(Self::Pipeline(rest.to_owned())),
                "state" => Self::entry(rest),
                _ => Self::entry(text),
            };
        }
        let id = long(text);
        let is_made = |kind: &str| id.starts_with(kind) && names::is_made(&id);
        match () {
            () if is_made("h-") => Ok(Self::Handoff(id)),
            () if is_made("m-") => Ok(Self::Message(id)),
            () if is_made("c-") => Ok(Self::Checkpoint(id)),
            () => Ok(Self::Task(text.to_owned())),
        }
    }

    fn entry(text: &str) -> Result<Self, Problem> {
        let reason = "an entry is named as namespace/key";
        let named = text.split_once('/').filter(|(_, key)| !key.is_empty());
        let (namespace, key) = named.ok_or_else(|| bad("ref", reason))?;
        let (key, at) = match key.rsplit_once('@') {
            Some((before, moment)) => match Moment::parse(moment) {
                Some(at) => (before, at),
                None => (key, Moment::Now),
            },
            None => (key, Moment::Now),
        };
        Ok(Self::Entry { namespace: namespace.to_owned(), key: key.to_owned(), at })
    }
}

impl Moment {
    fn parse(text: &str) -> Option<Self> {
        match text.split_once("..") {
            Some((from, to)) => Some(Self::Between(from.parse().ok()?, to.parse().ok()?)),
            None if text == NOW => Some(Self::Now),
            None => text.parse().ok().map(Self::At),
        }
    }
}

/// The namespace and the key of an entry that is to be written.
pub(crate) fn entry(text: &str) -> Result<(String, String), Problem> {
    let reason = match Reference::parse(text)? {
        Reference::Entry { namespace, key, at: Moment::Now } => return Ok((namespace, key)),
        Reference::Entry { .. } => {
            "it names a revision, which cannot be written; if the key ends like that, add @now: \
             shared/plan@1@now"
        }
        _ if text.contains('/') => {
            "this is no entry; if it is in a namespace of that name, \
            write state/ before it"
        }
        _ => "an entry is named as namespace/key, such as shared/plan",
    };
    Err(bad("ref", reason))
}

/// The reference of an entry, from its namespace and key with a slash between them.
pub(crate) fn entry_name(entry: &str) -> String {
    let (namespace, _) = entry.split_once('/').unwrap_or((entry, ""));
    let state = if KINDS.contains(&namespace) { "state/" } else { "" };
    format!("{state}{}", at_present(entry))
}

/// The same text, followed by a moment if its end could be read as one.
pub(crate) fn at_present(entry: &str) -> String {
    let end = entry.rsplit_once('@').and_then(|(_, end)| Moment::parse(end));
    let now = end.map(|_| format!("@{NOW}"));
    format!("{entry}{}", now.unwrap_or_default())
}

/// Short names instead of ids, in a value that is an id or a list of them.
pub(crate) fn shortened(value: &Value) -> Value {
    match value {
        Value::String(id) => Value::from(short(id)),
        Value::Array(ids) => ids.iter().map(shortened).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_name_one_thing() {
        let entry = |namespace: &str, key: &str, at| {
            let (namespace, key) = (namespace.to_owned(), key.to_owned());
            Reference::Entry { namespace, key, at }
        };
        for (text, named) in [
            ("t-7", Reference::Task("t-7".to_owned())),
            ("tasks/t-7", Reference::Task("t-7".to_owned())),
            ("h-9", Reference::Handoff("h-0000000009".to_owned())),
            ("inbox/bob/m-3", Reference::Message("m-0000000003".to_owned())),
            ("agents/ada", Reference::Agent("ada".to_owned())),
            ("locks/a/b", Reference::Lock("a/b".to_owned())),
            ("shared/plan", entry("shared", "plan", Moment::Now)),
            ("state/tasks/x", entry("tasks", "x", Moment::Now)),
            ("shared/plan@42", entry("shared", "plan", Moment::At(42))),
            ("shared/plan@40..42", entry("shared", "plan", Moment::Between(40, 42))),
            ("shared/me@home", entry("shared", "me@home", Moment::Now)),
            ("shared/plan@1@now", entry("shared", "plan@1", Moment::Now)),
            ("shared/plan@1@42", entry("shared", "plan@1", Moment::At(42))),
        ] {
            assert_eq!(Reference::parse(text).unwrap(), named, "{text}");
        }
        for nothing in ["", "tasks/", "shared/", "state/shared/"] {
            let refused = Reference::parse(nothing).unwrap_err();
            assert!(refused.detail.contains("`ref`"), "{nothing}: {refused:?}");
        }
    }

    #[test]
    fn the_shown_name_of_an_entry_names_it() {
        for (namespace, key) in [
            ("shared", "plan"),
            ("shared", "a/b"),
            ("shared", "me@home"),
            ("shared", "plan@1"),
            ("shared", "plan@1..7"),
            ("shared", "plan@now"),
            ("shared", "plan@1@now"),
            ("shared", "@5"),
            ("shared", "a@1/b"),
            ("tasks", "x"),
            ("state", "shared/x@7"),
        ] {
            let name = entry_name(&format!("{namespace}/{key}"));
            let read = (namespace.to_owned(), key.to_owned());
            assert_eq!(entry(&name).unwrap(), read, "{name}");
        }
        assert_eq!(entry_name("shared/me@home"), "shared/me@home");
        for other in ["shared/plan@1", "shared/plan@1..7", "tasks/x", "plan"] {
            assert_eq!(entry(other).unwrap_err().code, "request.bad_field", "{other}");
        }
    }
}
