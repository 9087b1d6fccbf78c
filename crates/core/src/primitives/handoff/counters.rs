//! Counts, outcomes and durations of hand-offs, updated with every event.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Handoff, Pair, Statistics, Status};
use crate::histogram::{Extremes, Histogram};
use crate::limits;
use crate::names::AgentId;

/// All counters, in total and for each pair of agents.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    total: Past,
    // Pairs beyond the maximum are counted in the total only.
    by_pair: BTreeMap<(AgentId, String), Past>,
}

/// The counters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Past {
    // Indexed by status.
    by_status: [u64; Status::ALL.len()],
    validation_errors: u64,
    durations: Histogram,
    acceptance: Histogram,
}

/// The amounts that one event added, for undo.
pub struct Added {
    pair: (AgentId, String),
    is_new_pair: bool,
    before: Option<Status>,
    after: Status,
    is_invalid: bool,
    ended: Option<(u64, [Option<Extremes>; 2])>,
    accepted: Option<(u64, [Option<Extremes>; 2])>,
}

impl Counters {
    /// Counts a hand-off that was created or changed.
    pub fn add(&mut self, before: Option<&Handoff>, after: &Handoff) -> Option<Added> {
        let was = before.map(|handoff| handoff.status);
        if was == Some(after.status) {
            return None;
        }
        let pair = (after.from.clone(), pair_name(after));
        let is_new_pair = !self.by_pair.contains_key(&pair)
            && self.by_pair.len() < limits::HANDOFF_PAIRS_MAX
            && was.is_none();
        if is_new_pair {
            self.by_pair.insert(pair.clone(), Past::default());
        }
        let spent_ms = after.updated_at.since(after.created_at);
        let is_invalid = after.is_invalid() && was.is_none();
        let mut added = Added {
            pair,
            is_new_pair,
            before: was,
            after: after.status,
            is_invalid,
            ended: after.status.is_finished().then_some((spent_ms, [None; 2])),
            accepted: (after.status == Status::Accepted).then_some((spent_ms, [None; 2])),
        };
        for (place, past) in self.pasts(&added.pair.clone()).into_iter().enumerate() {
            let Some(past) = past else { continue };
            if let Some(was) = was {
                past.by_status[was as usize] -= 1;
            }
            past.by_status[after.status as usize] += 1;
            past.validation_errors += u64::from(is_invalid);
            if let Some((spent_ms, extremes)) = &mut added.ended {
                extremes[place] = Some(past.durations.add(*spent_ms));
            }
            if let Some((spent_ms, extremes)) = &mut added.accepted {
                extremes[place] = Some(past.acceptance.add(*spent_ms));
            }
        }
        Some(added)
    }

    /// Undoes what was added, in reverse order.
    pub fn take_back(&mut self, added: Added) {
        let Added { pair, is_new_pair, before, after, is_invalid, ended, accepted } = added;
        for (place, past) in self.pasts(&pair).into_iter().enumerate() {
            let Some(past) = past else { continue };
            if let Some((spent_ms, extremes)) = accepted {
                let extremes = extremes[place].expect("it was counted here");
                past.acceptance.take_back(spent_ms, extremes);
            }
            if let Some((spent_ms, extremes)) = ended {
                let extremes = extremes[place].expect("it was counted here");
                past.durations.take_back(spent_ms, extremes);
            }
            past.validation_errors -= u64::from(is_invalid);
            past.by_status[after as usize] -= 1;
            if let Some(before) = before {
                past.by_status[before as usize] += 1;
            }
        }
        if is_new_pair {
            self.by_pair.remove(&pair);
        }
    }

    fn pasts(&mut self, pair: &(AgentId, String)) -> [Option<&mut Past>; 2] {
        [Some(&mut self.total), self.by_pair.get_mut(pair)]
    }

    /// The statistics as callers see them.
    pub fn shown(&self) -> Statistics {
        let mut pairs: Vec<Pair> =
            self.by_pair.iter().map(|(pair, past)| past.pair(pair)).collect();
        pairs.sort_by_key(|pair| std::cmp::Reverse(pair.count));
        pairs.truncate(limits::PAGE_DEFAULT);
        Statistics { pairs, ..self.total.shown() }
    }
}

/// The receiver as it was given.
fn pair_name(handoff: &Handoff) -> String {
    match (handoff.to.agent(), handoff.to.capability()) {
        (Some(agent), _) => agent.as_str().to_owned(),
        (None, capability) => capability.unwrap_or_default().to_owned(),
    }
}

impl Past {
    fn of(&self, status: Status) -> u64 {
        self.by_status[status as usize]
    }

    fn count(&self) -> u64 {
        self.by_status.iter().sum()
    }

    fn shown(&self) -> Statistics {
        let ended: u64 = Status::ALL
            .into_iter()
            .filter(|status| status.is_finished())
            .map(|it| self.of(it))
            .sum();
        let open = Status::ALL.into_iter().filter(|status| status.is_open());
        #[expect(clippy::cast_precision_loss, reason = "a rate need not be exact")]
        let success_rate =
            if ended == 0 { 0.0 } else { self.of(Status::Completed) as f64 / ended as f64 };
        Statistics {
            count: self.count(),
            open: open.map(|status| self.of(status)).sum(),
            accepted: self.of(Status::Accepted),
            completed: self.of(Status::Completed),
            failed: self.of(Status::Failed),
            rejected: self.of(Status::Rejected),
            expired: self.of(Status::Expired),
            cancelled: self.of(Status::Cancelled),
            validation_errors: self.validation_errors,
            success_rate,
            durations: self.durations.shown(),
            acceptance: self.acceptance.shown(),
            pairs: Vec::new(),
        }
    }

    fn pair(&self, (from, to): &(AgentId, String)) -> Pair {
        let ended = Status::ALL.into_iter().filter(|status| status.is_finished());
        let ended: u64 = ended.map(|status| self.of(status)).sum();
        let completed = self.of(Status::Completed);
        Pair {
            from: from.clone(),
            to: to.clone(),
            count: self.count(),
            completed,
            ended_otherwise: ended - completed,
            durations: self.durations.shown(),
        }
    }
}
