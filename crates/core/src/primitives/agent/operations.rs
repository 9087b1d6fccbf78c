//! The operations on agents.

use super::{Command, Query};
use crate::wire::operations;

operations! {
    Command::Register = "agent.register" -> "agent", Post "/agents" Body, Work, names_agent:
        "Begin a session",
        {"agent": "ada", "capabilities": ["search"], "metadata": {"model": "m1"}};
    Command::Heartbeat = "agent.heartbeat" -> "agent", Post "/agents/{agent}/heartbeat" Body, Work,
        names_agent, names_token:
        "Give a sign of life", {"agent": "ada"};
    Command::Leave = "agent.leave" -> "agent", Delete "/agents/{agent}" Query, Work, names_agent,
        names_token:
        "End a session", {"agent": "ada"};
    Query::Get = "agent.get" -> "agent", Get "/agents/{agent}" Query, Read, names_agent:
        "Read an agent", {"agent": "ada"};
    Query::List = "agent.list" -> "agents", Get "/agents" Query, Read:
        "List agents", {"status": "active"};
}
