//! Pending writes: the results of the steps after a checkpoint before the next one is saved.
//!
//! ```text
//!   checkpoint 1 ──▶ steps a, b, c ──▶ checkpoint 2
//!                      │  │
//!                      └──┴─▶ pending writes after checkpoint 1: if c fails, only c runs again
//! ```
//!
//! A write is identified by the checkpoint, its writer and its index. The first one stays, so that
//! a step that runs twice does not change what others already used; with `replace` the last one
//! does. A write may arrive before its checkpoint, and is deleted together with it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Chunk, encoded};
use crate::json::Json;
use crate::names::{CheckpointKey, StateType, TaskId};
use crate::numbers::Token;

/// Stores writes of a step after a checkpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "WriteCheckpoint"))]
#[serde(deny_unknown_fields)]
pub struct Write {
    /// The task, or any other id of a unit of work.
    pub task: TaskId,
    /// The key of the checkpoint. It need not be saved yet.
    pub key: CheckpointKey,
    /// The step that writes: together with `index` it identifies a write.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = crate::limits::KEY_BYTES_MAX)))]
    pub writer: String,
    /// The place of the step. Writes are returned by path, writer and index. Default: empty.
    #[cfg_attr(feature = "schema", schemars(length(max = crate::limits::KEY_BYTES_MAX)))]
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// The writes.
    pub writes: Vec<NewWrite>,
    /// The token of the task's lease. Required if the task exists in this workspace. If omitted for
    /// any other unit of work, no token is checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<Token>,
}

/// One write of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NewWrite {
    /// Its index among the writes of the step.
    pub index: i32,
    /// The channel that is written to, as the caller names it.
    #[cfg_attr(feature = "schema", schemars(length(max = crate::limits::KEY_BYTES_MAX)))]
    pub channel: String,
    /// The value: any JSON; with `content_type`, a string with bytes in Base64.
    pub value: Json,
    /// The type of the bytes. If omitted, the value is JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<StateType>,
    /// Replace a write with the same writer and index. If `false`, the existing write is kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replace: bool,
}

/// A pending write as callers see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PendingWrite {
    /// The step that wrote it.
    pub writer: String,
    /// Its index among the writes of the step.
    pub index: i32,
    /// The place of the step. Absent if none was given.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// The channel that is written to.
    pub channel: String,
    /// The value: JSON; with `content_type`, a string with bytes in Base64.
    pub value: Json,
    /// The type of the bytes. Absent if the value is JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<StateType>,
}

/// A pending write as the log and the table store it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pending {
    /// The step that wrote it.
    pub writer: Arc<str>,
    /// Its index among the writes of the step.
    pub index: i32,
    /// The place of the step.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub path: Arc<str>,
    /// The channel that is written to.
    pub channel: Box<str>,
    /// The type of the bytes; none for JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<StateType>,
    /// The value.
    pub value: Chunk,
}

/// The cost of a write besides its texts: the record and its place in the table.
const WRITE_BYTES: usize = 200;

impl Pending {
    /// Its approximate memory use in bytes, and an upper bound of its size in the log.
    pub fn footprint(&self) -> usize {
        WRITE_BYTES + self.writer.len() + self.path.len() + self.channel.len() + self.value.0.len()
    }

    /// Its identity among the writes after a checkpoint.
    pub fn place(&self) -> WritePlace {
        (Arc::clone(&self.writer), self.index)
    }

    /// The write as callers see it.
    pub fn shown(&self) -> PendingWrite {
        PendingWrite {
            writer: self.writer.as_ref().into(),
            index: self.index,
            path: self.path.as_ref().into(),
            channel: self.channel.as_ref().into(),
            value: shown(&self.value.0, self.content_type.as_ref()),
            content_type: self.content_type.clone(),
        }
    }
}

/// Stored bytes as JSON: themselves, or Base64 if they have a type.
pub(super) fn shown(bytes: &[u8], content_type: Option<&StateType>) -> Json {
    match content_type {
        // Base64 has no character that JSON escapes.
        Some(_) => Json::trusted_text(&format!("\"{}\"", encoded(bytes))),
        None => Json::trusted(bytes),
    }
}

/// A writer and an index.
pub type WritePlace = (Arc<str>, i32);

/// The writes after one checkpoint. There is at least one.
pub type Writes = BTreeMap<WritePlace, Arc<Pending>>;

/// The writes after the checkpoints of one task. There is at least one.
pub type ThreadWrites = BTreeMap<CheckpointKey, Writes>;

/// All pending writes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PendingWrites {
    threads: BTreeMap<TaskId, ThreadWrites>,
    bytes: usize,
}

fn thread_bytes(thread: &ThreadWrites) -> usize {
    thread.values().map(writes_bytes).sum()
}

fn writes_bytes(writes: &Writes) -> usize {
    writes.values().map(|write| write.footprint()).sum()
}

impl PendingWrites {
    /// The writes after a checkpoint.
    pub fn after(&self, task: &TaskId, key: &CheckpointKey) -> Option<&Writes> {
        self.threads.get(task)?.get(key)
    }

    /// The writes after all checkpoints of a task.
    pub fn of(&self, task: &TaskId) -> Option<&ThreadWrites> {
        self.threads.get(task)
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = (&TaskId, &CheckpointKey, &Writes)> {
        let threads = self.threads.iter();
        threads.flat_map(|(task, keys)| keys.iter().map(move |(key, it)| (task, key, it)))
    }

    /// Their approximate memory use in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many bytes a copy of those of a task takes.
    pub fn bytes_of(&self, task: &TaskId) -> usize {
        self.threads.get(task).map_or(0, thread_bytes)
    }

    /// Stores a write and returns the previous one in its place.
    pub fn put(
        &mut self,
        task: &TaskId,
        key: &CheckpointKey,
        write: Arc<Pending>,
    ) -> Option<Arc<Pending>> {
        self.bytes += write.footprint();
        let thread = self.threads.entry(task.clone()).or_default();
        let before = thread.entry(key.clone()).or_default().insert(write.place(), write);
        self.bytes -= before.as_ref().map_or(0, |before| before.footprint());
        before
    }

    /// Sets or removes what is in a place: the opposite of `put`.
    pub fn set(
        &mut self,
        task: &TaskId,
        key: &CheckpointKey,
        place: &WritePlace,
        write: Option<Arc<Pending>>,
    ) {
        if let Some(write) = write {
            self.put(task, key, write);
            return;
        }
        let Some(thread) = self.threads.get_mut(task) else { return };
        let Some(writes) = thread.get_mut(key) else { return };
        let before = writes.remove(place);
        self.bytes -= before.map_or(0, |before| before.footprint());
        if writes.is_empty() {
            thread.remove(key);
        }
        if thread.is_empty() {
            self.threads.remove(task);
        }
    }

    /// Removes the writes after a checkpoint.
    pub fn remove(&mut self, task: &TaskId, key: &CheckpointKey) -> Option<Writes> {
        let thread = self.threads.get_mut(task)?;
        let writes = thread.remove(key)?;
        self.bytes -= writes_bytes(&writes);
        if thread.is_empty() {
            self.threads.remove(task);
        }
        Some(writes)
    }

    /// Replaces all writes of a task and returns the previous ones.
    pub fn replace(&mut self, task: &TaskId, thread: Option<ThreadWrites>) -> Option<ThreadWrites> {
        let before = match thread.filter(|thread| !thread.is_empty()) {
            Some(thread) => {
                self.bytes += thread_bytes(&thread);
                self.threads.insert(task.clone(), thread)
            }
            None => self.threads.remove(task),
        };
        self.bytes -= before.as_ref().map_or(0, thread_bytes);
        before
    }

    /// Asserts that what is stored is counted, and that nothing is empty.
    pub fn check(&self) {
        assert_eq!(self.threads.values().map(thread_bytes).sum::<usize>(), self.bytes);
        for thread in self.threads.values() {
            assert!(!thread.is_empty() && thread.values().all(|writes| !writes.is_empty()));
            let mut writes = thread.values().flatten();
            assert!(writes.all(|(place, write)| *place == write.place()), "found by its place");
        }
    }
}
