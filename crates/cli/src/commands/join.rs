//! `baton join`: wait for a set of tasks.

use baton_core::join::{Join as Record, Status};
use clap::{ArgGroup, Args, Subcommand};

use crate::context::Context;
use crate::failure::{Failure, Fault};
use crate::input::milliseconds;
use crate::output::Output;

const AFTER_HELP: &str = "\
Examples:
  baton join create --group release                    wait for all tasks of a group
  baton join create --task t-7 --task t-8 --need 1     wait for the first of two tasks
  baton join wait j-9 --wait 1h && ./publish.sh

`wait` prints the outcome of each task. It exits with 0 if enough tasks have finished, with 4 if
that is no longer possible or the deadline of the join has passed, and with 10 if the wait times
out.";

/// How long one long poll waits; `wait` repeats it until its own timeout.
const WAIT_MS: u64 = 60_000;

/// Wait for a set of tasks to finish
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Join {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Create(Create),
    Wait(Wait),
    /// Show a join
    Get {
        /// Join ID
        join: String,
    },
}

/// Create a join over tasks or a group
#[derive(Args)]
#[command(group(ArgGroup::new("members").required(true).args(["group", "task"])))]
struct Create {
    /// All tasks of this group, including tasks created later
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
    /// Task to wait for; repeatable
    #[arg(long, value_name = "TASK")]
    task: Vec<String>,
    /// How many tasks must be completed [default: all must finish, with any outcome]
    #[arg(long, value_name = "COUNT")]
    need: Option<u64>,
    /// Deadline of the join, as a time from now
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    deadline: Option<u64>,
    /// Join ID [default: generated]
    #[arg(long)]
    id: Option<String>,
}

/// Wait until enough tasks have finished
#[derive(Args)]
struct Wait {
    /// Join ID
    join: String,
    /// How long to wait, such as 30s [default: forever]
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    wait: Option<u64>,
}

impl Join {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        match self.verb {
            Verb::Create(create) => create.run(context, output).await,
            Verb::Wait(wait) => wait.run(context, output).await,
            Verb::Get { join } => output.one(&context.workspace().await?.joins().get(&join).await?),
        }
    }
}

impl Create {
    async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let joins = context.workspace().await?.joins();
        let tasks: Vec<&str> = self.task.iter().map(String::as_str).collect();
        let mut joining = match &self.group {
            Some(group) => joins.of_group(group),
            None => joins.of_tasks(&tasks),
        };
        if let Some(id) = &self.id {
            joining = joining.id(id);
        }
        if let Some(count) = self.need {
            joining = joining.need(count);
        }
        if let Some(deadline_ms) = self.deadline {
            joining = joining.deadline_ms(deadline_ms);
        }
        let join = joining.await?;
        let over = match join.members.len() {
            1 => "1 task".to_owned(),
            count => format!("{count} tasks"),
        };
        let sentence = format!("join {} created over {over}", join.id);
        output.said(&join, &sentence)
    }
}

impl Wait {
    async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let joins = context.workplace().await?.joins();
        let mut left_ms = self.wait.unwrap_or(u64::MAX);
        let join = loop {
            let part_ms = left_ms.min(WAIT_MS);
            left_ms -= part_ms;
            match joins.wait(&self.join, part_ms).await? {
                Some(join) => break join,
                None if left_ms == 0 => {
                    let what = format!("the join `{}` is not satisfied yet", self.join);
                    return Err(Fault::NothingInTime { what }.into());
                }
                None => {}
            }
        };
        output.show(&join, |output| text(output, &join))?;
        match join.status {
            Status::Satisfied | Status::Waiting => Ok(()),
            Status::Failed | Status::Expired => Err(Failure::Ended { exit: 4 }),
        }
    }
}

fn text(output: &Output, join: &Record) -> String {
    let columns = ["task", "status", "result", "error"];
    let status = match join.status {
        Status::Waiting => "is waiting",
        Status::Satisfied => "is satisfied",
        Status::Failed => "has failed",
        Status::Expired => "has expired",
    };
    let reason = join.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    format!("{}join {} {status}{reason}\n", output.table(&join.members, &columns), join.id)
}
