//! The tables of a space: deciding, applying and undoing.

use std::collections::BTreeSet;

use super::reply_plan::ReplyPlan;
use super::{CommitBuilder, Happening, Space};
use crate::access::Viewer;
use crate::command::{Command, Query};
use crate::event::Event;
use crate::json::Json;
use crate::limits;
use crate::names::{
    AgentId, ArtifactId, GroupName, NamespaceName, PipelineName, StageName, TaskId,
};
use crate::namespace::rules::Rules as NamespaceRules;
use crate::numbers::Token;
use crate::primitive::{self, Forgotten, Rules, Table};
use crate::rejection::Rejection;
use crate::reply::Reply;
use crate::signal::Signal;
use crate::space::batch::Moment;
use crate::space::stamp::Stamp;
use crate::spending::{Payer, UsedUp};
use crate::state::View;
use crate::wait::{Present, Target};
use crate::{agent, checkpoint, context, join, namespace, pipeline, primitives, spend, task};

macro_rules! tables {
    ($($(#[$doc:meta])* $module:ident: $variant:ident = $wire:literal $(, $facts:ident)?;)*) => {
        /// How to undo one change.
        pub(super) enum Undo {
            $($variant(<crate::$module::Table as Table>::Undo),)*
        }

        impl Space {
            /// Makes the changes of a commit final: discards their undo data.
            pub(super) fn discard_undo(&mut self) {
                for undo in self.undo_log.drain(..) {
                    match undo {
                        $(Undo::$variant(undo) => self.$module.discard_undo(undo),)*
                    }
                }
            }

            /// Undoes one change. Changes must be undone in reverse order.
            pub(super) fn undo(&mut self, undo: Undo) {
                match undo {
                    $(Undo::$variant(undo) => self.$module.undo(undo),)*
                }
            }

            #[inline]
            pub(super) fn decide(
                &self,
                command: Command,
                stamp: &Stamp,
                commit: &mut CommitBuilder,
            ) -> Result<ReplyPlan, Rejection> {
                let CommitBuilder { events, live, effort, .. } = commit;
                let happening = &mut Happening { events, live, effort };
                match command {
                    $(Command::$variant(command) => {
                        let rules = <crate::$module::Table as Rules>::decide;
                        Ok(rules(self, command, stamp, happening)?)
                    })*
                }
            }

            /// Handles a signal. If it is refused, the events that it has added must be discarded.
            pub(super) fn handle(
                &self,
                signal: Signal,
                stamp: &Stamp,
                commit: &mut CommitBuilder,
            ) -> Result<(), Rejection> {
                match signal {
                    $(Signal::$variant(signal) => {
                        let events = handled::<crate::$module::Table>(self, signal, stamp)?;
                        commit.events.extend(events.into_iter().map(Event::from));
                    })*
                }
                Ok(())
            }

            /// Applies an event to the table of its primitive; none if it has no table.
            fn evolve_table(&mut self, event: &Event, moment: &Moment<'_>) -> Option<Undo> {
                match event {
                    $(Event::$variant(event) => {
                        Some(Undo::$variant(self.$module.evolve(event, moment)))
                    })*
                    // Applied last, when nothing can be refused any more.
                    Event::Receipt(_) | Event::Awaited(_) => None,
                }
            }

            /// The answer to the waiting call that this event ends.
            pub(super) fn ending(&self, event: &Event) -> Result<Reply, Rejection> {
                match event {
                    $(Event::$variant(event) => {
                        Ok(<crate::$module::Table as Rules>::ending(self, event)?.into())
                    })*
                    Event::Receipt(_) | Event::Awaited(_) => unreachable!("no call waits for this"),
                }
            }

            /// Answers a query about the present, for an agent; none if it is about the past.
            pub fn ask(
                &self,
                query: &Query,
                viewer: Viewer<'_>,
            ) -> Option<Result<Reply, Rejection>> {
                let mut reply = self.query(query);
                if let Some(Ok(reply)) = &mut reply {
                    reply.hide_tokens(viewer);
                }
                reply
            }

            /// Answers a query about the present, with all tokens; none if it is about the past.
            pub fn query(&self, query: &Query) -> Option<Result<Reply, Rejection>> {
                Some(match query {
                    $(Query::$variant(query) => {
                        reply_of(<crate::$module::Table as Rules>::query(self, query)?)
                    })*
                    Query::Context(context::Query::Build(asked)) => {
                        let built = context::build(self, asked).map(context::Reply::Context);
                        built.map(Reply::Context).map_err(Into::into)
                    }
                    Query::At(..) => return None,
                })
            }

            /// Forgets records that have ended and exceed a limit.
            pub(super) fn trim(&mut self) -> Vec<Forgotten> {
                let mut forgotten = Vec::new();
                $(forgotten.append(&mut self.$module.trim());)*
                forgotten
            }

            /// Asserts the invariants of each table.
            pub(super) fn check_tables(&self) {
                $(self.$module.check();)*
            }

            /// The agent whose lease, hold, permit or session has this token; none if it has
            /// ended.
            pub fn holder_of(&self, token: Token) -> Option<&AgentId> {
                None$(.or_else(|| self.$module.holder_of(token)))*
            }
        }
    };
}
primitives!(tables);

/// The events that a signal causes in one primitive.
fn handled<T: Rules>(
    space: &Space,
    signal: primitive::Signal<T::Signal>,
    stamp: &Stamp,
) -> Result<Vec<T::Event>, T::Rejection> {
    match signal {
        primitive::Signal::Expire => Ok(T::expire(space, stamp)),
        primitive::Signal::GiveUp(wait) => Ok(T::give_up(space, wait)),
        primitive::Signal::LetGo(agent) => Ok(T::let_go(space, &agent, stamp)),
        primitive::Signal::Own(signal) => T::handle(space, signal, stamp),
    }
}

/// The reply of one primitive, as the sum type.
fn reply_of<R: Into<Reply>, E: Into<Rejection>>(reply: Result<R, E>) -> Result<Reply, Rejection> {
    reply.map(Into::into).map_err(Into::into)
}

/// The view of namespaces and agents that shared state, tasks and messages get.
pub(crate) struct TablesView<'a> {
    namespace: &'a namespace::Table,
    pub(super) agent: &'a agent::Table,
    pub(super) pipeline: &'a pipeline::Table,
    spend: &'a spend::Table,
}

impl<'a> TablesView<'a> {
    pub(crate) fn of(space: &'a Space) -> Self {
        let Space { namespace, agent, pipeline, spend, .. } = space;
        Self { namespace, agent, pipeline, spend }
    }
}

impl View for TablesView<'_> {
    fn rules(&self, namespace: &NamespaceName) -> Option<&NamespaceRules> {
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
        self.agent.has_capable(capabilities)
    }

    fn were_capable(&self, capabilities: &BTreeSet<String>) -> Vec<AgentId> {
        let ended = self.agent.after(None).filter(|agent| {
            agent.status != agent::Status::Active && agent.capabilities.is_superset(capabilities)
        });
        ended.map(|agent| agent.id.clone()).take(limits::PAGE_DEFAULT).collect()
    }

    fn stage_of(&self, task: &task::Record) -> Option<(PipelineName, StageName)> {
        let pipeline = task.group()?.pipeline()?;
        let stage = self.pipeline.stage_with(&pipeline, &task.id)?.clone();
        Some((pipeline, stage))
    }

    fn has_used_up_tasks(&self) -> bool {
        self.spend.has_used_up_tasks()
    }

    fn used_up_task(&self, task: &TaskId) -> Option<UsedUp> {
        let is_used_up = self.spend.is_used_up(task);
        is_used_up.then(|| self.spend.used_up(&Payer::Task(task.clone()))).flatten()
    }

    fn used_up_agent(&self, agent: &AgentId) -> Option<UsedUp> {
        let own = || self.spend.used_up(&Payer::Agent(agent.clone()));
        self.spend.used_up(&Payer::Workspace).or_else(own)
    }
}

/// The view of tasks that joins and pipelines get.
pub(crate) struct TasksView<'a>(pub(crate) &'a task::Table);

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

impl spend::View for TasksView<'_> {
    fn lineage(&self, task: &TaskId) -> Option<Vec<TaskId>> {
        self.0.get(task)?;
        Some(self.0.lineage(task).cloned().collect())
    }
}

/// The other tables, as far as checkpoints read them.
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
    /// Whether this token still permits writes.
    pub fn is_live(&self, token: Token) -> bool {
        self.holder_of(token).is_some()
    }

    /// Undoes everything since the last commit.
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

    /// Applies an event. Keeps its undo data if it may be needed, or if the table has something to
    /// finalize.
    #[inline]
    pub(super) fn evolve(&mut self, event: &Event, moment: &Moment<'_>, needs_undo: bool) {
        self.change(event, moment, needs_undo);
        if !self.artifact.is_idle() {
            self.update_artifact_refs(event, moment);
        }
    }

    /// Applies an event to its own table.
    #[inline]
    fn change(&mut self, event: &Event, moment: &Moment<'_>, needs_undo: bool) {
        if let Some(token) = event.token() {
            self.token = self.token.max(token);
        }
        match event {
            // Most commits are one write that is never undone.
            Event::State(event) if !needs_undo => {
                self.state.apply(event, moment);
                return;
            }
            Event::Namespace(namespace::Event::Deleted { name }) => {
                let gone = self.state.forget(name, moment.revision);
                self.undo_log.extend(gone.map(Undo::State));
            }
            Event::UserEvent(_) => return,
            _ => {}
        }
        let undo = self.evolve_table(event, moment);
        self.undo_log.extend(undo);
        match event {
            Event::Task(event) => {
                let undo = self.tell_joins(event);
                self.undo_log.extend(undo.map(Undo::Join));
                if let task::Event::Created(created) = event
                    && let Some(budget) = created.budget
                {
                    let undo = self.spend.open(&created.task, budget);
                    self.undo_log.push(Undo::Spend(undo));
                }
                let undo = self.update_pipelines(event);
                self.undo_log.extend(undo.map(Undo::Pipeline));
                if let Some(task) = event.task().filter(|_| !self.wait.is_idle()) {
                    let status = self.task.get(task).map(|record| record.status);
                    let undo = self.wait.note(&Target::Task(task.clone()), Present::Task(status));
                    self.undo_log.extend(undo.map(Undo::Wait));
                }
            }
            Event::Handoff(event) => {
                if let Some(id) = event.handoff().filter(|_| !self.wait.is_idle()) {
                    let status = self.handoff.get(id).map(|it| it.status);
                    let undo =
                        self.wait.note(&Target::Handoff(id.clone()), Present::Handoff(status));
                    self.undo_log.extend(undo.map(Undo::Wait));
                }
            }
            Event::Join(join::Event::Created { join, tasks, .. }) => {
                self.join.add_members(join, tasks, &TasksView(&self.task));
            }
            _ => {}
        }
    }

    /// Updates the joins that a task belongs to.
    fn tell_joins(&mut self, event: &task::Event) -> Option<join::Undo> {
        if self.join.is_idle() {
            return None;
        }
        let record = self.task.get(event.task()?)?;
        if record.status.is_finished() {
            return self.join.finish(&record.id, &TasksView(&self.task));
        }
        let task::Event::Created(created) = event else { return None };
        self.join.grow(created.group.as_ref()?, &created.task)
    }
}
