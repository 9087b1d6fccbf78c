//! The indexed texts and fields of a task, a message, an entry and an event.
//!
//! A document is drafted from the record in a space, or from the event that created it: both must
//! give the same.

use super::kind::SearchKind;
use super::words::{words_in, words_of};
use crate::event::Event;
use crate::json::Json;
use crate::message::{Given, Message};
use crate::names::{AgentId, GroupName};
use crate::numbers::Revision;
use crate::space::batch::Batch;
use crate::state::Entry;
use crate::task::{Record, Status};
use crate::time::Timestamp;
use crate::{message, spend, state, stream, task, topic, user_event};

/// The number of indexed parts of a record. A phrase is within one of them.
pub(super) const PARTS: usize = 7;

/// The parts of a task, by number.
pub(super) mod part {
    pub(in crate::search) const TYPE: usize = 0;
    pub(in crate::search) const DESCRIPTION: usize = 1;
    pub(in crate::search) const DEFINITION: usize = 2;
    pub(in crate::search) const METADATA: usize = 3;
    pub(in crate::search) const RESULT: usize = 4;
    pub(in crate::search) const ERROR: usize = 5;
    pub(in crate::search) const REASON: usize = 6;
    /// For everything but tasks: its name, text or question.
    pub(in crate::search) const NAME: usize = 0;
    /// And its content or reply.
    pub(in crate::search) const CONTENT: usize = 1;
}

/// A document before it has a number: its fields as terms, and the words of its parts in order.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) kind: SearchKind,
    pub(super) subject: String,
    pub(super) revision: Revision,
    /// For events: the position in the commit, counted from one.
    pub(super) ordinal: u32,
    pub(super) created_at: Timestamp,
    pub(super) updated_at: Timestamp,
    /// Whether the record has ended, so that the space may forget it without an event.
    pub(super) is_ended: bool,
    pub(super) fields: Vec<String>,
    pub(super) parts: [Vec<String>; PARTS],
}

/// A field with its value as a term.
pub(super) fn field(name: &str, value: &str) -> String {
    format!("{name}:{value}")
}

/// When and by whom something was created.
struct Made<'a> {
    revision: Revision,
    time: Timestamp,
    by: &'a str,
}

fn in_json(value: Option<&Json>) -> Vec<String> {
    value.map(words_in).unwrap_or_default()
}

fn in_text(text: Option<&str>) -> Vec<String> {
    text.map(words_of).unwrap_or_default()
}

/// The words of a reply.
pub(super) fn in_answer(answer: Option<&Given>) -> Vec<String> {
    let said = answer.and_then(|given| given.body.as_ref().or(given.error.as_ref()));
    in_json(said)
}

impl Draft {
    fn new(kind: SearchKind, subject: String, made: &Made<'_>) -> Self {
        Self {
            fields: vec![field("kind", kind.word()), field("by", made.by)],
            kind,
            subject,
            revision: made.revision,
            ordinal: 0,
            created_at: made.time,
            updated_at: made.time,
            is_ended: false,
            parts: Default::default(),
        }
    }

    fn with(mut self, name: &str, value: Option<&str>) -> Self {
        self.fields.extend(value.map(|value| field(name, value)));
        self
    }

    /// A task from its record.
    pub(super) fn of_task(record: &Record) -> Self {
        let (terms, execution) = (record.terms.as_ref(), record.execution.as_ref());
        let holder = record.lease.as_ref().map(|lease| &lease.holder);
        let worker =
            holder.or_else(|| execution.and_then(|execution| execution.worked_by.as_ref()));
        let made = Made {
            revision: record.revision,
            time: record.updated_at,
            by: record.requested_by.as_str(),
        };
        let mut draft = Self::new(SearchKind::Task, format!("tasks/{}", record.id), &made)
            .with("type", Some(record.task_type.as_str()))
            .with("status", Some(record.status.word()))
            .with("group", record.group().map(GroupName::as_str))
            .with("agent", worker.map(AgentId::as_str));
        draft.created_at = record.created_at;
        draft.is_ended = record.status.is_finished();
        draft.parts = [
            words_of(record.task_type.as_str()),
            in_text(terms.and_then(|terms| terms.description.as_deref())),
            in_json(record.definition.as_ref()),
            in_json(terms.and_then(|terms| terms.metadata.as_ref())),
            in_json(execution.and_then(|execution| execution.result.as_ref())),
            in_json(execution.and_then(|execution| execution.error.as_ref())),
            in_text(execution.and_then(|execution| execution.reason.as_deref())),
        ];
        draft
    }

    /// A task from its creation.
    pub(super) fn of_created(batch: &Batch, by: &AgentId, created: &task::Created) -> Self {
        let made = Made { revision: batch.revision, time: batch.time, by: by.as_str() };
        let mut draft = Self::new(SearchKind::Task, format!("tasks/{}", created.task), &made)
            .with("type", Some(created.task_type.as_str()))
            .with("status", Some(Status::Pending.word()))
            .with("group", created.group.as_ref().map(GroupName::as_str));
        draft.parts[part::TYPE] = words_of(created.task_type.as_str());
        draft.parts[part::DESCRIPTION] = in_text(created.description.as_deref());
        draft.parts[part::DEFINITION] = in_json(created.definition.as_ref());
        draft.parts[part::METADATA] = in_json(created.metadata.as_ref());
        draft
    }

    /// A message from its record.
    pub(super) fn of_message(message: &Message) -> Self {
        let made = Made {
            revision: message.revision,
            time: message.updated_at,
            by: message.from.as_str(),
        };
        let subject = format!("inbox/{}/{}", message.to, message.id);
        let mut draft = Self::new(SearchKind::Message, subject, &made)
            .with("type", Some(message_type(message.request.is_some())))
            .with("status", Some(message.status.word()))
            .with("agent", Some(message.to.as_str()));
        draft.created_at = message.sent_at;
        draft.is_ended = !message.status.is_open();
        draft.parts[part::NAME] = words_in(&message.body);
        let answer = message.request.as_ref().and_then(|asked| asked.answer.as_ref());
        draft.parts[part::CONTENT] = in_answer(answer);
        draft
    }

    /// A message from its creation.
    pub(super) fn of_sent(batch: &Batch, by: &AgentId, sent: &message::Sent) -> Self {
        let made = Made { revision: batch.revision, time: batch.time, by: by.as_str() };
        let subject = format!("inbox/{}/{}", sent.to, sent.message);
        let mut draft = Self::new(SearchKind::Message, subject, &made)
            .with("type", Some(message_type(sent.request.is_some())))
            .with("status", Some(message::Status::Waiting.word()))
            .with("agent", Some(sent.to.as_str()));
        draft.parts[part::NAME] = words_in(&sent.body);
        draft
    }

    /// An entry from its record.
    pub(super) fn of_entry(entry: &Entry) -> Self {
        let (revision, time) = (entry.revision(), entry.updated_at());
        let made = Made { revision, time, by: entry.updated_by().as_str() };
        Self::of_key(&made, entry.namespace().as_str(), entry.key(), &entry.json())
    }

    /// An entry from an event; none if it was deleted.
    pub(super) fn of_state(batch: &Batch, by: &AgentId, event: &state::Event) -> Option<Self> {
        let state::Event::Set { namespace, key, value, .. } = event else { return None };
        let made = Made { revision: batch.revision, time: batch.time, by: by.as_str() };
        Some(Self::of_key(&made, namespace.as_str(), key.as_str(), value))
    }

    fn of_key(made: &Made<'_>, namespace: &str, key: &str, value: &Json) -> Self {
        let mut draft = Self::new(SearchKind::Key, format!("state/{namespace}/{key}"), made)
            .with("agent", Some(made.by))
            .with("namespace", Some(namespace));
        draft.parts[part::NAME] = words_of(key);
        draft.parts[part::CONTENT] = words_in(value);
        draft
    }

    /// An event. Its content is indexed only if it is stored nowhere else: the value of an entry,
    /// for example, is found with the entry.
    pub(super) fn of_event(batch: &Batch, by: &AgentId, index: usize, event: &Event) -> Self {
        let made = Made { revision: batch.revision, time: batch.time, by: by.as_str() };
        let subject = event.subject();
        let mut name = words_of(event.kind());
        name.extend(words_of(&subject));
        name.truncate(super::words::WORDS_MAX);
        let mut draft = Self::new(SearchKind::Event, subject, &made)
            .with("type", Some(event.kind()))
            .with("agent", Some(made.by));
        draft.ordinal = u32::try_from(index).expect("commits are small") + 1;
        draft.parts[part::NAME] = name;
        draft.parts[part::CONTENT] = said(event);
        draft
    }
}

/// The type of a message: mail or a request.
fn message_type(is_request: bool) -> &'static str {
    if is_request { "request" } else { "mail" }
}

/// The words of the content of an event that is stored nowhere else.
fn said(event: &Event) -> Vec<String> {
    if let Event::UserEvent(user_event::Event::Emitted { payload, .. }) = event {
        return in_json(payload.as_ref());
    }
    if let Event::Topic(topic::Event::Posted { body, .. }) = event {
        return words_in(body);
    }
    if let Event::Stream(stream::Event::Closed { reason, .. }) = event {
        return in_text(reason.as_deref());
    }
    if let Event::Spend(spend::Event::Recorded { model, note, .. }) = event {
        let mut words = in_text(model.as_deref());
        words.extend(in_text(note.as_deref()));
        words.truncate(super::words::WORDS_MAX);
        return words;
    }
    Vec::new()
}
