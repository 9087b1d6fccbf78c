//! The automata of regular expressions that are in use, shared by all schemas of the program.
//!
//! ```text
//!   source ──▶ known? ──yes──▶ shared
//!                └──no──▶ built ──▶ known, and the first ones are dropped while all take too much
//! ```
//!
//! Building an automaton takes some thousand times as long as reading its source, and as much
//! memory. So a schema has only sources: one that is refused, or stored and never used, costs
//! nothing. A dropped automaton is built again at its next use, so results do not depend on the
//! cache.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use regex_automata::hybrid::dfa::DFA;
use regex_automata::nfa::thompson;
use regex_automata::{Anchored, Input};

use crate::regex::translated;
use crate::{AUTOMATA_BYTES_MAX, REGEX_BYTES_MAX, REGEX_STATES_BYTES_MAX};

/// The memory of an automaton besides its states, in bytes.
const FRAME: usize = 2 << 10;

static IN_USE: Mutex<Automata> = Mutex::new(Automata::new(AUTOMATA_BYTES_MAX));

/// A compiled regular expression.
pub(crate) struct Automaton {
    pub(crate) dfa: DFA,
    anchored: Anchored,
}

impl Automaton {
    fn new(source: &str) -> Option<Self> {
        BUILT.with(|built| built.set(built.get() + 1));
        // An accepted automaton is smaller. While it is built it takes more than in the end.
        let states = thompson::Config::new().nfa_size_limit(Some(4 * REGEX_BYTES_MAX));
        // It gives up instead of building states beyond this, see `effort`.
        let config = DFA::config()
            .cache_capacity(REGEX_STATES_BYTES_MAX)
            .skip_cache_capacity_check(true)
            .minimum_cache_clear_count(Some(0));
        let built = DFA::builder().thompson(states).configure(config).build(&translated(source)?);
        let dfa = built.ok()?;
        let is_anchored = dfa.get_nfa().is_always_start_anchored();
        let anchored = if is_anchored { Anchored::Yes } else { Anchored::No };
        Some(Self { dfa, anchored })
    }

    /// A search of a text that ends with the first match.
    pub(crate) fn search<'a>(&self, text: &'a str) -> Input<'a> {
        Input::new(text).anchored(self.anchored).earliest(true)
    }

    /// How much memory it takes, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        FRAME + self.dfa.get_nfa().memory_usage()
    }
}

/// The automaton of a regular expression; none if there can be none.
pub(crate) fn automaton(source: &str) -> Option<Arc<Automaton>> {
    let known = || IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(automaton) = known().get(source) {
        return Some(automaton);
    }
    // The lock is not held while it is built.
    let automaton = Arc::new(Automaton::new(source)?);
    let dropped = known().add(source, &automaton);
    drop(dropped);
    Some(automaton)
}

thread_local! {
    static BUILT: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// How many automata this thread has built: tests assert that nothing is built for nothing.
pub fn automata_built() -> usize {
    BUILT.with(std::cell::Cell::get)
}

/// Automata by their source, in the order in which they were built.
struct Automata {
    bytes_max: usize,
    bytes: usize,
    by_source: BTreeMap<Arc<str>, Arc<Automaton>>,
    order: VecDeque<Arc<str>>,
}

impl Automata {
    const fn new(bytes_max: usize) -> Self {
        Self { bytes_max, bytes: 0, by_source: BTreeMap::new(), order: VecDeque::new() }
    }

    fn get(&self, source: &str) -> Option<Arc<Automaton>> {
        self.by_source.get(source).map(Arc::clone)
    }

    /// Adds one, and returns those that there is no more room for.
    fn add(&mut self, source: &str, automaton: &Arc<Automaton>) -> Vec<Arc<Automaton>> {
        let mut dropped = Vec::new();
        let source: Arc<str> = source.into();
        if self.by_source.contains_key(&source) {
            return dropped;
        }
        self.bytes += automaton.bytes() + source.len();
        self.order.push_back(Arc::clone(&source));
        self.by_source.insert(source, Arc::clone(automaton));
        while self.bytes > self.bytes_max {
            let Some(oldest) = self.order.pop_front() else { break };
            let Some(automaton) = self.by_source.remove(&oldest) else { break };
            self.bytes -= automaton.bytes() + oldest.len();
            dropped.push(automaton);
        }
        dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(automata: &mut Automata, source: &str) -> usize {
        automata.add(source, &Arc::new(Automaton::new(source).unwrap())).len()
    }

    #[test]
    fn the_first_are_dropped_when_all_take_too_much() {
        let one = Automaton::new("a").unwrap().bytes() + 1;
        let mut automata = Automata::new(2 * one);
        assert_eq!(add(&mut automata, "a"), 0);
        assert_eq!(add(&mut automata, "a"), 0, "it is known");
        assert_eq!(add(&mut automata, "b"), 0);
        assert_eq!(add(&mut automata, "c"), 1);
        assert!(automata.get("a").is_none());
        assert!(automata.get("b").is_some() && automata.get("c").is_some());
        assert_eq!(automata.bytes, 2 * one);
        assert_eq!(add(&mut automata, r"^\p{L}{20}$"), 3, "it is larger than all may be");
        assert_eq!((automata.bytes, automata.order.len()), (0, 0));
    }
}
