//! Calls of webhooks: made outside of every commit, by the server, if it was told to.
//!
//! ```text
//!   reaction.called ──▶ Take ──▶ call_begun, durable ──▶ POST ──▶ Settle ──▶ call_done
//!      (a fact)          ▲                                          │        call_failed, again
//!                        └──────────────────────────────────────────┘        call_dead
//! ```
//!
//! Invariants:
//!
//! 1. A call is begun in the log before it is made. If the server dies meanwhile, the try counts as
//!    failed when its time is over, and the call is made again: at least once, never unseen.
//! 2. Everything is bounded: calls at a time, the time each may take, what is read of an answer.
//! 3. Unless private addresses are allowed, only public ones are called: the name is looked up
//!    once, every address it has must be public, and one of those very addresses is called.
//! 4. Redirects are not followed: they would lead around the third rule.
//! 5. The rules decide what is due and whether it is tried again; here stands only how to call.
//! 6. Where the address begins with `https://`, nothing is said to whom no trusted authority calls
//!    by that name.

mod address;
mod call;
mod signature;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use baton::Baton;
use baton_core::reaction::{Command, Reply as ReactionReply, WebhookCall};
use baton_core::{AgentId, Reply, WorkspaceName};
use baton_tls::{TlsError, Trust};
use tokio::task::JoinSet;

use call::call;

/// How often is looked for calls that are due.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How many calls of one workspace are made at a time.
const AT_A_TIME: usize = 8;
/// How many workspaces have calls made at a time.
const WORKSPACES_MAX: usize = 32;

/// How webhooks are called.
#[derive(Clone, Debug)]
pub struct Webhooks {
    /// Whether addresses may be called that are private, loopback or otherwise not public.
    private: bool,
    /// Whom to believe where TLS is spoken.
    trust: Result<Trust, TlsError>,
}

impl Webhooks {
    /// Calls at public addresses, or at `private` ones, too. Whom to believe where an address
    /// begins with `https://` is said by a file in PEM if one is named, else by the system.
    pub fn new(private: bool, ca_file: Option<&Path>) -> Result<Self, TlsError> {
        let trust = match Trust::of(ca_file) {
            // Whoever calls nobody over TLS needs no authority. The others are told each time.
            Err(error @ TlsError::NoRoots { .. }) => Err(error),
            read => Ok(read?),
        };
        Ok(Self { private, trust })
    }
}

/// Makes calls for as long as it is asked to. Does not end by itself.
pub(crate) async fn run(baton: Baton, webhooks: Webhooks) {
    // What was not called before the last end is waited for in workspaces that nobody may ask for.
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
                // A panic in one of them has nothing to do with the others.
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
        let outcome = call(&workspace, webhook_call, &webhooks).await;
        let settle = Command::Settle { call: call_number, attempt, outcome };
        // If this cannot be written, the try counts as failed when its time is over.
        let _ = execute(&baton, &workspace, settle).await;
    }
    workspace
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
