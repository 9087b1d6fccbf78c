//! Torn tails are truncated; all other damage is detected and reported.

use std::ops::ControlFlow;
use std::path::PathBuf;

use super::{append, bodies, open, segment_paths, try_open};
use crate::faulty::FaultyDisk;
use crate::file::{FORMAT_VERSION, repair_on, verify_on, visit_on};
use crate::{FileLog, Log, OpenError, Position, ReadError};

fn record_body(number: u8) -> Vec<u8> {
    vec![number; 20 + usize::from(number)]
}

/// A closed log of small records in one segment, and the offsets of the records in its file.
fn small_log(records: u8) -> (FaultyDisk, PathBuf, Vec<usize>) {
    let disk = FaultyDisk::new(3);
    let log = open(&disk);
    let positions: Vec<_> = (0..records).map(|number| append(&log, &record_body(number))).collect();
    let end = log.tail();
    drop(log);
    let offset = |position: Position| 4096 + usize::try_from(position.0).expect("small");
    let path = segment_paths(&disk).remove(0);
    (disk, path, positions.into_iter().chain([end]).map(offset).collect())
}

/// A log whose last record was not acknowledged: the mark of the process that tore it is older.
fn without_watermark(disk: &FaultyDisk) {
    disk.delete("/baton/log/watermark");
}

/// A closed log whose records lie in several segments.
fn long_log() -> (FaultyDisk, Vec<Vec<u8>>) {
    let disk = FaultyDisk::new(3);
    let log = open(&disk);
    let bodies: Vec<_> = (0..12).map(|number| vec![number; 1500]).collect();
    for body in &bodies {
        append(&log, body);
    }
    drop(log);
    assert!(segment_paths(&disk).len() > 2);
    (disk, bodies)
}

/// The bodies that a visitor of a closed log sees, up to a limit, and whether it saw damage.
fn visited(disk: &FaultyDisk, most: usize) -> (Vec<Vec<u8>>, bool) {
    let mut seen = Vec::new();
    let report = visit_on(disk, "/baton".as_ref(), |record| {
        seen.push(record.body.clone());
        if seen.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    (seen, report.expect("the log can be read").damage.is_some())
}

#[test]
fn a_visitor_sees_every_valid_record_and_changes_nothing() {
    let (disk, bodies) = long_log();
    assert_eq!(visited(&disk, usize::MAX), (bodies.clone(), false));
    assert_eq!(visited(&disk, 2).0, bodies[..2]);
    let paths = segment_paths(&disk);
    assert!(disk.flip_bit(&paths[1], 8 * 4200));
    let damaged = disk.contents(&paths[1]);
    let (seen, is_damaged) = visited(&disk, usize::MAX);
    assert!(is_damaged && !seen.is_empty() && seen.len() < bodies.len());
    assert_eq!(seen, bodies[..seen.len()]);
    assert_eq!((segment_paths(&disk), disk.contents(&paths[1])), (paths, damaged));
}

#[test]
fn a_tail_torn_at_any_byte_is_cut() {
    let (disk, path, offsets) = small_log(3);
    without_watermark(&disk);
    let whole = disk.contents(&path).expect("the segment is there");
    let expected: Vec<_> = (0..2).map(record_body).collect();
    for cut in offsets[2]..offsets[3] {
        let zeroed = [&whole[..cut], &vec![0; whole.len() - cut]].concat();
        let garbage = [&whole[..cut], &vec![!whole[cut]; whole.len() - cut]].concat();
        for torn in [zeroed, garbage] {
            let disk = disk.fork();
            disk.put(&path, &torn);
            let log = open(&disk);
            assert_eq!(bodies(&log), expected, "cut at {cut}");
            append(&log, b"next");
            drop(log);
            let log = open(&disk);
            assert_eq!(bodies(&log)[2], b"next", "cut at {cut}");
        }
    }
}

#[test]
fn a_cut_record_never_comes_back() {
    let (disk, path, offsets) = small_log(3);
    without_watermark(&disk);
    // The record is torn in its last byte only, and then followed by exactly that byte.
    let bit = 8 * (offsets[3] as u64 - 1);
    assert!(disk.flip_bit(&path, bit));
    drop(open(&disk));
    let after = disk.contents(&path).expect("the segment is there");
    assert!(after[offsets[2]..].iter().all(|byte| *byte == 0), "what was torn is wiped");
}

/// Flips one bit and demands that it is found, or does no harm.
fn check_flip(disk: &FaultyDisk, path: &PathBuf, bit: u64, expected: &[Vec<u8>]) {
    let disk = disk.fork();
    assert!(disk.flip_bit(path, bit));
    let open_after_repair = match try_open(&disk) {
        Ok(log) => {
            let found = bodies(&log);
            assert!(expected.starts_with(&found), "bit {bit}: a wrong body");
            let missing = expected.len() - found.len();
            assert_eq!(missing, 0, "bit {bit}: records lost in silence");
            log
        }
        Err(OpenError::Corrupt { file, .. }) => {
            assert_eq!(&file, path, "bit {bit}");
            let report = repair_on(&disk, "/baton".as_ref()).expect("a repair is possible");
            assert!(report.damage.is_some());
            open(&disk)
        }
        Err(other) => panic!("bit {bit}: {other}"),
    };
    assert!(expected.starts_with(&bodies(&open_after_repair)), "bit {bit}: a wrong body");
}

pub(super) fn flips_in_one_segment() {
    let (disk, path, offsets) = small_log(4);
    let expected: Vec<_> = (0..4).map(record_body).collect();
    let end = offsets[4];
    let everything =
        (0..36).chain(2048..2084).chain(4096..end + 40).chain((end..12000).step_by(61));
    for byte in everything {
        for bit in 0..8 {
            check_flip(&disk, &path, byte as u64 * 8 + bit, &expected);
        }
    }
}

#[test]
fn every_flipped_bit_is_found_or_harmless() {
    flips_in_one_segment();
}

#[test]
fn every_flipped_bit_in_older_segments_is_found_or_harmless() {
    let (disk, expected) = long_log();
    let paths = segment_paths(&disk);
    for path in &paths[..paths.len() - 1] {
        for byte in (0..64).chain((4096..12288).step_by(13)) {
            check_flip(&disk, path, byte * 8 + byte % 8, &expected);
        }
    }
}

#[test]
fn a_bit_that_rots_while_the_log_is_open_is_not_served() {
    let (disk, path, offsets) = small_log(3);
    for byte in offsets[1]..offsets[2] {
        let disk = disk.fork();
        let log = open(&disk);
        assert!(disk.flip_bit(&path, byte as u64 * 8 + 3));
        let position = Position((offsets[1] - 4096) as u64);
        match log.read(position, 10) {
            Err(ReadError::Corrupt { position: at, .. }) => assert_eq!(at, position),
            other => panic!("byte {byte}: {other:?}"),
        }
    }
}

#[test]
fn damage_before_a_sound_record_is_named_with_file_and_offset() {
    let (disk, path, offsets) = small_log(3);
    disk.flip_bit(&path, 8 * (offsets[1] as u64 + 30));
    let Err(error) = try_open(&disk) else { panic!("the log is damaged") };
    assert_eq!(error.code(), "log.corrupt");
    let expected = format!(
        "`/baton/log/00000000000000000000.segment` is damaged at byte {}: the checksum of the \
         record there does not match, yet a sound record follows at byte {}; `baton log repair` \
         truncates the log there and saves the removed part",
        offsets[1], offsets[2]
    );
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_missing_segment_is_damage() {
    let (disk, _) = long_log();
    let paths = segment_paths(&disk);
    let gap = disk.fork();
    gap.delete(&paths[1]);
    let Err(OpenError::Corrupt { file, reason, .. }) = try_open(&gap) else {
        panic!("a segment is missing");
    };
    assert_eq!(file, paths[0]);
    assert!(reason.starts_with("the log should go on to position "), "{reason}");
}

#[test]
fn a_segment_under_another_name_is_damage() {
    let (disk, _) = long_log();
    let paths = segment_paths(&disk);
    let bytes = disk.contents(&paths[0]).expect("the segment is there");
    disk.put(&paths[1], &bytes);
    let Err(OpenError::Corrupt { file, .. }) = try_open(&disk) else {
        panic!("the second segment is the first");
    };
    assert_eq!(file, paths[1]);
}

#[test]
fn a_newer_format_is_refused() {
    let (disk, path, _) = small_log(1);
    let mut bytes = disk.contents(&path).expect("the segment is there");
    for copy in [0, 2048] {
        bytes[copy + 8] = u8::try_from(FORMAT_VERSION + 1).expect("a small number");
        let checksum = crc32fast::hash(&bytes[copy..copy + 32]);
        bytes[copy + 32..copy + 36].copy_from_slice(&checksum.to_le_bytes());
    }
    disk.put(&path, &bytes);
    let (found, supported) = (FORMAT_VERSION + 1, FORMAT_VERSION);
    for error in [
        try_open(&disk).err(),
        verify_on(&disk, "/baton".as_ref()).err(),
        repair_on(&disk, "/baton".as_ref()).err(),
    ] {
        assert_eq!(error, Some(OpenError::Newer { found, supported }));
    }
    assert_eq!(disk.contents(&path), Some(bytes), "nothing was changed");
}

#[test]
fn a_report_counts_the_records_and_those_that_would_be_lost() {
    let (disk, path, offsets) = small_log(5);
    let report = verify_on(&disk, "/baton".as_ref()).expect("a log is there");
    assert_eq!((report.segments, report.records, report.torn_bytes), (1, 5, 0));
    assert_eq!(report.damage, None);
    disk.flip_bit(&path, 8 * offsets[1] as u64);
    let report = verify_on(&disk, "/baton".as_ref()).expect("a log is there");
    assert_eq!(report.records, 1);
    let damage = report.damage.expect("a bit was flipped");
    assert_eq!((damage.offset, damage.records_after), (offsets[1] as u64, 3));
    assert_eq!(damage.bytes_after, (offsets[5] - offsets[2]) as u64);
}

#[test]
fn a_repair_cuts_at_the_damage_and_keeps_the_rest_aside() {
    let (disk, expected) = long_log();
    let paths = segment_paths(&disk);
    let whole = disk.contents(&paths[1]).expect("the segment is there");
    assert!(disk.flip_bit(&paths[1], 8 * (4096 + 1520 + 5)));
    let report = repair_on(&disk, "/baton".as_ref()).expect("a repair is possible");
    let damage = report.damage.expect("a bit was flipped");
    assert_eq!((damage.offset, &damage.file), (4096 + 1520, &paths[1]));
    assert_eq!(report.kept.len(), paths.len() - 1);
    let kept = disk.contents(&report.kept[0]).expect("it was kept");
    assert_eq!(kept[100..], whole[4096 + 1520 + 100..]);

    let log = open(&disk);
    let found = bodies(&log);
    assert_eq!(found, expected[..found.len()]);
    assert_eq!(found.len() as u64, report.records);
    assert_eq!(log.tail(), report.tail);
    append(&log, b"next");
    drop(log);
    assert_eq!(bodies(&open(&disk)).last(), Some(&b"next".to_vec()));
    let report = verify_on(&disk, "/baton".as_ref()).expect("a log is there");
    assert_eq!(report.damage, None);
}

#[test]
fn a_repair_after_a_lost_header_does_not_begin_positions_anew() {
    let (disk, _) = long_log();
    let log = open(&disk);
    log.truncate(log.tail()).expect("the disk is healthy");
    let start = log.start();
    assert!(start > Position(0));
    drop(log);
    let path = segment_paths(&disk).remove(0);
    for copy in [0, 2048] {
        assert!(disk.flip_bit(&path, 8 * (copy + 17)));
    }
    assert!(matches!(try_open(&disk), Err(OpenError::Corrupt { offset: 0, .. })));
    repair_on(&disk, "/baton".as_ref()).expect("a repair is possible");
    let log = open(&disk);
    assert_eq!((log.start(), log.tail()), (start, start));
    append(&log, b"on");
    drop(log);
    assert_eq!(bodies(&open(&disk)), [b"on".to_vec()]);
}

#[test]
fn a_repair_that_is_interrupted_can_be_done_again() {
    let (disk, expected) = long_log();
    let paths = segment_paths(&disk);
    assert!(disk.flip_bit(&paths[1], 8 * (4096 + 1520 + 5)));
    let before = disk.counts().total;
    let whole = disk.fork();
    repair_on(&whole, "/baton".as_ref()).expect("a repair is possible");
    for index in before..whole.counts().total {
        let disk = disk.fork();
        disk.stop_at(index);
        assert!(repair_on(&disk, "/baton".as_ref()).is_err());
        disk.crash(index);
        repair_on(&disk, "/baton".as_ref()).expect("a repair is possible");
        let found = bodies(&open(&disk));
        assert!(!found.is_empty() && expected.starts_with(&found), "stopped at {index}");
    }
}

#[test]
fn a_body_that_looks_like_a_record_is_never_taken_for_one() {
    // The author of a body may know the format and guess positions, but not the salt.
    let disk = FaultyDisk::new(3);
    let log = open(&disk);
    append(&log, b"first");
    let at = log.tail();
    let position = Position(at.0 + 20 + 100);
    let mut body = vec![0; 400];
    super::super::format::encode_record(0, position, b"forged", &mut body[100..]);
    append(&log, &body);
    drop(log);
    without_watermark(&disk);
    let path = segment_paths(&disk).remove(0);
    assert!(disk.flip_bit(&path, 8 * (4096 + at.0 + 2)));
    let log: FileLog<_> = open(&disk);
    assert_eq!(bodies(&log), [b"first".to_vec()], "torn, because nothing sound follows");
}
