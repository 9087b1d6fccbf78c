//! Quotas: how much one token and one workspace may use, so that others are not affected.
//!
//! ```text
//!   Authority ── permitted? ──▶ charge ──▶ the token's meter ─┐ all have budget: all pay
//!                                     └──▶ the workspace's  ──┘ one has none: refused, none pays
//! ```
//!
//! | quota | of a token | of a workspace | when it is reached |
//! |---|---|---|---|
//! | operations per second | yes | yes | `quota.operations`, with the time to wait |
//! | bytes written per second | yes | yes | `quota.bytes`, with the time to wait |
//! | concurrent watches | yes | yes | `quota.watches` |
//! | concurrent connections | yes | | `quota.connections` |
//! | entries, bytes stored | | yes | the engine's: [`baton::Extents`] |
//!
//! 1. Without limits there is no overhead: there is no meter then.
//! 2. A refused request is not charged and has no effect.
//! 3. If any budget is left, a request is executed completely, however large: the caller is then in
//!    debt, and waits until it is paid. So every allowed request can run, and never in part.
//! 4. There are about as many meters of workspaces as there are workspaces in use: idle ones are
//!    dropped.
//!
//! Deliberately absent: connections per workspace, since a connection can use any workspace; and
//! storage per token, since stored data belongs to its workspace.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use baton_core::WorkspaceName;
use baton_core::access::{CLOSED, Permission, permission};
use baton_core::wire::{Call, FastCall};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio::time::Instant;

use crate::metrics::Gauge;
use bucket::Bucket;

mod bucket;
#[cfg(test)]
mod tests;

/// Meters of workspaces that are kept before idle ones are dropped.
const AT_REST_MAX: usize = 1_024;

/// A quota.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Quota {
    /// Operations per second; each command of a transaction counts. If omitted, unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations_per_s: Option<u64>,
    /// Bytes per second of commands and uploads. If omitted, unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_s: Option<u64>,
    /// Concurrent connections; only for tokens. If omitted, unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections_max: Option<u64>,
    /// Concurrent watches. If omitted, unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watches_max: Option<u64>,
}

impl Quota {
    /// Whether nothing is limited.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// The same, with absent limits taken from `usual`.
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

/// The quotas of a server.
#[derive(Clone, Debug, Default)]
pub struct Quotas {
    /// For every workspace that is not named.
    pub workspace: Quota,
    /// For these workspaces.
    pub workspaces: HashMap<WorkspaceName, Quota>,
    /// For every token without its own quota.
    pub token: Quota,
}

baton_core::refusals! {
    /// A quota is reached. Serializes as its facts.
    #[derive(Clone, Debug, PartialEq, Eq, Error, Serialize)]
    #[serde(tag = "limit", rename_all = "snake_case")]
    pub(crate) enum OverQuota {
        /// The token or the workspace exceeds its operations per second.
        #[error("the quota of the {of} is reached: at most {max} operations per second are \
            allowed")]
        Operations {
            /// The owner of the quota.
            of: Owner,
            /// The quota.
            max: u64,
            /// How long to wait.
            retry_after_ms: u64,
        } => {
            code: "quota.operations",
            kind: Exhausted,
            hint: "wait for `retry_after_ms`, send less, or ask the server's operator for a larger \
                quota",
            cause: "`of` names the owner of the quota, `max` is its size. Each command of a \
                transaction counts as one operation. A transaction runs as a whole if any of the \
                quota is left; the overdraft delays the next request. Nothing was executed.",
            remedy: "Wait for `retry_after_ms`, which HTTP also sends as `Retry-After`; send less, \
                or ask for a larger quota.",
        }
        /// The token or the workspace exceeds its bytes written per second.
        #[error("the quota of the {of} is reached: at most {max} bytes written per second are \
            allowed")]
        Bytes {
            /// The owner of the quota.
            of: Owner,
            /// The quota.
            max: u64,
            /// How long to wait.
            retry_after_ms: u64,
        } => {
            code: "quota.bytes",
            kind: Exhausted,
            hint: "wait for `retry_after_ms`, send less, or ask the server's operator for a larger \
                quota",
            cause: "Writes and uploads count; `of` names the owner of the quota. A write runs as a \
                whole if any of the quota is left; the overdraft delays the next request. Nothing \
                was executed.",
            remedy: "Wait for `retry_after_ms`, which HTTP also sends as `Retry-After`; write \
                less, or ask for a larger quota.",
        }
        /// The token has too many connections.
        #[error("the quota of the {of} is reached: at most {max} connections at a time are \
            allowed")]
        Connections {
            /// The owner of the quota.
            of: Owner,
            /// The quota.
            max: u64,
        } => {
            code: "quota.connections",
            kind: Exhausted,
            hint: "close some, or ask the server's operator for a larger quota",
            cause: "Programs that share the token do not close their connections, or there are \
                more programs than planned. A connection counts for the token that was used on it \
                last.",
            remedy: "Close some, share one WebSocket for many requests, or ask for a larger quota.",
        }
        /// The token or the workspace has too many watches.
        #[error("the quota of the {of} is reached: at most {max} watches at a time are allowed")]
        Watches {
            /// The owner of the quota.
            of: Owner,
            /// The quota.
            max: u64,
        } => {
            code: "quota.watches",
            kind: Exhausted,
            hint: "close some, or ask the server's operator for a larger quota",
            cause: "`of` says whose quota it is. HTTP event streams and WebSocket watches both \
                count.",
            remedy: "End some, watch one wider pattern instead of many narrow ones, or ask for a \
                larger quota.",
        }
    }
}

/// The owner of a quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Owner {
    /// The token of the caller.
    Token,
    /// The workspace.
    Workspace,
}

impl fmt::Display for Owner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Token => "token",
            Self::Workspace => "workspace",
        })
    }
}

/// A cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    /// The number of operations.
    pub(crate) operations: u64,
    /// The number of written bytes.
    pub(crate) bytes: u64,
}

impl Cost {
    /// The cost of a call of this many bytes.
    pub(crate) fn of(call: &Call, bytes: usize) -> Self {
        let operations = match call {
            Call::Transaction(mutation) => mutation.commands().len().max(1) as u64,
            // Ending a watch must always be possible.
            Call::Unwatch { .. } => 0,
            Call::Command(_) | Call::Query(_) | Call::Watch(_) | Call::Ping => 1,
        };
        let bytes = if permission(call) == Permission::Read { 0 } else { bytes as u64 };
        Self { operations, bytes }
    }

    /// The cost of a call of the fast path of this many bytes.
    pub(crate) fn of_fast(call: &FastCall<'_>, bytes: usize) -> Self {
        let (permission, _) = call.scope();
        Self { bytes: if permission == Permission::Read { 0 } else { bytes as u64 }, ..Self::ONE }
    }

    /// One operation whose bytes are counted as they arrive.
    pub(crate) const ONE: Self = Self { operations: 1, bytes: 0 };
}

/// The usage of one owner.
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

    fn ns_at(&self, now: Instant) -> u64 {
        u64::try_from(now.duration_since(self.began).as_nanos()).unwrap_or(u64::MAX)
    }

    /// Checks that there is budget for everything that a cost contains.
    fn check(&self, cost: Cost, now: Instant) -> Result<(), OverQuota> {
        let (of, now_ns) = (self.owner, self.ns_at(now));
        let retry_after_ms = |wait_ns: u64| wait_ns.div_ceil(1_000_000).max(1);
        if let Some(max) = self.quota.operations_per_s.filter(|_| cost.operations > 0) {
            self.operations.has_some(max, now_ns).map_err(|wait_ns| OverQuota::Operations {
                of,
                max,
                retry_after_ms: retry_after_ms(wait_ns),
            })?;
        }
        if let Some(max) = self.quota.bytes_per_s.filter(|_| cost.bytes > 0) {
            self.bytes.has_some(max, now_ns).map_err(|wait_ns| OverQuota::Bytes {
                of,
                max,
                retry_after_ms: retry_after_ms(wait_ns),
            })?;
        }
        Ok(())
    }

    fn pay(&self, cost: Cost, now: Instant) {
        let now_ns = self.ns_at(now);
        if let Some(rate) = self.quota.operations_per_s {
            self.operations.take(cost.operations, rate, now_ns);
        }
        if let Some(rate) = self.quota.bytes_per_s {
            self.bytes.take(cost.bytes, rate, now_ns);
        }
    }

    /// Counts one more connection or watch.
    fn enter(self: &Arc<Self>, counted: Counted) -> Result<Option<QuotaGuard>, OverQuota> {
        let (max, gauge) = match counted {
            Counted::Connection => (self.quota.connections_max, &self.connections),
            Counted::Watch => (self.quota.watches_max, &self.watches),
        };
        let Some(max) = max else { return Ok(None) };
        if gauge.enter(usize::try_from(max).unwrap_or(usize::MAX)) {
            return Ok(Some(QuotaGuard { meter: Arc::clone(self), counted }));
        }
        let of = self.owner;
        Err(match counted {
            Counted::Connection => OverQuota::Connections { of, max },
            Counted::Watch => OverQuota::Watches { of, max },
        })
    }

    /// Whether it is in its initial state, and can be dropped.
    fn is_at_rest(&self) -> bool {
        let now_ns = self.ns_at(Instant::now());
        self.watches.count() == 0 && self.operations.is_full(now_ns) && self.bytes.is_full(now_ns)
    }
}

/// A counted connection or watch, until this is dropped.
#[derive(Debug)]
pub(crate) struct QuotaGuard {
    meter: Arc<Meter>,
    counted: Counted,
}

/// The objects that a quota counts while they are open.
#[derive(Clone, Copy, Debug)]
enum Counted {
    Connection,
    Watch,
}

impl QuotaGuard {
    /// Whether it belongs to this meter.
    pub(crate) fn is_of(&self, meter: &Arc<Meter>) -> bool {
        Arc::ptr_eq(&self.meter, meter)
    }

    /// A slot among the connections of a token.
    pub(crate) fn of_connection(meter: &Arc<Meter>) -> Result<Option<Self>, OverQuota> {
        meter.enter(Counted::Connection)
    }

    /// Slots among the watches of all these meters, or of none.
    pub(crate) fn of_watch(meters: &[Option<Arc<Meter>>]) -> Result<Vec<Self>, OverQuota> {
        let meters = meters.iter().flatten();
        let quota_guards: Vec<_> =
            meters.map(|meter| meter.enter(Counted::Watch)).collect::<Result<_, _>>()?;
        Ok(quota_guards.into_iter().flatten().collect())
    }
}

impl Drop for QuotaGuard {
    fn drop(&mut self) {
        match self.counted {
            Counted::Connection => self.meter.connections.leave(),
            Counted::Watch => self.meter.watches.leave(),
        }
    }
}

/// Charges all of them, or none.
pub(crate) fn charge(meters: &[Option<Arc<Meter>>], cost: Cost) -> Result<(), OverQuota> {
    let now = Instant::now();
    check(meters, cost, now)?;
    pay(meters, cost, now);
    Ok(())
}

/// Checks that all of them have some budget left.
pub(crate) fn check(
    meters: &[Option<Arc<Meter>>],
    cost: Cost,
    now: Instant,
) -> Result<(), OverQuota> {
    meters.iter().flatten().try_for_each(|meter| meter.check(cost, now))
}

/// Charges all of them, even if they have no budget left: it has happened already.
pub(crate) fn pay(meters: &[Option<Arc<Meter>>], cost: Cost, now: Instant) {
    meters.iter().flatten().for_each(|meter| meter.pay(cost, now));
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
        // A caller may name any workspace, so unused meters must not accumulate. They are swept
        // when there are twice as many as in use, which spreads the cost of a sweep over the new
        // ones.
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
