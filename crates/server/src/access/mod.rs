//! Authentication by tokens, and the permissions of their owners.
//!
//! ```text
//!   Authorization: Bearer baton_…        or a JWT of a trusted issuer: jwt
//!        │ SHA-256, looked up                        │ verified, then looked up as well
//!        ▼                                           │
//!        ┌───────────────────────────────────────────┘
//!   Known ──▶ Authority ── permits(call) ──▶ baton_core::access: the rules
//!     │                     for every call, upload, watch and secret, on every interface
//!     │                     permitted calls are charged to the quotas of token and workspace
//!     └── ended: revoked or expired; open connections of its owner end with it
//! ```
//!
//! 1. A token is 32 random bytes after `baton_`, shown once. Only its digest is stored, so that a
//!    reader of the data cannot use it, and the look-up takes the same time for every wrong one.
//! 2. Tokens are records of a workspace that no interface can reach: durable, and with their
//!    history.
//! 3. If tokens are not required, every caller may do everything except access that workspace. A
//!    caller that sends a token is still limited to its permissions.
//!
//! Deliberately absent: passwords, and browser sessions.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use axum::http::{HeaderMap, Request, header};
use baton::Caller;
use baton::clock::{Clock, SystemClock};
use baton_core::access::{Action, CLOSED, Denied, Grant, Permission, is_closed};
use baton_core::wire::{Call, FastCall, Problem};
use baton_core::{AgentId, Timestamp, WorkspaceName};
use sha2::{Digest, Sha256};

use crate::quota::{Cost, Meter, Meters, Owner, Quota, QuotaGuard, charge, check, pay};
use crate::refusal::Refusal;
use crate::settings::Settings;
use crate::shared::Signal;
use crate::shares::Sharer;

mod denials;
mod jwt;
mod tokens;

pub(crate) use denials::{Attempt, Denials};
pub use denials::{Denial, DenialPage};
use jwt::Fingerprint;
pub use jwt::{Issuer, KeyFile, KeyFileError};
pub use tokens::{Made, Record, TokenError, Tokens, Wanted};

/// The prefix of every token, so that scanners for leaked secrets find it.
pub const PREFIX: &str = "baton_";
/// The maximum number of remembered JWT identities: as many as connections, and some more that
/// return.
const JWT_PRINCIPALS_MAX: usize = 65_536;
/// The beginning of every JWT: `{"` in Base64.
const JWT_PREFIX: &str = "eyJ";
/// How a sub-protocol begins that carries a token.
const BEARER_PROTOCOL: &str = "baton.bearer.";
/// How often expired tokens are looked for.
const LOOK_EVERY: Duration = Duration::from_millis(500);

type TokenDigest = [u8; 32];

/// The digest of a token.
fn digest_of(token: &str) -> TokenDigest {
    Sha256::digest(token.as_bytes()).into()
}

pub(crate) fn now() -> Timestamp {
    SystemClock::default().now()
}

/// The time by a clock that nobody can set back while the server runs.
fn steady_now() -> Timestamp {
    static CLOCK: OnceLock<SystemClock> = OnceLock::new();
    CLOCK.get_or_init(SystemClock::default).now()
}

/// An authenticated caller.
pub(crate) struct Principal {
    /// The id of the token, or the subject of the JWT.
    who: String,
    grant: Grant,
    expires_at: Option<Timestamp>,
    /// The issuer's key that verified it, if it is a JWT.
    signing_key: Option<Fingerprint>,
    /// Where denials of its owner are recorded.
    denials: Arc<Denials>,
    /// Its usage, if it is limited.
    meter: Option<Arc<Meter>>,
    /// Raised when it is revoked or expires.
    ended: Signal,
}

impl Principal {
    fn is_over(&self) -> bool {
        // An issuer's token ends by the clock that its issuer has. One of ours ends in time even if
        // that clock is set back.
        let by_now = || if self.signing_key.is_some() { now() } else { now().max(steady_now()) };
        self.ended.is_raised() || self.expires_at.is_some_and(|moment| moment <= by_now())
    }
}

type TokenTable = RwLock<HashMap<TokenDigest, Arc<Principal>>>;

/// The valid tokens.
pub(crate) struct Access {
    is_demanded: bool,
    tokens: TokenTable,
    /// Identities from JWTs, since their first request.
    jwts: TokenTable,
    issuer: Option<Issuer>,
    /// Recent refusals.
    pub(crate) denials: Arc<Denials>,
    /// The quota of tokens without a specific one.
    usual: Quota,
    /// The meters of workspaces, if those are limited.
    meters: Option<Arc<Meters>>,
}

impl Access {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            is_demanded: settings.demands_tokens(),
            tokens: RwLock::default(),
            jwts: RwLock::default(),
            issuer: settings.jwt.clone(),
            denials: Arc::default(),
            usual: settings.quotas.token,
            meters: Meters::new(&settings.quotas),
        }
    }

    /// The authority of calls that the operator has set up: no token limits them, and they count
    /// against the quotas of their workspace.
    #[cfg(feature = "a2a")]
    pub(crate) fn authority_of_server(&self) -> Authority {
        Authority { credential: None, meters: self.meters.clone() }
    }

    /// Applies a record that was read, written or changed.
    pub(crate) fn load_token(&self, record: &Record) {
        let Some(digest) = record.digest_bytes() else { return };
        let mut tokens = self.tokens.write().unwrap_or_else(PoisonError::into_inner);
        if record.revoked_at.is_some() {
            if let Some(gone) = tokens.remove(&digest) {
                gone.ended.raise();
            }
            return;
        }
        let (grant, expires_at) = (record.grant.clone(), record.expires_at);
        let new_principal = || {
            Arc::new(Principal {
                who: record.id.clone(),
                grant,
                expires_at,
                signing_key: None,
                denials: Arc::clone(&self.denials),
                meter: Meter::new(Owner::Token, record.quota.or(self.usual)),
                ended: Signal::default(),
            })
        };
        tokens.entry(digest).or_insert_with(new_principal);
    }

    fn authority(&self, credential: Option<Credential>) -> Authority {
        Authority { credential, meters: self.meters.clone() }
    }

    /// Ends expired tokens, for as long as the server runs.
    pub(crate) async fn revoke_expired(&self) {
        let mut generation = 0;
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            revoke_where(&self.tokens, Principal::is_over);
            revoke_where(&self.jwts, Principal::is_over);
            let Some(issuer) = &self.issuer else { continue };
            let now = issuer.generation();
            if std::mem::replace(&mut generation, now) != now {
                revoke_where(&self.jwts, |principal| {
                    principal.signing_key.is_none_or(|by| !issuer.still_has(&by))
                });
            }
        }
    }

    /// Remembers the identity of a JWT until it expires.
    fn verify_jwt(
        &self,
        issuer: &Issuer,
        token: &str,
        digest: TokenDigest,
    ) -> Result<Arc<Principal>, Refusal> {
        let verified = issuer.verify(token, now());
        let jwt_identity = verified.map_err(|flaw| Refusal::BadJwt { reason: flaw.words() })?;
        let new_principal = Arc::new(Principal {
            who: jwt_identity.subject,
            grant: jwt_identity.grant,
            expires_at: Some(jwt_identity.expires_at),
            signing_key: Some(jwt_identity.by),
            denials: Arc::clone(&self.denials),
            meter: Meter::new(Owner::Token, self.usual),
            ended: Signal::default(),
        });
        let mut table = self.jwts.write().unwrap_or_else(PoisonError::into_inner);
        if table.len() >= JWT_PRINCIPALS_MAX {
            // Identities without a connection are verified again when they return.
            table.retain(|_, principal| Arc::strong_count(principal) > 1);
        }
        if table.len() >= JWT_PRINCIPALS_MAX {
            return Err(Refusal::TooManyJwtIdentities { max: JWT_PRINCIPALS_MAX });
        }
        Ok(Arc::clone(table.entry(digest).or_insert(new_principal)))
    }

    /// Authenticates a caller by the head of a request from an address.
    pub(crate) fn authenticate<B>(
        &self,
        request: &Request<B>,
        from: Option<IpAddr>,
    ) -> Result<Authority, Refusal> {
        let recognised = self.authenticate_headers(request.headers(), request.uri().query(), from);
        if let Err(refusal) = &recognised {
            let operation = format!("{} {}", request.method(), request.uri().path());
            let attempt = Attempt { who: None, agent: None, from, operation, workspace: None };
            self.denials.record(&attempt, &refusal.clone().into());
        }
        recognised
    }

    fn authenticate_headers(
        &self,
        headers: &HeaderMap,
        query: Option<&str>,
        from: Option<IpAddr>,
    ) -> Result<Authority, Refusal> {
        if query.is_some_and(has_token) {
            return Err(Refusal::TokenInUrl {});
        }
        let token = match bearer(headers)? {
            Some(token) => token,
            None if self.is_demanded => return Err(Refusal::NoToken {}),
            None => return Ok(self.authority(None)),
        };
        let digest = digest_of(token);
        let of_issuer = self.issuer.as_ref().filter(|_| !token.starts_with(PREFIX));
        let table = if of_issuer.is_some() { &self.jwts } else { &self.tokens };
        let found = table.read().unwrap_or_else(PoisonError::into_inner).get(&digest).cloned();
        let principal = match (found, of_issuer) {
            (Some(principal), _) if !principal.is_over() => principal,
            (_, Some(issuer)) => self.verify_jwt(issuer, token, digest)?,
            (_, None) => return Err(Refusal::BadToken {}),
        };
        Ok(self.authority(Some(Credential { principal, from })))
    }
}

/// The token of a request, if it names one.
///
/// A page of a browser cannot set `Authorization` in the handshake of a WebSocket. It offers the
/// token as a sub-protocol instead, beside the one that is spoken.
fn bearer(headers: &HeaderMap) -> Result<Option<&str>, Refusal> {
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    if let Some(value) = given.next() {
        let text = value.to_str().ok().filter(|_| given.next().is_none());
        let (scheme, token) = text.and_then(|text| text.split_once(' ')).unwrap_or_default();
        let is_bearer = scheme.eq_ignore_ascii_case("bearer");
        return if is_bearer { Ok(Some(token.trim())) } else { Err(Refusal::BadToken {}) };
    }
    let offered = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter();
    let offered = offered.filter_map(|value| value.to_str().ok()).flat_map(|v| v.split(','));
    let mut tokens = offered.filter_map(|name| name.trim().strip_prefix(BEARER_PROTOCOL));
    let token = tokens.next();
    if tokens.next().is_some() { Err(Refusal::BadToken {}) } else { Ok(token) }
}

/// Forgets some, and ends what they have open.
fn revoke_where(table: &TokenTable, matches: impl Fn(&Principal) -> bool) {
    let mut table = table.write().unwrap_or_else(PoisonError::into_inner);
    table.retain(|_, principal| {
        let is_match = matches(principal);
        if is_match {
            principal.ended.raise();
        }
        !is_match
    });
}

/// Whether a URL contains a token.
fn has_token(query: &str) -> bool {
    let is_jwt = |part: &str| part.starts_with(JWT_PREFIX) && part.matches('.').count() == 2;
    query.contains(PREFIX) || query.split(['&', '=']).any(is_jwt)
}

/// The permissions of a caller; everything if tokens are not required and none was sent.
#[derive(Clone, Default)]
pub(crate) struct Authority {
    credential: Option<Credential>,
    meters: Option<Arc<Meters>>,
}

/// What a call of the fast path costs, and who pays for it.
#[derive(Default)]
pub(crate) struct FastCharge {
    meters: [Option<Arc<Meter>>; 2],
    cost: Cost,
}

impl FastCharge {
    /// Charges it: it has happened.
    pub(crate) fn pay(&self) {
        pay(&self.meters, self.cost);
    }
}

/// The token of a caller, and its address.
#[derive(Clone)]
struct Credential {
    principal: Arc<Principal>,
    from: Option<IpAddr>,
}

impl Authority {
    fn principal(&self) -> Option<&Principal> {
        self.credential.as_ref().map(|credential| &*credential.principal)
    }

    /// What the caller may do; none if everything.
    pub(crate) fn grant(&self) -> Option<&Grant> {
        Some(&self.principal()?.grant)
    }

    /// The agent that acts where none is named.
    pub(crate) fn agent(&self) -> Option<&AgentId> {
        self.principal()?.grant.agent.as_ref()
    }

    /// The same, or `anonymous`.
    pub(crate) fn acting_agent(&self) -> AgentId {
        let anonymous = || AgentId::parse("anonymous").expect("it is a valid name");
        self.agent().cloned().unwrap_or_else(anonymous)
    }

    /// Whether a call of this many bytes is permitted. The only place where that is decided and
    /// charged.
    pub(crate) fn permits(
        &self,
        workspace: &WorkspaceName,
        agent: &AgentId,
        call: &Call,
        bytes: usize,
    ) -> Result<(), Problem> {
        let checked = self.check(workspace, is_closed(workspace, call), |grant| {
            grant.permits(workspace, agent, call)
        });
        self.record_denial(checked, Some((workspace, agent)), || call.name().to_owned())?;
        if !self.is_metered() {
            return Ok(());
        }
        Ok(charge(&self.meters_of(workspace), Cost::of(call, bytes)).map_err(Refusal::from)?)
    }

    /// Whether a call of the fast path is permitted and within the quotas. If so, it is to be
    /// charged once it has happened; if not, [`Authority::permits`] says why.
    pub(crate) fn permits_fast(
        &self,
        workspace: &WorkspaceName,
        agent: &AgentId,
        call: &FastCall<'_>,
        bytes: usize,
    ) -> Option<FastCharge> {
        if workspace.as_str() == CLOSED {
            return None;
        }
        if let Some(principal) = self.principal()
            && (principal.is_over() || !principal.grant.permits_fast(workspace, agent, call))
        {
            return None;
        }
        if !self.is_metered() {
            return Some(FastCharge::default());
        }
        let cost = Cost::of_fast(call, bytes);
        let meters = self.meters_of(workspace);
        check(&meters, cost).ok()?;
        Some(FastCharge { meters, cost })
    }

    /// Whether an action that is not a call is permitted.
    pub(crate) fn permits_action(&self, caller: &Caller, action: Action) -> Result<(), Problem> {
        let Caller { workspace, agent, .. } = caller;
        let checked = self.check(workspace, workspace.as_str() == CLOSED, |grant| {
            grant.permits_action(workspace, agent, action)
        });
        self.record_denial(checked, Some((workspace, agent)), || action.name().to_owned())?;
        if !self.is_metered() {
            return Ok(());
        }
        let meters = self.meters_of(workspace);
        // Bytes are charged as they arrive: a caller in debt must wait.
        let cost = match action.permission() {
            Permission::Read => Cost::ONE,
            Permission::Work | Permission::SetUp | Permission::Administer => {
                Cost { bytes: 1, ..Cost::ONE }
            }
        };
        Ok(charge(&meters, cost).map_err(Refusal::from)?)
    }

    /// Charges this many bytes of a permitted upload.
    pub(crate) fn charge_bytes(&self, workspace: &WorkspaceName, bytes: usize) {
        if self.is_metered() {
            pay(&self.meters_of(workspace), Cost { operations: 0, bytes: bytes as u64 });
        }
    }

    /// Slots among the watches of the caller and of the workspace.
    pub(crate) fn watch_guards(
        &self,
        workspace: &WorkspaceName,
    ) -> Result<Vec<QuotaGuard>, Refusal> {
        if !self.is_metered() {
            return Ok(Vec::new());
        }
        Ok(QuotaGuard::of_watch(&self.meters_of(workspace))?)
    }

    /// A slot among the connections of the caller; the existing one if it is already theirs.
    pub(crate) fn admit_connection(
        &self,
        quota_guard: &Mutex<Option<QuotaGuard>>,
    ) -> Result<(), Refusal> {
        let Some(meter) = self.principal().and_then(|principal| principal.meter.as_ref()) else {
            return Ok(());
        };
        let mut quota_guard = quota_guard.lock().unwrap_or_else(PoisonError::into_inner);
        if !quota_guard.as_ref().is_some_and(|quota_guard| quota_guard.is_of(meter)) {
            *quota_guard = QuotaGuard::of_connection(meter)?;
        }
        Ok(())
    }

    fn is_metered(&self) -> bool {
        self.meters.is_some() || self.principal().is_some_and(|principal| principal.meter.is_some())
    }

    fn meters_of(&self, workspace: &WorkspaceName) -> [Option<Arc<Meter>>; 2] {
        let of_token = self.principal().and_then(|principal| principal.meter.clone());
        [of_token, self.meters.as_ref().and_then(|meters| meters.of(workspace))]
    }

    /// Whether an operation on the whole server is permitted: its tokens, a backup, the denials.
    pub(crate) fn permits_server(&self, needs: Permission, operation: &str) -> Result<(), Problem> {
        let Some(principal) = self.principal() else { return Ok(()) };
        let permitted = || principal.grant.permits_server(needs);
        let checked = Self::check_valid(principal)
            .and_then(|()| permitted().map_err(|denied| denied_as_problem(&denied)));
        self.record_denial(checked, None, || operation.to_owned())
    }

    /// Records a denial for operators. A caller without a token, where none is required, may do
    /// everything else and is not recorded.
    fn record_denial(
        &self,
        checked: Result<(), Problem>,
        scope: Option<(&WorkspaceName, &AgentId)>,
        operation: impl FnOnce() -> String,
    ) -> Result<(), Problem> {
        if let (Err(problem), Some(Credential { principal, from })) = (&checked, &self.credential) {
            let attempt = Attempt {
                who: Some(&principal.who),
                agent: scope.map(|(_, agent)| agent.as_str()),
                from: *from,
                operation: operation(),
                workspace: scope.map(|(workspace, _)| workspace.as_str()),
            };
            principal.denials.record(&attempt, problem);
        }
        checked
    }

    fn check(
        &self,
        workspace: &WorkspaceName,
        is_closed: bool,
        rule: impl FnOnce(&Grant) -> Result<(), Denied>,
    ) -> Result<(), Problem> {
        if is_closed {
            let denied = Denied::Workspace { workspace: workspace.clone() };
            return Err(denied_as_problem(&denied));
        }
        let Some(principal) = self.principal() else { return Ok(()) };
        Self::check_valid(principal)?;
        rule(&principal.grant).map_err(|denied| denied_as_problem(&denied))
    }

    fn check_valid(principal: &Principal) -> Result<(), Problem> {
        if principal.is_over() { Err(Refusal::BadToken {}.into()) } else { Ok(()) }
    }

    /// Whether it can end before its requests do: there is a token.
    pub(crate) fn can_end(&self) -> bool {
        self.credential.is_some()
    }

    /// Those who share what is scarce with this caller: its token, and the workspace if one is
    /// named.
    pub(crate) fn sharers(&self, workspace: Option<&WorkspaceName>) -> Vec<Sharer> {
        let token = self.principal().map(|principal| Sharer::Token(principal.who.clone()));
        token.into_iter().chain(workspace.cloned().map(Sharer::Workspace)).collect()
    }

    /// Waits until the token ends.
    pub(crate) async fn ended(&self) {
        match self.principal() {
            Some(principal) => principal.ended.raised().await,
            None => std::future::pending().await,
        }
    }
}

fn denied_as_problem(denied: &Denied) -> Problem {
    Problem::new(denied.code(), denied.kind(), denied, denied.hint(), denied)
}
