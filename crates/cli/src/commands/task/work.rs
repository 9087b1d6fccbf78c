//! `baton task work`: a program for each task.

use std::ffi::OsString;
use std::sync::Arc;

use baton_client::Worker;
use clap::Args;
use serde::Serialize;

use super::Wanted;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::program::Asked;
use crate::runs::Runs;

/// Run a program for each task, one after the other
#[derive(Args)]
pub(super) struct Work {
    #[command(flatten)]
    wanted: Wanted,
    /// How many programs at a time
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    concurrency: usize,
    /// The program and what it is given
    #[arg(last = true, required = true, value_name = "COMMAND")]
    program: Vec<OsString>,
}

/// What was done, in the end.
#[derive(Serialize)]
struct Worked {
    completed: u64,
    failed: u64,
    lost: u64,
}

impl Work {
    /// Asked once to end, it finishes what was begun; asked twice, it does not.
    pub(super) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let mut asked = Asked::listen()?;
        let workspace = context.workplace().await?;
        let program = Arc::new(Runs::new(self.program, context, output)?);
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
        let (told, stop) = tokio::sync::oneshot::channel();
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
                // Whoever is gone wants it to end, too.
                let _ = stop.await;
            },
        );
        let worked = tokio::select! {
            worked = work => worked?,
            () = async {
                asked.told().await;
                let _ = told.send(());
                output.note("what was begun is finished first; once more ends it at once");
                asked.told().await;
            } => return Err(Failure::Interrupted),
        };
        let baton_client::Worked { completed, failed, lost } = worked;
        let sentence = format!("tasks: {completed} completed, {failed} failed, {lost} lost");
        output.said(&Worked { completed, failed, lost }, &sentence)
    }
}
