//! Secrets according to the log: which exist, who has read them, and that no value occurs anywhere
//! else.
//!
//! Laws:
//!
//! 1. A secret is created once, revealed only while it exists, and every time it is revealed is
//!    recorded.
//! 2. It is deleted on request, or when its time has passed, and not before.
//! 3. Its value is in no record, no answer and no file but its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use baton_core::secret::{Command, Event, Query, Rejection, Reply, Secret};
use baton_core::{Batch, Event as AnyEvent, SecretId, Timestamp};

use crate::auditor::explain::BatchReader;
use crate::auditor::ledger::Ledger;
use crate::auditor::timeline::Timeline;
use crate::auditor::{Audit, Breach, demand};
use crate::coverage::Coverage;

/// The prefix of every value, which occurs nowhere else.
pub const MARK: &str = "hush-";

/// The default page size.
const PAGE_DEFAULT: usize = 100;

/// Every secret at every revision.
#[derive(Default)]
pub struct Secrets(BTreeMap<SecretId, Timeline<Option<Arc<Secret>>>>);

impl Secrets {
    /// A secret as it was after a revision.
    pub fn at(&self, id: &SecretId, at: u64) -> Option<&Arc<Secret>> {
        self.0.get(id)?.at(at)?.as_ref()
    }

    /// A secret that should have expired by this time.
    pub fn overdue(&self, now: Timestamp) -> Option<&Arc<Secret>> {
        let there = self.0.values().filter_map(|secret| secret.now()?.as_ref());
        there.into_iter().find(|secret| secret.expires_at.is_some_and(|end| end <= now))
    }
}

/// Checks that no value of a secret occurs in anything visible.
pub fn check_no_secret(what: &str, seen: &[u8]) -> Audit {
    let is_exposed = seen.windows(MARK.len()).any(|part| part == MARK.as_bytes());
    demand!(!is_exposed, "the value of a secret occurs in {what}");
    Ok(())
}

impl Ledger {
    /// Applies a durable event about a secret.
    pub(crate) fn add_secret(
        &mut self,
        batch: &Batch,
        event: &Event,
        coverage: &mut Coverage,
    ) -> Audit {
        let id = event.secret();
        let timeline = self.secrets.0.entry(id.clone()).or_default();
        let before = timeline.now().cloned().flatten();
        let after = match (event, before) {
            (Event::Put { secret, bytes, name, expires_at }, None) => {
                coverage.met("secret: put");
                Some(Secret {
                    secret: secret.clone(),
                    name: name.clone(),
                    bytes: *bytes,
                    put_by: batch.agent.clone(),
                    put_at: batch.time,
                    expires_at: *expires_at,
                    reveals: 0,
                    revealed_to: None,
                    revealed_at: None,
                })
            }
            (Event::Revealed { .. }, Some(before)) => {
                coverage.met("secret: revealed");
                let mut after = Secret::clone(&before);
                after.reveals += 1;
                after.revealed_to = Some(batch.agent.clone());
                after.revealed_at = Some(batch.time);
                Some(after)
            }
            (Event::Deleted { .. }, Some(_)) => None,
            (Event::Expired { .. }, Some(before)) => {
                let end = before.expires_at;
                let is_over = end.is_some_and(|end| end <= batch.time);
                demand!(is_over, "`{id}` ends at {end:?}, it went at {}", batch.time);
                coverage.met("secret: expired");
                None
            }
            (event, before) => return Err(Breach(format!("{event:?} came after {before:?}"))),
        };
        timeline.set(batch.revision.0, after.map(Arc::new));
        Ok(())
    }

    /// Checks that the answer to a change is the secret after or before it.
    pub(crate) fn secret_reply(&self, command: &Command, reply: &Reply, revision: u64) -> Audit {
        let (id, at) = match command {
            Command::Put(put) => (&put.secret, revision),
            Command::Reveal { secret } => (secret, revision),
            Command::Delete { secret } => (secret, revision - 1),
        };
        match reply {
            Reply::Secret(shown) => {
                let there = self.secrets.at(id, at).map(AsRef::as_ref);
                demand!(there == Some(shown), "{shown:?} is shown, it is {there:?}");
                Ok(())
            }
            Reply::Secrets { .. } => {
                Err(Breach(format!("{command:?} was answered with {reply:?}")))
            }
        }
    }

    /// Whether a secret has expired or was deleted.
    pub fn secret_is_gone(&self, id: &SecretId) -> bool {
        self.secrets.at(id, u64::MAX).is_none()
    }

    /// Checks returned secrets.
    pub(crate) fn secrets_shown(&self, query: &Query, reply: &Reply, at: u64) -> Audit {
        match (query, reply) {
            (Query::Get { secret }, Reply::Secret(shown)) => {
                let there = self.secrets.at(secret, at).map(AsRef::as_ref);
                demand!(there == Some(shown), "{shown:?} is shown, it is {there:?}");
                Ok(())
            }
            (Query::List { .. }, Reply::Secrets { secrets, .. }) => {
                let there = self.secrets.0.values().filter_map(|it| it.at(at)?.as_deref());
                let same = there.take(PAGE_DEFAULT).eq(secrets.iter());
                demand!(same, "other secrets are there than {secrets:?}");
                Ok(())
            }
            (query, reply) => Err(Breach(format!("{query:?} was answered with {reply:?}"))),
        }
    }

    /// Checks a command that was refused because of a secret.
    pub(crate) fn refused_secret(&self, rejection: &Rejection, at: u64) -> Audit {
        match rejection {
            Rejection::NotFound { secret } => {
                demand!(self.secrets.at(secret, at).is_none(), "`{secret}` was there");
                Ok(())
            }
            other => {
                let code = other.code();
                Err(Breach(format!("no request can cause `{code}`")))
            }
        }
    }
}

impl BatchReader<'_> {
    /// One command about a secret, one event.
    pub(crate) fn secret(&mut self, command: &Command) -> Audit {
        let event = match self.take()? {
            AnyEvent::Secret(event) => event,
            other => return Err(Breach(format!("a secret was due, not {}", other.kind()))),
        };
        let same = match (command, event) {
            (Command::Put(put), Event::Put { secret, bytes, .. }) => {
                (&put.secret, put.bytes) == (secret, *bytes)
            }
            (Command::Reveal { secret: asked }, Event::Revealed { secret })
            | (Command::Delete { secret: asked }, Event::Deleted { secret }) => asked == secret,
            _ => false,
        };
        demand!(same, "{command:?} became {event:?}");
        Ok(())
    }
}
