//! The fields of commands and queries about checkpoints.

use serde::{Deserialize, Serialize};

use crate::json::Json;
#[cfg(feature = "schema")]
use crate::limits;
use crate::names::{CheckpointId, CheckpointKey, CheckpointLabel, StateType, TaskId};
use crate::numbers::Token;
use crate::pattern::Pattern;

/// Saves the state of a task or another unit of work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Save {
    /// The task, or any other id of a unit of work.
    pub task: TaskId,
    /// The state: any JSON, stored byte for byte; with `content_type`, a string with bytes in
    /// Base64.
    pub state: Json,
    /// The type of the bytes, as the caller names it. If omitted, the state is JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<StateType>,
    /// A key of the caller's choice, unique within the task. A checkpoint with the same key is
    /// replaced. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<CheckpointKey>,
    /// The key of the checkpoint that this one continues. It need not exist. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_key: Option<CheckpointKey>,
    /// Human-readable description. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The checkpoint that this one continues. If omitted, the one with `parent_key`; without `key`
    /// and `parent_key`, the head of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<CheckpointId>,
    /// A label. Labelled checkpoints are not removed by retention rules. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<CheckpointLabel>,
    /// An object to filter lists by. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// The token of the task's lease. Required if the task exists in this workspace. If omitted for
    /// any other unit of work, no token is checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<Token>,
}

/// Copies all checkpoints of a task, with their keys, labels, metadata and pending writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "CopyCheckpoints"))]
#[serde(deny_unknown_fields)]
pub struct Copy {
    /// The task whose checkpoints are copied.
    pub task: TaskId,
    /// The other task, or other unit of work. It must not have checkpoints yet.
    pub to: TaskId,
    /// The token of that task's lease. Required if the task is leased; if omitted otherwise, no
    /// token is checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<Token>,
}

/// Deletes the checkpoints of a task that exceed every given bound, with their pending writes. At
/// least one of `keep`, `older_than_ms`, `metadata`, `keys` and `all` is required.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PruneCheckpoints"))]
#[serde(deny_unknown_fields)]
pub struct Prune {
    /// The task.
    pub task: TaskId,
    /// The number of newest checkpoints to keep. Labelled ones are not counted unless `all` is set.
    /// If omitted, the number does not matter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<u64>,
    /// The minimum age of a deleted checkpoint in milliseconds. If omitted, age does not matter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub older_than_ms: Option<u64>,
    /// Delete only checkpoints whose metadata contains this object, as `@>` of `PostgreSQL` defines
    /// it. If omitted, any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// Delete only checkpoints with one of these keys. If omitted, any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<Vec<CheckpointKey>>,
    /// Also delete the head and labelled checkpoints. If it deletes the last one, it also deletes
    /// pending writes after checkpoints that were never saved.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
}

impl Prune {
    /// No bound yet for the checkpoints of a task.
    pub fn of(task: &TaskId) -> Self {
        let (task, all) = (task.clone(), false);
        Self { task, keep: None, older_than_ms: None, metadata: None, keys: None, all }
    }
}

impl History {
    /// All checkpoints of a task that have keys.
    pub fn of(task: &TaskId) -> Self {
        Self {
            task: task.clone(),
            key: None,
            prefix: None,
            before: None,
            metadata: None,
            limit: None,
            cursor: None,
        }
    }
}

/// Sets a retention rule. A rule without bounds is removed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Retain {
    /// The tasks that the rule applies to. If omitted, all tasks without a more specific rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Pattern>,
    /// The number of newest checkpoints to keep per task; labelled ones are not counted. If
    /// omitted, the number is not limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<u64>,
    /// The maximum age in milliseconds. If omitted, age is not limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_age_ms: Option<u64>,
}

/// Which checkpoints of a task to read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "CheckpointHistory"))]
#[serde(deny_unknown_fields)]
pub struct History {
    /// The task.
    pub task: TaskId,
    /// Only the checkpoint with this key. If omitted, all that have keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<CheckpointKey>,
    /// Only checkpoints whose keys start with this text. If omitted, any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<CheckpointKey>,
    /// Only checkpoints with smaller keys than this one. If omitted, any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<CheckpointKey>,
    /// Only checkpoints whose metadata contains this object, as `@>` of `PostgreSQL` defines it. If
    /// omitted, any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// The maximum number of results.
    #[cfg_attr(feature = "schema", schemars(
        extend("default" = limits::PAGE_DEFAULT),
        range(min = 1, max = limits::PAGE_MAX),
    ))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// The `cursor` of the previous page. If omitted, the first page is returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<CheckpointKey>,
}

/// Which checkpoints to list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ListCheckpoints"))]
#[serde(deny_unknown_fields)]
pub struct List {
    /// Only checkpoints of this task. If omitted, of all tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// Only checkpoints with this label. If omitted, any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<CheckpointLabel>,
    /// Only checkpoints whose metadata contains this object, as `@>` of `PostgreSQL` defines it. If
    /// omitted, any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// Only checkpoints older than this one. If omitted, any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<CheckpointId>,
    /// The maximum number of results.
    #[cfg_attr(feature = "schema", schemars(
        extend("default" = limits::PAGE_DEFAULT),
        range(min = 1, max = limits::PAGE_MAX),
    ))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// The `cursor` of the previous page. If omitted, the first page is returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<CheckpointId>,
}
