//! `baton task work`: run a program for each task, hand-off and message.

use std::sync::Arc;
use std::time::Duration;

use baton_client::core::handoff::Status;
use baton_client::{Job, Setback, Worked, Worker, Workspace};
use baton_core::task::{self, Task};
use clap::Args;
use tokio::time::{Instant, sleep, timeout_at};

use super::Wanted;
use crate::context::Context;
use crate::failure::Failure;
use crate::handler_program::{HandlerArguments, HandlerProgram, Item, Start};
use crate::output::{Output, shortened};
use crate::supervised::FAREWELL;

/// How long a program runs before its task is watched.
const WATCHED_AFTER: Duration = Duration::from_secs(1);
/// The pause after a watch that could not begin, or has ended.
const WATCHED_AGAIN_AFTER: Duration = Duration::from_secs(10);

/// Claim tasks and run a program for each
#[derive(Args)]
pub(super) struct Work {
    #[command(flatten)]
    wanted: Wanted,
    /// Also run the program for hand-offs to the agent
    #[arg(long)]
    handoffs: bool,
    /// Also run the program for messages to the agent
    #[arg(long)]
    messages: bool,
    #[command(flatten)]
    handler: HandlerArguments,
}

impl Work {
    pub(super) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let Self { wanted, handoffs, messages, handler } = self;
        let work = |start: Start| {
            let workspace = start.workspace.clone();
            let worker = Worker::new(start.workspace).concurrency(start.concurrency);
            let worker = if handoffs { with_handoffs(worker, &start.program) } else { worker };
            let worker = if messages { with_messages(worker, &start.program) } else { worker };
            let worker = wanted.types.iter().fold(worker, |it, name| it.of_type(name));
            let worker = wanted.capability.iter().fold(worker, |it, name| it.capability(name));
            let worker = wanted.lease.into_iter().fold(worker, Worker::lease_ms);
            let handler = move |job: Job| {
                let (program, workspace) = (Arc::clone(&start.program), workspace.clone());
                async move {
                    let task = serde_json::to_vec(job.task()).expect("tasks can be encoded");
                    let lease_ms = job.task().lease.as_ref().map_or(0, |lease| lease.lease_ms);
                    let (id, token) = (job.task().id.clone(), job.token());
                    let item = Item::Task { id, token, lease_ms };
                    let running = program.run(item, task, job.task().traceparent.as_ref());
                    let result = tokio::select! {
                        result = running => result,
                        () = cancelled(&workspace, job.task()) => {
                            return Err(Setback::new("the task was cancelled"));
                        }
                    };
                    if is_handed_over(&job).await {
                        job.handed_over();
                    }
                    result
                }
            };
            worker.run(handler, start.stop)
        };
        let leave =
            async |workspace: Workspace, left: Vec<Item>| release(&workspace, &left, output).await;
        let worked = handler.run(context, output, "tasks", work, leave).await?;
        output.said(&worked, &sentence(&worked))
    }
}

/// The worker runs the program for hand-offs, too. Whether one is accepted is decided by the
/// program; one that it does not answer is delivered again.
fn with_handoffs(worker: Worker, program: &Arc<HandlerProgram>) -> Worker {
    let program = Arc::clone(program);
    worker.on_handoff(move |_, handoff| {
        let program = Arc::clone(&program);
        async move {
            let given = serde_json::to_vec(&*handoff).expect("hand-offs can be encoded");
            let item = Item::Handoff { id: handoff.id.clone() };
            program.run(item, given, handoff.traceparent.as_ref()).await.map(drop)
        }
    })
}

/// The worker runs the program for messages, too. Its output is the reply to a request.
fn with_messages(worker: Worker, program: &Arc<HandlerProgram>) -> Worker {
    let program = Arc::clone(program);
    worker.on_message(move |_, message| {
        let program = Arc::clone(&program);
        async move {
            let given = serde_json::to_vec(&message).expect("messages can be encoded");
            let item = Item::Message { id: message.id.clone() };
            program.run(item, given, message.traceparent.as_ref()).await
        }
    })
}

/// Completes when a task is cancelled. Dropping the program then kills it; without this it would
/// run until the next renewal, which is refused. A program that ends soon is not watched,
/// nor is any if that is not permitted.
async fn cancelled(workspace: &Workspace, task: &Task) {
    sleep(WATCHED_AFTER).await;
    let tasks = workspace.tasks();
    loop {
        let watching = workspace.watch(&format!("tasks/{}", task.id)).kind("task.cancelled").await;
        if let Ok(mut watch) = watching {
            // It may have been cancelled before.
            let found = tasks.get(task.id.as_str()).await;
            if found.is_ok_and(|found| found.status == task::Status::Cancelled) {
                return;
            }
            if let Some(Ok(_)) = watch.next().await {
                return;
            }
        }
        sleep(WATCHED_AGAIN_AFTER).await;
    }
}

/// The counts of a worker, as a sentence.
fn sentence(worked: &Worked) -> String {
    let Worked { completed, failed, handed_over, lost, handoffs, messages } = worked;
    let mut sentence = format!(
        "tasks: {completed} completed, {failed} failed, {handed_over} handed over, {lost} lost"
    );
    for (count, what) in [(handoffs, "hand-offs"), (messages, "messages")] {
        if *count > 0 {
            sentence.extend([", ", what, ": ", &count.to_string(), " handled"]);
        }
    }
    sentence
}

/// Releases tasks whose programs were killed: otherwise they would wait for the end of their
/// leases. The server may be away, so this is bounded.
async fn release(workspace: &Workspace, left: &[Item], output: &Output) {
    let tasks = workspace.tasks();
    let deadline = Instant::now() + FAREWELL;
    for item in left {
        let Item::Task { id, token, lease_ms } = item else { continue };
        let releasing = tasks.release(id.as_str(), *token, Some("the worker was interrupted"));
        let what = match timeout_at(deadline, releasing).await {
            Ok(Ok(_)) => format!("task {id} was not finished, and is released"),
            Ok(Err(error)) => format!("task {id} was not finished, nor released: {error}"),
            Err(_) => format!(
                "task {id} was not finished; it becomes available when its lease expires, in {} s \
                 at the latest",
                lease_ms.div_ceil(1_000)
            ),
        };
        output.note(&shortened(&what));
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
