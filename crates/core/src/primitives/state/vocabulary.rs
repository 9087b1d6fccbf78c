//! Commands, queries, replies and events of shared state.

use serde::{Deserialize, Serialize};

use crate::json::{Json, given};
#[cfg(feature = "schema")]
use crate::limits;
use crate::names::{AgentId, Key, NamespaceName};
use crate::numbers::{Revision, Version};
use crate::pattern::Pattern;
use crate::primitive;
use crate::time::Timestamp;

use super::{Entry, PatchEntry};

/// Commands that change the shared state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// `state.set`
    Set(Set),
    /// `state.patch`
    Patch(PatchEntry),
    /// `state.delete`
    Delete(Delete),
    /// `state.transfer`
    Transfer(Transfer),
}

/// No signal is only for shared state.
#[derive(Clone, Debug, PartialEq)]
pub enum Signal {}

/// Writes a value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Set {
    /// The namespace.
    pub namespace: NamespaceName,
    /// The key.
    pub key: Key,
    /// The value: any JSON.
    pub value: Json,
    /// Write only if the entry has this version; 0 means that it must not exist. If omitted, the
    /// version is not checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<Version>,
    /// Write only if the entry was last changed by this revision; 0 means that it must not exist.
    /// If omitted, the revision is not checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_revision: Option<Revision>,
    /// Write only if the entry does not exist.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub if_absent: bool,
    /// Write only if the entry has this value. `null` means the value null, not that there is no
    /// entry: use `if_absent` for that. If omitted, the value is not checked.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub expected_value: Option<Json>,
    /// Time to live in milliseconds. The entry is deleted when it elapses without another write. If
    /// omitted, the `ttl_ms` of the namespace, if it has one.
    #[cfg_attr(
        feature = "schema",
        schemars(range(min = limits::TTL_MS_MIN, max = limits::TTL_MS_MAX))
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// Delete the entry when the session of the caller ends.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ephemeral: bool,
}

impl Set {
    /// An unconditional write.
    pub fn new(namespace: NamespaceName, key: Key, value: Json) -> Self {
        Self {
            namespace,
            key,
            value,
            expected_version: None,
            expected_revision: None,
            if_absent: false,
            expected_value: None,
            ttl_ms: None,
            ephemeral: false,
        }
    }

    /// Whether it has no condition except a version and no option except the value.
    pub fn is_plain(&self) -> bool {
        let Self { expected_revision, if_absent, expected_value, ttl_ms, ephemeral, .. } = self;
        let has_condition = *if_absent || expected_revision.is_some() || expected_value.is_some();
        !has_condition && ttl_ms.is_none() && !ephemeral
    }
}

/// Deletes an entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Delete {
    /// The namespace.
    pub namespace: NamespaceName,
    /// The key.
    pub key: Key,
    /// Delete only if the entry has this version. If omitted, the version is not checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<Version>,
    /// Delete only if the entry was last changed by this revision. If omitted, the revision is not
    /// checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_revision: Option<Revision>,
}

/// Moves entries to another namespace; each records its origin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    /// The namespace to move from.
    pub from_namespace: NamespaceName,
    /// The namespace to move to.
    pub to_namespace: NamespaceName,
    /// The keys to move. If omitted, all keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<Vec<Key>>,
    /// Move only keys that match this pattern. If omitted, any key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<Pattern>,
    /// Replace entries of the same key in the target. If `false`, they are a conflict.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overwrite: bool,
    /// Copy the entries: the source keeps its own. If `false`, they move.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub copy: bool,
}

/// Queries about the shared state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Query {
    /// `state.get`
    Get(Get),
    /// `state.list`
    List(List),
    /// `state.history`
    History(History),
    /// `state.snapshot`
    Snapshot(Snapshot),
    /// `state.diff`
    Diff(Diff),
}

impl Query {
    /// Whether it names a revision itself; the cursor of a snapshot does. History and diff are
    /// always about the past.
    pub fn names_revision(&self) -> bool {
        match self {
            Self::Get(get) => get.at.is_some(),
            Self::List(list) => list.at.is_some(),
            Self::Snapshot(snapshot) => snapshot.at.is_some() || snapshot.cursor.is_some(),
            Self::History(_) | Self::Diff(_) => false,
        }
    }
}

/// The entries that differ between two revisions, by namespace and key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Diff {
    /// Only this namespace. If omitted, all namespaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<NamespaceName>,
    /// The first revision.
    pub from: Revision,
    /// The second revision. If omitted, the present.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Revision>,
}

/// One entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Get {
    /// The namespace.
    pub namespace: NamespaceName,
    /// The key.
    pub key: Key,
    /// Read the entry as of this revision. If omitted, the present.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Revision>,
}

/// A page of entries by key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct List {
    /// The namespace.
    pub namespace: NamespaceName,
    /// Only keys with this prefix. If omitted, any key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// Only keys that match this pattern. If omitted, any key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<Pattern>,
    /// Read the entries as of this revision. If omitted, the present.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Revision>,
    /// The maximum number of results.
    #[cfg_attr(feature = "schema", schemars(
        extend("default" = limits::PAGE_DEFAULT),
        range(min = 1, max = limits::PAGE_MAX),
    ))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// The `cursor` of the previous page. If omitted, the first page is returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

impl List {
    /// The first page of everything in a namespace.
    pub fn all(namespace: NamespaceName) -> Self {
        Self { namespace, prefix: None, pattern: None, at: None, limit: None, cursor: None }
    }

    /// Whether a key is selected.
    pub fn wants(&self, key: &str) -> bool {
        self.prefix.as_ref().is_none_or(|prefix| key.starts_with(prefix.as_str()))
            && self.pattern.as_ref().is_none_or(|pattern| pattern.matches(key))
    }

    /// The common prefix of all selected keys.
    pub fn beginning(&self) -> &str {
        let prefix = self.prefix.as_deref().unwrap_or_default();
        let literal = self.pattern.as_ref().map_or("", Pattern::literal_prefix);
        if literal.len() > prefix.len() { literal } else { prefix }
    }
}

/// A page of changes, newest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct History {
    /// Only this namespace. If omitted, all namespaces.
    pub namespace: Option<NamespaceName>,
    /// Only this key; requires `namespace`. If omitted, any key.
    pub key: Option<Key>,
    /// Only keys that match this pattern. If omitted, any key.
    pub pattern: Option<Pattern>,
    /// Only changes by this agent. If omitted, any agent.
    pub author: Option<AgentId>,
    /// The oldest revision to include. If omitted, the oldest that is kept.
    pub from: Option<Revision>,
    /// The newest revision to include. If omitted, the present.
    pub to: Option<Revision>,
    /// The maximum number of results.
    #[cfg_attr(feature = "schema", schemars(
        extend("default" = limits::PAGE_DEFAULT),
        range(min = 1, max = limits::PAGE_MAX),
    ))]
    pub limit: Option<usize>,
    /// The `cursor` of the previous page. If omitted, the first page is returned.
    pub cursor: Option<String>,
}

/// All entries at one revision, page by page.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Snapshot {
    /// Only this namespace. If omitted, all namespaces.
    pub namespace: Option<NamespaceName>,
    /// The revision. If omitted, the present.
    pub at: Option<Revision>,
    /// The maximum number of entries.
    #[cfg_attr(feature = "schema", schemars(
        extend("default" = limits::PAGE_DEFAULT),
        range(min = 1, max = limits::PAGE_MAX),
    ))]
    pub limit: Option<usize>,
    /// The `cursor` of the previous page. The next page shows the same revision, regardless of
    /// later writes. If omitted, the first page is returned.
    pub cursor: Option<String>,
}

/// Replies about shared state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The entry that was written, read or deleted.
    Entry(Entry),
    /// A page of entries.
    Entries(Page),
    /// The moved keys.
    Moved {
        /// The keys.
        keys: Vec<Key>,
    },
    /// A page of changes, newest first; or the differences between two revisions, by key.
    Changes {
        /// The changes.
        changes: Vec<Change>,
        /// Changes up to this revision are no longer kept; 0 if all are kept.
        #[serde(default)]
        oldest: Revision,
        /// The cursor of the next page. Absent on the last page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<String>,
    },
}

/// A page of entries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Page {
    /// The revision that the page reflects.
    pub revision: Revision,
    /// The entries, by namespace and key.
    pub entries: Vec<Entry>,
    /// The cursor of the next page. Absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// One change of an entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Change {
    /// The revision.
    pub revision: Revision,
    /// The time.
    pub time: Timestamp,
    /// The agent that did it.
    pub agent: AgentId,
    /// The event type, such as `state.set`.
    pub operation: String,
    /// The namespace.
    pub namespace: NamespaceName,
    /// The key.
    pub key: Key,
    /// The previous value. Absent if there was no entry.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub old_value: Option<Json>,
    /// The new value. Absent if the entry was deleted.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub new_value: Option<Json>,
    /// The origin of a transferred value. Absent for other changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
}

/// Events of shared state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// An entry was written.
    Set {
        /// The namespace.
        namespace: NamespaceName,
        /// The key.
        key: Key,
        /// The new value.
        value: Json,
        /// The new version.
        version: Version,
        /// How the value was produced.
        #[serde(default, skip_serializing_if = "Operation::is_set")]
        operation: Operation,
        /// When the entry expires.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires_at: Option<Timestamp>,
        /// The agent whose session the entry is bound to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bound_to: Option<AgentId>,
        /// The origin of a transferred value.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<Source>,
    },
    /// An entry was deleted.
    Deleted {
        /// The namespace.
        namespace: NamespaceName,
        /// The key.
        key: Key,
        /// The version that it had.
        version: Version,
        /// Why it was deleted.
        #[serde(default)]
        removal: Removal,
    },
}

/// How a value was produced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Written.
    #[default]
    Set,
    /// Computed from the previous value.
    Patched,
    /// Moved from another namespace.
    Transferred,
    /// Copied from another namespace, which keeps its entry.
    Copied,
    /// Taken from another copy of the workspace.
    Synced,
}

impl Operation {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
    fn is_set(&self) -> bool {
        *self == Self::Set
    }
}

/// Why an entry was deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Removal {
    /// By a call.
    #[default]
    Deleted,
    /// It expired.
    Expired,
    /// The session of its author ended.
    LetGo,
    /// It moved to another namespace.
    TransferredAway,
    /// It was deleted in another copy of the workspace.
    Synced,
}

/// The origin of a transferred value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Source {
    /// The namespace that it was in.
    pub namespace: NamespaceName,
    /// The version that it had there.
    pub version: Version,
    /// The revision that had written it there.
    pub revision: Revision,
    /// The agent that had written it.
    pub agent: AgentId,
}

impl primitive::Command for Command {}

impl Event {
    /// The variant of a type's last word: one event may have several types.
    pub(crate) fn variant(word: &str) -> &str {
        match word {
            "patched" | "transferred" | "copied" | "synced" => "set",
            "expired" | "let_go" | "transferred_away" | "sync_deleted" => "deleted",
            other => other,
        }
    }

    /// The entry that it is about.
    pub fn entry_key(&self) -> (&NamespaceName, &Key) {
        match self {
            Self::Set { namespace, key, .. } | Self::Deleted { namespace, key, .. } => {
                (namespace, key)
            }
        }
    }
}

impl primitive::Event for Event {
    fn kind(&self) -> &str {
        match self {
            Self::Set { operation: Operation::Set, .. } => "state.set",
            Self::Set { operation: Operation::Patched, .. } => "state.patched",
            Self::Set { operation: Operation::Transferred, .. } => "state.transferred",
            Self::Set { operation: Operation::Copied, .. } => "state.copied",
            Self::Set { operation: Operation::Synced, .. } => "state.synced",
            Self::Deleted { removal: Removal::Deleted, .. } => "state.deleted",
            Self::Deleted { removal: Removal::Expired, .. } => "state.expired",
            Self::Deleted { removal: Removal::LetGo, .. } => "state.let_go",
            Self::Deleted { removal: Removal::TransferredAway, .. } => "state.transferred_away",
            Self::Deleted { removal: Removal::Synced, .. } => "state.sync_deleted",
        }
    }

    fn subject_parts(&self) -> [&str; 4] {
        let (namespace, key) = self.entry_key();
        ["state/", namespace.as_str(), "/", key.as_str()]
    }

    fn load(&self) -> usize {
        const SOURCE: usize = 96;
        match self {
            Self::Set { value, bound_to, source, .. } => {
                let bound = bound_to.as_ref().map_or(0, |agent| agent.as_str().len());
                let source = source.as_ref().map_or(0, |source| {
                    SOURCE + source.namespace.as_str().len() + source.agent.as_str().len()
                });
                value.as_bytes().len() + bound + source
            }
            Self::Deleted { .. } => 0,
        }
    }
}
