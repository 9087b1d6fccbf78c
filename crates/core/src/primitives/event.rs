//! Everything that can have happened, as a sum over the primitives.

use serde::{Deserialize, Serialize};

use crate::numbers::{Token, WaitId};
use crate::pattern::Pattern;
use crate::space::receipt::Receipt;
use crate::waiting::wait::{Keyed, Step};
use crate::{
    agent, artifact, barrier, checkpoint, handoff, join, lock, message, namespace, pipeline,
    reaction, rule, secret, semaphore, state, stream, task, topic, user_event, workspace,
};

/// A fact. Past tense, self-contained: applying one needs the space and nothing else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// About shared state.
    State(state::Event),
    /// About namespaces.
    Namespace(namespace::Event),
    /// About agents.
    Agent(agent::Event),
    /// About messages.
    Message(message::Event),
    /// About topics.
    Topic(topic::Event),
    /// About streams.
    Stream(stream::Event),
    /// About rules for hand-offs.
    Rule(rule::Event),
    /// What an agent says has happened.
    #[serde(rename = "event")]
    UserEvent(user_event::Event),
    /// About reactions.
    Reaction(reaction::Event),
    /// About locks.
    Lock(lock::Event),
    /// About semaphores.
    Semaphore(semaphore::Event),
    /// About barriers.
    Barrier(barrier::Event),
    /// About tasks.
    Task(task::Event),
    /// About joins.
    Join(join::Event),
    /// About pipelines.
    Pipeline(pipeline::Event),
    /// About checkpoints.
    Checkpoint(checkpoint::Event),
    /// About artifacts.
    Artifact(artifact::Event),
    /// About secrets.
    Secret(secret::Event),
    /// About hand-offs.
    Handoff(handoff::Event),
    /// About the workspace itself.
    Workspace(workspace::Event),
    /// An answer that will be repeated if the request is.
    Receipt(Receipt),
    /// A call waits, and whoever repeats it takes its place.
    Awaited(Keyed),
}

impl Event {
    /// The event's type, as watchers and history know it: `state.set`, `agent.lost`.
    pub fn kind(&self) -> &str {
        match self {
            Self::State(event) => event.kind(),
            Self::Namespace(event) => event.kind(),
            Self::Agent(event) => event.kind(),
            Self::Message(event) => event.kind(),
            Self::Topic(event) => event.kind(),
            Self::Stream(event) => event.kind(),
            Self::Rule(event) => event.kind(),
            Self::UserEvent(event) => event.kind(),
            Self::Reaction(event) => event.kind(),
            Self::Lock(event) => event.kind(),
            Self::Semaphore(event) => event.kind(),
            Self::Barrier(event) => event.kind(),
            Self::Join(event) => event.kind(),
            Self::Checkpoint(event) => event.kind(),
            Self::Artifact(event) => event.kind(),
            Self::Secret(event) => event.kind(),
            Self::Handoff(event) => event.kind(),
            Self::Task(event) => event.kind(),
            Self::Pipeline(event) => event.kind(),
            Self::Workspace(event) => event.kind(),
            Self::Receipt(_) => "receipt.kept",
            Self::Awaited(_) => "receipt.awaited",
        }
    }

    /// The primitive and the variant of an event of this type, the other way round.
    pub(crate) fn parts(kind: &str) -> Option<(&str, &str)> {
        let (primitive, variant) = kind.split_once('.')?;
        let variant = if primitive == "state" { state::Event::variant(variant) } else { variant };
        Some((primitive, variant))
    }

    /// The parts whose concatenation is the subject, so that it can be hashed without a copy.
    pub fn subject_parts(&self) -> [&str; 4] {
        match self {
            Self::State(event) => {
                let (namespace, key) = event.entry_key();
                ["state/", namespace.as_str(), "/", key.as_str()]
            }
            Self::Namespace(event) => ["namespaces/", event.name().as_str(), "", ""],
            Self::Agent(event) => ["agents/", event.agent().as_str(), "", ""],
            Self::Message(event) => event.subject_parts(),
            Self::Topic(event) => ["topics/", event.topic().as_str(), "", ""],
            Self::Stream(event) => event.subject_parts(),
            Self::Rule(event) => ["rules/", event.name().as_str(), "", ""],
            Self::UserEvent(event) => ["events/", event.kind(), "", ""],
            Self::Reaction(event) => ["reactions/", event.reaction().as_str(), "", ""],
            Self::Lock(event) => ["locks/", event.name().as_str(), "", ""],
            Self::Semaphore(event) => ["semaphores/", event.name().as_str(), "", ""],
            Self::Barrier(event) => ["barriers/", event.name().as_str(), "", ""],
            Self::Join(event) => ["joins/", event.join().as_str(), "", ""],
            Self::Checkpoint(event) => {
                let [kind, task] = event.subject_parts();
                [kind, task, "", ""]
            }
            Self::Artifact(event) => ["artifacts/", event.artifact().as_str(), "", ""],
            Self::Secret(event) => ["secrets/", event.secret().as_str(), "", ""],
            Self::Handoff(event) => {
                let [kind, name] = event.subject_parts();
                [kind, name, "", ""]
            }
            Self::Task(event) => {
                let [kind, name] = event.subject_parts();
                [kind, name, "", ""]
            }
            Self::Pipeline(event) => ["pipelines/", event.pipeline().as_str(), "", ""],
            Self::Workspace(_) => ["workspace", "", "", ""],
            Self::Receipt(receipt) => ["receipts/", receipt.key.as_str(), "", ""],
            Self::Awaited(keyed) => ["receipts/", keyed.key.as_str(), "", ""],
        }
    }

    /// What the event is about: `state/shared/plan`, `agents/ada`.
    pub fn subject(&self) -> String {
        self.subject_parts().concat()
    }

    /// Whether a watcher of this pattern must learn of the event, whose subject is given.
    pub fn concerns(&self, pattern: &Pattern, subject: &str) -> bool {
        if pattern.matches(subject) {
            return true;
        }
        match self {
            // The entries go with their namespace, so it concerns whoever watches one of them.
            #[cfg(feature = "planted")]
            Self::Namespace(_) if crate::planted::is("event.namespace_unseen") => false,
            Self::Namespace(namespace::Event::Deleted { name }) => {
                pattern.reaches(&format!("state/{name}/"))
            }
            Self::State(_)
            | Self::Namespace(_)
            | Self::Agent(_)
            | Self::Message(_)
            | Self::Topic(_)
            | Self::Stream(_)
            | Self::Rule(_)
            | Self::UserEvent(_)
            | Self::Reaction(_)
            | Self::Lock(_)
            | Self::Semaphore(_)
            | Self::Barrier(_)
            | Self::Join(_)
            | Self::Checkpoint(_)
            | Self::Artifact(_)
            | Self::Secret(_)
            | Self::Handoff(_)
            | Self::Task(_)
            | Self::Pipeline(_)
            | Self::Workspace(_)
            | Self::Receipt(_)
            | Self::Awaited(_) => false,
        }
    }

    /// Whether it is only told to those who watch, and is in no log.
    pub fn is_live(&self) -> bool {
        matches!(
            self,
            Self::Topic(topic::Event::Posted { live: true, .. })
                | Self::Stream(stream::Event::Sent { live: true, .. })
        )
    }

    /// Whether watchers are told. Receipts are bookkeeping between a caller and the engine.
    pub fn is_public(&self) -> bool {
        match self {
            Self::State(_)
            | Self::Namespace(_)
            | Self::Agent(_)
            | Self::Message(_)
            | Self::Topic(_)
            | Self::Stream(_)
            | Self::Rule(_)
            | Self::UserEvent(_)
            | Self::Lock(_)
            | Self::Semaphore(_)
            | Self::Barrier(_)
            | Self::Join(_)
            | Self::Checkpoint(_)
            | Self::Artifact(_)
            | Self::Secret(_)
            | Self::Handoff(_)
            | Self::Task(_)
            | Self::Pipeline(_)
            | Self::Workspace(_) => true,
            Self::Reaction(event) => event.is_public(),
            Self::Receipt(_) | Self::Awaited(_) => false,
        }
    }

    /// The call that waits under a key, if this is about it.
    pub(crate) fn begun(&self, wait: WaitId) -> Option<&Keyed> {
        if let Self::Awaited(keyed) = self {
            Some(keyed).filter(|it| it.wait == wait)
        } else {
            None
        }
    }

    /// What it means for a call that waits.
    #[inline]
    pub fn wait(&self) -> Option<Step> {
        match self {
            Self::Lock(event) => event.wait(),
            Self::Semaphore(event) => event.wait(),
            Self::Barrier(event) => event.wait(),
            Self::Join(event) => event.wait(),
            Self::Handoff(event) => event.wait(),
            Self::Task(event) => event.wait(),
            Self::Message(event) => event.wait(),
            Self::Stream(event) => event.wait(),
            Self::State(_)
            | Self::Namespace(_)
            | Self::Agent(_)
            | Self::Topic(_)
            | Self::Rule(_)
            | Self::UserEvent(_)
            | Self::Reaction(_)
            | Self::Pipeline(_)
            | Self::Checkpoint(_)
            | Self::Artifact(_)
            | Self::Secret(_)
            | Self::Workspace(_)
            | Self::Receipt(_)
            | Self::Awaited(_) => None,
        }
    }

    /// The token it gives to somebody.
    #[inline]
    pub fn token(&self) -> Option<Token> {
        match self {
            Self::Lock(event) => event.token(),
            Self::Semaphore(event) => event.token(),
            Self::Task(event) => event.token(),
            Self::Agent(event) => event.token(),
            Self::State(_)
            | Self::Namespace(_)
            | Self::Message(_)
            | Self::Topic(_)
            | Self::Stream(_)
            | Self::Rule(_)
            | Self::UserEvent(_)
            | Self::Reaction(_)
            | Self::Barrier(_)
            | Self::Join(_)
            | Self::Pipeline(_)
            | Self::Checkpoint(_)
            | Self::Artifact(_)
            | Self::Secret(_)
            | Self::Handoff(_)
            | Self::Workspace(_)
            | Self::Receipt(_)
            | Self::Awaited(_) => None,
        }
    }

    /// About how many bytes the event takes in the log, and never fewer: what a log cannot take
    /// must be refused before it is decided.
    pub fn weight(&self) -> usize {
        // Names of fields and variants, numbers, times, and the heads of texts.
        const FRAME: usize = 128;
        let subject: usize = self.subject_parts().iter().map(|part| part.len()).sum();
        FRAME + subject + self.load()
    }

    /// Bytes of what is neither bounded by the frame nor part of the subject.
    fn load(&self) -> usize {
        const SOURCE: usize = 96;
        match self {
            Self::State(state::Event::Set { value, bound_to, source, .. }) => {
                let bound = bound_to.as_ref().map_or(0, |agent| agent.as_str().len());
                let source = source.as_ref().map_or(0, |source| {
                    SOURCE + source.namespace.as_str().len() + source.agent.as_str().len()
                });
                value.as_bytes().len() + bound + source
            }
            Self::Namespace(
                namespace::Event::Created { rules, .. }
                | namespace::Event::Configured { rules, .. },
            ) => rules.weight(),
            Self::Agent(agent::Event::Joined { capabilities, metadata, .. }) => {
                let names = capabilities.iter().map(|name| name.len() + 5).sum::<usize>();
                names + metadata.as_ref().map_or(0, |metadata| metadata.as_bytes().len())
            }
            Self::Message(event) => event.load(),
            Self::Topic(event) => event.load(),
            Self::Stream(event) => event.load(),
            Self::Rule(event) => event.load(),
            Self::UserEvent(event) => event.load(),
            Self::Reaction(event) => event.load(),
            Self::Lock(event) => event.load(),
            Self::Semaphore(event) => event.load(),
            Self::Barrier(event) => event.load(),
            Self::Join(event) => event.load(),
            Self::Checkpoint(event) => event.load(),
            Self::Artifact(event) => event.load(),
            Self::Secret(event) => event.load(),
            Self::Handoff(event) => event.load(),
            Self::Task(event) => event.load(),
            Self::Pipeline(event) => event.load(),
            Self::Receipt(receipt) => {
                let agent = receipt.agent.as_ref().map_or(0, |agent| agent.as_str().len());
                receipt.answer.len() + agent
            }
            Self::Awaited(keyed) => keyed.agent.as_str().len(),
            Self::State(state::Event::Deleted { .. })
            | Self::Namespace(namespace::Event::Deleted { .. })
            | Self::Agent(
                agent::Event::Seen { .. }
                | agent::Event::Left { .. }
                | agent::Event::Lost { .. }
                | agent::Event::Forgotten { .. },
            )
            | Self::Workspace(_) => 0,
        }
    }
}
