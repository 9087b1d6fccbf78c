//! Retention rules of checkpoints: how many are kept, and for how long.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::names::TaskId;
use crate::pattern::Pattern;

/// A retention rule. Labelled checkpoints and heads are always kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "CheckpointRule"))]
pub struct Rule {
    /// The tasks that it applies to.
    pub task: Pattern,
    /// The number of newest checkpoints to keep per task; labelled ones are not counted. Absent if
    /// the number is not bounded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<u64>,
    /// The maximum age in milliseconds. Absent if the age is not bounded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_age_ms: Option<u64>,
}

/// Every rule, by its pattern.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules(BTreeMap<Pattern, Rule>);

impl Rules {
    /// The rule for a task: the longest pattern that matches.
    pub fn of(&self, task: &TaskId) -> Option<&Rule> {
        let fitting = self.0.values().filter(|rule| rule.task.matches(task.as_str()));
        fitting.max_by_key(|rule| rule.task.as_str().len())
    }

    /// The rule with exactly this pattern.
    pub fn get(&self, pattern: &Pattern) -> Option<&Rule> {
        self.0.get(pattern)
    }

    /// Replaces the rule with the same pattern and returns the old one. A rule without bounds is
    /// removed.
    pub fn replace(&mut self, rule: Rule) -> Rule {
        let none = Rule { task: rule.task.clone(), keep: None, max_age_ms: None };
        let before = if rule == none {
            self.0.remove(&rule.task)
        } else {
            self.0.insert(rule.task.clone(), rule)
        };
        before.unwrap_or(none)
    }

    /// All rules, by pattern.
    pub fn all(&self) -> impl ExactSizeIterator<Item = &Rule> {
        self.0.values()
    }
}

impl FromIterator<Rule> for Rules {
    fn from_iter<I: IntoIterator<Item = Rule>>(rules: I) -> Self {
        Self(rules.into_iter().map(|rule| (rule.task.clone(), rule)).collect())
    }
}
