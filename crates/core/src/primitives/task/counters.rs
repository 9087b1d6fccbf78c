//! Counts, durations and failure reasons of tasks, updated with every change.
//!
//! Tasks are counted by type and status. The durations and failures of a type are forgotten with
//! its last task; the totals stay.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Counts, Failure, Record, Statistics, Status, TimeInState};
use crate::histogram::{Extremes, Histogram};
use crate::json::Json;
use crate::limits;
use crate::names::TaskType;
use crate::time::Timestamp;

/// The condition that a pending task waits for before it is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Its start time.
    Delayed,
    /// Another task.
    Blocked,
}

/// All counters.
#[derive(Default)]
pub struct Counters {
    total: Counted,
    by_type: BTreeMap<TaskType, Counted>,
}

#[derive(Clone, Debug, Default)]
struct Counted {
    by_status: [u64; Status::ALL.len()],
    delayed: u64,
    blocked: u64,
    past: Past,
}

/// The counts that cannot be recomputed from the current tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Past {
    times: [Histogram; 3],
    /// Separate, because it was added later.
    #[serde(default)]
    handed_off: Histogram,
    failures: BTreeMap<String, u64>,
}

/// The counts that one event added, for undo.
pub struct Added {
    task_type: TaskType,
    time: Option<Time>,
    /// The names under which a failure was counted: in the total, and for its type.
    failure: Option<[String; 2]>,
}

struct Time {
    state: usize,
    spent_ms: u64,
    before: [Extremes; 2],
}

/// The index into [`Past::times`] of a state that ends.
fn state(status: Status) -> Option<usize> {
    match status {
        Status::Pending => Some(0),
        Status::InProgress => Some(1),
        Status::WaitingReview => Some(2),
        Status::HandedOff => Some(3),
        Status::Completed | Status::Failed | Status::Cancelled => None,
    }
}

impl Counters {
    /// Counts a task that was added, changed or removed.
    pub fn count(&mut self, before: Option<&Record>, after: Option<&Record>) {
        if before.map(|record| record.status) == after.map(|record| record.status) {
            return;
        }
        let Some(task_type) = after.or(before).map(|record| &record.task_type) else { return };
        if !self.by_type.contains_key(task_type) {
            self.by_type.insert(task_type.clone(), Counted::default());
        }
        // A task has the same type before and after.
        let of_type = self.by_type.get_mut(task_type).expect("its type is counted");
        for counted in [&mut self.total, &mut *of_type] {
            if let Some(record) = after {
                counted.by_status[record.status as usize] += 1;
            }
            if let Some(record) = before {
                counted.by_status[record.status as usize] -= 1;
            }
        }
        if after.is_none() && of_type_is_empty(of_type) {
            self.by_type.remove(task_type);
        }
    }

    /// Counts a change of what a task waits for. Its type must be counted already.
    pub fn stage(&mut self, record: &Record, before: Option<Stage>, after: Option<Stage>) {
        let of_type = self.by_type.get_mut(&record.task_type).expect("its type is counted");
        for counted in [&mut self.total, of_type] {
            match before {
                Some(Stage::Delayed) => counted.delayed -= 1,
                Some(Stage::Blocked) => counted.blocked -= 1,
                None => {}
            }
            match after {
                Some(Stage::Delayed) => counted.delayed += 1,
                Some(Stage::Blocked) => counted.blocked += 1,
                None => {}
            }
        }
    }

    /// Records a change of status, and its error if it has one.
    pub fn add(
        &mut self,
        before: &Record,
        after: &Record,
        error: Option<&Json>,
        now: Timestamp,
    ) -> Added {
        let task_type = after.task_type.clone();
        let of_type = self.by_type.get_mut(&task_type).expect("its type is counted");
        let turned = before.status != after.status;
        let time = state(before.status).filter(|_| turned).map(|state| {
            let spent_ms = now.since(before.since);
            let totals = self.total.past.times_in(state).add(spent_ms);
            let own = of_type.past.times_in(state).add(spent_ms);
            Time { state, spent_ms, before: [totals, own] }
        });
        let failure = error.map(|error| {
            let reason = reason_of(error);
            [self.total.past.add_failure(&reason), of_type.past.add_failure(&reason)]
        });
        Added { task_type, time, failure }
    }

    /// Undoes what was added, in reverse order.
    pub fn take_back(&mut self, added: Added) {
        let Added { task_type, time, failure } = added;
        let of_type = self.by_type.get_mut(&task_type).expect("its type is counted");
        let pasts = [&mut self.total.past, &mut of_type.past];
        for (place, past) in pasts.into_iter().enumerate() {
            if let Some(Time { state, spent_ms, before }) = &time {
                past.times_in(*state).take_back(*spent_ms, before[place]);
            }
            if let Some(reasons) = &failure {
                past.take_back_failure(&reasons[place]);
            }
        }
    }

    /// The statistics of all tasks, or of one type.
    pub fn shown(&self, task_type: Option<&TaskType>, claims_waiting: usize) -> Statistics {
        let counted = match task_type {
            None => self.total.clone(),
            Some(task_type) => self.by_type.get(task_type).cloned().unwrap_or_default(),
        };
        let of = |status: Status| counted.by_status[status as usize];
        let (pending, delayed, blocked) = (of(Status::Pending), counted.delayed, counted.blocked);
        let tasks = Counts {
            pending,
            ready: pending - delayed - blocked,
            delayed,
            blocked,
            in_progress: of(Status::InProgress),
            handed_off: of(Status::HandedOff),
            waiting_review: of(Status::WaitingReview),
            completed: of(Status::Completed),
            failed: of(Status::Failed),
            cancelled: of(Status::Cancelled),
        };
        let [pending, in_progress, waiting_review] = &counted.past.times;
        let time_in_state = TimeInState {
            pending: pending.shown(),
            in_progress: in_progress.shown(),
            handed_off: counted.past.handed_off.shown(),
            waiting_review: waiting_review.shown(),
        };
        let failures = counted.past.failures.iter();
        let mut failures: Vec<Failure> = failures
            .map(|(reason, count)| Failure { reason: reason.clone(), count: *count })
            .collect();
        failures.sort_by_key(|failure| std::cmp::Reverse(failure.count));
        Statistics { tasks, claims_waiting: claims_waiting as u64, time_in_state, failures }
    }

    /// How many tasks have a status.
    pub fn of_status(&self, status: Status) -> usize {
        usize::try_from(self.total.by_status[status as usize]).expect("tasks fit into memory")
    }

    /// The contents of a snapshot: for all types, and for each.
    pub fn past(&self) -> (Past, Vec<(TaskType, Past)>) {
        let by_type =
            self.by_type.iter().map(|(name, counted)| (name.clone(), counted.past.clone()));
        (self.total.past.clone(), by_type.collect())
    }

    /// Restores the contents of a snapshot, after the tasks were counted.
    pub fn remember(&mut self, (total, by_type): (Past, Vec<(TaskType, Past)>)) {
        self.total.past = total;
        for (task_type, past) in by_type {
            self.by_type.get_mut(&task_type).expect("its type is counted").past = past;
        }
    }
}

fn of_type_is_empty(counted: &Counted) -> bool {
    counted.by_status.iter().all(|count| *count == 0)
}

/// The reason under which an error is counted: its own code, or the beginning of its text.
pub(super) fn reason_of(error: &Json) -> String {
    let value = error.to_value();
    let named = ["code", "reason", "type", "message"];
    let name = named.into_iter().find_map(|name| match value.get(name)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    });
    let text = name.or_else(|| value.as_str().map(str::to_owned));
    let text = text.unwrap_or_else(|| error.as_str().to_owned());
    text.chars().take(limits::FAILURE_REASON_CHARACTERS_MAX).collect()
}

impl Past {
    fn times_in(&mut self, state: usize) -> &mut Histogram {
        self.times.get_mut(state).unwrap_or(&mut self.handed_off)
    }

    /// Counts a failure by its reason or, if there are too many reasons, as `other`.
    fn add_failure(&mut self, reason: &str) -> String {
        let is_known = self.failures.contains_key(reason);
        let has_room = self.failures.len() + 1 < limits::FAILURE_REASONS_MAX;
        let reason = if is_known || has_room { reason } else { "other" };
        *self.failures.entry(reason.to_owned()).or_default() += 1;
        reason.to_owned()
    }

    fn take_back_failure(&mut self, reason: &str) {
        let count = self.failures.get_mut(reason).expect("it was counted");
        *count -= 1;
        if *count == 0 {
            self.failures.remove(reason);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::reason_of;
    use crate::json::Json;

    #[test]
    fn errors_are_counted_by_their_codes() {
        for (error, reason) in [
            (r#""timeout""#, "timeout"),
            (r#"{"code":"E1","reason":"no"}"#, "E1"),
            (r#"{"code":null,"reason":"no"}"#, "no"),
            (r#"{"type":7}"#, "7"),
            (r#"{"message":"m"}"#, "m"),
            (r#"{"other":1}"#, r#"{"other":1}"#),
            ("null", "null"),
        ] {
            assert_eq!(reason_of(&Json::parse(error).unwrap()), reason);
        }
        let long = Json::of(&"é".repeat(500)).unwrap();
        assert_eq!(reason_of(&long).chars().count(), 120);
    }
}
