//! Reactions of a workspace.

use std::future::IntoFuture;

use baton_core::reaction::{
    Add, Command, Condition, On, Query, Reaction, Reply as ReactionReply, Secret, WebhookSpec,
};
use baton_core::{Json, Pattern, ReactionName, Rejection, Reply, reaction};
use serde::Serialize;

use crate::carrier::{Carrier, Failure};
use crate::{Prepared, Sent, Workspace};

/// Reactions of a workspace, as one agent sees them.
#[derive(Clone, Debug)]
pub struct Reactions<C> {
    workspace: Workspace<C>,
}

impl<C: Carrier> Reactions<C> {
    pub(crate) fn new(workspace: Workspace<C>) -> Self {
        Self { workspace }
    }

    /// Adds one, or replaces the one of that name. On what it runs and what it does must follow
    /// before it is awaited.
    pub fn add(&self, name: &str) -> AddingReaction<C> {
        let add = ReactionName::parse(name).map_err(Rejection::from).map(|name| Add {
            name,
            on: On::default(),
            commands: Vec::new(),
            webhook: None,
            enabled: None,
        });
        AddingReaction { workspace: self.workspace.clone(), add }
    }

    /// Adds one that was put together elsewhere, such as read from a file.
    pub async fn add_whole(&self, add: Add) -> Result<Reaction, C::Error> {
        self.change(Command::Add(Box::new(add))).await
    }

    /// Removes one, with the calls that were not made yet.
    pub async fn remove(&self, name: &str) -> Result<Reaction, C::Error> {
        self.change(Command::Remove { name: ReactionName::parse(name)? }).await
    }

    /// Lets one run from now on.
    pub async fn enable(&self, name: &str) -> Result<Reaction, C::Error> {
        self.change(Command::Enable { name: ReactionName::parse(name)? }).await
    }

    /// Lets one run no more.
    pub async fn disable(&self, name: &str) -> Result<Reaction, C::Error> {
        self.change(Command::Disable { name: ReactionName::parse(name)? }).await
    }

    /// One of them.
    pub async fn get(&self, name: &str) -> Result<Reaction, C::Error> {
        let query = Query::Get { name: ReactionName::parse(name)? };
        one(self.workspace.ask(query).await?.reply)
    }

    /// All of them, by name.
    pub async fn list(&self) -> Result<Vec<Reaction>, C::Error> {
        let mut all = Vec::new();
        let mut cursor = None;
        loop {
            let query = Query::List { limit: None, cursor };
            match self.workspace.ask(query).await?.reply {
                Reply::Reaction(ReactionReply::Reactions { reactions, cursor: next }) => {
                    all.extend(reactions);
                    match next {
                        Some(next) => cursor = Some(next),
                        None => return Ok(all),
                    }
                }
                reply => return Err(C::Error::odd(&reply)),
            }
        }
    }

    async fn change(&self, command: Command) -> Result<Reaction, C::Error> {
        one(self.workspace.execute(command).await?.reply)
    }
}

fn one<F: Failure>(reply: Reply) -> Result<Reaction, F> {
    match reply {
        Reply::Reaction(ReactionReply::Reaction(reaction)) => Ok(*reaction),
        reply => Err(F::odd(&reply)),
    }
}

/// A reaction that is added when this is awaited.
#[must_use = "nothing is added before this is awaited"]
pub struct AddingReaction<C> {
    workspace: Workspace<C>,
    add: Prepared<Add>,
}

impl<C: Carrier> AddingReaction<C> {
    fn with(mut self, change: impl FnOnce(&mut Add) -> Prepared<()>) -> Self {
        self.add = self.add.and_then(|mut add| change(&mut add).map(|()| add));
        self
    }

    /// On events of types that match, such as `task.completed` or `deploy.*`.
    pub fn on(self, types: &str) -> Self {
        self.with(|add| {
            add.on.kind = Some(Pattern::parse(types)?);
            Ok(())
        })
    }

    /// On events about subjects that match, such as `state/shared/**`.
    pub fn about(self, subjects: &str) -> Self {
        self.with(|add| {
            add.on.subject = Some(Pattern::parse(subjects)?);
            Ok(())
        })
    }

    /// Only if this is true of `event`, in the syntax of CEL.
    pub fn when(self, condition: &str) -> Self {
        self.with(|add| {
            let compiled = Condition::compile(condition).map_err(|cause| {
                let (offset, reason) = (cause.offset, cause.reason);
                reaction::Rejection::NoAnswer { name: add.name.clone(), offset, reason }
            })?;
            add.on.condition = Some(compiled);
            Ok(())
        })
    }

    /// Carries out this command, as it is on the wire: `{"command": "state.set", …}`. May be given
    /// several times.
    pub fn run(self, command: impl Serialize) -> Self {
        self.with(|add| {
            add.commands.push(Json::of(&command)?);
            Ok(())
        })
    }

    /// Calls this address.
    pub fn call(self, url: &str) -> Self {
        self.with(|add| {
            let url = url.to_owned();
            add.webhook = Some(WebhookSpec { url, secret: None, timeout_ms: None, retries: None });
            Ok(())
        })
    }

    /// Signs the calls with this. To be said after the address.
    pub fn secret(self, secret: &str) -> Self {
        self.webhook(|webhook| webhook.secret = Some(Secret::new(secret.to_owned())))
    }

    /// Lets a call take so long. To be said after the address.
    pub fn timeout_ms(self, timeout_ms: u64) -> Self {
        self.webhook(|webhook| webhook.timeout_ms = Some(timeout_ms))
    }

    /// Tries a call so often again. To be said after the address.
    pub fn retries(self, retries: u64) -> Self {
        self.webhook(|webhook| webhook.retries = Some(retries))
    }

    fn webhook(self, change: impl FnOnce(&mut WebhookSpec)) -> Self {
        self.with(|add| {
            if let Some(webhook) = &mut add.webhook {
                change(webhook);
            }
            Ok(())
        })
    }

    /// Does not run before it is enabled.
    pub fn disabled(self) -> Self {
        self.with(|add| {
            add.enabled = Some(false);
            Ok(())
        })
    }
}

impl<C: Carrier> IntoFuture for AddingReaction<C> {
    type Output = Result<Reaction, C::Error>;
    type IntoFuture = Sent<Reaction, C>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let command = Command::Add(Box::new(self.add?));
            one(self.workspace.execute(command).await?.reply)
        })
    }
}
