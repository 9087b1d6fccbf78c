//! `baton task add`: create a task.

use baton_client::Tasks;
use baton_core::AgentId;
use baton_core::spend::Budget;
use baton_core::task::OnExhausted;
use clap::Args;

use super::report;
use crate::failure::Failure;
use crate::input::{Source, milliseconds};
use crate::output::Output;
use crate::trace::Trace;

/// Create a task
#[derive(Args)]
pub(super) struct Add {
    /// Task type
    #[arg(value_name = "TYPE")]
    task_type: String,
    /// Input of the task: JSON or text, @FILE, or - for stdin
    #[arg(allow_negative_numbers = true)]
    definition: Option<Source>,
    /// Task ID [default: generated]
    #[arg(long)]
    id: Option<String>,
    /// Description
    #[arg(long, short, value_name = "TEXT")]
    description: Option<String>,
    /// Priority from -100 to 100; higher is claimed first
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    priority: Option<i32>,
    /// Assign the task to this agent; no other may claim it
    #[arg(long, value_name = "AGENT")]
    assign: Option<String>,
    /// Capability that an agent needs to claim the task; repeatable
    #[arg(long, value_name = "NAME")]
    capability: Vec<String>,
    /// Create the task only if an active agent is capable of it
    #[arg(long)]
    if_capable: bool,
    /// Task that must be completed first; repeatable
    #[arg(long, value_name = "TASK")]
    after: Vec<String>,
    /// Parent task; cancelling it cancels this task too
    #[arg(long, value_name = "TASK")]
    parent: Option<String>,
    /// Group of related tasks
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
    /// Earliest start, as a time from now
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    delay: Option<u64>,
    /// Fail the task if it is not finished within this time
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    deadline: Option<u64>,
    /// Maximum number of retries [default: 3]
    #[arg(long, value_name = "COUNT")]
    retries: Option<u64>,
    /// What to do when retries are exhausted: fail, review, or agent:ID [default: fail]
    #[arg(long, value_name = "THEN", value_parser = exhausted)]
    on_exhausted: Option<OnExhausted>,
    /// Another agent must accept the result before the task is completed
    #[arg(long)]
    review: bool,
    /// Agent that may accept its result, which then needs a review; repeatable [default: any other]
    #[arg(long, value_name = "AGENT")]
    reviewer: Vec<String>,
    /// Capability of the agents that may accept its result, which then needs a review
    #[arg(long, value_name = "CAPABILITY")]
    reviewer_can: Option<String>,
    /// Budget of the task and its subtasks, such as tokens=100000,calls=50 [units: tokens,
    /// `cost_micros`, calls]
    #[arg(long, value_name = "LIMITS", value_parser = budget)]
    budget: Option<Budget>,
    /// Additional metadata: a JSON object, @FILE, or - for stdin
    #[arg(long, value_name = "JSON")]
    metadata: Option<Source>,
    #[command(flatten)]
    trace: Trace,
}

fn exhausted(word: &str) -> Result<OnExhausted, String> {
    match (word, word.strip_prefix("agent:")) {
        ("fail", _) => Ok(OnExhausted::Fail),
        ("review", _) => Ok(OnExhausted::Review),
        (_, Some(agent)) => {
            let agent = AgentId::parse(agent).map_err(|error| error.to_string())?;
            Ok(OnExhausted::Agent(agent))
        }
        _ => Err("expected fail, review, or agent:ID".to_owned()),
    }
}

fn budget(words: &str) -> Result<Budget, String> {
    let mut budget = Budget::default();
    for word in words.split(',') {
        let expected = || format!("`{word}`: expected tokens=N, cost_micros=N or calls=N");
        let (unit, amount) = word.split_once('=').ok_or_else(expected)?;
        let limit = match unit.trim() {
            "tokens" => &mut budget.tokens,
            "cost_micros" => &mut budget.cost_micros,
            "calls" => &mut budget.calls,
            _ => return Err(expected()),
        };
        let amount = amount.trim().parse().map_err(|_| expected())?;
        if limit.replace(amount).is_some() {
            return Err(format!("{unit} is limited twice"));
        }
    }
    Ok(budget)
}

impl Add {
    pub(super) async fn run(self, tasks: &Tasks, output: &mut Output) -> Result<(), Failure> {
        let mut creating = tasks.create(&self.task_type);
        if let Some(definition) = &self.definition {
            creating = creating.definition(definition.json_or_text()?);
        }
        if let Some(metadata) = &self.metadata {
            creating = creating.metadata(metadata.json()?);
        }
        if let Some(id) = &self.id {
            creating = creating.id(id);
        }
        if let Some(description) = &self.description {
            creating = creating.description(description);
        }
        if let Some(priority) = self.priority {
            creating = creating.priority(priority);
        }
        if let Some(agent) = &self.assign {
            creating = creating.assigned_to(agent);
        }
        for name in &self.capability {
            creating = creating.capability(name);
        }
        if self.if_capable {
            creating = creating.if_capable();
        }
        for task in &self.after {
            creating = creating.after(task);
        }
        if let Some(parent) = &self.parent {
            creating = creating.parent(parent);
        }
        if let Some(group) = &self.group {
            creating = creating.group(group);
        }
        if let Some(delay_ms) = self.delay {
            creating = creating.delay_ms(delay_ms);
        }
        if let Some(deadline_ms) = self.deadline {
            creating = creating.deadline_ms(deadline_ms);
        }
        if let Some(count) = self.retries {
            creating = creating.max_retries(count);
        }
        if let Some(then) = self.on_exhausted {
            creating = creating.on_exhausted(then);
        }
        if self.review {
            creating = creating.review();
        }
        for agent in &self.reviewer {
            creating = creating.reviewer(agent);
        }
        if let Some(capability) = &self.reviewer_can {
            creating = creating.reviewer_with(capability);
        }
        if let Some(budget) = self.budget {
            creating = creating.budget(budget);
        }
        if let Some(traceparent) = self.trace.given() {
            creating = creating.traceparent(&traceparent);
        }
        report(output, &creating.await?)
    }
}
