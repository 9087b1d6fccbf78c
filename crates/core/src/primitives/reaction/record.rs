//! A reaction as it is stored and shown.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::calls::PendingCall;
use super::condition::On;
use super::webhook::{Secret, Webhook};
use crate::json::Json;
use crate::names::{AgentId, ReactionName};
use crate::numbers::Revision;
use crate::time::Timestamp;

/// The events, and the commands to execute.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// The events that it runs on.
    pub on: On,
    /// The commands.
    #[serde(rename = "do", default)]
    pub commands: Vec<Json>,
}

/// A reaction as it is stored. Cloning it is cheap.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The name.
    pub name: ReactionName,
    /// Its commands and conditions. A reaction that an agent added has one part.
    pub parts: Vec<Arc<Part>>,
    /// The webhook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webhook: Option<Webhook>,
    /// The signing secret of the webhook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<Secret>,
    /// Whether it is enabled.
    pub enabled: bool,
    /// Whether it exists in every workspace.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub built_in: bool,
    /// When it was added.
    pub added_at: Timestamp,
    /// The agent that added it, as which it runs.
    pub added_by: AgentId,
    /// The revision of the last change.
    pub revision: Revision,
    /// How often it has run.
    #[serde(default)]
    pub runs: u64,
    /// How often it has failed.
    #[serde(default)]
    pub failures: u64,
    /// The last failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<Trouble>,
}

/// The last failure of a reaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ReactionTrouble"))]
pub struct Trouble {
    /// The code of the rejection.
    pub code: String,
    /// The error, in words.
    pub detail: String,
    /// When it happened.
    pub at: Timestamp,
    /// The revision of the commit.
    pub revision: Revision,
}

/// A reaction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reaction {
    /// The name of the reaction.
    pub name: ReactionName,
    /// The events that it runs on.
    pub on: On,
    /// The commands to execute. `{{field}}` is replaced by a field of the event. Absent if there
    /// are none.
    #[serde(rename = "do", default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<Json>,
    /// The webhook to call. Absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webhook: Option<Webhook>,
    /// Whether it is enabled.
    pub enabled: bool,
    /// Whether it exists in every workspace. Absent if `false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub built_in: bool,
    /// When it was added.
    pub added_at: Timestamp,
    /// The agent that added it, as which it runs.
    pub added_by: AgentId,
    /// The revision of the last change.
    pub revision: Revision,
    /// How often it has run.
    pub runs: u64,
    /// How often it has failed.
    pub failures: u64,
    /// The last failure. Absent if it never failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<Trouble>,
    /// The number of pending webhook calls.
    #[serde(default)]
    pub calls: u64,
}

impl Record {
    /// The reaction as clients see it, with the number of pending calls.
    pub fn shown(&self, calls: u64) -> Reaction {
        let commands = self.parts.iter().flat_map(|part| part.commands.iter().cloned());
        Reaction {
            name: self.name.clone(),
            on: self.parts.first().map(|part| part.on.clone()).unwrap_or_default(),
            commands: commands.collect(),
            webhook: self.webhook.clone(),
            enabled: self.enabled,
            built_in: self.built_in,
            added_at: self.added_at,
            added_by: self.added_by.clone(),
            revision: self.revision,
            runs: self.runs,
            failures: self.failures,
            trouble: self.trouble.clone(),
            calls,
        }
    }
}

/// The reactions in a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// The reactions, by name.
    pub records: Vec<Record>,
    /// The number of the last call.
    pub last_call: u64,
    /// Pending calls, by number.
    pub calls: Vec<PendingCall>,
}
