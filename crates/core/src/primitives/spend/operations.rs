//! The operations on spending and budgets.

use super::{Command, Query};
use crate::wire::operations;

operations! {
    Command::Record = "spend.record" -> "recorded", Post "/spend" Body, Work,
        side_effects(
            "The amount is charged to the task, the tasks above it, the agent and the workspace. \
             Once a budget is used up, its tasks cannot be claimed or get further subtasks, and \
             its agent cannot claim any task."
        ):
        "Record what was spent on a task, or reserve it before a call",
        {"task": "t-7", "tokens": 1250, "cost_micros": 18750, "calls": 1, "model": "m1"};
    Command::Limit = "spend.limit" -> "spend", Put "/budget" Body, SetUp,
        side_effects(
            "Waiting `task.claim` calls get the tasks that a larger budget allows to start."
        ):
        "Set or remove the budget of a task, an agent or the workspace",
        {"of": {"agent": "ada"}, "budget": {"tokens": 1000000, "cost_micros": 5000000}};
    Query::Get = "spend.get" -> "spend", Get "/spend" Query, Read, narrows_by_agent:
        "Get what a task with its subtasks, an agent or the workspace has spent",
        {"task": "t-7"};
    Query::List = "spend.list" -> "records", Get "/spend/records" Query, Read, narrows_by_agent:
        "List the latest records of spending", {"agent": "ada", "limit": 10};
}
