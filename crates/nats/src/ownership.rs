//! Ownership of a shard: taking it over and giving it back.
//!
//! ```text
//!   free, or its owner is gone ──▶ take (epoch + 1) ──▶ mark in its stream ──▶ … ──▶ give
//! ```
//!
//! The owner of a shard is recorded in a message in the stream of the servers, replaced by
//! compare-and-set. That message decides which server takes the shard; the stream of the shard
//! ensures that no other server writes any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use baton_cluster::now_ms;
use baton_log::ownership::Licence;
use serde::{Deserialize, Serialize};

use crate::connection::{ANSWER_MAX, EXPECTED_LAST_OF_SUBJECT, Failure, Nats, Outgoing};
use crate::setup;

/// The stored facts about a server.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ServerFact {
    pub(crate) address: String,
    pub(crate) version: String,
    pub(crate) beat: i64,
    pub(crate) draining: bool,
    /// Whether it drains because it leaves. A server of an earlier version does not send it.
    #[serde(default)]
    pub(crate) leaving: bool,
    pub(crate) gone: bool,
}

/// The stored facts about a shard.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ShardFact {
    pub(crate) epoch: i64,
    pub(crate) server: Option<String>,
}

/// The subject with what is stored about a server.
pub(crate) fn server_subject(prefix: &str, id: &str) -> String {
    format!("{prefix}.roster.server.{id}")
}

/// The subject with what is stored about a shard.
pub(crate) fn shard_subject(prefix: &str, shard: u32) -> String {
    format!("{prefix}.roster.shard.{shard}")
}

/// Whether a server was declared gone, or was never there.
pub(crate) async fn is_gone(nats: &Nats, id: &str) -> Result<bool, Failure> {
    let prefix = &nats.location().prefix;
    let found = nats.last_on(&setup::roster(prefix), &server_subject(prefix, id)).await?;
    Ok(match found {
        Some(found) => found.fact::<ServerFact>()?.gone,
        None => true,
    })
}

/// This server as the owner of a shard.
pub(crate) struct Ownership {
    nats: Nats,
    pub(crate) server: String,
    pub(crate) shard: u32,
    pub(crate) epoch: i64,
    /// The sequence of the message with this content.
    sequence: u64,
    licence: Arc<Licence>,
    is_lost: AtomicBool,
    /// Whether the log has lost what is in memory.
    is_stale: AtomicBool,
}

impl Ownership {
    /// Takes a shard whose epoch was read. None if it has another owner, or another epoch.
    pub(crate) async fn take(
        nats: &Nats,
        (server, licence): (&str, &Arc<Licence>),
        shard: u32,
        epoch: i64,
    ) -> Result<Option<Self>, Failure> {
        let prefix = &nats.location().prefix;
        let subject = shard_subject(prefix, shard);
        let found = nats.last_on(&setup::roster(prefix), &subject).await?;
        let sequence = found.as_ref().map_or(0, |found| found.sequence);
        let known: ShardFact = found.map(|found| found.fact()).transpose()?.unwrap_or_default();
        let is_free = match &known.server {
            Some(owner) if owner != server => is_gone(nats, owner).await?,
            Some(_) | None => true,
        };
        if known.epoch != epoch || !is_free || is_gone(nats, server).await? {
            return Ok(None);
        }
        let epoch = epoch + 1;
        let taken = ShardFact { epoch, server: Some(server.to_owned()) };
        let out = Outgoing::fact(subject, &taken).with(EXPECTED_LAST_OF_SUBJECT, &sequence);
        // Not repeated: a first execution without an answer has changed the epoch.
        let sequence = match nats.publish(out, ANSWER_MAX).await {
            Err(Failure::WrongSequence) => return Ok(None),
            published => published?,
        };
        Ok(Some(Self {
            nats: nats.clone(),
            server: server.to_owned(),
            shard,
            epoch,
            sequence,
            licence: Arc::clone(licence),
            is_lost: AtomicBool::new(false),
            is_stale: AtomicBool::new(false),
        }))
    }

    /// Whether reads may be answered from memory.
    pub(crate) fn is_current(&self) -> bool {
        let is_stale = self.is_stale.load(Ordering::SeqCst);
        self.licence.is_valid(now_ms()) && !self.is_lost() && !is_stale
    }

    /// Whether another server has taken over, or may do so.
    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::SeqCst) || self.licence.is_lost()
    }

    /// Records that the log has lost what is in memory. The shard is still this server's.
    pub(crate) fn mark_stale(&self) {
        self.is_stale.store(true, Ordering::SeqCst);
    }

    /// Records that another server has taken over.
    pub(crate) fn lose(&self) {
        self.is_lost.store(true, Ordering::SeqCst);
    }

    /// Gives the shard back, so that the next owner need not wait. If it cannot be recorded, this
    /// server still owns it, and takes it again or is declared gone.
    pub(crate) async fn give(&self) {
        let subject = shard_subject(&self.nats.location().prefix, self.shard);
        let given = ShardFact { epoch: self.epoch, server: None };
        let out = Outgoing::fact(subject, &given).with(EXPECTED_LAST_OF_SUBJECT, &self.sequence);
        let _ = self.nats.publish(out, ANSWER_MAX).await;
    }
}
