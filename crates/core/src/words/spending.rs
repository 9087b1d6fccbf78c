//! Amounts that work costs, and budgets for them. All are integers: money is counted in millionths
//! of the currency that the workspace uses.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::limits;
use crate::names::{AgentId, TaskId};
use crate::refusal::{OutOfRange, within};

/// An amount of spending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "SpendAmounts"))]
pub struct Amounts {
    /// Tokens of a language model.
    pub tokens: u64,
    /// Money, in millionths of the currency that the workspace uses.
    pub cost_micros: u64,
    /// Calls of a model or a tool.
    pub calls: u64,
}

/// A limit for each unit. A unit without a limit is not limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "SpendBudget"))]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// The maximum number of tokens. If omitted, tokens are not limited.
    #[cfg_attr(feature = "schema", schemars(range(max = limits::SPENT_MAX)))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// The maximum amount of money, in millionths of the currency. If omitted, money is not
    /// limited.
    #[cfg_attr(feature = "schema", schemars(range(max = limits::SPENT_MAX)))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
    /// The maximum number of calls. If omitted, calls are not limited.
    #[cfg_attr(feature = "schema", schemars(range(max = limits::SPENT_MAX)))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
}

/// A unit of spending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "SpendUnit"))]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Tokens.
    Tokens,
    /// Money, in millionths of the currency.
    CostMicros,
    /// Calls.
    Calls,
}

/// The accounts that spending is charged to, and that can have a budget.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "SpendPayer"))]
#[serde(rename_all = "snake_case")]
pub enum Payer {
    /// A task, with all its subtasks.
    Task(TaskId),
    /// An agent.
    Agent(AgentId),
    /// The workspace.
    #[default]
    Workspace,
}

/// A budget that is used up.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
#[error("the budget of {of} is used up: {used} of {limit} {unit}")]
pub struct UsedUp {
    /// The owner of the budget.
    pub of: Payer,
    /// The unit.
    pub unit: Unit,
    /// The limit.
    pub limit: u64,
    /// The used amount.
    pub used: u64,
}

impl Unit {
    /// Every unit.
    pub const ALL: [Self; 3] = [Self::Tokens, Self::CostMicros, Self::Calls];

    /// The unit as on the wire.
    pub fn word(self) -> &'static str {
        match self {
            Self::Tokens => "tokens",
            Self::CostMicros => "cost_micros",
            Self::Calls => "calls",
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word())
    }
}

impl fmt::Display for Payer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Task(task) => write!(formatter, "task `{task}`"),
            Self::Agent(agent) => write!(formatter, "agent `{agent}`"),
            Self::Workspace => formatter.write_str("the workspace"),
        }
    }
}

impl Amounts {
    /// The amount in a unit.
    pub fn in_unit(&self, unit: Unit) -> u64 {
        match unit {
            Unit::Tokens => self.tokens,
            Unit::CostMicros => self.cost_micros,
            Unit::Calls => self.calls,
        }
    }

    /// The sum of two.
    #[must_use]
    pub fn plus(&self, more: &Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(more.tokens),
            cost_micros: self.cost_micros.saturating_add(more.cost_micros),
            calls: self.calls.saturating_add(more.calls),
        }
    }

    /// Whether all are 0.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

impl Budget {
    /// The limit of a unit.
    pub fn limit(&self, unit: Unit) -> Option<u64> {
        match unit {
            Unit::Tokens => self.tokens,
            Unit::CostMicros => self.cost_micros,
            Unit::Calls => self.calls,
        }
    }

    /// Whether nothing is limited.
    pub fn is_unlimited(&self) -> bool {
        *self == Self::default()
    }

    /// The remaining amount.
    #[must_use]
    pub fn left(&self, spent: &Amounts) -> Self {
        let left = |unit| Some(self.limit(unit)?.saturating_sub(spent.in_unit(unit)));
        Self {
            tokens: left(Unit::Tokens),
            cost_micros: left(Unit::CostMicros),
            calls: left(Unit::Calls),
        }
    }

    /// The first unit whose limit is reached.
    pub fn used_up(&self, of: &Payer, spent: &Amounts) -> Option<UsedUp> {
        Unit::ALL.into_iter().find_map(|unit| {
            let (limit, used) = (self.limit(unit)?, spent.in_unit(unit));
            (used >= limit).then(|| UsedUp { of: of.clone(), unit, limit, used })
        })
    }

    /// The first unit whose limit is exceeded.
    pub fn exceeded(&self, spent: &Amounts) -> Option<Unit> {
        let is_over = |unit: &Unit| self.limit(*unit).is_some_and(|it| spent.in_unit(*unit) > it);
        Unit::ALL.into_iter().find(is_over)
    }

    /// Refuses limits that no total can reach.
    pub fn check(&self) -> Result<(), OutOfRange> {
        for unit in Unit::ALL {
            within(unit.word(), self.limit(unit), 0, (0, limits::SPENT_MAX))?;
        }
        Ok(())
    }
}
