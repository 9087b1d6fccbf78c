//! Frames to and from the server: one JSON object each.
//!
//! ```text
//!   {"id":7,"workspace":"w","agent":"ada","idempotency_key":"k","command":"state.set",…}   sent
//!   {"id":7,"revision":42,"result":{…}}   {"id":7,"error":{…}}                             reply
//!   {"watch":9,"event":{…}}   {"watch":9,"snapshot":{…}}   {"watch":9,"error":{…}}         pushed
//! ```
//!
//! Unknown fields are ignored, because a newer server may send them.

use crate::{Caller, Item};
use baton_core::wire::{self, Call, Frame, GivesBack, Problem, Spoken, write_text};
use baton_core::{
    Answer, Command, Entry, IdempotencyKey, Mutation, Notice, Precondition, Query, Reply, Revision,
    join, task,
};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::Error;

/// How to parse an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Expects {
    /// The reply to the operation of this name.
    One(String),
    /// One reply for each of a transaction's commands.
    Many(Vec<String>),
    /// The same, in the minimal form.
    Minimal(Box<Expects>),
}

/// A request as it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EncodedRequest {
    /// The frame.
    pub(crate) text: String,
    /// How to parse the answer.
    pub(crate) expects: Expects,
    /// For a call that waits: how long, and its caller.
    pub(crate) awaits: Option<Awaits>,
}

/// A waiting call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Awaits {
    /// How long at most.
    pub(crate) wait_ms: u64,
    /// The caller.
    pub(crate) caller: Caller,
    /// Whether it has no effect before it waits, as a request to an agent has.
    pub(crate) is_all: bool,
}

impl Awaits {
    fn of(caller: &Caller, command: &Command) -> Option<Self> {
        let wait_ms = command.wait_ms()?;
        let caller = Caller { idempotency_key: None, ..caller.clone() };
        Some(Self { wait_ms, caller, is_all: !command.acts_before_it_waits() })
    }

    /// The commands that release what a cancelled call was granted.
    pub(crate) fn let_go(expects: &Expects, reply: &Reply) -> Vec<Command> {
        let Expects::One(name) = expects else { return Vec::new() };
        let Some(gives_back) = wire::operation(name).and_then(|it| it.gives_back) else {
            return Vec::new();
        };
        let mut result = Vec::new();
        wire::write_reply(&mut result, reply);
        let Ok(result) = serde_json::from_slice::<Value>(&result) else { return Vec::new() };
        granted(&result).iter().filter_map(|one| Self::giving_back(gives_back, one)).collect()
    }

    fn giving_back(gives_back: GivesBack, granted: &Value) -> Option<Command> {
        let mut frame = json!({"command": gives_back.operation});
        for (field, from) in gives_back.fields {
            let is_pointer = from.starts_with('/');
            frame[*field] = if is_pointer { granted.pointer(from)?.clone() } else { json!(from) };
        }
        match Frame::parse(&frame.to_string()).ok()?.call().ok()? {
            Call::Command(command) => Some(command),
            Call::Query(_)
            | Call::Transaction(_)
            | Call::Watch(_)
            | Call::Unwatch { .. }
            | Call::Ping => None,
        }
    }
}

/// The items that a result grants: each item, if it is a list and nothing else.
fn granted(result: &Value) -> &[Value] {
    let only = result.as_object().filter(|fields| fields.len() == 1);
    let list = only.and_then(|fields| fields.values().next()).and_then(Value::as_array);
    list.map_or(std::slice::from_ref(result), Vec::as_slice)
}

/// The start of a frame, before the command and its fields.
fn envelope(id: u64, caller: &Caller, names_agent: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(256);
    out.extend_from_slice(format!("{{\"id\":{id},\"workspace\":").as_bytes());
    write_text(&mut out, caller.workspace.as_str());
    // An operation with a field for its agent names the caller with it.
    if !names_agent {
        out.extend_from_slice(b",\"agent\":");
        write_text(&mut out, caller.agent.as_str());
    }
    out.push(b',');
    out
}

fn add_key(out: &mut Vec<u8>, key: Option<&IdempotencyKey>) {
    if let Some(key) = key {
        out.extend_from_slice(b"\"idempotency_key\":");
        write_text(out, key.as_str());
        out.push(b',');
    }
}

fn finish(mut out: Vec<u8>) -> String {
    out.push(b'}');
    String::from_utf8(out).expect("what serde and we write is UTF-8")
}

fn name(out: &mut Vec<u8>, field: &str, id: &str) {
    write_text(out, field);
    out.push(b':');
    write_text(out, id);
    out.push(b',');
}

/// A command in the form of a frame. There `id` is the number of the request, so the id of a new
/// task or join is sent under its noun.
fn spoken(command: &Command, out: &mut Vec<u8>) -> Spoken {
    match command {
        Command::Task(task::Command::Create(create)) if create.id.is_some() => {
            let mut create = create.clone();
            if let Some(id) = create.id.take() {
                name(out, "task", id.as_str());
            }
            Spoken::from(&Command::from(task::Command::Create(create)))
        }
        Command::Join(join::Command::Create(create)) if create.id.is_some() => {
            let mut create = create.clone();
            if let Some(id) = create.id.take() {
                name(out, "join", id.as_str());
            }
            Spoken::from(&Command::from(join::Command::Create(create)))
        }
        command => Spoken::from(command),
    }
}

fn names_agent(spoken: &Spoken) -> bool {
    wire::operation(&spoken.name).is_some_and(|operation| operation.names_agent)
}

/// A command or a transaction.
pub(crate) fn mutation(
    id: u64,
    caller: &Caller,
    key: Option<&IdempotencyKey>,
    mutation: &Mutation,
) -> EncodedRequest {
    let (form, mutation) = match mutation {
        Mutation::Minimal(mutation) => (&b"\"return\":\"minimal\","[..], mutation.executed()),
        Mutation::Command(_) | Mutation::Fenced { .. } | Mutation::Transaction { .. } => {
            (&b""[..], mutation)
        }
    };
    let encoded = whole_mutation(id, caller, (key, form), mutation);
    if form.is_empty() {
        return encoded;
    }
    EncodedRequest { expects: Expects::Minimal(Box::new(encoded.expects)), ..encoded }
}

fn whole_mutation(
    id: u64,
    caller: &Caller,
    (key, form): (Option<&IdempotencyKey>, &[u8]),
    mutation: &Mutation,
) -> EncodedRequest {
    let begin = |names_agent: bool| {
        let mut out = envelope(id, caller, names_agent);
        add_key(&mut out, key);
        out.extend_from_slice(form);
        out
    };
    match mutation {
        Mutation::Command(command) => {
            let mut named = Vec::new();
            let spoken = spoken(command, &mut named);
            let mut out = begin(names_agent(&spoken));
            out.extend_from_slice(&named);
            spoken.write(&mut out);
            let awaits = Awaits::of(caller, command);
            EncodedRequest { text: finish(out), expects: Expects::One(spoken.name), awaits }
        }
        Mutation::Fenced { token, command } => {
            let mut named = Vec::new();
            let spoken = spoken(command, &mut named);
            let mut out = begin(names_agent(&spoken));
            out.extend_from_slice(&named);
            out.extend_from_slice(format!("\"token\":{token},").as_bytes());
            spoken.write(&mut out);
            let awaits = Awaits::of(caller, command);
            EncodedRequest { text: finish(out), expects: Expects::One(spoken.name), awaits }
        }
        Mutation::Minimal(mutation) => whole_mutation(id, caller, (key, form), mutation),
        Mutation::Transaction { require, commands, optional } => {
            let mut out = begin(false);
            let names = transaction(&mut out, require, commands, optional);
            EncodedRequest { text: finish(out), expects: Expects::Many(names), awaits: None }
        }
    }
}

fn transaction(
    out: &mut Vec<u8>,
    require: &[Precondition],
    commands: &[Command],
    optional: &[usize],
) -> Vec<String> {
    out.extend_from_slice(b"\"command\":\"transaction\",\"require\":");
    let require = serde_json::to_vec(require).expect("preconditions can be encoded");
    out.extend_from_slice(&require);
    out.extend_from_slice(b",\"commands\":[");
    let mut names = Vec::with_capacity(commands.len());
    for (index, command) in commands.iter().enumerate() {
        let spoken = Spoken::from(command);
        out.extend_from_slice(if index > 0 { b",{" } else { b"{" });
        if optional.contains(&index) {
            out.extend_from_slice(b"\"optional\":true,");
        }
        spoken.write(out);
        out.push(b'}');
        names.push(spoken.name);
    }
    out.push(b']');
    names
}

/// A query.
pub(crate) fn query(id: u64, caller: &Caller, query: &Query) -> EncodedRequest {
    let spoken = Spoken::from(query);
    let mut out = envelope(id, caller, names_agent(&spoken));
    // Otherwise the agent that it is about would count as the caller, and be shown its token.
    if query.about_agent().is_some_and(|agent| *agent != caller.agent) {
        name(&mut out, "caller", caller.agent.as_str());
    }
    spoken.write(&mut out);
    EncodedRequest { text: finish(out), expects: Expects::One(spoken.name), awaits: None }
}

/// The start of a watch.
pub(crate) fn watch(id: u64, caller: &Caller, watch: &wire::Watch) -> String {
    let mut out = envelope(id, caller, false);
    out.extend_from_slice(b"\"command\":\"watch\",");
    let fields = serde_json::to_vec(watch).expect("watches can be encoded");
    out.extend_from_slice(&fields[1..fields.len() - 1]);
    finish(out)
}

/// The end of a watch.
pub(crate) fn unwatch(id: u64, watch: u64) -> String {
    format!("{{\"id\":{id},\"command\":\"unwatch\",\"watch\":{watch}}}")
}

/// A frame from the server whose parts are not parsed yet.
#[derive(Debug, Deserialize)]
pub(crate) struct ServerFrame<'a> {
    /// The request that is answered.
    pub(crate) id: Option<u64>,
    /// The watch that it belongs to.
    pub(crate) watch: Option<u64>,
    revision: Option<Revision>,
    /// `null` is a result: nothing was granted.
    #[serde(borrow, default, deserialize_with = "given")]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    results: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    event: Option<&'a RawValue>,
    #[serde(borrow)]
    snapshot: Option<&'a RawValue>,
}

fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// The content of a push for a watch.
pub(crate) enum Pushed {
    /// An item.
    Item {
        /// The item.
        item: Item,
        /// Whether it is the last of its commit.
        last: bool,
    },
    /// The watch has ended.
    Ended(Problem),
}

impl<'a> ServerFrame<'a> {
    /// Splits a frame into its parts.
    pub(crate) fn parse(text: &'a str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    /// The problem, if the server reports one.
    pub(crate) fn problem(&self) -> Result<Option<Problem>, String> {
        let parse = |error: &RawValue| Problem::parse(error.get());
        self.error.map(parse).transpose().map_err(|fault| fault.to_string())
    }

    /// The answer, or the problem that the server reports. The outer error is for a frame that
    /// cannot be parsed.
    pub(crate) fn answer(&self, expects: &Expects) -> Result<Result<Answer, Error>, String> {
        if let Some(problem) = self.problem()? {
            return Ok(Err(Error::Refused(Box::new(problem))));
        }
        let revision = self.revision.ok_or("it has no revision")?;
        let (expects, is_minimal) = match expects {
            Expects::Minimal(whole) => (&**whole, true),
            Expects::One(_) | Expects::Many(_) => (expects, false),
        };
        let one = |name: &str, result: &RawValue| {
            if is_minimal { one_minimal(name, result) } else { one(name, result) }
        };
        let reply = match expects {
            Expects::One(name) => one(name, self.result.ok_or("it has no result")?)?,
            Expects::Minimal(_) => return Err("it is minimal already".to_owned()),
            Expects::Many(names) => {
                let results = self.results.as_ref().ok_or("it has no results")?;
                if results.len() != names.len() {
                    let (given, wanted) = (results.len(), names.len());
                    return Err(format!("it has {given} results for {wanted} commands"));
                }
                let replies = names.iter().zip(results).map(|(name, result)| one(name, result));
                Reply::Transaction(replies.collect::<Result<_, _>>()?)
            }
        };
        Ok(Ok(Answer { revision, reply }))
    }

    /// The answer to a watch: the first revision whose events follow.
    pub(crate) fn begun(&self) -> Result<Revision, String> {
        #[derive(Deserialize)]
        struct Begun {
            from: Revision,
        }
        let result = self.result.ok_or("it has no result")?;
        let begun: Begun = serde_json::from_str(result.get()).map_err(|error| error.to_string())?;
        Ok(begun.from)
    }

    /// The content of a push.
    pub(crate) fn pushed(&self) -> Result<Pushed, String> {
        if let Some(problem) = self.problem()? {
            return Ok(Pushed::Ended(problem));
        }
        if let Some(event) = self.event {
            #[derive(Deserialize)]
            struct CommitEnd {
                #[serde(default)]
                last: bool,
            }
            let commit_end: CommitEnd =
                serde_json::from_str(event.get()).map_err(|it| it.to_string())?;
            let notice = Notice::parse(event.get()).map_err(|fault| fault.to_string())?;
            return Ok(Pushed::Item { item: Item::Event(notice.into()), last: commit_end.last });
        }
        if let Some(snapshot) = self.snapshot {
            #[derive(Deserialize)]
            struct Snapshot {
                revision: Revision,
                entries: Vec<Entry>,
            }
            let Snapshot { revision, entries } =
                serde_json::from_str(snapshot.get()).map_err(|error| error.to_string())?;
            return Ok(Pushed::Item { item: Item::Snapshot { revision, entries }, last: true });
        }
        Err("it brings nothing".to_owned())
    }
}

fn one_minimal(name: &str, result: &RawValue) -> Result<Reply, String> {
    let operation = wire::operation(name);
    if !operation.is_some_and(wire::Operation::returns_minimal) {
        return one(name, result);
    }
    // Calls that receive something have no shorter form.
    if operation.is_some_and(|it| it.other_reply.is_some())
        && let Ok(reply) = one(name, result)
    {
        return Ok(reply);
    }
    let minimal = serde_json::from_str(result.get()).map_err(|error| error.to_string())?;
    Ok(Reply::Minimal(minimal))
}

fn one(name: &str, result: &RawValue) -> Result<Reply, String> {
    // No operation has an empty result.
    if result.get() == "{}" {
        return Err("its result is empty".to_owned());
    }
    wire::reply(name, result.get().as_bytes()).map_err(|error| error.to_string())
}
