//! An entry as callers see it: immutable, cheap to clone, independent of its table.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::json::Json;
use crate::names::{AgentId, Key, NamespaceName};
use crate::numbers::{Revision, Version};
use crate::storage::{self, WriteHead};
use crate::time::Timestamp;

/// An entry of shared state. It shares its bytes with the table and never changes: a later write
/// creates another entry.
#[derive(Clone)]
pub struct Entry {
    packed: storage::Entry,
    namespace: NamespaceName,
    updated_by: AgentId,
    // Boxed, since most entries have none of it and answers are moved often.
    special: Option<Box<Special>>,
}

/// Fields that few entries have.
#[derive(Clone, Default)]
struct Special {
    expires_at: Option<Timestamp>,
    ephemeral: bool,
    warnings: Vec<Warning>,
}

/// A warning about a request that was accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Warning {
    /// A stable code, such as `state.nested_value`.
    pub code: String,
    /// A description in words.
    pub detail: String,
}

impl Entry {
    /// Builds an entry from what the table stores.
    pub fn new(packed: storage::Entry, namespace: NamespaceName, updated_by: AgentId) -> Self {
        Self { packed, namespace, updated_by, special: None }
    }

    /// The same entry, with its expiry.
    #[must_use]
    pub fn ending(mut self, expires_at: Option<Timestamp>, ephemeral: bool) -> Self {
        if expires_at.is_some() || ephemeral || self.special.is_some() {
            let special = self.special.get_or_insert_default();
            special.expires_at = expires_at;
            special.ephemeral = ephemeral;
        }
        self
    }

    /// The same entry, with warnings about the write.
    #[must_use]
    pub fn warned(mut self, warnings: Vec<Warning>) -> Self {
        if !warnings.is_empty() || self.special.is_some() {
            self.special.get_or_insert_default().warnings = warnings;
        }
        self
    }

    /// The namespace.
    pub fn namespace(&self) -> &NamespaceName {
        &self.namespace
    }

    /// The key.
    pub fn key(&self) -> &str {
        self.packed.key()
    }

    /// The value, as the JSON text that was written.
    pub fn value(&self) -> &[u8] {
        self.packed.value()
    }

    /// The value as an owned JSON text.
    pub fn json(&self) -> Json {
        Json::trusted(self.packed.value())
    }

    /// The version, starting at 1.
    pub fn version(&self) -> Version {
        Version(u64::from(self.packed.version()))
    }

    /// The revision of the last change.
    pub fn revision(&self) -> Revision {
        Revision(self.packed.revision())
    }

    /// When it was last written.
    pub fn updated_at(&self) -> Timestamp {
        Timestamp(self.packed.time_ms())
    }

    /// The agent that last wrote it.
    pub fn updated_by(&self) -> &AgentId {
        &self.updated_by
    }

    /// When it expires.
    pub fn expires_at(&self) -> Option<Timestamp> {
        self.special.as_ref()?.expires_at
    }

    /// Whether it is deleted when the session of its author ends.
    pub fn is_ephemeral(&self) -> bool {
        self.special.as_ref().is_some_and(|special| special.ephemeral)
    }

    /// Warnings about the last write.
    pub fn warnings(&self) -> &[Warning] {
        self.special.as_ref().map_or(&[], |special| &special.warnings)
    }

    /// CRC-32 of the value's bytes, as `crc32:` and eight hexadecimal digits.
    pub fn checksum(&self) -> String {
        String::from_utf8(self.checksum_text().to_vec()).expect("digits and letters are UTF-8")
    }

    /// The same, without an allocation.
    pub(crate) fn checksum_text(&self) -> [u8; 14] {
        let checksum = crc32fast::hash(self.value());
        let mut text = *b"crc32:00000000";
        for (place, byte) in text[6..].iter_mut().enumerate() {
            let digit = (checksum >> (28 - 4 * place)) & 15;
            *byte = b"0123456789abcdef"[digit as usize];
        }
        text
    }

    /// Whether it has any of the rare fields.
    pub(crate) fn is_special(&self) -> bool {
        self.special.is_some()
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        // Not the packed bytes: the number of the author is only valid within one table.
        self.namespace == other.namespace
            && self.key() == other.key()
            && self.value() == other.value()
            && self.version() == other.version()
            && self.revision() == other.revision()
            && self.updated_at() == other.updated_at()
            && self.updated_by == other.updated_by
            && self.expires_at() == other.expires_at()
            && self.is_ephemeral() == other.is_ephemeral()
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{}/{} = {} (version {}, revision {}, by {})",
            self.namespace,
            self.key(),
            String::from_utf8_lossy(self.value()),
            self.version(),
            self.revision(),
            self.updated_by
        )
    }
}

/// An entry of shared state.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Entry"))]
pub(crate) struct EntryFields {
    /// The namespace.
    namespace: NamespaceName,
    /// The key.
    key: Key,
    /// The value.
    value: Json,
    /// The version, which grows by one with every change. A new key starts at 1; one that was
    /// deleted continues after its last version, and in a workspace whose name was used by a
    /// deleted one, new keys start above the versions there.
    version: Version,
    /// The revision of the last change.
    revision: Revision,
    /// When it was last written.
    updated_at: Timestamp,
    /// The agent that last wrote it.
    updated_by: AgentId,
    /// CRC-32 of the value, as `crc32:` and eight hexadecimal digits.
    checksum: String,
    /// When it expires. Absent if it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<Timestamp>,
    /// Whether it is deleted when the session of its author ends. Absent if `false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    ephemeral: bool,
    /// Warnings about the write. Absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<Warning>,
}

impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let key = Key::parse(self.key()).map_err(serde::ser::Error::custom)?;
        EntryFields {
            namespace: self.namespace.clone(),
            key,
            value: self.json(),
            version: self.version(),
            revision: self.revision(),
            updated_at: self.updated_at(),
            updated_by: self.updated_by.clone(),
            checksum: self.checksum(),
            expires_at: self.expires_at(),
            ephemeral: self.is_ephemeral(),
            warnings: self.warnings().to_vec(),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = EntryFields::deserialize(deserializer)?;
        let version = u32::try_from(fields.version.0).map_err(serde::de::Error::custom)?;
        let head = WriteHead {
            revision: fields.revision.0,
            time_ms: fields.updated_at.0,
            version,
            author: 0,
        };
        let packed = storage::Entry::new(head, fields.key.as_str(), fields.value.as_bytes());
        let entry = Self::new(packed, fields.namespace, fields.updated_by);
        if entry.checksum() != fields.checksum {
            return Err(serde::de::Error::custom("the checksum does not fit the value"));
        }
        Ok(entry.ending(fields.expires_at, fields.ephemeral).warned(fields.warnings))
    }
}
