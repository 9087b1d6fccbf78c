use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use proptest::prelude::*;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::layout::{Fields, HEADER_BYTES, header, put_varint, varint_bytes};
use super::memory_blob::{MemoryBlob, MemoryBlobSlot};
use super::*;

const KIND: u8 = 7;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn written(model: &Model) -> Vec<u8> {
    let slot = MemoryBlobSlot::default();
    let mut writer = SortedTableWriter::new(slot.writer(), KIND);
    for (key, value) in model {
        writer.push(key, value).expect("within the limits");
    }
    let summary = writer.finish().expect("memory takes all");
    let bytes = slot.committed().expect("finish commits");
    assert_eq!(summary.bytes, bytes.len() as u64);
    assert_eq!(summary.entries, model.len() as u64);
    bytes
}

fn open(bytes: &[u8]) -> Result<SortedTable, SortedTableError> {
    SortedTable::open(MemoryBlob::new(bytes.to_vec()))
}

/// `count` keys of eight digits with values of 100 bytes: about 550 per page.
fn numbered(count: u32) -> Model {
    (0..count).map(|number| (format!("{number:08}").into_bytes(), vec![7; 100])).collect()
}

fn visited(pages: &SortedTable) -> Result<Model, SortedTableError> {
    let mut found = Model::new();
    pages.decode_pages(0..pages.page_count(), |key, value| {
        found.insert(key.to_vec(), value.to_vec());
    })?;
    Ok(found)
}

/// Every way to read the map. Everything an intact or damaged map returns must be what was written;
/// returns whether all of it could be read.
fn agrees(pages: &SortedTable, model: &Model) -> bool {
    let mut whole = true;
    match visited(pages) {
        Ok(found) => assert_eq!(&found, model),
        Err(_) => whole = false,
    }
    let mut expected = model.iter();
    for entry in pages.range(Bound::Unbounded) {
        match entry {
            Ok((key, value)) => assert_eq!(Some((&key, &value)), expected.next()),
            Err(_) => whole = false,
        }
    }
    assert!(!whole || expected.next().is_none());
    for (key, value) in model.iter().step_by(model.len() / 8 + 1) {
        match pages.get(key) {
            Ok(found) => assert_eq!(found.as_ref(), Some(value)),
            Err(_) => whole = false,
        }
    }
    whole
}

fn is_refusal(error: &SortedTableError) -> bool {
    matches!(error, SortedTableError::Corrupt { .. } | SortedTableError::Newer { .. })
}

#[test]
fn an_empty_map_is_a_map() {
    let pages = open(&written(&Model::new())).expect("intact");
    assert_eq!((pages.len(), pages.page_count(), pages.kind()), (0, 0, KIND));
    assert!(pages.is_empty());
    assert_eq!(pages.get(b"a").expect("intact"), None);
    assert_eq!(pages.floor(b"a").expect("intact"), None);
    assert_eq!(pages.range(Bound::Unbounded).count(), 0);
}

#[test]
fn a_frame_is_bounded_unless_it_holds_one_entry() {
    let mut model = numbered(2000);
    model.insert(b"00000700+large".to_vec(), vec![1; 3 * PAGE_BYTES_MAX]);
    let pages = open(&written(&model)).expect("intact");
    assert!(agrees(&pages, &model));
    for index in 0..pages.page_count() {
        let (mut entries, mut bytes) = (0, 0);
        let count = |key: &[u8], value: &[u8]| {
            entries += 1;
            bytes += key.len() + value.len();
        };
        pages.decode_page(index, count).expect("intact");
        assert!(bytes < PAGE_BYTES_MAX || entries == 1, "frame {index} has {bytes} bytes");
    }
}

#[test]
fn a_key_costs_one_read_and_a_short_range_two_at_most() {
    let model = numbered(20_000);
    let blob = MemoryBlob::new(written(&model));
    let mut pages = None;
    let opening = blob.reads_of(|| pages = Some(SortedTable::open(blob.clone()).expect("intact")));
    let pages = pages.expect("opened");
    assert_eq!(opening, 3, "header, footer, directory");
    assert!(pages.page_count() > 30);
    assert_eq!(blob.reads_of(|| assert!(pages.get(b"00012345").expect("intact").is_some())), 1);
    assert_eq!(blob.reads_of(|| assert!(pages.get(b"00012345+").expect("intact").is_none())), 1);
    assert_eq!(blob.reads_of(|| assert!(pages.floor(b"9").expect("intact").is_some())), 1);
    assert_eq!(blob.reads_of(|| assert!(pages.get(b"").expect("intact").is_none())), 0);
    let few = || assert_eq!(pages.range(Bound::Included(b"00012345")).take(9).count(), 9);
    assert!(blob.reads_of(few) <= 2);
    let all = || drop(visited(&pages).expect("intact"));
    assert!(blob.reads_of(all) <= 4, "large reads where they are sequential");
}

#[test]
fn a_map_may_lie_behind_other_bytes_and_before_more() {
    let model = numbered(3000);
    let slot = MemoryBlobSlot::default();
    let mut output = slot.writer();
    output.write(&[9; 1234]).expect("memory takes all");
    let mut writer = SortedTableWriter::new(output, KIND);
    for (key, value) in &model {
        writer.push(key, value).expect("within the limits");
    }
    let (mut output, summary) = writer.finish_section().expect("memory takes all");
    output.write(&[9; 55]).expect("memory takes all");
    output.commit().expect("memory takes all");
    let bytes = slot.committed().expect("committed");
    assert_eq!(bytes.len() as u64, 1234 + summary.bytes + 55);

    let section = 1234..1234 + summary.bytes;
    let blob = MemoryBlob::new(bytes.clone());
    let pages = SortedTable::open_section(blob, section.clone()).expect("intact");
    assert!(agrees(&pages, &model));

    let mut damaged = bytes;
    damaged[1234 + HEADER_BYTES + 20] ^= 1;
    let pages =
        SortedTable::open_section(MemoryBlob::new(damaged), section).expect("intact directory");
    let error = pages.get(b"00000000").expect_err("the frame is damaged");
    assert_eq!(error.to_string(), "frame at offset 1250 is damaged");
    assert_eq!(error.code(), "frames.corrupt");
}

#[test]
fn a_section_outside_the_blob_is_refused() {
    let bytes = written(&numbered(10));
    let length = bytes.len() as u64;
    let blob = MemoryBlob::new(bytes);
    #[expect(clippy::reversed_empty_ranges, reason = "a damaged footer may say so")]
    for section in [0..0, 5..length, 0..length - 1, length..length + 9, 9..3, u64::MAX..u64::MAX] {
        let error = SortedTable::open_section(blob.clone(), section.clone()).err();
        assert!(error.as_ref().is_some_and(is_refusal), "{section:?} opened");
    }
}

#[test]
fn a_newer_format_is_refused_by_its_number() {
    let mut bytes = written(&numbered(10));
    bytes[..HEADER_BYTES].copy_from_slice(&header(*b"BATONFRM", 2, KIND));
    let error = open(&bytes).err().expect("refused");
    assert!(matches!(error, SortedTableError::Newer { found: 2, supported: 1 }));
    let text = "frames have format version 2, this program reads up to 1";
    assert_eq!(error.to_string(), text);
}

#[test]
fn every_flipped_bit_is_detected() {
    let model: Model = (0..40_u8).map(|number| (vec![b'k', number], vec![number; 9])).collect();
    let bytes = written(&model);
    for bit in 0..bytes.len() * 8 {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        match open(&damaged) {
            Ok(pages) => assert!(!agrees(&pages, &model), "bit {bit} went unnoticed"),
            Err(error) => assert!(is_refusal(&error)),
        }
    }
}

#[test]
fn every_truncation_is_detected() {
    let mut model = numbered(40);
    // A map inside the map: cut after it, the file ends in a valid footer of another map.
    model.insert(b"nested".to_vec(), written(&numbered(20)));
    let bytes = written(&model);
    for length in 0..bytes.len() {
        let error = open(&bytes[..length]).err();
        assert!(error.as_ref().is_some_and(is_refusal), "{length} bytes opened");
    }
}

#[test]
fn frames_that_changed_places_are_detected() {
    let mut model = numbered(1);
    model.insert(b"a".to_vec(), vec![1; PAGE_BYTES_MAX]);
    model.insert(b"b".to_vec(), vec![2; PAGE_BYTES_MAX]);
    let mut bytes = written(&model);
    let pages = open(&bytes).expect("intact");
    assert_eq!(pages.page_count(), 3);
    let first = bytes.windows(2).position(|pair| pair == [b'a', 1]).expect("the value of a") - 16;
    let second = bytes.windows(2).position(|pair| pair == [b'b', 2]).expect("the value of b") - 16;
    let length = second - first;
    let (left, right) = bytes.split_at_mut(second);
    left[first..].swap_with_slice(&mut right[..length]);
    let pages = open(&bytes).expect("the directory is intact");
    assert!(pages.get(b"a").is_err());
    assert!(pages.get(b"b").is_err());
    assert!(pages.get(b"00000000").expect("not moved").is_some());
}

#[test]
fn no_bytes_make_the_reader_panic_or_return_wrong_values() {
    let model = numbered(1200);
    let bytes = written(&model);
    let mut random = SmallRng::seed_from_u64(1);
    for _ in 0..600 {
        let mut damaged = bytes.clone();
        for _ in 0..random.random_range(1..4) {
            // Half of the damage goes to the directory and the footer, which are small.
            let tail = random.random_bool(0.5);
            let from = if tail { damaged.len() - 200 } else { 0 };
            let at = random.random_range(from..damaged.len());
            damaged[at] ^= random.random_range(1..=255_u8);
        }
        if random.random_bool(0.3) {
            damaged.truncate(random.random_range(0..damaged.len()));
        }
        if let Ok(pages) = open(&damaged) {
            assert!(!agrees(&pages, &model), "damage went unnoticed");
        }
    }
}

/// Checksums do not protect against forgery. Forged bytes with valid checksums may return nonsense,
/// but must neither panic nor read out of bounds.
#[test]
fn sound_checksums_over_nonsense_do_not_panic() {
    let mut random = SmallRng::seed_from_u64(2);
    let model = numbered(20);
    let bytes = written(&model);
    let footer = bytes.len() - 40;
    let directory = usize::try_from(u64::from_le_bytes(
        bytes[footer..footer + 8].try_into().expect("eight bytes"),
    ))
    .expect("small");
    for _ in 0..8000 {
        let mut forged = bytes.clone();
        for _ in 0..random.random_range(1..5) {
            let at = random.random_range(HEADER_BYTES..footer + 24);
            forged[at] = random.random();
        }
        // One page: its checksum is in its header and again at the end of the directory.
        let crc = crc32fast::hash(&forged[HEADER_BYTES + 8..directory]).to_le_bytes();
        forged[HEADER_BYTES + 4..HEADER_BYTES + 8].copy_from_slice(&crc);
        forged[footer - 4..footer].copy_from_slice(&crc);
        let crc = crc32fast::hash(&forged[directory..footer]).to_le_bytes();
        forged[footer + 24..footer + 28].copy_from_slice(&crc);
        let crc = crc32fast::hash(&forged[footer..footer + 28]).to_le_bytes();
        forged[footer + 28..footer + 32].copy_from_slice(&crc);
        if let Ok(pages) = open(&forged) {
            drop(visited(&pages));
            drop(pages.get(b"00000007"));
            drop(pages.floor(b"5"));
            assert!(pages.range(Bound::Unbounded).count() < forged.len());
        }
    }
}

#[test]
fn an_iterator_ends_after_an_error() {
    let mut bytes = written(&numbered(5000));
    bytes[HEADER_BYTES + 3 * PAGE_BYTES_MAX] ^= 1;
    let pages = open(&bytes).expect("intact directory");
    let mut entries = pages.range(Bound::Unbounded);
    assert!(entries.by_ref().any(|entry| entry.is_err()));
    assert!(entries.next().is_none());
}

#[test]
fn an_unfinished_map_never_existed() {
    let slot = MemoryBlobSlot::default();
    let mut writer = SortedTableWriter::new(slot.writer(), KIND);
    writer.push(b"a", b"1").expect("within the limits");
    drop(writer);
    assert_eq!(slot.committed(), None);
}

#[test]
#[should_panic(expected = "keys must ascend strictly")]
fn a_repeated_key_is_a_bug() {
    let mut writer = SortedTableWriter::new(MemoryBlobSlot::default().writer(), KIND);
    writer.push(b"a", b"1").expect("within the limits");
    drop(writer.push(b"a", b"2"));
}

#[test]
fn a_key_too_large_is_refused_and_harms_nothing() {
    let slot = MemoryBlobSlot::default();
    let mut writer = SortedTableWriter::new(slot.writer(), KIND);
    let error = writer.push(&vec![0; KEY_BYTES_MAX + 1], b"").expect_err("too large");
    assert_eq!(error.to_string(), "a key has 65536 bytes, at most 65535 are possible");
    let key = vec![1; KEY_BYTES_MAX];
    writer.push(&key, b"fits").expect("within the limits");
    writer.finish().expect("memory takes all");
    let pages = open(&slot.committed().expect("committed")).expect("intact");
    assert_eq!(pages.get(&key).expect("intact"), Some(b"fits".to_vec()));
}

#[test]
fn a_varint_too_long_for_a_word_is_refused() {
    assert_eq!(Fields::new(&[0xff; 11]).varint(), None);
    assert_eq!(Fields::new(&[0x80; 3]).varint(), None);
    let mut bytes = vec![0xff; 9];
    bytes.push(1);
    assert_eq!(Fields::new(&bytes).varint(), Some(u64::MAX));
    bytes[9] = 2;
    assert_eq!(Fields::new(&bytes).varint(), None);
}

#[test]
fn a_map_can_be_read_by_many_threads() {
    fn shared<T: Send + Sync>(_: &T) {}
    shared(&Arc::new(open(&written(&numbered(3))).expect("intact")));
}

fn short_bytes() -> impl Strategy<Value = Vec<u8>> {
    // Few distinct bytes, so that keys are often equal or prefixes of each other.
    prop::collection::vec(prop::sample::select(vec![0, 1, b'a', b'b', 255]), 0..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_varint_comes_back(value in any::<u64>(), shift in 0_u32..64) {
        let value = value >> shift;
        let mut bytes = Vec::new();
        put_varint(&mut bytes, value);
        prop_assert_eq!(bytes.len(), varint_bytes(value));
        let mut fields = Fields::new(&bytes);
        prop_assert_eq!(fields.varint(), Some(value));
        prop_assert_eq!(fields.remaining(), 0);
    }

    #[test]
    fn a_map_answers_like_a_map(
        small in prop::collection::btree_map(short_bytes(), 0_usize..15_000, 0..40),
        probes in prop::collection::vec(short_bytes(), 1..20),
    ) {
        let model: Model =
            small.into_iter().map(|(key, length)| (key, vec![3; length])).collect();
        let pages = open(&written(&model)).expect("intact");
        prop_assert!(agrees(&pages, &model));
        prop_assert_eq!(pages.len(), model.len() as u64);
        for probe in probes {
            let probe = probe.as_slice();
            prop_assert_eq!(pages.get(probe).expect("intact"), model.get(probe).cloned());
            let upto = (Bound::Unbounded, Bound::Included(probe));
            let floor = model.range::<[u8], _>(upto).next_back();
            let floor = floor.map(|(key, value)| (key.clone(), value.clone()));
            prop_assert_eq!(pages.floor(probe).expect("intact"), floor);
            for from in [Bound::Included(probe), Bound::Excluded(probe)] {
                let found: Result<Vec<_>, _> = pages.range(from).collect();
                let expected: Vec<_> = model
                    .range::<[u8], _>((from, Bound::Unbounded))
                    .map(|(key, value)| (key.clone(), value.clone()))
                    .collect();
                prop_assert_eq!(found.expect("intact"), expected);
            }
        }
    }
}
