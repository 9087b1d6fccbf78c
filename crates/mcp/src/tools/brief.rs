//! `baton_brief`: the facts that an agent needs when it begins.

use baton_client::Workspace;
use baton_core::wire::Problem;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Call;
use crate::operation::given;
use crate::view::{Detail, MESSAGE, handoffs, tasks};
use crate::waiting;

/// How many items of each list are shown.
const ITEMS: usize = 5;
/// How many reservations are shown.
const RESERVATIONS: usize = 20;

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
    let most = if detail == Detail::Concise { ITEMS } else { 4 * ITEMS };
    let held = waiting::held_tasks(workspace, most).await?;
    let locks = waiting::held_locks(workspace, most).await?;
    let offers = waiting::handoffs(workspace, most).await?;
    let messages = waiting::messages(workspace, most).await?;
    let ready = waiting::ready_tasks(workspace, most).await?;
    let reviews = waiting::reviews(workspace, most).await?;
    let approvals = waiting::approvals(workspace, most).await?;
    let reserved = workspace.reservations().list().await.map_err(|error| Problem::from(&error))?;
    let has_more_reserved = reserved.len() > RESERVATIONS;
    let reserved = reserved.iter().take(RESERVATIONS);
    let reserved = reserved
        .map(|one| json!({"pattern": one.pattern, "holder": one.holder, "until": one.expires_at}));
    let mut answer = given(json!({
        "workspace": workspace.name(),
        "you_are": agent,
        "you_hold": tasks(&held.value(), agent, detail),
        "locks_you_hold": locks.records.iter().map(lock).collect::<Vec<_>>(),
        "handoffs_for_you": handoffs(&offers.records, detail),
        "messages_for_you": MESSAGE.all(&messages.value(), detail),
        "ready_tasks": tasks(&ready.value(), agent, detail),
        "waiting_for_review": tasks(&reviews.value(), agent, detail),
        "waiting_for_approval": handoffs(&approvals.records, detail),
        "reserved_files": reserved.collect::<Vec<_>>(),
    }));
    answer.retain(|_, value| !value.as_array().is_some_and(Vec::is_empty));
    let cut = [
        ("you_hold", held.has_more, "baton_search kind:task status:in_progress"),
        ("locks_you_hold", locks.has_more, ""),
        ("handoffs_for_you", offers.has_more, ""),
        ("messages_for_you", messages.has_more, "baton_search kind:message status:waiting"),
        ("ready_tasks", ready.has_more, "baton_search kind:task status:pending"),
        ("waiting_for_review", reviews.has_more, "baton_search kind:task status:waiting_review"),
        ("waiting_for_approval", approvals.has_more, ""),
        ("reserved_files", has_more_reserved, "baton_reserve action=check"),
    ];
    let cut: Vec<_> = cut.iter().filter(|(_, has_more, _)| *has_more).collect();
    if !cut.is_empty() {
        let cut = cut.into_iter().map(|(name, _, how)| (*name, *how));
        answer.insert("narrow".to_owned(), Value::from(narrow(cut, agent, detail)));
    }
    Ok(Value::Object(answer))
}

/// The lists that have more than what is shown, and how to read the rest.
fn narrow<'a>(
    cut: impl Iterator<Item = (&'a str, &'a str)>,
    agent: &str,
    detail: Detail,
) -> String {
    let (names, mut ways): (Vec<&str>, Vec<String>) = cut
        .map(|(name, how)| {
            let of_agent = matches!(name, "you_hold" | "messages_for_you");
            let how = if of_agent { format!("{how} to:\"{agent}\"") } else { how.to_owned() };
            (name, how)
        })
        .unzip();
    ways.retain(|way| !way.is_empty());
    if detail == Detail::Concise {
        ways.insert(0, "baton_brief detail=detailed".to_owned());
    }
    let names = names.join(", ");
    if ways.is_empty() {
        return format!("Only the first of {names}: deal with these to see the next.");
    }
    format!("Only the first of {names}. To see more: {}", ways.join("; "))
}

fn lock(record: &Value) -> Value {
    let hold = &record["hold"];
    json!({"name": record["name"], "token": hold["token"], "until": hold["expires_at"]})
}
