//! Several commands, all or nothing.

use baton_core::{Command, Mutation, Precondition, Reply, Revision};

use crate::Workspace;
use crate::carrier::{Carrier, Failure};

/// Commands that are carried out together, or not at all.
#[derive(Clone, Debug)]
#[must_use = "nothing is done before this is committed"]
pub struct Transaction<C> {
    workspace: Workspace<C>,
    require: Vec<Precondition>,
    commands: Vec<Command>,
}

impl<C: Carrier> Transaction<C> {
    pub(crate) fn new(workspace: Workspace<C>) -> Self {
        Self { workspace, require: Vec::new(), commands: Vec::new() }
    }

    /// Something that must hold.
    pub fn require(mut self, precondition: Precondition) -> Self {
        self.require.push(precondition);
        self
    }

    /// The next command. It sees what the ones before it did.
    pub fn command(mut self, command: impl Into<Command>) -> Self {
        self.commands.push(command.into());
        self
    }

    /// Carries them out, as one revision; answers with one reply for each.
    pub async fn commit(self) -> Result<(Revision, Vec<Reply>), C::Error> {
        let mutation = Mutation::Transaction { require: self.require, commands: self.commands };
        let answer = self.workspace.mutate(mutation).await?;
        match answer.reply {
            Reply::Transaction(replies) => Ok((answer.revision, replies)),
            reply => Err(C::Error::odd(&reply)),
        }
    }
}
