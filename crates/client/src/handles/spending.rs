//! The spending of a workspace, and its budgets.

use baton_core::spend::{Budget, Command, List, Payer, Query, Record, Recorded, Spent, Total};
use baton_core::{AgentId, TaskId};

use crate::request::request;
use crate::{Error, Spending};

impl Spending {
    /// Records what this agent has spent: one call, and what else is set.
    pub fn record(&self) -> RecordingSpending {
        RecordingSpending::new(&self.workspace, Ok(Spent::default()))
    }

    /// Sets the budget of a task, with all its subtasks. An empty budget removes it.
    pub async fn limit_task(&self, task: &str, budget: Budget) -> Result<Total, Error> {
        self.limit(Payer::Task(TaskId::parse(task)?), budget).await
    }

    /// Sets the budget of an agent. An empty budget removes it.
    pub async fn limit_agent(&self, agent: &str, budget: Budget) -> Result<Total, Error> {
        self.limit(Payer::Agent(AgentId::parse(agent)?), budget).await
    }

    /// Sets the budget of the workspace. An empty budget removes it.
    pub async fn limit_workspace(&self, budget: Budget) -> Result<Total, Error> {
        self.limit(Payer::Workspace, budget).await
    }

    async fn limit(&self, of: Payer, budget: Budget) -> Result<Total, Error> {
        self.workspace.run(Command::Limit { of, budget }).await
    }

    /// Reads what a task has cost, with all its subtasks, and the budgets that apply to it.
    pub async fn of_task(&self, task: &str) -> Result<Total, Error> {
        let task = Some(TaskId::parse(task)?);
        self.workspace.query(Query::Get { task, agent: None }).await
    }

    /// Reads what an agent has spent.
    pub async fn of_agent(&self, agent: &str) -> Result<Total, Error> {
        let agent = Some(AgentId::parse(agent)?);
        self.workspace.query(Query::Get { task: None, agent }).await
    }

    /// Reads what the workspace has spent.
    pub async fn of_workspace(&self) -> Result<Total, Error> {
        self.workspace.query(Query::Get { task: None, agent: None }).await
    }

    /// Lists the records that match, latest first; at most as many as the limit, if there is one.
    pub async fn list(&self, list: List) -> Result<Vec<Record>, Error> {
        let page = |cursor: Option<u64>| {
            Query::List(List { cursor: cursor.or(list.cursor), ..list.clone() })
        };
        self.workspace.pages(list.limit, page).await
    }
}

request! {
    /// Records spending when it is awaited.
    RecordingSpending(Spent) -> Recorded: |workspace, spent|
        workspace.run(Command::Record(spent));
    /// Sets the task that it was spent on.
    task(task: &str) |spent| spent.task = Some(TaskId::parse(task)?);
    /// Sets the tokens.
    tokens(tokens: u64) |spent| spent.tokens = Some(tokens);
    /// Sets the money, in millionths of the currency.
    cost_micros(micros: u64) |spent| spent.cost_micros = Some(micros);
    /// Sets the number of calls; without this, 1.
    calls(calls: u64) |spent| spent.calls = Some(calls);
    /// Sets the model or tool.
    model(model: &str) |spent| spent.model = Some(model.to_owned());
    /// Adds a note.
    note(note: &str) |spent| spent.note = Some(note.to_owned());
    /// Refuses what does not fit into every budget, for a call that has not been made yet.
    strict() |spent| spent.strict = true;
}
