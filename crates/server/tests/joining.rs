//! The answers of servers before they know how many shards there are, and while they join again
//! after they were declared gone.

use baton_server::Routes;
use serde_json::{Value, json};

use crate::callers::socket::Socket;
use crate::cluster::{Member, SHARDS, Two, workspace};
use crate::harness::{eventually, settings};

/// Returns when this many requests wait at a server.
async fn waiting(member: &Member, count: usize) {
    let mut http = member.http().await;
    let line = format!("baton_owner_waiting {count}\n");
    eventually("requests wait", async || {
        let metrics = String::from_utf8(http.get("/metrics").await.body).expect("it is text");
        metrics.contains(&line)
    })
    .await;
}

/// The routes of a server that was declared gone.
fn gone() -> Routes {
    Routes { secret: "of the schema".to_owned(), ..Routes::default() }
}

async fn fill(two: &Two) -> Vec<String> {
    let mut http = two.members[0].http().await;
    let mut names: Vec<String> = (0..SHARDS).map(|shard| workspace(shard, 0)).collect();
    for name in &names {
        let path = format!("/v1/{name}/state/shared/plan");
        assert_eq!(http.put(&path, &json!(name)).await.status, 200);
    }
    names.sort();
    names
}

fn saved(backup: &[u8]) -> Vec<String> {
    let saved = baton::backup::verify(backup).expect("it is complete");
    saved.workspaces.iter().map(|entry| entry.workspace.as_str().to_owned()).collect()
}

fn listed(list: &Value) -> Vec<String> {
    let names = list["workspaces"].as_array().unwrap_or_else(|| panic!("{list}"));
    names.iter().map(|it| it["id"].as_str().expect("it has one").to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_starting_server_answers_for_all_shards_or_not_at_all() {
    let mut two = Two::starting(&settings()).await;
    two.publish();
    let names = fill(&two).await;
    // Another server, which has not joined yet.
    let third = Member::new(settings()).await;
    let mut backup = third.http().await;
    backup.send("GET /v1/access/backup HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    let mut list = third.http().await;
    list.send("GET /v1/w0/workspaces HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    let mut socket = Socket::connect(third.address, Some("baton.v1.json")).await;
    let asked = json!({"id": 1, "workspace": workspace(1, 0), "command": "state.get",
                       "namespace": "shared", "key": "plan"});
    socket.send(&asked).await;
    waiting(&third, 3).await;
    two.join(third);
    two.publish();
    assert_eq!(saved(&backup.response().await.body), names);
    assert_eq!(listed(&list.response().await.json()), names);
    let answer = socket.answer(1).await;
    assert_eq!(answer["result"]["value"], workspace(1, 0), "{answer}");
    two.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_joins_again_answers_for_all_shards_or_not_at_all() {
    let two = Two::new(&settings()).await;
    let names = fill(&two).await;
    let woken = &two.members[0];
    let mut socket = Socket::connect(woken.address, Some("baton.v1.json")).await;
    woken.see(gone());
    assert_eq!(woken.http().await.get("/readyz").await.problem().0, 503);
    let mut backup = woken.http().await;
    backup.send("GET /v1/access/backup HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    let mut list = woken.http().await;
    list.send("GET /v1/w0/workspaces HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    let asked = json!({"id": 1, "workspace": workspace(1, 0), "command": "state.get",
                       "namespace": "shared", "key": "plan"});
    socket.send(&asked).await;
    waiting(woken, 3).await;
    two.publish();
    assert_eq!(saved(&backup.response().await.body), names);
    assert_eq!(listed(&list.response().await.json()), names);
    let answer = socket.answer(1).await;
    assert_eq!(answer["result"]["value"], workspace(1, 0), "{answer}");
    two.end().await;
}

#[tokio::test]
async fn a_server_without_an_answer_of_the_log_reports_it() {
    let two = Two::new(&settings()).await;
    let mut http = two.members[0].http().await;
    eventually("it notices", async || http.get("/readyz").await.status == 503).await;
    assert_eq!(http.get("/readyz").await.problem(), (503, "log.away".to_owned()));
    let status = http.get("/v1/access/cluster").await.json();
    assert!(status["age_ms"].as_u64() > Some(1_000), "{status}");
    for server in status["servers"].as_array().expect("there are two") {
        assert!(server["heartbeat_age_ms"].as_u64() >= status["age_ms"].as_u64(), "{status}");
    }
    two.publish();
    assert_eq!(http.get("/readyz").await.status, 200);
    two.end().await;
}

#[tokio::test]
async fn a_server_that_cannot_open_its_shards_is_not_ready_but_forwards() {
    let two = Two::new(&settings()).await;
    let failing = &two.members[0];
    let routes = two.routes(0);
    failing.see(Routes { failing: Some("shard 2: permission denied".to_owned()), ..routes });
    let mut http = failing.http().await;
    let refused = http.get("/readyz").await;
    assert_eq!(refused.problem(), (503, "cluster.cannot_open".to_owned()));
    assert!(refused.json()["detail"].as_str().unwrap_or_default().contains("permission denied"));
    let path = format!("/v1/{}/state/shared/plan", workspace(1, 0));
    assert_eq!(http.put(&path, &json!(1)).await.status, 200);
    two.end().await;
}
