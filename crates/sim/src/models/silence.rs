//! Checks that no agent is lost before it was silent for its whole time to live, not counting times
//! without a server.
//!
//! A sign of life is an accepted call, the whole time for which a call waits, and the moment at
//! which it ends, in whichever way.

use baton_core::{AgentId, Batch};

use crate::auditor::ledger::{Ledger, Session};
use crate::auditor::timeline::Timeline;
use crate::auditor::{Audit, demand};
use crate::coverage::Coverage;

impl Ledger {
    /// An agent was lost because of its silence.
    pub(crate) fn check_silence(&self, batch: &Batch, agent: &AgentId, session: &Session) -> Audit {
        let call = self.waits.of(agent);
        demand!(call.is_none(), "`{agent}` was lost while it waited: call {call:?}");
        let silence = self.silence(batch, agent, session);
        demand!(silence >= session.ttl_ms, "`{agent}` was lost after {silence} ms: {session:?}");
        Ok(())
    }

    fn silence(&self, batch: &Batch, agent: &AgentId, session: &Session) -> u64 {
        let heard = self.heard.get(agent).copied().unwrap_or_default();
        batch.time.since(session.seen.max(heard)).min(self.served_for())
    }

    /// A batch is complete: the agents whose waiting calls it ended were there until now.
    pub(crate) fn hear_callers(&mut self, batch: &Batch, coverage: &mut Coverage) {
        for agent in self.waits.take_callers() {
            let session = self.agents.get(&agent).and_then(Timeline::now);
            if let Some(session) = session.filter(|session| session.active)
                && self.silence(batch, &agent, session) > 2 * session.ttl_ms
            {
                coverage.met("wait: longer than a session without heartbeats");
            }
            self.heard(&agent, batch.time);
        }
    }
}
