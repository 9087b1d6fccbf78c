//! A lost end of the log is damage, although it looks like a torn one.

use std::path::{Path, PathBuf};

use super::{append, bodies, open, segment_paths, try_open};
use crate::faulty::FaultyDisk;
use crate::file::{repair_on, verify_on};
use crate::{Log, OpenError, Position};

const FOLDER: &str = "/baton";

/// The log of a process that ended after it had acknowledged these records: nothing was closed.
fn abandoned_log(records: u8) -> (FaultyDisk, Vec<PathBuf>, Position) {
    let disk = FaultyDisk::new(3);
    let log = open(&disk);
    for number in 0..records {
        append(&log, &[number; 900]);
    }
    let tail = log.tail();
    let left = disk.fork();
    drop(log);
    (left.clone(), segment_paths(&left), tail)
}

/// Opening and verifying report the damage, a repair ends it, and the log continues to work.
fn check_lost(disk: &FaultyDisk, file: &Path, offset: u64, records: usize) {
    let Err(OpenError::Corrupt { file: named, offset: at, reason }) = try_open(disk) else {
        panic!("the end is missing")
    };
    assert_eq!((named.as_path(), at), (file, offset), "{reason}");
    let report = verify_on(disk, FOLDER.as_ref()).expect("it can be read");
    assert_eq!(report.damage.expect("the end is missing").reason, reason);
    repair_on(disk, FOLDER.as_ref()).expect("a repair is possible");
    let log = open(disk);
    assert_eq!(bodies(&log).len(), records, "{reason}");
    append(&log, b"next");
    drop(log);
    assert_eq!(bodies(&open(disk)).last(), Some(&b"next".to_vec()));
}

#[test]
fn a_segment_that_was_cut_short_is_damage() {
    let (disk, paths, _) = abandoned_log(6);
    let whole = disk.contents(&paths[0]).expect("it is there");
    for (bytes, offset, records) in [(4096 + 920 * 3, 4096 + 920 * 3, 3), (4096, 4096, 0)] {
        let disk = disk.fork();
        disk.put(&paths[0], &whole[..bytes]);
        check_lost(&disk, &paths[0], offset, records);
    }
}

#[test]
fn a_cut_segment_is_damage_without_a_watermark_as_well() {
    let (disk, paths, _) = abandoned_log(3);
    let whole = disk.contents(&paths[0]).expect("it is there");
    disk.put(&paths[0], &whole[..whole.len() - 4096]);
    disk.delete("/baton/log/watermark");
    check_lost(&disk, &paths[0], 4096 + 920 * 3, 3);
}

#[test]
fn records_that_were_zeroed_are_missed() {
    let (disk, paths, _) = abandoned_log(6);
    let mut bytes = disk.contents(&paths[0]).expect("it is there");
    bytes[4096 + 920 * 4..].fill(0);
    disk.put(&paths[0], &bytes);
    check_lost(&disk, &paths[0], 4096 + 920 * 4, 4);
}

#[test]
fn a_missing_newest_segment_is_missed() {
    let (disk, paths, _) = abandoned_log(20);
    assert!(paths.len() > 1);
    let newest = paths.last().expect("there are some");
    disk.delete(newest);
    let before = &paths[paths.len() - 2];
    let base = |path: &Path| -> u64 {
        path.file_stem().and_then(|stem| stem.to_str()?.parse().ok()).expect("a position")
    };
    let offset = 4096 + base(newest) - base(before);
    check_lost(&disk, before, offset, usize::try_from(base(newest) / 920).expect("a few"));
}

#[test]
fn a_log_without_any_segment_is_not_created_again() {
    let (disk, paths, tail) = abandoned_log(6);
    disk.delete(&paths[0]);
    check_lost(&disk, Path::new("/baton/log/watermark"), 0, 0);
    assert!(open(&disk).tail() > tail, "no position is used twice");
}

#[test]
fn a_log_without_a_watermark_opens_and_gets_one() {
    let (disk, paths, _) = abandoned_log(6);
    let watermark = Path::new("/baton/log/watermark");
    disk.delete(watermark);
    assert_eq!(bodies(&open(&disk)).len(), 6);
    let mut bytes = disk.contents(&paths[0]).expect("it is there");
    bytes[4096 + 920 * 5..].fill(0);
    disk.put(&paths[0], &bytes);
    check_lost(&disk, &paths[0], 4096 + 920 * 5, 5);
}

#[test]
fn a_damaged_watermark_proves_nothing() {
    let (disk, ..) = abandoned_log(6);
    assert!(disk.flip_bit("/baton/log/watermark", 7));
    assert_eq!(bodies(&open(&disk)).len(), 6);
}

#[test]
fn a_watermark_is_never_ahead_of_what_a_power_cut_leaves() {
    let (disk, ..) = abandoned_log(20);
    for seed in 0..50 {
        let disk = disk.fork();
        disk.crash(seed);
        assert_eq!(bodies(&open(&disk)).len(), 20, "{seed}");
    }
}
