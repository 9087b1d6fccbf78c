//! `baton next`: the next hand-off, message or task.

use baton::core::wait::Work;
use clap::Args;

use crate::commands::task::Wanted;
use crate::context::Context;
use crate::failure::{Failure, Fault};
use crate::input::milliseconds;
use crate::output::Output;
use crate::unknown_workspace;

const AFTER_HELP: &str = "\
Examples:
  baton next --wait 1m                           a hand-off, message or task, whichever comes first
  baton next --wait 1m --type review -o json

In JSON the result has one member: `handoff`, `message` or `task`. If there is work of several
kinds, a hand-off comes before a message, and a message before a task. A task is claimed; accept or
reject a hand-off, and acknowledge a message with `baton inbox ack`. If there is no work in time,
the exit code is 10.";

/// Receive the next hand-off, message or task
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Next {
    #[command(flatten)]
    wanted: Wanted,
    /// How long to wait, such as 30s [default: do not wait]
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    wait: Option<u64>,
}

impl Next {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let mut next = context.workspace().await?.agents().next();
        for task_type in &self.wanted.types {
            next = next.of_type(task_type);
        }
        for name in &self.wanted.capability {
            next = next.capability(name);
        }
        if let Some(lease_ms) = self.wanted.lease {
            next = next.lease_ms(lease_ms);
        }
        if let Some(wait_ms) = self.wait {
            unknown_workspace::noted(context, output).await;
            next = next.wait_ms(wait_ms);
        }
        let none = || Fault::NothingInTime { what: "there was no work".to_owned() };
        let work = next.await?.ok_or_else(none)?;
        match &work {
            Work::Handoff(handoff) => output.one_of(&work, "handoff", handoff),
            Work::Message(message) => output.one_of(&work, "message", message),
            Work::Task(task) => output.one_of(&work, "task", task),
        }
    }
}
