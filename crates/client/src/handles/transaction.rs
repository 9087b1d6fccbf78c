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
    optional: Vec<usize>,
}

impl Transaction {
    pub(crate) fn new(workspace: Workspace) -> Self {
        Self { workspace, require: Vec::new(), commands: Vec::new(), optional: Vec::new() }
    }

    /// Adds a precondition.
    pub fn require(mut self, precondition: Precondition) -> Self {
        self.require.push(precondition);
        self
    }

    /// Adds a command. It sees the effects of those before it. If it has no effect, such as a lock
    /// that is not free, no command is executed.
    pub fn command(mut self, command: impl Into<Command>) -> Self {
        self.commands.push(command.into());
        self
    }

    /// Adds a command that may have no effect: the others are executed all the same.
    pub fn optional(mut self, command: impl Into<Command>) -> Self {
        self.optional.push(self.commands.len());
        self.command(command)
    }

    /// Executes the commands as one revision. Returns one reply for each.
    pub async fn commit(self) -> Result<(Revision, Vec<Reply>), Error> {
        let Self { workspace, require, commands, optional } = self;
        let answer =
            workspace.mutate(Mutation::Transaction { require, commands, optional }).await?;
        Ok((answer.revision, of(answer)?))
    }
}
