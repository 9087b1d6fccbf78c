//! The reactions of a workspace.

use baton_core::reaction::{
    self, Add, Command, Condition, On, Query, Reaction, Secret, WebhookSpec,
};
use baton_core::{Json, Pattern, ReactionName};
use serde::Serialize;

use crate::request::request;
use crate::{Error, Reactions};

impl Reactions {
    /// Adds a reaction, or replaces the one with this name. It needs an event to react to, and a
    /// command or a webhook.
    pub fn add(&self, name: &str) -> AddingReaction {
        let add = ReactionName::parse(name).map_err(Into::into).map(|name| {
            let (on, commands) = (On::default(), Vec::new());
            Add { name, on, commands, webhook: None, enabled: None }
        });
        AddingReaction::new(&self.workspace, add)
    }

    /// Adds a reaction that is described completely, for example by a file.
    pub async fn add_whole(&self, add: Add) -> Result<Reaction, Error> {
        self.workspace.run(Command::Add(Box::new(add))).await
    }

    /// Removes a reaction and the webhook calls that were not made yet.
    pub async fn remove(&self, name: &str) -> Result<Reaction, Error> {
        self.workspace.run(Command::Remove { name: ReactionName::parse(name)? }).await
    }

    /// Enables a reaction.
    pub async fn enable(&self, name: &str) -> Result<Reaction, Error> {
        self.workspace.run(Command::Enable { name: ReactionName::parse(name)? }).await
    }

    /// Disables a reaction.
    pub async fn disable(&self, name: &str) -> Result<Reaction, Error> {
        self.workspace.run(Command::Disable { name: ReactionName::parse(name)? }).await
    }

    /// Reads a reaction.
    pub async fn get(&self, name: &str) -> Result<Reaction, Error> {
        self.workspace.query(Query::Get { name: ReactionName::parse(name)? }).await
    }

    /// Lists the reactions, by name.
    pub async fn list(&self) -> Result<Vec<Reaction>, Error> {
        self.workspace.pages(None, |cursor| Query::List { limit: None, cursor }).await
    }
}

request! {
    /// Adds a reaction when it is awaited.
    AddingReaction(Add) -> Reaction: |workspace, add| workspace.run(Command::Add(Box::new(add)));
    /// Reacts to events of matching types, such as `task.completed` or `deploy.*`.
    on(types: &str) |add| add.on.kind = Some(Pattern::parse(types)?);
    /// Reacts to events about matching subjects, such as `state/shared/**`.
    about(subjects: &str) |add| add.on.subject = Some(Pattern::parse(subjects)?);
    /// Reacts only if this CEL expression about `event` is true.
    when(condition: &str) |add| {
        let compiled = Condition::compile(condition).map_err(|cause| {
            let (offset, reason) = (cause.offset, cause.reason);
            reaction::Rejection::NoAnswer { name: add.name.clone(), offset, reason }
        })?;
        add.on.condition = Some(compiled);
    };
    /// Executes a command, in its wire form: `{"command": "state.set", …}`; repeatable.
    run(command: impl Serialize) |add| add.commands.push(Json::of(&command)?);
    /// Calls a webhook.
    call(url: &str) |add| {
        let url = url.to_owned();
        add.webhook = Some(WebhookSpec { url, secret: None, timeout_ms: None, retries: None });
    };
    /// Signs the webhook calls with this secret. Call it after [`call`](Self::call).
    secret(secret: &str) |add| if let Some(webhook) = &mut add.webhook {
        webhook.secret = Some(Secret::new(secret.to_owned()));
    };
    /// Limits the duration of a webhook call. Call it after [`call`](Self::call).
    timeout_ms(timeout_ms: u64) |add| if let Some(webhook) = &mut add.webhook {
        webhook.timeout_ms = Some(timeout_ms);
    };
    /// Sets how often a webhook call is retried. Call it after [`call`](Self::call).
    retries(retries: u64) |add| if let Some(webhook) = &mut add.webhook {
        webhook.retries = Some(retries);
    };
    /// Adds the reaction disabled.
    disabled() |add| add.enabled = Some(false);
}
