//! The state of a task, as an agent of another system reports it.

use serde_json::{Value, json};

use crate::peer::PeerError;
use crate::task::{CANCELED, COMPLETED, FAILED, INPUT_REQUIRED, RESULT, STATES, SUBMITTED};
use crate::transfer::TRANSFER_CONTEXT;

/// How long the id of a task may be.
const ID_BYTES_MAX: usize = 512;

/// The state of a task, as an agent of another system reports it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reported {
    /// Its id there; empty if the agent answered without a task.
    pub id: String,
    /// Its context there.
    pub context: String,
    /// The state of the task.
    pub state: State,
    /// A note, a question or an error.
    pub remark: Option<Value>,
    /// From 0 to 1, if the agent is one of Baton.
    pub progress: Option<f64>,
    /// The result: the content of the artifact `result`, or of the only one.
    pub result: Option<Value>,
    /// The other artifacts.
    pub artifacts: Vec<Value>,
    /// The transfer context that it hands back.
    pub transfer: Option<Value>,
}

/// The state of a task in another system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// It waits for a worker.
    #[default]
    Submitted,
    /// It is in progress.
    Working,
    /// It needs an answer.
    Asks,
    /// It is done.
    Completed,
    /// It is not done.
    Failed,
    /// It was cancelled or rejected there.
    Refused,
}

impl State {
    /// Whether the task never changes again.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Refused)
    }
}

/// The content of parts: that of the only one, or a list.
fn content(parts: &Value) -> Option<Value> {
    let of = |part: &Value| {
        let is_file = ["raw", "url"].into_iter().any(|name| part.get(name).is_some());
        // A file keeps its name and its type.
        let whole = is_file.then(|| part.clone());
        whole.or_else(|| ["text", "data"].into_iter().find_map(|name| part.get(name).cloned()))
    };
    match parts.as_array()?.as_slice() {
        [] => None,
        [one] => of(one),
        several => Some(several.iter().filter_map(of).collect()),
    }
}

fn state(name: &str) -> Result<State, PeerError> {
    match name {
        SUBMITTED => Ok(State::Submitted),
        COMPLETED => Ok(State::Completed),
        FAILED => Ok(State::Failed),
        CANCELED | "TASK_STATE_REJECTED" => Ok(State::Refused),
        INPUT_REQUIRED | "TASK_STATE_AUTH_REQUIRED" => Ok(State::Asks),
        known if STATES.contains(&known) => Ok(State::Working),
        _ => Err(PeerError::fatal("the response has a task without a state of the protocol")),
    }
}

impl Reported {
    /// Reads the answer to a message: a task, or a message instead of one.
    pub fn of_answer(answer: &Value) -> Result<Self, PeerError> {
        if let Some(message) = answer.get("message").filter(|message| message.is_object()) {
            let result = content(&message["parts"]);
            return Ok(Self { state: State::Completed, result, ..Self::default() });
        }
        match answer.get("task").filter(|task| task.is_object()) {
            Some(task) => Self::of(task),
            None => Err(PeerError::fatal("the response has neither a task nor a message")),
        }
    }

    /// Reads a task.
    pub fn of(task: &Value) -> Result<Self, PeerError> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let id = text(&task["id"]);
        if id.is_empty() || id.len() > ID_BYTES_MAX {
            return Err(PeerError::fatal("the response has a task without a usable id"));
        }
        let mut reported = Self::status(&task["status"])?;
        (reported.id, reported.context) = (id, text(&task["contextId"]));
        reported.progress = task["metadata"]["baton"]["progress"].as_f64();
        let artifacts = task["artifacts"].as_array().map_or(&[][..], Vec::as_slice);
        let is_result = |artifact: &&Value| artifact["artifactId"] == RESULT;
        let named = artifacts.iter().find(is_result);
        let found = named.or(if let [one] = artifacts { Some(one) } else { None });
        reported.result = found.and_then(|artifact| content(&artifact["parts"]));
        let others = artifacts.iter().filter(|artifact| Some(*artifact) != found);
        let short = |artifact: &Value| {
            json!({"id": artifact["artifactId"], "name": artifact["name"],
                   "parts": artifact["parts"]})
        };
        reported.artifacts = others.map(short).collect();
        reported.transfer = task["metadata"].get(TRANSFER_CONTEXT).cloned();
        Ok(reported)
    }

    /// Reads an update of a stream: the task, with which it begins, or a status. Others have none.
    pub fn of_update(update: &Value) -> Result<Self, PeerError> {
        if let Some(task) = update.get("task") {
            return Self::of(task);
        }
        let changed = &update["statusUpdate"];
        let progress = changed["metadata"]["baton"]["progress"].as_f64();
        Ok(Self { progress, ..Self::status(&changed["status"])? })
    }

    fn status(status: &Value) -> Result<Self, PeerError> {
        let state = state(status["state"].as_str().unwrap_or_default())?;
        let remark = content(&status["message"]["parts"]);
        Ok(Self { state, remark, ..Self::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_read_with_its_result() {
        let part = |text: &str| json!([{"text": text}]);
        let task = json!({"id": "r-1", "contextId": "c",
            "status": {"state": "TASK_STATE_COMPLETED"},
            "artifacts": [{"artifactId": "log", "name": "log", "parts": part("l")},
                          {"artifactId": "result", "parts": [{"data": {"n": 1}}]}],
            "metadata": {TRANSFER_CONTEXT: {"state": {"k": 2}}}});
        let read = Reported::of(&task).unwrap();
        assert_eq!((read.state, read.result), (State::Completed, Some(json!({"n": 1}))));
        assert_eq!(read.artifacts.len(), 1);
        assert_eq!(read.transfer, Some(json!({"state": {"k": 2}})));
        let said = Reported::of_answer(&json!({"message": {"parts": part("four")}})).unwrap();
        assert_eq!((said.state, said.result), (State::Completed, Some(json!("four"))));
    }

    #[test]
    fn a_stream_begins_with_the_task_and_continues_with_its_status() {
        let status = json!({"state": "TASK_STATE_WORKING", "message": {"parts": [{"text": "n"}]}});
        let first = json!({"task": {"id": "t", "status": status}});
        let then = json!({"statusUpdate": {"status": status,
                                           "metadata": {"baton": {"progress": 0.5}}}});
        for (update, progress) in [(first, None), (then, Some(0.5))] {
            let read = Reported::of_update(&update).unwrap();
            assert_eq!((read.state, read.remark), (State::Working, Some(json!("n"))));
            assert_eq!(read.progress, progress);
        }
        assert!(Reported::of_update(&json!({"artifactUpdate": {}})).is_err());
    }

    #[test]
    fn an_invalid_task_is_refused() {
        for bad in [
            json!({}),
            json!({"task": 7}),
            json!({"task": {}}),
            json!({"task": {"id": "t"}}),
            json!({"task": {"id": "", "status": {"state": "TASK_STATE_WORKING"}}}),
            json!({"task": {"id": "t", "status": {"state": "done"}}}),
            json!({"task": {"id": "t".repeat(513), "status": {"state": "TASK_STATE_WORKING"}}}),
        ] {
            assert!(Reported::of_answer(&bad).is_err(), "{bad}");
        }
    }
}
