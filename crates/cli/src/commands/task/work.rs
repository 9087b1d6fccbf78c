//! `baton task work`: run a program for each task.

use std::ffi::OsString;
use std::sync::Arc;

use baton_client::Worker;
use clap::Args;
use serde::Serialize;

use super::Wanted;
use crate::context::Context;
use crate::failure::Failure;
use crate::handler_program::HandlerProgram;
use crate::output::Output;
use crate::supervised::StopSignals;

/// Claim tasks and run a program for each
#[derive(Args)]
pub(super) struct Work {
    #[command(flatten)]
    wanted: Wanted,
    /// How many programs to run concurrently
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    concurrency: usize,
    /// Program and arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    program: Vec<OsString>,
}

/// Counts at exit.
#[derive(Serialize)]
struct Worked {
    completed: u64,
    failed: u64,
    lost: u64,
}

impl Work {
    /// The first signal finishes the tasks in progress; the second exits immediately.
    pub(super) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let mut signals = StopSignals::listen()?;
        let workspace = context.workplace().await?;
        let program = Arc::new(HandlerProgram::new(self.program, context, output)?);
        let mut worker = Worker::new(workspace).concurrency(self.concurrency);
        for task_type in &self.wanted.types {
            worker = worker.of_type(task_type);
        }
        for name in &self.wanted.capability {
            worker = worker.capability(name);
        }
        if let Some(lease_ms) = self.wanted.lease {
            worker = worker.lease_ms(lease_ms);
        }
        let (stopping, stop) = tokio::sync::oneshot::channel();
        let work = worker.run(
            move |job| {
                let program = Arc::clone(&program);
                async move {
                    let task = serde_json::to_vec(job.task()).expect("tasks can be encoded");
                    let (id, token) = (job.task().id.to_string(), job.token().to_string());
                    let variables = [("BATON_TASK", id), ("BATON_TASK_TOKEN", token)];
                    program.run(task, variables, job.task().traceparent.as_ref()).await
                }
            },
            async {
                // A dropped sender also means stop.
                let _ = stop.await;
            },
        );
        let worked = tokio::select! {
            worked = work => worked?,
            () = async {
                signals.next().await;
                let _ = stopping.send(());
                output.note("finishing tasks in progress; press ctrl-c again to exit now");
                signals.next().await;
            } => return Err(Failure::Interrupted),
        };
        let baton_client::Worked { completed, failed, lost } = worked;
        let sentence = format!("tasks: {completed} completed, {failed} failed, {lost} lost");
        output.said(&Worked { completed, failed, lost }, &sentence)
    }
}
