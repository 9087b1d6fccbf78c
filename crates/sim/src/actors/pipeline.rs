//! An agent that creates small pipelines and works on their stages manually.
//!
//! The stages of automatic pipelines are tasks, which workers process like any other.

use baton_core::pipeline::{
    self, Command as PipelineCommand, Create, Design, List, ReviewStage, StageStatus,
};
use baton_core::task::Verdict;
use baton_core::{AgentId, Answer, Command, Json, PipelineName, Reply, StageName, TaskType};

use crate::actors::agent::Action;
use crate::actors::inputs::Inputs;
use crate::actors::task::some_reviewers;

/// Stages that an agent remembers.
const KNOWN_MAX: usize = 12;

/// A choice that does what the status of a stage asks for.
const PURPOSEFUL: u64 = 10;

/// The knowledge of an agent about stages, which may be outdated.
#[derive(Default)]
pub struct PipelineActor {
    seen: Vec<(PipelineName, StageName, StageStatus)>,
}

impl PipelineActor {
    /// The next command.
    pub fn act(&mut self, inputs: &mut Inputs<'_>) -> Action {
        let in_review = self.seen.iter().find(|(.., status)| *status == StageStatus::WaitingReview);
        // A stage that another agent has completed waits for a review; this is rarely reached by
        // chance.
        let some = match in_review.filter(|_| inputs.rng.once_in(2)) {
            Some(stage) => Some(stage.clone()),
            None => (!self.seen.is_empty()).then(|| inputs.rng.pick(&self.seen).clone()),
        };
        let value = value(inputs);
        // Often it does what should be possible now, so that pipelines get to their end.
        let choice = match inputs.rng.below(24) {
            16..18 => return Action::Ask(pipeline::Query::Get { pipeline: name(inputs) }.into()),
            18.. => PURPOSEFUL,
            choice => choice,
        };
        let command = match (choice, some) {
            (0..=3, _) | (_, None) => create(inputs),
            (4, _) => PipelineCommand::Abort { pipeline: name(inputs), reason: None },
            (5 | 6, _) => PipelineCommand::Delete { pipeline: name(inputs) },
            (7 | 15, _) => {
                let query = match inputs.rng.below(3) {
                    0 => pipeline::Query::List(List::default()),
                    1 => pipeline::Query::Output { pipeline: name(inputs), stage: stage(0) },
                    _ => pipeline::Query::Get { pipeline: name(inputs) },
                };
                return Action::Ask(query.into());
            }
            // Mostly what should be possible now, and sometimes what should not.
            (choice, Some((pipeline, stage, status))) => {
                let status = match choice {
                    8 => StageStatus::Running,
                    9 => StageStatus::WaitingReview,
                    _ => status,
                };
                match status {
                    StageStatus::Ready | StageStatus::Pending if choice < 14 => {
                        let input = inputs.rng.once_in(3).then_some(value);
                        PipelineCommand::StartStage { pipeline, stage, input }
                    }
                    StageStatus::Running if choice < 12 => {
                        let output = inputs.rng.once_in(2).then_some(value);
                        PipelineCommand::CompleteStage { pipeline, stage, output }
                    }
                    StageStatus::WaitingReview => review(inputs, pipeline, stage),
                    StageStatus::Running => {
                        PipelineCommand::FailStage { pipeline, stage, error: value }
                    }
                    StageStatus::Failed if choice < 14 => {
                        PipelineCommand::RetryStage { pipeline, stage }
                    }
                    StageStatus::Completed if choice < 11 => {
                        PipelineCommand::CompleteStage { pipeline, stage, output: None }
                    }
                    _ => PipelineCommand::SkipStage { pipeline, stage, reason: None },
                }
            }
        };
        self.remember(&command);
        Action::Submit(Command::from(command).into())
    }

    /// It assumes that its command succeeds.
    fn remember(&mut self, command: &PipelineCommand) {
        let (pipeline, stage, status) = match command {
            PipelineCommand::StartStage { pipeline, stage, .. } => {
                (pipeline, stage, StageStatus::Running)
            }
            // If it is reviewed. The agent tries its own review too, which is refused.
            PipelineCommand::CompleteStage { pipeline, stage, .. } => {
                (pipeline, stage, StageStatus::WaitingReview)
            }
            PipelineCommand::FailStage { pipeline, stage, .. } => {
                (pipeline, stage, StageStatus::Failed)
            }
            PipelineCommand::RetryStage { pipeline, stage } => {
                (pipeline, stage, StageStatus::Ready)
            }
            PipelineCommand::ReviewStage(review) => {
                (&review.pipeline, &review.stage, StageStatus::Completed)
            }
            _ => return,
        };
        self.see(pipeline, stage, status);
    }

    /// Learns from an answer.
    pub fn learn(&mut self, answer: &Answer) {
        let Reply::Pipeline(reply) = &answer.reply else { return };
        if let pipeline::Reply::Pipeline(shown) = reply {
            for stage in &shown.stages {
                self.see(&shown.name, &stage.name, stage.status);
            }
        }
    }

    fn see(&mut self, pipeline: &PipelineName, stage: &StageName, status: StageStatus) {
        self.seen.retain(|(there, name, _)| there != pipeline || name != stage);
        self.seen.push((pipeline.clone(), stage.clone(), status));
        if self.seen.len() > KNOWN_MAX {
            self.seen.remove(0);
        }
    }
}

fn name(inputs: &mut Inputs<'_>) -> PipelineName {
    let name = format!("pipe-{}", inputs.rng.below(5));
    PipelineName::parse(&name).expect("a good name")
}

fn stage(number: u64) -> StageName {
    StageName::parse(&format!("s{number}")).expect("a good name")
}

fn create(inputs: &mut Inputs<'_>) -> PipelineCommand {
    let automatic = inputs.rng.once_in(2);
    let mut stages = Vec::new();
    for number in 0..inputs.rng.between(1, 4) {
        let mut design = Design::new(stage(number));
        let rng = &mut *inputs.rng;
        let task_type = *rng.pick(&["build", "test", "review"]);
        design.task_type = Some(TaskType::parse(task_type).expect("a good name"));
        design.each = automatic && rng.once_in(3);
        design.review = rng.once_in(if automatic { 5 } else { 2 });
        design.max_retries = *rng.pick(&[None, Some(0), Some(1)]);
        if rng.once_in(8) {
            let agent = format!("a{}", rng.below(4));
            design.agent = Some(AgentId::parse(&agent).expect("a good name"));
        }
        design.after = match rng.below(4) {
            0 => Some(Vec::new()),
            // The first stage is usually finished when the other has not begun.
            1 if number > 1 => Some(vec![stage(0), stage(number - 1)]),
            2 if number > 1 => Some(vec![stage(0)]),
            _ => None,
        };
        if inputs.rng.once_in(8) {
            let agent = design.agent.clone();
            design.reviewers = Some(some_reviewers(inputs, agent.as_ref()));
        }
        stages.push(design);
    }
    let text = *inputs.rng.pick(&["[1,2,3]", "[]", "[{\"a\":1}]", "null", "7"]);
    let input = Some(Json::parse(text).expect("good JSON"));
    let (pipeline, metadata) = (name(inputs), None);
    let traceparent = None;
    let create = Create { pipeline, stages, automatic, input, metadata, traceparent };
    PipelineCommand::Create(Box::new(create))
}

fn review(inputs: &mut Inputs<'_>, pipeline: PipelineName, stage: StageName) -> PipelineCommand {
    let verdicts = [Verdict::Retry, Verdict::Complete, Verdict::Complete, Verdict::Fail];
    let verdict = *inputs.rng.pick(&verdicts);
    let attempt = inputs.rng.once_in(4).then(|| inputs.rng.between(1, 2));
    let output = inputs.rng.once_in(4).then(|| value(inputs));
    let review = ReviewStage { pipeline, stage, verdict, attempt, note: None, output };
    PipelineCommand::ReviewStage(review)
}

fn value(inputs: &mut Inputs<'_>) -> Json {
    let text = format!(r#"["{}",{}]"#, inputs.agent, inputs.counter);
    Json::parse(text).expect("good JSON")
}
