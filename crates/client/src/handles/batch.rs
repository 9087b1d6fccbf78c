//! Batches: several calls that are sent together and executed independently.

use baton_core::{Answer, Command, Mutation, Query, Rejection};

use crate::carrier::BatchedCall;
use crate::{Error, Workspace};

/// Calls that are sent together. One that is refused does not stop the next.
#[derive(Clone, Debug)]
#[must_use = "nothing is sent before this is sent"]
pub struct CallBatch {
    workspace: Workspace,
    calls: Vec<BatchedCall>,
}

impl CallBatch {
    pub(crate) fn new(workspace: Workspace) -> Self {
        Self { workspace, calls: Vec::new() }
    }

    /// Adds a command.
    pub fn command(mut self, command: impl Into<Command>) -> Self {
        let mutation = self.workspace.fenced(Mutation::Command(command.into()));
        self.calls.push(BatchedCall::Mutation(mutation));
        self
    }

    /// Adds a query. It sees the effects of the commands before it.
    pub fn query(mut self, query: impl Into<Query>) -> Self {
        let query = self.workspace.at_its_point(query.into());
        self.calls.push(BatchedCall::Query(query));
        self
    }

    /// Sends the calls, without waiting between them, and returns the outcome of each. They are
    /// executed in this order. Nothing is sent if one idempotency key was given for several
    /// commands: each needs its own, and a carrier to a server adds one to each.
    pub async fn send(self) -> Result<Vec<Result<Answer, Error>>, Error> {
        let Self { workspace, calls } = self;
        let commands = calls.iter().filter(|call| matches!(call, BatchedCall::Mutation(_))).count();
        if let Some(key) = workspace.caller.idempotency_key.as_ref().filter(|_| commands > 1) {
            return Err(Error::Rejected(Rejection::KeyReused { key: key.clone() }));
        }
        workspace.carrier.batch(&workspace.caller, calls).await
    }
}
