//! Agents: sessions, lost agents, what ends with a session, and what stays for a successor.

use baton::core::agent::Status;
use baton::core::state::{History, Transfer};
use baton::core::{Token, state};
use baton::log::Log;
use baton::{Item, Options};
use serde_json::json;

use crate::harness::{
    calm, eventually, forgetful, in_memory, in_memory_with, key, namespace, next_event, on_memory,
    tick, value, workspace,
};

/// The time after which an agent with a session of one second is certainly lost, including the
/// grace period of a quarter.
const SILENCE_MS: u64 = 1_250;

#[tokio::test]
async fn a_session_begins_is_renewed_and_ends() {
    let (baton, _, clock) = in_memory();
    let ada = workspace(&baton);
    let session = ada
        .agents()
        .register()
        .capability("search")
        .capability("write")
        .metadata(json!({"model": "m1"}))
        .ttl_ms(1_000)
        .await
        .unwrap();
    assert_eq!((session.status, session.ttl_ms), (Status::Active, 1_000));
    assert_eq!(session.capabilities.iter().collect::<Vec<_>>(), ["search", "write"]);
    for _ in 0..20 {
        clock.advance(900);
        tick(&baton).await;
        let beat = ada.agents().heartbeat(session.token).await.unwrap();
        assert_eq!(beat.status, Status::Active);
    }
    let bob = ada.as_agent("bob").unwrap();
    bob.agents().register().capability("write").await.unwrap();
    let named = |agents: Vec<baton::core::agent::Agent>| -> Vec<String> {
        agents.into_iter().map(|agent| agent.id.as_str().to_owned()).collect()
    };
    assert_eq!(named(ada.agents().active().await.unwrap()), ["ada", "bob"]);
    assert_eq!(named(ada.agents().list(Some("search"), None).await.unwrap()), ["ada"]);
    let left = ada.agents().leave(session.token).await.unwrap();
    assert_eq!(left.status, Status::Left);
    assert_eq!(named(bob.agents().active().await.unwrap()), ["bob"]);
    let ended = ada.agents().heartbeat(session.token).await.unwrap_err();
    assert_eq!(ended.code(), "agent.ended");
    let again = ada.agents().register().await.unwrap();
    assert!(again.token > session.token, "tokens only grow");
    let stale = ada.agents().heartbeat(session.token).await.unwrap_err();
    assert_eq!(stale.code(), "agent.stale_token");
    assert_eq!(ada.agents().get("nobody").await.unwrap_err().code(), "agent.not_found");
}

#[tokio::test]
async fn frequent_heartbeats_are_not_recorded() {
    let (baton, _, clock) = in_memory();
    let ada = workspace(&baton);
    let session = ada.agents().register().ttl_ms(60_000).await.unwrap();
    let before = ada.revision().await.unwrap();
    for _ in 0..100 {
        clock.advance(100);
        ada.agents().heartbeat(session.token).await.unwrap();
    }
    assert_eq!(ada.revision().await.unwrap(), before, "a tenth of the time is not worth a write");
}

#[tokio::test]
async fn a_lost_session_releases_everything_in_the_same_revision() {
    let (baton, _, clock) = in_memory();
    let ada = workspace(&baton);
    ada.agents().register().ttl_ms(1_000).await.unwrap();
    ada.state("shared").set("presence:ada", "here").ephemeral().await.unwrap();
    ada.state("agent:ada").set("thought", 1).ephemeral().await.unwrap();
    ada.state("shared").set("result", "stays").await.unwrap();
    let before = ada.revision().await.unwrap();
    let mut watch = ada.watch("**").await.unwrap();
    // Every call of ada would be a sign of life.
    let bob = ada.as_agent("bob").unwrap();
    clock.advance(SILENCE_MS - 1);
    tick(&baton).await;
    assert_eq!(bob.agents().get("ada").await.unwrap().status, Status::Active);
    clock.advance(1);
    tick(&baton).await;
    let mut delivered = Vec::new();
    for _ in 0..3 {
        let (revision, kind, subject) = next_event(&mut watch).await;
        assert_eq!(revision, before.0 + 1, "all of it is one revision");
        delivered.push(format!("{kind} {subject}"));
    }
    delivered.sort();
    assert_eq!(
        delivered,
        [
            "agent.lost agents/ada",
            "state.let_go state/agent:ada/thought",
            "state.let_go state/shared/presence:ada",
        ]
    );
    assert_eq!(bob.agents().get("ada").await.unwrap().status, Status::Lost);
    assert_eq!(
        ada.state("shared").get("presence:ada").await.unwrap_err().code(),
        "state.not_found"
    );
    assert_eq!(value(&ada.state("shared").get("result").await.unwrap()), json!("stays"));
    let refused = ada.state("shared").set("presence:ada", 1).ephemeral().await.unwrap_err();
    assert_eq!(refused.code(), "state.no_session");
}

#[tokio::test]
async fn a_new_session_does_not_inherit_the_holds_of_the_previous_one() {
    let (baton, _, _) = in_memory();
    let ada = workspace(&baton);
    let first = ada.agents().register().await.unwrap();
    ada.state("shared").set("presence", 1).ephemeral().await.unwrap();
    let second = ada.agents().register().await.unwrap();
    assert!(second.token > first.token);
    assert_eq!(ada.state("shared").get("presence").await.unwrap_err().code(), "state.not_found");
    ada.state("shared").set("presence", 2).ephemeral().await.unwrap();
    let stale = ada.agents().leave(first.token).await.unwrap_err();
    assert_eq!(stale.code(), "agent.stale_token");
    ada.state("shared").get("presence").await.unwrap();
    ada.agents().leave(second.token).await.unwrap();
    assert_eq!(ada.state("shared").get("presence").await.unwrap_err().code(), "state.not_found");
}

/// On the WebSocket, the agent that a question is about is also the one that asks: a dashboard that
/// shows an agent must not keep it alive.
#[tokio::test]
async fn queries_of_an_agent_about_itself_do_not_keep_it_alive() {
    let (baton, _, clock) = in_memory();
    let ada = workspace(&baton);
    ada.agents().register().ttl_ms(1_000).await.unwrap();
    for _ in 0..5 {
        clock.advance(SILENCE_MS / 4);
        tick(&baton).await;
        ada.agents().get("ada").await.unwrap();
    }
    eventually("the session has ended", async || {
        ada.agents().get("ada").await.unwrap().status == Status::Lost
    })
    .await;
    ada.agents().register().ttl_ms(1_000).await.unwrap();
    for _ in 0..5 {
        clock.advance(SILENCE_MS / 4);
        tick(&baton).await;
        ada.agents().active().await.unwrap();
    }
    assert_eq!(ada.agents().get("ada").await.unwrap().status, Status::Active);
}

#[tokio::test]
async fn no_agent_is_lost_for_a_silence_without_a_server() {
    let (baton, log, clock) = in_memory_with(calm());
    let session = workspace(&baton).agents().register().ttl_ms(1_000).await.unwrap();
    workspace(&baton).state("shared").set("presence", 1).ephemeral().await.unwrap();
    baton.close().await;
    clock.advance(3_600_000);
    let baton = on_memory(&log, &clock, calm());
    let ada = workspace(&baton);
    assert_eq!(ada.agents().get("ada").await.unwrap().status, Status::Active);
    clock.advance(SILENCE_MS - 1);
    tick(&baton).await;
    ada.agents().heartbeat(session.token).await.unwrap();
    ada.state("shared").get("presence").await.unwrap();
    clock.advance(SILENCE_MS);
    tick(&baton).await;
    // Every call of ada would be a sign of life.
    let bob = ada.as_agent("bob").unwrap();
    eventually("silence is noticed again", async || {
        bob.agents().get("ada").await.unwrap().status == Status::Lost
    })
    .await;
    assert_eq!(ada.state("shared").get("presence").await.unwrap_err().code(), "state.not_found");
}

/// Opening the data again must load a workspace with a due deadline, without a request.
#[tokio::test]
async fn silence_is_noticed_after_reopening_without_any_call() {
    for compacted in [false, true] {
        let (baton, log, clock) = in_memory_with(calm());
        let ada = workspace(&baton);
        ada.agents().register().ttl_ms(1_000).await.unwrap();
        if compacted {
            baton.compact(&ada).await.unwrap();
        }
        drop(ada);
        baton.close().await;
        let baton = on_memory(&log, &clock, calm());
        clock.advance(SILENCE_MS);
        tick(&baton).await;
        eventually("the workspace was woken", async || baton.resident_workspaces() == 1).await;
        clock.advance(SILENCE_MS);
        tick(&baton).await;
        // Every call of ada would be a sign of life.
        let bob = workspace(&baton).as_agent("bob").unwrap();
        eventually("ada is lost", async || {
            bob.agents().get("ada").await.unwrap().status == Status::Lost
        })
        .await;
    }
}

/// A workspace that leaves memory between two heartbeats must not extend the sessions of its agents
/// forever.
#[tokio::test]
async fn silence_is_noticed_although_the_workspace_left_memory() {
    let (baton, log, clock) = in_memory_with(forgetful());
    let ada = workspace(&baton);
    ada.agents().register().ttl_ms(60_000).await.unwrap();
    ada.state("shared").set("presence", 1).ephemeral().await.unwrap();
    eventually("it has left memory", async || baton.resident_workspaces() == 0).await;
    let before = log.tail();
    let mut waited_ms = 0;
    // Ten times as long as necessary, in small steps, without a request to the workspace.
    while waited_ms < 750_000 {
        clock.advance(5_000);
        waited_ms += 5_000;
        tick(&baton).await;
        eventually("all is at rest", async || baton.resident_workspaces() == 0).await;
    }
    // The engine may still be at it; a request to the workspace would hurry it.
    eventually("the loss is recorded", async || log.tail() > before).await;
    assert_eq!(ada.agents().get("ada").await.unwrap().status, Status::Lost);
}

#[tokio::test]
async fn an_entry_ends_in_time_although_the_workspace_left_memory() {
    let (baton, log, clock) = in_memory_with(forgetful());
    let ada = workspace(&baton);
    ada.state("shared").set("brief", 1).ttl_ms(10_000).await.unwrap();
    let before = ada.revision().await.unwrap();
    eventually("it has left memory", async || baton.resident_workspaces() == 0).await;
    clock.advance(10_000);
    tick(&baton).await;
    eventually("`brief` has expired", async || ada.revision().await.unwrap() > before).await;
    assert_eq!(ada.state("shared").get("brief").await.unwrap_err().code(), "state.not_found");
    ada.state("shared").set("brief", 1).ttl_ms(10_000).await.unwrap();
    eventually("it has left memory", async || baton.resident_workspaces() == 0).await;
    drop(ada);
    baton.close().await;
    // The session expired while no engine ran; it ends when one runs, without a request.
    clock.advance(20_000);
    let baton = on_memory(&log, &clock, Options { ..calm() });
    let ada = workspace(&baton);
    let expired = ada.revision().await.unwrap();
    eventually("it expires", async || ada.state("shared").get("brief").await.is_err()).await;
    assert!(ada.revision().await.unwrap() >= expired);
}

#[tokio::test]
async fn an_agents_own_state_has_a_history_and_can_be_handed_over() {
    let (baton, _, _) = in_memory();
    let ada = workspace(&baton);
    let bob = ada.as_agent("bob").unwrap();
    let session = ada.agents().register().await.unwrap();
    bob.agents().register().await.unwrap();
    let own = ada.state("agent:ada");
    own.set("plan", json!({"step": 1})).await.unwrap();
    own.set("plan", json!({"step": 2})).await.unwrap();
    own.set("notes", json!(["a"])).await.unwrap();
    own.set("secret", 1).await.unwrap();
    let history = History { key: Some(key("plan")), ..History::default() };
    assert_eq!(own.history(history).await.unwrap().0.len(), 2);
    ada.agents().leave(session.token).await.unwrap();

    let selected = bob.state("agent:ada").transfer_to("agent:bob", Some(&["plan"])).await.unwrap();
    assert_eq!(selected, [key("plan")]);
    let moved = bob.state("agent:bob").get("plan").await.unwrap();
    assert_eq!((value(&moved), moved.version().0), (json!({"step": 2}), 1));
    assert_eq!(own.get("plan").await.unwrap_err().code(), "state.not_found");
    let history = History { key: Some(key("plan")), ..History::default() };
    let (changes, _) = bob.state("agent:bob").history(history).await.unwrap();
    let source = changes[0].source.clone().unwrap();
    assert_eq!(
        (source.namespace.as_str(), source.version.0, source.agent.as_str()),
        ("agent:ada", 2, "ada")
    );

    let rest = bob.state("agent:ada").transfer_to("agent:bob", None).await.unwrap();
    assert_eq!(rest, [key("notes"), key("secret")]);
    own.set("plan", 3).await.unwrap();
    let taken = bob.state("agent:ada").transfer_to("agent:bob", None).await.unwrap_err();
    assert_eq!(taken.code(), "state.exists");
    let transfer = Transfer {
        from_namespace: namespace("agent:ada"),
        to_namespace: namespace("agent:bob"),
        keys: None,
        pattern: None,
        overwrite: true,
        copy: false,
    };
    bob.execute(state::Command::Transfer(transfer)).await.unwrap();
    assert_eq!(value(&bob.state("agent:bob").get("plan").await.unwrap()), json!(3));
}

#[tokio::test]
async fn a_watch_reports_agents_that_join_and_leave() {
    let (baton, _, clock) = in_memory();
    let ada = workspace(&baton);
    let mut watch = ada.watch("agents/**").await.unwrap();
    let session = ada.agents().register().ttl_ms(1_000).await.unwrap();
    ada.agents().leave(session.token).await.unwrap();
    ada.agents().register().ttl_ms(1_000).await.unwrap();
    clock.advance(SILENCE_MS);
    tick(&baton).await;
    let mut kinds = Vec::new();
    for _ in 0..4 {
        let Some(Ok(Item::Event(notice))) = watch.next().await else { panic!("an event was due") };
        kinds.push((notice.kind().to_owned(), notice.agent().as_str().to_owned()));
    }
    let delivered = [
        ("agent.joined", "ada"),
        ("agent.left", "ada"),
        ("agent.joined", "ada"),
        ("agent.lost", "baton"),
    ];
    assert_eq!(kinds, delivered.map(|(kind, agent)| (kind.to_owned(), agent.to_owned())));
    assert_eq!(ada.agents().heartbeat(Token(0)).await.unwrap_err().code(), "agent.stale_token");
}
