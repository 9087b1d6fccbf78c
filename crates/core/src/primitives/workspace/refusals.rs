//! The reasons to refuse commands and queries of the workspace itself.

use serde::Serialize;
use thiserror::Error;

use crate::history::Origin;
use crate::names::{CopyId, WorkspaceName};
use crate::numbers::Revision;
use crate::refusal::{BadField, OutOfRange, TooLarge};
use crate::search::{BadFilter, Refused};
use crate::sync::Conflict;

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
        /// The workspace does not exist, or was created later under the same name.
        #[error("there is no workspace `{id}` with revision {revision}")]
        NotFound {
            /// The id.
            id: WorkspaceName,
            /// The given revision.
            revision: Revision,
        } => {
            code: "workspace.not_found",
            kind: NotFound,
            hint: "list the workspaces with workspace.list; a deleted one need not be deleted \
                again",
            cause: "The workspace has no commits, has not reached that revision, or has been \
                deleted since. A later workspace of the same name is not deleted.",
            remedy: "Take the revision from `workspace.get` or `workspace.list`. After a lost \
                response, this means that the workspace was deleted.",
        }
        /// Another operation is reading the whole workspace.
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
            hint: "start again in an empty workspace of that name, or use another one",
            cause: "The workspace was deleted while the call waited in it.",
            remedy: "Start again in an empty workspace of that name, or in another one.",
        }
        /// A workspace cannot be synchronized with itself.
        #[error("both workspaces are the copy `{copy}`")]
        SameCopy {
            /// The copy.
            copy: CopyId,
        } => {
            code: "workspace.same_copy",
            kind: Conflict,
            hint: "copy the workspace by a fork, or by an export and an import",
            cause: "Both workspaces are the same copy: the same workspace twice, two workspaces \
                that started independently under the same name, or one of them was restored from \
                a backup of the other.",
            remedy: "Synchronize a workspace with one that was forked or imported from it. After \
                a restore, import an export under another name instead.",
        }
        /// The two workspaces do not share a revision that both still know.
        #[error("`{workspace}` has no revision in common with the copy `{with}`")]
        NoCommonRevision {
            /// The workspace.
            workspace: WorkspaceName,
            /// The other copy.
            with: CopyId,
        } => {
            code: "workspace.no_common_revision",
            kind: Conflict,
            hint: "synchronize each of them with the workspace that both came from",
            cause: "Neither was forked or imported from the other; or both came from a third at \
                different revisions; or the other is a later workspace of the same name; or it \
                was copied by a version that did not record its origin.",
            remedy: "Synchronize each of them with the workspace that both came from, then with \
                each other. If there is none, copy the entries.",
        }
        /// Conflicts need a decision.
        #[error("a decision is needed for {keys}", keys = named(conflicts, *count))]
        SyncConflict {
            /// The number of conflicts.
            count: usize,
            /// The first of them.
            conflicts: Vec<Conflict>,
        } => {
            code: "workspace.sync_conflict",
            kind: Conflict,
            hint: "repeat the request with a decision for each conflict",
            cause: "Both copies have changed a key whose namespace has the rule `reject`, or is \
                append-only. Nothing was written.",
            remedy: "Choose a value for each of `conflicts` and repeat the request with \
                `decisions`, `baton workspace sync` with `--ours` or `--theirs`.",
        }
        /// This copy has changed since its document was read.
        #[error("the workspace has changed since revision {revision}; it is now at {newest}")]
        SyncStale {
            /// The revision of the document.
            revision: Revision,
            /// The current revision.
            newest: Revision,
        } => {
            code: "workspace.sync_stale",
            kind: Conflict,
            hint: "read `ours` again with `workspace.changes`, and repeat the request",
            cause: "An entry, a namespace or what is included of other copies has changed since \
                `ours` was read, or `ours` does not list all keys and namespaces of `theirs`.",
            remedy: "Read `ours` again with `workspace.changes` for the keys and namespaces of \
                `theirs`, and repeat the request.",
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

/// The keys of conflicts, as text: the first few of them, and how many more there are.
fn named(conflicts: &[Conflict], count: usize) -> String {
    const SHOWN_MAX: usize = 5;
    let shown = conflicts.iter().take(SHOWN_MAX);
    let shown: Vec<String> = shown.map(|it| format!("`{}/{}`", it.namespace, it.key)).collect();
    match count - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
