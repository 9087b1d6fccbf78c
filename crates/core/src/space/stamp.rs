//! What the engine stamps onto a command: time, actor and place in the order of things.

use crate::names::{AgentId, IdempotencyKey};
use crate::numbers::{Revision, Token, WaitId};
use crate::time::Timestamp;

/// Time, identity and order as data. The rules know no other clock.
#[derive(Clone, Debug)]
pub struct Stamp {
    /// The moment of the decision. Never before that of an earlier batch of the workspace.
    pub now: Timestamp,
    /// Who acts.
    pub agent: AgentId,
    /// The revision the batch will have if it is committed.
    pub revision: Revision,
    /// The caller's own name for the request.
    pub key: Option<IdempotencyKey>,
    /// Larger than any token given before in this workspace.
    pub next_token: Token,
}

impl Stamp {
    /// A token larger than any given before in this workspace.
    pub fn token(&self) -> Token {
        self.next_token
    }

    /// As many of them as one command has to give, each larger than the one before.
    pub fn tokens(&self) -> impl Iterator<Item = Token> + use<> {
        (self.next_token.0..).map(Token)
    }

    /// The number of the call, if it has to wait.
    pub fn wait(&self) -> WaitId {
        WaitId(self.revision.0)
    }
}
