//! Commands, queries, replies and events of rules.

use serde::{Deserialize, Serialize};

#[cfg(feature = "schema")]
use crate::limits;
use crate::names::{AgentId, RuleName, TaskType};
use crate::numbers::Revision;
use crate::pattern::Pattern;
use crate::primitive;
use crate::rule::{Check, CheckSpec, Proposal};
use crate::time::Timestamp;

/// Commands that change rules.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// `rule.add`: replaces a rule of the same name.
    Add(Box<Add>),
    /// `rule.remove`
    Remove {
        /// The name of the rule.
        name: RuleName,
    },
}

/// No signal is only for rules.
#[derive(Clone, Debug, PartialEq)]
pub enum Signal {}

impl Command {
    /// The rule that it is about.
    pub fn name(&self) -> &RuleName {
        match self {
            Self::Add(add) => &add.name,
            Self::Remove { name } => name,
        }
    }
}

/// Adds or replaces a rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Add {
    /// The name of the rule.
    pub name: RuleName,
    /// When it applies. If omitted, always.
    #[serde(default, skip_serializing_if = "On::is_any")]
    pub on: On,
    /// The requirement.
    pub check: CheckSpec,
    /// How serious a violation is.
    #[cfg_attr(feature = "schema", schemars(extend("default" = "error")))]
    #[serde(default, skip_serializing_if = "Severity::is_error")]
    pub severity: Severity,
    /// A message for the violator, shown before the details. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// When a rule applies: everything that is given must match.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "RuleOn"))]
#[serde(deny_unknown_fields, default)]
pub struct On {
    /// The task type. A hand-off without a task does not match. If omitted, any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_type: Option<Pattern>,
    /// The giver. If omitted, any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Pattern>,
    /// The receiver. A hand-off to a capability does not match. If omitted, any.
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

/// How serious a violation is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The hand-off is rejected.
    #[default]
    Error,
    /// The hand-off succeeds with a warning.
    Warning,
}

impl Severity {
    /// The value as text.
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

/// Queries about rules.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Query {
    /// `rule.list`: a page, by name.
    List {
        /// The maximum number of results.
        #[cfg_attr(feature = "schema", schemars(
            extend("default" = limits::PAGE_DEFAULT),
            range(min = 1, max = limits::PAGE_MAX),
        ))]
        #[serde(default)]
        limit: Option<usize>,
        /// The `cursor` of the previous page. If omitted, the first page is returned.
        #[serde(default)]
        cursor: Option<RuleName>,
    },
}

/// A rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rule {
    /// The name of the rule.
    pub name: RuleName,
    /// When it applies. Absent if always.
    #[serde(default, skip_serializing_if = "On::is_any")]
    pub on: On,
    /// The requirement.
    pub check: Check,
    /// How serious a violation is.
    pub severity: Severity,
    /// A message for the violator. Absent if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// When it was added.
    pub added_at: Timestamp,
    /// The agent that added it.
    pub added_by: AgentId,
    /// The revision of the last change.
    pub revision: Revision,
}

/// Replies about rules.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// One rule.
    Rule(Rule),
    /// A page of results, by name.
    Rules {
        /// The results on this page.
        rules: Vec<Rule>,
        /// The cursor of the next page. Absent on the last page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<RuleName>,
    },
}

/// Events of rules.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A rule was added or replaced.
    Added {
        /// The name of the rule.
        name: RuleName,
        /// When it applies.
        #[serde(default, skip_serializing_if = "On::is_any")]
        on: On,
        /// The requirement.
        check: Check,
        /// How serious a violation is.
        #[serde(default, skip_serializing_if = "Severity::is_error")]
        severity: Severity,
        /// A message for the violator.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// Whether it replaced a rule of the same name.
        replaced: bool,
    },
    /// A rule was removed.
    Removed {
        /// The name of the rule.
        name: RuleName,
    },
}

impl primitive::Command for Command {}

impl Event {
    /// The rule that it is about.
    pub fn name(&self) -> &RuleName {
        match self {
            Self::Added { name, .. } | Self::Removed { name } => name,
        }
    }
}

impl primitive::Event for Event {
    fn kind(&self) -> &str {
        match self {
            Self::Added { .. } => "rule.added",
            Self::Removed { .. } => "rule.removed",
        }
    }

    fn subject_parts(&self) -> [&str; 4] {
        ["rules/", self.name().as_str(), "", ""]
    }

    fn load(&self) -> usize {
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
