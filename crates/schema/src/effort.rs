//! The remaining effort for checks.
//!
//! ```text
//!   work      meetings of a schema part with a value part, counted before a check begins
//!   regexes   memory of the expressions that are used, and of the states that are built while
//!             texts are matched
//! ```
//!
//! A regular expression matches in linear time, but the factor can be as large as the expression:
//! an automaton that never meets the same state twice builds one for every byte. The cost is in the
//! states that are built, so their memory is bounded: an ordinary expression needs a few kilobytes
//! for a text of any length.
//!
//! An automaton that was not used for a while is built again, in time proportional to its size. So
//! the sizes of all that are used are bounded too, whether they are in memory or have to be built.
//!
//! One effort may cover several checks, which then share the bound: those of a whole commit, whose
//! schemas may come and go meanwhile. Every automaton begins empty, so the same checks always have
//! the same result.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;

use regex_automata::hybrid::dfa::Cache;

use crate::automata::{Automaton, automaton};
use crate::regex::Pattern;
use crate::{REGEX_BYTES_MAX, REGEX_EFFORT_BYTES_MAX, REGEX_EFFORT_SIZES_MAX};

/// An automaton, and what these checks have built of it.
type Used = (Arc<Automaton>, Cache);

/// The remaining effort for checks that belong together.
pub struct Effort {
    meetings: Cell<usize>,
    states_bytes: Cell<usize>,
    sizes: Cell<usize>,
    /// By the source of the expression.
    automata: RefCell<BTreeMap<Box<str>, Used>>,
    is_exhausted: Cell<bool>,
}

impl Default for Effort {
    fn default() -> Self {
        Self {
            meetings: Cell::new(MEETINGS_MAX),
            states_bytes: Cell::new(REGEX_EFFORT_BYTES_MAX),
            sizes: Cell::new(REGEX_EFFORT_SIZES_MAX),
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

    /// Counts other work of the same checks.
    pub fn spend(&self, meetings: usize) {
        self.meetings.set(self.meetings.get().saturating_sub(meetings));
    }

    /// Whether a text matches an expression; false, and exhausted, if that takes too long.
    pub(crate) fn accepts(&self, pattern: &Pattern, text: &str) -> bool {
        let found = if self.is_exhausted() { None } else { self.search(pattern, text) };
        self.is_exhausted.set(found.is_none());
        found == Some(true)
    }

    /// `None` if it takes too long.
    fn search(&self, pattern: &Pattern, text: &str) -> Option<bool> {
        let mut automata = self.automata.borrow_mut();
        let known = automata.get(pattern.source());
        let before = known.map_or(0, |(_, cache)| cache.memory_usage());
        if known.is_none() {
            // Schemas of earlier versions may have larger estimates.
            let bytes = pattern.bytes().min(REGEX_BYTES_MAX);
            self.sizes.set(self.sizes.get().checked_sub(bytes)?);
            let automaton = automaton(pattern.source())?;
            let cache = automaton.dfa.create_cache();
            automata.insert(pattern.source().into(), (automaton, cache));
        }
        let (automaton, cache) = automata.get_mut(pattern.source())?;
        let found = automaton.dfa.try_search_fwd(cache, &automaton.search(text));
        let built = cache.memory_usage().saturating_sub(before);
        let left = self.states_bytes.get().checked_sub(built);
        self.states_bytes.set(left.unwrap_or_default());
        let found = found.ok()?;
        left.map(|_| found.is_some())
    }
}
