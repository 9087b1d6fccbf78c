//! `baton task work`: run a program for each task.

use std::sync::Arc;

use baton_client::{Job, Worked, Worker};
use clap::Args;

use super::Wanted;
use crate::context::Context;
use crate::failure::Failure;
use crate::handler_program::{HandlerArguments, Start};
use crate::output::Output;

/// Claim tasks and run a program for each
#[derive(Args)]
pub(super) struct Work {
    #[command(flatten)]
    wanted: Wanted,
    #[command(flatten)]
    handler: HandlerArguments,
}

impl Work {
    pub(super) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let Self { wanted, handler } = self;
        let work = |start: Start| {
            let worker = Worker::new(start.workspace).concurrency(start.concurrency);
            let worker = wanted.types.iter().fold(worker, |it, name| it.of_type(name));
            let worker = wanted.capability.iter().fold(worker, |it, name| it.capability(name));
            let worker = wanted.lease.into_iter().fold(worker, Worker::lease_ms);
            let handler = move |job: Job| {
                let program = Arc::clone(&start.program);
                async move {
                    let task = serde_json::to_vec(job.task()).expect("tasks can be encoded");
                    let (id, token) = (job.task().id.to_string(), job.token().to_string());
                    let variables = [("BATON_TASK", id), ("BATON_TASK_TOKEN", token)];
                    program.run(task, variables, job.task().traceparent.as_ref()).await
                }
            };
            worker.run(handler, start.stop)
        };
        let worked = handler.run(context, output, "tasks", work).await?;
        let Worked { completed, failed, lost } = worked;
        let sentence = format!("tasks: {completed} completed, {failed} failed, {lost} lost");
        output.said(&worked, &sentence)
    }
}
