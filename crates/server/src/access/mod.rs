//! Who calls: tokens, and what their owners may.
//!
//! ```text
//!   Authorization: Bearer baton_…
//!        │ SHA-256, looked up
//!        ▼
//!   Known ──▶ Authority ── permits(call) ──▶ baton_core::access: the rules
//!     │                     asked of every call, upload, watch and secret, at every door
//!     └── ended: revoked, or its time is over; open connections of its owner end with it
//! ```
//!
//! 1. A token is 32 bytes of chance behind `baton_`, shown once. What is kept is its digest, so
//!    that whoever reads the data cannot use it, and looking it up takes as long for any wrong one.
//! 2. Tokens are records of a workspace that no door leads into: durable, and with their history.
//! 3. Without tokens being demanded, whoever reaches the server may do everything but reach into
//!    that workspace. Whoever shows a token is held to it all the same.
//!
//! Deliberately absent: passwords, and sessions of browsers.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use axum::http::{HeaderMap, header};
use baton::clock::{Clock, SystemClock};
use baton_core::access::{CLOSED, Deed, Denied, Grant, is_closed};
use baton_core::wire::{Call, Problem};
use baton_core::{AgentId, Timestamp, WorkspaceName};
use baton_handle::Caller;
use sha2::{Digest, Sha256};

use crate::refusal::Refusal;
use crate::shared::Signal;

mod tokens;

pub use tokens::{Made, Record, TokenError, Tokens, Wanted};

/// How every token begins, so that those who look for leaked ones find it.
pub const PREFIX: &str = "baton_";
/// How often it is looked whether a token's time is over.
const LOOK_EVERY: Duration = Duration::from_millis(500);

type TokenDigest = [u8; 32];

/// The digest of a token.
fn digest_of(token: &str) -> TokenDigest {
    Sha256::digest(token.as_bytes()).into()
}

pub(crate) fn now() -> Timestamp {
    SystemClock::default().now()
}

/// Whoever has shown a token.
pub(crate) struct Known {
    grant: Grant,
    expires_at: Option<Timestamp>,
    /// Raised when it is revoked, or its time is over.
    ended: Signal,
}

impl Known {
    fn is_over(&self) -> bool {
        self.ended.is_raised() || self.expires_at.is_some_and(|moment| moment <= now())
    }
}

/// The tokens that are valid.
pub(crate) struct Access {
    is_demanded: bool,
    known: RwLock<HashMap<TokenDigest, Arc<Known>>>,
}

impl Access {
    pub(crate) fn new(is_demanded: bool) -> Self {
        Self { is_demanded, known: RwLock::default() }
    }

    /// A record has been read, written or changed.
    pub(crate) fn learn(&self, record: &Record) {
        let Some(digest) = record.digest_bytes() else { return };
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if record.revoked_at.is_some() {
            if let Some(gone) = known.remove(&digest) {
                gone.ended.raise();
            }
            return;
        }
        let (grant, expires_at) = (record.grant.clone(), record.expires_at);
        let fresh = || Arc::new(Known { grant, expires_at, ended: Signal::default() });
        known.entry(digest).or_insert_with(fresh);
    }

    /// Ends those whose time is over, for as long as the server runs.
    pub(crate) async fn look_after(&self) {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
            known.retain(|_, token| {
                let is_over = token.is_over();
                if is_over {
                    token.ended.raise();
                }
                !is_over
            });
        }
    }

    /// Who calls, by the headers of a request.
    pub(crate) fn recognise(
        &self,
        headers: &HeaderMap,
        query: Option<&str>,
    ) -> Result<Authority, Refusal> {
        if query.is_some_and(|query| query.contains(PREFIX)) {
            return Err(Refusal::TokenInUrl {});
        }
        let mut given = headers.get_all(header::AUTHORIZATION).iter();
        let Some(value) = given.next() else {
            return if self.is_demanded { Err(Refusal::NoToken {}) } else { Ok(Authority(None)) };
        };
        let text = value.to_str().ok().filter(|_| given.next().is_none());
        let (scheme, token) = text.and_then(|text| text.split_once(' ')).unwrap_or_default();
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(Refusal::BadToken {});
        }
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        match known.get(&digest_of(token.trim())) {
            Some(known) if !known.is_over() => Ok(Authority(Some(Arc::clone(known)))),
            Some(_) | None => Err(Refusal::BadToken {}),
        }
    }
}

/// What whoever calls may do; everything if nobody has to show a token and nobody has.
#[derive(Clone, Default)]
pub(crate) struct Authority(Option<Arc<Known>>);

impl Authority {
    /// The agent that acts where none is named.
    pub(crate) fn agent(&self) -> Option<&AgentId> {
        self.0.as_ref()?.grant.agent.as_ref()
    }

    /// Whether a call may be made. The one place where that is decided.
    pub(crate) fn permits(
        &self,
        workspace: &WorkspaceName,
        agent: &AgentId,
        call: &Call,
    ) -> Result<(), Problem> {
        self.decide(workspace, is_closed(workspace, call), |grant| {
            grant.permits(workspace, agent, call)
        })
    }

    /// Whether whatever is called for in a workspace is permitted, so that nobody need look at it.
    pub(crate) fn permits_all(&self, workspace: &WorkspaceName) -> bool {
        self.0.is_none() && workspace.as_str() != CLOSED
    }

    /// Whether something may be done that is no call.
    pub(crate) fn permits_deed(&self, caller: &Caller, deed: Deed) -> Result<(), Problem> {
        let Caller { workspace, agent, .. } = caller;
        self.decide(workspace, workspace.as_str() == CLOSED, |grant| {
            grant.permits_deed(workspace, agent, deed)
        })
    }

    /// Whether what is of the whole server may be done: its tokens, and a backup of it.
    pub(crate) fn administers(&self) -> Result<(), Problem> {
        let Some(known) = &self.0 else { return Ok(()) };
        Self::still(known)?;
        known.grant.permits_server().map_err(|denied| denied_as_problem(&denied))
    }

    fn decide(
        &self,
        workspace: &WorkspaceName,
        is_closed: bool,
        rule: impl FnOnce(&Grant) -> Result<(), Denied>,
    ) -> Result<(), Problem> {
        if is_closed {
            let denied = Denied::Workspace { workspace: workspace.clone() };
            return Err(denied_as_problem(&denied));
        }
        let Some(known) = &self.0 else { return Ok(()) };
        Self::still(known)?;
        rule(&known.grant).map_err(|denied| denied_as_problem(&denied))
    }

    fn still(known: &Known) -> Result<(), Problem> {
        if known.is_over() { Err(Refusal::BadToken {}.into()) } else { Ok(()) }
    }

    /// Waits until the token is worth nothing any more.
    pub(crate) async fn ended(&self) {
        match &self.0 {
            Some(known) => known.ended.raised().await,
            None => std::future::pending().await,
        }
    }
}

fn denied_as_problem(denied: &Denied) -> Problem {
    Problem::new(denied.code(), denied.kind(), denied, denied.hint(), denied)
}
