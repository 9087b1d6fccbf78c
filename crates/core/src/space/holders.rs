//! A token belongs to its holder: the one rule about who can use it.
//!
//! Tokens are unique in a workspace, so the rule needs no knowledge of what a token was granted
//! for. The rules of each primitive check whether it has ended, because their errors contain more.
//! Reactions are exempt: operators set them up, and they act on the events of others.

use super::Space;
use crate::agent;
use crate::command::Command;
use crate::names::AgentId;
use crate::numbers::Token;
use crate::rejection::Rejection;
use crate::space::stamp::Stamp;

impl Space {
    /// Refuses a token that is live and belongs to another agent.
    pub(super) fn check_holder(&self, given: Token, caller: &AgentId) -> Result<(), Rejection> {
        #[cfg(feature = "planted")]
        if crate::planted::is("space.anyone_uses_a_token") {
            return Ok(());
        }
        let Some(holder) = self.holder_of(given) else { return Ok(()) };
        if let Some(orphan) = self.agent.orphaned(holder) {
            // Its session ends with the next commit of the engine, and its tokens are void now.
            let (agent, status) = (orphan.clone(), agent::Status::Lost);
            return Err(agent::Rejection::Ended { agent, status }.into());
        }
        if holder != caller {
            let (holder, caller) = (holder.clone(), caller.clone());
            return Err(Rejection::NotHolder { given, holder, caller });
        }
        Ok(())
    }

    /// Refuses a command whose fencing token is not live, or belongs to another agent.
    pub(super) fn check_fence(
        &self,
        fence: Option<Token>,
        caller: &AgentId,
    ) -> Result<(), Rejection> {
        let Some(given) = fence else { return Ok(()) };
        self.check_holder(given, caller)?;
        let is_live = self.is_live(given);
        #[cfg(feature = "planted")]
        let is_live = is_live || crate::planted::is("space.stale_fence_holds");
        if is_live { Ok(()) } else { Err(Rejection::StaleToken { given }) }
    }

    /// Refuses a command with the token of another agent.
    pub(super) fn check_own_token(
        &self,
        command: &Command,
        stamp: &Stamp,
    ) -> Result<(), Rejection> {
        command.token().map_or(Ok(()), |token| self.check_holder(token, &stamp.agent))
    }
}
