//! The spending that agents report, and the budgets that they are given.

use baton_core::spend::{Budget, Command, List, Payer, Query as SpendQuery, Spent};
use baton_core::{AgentId, Query, TaskId};

use crate::actors::inputs::Inputs;

/// A small budget.
pub fn budget(inputs: &mut Inputs<'_>) -> Budget {
    let calls = inputs.rng.once_in(2).then(|| inputs.rng.between(0, 4));
    let tokens = inputs.rng.once_in(2).then(|| inputs.rng.between(0, 300));
    Budget { tokens, cost_micros: None, calls }
}

/// A record, or a change of a budget.
pub fn act(inputs: &mut Inputs<'_>, task: Option<TaskId>) -> Command {
    match (inputs.rng.below(12), task) {
        (0..=1, Some(task)) => {
            let is_lifted = inputs.rng.once_in(2);
            let budget = if is_lifted { Budget::default() } else { budget(inputs) };
            Command::Limit { of: Payer::Task(task), budget }
        }
        (2, _) => {
            let agent = AgentId::parse(&format!("a{}", inputs.rng.below(4)));
            let of = Payer::Agent(agent.expect("a good name"));
            Command::Limit { of, budget: wide(inputs) }
        }
        (3, _) => Command::Limit { of: Payer::Workspace, budget: wide(inputs) },
        (_, task) => Command::Record(Spent {
            task,
            tokens: Some(inputs.rng.between(0, 200)),
            cost_micros: inputs.rng.once_in(3).then(|| inputs.rng.between(0, 5_000)),
            calls: None,
            model: None,
            note: None,
            strict: inputs.rng.once_in(2),
        }),
    }
}

/// No limit, usually: what is used up stops everything. Many records do not fit at the end of one.
fn wide(inputs: &mut Inputs<'_>) -> Budget {
    let calls = inputs.rng.once_in(4).then(|| inputs.rng.between(1, 30));
    let tokens = inputs.rng.once_in(3).then(|| inputs.rng.between(100, 1_500));
    Budget { calls, tokens, ..Budget::default() }
}

/// A query.
pub fn question(inputs: &mut Inputs<'_>, task: Option<TaskId>) -> Query {
    match (inputs.rng.below(4), task) {
        (0, Some(task)) => SpendQuery::Get { task: Some(task), agent: None }.into(),
        (1, _) => SpendQuery::Get { task: None, agent: Some(inputs.agent.clone()) }.into(),
        (2, _) => SpendQuery::Get { task: None, agent: None }.into(),
        _ => SpendQuery::List(List::default()).into(),
    }
}
