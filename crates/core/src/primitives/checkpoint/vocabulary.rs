//! Commands, queries, replies and events of checkpoints. The fields of requests are in
//! `requests.rs`.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::checkpoint::{
    Checkpoint, Checksum, Copy, History, List, Pending, Prune, Recipe, Retain, Rule, Save, Write,
};
use crate::json::Json;
use crate::names::{ArtifactId, CheckpointId, CheckpointKey, CheckpointLabel, StateType, TaskId};
use crate::numbers::Token;
use crate::primitive;

/// Commands that change checkpoints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// `checkpoint.save`
    Save(Save),
    /// `checkpoint.restore`: returns the state and makes the checkpoint the head of its task.
    Restore {
        /// The checkpoint.
        checkpoint: CheckpointId,
        /// The token of the task's lease. Required if the task is leased; if omitted otherwise, no
        /// token is checked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<Token>,
    },
    /// `checkpoint.fork`: the first checkpoint of another task, with the same content.
    Fork {
        /// The checkpoint.
        checkpoint: CheckpointId,
        /// The new task, or other unit of work. It must not have checkpoints yet.
        task: TaskId,
        /// The token of that task's lease. Required if the task is leased; if omitted otherwise, no
        /// token is checked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<Token>,
    },
    /// `checkpoint.label`
    Label {
        /// The checkpoint.
        checkpoint: CheckpointId,
        /// The new label. If omitted, the label is removed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<CheckpointLabel>,
    },
    /// `checkpoint.write`: stores pending writes after a checkpoint.
    Write(Write),
    /// `checkpoint.copy`: all checkpoints of a task, for another one.
    Copy(Copy),
    /// `checkpoint.prune`
    Prune(Prune),
    /// `checkpoint.retain`
    Retain(Retain),
}

/// No signal is only for checkpoints.
#[derive(Clone, Debug, PartialEq)]
pub enum Signal {}

/// Queries about checkpoints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Query {
    /// `checkpoint.latest`: the head of a task with its state.
    Latest {
        /// The task.
        task: TaskId,
    },
    /// `checkpoint.get`: one checkpoint with its state.
    Get {
        /// The checkpoint.
        checkpoint: CheckpointId,
    },
    /// `checkpoint.list`: newest first, without states.
    List(List),
    /// `checkpoint.history`: by key, with states and pending writes.
    History(History),
    /// `checkpoint.retention`: the retention rules.
    Retention,
}

/// Replies about checkpoints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// One checkpoint.
    Checkpoint(Box<Checkpoint>),
    /// A checkpoint with its state, which is now the head of its task.
    Restored(Box<Checkpoint>),
    /// The head of a task. `null` if the task has no checkpoint.
    Latest(Option<Box<Checkpoint>>),
    /// A page of checkpoints.
    Checkpoints {
        /// The results on this page, newest first.
        checkpoints: Vec<Checkpoint>,
        /// The cursor of the next page. Absent on the last page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<CheckpointId>,
    },
    /// Checkpoints by key, with states and pending writes.
    History {
        /// The results on this page, largest key first.
        checkpoints: Vec<Checkpoint>,
        /// The cursor of the next page. Absent on the last page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<CheckpointKey>,
    },
    /// Pending writes were stored.
    Written {
        /// The number of writes that were stored; the others existed already.
        written: u64,
    },
    /// Checkpoints were copied.
    Copied {
        /// The number of copied checkpoints.
        copied: u64,
    },
    /// Checkpoints were deleted.
    Pruned {
        /// The number of deleted checkpoints.
        pruned: u64,
        /// The number of bytes that no other checkpoint shares.
        bytes: u64,
    },
    /// The retention rules.
    Rules {
        /// The rules by pattern. The longest pattern that matches a task applies.
        rules: Vec<Rule>,
    },
}

/// Why checkpoints were pruned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// A call asked for it.
    Asked,
    /// A rule limits their number.
    Count,
    /// A rule limits their age.
    Age,
    /// Another one was saved under the same key.
    Replaced,
}

/// A checkpoint was saved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Saved {
    /// The checkpoint.
    pub checkpoint: CheckpointId,
    /// The task.
    pub task: TaskId,
    /// The checkpoint that it continues, to whose chunks the recipe refers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<CheckpointId>,
    /// The key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<CheckpointKey>,
    /// The key of the checkpoint that it continues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_key: Option<CheckpointKey>,
    /// The type of the state if it is bytes; none for JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<StateType>,
    /// Human-readable description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<CheckpointLabel>,
    /// The metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// The artifacts that its state or metadata references, each once and in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<ArtifactId>,
    /// The size of the state in bytes.
    pub bytes: u64,
    /// The checksum of the state.
    pub checksum: Checksum,
    /// How to build the state from that of the parent.
    pub recipe: Recipe,
}

/// Events of checkpoints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// One was saved.
    Saved(Box<Saved>),
    /// A checkpoint became the head of its task again.
    Restored {
        /// The checkpoint.
        checkpoint: CheckpointId,
        /// The task.
        task: TaskId,
    },
    /// A task starts with a copy of a checkpoint of another.
    Forked {
        /// The new one.
        checkpoint: CheckpointId,
        /// The task.
        task: TaskId,
        /// The checkpoint whose content it has.
        source: CheckpointId,
    },
    /// Pending writes were stored after a checkpoint.
    Written {
        /// The task.
        task: TaskId,
        /// The key of the checkpoint.
        key: CheckpointKey,
        /// The writes. One in the same place is replaced.
        writes: Vec<Arc<Pending>>,
    },
    /// A task starts with copies of all checkpoints of another.
    Copied {
        /// The task.
        task: TaskId,
        /// The task whose checkpoints are copied.
        source: TaskId,
        /// The first new one. The others have the ids after it.
        checkpoint: CheckpointId,
        /// How many there are.
        count: u64,
    },
    /// The label changed.
    Labelled {
        /// The checkpoint.
        checkpoint: CheckpointId,
        /// The task.
        task: TaskId,
        /// The new label.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<CheckpointLabel>,
    },
    /// Checkpoints were deleted.
    Pruned {
        /// The task.
        task: TaskId,
        /// Their numbers, as inclusive ranges.
        numbers: Vec<(u64, u64)>,
        /// The number of bytes that no other checkpoint shares.
        bytes: u64,
        /// The reason.
        why: Why,
    },
    /// A retention rule was set or removed.
    Retained {
        /// The rule; removed if it has no bounds.
        rule: Rule,
    },
}

impl primitive::Command for Command {
    fn has_optional_token(&self) -> Option<bool> {
        match self {
            Self::Save(Save { token, .. })
            | Self::Restore { token, .. }
            | Self::Fork { token, .. }
            | Self::Write(Write { token, .. })
            | Self::Copy(Copy { token, .. }) => Some(token.is_some()),
            _ => None,
        }
    }

    fn token(&self) -> Option<Token> {
        match self {
            Self::Save(Save { token, .. })
            | Self::Restore { token, .. }
            | Self::Fork { token, .. }
            | Self::Write(Write { token, .. })
            | Self::Copy(Copy { token, .. }) => *token,
            Self::Label { .. } | Self::Prune(_) | Self::Retain(_) => None,
        }
    }
}

impl Event {
    /// The task that it is about; none if it is about all.
    pub fn task(&self) -> Option<&TaskId> {
        match self {
            Self::Saved(saved) => Some(&saved.task),
            Self::Restored { task, .. }
            | Self::Forked { task, .. }
            | Self::Written { task, .. }
            | Self::Copied { task, .. }
            | Self::Labelled { task, .. }
            | Self::Pruned { task, .. } => Some(task),
            Self::Retained { .. } => None,
        }
    }
}

impl primitive::Event for Event {
    fn kind(&self) -> &str {
        match self {
            Self::Saved(_) => "checkpoint.saved",
            Self::Restored { .. } => "checkpoint.restored",
            Self::Forked { .. } => "checkpoint.forked",
            Self::Written { .. } => "checkpoint.written",
            Self::Copied { .. } => "checkpoint.copied",
            Self::Labelled { .. } => "checkpoint.labelled",
            Self::Pruned { .. } => "checkpoint.pruned",
            Self::Retained { .. } => "checkpoint.retained",
        }
    }

    fn subject_parts(&self) -> [&str; 4] {
        match self.task() {
            Some(task) => ["checkpoints/", task.as_str(), "", ""],
            None => ["checkpoints", "", "", ""],
        }
    }

    fn load(&self) -> usize {
        const RANGE: usize = 19;
        let label = |label: &Option<CheckpointLabel>| {
            label.as_ref().map_or(0, |label| label.as_str().len() + 8)
        };
        match self {
            Self::Saved(saved) => {
                let Saved { parent, description, metadata, recipe, .. } = &**saved;
                parent.as_ref().map_or(0, |parent| parent.as_str().len())
                    + description.as_ref().map_or(0, String::len)
                    + metadata.as_ref().map_or(0, |metadata| metadata.as_bytes().len())
                    + label(&saved.label)
                    + saved.key.as_ref().map_or(0, |key| key.as_str().len() + 8)
                    + saved.parent_key.as_ref().map_or(0, |key| key.as_str().len() + 16)
                    + saved.content_type.as_ref().map_or(0, |it| it.as_str().len() + 8)
                    + saved.checkpoint.as_str().len()
                    + recipe.load()
                    + 73 * saved.artifacts.len()
                    + 80
            }
            Self::Restored { checkpoint, .. } => checkpoint.as_str().len(),
            Self::Forked { checkpoint, source, .. } => {
                checkpoint.as_str().len() + source.as_str().len()
            }
            Self::Written { key, writes, .. } => {
                key.as_str().len() + writes.iter().map(|write| write.footprint()).sum::<usize>()
            }
            Self::Copied { checkpoint, source, .. } => {
                checkpoint.as_str().len() + source.as_str().len() + 16
            }
            Self::Labelled { checkpoint, label: name, .. } => {
                checkpoint.as_str().len() + label(name)
            }
            Self::Pruned { numbers, .. } => numbers.len() * RANGE,
            Self::Retained { rule } => rule.task.as_str().len(),
        }
    }
}
