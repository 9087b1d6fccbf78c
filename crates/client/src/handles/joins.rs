//! The joins of a workspace.

use baton_core::join::{Command, Create, Join, Need, Query};
use baton_core::{GroupName, JoinId, TaskId};

use crate::request::request;
use crate::{Error, Joins};

impl Joins {
    /// Creates a join over all tasks of a group.
    pub fn of_group(&self, name: &str) -> Joining {
        let group = GroupName::parse(name).map_err(Into::into);
        let create = group.map(|group| Create { group: Some(group), ..Create::default() });
        Joining::new(&self.workspace, create)
    }

    /// Creates a join over some tasks.
    pub fn of_tasks(&self, tasks: &[&str]) -> Joining {
        let tasks: Result<Vec<TaskId>, _> = tasks.iter().map(|task| TaskId::parse(task)).collect();
        let create = tasks.map_err(Into::into);
        let create = create.map(|tasks| Create { tasks: Some(tasks), ..Create::default() });
        Joining::new(&self.workspace, create)
    }

    /// Waits until a join has settled; `None` if the wait times out.
    pub async fn wait(&self, join: &str, wait_ms: u64) -> Result<Option<Join>, Error> {
        let (join, wait_ms) = (JoinId::parse(join)?, Some(wait_ms));
        self.workspace.run(Command::Wait { join, wait_ms }).await
    }

    /// Reads a join.
    pub async fn get(&self, join: &str) -> Result<Join, Error> {
        self.workspace.query(Query::Get { join: JoinId::parse(join)? }).await
    }
}

request! {
    /// Creates a join when it is awaited.
    Joining(Create) -> Join: |workspace, create| workspace.run(Command::Create(create));
    /// Sets its id.
    id(id: &str) |create| create.id = Some(JoinId::parse(id)?);
    /// Settles when this many tasks are completed, instead of when all have finished.
    need(count: u64) |create| create.need = Some(Need::Number(count));
    /// Sets how long it waits for the tasks.
    deadline_ms(milliseconds: u64) |create| create.deadline_ms = Some(milliseconds);
}
