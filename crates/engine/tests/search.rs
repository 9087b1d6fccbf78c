//! Search: an updated index, one that is rebuilt after reopening, and one of a workspace with a
//! short history all find the same, during writes.

use baton::core::search::Search;
use baton::core::workspace::Command;
use baton::core::{Kind, Revision};
use baton::{Baton, Error, Options, Workspace};
use serde_json::json;

use crate::harness::{calm, in_memory, in_memory_with, on_memory, restless, workspace};

fn search(query: &str) -> Search {
    Search { query: query.to_owned(), limit: Some(1_000), cursor: None }
}

async fn found(workspace: &Workspace, query: &str) -> Vec<String> {
    let results = workspace.search(search(query)).await.unwrap();
    assert_eq!(results.cursor, None, "{query}");
    results.found.into_iter().map(|found| found.subject).collect()
}

/// The word that all searches look for.
const QUERIES: [&str; 8] = [
    "kind:task",
    "status:completed",
    "status:pending type:build",
    "agent:bob kind:task",
    "\"round 7\"",
    "kind:key key:plan/**",
    "kind:message",
    "kind:event type:task.claimed",
];

async fn all(workspace: &Workspace) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for query in QUERIES {
        all.push(found(workspace, query).await);
    }
    all
}

async fn live(ada: &Workspace, round: u64) {
    let bob = ada.as_agent("bob").unwrap();
    let text = format!("round {round} of the house");
    ada.tasks().create("build").description(&text).await.unwrap();
    ada.state("shared").set(&format!("plan/{}", round % 5), json!(round)).await.unwrap();
    ada.messages().send("bob", json!({"round": round})).await.unwrap();
    if round.is_multiple_of(2) {
        let claimed = bob.tasks().claim().await.unwrap().unwrap();
        let token = claimed.lease.as_ref().unwrap().token;
        bob.tasks().complete(claimed.id.as_str(), token).await.unwrap();
    }
}

#[tokio::test]
async fn an_index_is_updated_and_is_the_same_after_reopening() {
    let (baton, log, clock) = in_memory_with(restless());
    let ada = workspace(&baton);
    assert_eq!(found(&ada, "kind:task").await, Vec::<String>::new());
    for round in 0..40 {
        live(&ada, round).await;
        // Occasional searches: the index is updated incrementally.
        if round.is_multiple_of(7) {
            assert_eq!(found(&ada, "kind:task").await.len() as u64, round + 1);
        }
    }
    let before = all(&ada).await;
    assert_eq!(before[0].len(), 40);
    assert_eq!(before[1].len(), 20);
    assert_eq!(before[3].len(), 20);
    // A task with the word in its description, and a message with it in its body.
    assert_eq!(before[4].len(), 2);
    baton.close().await;
    let baton = on_memory(&log, &clock, calm());
    assert_eq!(all(&workspace(&baton)).await, before);
}

#[tokio::test]
async fn a_short_past_has_fewer_events_and_everything_else() {
    let (baton, _, _) = in_memory_with(restless());
    let ada = workspace(&baton);
    ada.execute(Command::Configure { history_count: Some(10), history_age_ms: None })
        .await
        .unwrap();
    for round in 0..20 {
        live(&ada, round).await;
    }
    let results = ada.search(search("kind:event")).await.unwrap();
    assert!(results.events_since > Revision(0));
    assert!(!results.found.is_empty());
    assert!(results.found.iter().all(|found| found.revision > results.events_since));
    assert_eq!(found(&ada, "kind:task").await.len(), 20);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_during_writes_finds_all_acknowledged_changes() {
    let baton = in_memory_with(Options { tail_batches_max: 50, ..restless() }).0;
    let writer = |baton: Baton, name: &'static str| async move {
        let agent = workspace(&baton).as_agent(name).unwrap();
        for number in 0..60_u64 {
            let key = format!("{name}/{number}");
            agent.state("shared").set(&key, json!(number)).await.unwrap();
            // An acknowledged write is found by every later search.
            let there = found(&agent, &format!("kind:key key:{name}/*")).await;
            assert_eq!(there.len() as u64, number + 1, "{name}");
        }
    };
    let one = tokio::spawn(writer(baton.clone(), "one"));
    let two = tokio::spawn(writer(baton.clone(), "two"));
    one.await.unwrap();
    two.await.unwrap();
    assert_eq!(found(&workspace(&baton), "kind:key").await.len(), 120);
}

#[tokio::test]
async fn an_invalid_search_is_refused_with_a_code() {
    let (baton, _, _) = in_memory();
    let ada = workspace(&baton);
    for (asked, code) in [
        (search("kind:thing"), "workspace.bad_filter"),
        (search(""), "workspace.bad_filter"),
        (Search { limit: Some(0), ..search("a") }, "workspace.out_of_range"),
        (Search { limit: Some(1_000_000), ..search("a") }, "workspace.out_of_range"),
        (Search { cursor: Some("x".to_owned()), ..search("a") }, "workspace.bad_field"),
    ] {
        let refused: Error = ada.search(asked).await.unwrap_err();
        assert_eq!((refused.code(), refused.kind()), (code, Kind::Invalid));
    }
}

#[tokio::test]
async fn a_secret_is_found_nowhere() {
    let (baton, _, _) = in_memory();
    let ada = workspace(&baton);
    let secret = ada.secrets().put(b"hunter2".to_vec()).await.unwrap();
    let reference = json!({"password": {"secret": secret.secret}});
    ada.state("shared").set("login", reference).await.unwrap();
    assert_eq!(found(&ada, "hunter2").await, Vec::<String>::new());
    let whole = format!("{:?}", ada.search(search("kind:event")).await.unwrap());
    assert!(whole.contains("secret.put") && !whole.contains("hunter2"), "{whole}");
}
