//! The settings of a command and its connection to the server.

use std::path::Path;

use baton_client::{Client, Method, Options, Workspace, connect_with};
use baton_core::Token;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::arguments::Globals;
use crate::failure::Failure;
use crate::settings::{Settings, Sources};

/// The default workspace.
const WORKSPACE: &str = "default";

/// The settings, and connections to the server they select.
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

    /// The sources of settings, for commands with more options.
    pub(crate) fn sources(&self) -> Sources {
        self.settings.sources.clone()
    }

    /// Resolves the settings again, and fails if they are invalid.
    pub(crate) fn settings_again(&self) -> Result<Settings, Failure> {
        Settings::of(&self.globals)
    }

    /// Resolves the settings with this configuration file.
    pub(crate) fn settings_of(&self, file: &Path) -> Result<Settings, Failure> {
        Settings::with_file(&self.globals, file)
    }

    /// Opens a new connection.
    pub(crate) async fn connect(&self, options: Options) -> Result<Client, Failure> {
        let Settings { url, token, ca_file, .. } = &self.settings;
        let (token, ca_file) = (token.clone(), ca_file.clone());
        Ok(connect_with(url, Options { token, ca_file, ..options }).await?)
    }

    /// Sends a request to the administrative API of the server.
    pub(crate) async fn administer<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        said: Option<&Value>,
    ) -> Result<T, Failure> {
        let client = self.connect(Options::default()).await?;
        Ok(client.administer(method, path, said).await?)
    }

    /// The selected workspace and agent, without the idempotency key and fencing token: for
    /// commands that make several changes.
    pub(crate) async fn workplace(&self) -> Result<Workspace, Failure> {
        self.workspace_or(WORKSPACE).await
    }

    /// The same, with this default workspace.
    pub(crate) async fn workspace_or(&self, name: &str) -> Result<Workspace, Failure> {
        self.workspace_named(self.workspace_said().unwrap_or(name)).await
    }

    /// The acting agent.
    pub(crate) fn agent(&self) -> &str {
        &self.settings.agent
    }

    /// The selected workspace, if any.
    pub(crate) fn workspace_said(&self) -> Option<&str> {
        self.settings.workspace.as_deref()
    }

    /// The selected workspace, or the default.
    pub(crate) fn workspace_name(&self) -> &str {
        self.workspace_said().unwrap_or(WORKSPACE)
    }

    /// The environment variables that give a child process the same settings.
    pub(crate) fn environment(&self) -> Vec<(&'static str, &str)> {
        let Settings { url, agent, token, ca_file, .. } = &self.settings;
        let workspace = self.workspace_name();
        let mut environment: Vec<(&str, &str)> =
            vec![("BATON_URL", url), ("BATON_WORKSPACE", workspace), ("BATON_AGENT", agent)];
        environment.extend(token.as_deref().map(|token| ("BATON_TOKEN", token)));
        let ca_file = ca_file.as_deref().and_then(Path::to_str);
        environment.extend(ca_file.map(|file| ("BATON_CA_FILE", file)));
        environment
    }

    /// The selected workspace and agent, for a command that makes at most one change.
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

    /// Another workspace, as the selected agent.
    pub(crate) async fn workspace_named(&self, name: &str) -> Result<Workspace, Failure> {
        let client = self.connect(Options::default()).await?;
        Ok(client.workspace(name)?.as_agent(&self.settings.agent)?)
    }

    /// The selected workspace, as another agent if one is given.
    pub(crate) async fn workspace_as(&self, agent: Option<&str>) -> Result<Workspace, Failure> {
        let workspace = self.workspace().await?;
        match agent {
            Some(agent) => Ok(workspace.as_agent(agent)?),
            None => Ok(workspace),
        }
    }
}
