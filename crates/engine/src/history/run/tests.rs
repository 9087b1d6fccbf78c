use std::collections::BTreeMap;
use std::ops::Bound;

use proptest::prelude::*;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::layout::{CHUNK_REVISIONS_MAX, FOOTER_BYTES, Footer, Row};
use super::*;
use crate::sorted_table::layout::{HEADER_BYTES, header};
use crate::sorted_table::memory_blob::{MemoryBlob, MemoryBlobSlot};

/// A batch as the model knows it.
#[derive(Clone, Debug)]
struct Step {
    time_ms: u64,
    batch: Vec<u8>,
    subjects: Vec<String>,
}

/// The pushed batches, and the expected results.
#[derive(Clone, Debug)]
struct Model {
    first: u64,
    steps: Vec<Step>,
}

impl Model {
    fn revisions(&self) -> impl Iterator<Item = (u64, &Step)> {
        (self.first..=u64::MAX).zip(&self.steps)
    }

    fn last(&self) -> u64 {
        self.first + (self.steps.len() as u64 - 1)
    }

    fn changes(&self, subject: &str) -> Vec<u64> {
        let touched = |step: &Step| step.subjects.iter().any(|touched| touched == subject);
        self.revisions().filter(|(_, step)| touched(step)).map(|(revision, _)| revision).collect()
    }

    fn subjects(&self) -> BTreeMap<String, Vec<u64>> {
        let mut subjects: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        for (revision, step) in self.revisions() {
            for subject in &step.subjects {
                subjects.entry(subject.clone()).or_default().push(revision);
            }
        }
        subjects.values_mut().for_each(Vec::dedup);
        subjects
    }

    /// The newest revision before which, itself included, nothing is later than the time.
    fn revision_at(&self, time_ms: u64) -> Option<u64> {
        let not_after = self.steps.iter().take_while(|step| step.time_ms <= time_ms).count() as u64;
        not_after.checked_sub(1).map(|count| self.first + count)
    }

    fn written(&self) -> Vec<u8> {
        let kept = MemoryBlobSlot::default();
        let mut writer = RunWriter::new(kept.writer(), self.first);
        for (revision, step) in self.revisions() {
            let subjects: Vec<&str> = step.subjects.iter().map(String::as_str).collect();
            writer.push(revision, step.time_ms, &step.batch, &subjects).expect("within the limits");
        }
        let summary = writer.finish().expect("memory takes all");
        let bytes = kept.committed().expect("finish commits");
        let run = Run::open(MemoryBlob::new(bytes.clone())).expect("intact");
        let opened = RunSummary {
            first: run.first(),
            last: run.last(),
            first_time_ms: run.first_time_ms(),
            last_time_ms: run.last_time_ms(),
            bytes: run.bytes(),
        };
        assert_eq!(opened, summary);
        assert_eq!((summary.first, summary.last), (self.first, self.last()));
        assert_eq!(summary.bytes, bytes.len() as u64);
        bytes
    }

    /// Reads everything from a run. Every result must be what was written; returns whether all of
    /// it could be read.
    fn agrees(&self, run: &Run) -> bool {
        let mut whole = self.batches_agree(run);
        let mut keep = |answered: bool| whole &= answered;
        keep(same(
            run.revision_at(self.steps[0].time_ms),
            &self.revision_at(self.steps[0].time_ms),
        ));
        for step in self.steps.iter().step_by(self.steps.len() / 7 + 1) {
            keep(same(run.revision_at(step.time_ms), &self.revision_at(step.time_ms)));
        }
        let expected = self.subjects();
        let mut pairs = expected.iter();
        for found in run.subjects(Bound::Unbounded) {
            match found {
                Ok((subject, revisions)) => {
                    assert_eq!(Some((&subject, &revisions)), pairs.next());
                }
                Err(_) => keep(false),
            }
        }
        for (subject, revisions) in expected.iter().step_by(expected.len() / 7 + 1) {
            keep(same(run.changes(subject), revisions));
            let middle = revisions[revisions.len() / 2];
            keep(same(run.last_change(subject, middle), &Some(middle)));
        }
        assert!(!whole || pairs.next().is_none());
        whole
    }

    fn batches_agree(&self, run: &Run) -> bool {
        let mut whole = true;
        let mut expected = self.revisions();
        for found in run.batches(0) {
            match found {
                Ok((revision, batch)) => {
                    let (expected, step) = expected.next().expect("no more than were written");
                    assert_eq!((revision, &batch), (expected, &step.batch));
                }
                Err(_) => whole = false,
            }
        }
        assert!(!whole || expected.next().is_none());
        for (revision, step) in self.revisions().step_by(self.steps.len() / 7 + 1) {
            whole &= same(run.batch(revision), &step.batch);
        }
        whole
    }
}

/// An error is not a result; a result must be right.
#[track_caller]
fn same<T: PartialEq + std::fmt::Debug>(answer: Result<T, RunError>, expected: &T) -> bool {
    match answer {
        Ok(answer) => assert_eq!(&answer, expected),
        Err(error) => {
            assert!(matches!(error, RunError::Corrupt { .. } | RunError::Newer { .. }));
            return false;
        }
    }
    true
}

fn open(bytes: &[u8]) -> Result<Run, RunError> {
    Run::open(MemoryBlob::new(bytes.to_vec()))
}

/// A small run with subjects that are prefixes of each other.
fn small(count: u64) -> Model {
    let step = |number: u64| Step {
        time_ms: 1000 + number / 3,
        batch: vec![number.to_le_bytes()[0]; usize::try_from(number % 40).expect("small")],
        subjects: vec![format!("state/{}", number % 5), "state/".to_owned()],
    };
    Model { first: 100, steps: (0..count).map(step).collect() }
}

#[test]
fn an_empty_run_is_refused() {
    let slot = MemoryBlobSlot::default();
    let error = RunWriter::new(slot.writer(), 1).finish().expect_err("nothing to keep");
    assert_eq!(error, RunError::Empty);
    assert_eq!(error.to_string(), "a run without batches cannot be written");
    assert_eq!(slot.committed(), None);
}

#[test]
fn a_run_without_batches_is_damage() {
    let mut bytes = small(3).written();
    let at = bytes.len() - FOOTER_BYTES;
    let offset = at as u64;
    let footer = bytes[at..].first_chunk().expect("the footer");
    let footer = Footer::decode(footer, offset).expect("intact");
    let empty = Footer { count: 0, index_offset: footer.table_offset, ..footer };
    bytes[at..].copy_from_slice(&empty.encode());
    assert_eq!(open(&bytes).err(), Some(RunError::Corrupt { what: "run footer", offset }));
}

#[test]
#[should_panic(expected = "the revisions of a run must be dense")]
fn a_gap_is_a_bug() {
    let mut writer = RunWriter::new(MemoryBlobSlot::default().writer(), 7);
    writer.push(7, 0, b"seven", &[]).expect("within the limits");
    drop(writer.push(9, 0, b"nine", &[]));
}

#[test]
fn a_revision_out_of_range_is_named_in_the_error() {
    let run = open(&small(10).written()).expect("intact");
    for revision in [0, 99, 110, u64::MAX] {
        let error = run.batch(revision).expect_err("outside");
        assert_eq!(error, RunError::Outside { revision, first: 100, last: 109 });
    }
    assert_eq!(run.batches(110).count(), 0);
    assert_eq!(run.batches(u64::MAX).count(), 0);
    assert_eq!(run.batches(107).count(), 3);
    assert_eq!(run.last_change("state/", 99), Ok(None));
    assert_eq!(run.last_change("state/", u64::MAX), Ok(Some(109)));
    assert_eq!(run.last_change("state", u64::MAX), Ok(None));
}

#[test]
fn a_run_may_end_at_the_last_revision_of_all() {
    let mut model = small(4);
    model.first = u64::MAX - 3;
    let run = open(&model.written()).expect("intact");
    assert!(model.agrees(&run));
    assert_eq!(run.batches(u64::MAX).count(), 1);
    assert_eq!(run.last_change("state/", u64::MAX), Ok(Some(u64::MAX)));
}

#[test]
fn a_subject_named_twice_in_a_batch_changed_once() {
    let mut model = small(4);
    model.steps[2].subjects = vec!["a".to_owned(), "b".to_owned(), "a".to_owned()];
    let run = open(&model.written()).expect("intact");
    assert_eq!(run.changes("a"), Ok(vec![102]));
}

#[test]
fn a_clock_that_stepped_back_hides_nothing() {
    let mut model = small(5);
    for (step, time_ms) in model.steps.iter_mut().zip([10, 50, 20, 30, 60]) {
        step.time_ms = time_ms;
    }
    let run = open(&model.written()).expect("intact");
    #[rustfmt::skip] // Columns.
    let expected = [(9, None), (10, Some(100)), (30, Some(100)), (49, Some(100)),
                    (50, Some(103)), (59, Some(103)), (60, Some(104)), (u64::MAX, Some(104))];
    for (time_ms, revision) in expected {
        assert_eq!(run.revision_at(time_ms), Ok(revision), "at {time_ms}");
    }
    assert_eq!((run.first_time_ms(), run.last_time_ms()), (10, 60));
}

#[test]
fn a_newer_format_is_refused_by_its_number() {
    let mut bytes = small(3).written();
    bytes[..HEADER_BYTES].copy_from_slice(&header(*b"BATONRUN", 9, 0));
    let error = open(&bytes).err().expect("refused");
    assert_eq!(error, RunError::Newer { found: 9, supported: 1 });
    assert_eq!(error.code(), "run.newer");
}

#[test]
fn every_flipped_bit_is_detected() {
    let model = small(7);
    let bytes = model.written();
    for bit in 0..bytes.len() * 8 {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        if let Ok(run) = open(&damaged) {
            assert!(!model.agrees(&run), "bit {bit} went unnoticed");
        }
    }
}

#[test]
fn every_truncation_is_detected() {
    let mut model = small(20);
    // A run inside the run: cut after it, the file ends in a valid footer of another run.
    model.steps[11].batch = small(9).written();
    let bytes = model.written();
    for length in 0..bytes.len() {
        assert!(open(&bytes[..length]).is_err(), "{length} bytes opened");
    }
}

#[test]
fn no_bytes_make_the_reader_panic_or_return_wrong_values() {
    let model = small(300);
    let bytes = model.written();
    let mut random = SmallRng::seed_from_u64(3);
    for _ in 0..400 {
        let mut damaged = bytes.clone();
        for _ in 0..random.random_range(1..4) {
            let at = random.random_range(0..damaged.len());
            damaged[at] ^= random.random_range(1..=255_u8);
        }
        if random.random_bool(0.3) {
            damaged.truncate(random.random_range(0..damaged.len()));
        }
        if let Ok(run) = open(&damaged) {
            assert!(!model.agrees(&run), "damage went unnoticed");
        }
    }
}

/// Forged rows and footers with valid checksums must not lead out of bounds.
#[test]
fn sound_checksums_over_nonsense_do_not_panic() {
    let model = small(30);
    let bytes = model.written();
    let at = bytes.len() - FOOTER_BYTES;
    let footer = bytes[at..].first_chunk().expect("the footer");
    let footer = Footer::decode(footer, at as u64).expect("intact");
    let mut random = SmallRng::seed_from_u64(4);
    for _ in 0..4000 {
        let mut forged = bytes.clone();
        let revision = random.random_range(100..130_u64);
        let row = Row {
            offset: random.random::<u32>() >> random.random_range(0..32),
            length: random.random::<u32>() >> random.random_range(0..32),
            time_ms: random.random(),
            batch_crc: random.random(),
        };
        let row_at = usize::try_from(footer.row_offset(revision)).expect("small");
        forged[row_at..][..24].copy_from_slice(&row.encode(revision));
        let mut nonsense = footer;
        match random.random_range(0..6) {
            0 => nonsense.table_offset = random.random::<u64>() >> random.random_range(0..64),
            1 => nonsense.index_offset = random.random::<u64>() >> random.random_range(0..64),
            2 => nonsense.first = random.random(),
            3 => nonsense.count = random.random::<u64>() >> random.random_range(0..64),
            4 => nonsense.first_time_ms = random.random(),
            _ => {}
        }
        forged[at..].copy_from_slice(&nonsense.encode());
        if let Ok(run) = open(&forged) {
            drop(run.batch(revision));
            drop(run.changes("state/"));
            drop(run.last_change("state/", revision));
            drop(run.revision_at(1003));
            assert!(run.batches(revision).count() <= 31);
            assert!(run.subjects(Bound::Unbounded).count() <= 6);
        }
    }
}

#[test]
fn a_hot_subject_is_found_in_one_read() {
    const COUNT: u64 = 200_000;
    let slot = MemoryBlobSlot::default();
    let mut writer = RunWriter::new(slot.writer(), 1);
    for revision in 1..=COUNT {
        let cold = format!("state/cold/{:05}", revision / 10);
        let subjects = if revision % 2 == 0 { vec!["hot", &cold] } else { vec!["even hotter"] };
        writer.push(revision, revision * 5, &revision.to_le_bytes(), &subjects).expect("fits");
    }
    writer.finish().expect("memory takes all");
    let blob = MemoryBlob::new(slot.committed().expect("committed"));
    let run = Run::open(blob.clone()).expect("intact");

    for at_most in [2, 3, 2047, 2048, 2049, 99_999, COUNT] {
        let found = || assert_eq!(run.last_change("hot", at_most), Ok(Some(at_most / 2 * 2)));
        assert_eq!(blob.reads_of(found), 1);
    }
    assert_eq!(run.last_change("hot", 1), Ok(None));
    assert_eq!(run.changes("hot"), Ok((1..=COUNT / 2).map(|half| half * 2).collect()));
    assert_eq!(run.changes("state/cold/00001"), Ok(vec![10, 12, 14, 16, 18]));
    assert_eq!(blob.reads_of(|| assert!(run.batch(77_777).is_ok())), 2);
    assert_eq!(run.revision_at(5 * 1234 + 4), Ok(Some(1234)));
    let mut expected = 1_u64;
    let reads = blob.reads_of(|| {
        for batch in run.batches(0) {
            assert_eq!(batch, Ok((expected, expected.to_le_bytes().to_vec())));
            expected += 1;
        }
    });
    assert_eq!(expected, COUNT + 1);
    assert!(reads <= 2 * 49 + 2, "{reads} reads");
    assert_eq!(run.subjects(Bound::Unbounded).count(), 2 + 20_001);
    let (subject, revisions) =
        run.subjects(Bound::Included("f")).next().expect("one more").expect("intact");
    assert_eq!((subject.as_str(), revisions.len()), ("hot", 100_000));
}

#[test]
fn damage_in_a_later_chunk_never_shortens_a_list() {
    // A byte for each revision: a frame and a half.
    let count = CHUNK_REVISIONS_MAX * 96;
    let step = Step { time_ms: 0, batch: Vec::new(), subjects: vec!["far".to_owned()] };
    let model = Model { first: 1, steps: vec![step; count] };
    let mut bytes = model.written();
    let run = open(&bytes).expect("intact");
    assert_eq!(run.changes("far").map(|revisions| revisions.len()), Ok(count));
    let index = bytes.windows(8).rposition(|window| window == b"BATONFRM").expect("the index");
    bytes[index + 80 * CHUNK_REVISIONS_MAX] ^= 1;
    let run = open(&bytes).expect("the directory is intact");
    assert_eq!(run.last_change("far", 9), Ok(Some(9)), "the first frame is intact");
    assert!(run.changes("far").is_err());
    let mut subjects = run.subjects(Bound::Unbounded);
    assert!(subjects.next().expect("an answer").is_err());
    assert!(subjects.next().is_none());
}

#[test]
fn large_batches_are_read_one_by_one_and_small_ones_together() {
    let mut model = small(50);
    for (number, step) in model.steps.iter_mut().enumerate() {
        step.batch = vec![1; if number % 7 == 3 { 3 << 20 } else { number }];
    }
    let run = open(&model.written()).expect("intact");
    assert!(model.agrees(&run));
}

fn subject() -> impl Strategy<Value = String> {
    // The escaped characters and their neighbours, so that subjects are often prefixes.
    let letters = vec!['\0', '\u{1}', '\u{2}', 'a', '/', 'é', '\u{10ffff}'];
    prop::collection::vec(prop::sample::select(letters), 0..4)
        .prop_map(|letters| letters.into_iter().collect())
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let batch = prop::collection::vec(any::<u8>(), 0..300);
    let subjects = prop::collection::vec(subject(), 0..4);
    let step = (0_u64..5, batch, subjects);
    prop::collection::vec(step, 1..60).prop_map(|steps| {
        let mut now_ms = 1000;
        let step = |(pause_ms, batch, subjects)| {
            now_ms += pause_ms;
            Step { time_ms: now_ms, batch, subjects }
        };
        steps.into_iter().map(step).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_run_answers_like_its_model(
        first in 0_u64..1000,
        steps in steps(),
        probes in prop::collection::vec((subject(), 0_u64..1100, 990_u64..1300), 1..20),
    ) {
        let model = Model { first, steps };
        let run = open(&model.written()).expect("intact");
        prop_assert!(model.agrees(&run));
        let all = model.subjects();
        for (subject, revision, time_ms) in probes {
            let changes = model.changes(&subject);
            let upto = changes.iter().copied().filter(|&change| change <= revision).max();
            prop_assert_eq!(run.last_change(&subject, revision), Ok(upto));
            prop_assert_eq!(run.changes(&subject), Ok(changes));
            prop_assert_eq!(run.revision_at(time_ms), Ok(model.revision_at(time_ms)));
            let count = model.revisions().filter(|&(found, _)| found >= revision).count();
            prop_assert_eq!(run.batches(revision).count(), count);
            for from in [Bound::Included(subject.as_str()), Bound::Excluded(subject.as_str())] {
                let found: Result<Vec<_>, _> = run.subjects(from).collect();
                let expected: Vec<_> = all
                    .range::<str, _>((from, Bound::Unbounded))
                    .map(|(subject, revisions)| (subject.clone(), revisions.clone()))
                    .collect();
                prop_assert_eq!(found, Ok(expected));
            }
        }
    }
}
