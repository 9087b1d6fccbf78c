//! `baton spend`: what tasks and agents cost, and how much they may.

use baton_core::names::short;
use baton_core::spend::{Account, Amounts, Budget, List, Payer, Total, Unit};
use baton_core::{AgentId, TaskId};
use clap::{Args, Subcommand};
use serde::Serialize;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;

const HELP: &str = "\
Examples:
  baton spend record --task t-7 --tokens 1250 --cost-micros 18750 --model m1
  baton spend record --task t-7 --tokens 4000 --strict && ./ask-model.sh
  baton spend show --task t-7                       with all its subtasks, and what is left
  baton spend show                                  the whole workspace
  baton spend ls --of ada
  baton spend limit --task t-7 --tokens 100000 --cost-micros 2000000
  baton spend limit --of ada --calls 500
  baton spend limit --tokens 10000000               the whole workspace
  baton spend limit --of ada                        remove the budget

Money is counted in millionths of a currency, so that all amounts are integers. What was spent is
always recorded. With --strict, it is refused unless it fits into every budget. When a budget is
used up, tasks under it cannot be claimed and get no more subtasks. Work that has started can be
finished.";

/// Record what tasks and agents cost, and set budgets
#[derive(Args)]
#[command(after_help = HELP)]
pub(crate) struct Spend {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Record(Record),
    Limit(Limit),
    /// Show a total and what is left of the budgets that apply
    Show(Whose),
    /// List the latest records
    Ls(Whose),
}

#[derive(Args)]
struct Whose {
    /// Task, with all its subtasks
    #[arg(long, value_name = "TASK", conflicts_with = "of_agent")]
    task: Option<String>,
    /// Agent [default: the whole workspace]
    #[arg(long = "of", value_name = "AGENT")]
    of_agent: Option<String>,
}

/// Record what was spent
#[derive(Args)]
struct Record {
    /// Task that it was spent on
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
    /// Tokens
    #[arg(long, value_name = "COUNT")]
    tokens: Option<u64>,
    /// Money in millionths of the currency
    #[arg(long, value_name = "MICROS")]
    cost_micros: Option<u64>,
    /// Calls [default: 1]
    #[arg(long, value_name = "COUNT")]
    calls: Option<u64>,
    /// Model or tool
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Note
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Refuse what does not fit into every budget, before a call is made
    #[arg(long)]
    strict: bool,
}

/// Set a budget; without limits, remove it
#[derive(Args)]
struct Limit {
    #[command(flatten)]
    whose: Whose,
    /// Maximum number of tokens [default: no limit]
    #[arg(long, value_name = "COUNT")]
    tokens: Option<u64>,
    /// Maximum amount of money in millionths of the currency [default: no limit]
    #[arg(long, value_name = "MICROS")]
    cost_micros: Option<u64>,
    /// Maximum number of calls [default: no limit]
    #[arg(long, value_name = "COUNT")]
    calls: Option<u64>,
}

impl Spend {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        match self.verb {
            Verb::Record(record) => record.run(context, output).await,
            Verb::Limit(limit) => limit.run(context, output).await,
            Verb::Show(whose) => whose.show(context, output).await,
            Verb::Ls(whose) => {
                let task = whose.task.as_deref().map(TaskId::parse).transpose()?;
                let agent = whose.of_agent.as_deref().map(AgentId::parse).transpose()?;
                let list = List { task, agent, ..List::default() };
                let records = context.workspace().await?.spending().list(list).await?;
                output.many_as("records", &records, |output| {
                    let rows: Vec<RecordRow<'_>> = records.iter().map(RecordRow::of).collect();
                    output.table(&rows, &RECORD_COLUMNS)
                })
            }
        }
    }
}

impl Record {
    async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let mut recording = context.workspace().await?.spending().record();
        if let Some(task) = &self.task {
            recording = recording.task(task);
        }
        if let Some(tokens) = self.tokens {
            recording = recording.tokens(tokens);
        }
        if let Some(micros) = self.cost_micros {
            recording = recording.cost_micros(micros);
        }
        if let Some(calls) = self.calls {
            recording = recording.calls(calls);
        }
        if let Some(model) = &self.model {
            recording = recording.model(model);
        }
        if let Some(note) = &self.note {
            recording = recording.note(note);
        }
        if self.strict {
            recording = recording.strict();
        }
        let recorded = recording.await?;
        let used_up = recorded.budgets.iter().filter(|account| account.used_up);
        let used_up: Vec<String> = used_up.map(|account| owner(&account.of)).collect();
        let number = recorded.record.number;
        let sentence = if used_up.is_empty() {
            format!("record {number}")
        } else {
            format!("record {number}; used up: the budget of {}", used_up.join(", "))
        };
        output.said(&recorded, &sentence)
    }
}

impl Limit {
    async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let Self { whose, tokens, cost_micros, calls } = self;
        let budget = Budget { tokens, cost_micros, calls };
        let spending = context.workspace().await?.spending();
        let total = match (&whose.task, &whose.of_agent) {
            (Some(task), _) => spending.limit_task(task, budget).await?,
            (None, Some(agent)) => spending.limit_agent(agent, budget).await?,
            (None, None) => spending.limit_workspace(budget).await?,
        };
        shown(output, &total)
    }
}

impl Whose {
    async fn show(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let spending = context.workspace().await?.spending();
        let total = match (&self.task, &self.of_agent) {
            (Some(task), _) => spending.of_task(task).await?,
            (None, Some(agent)) => spending.of_agent(agent).await?,
            (None, None) => spending.of_workspace().await?,
        };
        shown(output, &total)
    }
}

/// The owner of a budget, in words.
fn owner(of: &Payer) -> String {
    match of {
        Payer::Task(task) => format!("task {}", short(task.as_str())),
        Payer::Agent(agent) => format!("agent {agent}"),
        Payer::Workspace => "workspace".to_owned(),
    }
}

/// The columns of a total.
const COLUMNS: [&str; 5] = ["of", "tokens", "cost_micros", "calls", "status"];

#[derive(Serialize)]
struct Row {
    of: String,
    tokens: String,
    cost_micros: String,
    calls: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    status: &'static str,
}

impl Row {
    fn of(account: &Account) -> Self {
        let amount = |unit| {
            let used = account.spent.in_unit(unit);
            match account.budget.as_ref().and_then(|budget| budget.limit(unit)) {
                Some(limit) => format!("{used} of {limit}"),
                None => used.to_string(),
            }
        };
        Self {
            of: owner(&account.of),
            tokens: amount(Unit::Tokens),
            cost_micros: amount(Unit::CostMicros),
            calls: amount(Unit::Calls),
            status: if account.used_up { "used up" } else { "" },
        }
    }
}

/// The columns of a record.
const RECORD_COLUMNS: [&str; 8] =
    ["number", "time", "agent", "task", "tokens", "cost_micros", "calls", "model"];

#[derive(Serialize)]
struct RecordRow<'a> {
    #[serde(flatten)]
    record: &'a baton_core::spend::Record,
    #[serde(flatten)]
    spent: &'a Amounts,
}

impl<'a> RecordRow<'a> {
    fn of(record: &'a baton_core::spend::Record) -> Self {
        Self { record, spent: &record.spent }
    }
}

fn shown(output: &mut Output, total: &Total) -> Result<(), Failure> {
    output.show(total, |output| {
        let accounts = std::iter::once(&total.account).chain(&total.above);
        let rows: Vec<Row> = accounts.map(Row::of).collect();
        output.table(&rows, &COLUMNS)
    })
}
