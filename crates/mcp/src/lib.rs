//! The Model Context Protocol: a workspace as tools, resources and prompts for a model.
//!
//! ```text
//!   client ──stdio──▶ rmcp ──▶ Mcp ──▶ WorkspaceResolver: workspace, agent ──▶ Workspace
//!          ──HTTP───▶           │
//!                               ├─ tools      arguments ──▶ operations ──▶ answer that fits
//!                               ├─ resources  the same answers by URI; watches notify of changes
//!                               └─ prompts
//! ```
//!
//! 1. There is no rule here: a tool names operations and where their fields come from, and calls
//!    them through the same handles as every program.
//! 2. A [`WorkspaceResolver`] decides for every request which workspace and agent it is for.
//! 3. Text written by agents is in one labelled, escaped member of an answer: it is data.
//! 4. Definitions and answers have budgets of tokens, which tests count.
//!
//! Deliberately absent: artifacts and values of secrets, which do not belong in the context of a
//! model, and sampling.

mod answer;
mod elicitation;
mod handler;
mod hint;
mod http;
mod operation;
mod prime;
mod prompts;
mod reference;
mod resources;
mod task;
mod tools;
mod toolset;
mod view;
mod waiting;
mod workspace_resolver;

pub use handler::Mcp;
pub use http::{HttpService, SESSIONS_MAX};
pub use prime::prime;
pub use rmcp::model::Extensions;
pub use toolset::Toolset;
pub use workspace_resolver::{FixedWorkspace, Requester, WorkspaceResolver};

use rmcp::ServiceExt;

/// Serves one client on standard input and output, until it closes its end.
pub async fn serve_stdio(mcp: Mcp) -> std::io::Result<()> {
    let running = mcp.serve(rmcp::transport::stdio()).await;
    let running = running.map_err(|error| std::io::Error::other(error.to_string()))?;
    running.waiting().await.map_err(std::io::Error::other)?;
    Ok(())
}
