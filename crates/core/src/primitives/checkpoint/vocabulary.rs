//! The words of checkpoints.

use serde::{Deserialize, Serialize};

use crate::checkpoint::{Checkpoint, Checksum, Recipe, Rule};
use crate::json::Json;
use crate::names::{ArtifactId, CheckpointId, CheckpointLabel, TaskId};
use crate::numbers::Token;
use crate::pattern::Pattern;

/// What one may ask of checkpoints so that they change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// `checkpoint.save`
    Save(Save),
    /// `checkpoint.restore`: its state, and the next one is saved as going on from it.
    Restore {
        /// Which.
        checkpoint: CheckpointId,
        /// Of the lease of its task, if that is leased.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<Token>,
    },
    /// `checkpoint.fork`: the first checkpoint of another task, with the same content.
    Fork {
        /// Which.
        checkpoint: CheckpointId,
        /// The task, or other thread of work, that goes on from it. It has no checkpoints yet.
        task: TaskId,
        /// Of the lease of that task, if it is leased.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<Token>,
    },
    /// `checkpoint.label`
    Label {
        /// Which.
        checkpoint: CheckpointId,
        /// What it is called from now on; nothing if not given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<CheckpointLabel>,
    },
    /// `checkpoint.prune`
    Prune(Prune),
    /// `checkpoint.retain`
    Retain(Retain),
    /// Sent by the engine when [`Table::next_deadline`](super::Table::next_deadline) has passed.
    Expire,
}

/// Saves the state of a piece of work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Save {
    /// Of which task, or other thread of work.
    pub task: TaskId,
    /// The state: any JSON, kept byte for byte.
    pub state: Json,
    /// What it is, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The one it goes on from; the head of the task if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<CheckpointId>,
    /// A name by which it is found, and kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<CheckpointLabel>,
    /// What to note about it: an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// Of the lease, if it is about a task of this workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<Token>,
}

/// Removes checkpoints of a task that are beyond every bound that is given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PruneCheckpoints"))]
#[serde(deny_unknown_fields)]
pub struct Prune {
    /// Of which task.
    pub task: TaskId,
    /// How many stay, the newest; those with a label are not counted unless `all` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<u64>,
    /// How old one must be to go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub older_than_ms: Option<u64>,
    /// Whether the head goes too, and those with a label.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
}

/// Says how many checkpoints are kept, and for how long. Without bounds the rule is removed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Retain {
    /// Of which tasks; all for which there is no longer pattern if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Pattern>,
    /// How many of each, the newest; those with a label are not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<u64>,
    /// For how long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_age_ms: Option<u64>,
}

/// What one may ask of checkpoints without changing them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Query {
    /// `checkpoint.latest`: the head of a task, with its state.
    Latest {
        /// Of which task.
        task: TaskId,
    },
    /// `checkpoint.get`: one, with its state.
    Get {
        /// Which.
        checkpoint: CheckpointId,
    },
    /// `checkpoint.list`: without their states, the newest first.
    List(List),
    /// `checkpoint.retention`: the rules there are.
    Retention,
}

/// Which checkpoints.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ListCheckpoints"))]
#[serde(deny_unknown_fields)]
pub struct List {
    /// Of this task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// With this label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<CheckpointLabel>,
    /// Whose metadata contains this, as `@>` of `PostgreSQL` understands it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// Older than this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<CheckpointId>,
    /// How many at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Where the page before ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<CheckpointId>,
}

/// Answers of checkpoints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// One checkpoint.
    Checkpoint(Box<Checkpoint>),
    /// One checkpoint, which is the head of its task now, with its state.
    Restored(Box<Checkpoint>),
    /// The head of a task; nothing if it has no checkpoint.
    Latest(Option<Box<Checkpoint>>),
    /// A page of them.
    Checkpoints {
        /// They, the newest first.
        checkpoints: Vec<Checkpoint>,
        /// Where the next page begins, if there is more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<CheckpointId>,
    },
    /// Some are gone.
    Pruned {
        /// How many.
        pruned: u64,
        /// How many bytes were in no other.
        bytes: u64,
    },
    /// How many are kept, and for how long.
    Rules {
        /// By pattern. Of those that fit a task, that with the longest pattern counts.
        rules: Vec<Rule>,
    },
    /// Nothing had to be done.
    Done,
}

/// Why checkpoints were pruned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// Somebody asked for it.
    Asked,
    /// There were more than the rule keeps.
    Count,
    /// They were older than the rule keeps them.
    Age,
}

/// A checkpoint was saved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Saved {
    /// Which.
    pub checkpoint: CheckpointId,
    /// Of which task.
    pub task: TaskId,
    /// The one it goes on from, and whose chunks the recipe means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<CheckpointId>,
    /// What it is, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What it is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<CheckpointLabel>,
    /// What is noted about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// The artifacts that its state or metadata names, each once and in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<ArtifactId>,
    /// How many bytes the state has.
    pub bytes: u64,
    /// Their checksum.
    pub checksum: Checksum,
    /// How to make the state of the parent's.
    pub recipe: Recipe,
}

/// Facts about checkpoints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// One was saved.
    Saved(Box<Saved>),
    /// One is the head of its task again.
    Restored {
        /// Which.
        checkpoint: CheckpointId,
        /// Of which task.
        task: TaskId,
    },
    /// A task begins with the content of another's.
    Forked {
        /// The new one.
        checkpoint: CheckpointId,
        /// Of which task.
        task: TaskId,
        /// The one whose content it has.
        source: CheckpointId,
    },
    /// One is called otherwise now.
    Labelled {
        /// Which.
        checkpoint: CheckpointId,
        /// Of which task.
        task: TaskId,
        /// What it is called now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<CheckpointLabel>,
    },
    /// Some are gone.
    Pruned {
        /// Of which task.
        task: TaskId,
        /// Which, by their numbers: ranges, both ends within.
        numbers: Vec<(u64, u64)>,
        /// How many bytes were in no other.
        bytes: u64,
        /// Why.
        why: Why,
    },
    /// There is another rule now about how many are kept.
    Retained {
        /// The rule; none for its pattern if it has no bounds.
        rule: Rule,
    },
}

impl Event {
    /// The event's type, as watchers and history know it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Saved(_) => "checkpoint.saved",
            Self::Restored { .. } => "checkpoint.restored",
            Self::Forked { .. } => "checkpoint.forked",
            Self::Labelled { .. } => "checkpoint.labelled",
            Self::Pruned { .. } => "checkpoint.pruned",
            Self::Retained { .. } => "checkpoint.retained",
        }
    }

    /// The task it is about, or none if it is about all.
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

    /// What it is about, in two parts.
    pub(crate) fn subject_parts(&self) -> [&str; 2] {
        match self.task() {
            Some(task) => ["checkpoints/", task.as_str()],
            None => ["checkpoints", ""],
        }
    }

    /// Bytes of what is in it beyond the task.
    pub(crate) fn load(&self) -> usize {
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
