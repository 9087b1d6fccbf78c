//! `baton_get`: anything by its reference.

use baton_core::wire::Problem;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Call;
use crate::answer::from_offset;
use crate::operation::{bad, given};
use crate::reference::{Moment, Reference, task_id};
use crate::view::{self, AGENT, CHECKPOINT, LOCK, MESSAGE, PIPELINE};

/// The size of a context, in tokens as Baton counts them.
const CONTEXT_TOKENS: u64 = 900;
/// How many changes are shown.
const CHANGES: u64 = 10;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    r#ref: String,
    #[serde(default)]
    view: Wanted,
    /// How many characters of each text are left out: an earlier answer has shown them.
    #[serde(default)]
    offset: usize,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Wanted {
    #[default]
    Record,
    Why,
    History,
    Context,
}

pub(super) async fn run(call: &Call<'_>) -> Result<Value, Problem> {
    let arguments: Arguments = call.read()?;
    let reference = match Reference::parse(&arguments.r#ref)? {
        Reference::Task(name) => Reference::Task(task_id(call.workspace, &name).await?),
        other => other,
    };
    let answer = match arguments.view {
        Wanted::Record => record(call, &reference).await?,
        Wanted::Why => why(call, &reference).await?,
        Wanted::History => history(call, &reference).await?,
        Wanted::Context => context(call, &reference).await?,
    };
    from_offset(answer, arguments.offset)
}

async fn record(call: &Call<'_>, reference: &Reference) -> Result<Value, Problem> {
    let ask = async |operation: &str, fields: Value| call.perform(operation, given(fields)).await;
    let detail = call.detail;
    Ok(match reference {
        Reference::Task(id) => {
            view::task(&ask("task.get", json!({"task": id})).await?, call.agent(), detail)
        }
        Reference::Handoff(id) => {
            view::handoff(&ask("handoff.get", json!({"handoff": id})).await?, detail)
        }
        Reference::Message(id) => {
            MESSAGE.of(&ask("message.get", json!({"message": id})).await?, detail).into()
        }
        Reference::Checkpoint(id) => {
            CHECKPOINT.of(&ask("checkpoint.get", json!({"checkpoint": id})).await?, detail).into()
        }
        Reference::Agent(id) => {
            AGENT.of(&ask("agent.get", json!({"agent": id})).await?, detail).into()
        }
        Reference::Lock(name) => {
            LOCK.of(&ask("lock.get", json!({"name": name})).await?, detail).into()
        }
        Reference::Pipeline(name) => {
            PIPELINE.of(&ask("pipeline.get", json!({"pipeline": name})).await?, detail).into()
        }
        Reference::Entry { namespace, key, at } => match at {
            Moment::Now => {
                let fields = json!({"namespace": namespace, "key": key});
                view::entry(&ask("state.get", fields).await?, detail)
            }
            Moment::At(revision) => {
                let fields = json!({"namespace": namespace, "key": key, "at": revision});
                view::entry(&ask("state.get", fields).await?, detail)
            }
            Moment::Between(from, to) => {
                let (namespace, key) = (namespace.as_str(), key.as_str());
                let fields = json!({
                    "namespace": namespace, "key": key, "from": from, "to": to, "limit": CHANGES,
                });
                view::unknown(&ask("state.history", fields).await?)
            }
        },
    })
}

async fn why(call: &Call<'_>, reference: &Reference) -> Result<Value, Problem> {
    let subject = match reference {
        Reference::Task(id) => {
            let why = call.perform("task.why", given(json!({"task": id}))).await?;
            return Ok(view::unknown(&why));
        }
        Reference::Handoff(id) => format!("handoffs/{id}"),
        Reference::Entry { namespace, key, .. } => format!("state/{namespace}/{key}"),
        _ => return Err(bad("view", "why explains tasks, hand-offs and state")),
    };
    let why = call.perform("workspace.why", given(json!({"subject": subject}))).await?;
    Ok(view::unknown(&why))
}

async fn history(call: &Call<'_>, reference: &Reference) -> Result<Value, Problem> {
    let (operation, fields) = match reference {
        Reference::Task(id) => ("task.history", json!({"task": id, "limit": CHANGES})),
        Reference::Entry { namespace, key, .. } => {
            ("state.history", json!({"namespace": namespace, "key": key, "limit": CHANGES}))
        }
        _ => return Err(bad("view", "tasks and state have a history")),
    };
    call.perform(operation, given(fields)).await.map(|record| view::unknown(&record))
}

async fn context(call: &Call<'_>, reference: &Reference) -> Result<Value, Problem> {
    let Reference::Task(id) = reference else {
        return Err(bad("view", "the context of a task is shown"));
    };
    let fields = json!({"task": id, "token_budget": CONTEXT_TOKENS});
    let built = call.perform("context.build", given(fields)).await?;
    Ok(json!({"context": built["text"], "left_out": built["left_out"].as_array().map(Vec::len)}))
}
