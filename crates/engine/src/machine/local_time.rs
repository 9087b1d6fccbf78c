//! The time of a workspace whose past is ahead of the clock.
//!
//! ```text
//!   written until 12:00 ──▶ the server starts again at 11:00 by its clock
//!   ahead = 1 h: the workspace continues at 12:00, and counts as fast as the clock
//! ```
//!
//! Time in a workspace never runs backwards, and a clock that is behind must not stop it: leases,
//! waits and delays would not end until the clock has caught up. Times that the machine keeps for
//! its driver, such as the next alarm, are by the clock; all times in a space, in the log and in
//! the names of snapshots are by the time of the workspace.

use baton_core::{Space, Timestamp, WorkspaceName};

use super::deadlines::move_deadline;
use super::{Machine, Resident};

impl Resident {
    /// The workspace's time at this moment of the clock.
    pub(super) fn local(&self, now: Timestamp) -> Timestamp {
        now.after(self.ahead_ms)
    }

    /// When time next causes something, by the clock.
    pub(super) fn alarm(&self) -> Option<Timestamp> {
        self.deadline.map(|moment| by_clock(moment, self.ahead_ms))
    }
}

/// The moment of the clock at which a workspace that is ahead has this time.
pub(super) fn by_clock(local: Timestamp, ahead_ms: u64) -> Timestamp {
    Timestamp(local.0.saturating_sub(ahead_ms))
}

impl Machine {
    /// The newest batch of a workspace is from this time.
    pub fn remember_time(&mut self, workspace: &WorkspaceName, newest: Timestamp, now: Timestamp) {
        let ahead_ms = newest.since(now);
        if ahead_ms > 0 {
            self.ahead.insert(workspace.clone(), ahead_ms);
        }
    }

    /// The time of a workspace at this moment of the clock.
    pub fn local_time(&self, workspace: &WorkspaceName, now: Timestamp) -> Timestamp {
        let resident = self.residents.get(workspace);
        resident.map_or(now.after(self.ahead_of(workspace)), |resident| resident.local(now))
    }

    /// How far a workspace that is not in memory is ahead of the clock, as far as that is known.
    pub(super) fn ahead_of(&self, workspace: &WorkspaceName) -> u64 {
        self.ahead.get(workspace).copied().unwrap_or_default()
    }

    /// Sets the time since which a loaded workspace can receive heartbeats, and returns how far it
    /// is ahead of the clock.
    pub(super) fn begin_time(
        &mut self,
        workspace: &WorkspaceName,
        space: &mut Space,
        now: Timestamp,
    ) -> u64 {
        let known_ms = self.ahead_of(workspace);
        let ahead_ms = known_ms.max(space.time().since(now));
        if ahead_ms > known_ms {
            self.ahead.insert(workspace.clone(), ahead_ms);
            space.wake(now.after(ahead_ms));
        } else {
            // A workspace that was not in memory has missed no heartbeat: one would have loaded it.
            space.served_since(self.served_since.after(ahead_ms));
        }
        for (agent, moment) in self.signs_of_life.remove(workspace).unwrap_or_default() {
            space.agent.hear(&agent, moment);
        }
        ahead_ms
    }

    /// No agent could be heard until this moment, for example because the process was stopped, so
    /// no agent loses anything because of the silence.
    pub fn resume(&mut self, now: Timestamp) {
        self.served_since = now;
        for (workspace, resident) in &mut self.residents {
            let local = resident.local(now);
            if let Some(away) = &mut resident.away {
                away.woken_at = Some(local);
                continue;
            }
            resident.space.wake(local);
            let (deadline, ahead_ms) = (resident.space.next_deadline(), resident.ahead_ms);
            let before = &mut resident.deadline;
            move_deadline(&mut self.deadlines, workspace, before, deadline, ahead_ms);
        }
    }
}
