//! The review of stages of manual pipelines. The stages of automatic pipelines have tasks, which
//! are reviewed themselves.

use super::decide::{Decided, Decider, check_status, moved};
use super::{Design, Event, Record, Rejection, ReviewStage, StageState, StageStatus, View};
use crate::json::Json;
use crate::limits;
use crate::names::{AgentId, PipelineName, StageName};
use crate::refusal::text_fits;
use crate::task::{Reviewers, Verdict};

impl<S: View> Decider<'_, S> {
    /// Submits the output of a stage that must be reviewed.
    pub(super) fn submit(
        &self,
        record: &Record,
        number: usize,
        output: Json,
    ) -> Result<Decided, Rejection> {
        let (design, state) = (&record.plan.stages[number], &record.stages[number]);
        let (pipeline, stage) = (record.name.clone(), design.name.clone());
        let agent = &self.stamp.agent;
        let authors: Vec<&AgentId> = [agent].into_iter().chain(state.worker.as_ref()).collect();
        if let Some(reviewers) = design.reviewers().filter(|it| it.are_only(&authors)) {
            let (agent, reviewers) = (agent.clone(), reviewers.clone());
            return Err(Rejection::NoReviewer { pipeline, stage, agent, reviewers });
        }
        let plan = moved(pipeline.clone(), stage.clone());
        let event = Event::StageSubmitted { pipeline, stage, output };
        Ok(Decided::new(self.following(record, event), plan))
    }

    /// Decides on the output of a stage.
    pub(super) fn review(&self, command: ReviewStage) -> Result<Decided, Rejection> {
        let ReviewStage { pipeline, stage, verdict, attempt, note, output } = command;
        let (record, number) = self.by_hand(&pipeline, &stage)?;
        check_status(record, number, "reviewed", &[StageStatus::WaitingReview])?;
        let state = &record.stages[number];
        let attempts = state.attempts;
        if let Some(given) = attempt.filter(|attempt| *attempt != attempts) {
            return Err(Rejection::OtherAttempt { pipeline, stage, given, attempts });
        }
        text_fits("note", note.as_ref(), limits::NOTE_BYTES_MAX)?;
        self.check_kept(record, "output", output.as_ref())?;
        if verdict == Verdict::Complete {
            self.check_reviewer(record, number)?;
        }
        let submitted = state.output.clone();
        let ending = outcome(&pipeline, &stage, verdict, note.as_ref(), output.or(submitted));
        let plan = moved(pipeline.clone(), stage.clone());
        let reviewed = Event::StageReviewed { pipeline, stage, verdict, note };
        let Some(ending) = ending else {
            return Ok(Decided::new(self.following(record, reviewed), plan));
        };
        let after = record.after(&reviewed, &self.moment());
        let mut events = vec![reviewed];
        events.extend(self.following(&after, ending));
        Ok(Decided::new(events, plan))
    }

    /// Refuses the acceptance of one's own work, and of work that others have to review.
    fn check_reviewer(&self, record: &Record, number: usize) -> Result<(), Rejection> {
        let (design, state) = (&record.plan.stages[number], &record.stages[number]);
        let (pipeline, stage) = (record.name.clone(), design.name.clone());
        let agent = self.stamp.agent.clone();
        let is_own = state.is_work_of(&agent);
        #[cfg(feature = "planted")]
        let is_own = is_own && !crate::planted::is("pipeline.own_work_accepted");
        if is_own {
            return Err(Rejection::OwnWork { pipeline, stage, agent });
        }
        let others = design.reviewers().filter(|it| !it.include(&agent, self.capabilities));
        match others.cloned() {
            Some(reviewers) => Err(Rejection::NotReviewer { pipeline, stage, agent, reviewers }),
            None => Ok(()),
        }
    }
}

/// The event that follows a verdict: none if the stage is started again.
fn outcome(
    pipeline: &PipelineName,
    stage: &StageName,
    verdict: Verdict,
    note: Option<&String>,
    output: Option<Json>,
) -> Option<Event> {
    let (pipeline, stage) = (pipeline.clone(), stage.clone());
    match verdict {
        Verdict::Retry => None,
        Verdict::Complete => Some(Event::StageCompleted { pipeline, stage, output }),
        Verdict::Fail => {
            let error = serde_json::json!({ "reason": "rejected", "note": note });
            let error = Json::of(&error).expect("two texts are JSON");
            Some(Event::StageFailed { pipeline, stage, error })
        }
    }
}

impl Design {
    /// Whether its output must be accepted before it is completed.
    pub fn needs_review(&self) -> bool {
        self.review || self.reviewers.is_some()
    }

    /// The agents that may accept its output; none if any agent but its author may.
    pub fn reviewers(&self) -> Option<&Reviewers> {
        self.reviewers.as_ref().filter(|reviewers| !reviewers.is_empty())
    }
}

impl StageState {
    /// The agent whose output waits for review.
    pub(super) fn waiting_for(&self) -> Option<AgentId> {
        let is_waiting = self.status == StageStatus::WaitingReview;
        self.submitted_by.clone().filter(|_| is_waiting)
    }

    /// Whether an agent started it, or submitted its output.
    pub fn is_work_of(&self, agent: &AgentId) -> bool {
        self.worker.as_ref() == Some(agent) || self.submitted_by.as_ref() == Some(agent)
    }
}
