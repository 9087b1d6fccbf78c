//! Updates of the documents of tasks and messages by events.
//!
//! The result must equal the draft of the record after the event. Every event about a record
//! counts, since each changes its revision and time.

use super::draft::{field, in_answer, part};
use super::words::{words_in, words_of};
use crate::message;
use crate::task;
use crate::task::Outcome;
use crate::task::{Status, Verdict};

/// A part of a document, and its new words.
type Part = (usize, Vec<String>);

/// The effect of an event on a document.
#[derive(Debug, Default)]
pub(super) struct Amendment {
    /// Replaced fields, by name; removed if none is given.
    pub(super) fields: Vec<(&'static str, Option<String>)>,
    /// Parts whose words are replaced.
    pub(super) parts: Vec<Part>,
    /// The new subject, if it changes.
    pub(super) subject: Option<String>,
    /// Whether it has ended, if that changes.
    pub(super) is_ended: Option<bool>,
}

impl Amendment {
    fn status(mut self, word: &'static str) -> Self {
        self.fields.push(("status", Some(field("status", word))));
        self
    }

    fn agent(mut self, agent: Option<&str>) -> Self {
        self.fields.push(("agent", agent.map(|agent| field("agent", agent))));
        self
    }

    fn part(mut self, number: usize, words: Option<Vec<String>>) -> Self {
        self.parts.extend(words.map(|words| (number, words)));
        self
    }

    /// A change of the status of a task. The last holder of a finished task is kept.
    fn turned(self, status: Status) -> Self {
        let is_ended = Some(status.is_finished());
        let turned = Self { is_ended, ..self.status(status.word()) };
        if status.is_finished() { turned } else { turned.agent(None) }
    }

    /// The effect of an event on a task.
    pub(super) fn task(event: &task::Event) -> Self {
        let amended = Self::default();
        let reason =
            |reason: &Option<String>| Some(reason.as_deref().map(words_of).unwrap_or_default());
        match event {
            task::Event::Claimed { holder, .. } => {
                amended.status(Status::InProgress.word()).agent(Some(holder.as_str()))
            }
            task::Event::HandedOver { holder, .. } => amended.agent(Some(holder.as_str())),
            task::Event::HandedOff { .. } => amended.turned(Status::HandedOff),
            task::Event::Released { reason: why, .. }
            | task::Event::Retried { reason: why, .. } => {
                amended.turned(Status::Pending).part(part::REASON, reason(why))
            }
            task::Event::Completed { result, .. } => amended
                .turned(Status::Completed)
                .part(part::RESULT, result.as_ref().map(words_in))
                .part(part::ERROR, Some(Vec::new())),
            // The agent stays: its work waits for review.
            task::Event::Submitted { result, .. } => amended
                .status(Status::WaitingReview.word())
                .part(part::RESULT, result.as_ref().map(words_in))
                .part(part::ERROR, Some(Vec::new())),
            task::Event::Cancelled { reason: why, .. } => {
                amended.turned(Status::Cancelled).part(part::REASON, reason(why))
            }
            task::Event::Failed { error, outcome, .. } => {
                let status = match outcome {
                    Outcome::Retry { .. } | Outcome::Reassigned { .. } => Status::Pending,
                    Outcome::Failed => Status::Failed,
                    Outcome::Review => Status::WaitingReview,
                };
                amended.turned(status).part(part::ERROR, Some(words_in(error)))
            }
            task::Event::Reviewed { verdict, note, result, .. } => {
                let status = match verdict {
                    Verdict::Retry => Status::Pending,
                    Verdict::Complete => Status::Completed,
                    Verdict::Fail => Status::Failed,
                };
                amended
                    .turned(status)
                    .part(part::REASON, reason(note))
                    .part(part::RESULT, result.as_ref().map(words_in))
            }
            task::Event::Updated { description, definition, metadata, result, .. } => amended
                .part(part::DESCRIPTION, description.as_deref().map(words_of))
                .part(part::DEFINITION, definition.as_ref().map(words_in))
                .part(part::METADATA, metadata.as_ref().map(words_in))
                .part(part::RESULT, result.as_ref().map(words_in)),
            task::Event::Created(_)
            | task::Event::Queued { .. }
            | task::Event::GaveUp { .. }
            | task::Event::Renewed { .. }
            | task::Event::Progressed { .. }
            | task::Event::Ready { .. }
            | task::Event::Offered { .. }
            | task::Event::Abandoned { .. }
            | task::Event::TakenBack { .. } => amended,
        }
    }

    /// The effect of an event on a message.
    pub(super) fn message(event: &message::Event) -> Self {
        let status = match event {
            message::Event::Delivered { .. } => message::Status::Delivered,
            message::Event::Returned { .. }
            | message::Event::Requeued { .. }
            | message::Event::Rerouted { .. } => message::Status::Waiting,
            message::Event::Replied { .. } => message::Status::Replied,
            message::Event::Acked { .. } => message::Status::Acked,
            message::Event::Died { .. } => message::Status::Dead,
            message::Event::Expired { .. } => message::Status::Expired,
            message::Event::TimedOut { .. } => message::Status::TimedOut,
            message::Event::Lost { .. } => message::Status::Lost,
            message::Event::Sent(_)
            | message::Event::Rejoined { .. }
            | message::Event::Queued { .. }
            | message::Event::GaveUp { .. }
            | message::Event::Polled { .. }
            | message::Event::HandlerAdded { .. }
            | message::Event::HandlerRemoved { .. }
            | message::Event::HandlersGone { .. } => return Self::default(),
        };
        let amended = Self { is_ended: Some(!status.is_open()), ..Self::default() };
        let amended = amended.status(status.word());
        if let message::Event::Rerouted { message, next, .. } = event {
            let subject = Some(format!("inbox/{next}/{message}"));
            return Self { subject, ..amended.agent(Some(next.as_str())) };
        }
        if let message::Event::Replied { answer, .. } = event {
            return amended.part(part::CONTENT, Some(in_answer(Some(answer))));
        }
        amended
    }
}
