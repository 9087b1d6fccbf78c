//! Secrets that agents store, read and delete.
//!
//! The driver does what the engine's own callers do: the value becomes durable first, then its
//! record; and a value is returned only after the read is recorded. Every value starts with the
//! same mark, so that one search finds all of them.

use std::collections::BTreeMap;

use baton::blobs::{BlobKind, StoredBlob};
use baton_core::secret::{Command as SecretCommand, Put, Query as SecretQuery};
use baton_core::{BlobPlace, Command, Json, Mutation, Request, SecretId, WorkspaceName, state};

use crate::actors::agent::{Action, write};
use crate::actors::inputs::Inputs;
use crate::auditor::{Audit, demand};
use crate::models::live::check_unwritten;
use crate::models::secret::{MARK, check_no_secret};
use crate::world::{World, broken, is_excused};

/// The submitted values, and their locations.
#[derive(Default)]
pub(crate) struct SecretValues(BTreeMap<SecretId, SecretValue>);

struct SecretValue {
    workspace: WorkspaceName,
    value: Vec<u8>,
    stored: StoredBlob,
}

impl SecretValues {
    /// Whether there is a value to search for.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl World {
    /// An agent stores a secret, or uses one.
    pub(crate) fn act_on_secrets(&mut self) -> Audit {
        if self.server().shard.watermark().stopped().is_some() {
            return Ok(());
        }
        let number = self.rng.index(self.agents.len());
        let home = self.agents[number].home.clone();
        let known = self.hidden.0.iter().filter(|(_, handed)| handed.workspace == home);
        let known: Vec<SecretId> = known.map(|(secret, _)| secret.clone()).collect();
        let secret = (!known.is_empty()).then(|| self.rng.pick(&known).clone());
        let action = match (self.rng.below(8), secret) {
            (0..=2, Some(secret)) => submit(SecretCommand::Reveal { secret }),
            (3, Some(secret)) => submit(SecretCommand::Delete { secret }),
            (4, Some(secret)) => Action::Ask(SecretQuery::Get { secret }.into()),
            (5, _) => Action::Ask(SecretQuery::List { limit: None, cursor: None }.into()),
            (6, Some(secret)) => {
                let key = baton_core::Key::parse("password").expect("a good key");
                let value = Json::of(&BTreeMap::from([("secret", secret.as_str())]));
                let value = value.expect("a reference is JSON");
                submit(state::Command::Set(write(Inputs::namespace("notes"), key, value)))
            }
            _ => match self.store_secret(&home)? {
                Some(put) => submit(SecretCommand::Put(put)),
                None => return Ok(()),
            },
        };
        self.perform(number, action)
    }

    /// Makes the value durable. None if the disk failed.
    fn store_secret(&mut self, workspace: &WorkspaceName) -> Audit<Option<Put>> {
        if !self.load(workspace)? {
            return Ok(None);
        }
        let number = u128::from(self.rng.next()) << 64 | u128::from(self.rng.next());
        let place = BlobPlace::of_number(number);
        let value = format!("{MARK}{number:032x}").into_bytes();
        let ttl_ms = self.rng.once_in(2).then(|| self.rng.between(1_000, 60_000));
        let upload = self.server().shard.upload(workspace, BlobKind::Secrets, place);
        let stored = upload.and_then(|mut upload| {
            upload.write(&value)?;
            upload.commit()
        });
        match stored {
            Ok(stored) => {
                let (secret, bytes) = (stored.secret(), stored.bytes);
                demand!(bytes == value.len() as u64, "{bytes} bytes of a secret are durable");
                let handed = SecretValue { workspace: workspace.clone(), value, stored };
                self.hidden.0.insert(secret.clone(), handed);
                Ok(Some(Put { secret, bytes, name: None, ttl_ms }))
            }
            Err(error) => self.excuse("handing in a secret", &error).map(|()| None),
        }
    }

    /// After a request took effect: the submitted value is recorded, or the returned one is
    /// compared.
    pub(crate) fn keep_secret(&mut self, request: &Request) -> Audit {
        let secret = match &request.mutation {
            Mutation::Command(Command::Secret(SecretCommand::Put(put))) => {
                if let Some(handed) = self.hidden.0.get(&put.secret) {
                    self.server().shard.recorded(&handed.stored);
                }
                return Ok(());
            }
            Mutation::Command(Command::Secret(SecretCommand::Reveal { secret })) => secret,
            _ => return Ok(()),
        };
        let Some(SecretValue { workspace, value, .. }) = self.hidden.0.get(secret) else {
            return Err(broken(format!("`{secret}` was never stored")));
        };
        if self.auditor.ledger(workspace).secret_is_gone(secret) {
            return Ok(());
        }
        let content = self.server().shard.content(workspace, BlobKind::Secrets, &secret.place());
        match content.and_then(|content| content.whole()) {
            Ok(revealed) => {
                demand!(revealed == *value, "`{secret}` is not what was handed in");
                Ok(())
            }
            Err(error) if is_excused(&error) => Ok(()),
            Err(error) => Err(broken(format!("`{secret}` cannot be read: {error}"))),
        }
    }

    /// Checks that the value of a secret is in no file but its own, and a live request in none.
    pub(crate) fn check_no_secret_stored(&self) -> Audit {
        for (path, _) in self.disk.files() {
            let name = path.to_string_lossy().into_owned();
            check_unwritten(&name, &self.disk.contents(&path).unwrap_or_default())?;
            if !self.hidden.is_empty() && !name.contains("/secrets/") {
                check_no_secret(&name, &self.disk.contents(&path).unwrap_or_default())?;
            }
        }
        Ok(())
    }
}

fn submit(command: impl Into<Command>) -> Action {
    Action::Submit(Request::from(command.into()))
}
