//! Pipelines as text.

use std::fmt::Write;

use super::render::brief;
use crate::names::{StageName, TaskId};
use crate::pipeline;
use crate::primitive::Event as _;

/// An event in one line.
pub(super) fn rendered_pipeline(event: &pipeline::Event) -> String {
    let mut line = format!("{} {}", event.kind(), event.pipeline());
    if let Some(stage) = event.stage() {
        write!(line, "/{stage}").unwrap();
    }
    match event {
        pipeline::Event::Created(created) => {
            let names: Vec<_> = created.stages.iter().map(|stage| stage.name.as_str()).collect();
            let automatic = if created.automatic { " automatic" } else { "" };
            format!("{line} [{}]{automatic}", names.join(", "))
        }
        pipeline::Event::StageReady { tasks, .. } => {
            let tasks: Vec<_> = tasks.iter().map(TaskId::as_str).collect();
            if tasks.is_empty() { line } else { format!("{line} [{}]", tasks.join(", ")) }
        }
        pipeline::Event::StageStarted { worker, input, .. } => {
            let input = input.as_ref().map_or(String::new(), |it| format!(" on {}", brief(it)));
            format!("{line} by {worker}{input}")
        }
        pipeline::Event::StageAbandoned { worker, .. } => format!("{line} by {worker}"),
        pipeline::Event::StageCompleted { output, .. } => {
            output.as_ref().map_or(line.clone(), |it| format!("{line} = {}", brief(it)))
        }
        pipeline::Event::StageSubmitted { output, .. } => format!("{line} = {}", brief(output)),
        pipeline::Event::StageReviewed { verdict, note, .. } => {
            let note = note.as_ref().map_or(String::new(), |note| format!(" ({note})"));
            format!("{line} {verdict:?}{note}")
        }
        pipeline::Event::StageFailed { error, .. } => format!("{line} {}", brief(error)),
        pipeline::Event::StageSkipped { reason, .. } | pipeline::Event::Aborted { reason, .. } => {
            reason.as_ref().map_or(line.clone(), |reason| format!("{line} ({reason})"))
        }
        pipeline::Event::StageRetried { .. }
        | pipeline::Event::Completed { .. }
        | pipeline::Event::Failed { .. }
        | pipeline::Event::Deleted { .. } => line,
    }
}

/// A reply in one line.
pub(super) fn shown_pipeline(reply: &pipeline::Reply) -> String {
    let names =
        |names: &[StageName]| names.iter().map(StageName::as_str).collect::<Vec<_>>().join(", ");
    match reply {
        pipeline::Reply::Pipeline(found) => {
            let stages: Vec<_> = found.stages.iter().map(shown_stage).collect();
            format!("{} {} [{}]", found.name, found.status.word(), stages.join("; "))
        }
        pipeline::Reply::Stage(stage) => shown_stage(stage),
        pipeline::Reply::Moved(moved) => {
            let next = moved.next.as_ref().map_or("nothing".into(), shown_stage);
            let (stage, ready) = (shown_stage(&moved.stage), names(&moved.ready));
            format!("{stage}, then {next} of [{ready}], {}", moved.status.word())
        }
        pipeline::Reply::Output(output) => {
            let value = output.output.as_ref().map_or("nothing".into(), brief);
            format!("{} {}: {value}", output.stage, output.status.word())
        }
        pipeline::Reply::Pipelines { pipelines, cursor } => {
            let line = |it: &pipeline::Summary| {
                let (current, ready) = (names(&it.current), names(&it.ready));
                let progress = format!("{}/{}", it.done, it.stages);
                format!("{} {} {progress} [{current}] [{ready}]", it.name, it.status.word())
            };
            let lines: Vec<_> = pipelines.iter().map(line).collect();
            let next = cursor.as_ref().map_or(String::new(), |cursor| format!(" next={cursor}"));
            format!("{}{next}", lines.join("; "))
        }
    }
}

fn shown_stage(stage: &pipeline::Stage) -> String {
    let mut line = format!("{} {}", stage.name, stage.status.word());
    for (name, value) in
        [("input", &stage.input), ("output", &stage.output), ("error", &stage.error)]
    {
        if let Some(value) = value {
            write!(line, " {name}={}", brief(value)).unwrap();
        }
    }
    if stage.attempts + stage.retries > 0 {
        write!(line, " attempts={} retries={}", stage.attempts, stage.retries).unwrap();
    }
    line
}
