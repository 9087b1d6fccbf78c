//! The lifecycle of a request: from the question until it is answered, or will not be.

use baton_core::message::Event;
use baton_core::message::Message;
use baton_core::{MessageId, Timestamp, Traceparent, WorkspaceName};

use super::Seen;
use crate::otel::ids::{self, SpanContext};
use crate::otel::span::{Kind, Span, Usage, kind_of};

/// The state of a request.
pub(in crate::otel) struct Request {
    at: Timestamp,
    context: SpanContext,
    from: String,
    to: String,
    thread: String,
}

fn span_context(
    given: Option<&Traceparent>,
    workspace: &WorkspaceName,
    id: &MessageId,
) -> SpanContext {
    SpanContext::of(given, workspace, &["request", id.as_str()])
}

impl Request {
    /// A request whose beginning is no longer in the log, except for what its record still
    /// contains.
    pub(in crate::otel) fn of_record(workspace: &WorkspaceName, message: &Message) -> Self {
        Self {
            at: message.sent_at,
            context: span_context(message.traceparent.as_ref(), workspace, &message.id),
            from: message.from.to_string(),
            to: message.to.to_string(),
            thread: message.thread.to_string(),
        }
    }

    pub(super) fn observe(
        lifecycle: &mut Option<Box<Self>>,
        seen: &Seen<'_>,
        event: &Event,
        spans: &mut Vec<Span>,
    ) {
        if let Event::Sent(sent) = event {
            *lifecycle = Some(Box::new(Self {
                at: seen.time(),
                context: span_context(sent.traceparent.as_ref(), seen.workspace, &sent.message),
                from: seen.author().to_string(),
                to: sent.to.to_string(),
                thread: sent.thread.as_ref().unwrap_or(&sent.message).to_string(),
            }));
        }
        let Some(lifecycle) = lifecycle else { return };
        match event {
            Event::Rerouted { next, .. } => lifecycle.to = next.to_string(),
            Event::Replied { message, answer, .. } => {
                let error = answer.error.as_ref().map(|error| kind_of(error, "_OTHER"));
                let outcome = if error.is_some() { "failed" } else { "replied" };
                let usage = answer.body.as_ref().map(Usage::of).unwrap_or_default();
                spans.push(usage.apply_to(lifecycle.ended(seen, message, outcome, error)));
            }
            Event::TimedOut { message, .. } => {
                let error = Some("timed_out".to_owned());
                spans.push(lifecycle.ended(seen, message, "timed_out", error));
            }
            Event::Lost { message, .. } => {
                let error = Some("handler_lost".to_owned());
                spans.push(lifecycle.ended(seen, message, "lost", error));
            }
            // No other event ends a request, or names its handler.
            _ => {}
        }
    }

    fn ended(
        &self,
        seen: &Seen<'_>,
        message: &MessageId,
        outcome: &str,
        error: Option<String>,
    ) -> Span {
        let id = ids::span(seen.workspace, &["request", message.as_str()]);
        let name = format!("invoke_agent {}", self.to);
        let span = Span::new((id, self.context), name, (self.at, seen.time()))
            .by(&self.to)
            .with("gen_ai.conversation.id", self.thread.as_str())
            .with("baton.message.id", message.as_str())
            .with("baton.message.from", self.from.as_str())
            .ending(outcome, seen.workspace, seen.revision())
            .failing(error);
        Span { kind: Kind::Client, ..span }
    }
}
