//! The secrets of a workspace.

use baton_core::secret::{Command, Query, Secret};
use baton_core::{ContentName, SecretId};

use crate::carrier::SecretOptions;
use crate::request::request;
use crate::{Error, Secrets};

impl Secrets {
    /// Returns the metadata of a secret, without its value.
    pub async fn get(&self, secret: &str) -> Result<Secret, Error> {
        self.workspace.query(Query::Get { secret: SecretId::parse(secret)? }).await
    }

    /// Lists the secrets, without their values.
    pub async fn list(&self) -> Result<Vec<Secret>, Error> {
        self.workspace.pages(None, |cursor| Query::List { limit: None, cursor }).await
    }

    /// Deletes a secret permanently.
    pub async fn delete(&self, secret: &str) -> Result<Secret, Error> {
        self.workspace.run(Command::Delete { secret: SecretId::parse(secret)? }).await
    }

    /// Stores a secret. Use the reference in the reply wherever the value is meant.
    pub fn put(&self, value: impl Into<Vec<u8>>) -> Hiding {
        Hiding::new(&self.workspace, Ok((SecretOptions::default(), value.into())))
    }

    /// Reads the value of a secret. The access is recorded first.
    pub async fn reveal(&self, secret: &str) -> Result<Vec<u8>, Error> {
        let secret = SecretId::parse(secret)?;
        self.workspace.carrier.reveal(&self.workspace.caller, &secret).await
    }
}

request! {
    /// Stores a secret when it is awaited. It has no `Debug`, because it contains the value.
    Hiding((SecretOptions, Vec<u8>)) -> Secret: |workspace, secret|
        workspace.carrier.put_secret(&workspace.caller, secret.0, secret.1);
    /// Sets a name for people.
    name(name: &str) |secret| secret.0.name = Some(ContentName::parse(name)?);
    /// Sets how long the secret is kept; without this, until it is deleted.
    ttl_ms(milliseconds: u64) |secret| secret.0.ttl_ms = Some(milliseconds);
}
