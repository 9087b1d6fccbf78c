//! The next step of a pipeline, derived from its state.

use super::{Record, StageStatus, Status};
use crate::limits;
use crate::task;

/// A step that a pipeline takes without a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// This stage is ready: all stages before it are finished.
    Ready(usize),
    /// A task of this stage was claimed.
    Start(usize),
    /// Every task of this stage is completed.
    Complete(usize),
    /// A task of this stage failed or was cancelled.
    Fail(usize),
    /// Every stage is finished.
    End,
    /// A stage has failed, and no other stage is active.
    Stop,
}

impl Record {
    /// For every stage, whether its successors may start: it is completed, or it is skipped and the
    /// stages before it are finished. Skipping a stage does not let later stages start early.
    pub fn done(&self) -> Vec<bool> {
        let mut done = vec![false; self.stages.len()];
        for &stage in &self.plan.order {
            done[stage] = match self.stages[stage].status {
                StageStatus::Completed => true,
                StageStatus::Skipped => self.is_due(stage, &done),
                StageStatus::Pending
                | StageStatus::Ready
                | StageStatus::Running
                | StageStatus::WaitingReview
                | StageStatus::Failed => false,
            };
        }
        done
    }

    /// Whether all stages before a stage are finished.
    pub fn is_due(&self, stage: usize, done: &[bool]) -> bool {
        #[cfg(feature = "planted")]
        if crate::planted::is("pipeline.overtaken") {
            return self.plan.links[stage].first().is_none_or(|before| done[*before]);
        }
        self.plan.links[stage].iter().all(|before| done[*before])
    }

    /// The next step; none if the pipeline has to wait.
    pub fn next(&self) -> Option<Step> {
        if self.status.is_over() {
            return None;
        }
        let done = self.done();
        for &stage in &self.plan.order {
            let step = match self.stages[stage].status {
                StageStatus::Pending => {
                    let is_due = self.is_due(stage, &done) && self.has_room(stage);
                    is_due.then_some(Step::Ready(stage))
                }
                StageStatus::Ready | StageStatus::Running => self.verdict(stage),
                StageStatus::WaitingReview
                | StageStatus::Completed
                | StageStatus::Failed
                | StageStatus::Skipped => None,
            };
            if step.is_some() {
                return step;
            }
        }
        if done.iter().all(|done| *done) {
            return Some(Step::End);
        }
        let is_in = |status| self.stages.iter().any(|state| state.status == status);
        let is_busy = is_in(StageStatus::Running)
            || is_in(StageStatus::WaitingReview)
            || self.plan.automatic && is_in(StageStatus::Ready);
        let stops = self.status != Status::Failed && is_in(StageStatus::Failed) && !is_busy;
        stops.then_some(Step::Stop)
    }

    /// The step that follows from the tasks of a stage.
    pub fn verdict(&self, stage: usize) -> Option<Step> {
        let state = &self.stages[stage];
        if !self.plan.automatic || !state.is_active() {
            return None;
        }
        let is_begun = state.members.iter().any(|member| member.task_state.worker.is_some());
        if state.status == StageStatus::Ready && is_begun {
            return Some(Step::Start(stage));
        }
        let outcomes =
            || state.members.iter().filter_map(|member| member.task_state.outcome.as_ref());
        if outcomes().any(|outcome| outcome.status != task::Status::Completed) {
            return Some(Step::Fail(stage));
        }
        (outcomes().count() == state.members.len()).then_some(Step::Complete(stage))
    }

    /// Whether the tasks of another stage fit beside the open ones. A stage with one task per
    /// element counts as the maximum, because its elements are not counted yet.
    fn has_room(&self, stage: usize) -> bool {
        if !self.plan.automatic {
            return true;
        }
        let count = if self.plan.stages[stage].each { limits::STAGE_TASKS_MAX } else { 1 };
        self.open() + count <= limits::PIPELINE_TASKS_MAX
    }
}
