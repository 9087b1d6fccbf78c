//! The view that pipelines get of tasks.

use super::Space;
use super::tables::TasksView;
use crate::names::TaskId;
use crate::pipeline::{self, Design, Outcome, TaskState};
use crate::policy::work_of;
use crate::task::checks;
use crate::{limits, task};

impl pipeline::View for TasksView<'_> {
    fn task_state(&self, task: &TaskId) -> Option<TaskState> {
        let record = self.0.get(task)?;
        let worker = record.lease.as_ref().map(|lease| lease.holder.clone());
        let execution = record.execution.as_ref();
        let outcome = record.status.is_finished().then(|| Outcome {
            status: record.status,
            result: execution.and_then(|execution| execution.result.clone()),
            error: execution.and_then(|execution| execution.error.clone()),
            reason: execution.and_then(|execution| execution.reason.clone()),
            omitted: 0,
        });
        Some(TaskState { worker, outcome })
    }

    fn room(&self) -> usize {
        limits::TASKS_MAX.saturating_sub(self.0.len() - self.0.finished())
    }

    fn objection(&self, design: &Design) -> Option<String> {
        checks::check_create(&work_of(design)).err().map(|rejection| rejection.to_string())
    }
}

impl Space {
    /// Updates the stage that a task belongs to.
    pub(super) fn update_pipelines(&mut self, event: &task::Event) -> Option<pipeline::Undo> {
        if self.pipeline.is_idle() {
            return None;
        }
        self.pipeline.observe_task(event.task()?, &TasksView(&self.task))
    }

    /// Asserts that stages have their tasks and the outcomes of those.
    pub(super) fn check_stages(&self) {
        for (task, task_state) in self.pipeline.tasks() {
            let record = self.task.get(task);
            let has_ended = record.map(|record| record.status.is_finished());
            // A recorded outcome stays when the task is forgotten.
            let knows = task_state.outcome.is_some();
            assert!(has_ended.is_none_or(|ended| ended == knows), "a stage hears of its tasks");
            assert!(has_ended.is_some() || knows, "a stage has its tasks");
        }
    }
}
