//! Events of a task as updates of the protocol.

use serde_json::{Value, json};

use crate::message::Message;
use crate::task::{
    CANCELED, COMPLETED, FAILED, INPUT_REQUIRED, SUBMITTED, WORKING, artifacts, has_ended, question,
};

/// Whether an update is the last one of a stream: the task has ended, or waits for input.
pub fn is_final(update: &Value) -> bool {
    let state = update["statusUpdate"]["status"]["state"].as_str();
    state.is_some_and(|state| has_ended(state) || state == INPUT_REQUIRED)
}

/// Follows the events of one task. The same events make the same updates, for everyone.
#[derive(Clone, Debug)]
pub struct Follower {
    task: String,
    context: String,
    state: String,
}

impl Follower {
    /// Follows a task from what is known of it: a task of the protocol.
    pub fn of(task: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let state = text(&task["status"]["state"]);
        Self { task: text(&task["id"]), context: text(&task["contextId"]), state }
    }

    /// Follows a task of which only events are known.
    pub fn of_events(task: &str, context: &str) -> Self {
        Self { task: task.to_owned(), context: context.to_owned(), state: String::new() }
    }

    /// The updates that an event causes, as objects with one of `statusUpdate` and
    /// `artifactUpdate`. The event is as watches deliver it.
    pub fn updates(&mut self, event: &Value) -> Vec<Value> {
        let present = |name: &str| event.get(name).filter(|value| !value.is_null());
        match event["type"].as_str().unwrap_or_default() {
            "task.claimed" | "task.handed_over" => self.moved(WORKING, event, None),
            "task.progressed" => {
                let state = if self.state.is_empty() { WORKING } else { &self.state.clone() };
                vec![self.status(state, event, present("note"))]
            }
            "task.updated" => self.updated(event),
            "task.released" | "task.retried" => self.moved(SUBMITTED, event, present("reason")),
            "task.handed_off" => self.moved(SUBMITTED, event, None),
            "task.completed" => self.completed(event),
            "task.failed" => {
                let state = match &event["outcome"] {
                    Value::String(outcome) if outcome == "failed" => FAILED,
                    Value::String(outcome) if outcome == "review" => INPUT_REQUIRED,
                    _ => SUBMITTED,
                };
                vec![self.status(state, event, present("error"))]
            }
            "task.cancelled" => vec![self.status(CANCELED, event, present("reason"))],
            "task.reviewed" => match event["verdict"].as_str().unwrap_or_default() {
                "complete" => self.completed(event),
                "fail" => vec![self.status(FAILED, event, present("note"))],
                _ => self.moved(SUBMITTED, event, present("note")),
            },
            // The others change nothing that the protocol knows about.
            _ => Vec::new(),
        }
    }

    fn updated(&mut self, event: &Value) -> Vec<Value> {
        let mut updates = Vec::new();
        if let Some(result) = event.get("result") {
            updates.extend(self.artifacts(&artifacts(Some(result), None), false));
        }
        if let Some(metadata) = event.get("metadata") {
            match question(metadata) {
                Some(asked) => updates.push(self.status(INPUT_REQUIRED, event, Some(asked))),
                None => updates.extend(self.moved(WORKING, event, None)),
            }
        }
        updates
    }

    fn completed(&mut self, event: &Value) -> Vec<Value> {
        let made = artifacts(event.get("result"), event.get("artifacts"));
        let mut updates = self.artifacts(&made, true);
        updates.push(self.status(COMPLETED, event, None));
        updates
    }

    fn artifacts(&self, artifacts: &[Value], is_last: bool) -> Vec<Value> {
        let update = |artifact: &Value| {
            json!({"artifactUpdate": {
                "taskId": self.task, "contextId": self.context, "artifact": artifact,
                "append": false, "lastChunk": is_last,
            }})
        };
        artifacts.iter().map(update).collect()
    }

    /// A status update, unless the status is unchanged and there is no remark.
    fn moved(&mut self, state: &str, event: &Value, remark: Option<&Value>) -> Vec<Value> {
        if self.state == state && remark.is_none() {
            return Vec::new();
        }
        vec![self.status(state, event, remark)]
    }

    fn status(&mut self, state: &str, event: &Value, remark: Option<&Value>) -> Value {
        state.clone_into(&mut self.state);
        let mut status = json!({"state": state, "timestamp": event["time"]});
        let revision = event["revision"].as_u64().unwrap_or_default();
        if let Some(remark) = remark {
            status["message"] = Message::of_agent(&self.task, &self.context, revision, remark);
        }
        let mut update = json!({"taskId": self.task, "contextId": self.context, "status": status});
        let mut baton = json!({"revision": revision});
        for (name, member) in [("holder", "holder"), ("fraction", "progress")] {
            if let Some(value) = event.get(name) {
                baton[member] = value.clone();
            }
        }
        update["metadata"] = json!({"baton": baton});
        json!({"statusUpdate": update})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn states(events: &[Value]) -> Vec<String> {
        let mut follower = Follower::of_events("t", "c");
        let updates = events.iter().flat_map(|event| follower.updates(event));
        let name = |update: Value| match update["statusUpdate"]["status"]["state"].as_str() {
            Some(state) => state.strip_prefix("TASK_STATE_").unwrap().to_lowercase(),
            None => format!("artifact {}", update["artifactUpdate"]["artifact"]["artifactId"]),
        };
        updates.map(name).collect()
    }

    #[test]
    fn every_event_is_translated_independently() {
        let event = |kind: &str, more: Value| {
            let mut event =
                json!({"type": kind, "revision": 7, "time": "2026-01-01T00:00:00.000Z"});
            event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            event
        };
        let none = || json!({});
        let events = [
            event("task.claimed", json!({"holder": "ada"})),
            event("task.renewed", none()),
            event("task.progressed", json!({"fraction": 0.5, "note": "half"})),
            event("task.updated", json!({"metadata": {"question": "which?"}})),
            event("task.progressed", json!({"fraction": 0.6})),
            event("task.updated", json!({"metadata": {}})),
            event("task.updated", json!({"result": 1})),
            event("task.failed", json!({"error": "e", "outcome": {"retry": {}}})),
            event("task.ready", none()),
            event("task.claimed", json!({"holder": "bob"})),
            event("task.failed", json!({"error": "e", "outcome": "review"})),
            event("task.reviewed", json!({"verdict": "retry"})),
            event("task.handed_over", json!({"holder": "eve"})),
            event("task.completed", json!({"result": 2, "artifacts": ["sha256:00"]})),
        ];
        let expected = [
            "working",
            "working",
            "input_required",
            "input_required",
            "working",
            "artifact \"result\"",
            "submitted",
            "working",
            "input_required",
            "submitted",
            "working",
            "artifact \"result\"",
            "artifact \"sha256:00\"",
            "completed",
        ];
        assert_eq!(states(&events), expected);
        assert_eq!(states(&[event("task.cancelled", none())]), ["canceled"]);
        assert_eq!(states(&[event("task.failed", json!({"outcome": "failed"}))]), ["failed"]);
    }
}
