//! `state.patch`, whose forms are separate fields.

use serde::{Deserialize, Serialize};

use crate::json::{Json, given};
use crate::names::{Key, NamespaceName};
use crate::numbers::{Revision, Version};
use crate::state::merge::Patch;

/// Changes part of a value on the server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "PatchFields", into = "PatchFields")]
pub struct PatchEntry {
    /// The namespace.
    pub namespace: NamespaceName,
    /// The key.
    pub key: Key,
    /// The change.
    pub patch: Patch,
    /// Write only if the entry has this version; 0 means that it must not exist.
    pub expected_version: Option<Version>,
    /// Write only if the entry was last changed by this revision; 0 means that it must not exist.
    pub expected_revision: Option<Revision>,
}

/// The fields of `state.patch`. Exactly one of `merge`, `json_patch`, `append`, `union`,
/// `increment` and `max` is required.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(extend("oneOf" = [
    {"required": ["merge"]}, {"required": ["json_patch"]}, {"required": ["append"]},
    {"required": ["union"]}, {"required": ["increment"]}, {"required": ["max"]},
])))]
#[serde(deny_unknown_fields)]
pub(crate) struct PatchFields {
    /// The namespace.
    namespace: NamespaceName,
    /// The key.
    key: Key,
    /// Write only if the entry has this version; 0 means that it must not exist. If omitted, the
    /// version is not checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expected_version: Option<Version>,
    /// Write only if the entry was last changed by this revision; 0 means that it must not exist.
    /// If omitted, the revision is not checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expected_revision: Option<Revision>,
    /// A JSON Merge Patch (RFC 7396). If omitted, another form is required.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    merge: Option<Json>,
    /// A JSON Patch (RFC 6902). If omitted, another form is required.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    json_patch: Option<Json>,
    /// A value, or a list of values, to append to the list. If omitted, another form is required.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    append: Option<Json>,
    /// A value, or a list of values, to append to the list unless it already contains them. If
    /// omitted, another form is required.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    union: Option<Json>,
    /// A number to add. If omitted, another form is required.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    increment: Option<Json>,
    /// A number that replaces the value if it is larger. If omitted, another form is required.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    max: Option<Json>,
}

impl TryFrom<PatchFields> for PatchEntry {
    type Error = &'static str;

    fn try_from(fields: PatchFields) -> Result<Self, Self::Error> {
        let PatchFields { namespace, key, expected_version, expected_revision, .. } = fields;
        let mut forms = [
            fields.merge.map(Patch::Merge),
            fields.json_patch.map(Patch::JsonPatch),
            fields.append.map(Patch::Append),
            fields.union.map(Patch::Union),
            fields.increment.map(Patch::Increment),
            fields.max.map(Patch::Max),
        ]
        .into_iter()
        .flatten();
        match (forms.next(), forms.next()) {
            (Some(patch), None) => {
                Ok(Self { namespace, key, patch, expected_version, expected_revision })
            }
            _ => Err("give exactly one of `merge`, `json_patch`, `append`, `union`, `increment` \
                      and `max`"),
        }
    }
}

impl From<PatchEntry> for PatchFields {
    fn from(entry: PatchEntry) -> Self {
        let PatchEntry { namespace, key, patch, expected_version, expected_revision } = entry;
        let (merge, json_patch, append) = (None, None, None);
        let (union, increment, max) = (None, None, None);
        let mut fields = Self {
            namespace,
            key,
            expected_version,
            expected_revision,
            merge,
            json_patch,
            append,
            union,
            increment,
            max,
        };
        let (form, value) = match patch {
            Patch::Merge(value) => (&mut fields.merge, value),
            Patch::JsonPatch(value) => (&mut fields.json_patch, value),
            Patch::Append(value) => (&mut fields.append, value),
            Patch::Union(value) => (&mut fields.union, value),
            Patch::Increment(value) => (&mut fields.increment, value),
            Patch::Max(value) => (&mut fields.max, value),
        };
        *form = Some(value);
        fields
    }
}
