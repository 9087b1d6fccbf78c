//! The composition of the fleet, the subjects of articles, and the planned failures.
//!
//! ```text
//!   round 17: tides-17.facts ──┐
//!             tides-17.figures ┴──▶ tides-17.article ──▶ handed to the reviewer ──▶ done
//! ```
//!
//! 1. The same seed gives the same subjects and failures in the same order.
//! 2. In every four rounds, each kind of failure happens once.
//! 3. The planned failure is part of the task, so that agents need no other knowledge of it.

use std::time::Duration;

use clap::ValueEnum;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

/// How fast the fleet works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Pace {
    /// Slow enough to read every line
    Slow,
    /// Comfortable to watch
    Normal,
    /// As fast as possible
    Fast,
}

impl Pace {
    /// The duration of one step of work.
    pub(super) fn step(self) -> Duration {
        Duration::from_millis(match self {
            Self::Slow => 1_300,
            Self::Normal => 450,
            Self::Fast => 5,
        })
    }

    /// The TTL of leases, locks and sessions, and so the time until a crash is noticed. Not
    /// shorter, so that a busy machine does not look like a crashed agent.
    pub(super) fn patience_ms(self) -> u64 {
        match self {
            Self::Slow => 6_000,
            Self::Normal => 3_000,
            Self::Fast => 1_500,
        }
    }
}

/// The role of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Planner,
    Researcher,
    Writer,
    Reviewer,
}

impl Role {
    /// The capability that it registers.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Planner => "planner",
            Self::Researcher => "researcher",
            Self::Writer => "writer",
            Self::Reviewer => "reviewer",
        }
    }
}

/// One of each role.
pub(super) const AGENTS_MIN: usize = 4;
/// The number of available names.
pub(super) const AGENTS_MAX: usize = NAMES.len() + 2;

pub(super) const PLANNER: &str = "ada";
pub(super) const REVIEWER: &str = "kim";
const NAMES: [&str; 20] = [
    "mia", "sam", "rui", "eve", "noa", "leo", "zoe", "max", "ivy", "jon", "una", "tom", "lea",
    "ben", "amy", "hal", "joy", "ned", "pia", "ray",
];

/// The agents of a fleet: a planner, a reviewer, and alternately researchers and writers.
pub(super) fn roster(count: usize) -> Vec<(&'static str, Role)> {
    let turns = [Role::Researcher, Role::Writer].into_iter().cycle();
    let others = NAMES.into_iter().zip(turns).take(count.saturating_sub(2));
    [(PLANNER, Role::Planner), (REVIEWER, Role::Reviewer)].into_iter().chain(others).collect()
}

const SUBJECTS: [&str; 16] = [
    "tides", "lichen", "comets", "bridges", "honey", "fjords", "kites", "amber", "geysers", "tea",
    "owls", "clocks", "salt", "echoes", "maps", "moss",
];

/// The planned failure of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Fate {
    /// Nothing.
    Smooth,
    /// A source does not respond: the first attempt fails.
    SourceDown,
    /// A researcher crashes halfway.
    Crash,
    /// The reviewer rejects the first draft.
    Untitled,
}

const FATES: [Fate; 4] = [Fate::Smooth, Fate::SourceDown, Fate::Crash, Fate::Untitled];

/// One article.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Round {
    pub(super) subject: String,
    pub(super) fate: Fate,
}

/// The infinite sequence of rounds.
pub(super) struct Rounds {
    chance: SmallRng,
    subjects: Vec<&'static str>,
    fates: Vec<Fate>,
}

impl Rounds {
    pub(super) fn new(seed: u64) -> Self {
        let chance = SmallRng::seed_from_u64(seed);
        Self { chance, subjects: Vec::new(), fates: Vec::new() }
    }
}

impl Iterator for Rounds {
    type Item = Round;

    fn next(&mut self) -> Option<Round> {
        let subject = drawn(&mut self.subjects, &SUBJECTS, &mut self.chance);
        let fate = drawn(&mut self.fates, &FATES, &mut self.chance);
        Some(Round { subject: subject.to_owned(), fate })
    }
}

/// The next card of a deck, which is reshuffled when it is empty.
fn drawn<T: Copy>(deck: &mut Vec<T>, all: &[T], chance: &mut SmallRng) -> T {
    if deck.is_empty() {
        deck.extend(all);
        deck.shuffle(chance);
    }
    deck.pop().expect("a deck has cards")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_determines_the_rounds() {
        let rounds = |seed| Rounds::new(seed).take(32).collect::<Vec<_>>();
        assert_eq!(rounds(7), rounds(7));
        assert_ne!(rounds(7), rounds(8));
    }

    #[test]
    fn every_failure_happens_once_in_four_rounds() {
        let rounds: Vec<Round> = Rounds::new(3).take(40).collect();
        for four in rounds.chunks(FATES.len()) {
            for fate in FATES {
                let times = four.iter().filter(|round| round.fate == fate).count();
                assert_eq!(times, 1, "{fate:?} in {four:?}");
            }
        }
    }

    #[test]
    fn every_fleet_has_all_roles_and_no_name_twice() {
        for count in AGENTS_MIN..=AGENTS_MAX {
            let roster = roster(count);
            assert_eq!(roster.len(), count);
            for role in [Role::Planner, Role::Researcher, Role::Writer, Role::Reviewer] {
                assert!(roster.iter().any(|(_, other)| *other == role), "{role:?} of {count}");
            }
            let names: std::collections::BTreeSet<_> =
                roster.iter().map(|(name, _)| name).collect();
            assert_eq!(names.len(), count);
        }
    }
}
