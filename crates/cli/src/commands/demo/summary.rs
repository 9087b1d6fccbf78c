//! The summary of a run, from the statistics of the server.

use baton_client::Workspace;
use baton_core::task::{List, Statistics, Status};
use baton_core::{GroupName, Revision};

use crate::failure::{Failure, Fault};
use crate::output::{Colour, Output};

/// The statistics before the run.
pub(super) struct Before {
    pub(super) revision: Revision,
    tasks: Statistics,
    handoffs: baton_core::handoff::Statistics,
}

impl Before {
    pub(super) async fn of(workspace: &Workspace) -> Result<Self, Failure> {
        let (revision, tasks) = (workspace.revision().await?, workspace.tasks().stats(None).await?);
        Ok(Self { revision, tasks, handoffs: workspace.handoffs().stats().await? })
    }

    /// The group of this run's tasks, unique because the starting revision is.
    pub(super) fn group(&self) -> String {
        format!("demo-{}", self.revision)
    }

    /// Prints the summary, and fails if a task was not completed.
    pub(super) async fn summarise(
        &self,
        workspace: &Workspace,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let group = Some(GroupName::parse(&self.group())?);
        let wanted = workspace.tasks().list(List { group, ..List::default() }).await?;
        let is_done = |status| status == Status::Completed;
        let done = wanted.iter().filter(|task| is_done(task.status)).count();
        let tries: u64 = wanted.iter().map(|task| task.retries).sum();
        let tasks = workspace.tasks().stats(None).await?;
        let handoffs = workspace.handoffs().stats().await?;
        let completed = tasks.tasks.completed.saturating_sub(self.tasks.tasks.completed);
        let passed = handoffs.completed.saturating_sub(self.handoffs.completed);
        let rejected = handoffs.rejected.saturating_sub(self.handoffs.rejected);
        let p95_ms = tasks.time_in_state.in_progress.p95_ms;
        let revisions = workspace.revision().await?.0 - self.revision.0;
        let lines = [
            ("tasks", format!("{completed} completed, p95 time in progress {p95_ms} ms")),
            ("hand-offs", format!("{passed} completed, {rejected} rejected and offered again")),
            ("failures", format!("{tries} attempts failed or were lost, and were retried")),
            ("changes", format!("{revisions} revisions, each durable before it became visible")),
        ];
        output.bytes(b"\n")?;
        for (name, text) in lines {
            let name = output.coloured(Colour::Bold, &format!("{name:>10}"));
            output.bytes(format!("{name}  {text}\n").as_bytes())?;
        }
        if done < wanted.len() {
            let ids = wanted.iter().filter(|task| !is_done(task.status));
            let ids: Vec<&str> = ids.map(|task| task.id.as_str()).take(5).collect();
            let (what, reason) =
                (ids.join(", "), format!("only {done} of {} tasks were completed", wanted.len()));
            return Err(Fault::Lost { what, reason }.into());
        }
        let name = output.coloured(Colour::Green, &format!("{:>10}", "nothing"));
        let all = wanted.len();
        output.bytes(
            format!("{name}  lost: all {all} tasks are completed on the server\n").as_bytes(),
        )
    }
}
