//! A reaction as it is kept, and as it is shown.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::calls::PendingCall;
use super::condition::On;
use super::webhook::{Secret, Webhook};
use crate::json::Json;
use crate::names::{AgentId, ReactionName};
use crate::numbers::Revision;
use crate::time::Timestamp;

/// Which events, and what to do then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// Which events.
    pub on: On,
    /// What to do.
    #[serde(rename = "do", default)]
    pub commands: Vec<Json>,
}

/// A reaction as it is kept. Cloning it is cheap.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Its name.
    pub name: ReactionName,
    /// What it does, and when. A reaction that somebody added has one part.
    pub parts: Vec<Arc<Part>>,
    /// What to call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webhook: Option<Webhook>,
    /// What to sign the calls with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<Secret>,
    /// Whether it runs.
    pub enabled: bool,
    /// Whether it comes with every workspace.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub built_in: bool,
    /// When it was added.
    pub added_at: Timestamp,
    /// Who added it; it acts in this name.
    pub added_by: AgentId,
    /// The revision that made it what it is.
    pub revision: Revision,
    /// How often it has run.
    #[serde(default)]
    pub runs: u64,
    /// How often it has failed.
    #[serde(default)]
    pub failures: u64,
    /// How it failed last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<Trouble>,
}

/// How a reaction failed last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ReactionTrouble"))]
pub struct Trouble {
    /// The code of the refusal.
    pub code: String,
    /// What went wrong.
    pub detail: String,
    /// When.
    pub at: Timestamp,
    /// In which revision.
    pub revision: Revision,
}

/// A reaction as callers see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reaction {
    /// Its name.
    pub name: ReactionName,
    /// Which events.
    pub on: On,
    /// What it does then: commands, with `{{field}}` for what the event says.
    #[serde(rename = "do", default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<Json>,
    /// What it calls then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webhook: Option<Webhook>,
    /// Whether it runs.
    pub enabled: bool,
    /// Whether it comes with every workspace.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub built_in: bool,
    /// When it was added.
    pub added_at: Timestamp,
    /// Who added it; it acts in this name.
    pub added_by: AgentId,
    /// The revision that made it what it is.
    pub revision: Revision,
    /// How often it has run.
    pub runs: u64,
    /// How often it has failed.
    pub failures: u64,
    /// How it failed last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<Trouble>,
    /// How many calls are still to be made.
    #[serde(default)]
    pub calls: u64,
}

impl Record {
    /// The reaction as callers see it, with so many calls still to be made.
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

/// What a snapshot holds of reactions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Which there are, by name.
    pub records: Vec<Record>,
    /// The number of the last call.
    pub last_call: u64,
    /// Calls that are still to be made, by number.
    pub calls: Vec<PendingCall>,
}
