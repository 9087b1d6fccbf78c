//! What an agent should know, for a model.

use std::future::IntoFuture;

use baton_core::context::{Build, Context, Query, Reply as ContextReply};
use baton_core::{Rejection, Reply, TaskId};

use crate::carrier::{Carrier, Failure};
use crate::{Prepared, Sent, Workspace};

/// A context that is built when this is awaited, for the agent that acts.
#[must_use = "nothing is built before this is awaited"]
pub struct BuildingContext<C> {
    workspace: Workspace<C>,
    build: Prepared<Build>,
}

impl<C: Carrier> BuildingContext<C> {
    pub(crate) fn new(workspace: Workspace<C>) -> Self {
        let agent = workspace.agent().clone();
        Self { workspace, build: Ok(Build { agent, task: None, token_budget: None }) }
    }

    /// For this task; without one it is about the workspace.
    pub fn task(mut self, task: &str) -> Self {
        self.build = self.build.and_then(|build| {
            let task = TaskId::parse(task).map_err(Rejection::from)?;
            Ok(Build { task: Some(task), ..build })
        });
        self
    }

    /// With so many tokens at most.
    pub fn token_budget(mut self, tokens: u64) -> Self {
        self.build = self.build.map(|build| Build { token_budget: Some(tokens), ..build });
        self
    }
}

impl<C: Carrier> IntoFuture for BuildingContext<C> {
    type Output = Result<Context, C::Error>;
    type IntoFuture = Sent<Context, C>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            match self.workspace.ask(Query::Build(self.build?)).await?.reply {
                Reply::Context(ContextReply::Context(context)) => Ok(context),
                reply => Err(C::Error::odd(&reply)),
            }
        })
    }
}
