//! Checks who is shown a fencing token: its holder always, others only if they are operators.

use baton_core::access::Viewer;
use baton_core::{AgentId, Answer, Rejection, Reply};
use serde_json::Value;

use super::{Audit, demand};

/// An agent that asks: every other one is an operator, and learns the tokens of others.
pub fn viewer(number: usize, agent: &AgentId) -> Viewer<'_> {
    Viewer { agent, sees_tokens: number.is_multiple_of(2) }
}

/// Checks the tokens in an answer, whatever it is about: an object with a holder or a session is a
/// lease, a hold, a permit or an agent.
pub fn check_tokens(viewer: Viewer<'_>, answer: &Result<Answer, Rejection>) -> Audit {
    let Ok(Answer { reply, .. }) = answer else { return Ok(()) };
    let may_have = matches!(
        reply,
        Reply::Task(_)
            | Reply::Lock(_)
            | Reply::Semaphore(_)
            | Reply::Agent(_)
            | Reply::Handoff(_)
            | Reply::Wait(_)
            | Reply::Transaction(_)
    );
    if !may_have {
        return Ok(());
    }
    let reply = serde_json::to_value(reply).expect("replies can be encoded");
    check(viewer.agent.as_str(), viewer.sees_tokens, &reply)
}

fn check(viewer: &str, sees_tokens: bool, value: &Value) -> Audit {
    match value {
        Value::Object(fields) => {
            let holder = if fields.contains_key("expires_at") { "holder" } else { "id" };
            let is_granted = holder == "holder" || fields.contains_key("registered_at");
            if let Some(holder) = fields.get(holder).and_then(Value::as_str).filter(|_| is_granted)
            {
                let is_shown = fields.contains_key("token");
                let may_be = sees_tokens || holder == viewer;
                demand!(is_shown == may_be, "`{viewer}` is shown {value}");
            }
            fields.values().try_for_each(|field| check(viewer, sees_tokens, field))
        }
        Value::Array(items) => items.iter().try_for_each(|it| check(viewer, sees_tokens, it)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}
