//! The result of a synchronization, key by key.

use serde::{Deserialize, Serialize};

use super::document::OtherChanges;
use crate::json::{Json, given};
use crate::names::{CopyId, Key, NamespaceName, WorkspaceName};
use crate::numbers::Revision;

/// A decision of a conflict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "SyncDecision"))]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// The namespace.
    pub namespace: NamespaceName,
    /// The key.
    pub key: Key,
    /// The side whose value to use.
    pub take: Choice,
}

/// The side whose value to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "SyncChoice"))]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// The value of this copy.
    Ours,
    /// The value of the other copy.
    Theirs,
}

/// The side whose value is there afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Won {
    /// The value of this copy.
    Ours,
    /// The value of the other copy.
    Theirs,
    /// A combination of both.
    Merged,
}

/// The reason for an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "WonBy"))]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// There was no conflict: the other copy had seen the value of this one, or only it has
    /// changed.
    Newer,
    /// Both had changed, and the last write won.
    LastWrite,
    /// Both had changed, and the rule of the namespace combined them.
    Rule,
    /// Both had changed, and a decision was given.
    Decision,
    /// The namespace was deleted in the other copy, and has newer entries in this one.
    InUse,
}

/// The outcome for one key or namespace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SyncOutcome {
    /// The namespace.
    pub namespace: NamespaceName,
    /// The key. Absent for the rules of the namespace itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Key>,
    /// The side whose value is there afterwards.
    pub won: Won,
    /// The reason.
    pub by: How,
    /// The value that lost a conflict. Absent if there was none, or if it was a deletion.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub lost: Option<Json>,
}

/// A conflict that the rules leave to a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "SyncConflict"))]
pub struct Conflict {
    /// The namespace.
    pub namespace: NamespaceName,
    /// The key.
    pub key: Key,
    /// The value in this copy. Absent if it was deleted.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub ours: Option<Json>,
    /// The value in the other copy. Absent if it was deleted.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub theirs: Option<Json>,
}

impl SyncReport {
    /// Adds what the next document did.
    pub fn join(&mut self, next: SyncReport) {
        let SyncReport { revision, changed, outcomes, conflicts, others, more, .. } = next;
        (self.revision, self.more) = (revision, more);
        self.changed |= changed;
        self.outcomes.extend(outcomes);
        self.conflicts.extend(conflicts);
        for OtherChanges { kind, count } in others {
            match self.others.iter_mut().find(|there| there.kind == kind) {
                Some(there) => there.count += count,
                None => self.others.push(OtherChanges { kind, count }),
            }
        }
    }
}

/// The result of a synchronization.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SyncReport {
    /// This copy.
    pub copy: CopyId,
    /// The other copy.
    pub with: CopyId,
    /// The name of the other workspace.
    pub workspace: WorkspaceName,
    /// The revision of the other copy that is included now.
    pub revision: Revision,
    /// Whether anything was new. If not, nothing was written.
    pub changed: bool,
    /// The outcomes, by namespace and key.
    pub outcomes: Vec<SyncOutcome>,
    /// Conflicts that need a decision; only in a dry run, otherwise the request is refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<Conflict>,
    /// The other changes in the other copy, which were not synchronized, by kind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<OtherChanges>,
    /// Whether the other copy has later changes, to be synchronized next.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
}
