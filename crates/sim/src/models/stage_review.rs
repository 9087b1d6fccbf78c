//! The review of the stages of manual pipelines, which the laws of pipelines include.

use baton_core::pipeline::{Event, Rejection, StageStatus};
use baton_core::task::{Reviewers, Status as TaskStatus, Verdict};
use baton_core::{AgentId, Batch, Event as AnyEvent, Json, TaskId};

use crate::auditor::explain::BatchReader;
use crate::auditor::ledger::Ledger;
use crate::auditor::{Audit, Breach, demand};
use crate::coverage::Coverage;
use crate::models::pipeline::{PipelineModel, StageModel};
use crate::models::task::Tasks;

impl StageModel {
    /// Whether its output must be accepted, by the agents that its definition names if any.
    pub(crate) fn is_reviewed(&self) -> bool {
        self.design.review || self.design.reviewers.is_some()
    }

    /// Whether an agent started it, or submitted its output.
    fn is_work_of(&self, agent: &AgentId) -> bool {
        self.worker.as_ref() == Some(agent) || self.submitted_by.as_ref() == Some(agent)
    }

    /// Its output was submitted.
    pub(crate) fn submitted(&mut self, agent: &AgentId, output: &Json) -> Audit {
        demand!(self.is_reviewed(), "its output was submitted, but it needs no review");
        demand!(self.status == StageStatus::Running, "it was {:?}", self.status);
        let assigned = self.design.agent.as_ref();
        demand!(assigned.is_none_or(|assigned| assigned == agent), "it is for {assigned:?}");
        self.status = StageStatus::WaitingReview;
        (self.output, self.submitted_by) = (Some(output.clone()), Some(agent.clone()));
        Ok(())
    }

    /// The verdict about its output. The event that ends it comes next in its batch.
    pub(crate) fn reviewed(&mut self, verdict: Verdict) -> Audit {
        demand!(self.status == StageStatus::WaitingReview, "it was {:?}", self.status);
        self.verdict = Some(verdict);
        if verdict == Verdict::Retry {
            self.status = StageStatus::Ready;
            (self.input, self.output, self.submitted_by) = (None, None, None);
        }
        Ok(())
    }

    /// Whether it may end like this without being run: by a verdict.
    pub(crate) fn is_decided(&self, verdict: Verdict) -> bool {
        self.status == StageStatus::WaitingReview && self.verdict == Some(verdict)
    }
}

impl PipelineModel {
    /// The output of a stage that is completed: by its tasks, manually, or because its output was
    /// accepted.
    pub(crate) fn completed(
        &self,
        batch: &Batch,
        model: &StageModel,
        output: Option<&Json>,
        tasks: &Tasks,
    ) -> Audit<Option<Json>> {
        let by_hand = !self.automatic;
        let is_accepted = model.is_decided(Verdict::Complete);
        if !is_accepted {
            let is_empty = !by_hand && model.tasks.is_empty();
            let due = if is_empty { StageStatus::Ready } else { StageStatus::Running };
            demand!(model.status == due, "it was {:?}", model.status);
            let is_due = by_hand && model.is_reviewed();
            demand!(!is_due, "it was completed, and its output was not accepted");
            let agent = model.design.agent.as_ref().filter(|_| by_hand);
            demand!(agent.is_none_or(|agent| *agent == batch.agent), "it is for {agent:?}");
        }
        let is_open = |task: &&TaskId| {
            tasks.at(task, u64::MAX).is_none_or(|work| work.status != TaskStatus::Completed)
        };
        let open = model.tasks.iter().find(is_open);
        demand!(open.is_none(), "its task {open:?} is not completed");
        Ok(output.cloned().or_else(|| model.made(tasks)))
    }
}

impl Ledger {
    /// Whether an agent is one of the reviewers, after a revision.
    pub(crate) fn is_reviewer(&self, reviewers: &Reviewers, agent: &AgentId, at: u64) -> bool {
        let session = self.session(agent, at).filter(|session| session.active);
        let anyone = reviewers.agents.is_empty() && reviewers.capability.is_none();
        let able = reviewers
            .capability
            .as_ref()
            .is_some_and(|name| session.is_some_and(|session| session.capabilities.contains(name)));
        anyone || able || reviewers.agents.contains(agent)
    }

    /// Checks the agent that accepted the output of a stage.
    pub(crate) fn check_stage_review(
        &self,
        batch: &Batch,
        model: &StageModel,
        event: &Event,
        coverage: &mut Coverage,
    ) -> Audit {
        let Event::StageReviewed { verdict, .. } = event else { return Ok(()) };
        coverage.met("pipeline: reviewed");
        if *verdict != Verdict::Complete {
            return Ok(());
        }
        let agent = &batch.agent;
        demand!(!model.is_work_of(agent), "`{agent}` accepted its own work");
        let reviewers = model.design.reviewers.clone().unwrap_or_default();
        let may = self.is_reviewer(&reviewers, agent, batch.revision.0);
        demand!(may, "`{agent}` accepted it, not one of {reviewers:?}");
        Ok(())
    }

    /// Checks a refused review of a stage, or a refused submission.
    pub(crate) fn refused_stage_review(
        &self,
        model: &StageModel,
        rejection: &Rejection,
        at: u64,
    ) -> Audit {
        let due = model.design.reviewers.clone().unwrap_or_default();
        match rejection {
            Rejection::OwnWork { agent, .. } => {
                demand!(model.is_work_of(agent), "`{agent}` did not work on {model:?}");
            }
            Rejection::NotReviewer { agent, reviewers, .. } => {
                demand!(*reviewers == due, "its reviewers are {due:?}");
                demand!(!self.is_reviewer(&due, agent, at), "`{agent}` is one of {due:?}");
            }
            Rejection::NoReviewer { agent, reviewers, .. } => {
                demand!(*reviewers == due && due.capability.is_none(), "they are {due:?}");
                let another = |it: &&AgentId| *it != agent && model.worker.as_ref() != Some(*it);
                let other = due.agents.iter().find(another);
                demand!(other.is_none() && model.is_reviewed(), "{other:?} could accept it");
            }
            Rejection::OtherAttempt { given, attempts, .. } => {
                let other = model.attempts == *attempts && given != attempts;
                demand!(other, "attempt {} waits", model.attempts);
            }
            other => return Err(Breach(format!("no review can cause `{}`", other.code()))),
        }
        Ok(())
    }
}

impl BatchReader<'_> {
    /// The end of a stage that a verdict causes.
    pub(crate) fn decided_stage(&mut self, verdict: Verdict) -> Audit {
        let fits = match (verdict, self.peek()) {
            (Verdict::Retry, _) => return Ok(()),
            (Verdict::Complete, Some(AnyEvent::Pipeline(event))) => {
                matches!(event, Event::StageCompleted { output: Some(_), .. })
            }
            (Verdict::Fail, Some(AnyEvent::Pipeline(event))) => {
                matches!(event, Event::StageFailed { .. })
            }
            (Verdict::Complete | Verdict::Fail, _) => false,
        };
        demand!(fits, "{verdict:?} was decided, and the stage has not ended");
        self.skip();
        Ok(())
    }
}
