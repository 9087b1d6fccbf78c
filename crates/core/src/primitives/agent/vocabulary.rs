//! Commands, queries, replies and events of agents.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::json::Json;
#[cfg(feature = "schema")]
use crate::limits;
use crate::names::AgentId;
use crate::numbers::Token;
use crate::primitive;
use crate::time::Timestamp;

/// Commands that change agents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// `agent.register`
    Register(Register),
    /// `agent.heartbeat`
    Heartbeat {
        /// The agent.
        agent: AgentId,
        /// The token of the session. If omitted, the current session is renewed.
        #[serde(default)]
        token: Option<Token>,
    },
    /// `agent.leave`
    Leave {
        /// The agent.
        agent: AgentId,
        /// The token of the session. If omitted, the current session is ended.
        #[serde(default)]
        token: Option<Token>,
    },
}

/// No signal is only for agents.
#[derive(Clone, Debug, PartialEq)]
pub enum Signal {}

/// Starts a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Register {
    /// The id of the agent.
    pub agent: AgentId,
    /// The capabilities of the agent. Tasks and hand-offs that require capabilities go to agents
    /// that have all of them.
    #[serde(default)]
    pub capabilities: BTreeSet<String>,
    /// Any JSON that describes the agent. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// Time to live of the session in milliseconds. The agent is lost if it makes no call for
    /// this long, and none of its calls waits.
    #[cfg_attr(feature = "schema", schemars(
        extend("default" = limits::AGENT_TTL_MS_DEFAULT),
        range(min = limits::AGENT_TTL_MS_MIN, max = limits::AGENT_TTL_MS_MAX),
    ))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// The agent that supervises this one, which must have a session. When that session ends, this
    /// one ends in the same commit. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<AgentId>,
}

/// Queries about agents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Query {
    /// `agent.get`
    Get {
        /// The agent.
        agent: AgentId,
    },
    /// `agent.list`: a page, by id.
    List {
        /// Only agents with this capability. If omitted, all agents.
        #[serde(default)]
        capability: Option<String>,
        /// Only agents with this status. If omitted, any status.
        #[serde(default)]
        status: Option<Status>,
        /// The maximum number of results.
        #[cfg_attr(feature = "schema", schemars(
            extend("default" = limits::PAGE_DEFAULT),
            range(min = 1, max = limits::PAGE_MAX),
        ))]
        #[serde(default)]
        limit: Option<usize>,
        /// The `cursor` of the previous page. If omitted, the first page is returned.
        #[serde(default)]
        cursor: Option<AgentId>,
    },
}

/// The status of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "AgentStatus"))]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The agent has a session.
    Active,
    /// The agent ended its session.
    Left,
    /// The session ended because no heartbeat arrived within its time to live, or because the
    /// session of its supervisor ended.
    Lost,
}

/// An agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Agent {
    /// The id of the agent.
    pub id: AgentId,
    /// The status.
    pub status: Status,
    /// The capabilities of the agent.
    pub capabilities: BTreeSet<String>,
    /// Metadata given at registration. Absent if none was given.
    #[serde(
        default,
        deserialize_with = "crate::json::given",
        skip_serializing_if = "Option::is_none"
    )]
    pub metadata: Option<Json>,
    /// Time to live of the session in milliseconds. Every accepted call of the agent renews it.
    pub ttl_ms: u64,
    /// The token of the current session, or of the last one. Absent unless the caller is the agent,
    /// an operator or an admin.
    #[serde(default, skip_serializing_if = "Token::is_hidden")]
    pub token: Token,
    /// When that session started.
    pub registered_at: Timestamp,
    /// The last recorded sign of life: a heartbeat or another command of the agent. It is recorded
    /// when a quarter of `ttl_ms` has passed since the last one. Calls that change nothing, and
    /// calls that wait, renew the session without a record.
    pub last_seen_at: Timestamp,
    /// When that session ended. Absent while it is active.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// The agent that supervises that session. Absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<AgentId>,
}

/// Replies about agents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// One agent.
    Agent(Agent),
    /// A page of results, by id.
    Agents {
        /// The results on this page.
        agents: Vec<Agent>,
        /// The cursor of the next page. Absent on the last page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<AgentId>,
    },
}

/// Events of agents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A session started.
    Joined {
        /// The agent.
        agent: AgentId,
        /// The capabilities of the agent.
        #[serde(default)]
        capabilities: BTreeSet<String>,
        /// Metadata given at registration.
        #[serde(
            default,
            deserialize_with = "crate::json::given",
            skip_serializing_if = "Option::is_none"
        )]
        metadata: Option<Json>,
        /// Time to live of the session in milliseconds.
        ttl_ms: u64,
        /// The token of the session. Notices leave it out.
        #[serde(default)]
        token: Token,
        /// The token of the active session that it replaces, if there was one. Everything that
        /// session held is released.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replaces: Option<Token>,
        /// The agent that supervises the session, if any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<AgentId>,
    },
    /// A recorded heartbeat.
    Seen {
        /// The agent.
        agent: AgentId,
    },
    /// An agent ended its session.
    Left {
        /// The agent.
        agent: AgentId,
    },
    /// A session ended because no heartbeat arrived in time, or because the session of an agent
    /// above it ended.
    Lost {
        /// The agent.
        agent: AgentId,
        /// The agent above whose session ended. Absent if it was the silence of the agent itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        because: Option<AgentId>,
    },
    /// The record of an ended agent was removed to make room for a new one.
    Forgotten {
        /// The agent.
        agent: AgentId,
    },
}

impl primitive::Command for Command {
    fn named_agent(&self) -> Option<&AgentId> {
        match self {
            Self::Register(register) => Some(&register.agent),
            Self::Heartbeat { agent, .. } | Self::Leave { agent, .. } => Some(agent),
        }
    }
}

impl Event {
    /// The agent that it is about.
    pub fn agent(&self) -> &AgentId {
        match self {
            Self::Joined { agent, .. }
            | Self::Seen { agent }
            | Self::Left { agent }
            | Self::Lost { agent, .. }
            | Self::Forgotten { agent } => agent,
        }
    }
}

impl primitive::Event for Event {
    fn kind(&self) -> &str {
        match self {
            Self::Joined { .. } => "agent.joined",
            Self::Seen { .. } => "agent.seen",
            Self::Left { .. } => "agent.left",
            Self::Lost { .. } => "agent.lost",
            Self::Forgotten { .. } => "agent.forgotten",
        }
    }

    fn subject_parts(&self) -> [&str; 4] {
        ["agents/", self.agent().as_str(), "", ""]
    }

    fn load(&self) -> usize {
        match self {
            Self::Joined { capabilities, metadata, .. } => {
                let names = capabilities.iter().map(|name| name.len() + 5).sum::<usize>();
                names + metadata.as_ref().map_or(0, |metadata| metadata.as_bytes().len())
            }
            Self::Seen { .. } | Self::Left { .. } | Self::Lost { .. } | Self::Forgotten { .. } => 0,
        }
    }

    fn token(&self) -> Option<Token> {
        match self {
            Self::Joined { token, .. } => Some(*token),
            _ => None,
        }
    }
}

impl Status {
    /// The status as on the wire and in messages.
    pub fn word(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Left => "left",
            Self::Lost => "lost",
        }
    }
}
