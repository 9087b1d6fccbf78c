//! The agents that may accept a result.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::checks::check_capabilities;
use crate::limits;
use crate::names::AgentId;
use crate::refusal::{BadField, bad};

/// The agents that may accept a result: those that are named, and those that have a capability. If
/// there are none, any agent may. The agent that did the work can never accept it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Reviewers {
    /// The agents that may accept it.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub agents: BTreeSet<AgentId>,
    /// Every agent with a session and this capability may accept it, too. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capability: Option<String>,
}

impl Reviewers {
    /// Whether any agent may accept the result.
    pub fn is_empty(&self) -> bool {
        self.agents.is_empty() && self.capability.is_none()
    }

    /// Whether an agent with these capabilities may accept a result that it did not produce.
    pub fn include(&self, agent: &AgentId, capabilities: Option<&BTreeSet<String>>) -> bool {
        let is_able = |name: &String| capabilities.is_some_and(|able| able.contains(name));
        self.is_empty()
            || self.agents.contains(agent)
            || self.capability.as_ref().is_some_and(is_able)
    }

    /// Whether no agent could accept the work of these agents.
    pub fn are_only(&self, authors: &[&AgentId]) -> bool {
        self.capability.is_none()
            && !self.agents.is_empty()
            && self.agents.iter().all(|agent| authors.contains(&agent))
    }

    /// Refuses too many reviewers, a capability that no agent could have, and reviewers who could
    /// only review the work of the agent that it is assigned to: their own.
    pub fn check(&self, assigned: Option<&AgentId>) -> Result<(), BadField> {
        let (count, max) = (self.agents.len(), limits::REVIEWERS_MAX);
        if count > max {
            return Err(bad("reviewers", format!("there are {count} agents, at most {max}")));
        }
        let capability: BTreeSet<String> = self.capability.iter().cloned().collect();
        check_capabilities(&capability).map_err(|it| bad("reviewers", it.reason))?;
        match assigned.filter(|agent| self.are_only(&[agent])) {
            Some(agent) => {
                let reason = format!("`{agent}` does the work, and cannot accept it");
                Err(bad("reviewers", reason))
            }
            None => Ok(()),
        }
    }

    /// Upper bound of their size in an event, in bytes.
    pub fn bytes(&self) -> usize {
        const FRAME: usize = 32;
        let agents: usize = self.agents.iter().map(|agent| agent.as_str().len() + 5).sum();
        FRAME + agents + self.capability.as_ref().map_or(0, |name| name.len() + 5)
    }

    /// The same as part of a sentence.
    pub fn phrase(&self) -> String {
        if self.is_empty() {
            return "another agent".to_owned();
        }
        let agents = self.agents.iter().map(|agent| format!("`{agent}`"));
        let able =
            self.capability.iter().map(|name| format!("an agent with the capability `{name}`"));
        agents.chain(able).collect::<Vec<_>>().join(" or ")
    }
}
