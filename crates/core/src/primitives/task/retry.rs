//! Retries of failed tasks: the rules, and their effect on a record.

use std::collections::{BTreeSet, VecDeque};

use super::decide::{decided, known};
use super::{Decided, Event, Record, Rejection, Retry, Status, Table, View, checks};
use crate::limits;
use crate::names::TaskId;
use crate::refusal::{has_room, text_fits};
use crate::space::batch::Moment;
use crate::space::stamp::Stamp;
use crate::time::Timestamp;

/// Decides to return a failed task to the queue, with the tasks that were cancelled because of it.
pub(super) fn retry(
    table: &Table,
    view: &impl View,
    command: Retry,
    stamp: &Stamp,
) -> Result<Decided, Rejection> {
    let Retry { task, reason, deadline_ms } = command;
    let record = known(table, &task)?;
    if record.status != Status::Failed {
        let (status, because) = (record.status, record.because().cloned());
        return Err(Rejection::NotFailed { task, status, because });
    }
    if let Some((pipeline, stage)) = view.stage_of(record) {
        return Err(Rejection::OfAStage { task, pipeline, stage });
    }
    if let Some((needs, status)) = table.doom_of(record) {
        return Err(Rejection::NeedsRetry { task, needs: needs.clone(), status });
    }
    text_fits("reason", reason.as_ref(), limits::NOTE_BYTES_MAX)?;
    checks::check_deadline(deadline_ms, 0)?;
    let restored = restored(table, view, record)?;
    let unfinished = table.len() - table.finished() + restored.len();
    has_room([("unfinished tasks", unfinished, limits::TASKS_MAX)])?;
    let deadline = deadline_ms.map(|deadline_ms| stamp.now.after(deadline_ms));
    let deadline = deadline.or_else(|| still_ahead(record, stamp.now));
    let mut events = vec![Event::Retried { task: task.clone(), because: None, deadline, reason }];
    events.extend(restored.iter().map(|record| Event::Retried {
        task: record.id.clone(),
        because: Some(task.clone()),
        deadline: still_ahead(record, stamp.now),
        reason: None,
    }));
    let is_due = record.not_before().is_none_or(|moment| moment <= stamp.now);
    if is_due && table.incomplete(record).next().is_none() {
        events.push(Event::Ready { task: task.clone() });
    }
    Ok(decided(task, events))
}

fn still_ahead(record: &Record, now: Timestamp) -> Option<Timestamp> {
    record.deadline().filter(|deadline| *deadline > now)
}

/// The tasks that were cancelled because of a task, and because of those, that nothing else keeps
/// from running once it is retried.
fn restored<'a>(
    table: &'a Table,
    view: &impl View,
    root: &'a Record,
) -> Result<Vec<&'a Record>, Rejection> {
    let mut restored: BTreeSet<&TaskId> = BTreeSet::new();
    let mut records = Vec::new();
    let mut open = VecDeque::from([root]);
    while let Some(cause) = open.pop_front() {
        let id = &cause.id;
        let parts = table.links().children(id).filter(|_| cause.status == Status::Cancelled);
        for record in table.links().dependents(id).chain(parts).filter_map(|it| table.get(it)) {
            let is_alive = |task: &TaskId| *task == root.id || restored.contains(task);
            let may_return = record.status == Status::Cancelled
                && record.because().is_some()
                && !restored.contains(&record.id)
                && view.stage_of(record).is_none()
                && table.dooms_of(record).all(|(task, _)| is_alive(task));
            #[cfg(feature = "planted")]
            let may_return = may_return && !crate::planted::is("task.retried_alone");
            if may_return {
                restored.insert(&record.id);
                records.push(record);
                open.push_back(record);
            }
        }
        if records.len() > limits::TASK_SUBTREE_MAX {
            let (task, max) = (root.id.clone(), limits::TASK_SUBTREE_MAX);
            return Err(Rejection::TooManyDependents { task, max });
        }
    }
    Ok(records)
}

impl Record {
    /// Cancels it, perhaps because another task has ended.
    pub(super) fn cancelled(
        &mut self,
        reason: Option<&String>,
        because: Option<&TaskId>,
        moment: &Moment<'_>,
    ) {
        let execution = self.execution_mut();
        execution.reason = reason.cloned();
        execution.because = because.cloned();
        self.turn(Status::Cancelled, false, moment);
    }

    /// Makes it pending as if it had never failed; the table determines when it is ready.
    pub(super) fn retried(
        &mut self,
        deadline: Option<Timestamp>,
        reason: Option<&String>,
        moment: &Moment<'_>,
    ) {
        self.retries = 0;
        self.taken_up();
        if deadline != self.deadline() {
            self.terms_mut().deadline = deadline;
        }
        let execution = self.execution_mut();
        execution.reason = reason.cloned();
        (execution.finished_at, execution.progress) = (None, None);
        (execution.worked_by, execution.because) = (None, None);
        self.turn(Status::Pending, false, moment);
    }

    /// The task whose end caused the cancellation.
    pub fn because(&self) -> Option<&TaskId> {
        self.execution.as_ref()?.because.as_ref()
    }

    /// Whether it is unfinished, or may become so: it was cancelled because of a task that may
    /// still be retried.
    pub fn may_run(&self) -> bool {
        !self.status.is_finished() || self.because().is_some()
    }
}
