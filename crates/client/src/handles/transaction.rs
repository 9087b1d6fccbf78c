//! Transactions: several commands, all or none.

use baton_core::{Command, Mutation, Precondition, Reply, Revision};

use crate::workspace::of;
use crate::{Error, Workspace};

/// Commands that are executed together or not at all.
#[derive(Clone, Debug)]
#[must_use = "nothing is sent before this is committed"]
pub struct Transaction {
    workspace: Workspace,
    require: Vec<Precondition>,
    commands: Vec<Command>,
}

impl Transaction {
    pub(crate) fn new(workspace: Workspace) -> Self {
        Self { workspace, require: Vec::new(), commands: Vec::new() }
    }

    /// Adds a precondition.
    pub fn require(mut self, precondition: Precondition) -> Self {
        self.require.push(precondition);
        self
    }

    /// Adds a command. It sees the effects of those before it.
    pub fn command(mut self, command: impl Into<Command>) -> Self {
        self.commands.push(command.into());
        self
    }

    /// Executes the commands as one revision. Returns one reply for each.
    pub async fn commit(self) -> Result<(Revision, Vec<Reply>), Error> {
        let mutation = Mutation::Transaction { require: self.require, commands: self.commands };
        let answer = self.workspace.mutate(mutation).await?;
        Ok((answer.revision, of(answer)?))
    }
}
