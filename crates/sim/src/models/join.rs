//! Joins according to the log: what each waits for, and its outcome.
//!
//! Laws:
//!
//! 1. A join settles once, with the outcome of its tasks, in the batch that determines it.
//! 2. Waiting calls are answered in the same batch, and no call waits for a join that has settled.
//! 3. It expires only when its deadline has passed.

use std::collections::{BTreeMap, BTreeSet};

use baton_core::join::{
    Command as JoinCommand, Create, Event, Join, Need, Query, Rejection, Reply as JoinReply, Status,
};
use baton_core::task::Status as TaskStatus;
use baton_core::waiting::wait::Left;
use baton_core::{
    AgentId, Answer, Batch, Event as AnyEvent, GroupName, JoinId, Rejection as AnyRejection, Reply,
    TaskId, Timestamp,
};

use crate::auditor::answers::DecidedRequest;
use crate::auditor::explain::BatchReader;
use crate::auditor::ledger::Ledger;
use crate::auditor::timeline::Timeline;
use crate::auditor::{Audit, Breach, demand};
use crate::coverage::Coverage;
use crate::models::task::{Tasks, is_over};
use crate::models::wait::WaitEnd;

/// A join as it was.
#[derive(Clone, Debug)]
pub struct JoinModel {
    need: Need,
    group: Option<GroupName>,
    tasks: Vec<TaskId>,
    deadline: Option<Timestamp>,
    /// Its outcome, and the revision.
    settled: Option<(Status, u64)>,
    /// The waiting calls.
    queue: Vec<(u64, AgentId)>,
    /// The first final status of each member since the join was created; a retry does not change
    /// it.
    recorded: BTreeMap<TaskId, TaskStatus>,
}

/// All joins.
#[derive(Default)]
pub struct Joins {
    all: BTreeMap<JoinId, Timeline<JoinModel>>,
}

impl JoinModel {
    /// A new join records the members that have finished already.
    fn with_finished(mut self, tasks: &Tasks) -> Self {
        let members = self.members(tasks, u64::MAX).into_iter();
        let statuses = members.filter_map(|task| Some((tasks.status(&task)?, task)));
        let finished = statuses.filter(|(status, _)| is_over(*status));
        self.recorded = finished.map(|(status, task)| (task, status)).collect();
        self
    }

    /// Its tasks after a revision, in order.
    fn members(&self, tasks: &Tasks, at: u64) -> Vec<TaskId> {
        let Some(group) = &self.group else { return self.tasks.clone() };
        let upto = self.settled.map_or(at, |(_, settled)| at.min(settled));
        let members = tasks.all_at(upto).filter(|(_, work)| work.group.as_ref() == Some(group));
        let mut members: Vec<_> = members.map(|(id, work)| (work.number, id.clone())).collect();
        members.sort_unstable();
        members.into_iter().map(|(_, id)| id).collect()
    }

    /// Its outcome by its tasks after a revision; none if it is undetermined.
    fn verdict(&self, tasks: &Tasks, at: u64) -> Option<Status> {
        let members = self.members(tasks, at);
        let statuses: Vec<_> = members.iter().filter_map(|task| self.recorded.get(task)).collect();
        let over = statuses.len() as u64;
        let completed = statuses.iter().filter(|it| ***it == TaskStatus::Completed).count() as u64;
        let count = members.len() as u64;
        match self.need {
            Need::Every(_) => (count > 0 && over == count).then_some(Status::Satisfied),
            Need::Number(number) if completed >= number => Some(Status::Satisfied),
            Need::Number(number) => {
                let out_of_reach = count - (over - completed) < number && self.group.is_none();
                out_of_reach.then_some(Status::Failed)
            }
        }
    }
}

impl Joins {
    fn at(&self, join: &JoinId, at: u64) -> Option<&JoinModel> {
        self.all.get(join)?.at(at)
    }

    /// A task has finished: records its status in every join that has it as a member.
    pub(crate) fn record(&mut self, task: &TaskId, status: TaskStatus, tasks: &Tasks, at: u64) {
        for timeline in self.all.values_mut() {
            let Some(there) = timeline.now() else { continue };
            let is_member = there.members(tasks, u64::MAX).contains(task);
            if is_member && !there.recorded.contains_key(task) {
                let mut there = there.clone();
                there.recorded.insert(task.clone(), status);
                timeline.set(at, there);
            }
        }
    }

    fn now(&self) -> impl Iterator<Item = (&JoinId, &JoinModel)> {
        self.all.iter().filter_map(|(join, timeline)| Some((join, timeline.now()?)))
    }
}

impl Ledger {
    pub(crate) fn add_join(
        &mut self,
        batch: &Batch,
        event: &Event,
        ended: &BTreeSet<AgentId>,
        coverage: &mut Coverage,
    ) -> Audit {
        let name = event.join();
        let words = |breach: Breach| Breach(format!("join `{name}`: {}", breach.0));
        let before = self.joins.all.get(name).and_then(Timeline::now).cloned();
        let after = match (event, before) {
            (Event::Created { need, group, tasks, deadline, .. }, None) => JoinModel {
                need: *need,
                group: group.clone(),
                tasks: tasks.clone(),
                deadline: *deadline,
                settled: None,
                queue: Vec::new(),
                recorded: BTreeMap::new(),
            }
            .with_finished(&self.tasks),
            (Event::Created { .. }, Some(_)) | (_, None) => {
                return Err(words(Breach(format!("{event:?} cannot be"))));
            }
            (event, Some(before)) => {
                self.change_join(batch, before, event, ended, coverage).map_err(words)?
            }
        };
        self.joins.all.entry(name.clone()).or_default().set(batch.revision.0, after);
        self.joins_touched = true;
        Ok(())
    }

    fn change_join(
        &mut self,
        batch: &Batch,
        mut there: JoinModel,
        event: &Event,
        ended: &BTreeSet<AgentId>,
        coverage: &mut Coverage,
    ) -> Audit<JoinModel> {
        match event {
            Event::Settled { status, .. } => {
                demand!(there.settled.is_none(), "it settles again, it was {:?}", there.settled);
                let verdict = there.verdict(&self.tasks, u64::MAX);
                let late = there.deadline.is_some_and(|deadline| deadline <= batch.time);
                let expired = *status == Status::Expired
                    && late
                    && verdict.is_none()
                    && batch.agent == AgentId::engine();
                demand!(verdict == Some(*status) || expired, "{status:?} is not {verdict:?}");
                there.settled = Some((*status, batch.revision.0));
                coverage.met(match status {
                    Status::Satisfied => "join: opened",
                    Status::Failed => "join: failed",
                    Status::Expired | Status::Waiting => "join: expired",
                });
            }
            Event::Queued { waiter, wait, until, .. } => {
                demand!(there.settled.is_none(), "`{waiter}` waits for what has settled");
                self.waits.begin(batch, waiter, *wait, *until)?;
                there.queue.push((wait.0, waiter.clone()));
            }
            Event::Answered { waiter, wait, .. } => {
                demand!(there.settled.is_some(), "`{waiter}` is answered before it has settled");
                self.waits.notified(batch, *wait, waiter)?;
                there.queue.retain(|(there, _)| *there != wait.0);
            }
            Event::GaveUp { waiter, wait, left, .. } => {
                self.waits.left(batch, *wait, waiter, *left, ended)?;
                there.queue.retain(|(there, _)| *there != wait.0);
                coverage.left(*left);
            }
            Event::Created { .. } => {}
        }
        Ok(there)
    }

    /// A batch is complete: every join with a known outcome has settled, and its waiting calls are
    /// answered.
    pub(crate) fn check_joins(&mut self, revision: u64, ended: &BTreeSet<AgentId>) -> Audit {
        if !std::mem::take(&mut self.joins_touched) && ended.is_empty() {
            return Ok(());
        }
        for (name, there) in self.joins.now() {
            if there.settled.is_some() {
                demand!(
                    there.queue.is_empty(),
                    "join `{name}` has settled, {:?} wait",
                    there.queue
                );
                continue;
            }
            let verdict = there.verdict(&self.tasks, u64::MAX);
            demand!(verdict.is_none(), "join `{name}` should be {verdict:?}");
            let gone = |(wait, agent): &&(u64, AgentId)| *wait < revision && ended.contains(agent);
            let left = there.queue.iter().find(gone);
            demand!(left.is_none(), "a session ended, and {left:?} still waits for `{name}`");
        }
        Ok(())
    }

    /// A join whose deadline has passed by this time.
    pub(crate) fn overdue_join(&self, now: Timestamp) -> Option<&JoinId> {
        let over = |there: &JoinModel| there.deadline.is_some_and(|deadline| deadline <= now);
        let mut joins = self.joins.now();
        joins.find(|(_, there)| there.settled.is_none() && over(there)).map(|(name, _)| name)
    }

    /// Checks that a join is shown as it was.
    fn join_shown(&self, shown: &Join, at: u64) -> Audit {
        let Some(there) = self.joins.at(&shown.id, at) else {
            return Err(Breach(format!("{shown:?} is shown, it is not there")));
        };
        let status = there.settled.map_or(Status::Waiting, |(status, _)| status);
        let members = there.members(&self.tasks, at);
        let status_of = |task: &TaskId| {
            let recorded = there.recorded.get(task).copied();
            recorded.or_else(|| Some(self.tasks.at(task, at)?.status))
        };
        let mut pairs = members.iter().zip(&shown.members);
        let same = shown.status == status
            && shown.need == there.need
            && shown.group == there.group
            && shown.deadline == there.deadline
            && shown.members.len() == members.len()
            && pairs.all(|(task, part)| part.task == *task && Some(part.status) == status_of(task));
        demand!(same, "{shown:?} is shown, it is {there:?} of {members:?}");
        Ok(())
    }

    /// Checks an accepted join command without effect.
    pub(crate) fn join_no_effect(&self, command: &JoinCommand, reply: &Reply, at: u64) -> Audit {
        let (JoinCommand::Wait { join, wait_ms }, Reply::Join(JoinReply::Settled(shown))) =
            (command, reply)
        else {
            return Err(Breach(format!("{command:?} was answered with {reply:?}")));
        };
        let settled = self.joins.at(join, at).is_some_and(|there| there.settled.is_some());
        match shown {
            Some(shown) => {
                demand!(settled && shown.id == *join, "`{join}` has not settled");
                self.join_shown(shown, at)
            }
            None => {
                let waits = wait_ms.unwrap_or(0) > 0;
                demand!(!settled && !waits, "`{join}` has settled");
                Ok(())
            }
        }
    }

    /// Checks the answer to a join command with an effect.
    pub(crate) fn join_reply(&self, command: &JoinCommand, reply: &JoinReply, at: u64) -> Audit {
        match (command, reply) {
            (JoinCommand::Create(_), JoinReply::Join(shown)) => self.join_shown(shown, at),
            (command, reply) => Err(Breach(format!("{command:?} was answered with {reply:?}"))),
        }
    }

    /// Checks the answer to a query about joins.
    pub(crate) fn joins_shown(&self, query: &Query, reply: &JoinReply, at: u64) -> Audit {
        let (Query::Get { join }, JoinReply::Join(shown)) = (query, reply) else {
            return Err(Breach(format!("{query:?} was answered with {reply:?}")));
        };
        demand!(shown.id == *join, "another join is shown");
        self.join_shown(shown, at)
    }

    /// Whether a join existed.
    pub(crate) fn knows_join(&self, join: &JoinId, at: u64) -> bool {
        self.joins.at(join, at).is_some()
    }

    /// Checks the answer to a call that waited for a join.
    pub(crate) fn join_ended(
        &self,
        asked: &DecidedRequest<'_>,
        join: &JoinId,
        (revision, how): (u64, WaitEnd),
        outcome: &Result<Answer, AnyRejection>,
    ) -> Audit {
        let reply = outcome.as_ref().map(|answer| &answer.reply);
        match (how, reply) {
            (WaitEnd::Granted, Ok(Reply::Join(JoinReply::Settled(Some(shown))))) => {
                demand!(shown.id == *join, "another join is shown");
                demand!(shown.status != Status::Waiting, "the answer says that it waits");
                self.join_shown(shown, revision)
            }
            (WaitEnd::Left(Left::Timeout), Ok(Reply::Join(JoinReply::Settled(None)))) => Ok(()),
            (
                WaitEnd::Left(Left::SessionEnded),
                Err(AnyRejection::Join(Rejection::SessionEnded { join: named, agent })),
            ) => {
                demand!(
                    named == join && agent == asked.agent,
                    "the answer names the session of another agent"
                );
                Ok(())
            }
            (_, outcome) => Err(Breach(format!("the answer is {outcome:?}"))),
        }
    }

    /// Checks a refused join command.
    pub(crate) fn refused_join(&self, rejection: &Rejection, at: u64) -> Audit {
        match rejection {
            Rejection::NotFound { join } => {
                demand!(!self.knows_join(join, at), "`{join}` was there");
            }
            Rejection::Exists { join } => {
                demand!(self.knows_join(join, at), "`{join}` was not there");
            }
            Rejection::UnknownTask { task } => {
                demand!(self.tasks.at(task, at).is_none(), "`{task}` was there");
            }
            Rejection::BadMembers { .. } | Rejection::OutOfRange(_) => {}
            Rejection::TooMany(_) | Rejection::SessionEnded { .. } => {
                let code = rejection.code();
                return Err(Breach(format!("no request can cause `{code}`")));
            }
        }
        Ok(())
    }
}

impl BatchReader<'_> {
    /// The effects of a join command.
    pub(crate) fn join(&mut self, command: &JoinCommand) -> Audit {
        match command {
            JoinCommand::Create(create) => {
                self.create_join(create)?;
                self.follow_grants();
                Ok(())
            }
            JoinCommand::Wait { join, wait_ms } => {
                if let Some(AnyEvent::Join(Event::Queued { join: queued, until, .. })) = self.peek()
                {
                    let longest = wait_ms.map(|wait| self.batch.time.after(wait));
                    let fits = queued == join && longest == Some(*until);
                    demand!(fits, "it waits for `{queued}` until {until}");
                    self.skip();
                }
                Ok(())
            }
        }
    }

    fn create_join(&mut self, create: &Create) -> Audit {
        let AnyEvent::Join(Event::Created { join, need, group, tasks, deadline }) = self.take()?
        else {
            return Err(Breach("a join was to be created".to_owned()));
        };
        let fits = create.id.as_ref().is_none_or(|id| id == join)
            && create.need.unwrap_or_default() == *need
            && create.group == *group
            && create.tasks.clone().unwrap_or_default() == *tasks
            && create.deadline_ms.map(|after| self.batch.time.after(after)) == *deadline;
        demand!(fits, "another join was created");
        Ok(())
    }
}
