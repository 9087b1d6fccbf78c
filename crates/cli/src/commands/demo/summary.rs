//! How it ended, in the server's own words.

use baton_client::Workspace;
use baton_core::task::{List, Statistics, Status};
use baton_core::{GroupName, Revision};

use crate::failure::{Failure, Fault};
use crate::output::{Colour, Output};

/// How it was before the fleet came.
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

    /// What the tasks of this run belong to: nobody began at the same revision.
    pub(super) fn group(&self) -> String {
        format!("demo-{}", self.revision)
    }

    /// Tells what has come of it, and fails if anything is missing.
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
            ("tasks", format!("{completed} completed, {p95_ms} ms in work at the 95th percentile")),
            ("hand-offs", format!("{passed} completed, {rejected} rejected and offered again")),
            ("failures", format!("{tries} tries failed or died, and were taken up again")),
            ("changes", format!("{revisions}, each durable before anybody saw it")),
        ];
        output.bytes(b"\n")?;
        for (name, text) in lines {
            let name = output.coloured(Colour::Bold, &format!("{name:>10}"));
            output.bytes(format!("{name}  {text}\n").as_bytes())?;
        }
        if done < wanted.len() {
            let ids = wanted.iter().filter(|task| !is_done(task.status));
            let ids: Vec<&str> = ids.map(|task| task.id.as_str()).take(5).collect();
            let (what, reason) = (ids.join(", "), format!("{done} of {} are done", wanted.len()));
            return Err(Fault::Lost { what, reason }.into());
        }
        let name = output.coloured(Colour::Green, &format!("{:>10}", "nothing"));
        let all = wanted.len();
        output.bytes(
            format!("{name}  lost: the server has all {all} tasks as completed\n").as_bytes(),
        )
    }
}
