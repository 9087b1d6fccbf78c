//! `baton task ls` and `baton task stats`.

use baton_client::Tasks;
use baton_core::task::{Durations, List, Statistics, Status, Task};
use baton_core::{AgentId, GroupName, TaskId, TaskType, Timestamp};
use clap::Args;
use serde::Serialize;

use crate::failure::Failure;
use crate::input::words;
use crate::output::Output;

/// Rows shown in a table by default.
const SHOWN: usize = 100;

#[derive(Args)]
pub(super) struct Which {
    /// Task ID
    pub(super) task: String,
}

/// List tasks, ordered by ID
#[derive(Args)]
pub(super) struct Ls {
    /// Only tasks with this status
    #[arg(long, value_parser = words::<Status>())]
    status: Option<Status>,
    /// Only tasks of this type
    #[arg(long = "type", value_name = "TYPE")]
    task_type: Option<String>,
    /// Only tasks held by or assigned to this agent
    #[arg(long, value_name = "AGENT")]
    of: Option<String>,
    /// Only tasks of this group
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
    /// Only direct subtasks of this task
    #[arg(long, value_name = "TASK")]
    parent: Option<String>,
    /// Maximum number of tasks [default: 100 in a table, otherwise all]
    #[arg(long, value_name = "COUNT")]
    limit: Option<u64>,
}

/// Show counts by status, durations, and reasons for failures
#[derive(Args)]
pub(super) struct Stats {
    /// Only tasks of this type
    #[arg(long = "type", value_name = "TYPE")]
    task_type: Option<String>,
}

/// A task as a table row.
#[derive(Serialize)]
struct Row<'a> {
    id: &'a TaskId,
    #[serde(rename = "type")]
    task_type: &'a TaskType,
    status: &'static str,
    priority: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    holder: Option<&'a AgentId>,
    attempts: u64,
    created_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
}

const COLUMNS: [&str; 8] =
    ["id", "type", "status", "priority", "holder", "attempts", "created_at", "description"];

impl<'a> Row<'a> {
    fn of(task: &'a Task) -> Self {
        Self {
            id: &task.id,
            task_type: &task.task_type,
            status: task.status.word(),
            priority: task.priority,
            holder: task.lease.as_ref().map(|lease| &lease.holder),
            attempts: task.attempts,
            created_at: task.created_at,
            description: task.description.as_deref(),
        }
    }
}

impl Ls {
    pub(super) async fn run(self, tasks: &Tasks, output: &mut Output) -> Result<(), Failure> {
        let enough = output.enough(SHOWN);
        let limit =
            self.limit.or_else(|| u64::try_from(enough).ok().filter(|_| enough < usize::MAX));
        let list = List {
            status: self.status,
            task_type: self.task_type.as_deref().map(TaskType::parse).transpose()?,
            agent: self.of.as_deref().map(AgentId::parse).transpose()?,
            group: self.group.as_deref().map(GroupName::parse).transpose()?,
            parent: self.parent.as_deref().map(TaskId::parse).transpose()?,
            limit,
            cursor: None,
        };
        let found = tasks.list(list).await?;
        output.many_as("tasks", &found, |output| {
            let rows: Vec<Row<'_>> = found.iter().map(Row::of).collect();
            output.table(&rows, &COLUMNS)
        })?;
        if self.limit.is_none() && found.len() == enough {
            output.note(&format!("showing the first {enough} tasks; use --limit for more"));
        }
        Ok(())
    }
}

#[derive(Serialize)]
struct Took {
    state: &'static str,
    #[serde(flatten)]
    durations: Durations,
}

impl Stats {
    pub(super) async fn run(self, tasks: &Tasks, output: &mut Output) -> Result<(), Failure> {
        let statistics = tasks.stats(self.task_type.as_deref()).await?;
        output.show(&statistics, |output| text(output, &statistics))
    }
}

fn text(output: &Output, statistics: &Statistics) -> String {
    let Statistics { tasks, claims_waiting, time_in_state, failures } = statistics;
    let counts = [
        "pending",
        "ready",
        "delayed",
        "blocked",
        "in_progress",
        "handed_off",
        "waiting_review",
        "completed",
        "failed",
        "cancelled",
    ];
    let took = [
        ("pending", time_in_state.pending),
        ("in_progress", time_in_state.in_progress),
        ("handed_off", time_in_state.handed_off),
        ("waiting_review", time_in_state.waiting_review),
    ];
    let took = took.map(|(state, durations)| Took { state, durations });
    let columns = ["state", "count", "average_ms", "p50_ms", "p95_ms", "p99_ms", "max_ms"];
    let mut parts = vec![output.table(&[*tasks], &counts), output.table(&took, &columns)];
    if !failures.is_empty() {
        parts.push(output.table(failures, &["reason", "count"]));
    }
    parts.push(format!("claims waiting: {claims_waiting}\n"));
    parts.join("\n")
}
