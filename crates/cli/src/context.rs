//! What a command needs to reach the server.

use std::path::Path;

use baton_client::{Client, Method, Options, Workspace, connect_with};
use baton_core::Token;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::arguments::Globals;
use crate::failure::Failure;
use crate::settings::{Settings, Sources};

/// Where one works who did not say where.
const WORKSPACE: &str = "default";

/// The settings, and the way to the server they lead to.
pub(crate) struct Context {
    settings: Settings,
    globals: Globals,
}

impl Context {
    pub(crate) fn new(settings: Settings, globals: Globals) -> Self {
        Self { settings, globals }
    }

    /// The settings.
    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Where settings come from, for those who have more options.
    pub(crate) fn sources(&self) -> Sources {
        self.settings.sources.clone()
    }

    /// The settings once more, with what is wrong with them as a failure.
    pub(crate) fn settings_again(&self) -> Result<Settings, Failure> {
        Settings::of(&self.globals)
    }

    /// What the settings would be with this file.
    pub(crate) fn settings_of(&self, file: &Path) -> Result<Settings, Failure> {
        Settings::with_file(&self.globals, file)
    }

    /// A connection of its own.
    pub(crate) async fn connect(&self, options: Options) -> Result<Client, Failure> {
        let Settings { url, token, ca_file, .. } = &self.settings;
        let (token, ca_file) = (token.clone(), ca_file.clone());
        Ok(connect_with(url, Options { token, ca_file, ..options }).await?)
    }

    /// Asks something of the server itself.
    pub(crate) async fn administer<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        said: Option<&Value>,
    ) -> Result<T, Failure> {
        let client = self.connect(Options::default()).await?;
        Ok(client.administer(method, path, said).await?)
    }

    /// The workspace that is meant, with the agent that is meant, for as many changes as it takes.
    pub(crate) async fn workplace(&self) -> Result<Workspace, Failure> {
        self.workspace_or(WORKSPACE).await
    }

    /// The same; this workspace if nobody said which.
    pub(crate) async fn workspace_or(&self, name: &str) -> Result<Workspace, Failure> {
        self.workspace_named(self.workspace_said().unwrap_or(name)).await
    }

    /// Who acts.
    pub(crate) fn agent(&self) -> &str {
        &self.settings.agent
    }

    /// The workspace that is meant, if anybody said so.
    pub(crate) fn workspace_said(&self) -> Option<&str> {
        self.settings.workspace.as_deref()
    }

    /// The workspace that is meant.
    pub(crate) fn workspace_name(&self) -> &str {
        self.workspace_said().unwrap_or(WORKSPACE)
    }

    /// What a program that is run needs in its environment to mean the same.
    pub(crate) fn around(&self) -> Vec<(&'static str, &str)> {
        let Settings { url, agent, token, ca_file, .. } = &self.settings;
        let workspace = self.workspace_name();
        let mut around: Vec<(&str, &str)> =
            vec![("BATON_URL", url), ("BATON_WORKSPACE", workspace), ("BATON_AGENT", agent)];
        around.extend(token.as_deref().map(|token| ("BATON_TOKEN", token)));
        let ca_file = ca_file.as_deref().and_then(Path::to_str);
        around.extend(ca_file.map(|file| ("BATON_CA_FILE", file)));
        around
    }

    /// The same, for the one change that may be named by the user.
    pub(crate) async fn workspace(&self) -> Result<Workspace, Failure> {
        let workspace = self.workplace().await?;
        let workspace = match self.globals.fence {
            Some(token) => workspace.under(Token(token)),
            None => workspace,
        };
        match &self.settings.idempotency_key {
            Some(key) => Ok(workspace.once(key)?),
            None => Ok(workspace),
        }
    }

    /// Another workspace, with the agent that is meant.
    pub(crate) async fn workspace_named(&self, name: &str) -> Result<Workspace, Failure> {
        let client = self.connect(Options::default()).await?;
        Ok(client.workspace(name)?.as_agent(&self.settings.agent)?)
    }

    /// The same, with another agent if one is named.
    pub(crate) async fn workspace_as(&self, agent: Option<&str>) -> Result<Workspace, Failure> {
        let workspace = self.workspace().await?;
        match agent {
            Some(agent) => Ok(workspace.as_agent(agent)?),
            None => Ok(workspace),
        }
    }
}
