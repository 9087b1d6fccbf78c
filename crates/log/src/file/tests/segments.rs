//! Segments: prepared, recycled, bounded; full disks; locks; sync methods.

use std::sync::Arc;

use super::{SEGMENT_BYTES, append, bodies, open, options, segment_paths, try_open};
use crate::conformance::read_all;
use crate::faulty::{FaultyDisk, Operation};
use crate::{
    AppendError, BlobError, FileLog, Log, OpenError, Options, Position, Prepare, SyncMethod,
};

#[test]
fn an_append_is_one_write_and_its_mark_and_at_most_one_sync() {
    for (direct, syncs) in [(true, 0), (false, 1)] {
        let disk = FaultyDisk::new(1);
        disk.refuse_direct(!direct);
        let log = open(&disk);
        append(&log, b"first");
        let before = disk.counts();
        for size in [0, 10, 300, 3000] {
            append(&log, &vec![1; size]);
        }
        let after = disk.counts();
        assert_eq!(after.write - before.write, 4 + 4, "the record and the watermark");
        assert_eq!(after.sync - before.sync, 4 * syncs);
        assert_eq!(after.total - before.total, 8 + 4 * syncs, "and nothing else");
    }
}

#[test]
fn reading_a_part_is_one_read() {
    let disk = FaultyDisk::new(1);
    let log = open(&disk);
    let position = append(&log, &[7; 5000]);
    append(&log, &[8; 5000]);
    let before = disk.counts();
    log.read_part(position, 4000, &mut [0; 1000]).expect("the part is there");
    let after = disk.counts();
    assert_eq!((after.read - before.read, after.total - before.total), (1, 1));
}

#[test]
fn truncated_segments_are_recycled_and_few() {
    let disk = FaultyDisk::new(1);
    let log = open(&disk);
    let mut files_max = 0;
    for number in 0..100_u8 {
        append(&log, &[number; 2000]);
        if number % 4 == 3 {
            log.truncate(log.tail()).expect("the disk is healthy");
        }
        files_max = files_max.max(disk.files().len());
    }
    assert!(files_max <= 5, "{files_max} files");
    assert!(disk.bytes_used() <= 5 * SEGMENT_BYTES);
}

#[test]
fn old_records_in_recycled_segments_are_ignored() {
    // Records of one size, so that old ones are exactly where new ones are expected.
    for size in [100, 1348, 2028, 4076, 8172] {
        let disk = FaultyDisk::new(1);
        let mut expected = Vec::new();
        for number in 0..60_u8 {
            let log = open(&disk);
            let body = vec![number; size];
            expected.push((append(&log, &body), body));
            log.truncate(log.tail()).expect("the disk is healthy");
            drop(log);
            let log = open(&disk);
            let found = read_all(&log, log.start(), usize::MAX);
            let found = found.into_iter().map(|record| (record.position, record.body));
            let held = expected.iter().filter(|(position, _)| *position >= log.start()).cloned();
            assert_eq!(found.collect::<Vec<_>>(), held.collect::<Vec<_>>());
        }
    }
}

#[test]
fn a_full_disk_refuses_appends_until_there_is_space() {
    let disk = FaultyDisk::new(1);
    disk.set_capacity(Some(2 * SEGMENT_BYTES + 5000));
    let log = open(&disk);
    let mut expected = Vec::new();
    let full = loop {
        match log.append(log.tail(), &[7; 3000]) {
            Ok(_) => expected.push(vec![7; 3000]),
            Err(error) => break error,
        }
    };
    assert_eq!((full, expected.len()), (AppendError::Full, 4));
    let before = (log.tail(), disk.bytes_used());
    assert_eq!(log.append(log.tail(), &[7; 3000]), Err(AppendError::Full));
    assert_eq!((log.tail(), disk.bytes_used()), before, "nothing is left behind");
    append(&log, &[1; 10]);
    expected.push(vec![1; 10]);
    assert_eq!(bodies(&log), expected, "what fits is taken, and reads go on");
    let blob = log.create_blob("b").and_then(|mut writer| {
        writer.write(&[0; 6000])?;
        writer.commit()
    });
    assert_eq!(blob, Err(BlobError::Full));
    assert_eq!(log.list_blobs(""), Ok(vec![]));

    disk.set_capacity(None);
    append(&log, &[7; 3000]);
    expected.push(vec![7; 3000]);
    assert_eq!(bodies(&log), expected);
}

#[test]
fn a_full_disk_continues_with_the_space_that_truncation_frees() {
    let disk = FaultyDisk::new(1);
    disk.set_capacity(Some(2 * SEGMENT_BYTES + 5000));
    let log = open(&disk);
    while log.append(log.tail(), &[7; 3000]).is_ok() {}
    log.truncate(log.tail()).expect("truncation needs no space");
    for number in 0..20 {
        append(&log, &[number; 3000]);
        log.truncate(log.tail()).expect("truncation needs no space");
    }
    assert_eq!(bodies(&log).last(), Some(&vec![19; 3000]));
}

#[test]
fn a_full_disk_that_copies_on_write_refuses_appends_until_there_is_space() {
    let disk = FaultyDisk::new(1);
    let log = open(&disk);
    append(&log, &[1; 3000]);
    disk.copy_on_write(true);
    disk.set_capacity(Some(disk.bytes_used()));
    for bytes in [10, 3000, 8000] {
        assert_eq!(log.append(log.tail(), &vec![7; bytes]), Err(AppendError::Full));
        let copy = disk.fork();
        copy.set_capacity(None);
        assert_eq!(bodies(&open(&copy)), [vec![1; 3000]], "what was refused does not appear");
    }
    disk.set_capacity(None);
    append(&log, &[2; 10]);
    assert_eq!(bodies(&log), [vec![1; 3000], vec![2; 10]]);
}

#[test]
fn a_log_on_a_full_disk_is_opened() {
    let disk = FaultyDisk::new(1);
    disk.set_capacity(Some(2 * SEGMENT_BYTES + 1000));
    let log = open(&disk);
    while log.append(log.tail(), &[7; 3000]).is_ok() {}
    let kept = bodies(&log);
    drop(log);
    let log = open(&disk);
    assert_eq!(bodies(&log), kept);
    log.truncate(log.tail()).expect("truncation needs no space");
    append(&log, &[8; 3000]);
}

#[test]
fn a_disk_without_space_for_the_first_segment_is_full() {
    let disk = FaultyDisk::new(1);
    disk.set_capacity(Some(SEGMENT_BYTES - 1));
    assert_eq!(try_open(&disk).err(), Some(OpenError::Full { folder: "/baton".into() }));
    disk.set_capacity(None);
    append(&open(&disk), b"first");
}

#[test]
fn a_log_is_open_once() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let small = || Options { segment_bytes: 8192, ..Options::new(folder.path()) };
    let log = FileLog::open(small()).expect("a healthy folder");
    let holder = format!("process {}", std::process::id());
    let refused = OpenError::InUse { folder: folder.path().to_owned(), holder };
    assert_eq!(FileLog::open(small()).err(), Some(refused.clone()));
    assert_eq!(super::super::verify(folder.path()).err(), Some(refused.clone()));
    assert_eq!(super::super::repair(folder.path()).err(), Some(refused.clone()));
    drop(log);
    std::fs::remove_file(folder.path().join("LOCK")).expect("it is there");
    let log = FileLog::open(small()).expect("the folder is free again");
    std::fs::remove_file(folder.path().join("LOCK")).expect("it is there");
    let second = FileLog::open(small()).err().expect("the folder itself is locked");
    assert_eq!(second.code(), refused.code());
    drop(log);
    FileLog::open(small()).expect("the folder is free again");

    let disk = FaultyDisk::new(1);
    let log = open(&disk);
    assert_eq!(try_open(&disk).err().map(|error| error.code()), Some("log.in_use"));
    drop(log);
    open(&disk);
}

#[test]
fn the_write_method_is_probed_and_reported() {
    let disk = FaultyDisk::new(1);
    let log = open(&disk);
    assert_eq!(log.sync_method(), SyncMethod::Direct);
    assert_eq!(log.description(), "file log in /baton, direct writes");
    drop(log);
    disk.refuse_direct(true);
    let log = open(&disk);
    assert_eq!(log.sync_method(), SyncMethod::DataSync);
    assert_eq!(log.description(), "file log in /baton, buffered writes and fdatasync");
}

#[test]
fn impossible_options_are_refused() {
    for segment_bytes in [0, 4096, 8191, 10_000] {
        let refused =
            FileLog::open_on(FaultyDisk::new(1), Options { segment_bytes, ..options() }).err();
        assert_eq!(refused.map(|error| error.code()), Some("log.options"), "{segment_bytes}");
    }
}

#[test]
fn the_size_of_segments_may_change_between_starts() {
    let disk = FaultyDisk::new(1);
    let mut expected = Vec::new();
    for (round, segment_bytes) in [8192, 32768, 8192, 16384, 65536].into_iter().enumerate() {
        let log = FileLog::open_on(disk.clone(), Options { segment_bytes, ..options() })
            .expect("the disk is healthy");
        assert_eq!(bodies(&log), expected);
        let number = u8::try_from(round).expect("a few");
        for size in [log.record_bytes_max(), 100] {
            append(&log, &vec![number; size]);
            expected.push(vec![number; size]);
        }
    }
}

#[test]
fn an_empty_segment_that_is_too_small_is_replaced() {
    let disk = FaultyDisk::new(1);
    let small = Options { segment_bytes: 8192, ..options() };
    drop(FileLog::open_on(disk.clone(), small).expect("the disk is healthy"));
    let log = open(&disk);
    append(&log, &[1; 5000]);
    assert_eq!(segment_paths(&disk).len(), 1);
    assert_eq!(bodies(&log), [vec![1; 5000]]);
    drop(log);
    assert_eq!(bodies(&open(&disk)), [vec![1; 5000]]);
}

#[test]
fn a_failed_sync_is_not_retried() {
    let disk = FaultyDisk::new(1);
    disk.refuse_direct(true);
    let log = open(&disk);
    append(&log, b"first");
    disk.fail_nth(Operation::Sync, disk.counts().sync);
    let failed = log.append(log.tail(), b"second").expect_err("the sync fails");
    assert_eq!(failed.code(), "log.failed");
    let before = disk.counts();
    for _ in 0..3 {
        assert_eq!(log.append(log.tail(), b"third"), Err(failed.clone()));
    }
    assert!(log.truncate(log.tail()).is_err());
    assert_eq!(disk.counts(), before, "the disk is left alone");
    assert_eq!(bodies(&log), [b"first".to_vec()]);
}

#[test]
fn blobs_of_a_process_that_ended_while_committing_are_durable_before_they_are_seen() {
    let disk = FaultyDisk::new(1);
    let log = open(&disk);
    let mut writer = log.create_blob("w/snapshot").expect("the name is free");
    writer.write(b"bytes").expect("there is space");
    // The folder's sync is the second one of a commit, after the file's.
    disk.fail_nth(Operation::Sync, disk.counts().sync + 1);
    assert!(matches!(writer.commit(), Err(BlobError::Failed(_))));
    assert_eq!(log.list_blobs(""), Ok(vec![]), "it was never acknowledged");
    drop(log);
    let log = open(&disk);
    let seen = log.list_blobs("").expect("the disk is healthy");
    drop(log);
    for seed in 0..10 {
        let disk = disk.fork();
        disk.crash(seed);
        assert_eq!(open(&disk).list_blobs(""), Ok(seen.clone()));
    }
}

#[test]
fn a_background_thread_prepares_segments() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let options = Options { segment_bytes: 16 * 1024, ..Options::new(folder.path()) };
    assert_eq!(options.prepare, Prepare::Background);
    let log = Arc::new(FileLog::open(options).expect("a healthy folder"));
    for number in 0..100_u8 {
        append(&log, &[number; 3000]);
    }
    let found = bodies(&log);
    assert_eq!(found.len(), 100);
    assert_eq!(log.start(), Position(0));
}
