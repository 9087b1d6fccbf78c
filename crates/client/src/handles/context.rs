//! The context of an agent, for a model.

use baton_core::TaskId;
use baton_core::context::{Build, Context, Query};

use crate::Workspace;
use crate::request::request;

impl BuildingContext {
    pub(crate) fn of(workspace: &Workspace) -> Self {
        let agent = workspace.agent().clone();
        Self::new(workspace, Ok(Build { agent, task: None, token_budget: None }))
    }
}

request! {
    /// Builds the context of the acting agent when it is awaited.
    BuildingContext(Build) -> Context: |workspace, build| workspace.query(Query::Build(build));
    /// Builds it for a task instead of for the workspace.
    task(task: &str) |build| build.task = Some(TaskId::parse(task)?);
    /// Limits its size in tokens.
    token_budget(tokens: u64) |build| build.token_budget = Some(tokens);
}
