//! Errors other than rejections, and the effect of each on the request.

use baton_core::history::Origin;
use baton_core::names::NameError;
use baton_core::wire::Problem;
use baton_core::{Rejection, Revision, Timestamp, WorkspaceName};
use baton_log::{BlobError, OpenError, ReadError};
use serde_json::{Value, json};
use thiserror::Error;

use crate::codec::CodecError;
use crate::history::run::RunError;
use crate::snapshot::SnapshotError;
use crate::sorted_table::SortedTableError;

baton_core::refusals! {
    /// Why a call failed.
    #[derive(Clone, Debug, PartialEq, Error)]
    pub enum Error {
        /// The requested revision is no longer kept.
        #[error("revision {asked} of workspace `{workspace}` is gone; the oldest kept is {oldest}")]
        Gone {
            /// The workspace.
            workspace: WorkspaceName,
            /// The requested revision.
            asked: Revision,
            /// The oldest revision that is kept.
            oldest: Revision,
            /// The origin of the workspace, if it was forked or imported.
            origin: Option<Box<Origin>>,
        } => {
            code: "history.gone",
            kind: NotFound,
            hint: "start from the oldest revision, or read the present",
            hint_if: { origin: Some(_) } => "use the workspace that this one came from, or start \
                from the oldest revision",
            cause: "It is older than the retention of the workspace, `history_count` or \
                `history_age_ms`.",
            remedy: "Continue from the oldest revision in the response, or read the present. If \
                the workspace was forked or imported, the response contains its `origin`, which \
                may still have the earlier history.",
        }
        /// The requested time is before the kept history.
        #[error("{asked} in workspace `{workspace}` is gone; the oldest revision is from {oldest}")]
        TimeGone {
            /// The workspace.
            workspace: WorkspaceName,
            /// The requested time.
            asked: Timestamp,
            /// The time of the oldest revision that is kept.
            oldest: Timestamp,
            /// The origin of the workspace, if it was forked or imported.
            origin: Option<Box<Origin>>,
        } => {
            code: "history.time_gone",
            kind: NotFound,
            hint: "start from the oldest revision, or read the present",
            hint_if: { origin: Some(_) } => "use the workspace that this one came from, or start \
                from the oldest revision",
            cause: "The oldest kept revision is newer.",
            remedy: "Use the time in the response or a later one. If the workspace was forked or \
                imported, the response contains its `origin`, which may still have the earlier \
                history.",
        }
        /// Reconstructing the past state would take too long.
        #[error(
            "revision {asked} of workspace `{workspace}` is {replayed} batches after the nearest \
             snapshot; at most {max} are replayed"
        )]
        TooFar {
            /// The workspace.
            workspace: WorkspaceName,
            /// The requested revision.
            asked: Revision,
            /// How many batches would have to be replayed.
            replayed: u64,
            /// The limit.
            max: u64,
        } => {
            code: "history.too_far",
            kind: TooLarge,
            hint: "read entries with state.get, which needs no replay",
            cause: "More batches than the engine's `past_batches_max` lie between the revision and \
                the nearest earlier snapshot.",
            remedy: "Read entries with `state.get`, `state.list` or `state.history`, which use an \
                index and need no replay; or choose a later revision.",
        }
        /// The requested revision does not exist yet.
        #[error(
            "revision {asked} of workspace `{workspace}` does not exist; the newest is {newest}"
        )]
        NotYet {
            /// The workspace.
            workspace: WorkspaceName,
            /// The requested revision.
            asked: Revision,
            /// The newest revision.
            newest: Revision,
        } => {
            code: "history.not_yet",
            kind: Invalid,
            hint: "read the present to learn the newest revision",
            cause: "It is larger than the newest one, for example because it belongs to another \
                workspace.",
        }
        /// A watch was to start both with a snapshot and from a revision.
        #[error("the field `{field}` is invalid: {reason}")]
        TwoStarts {
            /// The field.
            field: &'static str,
            /// The reason.
            reason: &'static str,
        } => {
            code: "request.bad_field",
            kind: Invalid,
            hint: "leave out `from` to start with the present entries, or `snapshot` to start from \
                that revision",
        }
        /// The watcher fell too far behind.
        #[error("the watch fell behind; resume from revision {resume_from}")]
        Lagged {
            /// The first revision that was not delivered.
            resume_from: Revision,
        } => {
            code: "watch.lagged",
            kind: Exhausted,
            hint: "watch again from that revision",
            cause: "It reads more slowly than the workspace changes, and its queue of events \
                reached the limit.",
            remedy: "Watch again from `resume_from`; nothing is lost. Watch a narrower pattern, or \
                read faster.",
        }
        /// The watch was interrupted.
        #[error("the watch was interrupted; resume from revision {resume_from}")]
        Interrupted {
            /// The first revision that was not delivered.
            resume_from: Revision,
        } => {
            code: "watch.interrupted",
            kind: Unavailable,
            hint: "watch again from that revision",
            cause: "The workspace was unloaded after a failed write, or the engine was closed.",
            remedy: "Watch again from `resume_from`; nothing is lost.",
        }
        /// The initial snapshot of the watch is too large.
        #[error("the initial snapshot of the watch has more than {max} entries")]
        SnapshotTooLarge {
            /// The limit.
            max: usize,
        } => {
            code: "watch.snapshot_too_large",
            kind: TooLarge,
            hint: "watch a narrower pattern, or page with state.snapshot",
            cause: "Its pattern matches more than 10000 entries.",
            remedy: "Watch a narrower pattern, or page with `state.snapshot` and watch from its \
                revision.",
        }
        /// The two revisions differ in too many keys.
        #[error("revisions {from} and {to} differ in more than {max} keys")]
        DiffTooLarge {
            /// The earlier revision.
            from: Revision,
            /// The later revision.
            to: Revision,
            /// The limit.
            max: usize,
        } => {
            code: "history.diff_too_large",
            kind: TooLarge,
            hint: "name a namespace, or compare revisions that are closer together",
            cause: "More than 10000 keys differ.",
        }
        /// There is no space left for the log.
        #[error("no space is left for the log; nothing was written")]
        Full => {
            code: "engine.full",
            kind: Unavailable,
            hint: "free space on the disk, then retry",
            cause: "The disk or its quota is full. Nothing was written.",
            remedy: "Free some space, then retry.",
        }
        /// The disk is nearly full: the server is read-only until space is freed.
        #[error("the disk is nearly full: only {free} bytes are free; {min} are reserved")]
        DiskLow {
            /// How many bytes are free.
            free: u64,
            /// How many must be free.
            min: u64,
        } => {
            code: "engine.disk_low",
            kind: Exhausted,
            hint: "free space on the disk; reads still work, and writes resume automatically",
            cause: "Fewer than `min` bytes are `free` on the disk with the data. Nothing was \
                written. Reads, watches and queries about the past still work.",
            remedy: "Free disk space, or move the data to a larger disk. Writes resume \
                automatically once `min` plus a quarter is free.",
        }
        /// A write failed, and it is unknown whether the request was executed.
        #[error("writing to the log failed, the outcome is unknown: {reason}")]
        Unknown {
            /// The log's error.
            reason: String,
        } => {
            code: "engine.unknown_outcome",
            kind: Unavailable,
            hint: "retry with the same idempotency key, after the data was opened again; servers \
                that share a log do that within seconds",
            cause: "The disk, or the database of a shared log, failed while the request was being \
                written.",
            remedy: "Open the data again (servers that share a log do that within seconds), then \
                retry with the same idempotency key: the request is executed at most once.",
        }
        /// The engine has stopped after a failed write.
        #[error("the engine has stopped after a failed write: {reason}")]
        Stopped {
            /// The log's error at that time.
            reason: String,
        } => {
            code: "engine.stopped",
            kind: Unavailable,
            hint: "check the disk, then open the data again; with a shared log, retry: its shard \
                is opened again within seconds",
            cause: "An earlier write failed; continuing could contradict the stored data. Nothing \
                was written.",
            remedy: "Check the disk, then open the data again. Servers that share a log in \
                PostgreSQL or NATS open the shard again within seconds: retry, and if it lasts, \
                check the database and the log of the server.",
        }
        /// Another server has taken the log over. The request was not executed.
        #[error("another server has taken over; the request was not executed")]
        Fenced => {
            code: "log.fenced",
            kind: Unavailable,
            hint: "send the request again, to the server that is the leader now",
        }
        /// The log has lost acknowledged writes. The request was not executed.
        #[error("{reason}; the request was not executed")]
        WentBack {
            /// The log's error.
            reason: String,
        } => {
            code: "log.went_back",
            kind: Unavailable,
            hint: "retry: the data is opened again with what the log has; compare it with what was \
                acknowledged",
        }
        /// The database of the log does not answer, so another server may own the log.
        #[error("the database of the log does not answer")]
        Away => {
            code: "log.away",
            kind: Unavailable,
            hint: "retry; another server takes over if this one cannot reach the database",
        }
        /// The engine is closed.
        #[error("the engine is closed")]
        Closed => {
            code: "engine.closed",
            kind: Unavailable,
            hint: "open the data again",
            cause: "It was shut down. Nothing was written.",
        }
        /// Stored data is damaged.
        #[error("stored data is damaged: {what}")]
        Corrupt {
            /// The mismatch and its place.
            what: String,
        } => {
            code: "engine.corrupt",
            kind: Unavailable,
            hint: "keep a copy of the folder, then run `baton log verify`",
            cause: "A checksum or a length does not match; the detail says where.",
        }
        /// Stored data was written by a newer version.
        #[error("stored data was written by a newer program: {what}")]
        Newer {
            /// The part that is newer.
            what: String,
        } => {
            code: "engine.newer",
            kind: Unavailable,
            hint: "use the version that wrote the data, or a later one",
            cause: "The data has a format that this version does not know.",
            remedy: "Use the version that wrote it, or a later one.",
        }
        /// The export was written by a newer version.
        #[error("the export has format {format}; this version supports formats up to {known}")]
        ImportNewer {
            /// Its format.
            format: u16,
            /// The newest that is known.
            known: u16,
        } => {
            code: "import.newer",
            kind: Invalid,
            hint: "import it with the version that wrote it, or a later one",
            cause: "The export has a `format` that only newer versions know; `known` is the newest \
                format of this version.",
            remedy: "Import it with that version or a later one. Nothing was written.",
        }
        /// The export is damaged.
        #[error("the export is damaged: {what}")]
        ImportDamaged {
            /// The reason.
            what: String,
        } => {
            code: "import.damaged",
            kind: Invalid,
            hint: "export it again, or use another copy",
            cause: "The data is not an export of a workspace, is truncated, or was altered. The \
                fact `what` says how this was detected.",
            remedy: "Use another copy, or export again. Nothing was written.",
        }
        /// The backup was made by a newer version.
        #[error("the backup has format {format}; this version supports formats up to {known}")]
        BackupNewer {
            /// Its format.
            format: u16,
            /// The newest that is known.
            known: u16,
        } => {
            code: "backup.newer",
            kind: Invalid,
            hint: "restore it with the version that made it, or a later one, then upgrade",
            cause: "It has a `format` that only newer versions know; `known` is the newest format \
                of this version.",
            remedy: "Restore it with the version that made it, or a later one. Nothing was \
                restored.",
        }
        /// The backup is damaged.
        #[error("the backup is damaged: {what}")]
        BackupDamaged {
            /// The reason.
            what: String,
        } => {
            code: "backup.damaged",
            kind: Invalid,
            hint: "use another copy; nothing was restored",
            cause: "It is not a backup, is truncated, or was altered; or a workspace in it cannot \
                be loaded. The fact `what` says how this was detected.",
            remedy: "Use another copy. Nothing was restored, and nothing is left behind.",
        }
        /// The target of the restore is not empty.
        #[error("`{place}` is not empty")]
        RestoreTaken {
            /// The workspace.
            place: String,
        } => {
            code: "restore.not_empty",
            kind: Conflict,
            hint: "name a folder that is empty or does not exist; remove `FOLDER.restoring`, which \
                an interrupted restore leaves",
            cause: "The folder is not empty, or an interrupted restore has left `FOLDER.restoring` \
                next to it, or the schema or prefix of a shared log has data; the fact `place` \
                names it.",
            remedy: "Name a folder that is empty or does not exist, or an empty schema or prefix; \
                remove what the interrupted restore left.",
        }
        /// The shared log that is the target of the restore is not empty.
        #[error("`{place}` is not empty")]
        RestoreLogTaken {
            /// The log.
            place: String,
        } => {
            code: "restore.not_empty",
            kind: Conflict,
            hint: "name another schema or prefix; or delete this one (`drop schema … cascade` in \
                PostgreSQL, the streams of the prefix in NATS) if an interrupted restore left it",
        }
        /// The storage failed.
        #[error("the storage failed: {what}")]
        Storage {
            /// The storage's error.
            what: String,
        } => {
            code: "engine.storage",
            kind: Unavailable,
            hint: "check the disk, then retry",
            cause: "Reading or writing a file failed; the detail contains the system's error.",
            remedy: "Check the disk and its permissions, then retry.",
        }
        /// The bucket that stores artifacts cannot be reached.
        #[error("the store of artifacts cannot be reached: {reason}")]
        StoreUnavailable {
            /// The error of the store or of the network.
            reason: String,
        } => {
            code: "artifact.store_unavailable",
            kind: Unavailable,
            hint: "retry; if it persists, check the bucket and the network",
            cause: "The server stores artifacts in a bucket (`baton serve --artifacts s3://…`), \
                and the bucket or the network did not respond, or refused the request. Nothing was \
                recorded; everything except artifact content keeps working.",
            remedy: "Retry: uploading the same content twice is harmless. If it persists, check \
                the bucket, its keys and the network; the detail contains their error.",
        }
    }
    transparent {
        /// The rules rejected the request. Nothing was written.
        Rejected(Rejection),
        /// The folder could not be opened.
        Open(OpenError) as Unavailable,
    }
}

impl Error {
    /// Whether the request may have been executed although it failed. All other failed requests
    /// were not.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown { .. })
    }
}

impl From<&Error> for Problem {
    fn from(error: &Error) -> Self {
        let facts = match error {
            Error::Rejected(rejection) => return Self::from(rejection),
            Error::Gone { workspace, asked, oldest, origin } => {
                let facts = json!({"workspace": workspace, "asked": asked, "oldest": oldest});
                with_origin(facts, origin.as_deref())
            }
            Error::TimeGone { workspace, asked, oldest, origin } => {
                let facts = json!({"workspace": workspace, "asked": asked, "oldest": oldest});
                with_origin(facts, origin.as_deref())
            }
            Error::TooFar { workspace, asked, replayed, max } => json!({
                "workspace": workspace, "asked": asked, "replayed": replayed, "max": max,
            }),
            Error::NotYet { workspace, asked, newest } => {
                json!({"workspace": workspace, "asked": asked, "newest": newest})
            }
            Error::TwoStarts { field, reason } => json!({"field": field, "reason": reason}),
            Error::Lagged { resume_from } | Error::Interrupted { resume_from } => {
                json!({"resume_from": resume_from})
            }
            Error::SnapshotTooLarge { max } => json!({"max": max}),
            Error::DiskLow { free, min } => json!({"free": free, "min": min}),
            Error::ImportNewer { format, known } | Error::BackupNewer { format, known } => {
                json!({"format": format, "known": known})
            }
            Error::ImportDamaged { what } | Error::BackupDamaged { what } => json!({"what": what}),
            Error::RestoreTaken { place } | Error::RestoreLogTaken { place } => {
                json!({"place": place})
            }
            Error::DiffTooLarge { from, to, max } => json!({"from": from, "to": to, "max": max}),
            Error::Full
            | Error::Unknown { .. }
            | Error::Stopped { .. }
            | Error::Away
            | Error::Fenced
            | Error::WentBack { .. }
            | Error::Closed
            | Error::Corrupt { .. }
            | Error::Newer { .. }
            | Error::Storage { .. }
            | Error::StoreUnavailable { .. }
            | Error::Open(_) => json!({}),
        };
        Self::new(error.code(), error.kind(), error, error.hint(), &facts)
    }
}

fn with_origin(mut facts: Value, origin: Option<&Origin>) -> Value {
    if let Some(origin) = origin {
        facts["origin"] = json!(origin);
    }
    facts
}

impl From<NameError> for Error {
    fn from(error: NameError) -> Self {
        Self::Rejected(error.into())
    }
}

impl From<CodecError> for Error {
    fn from(error: CodecError) -> Self {
        match error {
            CodecError::Corrupt { .. } => Self::Corrupt { what: error.to_string() },
            CodecError::Newer { .. } => Self::Newer { what: error.to_string() },
        }
    }
}

impl From<SortedTableError> for Error {
    fn from(error: SortedTableError) -> Self {
        match error {
            SortedTableError::Newer { .. } => Self::Newer { what: error.to_string() },
            SortedTableError::Corrupt { .. } => Self::Corrupt { what: error.to_string() },
            SortedTableError::TooLarge { .. } => Self::Storage { what: error.to_string() },
            SortedTableError::Blob(error) => error.into(),
        }
    }
}

impl From<RunError> for Error {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Newer { .. } => Self::Newer { what: error.to_string() },
            RunError::Corrupt { .. } => Self::Corrupt { what: error.to_string() },
            RunError::Empty | RunError::Outside { .. } | RunError::TooLarge { .. } => {
                Self::Storage { what: error.to_string() }
            }
            RunError::Blob(error) => error.into(),
        }
    }
}

impl From<SnapshotError> for Error {
    fn from(error: SnapshotError) -> Self {
        match error {
            SnapshotError::SortedTable(error) => error.into(),
            SnapshotError::Codec(error) => error.into(),
        }
    }
}

impl From<BlobError> for Error {
    fn from(error: BlobError) -> Self {
        match error {
            BlobError::Unreachable(reason) => Self::StoreUnavailable { reason },
            BlobError::Fenced => Self::Fenced,
            error => Self::Storage { what: error.to_string() },
        }
    }
}

impl From<ReadError> for Error {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Corrupt { .. } => Self::Corrupt { what: error.to_string() },
            ReadError::Truncated { .. } | ReadError::BeyondTail { .. } | ReadError::Failed(_) => {
                Self::Storage { what: error.to_string() }
            }
        }
    }
}
