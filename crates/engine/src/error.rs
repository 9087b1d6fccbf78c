//! What can go wrong besides a refusal, and what that says about the request.

use baton_core::history::Origin;
use baton_core::names::NameError;
use baton_core::wire::Problem;
use baton_core::{Kind, Rejection, Revision, Timestamp, WorkspaceName};
use baton_log::{BlobError, OpenError, ReadError};
use serde_json::{Value, json};
use thiserror::Error;

use crate::codec::CodecError;
use crate::history::run::RunError;
use crate::snapshot::SnapshotError;
use crate::sorted_table::SortedTableError;

/// Why a call did not give what was asked for.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum Error {
    /// The rules said no. Nothing was written.
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// The past that was asked for is no longer kept.
    #[error("revision {asked} of workspace `{workspace}` is gone; the oldest kept is {oldest}")]
    Gone {
        /// Where.
        workspace: WorkspaceName,
        /// What was asked for.
        asked: Revision,
        /// What there is.
        oldest: Revision,
        /// Where the workspace came from, if it was not empty when it began.
        origin: Option<Box<Origin>>,
    },
    /// The time that was asked for lies before what is kept.
    #[error("{asked} in workspace `{workspace}` is gone; the oldest revision is from {oldest}")]
    TimeGone {
        /// Where.
        workspace: WorkspaceName,
        /// What was asked for.
        asked: Timestamp,
        /// When the oldest revision was made that there is.
        oldest: Timestamp,
        /// Where the workspace came from, if it was not empty when it began.
        origin: Option<Box<Origin>>,
    },
    /// Building the past again would take too long.
    #[error(
        "revision {asked} of workspace `{workspace}` is {replayed} batches from the nearest \
             picture, at most {max} are replayed"
    )]
    TooFar {
        /// Where.
        workspace: WorkspaceName,
        /// What was asked for.
        asked: Revision,
        /// How many batches lie between.
        replayed: u64,
        /// The limit.
        max: u64,
    },
    /// The revision has not happened yet.
    #[error("revision {asked} of workspace `{workspace}` does not exist; the newest is {newest}")]
    NotYet {
        /// Where.
        workspace: WorkspaceName,
        /// What was asked for.
        asked: Revision,
        /// What there is.
        newest: Revision,
    },
    /// A watcher took too long, and events were waiting for it up to the limit.
    #[error("the watch fell behind; resume from revision {resume_from}")]
    Lagged {
        /// The first revision that was not delivered.
        resume_from: Revision,
    },
    /// The workspace was dropped from memory after a failed write, or the engine was closed.
    #[error("the watch was interrupted; resume from revision {resume_from}")]
    Interrupted {
        /// The first revision that was not delivered.
        resume_from: Revision,
    },
    /// A watch would have to begin with more entries than fit into one answer.
    #[error("the snapshot to begin with has more than {max} entries")]
    SnapshotTooLarge {
        /// The limit.
        max: usize,
    },
    /// More differences than fit into one answer.
    #[error("revisions {from} and {to} differ in more than {max} keys")]
    DiffTooLarge {
        /// The earlier revision.
        from: Revision,
        /// The later revision.
        to: Revision,
        /// The limit.
        max: usize,
    },
    /// There is no space on the disk. Nothing was written.
    #[error("no space is left for the log; nothing was written")]
    Full,
    /// The disk is nearly full, and for reading only until it is not. Nothing was written.
    #[error("the disk is nearly full: {free} bytes are free, {min} are kept free")]
    DiskLow {
        /// How many bytes are free.
        free: u64,
        /// How many shall be.
        min: u64,
    },
    /// Writing failed. Whether the request was carried out is unknown until the log is opened
    /// again.
    #[error("writing to the log failed, the outcome is unknown: {reason}")]
    Unknown {
        /// What the log said.
        reason: String,
    },
    /// The engine has stopped after a failed write. Nothing was written.
    #[error("the engine has stopped after a failed write: {reason}")]
    Stopped {
        /// What the log said then.
        reason: String,
    },
    /// The engine was closed. Nothing was written.
    #[error("the engine is closed")]
    Closed,
    /// Stored data is damaged.
    #[error("stored data is damaged: {what}")]
    Corrupt {
        /// What does not fit, and where.
        what: String,
    },
    /// Stored data was written by a newer program.
    #[error("stored data was written by a newer program: {what}")]
    Newer {
        /// What is newer.
        what: String,
    },
    /// What shall be imported was written by a newer program.
    #[error("the export has format {format}, the newest that is known is {known}")]
    ImportNewer {
        /// Its format.
        format: u16,
        /// The newest that is known.
        known: u16,
    },
    /// What shall be imported is not what was exported.
    #[error("the export is damaged: {what}")]
    ImportDamaged {
        /// What is wrong with it.
        what: String,
    },
    /// The backup was taken by a newer program.
    #[error("the backup has format {format}, the newest that is known is {known}")]
    BackupNewer {
        /// Its format.
        format: u16,
        /// The newest that is known.
        known: u16,
    },
    /// The backup is not what was written.
    #[error("the backup is damaged: {what}")]
    BackupDamaged {
        /// What is wrong with it.
        what: String,
    },
    /// Something is where a backup shall be restored to.
    #[error("`{place}` is not empty")]
    RestoreTaken {
        /// Where.
        place: String,
    },
    /// The storage did not answer.
    #[error("the storage failed: {what}")]
    Storage {
        /// What it said.
        what: String,
    },
    /// Artifacts are elsewhere, and that cannot be reached now. Nothing was recorded.
    #[error("the store of artifacts cannot be reached: {reason}")]
    StoreUnavailable {
        /// What it, or the network, said.
        reason: String,
    },
    /// The folder could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
}

impl Error {
    /// Stable across releases; documented in `docs/errors.md`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Rejected(rejection) => rejection.code(),
            Self::Gone { .. } => "history.gone",
            Self::TimeGone { .. } => "history.time_gone",
            Self::TooFar { .. } => "history.too_far",
            Self::NotYet { .. } => "history.not_yet",
            Self::Lagged { .. } => "watch.lagged",
            Self::Interrupted { .. } => "watch.interrupted",
            Self::SnapshotTooLarge { .. } => "watch.snapshot_too_large",
            Self::DiffTooLarge { .. } => "history.diff_too_large",
            Self::Full => "engine.full",
            Self::DiskLow { .. } => "engine.disk_low",
            Self::Unknown { .. } => "engine.unknown_outcome",
            Self::Stopped { .. } => "engine.stopped",
            Self::Closed => "engine.closed",
            Self::Corrupt { .. } => "engine.corrupt",
            Self::Newer { .. } => "engine.newer",
            Self::ImportNewer { .. } => "import.newer",
            Self::ImportDamaged { .. } => "import.damaged",
            Self::BackupNewer { .. } => "backup.newer",
            Self::BackupDamaged { .. } => "backup.damaged",
            Self::RestoreTaken { .. } => "restore.not_empty",
            Self::Storage { .. } => "engine.storage",
            Self::StoreUnavailable { .. } => "artifact.store_unavailable",
            Self::Open(error) => error.code(),
        }
    }

    /// What the caller should do about it.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Rejected(rejection) => rejection.kind(),
            Self::Gone { .. } | Self::TimeGone { .. } => Kind::NotFound,
            Self::NotYet { .. }
            | Self::ImportNewer { .. }
            | Self::ImportDamaged { .. }
            | Self::BackupNewer { .. }
            | Self::BackupDamaged { .. } => Kind::Invalid,
            Self::RestoreTaken { .. } => Kind::Conflict,
            Self::Lagged { .. } | Self::DiskLow { .. } => Kind::Exhausted,
            Self::SnapshotTooLarge { .. } | Self::DiffTooLarge { .. } | Self::TooFar { .. } => {
                Kind::TooLarge
            }
            Self::Interrupted { .. }
            | Self::Full
            | Self::Unknown { .. }
            | Self::Stopped { .. }
            | Self::Closed
            | Self::Corrupt { .. }
            | Self::Newer { .. }
            | Self::Storage { .. }
            | Self::StoreUnavailable { .. }
            | Self::Open(_) => Kind::Unavailable,
        }
    }

    /// What to do next, as a sentence.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Rejected(rejection) => rejection.hint(),
            Self::Gone { origin: Some(_), .. } | Self::TimeGone { origin: Some(_), .. } => {
                "use the workspace that this one came from, or start from the oldest revision"
            }
            Self::Gone { .. } | Self::TimeGone { .. } => {
                "start from the oldest revision, or read the present"
            }
            Self::TooFar { .. } => "read entries with state.get, which needs no replay",
            Self::NotYet { .. } => "read the present to learn the newest revision",
            Self::Lagged { .. } | Self::Interrupted { .. } => "watch again from that revision",
            Self::SnapshotTooLarge { .. } => {
                "watch a narrower pattern, or page with state.snapshot"
            }
            Self::DiffTooLarge { .. } => {
                "name a namespace, or compare revisions that are closer together"
            }
            Self::Full => "free space on the disk, then retry",
            Self::DiskLow { .. } => {
                "free space on the disk; reads still work, and writes resume automatically"
            }
            Self::Unknown { .. } => "open the data again, then retry with the same idempotency key",
            Self::Stopped { .. } => "check the disk, then open the data again",
            Self::Closed => "open the data again",
            Self::Corrupt { .. } => "keep a copy of the folder, then run `baton log verify`",
            Self::Newer { .. } => "use the version that wrote the data, or a later one",
            Self::ImportNewer { .. } => "import it with the version that wrote it, or a later one",
            Self::ImportDamaged { .. } => "export it again, or use another copy",
            Self::BackupNewer { .. } => {
                "restore it with the version that made it, or a later one, then upgrade"
            }
            Self::BackupDamaged { .. } => "use another copy; nothing was restored",
            Self::RestoreTaken { .. } => "name a folder that is empty or does not exist",
            Self::Storage { .. } => "check the disk, then retry",
            Self::StoreUnavailable { .. } => {
                "retry; if it persists, check the bucket and the network"
            }
            Self::Open(error) => error.hint(),
        }
    }

    /// Whether the request may have been carried out although it failed. Everything else that
    /// fails was not.
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
            Error::Lagged { resume_from } | Error::Interrupted { resume_from } => {
                json!({"resume_from": resume_from})
            }
            Error::SnapshotTooLarge { max } => json!({"max": max}),
            Error::DiskLow { free, min } => json!({"free": free, "min": min}),
            Error::ImportNewer { format, known } | Error::BackupNewer { format, known } => {
                json!({"format": format, "known": known})
            }
            Error::ImportDamaged { what } | Error::BackupDamaged { what } => json!({"what": what}),
            Error::RestoreTaken { place } => json!({"place": place}),
            Error::DiffTooLarge { from, to, max } => json!({"from": from, "to": to, "max": max}),
            Error::Full
            | Error::Unknown { .. }
            | Error::Stopped { .. }
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
