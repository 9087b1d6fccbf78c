//! What a program needs that serves many callers from one thread: to submit everything that is
//! ready, wait once, and answer them all.
//!
//! ```text
//!   read all frames ──▶ submit, query … ──▶ wait_durable(the last group) ──▶ open, encode, write
//! ```
//!
//! The handles of [`baton_handle`] wait for each answer by itself, which is what most programs want
//! and costs a server a wait for every request instead of one for every turn.

use baton_core::{AgentId, Answer, FastSet, Query, Rejection, Request, WorkspaceName};

use super::Baton;
use crate::driver::Submitted;
use crate::error::Error;
use crate::machine::{Absent, Asked, Held};

impl Baton {
    /// Decides a request at once. What was answered may be told when its group is durable.
    pub fn submit(
        &self,
        workspace: &WorkspaceName,
        request: Request,
        agent: &AgentId,
    ) -> Result<Submitted, Error> {
        self.driver.submit(workspace, request, agent)
    }

    /// Answers a question at once, if the workspace is in memory.
    pub fn query(
        &self,
        workspace: &WorkspaceName,
        query: &Query,
    ) -> Result<Result<Asked, Absent<()>>, Error> {
        match self.driver.shard.watermark().stopped() {
            Some(stopped) => Err(stopped),
            None => Ok(self.driver.shard.ask(workspace, query)),
        }
    }

    /// Sets an entry at once, if nothing about that is unusual. If something is, nothing has
    /// happened: submit it as a request.
    pub fn fast_set(
        &self,
        workspace: &WorkspaceName,
        set: &FastSet<'_>,
        agent: &AgentId,
    ) -> Option<Held<Result<Answer, Rejection>>> {
        self.driver.fast_set(workspace, set, agent)
    }

    /// Reads an entry at once, if it is there and nothing about that is unusual. If something is,
    /// ask for it.
    pub fn fast_get(
        &self,
        workspace: &WorkspaceName,
        namespace: &str,
        key: &str,
    ) -> Option<Held<Result<Answer, Rejection>>> {
        let shard = &self.driver.shard;
        if shard.watermark().stopped().is_some() {
            return None;
        }
        shard.machine().fast_get(workspace, namespace, key)
    }

    /// Waits until a group is durable, and helps to write it; answers with how far all is durable.
    pub async fn wait_durable(&self, group: u64) -> Result<u64, Error> {
        self.driver.wait_durable(group).await
    }

    /// Waits until nothing that was submitted before is still to be written, and helps with that.
    pub async fn wait_all_durable(&self) -> Result<u64, Error> {
        let last = {
            let machine = self.driver.shard.machine();
            let is_empty = machine.open_group_size().0 == 0;
            machine.open_group() - u64::from(is_empty)
        };
        self.wait_durable(last).await
    }

    /// What became of a group, if that is known.
    pub fn group_status(&self, group: u64) -> Option<Result<u64, Error>> {
        self.driver.shard.watermark().group_status(group)
    }

    /// Waits until a workspace is in memory.
    pub async fn load(&self, workspace: &WorkspaceName) -> Result<(), Error> {
        self.driver.ensure_loaded(workspace).await
    }

    /// Why nothing is written at the moment, if so: the disk is nearly full.
    pub fn check_disk_space(&self) -> Result<(), Error> {
        self.driver.shard.check_disk_space()
    }

    /// Why nothing is served any more, if so.
    pub fn stopped(&self) -> Option<Error> {
        self.driver.shard.watermark().stopped()
    }
}
