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
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use axum::http::{HeaderMap, Request, header};
use baton::clock::{Clock, SystemClock};
use baton_core::Timestamp;
use baton_core::access::Grant;
use sha2::{Digest, Sha256};

use crate::quota::{Meter, Meters, Owner, Quota};
use crate::refusal::Refusal;
use crate::settings::Settings;
use crate::shared::Signal;

mod authority;
mod clock;
mod denials;
mod jwt;
mod tokens;

pub(crate) use authority::Authority;
use authority::Credential;
use clock::TokenClock;
pub(crate) use denials::{Attempt, Denials};
pub use denials::{Denial, DenialPage};
use jwt::Fingerprint;
pub use jwt::{Issuer, KeyFile, KeyFileError};
pub use tokens::{Made, TokenError, TokenRecord, Tokens, Wanted};

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

/// An authenticated caller.
pub(crate) struct Principal {
    /// The id of the token, or the subject of the JWT.
    who: String,
    grant: Grant,
    expires_at: Option<Timestamp>,
    /// The clock that it ends by.
    clock: PrincipalClock,
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
        self.ended.is_raised() || self.expires_at.is_some_and(|moment| moment <= self.clock.now())
    }
}

/// An issuer's token ends by the clock that its issuer has too, one of ours by the time that it was
/// made at.
enum PrincipalClock {
    Issuer,
    Ours(Arc<TokenClock>),
}

impl PrincipalClock {
    fn now(&self) -> Timestamp {
        match self {
            Self::Issuer => now(),
            Self::Ours(clock) => clock.now(),
        }
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
    /// The time by which tokens expire.
    pub(crate) clock: Arc<TokenClock>,
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
            clock: Arc::default(),
        }
    }

    /// The authority of calls that the operator has set up: no token limits them, and they count
    /// against the quotas of their workspace.
    #[cfg(feature = "a2a")]
    pub(crate) fn authority_of_server(&self) -> Authority {
        Authority { credential: None, meters: self.meters.clone(), place: None }
    }

    /// Applies a record that was read, written or changed.
    pub(crate) fn load_token(&self, record: &TokenRecord) {
        let Some(digest) = record.digest_bytes() else { return };
        let mut tokens = self.tokens.write().unwrap_or_else(PoisonError::into_inner);
        // Earlier versions made tokens for the engine's own name.
        if record.revoked_at.is_some() || record.grant.check_agent().is_err() {
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
                clock: PrincipalClock::Ours(Arc::clone(&self.clock)),
                signing_key: None,
                denials: Arc::clone(&self.denials),
                meter: Meter::new(Owner::Token, record.quota.or(self.usual)),
                ended: Signal::default(),
            })
        };
        tokens.entry(digest).or_insert_with(new_principal);
    }

    /// Whether a request has a token of this server that is not known, perhaps because it is new.
    pub(crate) fn is_token_unknown(&self, headers: &HeaderMap) -> bool {
        let Ok(Some(token)) = bearer(headers) else { return false };
        let tokens = self.tokens.read().unwrap_or_else(PoisonError::into_inner);
        token.starts_with(PREFIX) && !tokens.contains_key(&digest_of(token))
    }

    fn authority(&self, credential: Option<Credential>) -> Authority {
        Authority { credential, meters: self.meters.clone(), place: None }
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
            clock: PrincipalClock::Issuer,
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
        self.authenticate_token(bearer(headers)?, from)
    }

    /// Authenticates a caller by the value of `Authorization`, if it has sent any. None if it is
    /// refused, which is not recorded.
    pub(crate) fn authenticate_by(
        &self,
        authorization: Option<&str>,
        from: IpAddr,
    ) -> Option<Authority> {
        let token = authorization.map(bearer_token).transpose().ok()?;
        self.authenticate_token(token, Some(from)).ok()
    }

    fn authenticate_token(
        &self,
        token: Option<&str>,
        from: Option<IpAddr>,
    ) -> Result<Authority, Refusal> {
        let token = match token {
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
        return bearer_token(text.unwrap_or_default()).map(Some);
    }
    let offered = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter();
    let offered = offered.filter_map(|value| value.to_str().ok()).flat_map(|v| v.split(','));
    let mut tokens = offered.filter_map(|name| name.trim().strip_prefix(BEARER_PROTOCOL));
    let token = tokens.next();
    if tokens.next().is_some() { Err(Refusal::BadToken {}) } else { Ok(token) }
}

/// The token in a value of `Authorization`.
fn bearer_token(authorization: &str) -> Result<&str, Refusal> {
    let (scheme, token) = authorization.split_once(' ').unwrap_or_default();
    let is_bearer = scheme.eq_ignore_ascii_case("bearer");
    if is_bearer { Ok(token.trim()) } else { Err(Refusal::BadToken {}) }
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
