//! Checks that sessions end with the session of their supervisor.

use std::collections::BTreeSet;

use baton_core::agent::{Event, Rejection};
use baton_core::{AgentId, Batch, limits};

use crate::auditor::ledger::{Ledger, Session};
use crate::auditor::timeline::Timeline;
use crate::auditor::{Audit, demand};
use crate::coverage::Coverage;

impl Ledger {
    /// An agent was lost: because of its silence, or because of another agent.
    pub(crate) fn check_lost(
        &self,
        batch: &Batch,
        session: &Session,
        event: &Event,
        ended: &BTreeSet<AgentId>,
        coverage: &mut Coverage,
    ) -> Audit {
        let agent = event.agent();
        if let Event::Lost { because: Some(above), .. } = event {
            return self.check_lost_below(agent, above, ended, coverage);
        }
        self.check_silence(batch, agent, session)
    }

    fn check_lost_below(
        &self,
        agent: &AgentId,
        above: &AgentId,
        ended: &BTreeSet<AgentId>,
        coverage: &mut Coverage,
    ) -> Audit {
        coverage.met("batch: agent lost with its supervisor");
        let now = |agent: &AgentId| self.agents.get(agent).and_then(Timeline::now);
        let parent = |agent: &AgentId| now(agent).and_then(|session| session.parent.clone());
        let mut chain = std::iter::successors(parent(agent), parent).take(limits::AGENT_DEPTH_MAX);
        demand!(chain.any(|there| there == *above), "`{agent}` is not below `{above}`");
        demand!(ended.contains(above), "`{agent}` was lost, but the session of `{above}` goes on");
        Ok(())
    }

    /// After every batch: no session outlives the session of its supervisor.
    pub(crate) fn check_supervised(&self) -> Audit {
        let now = |agent: &AgentId| self.agents.get(agent).and_then(Timeline::now);
        for (agent, timeline) in &self.agents {
            let Some(session) = timeline.now().filter(|session| session.active) else { continue };
            let Some(parent) = &session.parent else { continue };
            let is_there = now(parent).is_some_and(|it| it.active && it.token < session.token);
            demand!(is_there, "`{agent}` outlives the session of `{parent}`, its supervisor");
        }
        Ok(())
    }

    /// Checks that a parent was refused for a reason.
    pub(crate) fn refused_parent(&self, rejection: &Rejection, at: u64) -> Audit {
        let parent = |agent: &AgentId| self.session(agent, at)?.parent.clone();
        let chain = |from: &AgentId| std::iter::successors(Some(from.clone()), parent);
        match rejection {
            Rejection::NoParent { parent } => {
                let active = self.session(parent, at).is_some_and(|session| session.active);
                demand!(!active, "`{parent}` had a session");
            }
            Rejection::Cycle { agent, parent } => {
                let mut above = chain(parent).take(limits::AGENT_DEPTH_MAX + 1);
                demand!(above.any(|there| there == *agent), "`{parent}` is not below `{agent}`");
            }
            Rejection::TooDeep { parent, max } => {
                let levels = chain(parent).take(*max).count();
                demand!(levels == *max, "there are {levels} levels at `{parent}`");
            }
            other => {
                let code = other.code();
                return Err(crate::auditor::Breach(format!("no request can cause `{code}`")));
            }
        }
        Ok(())
    }
}
