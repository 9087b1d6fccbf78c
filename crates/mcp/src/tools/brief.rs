//! `baton_brief`: the facts that an agent needs when it begins.

use baton_client::Workspace;
use baton_core::wire::Problem;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Call;
use crate::operation::{given, perform};
use crate::view::{Detail, MESSAGE, handoff, is_unapproved, tasks};

/// How many items of each list are shown.
const ITEMS: u64 = 5;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {}

pub(super) async fn run(call: &Call<'_>) -> Result<Value, Problem> {
    let Arguments {} = call.read()?;
    brief(call.workspace, call.detail).await
}

/// The identity of the agent, its work, and the work that waits for it.
pub(crate) async fn brief(workspace: &Workspace, detail: Detail) -> Result<Value, Problem> {
    let agent = workspace.agent().as_str();
    let limit = if detail == Detail::Concise { ITEMS } else { 4 * ITEMS };
    let ask =
        async |operation: &str, fields: Value| perform(workspace, operation, given(fields)).await;
    let mine = json!({"agent": agent, "status": "in_progress", "limit": limit});
    let mine = ask("task.list", mine).await?;
    let ready = ask("task.list", json!({"status": "pending", "limit": limit})).await?;
    let review = ask("task.list", json!({"status": "waiting_review", "limit": limit})).await?;
    let inbox = ask("inbox.list", json!({"agent": agent, "status": "waiting", "limit": limit}));
    let inbox = inbox.await?;
    let offered = ask("handoff.list", json!({"status": "offered", "limit": 50})).await?;
    let mut handoffs = Vec::new();
    for status in ["offered", "approved", "delivered"] {
        let fields = json!({"to": agent, "status": status, "limit": limit});
        let found = ask("handoff.list", fields).await?;
        let found = found["handoffs"].as_array().cloned().unwrap_or_default();
        handoffs.extend(found.into_iter().filter(|one| !is_unapproved(one)));
    }
    let approvals: Vec<Value> = offered["handoffs"].as_array().map_or_else(Vec::new, |all| {
        let mine = |one: &&Value| is_unapproved(one) && one["from"] != agent && one["to"] != agent;
        all.iter().filter(mine).map(|one| handoff(one, detail)).collect()
    });
    let reserved = workspace.reservations().list().await.map_err(|error| Problem::from(&error))?;
    let reserved: Vec<Value> = reserved
        .iter()
        .take(20)
        .map(|one| json!({"pattern": one.pattern, "holder": one.holder, "until": one.expires_at}))
        .collect();
    let more = [&mine, &ready, &inbox].iter().any(|page| page["cursor"].is_string());
    let mut answer = given(json!({
        "workspace": workspace.name(),
        "you_are": agent,
        "you_hold": tasks(&mine["tasks"], agent, detail),
        "handoffs_for_you": handoffs.iter().map(|one| handoff(one, detail)).collect::<Vec<_>>(),
        "messages_for_you": MESSAGE.all(&inbox["messages"], detail),
        "ready_tasks": tasks(&ready["tasks"], agent, detail),
        "waiting_for_review": tasks(&review["tasks"], agent, detail),
        "waiting_for_approval": approvals,
        "reserved_files": reserved,
    }));
    answer.retain(|_, value| !value.as_array().is_some_and(Vec::is_empty));
    if more {
        let hint =
            "Only the first of each list. To see more: baton_search kind:task status:pending";
        answer.insert("narrow".to_owned(), Value::from(hint));
    }
    Ok(Value::Object(answer))
}

/// One of the lists that are also resources.
pub(crate) async fn list(
    workspace: &Workspace,
    operation: &str,
    fields: Value,
) -> Result<Value, Problem> {
    let agent = workspace.agent().as_str();
    let page = perform(workspace, operation, given(fields)).await?;
    let detail = Detail::Concise;
    let mut answer = json!({});
    if page["tasks"].is_array() {
        answer["tasks"] = Value::from(tasks(&page["tasks"], agent, detail));
    }
    if let Some(all) = page["handoffs"].as_array() {
        answer["handoffs"] = all.iter().map(|one| handoff(one, detail)).collect();
    }
    if page["messages"].is_array() {
        answer["messages"] = Value::from(MESSAGE.all(&page["messages"], detail));
    }
    if let Some(all) = page["entries"].as_array() {
        answer["entries"] = all.iter().map(|one| crate::view::entry(one, detail)).collect();
    }
    if page["cursor"].is_string() {
        let hint = "Only the first page. To see more: baton_search";
        answer["narrow"] = Value::from(hint);
    }
    Ok(answer)
}
