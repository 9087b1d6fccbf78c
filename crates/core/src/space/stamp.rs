//! The fields that the engine adds to a command: time, actor and revision.

use crate::names::{AgentId, IdempotencyKey};
use crate::numbers::{Revision, Token, WaitId};
use crate::time::Timestamp;

/// Time, identity and order as data. The rules have no other clock.
#[derive(Clone, Debug)]
pub struct Stamp {
    /// The time of the decision. Never before that of an earlier batch of the workspace.
    pub now: Timestamp,
    /// The acting agent.
    pub agent: AgentId,
    /// The revision of the batch, if it is committed.
    pub revision: Revision,
    /// The idempotency key.
    pub key: Option<IdempotencyKey>,
    /// Whether the end of a session ends the sessions below it in the same commit. If not, they
    /// follow.
    pub ends_below: bool,
    /// Larger than any token granted before in this workspace.
    pub next_token: Token,
}

impl Stamp {
    /// A token larger than any granted before in this workspace.
    pub fn token(&self) -> Token {
        self.next_token
    }

    /// The tokens for one command to grant, in ascending order.
    pub fn tokens(&self) -> impl Iterator<Item = Token> + use<> {
        (self.next_token.0..).map(Token)
    }

    /// The id of the call, if it has to wait.
    pub fn wait(&self) -> WaitId {
        WaitId(self.revision.0)
    }
}
