//! A folder with several logs: its number of shards never changes, and none is lost unnoticed.

use super::{append, bodies, options, try_open};
use crate::disk::Disk;
use crate::faulty::FaultyDisk;
use crate::file::{open_shards_on, repair_on, verify_on, visit_on};
use crate::{FileLog, OpenError, ShardsLock};

type Opened = Result<(Vec<FileLog<FaultyDisk>>, ShardsLock<FaultyDisk>), OpenError>;

fn open(disk: &FaultyDisk, shards: Option<u32>) -> Opened {
    open_shards_on(disk, &options(), shards)
}

/// The logs of a folder that exists.
fn reopen(disk: &FaultyDisk) -> (Vec<FileLog<FaultyDisk>>, ShardsLock<FaultyDisk>) {
    open(disk, None).expect("the folder is divided")
}

fn write_number(logs: &[FileLog<FaultyDisk>]) {
    for (number, log) in (0..).zip(logs) {
        append(log, &[number; 100]);
    }
}

#[test]
fn a_folder_keeps_its_shards() {
    let disk = FaultyDisk::new(1);
    let (logs, lock) = open(&disk, Some(3)).unwrap();
    assert_eq!(logs.len(), 3);
    write_number(&logs);
    drop((logs, lock));
    for shards in [None, Some(3)] {
        let (logs, _lock) = open(&disk, shards).unwrap();
        let found: Vec<_> = logs.iter().map(bodies).collect();
        assert_eq!(found, [[vec![0; 100]], [vec![1; 100]], [vec![2; 100]]], "{shards:?}");
    }
    let other = open(&disk, Some(4)).err();
    let folder = options().folder;
    assert_eq!(other, Some(OpenError::ShardCount { folder, has: 3, wanted: 4 }));
}

#[test]
fn one_process_has_all_of_them() {
    let disk = FaultyDisk::new(1);
    let opened = open(&disk, Some(2)).unwrap();
    assert!(matches!(open(&disk, None), Err(OpenError::InUse { .. })));
    drop(opened);
    reopen(&disk);
}

#[test]
fn a_folder_with_one_log_is_not_divided() {
    let disk = FaultyDisk::new(1);
    append(&super::open(&disk), b"data");
    for shards in [None, Some(2)] {
        let refused = open(&disk, shards).err();
        assert!(matches!(refused, Some(OpenError::ShardCount { has: 1, .. })), "{refused:?}");
    }
    assert_eq!(bodies(&super::open(&disk)), [b"data"]);
}

#[test]
fn a_divided_folder_cannot_be_opened_as_one_log() {
    let disk = FaultyDisk::new(1);
    drop(open(&disk, Some(2)).unwrap());
    let (folder, before) = (options().folder, disk.files());
    let refusals = [
        try_open(&disk).err(),
        verify_on(&disk, &folder).err(),
        repair_on(&disk, &folder).err(),
        visit_on(&disk, &folder, |_| panic!("there is no record")).err(),
    ];
    let divided = OpenError::Divided { folder, shards: 2 };
    assert_eq!(refusals.map(Option::unwrap), [(); 4].map(|()| divided.clone()));
    assert_eq!(disk.files(), before, "nothing was changed");
}

#[test]
fn a_shard_that_is_missing_is_not_created_again() {
    let disk = FaultyDisk::new(1);
    let (logs, lock) = open(&disk, Some(2)).unwrap();
    write_number(&logs);
    drop((logs, lock));
    for (path, _) in disk.files() {
        if path.starts_with("/baton/shard-1/log") {
            disk.remove(&path).unwrap();
        }
    }
    let Some(OpenError::Failed { path, reason }) = open(&disk, None).err() else {
        panic!("the second shard is missing")
    };
    assert!(path.ends_with("shard-1") && reason.contains("missing"), "{path:?}: {reason}");
}

#[test]
fn an_invalid_number_is_refused() {
    for text in ["", "0", "257", "four", "4 of 5"] {
        let disk = FaultyDisk::new(1);
        drop(open(&disk, Some(2)).unwrap());
        disk.put("/baton/shards", text.as_bytes());
        for refused in [open(&disk, None).err(), try_open(&disk).err()] {
            assert!(matches!(refused, Some(OpenError::Failed { .. })), "{text}: {refused:?}");
        }
    }
}

#[test]
fn a_creation_that_was_cut_off_is_completed() {
    let whole = FaultyDisk::new(0);
    drop(open(&whole, Some(2)).unwrap());
    for index in 0..whole.counts().total {
        let disk = FaultyDisk::new(index);
        disk.stop_at(index);
        drop(open(&disk, Some(2)));
        disk.crash(index);
        let (logs, lock) = open(&disk, Some(2)).unwrap_or_else(|error| panic!("{index}: {error}"));
        write_number(&logs);
        drop((logs, lock));
        disk.crash(index + 1);
        let (logs, _lock) = reopen(&disk);
        let found: Vec<_> = logs.iter().map(bodies).collect();
        assert_eq!(found, [[vec![0; 100]], [vec![1; 100]]], "operation {index}");
    }
}
