//! A checkpoint as callers see it.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::checkpoint::PendingWrite;
use crate::json::{Json, given};
use crate::names::{AgentId, CheckpointId, CheckpointKey, CheckpointLabel, StateType, TaskId};
use crate::numbers::Revision;
use crate::time::Timestamp;

/// A checkpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Checkpoint {
    /// The id of the checkpoint.
    pub id: CheckpointId,
    /// The task, or any other id of a unit of work.
    pub task: TaskId,
    /// The number within the task, starting at 1.
    pub number: u64,
    /// The checkpoint that it continues. Absent if it is the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<CheckpointId>,
    /// The key that its author gave it. Absent if none was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<CheckpointKey>,
    /// The key of the checkpoint that it continues, as its author gave it. Absent if none was
    /// given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_key: Option<CheckpointKey>,
    /// Human-readable description. Absent if none was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The label. Absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<CheckpointLabel>,
    /// The metadata. Absent if none was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// The agent that saved it.
    pub saved_by: AgentId,
    /// When it was saved.
    pub saved_at: Timestamp,
    /// The revision of the commit that saved it.
    pub revision: Revision,
    /// The size of the state in bytes.
    pub bytes: u64,
    /// The checksum of the state.
    pub checksum: Checksum,
    /// The type of the state, if it is bytes. Absent if it is JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<StateType>,
    /// The state, byte for byte as it was saved; with `content_type`, a string in Base64. Absent in
    /// lists and in the answer to `checkpoint.save`.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub state: Option<Json>,
    /// The pending writes after it, by path, writer and index. Absent if there are none, in lists,
    /// and in answers to commands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<PendingWrite>,
}

/// The checksum of a state: the CRC-32 of its bytes, written as `crc32:8ab7e3f0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checksum(u32);

impl Checksum {
    /// The checksum of bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(crc32fast::hash(bytes))
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
        number.map(Self).ok_or_else(|| serde::de::Error::custom("it is not a checksum"))
    }
}
