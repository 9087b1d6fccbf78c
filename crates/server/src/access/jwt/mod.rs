//! JSON Web Tokens that are signed by a trusted issuer.
//!
//! ```text
//!   header.claims.signature
//!      │      │       └─ by a key of the file, in an algorithm of that key's kind
//!      │      └─ iss, aud, exp, nbf as in RFC 7519; sub: the agent; baton: its permissions
//!      └─ alg, kid
//! ```
//!
//! | claim | becomes |
//! |---|---|
//! | `sub` | the agent that acts, unless `baton.agent` names another |
//! | `baton.role` | the role; required |
//! | `baton.workspaces`, `baton.namespaces` | patterns, as for a token; all if absent |
//! | `exp` | when it expires; required |
//!
//! Invariants:
//!
//! 1. No claim is used before the signature is verified, except the key and the algorithm that the
//!    header names; and a key is never used with an algorithm of another kind.
//! 2. Issuer and audience are required: a token for another audience is invalid here.
//! 3. A verified JWT is remembered by its digest until it expires, as a token is; their number is
//!    limited.
//! 4. When the keys are reloaded, JWTs that were verified by a removed key end.
//!
//! Deliberately absent: fetching keys from the network, which is left to the deployment; and
//! encrypted tokens.

mod keys;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use baton_core::access::Grant;
use baton_core::{AgentId, Timestamp};
use serde::Deserialize;
use serde::de::IgnoredAny;
use thiserror::Error;

use keys::{Algorithm, Key};

pub(crate) use keys::Fingerprint;

/// The maximum size of a JWT. A head has 16 KiB in total.
const TOKEN_BYTES_MAX: usize = 8 << 10;
/// The maximum size of a key file.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// How far the clock of an issuer may be ahead of ours.
const AHEAD_MS_MAX: u64 = 30_000;

baton_core::refusals! {
    /// Why a key file cannot be used.
    #[derive(Clone, Debug, PartialEq, Eq, Error)]
    pub enum KeyFileError {
        /// The file with an issuer's keys cannot be used.
        #[error("the keys in `{path}` cannot be used: {reason}")]
        Unusable {
            /// The file.
            path: String,
            /// The reason.
            reason: String,
        } => {
            code: "access.bad_key_file",
            kind: Invalid,
            hint: "give the issuer's public key in PEM, a secret, or with --jwt-jwks a set of keys",
            cause: "It does not exist, is larger than 1 MiB, is a private key, contains no usable \
                key, or is a secret of fewer than 32 bytes.",
            remedy: "Set the issuer's public key (PEM) or a secret with `--jwt-key`, or a key set \
                with `--jwt-jwks`.",
        }
    }
}

/// The source of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyFile {
    /// One key: a public one in PEM, or a secret.
    Key(PathBuf),
    /// A set of keys: JWKS.
    Set(PathBuf),
}

impl KeyFile {
    fn path(&self) -> &Path {
        match self {
            Self::Key(path) | Self::Set(path) => path,
        }
    }

    fn read(&self) -> Result<Vec<Key>, KeyFileError> {
        let path = self.path();
        let unusable =
            |reason: String| KeyFileError::Unusable { path: path.display().to_string(), reason };
        let length = std::fs::metadata(path).map_err(|error| unusable(error.to_string()))?.len();
        if length > FILE_BYTES_MAX {
            return Err(unusable(format!("it has more than {FILE_BYTES_MAX} bytes")));
        }
        let bytes = std::fs::read(path).map_err(|error| unusable(error.to_string()))?;
        keys::read(&bytes, matches!(self, Self::Set(_)))
            .map_err(|reason| unusable(reason.to_owned()))
    }
}

/// A trusted issuer of JWTs. Clones share their state.
#[derive(Clone)]
pub struct Issuer(Arc<Inner>);

struct Inner {
    file: KeyFile,
    name: String,
    audience: String,
    keys: RwLock<Arc<Vec<Key>>>,
    /// How often the keys were read.
    generation: AtomicU64,
}

impl std::fmt::Debug for Issuer {
    /// Omits the keys.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Issuer({})", self.0.name)
    }
}

/// An identity from a verified JWT.
#[derive(Debug)]
pub(crate) struct JwtIdentity {
    pub(crate) grant: Grant,
    pub(crate) subject: String,
    pub(crate) expires_at: Timestamp,
    pub(crate) by: Fingerprint,
}

/// Why a JWT is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JwtFlaw {
    TooLarge,
    Malformed,
    Algorithm,
    UnknownKey,
    Signature,
    Issuer,
    Audience,
    Expired,
    NotYetValid,
    Claims,
}

impl JwtFlaw {
    /// The flaw in words, after "it".
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::TooLarge => "is longer than 8192 bytes",
            Self::Malformed => "is not a signed JSON Web Token",
            Self::Algorithm => "is signed in an algorithm that is not of the key's kind",
            Self::UnknownKey => "names a key that is not known here",
            Self::Signature => "was not signed by that key, or was changed since",
            Self::Issuer => "is of another issuer",
            Self::Audience => "is for another audience",
            Self::Expired => "has expired, or does not say when it does",
            Self::NotYetValid => "is not valid yet",
            Self::Claims => "does not say in `sub` who it is for and in `baton` what they may",
        }
    }
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    /// Header parameters that must be understood. None are supported.
    crit: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Claims {
    iss: Option<String>,
    sub: Option<String>,
    aud: Option<Audience>,
    exp: Option<f64>,
    nbf: Option<f64>,
    baton: Option<Grant>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Many(Vec<String>),
}

impl Audience {
    fn has(&self, name: &str) -> bool {
        match self {
            Self::One(one) => one == name,
            Self::Many(many) => many.iter().any(|one| one == name),
        }
    }
}

/// Seconds, perhaps with a fraction, as a time; none before 1970 and in the far future.
fn moment(seconds: f64) -> Option<Timestamp> {
    let is_sensible = (0.0..=1e13).contains(&seconds);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it was looked at")]
    is_sensible.then_some(Timestamp((seconds * 1_000.0) as u64))
}

impl Issuer {
    /// An issuer with this name, whose tokens for this audience are accepted.
    pub fn read(file: KeyFile, name: &str, audience: &str) -> Result<Self, KeyFileError> {
        let keys = RwLock::new(Arc::new(file.read()?));
        let (name, audience) = (name.to_owned(), audience.to_owned());
        Ok(Self(Arc::new(Inner { file, name, audience, keys, generation: AtomicU64::new(0) })))
    }

    /// Reads the key file again. If that fails, nothing changes.
    pub fn read_again(&self) -> Result<(), KeyFileError> {
        let fresh = Arc::new(self.0.file.read()?);
        *self.0.keys.write().unwrap_or_else(PoisonError::into_inner) = fresh;
        self.0.generation.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// The name of the issuer, which is its address if it has one.
    #[cfg(feature = "mcp")]
    pub(crate) fn name(&self) -> &str {
        &self.0.name
    }

    pub(crate) fn generation(&self) -> u64 {
        self.0.generation.load(Ordering::Acquire)
    }

    fn keys(&self) -> Arc<Vec<Key>> {
        Arc::clone(&self.0.keys.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether a key is still in use.
    pub(crate) fn still_has(&self, by: &Fingerprint) -> bool {
        self.keys().iter().any(|key| key.fingerprint == *by)
    }

    /// The identity and the permissions in a token, if it is valid now.
    pub(crate) fn verify(&self, token: &str, now: Timestamp) -> Result<JwtIdentity, JwtFlaw> {
        if token.len() > TOKEN_BYTES_MAX {
            return Err(JwtFlaw::TooLarge);
        }
        let (signed, signature) = token.rsplit_once('.').ok_or(JwtFlaw::Malformed)?;
        let (header, claims) = signed.split_once('.').ok_or(JwtFlaw::Malformed)?;
        let decoded = |text: &str| URL_SAFE_NO_PAD.decode(text).map_err(|_| JwtFlaw::Malformed);
        let header = decoded(header)?;
        let header: Header = serde_json::from_slice(&header).map_err(|_| JwtFlaw::Malformed)?;
        if header.crit.is_some() {
            return Err(JwtFlaw::Malformed);
        }
        let keys = self.keys();
        let key = Self::meant(&keys, header.kid.as_deref()).ok_or(JwtFlaw::UnknownKey)?;
        let algorithm = Algorithm::named(&header.alg).filter(|algorithm| key.fits(*algorithm));
        let algorithm = algorithm.ok_or(JwtFlaw::Algorithm)?;
        if !key.has_signed(algorithm, signed.as_bytes(), &decoded(signature)?) {
            return Err(JwtFlaw::Signature);
        }
        let claims = decoded(claims)?;
        let claims: Claims = serde_json::from_slice(&claims).map_err(|_| JwtFlaw::Claims)?;
        self.identify(claims, key.fingerprint, now)
    }

    /// The key of a token. If there is only one, and it has no id, it is used.
    fn meant<'a>(keys: &'a [Key], id: Option<&str>) -> Option<&'a Key> {
        match (keys, id) {
            ([only], None) => Some(only),
            ([only], Some(_)) if only.id.is_none() => Some(only),
            (_, Some(id)) => keys.iter().find(|key| key.id.as_deref() == Some(id)),
            (_, None) => None,
        }
    }

    fn identify(
        &self,
        claims: Claims,
        by: Fingerprint,
        now: Timestamp,
    ) -> Result<JwtIdentity, JwtFlaw> {
        let Inner { name, audience, .. } = &*self.0;
        if claims.iss.as_ref() != Some(name) {
            return Err(JwtFlaw::Issuer);
        }
        if !claims.aud.is_some_and(|aud| aud.has(audience)) {
            return Err(JwtFlaw::Audience);
        }
        let expires_at = claims.exp.and_then(moment).filter(|expires_at| *expires_at > now);
        let expires_at = expires_at.ok_or(JwtFlaw::Expired)?;
        if let Some(begins) = claims.nbf {
            let begins = moment(begins).ok_or(JwtFlaw::NotYetValid)?;
            if begins > now.after(AHEAD_MS_MAX) {
                return Err(JwtFlaw::NotYetValid);
            }
        }
        let (Some(subject), Some(mut grant)) = (claims.sub, claims.baton) else {
            return Err(JwtFlaw::Claims);
        };
        let agent = grant.agent.as_ref().map_or(subject.as_str(), AgentId::as_str);
        grant.agent = Some(AgentId::of_caller(agent).map_err(|_| JwtFlaw::Claims)?);
        Ok(JwtIdentity { grant, subject, expires_at, by })
    }
}
