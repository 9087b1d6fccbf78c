//! `baton task`: what is to be done, and who does it.

mod add;
mod look;
mod work;

use baton_client::Tasks;
use baton_core::Token;
use baton_core::task::{Lease, Task as Record, Verdict};
use clap::{Args, Subcommand};

use crate::context::Context;
use crate::failure::{Failure, Fault};
use crate::input::{Source, milliseconds};
use crate::output::Output;

const AFTER_HELP: &str = "\
Examples:
  baton task add review '{\"change\": 7}' --priority 5   want something done
  baton task ls --status pending                       what is to be done
  baton task why t-7                                   why it is not being done
  baton task work --type review -- ./review.sh         do it: a program for each task

By hand, or in a script:
  baton task claim --type review --wait 1m             take the next one, with a token
  baton task done t-7 --token 42 '{\"verdict\": \"good\"}'
  baton task fail t-7 --token 42 'the model is overloaded'

`work` gives the program the task as JSON on stdin, and takes what it prints as the result: JSON if
it is, else text. A program that ends otherwise than with 0 has failed, with the end of its stderr
as the error. While it runs, the lease is renewed; if that is lost, the program is killed.";

/// Want things done, and do them
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
    Ls(look::Ls),
    /// Show one
    Get(look::Which),
    /// Say why it is not running
    Why(look::Which),
    /// Show what happened to it, newest first
    History(look::Which),
    Stats(look::Stats),
}

/// Take the next task and print it with its token
#[derive(Args)]
struct Claim {
    #[command(flatten)]
    wanted: Wanted,
    /// Only this one
    #[arg(long, value_name = "TASK", conflicts_with = "types")]
    task: Option<String>,
    /// How long to wait for one, such as 30s; not at all unless given
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    wait: Option<u64>,
}

/// Which tasks, and for how long.
#[derive(Args)]
struct Wanted {
    /// Only tasks of this type; may be given several times
    #[arg(long = "type", id = "types", value_name = "TYPE")]
    types: Vec<String>,
    /// Something that can be done here, instead of what the agent registered with
    #[arg(long, value_name = "NAME")]
    capability: Vec<String>,
    /// How long the lease lasts unless it is renewed [default: 5m]
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    lease: Option<u64>,
}

/// A task, and the right to work on it.
#[derive(Args)]
struct Held {
    /// Which task
    task: String,
    /// The token it was claimed with
    #[arg(long)]
    token: u64,
}

/// Say that the work goes on
#[derive(Args)]
struct Heartbeat {
    #[command(flatten)]
    held: Held,
    /// How long from now on
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    lease: Option<u64>,
}

/// Say how far the work is
#[derive(Args)]
struct Progress {
    #[command(flatten)]
    held: Held,
    /// The part that is done, from 0 to 1
    fraction: f64,
    /// In words
    #[arg(long)]
    note: Option<String>,
}

/// Say that it is done
#[derive(Args)]
struct Done {
    #[command(flatten)]
    held: Held,
    /// What came of it: JSON, - for stdin, or @file
    #[arg(allow_negative_numbers = true)]
    result: Option<Source>,
    /// Take the result as text, not as JSON
    #[arg(long, requires = "result")]
    string: bool,
    /// What it made besides: a list as JSON, - for stdin, or @file
    #[arg(long, value_name = "JSON")]
    artifacts: Option<Source>,
}

/// Say that it went wrong; it is tried again unless it was tried too often
#[derive(Args)]
struct Fail {
    #[command(flatten)]
    held: Held,
    /// What went wrong: text, - for stdin, or @file
    error: Source,
    /// Take the error as JSON, not as text
    #[arg(long)]
    json: bool,
    /// Trying again would not help
    #[arg(long)]
    for_good: bool,
}

/// Let it go, for others to take; that counts as no try
#[derive(Args)]
struct Release {
    #[command(flatten)]
    held: Held,
    /// Why
    #[arg(long)]
    reason: Option<String>,
}

/// Cancel it, and everything below it
#[derive(Args)]
struct Cancel {
    /// Which task
    task: String,
    /// Why
    #[arg(long)]
    reason: Option<String>,
}

/// Decide about a task that waits for a person
#[derive(Args)]
struct Review {
    /// Which task
    task: String,
    /// What becomes of it: retry, complete or fail
    #[arg(value_parser = verdict)]
    verdict: Verdict,
    /// Why
    #[arg(long)]
    note: Option<String>,
    /// What came of it: JSON, - for stdin, or @file
    #[arg(long, value_name = "JSON")]
    result: Option<Source>,
}

fn verdict(word: &str) -> Result<Verdict, String> {
    serde_json::from_value(word.into()).map_err(|error| error.to_string())
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
            Verb::Claim(claim) => claim.run(&tasks, output).await,
            Verb::Heartbeat(Heartbeat { held, lease }) => {
                let task = match lease {
                    Some(ms) => tasks.heartbeat_for(&held.task, held.token(), ms).await?,
                    None => tasks.heartbeat(&held.task, held.token()).await?,
                };
                told(output, &task)
            }
            Verb::Progress(Progress { held, fraction, note }) => {
                let (token, note) = (held.token(), note.as_deref());
                told(output, &tasks.progress(&held.task, token, fraction, note).await?)
            }
            Verb::Done(done) => done.run(&tasks, output).await,
            Verb::Fail(fail) => fail.run(&tasks, output).await,
            Verb::Release(Release { held, reason }) => {
                let (token, reason) = (held.token(), reason.as_deref());
                told(output, &tasks.release(&held.task, token, reason).await?)
            }
            Verb::Cancel(Cancel { task, reason }) => {
                told(output, &tasks.cancel(&task, reason.as_deref()).await?)
            }
            Verb::Review(review) => review.run(&tasks, output).await,
            Verb::Ls(ls) => ls.run(&tasks, output).await,
            Verb::Get(which) => output.one(&tasks.get(&which.task).await?),
            Verb::Why(which) => {
                let why = tasks.why(&which.task).await?;
                output.said(&why, &why.sentence)
            }
            Verb::History(which) => {
                let events = tasks.history(&which.task).await?;
                output.many(&events, &["revision", "time", "agent", "type", "fields"])
            }
            Verb::Stats(stats) => stats.run(&tasks, output).await,
        }
    }

    /// Whether it sees to signals itself, because there is something to finish.
    pub(crate) fn ends_itself(&self) -> bool {
        matches!(self.verb, Verb::Work(_))
    }
}

/// A task, and for people where it is in its life.
fn told(output: &mut Output, task: &Record) -> Result<(), Failure> {
    let Record { id, status, .. } = task;
    let more = match (&task.lease, task.not_before) {
        (Some(Lease { holder, token, expires_at, .. }), _) => {
            format!(": {holder} holds it until {expires_at} (token {token})")
        }
        (None, Some(moment)) if !status.is_finished() => format!(", not before {moment}"),
        (None, _) => String::new(),
    };
    let warnings = task.warnings.iter().map(|warning| format!("; {}", warning.detail));
    let warnings: String = warnings.collect();
    output.said(task, &format!("task {id} is {}{more}{warnings}", status.phrase()))
}

impl Held {
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
        let none = || Fault::NothingInTime { what: "no task is ready".to_owned() };
        output.one(&claiming.await?.ok_or_else(none)?)
    }
}

impl Done {
    async fn run(self, tasks: &Tasks, output: &mut Output) -> Result<(), Failure> {
        let mut completing = tasks.complete(&self.held.task, self.held.token());
        if let Some(source) = &self.result {
            let result = if self.string { source.string()? } else { source.json()? };
            completing = completing.result(result);
        }
        if let Some(artifacts) = &self.artifacts {
            completing = completing.artifacts(artifacts.json()?);
        }
        told(output, &completing.await?.task)
    }
}

impl Fail {
    async fn run(self, tasks: &Tasks, output: &mut Output) -> Result<(), Failure> {
        let error = if self.json { self.error.json()? } else { self.error.string()? };
        let mut failing = tasks.fail(&self.held.task, self.held.token(), error);
        if self.for_good {
            failing = failing.for_good();
        }
        told(output, &failing.await?)
    }
}

impl Review {
    async fn run(self, tasks: &Tasks, output: &mut Output) -> Result<(), Failure> {
        let mut reviewing = tasks.review(&self.task, self.verdict);
        if let Some(note) = &self.note {
            reviewing = reviewing.note(note);
        }
        if let Some(result) = &self.result {
            reviewing = reviewing.result(result.json()?);
        }
        told(output, &reviewing.await?)
    }
}
