//! How much work checks may still cost.
//!
//! ```text
//!   work      meetings of a schema part with a value part, counted before a check begins
//!   regexes   memory of the automata that are built while texts are matched
//! ```
//!
//! A regular expression matches in linear time, but the factor can be as large as the expression:
//! an automaton that never meets the same state twice builds one for every byte. The states that
//! are built are what costs, so their memory is bounded: an ordinary expression needs a few
//! kilobytes for a text of any length.
//!
//! One effort may cover several checks, which then share the bound. Every automaton begins empty,
//! so the same checks always come to the same end.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use regex_automata::Input;
use regex_automata::hybrid::dfa::{Cache, DFA};

use crate::REGEX_EFFORT_BYTES_MAX;

/// What is left for checks that belong together.
pub struct Effort {
    meetings: Cell<usize>,
    automata_bytes: Cell<usize>,
    /// By the address of the expression, which outlives its checks.
    automata: RefCell<BTreeMap<usize, Cache>>,
    is_exhausted: Cell<bool>,
}

impl Default for Effort {
    fn default() -> Self {
        Self {
            meetings: Cell::new(MEETINGS_MAX),
            automata_bytes: Cell::new(REGEX_EFFORT_BYTES_MAX),
            automata: RefCell::default(),
            is_exhausted: Cell::new(false),
        }
    }
}

/// Most meetings in all checks that belong together: a good tenth of a second of work. One large
/// value needs less than half of it.
pub const MEETINGS_MAX: usize = 10_000_000;

impl Effort {
    /// Whether a check came to no end because a regular expression took too long.
    pub fn is_exhausted(&self) -> bool {
        self.is_exhausted.get()
    }

    /// Whether nothing is left for another check.
    pub fn is_spent(&self) -> bool {
        self.is_exhausted() || self.meetings() == 0
    }

    /// How many meetings are left.
    pub(crate) fn meetings(&self) -> usize {
        self.meetings.get()
    }

    pub(crate) fn spend(&self, meetings: usize) {
        self.meetings.set(self.meetings.get().saturating_sub(meetings));
    }

    /// Whether an automaton accepts a text; false, and exhausted, if that takes too long.
    pub(crate) fn accepts(&self, automaton: &DFA, text: &Input<'_>) -> bool {
        if self.is_exhausted() {
            return false;
        }
        let address = std::ptr::from_ref(automaton).addr();
        let mut automata = self.automata.borrow_mut();
        let mut before = 0;
        let cache = automata
            .entry(address)
            .and_modify(|cache| before = cache.memory_usage())
            .or_insert_with(|| automaton.create_cache());
        let found = automaton.try_search_fwd(cache, text);
        let built = cache.memory_usage().saturating_sub(before);
        let left = self.automata_bytes.get().checked_sub(built);
        self.automata_bytes.set(left.unwrap_or_default());
        let Ok(found) = found else {
            self.is_exhausted.set(true);
            return false;
        };
        self.is_exhausted.set(left.is_none());
        left.is_some() && found.is_some()
    }
}
