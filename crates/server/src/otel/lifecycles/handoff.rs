//! The lifecycle of a hand-off: from the offer until its work is done, or it was not accepted.

use baton_core::handoff::Event;
use baton_core::handoff::{Handoff as Record, Receiver};
use baton_core::{HandoffId, Timestamp};

use super::Seen;
use crate::otel::ids::{self, SpanContext};
use crate::otel::span::{Span, kind_of};

/// The state of a hand-off.
pub(in crate::otel) struct Handoff {
    at: Timestamp,
    context: SpanContext,
    /// The trace that its giver named, if its span is below a task nevertheless.
    link: Option<SpanContext>,
    from: String,
    to: String,
    task: Option<String>,
    hops: u64,
    receiver: Option<String>,
    moments: Vec<(Timestamp, &'static str)>,
}

impl Handoff {
    fn of(seen: &Seen<'_>, record: &Record, of_task: Option<SpanContext>) -> Self {
        let given = record.traceparent.as_ref();
        let own = SpanContext::of(given, seen.workspace, &["handoff", record.id.as_str()]);
        let to = match &record.to {
            Receiver::Agent(agent) => agent.to_string(),
            Receiver::Capability(name) => format!("capability:{name}"),
        };
        Self {
            at: record.created_at,
            context: of_task.unwrap_or(own),
            link: given.and(of_task).map(|_| own),
            from: record.from.to_string(),
            to,
            task: record.task.as_ref().map(ToString::to_string),
            hops: record.hops,
            receiver: record.receiver.as_ref().map(ToString::to_string),
            moments: Vec::new(),
        }
    }

    pub(super) fn observe(
        lifecycle: &mut Option<Box<Self>>,
        seen: &Seen<'_>,
        event: &Event,
        of_task: Option<SpanContext>,
        spans: &mut Vec<Span>,
    ) {
        if let Event::Offered(record)
        | Event::Executed(record)
        | Event::Refused(record)
        | Event::Passed(record) = event
        {
            *lifecycle = Some(Box::new(Self::of(seen, record, of_task)));
        }
        let Some(lifecycle) = lifecycle else { return };
        let (handoff, outcome, error) = match event {
            Event::Refused(record) => {
                let error = record.error.as_ref().map(|error| kind_of(error, "refused"));
                (&record.id, "refused", error.or_else(|| Some("refused".to_owned())))
            }
            Event::Passed(record) => (&record.id, "completed", None),
            Event::Approved { .. } => return lifecycle.moments.push((seen.time(), "approved")),
            Event::Accepted { receiver, .. } => {
                lifecycle.receiver = Some(receiver.to_string());
                return lifecycle.moments.push((seen.time(), "accepted"));
            }
            Event::Rejected { handoff, .. } => (handoff, "rejected", Some("rejected".to_owned())),
            Event::Expired { handoff, .. } => (handoff, "expired", Some("expired".to_owned())),
            Event::Cancelled { handoff, .. } => (handoff, "cancelled", None),
            Event::Completed { handoff, .. } => (handoff, "completed", None),
            Event::Failed { handoff, error } => (handoff, "failed", Some(kind_of(error, "_OTHER"))),
            Event::Offered(_)
            | Event::Executed(_)
            | Event::Delivered { .. }
            | Event::Undelivered { .. }
            | Event::Queued { .. }
            | Event::GaveUp { .. } => return,
        };
        spans.push(lifecycle.ended(seen, handoff, outcome, error));
    }

    fn ended(
        &self,
        seen: &Seen<'_>,
        handoff: &HandoffId,
        outcome: &str,
        error: Option<String>,
    ) -> Span {
        let id = ids::span(seen.workspace, &["handoff", handoff.as_str()]);
        let name = format!("handoff {}", self.from);
        let span = Span::new((id, self.context), name, (self.at, seen.time()))
            .with("gen_ai.agent.id", self.from.as_str())
            .with("gen_ai.agent.name", self.from.as_str())
            .maybe("gen_ai.conversation.id", self.task.as_deref())
            .with("baton.handoff.id", handoff.as_str())
            .with("baton.handoff.to", self.to.as_str())
            .maybe("baton.handoff.receiver", self.receiver.as_deref())
            .with("baton.handoff.hops", self.hops)
            .maybe("baton.task.id", self.task.as_deref())
            .ending(outcome, seen.workspace, seen.revision())
            .failing(error);
        Span { moments: self.moments.clone(), links: self.link.into_iter().collect(), ..span }
    }
}
