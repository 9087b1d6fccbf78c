//! Lists of tasks, the last changed first.
//!
//! Baton lists tasks by id. A page by time is chosen while all that match are read, a page of them
//! at a time, so that a list of a million tasks needs the memory of one page.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use baton_core::task::{self, List, Task};
use baton_core::{GroupName, Reply, TaskId, Timestamp};
use serde_json::{Value, json};

use crate::error::Error;
use crate::params::{ListTasks, history_length};
use crate::service::{Addressee, Service};
use crate::task::{STATES, context_of, state_of, task_json};

/// The number of tasks on a page, unless the request sets another.
const PAGE: i64 = 50;
/// How many tasks a page may have.
const PAGE_MAX: i64 = 100;
/// How many tasks are read at a time.
const READ: u64 = 500;

/// The position of a task in the order, as encoded in a page token.
type SortKey = (Timestamp, TaskId);

struct Listed(SortKey, Task);

impl PartialEq for Listed {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for Listed {}

impl PartialOrd for Listed {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Listed {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.cmp(&other.0)
    }
}

/// The tasks to list.
struct Filter {
    context: String,
    state: Option<&'static str>,
    since: Option<Timestamp>,
    after: Option<SortKey>,
}

impl Filter {
    fn of(request: &ListTasks) -> Result<Self, Error> {
        let state = match request.status.as_str() {
            "" | "TASK_STATE_UNSPECIFIED" => None,
            given => {
                let known = STATES.into_iter().find(|state| *state == given);
                let reason = "it must be a state such as `TASK_STATE_WORKING`";
                Some(known.ok_or_else(|| Error::invalid("status", &reason))?)
            }
        };
        let since = match request.status_timestamp_after.as_str() {
            "" => None,
            text => {
                let parsed = text.parse::<Timestamp>();
                Some(parsed.map_err(|error| Error::invalid("statusTimestampAfter", &error))?)
            }
        };
        let after = match request.page_token.as_str() {
            "" => None,
            token => Some(place(token).ok_or_else(|| {
                Error::invalid("pageToken", &"it is not a `nextPageToken` of this list")
            })?),
        };
        Ok(Self { context: request.context_id.clone(), state, since, after })
    }

    fn matches(&self, task: &Task) -> bool {
        (self.context.is_empty() || context_of(task) == self.context)
            && self.state.is_none_or(|state| state_of(task) == state)
            && self.since.is_none_or(|since| task.updated_at >= since)
    }
}

fn place(token: &str) -> Option<SortKey> {
    let (time, task) = token.split_once('_')?;
    Some((Timestamp(time.parse().ok()?), TaskId::parse(task).ok()?))
}

impl Service {
    /// `ListTasks`
    pub(crate) async fn list(&self, request: &ListTasks) -> Result<Value, Error> {
        let size = request.page_size.unwrap_or(PAGE);
        if !(1..=PAGE_MAX).contains(&size) {
            let reason = format!("it must be from 1 to {PAGE_MAX}");
            return Err(Error::invalid("pageSize", &reason));
        }
        let history = history_length(request.history_length)?;
        let filter = Filter::of(request)?;
        let (page, total, is_last) = self.page(&filter, usize::try_from(size).unwrap_or(1)).await?;
        let token = match page.last() {
            Some(Listed((time, id), _)) if !is_last => format!("{}_{id}", time.0),
            Some(_) | None => String::new(),
        };
        let shown = |listed: &Listed| task_json(&listed.1, history, request.include_artifacts);
        let tasks: Vec<Value> = page.iter().map(shown).collect();
        Ok(json!({
            "tasks": tasks, "nextPageToken": token, "pageSize": size, "totalSize": total,
        }))
    }

    /// The tasks of a page, how many match in all, and whether it is the last page.
    async fn page(&self, filter: &Filter, size: usize) -> Result<(Vec<Listed>, u64, bool), Error> {
        // The top of the heap is the first to leave: the oldest.
        let mut newest = BinaryHeap::new();
        let (mut total, mut is_last) = (0, true);
        let mut take = |task: Task| {
            if !filter.matches(&task) {
                return;
            }
            total += 1;
            let place = (task.updated_at, task.id.clone());
            if filter.after.as_ref().is_some_and(|after| place >= *after) {
                return;
            }
            newest.push(Reverse(Listed(place, task)));
            if newest.len() > size {
                newest.pop();
                is_last = false;
            }
        };
        let group = GroupName::parse(&filter.context).ok();
        let agent = match &self.addressee {
            Addressee::Agent(agent) => Some(agent.clone()),
            Addressee::Fleet => None,
        };
        let mut cursor = None;
        loop {
            let list = List {
                group: group.clone(),
                agent: agent.clone(),
                limit: Some(READ),
                cursor: cursor.take(),
                ..List::default()
            };
            let answer = self.workspace.ask(task::Query::List(list)).await?;
            let Reply::Task(task::Reply::Tasks { tasks, cursor: next }) = answer.reply else {
                unreachable!("a list is answered by tasks")
            };
            tasks.into_iter().for_each(&mut take);
            match next {
                Some(next) => cursor = Some(next),
                None => break,
            }
        }
        // A task without a group is a context of its own.
        if let Ok(alone) = self.workspace.tasks().get(&filter.context).await
            && alone.group.is_none()
        {
            take(alone);
        }
        let page = newest.into_sorted_vec().into_iter().map(|Reverse(listed)| listed).collect();
        Ok((page, total, is_last))
    }
}
