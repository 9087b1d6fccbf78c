//! The operations on agents.

use super::{Command, Query};
use crate::wire::operations;

operations! {
    Command::Register = "agent.register" -> "agent", Post "/agents" Body, Work, names_agent,
        side_effects(
            "Ends the previous session of the agent, if there is one, as `agent.leave` does, and \
             with it the sessions of the agents that it supervises. \
             Creates the namespace `agent:NAME` if it does not exist."
        ):
        "Register an agent and start its session",
        {"agent": "ada", "capabilities": ["search"], "metadata": {"model": "m1"}};
    Command::Heartbeat = "agent.heartbeat" -> "agent", Post "/agents/{agent}/heartbeat" Body, Work,
        names_agent, names_token,
        side_effects(
            "Renews the session, as every accepted call of the agent does, except reads about the \
             agent itself. Leases and holds are renewed by their own calls."
        ):
        "Renew a session", {"agent": "ada"};
    Command::Leave = "agent.leave" -> "agent", Delete "/agents/{agent}" Query, Work, names_agent,
        names_token,
        side_effects(
            "Releases the locks, permits, barrier arrivals and handlers of the agent, deletes its \
             ephemeral entries and ends its waiting calls. Its tasks become available again, \
             which counts as a failed attempt; requests that it has not answered go to another \
             handler. The sessions of all agents below it end in the same commit."
        ):
        "End a session", {"agent": "ada"};
    Query::Get = "agent.get" -> "agent", Get "/agents/{agent}" Query, Read, names_agent:
        "Get an agent", {"agent": "ada"};
    Query::List = "agent.list" -> "agents", Get "/agents" Query, Read:
        "List agents", {"status": "active"};
}
