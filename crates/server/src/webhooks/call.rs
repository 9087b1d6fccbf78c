//! One webhook call: its target, its content, and its outcome.

use std::time::Duration;

use axum::http::{Request, StatusCode, header};
use baton_core::WorkspaceName;
use baton_core::reaction::{Outcome, WebhookCall};
use bytes::Bytes;
use http_body_util::Full;

use super::Webhooks;
use super::address::Address;
use super::exchange::{CallError, call_error, exchange};
use super::signature::signature;

/// The content of a call.
pub(super) struct Content {
    pub(super) body: Bytes,
    pub(super) media_type: &'static str,
    /// Header fields besides the usual ones.
    pub(super) headers: Vec<(&'static str, String)>,
    /// Whether the reaction has served its purpose when this has arrived.
    pub(super) is_last: bool,
}

impl Content {
    /// The event itself, with a signature if there is a secret.
    pub(super) fn event(webhook_call: &WebhookCall) -> Self {
        let body = Bytes::copy_from_slice(webhook_call.body.as_bytes());
        let timestamp = (webhook_call.at.0 / 1_000).to_string();
        let signed = webhook_call
            .secret
            .as_ref()
            .map(|secret| ("baton-signature", signature(secret.reveal(), &timestamp, &body)));
        let headers = signed.into_iter().collect();
        Self { body, media_type: "application/json", headers, is_last: false }
    }
}

/// Makes one call, within its time limit, including handshakes.
pub(super) async fn call(
    workspace: &WorkspaceName,
    webhook_call: WebhookCall,
    content: Content,
    webhooks: &Webhooks,
) -> Outcome {
    let timeout_ms = webhook_call.webhook.timeout_ms;
    let made = tokio::time::timeout(
        Duration::from_millis(timeout_ms),
        make(workspace, &webhook_call, content, webhooks),
    );
    let failed = match made.await {
        Ok(Ok(status)) => return Outcome::Done { status: status.as_u16() },
        Ok(Err(call_error)) => call_error,
        Err(_) => call_error(format!("no response within {timeout_ms} ms"), true),
    };
    Outcome::Failed { detail: failed.detail, again: failed.again }
}

async fn make(
    workspace: &WorkspaceName,
    webhook_call: &WebhookCall,
    content: Content,
    webhooks: &Webhooks,
) -> Result<StatusCode, CallError> {
    let unusable = || call_error("the url cannot be used", false);
    let address = Address::parse(&webhook_call.webhook.url).ok_or_else(unusable)?;
    let request = request(workspace, webhook_call, content, &address).ok_or_else(unusable)?;
    let status = exchange(&address, request, webhooks).await?.status;
    match status {
        _ if status.is_success() => Ok(status),
        _ if status.is_redirection() => {
            Err(call_error(format!("status {status}: redirects are not followed"), false))
        }
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => {
            Err(call_error(format!("status {status}"), true))
        }
        _ => Err(call_error(format!("status {status}"), status.is_server_error())),
    }
}

fn request(
    workspace: &WorkspaceName,
    webhook_call: &WebhookCall,
    content: Content,
    address: &Address<'_>,
) -> Option<Request<Full<Bytes>>> {
    let timestamp = (webhook_call.at.0 / 1_000).to_string();
    let mut request = Request::post(&address.path)
        .header(header::HOST, address.authority)
        .header(header::CONTENT_TYPE, content.media_type)
        .header(header::USER_AGENT, concat!("baton/", env!("CARGO_PKG_VERSION")))
        .header(header::CONNECTION, "close")
        .header("baton-workspace", workspace.as_str())
        .header("baton-reaction", webhook_call.reaction.as_str())
        .header("baton-call", webhook_call.number.to_string())
        .header("baton-attempt", webhook_call.attempt.to_string())
        .header("baton-timestamp", &timestamp);
    for (name, value) in content.headers {
        request = request.header(name, value);
    }
    request.body(Full::new(content.body)).ok()
}
