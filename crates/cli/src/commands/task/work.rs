//! `baton task work`: run a program for each task.

use std::sync::Arc;

use baton_client::core::handoff::Status;
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
                    let result =
                        program.run(task, variables, job.task().traceparent.as_ref()).await;
                    if is_handed_over(&job).await {
                        job.handed_over();
                    }
                    result
                }
            };
            worker.run(handler, start.stop)
        };
        let worked = handler.run(context, output, "tasks", work).await?;
        let Worked { completed, failed, handed_over, lost, .. } = worked;
        let sentence = format!(
            "tasks: {completed} completed, {failed} failed, {handed_over} handed over, {lost} lost"
        );
        output.said(&worked, &sentence)
    }
}

/// Whether the program offered the task to another agent, or handed it over.
async fn is_handed_over(job: &Job) -> bool {
    let Some(lease) = &job.task().lease else { return false };
    let handoffs = job.workspace().handoffs().history(job.task().id.as_str()).await;
    let last = handoffs.ok().and_then(|mut handoffs| handoffs.pop());
    last.is_some_and(|last| {
        let is_by_this_lease = last.from == lease.holder && last.created_at >= lease.claimed_at;
        let is_void = matches!(
            last.status,
            Status::Rejected | Status::Cancelled | Status::Expired | Status::Failed
        );
        is_by_this_lease && !is_void
    })
}
