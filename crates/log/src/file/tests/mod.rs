//! The contract on real and faulty disks, and failures that only a log in files can have.

mod conformance;
mod crash;
mod damage;
mod format;
mod lost_end;
#[cfg(feature = "planted")]
mod planted;
mod segments;
mod shards;

use std::path::PathBuf;

use crate::conformance::read_all;
use crate::disk::Disk;
use crate::faulty::FaultyDisk;
use crate::{FileLog, Log, OpenError, Options, Position, Prepare};

/// Two blocks of records in a segment, so that a few records fill one.
const SEGMENT_BYTES: u64 = 12 * 1024;

fn options() -> Options {
    Options { segment_bytes: SEGMENT_BYTES, prepare: Prepare::Inline, ..Options::new("/baton") }
}

fn try_open(disk: &FaultyDisk) -> Result<FileLog<FaultyDisk>, OpenError> {
    FileLog::open_on(disk.clone(), options())
}

fn open(disk: &FaultyDisk) -> FileLog<FaultyDisk> {
    try_open(disk).expect("the disk is healthy")
}

fn append<D: Disk>(log: &FileLog<D>, body: &[u8]) -> Position {
    let position = log.tail();
    log.append(position, body).expect("the disk is healthy");
    position
}

fn bodies<D: Disk>(log: &FileLog<D>) -> Vec<Vec<u8>> {
    read_all(log, log.start(), 4096).into_iter().map(|record| record.body).collect()
}

/// The files of the log's segments, oldest first.
fn segment_paths(disk: &FaultyDisk) -> Vec<PathBuf> {
    let paths = disk.files().into_iter().map(|(path, _)| path);
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "segment")).collect()
}
