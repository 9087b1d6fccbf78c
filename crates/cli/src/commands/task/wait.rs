//! `baton task wait`.

use baton_client::Tasks;
use baton_core::task::Status;
use clap::Args;

use super::report;
use crate::failure::{Failure, Fault};
use crate::input::{milliseconds, words};
use crate::output::Output;

/// How long one long poll waits; `wait` repeats it until its own timeout.
const WAIT_MS: u64 = 60_000;

/// Wait until a task has finished or has a status
#[derive(Args)]
pub(super) struct Wait {
    /// Task ID
    task: String,
    /// Return as soon as the task has this status; repeatable [default: when it has finished]
    #[arg(long, value_name = "STATUS", value_parser = words::<Status>())]
    status: Vec<Status>,
    /// How long to wait, such as 30s [default: forever]
    #[arg(long = "wait", value_name = "DURATION", value_parser = milliseconds)]
    timeout: Option<u64>,
}

impl Wait {
    pub(super) async fn run(self, tasks: &Tasks, output: &mut Output) -> Result<(), Failure> {
        let mut left_ms = self.timeout.unwrap_or(u64::MAX);
        let task = loop {
            let part_ms = left_ms.min(WAIT_MS);
            left_ms -= part_ms;
            match tasks.wait(&self.task, &self.status, part_ms).await? {
                Some(task) => break task,
                None if left_ms == 0 => {
                    let reached =
                        if self.status.is_empty() { "finished" } else { "reached the status" };
                    let what = format!("task `{}` has not {reached}", self.task);
                    return Err(Fault::NothingInTime { what }.into());
                }
                None => {}
            }
        };
        report(output, &task)?;
        if task.status == Status::Completed || self.status.contains(&task.status) {
            return Ok(());
        }
        Err(Failure::Ended { exit: 4 })
    }
}
