//! How many checkpoints are kept, and for how long.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::names::TaskId;
use crate::pattern::Pattern;

/// How many checkpoints of some tasks are kept, and for how long. Labels and heads are kept
/// whatever a rule says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "CheckpointRule"))]
pub struct Rule {
    /// Which tasks.
    pub task: Pattern,
    /// How many are kept of each, the newest; those with a label are not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<u64>,
    /// For how long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_age_ms: Option<u64>,
}

/// Every rule, by its pattern.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules(BTreeMap<Pattern, Rule>);

impl Rules {
    /// The rule for a task: of those that fit, that with the longest pattern.
    pub fn of(&self, task: &TaskId) -> Option<&Rule> {
        let fitting = self.0.values().filter(|rule| rule.task.matches(task.as_str()));
        fitting.max_by_key(|rule| rule.task.as_str().len())
    }

    /// The rule of exactly this pattern.
    pub fn get(&self, pattern: &Pattern) -> Option<&Rule> {
        self.0.get(pattern)
    }

    /// Puts a rule in the place of that which has the same pattern, which is handed back. A rule
    /// without bounds is none.
    pub fn replace(&mut self, rule: Rule) -> Rule {
        let none = Rule { task: rule.task.clone(), keep: None, max_age_ms: None };
        let before = if rule == none {
            self.0.remove(&rule.task)
        } else {
            self.0.insert(rule.task.clone(), rule)
        };
        before.unwrap_or(none)
    }

    /// All of them, by pattern.
    pub fn all(&self) -> impl ExactSizeIterator<Item = &Rule> {
        self.0.values()
    }
}

impl FromIterator<Rule> for Rules {
    fn from_iter<I: IntoIterator<Item = Rule>>(rules: I) -> Self {
        Self(rules.into_iter().map(|rule| (rule.task.clone(), rule)).collect())
    }
}
