//! The reasons to refuse commands and queries of shared state.

use serde::Serialize;
use thiserror::Error;

use super::Entry;
use crate::names::{AgentId, Key, NamespaceName};
use crate::numbers::{Revision, Version};
use crate::state::merge::{Merge, MergeError};

crate::refusals! {
    /// Why shared state refused. Nothing was written.
    #[derive(Clone, Debug, PartialEq, Error, Serialize)]
    #[serde(untagged)]
    pub enum Rejection {
        /// There is no entry with this key.
        #[error("there is no entry `{key}` in namespace `{namespace}`")]
        NotFound {
            /// The namespace.
            namespace: NamespaceName,
            /// The key.
            key: Key,
        } => {
            code: "state.not_found",
            kind: NotFound,
            hint: "list the keys with state.list",
            cause: "It was never written, was deleted, has expired, or was removed with its \
                author's session.",
            remedy: "List the keys with `state.list`; `state.history` shows what happened to an \
                entry.",
        }
        /// The namespace does not exist.
        #[error("there is no namespace `{namespace}`")]
        UnknownNamespace {
            /// The namespace.
            namespace: NamespaceName,
        } => {
            code: "state.unknown_namespace",
            kind: NotFound,
            hint: "create it with namespace.create",
            cause: "Only `shared` exists from the beginning; `agent:<id>` is created with the \
                agent's first session.",
            remedy: "Create it with `namespace.create`, or correct the name.",
        }
        /// The entry does not have the expected version.
        #[error(
            "entry `{key}` in `{namespace}` {}",
            found("at version", .entry.as_ref().map(|entry| entry.version().0), expected.0)
        )]
        VersionConflict {
            /// The namespace.
            namespace: NamespaceName,
            /// The key.
            key: Key,
            /// The expected version; 0 means absent.
            expected: Version,
            /// The entry that is there.
            entry: Option<Box<Entry>>,
            /// Whether it should have been deleted.
            #[serde(skip)]
            deletes: bool,
        } => {
            code: "state.version_conflict",
            kind: Conflict,
            hint: "decide again from the entry in this response, then retry with its version",
            hint_if: { entry: None, deletes: true } => "nothing to do: there is nothing to delete",
            hint_if: { entry: None } => "expect version 0 to create the entry, or leave it absent",
            cause: "It was changed, created or deleted since it was read. Version 0 means an \
                absent entry.",
            remedy: "Decide again from the entry in the response, then retry with its version.",
        }
        /// The entry was not last changed by the expected revision.
        #[error(
            "entry `{key}` in `{namespace}` {}",
            found("of revision", .entry.as_ref().map(|entry| entry.revision().0), expected.0)
        )]
        RevisionConflict {
            /// Where.
            namespace: NamespaceName,
            /// Which key.
            key: Key,
            /// The expected revision; 0 means absent.
            expected: Revision,
            /// The entry that is there.
            entry: Option<Box<Entry>>,
            /// Whether it should have been deleted.
            #[serde(skip)]
            deletes: bool,
        } => {
            code: "state.revision_conflict",
            kind: Conflict,
            hint: "decide again from the entry in this response, then retry with its revision",
            hint_if: { entry: None, deletes: true } => "nothing to do: there is nothing to delete",
            hint_if: { entry: None } => "expect revision 0 to create the entry, or leave it absent",
            cause: "It was changed, created or deleted since it was read. Revision 0 means an \
                absent entry.",
            remedy: "Decide again from the entry in the response, then retry with its revision.",
        }
        /// The entry already exists.
        #[error(
            "entry `{}` in `{}` already exists, at version {}",
            .entry.key(), .entry.namespace(), .entry.version()
        )]
        Exists {
            /// The entry that is there.
            entry: Box<Entry>,
            /// The merge rule that forbids replacing it. Absent if the request itself does.
            #[serde(skip_serializing_if = "Option::is_none")]
            merge: Option<Merge>,
        } => {
            code: "state.exists",
            kind: Conflict,
            hint: "use the entry in this response, or write without if_absent",
            hint_if: { merge: Some(_) } => "use the entry in this response, write to a new key, or \
                change the merge rule `reject` of the namespace",
            cause: "`if_absent` was set, the merge rule of the namespace is `reject`, or a \
                transfer would replace an entry without `overwrite`.",
            remedy: "Use the entry in the response, or write without that condition.",
        }
        /// The entry does not have the expected value.
        #[error("entry `{key}` in `{namespace}` does not have the expected value")]
        ValueConflict {
            /// The namespace.
            namespace: NamespaceName,
            /// The key.
            key: Key,
            /// The entry that is there.
            entry: Option<Box<Entry>>,
        } => {
            code: "state.value_conflict",
            kind: Conflict,
            hint: "decide again from the entry in this response, then retry with its version",
            cause: "It was changed since it was read, or it is absent. Values are compared by \
                meaning: the order of fields and the notation of numbers do not matter.",
            remedy: "Decide again from the entry in the response, then retry.",
        }
        /// The namespace or key is append-only.
        #[error(
            "`{}` is append-only: entry `{}` exists and cannot be replaced or removed",
            .entry.namespace(), .entry.key()
        )]
        AppendOnly {
            /// The entry that is there.
            entry: Box<Entry>,
        } => {
            code: "state.append_only",
            kind: Conflict,
            hint: "write to a new key, or patch with append or union",
            cause: "A write, patch, deletion or transfer would replace or remove an existing \
                entry.",
        }
        /// The value does not satisfy the schema of the namespace or key.
        #[error(
            "value of `{key}` does not satisfy the schema of `{namespace}`: {reason} at `{path}`"
        )]
        Schema {
            /// The namespace.
            namespace: NamespaceName,
            /// The key.
            key: Key,
            /// JSON Pointer to the invalid part.
            path: String,
            /// The reason.
            reason: String,
        } => {
            code: "state.schema_violation",
            kind: Invalid,
            hint: "correct the value; namespace.get returns the schema",
            cause: "The value, after merging, does not satisfy the schema; `path` points to the \
                invalid part and `reason` says what was expected.",
        }
        /// The value is too large.
        #[error("value of `{key}` has {bytes} bytes; the limit is {bytes_max}")]
        ValueTooLarge {
            /// The key.
            key: Key,
            /// Its size.
            bytes: usize,
            /// The maximum size.
            bytes_max: usize,
        } => {
            code: "state.value_too_large",
            kind: TooLarge,
            hint: "split the value, or store it as an artifact and write the id of that",
            cause: "A value is limited to 1 MiB, or to the `value_bytes_max` of the namespace if \
                that is smaller. The limit applies after merging.",
            remedy: "Split it over several keys, or store it as an artifact and write its id.",
        }
        /// The patch or merge rule does not apply to the current value.
        #[error("cannot change `{key}` in `{namespace}`: {reason}")]
        PatchFailed {
            /// The namespace.
            namespace: NamespaceName,
            /// The key.
            key: Key,
            /// The reason.
            reason: MergeError,
        } => {
            code: "state.patch_failed",
            kind: Invalid,
            hint: "read the entry and send a patch that fits it",
            cause: "For example: `append` to a value that is not a list, `increment` of a value \
                that is not a number, a JSON Patch operation on an absent path, or a sum beyond \
                64 bits.",
            remedy: "Read the entry and send a patch that fits it; `reason` names the part.",
        }
        /// The time to live is out of range.
        #[error("ttl_ms must be between {min} and {max}, not {given}")]
        TtlOutOfRange {
            /// The given value.
            given: u64,
            /// The minimum.
            min: u64,
            /// The maximum.
            max: u64,
        } => {
            code: "state.ttl_out_of_range",
            kind: Invalid,
            hint: "use a time in milliseconds within the range",
            cause: "`ttl_ms` is 0 or more than ten years, often because of a wrong unit.",
            remedy: "Use a time in milliseconds within the range in the response.",
        }
        /// An ephemeral entry needs a session to be bound to.
        #[error("agent `{agent}` has no session to bind an ephemeral entry to")]
        NoSession {
            /// The agent.
            agent: AgentId,
        } => {
            code: "state.no_session",
            kind: Stale,
            hint: "register the agent first with agent.register",
            cause: "The agent has not registered, has left, or was lost.",
            remedy: "Register with `agent.register`, then write again.",
        }
        /// The agent has too many ephemeral entries.
        #[error("agent `{agent}` has too many ephemeral entries (limit {max})")]
        TooManyEphemeral {
            /// The agent.
            agent: AgentId,
            /// The limit.
            max: usize,
        } => {
            code: "state.too_many_ephemeral",
            kind: Exhausted,
            hint: "delete some, or write entries that are not ephemeral",
            cause: "They are all removed in one commit when the session ends, so there can be at \
                most 1000.",
            remedy: "Delete some, or write entries with `ttl_ms` instead.",
        }
        /// The entry has reached the last version number.
        #[error("entry `{key}` in `{namespace}` has reached the last version number")]
        VersionsExhausted {
            /// The namespace.
            namespace: NamespaceName,
            /// The key.
            key: Key,
        } => {
            code: "state.versions_exhausted",
            kind: Exhausted,
            hint: "delete the entry and create it again",
            cause: "Its version is 4294967295.",
        }
        /// The source and the target of a transfer are the same.
        #[error("the source and the target of the transfer are both `{namespace}`")]
        SameNamespace {
            /// The namespace.
            namespace: NamespaceName,
        } => {
            code: "state.same_namespace",
            kind: Invalid,
            hint: "name two different namespaces",
            cause: "`from_namespace` and `to_namespace` name the same namespace.",
        }
        /// The transfer would move more entries than fit in one commit.
        #[error("the transfer would move {entries} entries; at most {max} fit in one commit")]
        TransferTooLarge {
            /// How many there are.
            entries: usize,
            /// The maximum number.
            max: usize,
        } => {
            code: "state.transfer_too_large",
            kind: TooLarge,
            hint: "name fewer keys and transfer in several steps",
            cause: "It would move more than 5000 entries.",
        }
        /// The page size is out of range.
        #[error("limit must be between 1 and {max}, not {given}")]
        LimitOutOfRange {
            /// The given value.
            given: usize,
            /// The maximum.
            max: usize,
        } => {
            code: "state.limit_out_of_range",
            kind: Invalid,
            hint: "use a page size within the range",
            cause: "`limit` is 0 or more than 10000.",
            remedy: "Use a page size within the range, and continue with the `cursor`.",
        }
        /// The cursor is invalid.
        #[error("the cursor `{given}` was not returned by this query")]
        BadCursor {
            /// The given value.
            given: String,
        } => {
            code: "state.bad_cursor",
            kind: Invalid,
            hint: "start again without a cursor",
            cause: "It was altered, or was returned by another query.",
        }
        /// The history of a key was requested without its namespace.
        #[error("the history of a key needs its namespace")]
        KeyWithoutNamespace {} => {
            code: "state.key_without_namespace",
            kind: Invalid,
            hint: "name the namespace as well",
            cause: "The same key may exist in many namespaces.",
        }
    }
}

impl Rejection {
    /// The same about a deletion, which has other advice.
    pub(super) fn of_deletion(mut self) -> Self {
        if let Self::VersionConflict { deletes, .. } | Self::RevisionConflict { deletes, .. } =
            &mut self
        {
            *deletes = true;
        }
        self
    }
}

/// Describes the actual value and the expected one.
fn found(what: &str, there: Option<u64>, expected: u64) -> String {
    match there {
        Some(there) => format!("is {what} {there}, not {expected}"),
        None => format!("does not exist, and was expected {what} {expected}"),
    }
}
