//! The tables of a space: who decides what, who applies what, and how it is taken back.

use std::collections::BTreeSet;

use super::reply_plan::ReplyPlan;
use super::{CommitBuilder, Space};
use crate::command::Command;
use crate::event::Event;
use crate::json::Json;
use crate::limits;
use crate::names::{AgentId, ArtifactId, GroupName, NamespaceName, TaskId};
use crate::namespace::rules::Rules;
use crate::numbers::Token;
use crate::rejection::Rejection;
use crate::reply::Reply;
use crate::space::batch::Moment;
use crate::space::stamp::Stamp;
use crate::state::View;
use crate::{
    agent, artifact, barrier, checkpoint, handoff, join, lock, message, namespace, pipeline,
    reaction, rule, secret, semaphore, state, stream, task, topic, user_event, workspace,
};

/// How to take back one change.
pub(super) enum Undo {
    State(state::Undo),
    Namespace(namespace::Undo),
    Agent(agent::Undo),
    Message(message::Undo),
    Topic(topic::Undo),
    Stream(stream::Undo),
    Rule(rule::Undo),
    Reaction(reaction::Undo),
    Lock(lock::Undo),
    Semaphore(semaphore::Undo),
    Barrier(barrier::Undo),
    Join(join::Undo),
    Checkpoint(checkpoint::Undo),
    Artifact(artifact::Undo),
    Secret(secret::Undo),
    Handoff(handoff::Undo),
    Task(task::Undo),
    Pipeline(pipeline::Undo),
    Workspace(workspace::Undo),
}

/// The view of namespaces and agents that shared state, tasks and messages get.
pub(super) struct TablesView<'a> {
    pub(super) namespace: &'a namespace::Table,
    pub(super) agent: &'a agent::Table,
}

impl View for TablesView<'_> {
    fn rules(&self, namespace: &NamespaceName) -> Option<&Rules> {
        self.namespace.get(namespace).map(|namespace| &namespace.rules)
    }

    fn has_session(&self, agent: &AgentId) -> bool {
        self.agent.is_active(agent)
    }
}

impl task::View for TablesView<'_> {
    fn capabilities_of(&self, agent: &AgentId) -> Option<&BTreeSet<String>> {
        let agent = self.agent.get(agent)?;
        (agent.status == agent::Status::Active).then_some(&agent.capabilities)
    }

    fn has_capable(&self, capabilities: &BTreeSet<String>) -> bool {
        self.agent.after(None).any(|agent| {
            agent.status == agent::Status::Active && agent.capabilities.is_superset(capabilities)
        })
    }

    fn were_capable(&self, capabilities: &BTreeSet<String>) -> Vec<AgentId> {
        let ended = self.agent.after(None).filter(|agent| {
            agent.status != agent::Status::Active && agent.capabilities.is_superset(capabilities)
        });
        ended.map(|agent| agent.id.clone()).take(limits::PAGE_DEFAULT).collect()
    }
}

/// The view of tasks that joins and pipelines get.
pub(super) struct TasksView<'a>(pub(super) &'a task::Table);

impl join::View for TasksView<'_> {
    fn status(&self, task: &TaskId) -> Option<task::Status> {
        self.0.get(task).map(|record| record.status)
    }

    fn outcome(&self, task: &TaskId) -> Option<join::Outcome> {
        let record = self.0.get(task).filter(|record| record.status.is_finished())?;
        let execution = record.execution.as_ref();
        Some(join::Outcome {
            status: record.status,
            result: execution.and_then(|execution| execution.result.clone()),
            error: execution.and_then(|execution| execution.error.clone()),
            omitted: false,
        })
    }

    fn group(&self, group: &GroupName) -> Vec<TaskId> {
        let tasks = self.0.group(group).take(limits::JOIN_MEMBERS_MAX + 1);
        let mut tasks: Vec<_> = tasks.map(|record| (record.number, &record.id)).collect();
        tasks.sort_unstable();
        tasks.into_iter().map(|(_, task)| task.clone()).collect()
    }
}

/// What checkpoints may know of the other tables.
impl checkpoint::View for Space {
    fn work(&self, task: &TaskId) -> checkpoint::Work<'_> {
        match self.task.get(task).map(|record| record.lease.as_deref()) {
            Some(Some(lease)) => checkpoint::Work::Leased(lease),
            Some(None) => checkpoint::Work::Free,
            None => checkpoint::Work::Unknown,
        }
    }

    fn is_live(&self, token: Token) -> bool {
        self.is_live(token)
    }

    fn named<'a>(&self, values: impl Iterator<Item = &'a Json>) -> Vec<ArtifactId> {
        self.named_in(values)
    }
}

impl Space {
    /// The changes of a commit stand: lets go of what taking them back would have needed.
    pub(super) fn discard_undo(&mut self) {
        for undo in self.undo_log.drain(..) {
            match undo {
                Undo::State(undo) => self.state.discard_undo(undo),
                Undo::Namespace(_)
                | Undo::Agent(_)
                | Undo::Message(_)
                | Undo::Topic(_)
                | Undo::Stream(_)
                | Undo::Rule(_)
                | Undo::Reaction(_)
                | Undo::Lock(_)
                | Undo::Semaphore(_)
                | Undo::Barrier(_)
                | Undo::Join(_)
                | Undo::Checkpoint(_)
                | Undo::Artifact(_)
                | Undo::Secret(_)
                | Undo::Handoff(_)
                | Undo::Task(_)
                | Undo::Pipeline(_)
                | Undo::Workspace(_) => {}
            }
        }
    }

    /// Takes back everything since the last commit.
    pub(super) fn roll_back(&mut self, last_token: Token) {
        #[cfg(feature = "planted")]
        if crate::planted::is("space.forget_undo") {
            self.undo_log.clear();
        }
        self.token = last_token;
        while let Some(undo) = self.undo_log.pop() {
            self.undo(undo);
        }
    }

    /// Takes back one change; the latest must be taken back first.
    pub(super) fn undo(&mut self, undo: Undo) {
        match undo {
            Undo::State(undo) => self.state.undo(undo),
            Undo::Namespace(undo) => self.namespace.undo(undo),
            Undo::Agent(undo) => self.agent.undo(undo),
            Undo::Message(undo) => self.message.undo(undo),
            Undo::Topic(undo) => self.topic.undo(undo),
            Undo::Stream(undo) => self.stream.undo(undo),
            Undo::Rule(undo) => self.rule.undo(undo),
            Undo::Reaction(undo) => self.reaction.undo(undo),
            Undo::Lock(undo) => self.lock.undo(undo),
            Undo::Semaphore(undo) => self.semaphore.undo(undo),
            Undo::Barrier(undo) => self.barrier.undo(undo),
            Undo::Join(undo) => self.join.undo(undo),
            Undo::Checkpoint(undo) => self.checkpoint.undo(undo),
            Undo::Artifact(undo) => self.artifact.undo(undo),
            Undo::Secret(undo) => self.secret.undo(undo),
            Undo::Handoff(undo) => self.handoff.undo(undo),
            Undo::Task(undo) => self.task.undo(undo),
            Undo::Pipeline(undo) => self.pipeline.undo(undo),
            Undo::Workspace(undo) => self.workspace.undo(undo),
        }
    }

    #[inline]
    pub(super) fn decide(
        &self,
        command: Command,
        stamp: &Stamp,
        commit: &mut CommitBuilder,
    ) -> Result<ReplyPlan, Rejection> {
        let CommitBuilder { events, live, .. } = commit;
        match command {
            Command::State(command) => self.decide_state(command, stamp, events),
            Command::Namespace(command) => self.decide_namespace(command, events),
            Command::Agent(command) => {
                let decided = agent::decide(&self.agent, command, stamp)?;
                events.extend(decided.events.into_iter().map(Event::Agent));
                let done = ReplyPlan::Reply(Reply::Agent(agent::Reply::Done));
                Ok(decided.agent.map_or(done, ReplyPlan::Agent))
            }
            Command::Message(command) => self.decide_message(command, stamp, events),
            Command::Topic(command) => Self::decide_topic(command, events, live),
            Command::Stream(command) => self.decide_stream(command, stamp, events, live),
            Command::Rule(command) => self.decide_rule(command, events),
            Command::UserEvent(user_event::Command::Emit(emit)) => {
                let (event, reply) = user_event::emit(emit)?;
                events.push(Event::UserEvent(event));
                Ok(ReplyPlan::Reply(Reply::UserEvent(reply)))
            }
            Command::Reaction(command) => self.decide_reaction(command, stamp, events),
            Command::Lock(command) => {
                let decided = lock::decide(&self.lock, command, stamp)?;
                events.extend(decided.events.into_iter().map(Event::Lock));
                Ok(decided.plan.into())
            }
            Command::Semaphore(command) => {
                let decided = semaphore::decide(&self.semaphore, command, stamp)?;
                events.extend(decided.events.into_iter().map(Event::Semaphore));
                Ok(decided.plan.into())
            }
            Command::Barrier(command) => {
                let decided = barrier::decide(&self.barrier, command, stamp)?;
                events.extend(decided.events.into_iter().map(Event::Barrier));
                Ok(decided.plan.into())
            }
            Command::Task(command) => {
                let view = TablesView { namespace: &self.namespace, agent: &self.agent };
                let decided = task::decide(&self.task, &view, command, stamp)?;
                events.extend(decided.events.into_iter().map(Event::Task));
                Ok(decided.plan.into())
            }
            Command::Join(command) => {
                let decided = join::decide(&self.join, &TasksView(&self.task), command, stamp)?;
                events.extend(decided.events.into_iter().map(Event::Join));
                Ok(decided.plan.into())
            }
            Command::Pipeline(command) => self.decide_pipeline(command, stamp, events),
            Command::Checkpoint(command) => {
                let decided = checkpoint::decide(&self.checkpoint, self, command, stamp)?;
                events.extend(decided.events.into_iter().map(Event::Checkpoint));
                Ok(ReplyPlan::Checkpoint(decided.plan))
            }
            Command::Artifact(command) => self.decide_artifact(command, stamp, events),
            Command::Secret(command) => self.decide_secret(command, stamp, events),
            Command::Handoff(command) => self.decide_handoff(command, stamp, events),
            Command::Workspace(command) => {
                let decided = workspace::decide(&self.workspace, &command)?;
                events.extend(decided.into_iter().map(Event::Workspace));
                Ok(ReplyPlan::Workspace)
            }
        }
    }

    fn decide_artifact(
        &self,
        command: artifact::Command,
        stamp: &Stamp,
        events: &mut Vec<Event>,
    ) -> Result<ReplyPlan, Rejection> {
        let decided = artifact::decide(&self.artifact, command, stamp)?;
        events.extend(decided.events.into_iter().map(Event::Artifact));
        Ok(ReplyPlan::Artifact(decided.plan))
    }

    fn decide_secret(
        &self,
        command: secret::Command,
        stamp: &Stamp,
        events: &mut Vec<Event>,
    ) -> Result<ReplyPlan, Rejection> {
        let decided = secret::decide(&self.secret, command, stamp)?;
        events.extend(decided.events.into_iter().map(Event::Secret));
        Ok(ReplyPlan::Secret(decided.plan))
    }
    fn decide_namespace(
        &self,
        command: namespace::Command,
        events: &mut Vec<Event>,
    ) -> Result<ReplyPlan, Rejection> {
        let name = command.name().clone();
        let decided = namespace::decide(&self.namespace, command)?;
        events.extend(decided.events.into_iter().map(Event::Namespace));
        Ok(match decided.reply {
            Some(reply) => ReplyPlan::Reply(Reply::Namespace(reply)),
            None => ReplyPlan::Namespace(name),
        })
    }

    fn decide_reaction(
        &self,
        command: reaction::Command,
        stamp: &Stamp,
        events: &mut Vec<Event>,
    ) -> Result<ReplyPlan, Rejection> {
        let decided = reaction::decide(&self.reaction, command, stamp)?;
        events.extend(decided.events.into_iter().map(Event::Reaction));
        Ok(decided.plan.into())
    }

    fn decide_rule(
        &self,
        command: rule::Command,
        events: &mut Vec<Event>,
    ) -> Result<ReplyPlan, Rejection> {
        let name = command.name().clone();
        let decided = rule::decide(&self.rule, command)?;
        events.extend(decided.events.into_iter().map(Event::Rule));
        let gone = decided.reply.map(|reply| ReplyPlan::Reply(Reply::Rule(reply)));
        Ok(gone.unwrap_or(ReplyPlan::Rule(name)))
    }

    #[inline]
    fn decide_state(
        &self,
        command: state::Command,
        stamp: &Stamp,
        events: &mut Vec<Event>,
    ) -> Result<ReplyPlan, Rejection> {
        let view = TablesView { namespace: &self.namespace, agent: &self.agent };
        let first = events.len();
        let happen = &mut |event| events.push(Event::State(event));
        match state::decide(&self.state, &view, command, stamp, happen)? {
            state::Answer::Written(warnings) => Ok(ReplyPlan::Written { event: first, warnings }),
            state::Answer::Reply(reply) => Ok(ReplyPlan::Reply(Reply::State(reply))),
        }
    }

    /// Applies a fact, and notes how to take it back: always if that may be necessary, else only if
    /// there is something to settle.
    #[inline]
    pub(super) fn evolve(&mut self, event: &Event, moment: &Moment<'_>, needs_undo: bool) {
        self.change(event, moment, needs_undo);
        if !self.artifact.is_idle() {
            self.update_artifact_refs(event, moment);
        }
    }

    /// Applies a fact to its own table.
    #[inline]
    fn change(&mut self, event: &Event, moment: &Moment<'_>, needs_undo: bool) {
        if let Some(token) = event.token() {
            self.token = self.token.max(token);
        }
        let undo = match event {
            Event::State(event) => {
                let before = self.state.evolve(event, moment);
                if !needs_undo {
                    return;
                }
                Undo::State(before.undo(event))
            }
            Event::Namespace(event) => {
                if let namespace::Event::Deleted { name } = event {
                    let gone = self.state.forget(name, moment.revision);
                    self.undo_log.extend(gone.map(Undo::State));
                }
                Undo::Namespace(self.namespace.evolve(event, moment))
            }
            Event::Agent(event) => Undo::Agent(self.agent.evolve(event, moment)),
            Event::Message(event) => Undo::Message(self.message.evolve(event, moment)),
            Event::Topic(event) => Undo::Topic(self.topic.evolve(event, moment)),
            Event::Stream(event) => Undo::Stream(self.stream.evolve(event, moment)),
            Event::Rule(event) => Undo::Rule(self.rule.evolve(event, moment)),
            Event::Reaction(event) => Undo::Reaction(self.reaction.evolve(event, moment)),
            Event::Lock(event) => Undo::Lock(self.lock.evolve(event, moment)),
            Event::Semaphore(event) => Undo::Semaphore(self.semaphore.evolve(event, moment)),
            Event::Task(event) => {
                self.undo_log.push(Undo::Task(self.task.evolve(event, moment)));
                let undo = self.tell_joins(event);
                self.undo_log.extend(undo.map(Undo::Join));
                let undo = self.update_pipelines(event);
                self.undo_log.extend(undo.map(Undo::Pipeline));
                return;
            }
            Event::Join(event) => {
                Undo::Join(self.join.evolve(event, moment, &TasksView(&self.task)))
            }
            Event::Checkpoint(event) => Undo::Checkpoint(self.checkpoint.evolve(event, moment)),
            Event::Artifact(event) => Undo::Artifact(self.artifact.evolve(event, moment)),
            Event::Secret(event) => Undo::Secret(self.secret.evolve(event, moment)),
            Event::Barrier(event) => Undo::Barrier(self.barrier.evolve(event, moment)),
            Event::Pipeline(event) => Undo::Pipeline(self.pipeline.evolve(event, moment)),
            Event::Handoff(event) => Undo::Handoff(self.handoff.evolve(event, moment)),
            Event::Workspace(event) => Undo::Workspace(self.workspace.evolve(event)),
            // What was said changes nothing; receipts are remembered last, when nothing can be
            // refused any more.
            Event::UserEvent(_) | Event::Receipt(_) | Event::Awaited(_) => return,
        };
        self.undo_log.push(undo);
    }

    /// What happens to a task concerns the joins it is in.
    fn tell_joins(&mut self, event: &task::Event) -> Option<join::Undo> {
        if self.join.is_idle() {
            return None;
        }
        let record = self.task.get(event.task()?)?;
        if record.status.is_finished() {
            return self.join.finish(&record.id, &TasksView(&self.task));
        }
        match event {
            task::Event::Created(created) => self.join.grow(created.group.as_ref()?, &created.task),
            task::Event::Claimed { .. }
            | task::Event::Queued { .. }
            | task::Event::GaveUp { .. }
            | task::Event::Renewed { .. }
            | task::Event::Progressed { .. }
            | task::Event::Updated { .. }
            | task::Event::Released { .. }
            | task::Event::Ready { .. }
            | task::Event::Offered { .. }
            | task::Event::TakenBack { .. }
            | task::Event::HandedOver { .. }
            | task::Event::HandedOff { .. }
            | task::Event::Completed { .. }
            | task::Event::Failed { .. }
            | task::Event::Cancelled { .. }
            | task::Event::Reviewed { .. } => None,
        }
    }

    /// What to tell a caller whose wait this event has ended.
    pub(super) fn ending(&self, event: &Event) -> Result<Reply, Rejection> {
        match event {
            Event::Message(event) => Ok(Reply::Message(message::ending(&self.message, event)?)),
            Event::Stream(event) => Ok(Reply::Stream(stream::ending(&self.stream, event)?)),
            Event::Lock(event) => Ok(Reply::Lock(lock::ending(&self.lock, event)?)),
            Event::Task(event) => Ok(Reply::Task(task::ending(&self.task, event)?)),
            Event::Semaphore(event) => {
                Ok(Reply::Semaphore(semaphore::ending(&self.semaphore, event)?))
            }
            Event::Barrier(event) => Ok(Reply::Barrier(barrier::ending(&self.barrier, event)?)),
            Event::Join(event) => {
                Ok(Reply::Join(join::ending(&self.join, &TasksView(&self.task), event)?))
            }
            Event::Handoff(event) => Ok(Reply::Handoff(handoff::ending(&self.handoff, event)?)),
            Event::State(_)
            | Event::Namespace(_)
            | Event::Agent(_)
            | Event::Topic(_)
            | Event::Rule(_)
            | Event::UserEvent(_)
            | Event::Reaction(_)
            | Event::Pipeline(_)
            | Event::Checkpoint(_)
            | Event::Artifact(_)
            | Event::Secret(_)
            | Event::Workspace(_)
            | Event::Receipt(_)
            | Event::Awaited(_) => unreachable!("nobody waits for this"),
        }
    }

    /// Whether whoever has this token may still act under it.
    pub fn is_live(&self, token: Token) -> bool {
        self.lock.holds(token)
            || self.semaphore.holds(token)
            || self.task.holds(token)
            || self.agent.holds(token)
    }
}
