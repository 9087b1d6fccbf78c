//! What follows from how a pipeline is.

use super::{Record, StageStatus, Status};
use crate::limits;
use crate::task;

/// What must happen to a pipeline by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// This stage can be started: all that it comes after is done.
    Ready(usize),
    /// Somebody works on a task of this stage.
    Start(usize),
    /// Every task of this stage is completed.
    Complete(usize),
    /// A task of this stage has ended otherwise.
    Fail(usize),
    /// Every stage is done.
    End,
    /// A stage has failed, and nothing is under way beside it.
    Stop,
}

impl Record {
    /// For every stage, whether what comes after it may begin: it is completed, or left out and all
    /// that it comes after is done. Leaving out a stage does not let others overtake.
    pub fn done(&self) -> Vec<bool> {
        let mut done = vec![false; self.stages.len()];
        for &stage in &self.plan.order {
            done[stage] = match self.stages[stage].status {
                StageStatus::Completed => true,
                StageStatus::Skipped => self.is_due(stage, &done),
                StageStatus::Pending
                | StageStatus::Ready
                | StageStatus::Running
                | StageStatus::Failed => false,
            };
        }
        done
    }

    /// Whether all that a stage comes after is done.
    pub fn is_due(&self, stage: usize, done: &[bool]) -> bool {
        #[cfg(feature = "planted")]
        if crate::planted::is("pipeline.overtaken") {
            return self.plan.links[stage].first().is_none_or(|before| done[*before]);
        }
        self.plan.links[stage].iter().all(|before| done[*before])
    }

    /// The next thing that must happen by itself; none if nothing must.
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
                StageStatus::Completed | StageStatus::Failed | StageStatus::Skipped => None,
            };
            if step.is_some() {
                return step;
            }
        }
        if done.iter().all(|done| *done) {
            return Some(Step::End);
        }
        let is_in = |status| self.stages.iter().any(|state| state.status == status);
        let is_busy =
            is_in(StageStatus::Running) || self.plan.automatic && is_in(StageStatus::Ready);
        let stops = self.status != Status::Failed && is_in(StageStatus::Failed) && !is_busy;
        stops.then_some(Step::Stop)
    }

    /// What the tasks of a stage say about it.
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

    /// Whether the tasks of one more stage may be under way beside the others. A stage whose tasks
    /// are not counted yet counts as large as it may be.
    fn has_room(&self, stage: usize) -> bool {
        if !self.plan.automatic {
            return true;
        }
        let count = if self.plan.stages[stage].each { limits::STAGE_TASKS_MAX } else { 1 };
        self.open() + count <= limits::PIPELINE_TASKS_MAX
    }
}
