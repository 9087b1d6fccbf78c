//! Everything that can be asked for by name.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::answer::own_fields;
use crate::command::{Command, Query};
use crate::reply::Reply;

/// Whether an operation changes something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It does.
    Changes,
    /// It does not.
    Asks,
}

/// An operation, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about a name")]
pub struct Operation {
    /// The primitive, a dot, and what is done.
    pub name: &'static str,
    /// Whether it changes something.
    pub effect: Effect,
    /// Which of the primitive's replies it is answered with.
    pub reply: &'static str,
    /// Whether `agent` is a field of its own, besides saying who acts.
    pub names_agent: bool,
    /// Whether that field narrows a list, and need not be given.
    pub narrows_by_agent: bool,
    /// Whether `token` is a field of its own. Elsewhere it is what the caller acts under, and
    /// whoever has a stale one is refused.
    pub names_token: bool,
    /// Whether it is about the past by itself. Every other question may be asked about a moment of
    /// it, with the field `at`.
    pub is_about_the_past: bool,
}

const fn named(name: &'static str, effect: Effect, reply: &'static str) -> Operation {
    Operation {
        name,
        effect,
        reply,
        names_agent: false,
        narrows_by_agent: false,
        names_token: false,
        is_about_the_past: false,
    }
}

const fn changes(name: &'static str, reply: &'static str) -> Operation {
    named(name, Effect::Changes, reply)
}

const fn asks(name: &'static str, reply: &'static str) -> Operation {
    named(name, Effect::Asks, reply)
}

const fn of_agent(operation: Operation) -> Operation {
    Operation { names_agent: true, ..operation }
}

const fn narrowed_by_agent(operation: Operation) -> Operation {
    Operation { names_agent: true, narrows_by_agent: true, ..operation }
}

const fn with_token(operation: Operation) -> Operation {
    Operation { names_token: true, ..operation }
}

const fn recalls(name: &'static str, reply: &'static str) -> Operation {
    Operation { is_about_the_past: true, ..asks(name, reply) }
}

/// Every operation. What is not here cannot be asked for from outside.
pub const OPERATIONS: &[Operation] = &[
    changes("state.set", "entry"),
    changes("state.patch", "entry"),
    changes("state.delete", "entry"),
    changes("state.transfer", "moved"),
    asks("state.get", "entry"),
    asks("state.list", "entries"),
    recalls("state.history", "changes"),
    asks("state.snapshot", "entries"),
    recalls("state.diff", "changes"),
    changes("namespace.create", "namespace"),
    changes("namespace.configure", "namespace"),
    changes("namespace.delete", "namespace"),
    asks("namespace.list", "namespaces"),
    asks("namespace.get", "namespace"),
    of_agent(changes("agent.register", "agent")),
    with_token(of_agent(changes("agent.heartbeat", "agent"))),
    with_token(of_agent(changes("agent.leave", "agent"))),
    of_agent(asks("agent.get", "agent")),
    asks("agent.list", "agents"),
    changes("message.send", "message"),
    changes("message.request", "replied"),
    changes("message.reply", "message"),
    asks("message.get", "message"),
    of_agent(changes("inbox.receive", "received")),
    of_agent(changes("inbox.ack", "acked")),
    changes("inbox.requeue", "message"),
    of_agent(asks("inbox.list", "messages")),
    changes("handler.register", "handler"),
    changes("handler.remove", "handler"),
    asks("handler.list", "handlers"),
    changes("topic.publish", "published"),
    asks("topic.get", "topic"),
    asks("topic.list", "topics"),
    changes("stream.create", "stream"),
    changes("stream.send", "sent"),
    changes("stream.receive", "frames"),
    changes("stream.close", "stream"),
    changes("stream.delete", "stream"),
    asks("stream.get", "stream"),
    asks("stream.list", "streams"),
    changes("rule.add", "rule"),
    changes("rule.remove", "rule"),
    asks("rule.list", "rules"),
    changes("event.emit", "emitted"),
    recalls("event.history", "events"),
    changes("reaction.add", "reaction"),
    changes("reaction.remove", "reaction"),
    changes("reaction.enable", "reaction"),
    changes("reaction.disable", "reaction"),
    asks("reaction.get", "reaction"),
    asks("reaction.list", "reactions"),
    asks("contract.show", "contracts"),
    asks("contract.check", "problems"),
    of_agent(asks("context.build", "context")),
    changes("lock.acquire", "hold"),
    with_token(changes("lock.renew", "hold")),
    with_token(changes("lock.release", "lock")),
    asks("lock.get", "lock"),
    asks("lock.list", "locks"),
    changes("semaphore.acquire", "permit"),
    with_token(changes("semaphore.renew", "permit")),
    with_token(changes("semaphore.release", "semaphore")),
    asks("semaphore.get", "semaphore"),
    asks("semaphore.list", "semaphores"),
    changes("task.create", "task"),
    changes("task.claim", "claimed"),
    with_token(changes("task.heartbeat", "task")),
    with_token(changes("task.progress", "task")),
    with_token(changes("task.update", "task")),
    with_token(changes("task.release", "task")),
    with_token(changes("task.complete", "completed")),
    with_token(changes("task.fail", "task")),
    changes("task.cancel", "task"),
    changes("task.review", "task"),
    asks("task.get", "task"),
    narrowed_by_agent(asks("task.list", "tasks")),
    asks("task.stats", "stats"),
    asks("task.why", "why"),
    recalls("task.history", "history"),
    changes("barrier.arrive", "arrival"),
    changes("barrier.reset", "barrier"),
    asks("barrier.get", "barrier"),
    changes("join.create", "join"),
    changes("join.wait", "settled"),
    asks("join.get", "join"),
    changes("pipeline.create", "pipeline"),
    changes("pipeline.start_stage", "stage"),
    changes("pipeline.complete_stage", "moved"),
    changes("pipeline.fail_stage", "stage"),
    changes("pipeline.retry_stage", "stage"),
    changes("pipeline.skip_stage", "moved"),
    changes("pipeline.abort", "pipeline"),
    changes("pipeline.delete", "pipeline"),
    asks("pipeline.get", "pipeline"),
    asks("pipeline.output", "output"),
    asks("pipeline.list", "pipelines"),
    with_token(changes("checkpoint.save", "checkpoint")),
    with_token(changes("checkpoint.restore", "restored")),
    with_token(changes("checkpoint.fork", "checkpoint")),
    changes("checkpoint.label", "checkpoint"),
    changes("checkpoint.prune", "pruned"),
    changes("checkpoint.retain", "rules"),
    asks("checkpoint.latest", "latest"),
    asks("checkpoint.get", "checkpoint"),
    asks("checkpoint.list", "checkpoints"),
    asks("checkpoint.retention", "rules"),
    changes("artifact.delete", "artifact"),
    asks("artifact.get", "artifact"),
    asks("artifact.list", "artifacts"),
    changes("secret.delete", "secret"),
    asks("secret.get", "secret"),
    asks("secret.list", "secrets"),
    with_token(changes("handoff.offer", "handoff")),
    with_token(changes("handoff.execute", "handoff")),
    with_token(changes("handoff.validate", "verdict")),
    changes("handoff.receive", "received"),
    changes("handoff.accept", "accepted"),
    changes("handoff.reject", "handoff"),
    changes("handoff.complete", "handoff"),
    changes("handoff.cancel", "handoff"),
    changes("handoff.approve", "handoff"),
    asks("handoff.get", "handoff"),
    asks("handoff.list", "handoffs"),
    asks("handoff.history", "handoffs"),
    asks("handoff.export", "context"),
    asks("handoff.stats", "stats"),
    changes("workspace.configure", "workspace"),
    asks("workspace.get", "workspace"),
    recalls("workspace.list", "workspaces"),
    recalls("workspace.fork", "forked"),
    recalls("workspace.diff", "differences"),
    recalls("workspace.search", "found"),
    recalls("workspace.why", "why"),
];

/// The operation of that name.
pub fn operation(name: &str) -> Option<&'static Operation> {
    OPERATIONS.iter().find(|operation| operation.name == name)
}

impl Operation {
    /// The primitive, and what is done. What belongs to another primitive goes by its whole name
    /// there.
    pub fn parts(&self) -> (&'static str, &'static str) {
        let (noun, verb) =
            self.name.split_once('.').expect("every operation has a dot in its name");
        match noun {
            "inbox" | "handler" => ("message", self.name),
            noun => (noun, verb),
        }
    }
}

/// A command or a query as it is written down, for those who send one.
pub struct Spoken {
    /// Its name.
    pub name: String,
    /// Its fields as a JSON object.
    pub fields: Vec<u8>,
}

impl Spoken {
    fn of(operation: &impl Serialize) -> Self {
        let text = serde_json::to_vec(operation).expect("commands can be encoded");
        let mut name = Vec::new();
        let fields = own_fields(&text, &mut name);
        // What has a dot in it is a whole name.
        let name = match name[..] {
            [_, whole] if whole.contains('.') => whole.to_owned(),
            _ => name.join("."),
        };
        Self { name, fields: fields.to_vec() }
    }

    /// Writes it as one flat object, after whatever fields of an envelope are in it already.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\"command\":\"");
        out.extend_from_slice(self.name.as_bytes());
        out.push(b'"');
        if self.fields.len() > 2 {
            out.push(b',');
            out.extend_from_slice(&self.fields[1..self.fields.len() - 1]);
        }
    }
}

impl From<&Command> for Spoken {
    fn from(command: &Command) -> Self {
        Self::of(command)
    }
}

impl From<&Query> for Spoken {
    fn from(query: &Query) -> Self {
        let Query::At(at, query) = query else { return Self::of(query) };
        let Self { name, mut fields } = Self::of(query);
        fields.pop();
        fields.extend_from_slice(if fields.len() > 1 { b",\"at\":" } else { b"\"at\":" });
        serde_json::to_writer(&mut fields, at).expect("moments can be encoded");
        fields.push(b'}');
        Self { name, fields }
    }
}

/// Reads the bare result of an operation, for those who sent it.
pub fn reply(name: &str, result: &[u8]) -> Result<Reply, serde_json::Error> {
    let unknown = || serde::de::Error::custom(format!("there is no operation `{name}`"));
    let operation = operation(name).ok_or_else(unknown)?;
    let primitive = operation.parts().0;
    if result == b"{}" {
        return tagged(&[b"{\"", primitive.as_bytes(), b"\":\"done\"}"]);
    }
    let (primitive, tag) = (primitive.as_bytes(), operation.reply.as_bytes());
    tagged(&[b"{\"", primitive, b"\":{\"", tag, b"\":", result, b"}}"])
}

fn tagged<T: DeserializeOwned>(parts: &[&[u8]]) -> Result<T, serde_json::Error> {
    serde_json::from_slice(&parts.concat())
}
