//! Errors of a log. Each has a stable code and documents whether anything changed.

use std::path::PathBuf;

use thiserror::Error;

use crate::contract::Position;
use crate::refusals::refusals;

refusals! {
    /// Why a record was not appended, or why the outcome is unknown.
    #[derive(Clone, Debug, PartialEq, Eq, Error)]
    pub enum AppendError {
        /// Another writer has written to the log.
        #[error("the log ends at position {tail}, not at {expected}: another server wrote to it")]
        Fenced {
            /// The tail as the caller knew it.
            expected: Position,
            /// The actual tail.
            tail: Position,
        } => {
            code: "log.fenced",
            hint: "stop one of the two writers, then read what the other wrote",
            cause: "The log does not end where this writer expected, because another program \
                writes to it. Nothing was written.",
            remedy: "Stop one of the two programs; then read what the other one wrote.",
        }
        /// The store has fewer records than it had acknowledged.
        #[error(
            "the log has lost records that it had acknowledged, up to position {known}; it ends at \
             {found}"
        )]
        WentBack {
            /// The end of the acknowledged records.
            known: u64,
            /// The end of the log.
            found: u64,
        } => {
            code: "log.went_back",
            hint: "the data is opened again with what the log has; compare it with what was \
                acknowledged",
            cause: "A database or NATS has lost what it had acknowledged: a standby that lagged \
                behind was promoted, a backup was restored, or records were deleted. The request \
                was not executed.",
            remedy: "If the lost records are still on another machine, stop the servers and bring \
                them back. Otherwise continue: the servers open the data again with what the log \
                has, and what was acknowledged after that is lost. To prevent it, promote only \
                synchronous standbys.",
        }
        /// The record is too large for the log.
        #[error("a record of {bytes} bytes exceeds the limit of {bytes_max} bytes")]
        TooLarge {
            /// The size of the body.
            bytes: usize,
            /// The maximum size of a body in this log.
            bytes_max: usize,
        } => {
            code: "log.too_large",
            hint: "write less at once",
            cause: "A record is limited to 16 MiB. Nothing was written.",
        }
        /// There is no space left for the log or a blob.
        #[error("no space is left for the log")]
        Full => {
            code: "log.full",
            hint: "free some space, then retry",
            cause: "The disk or its quota is full. Nothing was written, and the log is intact.",
        }
        /// The storage failed.
        #[error("the log failed and accepts no more records until it is opened again: {0}")]
        Failed(String) => {
            code: "log.failed",
            hint: "check the disk, then open the log again",
            cause: "A read, write or sync failed. After a failed write or sync the log accepts no \
                more records, and it is unknown whether the last one is durable.",
        }
    }
}

refusals! {
    /// Why records could not be read.
    #[derive(Clone, Debug, PartialEq, Eq, Error)]
    pub enum ReadError {
        /// The record is no longer kept.
        #[error("position {position} was truncated, the log starts at {start}")]
        Truncated {
            /// The requested position.
            position: Position,
            /// The oldest position that is kept.
            start: Position,
        } => {
            code: "log.truncated",
            hint: "read from the start of the log",
            cause: "It was truncated because it was no longer needed.",
        }
        /// The record does not exist yet.
        #[error("position {position} is beyond the tail at {tail}")]
        BeyondTail {
            /// The requested position.
            position: Position,
            /// The position of the next record.
            tail: Position,
        } => {
            code: "log.beyond_tail",
            hint: "read up to the tail",
            cause: "The position is beyond the end of the log.",
        }
        /// The stored bytes are not the appended ones, or `position` is not the beginning of a
        /// record.
        #[error("the record at position {position} is damaged: {reason}")]
        Corrupt {
            /// The position of the record.
            position: Position,
            /// The mismatch and its place.
            reason: String,
        } => {
            code: "log.corrupt",
            hint: "keep a copy of the folder, then run `baton log verify`",
        }
        /// The storage failed.
        #[error("the log could not be read: {0}")]
        Failed(String) => {
            code: "log.failed",
            hint: "check the disk, then open the log again",
        }
    }
}

refusals! {
    /// Why records could not be truncated.
    #[derive(Clone, Debug, PartialEq, Eq, Error)]
    pub enum TruncateError {
        /// The position is beyond the end of the log. Nothing changed.
        #[error("cannot truncate before position {before}, the tail is at {tail}")]
        BeyondTail {
            /// The position that was given.
            before: Position,
            /// The position of the next record.
            tail: Position,
        } => {
            code: "log.beyond_tail",
            hint: "read up to the tail",
        }
        /// Another server owns the log. Nothing changed.
        #[error("the log belongs to another server now")]
        Fenced => {
            code: "log.fenced",
            hint: "stop one of the two writers, then read what the other wrote",
        }
        /// The storage failed. Some records may be removed, but none that is needed; appends fail
        /// from now on until the log is opened again.
        #[error("the log could not be truncated and accepts no more records: {0}")]
        Failed(String) => {
            code: "log.failed",
            hint: "check the disk, then open the log again",
        }
    }
}

refusals! {
    /// Why a blob could not be written, read, listed or deleted.
    #[derive(Clone, Debug, PartialEq, Eq, Error)]
    pub enum BlobError {
        /// The blob name is invalid.
        #[error("`{name}` is not a blob name: {reason}")]
        Name {
            /// The name as it was given.
            name: String,
            /// The violated rule.
            reason: &'static str,
        } => {
            code: "log.blob_name",
            hint: "choose another name",
            cause: "It violates the rule in the detail.",
        }
        /// A blob with this name already exists.
        #[error("blob `{name}` exists")]
        Exists {
            /// The name of the blob.
            name: String,
        } => {
            code: "log.blob_exists",
            hint: "choose another name",
            cause: "Blobs are immutable; this one exists or is being written.",
        }
        /// The read extends beyond the end of the blob.
        #[error("bytes {offset} to {end} are beyond the end of a blob of {length} bytes")]
        OutOfRange {
            /// The first requested byte.
            offset: u64,
            /// The byte after the last requested one.
            end: u64,
            /// The size of the blob.
            length: u64,
        } => {
            code: "log.blob_out_of_range",
            hint: "read within its length",
            cause: "The requested part does not exist.",
        }
        /// Another server owns the log. Nothing changed.
        #[error("the log belongs to another server now")]
        Fenced => {
            code: "log.fenced",
            hint: "stop one of the two writers, then read what the other wrote",
        }
        /// There is no space left. The blob does not exist.
        #[error("no space is left for the blob")]
        Full => {
            code: "log.full",
            hint: "free some space, then retry",
        }
        /// The storage failed.
        #[error("the blob could not be kept or read: {0}")]
        Failed(String) => {
            code: "log.failed",
            hint: "check the disk, then open the log again",
        }
        /// The store of blobs is remote and cannot be reached. The operation was done completely or
        /// not at all; it can be repeated.
        #[error("the store of artifacts cannot be reached: {0}")]
        Unreachable(String) => {
            code: "artifact.store_unavailable",
            hint: "retry; if it persists, check the bucket and the network",
        }
    }
}

refusals! {
    /// Why a log could not be opened, verified or repaired.
    #[derive(Clone, Debug, PartialEq, Eq, Error)]
    pub enum OpenError {
        /// The log is already open.
        #[error("`{}` is in use by {holder}", folder.display())]
        InUse {
            /// The folder of the log.
            folder: PathBuf,
            /// The process that holds it, if known.
            holder: String,
        } => {
            code: "log.in_use",
            hint: "stop the program that uses the folder, or name another one",
            cause: "Another process, or another part of this one, holds its lock.",
            remedy: "Close it there first.",
        }
        /// The log was written by a newer version.
        #[error("the log has format {found}, this program reads formats up to {supported}")]
        Newer {
            /// The format of the log.
            found: u32,
            /// The newest format that this program supports.
            supported: u32,
        } => {
            code: "log.newer",
            hint: "use the version that wrote the data, or a later one",
            cause: "It has a format that this version does not know.",
            remedy: "Use the version that wrote it, or a later one.",
        }
        /// Acknowledged records are damaged or missing.
        #[error(
            "`{}` is damaged at byte {offset}: {reason}; `baton log repair` truncates the log \
             there and saves the removed part",
            file.display()
        )]
        Corrupt {
            /// The damaged file.
            file: PathBuf,
            /// The byte in it where the damage begins.
            offset: u64,
            /// The mismatch.
            reason: String,
        } => {
            code: "log.corrupt",
            hint: "keep a copy of the folder, then see `baton log verify` and `baton log repair`",
            cause: "A checksum or a length does not match; the detail names the file and the byte. \
                Nothing was changed.",
            remedy: "Keep a copy of the folder; `baton log repair` truncates the log there and \
                saves the removed part.",
        }
        /// The database or NATS that stores the log is unavailable.
        #[error("`{location}` cannot be used: {reason}")]
        Away {
            /// Its location, without a password.
            location: String,
            /// The error of the database or the network.
            reason: String,
        } => {
            code: "log.away",
            hint: "check the address, the password and that the database accepts connections",
            cause: "The database of the log, or NATS, cannot be reached, refuses the user, or \
                refused a statement. A running server resumes once it can reach it again, or gives \
                up its workspaces if another server has taken over.",
            remedy: "Check the address, the password, the rights of the user, and that the \
                database or NATS runs; then retry.",
        }
        /// The database or NATS would lose data, or has lost some.
        #[error("`{location}` cannot store a log: {reason}")]
        Unfit {
            /// Its location, without a password.
            location: String,
            /// The reason.
            reason: String,
        } => {
            code: "log.unfit",
            hint: "correct what the detail names",
            cause: "A setting of the database or of NATS would lose acknowledged writes in a \
                crash, its records are damaged, a restore into it has not finished, or the schema \
                or the streams belong to another program. Nothing was changed.",
            remedy: "Do what the detail says: change the setting, restore the data, or name \
                another schema or prefix.",
        }
        /// The folder is divided into shards, which only a server opens.
        #[error("`{}` is divided into {shards} shards", folder.display())]
        Divided {
            /// The folder.
            folder: PathBuf,
            /// How many shards it has.
            shards: u32,
        } => {
            code: "log.divided",
            hint: "start `baton serve` with this folder, and connect to it",
            cause: "It was created by `baton serve` or `baton restore` with `--shards`. One \
                engine cannot open several shards.",
            remedy: "Start a server with this folder, and connect to it. To use the data without a \
                server, take a backup, and restore it to a folder without `--shards`.",
        }
        /// The number of shards of a folder cannot be changed.
        #[error(
            "`{}` was created with {has} shard{}, which cannot be changed to {wanted}",
            folder.display(),
            if *has == 1 { "" } else { "s" }
        )]
        ShardCount {
            /// The folder.
            folder: PathBuf,
            /// How many shards it has.
            has: u32,
            /// How many were asked for.
            wanted: u32,
        } => {
            code: "log.shard_count",
            hint: "take a backup with `baton backup --data`, and restore it to another folder with \
                `baton restore --shards`",
            cause: "Which shard a workspace is in depends on the number of shards. Nothing was \
                changed.",
            remedy: "Omit `--shards`. To change the number, stop the server, run `baton backup \
                --data FOLDER --to FILE`, then `baton restore FILE --data NEW --shards COUNT`.",
        }
        /// The key that encrypts the values of secrets cannot be used.
        #[error("the key for secrets cannot be used: {reason}")]
        SecretsKey {
            /// The reason.
            reason: String,
        } => {
            code: "log.secrets_key",
            hint: "give every server that shares the log the same --secrets-key-file",
            cause: "The key file cannot be read or has no key; or the log was used with another \
                key, or with a key while this server has none. Nothing was changed.",
            remedy: "Give every server that shares the log the file with the key that the log was \
                first used with. To change the key, take a backup and restore it with the new key.",
        }
        /// The log cannot be opened with these options.
        #[error("the log cannot be opened with these options: {reason}")]
        Options {
            /// The violated rule.
            reason: String,
        } => {
            code: "log.options",
            hint: "correct the options as the detail says",
            cause: "They contradict each other, or exceed a limit.",
            remedy: "Correct what the detail names.",
        }
        /// There is no space left for the first segment.
        #[error("no space is left for the log in `{}`", folder.display())]
        Full {
            /// The folder of the log.
            folder: PathBuf,
        } => {
            code: "log.full",
            hint: "free space on the disk, then retry",
        }
        /// The storage failed.
        #[error("`{}` could not be opened: {reason}", path.display())]
        Failed {
            /// The file that was being read or written.
            path: PathBuf,
            /// The system's error.
            reason: String,
        } => {
            code: "log.failed",
            hint: "check that the folder exists and is accessible, then retry",
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
            AppendError::WentBack { known: 2, found: 1 }.to_string(),
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
            "the log ends at position 2, not at 1: another server wrote to it",
            "the log has lost records that it had acknowledged, up to position 2; it ends at 1",
            "a record of 2 bytes exceeds the limit of 1 bytes",
            "the log failed and accepts no more records until it is opened again: no answer",
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
