//! What an agent does with pipelines: makes small ones, and works on their stages by hand.
//!
//! The stages of automatic ones are tasks, which workers do without knowing what they are of.

use baton_core::pipeline::{self, Command as PipelineCommand, Create, Design, List, StageStatus};
use baton_core::{AgentId, Answer, Command, Json, PipelineName, Reply, StageName, TaskType};

use crate::agents::Action;
use crate::things::Things;

/// Stages that an agent remembers.
const KNOWN_MAX: usize = 12;

/// What an agent believes about stages.
#[derive(Default)]
pub struct Piping {
    seen: Vec<(PipelineName, StageName, StageStatus)>,
}

impl Piping {
    /// What it does next.
    pub fn act(&mut self, things: &mut Things<'_>) -> Action {
        let some = (!self.seen.is_empty()).then(|| things.chance.pick(&self.seen).clone());
        let value = value(things);
        let command = match (things.chance.below(16), some) {
            (0..=3, _) | (_, None) => create(things),
            (4, _) => PipelineCommand::Abort { pipeline: name(things), reason: None },
            (5 | 6, _) => PipelineCommand::Delete { pipeline: name(things) },
            (7, _) => {
                let query = match things.chance.below(3) {
                    0 => pipeline::Query::List(List::default()),
                    1 => pipeline::Query::Output { pipeline: name(things), stage: stage(0) },
                    _ => pipeline::Query::Get { pipeline: name(things) },
                };
                return Action::Ask(query.into());
            }
            // Mostly what should be possible now, and sometimes what should not.
            (choice, Some((pipeline, stage, status))) => {
                let status = if choice == 8 { StageStatus::Running } else { status };
                match status {
                    StageStatus::Ready | StageStatus::Pending if choice < 14 => {
                        let input = things.chance.once_in(3).then_some(value);
                        PipelineCommand::StartStage { pipeline, stage, input }
                    }
                    StageStatus::Running if choice < 12 => {
                        let output = things.chance.once_in(2).then_some(value);
                        PipelineCommand::CompleteStage { pipeline, stage, output }
                    }
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

    /// It hopes that what it asks for happens.
    fn remember(&mut self, command: &PipelineCommand) {
        let (pipeline, stage, status) = match command {
            PipelineCommand::StartStage { pipeline, stage, .. } => {
                (pipeline, stage, StageStatus::Running)
            }
            PipelineCommand::FailStage { pipeline, stage, .. } => {
                (pipeline, stage, StageStatus::Failed)
            }
            PipelineCommand::RetryStage { pipeline, stage } => {
                (pipeline, stage, StageStatus::Ready)
            }
            _ => return,
        };
        self.see(pipeline, stage, status);
    }

    /// It is answered.
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

fn name(things: &mut Things<'_>) -> PipelineName {
    let name = format!("pipe-{}", things.chance.below(5));
    PipelineName::parse(&name).expect("a good name")
}

fn stage(number: u64) -> StageName {
    StageName::parse(&format!("s{number}")).expect("a good name")
}

fn create(things: &mut Things<'_>) -> PipelineCommand {
    let automatic = things.chance.once_in(2);
    let mut stages = Vec::new();
    for number in 0..things.chance.between(1, 4) {
        let mut design = Design::new(stage(number));
        let chance = &mut *things.chance;
        let task_type = *chance.pick(&["build", "test", "review"]);
        design.task_type = Some(TaskType::parse(task_type).expect("a good name"));
        design.each = automatic && chance.once_in(3);
        design.max_retries = *chance.pick(&[None, Some(0), Some(1)]);
        if chance.once_in(8) {
            let agent = format!("a{}", chance.below(4));
            design.agent = Some(AgentId::parse(&agent).expect("a good name"));
        }
        design.after = match chance.below(4) {
            0 => Some(Vec::new()),
            1 if number > 1 => Some(vec![stage(number - 1), stage(0)]),
            2 if number > 1 => Some(vec![stage(0)]),
            _ => None,
        };
        stages.push(design);
    }
    let text = *things.chance.pick(&["[1,2,3]", "[]", "[{\"a\":1}]", "null", "7"]);
    let input = Some(Json::parse(text).expect("good JSON"));
    let (pipeline, metadata) = (name(things), None);
    let traceparent = None;
    let create = Create { pipeline, stages, automatic, input, metadata, traceparent };
    PipelineCommand::Create(Box::new(create))
}

fn value(things: &mut Things<'_>) -> Json {
    let text = format!(r#"["{}",{}]"#, things.agent, things.counter);
    Json::parse(text).expect("good JSON")
}
