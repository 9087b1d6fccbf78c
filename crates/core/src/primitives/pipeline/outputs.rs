//! The input of a stage, the definitions of its tasks, and its output.

use std::collections::BTreeSet;

use serde_json::json;

use super::{Record, StageStatus};
use crate::json::Json;
use crate::limits;
use crate::names::{AgentId, StageName, Traceparent};
use crate::task::Status;

/// Why a value cannot be passed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// It is too large.
    TooLarge {
        /// Its size, or its size when that was noticed.
        bytes: usize,
        /// The maximum size.
        bytes_max: usize,
    },
    /// It is nested too deeply together with its surroundings.
    TooDeep,
    /// It should be a list.
    NoList,
    /// The list is too long.
    TooMany {
        /// Its length.
        elements: usize,
        /// The maximum length.
        max: usize,
    },
}

impl Misfit {
    /// The error of a stage: what does not fit, and why.
    pub fn error(&self, what: &str) -> Json {
        let error = match self {
            Self::TooLarge { bytes, bytes_max } => {
                json!({ "reason": format!("{what}_too_large"), "bytes": bytes,
                    "bytes_max": bytes_max })
            }
            Self::TooDeep => json!({ "reason": format!("{what}_too_deep") }),
            Self::NoList => json!({ "reason": format!("{what}_is_no_list") }),
            Self::TooMany { elements, max } => {
                json!({ "reason": format!("{what}_too_long"), "elements": elements, "max": max })
            }
        };
        Json::of(&error).expect("words and numbers are JSON")
    }
}

fn check(text: &str, bytes_max: usize) -> Result<(), Misfit> {
    let bytes = text.len();
    if bytes > bytes_max { Err(Misfit::TooLarge { bytes, bytes_max }) } else { Ok(()) }
}

/// A value composed of other values, which may have become too large or too deep.
fn put_together(text: String) -> Result<Json, Misfit> {
    check(&text, limits::VALUE_BYTES_MAX)?;
    Json::parse(text).map_err(|_| Misfit::TooDeep)
}

impl Record {
    /// The input of a stage.
    pub fn input(&self, stage: usize) -> Result<Json, Misfit> {
        let mut text = String::new();
        self.write_input(stage, &mut text)?;
        put_together(text)
    }

    /// The input that was given at the start, or the outputs of the stages before: by name if there
    /// are several. A skipped stage passes on its own input.
    fn write_input(&self, stage: usize, text: &mut String) -> Result<(), Misfit> {
        let links = self.plan.links[stage].as_slice();
        match (&self.stages[stage].input, links) {
            (Some(input), _) => text.push_str(input.as_str()),
            (None, []) => text.push_str(self.plan.input.as_ref().map_or("null", Json::as_str)),
            (None, [before]) => self.write_passed(*before, text)?,
            (None, several) => {
                for (index, before) in several.iter().enumerate() {
                    text.push(if index == 0 { '{' } else { ',' });
                    // Names of stages need no escapes.
                    text.extend(["\"", self.plan.stages[*before].name.as_str(), "\":"]);
                    self.write_passed(*before, text)?;
                }
                text.push('}');
            }
        }
        // Skipped stages can repeat one output many times, so the size is checked here.
        check(text, limits::VALUE_BYTES_MAX)
    }

    fn write_passed(&self, stage: usize, text: &mut String) -> Result<(), Misfit> {
        let state = &self.stages[stage];
        if state.status == StageStatus::Skipped {
            return self.write_input(stage, text);
        }
        text.push_str(state.output.as_ref().map_or("null", Json::as_str));
        Ok(())
    }

    /// The completed stages whose outputs are the input of a stage: those before it, and those
    /// before a skipped one.
    pub fn givers(&self, stage: usize) -> BTreeSet<usize> {
        let mut givers = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let mut rest = self.plan.links[stage].clone();
        while let Some(before) = rest.pop() {
            if !seen.insert(before) {
                continue;
            }
            match self.stages[before].status {
                StageStatus::Completed => drop(givers.insert(before)),
                StageStatus::Skipped => rest.extend(&self.plan.links[before]),
                StageStatus::Pending
                | StageStatus::Ready
                | StageStatus::Running
                | StageStatus::WaitingReview
                | StageStatus::Failed => {}
            }
        }
        givers
    }

    /// The agent that worked on a stage last: on its only task, or else the one that started it.
    pub fn last_worker(&self, stage: usize) -> Option<&AgentId> {
        let state = &self.stages[stage];
        let last = match state.members.as_slice() {
            [member] => member.task_state.worker.as_ref(),
            [] | [_, _, ..] => None,
        };
        last.or(state.worker.as_ref())
    }

    /// The approximate size in the log of the hand-offs that the start of a stage causes.
    pub fn passed_bytes(&self, stage: usize) -> (usize, usize) {
        const FRAME: usize = 1_536;
        let givers = self.givers(stage);
        let bytes = |before: &usize| {
            let output = self.stages[*before].output.as_ref().map_or(0, |it| it.as_bytes().len());
            FRAME + if output <= limits::PASSED_OUTPUT_BYTES_MAX { output } else { 0 }
        };
        (givers.len(), givers.iter().map(bytes).sum())
    }

    /// The definitions of the tasks of a stage.
    pub fn definitions(&self, stage: usize) -> Result<Vec<Json>, Misfit> {
        let design = &self.plan.stages[stage];
        let input = self.input(stage)?;
        if !design.each {
            return Ok(vec![self.definition(&design.name, &input, None)?]);
        }
        let elements: Vec<Json> = input.to().map_err(|_| Misfit::NoList)?;
        let max = limits::STAGE_TASKS_MAX;
        if elements.len() > max {
            return Err(Misfit::TooMany { elements: elements.len(), max });
        }
        let elements = elements.iter().enumerate();
        elements.map(|(index, it)| self.definition(&design.name, it, Some(index))).collect()
    }

    fn definition(
        &self,
        stage: &StageName,
        input: &Json,
        index: Option<usize>,
    ) -> Result<Json, Misfit> {
        let index = index.map_or(String::new(), |index| format!(",\"element\":{index}"));
        let pipeline = &self.name;
        put_together(format!(
            "{{\"pipeline\":\"{pipeline}\",\"stage\":\"{stage}\"{index},\"input\":{input}}}"
        ))
    }

    /// The approximate size of the tasks of a stage in the log, without their definitions.
    pub fn tasks_bytes(&self, stage: usize, count: usize) -> usize {
        const FRAME: usize = 1_024;
        let design = &self.plan.stages[stage];
        let trace = self.plan.traceparent.as_ref().map_or(0, Traceparent::bytes);
        count * (FRAME + design.bytes() + self.name.as_str().len() + trace)
    }

    /// The output of a stage whose tasks are all completed.
    pub fn made(&self, stage: usize) -> Result<Json, Misfit> {
        let members = &self.stages[stage].members;
        let outcomes = || members.iter().filter_map(|member| member.task_state.outcome.as_ref());
        if let Some(left_out) = outcomes().find(|outcome| outcome.omitted > 0) {
            let (bytes, bytes_max) = (left_out.omitted, self.room());
            return Err(Misfit::TooLarge { bytes, bytes_max });
        }
        let mut results = outcomes().map(|it| it.result.as_ref().map_or("null", Json::as_str));
        if self.plan.stages[stage].each {
            let results: Vec<&str> = results.collect();
            return put_together(format!("[{}]", results.join(",")));
        }
        Ok(results.next().map_or_else(Json::null, |it| Json::trusted(it.as_bytes())))
    }

    /// The error of a stage, if one of its tasks failed or was cancelled.
    pub fn mishap(&self, stage: usize) -> Option<Json> {
        let members = self.stages[stage].members.iter();
        let mut ended = members.filter_map(|it| Some((&it.task, it.task_state.outcome.as_ref()?)));
        let (task, outcome) = ended.find(|(_, outcome)| outcome.status != Status::Completed)?;
        let reason = format!("task_{}", outcome.status.word());
        let plain = json!({ "reason": reason, "task": task, "detail": outcome.reason });
        let whole = json!({ "reason": reason, "task": task, "error": outcome.error });
        // An error with the maximum depth cannot be nested any deeper.
        let error = outcome.error.as_ref().and_then(|_| Json::of(&whole).ok());
        Some(error.unwrap_or_else(|| Json::of(&plain).expect("words are JSON")))
    }
}
