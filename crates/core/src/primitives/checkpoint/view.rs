//! A checkpoint as callers see it.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::json::{Json, given};
use crate::names::{AgentId, CheckpointId, CheckpointLabel, TaskId};
use crate::numbers::Revision;
use crate::time::Timestamp;

/// A checkpoint as callers see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Checkpoint {
    /// Which.
    pub id: CheckpointId,
    /// Of which task, or other thread of work.
    pub task: TaskId,
    /// Which of that task, counted from 1.
    pub number: u64,
    /// The one it goes on from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<CheckpointId>,
    /// What it is, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// A name by which it is found, and kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<CheckpointLabel>,
    /// What its author notes about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// Who saved it.
    pub saved_by: AgentId,
    /// When.
    pub saved_at: Timestamp,
    /// In which commit.
    pub revision: Revision,
    /// How many bytes the state has.
    pub bytes: u64,
    /// Checksum of the bytes of the state.
    pub checksum: Checksum,
    /// The state, byte for byte as it was saved. Lists, and the answer to saving it, leave it out.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub state: Option<Json>,
}

/// The checksum of a state: the CRC-32 of its bytes, written as `crc32:8ab7e3f0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checksum(u32);

impl Checksum {
    /// The checksum of a text.
    pub fn of(text: &str) -> Self {
        Self(crc32fast::hash(text.as_bytes()))
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "crc32:{:08x}", self.0)
    }
}

impl Serialize for Checksum {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Checksum {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digits = text.strip_prefix("crc32:").filter(|digits| digits.len() == 8);
        let number = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        number.map(Self).ok_or_else(|| serde::de::Error::custom("it is no checksum"))
    }
}
