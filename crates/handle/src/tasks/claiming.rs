//! A task that is taken when this is awaited.

use std::future::IntoFuture;

use baton_core::task::{Claim, Command, Reply as TaskReply, Task};
use baton_core::{Reply, TaskId, TaskType};

use crate::carrier::{Carrier, Failure};
use crate::{Prepared, Sent, Workspace};

/// A task that is taken when this is awaited.
#[must_use = "nothing is taken before this is awaited"]
pub struct Claiming<C> {
    workspace: Workspace<C>,
    claim: Prepared<Claim>,
}

impl<C: Carrier> Claiming<C> {
    pub(super) fn new(workspace: Workspace<C>) -> Self {
        Self { workspace, claim: Ok(Claim::default()) }
    }

    fn with(mut self, change: impl FnOnce(&mut Claim) -> Prepared<()>) -> Self {
        self.claim = self.claim.and_then(|mut claim| {
            change(&mut claim)?;
            Ok(claim)
        });
        self
    }

    /// Only tasks of this type, or of another that is named so.
    pub fn of_type(self, task_type: &str) -> Self {
        self.with(|claim| {
            claim.types.get_or_insert_default().insert(TaskType::parse(task_type)?);
            Ok(())
        })
    }

    /// Something that the claimant can do, instead of what it registered with.
    pub fn capability(self, name: &str) -> Self {
        self.with(|claim| {
            claim.capabilities.get_or_insert_default().insert(name.to_owned());
            Ok(())
        })
    }

    /// Only this task.
    pub fn task(self, task: &str) -> Self {
        self.with(|claim| {
            claim.task = Some(TaskId::parse(task)?);
            Ok(())
        })
    }

    /// How long the lease lasts unless it is renewed.
    pub fn lease_ms(self, milliseconds: u64) -> Self {
        self.with(|claim| {
            claim.lease_ms = Some(milliseconds);
            Ok(())
        })
    }

    /// How long to wait for a task at most.
    pub fn wait_ms(self, milliseconds: u64) -> Self {
        self.with(|claim| {
            claim.wait_ms = Some(milliseconds);
            Ok(())
        })
    }
}

impl<C: Carrier> IntoFuture for Claiming<C> {
    type Output = Result<Option<Task>, C::Error>;
    type IntoFuture = Sent<Option<Task>, C>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            match self.workspace.execute(Command::Claim(self.claim?)).await?.reply {
                Reply::Task(TaskReply::Claimed(task)) => Ok(task.map(|task| *task)),
                reply => Err(C::Error::odd(&reply)),
            }
        })
    }
}
