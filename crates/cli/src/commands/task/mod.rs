//! `baton task`: tasks and their leases.

mod add;
mod list;
mod wait;
mod work;

use baton_client::Tasks;
use baton_core::task::{Lease, Task as Record, Verdict};
use baton_core::{TaskId, Token};
use clap::{Args, Subcommand};

use crate::context::Context;
use crate::failure::{Failure, Fault};
use crate::input::{Source, milliseconds, words};
use crate::output::Output;
use crate::unknown_workspace;

const AFTER_HELP: &str = "\
Examples:
  baton task add review '{\"change\": 7}' --priority 5   create a task
  baton task ls --status pending                       list pending tasks
  baton task why t-7                                   show why a task is not running
  baton task wait t-7 --wait 1h && ./publish.sh        wait until it has finished
  baton task work --type review -- ./review.sh         run a program for each task

By hand, or in a script:
  eval \"$(baton task claim --type review --wait 1m --env)\"   claim the next task
  baton task done \"$BATON_TASK\" '{\"verdict\": \"good\"}'        complete it
  baton task fail \"$BATON_TASK\" 'the model is overloaded'    or fail this attempt

A task that the server named `t-0000000007` can be written as `t-7`.

`work` passes the task to the program as JSON on stdin, and stores its output as the result: as JSON
if it is valid JSON, otherwise as text. An exit code other than 0 fails the attempt, with the last
lines of stderr as the error. The lease is renewed while the program runs; if the lease is lost, the
program is killed. With `--handoffs` and `--messages` it also runs for those of the agent, with
BATON_HANDOFF or BATON_MESSAGE set instead of BATON_TASK.

`wait` exits with 0 if the task is completed or has the given status, with 4 if it has finished in
another way, and with 10 if the wait times out.";

/// Create, claim and complete tasks
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Task {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Add(Box<add::Add>),
    Work(work::Work),
    Claim(Claim),
    Heartbeat(Heartbeat),
    Progress(Progress),
    Done(Done),
    Fail(Fail),
    Release(Release),
    Cancel(Cancel),
    Review(Review),
    Retry(Retry),
    Wait(wait::Wait),
    Ls(list::Ls),
    /// Show a task
    Get(list::Which),
    /// Explain why a task is not running
    Why(list::Which),
    /// Show the history of a task, newest first
    History(list::Which),
    Stats(list::Stats),
}

/// Claim the next task and print it with its token
#[derive(Args)]
struct Claim {
    #[command(flatten)]
    wanted: Wanted,
    /// Claim only this task
    #[arg(long, value_name = "TASK", conflicts_with = "types")]
    task: Option<String>,
    /// Claim as many tasks as are ready, at most this many, and print a list
    #[arg(long, value_name = "COUNT", conflicts_with_all = ["task", "env"])]
    limit: Option<u64>,
    /// How long to wait for a task, such as 30s [default: do not wait]
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    wait: Option<u64>,
    /// Print `BATON_TASK` and `BATON_TASK_TOKEN` as shell variables instead: eval "$(… --env)"
    #[arg(long)]
    env: bool,
}

/// Which tasks to claim, and for how long.
#[derive(Args)]
pub(crate) struct Wanted {
    /// Only tasks of this type; repeatable
    #[arg(long = "type", id = "types", value_name = "TYPE")]
    pub(crate) types: Vec<String>,
    /// Capability to claim with, instead of those the agent registered with; repeatable
    #[arg(long, value_name = "NAME")]
    pub(crate) capability: Vec<String>,
    /// Duration of the lease unless it is renewed [default: 5m]
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    pub(crate) lease: Option<u64>,
}

/// A claimed task and the token of its lease.
#[derive(Args)]
struct ClaimedTask {
    /// Task ID
    task: String,
    /// Token of the lease [default: `BATON_TASK_TOKEN`]
    #[arg(long, env = "BATON_TASK_TOKEN", hide_env = true)]
    token: u64,
}

/// Renew the lease of a task
#[derive(Args)]
struct Heartbeat {
    #[command(flatten)]
    held: ClaimedTask,
    /// New duration of the lease, from now
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    lease: Option<u64>,
}

/// Report progress; also renews the lease
#[derive(Args)]
struct Progress {
    #[command(flatten)]
    held: ClaimedTask,
    /// Fraction done, from 0 to 1
    fraction: f64,
    /// Note about the progress
    #[arg(long)]
    note: Option<String>,
}

/// Complete a task
#[derive(Args)]
struct Done {
    #[command(flatten)]
    held: ClaimedTask,
    /// Result: JSON or text, @FILE, or - for stdin
    #[arg(allow_negative_numbers = true)]
    result: Option<Source>,
    /// Treat the result as text, even if it is JSON
    #[arg(long, requires = "result")]
    string: bool,
    /// Artifacts: a JSON list, @FILE, or - for stdin
    #[arg(long, value_name = "JSON")]
    artifacts: Option<Source>,
}

/// Fail the current attempt; the task is retried if it has retries left
#[derive(Args)]
struct Fail {
    #[command(flatten)]
    held: ClaimedTask,
    /// Error: JSON or text, @FILE, or - for stdin
    error: Source,
    /// Do not retry
    #[arg(long)]
    for_good: bool,
}

/// Release a task for other agents, without counting an attempt
#[derive(Args)]
struct Release {
    #[command(flatten)]
    held: ClaimedTask,
    /// Reason
    #[arg(long)]
    reason: Option<String>,
}

/// Cancel a task and its subtasks
#[derive(Args)]
struct Cancel {
    /// Task ID
    task: String,
    /// Reason
    #[arg(long)]
    reason: Option<String>,
}

/// Retry a failed task, and restore the tasks cancelled because of it
#[derive(Args)]
struct Retry {
    /// Task ID
    task: String,
    /// Reason
    #[arg(long)]
    reason: Option<String>,
    /// Fail the task if it is not finished within this time from now
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    deadline: Option<u64>,
}

/// Decide what to do with a task that is waiting for review
#[derive(Args)]
struct Review {
    /// Task ID
    task: String,
    /// Verdict
    #[arg(value_parser = words::<Verdict>())]
    verdict: Verdict,
    /// Attempt that was reviewed; the verdict is refused if another one waits for review
    #[arg(long, value_name = "NUMBER")]
    attempt: Option<u64>,
    /// Reason
    #[arg(long)]
    note: Option<String>,
    /// Result: JSON or text, @FILE, or - for stdin
    #[arg(long, value_name = "VALUE")]
    result: Option<Source>,
}

impl Task {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let verb = match self.verb {
            Verb::Work(work) => return work.run(context, output).await,
            verb => verb,
        };
        let tasks = context.workspace().await?.tasks();
        match verb {
            Verb::Work(_) => Ok(()),
            Verb::Add(add) => add.run(&tasks, output).await,
            Verb::Claim(claim) => {
                if claim.wait.is_some() {
                    unknown_workspace::noted(context, output).await;
                }
                claim.run(&tasks, output).await
            }
            Verb::Heartbeat(Heartbeat { held, lease }) => {
                let task = match lease {
                    Some(ms) => tasks.heartbeat_for(&held.task, held.token(), ms).await?,
                    None => tasks.heartbeat(&held.task, held.token()).await?,
                };
                report(output, &task)
            }
            Verb::Progress(Progress { held, fraction, note }) => {
                let (token, note) = (held.token(), note.as_deref());
                report(output, &tasks.progress(&held.task, token, fraction, note).await?)
            }
            Verb::Done(done) => done.run(&tasks, output).await,
            Verb::Fail(fail) => fail.run(&tasks, output).await,
            Verb::Release(Release { held, reason }) => {
                let (token, reason) = (held.token(), reason.as_deref());
                report(output, &tasks.release(&held.task, token, reason).await?)
            }
            Verb::Cancel(Cancel { task, reason }) => {
                report(output, &tasks.cancel(&task, reason.as_deref()).await?)
            }
            Verb::Review(review) => review.run(&tasks, output).await,
            Verb::Retry(retry) => retry.run(&tasks, output).await,
            Verb::Wait(wait) => wait.run(&tasks, output).await,
            Verb::Ls(ls) => ls.run(&tasks, output).await,
            Verb::Get(which) => output.one(&tasks.get(&which.task).await?),
            Verb::Why(which) => {
                let why = tasks.why(&which.task).await?;
                output.said(&why, &why.sentence)
            }
            Verb::History(which) => {
                let events = tasks.history(&which.task).await?;
                output.many("events", &events, &["revision", "time", "agent", "type", "fields"])
            }
            Verb::Stats(stats) => stats.run(&tasks, output).await,
        }
    }

    /// Whether it handles signals itself, because there is work to finish.
    pub(crate) fn handles_signals(&self) -> bool {
        matches!(self.verb, Verb::Work(_))
    }
}

/// Prints a task; for people, its status and lease.
fn report(output: &mut Output, task: &Record) -> Result<(), Failure> {
    let Record { id, status, .. } = task;
    let more = match (&task.lease, task.not_before) {
        (Some(Lease { holder, token, expires_at, .. }), _) => {
            let until = output.relative(*expires_at);
            format!("; {holder} holds it, the lease expires {until} (token {token})")
        }
        (None, Some(moment)) if !status.is_finished() => {
            format!(", and may start {}", output.relative(moment))
        }
        (None, _) => String::new(),
    };
    let warnings = task.warnings.iter().map(|warning| format!("; {}", warning.detail));
    let warnings: String = warnings.collect();
    output.said(task, &format!("task {id} {}{more}{warnings}", status.clause()))
}

impl ClaimedTask {
    fn token(&self) -> Token {
        Token(self.token)
    }
}

impl Claim {
    async fn run(self, tasks: &Tasks, output: &mut Output) -> Result<(), Failure> {
        let mut claiming = tasks.claim();
        for task_type in &self.wanted.types {
            claiming = claiming.of_type(task_type);
        }
        for name in &self.wanted.capability {
            claiming = claiming.capability(name);
        }
        if let Some(task) = &self.task {
            claiming = claiming.task(task);
        }
        if let Some(lease_ms) = self.wanted.lease {
            claiming = claiming.lease_ms(lease_ms);
        }
        if let Some(wait_ms) = self.wait {
            claiming = claiming.wait_ms(wait_ms);
        }
        let none = || Fault::NothingInTime { what: "no task was ready".to_owned() };
        if let Some(limit) = self.limit {
            let found = claiming.several(limit).await?;
            if found.is_empty() {
                return Err(none().into());
            }
            return output.many("tasks", &found, &["id", "type", "lease.token"]);
        }
        let task = claiming.await?.ok_or_else(none)?;
        match &task.lease {
            Some(lease) if self.env => output.bytes(variables(&task.id, lease.token).as_bytes()),
            Some(_) | None => output.one(&task),
        }
    }
}

/// The variables that the commands about a claimed task read, for a POSIX shell.
fn variables(task: &TaskId, token: Token) -> String {
    let quoted = task.as_str().replace('\'', r"'\''");
    format!("export BATON_TASK='{quoted}' BATON_TASK_TOKEN={token}\n")
}

impl Done {
    async fn run(self, tasks: &Tasks, output: &mut Output) -> Result<(), Failure> {
        let mut completing = tasks.complete(&self.held.task, self.held.token());
        if let Some(source) = &self.result {
            let result = if self.string { source.string()? } else { source.json_or_text()? };
            completing = completing.result(result);
        }
        if let Some(artifacts) = &self.artifacts {
            completing = completing.artifacts(artifacts.json()?);
        }
        report(output, &completing.await?.task)
    }
}

impl Fail {
    async fn run(self, tasks: &Tasks, output: &mut Output) -> Result<(), Failure> {
        let mut failing =
            tasks.fail(&self.held.task, self.held.token(), self.error.json_or_text()?);
        if self.for_good {
            failing = failing.for_good();
        }
        report(output, &failing.await?)
    }
}

impl Retry {
    async fn run(self, tasks: &Tasks, output: &mut Output) -> Result<(), Failure> {
        let mut retrying = tasks.retry(&self.task);
        if let Some(reason) = &self.reason {
            retrying = retrying.reason(reason);
        }
        if let Some(deadline_ms) = self.deadline {
            retrying = retrying.deadline_ms(deadline_ms);
        }
        report(output, &retrying.await?)
    }
}

impl Review {
    async fn run(self, tasks: &Tasks, output: &mut Output) -> Result<(), Failure> {
        let mut reviewing = tasks.review(&self.task, self.verdict);
        if let Some(attempt) = self.attempt {
            reviewing = reviewing.attempt(attempt);
        }
        if let Some(note) = &self.note {
            reviewing = reviewing.note(note);
        }
        if let Some(result) = &self.result {
            reviewing = reviewing.result(result.json_or_text()?);
        }
        report(output, &reviewing.await?)
    }
}
