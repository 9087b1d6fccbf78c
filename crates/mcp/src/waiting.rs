//! Lists of what an agent holds and of what waits for it.
//!
//! No operation has a filter for most of them, so that pages are read until enough records are
//! selected. A list that may have more says so.

use baton_client::Workspace;
use baton_core::wire::Problem;
use serde_json::{Value, json};

use crate::operation::{given, perform};
use crate::view::is_unapproved;

/// How many records a page has.
const PAGE: u64 = 100;
/// How many pages are read at most: a list of a large workspace must not take long.
const PAGES_MAX: usize = 20;
/// How many tasks are asked about, if their records do not say whether they are ready.
const ASKED_MAX: usize = 20;
/// The statuses of a hand-off that its receiver can accept.
const OPEN: [&str; 3] = ["offered", "approved", "delivered"];

/// Selected records of a list.
#[derive(Default)]
pub(crate) struct Selection {
    pub(crate) records: Vec<Value>,
    /// Whether there may be more.
    pub(crate) has_more: bool,
}

impl Selection {
    /// Adds a record, if there is room.
    fn push(&mut self, record: Value, most: usize) {
        if self.records.len() < most {
            self.records.push(record);
        } else {
            self.has_more = true;
        }
    }

    /// The records as a value.
    pub(crate) fn value(&self) -> Value {
        Value::from(self.records.as_slice())
    }
}

/// The records of a list that are wanted. `member` is their name in the reply.
async fn select(
    workspace: &Workspace,
    (operation, member): (&str, &str),
    fields: Value,
    most: usize,
    mut is_wanted: impl FnMut(&Value) -> bool,
) -> Result<Selection, Problem> {
    let mut fields = given(fields);
    fields.insert("limit".to_owned(), Value::from(PAGE));
    let mut selection = Selection::default();
    for _ in 0..PAGES_MAX {
        let mut page = perform(workspace, operation, fields.clone()).await?;
        let Value::Array(records) = page[member].take() else { return Ok(selection) };
        for record in records.into_iter().filter(&mut is_wanted) {
            selection.push(record, most);
            if selection.has_more {
                return Ok(selection);
            }
        }
        let Some(cursor) = page["cursor"].as_str() else { return Ok(selection) };
        fields.insert("cursor".to_owned(), Value::from(cursor));
    }
    selection.has_more = true;
    Ok(selection)
}

async fn tasks(
    workspace: &Workspace,
    fields: Value,
    most: usize,
    is_wanted: impl FnMut(&Value) -> bool,
) -> Result<Selection, Problem> {
    select(workspace, ("task.list", "tasks"), fields, most, is_wanted).await
}

/// Tasks that the agent holds.
pub(crate) async fn held_tasks(workspace: &Workspace, most: usize) -> Result<Selection, Problem> {
    let agent = workspace.agent().as_str();
    let fields = json!({"agent": agent, "status": "in_progress"});
    tasks(workspace, fields, most, |task| task["lease"]["holder"] == agent).await
}

/// Tasks that the agent can claim now: first those that are assigned to it; at the end those that
/// need capabilities, if it has no session that says which it has.
pub(crate) async fn ready_tasks(workspace: &Workspace, most: usize) -> Result<Selection, Problem> {
    let agent = workspace.agent().as_str();
    let able = capabilities(workspace).await?;
    let (mut delayed, mut demanding) = (Vec::new(), Vec::new());
    let mut is_ready = |task: &Value| {
        if task["waiting_for"].as_array().is_some_and(|open| !open.is_empty()) {
            return false;
        }
        let needed = task["capabilities"].as_array().map(Vec::as_slice).unwrap_or_default();
        match &able {
            Some(able) if needed.iter().any(|one| !able.contains(one)) => false,
            // Whether that time has passed is known to the server.
            _ if task["not_before"].is_string() => {
                if delayed.len() < ASKED_MAX {
                    delayed.push(task.clone());
                }
                false
            }
            None if !needed.is_empty() => {
                if demanding.len() <= most {
                    demanding.push(task.clone());
                }
                false
            }
            _ => true,
        }
    };
    let assigned = json!({"agent": agent, "status": "pending"});
    let mut ready = tasks(workspace, assigned, most, &mut is_ready).await?;
    let room = most - ready.records.len();
    let is_open = |task: &Value| task["assigned_agent"].is_null() && is_ready(task);
    let open = tasks(workspace, json!({"status": "pending"}), room, is_open).await?;
    ready.records.extend(open.records);
    ready.has_more |= open.has_more;
    for task in delayed {
        let why = perform(workspace, "task.why", given(json!({"task": task["id"]}))).await?;
        let facts = why["facts"].as_array().map(Vec::as_slice).unwrap_or_default();
        if facts.iter().any(|fact| fact["code"] == "ready") {
            ready.push(task, most);
        }
    }
    for task in demanding {
        ready.push(task, most);
    }
    Ok(ready)
}

/// The capabilities of the session of the agent; none if it has no session.
async fn capabilities(workspace: &Workspace) -> Result<Option<Vec<Value>>, Problem> {
    let agent = json!({"agent": workspace.agent().as_str()});
    match perform(workspace, "agent.get", given(agent)).await {
        Ok(agent) if agent["status"] == "active" => {
            Ok(Some(agent["capabilities"].as_array().cloned().unwrap_or_default()))
        }
        Ok(_) => Ok(None),
        Err(problem) if problem.code == "agent.not_found" => Ok(None),
        Err(problem) => Err(problem),
    }
}

/// Tasks in review that the agent may accept: not its own work, nor work for other reviewers.
pub(crate) async fn reviews(workspace: &Workspace, most: usize) -> Result<Selection, Problem> {
    let agent = workspace.agent().as_str();
    let is_reviewer = |task: &Value| {
        let reviewers = &task["reviewers"];
        let named = reviewers["agents"].as_array().map(Vec::as_slice).unwrap_or_default();
        let is_open = named.is_empty() || reviewers["capability"].is_string();
        task["submitted_by"] != agent && (is_open || named.iter().any(|one| one == agent))
    };
    tasks(workspace, json!({"status": "waiting_review"}), most, is_reviewer).await
}

/// Hand-offs that the agent can accept or reject.
pub(crate) async fn handoffs(workspace: &Workspace, most: usize) -> Result<Selection, Problem> {
    let list = ("handoff.list", "handoffs");
    let mut all = Selection::default();
    for status in OPEN {
        let fields = json!({"to": workspace.agent().as_str(), "status": status});
        let room = most - all.records.len();
        let some = select(workspace, list, fields, room, |one| !is_unapproved(one)).await?;
        all.records.extend(some.records);
        all.has_more |= some.has_more;
    }
    Ok(all)
}

/// Hand-offs between others that wait for an approval, which the agent may give.
pub(crate) async fn approvals(workspace: &Workspace, most: usize) -> Result<Selection, Problem> {
    let agent = workspace.agent().as_str();
    let is_approver = |one: &Value| {
        let named = one["approval"]["by"].as_array().map(Vec::as_slice).unwrap_or_default();
        let may_approve = named.is_empty() || named.iter().any(|approver| approver == agent);
        is_unapproved(one) && one["from"] != agent && one["to"] != agent && may_approve
    };
    let fields = json!({"status": "offered"});
    select(workspace, ("handoff.list", "handoffs"), fields, most, is_approver).await
}

/// Messages in the inbox of the agent.
pub(crate) async fn messages(workspace: &Workspace, most: usize) -> Result<Selection, Problem> {
    let fields = json!({"agent": workspace.agent().as_str(), "status": "waiting"});
    select(workspace, ("inbox.list", "messages"), fields, most, |_| true).await
}

/// Locks that the agent holds, without those that are reservations of files.
pub(crate) async fn held_locks(workspace: &Workspace, most: usize) -> Result<Selection, Problem> {
    let agent = workspace.agent().as_str();
    let is_own = |lock: &Value| {
        let name = lock["name"].as_str().unwrap_or_default();
        let is_reservation = name.starts_with("path:") || name == "path-reservations";
        lock["hold"]["holder"] == agent && !is_reservation
    };
    select(workspace, ("lock.list", "locks"), json!({}), most, is_own).await
}
