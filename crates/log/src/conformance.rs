//! The laws of [`Log`] as functions that every backend runs.
//!
//! A law gets a function that opens the log: empty at first, and the same log again each time,
//! after the law has dropped the previous one. A backend runs all laws with one line:
//!
//! ```text
//! baton_log::conformance!(memory, {
//!     let log = MemoryLog::default();
//!     move || Box::new(log.clone()) as Box<dyn Log>
//! });
//! ```
//!
//! The laws about failing disks are not here: only a backend knows how to make its storage fail.

use crate::contract::{Log, Position, Record};
use crate::error::{AppendError, BlobError, ReadError, TruncateError};

/// Opens the log under test, any number of times.
pub type Open<'a> = &'a mut dyn FnMut() -> Box<dyn Log>;

/// Runs every law against the log of a factory. Each law gets a fresh factory.
#[macro_export]
macro_rules! conformance {
    ($name:ident, $factory:expr) => {
        $crate::conformance! { @laws $name, $factory,
            a_new_log_is_empty
            records_come_back_in_order
            a_stale_writer_is_fenced
            acknowledged_records_survive_reopening
            bodies_of_every_size_come_back
            a_record_that_is_too_large_is_refused
            reading_keeps_to_its_limit
            reading_outside_is_refused
            parts_of_records_can_be_read
            truncation_keeps_what_is_needed
            truncation_survives_reopening
            truncating_everything_keeps_the_tail
            two_writers_never_share_a_position
            readers_see_a_growing_log
            a_committed_blob_is_whole_and_immutable
            an_uncommitted_blob_never_existed
            blobs_are_listed_in_order
            blobs_survive_reopening
            deleted_blobs_are_gone
            bad_blob_names_are_refused
            a_blob_is_not_a_folder
        }
    };
    (@laws $name:ident, $factory:expr, $($law:ident)*) => {
        mod $name {
            use super::*;

            $(
                #[test]
                fn $law() {
                    let mut factory = $factory;
                    $crate::conformance::$law(&mut factory);
                }
            )*
        }
    };
}

/// A body that differs from its neighbours in length and bytes.
fn body(number: usize) -> Vec<u8> {
    (0..number * 37 % 300).map(|index| u8::try_from((index + number) % 251).unwrap_or(0)).collect()
}

fn append_all(log: &dyn Log, bodies: &[Vec<u8>]) -> Vec<Position> {
    let append = |body: &Vec<u8>| {
        let position = log.tail();
        let next = log.append(position, body).expect("the log is healthy");
        assert!(next > position, "the tail grows");
        assert_eq!(log.tail(), next, "the answer is the new tail");
        position
    };
    bodies.iter().map(append).collect()
}

/// Everything from `from` on, read in pieces.
#[must_use]
pub fn read_all(log: &dyn Log, from: Position, bytes_max: usize) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    let mut next = from;
    loop {
        let piece = log.read(next, bytes_max).expect("the log is sound");
        let Some(last) = piece.last() else {
            assert_eq!(next, log.tail(), "reading ends at the tail and nowhere else");
            return records;
        };
        assert_eq!(piece[0].position, next, "reading begins where it was asked to");
        next = last.next;
        records.extend(piece);
    }
}

fn check_contents(log: &dyn Log, from: Position, bodies: &[Vec<u8>]) {
    let records = read_all(log, from, 1000);
    let found: Vec<_> = records.iter().map(|record| record.body.clone()).collect();
    assert_eq!(found, bodies);
    for pair in records.windows(2) {
        assert_eq!(pair[0].next, pair[1].position, "records are adjacent");
    }
}

/// Law 4: an empty log starts at its tail.
pub fn a_new_log_is_empty(open: Open) {
    let log = open();
    assert_eq!(log.start(), log.tail());
    assert_eq!(log.read(log.tail(), 100), Ok(vec![]));
    assert_eq!(log.list_blobs(""), Ok(vec![]));
    assert!(!log.description().is_empty());
}

/// Law 4: records are read in the order of their appends.
pub fn records_come_back_in_order(open: Open) {
    let log = open();
    let bodies: Vec<_> = (0..50).map(body).collect();
    let positions = append_all(&*log, &bodies);
    check_contents(&*log, log.start(), &bodies);
    for (index, position) in positions.iter().enumerate() {
        check_contents(&*log, *position, &bodies[index..]);
    }
}

/// Law 2: an append succeeds only at the tail, and a refused one changes nothing.
pub fn a_stale_writer_is_fenced(open: Open) {
    let log = open();
    let first = log.tail();
    let tail = log.append(first, b"first").expect("the log is healthy");
    for expected in [first, Position(tail.0 + 1), Position(u64::MAX)] {
        let refused = log.append(expected, b"second");
        assert_eq!(refused, Err(AppendError::Fenced { expected, tail }));
    }
    assert_eq!(log.tail(), tail);
    check_contents(&*log, first, &[b"first".to_vec()]);
    log.append(tail, b"second").expect("a refusal does no harm");
}

/// Law 1: acknowledged records exist after the log was closed and opened.
pub fn acknowledged_records_survive_reopening(open: Open) {
    let mut bodies = Vec::new();
    let mut start = None;
    for round in 0..5 {
        let log = open();
        let start = *start.get_or_insert(log.start());
        check_contents(&*log, start, &bodies);
        let more: Vec<_> = (round * 10..round * 10 + 10).map(body).collect();
        append_all(&*log, &more);
        bodies.extend(more);
        check_contents(&*log, start, &bodies);
    }
    check_contents(&*open(), start.expect("the rounds began"), &bodies);
}

/// Law 3: bodies are read back completely, around every block boundary and without one.
pub fn bodies_of_every_size_come_back(open: Open) {
    let sizes = [0, 1, 2, 511, 512, 513, 4000, 4050, 4075, 4076, 4077, 4095, 4096, 4097, 9000];
    let bodies: Vec<_> =
        sizes.iter().map(|&size| vec![u8::try_from(size % 255).unwrap_or(0); size]).collect();
    let log = open();
    let start = log.start();
    append_all(&*log, &bodies);
    check_contents(&*log, start, &bodies);
    drop(log);
    check_contents(&*open(), start, &bodies);
}

/// Law 2: a rejection for size names the limit and changes nothing; the limit itself is allowed.
pub fn a_record_that_is_too_large_is_refused(open: Open) {
    let log = open();
    let tail = log.tail();
    let large = vec![7; crate::contract::RECORD_BYTES_MAX + 1];
    let Err(AppendError::TooLarge { bytes, bytes_max }) = log.append(tail, &large) else {
        panic!("no log takes more than the limit");
    };
    assert_eq!(bytes, large.len());
    assert_eq!(log.tail(), tail);
    assert!(log.append(tail, &large[..=bytes_max]).is_err());
    log.append(tail, &large[..bytes_max]).expect("the limit is allowed");
    log.append(log.tail(), b"next").expect("a large record does no harm");
    check_contents(&*log, tail, &[large[..bytes_max].to_vec(), b"next".to_vec()]);
}

/// Law 4: at least one record, then as many as fit.
pub fn reading_keeps_to_its_limit(open: Open) {
    let log = open();
    let start = log.tail();
    append_all(&*log, &vec![vec![1; 100]; 20]);
    for (bytes_max, expected) in
        [(0, 1), (1, 1), (99, 1), (100, 1), (199, 1), (200, 2), (1000, 10), (usize::MAX, 20)]
    {
        let records = log.read(start, bytes_max).expect("the log is sound");
        assert_eq!(records.len(), expected, "{bytes_max}");
    }
}

/// Law 8: a position that is not held is an error, never an empty answer.
pub fn reading_outside_is_refused(open: Open) {
    let log = open();
    append_all(&*log, &[b"a".to_vec(), b"b".to_vec()]);
    let tail = log.tail();
    let beyond = Position(tail.0 + 1);
    assert_eq!(log.read(beyond, 10), Err(ReadError::BeyondTail { position: beyond, tail }));
    let refused = log.read_part(beyond, 0, &mut [0; 1]).expect_err("nothing is there");
    assert_eq!(refused.code(), "log.beyond_tail");
    let refused = log.read_part(tail, 0, &mut [0; 1]).expect_err("nothing is there yet");
    assert_eq!(refused.code(), "log.beyond_tail");
}

/// Law 4: any part of any record, old or just written, in this log or in the one opened again.
pub fn parts_of_records_can_be_read(open: Open) {
    let log = open();
    let bodies: Vec<_> = (0..40).map(body).collect();
    let mut positions = Vec::new();
    let check = |log: &dyn Log, position: Position, body: &[u8]| {
        for (from, to) in [(0, body.len()), (body.len() / 3, body.len() / 2)] {
            let mut part = vec![0; to - from];
            let offset = u32::try_from(from).expect("a small body");
            log.read_part(position, offset, &mut part).expect("the part is there");
            assert_eq!(part, body[from..to]);
        }
    };
    for body in &bodies {
        positions.extend(append_all(&*log, std::slice::from_ref(body)));
        for (position, body) in positions.iter().zip(&bodies) {
            check(&*log, *position, body);
        }
    }
    drop(log);
    let log = open();
    for (position, body) in positions.iter().zip(&bodies) {
        check(&*log, *position, body);
    }
}

/// Law 8: records from the given position on stay; the tail does not move; older ones are refused
/// once they are gone.
pub fn truncation_keeps_what_is_needed(open: Open) {
    let log = open();
    let bodies: Vec<_> = (0..200).map(body).collect();
    let positions = append_all(&*log, &bodies);
    let tail = log.tail();
    for index in [0, 50, 51, 120, 199] {
        let before = positions[index];
        log.truncate(before).expect("the log is healthy");
        assert_eq!(log.tail(), tail);
        assert!(log.start() <= before, "what is needed stays");
        check_contents(&*log, before, &bodies[index..]);
        let start = log.start();
        let kept = positions.iter().position(|position| *position == start);
        check_contents(&*log, start, &bodies[kept.expect("a record begins at the start")..]);
        for position in positions.iter().filter(|position| **position < start) {
            let truncated = ReadError::Truncated { position: *position, start };
            assert_eq!(log.read(*position, 10), Err(truncated.clone()));
            assert_eq!(log.read_part(*position, 0, &mut []), Err(truncated));
        }
    }
    let before = Position(tail.0 + 1);
    assert_eq!(log.truncate(before), Err(TruncateError::BeyondTail { before, tail }));
}

/// Laws 5 and 8: after a truncation and a restart the positions continue.
pub fn truncation_survives_reopening(open: Open) {
    let mut bodies = Vec::new();
    let mut positions = Vec::new();
    for round in 0..10 {
        let log = open();
        let more: Vec<_> = (round * 40..round * 40 + 40).map(body).collect();
        positions.extend(append_all(&*log, &more));
        bodies.extend(more);
        assert!(positions.is_sorted(), "positions only grow");
        let keep = positions.len() - 10;
        log.truncate(positions[keep]).expect("the log is healthy");
        let tail = log.tail();
        drop(log);
        let log = open();
        assert_eq!(log.tail(), tail);
        check_contents(&*log, positions[keep], &bodies[keep..]);
    }
}

/// Law 5: a log without records keeps its position.
pub fn truncating_everything_keeps_the_tail(open: Open) {
    let log = open();
    append_all(&*log, &(0..100).map(body).collect::<Vec<_>>());
    let tail = log.tail();
    log.truncate(tail).expect("the log is healthy");
    assert_eq!(log.tail(), tail);
    drop(log);
    let log = open();
    assert_eq!(log.tail(), tail);
    let next = log.append(tail, b"on").expect("the log is healthy");
    assert!(next > tail);
    check_contents(&*log, tail, &[b"on".to_vec()]);
}

/// Laws 2 and 5: of concurrent writers at one position exactly one succeeds.
pub fn two_writers_never_share_a_position(open: Open) {
    let log = open();
    let start = log.tail();
    let append_until_done = |name: u8| {
        let mut mine = Vec::new();
        while mine.len() < 50 {
            let expected = log.tail();
            match log.append(expected, &[name]) {
                Ok(_) => mine.push(expected),
                Err(AppendError::Fenced { .. }) => {}
                Err(other) => panic!("{other}"),
            }
        }
        mine
    };
    let mut positions = std::thread::scope(|scope| {
        let writers: Vec<_> =
            (0..3).map(|name| scope.spawn(move || append_until_done(name))).collect();
        let finish = |writer: std::thread::ScopedJoinHandle<'_, Vec<Position>>| writer.join();
        writers.into_iter().flat_map(|writer| finish(writer).expect("no panic")).collect::<Vec<_>>()
    });
    positions.sort();
    let found: Vec<_> =
        read_all(&*log, start, 1000).into_iter().map(|record| record.position).collect();
    assert_eq!(found, positions);
}

/// Law 1: a reader sees complete records up to the tail during appends and truncations.
pub fn readers_see_a_growing_log(open: Open) {
    const RECORDS: usize = 300;
    let log = open();
    let start = log.tail();
    let read_to_the_end = || {
        let (mut next, mut seen) = (start, 0_usize);
        while seen < RECORDS {
            match log.read(next, 500) {
                Ok(records) => {
                    for record in records {
                        let number =
                            usize::from(record.body[0]) + 256 * usize::from(record.body[1]);
                        assert!(number >= seen, "records come in order");
                        assert_eq!(record.body[2..], body(number)[..]);
                        (next, seen) = (record.next, number + 1);
                    }
                }
                Err(ReadError::Truncated { start, .. }) => next = start,
                Err(other) => panic!("{other}"),
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(read_to_the_end);
        scope.spawn(read_to_the_end);
        for number in 0..RECORDS {
            let mut bytes = u16::try_from(number).expect("a few").to_le_bytes().to_vec();
            bytes.extend(body(number));
            log.append(log.tail(), &bytes).expect("the log is healthy");
            if number % 50 == 49 && number + 1 < RECORDS {
                log.truncate(log.tail()).expect("the log is healthy");
            }
        }
    });
}

fn put_blob(log: &dyn Log, name: &str, parts: &[&[u8]]) {
    let mut writer = log.create_blob(name).expect("the name is free");
    for part in parts {
        writer.write(part).expect("there is space");
    }
    writer.commit().expect("the storage is healthy");
}

/// All bytes of a blob, if it exists.
#[must_use]
pub fn get_blob(log: &dyn Log, name: &str) -> Option<Vec<u8>> {
    let blob = log.open_blob(name).expect("the storage is healthy")?;
    let mut bytes = vec![0; usize::try_from(blob.len()).expect("a small blob")];
    blob.read_at(0, &mut bytes).expect("the bytes are there");
    assert_eq!(blob.is_empty(), bytes.is_empty());
    Some(bytes)
}

/// Law 9: all bytes, in order, and never others.
pub fn a_committed_blob_is_whole_and_immutable(open: Open) {
    let log = open();
    put_blob(&*log, "a/b", &[b"one", b"", b"two"]);
    put_blob(&*log, "empty", &[]);
    put_blob(&*log, "large", &[&vec![5; 300_000], b"!", &vec![6; 300_000]]);
    assert_eq!(get_blob(&*log, "a/b"), Some(b"onetwo".to_vec()));
    assert_eq!(get_blob(&*log, "empty"), Some(vec![]));
    let large = get_blob(&*log, "large").expect("it was committed");
    assert_eq!((large.len(), large[300_000]), (600_001, b'!'));
    let refused = log.create_blob("a/b").err();
    assert_eq!(refused, Some(BlobError::Exists { name: "a/b".to_owned() }));
    let blob = log.open_blob("a/b").expect("the storage is healthy").expect("it exists");
    let mut part = [0; 3];
    blob.read_at(2, &mut part).expect("the bytes are there");
    assert_eq!(&part, b"etw");
    let refused = blob.read_at(4, &mut part);
    assert_eq!(refused, Err(BlobError::OutOfRange { offset: 4, end: 7, length: 6 }));
    assert!(blob.read_at(u64::MAX, &mut part).is_err());
}

/// Law 9: before its commit, and without one, a blob is neither seen nor listed.
pub fn an_uncommitted_blob_never_existed(open: Open) {
    let log = open();
    let mut writer = log.create_blob("a/b").expect("the name is free");
    writer.write(b"half").expect("there is space");
    assert_eq!(get_blob(&*log, "a/b"), None);
    assert_eq!(log.list_blobs(""), Ok(vec![]));
    let refused = log.create_blob("a/b").err();
    assert_eq!(refused, Some(BlobError::Exists { name: "a/b".to_owned() }));
    drop(writer);
    assert_eq!(get_blob(&*log, "a/b"), None);
    put_blob(&*log, "a/b", &[b"whole"]);
    assert_eq!(get_blob(&*log, "a/b"), Some(b"whole".to_vec()));
}

/// Law 9: names with a prefix, sorted, across folders.
pub fn blobs_are_listed_in_order(open: Open) {
    let log = open();
    let names = ["b/2", "a", "b/10", "b-1", "b/c/d", "c/1", "b.x/1"];
    for name in names {
        put_blob(&*log, name, &[name.as_bytes()]);
    }
    let mut sorted: Vec<_> = names.map(str::to_owned).into();
    sorted.sort();
    for prefix in ["", "a", "b", "b/", "b/1", "b/c", "b/c/", "b/c/d", "b-", "x", "x/y", "a/"] {
        let expected: Vec<_> =
            sorted.iter().filter(|name| name.starts_with(prefix)).cloned().collect();
        assert_eq!(log.list_blobs(prefix), Ok(expected), "{prefix}");
    }
}

/// Law 9: committed blobs are durable.
pub fn blobs_survive_reopening(open: Open) {
    let log = open();
    put_blob(&*log, "w/x/snapshot-1", &[b"one"]);
    let mut writer = log.create_blob("w/x/snapshot-2").expect("the name is free");
    writer.write(b"two").expect("there is space");
    drop(writer);
    drop(log);
    let log = open();
    assert_eq!(log.list_blobs(""), Ok(vec!["w/x/snapshot-1".to_owned()]));
    assert_eq!(get_blob(&*log, "w/x/snapshot-1"), Some(b"one".to_vec()));
}

/// Law 9: a deleted blob is gone, except for readers that have it open.
pub fn deleted_blobs_are_gone(open: Open) {
    let log = open();
    put_blob(&*log, "a/b", &[b"bytes"]);
    let blob = log.open_blob("a/b").expect("the storage is healthy").expect("it exists");
    for name in ["a/b", "a/b", "a/c", "x/y"] {
        assert_eq!(log.delete_blob(name), Ok(()));
    }
    assert_eq!(get_blob(&*log, "a/b"), None);
    let mut bytes = [0; 5];
    blob.read_at(0, &mut bytes).expect("an open blob stays readable");
    assert_eq!(&bytes, b"bytes");
    drop((blob, log));
    let log = open();
    assert_eq!(log.list_blobs(""), Ok(vec![]));
    put_blob(&*log, "a/b", &[b"again"]);
    assert_eq!(get_blob(&*log, "a/b"), Some(b"again".to_vec()));
}

/// Law 9: names mean the same whether or not a backend has folders.
pub fn a_blob_is_not_a_folder(open: Open) {
    let log = open();
    put_blob(&*log, "a", &[b"bytes"]);
    put_blob(&*log, "c/d", &[b"bytes"]);
    for name in ["a/b", "a/b/c", "c"] {
        let refused = log.create_blob(name).err();
        assert_eq!(refused, Some(BlobError::Exists { name: name.to_owned() }));
        assert_eq!(get_blob(&*log, name), None);
    }
    assert_eq!(log.delete_blob("a/b"), Ok(()));
    assert_eq!(log.list_blobs(""), Ok(vec!["a".to_owned(), "c/d".to_owned()]));
}

/// Law 9: names that could escape or collide are refused by every method.
pub fn bad_blob_names_are_refused(open: Open) {
    let log = open();
    for name in ["", "/a", "a/", "../a", "a//b", "a b", "a.partial", "a/./b"] {
        assert_eq!(log.create_blob(name).err().map(|e| e.code()), Some("log.blob_name"), "{name}");
        assert_eq!(log.open_blob(name).err().map(|e| e.code()), Some("log.blob_name"), "{name}");
        assert_eq!(log.delete_blob(name).err().map(|e| e.code()), Some("log.blob_name"), "{name}");
    }
    assert!(log.list_blobs("../").is_err());
}
