//! The vocabulary of user events, and their one rule.

use super::refusals::Rejection;
use serde::{Deserialize, Serialize};

use super::history::{History, Page};
use crate::json::{Json, given};
use crate::limits;
use crate::names::EventType;
use crate::refusal::json_fits;

/// What a type cannot begin with: what Baton itself speaks of, or may one day.
pub const RESERVED: [&str; 38] = [
    "agent",
    "artifact",
    "barrier",
    "baton",
    "blob",
    "checkpoint",
    "context",
    "contract",
    "dashboard",
    "event",
    "fleet",
    "handoff",
    "idempotency",
    "inbox",
    "join",
    "lock",
    "log",
    "message",
    "namespace",
    "pipeline",
    "policy",
    "reaction",
    "receipt",
    "request",
    "rule",
    "search",
    "secret",
    "semaphore",
    "server",
    "session",
    "state",
    "storage",
    "stream",
    "task",
    "topic",
    "transaction",
    "watch",
    "workspace",
];

/// What one may ask of the bus so that something happens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// `event.emit`
    Emit(Emit),
}

/// Says that something has happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Emit {
    /// What: words with dots between them, such as `deploy.finished`.
    #[serde(rename = "type")]
    pub kind: EventType,
    /// What there is to say about it.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub payload: Option<Json>,
}

/// What one may ask of the bus without anything happening.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Query {
    /// `event.history`: what happened in the workspace, of any type.
    History(Box<History>),
}

/// Answers of the bus.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// It was said.
    Emitted {
        /// What.
        #[serde(rename = "type")]
        kind: EventType,
        /// Under which subject it can be watched.
        subject: String,
    },
    /// What happened.
    Events(Page),
}

/// Facts of the bus.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// An agent says that something has happened.
    Emitted {
        /// What. Watchers see it as the type of the event itself.
        #[serde(rename = "type")]
        kind: EventType,
        /// What there is to say about it.
        #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
        payload: Option<Json>,
    },
}

impl Event {
    /// The event's type, as watchers and history know it: the one that was given.
    pub fn kind(&self) -> &str {
        let Self::Emitted { kind, .. } = self;
        kind.as_str()
    }

    /// Bytes of what the frame of an event has no room for.
    pub(crate) fn load(&self) -> usize {
        let Self::Emitted { payload, .. } = self;
        payload.as_ref().map_or(0, |payload| payload.as_bytes().len())
    }
}

/// Decides what is said: what happens, and the answer.
pub fn emit(emit: Emit) -> Result<(Event, Reply), Rejection> {
    let Emit { kind, payload } = emit;
    let word = kind.as_str().split('.').next().unwrap_or_default();
    if RESERVED.contains(&word) {
        let word = word.to_owned();
        return Err(Rejection::ReservedType { kind, word });
    }
    json_fits("payload", payload.as_ref(), limits::EVENT_BYTES_MAX)?;
    let subject = format!("events/{kind}");
    let event = Event::Emitted { kind: kind.clone(), payload };
    Ok((event, Reply::Emitted { kind, subject }))
}
