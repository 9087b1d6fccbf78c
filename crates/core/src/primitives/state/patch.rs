//! `state.patch`, whose forms are fields of their own.

use serde::{Deserialize, Serialize};

use crate::json::{Json, given};
use crate::names::{Key, NamespaceName};
use crate::numbers::Version;
use crate::state::merge::Patch;

/// Changes part of a value; the server does the reading and the writing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "PatchFields", into = "PatchFields")]
pub struct PatchEntry {
    /// Where the key lives.
    pub namespace: NamespaceName,
    /// Which key.
    pub key: Key,
    /// What to do with the value.
    pub patch: Patch,
    /// Only if the entry has this version; 0 means that it is absent.
    pub expected_version: Option<Version>,
}

/// The fields of `state.patch`, of which exactly one says what to do.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(extend("oneOf" = [
    {"required": ["merge"]}, {"required": ["json_patch"]}, {"required": ["append"]},
    {"required": ["union"]}, {"required": ["increment"]}, {"required": ["max"]},
])))]
#[serde(deny_unknown_fields)]
pub(crate) struct PatchFields {
    /// Where the key lives.
    namespace: NamespaceName,
    /// Which key.
    key: Key,
    /// Only if the entry has this version; 0 means that it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expected_version: Option<Version>,
    /// JSON Merge Patch, RFC 7396.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    merge: Option<Json>,
    /// JSON Patch, RFC 6902.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    json_patch: Option<Json>,
    /// Added to the end of the list, one value or the elements of a list.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    append: Option<Json>,
    /// The same, without values already there.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    union: Option<Json>,
    /// The number that is added.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    increment: Option<Json>,
    /// The number that stays if it is larger.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    max: Option<Json>,
}

impl TryFrom<PatchFields> for PatchEntry {
    type Error = &'static str;

    fn try_from(fields: PatchFields) -> Result<Self, Self::Error> {
        let PatchFields { namespace, key, expected_version, .. } = fields;
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
            (Some(patch), None) => Ok(Self { namespace, key, patch, expected_version }),
            _ => Err("give exactly one of `merge`, `json_patch`, `append`, `union`, `increment` \
                      and `max`"),
        }
    }
}

impl From<PatchEntry> for PatchFields {
    fn from(entry: PatchEntry) -> Self {
        let PatchEntry { namespace, key, patch, expected_version } = entry;
        let (merge, json_patch, append) = (None, None, None);
        let (union, increment, max) = (None, None, None);
        let mut fields = Self {
            namespace,
            key,
            expected_version,
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
