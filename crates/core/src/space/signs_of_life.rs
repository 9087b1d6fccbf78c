//! The signs of life of an agent: its calls, and its waits for the answer to one.
//!
//! ```text
//!   a call that changes something ──▶ recorded in the same batch, if the last record is old
//!   a call that changes nothing ────▶ noted in memory
//!   a call that waits ──────────────▶ noted in memory when its agent would be lost, and when the
//!                                     wait ends, in whichever way
//! ```
//!
//! Signs of life and callers are only in memory: both are gone after a restart, and then every
//! session has its full TTL again.

use super::{CommitBuilder, Space};
use crate::event::Event;
use crate::limits;
use crate::names::AgentId;
use crate::space::batch::Moment;
use crate::space::stamp::Stamp;
use crate::time::Timestamp;

impl Space {
    /// An accepted command counts as a heartbeat of the agent that sent it. Its record is added to
    /// the same batch, unless there is none or it is full.
    pub(super) fn record_sign_of_life(&mut self, stamp: &Stamp, commit: &mut CommitBuilder) {
        let has_room = (1..limits::BATCH_EVENTS_MAX).contains(&commit.events.len());
        let due = has_room.then(|| self.agent.heartbeat_due(&stamp.agent, stamp.now)).flatten();
        let Some(event) = due.map(Event::Agent) else { return };
        if commit.weight + event.weight() > limits::BATCH_BYTES_MAX {
            return;
        }
        let moment = Moment { revision: stamp.revision, time: stamp.now, agent: &stamp.agent };
        self.evolve(&event, &moment, commit.needs_undo);
        commit.weight += event.weight();
        commit.events.push(event);
    }

    /// An agent made a call that changed nothing: that counts as a heartbeat too. Returns whether
    /// the next deadline may have moved.
    pub fn hear(&mut self, agent: &AgentId, now: Timestamp) -> bool {
        self.agent.hear(agent, now.max(self.time))
    }

    /// Records a sign of life for the agents that are silent because they wait. Done only when an
    /// agent is silent, so that a wait costs nothing while it lasts.
    pub(super) fn hear_waiting(&mut self, now: Timestamp) {
        #[cfg(feature = "planted")]
        if crate::planted::is("agent.lost_while_waiting") {
            return;
        }
        // Actions that are due are decided at this time, see `stamp`.
        let now = now.max(self.time);
        let waiting = self.agent.silent(now).filter(|agent| self.has_caller(agent));
        let waiting: Vec<AgentId> = waiting.cloned().collect();
        for agent in waiting {
            self.agent.hear(&agent, now);
        }
    }

    /// The waiting calls of these agents have ended with the last commit: each has its whole time
    /// to live from now on.
    pub(super) fn hear_callers(&mut self, callers: &[AgentId]) {
        #[cfg(feature = "planted")]
        if crate::planted::is("agent.lost_while_waiting")
            || crate::planted::is("agent.lost_after_waiting")
        {
            return;
        }
        for agent in callers {
            self.agent.hear(agent, self.time);
        }
    }
}
