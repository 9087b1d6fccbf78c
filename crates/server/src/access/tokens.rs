//! Tokens as they are kept: entries of a workspace of their own.

use baton::{Baton, Error};
use baton_core::access::{CLOSED, Grant};
use baton_core::state::List;
use baton_core::{Json, NamespaceName, Timestamp};
use baton_handle::Workspace;
use rand::TryRngCore;
use rand::rngs::OsRng;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use thiserror::Error as ThisError;

use super::{PREFIX, TokenDigest, digest_of, now};
use crate::quota::Quota;

/// Where a token's record is.
const KEYS: &str = "tokens/";
/// Digits of the digest by which a token is named.
const ID_DIGITS: usize = 12;
/// Longest name, in bytes: it is for people.
const NAME_BYTES_MAX: usize = 128;
/// Most tokens: they are all in memory.
const TOKENS_MAX: usize = 100_000;

/// What is known of a token. Its digest stands in the data only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "TokenRecord"))]
pub struct Record {
    /// Its name among tokens.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// SHA-256 of the token.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    digest: String,
    /// What its owner may.
    #[serde(flatten)]
    pub grant: Grant,
    /// What its owner may take; as the server has it for tokens where it says nothing.
    #[serde(default, skip_serializing_if = "Quota::is_none")]
    pub quota: Quota,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it is worth nothing any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
}

impl Record {
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

/// A token that is to be made.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "TokenWanted"))]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// What people call it.
    pub name: String,
    /// What its owner may.
    pub grant: Grant,
    /// How long.
    #[serde(default)]
    pub ttl_ms: Option<u64>,
    /// What its owner may take.
    #[serde(default, deserialize_with = "by_name")]
    pub quota: Quota,
}

/// A quota whose limits are named: it could be read from a list as well, all of whose places may be
/// empty, and nobody means that.
fn by_name<'de, D: Deserializer<'de>>(reader: D) -> Result<Quota, D::Error> {
    let named = serde_json::Map::deserialize(reader)?;
    Quota::deserialize(Value::Object(named)).map_err(D::Error::custom)
}

/// A token that was made.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "TokenMade"))]
pub struct Made {
    /// The token: it is shown this once.
    pub token: String,
    /// What is known of it.
    #[serde(flatten)]
    pub record: Record,
}

/// Why there is no token.
#[derive(Debug, ThisError)]
pub enum TokenError {
    /// A name that is none.
    #[error("a token needs a name of 1 to {NAME_BYTES_MAX} bytes without control characters")]
    Name,
    /// One too many.
    #[error("too many tokens (limit {TOKENS_MAX})")]
    TooMany,
    /// No such token.
    #[error("there is no token `{id}`")]
    NotFound {
        /// Its name.
        id: String,
    },
    /// The system has no chance to give.
    #[error("no random bytes are available: {reason}")]
    Chance {
        /// What the system says.
        reason: String,
    },
    /// A record that is none.
    #[error("the record of token `{id}` cannot be read: {reason}")]
    Broken {
        /// Its name.
        id: String,
        /// What is wrong.
        reason: String,
    },
    /// The engine said no.
    #[error(transparent)]
    Engine(#[from] Error),
}

impl TokenError {
    /// Stable across releases; documented in `docs/errors.md`.
    pub fn code(&self) -> &str {
        match self {
            Self::Name => "access.bad_name",
            Self::TooMany => "access.too_many_tokens",
            Self::NotFound { .. } => "access.unknown_token",
            Self::Chance { .. } | Self::Broken { .. } => "access.unusable",
            Self::Engine(error) => error.code(),
        }
    }

    /// What the caller should do about it.
    pub fn kind(&self) -> baton_core::Kind {
        use baton_core::Kind;
        match self {
            Self::Name => Kind::Invalid,
            Self::TooMany => Kind::Exhausted,
            Self::NotFound { .. } => Kind::NotFound,
            Self::Chance { .. } | Self::Broken { .. } => Kind::Unavailable,
            Self::Engine(error) => error.kind(),
        }
    }

    /// What to do next, as a sentence.
    pub fn hint(&self) -> &str {
        match self {
            Self::Name => "describe in a few words who uses it and for what",
            Self::TooMany => "share a token between agents that do the same work",
            Self::NotFound { .. } => "list the tokens with `baton token ls`",
            Self::Chance { .. } => "check the system that the server runs on",
            Self::Broken { .. } => "restore the data from a backup",
            Self::Engine(error) => error.hint(),
        }
    }
}

/// The tokens in the data of an engine.
pub struct Tokens {
    workspace: Workspace<Baton>,
}

impl Tokens {
    /// Those of this engine.
    pub fn of(baton: &Baton) -> Result<Self, TokenError> {
        Ok(Self { workspace: Workspace::new(baton.clone(), CLOSED)? })
    }

    /// Makes one.
    pub async fn create(&self, wanted: Wanted) -> Result<Made, TokenError> {
        let Wanted { name, grant, ttl_ms, quota } = wanted;
        let is_good = !name.trim().is_empty() && !name.contains(char::is_control);
        if !is_good || name.len() > NAME_BYTES_MAX {
            return Err(TokenError::Name);
        }
        if self.all().await?.len() >= TOKENS_MAX {
            return Err(TokenError::TooMany);
        }
        let mut chance = [0; 32];
        let drawn = OsRng.try_fill_bytes(&mut chance);
        drawn.map_err(|error| TokenError::Chance { reason: error.to_string() })?;
        let token = format!("{PREFIX}{}", hexadecimal(&chance));
        let digest = hexadecimal(&digest_of(&token));
        let created_at = now();
        let record = Record {
            id: digest[..ID_DIGITS].to_owned(),
            name,
            digest,
            grant,
            quota,
            created_at,
            expires_at: ttl_ms.map(|ttl_ms| created_at.after(ttl_ms)),
            revoked_at: None,
        };
        self.write(&record).await?;
        Ok(Made { token, record })
    }

    /// Every one, also those that are worth nothing any more, the oldest first.
    pub async fn all(&self) -> Result<Vec<Record>, TokenError> {
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

    /// Makes one worth nothing. Again is as good as once.
    pub async fn revoke(&self, id: &str) -> Result<Record, TokenError> {
        let found = self.all().await?.into_iter().find(|record| record.id == id);
        let Some(mut record) = found else {
            return Err(TokenError::NotFound { id: id.chars().take(80).collect() });
        };
        if record.revoked_at.is_none() {
            record.revoked_at = Some(now());
            self.write(&record).await?;
        }
        Ok(record)
    }

    async fn write(&self, record: &Record) -> Result<(), TokenError> {
        let key = format!("{KEYS}{}", record.id);
        self.workspace.state("shared").set(&key, record).await?;
        Ok(())
    }
}

fn read(key: &str, value: &Json) -> Result<Record, TokenError> {
    serde_json::from_str(value.as_str()).map_err(|error| TokenError::Broken {
        id: key.trim_start_matches(KEYS).to_owned(),
        reason: error.to_string(),
    })
}

fn hexadecimal(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)])).collect()
}
