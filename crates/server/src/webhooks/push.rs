//! Push notifications of the A2A protocol.

use baton::Baton;
use baton_a2a::{PUSH_PREFIX, push_of};
use baton_core::reaction::{Secret, WebhookCall};
use baton_core::{AgentId, WorkspaceName};

use super::call::Content;

/// The content of a call about an event of a task. None if the protocol has no word for the event,
/// or the task no longer exists.
pub(super) async fn content(
    baton: &Baton,
    workspace: &WorkspaceName,
    webhook_call: &WebhookCall,
) -> Option<Content> {
    let event = webhook_call.body.to_value()["event"].take();
    let task = event["task"].as_str()?;
    webhook_call.reaction.as_str().strip_prefix(PUSH_PREFIX)?.strip_prefix(task)?;
    let there = baton.workspace(workspace.as_str()).ok()?;
    let there = there.as_agent(AgentId::engine().as_str()).ok()?;
    let task = there.tasks().get(task).await.ok()?;
    let secret = webhook_call.secret.as_ref().map(Secret::reveal);
    let push = push_of(&task, &event, secret)?;
    Some(Content {
        body: push.body.to_string().into(),
        media_type: "application/a2a+json",
        headers: push.headers,
        is_last: push.is_last,
    })
}
