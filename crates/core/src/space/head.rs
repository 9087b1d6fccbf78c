//! A space as a snapshot holds it, and what must always be true of one.

use serde::{Deserialize, Serialize};

use super::Space;
use crate::handoff::{List, Status};
use crate::history::Origin;
use crate::names::{AgentId, Key, NamespaceName};
use crate::numbers::{Generation, Revision, Token};
use crate::space::receipt::{Kept, Receipts};
use crate::state::Ending;
use crate::storage::Entries;
use crate::time::Timestamp;
use crate::waiting::wait::{Keyed, KeyedWaits};
use crate::{
    agent, artifact, barrier, checkpoint, handoff, join, lock, message, namespace, pipeline,
    reaction, rule, secret, semaphore, state, stream, task, topic, workspace,
};

/// Everything of a space but the entries: small, and therefore copied at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// The revision of the last change.
    pub revision: Revision,
    /// When it was decided.
    pub time: Timestamp,
    /// The revision of the last removal of an entry.
    pub last_removal: Revision,
    /// Authors of entries, by number.
    pub authors: Vec<AgentId>,
    /// When and with whom entries go.
    pub endings: Vec<(NamespaceName, Key, Ending)>,
    /// Namespaces.
    pub namespaces: Vec<namespace::Namespace>,
    /// Agents.
    pub agents: Vec<agent::Agent>,
    /// Messages: which are known, who waits, and who answers.
    #[serde(default)]
    pub messages: message::Facts,
    /// Topics.
    #[serde(default)]
    pub topics: Vec<topic::Topic>,
    /// Streams, and who waits for them.
    #[serde(default)]
    pub streams: stream::Facts,
    /// Rules for hand-offs.
    #[serde(default)]
    pub rules: Vec<rule::Rule>,
    /// Reactions, and the calls that they still have to make.
    #[serde(default)]
    pub reactions: reaction::Facts,
    /// How much of the past is kept.
    pub retention: workspace::Retention,
    /// Where it came from, if it was not empty when it began.
    #[serde(default)]
    pub origin: Option<Origin>,
    /// Kept answers, oldest first.
    pub receipts: Vec<Kept>,
    /// The last token given.
    #[serde(default)]
    pub token: Token,
    /// Calls that wait under an idempotency key.
    #[serde(default)]
    pub keyed_waits: Vec<Keyed>,
    /// Locks: who holds them, and who waits.
    #[serde(default)]
    pub locks: (Vec<lock::Hold>, Vec<lock::Waiter>),
    /// Semaphores: which there are, who holds permits, and who waits.
    #[serde(default)]
    pub semaphores: (Vec<semaphore::Record>, Vec<semaphore::Permit>, Vec<semaphore::Waiter>),
    /// Barriers: the largest generation that was forgotten, and which there are.
    #[serde(default)]
    pub barriers: (Generation, Vec<barrier::Record>),
    /// Tasks, who waits for one, and what is counted about them.
    #[serde(default)]
    pub tasks: task::Facts,
    /// Joins: how many were ever created, which are known, and who waits.
    #[serde(default)]
    pub joins: join::Facts,
    /// Pipelines: how many were ever created, and which are known.
    #[serde(default)]
    pub pipelines: pipeline::Facts,
    /// Checkpoints, what they consist of, and how many are kept.
    #[serde(default)]
    pub checkpoints: checkpoint::Facts,
    /// Artifacts: how many have gone, which are there, and who names them.
    #[serde(default)]
    pub artifacts: artifact::Facts,
    /// Secrets: how many have gone, and what is known of those that are there.
    #[serde(default)]
    pub secrets: (u64, Vec<secret::Secret>),
    /// Hand-offs: which are known, who waits for one, and what was counted.
    #[serde(default)]
    pub handoffs: handoff::Facts,
}

impl Space {
    /// Asserts what must always be true.
    pub fn check(&self) {
        assert!(self.undo_log.is_empty(), "nothing is left to take back between commits");
        self.state.check(self.revision);
        self.namespace.check();
        self.agent.check();
        self.message.check();
        self.topic.check();
        self.stream.check();
        self.rule.check();
        self.reaction.check();
        self.lock.check();
        self.semaphore.check();
        self.barrier.check();
        self.task.check();
        self.join.check();
        self.pipeline.check();
        self.check_stages();
        self.checkpoint.check();
        self.artifact.check();
        self.check_mentions();
        self.secret.check();
        self.handoff.check();
        self.check_offers();
        self.workspace.check();
        for (namespace, _) in self.state.namespaces() {
            assert!(self.namespace.get(namespace).is_some(), "entries live in a namespace");
        }
        for (_, _, ending) in self.state.endings() {
            let bound_to = ending.bound_to.as_ref();
            let alive = bound_to.is_none_or(|agent| self.agent.is_active(agent));
            assert!(alive, "what is bound to a session ends with it");
        }
    }

    /// A task is offered by the one open hand-off that its lease names, and by no other.
    fn check_offers(&self) {
        for handoff in self.handoff.after(&List::default()) {
            let task = handoff.task.as_ref().and_then(|task| self.task.get(task));
            let lease = task.and_then(|record| record.lease.as_ref());
            let offers = lease.is_some_and(|lease| lease.handoff.as_ref() == Some(&handoff.id));
            let is_open = handoff.status.is_open() && handoff.task.is_some();
            assert_eq!(offers, is_open, "`{}` and its task agree", handoff.id);
            if handoff.status == Status::Accepted && handoff.task.is_some() {
                let holder = lease.map(|lease| &lease.holder);
                assert_eq!(holder, handoff.receiver.as_ref(), "who accepted holds the task");
            }
        }
    }

    /// Everything but the entries, as it is now.
    pub fn head(&self) -> Head {
        let endings = self.state.endings();
        Head {
            revision: self.revision,
            time: self.time,
            last_removal: self.state.last_removal(),
            authors: self.state.authors().names().to_vec(),
            endings: endings
                .map(|(namespace, key, ending)| (namespace.clone(), key.clone(), ending.clone()))
                .collect(),
            namespaces: self.namespace.after(None).cloned().collect(),
            agents: self.agent.after(None).cloned().collect(),
            messages: self.message.facts(),
            topics: self.topic.facts(),
            streams: self.stream.facts(),
            rules: self.rule.after(None).cloned().collect(),
            reactions: self.reaction.facts(),
            retention: self.workspace.retention(),
            origin: self.workspace.origin().cloned(),
            receipts: self.receipts.all().cloned().collect(),
            token: self.token,
            keyed_waits: self.keyed_waits.all().cloned().collect(),
            locks: self.lock.facts(),
            semaphores: self.semaphore.facts(),
            barriers: self.barrier.facts(),
            tasks: self.task.facts(),
            joins: self.join.facts(),
            pipelines: self.pipeline.facts(),
            checkpoints: self.checkpoint.facts(),
            artifacts: self.artifact.facts(),
            secrets: self.secret.facts(),
            handoffs: self.handoff.facts(),
        }
    }

    /// Puts a space together from what a snapshot holds.
    pub fn restore(head: Head, entries: Vec<(NamespaceName, Entries)>) -> Self {
        let authors = head.authors.into_iter().collect();
        Self {
            state: state::Table::restore(authors, entries, head.endings, head.last_removal),
            namespace: namespace::Table::restore(head.namespaces),
            agent: agent::Table::restore(head.agents),
            message: message::Table::restore(head.messages),
            topic: topic::Table::restore(head.topics),
            stream: stream::Table::restore(head.streams),
            rule: rule::Table::restore(head.rules),
            reaction: reaction::Table::restore(head.reactions),
            workspace: workspace::Table::restore(head.retention, head.origin),
            receipts: Receipts::restore(head.receipts),
            keyed_waits: KeyedWaits::restore(&head.keyed_waits),
            lock: lock::Table::restore(head.locks),
            semaphore: semaphore::Table::restore(head.semaphores),
            barrier: barrier::Table::restore(head.barriers),
            task: task::Table::restore(head.tasks),
            join: join::Table::restore(head.joins),
            pipeline: pipeline::Table::restore(head.pipelines),
            checkpoint: checkpoint::Table::restore(head.checkpoints),
            artifact: artifact::Table::restore(head.artifacts),
            secret: secret::Table::restore(head.secrets),
            handoff: handoff::Table::restore(head.handoffs),
            #[cfg(feature = "planted")]
            token: if crate::planted::is("head.forgets_token") {
                Token::default()
            } else {
                head.token
            },
            #[cfg(not(feature = "planted"))]
            token: head.token,
            revision: head.revision,
            time: head.time,
            undo_log: Vec::new(),
            quota: None,
        }
    }
}
