//! An engine with a manual clock, and a way to know that everything due is done.
//!
//! The engine executes expiry on its own thread. To wait for it without guessing, an entry in
//! another workspace expires at exactly the time to which the clock is moved: nothing that is due
//! is later than it, and the engine executes expiry in the order of time. When its deletion is
//! reported, everything else is done.

use baton::Caller;
use baton::clock::ManualClock;
use baton::core::state::Command;
use baton::core::wire::Watch as Wanted;
use baton::core::{Json, Key, NamespaceName, Pattern, state};
use baton::{Baton, Item};
use baton_core::{AgentId, WorkspaceName};

use super::{BEGINNING, WORKSPACE};

/// The workspace of that entry.
const CLOCK_WORKSPACE: &str = "timer";

/// A caller of the scenario's workspace.
pub(super) fn caller(agent: &AgentId) -> Caller {
    caller_in(WORKSPACE, agent)
}

pub(super) fn caller_in(workspace: &str, agent: &AgentId) -> Caller {
    let workspace = WorkspaceName::parse(workspace).expect("the name is valid");
    Caller { workspace, agent: agent.clone(), idempotency_key: None, sees_tokens: false }
}

/// Moves the clock; when it returns, everything that was due is done and durable.
pub(super) async fn advance_clock(
    baton: &Baton,
    clock: &ManualClock,
    passed_ms: &mut u64,
    to_ms: u64,
) {
    let longer_ms = to_ms - *passed_ms;
    if longer_ms == 0 {
        return;
    }
    // A workspace on disk would be loaded first, and only then be due.
    let scenario = caller(&AgentId::engine()).workspace;
    baton.load(&scenario).await.expect("the workspace can be loaded");
    let clock_caller = caller_in(CLOCK_WORKSPACE, &AgentId::engine());
    let (namespace, key) = (NamespaceName::shared(), Key::parse("marker").expect("it is valid"));
    let marker =
        state::Set { ttl_ms: Some(longer_ms), ..state::Set::new(namespace, key, Json::null()) };
    let pattern = Pattern::parse("**").expect("it is valid");
    let types = vec![Pattern::parse("state.expired").expect("it is valid")];
    let wanted = Wanted { pattern, types, from: None, snapshot: false, waits: false };
    let mut watch = baton.watch(&clock_caller, wanted).await.expect("it can be watched");
    let mutation = baton_core::Mutation::Command(Command::Set(marker).into());
    baton.mutate(&clock_caller, mutation).await.expect("the marker can be set");
    clock.set(BEGINNING.after(to_ms));
    *passed_ms = to_ms;
    // The engine reads its clock whenever it has loaded a workspace.
    let unused = format!("unused-{to_ms}");
    let unused = WorkspaceName::parse(&unused).expect("the name is valid");
    baton.load(&unused).await.expect("an unused workspace can be loaded");
    match watch.next().await {
        Some(Ok(Item::Event(_))) => {}
        other => panic!("the marker did not expire: {other:?}"),
    }
}
