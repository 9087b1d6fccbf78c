//! The faulty disk keeps its guarantees: synced data stays, everything else is random.

use std::path::Path;

use super::{FaultyDisk, Operation};
use crate::disk::{Disk, DiskFile, Locked, Write};

fn contents_after_crashes(disk: &FaultyDisk, path: &str) -> Vec<Option<Vec<u8>>> {
    let crash = |seed| {
        let disk = disk.fork();
        disk.crash(seed);
        disk.contents(path)
    };
    let mut outcomes: Vec<_> = (0..64).map(crash).collect();
    outcomes.sort();
    outcomes.dedup();
    outcomes
}

fn synced_file(disk: &FaultyDisk, bytes: &[u8]) -> super::FaultyFile {
    let file = disk.create(Path::new("/file")).expect("the disk is healthy");
    file.write_at(0, bytes).expect("there is space");
    file.sync_data().expect("the disk is healthy");
    disk.sync_folder(Path::new("/")).expect("the disk is healthy");
    file
}

#[test]
fn synced_writes_survive_and_others_are_kept_dropped_or_torn() {
    let disk = FaultyDisk::new(1);
    let file = synced_file(&disk, &[1; 1024]);
    assert_eq!(contents_after_crashes(&disk, "/file"), [Some(vec![1; 1024])]);
    file.write_at(0, &[2; 1024]).expect("there is space");
    assert_eq!(disk.contents("/file"), Some(vec![2; 1024]), "readers see it at once");
    let torn = |first, second| Some([[first; 512], [second; 512]].concat());
    let expected = [torn(1, 1), torn(1, 2), torn(2, 1), torn(2, 2)];
    assert_eq!(contents_after_crashes(&disk, "/file"), expected);
}

#[test]
fn names_need_a_sync_of_their_folder() {
    let disk = FaultyDisk::new(1);
    let file = disk.create(Path::new("/file")).expect("the disk is healthy");
    file.write_at(0, b"x").expect("there is space");
    file.sync_data().expect("the disk is healthy");
    assert_eq!(contents_after_crashes(&disk, "/file"), [None, Some(b"x".to_vec())]);
    disk.sync_folder(Path::new("/")).expect("the disk is healthy");
    disk.rename(Path::new("/file"), Path::new("/other")).expect("it is there");
    for seed in 0..32 {
        let disk = disk.fork();
        disk.crash(seed);
        assert_eq!(disk.files().len(), 1, "a rename is atomic");
    }
}

#[test]
fn direct_writes_are_durable_and_must_be_aligned() {
    let disk = FaultyDisk::new(1);
    synced_file(&disk, &[1; 8192]);
    let file = disk.open_for_write(Path::new("/file"), Write::Direct).expect("it is there");
    let memory = vec![2; 3 * 4096];
    let start = memory.as_ptr().align_offset(4096);
    file.write_at(4096, &memory[start..start + 4096]).expect("aligned");
    let expected = [[1; 4096], [2; 4096]].concat();
    assert_eq!(contents_after_crashes(&disk, "/file"), [Some(expected)]);
    assert!(file.write_at(4096, &memory[start + 1..start + 4097]).is_err());
    assert!(file.write_at(512, &memory[start..start + 4096]).is_err());
    assert!(file.write_at(0, &memory[start..start + 512]).is_err());
}

#[test]
fn a_failed_sync_drops_what_it_should_have_kept() {
    for keep_cache in [false, true] {
        let disk = FaultyDisk::new(1);
        disk.keep_cache_on_failed_sync(keep_cache);
        let file = synced_file(&disk, b"old");
        file.write_at(0, b"new").expect("there is space");
        disk.fail_nth(Operation::Sync, disk.counts().sync);
        assert!(file.sync_data().is_err());
        let seen: &[u8] = if keep_cache { b"new" } else { b"old" };
        assert_eq!(disk.contents("/file").as_deref(), Some(seen));
        file.sync_data().expect("it fails once, and lies from then on");
        assert_eq!(contents_after_crashes(&disk, "/file"), [Some(b"old".to_vec())]);
    }
}

#[test]
fn handles_and_locks_end_with_the_power() {
    let disk = FaultyDisk::new(1);
    let file = synced_file(&disk, b"old");
    let lock = |disk: &FaultyDisk| {
        let locked = disk.lock(Path::new("/LOCK")).expect("the disk is healthy");
        match locked {
            Locked::Held(lock) => Some(lock),
            Locked::InUse { .. } => None,
        }
    };
    let first = lock(&disk).expect("it is not locked");
    assert!(lock(&disk).is_none());
    disk.crash(1);
    assert!(file.read_at(0, &mut [0; 1]).is_err());
    assert!(file.write_at(0, b"x").is_err());
    let second = lock(&disk).expect("the power cut let it go");
    drop(first);
    assert!(lock(&disk).is_none(), "a dead handle lets nothing go");
    drop(second);
    assert!(lock(&disk).is_some());
}

#[test]
fn a_stopped_disk_stays_silent_until_the_power_cut() {
    let disk = FaultyDisk::new(1);
    let file = synced_file(&disk, b"old");
    disk.stop_at(disk.counts().total);
    assert!(!disk.is_stopped());
    assert!(file.write_at(0, b"new").is_err());
    assert!(disk.is_stopped());
    assert!(file.sync_data().is_err());
    assert!(disk.list(Path::new("/")).is_err());
    let outcomes = contents_after_crashes(&disk, "/file");
    assert_eq!(outcomes, [Some(b"new".to_vec()), Some(b"old".to_vec())]);
    disk.crash(1);
    assert_eq!(disk.list(Path::new("/")).expect("the power is on").len(), 1);
}

#[test]
fn a_full_disk_accepts_commands_that_free_space() {
    let disk = FaultyDisk::new(1);
    let file = synced_file(&disk, &[1; 1000]);
    disk.set_capacity(Some(1000));
    file.write_at(0, &[2; 1000]).expect("nothing grows");
    let full = file.write_at(500, &[3; 501]).expect_err("one byte too many");
    assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);
    assert_eq!(disk.bytes_used(), 1000);
    disk.remove(Path::new("/file")).expect("it is there");
    assert_eq!(disk.bytes_used(), 0);
}
