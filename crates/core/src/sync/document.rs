//! The changes of one copy that another has not seen.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use super::report::Decision;
use crate::json::{Json, given};
#[cfg(feature = "schema")]
use crate::limits;
use crate::names::{AgentId, CopyId, Key, KeyName, NamespaceName, WorkspaceName};
use crate::namespace::rules::Rules;
use crate::numbers::Revision;
use crate::time::Timestamp;

/// How far a copy includes the changes of another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Seen {
    /// The other copy.
    pub copy: CopyId,
    /// Its last revision that is included.
    pub revision: Revision,
    /// The time of that revision, by which the other copy recognizes it.
    pub time: Timestamp,
}

/// The revision up to which these include the changes of a copy.
pub fn reach(seen: &[Seen], copy: &CopyId) -> Revision {
    seen.iter().find(|there| there.copy == *copy).map_or(Revision(0), |there| there.revision)
}

/// A copy, and what it includes of others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// The copy.
    pub copy: CopyId,
    /// The revisions of other copies that it includes.
    #[serde(default)]
    pub seen: Vec<Seen>,
}

impl Known {
    /// Whether it includes these writes.
    pub fn knows(&self, dots: &[Dot]) -> bool {
        // Its own writes came from it.
        let includes =
            |dot: &Dot| dot.copy == self.copy || reach(&self.seen, &dot.copy) >= dot.revision;
        dots.iter().all(includes)
    }
}

/// A write: the copy and the revision that made it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Dot {
    /// The copy.
    pub copy: CopyId,
    /// Its revision.
    pub revision: Revision,
}

/// When, by whom and where something was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Written {
    /// The time.
    pub time: Timestamp,
    /// The agent.
    pub by: AgentId,
    /// The writes that produced it: several if it was combined from several.
    pub dots: Vec<Dot>,
}

impl Written {
    /// Whether it is the last of two concurrent writes.
    pub(super) fn is_after(&self, other: &Written) -> bool {
        let order = |written: &Written| (written.time, written.dots.iter().max().cloned());
        order(self) > order(other)
    }

    /// Whether it was made by several writes.
    pub fn is_combined(&self) -> bool {
        self.dots.len() > 1
    }

    /// Both at once.
    pub(super) fn and(&self, other: &Written) -> Written {
        let last = if self.is_after(other) { self } else { other };
        let mut dots = self.dots.clone();
        for dot in &other.dots {
            match dots.iter_mut().find(|there| there.copy == dot.copy) {
                Some(there) => there.revision = there.revision.max(dot.revision),
                None => dots.push(dot.clone()),
            }
        }
        dots.sort();
        Written { time: last.time, by: last.by.clone(), dots }
    }
}

/// The changes of a copy that another copy does not include yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CopyChanges {
    /// The name of the workspace.
    pub workspace: WorkspaceName,
    /// The copy.
    pub copy: CopyId,
    /// The revision that this reflects.
    pub revision: Revision,
    /// The time of that revision.
    pub time: Timestamp,
    /// The changes after this revision.
    pub since: Revision,
    /// The revisions of other copies that the copy includes at `revision`.
    #[serde(default)]
    pub seen: Vec<Seen>,
    /// The revisions of other copies that it included at `since`.
    #[serde(default)]
    pub seen_before: Vec<Seen>,
    /// The namespaces that changed or that `entries` are in, by name.
    #[serde(default)]
    pub namespaces: Vec<NamespaceChange>,
    /// The entries that changed, by namespace and key.
    #[serde(default)]
    pub entries: Vec<EntryChange>,
    /// The other changes, which are not synchronized, by kind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<OtherChanges>,
    /// Whether there are later changes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
}

impl CopyChanges {
    /// The revision up to which it includes the changes of a copy.
    fn reach(&self, copy: &CopyId) -> Revision {
        if *copy == self.copy { self.revision } else { reach(&self.seen, copy) }
    }

    /// Whether it includes these writes.
    pub(super) fn knows(&self, written: &Written) -> bool {
        written.dots.iter().all(|dot| self.reach(&dot.copy) >= dot.revision)
    }

    /// Whether its beginning includes the beginning of another.
    pub(super) fn begins_after(&self, other: &CopyChanges) -> bool {
        let known = |copy: &CopyId| {
            if *copy == self.copy { self.since } else { reach(&self.seen_before, copy) }
        };
        let before = other.seen_before.iter().map(|seen| (&seen.copy, seen.revision));
        // A copy that it has not seen begins where that was founded, without writes of its own.
        let is_seen = self.seen.iter().any(|seen| seen.copy == other.copy);
        let own = is_seen.then_some((&other.copy, other.since));
        own.into_iter().chain(before).all(|(copy, revision)| known(copy) >= revision)
    }

    /// A namespace. They are in order.
    pub(super) fn namespace(&self, name: &NamespaceName) -> Option<&NamespaceChange> {
        let found = self.namespaces.binary_search_by(|it| it.name.cmp(name)).ok()?;
        self.namespaces.get(found)
    }
}

/// A namespace in a document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NamespaceChange {
    /// The name.
    pub name: NamespaceName,
    /// Its rules. Absent if there is no such namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<Rules>,
    /// Its last change. Absent if it has not changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<Written>,
}

impl NamespaceChange {
    /// Whether it is the one to keep of two different changes that were combined of the same
    /// writes: every copy keeps the same one, and a namespace rather than its deletion.
    pub(super) fn is_kept_of(&self, other: &NamespaceChange) -> bool {
        let order = |it: &NamespaceChange| {
            let text = it.rules.as_ref().map(|rules| Json::of(rules).map(|it| it.to_string()).ok());
            (text.is_none(), text)
        };
        order(self) < order(other)
    }
}

/// An entry that changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct EntryChange {
    /// The namespace.
    pub namespace: NamespaceName,
    /// The key.
    pub key: Key,
    /// Its value. Absent if it was deleted.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub value: Option<Json>,
    /// Its value at `since`. Absent if there was none.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub was: Option<Json>,
    /// When it expires. Absent if it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Its last change.
    pub written: Written,
}

impl EntryChange {
    /// Whether both have the same value and end at the same time.
    pub(super) fn is_same(&self, other: &EntryChange) -> bool {
        match (&self.value, &other.value) {
            (None, None) => true,
            (Some(one), Some(other_value)) => {
                one.same_value(other_value) && self.expires_at == other.expires_at
            }
            (Some(_), None) | (None, Some(_)) => false,
        }
    }

    /// Whether it is the one to keep of two different values that were combined of the same
    /// writes. Every copy keeps the same one: a value rather than a deletion, one that stays rather
    /// than one that expires, and the shortest, since a change that was counted twice makes it
    /// longer.
    pub(super) fn is_kept_of(&self, other: &EntryChange) -> bool {
        let order = |it: &EntryChange| {
            let value = it.value.as_ref().map(|value| value.as_bytes().to_vec());
            let expires_at = it.expires_at.map_or(u64::MAX, |at| at.0);
            (value.is_none(), Reverse(expires_at), value.as_ref().map(Vec::len), value)
        };
        order(self) < order(other)
    }
}

/// How much of one kind changed that is not synchronized.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OtherChanges {
    /// The kind, such as `tasks`; `ephemeral` for entries that are bound to a session.
    pub kind: String,
    /// How many changed.
    pub count: u64,
}

/// Which changes to list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "WorkspaceChangesQuery")
)]
#[serde(deny_unknown_fields, default)]
pub struct ChangesQuery {
    /// The copy that the changes are for, and what it includes of others. If omitted, no changes
    /// are listed: the response identifies this copy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub with: Option<Known>,
    /// Only these keys, as `namespace/key`, and `namespaces`. If omitted, all keys and namespaces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keys: Option<Vec<KeyName>>,
    /// Only these namespaces, and `keys`. If omitted, all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespaces: Option<Vec<NamespaceName>>,
    /// The maximum number of entries. The document ends with the revision that exceeds it.
    #[cfg_attr(feature = "schema", schemars(
        extend("default" = limits::SYNC_ENTRIES_DEFAULT),
        range(min = 1, max = limits::SYNC_ENTRIES_DEFAULT),
    ))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// Takes the changes of another copy in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "WorkspaceSync"))]
#[serde(deny_unknown_fields)]
pub struct Sync {
    /// The changes of the other copy: its response to `workspace.changes` with this copy.
    pub theirs: CopyChanges,
    /// The changes of this copy: its response to `workspace.changes` with the other copy, for the
    /// keys and namespaces in `theirs`.
    pub ours: CopyChanges,
    /// Decisions about conflicts, which apply instead of the rules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<Decision>,
    /// Only report: change nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

/// Something that was taken from another copy, and the writes that had made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakenChange {
    /// The namespace.
    pub namespace: NamespaceName,
    /// The key; none if it is the namespace itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Key>,
    /// The writes.
    pub written: Written,
}

impl TakenChange {
    /// An upper bound of its size in the log, in bytes.
    pub(crate) fn weight(&self) -> usize {
        const FRAME: usize = 96;
        let key = self.key.as_ref().map_or(0, |key| key.as_str().len());
        let dots = self.written.dots.iter().map(|dot| FRAME + dot.copy.as_str().len());
        let by = self.written.by.as_str().len();
        FRAME + self.namespace.as_str().len() + key + by + dots.sum::<usize>()
    }
}
