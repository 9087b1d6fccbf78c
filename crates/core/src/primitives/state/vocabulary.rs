//! The words of shared state.

use serde::{Deserialize, Serialize};

use crate::json::{Json, given};
use crate::names::{AgentId, Key, NamespaceName};
use crate::numbers::{Revision, Version};
use crate::pattern::Pattern;
use crate::time::Timestamp;

use super::{Entry, PatchEntry};

/// What one may ask of shared state so that it changes.
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
    /// Sent by the engine when [`Table::next_deadline`](super::Table::next_deadline) has passed.
    Expire,
    /// Sent by a policy when an agent's session has ended: its ephemeral entries go.
    LetGo {
        /// Whose entries.
        agent: AgentId,
    },
}

/// Writes a value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Set {
    /// Where the key lives.
    pub namespace: NamespaceName,
    /// Which key.
    pub key: Key,
    /// What to write.
    pub value: Json,
    /// Only if the entry has this version; 0 means that it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<Version>,
    /// Only if there is no entry.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub if_absent: bool,
    /// Only if the entry has this value.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub expected_value: Option<Json>,
    /// The entry goes after so many milliseconds unless written again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// The entry goes when the session of the agent that wrote it ends.
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
            if_absent: false,
            expected_value: None,
            ttl_ms: None,
            ephemeral: false,
        }
    }

    /// Whether nothing but a version is expected, and nothing but the value is given.
    pub fn is_plain(&self) -> bool {
        let Self { if_absent, expected_value, ttl_ms, ephemeral, .. } = self;
        !if_absent && expected_value.is_none() && ttl_ms.is_none() && !ephemeral
    }
}

/// Removes an entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Delete {
    /// Where the key lives.
    pub namespace: NamespaceName,
    /// Which key.
    pub key: Key,
    /// Only if the entry has this version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<Version>,
}

/// Moves entries to another namespace, each with a note of where it came from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    /// Where they are.
    pub from_namespace: NamespaceName,
    /// Where they shall be.
    pub to_namespace: NamespaceName,
    /// Which of them; all if none are named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<Vec<Key>>,
    /// Replace entries of the same key in the target; otherwise they are a conflict.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overwrite: bool,
}

/// What one may ask of shared state without changing it.
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
    /// Whether it names a revision of its own. Changes over time are always about the past.
    pub fn names_revision(&self) -> bool {
        match self {
            Self::Get(get) => get.at.is_some(),
            Self::List(list) => list.at.is_some(),
            Self::Snapshot(snapshot) => snapshot.at.is_some(),
            Self::History(_) | Self::Diff(_) => false,
        }
    }
}

/// What differs between two revisions, by namespace and key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Diff {
    /// Only this namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<NamespaceName>,
    /// The one revision.
    pub from: Revision,
    /// The other revision; the present if not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Revision>,
}

/// One entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Get {
    /// Where the key lives.
    pub namespace: NamespaceName,
    /// Which key.
    pub key: Key,
    /// As it was after this revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Revision>,
}

/// A page of entries in key order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct List {
    /// Which namespace.
    pub namespace: NamespaceName,
    /// Only keys that begin so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// Only keys that match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<Pattern>,
    /// As they were after this revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Revision>,
    /// How many at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// Where the page before ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

impl List {
    /// The first page of everything in a namespace.
    pub fn all(namespace: NamespaceName) -> Self {
        Self { namespace, prefix: None, pattern: None, at: None, limit: None, cursor: None }
    }

    /// Whether a key is asked for.
    pub fn wants(&self, key: &str) -> bool {
        self.prefix.as_ref().is_none_or(|prefix| key.starts_with(prefix.as_str()))
            && self.pattern.as_ref().is_none_or(|pattern| pattern.matches(key))
    }

    /// How every key that is asked for begins.
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
    /// Only this namespace.
    pub namespace: Option<NamespaceName>,
    /// Only this key; needs the namespace.
    pub key: Option<Key>,
    /// Only keys that match.
    pub pattern: Option<Pattern>,
    /// Only changes by this agent.
    pub author: Option<AgentId>,
    /// Oldest revision of interest.
    pub from: Option<Revision>,
    /// Newest revision of interest.
    pub to: Option<Revision>,
    /// How many at most.
    pub limit: Option<usize>,
    /// Where the page before ended.
    pub cursor: Option<String>,
}

/// Everything at one revision, page by page.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Snapshot {
    /// Only this namespace.
    pub namespace: Option<NamespaceName>,
    /// As it was after this revision; the present if not said.
    pub at: Option<Revision>,
    /// How many entries at most.
    pub limit: Option<usize>,
    /// Where the page before ended.
    pub cursor: Option<String>,
}

/// Answers of shared state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The entry that was written, read or removed.
    Entry(Entry),
    /// A page of entries.
    Entries(Page),
    /// Keys that were moved.
    Moved {
        /// Which.
        keys: Vec<Key>,
    },
    /// A page of changes, newest first; or the differences between two revisions, by key.
    Changes {
        /// The changes.
        changes: Vec<Change>,
        /// What happened up to this revision is no longer kept; 0 if all of it is.
        #[serde(default)]
        oldest: Revision,
        /// Where to go on, if there is more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<String>,
    },
    /// Something was done that has nothing to tell.
    Done,
}

/// A page of entries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Page {
    /// The revision at which this is the truth.
    pub revision: Revision,
    /// The entries, by namespace and key.
    pub entries: Vec<Entry>,
    /// Where to go on, if there is more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// One change of one entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Change {
    /// When in the order of things.
    pub revision: Revision,
    /// When by the clock.
    pub time: Timestamp,
    /// Who did it.
    pub agent: AgentId,
    /// What was done: the event's type, such as `state.set`.
    pub operation: String,
    /// Where.
    pub namespace: NamespaceName,
    /// To which key.
    pub key: Key,
    /// The value before; none if there was no entry.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub old_value: Option<Json>,
    /// The value after; none if the entry is gone.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub new_value: Option<Json>,
    /// Where a transferred value came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
}

/// Facts about shared state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// An entry has a new value.
    Set {
        /// Where the key lives.
        namespace: NamespaceName,
        /// Which key.
        key: Key,
        /// The whole new value.
        value: Json,
        /// The entry's version from now on.
        version: Version,
        /// How it came about.
        #[serde(default, skip_serializing_if = "Operation::is_set")]
        operation: Operation,
        /// When the entry goes by itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires_at: Option<Timestamp>,
        /// The agent with whose session it goes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bound_to: Option<AgentId>,
        /// Where a transferred value came from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<Source>,
    },
    /// An entry is gone.
    Deleted {
        /// Where the key lived.
        namespace: NamespaceName,
        /// Which key.
        key: Key,
        /// The version it had.
        version: Version,
        /// Why it went.
        #[serde(default)]
        removal: Removal,
    },
}

/// How a new value came about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// It was written.
    #[default]
    Set,
    /// It was computed from the one before.
    Patched,
    /// It came from another namespace.
    Transferred,
}

impl Operation {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
    fn is_set(&self) -> bool {
        *self == Self::Set
    }
}

/// Why an entry went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Removal {
    /// Somebody removed it.
    #[default]
    Deleted,
    /// Its time was over.
    Expired,
    /// The session of its author ended.
    LetGo,
    /// It moved to another namespace.
    TransferredAway,
}

/// Where a transferred value came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Source {
    /// The namespace it was in.
    pub namespace: NamespaceName,
    /// The version it had there.
    pub version: Version,
    /// The revision at which it had been written there.
    pub revision: Revision,
    /// Who had written it.
    pub agent: AgentId,
}

impl Event {
    /// The event's type, as watchers and history know it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Set { operation: Operation::Set, .. } => "state.set",
            Self::Set { operation: Operation::Patched, .. } => "state.patched",
            Self::Set { operation: Operation::Transferred, .. } => "state.transferred",
            Self::Deleted { removal: Removal::Deleted, .. } => "state.deleted",
            Self::Deleted { removal: Removal::Expired, .. } => "state.expired",
            Self::Deleted { removal: Removal::LetGo, .. } => "state.let_go",
            Self::Deleted { removal: Removal::TransferredAway, .. } => "state.transferred_away",
        }
    }

    /// The variant behind the last word of a type: one fact may go by several names.
    pub(crate) fn variant(word: &str) -> &str {
        match word {
            "patched" | "transferred" => "set",
            "expired" | "let_go" | "transferred_away" => "deleted",
            other => other,
        }
    }

    /// The entry it is about.
    pub fn entry_key(&self) -> (&NamespaceName, &Key) {
        match self {
            Self::Set { namespace, key, .. } | Self::Deleted { namespace, key, .. } => {
                (namespace, key)
            }
        }
    }
}
