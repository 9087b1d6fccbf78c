//! What the engine stamps onto a command: time, actor and place in the order of things.

use crate::names::AgentId;
use crate::numbers::{Revision, Token};
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
}

impl Stamp {
    /// A token larger than any given before in this workspace.
    pub fn token(&self) -> Token {
        Token(self.revision.0)
    }
}
