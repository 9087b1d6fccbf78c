//! The address of a request.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::limits;
use crate::names::{AgentId, HandlerName};

/// The address of a request: an agent id, `{"handler": name}` or `{"capability": name}`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "it must be the id of an agent, or an object with `handler` or `capability`"
)]
pub enum Address {
    /// This agent.
    Agent(AgentId),
    /// One of the agents that are registered for this handler.
    Handler {
        /// The name of the handler.
        handler: HandlerName,
    },
    /// One of the listening agents with this capability.
    Capability {
        /// The capability.
        capability: String,
    },
}

impl Address {
    /// The size of its name in bytes.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Agent(agent) => agent.as_str().len(),
            Self::Handler { handler } => handler.as_str().len(),
            Self::Capability { capability } => capability.len(),
        }
    }

    /// Why it is invalid, if it is: a name given as text is not checked when it is parsed.
    pub fn problem(&self) -> Option<String> {
        let Self::Capability { capability } = self else { return None };
        let max = limits::CAPABILITY_BYTES_MAX;
        let is_good = (1..=max).contains(&capability.len());
        (!is_good).then(|| format!("a capability has 1 to {max} bytes"))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agent(agent) => write!(formatter, "agent `{agent}`"),
            Self::Handler { handler } => write!(formatter, "handler `{handler}`"),
            Self::Capability { capability } => write!(formatter, "capability `{capability}`"),
        }
    }
}
