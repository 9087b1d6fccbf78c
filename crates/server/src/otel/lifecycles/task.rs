//! The lifecycle of a task: one span for all of it, and one for each time an agent held it.

use baton_core::task::{self, Cause, Created, Event, Outcome, Verdict};
use baton_core::{AgentId, GroupName, Json, TaskId, Timestamp, WorkspaceName, pipeline};

use super::Seen;
use super::pipeline::{stage_span, trace_of};
use crate::otel::ids::{self, SpanContext, SpanId};
use crate::otel::span::{Span, Usage, kind_of};

/// The state of a task.
#[derive(Default)]
pub(in crate::otel) struct Task {
    begun: Option<Begun>,
    /// How often it was claimed.
    attempts: u64,
    /// How often an agent got it: by a claim or by a hand-off.
    holds: u64,
    held: Option<TaskLease>,
    usage: Usage,
}

struct Begun {
    at: Timestamp,
    context: SpanContext,
    task_type: String,
    requested_by: String,
    /// The parent of a task.
    conversation: String,
    parent: Option<String>,
}

struct TaskLease {
    since: Timestamp,
    by: AgentId,
}

/// The span of a complete task.
pub(in crate::otel) fn task_span(workspace: &WorkspaceName, task: &TaskId) -> SpanId {
    ids::span(workspace, &["task", task.as_str()])
}

impl Begun {
    fn of(seen: &Seen<'_>, created: &Created) -> Self {
        let (workspace, task) = (seen.workspace, &created.task);
        let own =
            SpanContext::of(created.traceparent.as_ref(), workspace, &["task", task.as_str()]);
        Self {
            at: seen.time(),
            context: stage_of(seen, created).unwrap_or(own),
            task_type: created.task_type.to_string(),
            requested_by: seen.author().to_string(),
            conversation: conversation(created.group.as_ref().map(GroupName::as_str), task),
            parent: created.parent.as_ref().map(ToString::to_string),
        }
    }
}

fn conversation(group: Option<&str>, task: &TaskId) -> String {
    group.unwrap_or(task.as_str()).to_owned()
}

/// The parent of the stage that a task was created for: the same commit contains it.
fn stage_of(seen: &Seen<'_>, created: &Created) -> Option<SpanContext> {
    let made = seen.batch.events.iter().find_map(|event| match event {
        baton_core::Event::Pipeline(pipeline::Event::StageReady { pipeline, stage, tasks })
            if tasks.contains(&created.task) =>
        {
            Some((pipeline, stage))
        }
        _ => None,
    });
    let (pipeline, stage) = made?;
    let context = trace_of(created.traceparent.as_ref(), seen.workspace, pipeline);
    Some(context.below(stage_span(seen.workspace, pipeline, stage, seen.revision())))
}

impl Task {
    /// A task whose beginning is no longer in the log, except for what its record still contains.
    pub(in crate::otel) fn of_record(workspace: &WorkspaceName, task: &task::Task) -> Self {
        let traceparent = task.traceparent.as_ref();
        let begun = Begun {
            at: task.created_at,
            context: SpanContext::of(traceparent, workspace, &["task", task.id.as_str()]),
            task_type: task.task_type.to_string(),
            requested_by: task.requested_by.to_string(),
            conversation: conversation(task.group.as_ref().map(GroupName::as_str), &task.id),
            parent: task.parent.as_ref().map(ToString::to_string),
        };
        Self { begun: Some(begun), ..Self::default() }
    }

    /// The same, with the beginning of another one.
    pub(in crate::otel) fn begun_as(self, other: Self) -> Self {
        Self { begun: other.begun, ..self }
    }

    pub(super) fn is_known(&self) -> bool {
        self.begun.is_some()
    }

    /// The parent of everything that belongs to the task: the span of all of it.
    pub(in crate::otel) fn inside(
        &self,
        workspace: &WorkspaceName,
        task: &TaskId,
    ) -> Option<SpanContext> {
        self.begun.as_ref().map(|begun| begun.context.below(task_span(workspace, task)))
    }

    pub(super) fn observe(&mut self, seen: &Seen<'_>, event: &Event, spans: &mut Vec<Span>) {
        match event {
            Event::Created(created) => self.begun = Some(Begun::of(seen, created)),
            Event::Claimed { holder, .. } => {
                self.attempts += 1;
                self.take(seen, holder);
            }
            Event::HandedOver { task, holder, .. } => {
                self.let_go(seen, task, "handed_over", None, spans);
                self.take(seen, holder);
            }
            Event::Updated { result: Some(result), .. } => self.usage = Usage::of(result),
            Event::HandedOff { task, .. } => self.let_go(seen, task, "handed_off", None, spans),
            Event::Released { task, .. } => self.let_go(seen, task, "released", None, spans),
            Event::Completed { task, result, .. } => {
                self.done(seen, task, result.as_ref(), spans);
            }
            Event::Submitted { task, result, .. } => {
                if let Some(result) = result {
                    self.usage = Usage::of(result);
                }
                self.let_go(seen, task, "submitted", None, spans);
            }
            Event::Failed { task, error, cause, outcome } => {
                let error = kind_of(error, word_of(*cause));
                self.let_go(seen, task, "failed", Some(error.clone()), spans);
                if *outcome == Outcome::Failed {
                    self.end(seen, task, "failed", Some(error), spans);
                }
            }
            Event::Cancelled { task, .. } => {
                self.let_go(seen, task, "cancelled", None, spans);
                self.end(seen, task, "cancelled", None, spans);
            }
            // If it accepts a result, the next event completes the task.
            Event::Reviewed { task, verdict, result, accepts: false, .. } => match verdict {
                Verdict::Retry => {}
                Verdict::Complete => self.done(seen, task, result.as_ref(), spans),
                Verdict::Fail => {
                    self.end(seen, task, "failed", Some("reviewed".to_owned()), spans);
                }
            },
            Event::Updated { result: None, .. }
            | Event::Queued { .. }
            | Event::GaveUp { .. }
            | Event::Renewed { .. }
            | Event::Progressed { .. }
            | Event::Ready { .. }
            | Event::Offered { .. }
            | Event::Abandoned { .. }
            | Event::TakenBack { .. }
            | Event::Reviewed { accepts: true, .. }
            | Event::Retried { .. } => {}
        }
    }

    fn take(&mut self, seen: &Seen<'_>, holder: &AgentId) {
        self.holds += 1;
        self.held = Some(TaskLease { since: seen.time(), by: holder.clone() });
    }

    fn done(
        &mut self,
        seen: &Seen<'_>,
        task: &TaskId,
        result: Option<&Json>,
        spans: &mut Vec<Span>,
    ) {
        if let Some(result) = result {
            self.usage = Usage::of(result);
        }
        self.let_go(seen, task, "completed", None, spans);
        self.end(seen, task, "completed", None, spans);
    }

    /// Ends the span of the agent that held it.
    fn let_go(
        &mut self,
        seen: &Seen<'_>,
        task: &TaskId,
        outcome: &str,
        error: Option<String>,
        spans: &mut Vec<Span>,
    ) {
        let Some(held) = self.held.take() else { return };
        let Some((begun, context)) = self.begun.as_ref().zip(self.inside(seen.workspace, task))
        else {
            return;
        };
        let number = self.holds.to_string();
        let id = ids::span(seen.workspace, &["attempt", task.as_str(), &number]);
        let name = format!("invoke_agent {}", held.by);
        let span = Span::new((id, context), name, (held.since, seen.time()))
            .by(held.by.as_str())
            .with("gen_ai.conversation.id", begun.conversation.as_str())
            .with("baton.task.id", task.as_str())
            .with("baton.task.type", begun.task_type.as_str())
            .with("baton.task.attempt", self.attempts)
            .ending(outcome, seen.workspace, seen.revision())
            .failing(error);
        spans.push(self.usage.apply_to(span));
        self.usage = Usage::default();
    }

    fn end(
        &mut self,
        seen: &Seen<'_>,
        task: &TaskId,
        outcome: &str,
        error: Option<String>,
        spans: &mut Vec<Span>,
    ) {
        let Some(begun) = &self.begun else { return };
        let id = task_span(seen.workspace, task);
        let name = format!("task {}", begun.task_type);
        let span = Span::new((id, begun.context), name, (begun.at, seen.time()))
            .with("gen_ai.conversation.id", begun.conversation.as_str())
            .with("baton.task.id", task.as_str())
            .with("baton.task.type", begun.task_type.as_str())
            .with("baton.task.requested_by", begun.requested_by.as_str())
            .with("baton.task.attempts", self.attempts)
            .maybe("baton.task.parent", begun.parent.as_deref())
            .ending(outcome, seen.workspace, seen.revision())
            .failing(error);
        spans.push(span);
    }
}

fn word_of(cause: Cause) -> &'static str {
    match cause {
        // The worker has reported the error itself.
        Cause::Reported => "_OTHER",
        Cause::LeaseExpired => "lease_expired",
        Cause::AgentGone => "agent_gone",
        Cause::Deadline => "deadline",
        Cause::NotTakenUp => "not_taken_up",
        Cause::HandoffLoop => "handoff_loop",
    }
}
