//! What messages may know of agents, and what is told without being written down.

use super::Space;
use super::reply_plan::ReplyPlan;
use super::tables::TablesView;
use crate::event::Event;
use crate::message::View;
use crate::names::AgentId;
use crate::rejection::Rejection;
use crate::space::stamp::Stamp;
use crate::time::Timestamp;
use crate::{agent, message, stream, topic};

impl View for TablesView<'_> {
    fn session_since(&self, agent: &AgentId) -> Option<Timestamp> {
        let agent = self.agent.get(agent).filter(|it| it.status == agent::Status::Active)?;
        Some(agent.registered_at)
    }

    fn capable(&self, capability: &str) -> Vec<AgentId> {
        let able = self.agent.after(None).filter(|agent| {
            agent.status == agent::Status::Active && agent.capabilities.contains(capability)
        });
        able.map(|agent| agent.id.clone()).collect()
    }
}

impl Space {
    pub(super) fn decide_message(
        &self,
        command: message::Command,
        stamp: &Stamp,
        events: &mut Vec<Event>,
    ) -> Result<ReplyPlan, Rejection> {
        let view = TablesView { namespace: &self.namespace, agent: &self.agent };
        let decided = message::decide(&self.message, &view, command, stamp)?;
        events.extend(decided.events.into_iter().map(Event::Message));
        Ok(decided.plan.into())
    }

    pub(super) fn decide_topic(
        command: topic::Command,
        events: &mut Vec<Event>,
        live: &mut Vec<Event>,
    ) -> Result<ReplyPlan, Rejection> {
        let topic::Decided { event, is_durable, topic } = topic::decide(command)?;
        let target = if is_durable { events } else { live };
        target.push(Event::Topic(event));
        Ok(ReplyPlan::Published(topic::Published { topic, durable: is_durable, posts: 0 }))
    }

    pub(super) fn decide_stream(
        &self,
        command: stream::Command,
        stamp: &Stamp,
        events: &mut Vec<Event>,
        live: &mut Vec<Event>,
    ) -> Result<ReplyPlan, Rejection> {
        let decided = stream::decide(&self.stream, command, stamp)?;
        events.extend(decided.events.into_iter().map(Event::Stream));
        live.extend(decided.live.map(Event::Stream));
        Ok(decided.plan.into())
    }
}
