//! The words of rules.

use serde::{Deserialize, Serialize};

use crate::names::{AgentId, RuleName, TaskType};
use crate::numbers::Revision;
use crate::pattern::Pattern;
use crate::rule::{Check, CheckSpec, Proposal};
use crate::time::Timestamp;

/// What one may ask of rules so that they change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// `rule.add`: a rule of the same name is replaced.
    Add(Box<Add>),
    /// `rule.remove`
    Remove {
        /// Which.
        name: RuleName,
    },
}

impl Command {
    /// The rule it is about.
    pub fn name(&self) -> &RuleName {
        match self {
            Self::Add(add) => &add.name,
            Self::Remove { name } => name,
        }
    }
}

/// Adds a rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Add {
    /// Its name.
    pub name: RuleName,
    /// When it applies; always, if nothing is said.
    #[serde(default, skip_serializing_if = "On::is_any")]
    pub on: On,
    /// What it demands.
    pub check: CheckSpec,
    /// How serious it is.
    #[serde(default, skip_serializing_if = "Severity::is_error")]
    pub severity: Severity,
    /// What to tell whoever breaks it, before what is wrong in particular.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// When a rule applies: all that is given must match.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "RuleOn"))]
#[serde(deny_unknown_fields, default)]
pub struct On {
    /// What kind of work it is. Nothing matches where there is no task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_type: Option<Pattern>,
    /// Who hands it over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Pattern>,
    /// Who shall have it. Nothing matches where that is nobody in particular.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Pattern>,
}

impl On {
    /// Whether the rule always applies.
    pub fn is_any(&self) -> bool {
        self.task_type.is_none() && self.from.is_none() && self.to.is_none()
    }

    /// Whether the rule applies to a proposal.
    pub fn matches(&self, proposal: &Proposal<'_>) -> bool {
        let fits = |pattern: &Option<Pattern>, text: Option<&str>| {
            let Some(pattern) = pattern else { return true };
            text.is_some_and(|text| pattern.matches(text))
        };
        fits(&self.task_type, proposal.task_type.map(TaskType::as_str))
            && fits(&self.from, Some(proposal.from.as_str()))
            && fits(&self.to, proposal.to.map(AgentId::as_str))
    }
}

/// How serious it is to break a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The hand-off does not happen.
    #[default]
    Error,
    /// The hand-off happens, and both sides are told.
    Warning,
}

impl Severity {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
    fn is_error(&self) -> bool {
        *self == Self::Error
    }
}

/// What one may ask of rules without changing them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Query {
    /// `rule.list`: a page, by name.
    List {
        /// How many at most.
        #[serde(default)]
        limit: Option<usize>,
        /// Where the page before ended.
        #[serde(default)]
        cursor: Option<RuleName>,
    },
}

/// A rule as callers see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rule {
    /// Its name.
    pub name: RuleName,
    /// When it applies; always, if nothing is said.
    #[serde(default, skip_serializing_if = "On::is_any")]
    pub on: On,
    /// What it demands.
    pub check: Check,
    /// How serious it is.
    pub severity: Severity,
    /// What to tell whoever breaks it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// When it was added.
    pub added_at: Timestamp,
    /// Who added it.
    pub added_by: AgentId,
    /// The revision that made it what it is.
    pub revision: Revision,
}

/// Answers of rules.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// One rule.
    Rule(Rule),
    /// A page of them, by name.
    Rules {
        /// The page.
        rules: Vec<Rule>,
        /// Where to go on, if there is more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<RuleName>,
    },
}

/// Facts about rules.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// There is a new one, or another one under the same name.
    Added {
        /// Its name.
        name: RuleName,
        /// When it applies.
        #[serde(default, skip_serializing_if = "On::is_any")]
        on: On,
        /// What it demands.
        check: Check,
        /// How serious it is.
        #[serde(default, skip_serializing_if = "Severity::is_error")]
        severity: Severity,
        /// What to tell whoever breaks it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// Whether another rule had the name until now.
        replaced: bool,
    },
    /// It is gone.
    Removed {
        /// Which.
        name: RuleName,
    },
}

impl Event {
    /// The event's type, as watchers and history know it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Added { .. } => "rule.added",
            Self::Removed { .. } => "rule.removed",
        }
    }

    /// The rule it is about.
    pub fn name(&self) -> &RuleName {
        match self {
            Self::Added { name, .. } | Self::Removed { name } => name,
        }
    }

    /// Bytes of what the frame of an event has no room for.
    pub(crate) fn load(&self) -> usize {
        match self {
            Self::Added { on, check, message, .. } => {
                let patterns = [&on.task_type, &on.from, &on.to];
                let bytes = |pattern: &Pattern| pattern.as_str().len() + 16;
                let patterns = patterns.into_iter().flatten().map(bytes).sum::<usize>();
                patterns + check.weight() + message.as_ref().map_or(0, String::len)
            }
            Self::Removed { .. } => 0,
        }
    }
}
