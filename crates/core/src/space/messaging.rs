//! The view that messages get of agents.

use super::tables::TablesView;
use crate::agent;
use crate::message::View;
use crate::names::AgentId;
use crate::time::Timestamp;

impl View for TablesView<'_> {
    fn session_since(&self, agent: &AgentId) -> Option<Timestamp> {
        let agent = self.agent.get(agent).filter(|it| it.status == agent::Status::Active)?;
        Some(agent.registered_at)
    }

    fn capable(&self, capability: &str) -> Vec<AgentId> {
        self.agent.capable(capability).cloned().collect()
    }

    fn capabilities(&self, agent: &AgentId) -> Vec<String> {
        let agent = self.agent.get(agent).filter(|it| it.status == agent::Status::Active);
        agent.into_iter().flat_map(|it| &it.capabilities).cloned().collect()
    }
}
