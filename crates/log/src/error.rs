//! What can go wrong with a log. Every error has a stable code and says whether anything changed.

use std::path::PathBuf;

use thiserror::Error;

use crate::contract::Position;

/// Why a record was not appended, or why that is not known.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AppendError {
    /// Another writer was faster. Nothing was written; stop and read what it wrote.
    #[error("the log goes on at position {tail}, not at {expected}: another writer appended")]
    Fenced {
        /// The tail as the caller knew it.
        expected: Position,
        /// The tail as it is.
        tail: Position,
    },
    /// The record can never be appended to this log. Nothing was written.
    #[error("a record of {bytes} bytes exceeds the limit of {bytes_max} bytes")]
    TooLarge {
        /// The size of the body.
        bytes: usize,
        /// The largest body this log takes.
        bytes_max: usize,
    },
    /// There is no space left. Nothing was written, the log is healthy, later appends may work.
    #[error("no space is left for the log")]
    Full,
    /// A write or sync failed. Whether this record is durable is unknown, and every append fails
    /// from now on until the log is opened again.
    #[error("the log failed and takes no more records until it is opened again: {0}")]
    Failed(String),
}

impl AppendError {
    /// Stable across releases.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Fenced { .. } => "log.fenced",
            Self::TooLarge { .. } => "log.too_large",
            Self::Full => "log.full",
            Self::Failed(_) => "log.failed",
        }
    }
}

/// Why records could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ReadError {
    /// The record is no longer held.
    #[error("position {position} was truncated, the log starts at {start}")]
    Truncated {
        /// The position that was asked for.
        position: Position,
        /// The oldest position still held.
        start: Position,
    },
    /// There is no such record yet, or the part reaches beyond the last one.
    #[error("position {position} is beyond the tail at {tail}")]
    BeyondTail {
        /// The position that was asked for.
        position: Position,
        /// Where the next record will begin.
        tail: Position,
    },
    /// What is stored is not what was appended, or `position` is not the beginning of a record.
    #[error("the record at position {position} is damaged: {reason}")]
    Corrupt {
        /// The position of the record.
        position: Position,
        /// What does not fit, and where.
        reason: String,
    },
    /// The storage did not answer.
    #[error("the log could not be read: {0}")]
    Failed(String),
}

impl ReadError {
    /// Stable across releases.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Truncated { .. } => "log.truncated",
            Self::BeyondTail { .. } => "log.beyond_tail",
            Self::Corrupt { .. } => "log.corrupt",
            Self::Failed(_) => "log.failed",
        }
    }
}

/// Why records could not be let go.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TruncateError {
    /// Records that do not exist yet cannot be unneeded. Nothing changed.
    #[error("cannot truncate before position {before}, the tail is at {tail}")]
    BeyondTail {
        /// The position that was given.
        before: Position,
        /// Where the next record will begin.
        tail: Position,
    },
    /// The storage failed. Some records may be gone, none that is needed; appends fail from now on
    /// until the log is opened again.
    #[error("the log could not be truncated and takes no more records: {0}")]
    Failed(String),
}

impl TruncateError {
    /// Stable across releases.
    pub fn code(&self) -> &'static str {
        match self {
            Self::BeyondTail { .. } => "log.beyond_tail",
            Self::Failed(_) => "log.failed",
        }
    }
}

/// Why a blob could not be written, read, listed or deleted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BlobError {
    /// The name can never be that of a blob.
    #[error("`{name}` is not a blob name: {reason}")]
    Name {
        /// The name as it was given.
        name: String,
        /// The rule it breaks.
        reason: &'static str,
    },
    /// Blobs are immutable, and this one exists or is being written.
    #[error("blob `{name}` exists")]
    Exists {
        /// The name of the blob.
        name: String,
    },
    /// The read reaches beyond the end.
    #[error("bytes {offset} to {end} are beyond the end of a blob of {length} bytes")]
    OutOfRange {
        /// The first byte that was asked for.
        offset: u64,
        /// The byte after the last one that was asked for.
        end: u64,
        /// How many bytes the blob has.
        length: u64,
    },
    /// There is no space left. The blob does not exist.
    #[error("no space is left for the blob")]
    Full,
    /// The storage failed.
    #[error("the blob could not be kept or read: {0}")]
    Failed(String),
    /// The blobs are elsewhere, and that cannot be reached now. What was asked for may or may not
    /// have been done, but never in part; it can be asked for again.
    #[error("the store of artifacts cannot be reached: {0}")]
    Unreachable(String),
}

impl BlobError {
    /// Stable across releases.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Name { .. } => "log.blob_name",
            Self::Exists { .. } => "log.blob_exists",
            Self::OutOfRange { .. } => "log.blob_out_of_range",
            Self::Full => "log.full",
            Self::Failed(_) => "log.failed",
            Self::Unreachable(_) => "artifact.store_unavailable",
        }
    }
}

/// Why a log could not be opened, verified or repaired.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OpenError {
    /// Another process, or another part of this one, has the log open.
    #[error("`{}` is in use by {holder}", folder.display())]
    InUse {
        /// The folder of the log.
        folder: PathBuf,
        /// Who has it, as far as it is known.
        holder: String,
    },
    /// The log was written by a newer Baton. It is refused, not guessed at.
    #[error("the log has format {found}, this program reads formats up to {supported}")]
    Newer {
        /// The format of the log.
        found: u32,
        /// The newest format this program knows.
        supported: u32,
    },
    /// Acknowledged records are damaged or missing. Nothing was changed.
    #[error(
        "`{}` is damaged at byte {offset}: {reason}; `baton log repair` cuts the log there and \
         keeps what is cut off",
        file.display()
    )]
    Corrupt {
        /// The damaged file.
        file: PathBuf,
        /// The byte in it where the damage begins.
        offset: u64,
        /// What does not fit.
        reason: String,
    },
    /// The options contradict each other or the limits.
    #[error("the log cannot be opened so: {reason}")]
    Options {
        /// The rule they break.
        reason: String,
    },
    /// There is no space left for the first segment.
    #[error("no space is left for the log in `{}`", folder.display())]
    Full {
        /// The folder of the log.
        folder: PathBuf,
    },
    /// The storage did not answer.
    #[error("`{}` could not be opened: {reason}", path.display())]
    Failed {
        /// What was being read or written.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
}

impl OpenError {
    /// Stable across releases.
    pub fn code(&self) -> &'static str {
        match self {
            Self::InUse { .. } => "log.in_use",
            Self::Newer { .. } => "log.newer",
            Self::Corrupt { .. } => "log.corrupt",
            Self::Options { .. } => "log.options",
            Self::Full { .. } => "log.full",
            Self::Failed { .. } => "log.failed",
        }
    }

    /// What to do next, as a sentence.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::InUse { .. } => "stop the program that uses the folder, or name another one",
            Self::Newer { .. } => "use the version that wrote the data, or a later one",
            Self::Corrupt { .. } => {
                "keep a copy of the folder, then see `baton log verify` and `baton log repair`"
            }
            Self::Options { .. } => "correct the options as the detail says",
            Self::Full { .. } => "free space on the disk, then retry",
            Self::Failed { .. } => "check that the folder exists and is accessible, then retry",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_read_well_and_keep_their_codes() {
        let (one, two) = (Position(1), Position(2));
        let folder = || PathBuf::from("/data");
        let said = [
            AppendError::Fenced { expected: one, tail: two }.to_string(),
            AppendError::TooLarge { bytes: 2, bytes_max: 1 }.to_string(),
            AppendError::Failed("no answer".to_owned()).to_string(),
            ReadError::Truncated { position: one, start: two }.to_string(),
            ReadError::BeyondTail { position: two, tail: one }.to_string(),
            BlobError::Exists { name: "a/b".to_owned() }.to_string(),
            BlobError::OutOfRange { offset: 4, end: 7, length: 6 }.to_string(),
            OpenError::InUse { folder: folder(), holder: "process 7".to_owned() }.to_string(),
            OpenError::Newer { found: 2, supported: 1 }.to_string(),
            OpenError::Full { folder: folder() }.to_string(),
        ];
        let expected = [
            "the log goes on at position 2, not at 1: another writer appended",
            "a record of 2 bytes exceeds the limit of 1 bytes",
            "the log failed and takes no more records until it is opened again: no answer",
            "position 1 was truncated, the log starts at 2",
            "position 2 is beyond the tail at 1",
            "blob `a/b` exists",
            "bytes 4 to 7 are beyond the end of a blob of 6 bytes",
            "`/data` is in use by process 7",
            "the log has format 2, this program reads formats up to 1",
            "no space is left for the log in `/data`",
        ];
        assert_eq!(said, expected);
        assert_eq!(AppendError::Full.code(), "log.full");
        assert_eq!(OpenError::Newer { found: 2, supported: 1 }.code(), "log.newer");
    }
}
