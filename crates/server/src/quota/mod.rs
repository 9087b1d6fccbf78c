//! Quotas: what one token and one workspace may take, so that nobody takes what others need.
//!
//! ```text
//!   Authority ── permitted? ──▶ charge ──▶ the token's meter ─┐ all have some left: all pay
//!                                     └──▶ the workspace's  ──┘ one has not: nobody pays, refused
//! ```
//!
//! | quota | of a token | of a workspace | when it is reached |
//! |---|---|---|---|
//! | operations a second | yes | yes | `quota.operations`, with how long to wait |
//! | bytes written a second | yes | yes | `quota.bytes`, with how long to wait |
//! | watches at a time | yes | yes | `quota.watches` |
//! | connections at a time | yes | | `quota.connections` |
//! | entries, bytes stored | | yes | the engine's: [`baton::Extents`] |
//!
//! 1. What is not limited costs nothing: there is no meter then, and nobody asks for one.
//! 2. What is refused has paid nothing and done nothing.
//! 3. Whoever has something left may do what they ask for, however large: they are in debt then,
//!    and wait until it is paid. So whatever is allowed at all can be done, and is never half done.
//! 4. There are as many meters of workspaces as are in use, and some: those at rest are let go of.
//!
//! Deliberately absent: connections of a workspace, since a connection is in none and speaks of
//! any; and what is stored by a token, since what is stored belongs to its workspace.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use baton_core::access::{CLOSED, Permission, permission};
use baton_core::wire::Call;
use baton_core::{Mutation, WorkspaceName};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::metrics::Gauge;
use crate::refusal::Refusal;
use bucket::Bucket;

mod bucket;
#[cfg(test)]
mod tests;

/// Meters of workspaces that may be kept before those at rest are let go of.
const AT_REST_MAX: usize = 1_024;

/// What somebody may take; as much as they like of what is not given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Quota {
    /// Operations a second. Each command of a transaction is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations_per_s: Option<u64>,
    /// Bytes a second of requests that change something, and of uploads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_s: Option<u64>,
    /// Connections at a time. Of tokens only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections_max: Option<u64>,
    /// Watches at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watches_max: Option<u64>,
}

impl Quota {
    /// Whether nothing is limited.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// The same, with what is not given as `usual` has it.
    #[must_use]
    pub fn or(self, usual: Self) -> Self {
        Self {
            operations_per_s: self.operations_per_s.or(usual.operations_per_s),
            bytes_per_s: self.bytes_per_s.or(usual.bytes_per_s),
            connections_max: self.connections_max.or(usual.connections_max),
            watches_max: self.watches_max.or(usual.watches_max),
        }
    }
}

/// What is set for a whole server.
#[derive(Clone, Debug, Default)]
pub struct Quotas {
    /// Of every workspace that is not named.
    pub workspace: Quota,
    /// Of these.
    pub workspaces: HashMap<WorkspaceName, Quota>,
    /// Of every token, where it does not say otherwise itself.
    pub token: Quota,
}

/// What is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Limit {
    /// How often something is asked for.
    Operations,
    /// How much is written.
    Bytes,
    /// How many are connected.
    Connections,
    /// How many watch.
    Watches,
}

impl Limit {
    /// What one does with it, as part of a sentence.
    pub(crate) fn verb(self) -> &'static str {
        match self {
            Self::Operations => "ask for",
            Self::Bytes => "write",
            Self::Connections | Self::Watches => "have",
        }
    }

    /// What it is a number of, likewise.
    pub(crate) fn things(self) -> &'static str {
        match self {
            Self::Operations => "operations a second",
            Self::Bytes => "bytes a second",
            Self::Connections => "connections at a time",
            Self::Watches => "watches at a time",
        }
    }
}

/// Whose quota it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Owner {
    /// Of whoever calls.
    Token,
    /// Of where it happens.
    Workspace,
}

impl Owner {
    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Token => "token",
            Self::Workspace => "workspace",
        }
    }
}

/// What something takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    /// How many operations it is.
    pub(crate) operations: u64,
    /// How much it writes.
    pub(crate) bytes: u64,
}

impl Cost {
    /// What a call takes that came as so many bytes.
    pub(crate) fn of(call: &Call, bytes: usize) -> Self {
        let operations = match call {
            Call::Transaction(Mutation::Transaction { commands, .. }) => {
                commands.len().max(1) as u64
            }
            // To end a watch must always be possible.
            Call::Unwatch { .. } => 0,
            Call::Transaction(_)
            | Call::Command(_)
            | Call::Query(_)
            | Call::Watch(_)
            | Call::Ping => 1,
        };
        let bytes = if permission(call) == Permission::Read { 0 } else { bytes as u64 };
        Self { operations, bytes }
    }

    /// One operation whose bytes are counted as they come.
    pub(crate) const ONE: Self = Self { operations: 1, bytes: 0 };
}

/// What somebody has taken.
#[derive(Debug)]
pub(crate) struct Meter {
    owner: Owner,
    quota: Quota,
    began: Instant,
    operations: Bucket,
    bytes: Bucket,
    connections: Gauge,
    watches: Gauge,
}

impl Meter {
    /// None if nothing is limited.
    pub(crate) fn new(owner: Owner, quota: Quota) -> Option<Arc<Self>> {
        if quota.is_none() {
            return None;
        }
        Some(Arc::new(Self {
            owner,
            quota,
            began: Instant::now(),
            operations: Bucket::default(),
            bytes: Bucket::default(),
            connections: Gauge::default(),
            watches: Gauge::default(),
        }))
    }

    fn now_ns(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Whether there is something left of all that a cost takes some of.
    fn check(&self, cost: Cost) -> Result<(), Refusal> {
        let now_ns = self.now_ns();
        for (limit, rate, bucket, taken) in [
            (Limit::Operations, self.quota.operations_per_s, &self.operations, cost.operations),
            (Limit::Bytes, self.quota.bytes_per_s, &self.bytes, cost.bytes),
        ] {
            let Some(rate) = rate.filter(|_| taken > 0) else { continue };
            if let Err(wait_ns) = bucket.has_some(rate, now_ns) {
                let retry_after_ms = Some(wait_ns.div_ceil(1_000_000).max(1));
                return Err(Refusal::OverQuota {
                    limit,
                    of: self.owner,
                    max: rate,
                    retry_after_ms,
                });
            }
        }
        Ok(())
    }

    fn pay(&self, cost: Cost) {
        let now_ns = self.now_ns();
        if let Some(rate) = self.quota.operations_per_s {
            self.operations.take(cost.operations, rate, now_ns);
        }
        if let Some(rate) = self.quota.bytes_per_s {
            self.bytes.take(cost.bytes, rate, now_ns);
        }
    }

    /// A place among its connections or watches.
    fn enter(self: &Arc<Self>, limit: Limit) -> Result<Option<QuotaGuard>, Refusal> {
        let (max, gauge) = match limit {
            Limit::Connections => (self.quota.connections_max, &self.connections),
            Limit::Watches => (self.quota.watches_max, &self.watches),
            Limit::Operations | Limit::Bytes => return Ok(None),
        };
        let Some(max) = max else { return Ok(None) };
        if gauge.enter(usize::try_from(max).unwrap_or(usize::MAX)) {
            return Ok(Some(QuotaGuard { meter: Arc::clone(self), limit }));
        }
        Err(Refusal::OverQuota { limit, of: self.owner, max, retry_after_ms: None })
    }

    /// Whether nobody would notice if it was made anew.
    fn is_at_rest(&self) -> bool {
        let now_ns = self.now_ns();
        self.watches.count() == 0 && self.operations.is_full(now_ns) && self.bytes.is_full(now_ns)
    }
}

/// A connection or a watch that is counted, until this is dropped.
#[derive(Debug)]
pub(crate) struct QuotaGuard {
    meter: Arc<Meter>,
    limit: Limit,
}

impl QuotaGuard {
    /// Whether it is one of this meter.
    pub(crate) fn is_of(&self, meter: &Arc<Meter>) -> bool {
        Arc::ptr_eq(&self.meter, meter)
    }

    /// A place among the connections of a token.
    pub(crate) fn of_connection(meter: &Arc<Meter>) -> Result<Option<Self>, Refusal> {
        meter.enter(Limit::Connections)
    }

    /// Places among the watches of all these, or of none.
    pub(crate) fn of_watch(meters: &[Option<Arc<Meter>>]) -> Result<Vec<Self>, Refusal> {
        let meters = meters.iter().flatten();
        let quota_guards: Vec<_> =
            meters.map(|meter| meter.enter(Limit::Watches)).collect::<Result<_, _>>()?;
        Ok(quota_guards.into_iter().flatten().collect())
    }
}

impl Drop for QuotaGuard {
    fn drop(&mut self) {
        match self.limit {
            Limit::Connections => self.meter.connections.leave(),
            Limit::Watches => self.meter.watches.leave(),
            Limit::Operations | Limit::Bytes => {}
        }
    }
}

/// Lets all of them pay, or none.
pub(crate) fn charge(meters: &[Option<Arc<Meter>>], cost: Cost) -> Result<(), Refusal> {
    meters.iter().flatten().try_for_each(|meter| meter.check(cost))?;
    pay(meters, cost);
    Ok(())
}

/// Lets all of them pay, even if they have nothing left: it has happened.
pub(crate) fn pay(meters: &[Option<Arc<Meter>>], cost: Cost) {
    meters.iter().flatten().for_each(|meter| meter.pay(cost));
}

/// The meters of workspaces.
#[derive(Debug)]
pub(crate) struct Meters {
    quotas: Quotas,
    in_use: Mutex<HashMap<WorkspaceName, Arc<Meter>>>,
}

impl Meters {
    /// None if no workspace is limited.
    pub(crate) fn new(quotas: &Quotas) -> Option<Arc<Self>> {
        let is_limited =
            !quotas.workspace.is_none() || quotas.workspaces.values().any(|it| !it.is_none());
        is_limited.then(|| Arc::new(Self { quotas: quotas.clone(), in_use: Mutex::default() }))
    }

    /// The meter of a workspace, if it is limited.
    pub(crate) fn of(&self, workspace: &WorkspaceName) -> Option<Arc<Meter>> {
        let named = self.quotas.workspaces.get(workspace).copied();
        let quota = named.unwrap_or(self.quotas.workspace);
        if quota.is_none() || workspace.as_str() == CLOSED {
            return None;
        }
        let mut in_use = self.in_use.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(meter) = in_use.get(workspace) {
            return Some(Arc::clone(meter));
        }
        // Anybody may name any workspace: what nobody uses must not pile up. Twice as many as are
        // in use, so that looking through them is paid for by those that came since.
        if in_use.len() >= AT_REST_MAX && in_use.len() == in_use.capacity() {
            in_use.retain(|_, meter| Arc::strong_count(meter) > 1 || !meter.is_at_rest());
            let kept = AT_REST_MAX.max(2 * in_use.len());
            in_use.shrink_to(kept);
        }
        let meter = Meter::new(Owner::Workspace, quota)?;
        in_use.insert(workspace.clone(), Arc::clone(&meter));
        Some(meter)
    }
}
