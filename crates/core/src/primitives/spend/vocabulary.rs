//! Commands, queries, replies and events of spending.

use serde::{Deserialize, Serialize};

use crate::names::{AgentId, TaskId};
use crate::numbers::Revision;
use crate::primitive;
use crate::spending::{Amounts, Budget, Payer, UsedUp};
use crate::time::Timestamp;

/// Commands that change what is spent, and budgets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// `spend.record`: what the acting agent has spent.
    Record(Spent),
    /// `spend.limit`: sets or removes a budget.
    Limit {
        /// The owner of the budget: `{"task": "t-7"}`, `{"agent": "ada"}` or `"workspace"`. If
        /// omitted, the workspace.
        #[serde(default)]
        of: Payer,
        /// The limits, which replace the previous ones. If omitted, there is no budget.
        #[serde(default)]
        budget: Budget,
    },
}

/// No signal is only for spending.
#[derive(Clone, Debug, PartialEq)]
pub enum Signal {}

/// The spending of the acting agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "RecordSpending"))]
#[serde(deny_unknown_fields)]
pub struct Spent {
    /// The task that it was spent on. It is charged to the tasks above it too. If omitted, it is
    /// charged to the agent and the workspace only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// Tokens of a language model.
    #[cfg_attr(feature = "schema", schemars(
        extend("default" = 0), range(max = crate::limits::SPENT_AT_ONCE_MAX),
    ))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Money, in millionths of the currency that the workspace uses.
    #[cfg_attr(feature = "schema", schemars(
        extend("default" = 0), range(max = crate::limits::SPENT_AT_ONCE_MAX),
    ))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
    /// Calls of a model or a tool.
    #[cfg_attr(feature = "schema", schemars(
        extend("default" = 1), range(max = crate::limits::SPENT_AT_ONCE_MAX),
    ))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
    /// The model or tool. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// A note. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Reject the record if it exceeds any budget. Use it before a call. If `false`, the record is
    /// always accepted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
}

/// Queries about what is spent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Query {
    /// `spend.get`: the total of a task, an agent or the workspace.
    Get {
        /// The task, with its subtasks. If omitted, the agent or the workspace.
        #[serde(default)]
        task: Option<TaskId>,
        /// The agent. If omitted, the task or the workspace.
        #[serde(default)]
        agent: Option<AgentId>,
    },
    /// `spend.list`: the latest records.
    List(List),
}

/// A page of records, latest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ListSpending"))]
#[serde(deny_unknown_fields)]
pub struct List {
    /// Only records of this task itself. If omitted, any task and none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// Only records of this agent. If omitted, any agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// The maximum number of results.
    #[cfg_attr(feature = "schema", schemars(
        extend("default" = crate::limits::PAGE_DEFAULT),
        range(min = 1, max = crate::limits::PAGE_MAX),
    ))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// The `cursor` of the previous page. If omitted, the first page is returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<u64>,
}

/// One record of spending.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "SpendEntry"))]
pub struct Record {
    /// Its number, counted from 1 in the workspace.
    pub number: u64,
    /// The agent that spent it.
    pub agent: AgentId,
    /// The task. Absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The amounts.
    pub spent: Amounts,
    /// The model or tool. Absent if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// A note. Absent if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// When it was recorded.
    pub time: Timestamp,
    /// The revision.
    pub revision: Revision,
}

/// The spending of a task with its subtasks, of an agent or of the workspace, and its budget.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "SpendAccount"))]
pub struct Account {
    /// The task, the agent or the workspace that it belongs to.
    pub of: Payer,
    /// The total.
    pub spent: Amounts,
    /// The budget. Absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// The remaining budget. Absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<Budget>,
    /// Whether a limit of the budget is reached.
    pub used_up: bool,
}

/// A total, and the budgets that apply to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "SpendTotal"))]
pub struct Total {
    /// The total, and its own budget.
    pub account: Account,
    /// The budgets of the tasks above, nearest first, and of the workspace. Absent if there are
    /// none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub above: Vec<Account>,
}

/// A new record, and what it was charged to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "SpendRecorded"))]
pub struct Recorded {
    /// The record.
    pub record: Record,
    /// The budgets that it was charged to. Absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub budgets: Vec<Account>,
}

/// Replies about what is spent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// A total, and the budgets that apply to it.
    Spend(Total),
    /// The recorded amounts.
    Recorded(Recorded),
    /// A page of records, latest first.
    Records {
        /// The results on this page.
        records: Vec<Record>,
        /// How many were ever recorded.
        recorded: u64,
        /// The number of the oldest record that is kept here; the history has the events of
        /// older ones. Absent if there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        oldest: Option<u64>,
        /// The cursor of the next page. Absent on the last page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<u64>,
    },
}

/// Events of spending.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The author of the commit spent something.
    Recorded {
        /// Its number.
        number: u64,
        /// The agent that is charged.
        by: AgentId,
        /// The tasks that are charged: the task itself, and those above it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tasks: Vec<TaskId>,
        /// The amounts.
        spent: Amounts,
        /// The model or tool.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// A note.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// A budget was set or removed.
    Limited {
        /// The owner of the budget.
        of: Payer,
        /// The limits; none if it was removed.
        budget: Budget,
    },
    /// A budget was used up.
    Exhausted(UsedUp),
}

impl primitive::Command for Command {}

impl primitive::Event for Event {
    fn kind(&self) -> &str {
        match self {
            Self::Recorded { .. } => "spend.recorded",
            Self::Limited { .. } => "spend.limited",
            Self::Exhausted(_) => "spend.exhausted",
        }
    }

    /// `spend/tasks/` and the task, `spend/agents/` and the agent, or `spend/workspace`.
    fn subject_parts(&self) -> [&str; 4] {
        let of = match self {
            Self::Recorded { tasks, by, .. } => {
                return match tasks.first() {
                    Some(task) => ["spend/", "tasks/", task.as_str(), ""],
                    None => ["spend/", "agents/", by.as_str(), ""],
                };
            }
            Self::Limited { of, .. } => of,
            Self::Exhausted(used_up) => &used_up.of,
        };
        match of {
            Payer::Task(task) => ["spend/", "tasks/", task.as_str(), ""],
            Payer::Agent(agent) => ["spend/", "agents/", agent.as_str(), ""],
            Payer::Workspace => ["spend/", "workspace", "", ""],
        }
    }

    fn load(&self) -> usize {
        match self {
            Self::Recorded { tasks, by, model, note, .. } => {
                let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
                let tasks = tasks.iter().map(|task| task.as_str().len() + 5);
                by.as_str().len() + tasks.sum::<usize>() + text(model) + text(note)
            }
            Self::Limited { .. } | Self::Exhausted(_) => 0,
        }
    }
}
