//! The laws of a log that several servers share, as functions that every such backend runs.
//!
//! ```text
//! baton_log::shared_conformance!(memory, Memory::default());
//! ```
//!
//! They are in addition to those of [`conformance`](crate::conformance), and check laws 10 and 11
//! of [`Log`]: opening a log again fences every earlier opening, and a loss is reported.

use std::sync::Arc;

use crate::conformance::{get_blob, read_all};
use crate::contract::{Log, Position};
use crate::error::{AppendError, BlobError, TruncateError};
pub use crate::shared::Cut;
use crate::shared::{Candidate, DirectLink, Purpose, SharedMemory};

/// A store whose log can be opened several times.
pub trait Shared {
    /// Opens the log. Every earlier opening counts as gone, and does not know.
    fn open(&mut self) -> Box<dyn Log>;

    /// Declares every opening gone, without opening it again.
    fn declare_gone(&mut self);

    /// The store loses records that it has acknowledged, at least the last one.
    fn lose_last(&mut self);

    /// The next append of any opening has no answer.
    fn cut_next_append(&mut self, cut: Cut);

    /// Whether that has happened.
    fn has_cut(&self) -> bool;
}

/// The store of the log in memory.
#[derive(Default)]
pub struct MemoryStore {
    database: SharedMemory,
    link: Arc<DirectLink>,
}

impl Shared for MemoryStore {
    fn open(&mut self) -> Box<dyn Log> {
        self.declare_gone();
        let candidate = Candidate::new(&self.database, self.link.clone(), "memory");
        Box::new(candidate.open().expect("it is free"))
    }

    fn declare_gone(&mut self) {
        self.database.declare_all_gone();
    }

    fn lose_last(&mut self) {
        self.database.lose_last();
    }

    fn cut_next_append(&mut self, cut: Cut) {
        self.link.cut(Purpose::Append, cut);
    }

    fn has_cut(&self) -> bool {
        self.link.has_cut()
    }
}

/// Runs every law against the store of an expression. Each law gets a fresh one.
#[macro_export]
macro_rules! shared_conformance {
    ($name:ident, $store:expr) => {
        $crate::shared_conformance! { @laws $name, $store,
            an_older_opening_changes_nothing
            an_older_opening_cannot_truncate
            an_older_opening_cannot_change_blobs
            everything_acknowledged_is_seen_by_the_next
            an_append_without_an_answer_is_resolved
            what_a_fenced_owner_hears_of_its_last_append_is_true
            an_owner_goes_on_after_an_older_one_was_dropped
            a_log_that_lost_acknowledged_records_says_so
        }
    };
    (@laws $name:ident, $store:expr, $($law:ident)*) => {
        mod $name {
            use super::*;

            $(
                #[test]
                fn $law() {
                    $crate::shared_conformance::$law(&mut $store);
                }
            )*
        }
    };
}

fn bodies(log: &dyn Log, from: Position) -> Vec<Vec<u8>> {
    read_all(log, from, 1_000).into_iter().map(|record| record.body).collect()
}

fn put_blob(log: &dyn Log, name: &str) {
    let mut writer = log.create_blob(name).expect("the name is free");
    writer.write(name.as_bytes()).expect("there is space");
    writer.commit().expect("it is the owner");
}

/// Law 10: an append of an older opening is refused, and writes nothing.
pub fn an_older_opening_changes_nothing(store: &mut dyn Shared) {
    let older = store.open();
    let start = older.tail();
    let tail = older.append(start, b"one").expect("it is the owner");
    let owner = store.open();
    let refused = older.append(tail, b"two").expect_err("it is fenced");
    assert_eq!(refused, AppendError::Fenced { expected: tail, tail });
    assert_eq!(older.append(tail, b"three"), Err(refused), "and stays so");
    assert!(!older.is_current(), "it answers no reads");
    assert_eq!(owner.tail(), tail);
    owner.append(tail, b"two").expect("it is the owner");
    assert_eq!(bodies(&*owner, start), [b"one", b"two"]);
    assert_eq!(bodies(&*store.open(), start), [b"one", b"two"]);
}

/// Law 10: a truncation of an older opening is refused, and removes nothing.
pub fn an_older_opening_cannot_truncate(store: &mut dyn Shared) {
    let older = store.open();
    let start = older.tail();
    let tail = older.append(start, b"one").expect("it is the owner");
    let owner = store.open();
    assert_eq!(older.truncate(tail), Err(TruncateError::Fenced));
    assert!(!older.is_current(), "it answers no reads");
    assert_eq!((owner.start(), owner.tail()), (start, tail));
    let next = store.open();
    assert_eq!((next.start(), next.tail()), (start, tail));
}

/// Law 10: an older opening neither commits nor deletes blobs.
pub fn an_older_opening_cannot_change_blobs(store: &mut dyn Shared) {
    let older = store.open();
    put_blob(&*older, "w/old");
    let mut late = older.create_blob("w/late").expect("the name is free");
    late.write(b"late").expect("there is space");
    let owner = store.open();
    assert_eq!(late.commit(), Err(BlobError::Fenced));
    assert_eq!(older.delete_blob("w/old"), Err(BlobError::Fenced));
    assert_eq!(owner.list_blobs(""), Ok(vec!["w/old".to_owned()]));
    put_blob(&*owner, "w/late");
    assert_eq!(get_blob(&*owner, "w/late"), Some(b"w/late".to_vec()));
    assert_eq!(owner.delete_blob("w/old"), Ok(()));
}

/// Law 10: everything that was acknowledged by one opening is seen by the next.
pub fn everything_acknowledged_is_seen_by_the_next(store: &mut dyn Shared) {
    let mut expected: Vec<Vec<u8>> = Vec::new();
    let mut start = None;
    for round in 0..4_u8 {
        let log = store.open();
        let start = *start.get_or_insert(log.start());
        assert_eq!(bodies(&*log, start), expected);
        for number in 0..3 {
            let body = vec![round, number];
            log.append(log.tail(), &body).expect("it is the owner");
            expected.push(body);
        }
        put_blob(&*log, &format!("w/{round}"));
        assert_eq!(log.list_blobs("").map(|names| names.len()), Ok(usize::from(round) + 1));
    }
}

/// Laws 1 and 6: an append whose request or answer was lost is found out about, and is there once.
pub fn an_append_without_an_answer_is_resolved(store: &mut dyn Shared) {
    let log = store.open();
    let start = log.tail();
    let mut tail = start;
    for (body, cut) in [(b"1", Cut::Before), (b"2", Cut::After), (b"3", Cut::After)] {
        store.cut_next_append(cut);
        tail = log.append(tail, body).expect("the outcome is found");
        assert!(store.has_cut(), "{cut:?}");
    }
    tail = log.append(tail, b"4").expect("it goes on");
    assert_eq!(bodies(&*log, start), [b"1", b"2", b"3", b"4"]);
    put_blob(&*log, "w/a");
    let next = store.open();
    assert_eq!((next.tail(), bodies(&*next, start).len()), (tail, 4));
}

/// Law 10: the outcome that an opening reports for an append without an answer is true, also if it
/// is no longer the owner when it finds out.
pub fn what_a_fenced_owner_hears_of_its_last_append_is_true(store: &mut dyn Shared) {
    for (cut, is_durable) in [(Cut::Before, false), (Cut::After, true)] {
        let older = store.open();
        let before = older.tail();
        store.declare_gone();
        store.cut_next_append(cut);
        let outcome = older.append(before, b"last");
        assert_eq!(outcome.is_ok(), is_durable, "{cut:?}: {outcome:?}");
        let owner = store.open();
        assert_eq!(bodies(&*owner, before).len(), usize::from(is_durable), "{cut:?}");
        let refused = older.append(older.tail(), b"more").expect_err("it is fenced");
        assert_eq!(refused.code(), "log.fenced", "{cut:?}");
        assert!(!older.is_current(), "it answers no reads");
    }
}

/// Law 10: an older opening that ends does not end the next.
pub fn an_owner_goes_on_after_an_older_one_was_dropped(store: &mut dyn Shared) {
    let older = store.open();
    let start = older.tail();
    let owner = store.open();
    drop(older);
    owner.append(start, b"one").expect("it is the owner");
    assert_eq!(bodies(&*owner, start), [b"one"]);
}

/// Law 11: an owner whose log lost acknowledged records reports it, and neither writes nor answers
/// any more. The next opening has what is left.
pub fn a_log_that_lost_acknowledged_records_says_so(store: &mut dyn Shared) {
    let older = store.open();
    let start = older.tail();
    let tail = older.append(start, b"one").expect("it is the owner");
    let tail = older.append(tail, b"two").expect("it is the owner");
    store.lose_last();
    let refused = older.append(tail, b"three").expect_err("two is lost");
    assert_eq!(refused.code(), "log.went_back", "{refused}");
    assert_eq!(older.append(tail, b"four"), Err(refused), "and stays so");
    assert!(!older.is_current(), "it answers no reads");
    let owner = store.open();
    let left = bodies(&*owner, owner.start());
    assert!([b"one".to_vec()].starts_with(&left), "{left:?}");
    owner.append(owner.tail(), b"next").expect("it is the owner");
}
