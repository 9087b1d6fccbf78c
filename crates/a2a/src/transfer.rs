//! The extension `transfer-context/v1`: a hand-off between agents of different systems.
//!
//! The block is in the metadata of a message and of a task, under the URI of the extension:
//! `originating_task_id`, `originating_agent`, `state` (a flat object), `output_keys`,
//! `handoff_id`, `reason`, `traceparent`, and `token`, the fencing token under which the giver
//! holds its task. It is kept in the metadata of the task as `transfer_context`, where the worker
//! reads and updates it.

use baton_client::Workspace;
use baton_core::Token;
use baton_core::handoff::{self, Receiver, TransferContext};
use serde_json::Value;

use crate::error::{Error, ErrorKind};
use crate::message::Message;

/// The URI of the extension.
pub const TRANSFER_CONTEXT: &str = "https://baton.dev/a2a/ext/transfer-context/v1";

/// The block of a message, if there is one.
pub(crate) fn block(message: &Message, activated: &[String]) -> Result<Option<Value>, Error> {
    let Some(block) = message.metadata.get(TRANSFER_CONTEXT) else { return Ok(None) };
    let mut named = activated.iter().chain(&message.extensions);
    if !named.any(|uri| uri == TRANSFER_CONTEXT) {
        // A context that is ignored would be a hand-off without its state.
        let message = format!(
            "the message has a transfer context, but the extension is not activated: send \
             `A2A-Extensions: {TRANSFER_CONTEXT}`"
        );
        return Err(Error::new(ErrorKind::InvalidParams, message));
    }
    let token = block.get("token").filter(|token| !token.is_null());
    let bad = |error: &dyn std::fmt::Display| Error::invalid(TRANSFER_CONTEXT, error);
    if let Some(token) = token {
        serde_json::from_value::<Token>(token.clone()).map_err(|error| bad(&error))?;
    }
    let mut known = serde_json::to_value(read(block)?).map_err(|error| bad(&error))?;
    if let Some(token) = token {
        known["token"] = token.clone();
    }
    Ok(Some(known))
}

fn read(block: &Value) -> Result<TransferContext, Error> {
    let read = serde_json::from_value(block.clone());
    read.map_err(|error| Error::invalid(TRANSFER_CONTEXT, &error))
}

/// Checks a context that was received against the rules for hand-offs to this receiver.
pub(crate) async fn validate(
    workspace: &Workspace,
    block: &Value,
    to: Option<Receiver>,
) -> Result<(), Error> {
    let Some(to) = to else {
        let reason = "a hand-off needs a receiver: address an agent, or name a `skill`";
        return Err(Error::invalid(TRANSFER_CONTEXT, &reason));
    };
    let offer = read(block)?.offer(to);
    let answer = workspace.execute(handoff::Command::Validate(Box::new(offer))).await?;
    let baton_core::Reply::Handoff(handoff::Reply::Verdict { errors, .. }) = answer.reply else {
        unreachable!("a validation is answered by a verdict")
    };
    match errors.first() {
        None => Ok(()),
        Some(first) => {
            let text = serde_json::to_string(first).unwrap_or_default();
            let message = format!("the rules for hand-offs forbid it: {text}");
            Err(Error::new(ErrorKind::InvalidParams, message))
        }
    }
}
