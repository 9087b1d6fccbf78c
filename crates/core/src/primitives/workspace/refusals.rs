//! Why commands and queries of the workspace itself are refused.

use serde::Serialize;
use thiserror::Error;

use crate::history::Origin;
use crate::names::WorkspaceName;
use crate::numbers::Revision;
use crate::refusal::{BadField, OutOfRange, TooLarge};
use crate::search::{BadFilter, Refused};

crate::refusals! {
    /// Why a workspace command was refused. Nothing was written.
    #[derive(Clone, Debug, PartialEq, Error, Serialize)]
    #[serde(untagged)]
    pub enum Rejection {
        /// The workspace would keep no history at all.
        #[error("{field} must be at least 1, not {given}")]
        NothingKept {
            /// The bound.
            field: &'static str,
            /// The given value.
            given: u64,
        } => {
            code: "workspace.nothing_kept",
            kind: Invalid,
            hint: "use a positive number",
            cause: "`history_count` or `history_age_ms` is 0, so that no watcher could ever \
                resume.",
        }
        /// The workspace already exists, and is not overwritten.
        #[error("workspace `{id}` already exists")]
        Exists {
            /// The id.
            id: WorkspaceName,
            /// The origin of the workspace, if it was forked or imported.
            #[serde(skip_serializing_if = "Option::is_none")]
            origin: Option<Box<Origin>>,
        } => {
            code: "workspace.exists",
            kind: Conflict,
            hint: "choose another name",
            cause: "A fork or an import needs an unused workspace name. If the existing workspace \
                was itself forked or imported, the response contains its origin.",
            remedy: "Choose another name. Repeating a fork whose response was lost returns the \
                same response, as long as the new workspace is unchanged.",
        }
        /// The workspace does not exist, or is a later one of the same name.
        #[error("there is no workspace `{id}` with revision {revision}")]
        NotFound {
            /// The id.
            id: WorkspaceName,
            /// The given revision.
            revision: Revision,
        } => {
            code: "workspace.not_found",
            kind: NotFound,
            hint: "list the workspaces; one that is deleted already need not be deleted again",
            cause: "The workspace has no commits, has not reached that revision, or was deleted \
                since it had it. A workspace that was created under the same name afterwards is \
                not deleted.",
            remedy: "Take the revision from `workspace.get` or `workspace.list`. After a lost \
                response, this means that the workspace was deleted.",
        }
        /// The workspace is being read as a whole.
        #[error("workspace `{id}` is being exported, backed up or searched")]
        InUse {
            /// The id.
            id: WorkspaceName,
        } => {
            code: "workspace.in_use",
            kind: Conflict,
            hint: "repeat the request when the export, the backup or the query has ended",
            cause: "An export, a backup, a fork or a query about the past reads the files of the \
                workspace, which deleting it would remove.",
            remedy: "Repeat the request later.",
        }
        /// The workspace was deleted while the call waited.
        #[error("workspace `{id}` was deleted")]
        Deleted {
            /// The id.
            id: WorkspaceName,
        } => {
            code: "workspace.deleted",
            kind: NotFound,
            hint: "nothing that the call waited for exists any more",
            cause: "The workspace was deleted while the call waited in it.",
            remedy: "Start again in an empty workspace of that name, or in another one.",
        }
        /// Nothing is known about the subject.
        #[error("nothing is known about `{subject}`")]
        UnknownSubject {
            /// The given value.
            subject: String,
        } => {
            code: "workspace.unknown_subject",
            kind: NotFound,
            hint: "look for it in the history, or list what exists",
            cause: "No such entry, task or hand-off exists at that time, or existed before.",
            remedy: "Look for it with `search`, or in the history.",
        }
        /// The search filter is invalid.
        #[error(transparent)]
        BadFilter(#[from] BadFilter) => {
            code: "workspace.bad_filter",
            kind: Invalid,
            hint: "write it as described in docs/search.md",
            cause: "It does not follow the filter syntax. The facts `position` (in characters, \
                from 1) and `near` say where; `reason` says why, and `allowed` lists what could \
                be there instead, where possible.",
            remedy: "Write it as described in [search](search.md). Quote a text that has `:`, `<` \
                or `>` after a lowercase word.",
        }
        /// The workspace has more searchable text than an index can hold.
        #[error(transparent)]
        TooLarge(#[from] TooLarge) => {
            code: "workspace.too_large",
            kind: Exhausted,
            hint: "use lists and the history instead",
            cause: "The tasks and messages of the workspace alone exceed the size of an index: \
                see `bytes` and `bytes_max`.",
            remedy: "Use lists and the history instead, or split the data over several workspaces.",
        }
        /// A field of a query about the workspace is invalid.
        #[error(transparent)]
        BadField(#[from] BadField) => {
            code: "workspace.bad_field",
            kind: Invalid,
            hint: "write it as described in docs/time-travel.md",
            cause: "The subject is not an entry, a task or a hand-off; or the cursor was not \
                returned by a previous page.",
            remedy: "Write the subject as `state/` with a namespace and a key, or as `tasks/` or \
                `handoffs/` with an id; use the cursor exactly as returned.",
        }
        /// A number in a query about the workspace is out of range.
        #[error(transparent)]
        OutOfRange(#[from] OutOfRange) => {
            code: "workspace.out_of_range",
            kind: Invalid,
            hint: "use a number within the range",
            cause: "`limit` is 0 or larger than the largest page, or `from` is after `to`.",
            remedy: "Use a number within the range in the response.",
        }
    }
}

impl From<Refused> for Rejection {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Filter(wrong) => wrong.into(),
            Refused::Field(wrong) => wrong.into(),
            Refused::TooLarge(wrong) => wrong.into(),
        }
    }
}
