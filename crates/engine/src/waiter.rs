//! Waiting calls: for a lock, a permit, a task.
//!
//! ```text
//!   submit ──▶ queued in the space, registered here ──▶ a later commit ends it
//!                    │                                        │ durable
//!                    └── its caller has gone: cancelled       └──▶ answered
//! ```
//!
//! Invariants:
//!
//! 1. A call is registered and queued under the same lock, so no answer is missed.
//! 2. A call is answered once, and only with durable data.
//! 3. A caller that has gone leaves no wait behind, and nothing is granted to it afterwards.

use std::sync::Arc;

use baton_core::{Answer, Rejection, WaitId, WorkspaceName};

use crate::driver::Driver;
use crate::error::Error;
use crate::oneshot::Oneshot;

/// The wait of a call that waits for nothing in its workspace: revisions start at 1.
pub(crate) const NO_WAIT: WaitId = WaitId(0);

/// The result of a wait, for its caller.
pub type WaitResult = Result<Result<Answer, Rejection>, Error>;

/// A waiting call, as the machine sees it.
pub struct Waiter {
    /// Its workspace.
    pub workspace: WorkspaceName,
    /// Its wait in the workspace.
    pub wait: WaitId,
    oneshot: Arc<Oneshot<WaitResult>>,
}

impl Waiter {
    pub(crate) fn new(workspace: WorkspaceName, wait: WaitId) -> Arc<Self> {
        Arc::new(Self { workspace, wait, oneshot: Oneshot::new() })
    }

    pub(crate) fn complete(&self, result: WaitResult) {
        self.oneshot.complete(result);
    }

    /// The result, once there is one, for callers that poll instead of waiting.
    pub fn result(&self) -> Option<WaitResult> {
        self.oneshot.take()
    }
}

/// A waiting call, as its caller holds it. Dropping it cancels the wait.
#[must_use = "a call is given up when its waiter is dropped"]
pub struct Waiting {
    driver: Arc<Driver>,
    waiter: Arc<Waiter>,
    group: u64,
    is_over: bool,
}

impl Waiting {
    pub(crate) fn new(driver: Arc<Driver>, waiter: Arc<Waiter>, group: u64) -> Self {
        Self { driver, waiter, group, is_over: false }
    }

    /// Whether it is executed in any case, and only its answer takes time: dropping this does not
    /// cancel it.
    pub fn is_accepted(&self) -> bool {
        self.waiter.wait == NO_WAIT
    }

    /// Waits for the answer.
    pub async fn answer(mut self) -> Result<Answer, Error> {
        // The commit that queued this call has to be flushed.
        self.driver.wait_durable(self.group).await?;
        let result = self.waiter.oneshot.answer().await;
        self.is_over = true;
        Ok(result??)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if !self.is_over {
            self.driver.give_up(&self.waiter);
        }
    }
}
