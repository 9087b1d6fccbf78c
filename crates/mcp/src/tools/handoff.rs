//! `baton_handoff`: work that moves from one agent to another.

use baton_core::wire::Problem;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Call;
use crate::answer::{fitted, text};
use crate::operation::{Object, given, missing};
use crate::reference::{long, short, task_id};
use crate::view::{self, Detail, UNTRUSTED};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    action: Action,
    handoff: Option<String>,
    to: Option<Value>,
    task: Option<String>,
    token: Option<u64>,
    reason: Option<String>,
    work_completed: Option<Value>,
    remaining_work: Option<Value>,
    notes: Option<Value>,
    state: Option<Object>,
    keys: Option<Vec<String>>,
    copy: Option<bool>,
    approval: Option<bool>,
    result: Option<Value>,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Action {
    Offer,
    Accept,
    Reject,
    Complete,
    Cancel,
    Approve,
}

impl Arguments {
    fn handoff(&self) -> Result<String, Problem> {
        self.handoff.as_deref().map(long).ok_or_else(|| missing("handoff"))
    }
}

pub(super) async fn run(call: &Call<'_>) -> Result<Value, Problem> {
    let arguments: Arguments = call.read()?;
    let reason = &arguments.reason;
    let (operation, fields) = match arguments.action {
        Action::Offer => ("handoff.offer", offer(call, &arguments).await?),
        Action::Accept => ("handoff.accept", json!({"handoff": arguments.handoff()?})),
        Action::Reject => {
            ("handoff.reject", json!({"handoff": arguments.handoff()?, "reason": reason}))
        }
        Action::Complete => {
            let result = &arguments.result;
            ("handoff.complete", json!({"handoff": arguments.handoff()?, "result": result}))
        }
        Action::Cancel => {
            ("handoff.cancel", json!({"handoff": arguments.handoff()?, "reason": reason}))
        }
        Action::Approve => {
            ("handoff.approve", json!({"handoff": arguments.handoff()?, "reason": reason}))
        }
    };
    let answer = call.perform(operation, given(fields)).await?;
    if operation != "handoff.accept" {
        return Ok(json!({"handoff": outcome(&answer)}));
    }
    let mut shown = json!({"handoff": view::handoff(&answer["handoff"], call.detail)});
    if answer["task"].is_object() {
        shown["task"] = view::task(&answer["task"], call.agent(), call.detail);
        shown["next"] = json!("Report with baton_report and the token of the task.");
    }
    if answer["values"].as_object().is_some_and(|values| !values.is_empty()) {
        shown[UNTRUSTED] = json!({"values": answer["values"]});
    }
    Ok(shown)
}

async fn offer(call: &Call<'_>, arguments: &Arguments) -> Result<Value, Problem> {
    let task = match &arguments.task {
        Some(name) => Some(task_id(call.workspace, name).await?),
        None => None,
    };
    let to = arguments.to.as_ref().ok_or_else(|| missing("to"))?;
    let approval = arguments.approval.filter(|wanted| *wanted).map(|_| json!({}));
    let Arguments { token, reason, work_completed, remaining_work, notes, .. } = arguments;
    let Arguments { state, keys, copy, .. } = arguments;
    Ok(json!({
        "to": to, "task": task, "token": token, "reason": reason,
        "work_completed": work_completed, "remaining_work": remaining_work, "notes": notes,
        "state": state, "keys": keys, "copy": copy, "approval": approval,
    }))
}

/// The outcome. The agent knows what it has written itself.
fn outcome(handoff: &Value) -> Value {
    let id = short(handoff["id"].as_str().unwrap_or_default());
    given(json!({
        "id": id,
        "status": handoff["status"],
        "to": handoff["to"],
        "deadline": handoff["deadline"],
        "waits_for": view::is_unapproved(handoff).then_some("approval"),
    }))
    .into()
}

/// A question to a person: whether a hand-off is approved.
pub(crate) struct Approval {
    handoff: String,
    /// The digest that the person is shown, and that is later compared.
    pub(crate) digest: String,
    /// The question.
    pub(crate) message: String,
}

impl Approval {
    /// The question of a call, if it is one.
    pub(crate) async fn of(call: &Call<'_>) -> Result<Option<Self>, Problem> {
        if call.arguments.get("action") != Some(&json!("approve")) {
            return Ok(None);
        }
        let arguments: Arguments = call.read()?;
        let handoff = arguments.handoff()?;
        let record = call.perform("handoff.get", given(json!({"handoff": handoff}))).await?;
        let shown = text(&fitted(view::handoff(&record, Detail::Concise), Detail::Concise, 0));
        let digest = record["digest"].as_str().unwrap_or_default().to_owned();
        let message = format!(
            "Approve this hand-off? What agents wrote is under \"{UNTRUSTED}\": it is data.
\
             {shown}"
        );
        Ok(Some(Self { handoff, digest, message }))
    }
}

/// Carries out what a person has decided about what the person was shown.
pub(crate) async fn approve(
    call: &Call<'_>,
    approval: &Approval,
    digest: &str,
    decision: (bool, Option<String>),
) -> Result<Value, Problem> {
    let (is_approved, reason) = decision;
    let (operation, fields) = if is_approved {
        let fields = json!({"handoff": approval.handoff, "digest": digest, "reason": reason});
        ("handoff.approve", fields)
    } else {
        let reason = reason.unwrap_or_else(|| "a person did not approve it".to_owned());
        ("handoff.reject", json!({"handoff": approval.handoff, "reason": reason}))
    };
    let answer = call.perform(operation, given(fields)).await?;
    Ok(json!({"handoff": outcome(&answer), "decided_by": "a person"}))
}
