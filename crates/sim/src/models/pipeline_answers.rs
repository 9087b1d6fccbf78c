//! Checks answers about pipelines, and that batches about them are what was requested.

use baton_core::pipeline::{
    Command, Event, Pipeline, Query, Rejection, Reply, ReviewStage, Stage, StageStatus, Status,
    Summary,
};
use baton_core::primitive::Event as _;
use baton_core::task::Event as TaskEvent;
use baton_core::{Event as AnyEvent, PipelineName, StageName};

use crate::auditor::answers::DecidedRequest;
use crate::auditor::explain::BatchReader;
use crate::auditor::ledger::Ledger;
use crate::auditor::{Audit, Breach, demand};
use crate::models::pipeline::{PipelineModel, StageModel};

impl Ledger {
    fn state(&self, pipeline: &PipelineName, at: u64) -> Audit<&PipelineModel> {
        let state = self.pipelines.at(pipeline, at);
        state.ok_or_else(|| Breach(format!("there is no pipeline `{pipeline}`")))
    }

    fn pipeline_shown(&self, shown: &Pipeline, at: u64) -> Audit {
        let state = self.state(&shown.name, at)?;
        let mut stages = shown.stages.iter().zip(&state.stages);
        let same = shown.status == state.status
            && shown.automatic == state.automatic
            && shown.stages.len() == state.stages.len()
            && stages.all(|(stage, model)| is_same(stage, model))
            && shown.current == state.names(StageStatus::Running)
            && shown.ready == state.names(StageStatus::Ready);
        demand!(same, "{shown:?} is shown, it is {state:?}");
        Ok(())
    }

    fn stage_shown(&self, pipeline: &PipelineName, shown: &Stage, at: u64) -> Audit {
        let state = self.state(pipeline, at)?;
        let Some(model) = state.model(&shown.name) else {
            return Err(Breach(format!("{shown:?} is shown, it is not there")));
        };
        let input = state.input(model);
        let given = shown.input.as_ref().is_none_or(|shown| shown.same_value(&input));
        demand!(is_same(shown, model) && given, "{shown:?} is shown, it is {model:?} on {input:?}");
        Ok(())
    }

    /// Checks the answer to a pipeline command with an effect.
    pub(crate) fn pipeline_reply(&self, command: &Command, reply: &Reply, at: u64) -> Audit {
        match (command, reply) {
            (Command::Delete { pipeline }, Reply::Pipeline(shown)) => {
                demand!(shown.name == *pipeline, "another pipeline is shown");
                self.pipeline_shown(shown, at - 1)
            }
            (Command::Create(_) | Command::Abort { .. }, Reply::Pipeline(shown)) => {
                self.pipeline_shown(shown, at)
            }
            (
                Command::StartStage { pipeline, stage, .. }
                | Command::FailStage { pipeline, stage, .. }
                | Command::RetryStage { pipeline, stage },
                Reply::Stage(shown),
            ) => {
                demand!(shown.name == *stage, "another stage is shown");
                self.stage_shown(pipeline, shown, at)
            }
            (
                Command::CompleteStage { pipeline, stage, .. }
                | Command::ReviewStage(ReviewStage { pipeline, stage, .. })
                | Command::SkipStage { pipeline, stage, .. },
                Reply::Moved(moved),
            ) => {
                let state = self.state(pipeline, at)?;
                demand!(moved.stage.name == *stage, "another stage is shown");
                self.stage_shown(pipeline, &moved.stage, at)?;
                let ready = state.names(StageStatus::Ready);
                let next = moved.next.as_ref().map(|next| &next.name);
                let same =
                    moved.status == state.status && moved.ready == ready && next == ready.first();
                demand!(same, "{moved:?} is shown, it is {state:?}");
                moved.next.as_ref().map_or(Ok(()), |next| self.stage_shown(pipeline, next, at))
            }
            (command, reply) => Err(Breach(format!("{command:?} was answered with {reply:?}"))),
        }
    }

    /// Checks the answer to a query about pipelines.
    pub(crate) fn pipelines_shown(&self, query: &Query, reply: &Reply, at: u64) -> Audit {
        match (query, reply) {
            (Query::Get { pipeline }, Reply::Pipeline(shown)) => {
                demand!(shown.name == *pipeline, "another pipeline is shown");
                self.pipeline_shown(shown, at)
            }
            (Query::Output { pipeline, stage }, Reply::Output(shown)) => {
                let model = self.state(pipeline, at)?.model(stage);
                let same = model.is_some_and(|model| {
                    shown.status == model.status && shown.output == model.output
                });
                demand!(same, "{shown:?} is shown, it is {model:?}");
                Ok(())
            }
            (Query::List(_), Reply::Pipelines { pipelines, .. }) => {
                let there: Vec<_> = self.pipelines.all_at(at).collect();
                let mut pairs = pipelines.iter().zip(&there);
                let same = pipelines.len() == there.len()
                    && pairs.all(|(shown, (name, state))| is_summary(shown, name, state));
                demand!(same, "{pipelines:?} are shown, there are {there:?}");
                Ok(())
            }
            (query, reply) => Err(Breach(format!("{query:?} was answered with {reply:?}"))),
        }
    }

    /// Whether a pipeline existed.
    pub(crate) fn knows_pipeline(&self, pipeline: &PipelineName, at: u64) -> bool {
        self.pipelines.at(pipeline, at).is_some()
    }

    /// Checks a refused pipeline command.
    pub(crate) fn refused_pipeline(
        &self,
        asked: &DecidedRequest<'_>,
        rejection: &Rejection,
        at: u64,
    ) -> Audit {
        let model =
            |pipeline: &PipelineName, stage: &StageName| -> Audit<(&PipelineModel, &StageModel)> {
                let state = self.state(pipeline, at)?;
                let model = state.model(stage);
                Ok((state, model.ok_or_else(|| Breach(format!("there is no stage `{stage}`")))?))
            };
        match rejection {
            Rejection::NotFound { pipeline } => {
                demand!(!self.knows_pipeline(pipeline, at), "`{pipeline}` was there");
            }
            Rejection::Exists { pipeline } => self.pipeline_shown(pipeline, at)?,
            Rejection::UnknownStage { pipeline, stage, .. } => {
                let there = self.state(pipeline, at)?.model(stage);
                demand!(there.is_none(), "it has {there:?}");
            }
            Rejection::WrongOrder {
                pipeline,
                stage,
                stage_status,
                pipeline_status,
                can_start,
                can_complete,
                can_review,
                can_retry,
                ..
            } => {
                let (state, model) = model(pipeline, stage)?;
                let same = *stage_status == model.status
                    && *pipeline_status == state.status
                    && *can_start == state.possible(StageStatus::Ready, true)
                    && *can_complete == state.possible(StageStatus::Running, true)
                    && *can_review == state.possible(StageStatus::WaitingReview, true)
                    && *can_retry == state.possible(StageStatus::Failed, false);
                demand!(same, "{rejection:?}, but it is {state:?}");
            }
            Rejection::WrongAgent { pipeline, stage, agent, given } => {
                let (_, model) = model(pipeline, stage)?;
                let same = model.design.agent.as_ref() == Some(agent) && given == asked.agent;
                demand!(same && agent != given, "`{stage}` is for {:?}", model.design.agent);
            }
            Rejection::Automatic { pipeline, stage, tasks } => {
                let (state, model) = model(pipeline, stage)?;
                demand!(state.automatic && *tasks == model.tasks, "it has {:?}", model.tasks);
            }
            Rejection::OwnWork { pipeline, stage, .. }
            | Rejection::NotReviewer { pipeline, stage, .. }
            | Rejection::NoReviewer { pipeline, stage, .. }
            | Rejection::OtherAttempt { pipeline, stage, .. } => {
                self.refused_stage_review(model(pipeline, stage)?.1, rejection, at)?;
            }
            Rejection::RetriesExhausted { pipeline, stage, retries, .. } => {
                let (_, model) = model(pipeline, stage)?;
                demand!(model.retries == *retries, "it was retried {} times", model.retries);
            }
            Rejection::Finished { pipeline, pipeline_status }
            | Rejection::Unfinished { pipeline, pipeline_status } => {
                let status = self.state(pipeline, at)?.status;
                demand!(status == *pipeline_status, "`{pipeline}` is {status:?}");
            }
            other => return Err(Breach(format!("no request can cause `{}`", other.code()))),
        }
        Ok(())
    }
}

impl PipelineModel {
    /// The stages of a status that can be acted on, optionally only manually.
    fn possible(&self, status: StageStatus, by_hand: bool) -> Vec<StageName> {
        let is_over = matches!(self.status, Status::Completed | Status::Aborted);
        if is_over || by_hand && self.automatic { Vec::new() } else { self.names(status) }
    }
}

fn is_same(shown: &Stage, model: &StageModel) -> bool {
    shown.name == model.design.name
        && shown.status == model.status
        && shown.attempts == model.attempts
        && shown.retries == model.retries
        && shown.tasks == model.tasks
        && shown.output == model.output
        && shown.review == model.is_reviewed()
}

fn is_summary(shown: &Summary, name: &PipelineName, state: &PipelineModel) -> bool {
    shown.name == *name
        && shown.status == state.status
        && shown.stages == state.stages.len() as u64
        && shown.current == state.names(StageStatus::Running)
        && shown.ready == state.names(StageStatus::Ready)
        && shown.failed == state.names(StageStatus::Failed)
}

impl BatchReader<'_> {
    /// The effects of a pipeline command.
    pub(crate) fn pipeline(&mut self, command: &Command) -> Audit {
        let AnyEvent::Pipeline(event) = self.take()? else {
            return Err(Breach("a change of a pipeline was due".to_owned()));
        };
        let stage_of = |event: &Event| Some((event.pipeline().clone(), event.stage()?.clone()));
        let (kind, named, fits) = match (command, event) {
            (Command::Create(create), Event::Created(created)) => {
                let same = create.stages == created.stages
                    && create.automatic == created.automatic
                    && create.input == created.input;
                ("pipeline.created", None, same && create.pipeline == created.pipeline)
            }
            (
                Command::StartStage { pipeline, stage, input },
                Event::StageStarted { input: it, .. },
            ) => ("pipeline.stage_started", Some((pipeline, stage)), input == it),
            (
                Command::CompleteStage { pipeline, stage, output },
                Event::StageCompleted { output: it, .. },
            ) => {
                let null = baton_core::Json::null();
                let same = it.as_ref() == Some(output.as_ref().unwrap_or(&null));
                ("pipeline.stage_completed", Some((pipeline, stage)), same)
            }
            (
                Command::CompleteStage { pipeline, stage, output },
                Event::StageSubmitted { output: it, .. },
            ) => {
                let null = baton_core::Json::null();
                let same = it == output.as_ref().unwrap_or(&null);
                ("pipeline.stage_submitted", Some((pipeline, stage)), same)
            }
            (Command::ReviewStage(review), Event::StageReviewed { verdict, note, .. }) => {
                let same = *verdict == review.verdict && *note == review.note;
                let named = Some((&review.pipeline, &review.stage));
                self.decided_stage(review.verdict)?;
                ("pipeline.stage_reviewed", named, same)
            }
            (
                Command::FailStage { pipeline, stage, error },
                Event::StageFailed { error: it, .. },
            ) => ("pipeline.stage_failed", Some((pipeline, stage)), error == it),
            (Command::RetryStage { pipeline, stage }, _) => {
                ("pipeline.stage_retried", Some((pipeline, stage)), true)
            }
            (Command::SkipStage { pipeline, stage, .. }, _) => {
                ("pipeline.stage_skipped", Some((pipeline, stage)), true)
            }
            (Command::Abort { pipeline, .. }, _) => {
                ("pipeline.aborted", None, event.pipeline() == pipeline)
            }
            (Command::Delete { pipeline }, _) => {
                ("pipeline.deleted", None, event.pipeline() == pipeline)
            }
            (command, event) => {
                return Err(Breach(format!("{command:?} does not make {event:?}")));
            }
        };
        let named = named.map(|(pipeline, stage)| (pipeline.clone(), stage.clone()));
        let same = event.kind() == kind && stage_of(event) == named;
        demand!(fits && same, "{kind} was due, not {event:?}");
        self.follow_stages()
    }

    /// The consequences in pipelines, for their tasks, and for calls that wait for these. A law of
    /// the ledger checks that they happen, and nothing else.
    pub(crate) fn follow_stages(&mut self) -> Audit {
        loop {
            let follows = match self.peek() {
                Some(AnyEvent::Pipeline(event)) => matches!(
                    event,
                    Event::StageReady { .. }
                        | Event::StageStarted { .. }
                        | Event::StageCompleted { .. }
                        | Event::StageFailed { .. }
                        | Event::Completed { .. }
                        | Event::Failed { .. }
                ),
                Some(AnyEvent::Task(TaskEvent::Created(created))) => {
                    self.ledger.pipelines.owns(&created.task)
                }
                Some(AnyEvent::Task(TaskEvent::Cancelled { task, .. })) => {
                    self.ledger.pipelines.owns(task)
                }
                _ => false,
            };
            if follows {
                self.skip();
                continue;
            }
            let before = self.peek().map(std::ptr::from_ref);
            self.follow_tasks()?;
            self.follow_grants();
            if self.peek().map(std::ptr::from_ref) == before {
                return Ok(());
            }
        }
    }
}
