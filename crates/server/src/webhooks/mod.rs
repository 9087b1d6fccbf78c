//! Webhook calls: made by the server outside of every commit, if enabled.
//!
//! ```text
//!   reaction.called ──▶ Take ──▶ call_begun, durable ──▶ POST ──▶ Settle ──▶ call_done
//!      (a fact)          ▲                                          │        call_failed, again
//!                        └──────────────────────────────────────────┘        call_dead
//! ```
//!
//! Invariants:
//!
//! 1. A call is recorded in the log before it is made. If the server dies in the meantime, the
//!    attempt counts as failed when its time is over, and the call is made again: at least once,
//!    and always recorded.
//! 2. Everything is bounded: concurrent calls, the duration of each, and the number of bytes read
//!    of a response.
//! 3. Unless private addresses are allowed, only public ones are called: the name is looked up
//!    once, every address it has must be public, and one of those very addresses is called.
//! 4. Redirects are not followed: they would bypass the third rule.
//! 5. The rules decide which calls are due and whether they are retried; this module only makes the
//!    call.
//! 6. For an `https://` address, nothing is sent to a host without a certificate for that name from
//!    a trusted authority.

mod address;
mod call;
mod exchange;
#[cfg(feature = "a2a")]
mod push;
mod signature;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use baton::Baton;
use baton_core::reaction::{Command, Outcome, Reply as ReactionReply, WebhookCall};
use baton_core::{AgentId, Reply, WorkspaceName};
use baton_tls::{TlsError, Trust};
use tokio::task::JoinSet;

#[cfg(feature = "a2a")]
pub(crate) use address::Address;
use call::{Content, call};
#[cfg(feature = "a2a")]
pub(crate) use exchange::{Answered, CallError, exchange};

/// How often due calls are looked for.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How many calls of one workspace are made at a time.
const AT_A_TIME: usize = 8;
/// How many workspaces have calls made at a time.
const WORKSPACES_MAX: usize = 32;

/// How webhooks are called.
#[derive(Clone, Debug)]
pub struct Webhooks {
    /// Whether private, loopback and other non-public addresses may be called.
    private: bool,
    /// The trusted authorities for TLS.
    trust: Result<Trust, TlsError>,
}

impl Webhooks {
    /// Calls public addresses, and with `private` others too. Certificates of `https://` addresses
    /// are verified against a PEM file if one is named, else against the system trust store.
    pub fn new(private: bool, ca_file: Option<&Path>) -> Result<Self, TlsError> {
        let trust = match Trust::of(ca_file) {
            // Without TLS calls no certificate authorities are needed. Otherwise each call reports
            // the error.
            Err(error @ TlsError::NoRoots { .. }) => Err(error),
            read => Ok(read?),
        };
        Ok(Self { private, trust })
    }
}

/// Makes calls until it is dropped. It does not end on its own.
pub(crate) async fn run(baton: Baton, webhooks: Webhooks) {
    // Calls that were pending at the last shutdown may be in workspaces that no request loads.
    baton.wake_sleepers().await;
    let mut busy: BTreeSet<WorkspaceName> = BTreeSet::new();
    let mut working = JoinSet::new();
    loop {
        for workspace in baton.calling() {
            if busy.len() < WORKSPACES_MAX && busy.insert(workspace.clone()) {
                working.spawn(serve(baton.clone(), workspace, webhooks.clone()));
            }
        }
        let look = tokio::time::sleep(LOOK_EVERY);
        tokio::select! {
            () = look => {}
            Some(done) = working.join_next() => {
                // A panic in one of them does not affect the others.
                if let Ok(workspace) = done {
                    busy.remove(&workspace);
                }
            }
        }
    }
}

/// Makes the calls of one workspace that are due.
async fn serve(baton: Baton, workspace: WorkspaceName, webhooks: Webhooks) -> WorkspaceName {
    for webhook_call in taken(&baton, &workspace).await {
        let (call_number, attempt) = (webhook_call.number, webhook_call.attempt);
        let reaction = webhook_call.reaction.clone();
        let content = content(&baton, &workspace, &webhook_call).await;
        let is_last = content.as_ref().is_some_and(|content| content.is_last);
        let outcome = match content {
            Some(content) => call(&workspace, webhook_call, content, &webhooks).await,
            // There is nothing to report.
            None => Outcome::Done { status: 204 },
        };
        let is_done = matches!(outcome, Outcome::Done { .. });
        let settle = Command::Settle { call: call_number, attempt, outcome };
        // If this cannot be written, the attempt counts as failed when its time is over.
        let _ = execute(&baton, &workspace, settle).await;
        if is_done && is_last {
            let _ = execute(&baton, &workspace, Command::Remove { name: reaction }).await;
        }
    }
    workspace
}

/// The content of a call: the event, or its translation for another protocol. None if that is
/// nothing.
#[cfg_attr(
    not(feature = "a2a"),
    expect(clippy::unused_async, reason = "only other protocols ask the engine")
)]
async fn content(
    baton: &Baton,
    workspace: &WorkspaceName,
    webhook_call: &WebhookCall,
) -> Option<Content> {
    #[cfg(feature = "a2a")]
    if webhook_call.reaction.as_str().starts_with(baton_a2a::PUSH_PREFIX) {
        return push::content(baton, workspace, webhook_call).await;
    }
    #[cfg(not(feature = "a2a"))]
    let _ = (baton, workspace);
    Some(Content::event(webhook_call))
}

async fn taken(baton: &Baton, workspace: &WorkspaceName) -> Vec<WebhookCall> {
    match execute(baton, workspace, Command::Take { max: AT_A_TIME }).await {
        Some(Reply::Reaction(ReactionReply::Calls { calls, .. })) => calls,
        Some(_) | None => Vec::new(),
    }
}

async fn execute(baton: &Baton, workspace: &WorkspaceName, command: Command) -> Option<Reply> {
    let there = baton.workspace(workspace.as_str()).ok()?;
    let there = there.as_agent(AgentId::engine().as_str()).ok()?;
    Some(there.execute(command).await.ok()?.reply)
}
