//! The words of agents.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::json::Json;
use crate::names::AgentId;
use crate::numbers::Token;
use crate::time::Timestamp;

/// What one may ask of agents so that they change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// `agent.register`
    Register(Register),
    /// `agent.heartbeat`
    Heartbeat {
        /// Who is alive.
        agent: AgentId,
        /// The session's token; without it the present session is meant.
        #[serde(default)]
        token: Option<Token>,
    },
    /// `agent.leave`
    Leave {
        /// Who leaves.
        agent: AgentId,
        /// The session's token; without it the present session is meant.
        #[serde(default)]
        token: Option<Token>,
    },
    /// Sent by the engine when [`Table::next_deadline`](super::Table::next_deadline) has passed.
    Expire,
}

/// Begins a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Register {
    /// Who it is.
    pub agent: AgentId,
    /// What it can do.
    #[serde(default)]
    pub capabilities: BTreeSet<String>,
    /// Whatever else is worth knowing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// How long it may be silent before it is called lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
}

/// What one may ask of agents without changing them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Query {
    /// `agent.get`
    Get {
        /// Who.
        agent: AgentId,
    },
    /// `agent.list`: a page, by id.
    List {
        /// Only those that can do this.
        #[serde(default)]
        capability: Option<String>,
        /// Only those in this state.
        #[serde(default)]
        status: Option<Status>,
        /// How many at most.
        #[serde(default)]
        limit: Option<usize>,
        /// Where the page before ended.
        #[serde(default)]
        cursor: Option<AgentId>,
    },
}

/// Whether an agent takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "AgentStatus"))]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It has a session.
    Active,
    /// It ended its session.
    Left,
    /// It was silent for too long.
    Lost,
}

/// An agent as callers see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Agent {
    /// Who it is.
    pub id: AgentId,
    /// Whether it takes part.
    pub status: Status,
    /// What it can do.
    pub capabilities: BTreeSet<String>,
    /// Whatever else is worth knowing.
    #[serde(
        default,
        deserialize_with = "crate::json::given",
        skip_serializing_if = "Option::is_none"
    )]
    pub metadata: Option<Json>,
    /// How long it may be silent.
    pub ttl_ms: u64,
    /// Token of its present or last session.
    pub token: Token,
    /// When that session began.
    pub registered_at: Timestamp,
    /// The last sign of life that was written down.
    pub last_seen_at: Timestamp,
    /// When that session ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
}

/// Answers of agents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// One agent.
    Agent(Agent),
    /// A page of them, by id.
    Agents {
        /// The page.
        agents: Vec<Agent>,
        /// Where to go on, if there is more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<AgentId>,
    },
    /// Nothing had to be done.
    Done,
}

/// Facts about agents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A session began.
    Joined {
        /// Whose.
        agent: AgentId,
        /// What it can do.
        #[serde(default)]
        capabilities: BTreeSet<String>,
        /// Whatever else is worth knowing.
        #[serde(
            default,
            deserialize_with = "crate::json::given",
            skip_serializing_if = "Option::is_none"
        )]
        metadata: Option<Json>,
        /// How long it may be silent.
        ttl_ms: u64,
        /// The session's token.
        token: Token,
    },
    /// A sign of life, worth writing down.
    Seen {
        /// Whose.
        agent: AgentId,
    },
    /// It ended its session.
    Left {
        /// Who.
        agent: AgentId,
    },
    /// It was silent for too long.
    Lost {
        /// Who.
        agent: AgentId,
    },
    /// An ended agent made room for a new one.
    Forgotten {
        /// Who.
        agent: AgentId,
    },
}

impl Event {
    /// The event's type, as watchers and history know it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Joined { .. } => "agent.joined",
            Self::Seen { .. } => "agent.seen",
            Self::Left { .. } => "agent.left",
            Self::Lost { .. } => "agent.lost",
            Self::Forgotten { .. } => "agent.forgotten",
        }
    }

    /// The token it gives.
    pub fn token(&self) -> Option<Token> {
        match self {
            Self::Joined { token, .. } => Some(*token),
            Self::Seen { .. } | Self::Left { .. } | Self::Lost { .. } | Self::Forgotten { .. } => {
                None
            }
        }
    }

    /// The agent it is about.
    pub fn agent(&self) -> &AgentId {
        match self {
            Self::Joined { agent, .. }
            | Self::Seen { agent }
            | Self::Left { agent }
            | Self::Lost { agent }
            | Self::Forgotten { agent } => agent,
        }
    }
}

impl Status {
    /// The status as it stands in a sentence and on the wire.
    pub fn word(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Left => "left",
            Self::Lost => "lost",
        }
    }
}
