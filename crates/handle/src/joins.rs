//! Joins of a workspace.

use std::future::IntoFuture;

use baton_core::join::{Command, Create, Join, Need, Query, Reply as JoinReply};
use baton_core::{GroupName, JoinId, Reply, TaskId};

use crate::carrier::{Carrier, Failure};
use crate::{Prepared, Sent, Workspace};

/// Joins of a workspace, as one agent sees them.
#[derive(Clone, Debug)]
pub struct Joins<C> {
    workspace: Workspace<C>,
}

impl<C: Carrier> Joins<C> {
    pub(crate) fn new(workspace: Workspace<C>) -> Self {
        Self { workspace }
    }

    /// Looks after all tasks of a group. What is needed of them may follow before this is awaited.
    pub fn of_group(&self, name: &str) -> Joining<C> {
        let group = GroupName::parse(name).map_err(Into::into);
        let create = group.map(|group| Create { group: Some(group), ..Create::default() });
        Joining { workspace: self.workspace.clone(), create }
    }

    /// Looks after these tasks. What is needed of them may follow before this is awaited.
    pub fn of_tasks(&self, tasks: &[&str]) -> Joining<C> {
        let tasks: Result<Vec<TaskId>, _> = tasks.iter().map(|task| TaskId::parse(task)).collect();
        let create = tasks.map_err(Into::into);
        let create = create.map(|tasks| Create { tasks: Some(tasks), ..Create::default() });
        Joining { workspace: self.workspace.clone(), create }
    }

    /// Waits until a join has settled, for so long at most; nothing if it has not in time.
    pub async fn wait(&self, join: &str, wait_ms: u64) -> Result<Option<Join>, C::Error> {
        let command = Command::Wait { join: JoinId::parse(join)?, wait_ms: Some(wait_ms) };
        match self.workspace.execute(command).await?.reply {
            Reply::Join(JoinReply::Settled(join)) => Ok(join.map(|join| *join)),
            reply => Err(C::Error::odd(&reply)),
        }
    }

    /// One of them.
    pub async fn get(&self, join: &str) -> Result<Join, C::Error> {
        record(self.workspace.ask(Query::Get { join: JoinId::parse(join)? }).await?.reply)
    }
}

fn record<F: Failure>(reply: Reply) -> Result<Join, F> {
    match reply {
        Reply::Join(JoinReply::Join(join)) => Ok(*join),
        reply => Err(F::odd(&reply)),
    }
}

/// A join that comes to be when this is awaited.
#[must_use = "nothing is created before this is awaited"]
pub struct Joining<C> {
    workspace: Workspace<C>,
    create: Prepared<Create>,
}

impl<C: Carrier> Joining<C> {
    fn with(mut self, change: impl FnOnce(&mut Create) -> Prepared<()>) -> Self {
        self.create = self.create.and_then(|mut create| {
            change(&mut create)?;
            Ok(create)
        });
        self
    }

    /// Which join it shall be.
    pub fn id(self, id: &str) -> Self {
        self.with(|create| {
            create.id = Some(JoinId::parse(id)?);
            Ok(())
        })
    }

    /// That so many are completed is enough, instead of that all have finished.
    pub fn need(self, count: u64) -> Self {
        self.with(|create| {
            create.need = Some(Need::Number(count));
            Ok(())
        })
    }

    /// How long it waits for them at most.
    pub fn deadline_ms(self, milliseconds: u64) -> Self {
        self.with(|create| {
            create.deadline_ms = Some(milliseconds);
            Ok(())
        })
    }
}

impl<C: Carrier> IntoFuture for Joining<C> {
    type Output = Result<Join, C::Error>;
    type IntoFuture = Sent<Join, C>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            record(self.workspace.execute(Command::Create(self.create?)).await?.reply)
        })
    }
}
