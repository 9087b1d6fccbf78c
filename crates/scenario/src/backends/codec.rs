//! Parses commands like the server, for the backends without a server.

use baton_core::wire::{Call, Fault, Frame, Problem, write_answer};
use baton_core::{AgentId, Answer, IdempotencyKey};
use serde_json::{Value, json};

use crate::script::ScriptedCall;

/// The acting agent, the idempotency key, and the call.
pub(super) struct DecodedCall {
    pub(super) agent: AgentId,
    pub(super) idempotency_key: Option<IdempotencyKey>,
    pub(super) call: Call,
}

pub(super) fn decode(scripted: &ScriptedCall) -> Result<DecodedCall, Fault> {
    let text = Value::Object(scripted.frame()).to_string();
    let mut frame = Frame::parse(&text)?;
    let agent = frame.acting().unwrap_or(&scripted.agent);
    let agent = AgentId::parse(agent).map_err(|error| Fault::field("agent", error))?;
    let key = frame.idempotency_key.take();
    let key = key.map(|key| IdempotencyKey::parse(&key)).transpose();
    let idempotency_key = key.map_err(|error| Fault::field("idempotency_key", error))?;
    Ok(DecodedCall { agent, idempotency_key, call: frame.call()? })
}

/// An answer as the server encodes it.
pub(super) fn rendered(answer: &Answer) -> Value {
    let mut text = b"{".to_vec();
    write_answer(&mut text, answer);
    text.push(b'}');
    serde_json::from_slice(&text).expect("answers are JSON")
}

/// A refusal as the server encodes it.
pub(super) fn refused(problem: impl Into<Problem>) -> Value {
    json!({"error": problem.into()})
}
