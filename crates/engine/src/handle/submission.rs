//! The interface for a program that serves many callers from one thread: it submits everything that
//! is ready, waits once, and answers all of it.
//!
//! ```text
//!   read all frames ──▶ submit, query … ──▶ wait_durable(the last group) ──▶ open, encode, write
//! ```
//!
//! The handles of [`baton_client`] wait for each answer separately, which suits most programs, but
//! would cost a server one wait per request instead of one per round.

use baton_core::access::Viewer;
use baton_core::wire::FastCall;
use baton_core::{AgentId, Query, Request, WorkspaceName};

use super::Baton;
use crate::admission::{Admission, Deferred, HeldAnswer, RetryAfter};
use crate::error::Error;
use crate::waiter::Waiting;

impl Baton {
    /// Decides a request at once. The answer may be sent when its group is durable.
    pub fn submit(
        &self,
        workspace: &WorkspaceName,
        request: Request,
        agent: &AgentId,
    ) -> Result<Admission<Waiting, Request>, Error> {
        self.driver.submit(workspace, request, agent)
    }

    /// Answers a query at once. One about the past, or that takes long, waits: use
    /// [`ask`](Self::ask).
    pub fn query(
        &self,
        workspace: &WorkspaceName,
        query: &Query,
        viewer: Viewer<'_>,
    ) -> Result<Admission<Deferred, ()>, Error> {
        self.driver.shard.check_serving()?;
        Ok(self.driver.shard.ask(workspace, query, Some(viewer)))
    }

    /// Executes a call by the fast path, if it applies. If not, nothing has happened: submit it as
    /// a request or a query.
    pub fn fast_call(
        &self,
        workspace: &WorkspaceName,
        call: &FastCall<'_>,
        agent: &AgentId,
    ) -> Option<HeldAnswer> {
        let shard = &self.driver.shard;
        match call {
            FastCall::Set(set) => self.driver.fast_set(workspace, set, agent),
            FastCall::Get { namespace, key } => {
                shard.check_serving().ok()?;
                shard.fast_get(workspace, (namespace, key), agent)
            }
        }
    }

    /// Commits since the last call that took much work, and how much.
    pub fn take_heavy_commits(&self) -> Vec<(WorkspaceName, usize)> {
        self.driver.shard.machine().take_heavy()
    }

    /// Waits until a group is durable, and helps to write it; returns the newest durable group.
    pub async fn wait_durable(&self, group: u64) -> Result<u64, Error> {
        self.driver.wait_durable(group).await
    }

    /// Waits until everything that was submitted before is written, and helps to write it.
    pub async fn wait_all_durable(&self) -> Result<u64, Error> {
        let last = {
            let machine = self.driver.shard.machine();
            let is_empty = machine.open_group_size().0 == 0;
            machine.open_group() - u64::from(is_empty)
        };
        self.wait_durable(last).await
    }

    /// The outcome of a group, if it is known.
    pub fn group_status(&self, group: u64) -> Option<Result<u64, Error>> {
        self.driver.shard.watermark().group_status(group)
    }

    /// Waits until a call that was not accepted can be submitted again.
    pub async fn wait_for_retry(
        &self,
        workspace: &WorkspaceName,
        after: RetryAfter,
    ) -> Result<(), Error> {
        self.driver.wait_for_retry(workspace, after).await
    }

    /// Waits until a workspace is in memory.
    pub async fn load(&self, workspace: &WorkspaceName) -> Result<(), Error> {
        self.driver.ensure_loaded(workspace).await
    }

    /// Why writes are refused at the moment, if so: the disk is nearly full.
    pub fn check_disk_space(&self) -> Result<(), Error> {
        self.driver.shard.check_disk_space()
    }

    /// Why requests are refused, if so: the engine has stopped, or the database of the log does not
    /// answer.
    pub fn check_serving(&self) -> Result<(), Error> {
        self.driver.shard.check_serving()
    }

    /// Why requests are refused, if the engine has stopped.
    pub fn stopped(&self) -> Option<Error> {
        self.driver.shard.watermark().stopped()
    }
}
