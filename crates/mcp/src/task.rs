//! The tasks extension: a call that answers with a task is a task of Baton, by its id.
//!
//! | status of the task | status in the protocol |
//! |---|---|
//! | pending, in progress, handed off | working |
//! | waiting for review | input required: the verdict |
//! | completed | completed, with the task as the result |
//! | failed | completed, with an error of the tool as the result |
//! | cancelled | cancelled |
//!
//! The task is durable before its id is returned, so that it can be queried immediately.

use baton_client::Workspace;
use baton_core::wire::Problem;
use rmcp::model::{
    CreateTaskResult, DetailedTask, ElicitRequest, ElicitRequestParams, ElicitResult,
    ElicitationAction, GetTaskResult, InputRequest, InputResponses, Task, TaskPayload, TaskStatus,
};
use serde_json::{Value, json};

use crate::answer::{result, text};
use crate::operation::{bad, given, perform};
use crate::reference::task_id;
use crate::view::{self, Detail};

/// How often a client should ask, in milliseconds.
const POLL_MS: u64 = 2_000;
/// The beginning of the names of questions; the revision follows, so that none is used twice.
const QUESTION: &str = "review-";

fn header(record: &Value, status: TaskStatus) -> Task {
    let member = |name: &str| record[name].as_str().unwrap_or_default().to_owned();
    let task = Task::new(member("id"), status, member("created_at"), member("updated_at"));
    let holder = record["lease"]["holder"].as_str();
    let holder = holder.map(|holder| format!(", held by {holder}")).unwrap_or_default();
    let message = format!("{}{holder}", member("status"));
    task.with_status_message(message).with_poll_interval_ms(POLL_MS)
}

/// The answer of a call that created a task.
pub(crate) async fn created(
    workspace: &Workspace,
    answer: &Value,
) -> Result<CreateTaskResult, Problem> {
    let name = answer["created"][0]["id"].as_str().unwrap_or_default();
    let task = task_id(workspace, name).await?;
    let record = perform(workspace, "task.get", given(json!({"task": task}))).await?;
    Ok(CreateTaskResult::new(header(&record, TaskStatus::Working)))
}

/// The state of a task.
pub(crate) async fn state(workspace: &Workspace, id: &str) -> Result<GetTaskResult, Problem> {
    let record = perform(workspace, "task.get", given(json!({"task": id}))).await?;
    let outcome = |is_error: bool| {
        let shown = view::task(&record, workspace.agent().as_str(), Detail::Concise);
        let mut outcome = result(json!({"task": shown}), Detail::Concise, 0);
        outcome.is_error = Some(is_error);
        let Ok(Value::Object(result)) = serde_json::to_value(outcome) else {
            unreachable!("a result is an object")
        };
        TaskPayload::Completed { result }
    };
    let payload = match record["status"].as_str().unwrap_or_default() {
        "completed" => outcome(false),
        "failed" => outcome(true),
        "cancelled" => TaskPayload::Cancelled,
        "waiting_review" => {
            let key = format!("{QUESTION}{}", record["revision"]);
            TaskPayload::InputRequired { input_requests: [(key, question(&record))].into() }
        }
        _ => TaskPayload::Working,
    };
    let task = DetailedTask::new(header(&record, payload.status()), payload);
    Ok(GetTaskResult::new(task))
}

fn question(record: &Value) -> InputRequest {
    let shown = text(&view::task(record, "", Detail::Concise));
    let why = match (record["submitted_by"].as_str(), record["retries"].as_u64()) {
        (Some(agent), _) => {
            format!("{agent} has submitted the result of this task. Accept it with complete?")
        }
        (None, Some(1..)) => "This task failed too often. What should happen to it?".to_owned(),
        (None, _) => "This task waits for a decision. What should happen to it?".to_owned(),
    };
    let schema = json!({
        "type": "object",
        "properties": {
            "verdict": {"type": "string", "enum": ["retry", "complete", "fail"]},
            "note": {"type": "string", "maxLength": 500},
        },
        "required": ["verdict"],
    });
    let params = ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: format!("{why}\n{shown}"),
        requested_schema: serde_json::from_value(schema).expect("a test reads the form"),
    };
    InputRequest::Elicitation(ElicitRequest::new(params))
}

/// Carries out the verdict of a review.
pub(crate) async fn decide(
    workspace: &Workspace,
    id: &str,
    responses: &InputResponses,
) -> Result<(), Problem> {
    let record = perform(workspace, "task.get", given(json!({"task": id}))).await?;
    let key = format!("{QUESTION}{}", record["revision"]);
    // An answer to a question that is no longer asked is acknowledged and has no effect.
    let Some(response) = responses.get(&key) else { return Ok(()) };
    let response: ElicitResult = serde_json::from_value(response.clone())
        .map_err(|error| bad("inputResponses", &error.to_string()))?;
    if response.action != ElicitationAction::Accept {
        return Ok(());
    }
    let content = response.content.unwrap_or_default();
    let fields = json!({"task": id, "verdict": content["verdict"], "note": content["note"]});
    perform(workspace, "task.review", given(fields)).await.map(drop)
}

/// Cancels a task.
pub(crate) async fn cancel(workspace: &Workspace, id: &str) -> Result<(), Problem> {
    let reason = "cancelled by an MCP client";
    perform(workspace, "task.cancel", given(json!({"task": id, "reason": reason}))).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_is_one_that_clients_can_show() {
        let question = serde_json::to_value(question(&json!({"id": "t-1"}))).unwrap();
        let verdict = &question["params"]["requestedSchema"]["properties"]["verdict"];
        assert_eq!(verdict["enum"][0], "retry", "{question}");
    }

    #[test]
    fn the_question_says_why_the_task_waits() {
        for (record, begin) in [
            (json!({"submitted_by": "ada"}), "ada has submitted the result"),
            (json!({"submitted_by": "ada", "retries": 2}), "ada has submitted the result"),
            (json!({"retries": 2}), "This task failed too often"),
            (json!({}), "This task waits for a decision"),
        ] {
            let question = serde_json::to_value(question(&record)).unwrap();
            let message = question["params"]["message"].as_str().unwrap();
            assert!(message.starts_with(begin), "{message}");
        }
    }
}
