//! Lifecycles: objects that have started and not ended. Each receives its events in order, and
//! produces the spans of those that have ended. No I/O, no clock: the same events always give the
//! same spans.

mod handoff;
mod pipeline;
mod request;
mod task;

use baton_core::{
    AgentId, Batch, Event, HandoffId, MessageId, PipelineName, Revision, TaskId, Timestamp,
    WorkspaceName, handoff as handoff_words, message, pipeline as pipeline_words,
    task as task_words,
};

use super::ids::SpanContext;
use super::span::Span;
pub(super) use handoff::Handoff;
pub(super) use pipeline::Pipeline;
pub(super) use request::Request;
pub(super) use task::Task;

/// One event of a commit.
#[derive(Clone, Copy)]
pub(super) struct Seen<'a> {
    pub(super) workspace: &'a WorkspaceName,
    pub(super) batch: &'a Batch,
    pub(super) index: usize,
}

impl<'a> Seen<'a> {
    pub(super) fn event(&self) -> &'a Event {
        &self.batch.events[self.index]
    }

    fn time(&self) -> Timestamp {
        self.batch.time
    }

    fn revision(&self) -> Revision {
        self.batch.revision
    }

    fn author(&self) -> &'a AgentId {
        self.batch.author(self.index)
    }
}

/// The object of a lifecycle.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LifecycleId {
    Task(TaskId),
    Handoff(HandoffId),
    Request(MessageId),
    Pipeline(PipelineName),
}

impl LifecycleId {
    /// The lifecycle that an event belongs to, if it matters for a span.
    pub(super) fn of(event: &Event) -> Option<Self> {
        match event {
            Event::Task(event) => of_task(event),
            Event::Handoff(event) => of_handoff(event),
            Event::Message(event) => of_message(event),
            Event::Pipeline(event) => Some(Self::Pipeline(event.pipeline().clone())),
            _ => None,
        }
    }

    /// A lifecycle that starts, or whose beginning is not known yet.
    pub(super) fn lifecycle(&self) -> Lifecycle {
        match self {
            Self::Task(_) => Lifecycle::Task(Box::default()),
            Self::Handoff(_) => Lifecycle::Handoff(None),
            Self::Request(_) => Lifecycle::Request(None),
            Self::Pipeline(_) => Lifecycle::Pipeline(None),
        }
    }
}

fn of_task(event: &task_words::Event) -> Option<LifecycleId> {
    use task_words::Event as Fact;
    match event {
        // These are frequent, and neither start nor end a lifecycle.
        Fact::Renewed { .. }
        | Fact::Progressed { .. }
        | Fact::Ready { .. }
        | Fact::Offered { .. }
        | Fact::Abandoned { .. }
        | Fact::TakenBack { .. } => None,
        event => event.task().cloned().map(LifecycleId::Task),
    }
}

fn of_handoff(event: &handoff_words::Event) -> Option<LifecycleId> {
    use handoff_words::Event as Fact;
    let handoff = match event {
        Fact::Offered(handoff)
        | Fact::Executed(handoff)
        | Fact::Refused(handoff)
        | Fact::Passed(handoff) => &handoff.id,
        Fact::Approved { handoff, .. }
        | Fact::Accepted { handoff, .. }
        | Fact::Rejected { handoff, .. }
        | Fact::Expired { handoff, .. }
        | Fact::Cancelled { handoff, .. }
        | Fact::Completed { handoff, .. }
        | Fact::Failed { handoff, .. } => handoff,
        _ => return None,
    };
    Some(LifecycleId::Handoff(handoff.clone()))
}

fn of_message(event: &message::Event) -> Option<LifecycleId> {
    use message::Event as Fact;
    let message = match event {
        Fact::Sent(sent) if sent.request.is_some() => &sent.message,
        Fact::Replied { message, .. }
        | Fact::TimedOut { message, .. }
        | Fact::Lost { message, .. }
        | Fact::Rerouted { message, .. } => message,
        _ => return None,
    };
    Some(LifecycleId::Request(message.clone()))
}

/// The state of a lifecycle; none if it started before the available history.
pub(super) enum Lifecycle {
    Task(Box<Task>),
    Handoff(Option<Box<Handoff>>),
    Request(Option<Box<Request>>),
    Pipeline(Option<Box<Pipeline>>),
}

impl Lifecycle {
    /// Applies an event. A hand-off also gets the parent of its task's spans.
    pub(super) fn observe(
        &mut self,
        seen: &Seen<'_>,
        of_task: Option<SpanContext>,
        spans: &mut Vec<Span>,
    ) {
        match (self, seen.event()) {
            (Self::Task(lifecycle), Event::Task(event)) => lifecycle.observe(seen, event, spans),
            (Self::Handoff(lifecycle), Event::Handoff(event)) => {
                Handoff::observe(lifecycle, seen, event, of_task, spans);
            }
            (Self::Request(lifecycle), Event::Message(event)) => {
                Request::observe(lifecycle, seen, event, spans);
            }
            (Self::Pipeline(lifecycle), Event::Pipeline(event)) => {
                Pipeline::observe(lifecycle, seen, event, spans);
            }
            _ => {}
        }
    }

    /// Whether its beginning is known.
    pub(super) fn is_known(&self) -> bool {
        match self {
            Self::Task(lifecycle) => lifecycle.is_known(),
            Self::Handoff(lifecycle) => lifecycle.is_some(),
            Self::Request(lifecycle) => lifecycle.is_some(),
            Self::Pipeline(lifecycle) => lifecycle.is_some(),
        }
    }
}

/// Whether an event starts a lifecycle, so that nothing has to be looked up.
pub(super) fn begins(event: &Event) -> bool {
    match event {
        Event::Task(event) => matches!(event, task_words::Event::Created(_)),
        Event::Handoff(event) => matches!(
            event,
            handoff_words::Event::Offered(_)
                | handoff_words::Event::Executed(_)
                | handoff_words::Event::Refused(_)
                | handoff_words::Event::Passed(_)
        ),
        Event::Message(event) => matches!(event, message::Event::Sent(_)),
        Event::Pipeline(event) => matches!(event, pipeline_words::Event::Created(_)),
        _ => false,
    }
}

/// Whether an event is the last of its lifecycle.
pub(super) fn ends(event: &Event) -> bool {
    use task_words::{Event as Fact, Outcome, Verdict};
    match event {
        Event::Task(Fact::Completed { .. } | Fact::Cancelled { .. }) => true,
        Event::Task(Fact::Failed { outcome, .. }) => *outcome == Outcome::Failed,
        Event::Task(Fact::Reviewed { verdict, accepts, .. }) => {
            *verdict != Verdict::Retry && !accepts
        }
        Event::Handoff(event) => matches!(
            event,
            handoff_words::Event::Refused(_)
                | handoff_words::Event::Passed(_)
                | handoff_words::Event::Rejected { .. }
                | handoff_words::Event::Expired { .. }
                | handoff_words::Event::Cancelled { .. }
                | handoff_words::Event::Completed { .. }
                | handoff_words::Event::Failed { .. }
        ),
        Event::Message(event) => matches!(
            event,
            message::Event::Replied { .. }
                | message::Event::TimedOut { .. }
                | message::Event::Lost { .. }
        ),
        Event::Pipeline(event) => matches!(event, pipeline_words::Event::Deleted { .. }),
        _ => false,
    }
}

/// The task whose span is the parent of a hand-off.
pub(super) fn task_of(event: &Event) -> Option<&TaskId> {
    use handoff_words::Event as Fact;
    match event {
        Event::Handoff(
            Fact::Offered(it) | Fact::Executed(it) | Fact::Refused(it) | Fact::Passed(it),
        ) => it.task.as_ref(),
        _ => None,
    }
}
