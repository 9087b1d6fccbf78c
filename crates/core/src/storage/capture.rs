//! A capture: all entries at one point in time, returned in key order while the table keeps
//! changing.
//!
//! ```text
//!   keys    a   b   c   d   e   f   g   h
//!           returned    ▲  stash: e was e1, g did not exist
//!                       cursor
//! ```
//!
//! Keys behind the cursor were returned, and their changes no longer matter. Keys ahead of it are
//! unchanged unless stashed. The stash grows with the keys changed ahead of the cursor, each
//! counted once, and shrinks as the cursor passes them.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::entry::Entry;

/// Whether a stashed key existed when the capture began.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    /// It did, and the stash has its entry of that time.
    Present,
    /// It did not: the stash has the new entry, for its key.
    Absent,
}

struct ByKey(Entry);

impl Borrow<[u8]> for ByKey {
    fn borrow(&self) -> &[u8] {
        self.0.key_bytes()
    }
}

impl PartialEq for ByKey {
    fn eq(&self, other: &ByKey) -> bool {
        self.0.key_bytes() == other.0.key_bytes()
    }
}

impl Eq for ByKey {}

impl PartialOrd for ByKey {
    fn partial_cmp(&self, other: &ByKey) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ByKey {
    fn cmp(&self, other: &ByKey) -> Ordering {
        self.0.key_bytes().cmp(other.0.key_bytes())
    }
}

#[derive(Default)]
pub(super) struct Capture {
    passed: Option<Entry>,
    stash: BTreeMap<ByKey, Then>,
}

impl Capture {
    /// The last key that the cursor has passed.
    pub(super) fn cursor(&self) -> Option<&Entry> {
        self.passed.as_ref()
    }

    /// Must be called for every change. Only the first change of a key ahead of the cursor counts.
    pub(super) fn stash(&mut self, entry: &Entry, then: Then) {
        #[cfg(feature = "planted")]
        if crate::planted::is("entries.capture_too_new") {
            return;
        }
        let passed = self.passed.as_ref().is_some_and(|last| entry.key_bytes() <= last.key_bytes());
        if !passed && !self.stash.contains_key(entry.key_bytes()) {
            self.stash.insert(ByKey(entry.clone()), then);
        }
    }

    /// The next entries, given the live ones ahead of the cursor. It examines `limit` keys, and
    /// more only until it has found an entry: an empty result means the end.
    pub(super) fn advance<'a>(
        &mut self,
        live: impl Iterator<Item = &'a Entry>,
        limit: usize,
    ) -> Vec<Entry> {
        let mut live = live.peekable();
        let mut found = Vec::new();
        let mut seen = 0;
        while seen < limit || found.is_empty() {
            let entry = match (live.peek(), self.stash.first_entry()) {
                (Some(now), Some(stashed)) if stashed.key().0.key_bytes() > now.key_bytes() => None,
                (_, Some(stashed)) => Some(stashed.remove_entry()),
                (Some(_), None) => None,
                (None, None) => break,
            };
            seen += 1;
            let (entry, then) = if let Some((ByKey(entry), then)) = entry {
                live.next_if(|now| now.key_bytes() == entry.key_bytes());
                (entry, then)
            } else {
                let now = live.next().expect("it was peeked at");
                (now.clone(), Then::Present)
            };
            if then == Then::Present {
                found.push(entry.clone());
            }
            self.passed = Some(entry);
        }
        found
    }

    pub(super) fn check(&self) {
        let first = self.stash.first_key_value().map(|(ByKey(entry), _)| entry.key_bytes());
        if let (Some(passed), Some(first)) = (&self.passed, first) {
            assert!(passed.key_bytes() < first, "the cursor has passed a stashed entry");
        }
    }
}
