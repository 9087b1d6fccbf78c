//! Commands, queries, replies and events of checkpoints.

use serde::{Deserialize, Serialize};

use crate::checkpoint::{Checkpoint, Checksum, Recipe, Rule};
use crate::json::Json;
#[cfg(feature = "schema")]
use crate::limits;
use crate::names::{ArtifactId, CheckpointId, CheckpointLabel, TaskId};
use crate::numbers::Token;
use crate::pattern::Pattern;
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
    /// `checkpoint.prune`
    Prune(Prune),
    /// `checkpoint.retain`
    Retain(Retain),
    /// Sent by the engine when `Table::next_deadline` has passed.
    Expire,
}

/// Saves the state of a task or another unit of work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Save {
    /// The task, or any other id of a unit of work.
    pub task: TaskId,
    /// The state: any JSON, stored byte for byte.
    pub state: Json,
    /// Human-readable description. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The checkpoint that this one continues. If omitted, the head of the task.
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

/// Deletes the checkpoints of a task that exceed every given bound. At least one of `keep`,
/// `older_than_ms` and `all` is required.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PruneCheckpoints"))]
#[serde(deny_unknown_fields)]
pub struct Prune {
    /// The task.
    pub task: TaskId,
    /// The number of newest checkpoints to keep. Labelled ones are not counted unless `all` is set.
    /// If omitted, the number is not a bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<u64>,
    /// The minimum age of a deleted checkpoint in milliseconds. If omitted, age is not a bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub older_than_ms: Option<u64>,
    /// Also delete the head and labelled checkpoints.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
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
    /// omitted, the number is not a bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<u64>,
    /// The maximum age in milliseconds. If omitted, age is not a bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_age_ms: Option<u64>,
}

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
    /// `checkpoint.retention`: the retention rules.
    Retention,
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
    /// A page of them.
    Checkpoints {
        /// The results on this page, newest first.
        checkpoints: Vec<Checkpoint>,
        /// The cursor of the next page. Absent on the last page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<CheckpointId>,
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
    /// Nothing was done.
    Done,
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
            | Self::Fork { token, .. } => Some(token.is_some()),
            _ => None,
        }
    }

    fn token(&self) -> Option<Token> {
        match self {
            Self::Save(Save { token, .. })
            | Self::Restore { token, .. }
            | Self::Fork { token, .. } => *token,
            Self::Label { .. } | Self::Prune(_) | Self::Retain(_) | Self::Expire => None,
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
                    + saved.checkpoint.as_str().len()
                    + recipe.load()
                    + 73 * saved.artifacts.len()
                    + 80
            }
            Self::Restored { checkpoint, .. } => checkpoint.as_str().len(),
            Self::Forked { checkpoint, source, .. } => {
                checkpoint.as_str().len() + source.as_str().len()
            }
            Self::Labelled { checkpoint, label: name, .. } => {
                checkpoint.as_str().len() + label(name)
            }
            Self::Pruned { numbers, .. } => numbers.len() * RANGE,
            Self::Retained { rule } => rule.task.as_str().len(),
        }
    }
}
