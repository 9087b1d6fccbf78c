//! Decides which callers see a fencing token: its holder, and operators.
//!
//! ```text
//!   reply to a command ─┐
//!   end of a wait ──────┼──▶ Reply::hide_tokens ──▶ the token of every lease, hold, permit and
//!   reply to a query ───┘                           session of another agent is left out
//! ```
//!
//! Refusals name the holder and never a live token, and notices leave out the token that an event
//! grants. The rule that protects the work is that a token is refused from any agent but its holder
//! (`space/holders.rs`): a token is a number that can be guessed. Hiding it keeps an agent from
//! using the token of another agent by mistake.

use std::slice;

use crate::agent::{self, Agent};
use crate::lock::{self, Hold, Lock};
use crate::names::AgentId;
use crate::numbers::Token;
use crate::reply::Reply;
use crate::semaphore::{self, Permit, Semaphore};
use crate::task::{self, Lease, Task};
use crate::{handoff, wait};

/// The agent that a reply is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Viewer<'a> {
    /// The agent.
    pub agent: &'a AgentId,
    /// Whether it is shown the tokens of other agents, as operators are.
    pub sees_tokens: bool,
}

impl<'a> Viewer<'a> {
    /// An agent that is shown its own tokens only.
    pub fn agent(agent: &'a AgentId) -> Self {
        Self { agent, sees_tokens: false }
    }

    /// Leaves out the token of a holder, unless it is shown to this viewer.
    fn hide(&self, holder: &AgentId, token: &mut Token) {
        if !self.sees_tokens && holder != self.agent {
            *token = Token::HIDDEN;
        }
    }

    fn task(&self, task: &mut Task) {
        task.hide_token(*self);
    }

    fn hold(&self, hold: &mut Option<Hold>) {
        if let Some(Hold { holder, token, .. }) = hold {
            self.hide(holder, token);
        }
    }

    fn locks(&self, locks: &mut [Lock]) {
        for lock in locks {
            self.hold(&mut lock.hold);
        }
    }

    fn permit(&self, permit: &mut Permit) {
        self.hide(&permit.holder, &mut permit.token);
    }

    fn semaphores(&self, semaphores: &mut [Semaphore]) {
        for permit in semaphores.iter_mut().flat_map(|it| &mut it.holders) {
            self.permit(permit);
        }
    }

    fn sessions(&self, agents: &mut [Agent]) {
        for agent in agents {
            self.hide(&agent.id, &mut agent.token);
        }
    }
}

impl Task {
    /// Leaves out the token of its lease, unless it is shown to this viewer.
    pub(crate) fn hide_token(&mut self, viewer: Viewer<'_>) {
        if let Some(Lease { holder, token, .. }) = &mut self.lease {
            viewer.hide(holder, token);
        }
    }
}

impl Reply {
    /// Leaves out the tokens that are not shown to this viewer.
    pub fn hide_tokens(&mut self, viewer: Viewer<'_>) {
        #[cfg(feature = "planted")]
        if crate::planted::is("access.tokens_are_shown") {
            return;
        }
        match self {
            Self::Task(reply) => hide_in_tasks(reply, viewer),
            Self::Lock(lock::Reply::Hold(hold)) => viewer.hold(hold),
            Self::Lock(lock::Reply::Lock(lock)) => viewer.locks(slice::from_mut(lock)),
            Self::Lock(lock::Reply::Locks { locks, .. }) => viewer.locks(locks),
            Self::Semaphore(semaphore::Reply::Permit(Some(permit))) => viewer.permit(permit),
            Self::Semaphore(semaphore::Reply::Semaphore(it)) => {
                viewer.semaphores(slice::from_mut(it));
            }
            Self::Semaphore(semaphore::Reply::Semaphores { semaphores, .. }) => {
                viewer.semaphores(semaphores);
            }
            Self::Agent(agent::Reply::Agent(agent)) => viewer.sessions(slice::from_mut(agent)),
            Self::Agent(agent::Reply::Agents { agents, .. }) => viewer.sessions(agents),
            Self::Handoff(handoff::Reply::Accepted { task: Some(task), .. })
            | Self::Wait(
                wait::Reply::Task(Some(task)) | wait::Reply::Next(Some(wait::Work::Task(task))),
            ) => viewer.task(task),
            Self::Transaction(replies) => {
                for reply in replies {
                    reply.hide_tokens(viewer);
                }
            }
            _ => {}
        }
    }
}

fn hide_in_tasks(reply: &mut task::Reply, viewer: Viewer<'_>) {
    match reply {
        task::Reply::Task(task) | task::Reply::Claimed(Some(task)) => viewer.task(task),
        task::Reply::Completed { task, next } => {
            viewer.task(task);
            if let Some(task) = next {
                viewer.task(task);
            }
        }
        task::Reply::Tasks { tasks, .. } | task::Reply::ClaimedTasks { tasks } => {
            for task in tasks {
                viewer.task(task);
            }
        }
        task::Reply::Claimed(None)
        | task::Reply::Stats(_)
        | task::Reply::Why(_)
        | task::Reply::History { .. } => {}
    }
}
