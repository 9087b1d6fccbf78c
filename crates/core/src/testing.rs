//! Scenarios as text: the one place where tests call the API.
//!
//! ```text
//!   milliseconds, agent, what is asked,                      what comes of it
//!   (0, "ada", "state.set shared/plan 1",                    "state.set shared/plan v1 = 1"),
//!   (5, "bob", "state.set shared/plan 2 expected_version=7", "refused state.version_conflict"),
//! ```
//!
//! What is asked is a command or query by its public name, what it is about, and its other fields
//! as `name=json`, or `name` alone if it is true. It is read through serde, so that the scenarios
//! hold the vocabulary to its spelling.
//!
//! | also | is |
//! |---|---|
//! | `all: if entry shared/a version=1 & state.set shared/a 2` | a transaction |
//! | `many 3 state.set shared/k{} {}` | a transaction of three, with 0, 1 and 2 for `{}` |
//! | `#k1 state.set shared/a 1` | a request with the idempotency key `k1` |
//! | `time` | everything that is due by now |
//! | `wake` | the workspace is served again |
//! | `bytes:9` in place of a value | a JSON string of nine bytes |
//!
//! What must hold whatever was asked, and is checked here for every step:
//!
//! 1. [`Space::check`] and the checks of the entries find nothing.
//! 2. What was refused, or changed nothing, has left no trace.
//! 3. A batch survives being encoded, and is not larger than its weight said.
//! 4. Replaying all batches, and restoring a snapshot, give an equal space.

use std::collections::BTreeSet;
use std::fmt::Write;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::batch::Batch;
use crate::command::{Command, Query, Request, Wish};
use crate::entries::Entries;
use crate::entry::Entry;
use crate::event::Event;
use crate::names::{AgentId, IdempotencyKey};
use crate::rejection::Rejection;
use crate::reply::{Answer, Reply};
use crate::space::{Head, Space};
use crate::time::Timestamp;
use crate::transaction::Precondition;
use crate::{agent, namespace, state, workspace};

/// Milliseconds, agent, what is asked, what comes of it.
pub(crate) type Step = (u64, &'static str, &'static str, &'static str);

/// Names scenarios, makes a test of each, and lists them for the test that counts the codes.
macro_rules! scenarios {
    ($($(#[$doc:meta])* $name:ident => [$($step:tt),* $(,)?])*) => {
        $(
            $(#[$doc])*
            #[test]
            fn $name() {
                $crate::testing::check(&[$($step),*]);
            }
        )*
        const SCENARIOS: &[&[$crate::testing::Step]] = &[$(&[$($step),*]),*];
    };
}
pub(crate) use scenarios;

/// Runs the steps in order, in a new workspace.
#[track_caller]
pub(crate) fn check(steps: &[Step]) -> World {
    let mut world = World::new(Space::default());
    world.check(steps);
    world
}

/// The log that the steps leave, as a story.
#[track_caller]
pub(crate) fn story(steps: &[Step]) -> String {
    let world = check(steps);
    let mut story = String::new();
    for batch in &world.batches {
        let Batch { revision, time, agent, events } = batch;
        writeln!(story, "r{revision} at {}, {agent}:", time.0).unwrap();
        for event in events {
            writeln!(story, "    {}", told(event)).unwrap();
        }
    }
    story
}

/// Every string that a function of a source file answers with.
pub(crate) fn literals(source: &str, function: &str) -> BTreeSet<String> {
    let start = source.find(&format!("fn {function}(")).expect("the function exists");
    let end = start + source[start..].find("\n    }").expect("the function ends");
    let arms = source[start..end].lines().filter_map(|line| line.split_once("=> \""));
    arms.map(|(_, rest)| rest.split('"').next().unwrap().to_owned()).collect()
}

/// Fails unless the scenarios reach exactly the codes and kinds of events of a vocabulary, but for
/// those that other tests reach.
#[track_caller]
pub(crate) fn check_coverage(
    source: &str,
    function: &str,
    scenarios: &[&[Step]],
    reached: fn(World) -> BTreeSet<String>,
    elsewhere: &[&str],
) {
    let mut missing = literals(source, function);
    assert!(!missing.is_empty(), "the vocabulary has words");
    for word in elsewhere {
        assert!(missing.remove(*word), "`{word}` is not in the vocabulary");
    }
    for steps in scenarios {
        for word in reached(check(steps)) {
            assert!(!elsewhere.contains(&word.as_str()), "`{word}` is reached by a scenario");
            missing.remove(&word);
        }
    }
    assert_eq!(missing, BTreeSet::new(), "no scenario reaches these");
}

/// A space and what has happened in it.
pub(crate) struct World {
    pub(crate) space: Space,
    first: Picture,
    batches: Vec<Batch>,
    codes: BTreeSet<String>,
}

/// Everything a space knows.
#[derive(Debug, PartialEq)]
pub(crate) struct Picture {
    head: Head,
    entries: Vec<Entry>,
}

impl Picture {
    pub(crate) fn of(space: &Space) -> Self {
        Self { head: space.head(), entries: space.state.everything(None, None).collect() }
    }
}

/// The space that a snapshot of this one gives.
fn restored(space: &Space) -> Space {
    let tables = space.state.namespaces().map(|(name, entries)| {
        (name.clone(), Entries::from_sorted(entries.iter().cloned().collect()))
    });
    Space::restore(encoded(&space.head()), tables.collect())
}

/// The same, after a way through the encoding of the log.
fn encoded<T: Serialize + DeserializeOwned>(value: &T) -> T {
    rmp_serde::from_slice(&rmp_serde::to_vec_named(value).unwrap()).unwrap()
}

impl World {
    pub(crate) fn new(space: Space) -> Self {
        space.check();
        let first = Picture::of(&space);
        Self { space, first, batches: Vec::new(), codes: BTreeSet::new() }
    }

    /// Every code that a step was refused with.
    pub(crate) fn codes(self) -> BTreeSet<String> {
        self.codes
    }

    /// The kind of every event that happened.
    pub(crate) fn kinds(self) -> BTreeSet<String> {
        let events = self.batches.iter().flat_map(|batch| &batch.events);
        events.map(|event| event.kind().to_owned()).collect()
    }

    #[track_caller]
    pub(crate) fn check(&mut self, steps: &[Step]) {
        for (number, (time, agent, asked, expected)) in steps.iter().enumerate() {
            let answer = self.run(*time, agent, asked);
            assert_eq!(answer, *expected, "step {number} at {time}, {agent}: {asked}");
        }
        self.check_memory();
    }

    /// Does what one step asks for, and tells what came of it.
    pub(crate) fn run(&mut self, time: u64, agent: &str, asked: &str) -> String {
        let (agent, now) = (AgentId::parse(agent).unwrap(), Timestamp(time));
        match asked {
            "time" => {
                let mut told = Vec::new();
                while let Some(command) = self.space.due(now).into_iter().next() {
                    told.push(self.commit(command.into(), &AgentId::engine(), now));
                }
                if told.is_empty() { "nothing".into() } else { told.join(" | ") }
            }
            "wake" => {
                self.space.wake(now);
                self.space.check();
                "awake".into()
            }
            _ => match read_query(asked) {
                Some(query) => self.query(&query),
                None => self.commit(read_request(asked), &agent, now),
            },
        }
    }

    fn query(&mut self, query: &Query) -> String {
        match self.space.query(query) {
            None => "about the past".into(),
            Some(Ok(reply)) => {
                check_encoding(&reply);
                shown(&reply)
            }
            Some(Err(rejection)) => self.refused(&rejection),
        }
    }

    pub(crate) fn commit(
        &mut self,
        request: Request,
        agent: &AgentId,
        now: Timestamp,
    ) -> String {
        let before = Picture::of(&self.space);
        let deadline = self.space.next_deadline();
        let committed = self.space.commit(request, agent, now);
        self.space.check();
        for (_, entries) in self.space.state.namespaces() {
            entries.check();
        }
        if committed.as_ref().is_ok_and(|committed| committed.batch.is_some()) {
            let committed = committed.unwrap();
            return self.happened(committed.batch.unwrap(), &committed.answer, before.head.time);
        }
        assert_eq!(Picture::of(&self.space), before, "what did not happen left a trace");
        assert_eq!(self.space.next_deadline(), deadline, "a deadline moved");
        match committed {
            Ok(committed) => told_again(&committed.answer),
            Err(rejection) => self.refused(&rejection),
        }
    }

    fn happened(&mut self, batch: Batch, answer: &Answer, before: Timestamp) -> String {
        assert_eq!(answer.revision, self.space.revision());
        assert_eq!(batch.revision, self.space.revision());
        assert!(batch.time >= before, "time ran backwards");
        assert!(!batch.events.is_empty());
        assert_eq!(encoded(&batch), batch);
        for event in &batch.events {
            let bytes = rmp_serde::to_vec_named(event).unwrap().len();
            assert!(bytes <= event.weight(), "{} weighs {bytes}", told(event));
        }
        check_encoding(&answer.reply);
        let mut lines: Vec<String> = batch.events.iter().map(told).collect();
        if lines.len() > 8 {
            let kinds: BTreeSet<&str> = batch.events.iter().map(Event::kind).collect();
            let count = |kind: &str| batch.events.iter().filter(|e| e.kind() == kind).count();
            lines = kinds.into_iter().map(|kind| format!("{} {kind}", count(kind))).collect();
        }
        if let Reply::State(state::Reply::Entry(entry)) = &answer.reply {
            lines.extend(entry.warnings().iter().map(|warning| format!("warning {}", warning.code)));
            self.check_entry(entry, &batch);
        }
        self.batches.push(batch);
        lines.join("; ")
    }

    /// The answer to a write is the entry as it is now; the answer to a removal the one that was.
    fn check_entry(&self, entry: &Entry, batch: &Batch) {
        let (name, key) = match &batch.events[0] {
            Event::State(event) => event.place(),
            Event::Namespace(_) | Event::Agent(_) | Event::Workspace(_) | Event::Receipt(_) => {
                panic!("an entry is answered with although none changed first")
            }
        };
        assert_eq!((entry.namespace(), entry.key()), (name, key.as_str()));
        let now = self.space.state.entry(name, key);
        if batch.events[0].kind() == "state.deleted" {
            assert_eq!(now, None);
            assert!(entry.revision() < batch.revision);
        } else {
            assert_eq!(now.as_ref(), Some(entry));
            assert_eq!((entry.revision(), entry.updated_at()), (batch.revision, batch.time));
            assert_eq!(*entry.updated_by(), batch.agent);
        }
    }

    fn refused(&mut self, rejection: &Rejection) -> String {
        self.codes.insert(rejection.code().to_owned());
        let text = rejection.to_string();
        assert!(!text.is_empty() && !text.ends_with('.'), "{text}");
        assert!(!rejection.hint().is_empty() && !rejection.hint().ends_with('.'));
        assert!(json!(rejection).is_object(), "the facts of {rejection:?} are fields");
        match rejection {
            Rejection::InTransaction { index, cause_code, cause } => {
                assert_eq!(*cause_code, cause.code());
                assert_eq!(rejection.kind(), cause.kind());
                self.codes.insert(cause.code().to_owned());
                format!("refused {} {index} {cause_code}", rejection.code())
            }
            Rejection::PreconditionFailed { index, .. } => {
                format!("refused {} {index}", rejection.code())
            }
            Rejection::TooLarge { what, .. } => format!("refused {} {what}", rejection.code()),
            Rejection::State(_)
            | Rejection::Namespace(_)
            | Rejection::Agent(_)
            | Rejection::Workspace(_)
            | Rejection::EmptyTransaction {}
            | Rejection::PolicyRounds { .. }
            | Rejection::KeyReused { .. }
            | Rejection::Name(_)
            | Rejection::Json(_)
            | Rejection::Pattern(_)
            | Rejection::SchemaText(_) => format!("refused {}", rejection.code()),
        }
    }

    /// What was committed is what a replay and a snapshot give.
    #[track_caller]
    pub(crate) fn check_memory(&self) {
        let picture = Picture::of(&self.space);
        let snapshot = restored(&self.space);
        snapshot.check();
        assert_eq!(Picture::of(&snapshot), picture, "a snapshot gives another space");
        if self.first != Picture::of(&Space::default()) {
            return;
        }
        let mut replayed = Space::default();
        for batch in &self.batches {
            replayed.replay(&encoded(batch));
            replayed.check();
        }
        assert_eq!(Picture::of(&replayed), picture, "a replay gives another space");
    }
}

/// Answers are kept in receipts and sent over wires.
fn check_encoding(reply: &Reply) {
    assert_eq!(encoded(reply), *reply);
    let text = serde_json::to_string(reply).unwrap();
    assert_eq!(serde_json::from_str::<Reply>(&text).unwrap(), *reply, "{text}");
}

fn told_again(answer: &Answer) -> String {
    match &answer.reply {
        Reply::Agent(agent::Reply::Done) | Reply::State(state::Reply::Done) => "nothing".into(),
        reply => format!("r{}: {}", answer.revision, shown(reply)),
    }
}

/// An event in one line.
pub(crate) fn told(event: &Event) -> String {
    let kind = event.kind();
    match event {
        Event::State(state::Event::Set {
            namespace,
            key,
            value,
            version,
            operation: _,
            expires_at,
            bound_to,
            source,
        }) => {
            let mut line = format!("{kind} {namespace}/{key} v{version} = {}", brief(value));
            if let Some(moment) = expires_at {
                write!(line, " until {}", moment.0).unwrap();
            }
            if let Some(agent) = bound_to {
                write!(line, " with {agent}").unwrap();
            }
            if let Some(state::Source { namespace, version, revision, agent }) = source {
                write!(line, " from {namespace} v{version} r{revision} by {agent}").unwrap();
            }
            line
        }
        Event::State(state::Event::Deleted { namespace, key, version, removal: _ }) => {
            format!("{kind} {namespace}/{key} v{version}")
        }
        Event::Namespace(event) => format!("{kind} {}", event.name()),
        Event::Agent(agent::Event::Joined { agent, ttl_ms, token, .. }) => {
            format!("{kind} {agent} token={token} ttl={ttl_ms}")
        }
        Event::Agent(event) => format!("{kind} {}", event.agent()),
        Event::Workspace(workspace::Event::Configured { retention }) => {
            let workspace::Retention { history_count, history_age_ms } = retention;
            format!("{kind} count={history_count} age={history_age_ms}")
        }
        Event::Receipt(receipt) => format!("{kind} {}", receipt.key),
    }
}

fn brief(value: &crate::json::Json) -> String {
    let text = value.as_str();
    if text.len() > 80 { format!("{} bytes", text.len()) } else { text.to_owned() }
}

/// A reply in one line.
fn shown(reply: &Reply) -> String {
    let page = |names: Vec<String>, cursor: Option<String>| {
        let next = cursor.map_or(String::new(), |cursor| format!(" next={cursor}"));
        format!("[{}]{next}", names.join(", "))
    };
    match reply {
        Reply::State(state::Reply::Entry(entry)) => shown_entry(entry),
        Reply::State(state::Reply::Entries(found)) => {
            let name = |entry: &Entry| format!("{}/{}", entry.namespace(), entry.key());
            page(found.entries.iter().map(name).collect(), found.cursor.clone())
        }
        Reply::State(state::Reply::Moved { keys }) => format!("moved {keys:?}"),
        Reply::State(reply) => format!("{reply:?}"),
        Reply::Namespace(namespace::Reply::Namespace(found)) => {
            format!("namespace {} by {} r{}", found.name, found.created_by, found.revision)
        }
        Reply::Namespace(namespace::Reply::Namespaces { namespaces, cursor }) => {
            let names = namespaces.iter().map(|found| found.name.to_string());
            page(names.collect(), cursor.as_ref().map(ToString::to_string))
        }
        Reply::Agent(agent::Reply::Agent(found)) => {
            let agent::Agent { id, status, token, last_seen_at, .. } = found;
            format!("{id} {} token={token} seen={}", status.word(), last_seen_at.0)
        }
        Reply::Agent(agent::Reply::Agents { agents, cursor }) => {
            let names = agents.iter().map(|found| found.id.to_string());
            page(names.collect(), cursor.as_ref().map(ToString::to_string))
        }
        Reply::Workspace(workspace::Reply::Workspace {
            retention: workspace::Retention { history_count, history_age_ms },
            entries,
            namespaces,
            agents,
        }) => format!(
            "count={history_count} age={history_age_ms} entries={entries} \
             namespaces={namespaces} agents={agents}"
        ),
        Reply::Transaction(replies) => replies.iter().map(shown).collect::<Vec<_>>().join("; "),
        Reply::Namespace(namespace::Reply::Done) | Reply::Agent(agent::Reply::Done) => {
            "nothing".into()
        }
    }
}

fn shown_entry(entry: &Entry) -> String {
    let mut line = format!(
        "{}/{} v{} = {} r{} at {} by {}",
        entry.namespace(),
        entry.key(),
        entry.version(),
        brief(&entry.json()),
        entry.revision(),
        entry.updated_at().0,
        entry.updated_by()
    );
    if let Some(moment) = entry.expires_at() {
        write!(line, " until {}", moment.0).unwrap();
    }
    if entry.is_ephemeral() {
        line.push_str(" ephemeral");
    }
    for warning in entry.warnings() {
        write!(line, " warning {}", warning.code).unwrap();
    }
    line
}

fn read_request(asked: &str) -> Request {
    let (key, asked) = match asked.strip_prefix('#').and_then(|rest| rest.split_once(' ')) {
        Some((key, rest)) => (Some(IdempotencyKey::parse(key).unwrap()), rest),
        None => (None, asked),
    };
    let wish = if let Some(all) = asked.strip_prefix("all:") {
        let parts = all.split('&').map(str::trim).filter(|part| !part.is_empty());
        let (require, commands): (Vec<&str>, Vec<&str>) =
            parts.partition(|part| part.starts_with("if "));
        Wish::Transaction {
            require: require.into_iter().map(read_precondition).collect(),
            commands: commands.into_iter().map(read_command).collect(),
        }
    } else if let Some((count, what)) =
        asked.strip_prefix("many ").and_then(|rest| rest.split_once(' '))
    {
        let numbers = 0..count.parse::<usize>().unwrap();
        let command = |number: usize| read_command(&what.replace("{}", &number.to_string()));
        Wish::Transaction { require: Vec::new(), commands: numbers.map(command).collect() }
    } else {
        Wish::Command(read_command(asked))
    };
    Request { wish, idempotency_key: key }
}

/// What is asked, as the tree that serde reads: `{"state": {"set": {...}}}`.
fn tree(asked: &str) -> Value {
    let mut words = asked.split_whitespace();
    let (noun, verb) = words.next().unwrap().split_once('.').expect("`noun.verb`");
    let names: &[&str] = match (noun, verb) {
        ("state", "set") => &["place", "value"],
        ("state", "patch" | "delete" | "get") => &["place"],
        ("state", "transfer") => &["from_namespace", "to_namespace"],
        ("state", "list") => &["namespace"],
        ("namespace", "create" | "configure" | "delete" | "get" | "ensure") => &["name"],
        ("agent", "register" | "heartbeat" | "leave" | "get") => &["agent"],
        _ => &[],
    };
    let fields = read_fields(names, words);
    let unit = matches!((noun, verb), ("workspace", "get") | (_, "expire"));
    if unit { json!({ noun: verb }) } else { json!({ noun: { verb: fields } }) }
}

fn read_fields<'a>(names: &[&str], words: impl Iterator<Item = &'a str>) -> Map<String, Value> {
    const FORMS: [&str; 6] = ["merge", "json_patch", "append", "union", "increment", "max"];
    let mut names = names.iter();
    let mut fields = Map::new();
    for word in words {
        match names.next() {
            Some(&"place") => {
                let (namespace, key) = word.split_once('/').expect("`namespace/key`");
                fields.insert("namespace".into(), json!(namespace));
                fields.insert("key".into(), json!(key));
            }
            Some(&"value") => drop(fields.insert("value".into(), read_value(word))),
            Some(name) => drop(fields.insert((*name).to_owned(), json!(word))),
            None => match word.split_once('=') {
                Some((name, value)) if FORMS.contains(&name) => {
                    fields.insert("patch".into(), json!({ name: read_value(value) }));
                }
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

pub(crate) fn read_command(asked: &str) -> Command {
    serde_json::from_value(tree(asked)).unwrap_or_else(|error| panic!("`{asked}`: {error}"))
}

fn read_query(asked: &str) -> Option<Query> {
    const VERBS: [&str; 5] = [".get", ".list", ".history", ".snapshot", ".diff"];
    let name = asked.split_whitespace().next()?;
    VERBS.iter().any(|verb| name.ends_with(verb)).then(|| {
        serde_json::from_value(tree(asked)).unwrap_or_else(|error| panic!("`{asked}`: {error}"))
    })
}

fn read_precondition(asked: &str) -> Precondition {
    let mut words = asked.split_whitespace().skip(1);
    let noun = words.next().unwrap();
    let tree = match noun {
        "revision" => json!({ noun: read_value(words.next().unwrap()) }),
        "entry" => json!({ noun: read_fields(&["place"], words) }),
        "namespace" => json!({ noun: read_fields(&["name"], words) }),
        _ => json!({ noun: read_fields(&["agent"], words) }),
    };
    serde_json::from_value(tree).unwrap_or_else(|error| panic!("`{asked}`: {error}"))
}
