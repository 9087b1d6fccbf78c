use std::collections::BTreeMap;
use std::ops::Bound;

use proptest::collection::vec;
use proptest::prelude::*;

use super::node::NODE_ITEMS_MAX;
use super::{Entries, Entry, WriteHead};

type Model = BTreeMap<String, Entry>;

fn entry(key: &str, version: u32) -> Entry {
    let head = WriteHead { revision: u64::from(version) + 1, time_ms: 5, version, author: 3 };
    Entry::new(head, key, &vec![b'v'; version as usize % 7])
}

fn numbered(number: usize) -> Entry {
    entry(&format!("k:{number:08}"), 1)
}

fn filled(entries: impl IntoIterator<Item = Entry>) -> Entries {
    let mut table = Entries::new();
    for entry in entries {
        assert_eq!(table.put(entry), None);
    }
    table.check();
    table
}

/// A fixed shuffle, so that failures are reproducible.
fn scattered(count: usize) -> impl Iterator<Item = usize> {
    (0..count).map(move |number| number * 7919 % count)
}

fn keys(table: &Entries) -> Vec<String> {
    table.iter().map(|entry| entry.key().to_owned()).collect()
}

fn capture_rest(table: &mut Entries, limit: usize) -> Vec<Entry> {
    let mut captured = Vec::new();
    loop {
        let more = table.next_captured(limit);
        assert!(more.len() <= limit);
        if more.is_empty() {
            return captured;
        }
        captured.extend(more);
    }
}

#[test]
fn an_entry_returns_the_packed_fields() {
    let time_ms = (1 << 48) - 1;
    let head = WriteHead { revision: u64::MAX, time_ms, version: u32::MAX, author: u32::MAX - 1 };
    for (key, value) in [("", &b""[..]), ("k", b""), ("", b"v"), ("schlüssel", b"{\"a\":1}")] {
        let entry = Entry::new(head, key, value);
        assert_eq!((entry.key(), entry.key_bytes(), entry.value()), (key, key.as_bytes(), value));
        assert_eq!((entry.revision(), entry.time_ms()), (head.revision, head.time_ms));
        assert_eq!((entry.version(), entry.author()), (head.version, head.author));
        assert_eq!(Entry::from_bytes(entry.as_bytes()), Some(entry));
    }
}

#[test]
fn the_packed_form_is_pinned() {
    let head = WriteHead { revision: 0x0102, time_ms: 0x0304, version: 0x05, author: 0x0607 };
    #[rustfmt::skip] // One field per line.
    let packed = [
        0x02, 0x01, 0, 0, 0, 0, 0, 0,
        2, 0,
        0x04, 0x03, 0, 0, 0, 0,
        0x05, 0, 0, 0,
        0x07, 0x06, 0, 0,
        b'k', b'y',
        b'v',
    ];
    assert_eq!(Entry::new(head, "ky", b"v").as_bytes(), packed);
}

#[test]
fn bytes_that_are_no_entry_are_refused() {
    let whole = entry("schlüssel", 1);
    let packed = whole.as_bytes();
    let key_end = 24 + whole.key_bytes().len();
    for end in 0..key_end {
        assert_eq!(Entry::from_bytes(&packed[..end]), None, "cut to {end} bytes");
    }
    assert!(Entry::from_bytes(&packed[..key_end]).is_some(), "an empty value is a value");
    let mut broken = packed.to_vec();
    broken[24] = 0xff;
    assert_eq!(Entry::from_bytes(&broken), None, "the key is not UTF-8");
}

#[test]
#[should_panic(expected = "time 281474976710656 does not fit 48 bits")]
fn a_time_beyond_48_bits_is_an_error_of_the_caller() {
    let _ =
        Entry::new(WriteHead { revision: 1, time_ms: 1 << 48, version: 1, author: 1 }, "k", b"");
}

#[test]
fn an_entry_takes_two_words_in_the_slab() {
    assert_eq!(size_of::<Option<Entry>>(), 16);
}

#[test]
fn an_empty_table_answers_everything() {
    let mut table = Entries::new();
    assert!(table.is_empty());
    assert_eq!((table.len(), table.bytes()), (0, 0));
    assert_eq!(table.get("a"), None);
    assert_eq!(table.remove("a"), None);
    assert_eq!(table.range(Bound::Included("a")).count(), 0);
    assert_eq!(table.range(Bound::Excluded("")).count(), 0);
    table.begin_capture();
    assert_eq!(table.next_captured(1), []);
    assert!(!table.is_capturing());
    assert!(Entries::from_sorted(Vec::new()).is_empty());
}

#[test]
fn ascending_and_descending_keys_fill_their_chunks() {
    let count = 20 * NODE_ITEMS_MAX;
    let fewest = count / (NODE_ITEMS_MAX - 1) + 1;
    let ascending = filled((0..count).map(numbered));
    assert_eq!(ascending.chunks(), fewest);
    let descending = filled((0..count).rev().map(numbered));
    assert_eq!(descending.chunks(), fewest);
    assert!(keys(&ascending) == keys(&descending));
}

#[test]
fn ascending_keys_before_others_fill_their_chunks_too() {
    let count = 20 * NODE_ITEMS_MAX;
    let others = (0..10).map(|number| entry(&format!("z{number}"), 1));
    let table = filled(others.chain((0..count).map(numbered)));
    assert!(table.chunks() <= count / (NODE_ITEMS_MAX - 1) + 3, "{} chunks", table.chunks());
}

#[test]
fn scattered_keys_end_up_in_order() {
    let count = 20 * NODE_ITEMS_MAX + 1;
    let table = filled(scattered(count).map(numbered));
    let expected: Vec<_> = (0..count).map(|number| format!("k:{number:08}")).collect();
    assert!(keys(&table) == expected);
}

#[test]
fn keys_that_differ_late_and_odd_ones_among_them_stay_in_order() {
    // Keys with a common prefix that is longer than the digests of slots and of chunks.
    let long = "a-very-long-prefix-that-all-of-them-share/";
    let count = 6 * NODE_ITEMS_MAX + 1;
    let mut expected = Vec::new();
    let mut table = Entries::new();
    for number in scattered(count) {
        let branch = ["", "north-of-everything/", "south-of-everything/"][number % 3];
        let odd = if number % 1000 == 0 { "" } else { long };
        let key = format!("{odd}{branch}{number:06}");
        table.put(entry(&key, 1));
        expected.push(key);
    }
    table.check();
    expected.sort();
    assert!(keys(&table) == expected);
    for key in &expected {
        assert_eq!(table.range(Bound::Included(key)).next().map(Entry::key), Some(&**key));
    }
}

#[test]
fn chunks_join_as_keys_leave_and_go_with_their_last_key() {
    let count = 20 * NODE_ITEMS_MAX;
    let mut table = filled((0..count).map(numbered));
    let full = table.chunks();
    for number in (0..count).filter(|number| number % 64 != 0) {
        assert_eq!(table.remove(numbered(number).key()), Some(numbered(number)));
    }
    table.check();
    assert_eq!(table.len(), count / 64);
    assert!(table.chunks() <= full / 8, "{} of {full} chunks are left", table.chunks());
    for number in (0..count).step_by(64) {
        table.remove(numbered(number).key());
    }
    table.check();
    assert_eq!((table.len(), table.chunks(), table.bytes()), (0, 0, 0));
    table.put(numbered(1));
    table.check();
}

#[test]
fn a_bulk_load_equals_the_same_puts() {
    for count in [0, 1, NODE_ITEMS_MAX - 1, NODE_ITEMS_MAX, 5 * NODE_ITEMS_MAX + 1] {
        let mut loaded = Entries::from_sorted((0..count).map(numbered).collect());
        loaded.check();
        let put = filled((0..count).map(numbered));
        assert!(loaded.iter().eq(put.iter()));
        assert_eq!((loaded.len(), loaded.bytes()), (put.len(), put.bytes()));
        for number in 0..count {
            loaded.put(entry(&format!("k:{number:08}+"), 1));
        }
        loaded.check();
    }
}

#[test]
#[should_panic(expected = "entry `k:00000001` is not after the one before")]
fn a_bulk_load_refuses_a_key_twice() {
    let _ = Entries::from_sorted(vec![numbered(1), numbered(1)]);
}

#[test]
#[should_panic(expected = "a capture is already running")]
fn a_second_capture_is_refused() {
    let mut table = Entries::new();
    table.begin_capture();
    table.begin_capture();
}

#[test]
fn a_capture_shows_the_instant_it_began() {
    let mut table = filled(["b", "c", "d", "e", "f"].map(|key| entry(key, 1)));
    let then: Vec<_> = table.iter().cloned().collect();
    table.begin_capture();
    assert_eq!(table.next_captured(2), then[..2]);
    table.put(entry("a", 2));
    table.put(entry("b", 2));
    table.remove("c");
    table.remove("d");
    table.put(entry("d", 2));
    table.put(entry("dd", 2));
    table.put(entry("e", 2));
    table.put(entry("e", 3));
    table.remove("f");
    table.put(entry("g", 2));
    table.remove("g");
    table.check();
    assert_eq!(capture_rest(&mut table, 1), then[2..]);
    assert!(!table.is_capturing());
    assert_eq!(keys(&table), ["a", "b", "d", "dd", "e"]);
}

#[test]
fn keys_that_came_later_do_not_end_a_capture_early() {
    let mut table = filled([entry("a", 1), entry("z", 1)]);
    table.begin_capture();
    for number in 0..100 {
        table.put(numbered(number));
    }
    assert_eq!(table.next_captured(1), [entry("a", 1)]);
    assert_eq!(table.next_captured(1), [entry("z", 1)]);
    assert_eq!(table.next_captured(1), []);
}

#[test]
fn an_aborted_capture_leaves_nothing_behind() {
    let mut table = filled([entry("a", 1), entry("b", 1)]);
    table.abort_capture();
    table.begin_capture();
    table.put(entry("b", 2));
    table.abort_capture();
    table.begin_capture();
    assert_eq!(capture_rest(&mut table, 5), [entry("a", 1), entry("b", 2)]);
}

#[derive(Clone, Debug)]
enum Step {
    Put(String),
    Fill(String, usize),
    Remove(String),
    RemoveNth(usize),
    Clear(String, usize),
    Range(Bound<String>),
    Begin,
    Next(usize),
    Abort,
    Reload,
}

/// Keys that share prefixes, are prefixes of others, and use all of Unicode but NUL.
fn any_key() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just(String::new()),
        "[ab]{0,3}",
        Just("task/".to_owned()),
        Just("a-shared-part-of-23-byte/".to_owned()),
        "[0-9]{1,3}",
        "[\\x01\\x7fé\u{7ff}€\u{10ffff}]{1,2}",
        "[^\\x00]{0,4}",
    ];
    vec(part, 0..4).prop_map(|parts| parts.concat())
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        20 => any_key().prop_map(Step::Put),
        2 => (any_key(), 1_usize..700).prop_map(|(key, count)| Step::Fill(key, count)),
        5 => any_key().prop_map(Step::Remove),
        10 => any::<usize>().prop_map(Step::RemoveNth),
        2 => (any_key(), 1_usize..700).prop_map(|(key, count)| Step::Clear(key, count)),
        5 => any_key().prop_map(|key| Step::Range(Bound::Included(key))),
        5 => any_key().prop_map(|key| Step::Range(Bound::Excluded(key))),
        3 => Just(Step::Begin),
        8 => (1_usize..300).prop_map(Step::Next),
        1 => Just(Step::Abort),
        1 => Just(Step::Reload),
    ]
}

/// The table next to a plain map that does the same, and the expected capture.
#[derive(Default)]
struct Pair {
    table: Entries,
    model: Model,
    picture: Option<Vec<Entry>>,
    version: u32,
}

impl Pair {
    fn put(&mut self, key: &str) {
        self.version += 1;
        let entry = entry(key, self.version);
        assert_eq!(self.table.put(entry.clone()), self.model.insert(key.to_owned(), entry));
    }

    fn remove(&mut self, key: &str) {
        assert_eq!(self.table.remove(key), self.model.remove(key));
    }

    fn next_captured(&mut self, limit: usize) {
        let Some(picture) = &mut self.picture else { return };
        let captured = self.table.next_captured(limit);
        assert!(captured.len() <= limit);
        assert!(picture.starts_with(&captured));
        picture.drain(..captured.len());
        if captured.is_empty() {
            assert!(picture.is_empty(), "the capture ended with {} left", picture.len());
            self.picture = None;
        }
    }

    fn run(&mut self, step: Step) {
        match step {
            Step::Put(key) => self.put(&key),
            Step::Fill(key, count) => {
                scattered(count).for_each(|number| self.put(&format!("{key}{number}")));
            }
            Step::Remove(key) => self.remove(&key),
            Step::RemoveNth(number) => {
                let key = self.model.keys().nth(number % self.model.len().max(1)).cloned();
                if let Some(key) = key {
                    self.remove(&key);
                }
            }
            Step::Clear(key, count) => {
                let keys: Vec<_> = self.model.range(key..).take(count).collect();
                let keys: Vec<_> = keys.into_iter().map(|(key, _)| key.clone()).collect();
                for key in keys {
                    self.remove(&key);
                }
            }
            Step::Range(from) => {
                let range = self.table.range(from.as_ref().map(String::as_str));
                assert!(
                    range.eq(self.model.range((from, Bound::Unbounded)).map(|(_, value)| value))
                );
            }
            Step::Begin if self.picture.is_none() => {
                self.table.begin_capture();
                self.picture = Some(self.model.values().cloned().collect());
            }
            Step::Begin => {}
            Step::Next(limit) => self.next_captured(limit),
            Step::Abort => {
                self.table.abort_capture();
                self.picture = None;
            }
            Step::Reload => {
                self.table = Entries::from_sorted(self.table.iter().cloned().collect());
                self.picture = None;
            }
        }
        assert_eq!(self.table.is_capturing(), self.picture.is_some());
    }

    fn check(&self) {
        self.table.check();
        assert!(self.table.iter().eq(self.model.values()));
        assert_eq!(self.table.len(), self.model.len());
        for (key, entry) in &self.model {
            assert_eq!(self.table.get(key), Some(entry));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn the_table_does_what_a_plain_map_does(steps in vec(any_step(), 1..150)) {
        let mut pair = Pair::default();
        for step in steps {
            pair.run(step);
        }
        pair.check();
        while pair.picture.is_some() {
            pair.next_captured(100);
        }
        pair.check();
    }

    #[test]
    fn few_keys_and_many_changes_agree_after_every_step(
        steps in vec((any::<bool>(), "[ab]{0,3}", 0_usize..3), 1..200),
    ) {
        let mut pair = Pair::default();
        for (put, key, next) in steps {
            pair.run(if put { Step::Put(key) } else { Step::Remove(key) });
            pair.run(if next == 0 { Step::Begin } else { Step::Next(next) });
            pair.check();
        }
    }
}
