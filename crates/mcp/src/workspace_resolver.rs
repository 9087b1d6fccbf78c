//! Which workspace a request is for, and which agent makes it.

use baton_client::Workspace;
use baton_core::AgentId;
use baton_core::wire::Problem;
use rmcp::model::Extensions;

use crate::operation::bad;

/// A request, as far as it identifies its caller.
pub struct Requester<'a> {
    /// The facts that the transport knows about the call, such as the head of an HTTP request.
    pub extensions: &'a Extensions,
    /// The name of the client as an agent, such as `claude-code`.
    pub client: Option<AgentId>,
}

/// Decides which workspace a request is for, and which agent makes it unless an argument names
/// one. Whether the agent may act is checked by the carrier of the workspace.
pub trait WorkspaceResolver: Send + Sync + 'static {
    /// The workspace of a request.
    fn workspace(&self, asked: &Requester<'_>) -> Result<Workspace, Problem>;
}

/// One workspace, for a client that has the program to itself.
pub struct FixedWorkspace {
    /// The workspace.
    pub workspace: Workspace,
    /// Whether the workspace's agent was named; otherwise the client's name is used.
    pub is_agent_named: bool,
}

impl WorkspaceResolver for FixedWorkspace {
    fn workspace(&self, asked: &Requester<'_>) -> Result<Workspace, Problem> {
        match &asked.client {
            Some(client) if !self.is_agent_named => {
                self.workspace.as_agent(client.as_str()).map_err(|error| Problem::from(&error))
            }
            Some(_) | None => Ok(self.workspace.clone()),
        }
    }
}

/// The name of a client as the id of an agent: what is not allowed becomes a hyphen.
pub(crate) fn agent_of_client(name: &str) -> Option<AgentId> {
    let is_allowed = |sign: char| sign.is_ascii_alphanumeric() || "._-".contains(sign);
    let name: String = name
        .chars()
        .take(64)
        .map(|sign| if is_allowed(sign) { sign.to_ascii_lowercase() } else { '-' })
        .collect();
    AgentId::parse(name.trim_matches(|sign: char| !sign.is_ascii_alphanumeric())).ok()
}

/// The same workspace, used by the agent that an argument names.
pub(crate) fn as_agent(workspace: &Workspace, agent: &str) -> Result<Workspace, Problem> {
    AgentId::of_caller(agent).map_err(|error| bad("agent", &error.to_string()))?;
    workspace.as_agent(agent).map_err(|error| Problem::from(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_an_agent() {
        let named = |name: &str| agent_of_client(name).map(|agent| agent.to_string());
        assert_eq!(named("claude-code").as_deref(), Some("claude-code"));
        assert_eq!(named("Visual Studio Code").as_deref(), Some("visual-studio-code"));
        assert_eq!(named("--"), None);
        assert_eq!(named(""), None);
    }
}
