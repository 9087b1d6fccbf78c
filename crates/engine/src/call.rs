//! A call that waits: for a lock, a permit, a task.
//!
//! ```text
//!   submit ──▶ queued in the space, registered here ──▶ a later commit ends it
//!                    │                                        │ durable
//!                    └── its caller goes away: given up       └──▶ answered
//! ```
//!
//! Invariants:
//!
//! 1. A call is registered in the same moment as it is queued, so nothing falls between.
//! 2. Whoever is answered is answered once, and only with what is durable.
//! 3. A caller that goes away leaves no wait behind, and nothing is granted to it afterwards.

use std::sync::Arc;

use baton_core::{Answer, Rejection, WaitId, WorkspaceName};

use crate::crank::Crank;
use crate::error::Error;
use crate::ticket::Ticket;

/// What a caller is told in the end.
pub type Told = Result<Result<Answer, Rejection>, Error>;

/// A call that waits, as the machine knows it.
pub struct Call {
    /// In which workspace.
    pub workspace: WorkspaceName,
    /// Which of the waits there.
    pub wait: WaitId,
    ticket: Arc<Ticket<Told>>,
}

impl Call {
    pub(crate) fn new(workspace: WorkspaceName, wait: WaitId) -> Arc<Self> {
        Arc::new(Self { workspace, wait, ticket: Ticket::new() })
    }

    pub(crate) fn settle(&self, told: Told) {
        self.ticket.settle(told);
    }

    /// What the caller was told, if it was, for those who look instead of waiting.
    pub fn told(&self) -> Option<Told> {
        self.ticket.take()
    }
}

/// A call that waits, as its caller holds it. Dropping it gives up.
#[must_use = "a call that nobody waits for is given up"]
pub struct Waiting {
    crank: Arc<Crank>,
    call: Arc<Call>,
    group: u64,
    is_over: bool,
}

impl Waiting {
    pub(crate) fn new(crank: Arc<Crank>, call: Arc<Call>, group: u64) -> Self {
        Self { crank, call, group, is_over: false }
    }

    /// Waits for the answer.
    pub async fn answer(mut self) -> Result<Answer, Error> {
        // Somebody has to see to it that the others learn of this call.
        self.crank.durable(self.group).await?;
        let told = self.call.ticket.answer().await;
        self.is_over = true;
        Ok(told??)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if !self.is_over {
            self.crank.give_up(&self.call);
        }
    }
}
