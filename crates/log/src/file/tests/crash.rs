//! Goal: everything acknowledged exists after a power cut or a failed operation at any point, and
//! nothing exists partially.
//!
//! Method: one script of appends, truncations and blobs that crosses many segments, run once for
//! every disk operation that it makes, with the fault at that operation. A ledger records the
//! acknowledged operations and those in flight, and compares.

use std::collections::BTreeMap;

use super::{open, try_open};
use crate::conformance::{get_blob, read_all};
use crate::faulty::FaultyDisk;
use crate::{AppendError, BlobError, FileLog, Log, Position, ReadError};

/// The writes that the log has acknowledged.
#[derive(Default)]
struct Ledger {
    records: Vec<(Position, Vec<u8>)>,
    /// An append whose outcome is unknown.
    in_flight: Option<(Position, Vec<u8>)>,
    /// Records before this are not needed.
    needed_from: Position,
    blobs: BTreeMap<String, Vec<u8>>,
    /// A blob whose creation has an unknown outcome.
    blob_in_flight: Option<(String, Vec<u8>)>,
    /// A blob whose deletion failed. It may exist or not, and reappear.
    deletion_in_flight: Option<(String, Vec<u8>)>,
}

fn record_body(number: usize) -> Vec<u8> {
    let length = [40, 700, 3000, 0, 512, 4076, 1500][number % 7];
    (0..length).map(|index| u8::try_from((index * 7 + number) % 256).expect("a byte")).collect()
}

impl Ledger {
    /// Thirty appends with truncations and blobs in between, until an operation fails.
    fn run(&mut self, disk: &FaultyDisk) -> Option<FileLog<FaultyDisk>> {
        let log = try_open(disk).ok()?;
        for number in 0..30 {
            if !self.append(&log, number) {
                break;
            }
            if number % 7 == 6 {
                self.truncate(&log, number);
            }
            if number % 5 == 4 {
                self.create_blob(&log, number);
            }
            if number % 10 == 9 {
                self.delete_blob(&log);
            }
        }
        Some(log)
    }

    fn append(&mut self, log: &FileLog<FaultyDisk>, number: usize) -> bool {
        let (position, body) = (log.tail(), record_body(number));
        match log.append(position, &body) {
            Ok(_) => self.records.push((position, body)),
            Err(AppendError::Failed(_)) => self.in_flight = Some((position, body)),
            Err(other) => panic!("{other}"),
        }
        self.in_flight.is_none()
    }

    fn truncate(&mut self, log: &FileLog<FaultyDisk>, number: usize) {
        self.needed_from = self.records[number - 2].0;
        // A failed truncation may have removed some, and poisons the log, which the next append
        // reports.
        log.truncate(self.needed_from).unwrap_or_default();
    }

    fn create_blob(&mut self, log: &FileLog<FaultyDisk>, number: usize) {
        if self.blob_in_flight.is_some() {
            return;
        }
        let name = format!("workspaces/w{}/snapshot-{number}", number % 2);
        let bytes = vec![u8::try_from(number).expect("a few"); 1000 + number];
        let written = log.create_blob(&name).and_then(|mut writer| {
            writer.write(&bytes[..500])?;
            writer.write(&bytes[500..])?;
            writer.commit()
        });
        match written {
            Ok(()) => drop(self.blobs.insert(name, bytes)),
            Err(BlobError::Failed(_)) => self.blob_in_flight = Some((name, bytes)),
            Err(other) => panic!("{other}"),
        }
    }

    fn delete_blob(&mut self, log: &FileLog<FaultyDisk>) {
        if self.deletion_in_flight.is_some() {
            return;
        }
        let Some((name, bytes)) = self.blobs.pop_first() else {
            return;
        };
        if log.delete_blob(&name).is_err() {
            assert!(self.deletion_in_flight.is_none(), "one deletion is in flight");
            self.deletion_in_flight = Some((name, bytes));
        }
    }

    /// Compares the log with what was acknowledged, and resolves what was in flight.
    fn check(&mut self, log: &FileLog<FaultyDisk>, context: &str) {
        let start = log.start();
        assert!(start <= self.needed_from, "{context}: needed records were truncated");
        let found: Vec<_> = read_all(log, start, 5000)
            .into_iter()
            .map(|record| (record.position, record.body))
            .collect();
        let landed = found.last().is_some_and(|last| Some(last) == self.in_flight.as_ref());
        if let Some(record) = self.in_flight.take().filter(|_| landed) {
            self.records.push(record);
        }
        let expected: Vec<_> =
            self.records.iter().filter(|(position, _)| *position >= start).cloned().collect();
        assert!(found == expected, "{context}: {} of {}", found.len(), expected.len());
        self.check_blobs(log, context);
    }

    fn check_blobs(&mut self, log: &FileLog<FaultyDisk>, context: &str) {
        let mut found = BTreeMap::new();
        for name in log.list_blobs("").expect("the disk is healthy") {
            let bytes = get_blob(log, &name).expect("a listed blob exists");
            found.insert(name, bytes);
        }
        if let Some((name, bytes)) = self.blob_in_flight.take()
            && found.contains_key(&name)
        {
            self.blobs.insert(name, bytes);
        }
        if let Some((name, bytes)) = &self.deletion_in_flight {
            let found = found.remove(name);
            assert!(found.is_none_or(|found| found == *bytes), "{context}: half of `{name}`");
        }
        assert!(found == self.blobs, "{context}: blobs {:?}", found.keys());
    }

    fn go_on(&mut self, log: &FileLog<FaultyDisk>) {
        for number in 100..108 {
            assert!(self.append(log, number), "the log is healthy again");
        }
    }
}

fn disk(direct: bool, seed: u64) -> FaultyDisk {
    let disk = FaultyDisk::new(seed);
    disk.refuse_direct(!direct);
    disk
}

/// How many operations the script makes when nothing fails.
fn operations(direct: bool) -> u64 {
    let disk = disk(direct, 0);
    let mut ledger = Ledger::default();
    let log = ledger.run(&disk).expect("the disk is healthy");
    ledger.check(&log, "undisturbed");
    disk.counts().total
}

/// A power cut at every operation, then one during recovery, then one after more appends.
pub(super) fn power_cuts(direct: bool, seeds: u64) {
    for index in 0..operations(direct) {
        for seed in 0..seeds {
            let context = format!("direct {direct}, operation {index}, seed {seed}");
            let disk = disk(direct, seed);
            disk.stop_at(index);
            let mut ledger = Ledger::default();
            drop(ledger.run(&disk));
            disk.crash(seed);

            disk.stop_at(disk.counts().total + seed * 7 + index % 7);
            drop(try_open(&disk));
            disk.crash(seed + 1000);

            let log = open(&disk);
            ledger.check(&log, &context);
            ledger.go_on(&log);
            drop(log);
            disk.crash(seed + 2000);
            let log = open(&disk);
            ledger.check(&log, &context);
        }
    }
}

/// An error at every operation, then a restart, then a power cut.
pub(super) fn errors(direct: bool, keep_cache: bool) {
    for index in 0..operations(direct) {
        let context = format!("direct {direct}, keep {keep_cache}, operation {index}");
        let disk = disk(direct, index);
        disk.keep_cache_on_failed_sync(keep_cache);
        disk.fail_at(index);
        let mut ledger = Ledger::default();
        if let Some(log) = ledger.run(&disk) {
            check_poisoned(&log, &ledger);
        }
        // The failure may still happen later, while the log is opened.
        let log = try_open(&disk).or_else(|_| try_open(&disk)).expect("it fails once");
        ledger.check(&log, &context);
        drop(log);
        disk.crash(index);
        let log = open(&disk);
        ledger.check(&log, &context);
        ledger.go_on(&log);
        drop(log);
        disk.crash(index + 1);
        ledger.check(&open(&disk), &context);
    }
}

/// After a failed append all appends fail, and what was acknowledged can still be read.
fn check_poisoned(log: &FileLog<FaultyDisk>, ledger: &Ledger) {
    if ledger.in_flight.is_none() {
        return;
    }
    let first = log.append(log.tail(), b"more").expect_err("the log is poisoned");
    assert_eq!(first.code(), "log.failed");
    assert_eq!(log.append(log.tail(), b"more"), Err(first));
    let tail = ledger.records.last().map_or(Position(0), |(position, _)| *position);
    assert!(log.tail() >= tail, "the tail stays where it was");
    for (position, body) in &ledger.records {
        match log.read(*position, 1) {
            Ok(records) => assert!(records[0].body == *body),
            Err(ReadError::Truncated { .. }) => assert!(*position < ledger.needed_from),
            Err(other) => panic!("{other}"),
        }
    }
}

#[test]
fn nothing_acknowledged_is_lost_by_power_cuts_with_direct_writes() {
    power_cuts(true, 3);
}

#[test]
fn nothing_acknowledged_is_lost_by_power_cuts_with_buffered_writes() {
    power_cuts(false, 3);
}

#[test]
fn nothing_acknowledged_is_lost_by_an_error_with_direct_writes() {
    errors(true, false);
}

#[test]
fn nothing_acknowledged_is_lost_by_an_error_with_buffered_writes() {
    errors(false, false);
}

#[test]
fn a_record_that_only_the_cache_has_after_a_failed_sync_is_made_durable_or_dropped() {
    errors(false, true);
}

#[test]
fn the_same_seed_leads_to_the_same_disk() {
    let run = |seed: u64| {
        let disk = disk(false, seed);
        disk.stop_at(150);
        drop(Ledger::default().run(&disk));
        disk.crash(seed);
        let contents = |(path, _)| disk.contents(&path).map(|bytes| (path, bytes));
        disk.files().into_iter().filter_map(contents).collect::<Vec<_>>()
    };
    assert!(run(7) == run(7));
    assert!(run(7) != run(8));
}
