//! A join as the table stores it.

use serde::{Deserialize, Serialize};

use crate::join::{Join, Need, Part, Status};
use crate::json::{Json, given};
use crate::limits;
use crate::names::{AgentId, GroupName, JoinId, TaskId};
use crate::task;
use crate::time::Timestamp;

/// The record of a join.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The join.
    pub id: JoinId,
    /// How many were created before it.
    pub number: u64,
    /// The condition.
    pub need: Need,
    /// Its group, if any.
    pub group: Option<GroupName>,
    /// The tasks, in order.
    pub members: Vec<Member>,
    /// Whether its group has more tasks than a join may have.
    pub outgrown: bool,
    /// Its status.
    pub status: Status,
    /// Why it failed, in words.
    pub reason: Option<String>,
    /// The agent that created it.
    pub created_by: AgentId,
    /// When it was created.
    pub created_at: Timestamp,
    /// Its deadline.
    pub deadline: Option<Timestamp>,
    /// When it settled.
    pub settled_at: Option<Timestamp>,
    /// The number of completed members.
    pub completed: usize,
    /// The number of unfinished members.
    pub unfinished: usize,
    /// Size of the copied results in bytes.
    pub bytes: usize,
}

/// A task in a join.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Member {
    /// The task.
    pub task: TaskId,
    /// Its result, once it has finished.
    pub outcome: Option<Outcome>,
    /// Whether it finished after the join had settled.
    pub late: bool,
}

/// How a task ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// How it finished.
    pub status: task::Status,
    /// Its outcome.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub result: Option<Json>,
    /// Why it failed.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub error: Option<Json>,
    /// Whether results are omitted because they are too large.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub omitted: bool,
}

impl Outcome {
    /// The size of what would be copied.
    pub fn bytes(&self) -> usize {
        let parts = [&self.result, &self.error].into_iter().flatten();
        parts.map(|json| json.as_bytes().len()).sum()
    }

    /// The same without the large fields.
    #[must_use]
    pub fn bare(&self) -> Self {
        Self { status: self.status, result: None, error: None, omitted: true }
    }
}

impl Record {
    /// The outcome of the join, if it is determined and not recorded yet.
    pub fn verdict(&self) -> Option<(Status, Option<String>)> {
        if self.settled_at.is_some() {
            return None;
        }
        if let Some(group) = self.group.as_ref().filter(|_| self.outgrown) {
            let max = limits::JOIN_MEMBERS_MAX;
            return Some((
                Status::Failed,
                Some(format!("group `{group}` has more than {max} tasks")),
            ));
        }
        match self.need {
            Need::Every(_) => {
                let is_open = self.unfinished == 0 && !self.members.is_empty();
                is_open.then_some((Status::Satisfied, None))
            }
            #[cfg(feature = "planted")]
            Need::Number(need)
                if crate::planted::is("join.one_fewer_will_do")
                    && self.completed as u64 + 1 == need
                    && need > 1 =>
            {
                Some((Status::Satisfied, None))
            }
            Need::Number(need) if self.completed as u64 >= need => Some((Status::Satisfied, None)),
            Need::Number(need) => {
                let possible = self.completed + self.unfinished;
                let is_lost = self.group.is_none() && (possible as u64) < need;
                is_lost.then(|| {
                    let reason = format!("{need} must be completed, only {possible} can still be");
                    (Status::Failed, Some(reason))
                })
            }
        }
    }

    /// The number of members it has or may get: a group grows without another check.
    pub fn size(&self) -> usize {
        if self.group.is_some() { limits::JOIN_MEMBERS_MAX } else { self.members.len() }
    }

    /// Adds a task at the end, unless there are too many.
    pub fn grow(&mut self, task: TaskId) {
        if self.members.len() < limits::JOIN_MEMBERS_MAX {
            self.members.push(Member { task, outcome: None, late: false });
            self.unfinished += 1;
        } else {
            self.outgrown = true;
        }
    }

    /// Sets or clears the result of a member.
    pub fn note(&mut self, index: usize, outcome: Option<Outcome>) {
        self.count(index, false);
        let member = &mut self.members[index];
        member.late = outcome.is_some() && self.settled_at.is_some();
        member.outcome = outcome;
        self.count(index, true);
    }

    /// Adds a member to the counts, or removes it.
    fn count(&mut self, index: usize, counts: bool) {
        let outcome = self.members[index].outcome.as_ref();
        let is_completed = outcome.is_some_and(|it| it.status == task::Status::Completed);
        let numbers = [usize::from(outcome.is_none()), usize::from(is_completed)];
        let numbers = [numbers[0], numbers[1], outcome.map_or(0, Outcome::bytes)];
        let counters = [&mut self.unfinished, &mut self.completed, &mut self.bytes];
        for (counter, number) in counters.into_iter().zip(numbers) {
            *counter = if counts { *counter + number } else { *counter - number };
        }
    }

    /// The join as callers see it, with the status of tasks that have not finished.
    pub fn shown(&self, status: impl Fn(&TaskId) -> Option<task::Status>) -> Join {
        let part = |member: &Member| {
            let task = member.task.clone();
            match &member.outcome {
                Some(Outcome { status, result, error, omitted }) => Part {
                    task,
                    status: *status,
                    result: result.clone(),
                    error: error.clone(),
                    late: member.late,
                    omitted: *omitted,
                },
                None => {
                    let status = status(&task).unwrap_or(task::Status::Pending);
                    Part { task, status, result: None, error: None, late: false, omitted: false }
                }
            }
        };
        Join {
            id: self.id.clone(),
            status: self.status,
            need: self.need,
            group: self.group.clone(),
            members: self.members.iter().map(part).collect(),
            reason: self.reason.clone(),
            created_by: self.created_by.clone(),
            created_at: self.created_at,
            deadline: self.deadline,
            settled_at: self.settled_at,
        }
    }
}
