//! Forks to a name in another shard: the same as within one, whichever server is asked, and
//! whichever servers have the two shards.

use std::sync::Arc;

use baton::clock::SystemClock;
use baton::{Baton, Options};
use baton_cluster::{CutProxy, EncryptedSecrets, SecretsKey, Upstream};
use baton_core::access::Role;
use baton_log::MemoryLog;
use baton_log::shared_conformance::Cut;
use serde_json::{Value, json};

use crate::callers::http::Http;
use crate::callers::socket::Socket;
use crate::cluster::{Member, Two, workspace};
use crate::elsewhere::guarded;
use crate::harness::{eventually, settings};

/// A workspace of the second server, and one of the first.
fn names() -> (String, String) {
    (workspace(1, 0), workspace(2, 0))
}

/// An engine that can store secrets.
fn engine(digit: &str) -> Baton {
    let key = SecretsKey::parse(digit.repeat(64).as_bytes()).expect("a key");
    let log = EncryptedSecrets::new(Arc::new(MemoryLog::default()), Some(Arc::new(key)));
    Baton::on(log, SystemClock::default(), Options::default()).expect("memory does not fail")
}

/// Fills a workspace with entries, a lock that is held, an artifact and a secret. The paths of the
/// last two, below that of a workspace.
async fn fill(http: &mut Http, from: &str) -> (String, String) {
    for number in 1..=3 {
        let path = format!("/v1/{from}/state/shared/plan");
        assert_eq!(http.put(&path, &json!({"step": number})).await.status, 200);
    }
    let held = http.post(&format!("/v1/{from}/locks/door/acquire"), &json!({})).await;
    assert_eq!(held.status, 200, "{held:?}");
    let stored = http.request("PUT", &format!("/v1/{from}/artifacts"), &[], noise(600_000)).await;
    assert_eq!(stored.status, 201, "{stored:?}");
    let artifact = stored.json()["artifact"].as_str().expect("its id").to_owned();
    let put = http.request("PUT", &format!("/v1/{from}/secrets"), &[], "the password").await;
    let secret = put.json()["secret"].as_str().expect("its reference").to_owned();
    (format!("artifacts/{artifact}"), format!("secrets/{secret}/reveal"))
}

/// Bytes that cannot be compressed.
fn noise(bytes: usize) -> Vec<u8> {
    let mut state = 7_u64;
    let next = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        state.to_be_bytes()[0]
    };
    (0..bytes).map(next).collect()
}

/// Two servers whose engines of shards 1 and 2 store secrets, each with the same key.
async fn with_secrets() -> Two {
    let mut two = Two::new(&settings()).await;
    two.replace(1, engine("a")).await;
    two.replace(2, engine("a")).await;
    two
}

async fn revision(http: &mut Http, name: &str) -> Value {
    let asked = json!({"command": "workspace.get"});
    let answer = http.post(&format!("/v1/{name}/commands"), &asked).await.json();
    assert!(answer["revision"].is_number(), "{answer}");
    answer["revision"].clone()
}

async fn fork(http: &mut Http, from: &str, body: &Value) -> crate::callers::http::Response {
    http.post(&format!("/v1/{from}/fork"), body).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fork_in_another_shard_equals_one_in_the_same_shard() {
    let two = with_secrets().await;
    let (from, far) = names();
    let near = workspace(1, 1);
    let mut http = two.members[1].http().await;
    let (artifact, reveal) = fill(&mut http, &from).await;
    let at = revision(&mut http, &from).await;
    let changed = http.put(&format!("/v1/{from}/state/shared/later"), &json!(1)).await;
    assert_eq!(changed.status, 200, "{changed:?}");
    // Each is asked of a server that has neither the origin nor, for one of them, the new name.
    let mut forked = Vec::new();
    for (member, to) in [(0, &near), (0, &far)] {
        let mut http = two.members[member].http().await;
        let answer = fork(&mut http, &from, &json!({"to": to, "at": at})).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        forked.push(answer.json());
    }
    let (of_near, of_far) = (&forked[0], &forked[1]);
    assert_eq!((&of_near["id"], &of_far["id"]), (&json!(near), &json!(far)));
    for field in ["revision", "origin"] {
        assert_eq!(of_near[field], of_far[field], "{field}");
    }
    assert_eq!(of_far["origin"]["manner"], "fork");
    let mut http = two.members[1].http().await;
    for path in ["state/shared/plan", "state/shared", "locks", "secrets", "artifacts"] {
        let [one, other] = [&near, &far].map(|name| format!("/v1/{name}/{path}"));
        let (one, other) = (http.get(&one).await.json(), http.get(&other).await.json());
        assert_eq!(one, other, "{path}");
    }
    let plan = http.get(&format!("/v1/{far}/state/shared/plan")).await.json();
    assert_eq!((&plan["value"], &plan["version"]), (&json!({"step": 3}), &json!(3)));
    let later = http.get(&format!("/v1/{far}/state/shared/later")).await;
    assert_eq!(later.status, 404, "it was written after the revision that was forked");
    let lock = http.get(&format!("/v1/{far}/locks/door")).await.json();
    assert_eq!(lock.get("hold").unwrap_or(&Value::Null), &Value::Null, "{lock}");
    assert_eq!(http.get(&format!("/v1/{far}/{artifact}")).await.body, noise(600_000));
    let revealed = http.request("POST", &format!("/v1/{far}/{reveal}"), &[], "").await;
    assert_eq!(revealed.body, b"the password");
    two.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_owns_neither_shard_is_asked_by_http_and_by_websocket() {
    let mut two = with_secrets().await;
    let third = Member::new(settings()).await;
    two.join(third);
    two.publish();
    let (from, to) = names();
    let mut http = two.members[2].http().await;
    fill(&mut http, &from).await;
    let answer = fork(&mut http, &from, &json!({"to": to})).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let mut socket = Socket::connect(two.members[2].address, Some("baton.v1.json")).await;
    let (other, near) = (workspace(2, 1), workspace(3, 1));
    // One goes to another server, the other to another shard of the same one.
    for to in [&other, &near] {
        let call = json!({"workspace": from, "command": "workspace.fork", "to": to});
        let answer = socket.ask(call).await;
        assert_eq!(answer["result"]["id"], json!(to), "{answer}");
        let plan = http.get(&format!("/v1/{to}/state/shared/plan")).await.json();
        assert_eq!(plan["version"], 3, "{plan}");
    }
    let listed = http.get(&format!("/v1/{from}/workspaces")).await.json();
    let ids: Vec<&str> = listed["workspaces"]
        .as_array()
        .expect("there are some")
        .iter()
        .map(|it| it["id"].as_str().expect("it has one"))
        .collect();
    for name in [&from, &to, &other, &near] {
        assert!(ids.contains(&name.as_str()), "{name}: {ids:?}");
    }
    two.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fork_in_another_shard_overwrites_nothing_and_can_be_repeated() {
    let two = with_secrets().await;
    let (from, to) = names();
    let mut http = two.members[0].http().await;
    fill(&mut http, &from).await;
    let at = revision(&mut http, &from).await;
    let taken = workspace(2, 3);
    let path = format!("/v1/{taken}/state/shared/mine");
    assert_eq!(http.put(&path, &json!("kept")).await.status, 200);
    let refused = fork(&mut http, &from, &json!({"to": taken})).await;
    assert_eq!(refused.problem(), (409, "workspace.exists".to_owned()));
    assert_eq!(http.get(&path).await.json()["value"], "kept");
    let asked = json!({"to": to, "at": at});
    let first = fork(&mut http, &from, &asked).await;
    assert_eq!(first.status, 200, "{first:?}");
    let again = fork(&mut http, &from, &asked).await;
    assert_eq!(again.json(), first.json());
    let path = format!("/v1/{to}/state/shared/plan");
    assert_eq!(http.put(&path, &json!("mine")).await.status, 200);
    let refused = fork(&mut http, &from, &asked).await;
    assert_eq!(refused.problem(), (409, "workspace.exists".to_owned()));
    assert_eq!(refused.json()["origin"], first.json()["origin"], "it says what it came from");
    let unknown = fork(&mut http, &from, &json!({"to": workspace(2, 4), "at": 9_999})).await;
    assert_eq!(unknown.problem(), (400, "history.not_yet".to_owned()));
    assert_eq!(fork(&mut http, &from, &json!({"to": "not a name"})).await.problem().0, 400);
    two.end().await;
}

#[tokio::test]
async fn only_callers_that_may_fork_can_fork_to_another_shard() {
    let roles = Role::ALL.map(|role| (role, None));
    let (two, bearers) = guarded(roles).await;
    let (from, to) = names();
    for (role, bearer) in Role::ALL.into_iter().zip(&bearers) {
        let headers = [("authorization", bearer.as_str())];
        let mut http = two.members[0].http().await;
        let path = format!("/v1/{from}/fork");
        let body = json!({"to": to}).to_string();
        let answer = http.request("POST", &path, &headers, &body).await;
        let expected = if role == Role::Admin { 200 } else { 403 };
        assert_eq!(answer.status, expected, "{role:?}: {answer:?}");
        let body = json!({"to": "baton.access"}).to_string();
        let closed = http.request("POST", &path, &headers, &body).await;
        assert_eq!(closed.status, 403, "{role:?}: {closed:?}");
    }
    two.end().await;
}

/// The owner of the new name is lost after it has received a part, or all of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fork_whose_owner_is_lost_exists_completely_or_not_at_all() {
    let mut two = with_secrets().await;
    let owner = Upstream::Address(two.members[0].address.to_string());
    let proxy = CutProxy::start(owner, b"BATONFRK");
    two.advertised.insert(0, format!("http://{}", proxy.address()));
    two.publish();
    let from = workspace(1, 0);
    let mut http = two.members[1].http().await;
    fill(&mut http, &from).await;
    let at = revision(&mut http, &from).await;
    let mut owner = two.members[0].http().await;
    for (number, cut) in [Cut::Before, Cut::After].into_iter().enumerate() {
        let to = workspace(2, number);
        let asked = json!({"to": to, "at": at});
        proxy.cut(cut);
        let lost = fork(&mut http, &from, &asked).await;
        assert_eq!(lost.problem(), (503, "engine.unknown_outcome".to_owned()), "{cut:?}");
        assert!(proxy.has_cut(), "{cut:?}");
        let plan = owner.get(&format!("/v1/{to}/state/shared/plan")).await;
        assert!(plan.status == 404 || plan.json()["version"] == 3, "{plan:?}");
        let repeated = fork(&mut http, &from, &asked).await;
        assert_eq!(repeated.status, 200, "{cut:?}: {repeated:?}");
        let plan = owner.get(&format!("/v1/{to}/state/shared/plan")).await.json();
        assert_eq!(plan["version"], 3, "{plan}");
    }
    two.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fork_waits_for_the_owner_of_the_new_name() {
    let mut two = with_secrets().await;
    let (from, to) = names();
    let mut http = two.members[1].http().await;
    fill(&mut http, &from).await;
    two.release(2).await;
    let body = json!({"to": to}).to_string();
    let head = format!(
        "POST /v1/{from}/fork HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    http.send(head).await;
    let mut other = two.members[1].http().await;
    eventually("it waits", async || {
        let metrics = String::from_utf8(other.get("/metrics").await.body).expect("it is text");
        metrics.contains("baton_owner_waiting 1")
    })
    .await;
    two.adopt(2, 1, engine("a")).await;
    two.publish();
    assert_eq!(http.response().await.json()["id"], json!(to));
    two.end().await;
}
