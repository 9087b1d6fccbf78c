//! `baton join`: going on when so many tasks have finished.

use baton_core::join::{Join as Record, Status};
use clap::{Args, Subcommand};

use crate::context::Context;
use crate::failure::{Failure, Fault};
use crate::input::milliseconds;
use crate::output::Output;

const AFTER_HELP: &str = "\
Examples:
  baton join create --group release                    all tasks of a group
  baton join create --task t-7 --task t-8 --need 1     the first of two
  baton join wait j-9 --wait 1h && ./publish.sh

`wait` prints what came of each task. Its exit code is 0 if enough have finished, 4 if enough never
will or the join's deadline has passed, and 10 if nothing of that has happened in time.";

/// Most that a call may wait; `wait` asks again until its own time is over.
const WAIT_MS: u64 = 60_000;

/// Wait for several tasks
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
    /// Show one
    Get {
        /// Which join
        join: String,
    },
}

/// Look after several tasks
#[derive(Args)]
struct Create {
    /// All tasks of this group, those that are created later too
    #[arg(long, value_name = "NAME", required_unless_present = "task", conflicts_with = "task")]
    group: Option<String>,
    /// This task; may be given several times
    #[arg(long, value_name = "TASK")]
    task: Vec<String>,
    /// How many must be completed; if not given, all must have finished, however that was
    #[arg(long, value_name = "COUNT")]
    need: Option<u64>,
    /// How long it waits for them at most
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    deadline: Option<u64>,
    /// Its id; one is made up unless given
    #[arg(long)]
    id: Option<String>,
}

/// Wait until enough have finished
#[derive(Args)]
struct Wait {
    /// Which join
    join: String,
    /// How long at most; for as long as it takes unless given
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
        let sentence = format!("join {} looks after {} tasks", join.id, join.members.len());
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
                    let what = format!("the join `{}` waits", self.join);
                    return Err(Fault::NothingInTime { what }.into());
                }
                None => {}
            }
        };
        output.show(&join, |output| text(output, &join))?;
        match join.status {
            Status::Open | Status::Waiting => Ok(()),
            Status::Failed | Status::Expired => Err(Failure::Ended { exit: 4 }),
        }
    }
}

fn text(output: &Output, join: &Record) -> String {
    let columns = ["task", "status", "result", "error"];
    let status = match join.status {
        Status::Waiting => "waits",
        Status::Open => "is open",
        Status::Failed => "has failed",
        Status::Expired => "has expired",
    };
    let reason = join.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    format!("{}join {} {status}{reason}\n", output.table(&join.members, &columns), join.id)
}
