//! Commands, queries, replies and events of user events.

use serde::{Deserialize, Serialize};

use super::history::{History, Page};
use crate::json::{Json, given};
use crate::names::EventType;
use crate::primitive;

/// First words that a type cannot have: those that Baton uses or reserves.
pub const RESERVED: [&str; 40] = [
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
    "spend",
    "state",
    "storage",
    "stream",
    "task",
    "topic",
    "transaction",
    "wait",
    "watch",
    "workspace",
];

/// Commands of the event bus.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// `event.emit`
    Emit(Emit),
}

/// No signal is only for user events.
#[derive(Clone, Debug, PartialEq)]
pub enum Signal {}

/// Emits an event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Emit {
    /// The type: words with dots between them, such as `deploy.finished`.
    #[serde(rename = "type")]
    pub kind: EventType,
    /// Any JSON. Default: none.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub payload: Option<Json>,
}

/// Queries about events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Query {
    /// `event.history`: the events of the workspace, of any type.
    History(Box<History>),
}

/// Replies about events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The event was emitted.
    Emitted {
        /// The type.
        #[serde(rename = "type")]
        kind: EventType,
        /// The subject to watch it under.
        subject: String,
    },
    /// A page of events.
    Events(Page),
}

/// Events of the event bus.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// An agent emitted an event.
    Emitted {
        /// The type, which watches show as the type of the event.
        #[serde(rename = "type")]
        kind: EventType,
        /// The payload.
        #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
        payload: Option<Json>,
    },
}

impl primitive::Command for Command {}

impl primitive::Event for Event {
    fn kind(&self) -> &str {
        let Self::Emitted { kind, .. } = self;
        kind.as_str()
    }

    fn subject_parts(&self) -> [&str; 4] {
        ["events/", self.kind(), "", ""]
    }

    fn load(&self) -> usize {
        let Self::Emitted { payload, .. } = self;
        payload.as_ref().map_or(0, |payload| payload.as_bytes().len())
    }
}
