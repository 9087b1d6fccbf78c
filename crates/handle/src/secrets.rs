//! Secrets of a workspace.

use std::future::IntoFuture;

use baton_core::secret::{Command, Query, Reply as SecretReply, Secret};
use baton_core::{ContentName, Reply, SecretId};

use crate::carrier::{Carrier, Failure};
use crate::contents::{ContentCarrier, SecretOptions};
use crate::{Prepared, Sent, Workspace};

/// Secrets of a workspace, as one agent sees them.
#[derive(Clone, Debug)]
pub struct Secrets<C> {
    workspace: Workspace<C>,
}

impl<C: Carrier> Secrets<C> {
    pub(crate) fn new(workspace: Workspace<C>) -> Self {
        Self { workspace }
    }

    /// What is known of one, without its value.
    pub async fn get(&self, secret: &str) -> Result<Secret, C::Error> {
        let query = Query::Get { secret: SecretId::parse(secret)? };
        one(self.workspace.ask(baton_core::Query::from(query)).await?.reply)
    }

    /// What is known of all, without their values.
    pub async fn list(&self) -> Result<Vec<Secret>, C::Error> {
        let mut all = Vec::new();
        let mut cursor = None;
        loop {
            let query = baton_core::Query::from(Query::List { limit: None, cursor });
            match self.workspace.ask(query).await?.reply {
                Reply::Secret(SecretReply::Secrets { secrets, cursor: next }) => {
                    all.extend(secrets);
                    match next {
                        Some(next) => cursor = Some(next),
                        None => return Ok(all),
                    }
                }
                reply => return Err(C::Error::odd(&reply)),
            }
        }
    }

    /// Removes one for good; its reference leads nowhere after that.
    pub async fn delete(&self, secret: &str) -> Result<Secret, C::Error> {
        let command = Command::Delete { secret: SecretId::parse(secret)? };
        one(self.workspace.execute(command).await?.reply)
    }
}

impl<C: ContentCarrier> Secrets<C> {
    /// Hands in a secret. What it is called and how long it is kept may follow before this is
    /// awaited; the reference in the answer stands for the value wherever it is named.
    pub fn put(&self, value: impl Into<Vec<u8>>) -> Hiding<C> {
        let options = Ok(SecretOptions::default());
        Hiding { workspace: self.workspace.clone(), options, value: value.into() }
    }

    /// The value of a secret; that it was handed out, and to whom, is written down first.
    pub async fn reveal(&self, secret: &str) -> Result<Vec<u8>, C::Error> {
        let secret = SecretId::parse(secret)?;
        let Workspace { carrier, caller, .. } = &self.workspace;
        carrier.reveal(caller, &secret).await
    }
}

fn one<F: Failure>(reply: Reply) -> Result<Secret, F> {
    match reply {
        Reply::Secret(SecretReply::Secret(secret)) => Ok(*secret),
        reply => Err(F::odd(&reply)),
    }
}

/// A secret that is handed in when this is awaited. It has no `Debug`: it holds the value.
#[must_use = "nothing is handed in before this is awaited"]
pub struct Hiding<C> {
    workspace: Workspace<C>,
    options: Prepared<SecretOptions>,
    value: Vec<u8>,
}

impl<C: ContentCarrier> Hiding<C> {
    /// What people call it.
    pub fn name(mut self, name: &str) -> Self {
        let name = ContentName::parse(name);
        self.options =
            self.options.and_then(|options| Ok(SecretOptions { name: Some(name?), ..options }));
        self
    }

    /// How long it is kept; until it is deleted unless this is said.
    pub fn ttl_ms(mut self, milliseconds: u64) -> Self {
        self.options =
            self.options.map(|options| SecretOptions { ttl_ms: Some(milliseconds), ..options });
        self
    }
}

impl<C: ContentCarrier> IntoFuture for Hiding<C> {
    type Output = Result<Secret, C::Error>;
    type IntoFuture = Sent<Secret, C>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let Workspace { carrier, caller, .. } = &self.workspace;
            carrier.put_secret(caller, self.options?, self.value).await
        })
    }
}
