//! Tokens in storage: entries of a dedicated workspace.

use baton::{Baton, Error, Workspace, WorkspaceClock};
use baton_core::access::{CLOSED, Grant};
use baton_core::state::List;
use baton_core::{Json, NamespaceName, Timestamp, limits};
use rand::TryRngCore;
use rand::rngs::OsRng;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use thiserror::Error as ThisError;

use super::{PREFIX, TokenDigest, digest_of};
use crate::quota::Quota;

/// The key of a token's record.
const KEYS: &str = "tokens/";
/// The key of an entry that expires with a token. Its end is recorded, so that the time of the
/// workspace is after it even if the server starts again with a clock that is behind.
const ENDS: &str = "ends/";
/// Digits of the digest that are the id of a token.
const ID_DIGITS: usize = 12;
/// Longest name in bytes: it is for people.
const NAME_BYTES_MAX: usize = 128;
/// Maximum number of tokens: all are in memory.
const TOKENS_MAX: usize = 100_000;

/// A token without its secret part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TokenRecord {
    /// The id of the token.
    pub id: String,
    /// The name of the token.
    pub name: String,
    /// SHA-256 of the token.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    digest: String,
    /// The permissions of the token.
    #[serde(flatten)]
    pub grant: Grant,
    /// The quota of the token. If omitted, the server's quota for tokens.
    #[serde(default, skip_serializing_if = "Quota::is_none")]
    pub quota: Quota,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it expires. Absent if it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// When it was revoked. Absent if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
}

impl TokenRecord {
    pub(super) fn digest_bytes(&self) -> Option<TokenDigest> {
        let digit = |index: usize| u8::from_str_radix(self.digest.get(index..index + 2)?, 16).ok();
        let bytes: Option<Vec<u8>> = (0..32).map(|byte| digit(2 * byte)).collect();
        bytes?.try_into().ok()
    }

    /// The same, for people and programs.
    #[must_use]
    pub fn shown(mut self) -> Self {
        self.digest.clear();
        self
    }
}

/// A token to create.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "TokenWanted"))]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// A name for people.
    pub name: String,
    /// The permissions of the token.
    pub grant: Grant,
    /// Time to live in milliseconds. If omitted, the token does not expire.
    #[serde(default)]
    pub ttl_ms: Option<u64>,
    /// The quota of the token. If omitted, the server's quota for tokens.
    #[serde(default, deserialize_with = "by_name")]
    pub quota: Option<Quota>,
}

/// A quota whose limits are named: serde would also accept a list with empty positions, which is
/// never intended.
fn by_name<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<Quota>, D::Error> {
    let named = Option::<serde_json::Map<_, _>>::deserialize(reader)?;
    let quota = named.map(|named| Quota::deserialize(Value::Object(named)));
    quota.transpose().map_err(D::Error::custom)
}

/// A new token.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "TokenMade"))]
pub struct Made {
    /// The token. It is returned only once.
    pub token: String,
    /// The record of the token.
    #[serde(flatten)]
    pub record: TokenRecord,
}

baton_core::refusals! {
    /// Why a token could not be created or changed.
    #[derive(Debug, ThisError)]
    pub enum TokenError {
        /// The name of a token must have 1 to 128 bytes and no control characters.
        #[error("a token needs a name of 1 to {NAME_BYTES_MAX} bytes without control characters")]
        Name => {
            code: "access.bad_name",
            kind: Invalid,
            hint: "describe in a few words who uses it and for what",
            cause: "The name is blank, too long, or has control characters.",
            remedy: "Describe in a few words who uses the token and for what.",
        }
        /// There are too many tokens.
        #[error("too many tokens (limit {TOKENS_MAX})")]
        TooMany => {
            code: "access.too_many_tokens",
            kind: Exhausted,
            hint: "share a token between agents that do the same work",
            cause: "All tokens are kept in memory, so their number is limited. Revoked tokens \
                count, because they are kept.",
        }
        /// No token has this id.
        #[error("there is no token `{id}`")]
        NotFound {
            /// Its name.
            id: String,
        } => {
            code: "access.unknown_token",
            kind: NotFound,
            hint: "list the tokens with `baton token ls`",
            cause: "The id is misspelled, or belongs to another server.",
        }
        /// Tokens cannot be created or read.
        #[error("no random bytes are available: {reason}")]
        Chance {
            /// The system's error.
            reason: String,
        } => {
            code: "access.unusable",
            kind: Unavailable,
            hint: "check the system that the server runs on",
            cause: "The system cannot provide random bytes, or the record of a token is damaged.",
            remedy: "Check the system; if a record is damaged, restore the data from a backup.",
        }
        /// The record of a token cannot be read.
        #[error("the record of token `{id}` cannot be read: {reason}")]
        Broken {
            /// Its name.
            id: String,
            /// The reason.
            reason: String,
        } => {
            code: "access.unusable",
            kind: Unavailable,
            hint: "restore the data from a backup",
        }
    }
    &borrowed {
        /// The engine refused.
        #[error(transparent)]
        Engine(Error),
    }
}

impl From<Error> for TokenError {
    fn from(error: Error) -> Self {
        Self::Engine(error)
    }
}

/// The tokens in the data of an engine.
pub struct Tokens {
    workspace: Workspace,
    clock: WorkspaceClock,
}

impl Tokens {
    /// The tokens of this engine.
    pub fn of(baton: &Baton) -> Result<Self, TokenError> {
        let workspace = baton.workspace(CLOSED)?;
        let clock = baton.clock_of(workspace.name());
        Ok(Self { workspace, clock })
    }

    /// The time by which they expire, once they were read.
    #[must_use]
    pub fn clock(&self) -> WorkspaceClock {
        self.clock.clone()
    }

    fn now(&self) -> Result<Timestamp, TokenError> {
        self.clock.now().ok_or(TokenError::Engine(Error::Closed))
    }

    /// Creates a token.
    pub async fn create(&self, wanted: Wanted) -> Result<Made, TokenError> {
        let Wanted { name, grant, ttl_ms, quota } = wanted;
        let is_good = !name.trim().is_empty() && !name.contains(char::is_control);
        if !is_good || name.len() > NAME_BYTES_MAX {
            return Err(TokenError::Name);
        }
        grant.check_agent().map_err(Error::from)?;
        if self.all().await?.len() >= TOKENS_MAX {
            return Err(TokenError::TooMany);
        }
        let mut chance = [0; 32];
        let drawn = OsRng.try_fill_bytes(&mut chance);
        drawn.map_err(|error| TokenError::Chance { reason: error.to_string() })?;
        let token = format!("{PREFIX}{}", hexadecimal(&chance));
        let digest = hexadecimal(&digest_of(&token));
        let created_at = self.now()?;
        let record = TokenRecord {
            id: digest[..ID_DIGITS].to_owned(),
            name,
            digest,
            grant,
            quota: quota.unwrap_or_default(),
            created_at,
            expires_at: ttl_ms.map(|ttl_ms| created_at.after(ttl_ms)),
            revoked_at: None,
        };
        if let Some(ttl_ms) = ttl_ms {
            let ttl_ms = ttl_ms.clamp(limits::TTL_MS_MIN, limits::TTL_MS_MAX);
            let key = format!("{ENDS}{}", record.id);
            self.workspace.state("shared").set(&key, true).ttl_ms(ttl_ms).await?;
        }
        self.write(&record).await?;
        Ok(Made { token, record })
    }

    /// All tokens, including invalid ones, oldest first.
    pub async fn all(&self) -> Result<Vec<TokenRecord>, TokenError> {
        let mut records = Vec::new();
        let mut cursor = None;
        loop {
            let list = List {
                prefix: Some(KEYS.to_owned()),
                cursor,
                ..List::all(NamespaceName::shared())
            };
            let page = self.workspace.state("shared").list(list).await?;
            for entry in &page.entries {
                records.push(read(entry.key(), &entry.json())?);
            }
            cursor = page.cursor;
            if cursor.is_none() {
                break;
            }
        }
        records.sort_by(|one, other| (one.created_at, &one.id).cmp(&(other.created_at, &other.id)));
        Ok(records)
    }

    /// Revokes a token. Revoking it again is a no-op.
    pub async fn revoke(&self, id: &str) -> Result<TokenRecord, TokenError> {
        let found = self.all().await?.into_iter().find(|record| record.id == id);
        let Some(mut record) = found else {
            return Err(TokenError::NotFound { id: id.chars().take(80).collect() });
        };
        if record.revoked_at.is_none() {
            record.revoked_at = Some(self.now()?);
            self.write(&record).await?;
        }
        Ok(record)
    }

    async fn write(&self, record: &TokenRecord) -> Result<(), TokenError> {
        let key = format!("{KEYS}{}", record.id);
        self.workspace.state("shared").set(&key, record).await?;
        Ok(())
    }
}

fn read(key: &str, value: &Json) -> Result<TokenRecord, TokenError> {
    serde_json::from_str(value.as_str()).map_err(|error| TokenError::Broken {
        id: key.trim_start_matches(KEYS).to_owned(),
        reason: error.to_string(),
    })
}

fn hexadecimal(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)])).collect()
}
