//! Whether what callers are told about pipelines is the truth, and whether batches about them are
//! what was asked for.

use baton_core::pipeline::{
    Command, Event, Pipeline, Query, Rejection, Reply, Stage, StageStatus, Status, Summary,
};
use baton_core::task::Event as TaskEvent;
use baton_core::{Event as AnyEvent, PipelineName, StageName};

use super::answers::Answered;
use super::explain::Reading;
use super::ledger::Ledger;
use super::pipelines::{Part, Piped};
use super::{Audit, Breach, demand};

impl Ledger {
    fn piped(&self, pipeline: &PipelineName, at: u64) -> Audit<&Piped> {
        let piped = self.pipelines.at(pipeline, at);
        piped.ok_or_else(|| Breach(format!("there is no pipeline `{pipeline}`")))
    }

    fn pipeline_shown(&self, shown: &Pipeline, at: u64) -> Audit {
        let piped = self.piped(&shown.name, at)?;
        let mut stages = shown.stages.iter().zip(&piped.parts);
        let same = shown.status == piped.status
            && shown.automatic == piped.automatic
            && shown.stages.len() == piped.parts.len()
            && stages.all(|(stage, part)| is_same(stage, part))
            && shown.current == piped.names(StageStatus::Running)
            && shown.ready == piped.names(StageStatus::Ready);
        demand!(same, "{shown:?} is shown, it is {piped:?}");
        Ok(())
    }

    fn stage_shown(&self, pipeline: &PipelineName, shown: &Stage, at: u64) -> Audit {
        let piped = self.piped(pipeline, at)?;
        let Some(part) = piped.part(&shown.name) else {
            return Err(Breach(format!("{shown:?} is shown, it is not there")));
        };
        let input = piped.input(part);
        let given = shown.input.as_ref().is_none_or(|shown| shown.same_value(&input));
        demand!(is_same(shown, part) && given, "{shown:?} is shown, it is {part:?} on {input:?}");
        Ok(())
    }

    /// A pipeline command had an effect, and was answered.
    pub(super) fn pipeline_reply(&self, command: &Command, reply: &Reply, at: u64) -> Audit {
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
                | Command::SkipStage { pipeline, stage, .. },
                Reply::Moved(moved),
            ) => {
                let piped = self.piped(pipeline, at)?;
                demand!(moved.stage.name == *stage, "another stage is shown");
                self.stage_shown(pipeline, &moved.stage, at)?;
                let ready = piped.names(StageStatus::Ready);
                let next = moved.next.as_ref().map(|next| &next.name);
                let same =
                    moved.status == piped.status && moved.ready == ready && next == ready.first();
                demand!(same, "{moved:?} is shown, it is {piped:?}");
                moved.next.as_ref().map_or(Ok(()), |next| self.stage_shown(pipeline, next, at))
            }
            (command, reply) => Err(Breach(format!("{command:?} was answered with {reply:?}"))),
        }
    }

    /// A question about pipelines was answered.
    pub(super) fn pipelines_shown(&self, query: &Query, reply: &Reply, at: u64) -> Audit {
        match (query, reply) {
            (Query::Get { pipeline }, Reply::Pipeline(shown)) => {
                demand!(shown.name == *pipeline, "another pipeline is shown");
                self.pipeline_shown(shown, at)
            }
            (Query::Output { pipeline, stage }, Reply::Output(shown)) => {
                let part = self.piped(pipeline, at)?.part(stage);
                let same = part
                    .is_some_and(|part| shown.status == part.status && shown.output == part.output);
                demand!(same, "{shown:?} is shown, it is {part:?}");
                Ok(())
            }
            (Query::List(_), Reply::Pipelines { pipelines, .. }) => {
                let there: Vec<_> = self.pipelines.all_at(at).collect();
                let mut pairs = pipelines.iter().zip(&there);
                let same = pipelines.len() == there.len()
                    && pairs.all(|(shown, (name, piped))| is_summary(shown, name, piped));
                demand!(same, "{pipelines:?} are shown, there are {there:?}");
                Ok(())
            }
            (query, reply) => Err(Breach(format!("{query:?} was answered with {reply:?}"))),
        }
    }

    /// Whether a pipeline was there.
    pub(super) fn knows_pipeline(&self, pipeline: &PipelineName, at: u64) -> bool {
        self.pipelines.at(pipeline, at).is_some()
    }

    /// A pipeline command was refused.
    pub(super) fn refused_pipeline(
        &self,
        asked: &Answered<'_>,
        rejection: &Rejection,
        at: u64,
    ) -> Audit {
        let part = |pipeline: &PipelineName, stage: &StageName| -> Audit<(&Piped, &Part)> {
            let piped = self.piped(pipeline, at)?;
            let part = piped.part(stage);
            Ok((piped, part.ok_or_else(|| Breach(format!("there is no stage `{stage}`")))?))
        };
        match rejection {
            Rejection::NotFound { pipeline } => {
                demand!(!self.knows_pipeline(pipeline, at), "`{pipeline}` was there");
            }
            Rejection::Exists { pipeline } => self.pipeline_shown(pipeline, at)?,
            Rejection::UnknownStage { pipeline, stage, .. } => {
                let there = self.piped(pipeline, at)?.part(stage);
                demand!(there.is_none(), "it has {there:?}");
            }
            Rejection::WrongOrder {
                pipeline,
                stage,
                stage_status,
                pipeline_status,
                can_start,
                can_complete,
                can_retry,
                ..
            } => {
                let (piped, part) = part(pipeline, stage)?;
                let same = *stage_status == part.status
                    && *pipeline_status == piped.status
                    && *can_start == piped.possible(StageStatus::Ready, true)
                    && *can_complete == piped.possible(StageStatus::Running, true)
                    && *can_retry == piped.possible(StageStatus::Failed, false);
                demand!(same, "{rejection:?}, but it is {piped:?}");
            }
            Rejection::WrongAgent { pipeline, stage, agent, given } => {
                let (_, part) = part(pipeline, stage)?;
                let same = part.design.agent.as_ref() == Some(agent) && given == asked.agent;
                demand!(same && agent != given, "`{stage}` is for {:?}", part.design.agent);
            }
            Rejection::Automatic { pipeline, stage, tasks } => {
                let (piped, part) = part(pipeline, stage)?;
                demand!(piped.automatic && *tasks == part.tasks, "it has {:?}", part.tasks);
            }
            Rejection::RetriesExhausted { pipeline, stage, retries, .. } => {
                let (_, part) = part(pipeline, stage)?;
                demand!(part.retries == *retries, "it was retried {} times", part.retries);
            }
            Rejection::Finished { pipeline, pipeline_status }
            | Rejection::Unfinished { pipeline, pipeline_status } => {
                let status = self.piped(pipeline, at)?.status;
                demand!(status == *pipeline_status, "`{pipeline}` is {status:?}");
            }
            Rejection::BadStages { .. }
            | Rejection::OutOfRange(_)
            | Rejection::TooLarge(_)
            | Rejection::TooMany(_) => {
                let code = rejection.code();
                return Err(Breach(format!("nobody asked for anything that is `{code}`")));
            }
        }
        Ok(())
    }
}

impl Piped {
    /// The stages of a status with which something can be done, perhaps only by hand.
    fn possible(&self, status: StageStatus, by_hand: bool) -> Vec<StageName> {
        let is_over = matches!(self.status, Status::Completed | Status::Aborted);
        if is_over || by_hand && self.automatic { Vec::new() } else { self.names(status) }
    }
}

fn is_same(shown: &Stage, part: &Part) -> bool {
    shown.name == part.design.name
        && shown.status == part.status
        && shown.attempts == part.attempts
        && shown.retries == part.retries
        && shown.tasks == part.tasks
        && shown.output == part.output
}

fn is_summary(shown: &Summary, name: &PipelineName, piped: &Piped) -> bool {
    shown.name == *name
        && shown.status == piped.status
        && shown.stages == piped.parts.len() as u64
        && shown.current == piped.names(StageStatus::Running)
        && shown.ready == piped.names(StageStatus::Ready)
        && shown.failed == piped.names(StageStatus::Failed)
}

impl Reading<'_> {
    /// What a pipeline command does.
    pub(super) fn pipeline(&mut self, command: &Command) -> Audit {
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

    /// What follows in pipelines, for their tasks, and for those who wait for these. That it does,
    /// and nothing else, is a law of the ledger.
    pub(super) fn follow_stages(&mut self) -> Audit {
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
