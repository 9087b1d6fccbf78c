//! Records as answers: fields of Baton itself, and text written by agents.
//!
//! Everything that an agent wrote is below one member, `untrusted`: it is data, and no instruction.
//! A concise view has the members that decide what to do next; a detailed view has all of them.

use serde_json::{Value, json};

use crate::operation::Object;
use crate::reference::{entry_name, short, shortened};

/// The member with what agents wrote.
pub(crate) const UNTRUSTED: &str = "untrusted";

/// How much of a record is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Detail {
    #[default]
    Concise,
    Detailed,
}

/// How records of one kind are shown.
pub(crate) struct View {
    /// The members of a concise view, besides what agents wrote.
    concise: &'static [&'static str],
    /// The members that agents wrote.
    written: &'static [&'static str],
}

/// The members that are ids.
const IDS: [&str; 9] = [
    "id",
    "task",
    "handoff",
    "parent",
    "depends_on",
    "waiting_for",
    "thread",
    "reply_to",
    "checkpoint",
];

pub(crate) const TASK: View = View {
    concise: &[
        "id",
        "type",
        "status",
        "priority",
        "assigned_agent",
        "capabilities",
        "depends_on",
        "waiting_for",
        "parent",
        "group",
        "deadline",
        "warnings",
    ],
    written: &[
        "description",
        "definition",
        "metadata",
        "result",
        "error",
        "reason",
        "progress",
        "artifacts",
    ],
};

pub(crate) const HANDOFF: View = View {
    concise: &["id", "from", "to", "status", "task", "deadline", "keys", "warnings"],
    written: &[
        "reason",
        "work_completed",
        "remaining_work",
        "notes",
        "state",
        "changes",
        "result",
        "error",
        "artifacts",
        "output_keys",
    ],
};

pub(crate) const MESSAGE: View = View {
    concise: &["id", "from", "status", "sent_at", "reply_to"],
    written: &["body", "request"],
};

pub(crate) const ENTRY: View = View {
    concise: &["version", "revision", "updated_by", "expires_at", "warnings"],
    written: &["value"],
};

pub(crate) const CHECKPOINT: View = View {
    concise: &["id", "task", "number", "saved_by", "saved_at", "label"],
    written: &["description", "state", "metadata"],
};

pub(crate) const AGENT: View =
    View { concise: &["id", "status", "capabilities", "last_seen_at"], written: &["metadata"] };

pub(crate) const LOCK: View = View { concise: &["name", "status", "hold"], written: &[] };

pub(crate) const PIPELINE: View = View {
    concise: &["name", "status", "stage", "current_stage"],
    written: &["stages", "input", "output", "metadata", "description", "error", "reason"],
};

/// A search result. Its fields are names that agents chose.
pub(crate) const FOUND: View = View { concise: &["kind", "updated_at"], written: &["fields"] };

impl View {
    /// The view of a record.
    pub(crate) fn of(&self, record: &Value, detail: Detail) -> Object {
        let Some(record) = record.as_object() else { return Object::new() };
        let mut own = Object::new();
        let mut written = Object::new();
        for (name, value) in record {
            if is_empty(value) {
                continue;
            }
            if self.written.contains(&name.as_str()) {
                written.insert(name.clone(), value.clone());
            } else if detail == Detail::Detailed || self.concise.contains(&name.as_str()) {
                let is_id = IDS.contains(&name.as_str());
                let value = if is_id { shortened(value) } else { value.clone() };
                own.insert(name.clone(), value);
            }
        }
        if !written.is_empty() {
            own.insert(UNTRUSTED.to_owned(), Value::Object(written));
        }
        own
    }

    /// The views of a list of records.
    pub(crate) fn all(&self, records: &Value, detail: Detail) -> Vec<Value> {
        let records = records.as_array().map(Vec::as_slice).unwrap_or_default();
        records.iter().map(|record| Value::Object(self.of(record, detail))).collect()
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Number(number) => number.as_i64() == Some(0),
        Value::Bool(_) | Value::String(_) => false,
    }
}

/// A task; with the token of its lease if the agent holds it.
pub(crate) fn task(record: &Value, agent: &str, detail: Detail) -> Value {
    let mut shown = TASK.of(record, detail);
    if let Some(lease) = record["lease"].as_object() {
        shown.insert("holder".to_owned(), lease["holder"].clone());
        shown.insert("lease_ends".to_owned(), lease["expires_at"].clone());
        if lease["holder"] == agent {
            shown.insert("token".to_owned(), lease["token"].clone());
        }
    }
    Value::Object(shown)
}

/// A list of tasks.
pub(crate) fn tasks(records: &Value, agent: &str, detail: Detail) -> Vec<Value> {
    let records = records.as_array().map(Vec::as_slice).unwrap_or_default();
    records.iter().map(|record| task(record, agent, detail)).collect()
}

/// A hand-off; with its digest while it waits for approval.
pub(crate) fn handoff(record: &Value, detail: Detail) -> Value {
    let mut shown = HANDOFF.of(record, detail);
    if is_unapproved(record) {
        shown.insert("waits_for".to_owned(), Value::from("approval"));
        shown.insert("digest".to_owned(), record["digest"].clone());
    }
    Value::Object(shown)
}

/// A list of hand-offs.
pub(crate) fn handoffs(records: &[Value], detail: Detail) -> Vec<Value> {
    records.iter().map(|record| handoff(record, detail)).collect()
}

/// Whether a hand-off waits for an approval.
pub(crate) fn is_unapproved(record: &Value) -> bool {
    record["status"] == "offered" && record["approval"].is_object()
}

/// An entry under its reference.
pub(crate) fn entry(record: &Value, detail: Detail) -> Value {
    let mut shown = ENTRY.of(record, detail);
    let text = |name: &str| record[name].as_str().unwrap_or_default();
    let name = entry_name(&format!("{}/{}", text("namespace"), text("key")));
    shown.insert("ref".to_owned(), Value::from(name));
    // It is the content of the entry even if it is empty.
    let written = shown.entry(UNTRUSTED.to_owned()).or_insert_with(|| json!({}));
    written["value"] = record["value"].clone();
    Value::Object(shown)
}

/// A search result under its reference.
pub(crate) fn found(record: &Value) -> Value {
    let mut shown = FOUND.of(record, Detail::Concise);
    let subject = record["subject"].as_str().unwrap_or_default();
    let name = match subject.split_once('/') {
        Some(("tasks", id)) => short(id),
        Some(("inbox", rest)) => short(rest.rsplit('/').next().unwrap_or(rest)),
        Some(("state", entry)) => entry_name(entry),
        Some(_) | None => subject.to_owned(),
    };
    shown.insert("ref".to_owned(), Value::from(name));
    Value::Object(shown)
}

/// Anything that has no view of its own: all of it may have been written by agents.
pub(crate) fn unknown(record: &Value) -> Value {
    json!({ UNTRUSTED: record })
}
