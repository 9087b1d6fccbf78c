//! Quotas of tokens and workspaces. No test depends on speed: so much is spent that repaying it
//! would take many minutes.

use std::collections::HashMap;

use baton::{Extents, Options};
use baton_core::access::{Grant, Role};
use baton_core::{StorageQuota, WorkspaceName};
use baton_server::access::{Tokens, Wanted};
use baton_server::{Quota, Quotas, Settings};
use serde_json::{Value, json};

use crate::callers::http::Http;
use crate::callers::socket::Socket;
use crate::harness::{Harness, in_memory, settings};

const ONE_A_SECOND: Quota = Quota {
    operations_per_s: Some(1),
    bytes_per_s: None,
    connections_max: None,
    watches_max: None,
};

fn name(text: &str) -> WorkspaceName {
    WorkspaceName::parse(text).expect("it is a good name")
}

/// A server on which every workspace has a quota, except the one named `free`.
async fn limited(quota: Quota) -> Harness {
    let workspaces = HashMap::from([(name("free"), Quota::default())]);
    let quotas = Quotas { workspace: quota, workspaces, token: Quota::default() };
    Harness::with(Settings { quotas, ..settings() }).await
}

/// A server that requires tokens, and the bearer of one with this quota.
async fn with_token(quota: Quota) -> (Harness, String) {
    let baton = in_memory(Options::default());
    let grant =
        Grant { role: Role::Worker, workspaces: Vec::new(), namespaces: Vec::new(), agent: None };
    let wanted = Wanted { name: "somebody".to_owned(), grant, ttl_ms: None, quota: Some(quota) };
    let tokens = Tokens::of(&baton).expect("its name is good");
    let token = tokens.create(wanted).await.expect("it can be kept").token;
    let harness = Harness::on(baton, Settings { tokens: true, ..settings() }).await;
    (harness, format!("Bearer {token}"))
}

fn set(key: &str, value: &Value) -> Value {
    json!({"command": "state.set", "namespace": "shared", "key": key, "value": value})
}

/// This many sets in one transaction, which is permitted as a whole and charged afterwards.
async fn spend(http: &mut Http, workspace: &str, headers: &[(&str, &str)], count: usize) {
    let commands: Vec<Value> =
        (0..count).map(|number| set(&format!("k{number}"), &json!(1))).collect();
    let path = format!("/v1/{workspace}/transactions");
    let response =
        http.request("POST", &path, headers, &json!({"commands": commands}).to_string()).await;
    assert_eq!(response.status, 200, "{:?}", String::from_utf8_lossy(&response.body));
}

#[tokio::test]
async fn a_workspace_over_its_rate_gets_the_time_to_wait_on_every_interface() {
    let harness = limited(ONE_A_SECOND).await;
    let mut http = harness.http().await;
    spend(&mut http, "w", &[], 1_000).await;
    let response = http.put("/v1/w/state/shared/k", &json!(2)).await;
    assert_eq!(response.problem(), (429, "quota.operations".to_owned()));
    let problem = response.json();
    assert_eq!((&problem["of"], &problem["max"]), (&json!("workspace"), &json!(1)), "{problem}");
    let wait_ms = problem["retry_after_ms"].as_u64().unwrap();
    assert!((900_000..=1_000_000).contains(&wait_ms), "{problem}");
    let wait_s: u64 = response.header("retry-after").unwrap().parse().unwrap();
    assert_eq!(wait_s, wait_ms.div_ceil(1_000));
    assert_eq!(http.get("/v1/w/state/shared/k1").await.problem().1, "quota.operations");
    assert_eq!(http.get("/v1/w/watch").await.problem().1, "quota.operations");
    let list = json!([set("k1", &json!(2))]).to_string();
    let response = http.request("POST", "/v1/w/commands", &[], &list).await.json();
    assert_eq!(response[0]["error"]["code"], "quota.operations", "{response}");
    let mut socket = harness.socket().await;
    for command in [
        // The fast path would apply to the first of these.
        set("k1", &json!(2)),
        json!({"command": "state.get", "namespace": "shared", "key": "k1"}),
        json!({"command": "watch", "pattern": "**"}),
    ] {
        let mut frame = command;
        frame["workspace"] = "w".into();
        let response = socket.ask(frame).await;
        assert_eq!(response["error"]["code"], "quota.operations", "{response}");
    }
    // Others are not affected, and neither is one without a quota.
    for workspace in ["other", "free"] {
        spend(&mut http, workspace, &[], 10).await;
    }
    spend(&mut http, "free", &[], 10).await;
    assert_eq!(harness.metric("baton_quota_refused_total{quota=\"operations\"}").await, 7);
    let response = harness.http().await.get("/v1/free/state/shared/k1").await;
    assert_eq!(response.json()["value"], 1);
    harness.end().await;
}

#[tokio::test]
async fn rejected_requests_have_no_effect() {
    let harness = limited(ONE_A_SECOND).await;
    let mut http = harness.http().await;
    spend(&mut http, "w", &[], 1_000).await;
    assert_eq!(http.put("/v1/w/state/shared/k0", &json!("lost")).await.status, 429);
    let state = harness.baton.workspace("w").unwrap().state("shared");
    assert_eq!(state.get("k0").await.unwrap().json().as_str(), "1");
    harness.end().await;
}

#[tokio::test]
async fn bytes_are_those_that_are_written() {
    let quota = Quota { bytes_per_s: Some(10), ..Quota::default() };
    let harness = limited(quota).await;
    let mut http = harness.http().await;
    let long = json!("x".repeat(50_000));
    assert_eq!(http.put("/v1/w/state/shared/k", &long).await.status, 200);
    for _ in 0..100 {
        assert_eq!(http.get("/v1/w/state/shared/k").await.status, 200, "to read writes nothing");
    }
    let response = http.put("/v1/w/state/shared/k", &json!(1)).await;
    assert_eq!(response.problem(), (429, "quota.bytes".to_owned()));
    let response = http.request("PUT", "/v1/w/artifacts", &[], "bytes").await;
    assert_eq!(response.problem().1, "quota.bytes");
    let response = http.request("PUT", "/v1/v/artifacts", &[], &"x".repeat(50_000)).await;
    assert_eq!(response.status, 201, "one that owes nothing may bring more than a second's worth");
    let response = http.request("PUT", "/v1/v/artifacts", &[], "more").await;
    assert_eq!(response.problem().1, "quota.bytes");
    let mut socket = harness.socket().await;
    let mut frame = set("k", &long);
    frame["workspace"] = "u".into();
    assert!(socket.ask(frame.clone()).await["error"].is_null());
    assert_eq!(socket.ask(frame).await["error"]["code"], "quota.bytes");
    harness.end().await;
}

#[tokio::test]
async fn a_token_has_its_own_quota() {
    let (harness, bearer) = with_token(ONE_A_SECOND).await;
    let mut http = harness.http().await;
    let headers = [("authorization", bearer.as_str())];
    spend(&mut http, "one", &headers, 1_000).await;
    let response = http.request("GET", "/v1/another/state", &headers, "").await;
    assert_eq!(response.problem(), (429, "quota.operations".to_owned()), "in whichever workspace");
    assert_eq!(response.json()["of"], "token");
    let (response, socket) = Socket::shake_hands(harness.address, &headers).await;
    assert_eq!(response.status, 101);
    let mut socket = socket;
    let mut frame = set("k", &json!(1));
    frame["workspace"] = "third".into();
    assert_eq!(socket.ask(frame).await["error"]["code"], "quota.operations");
    harness.end().await;
}

#[tokio::test]
async fn connections_of_a_token_are_limited_and_released() {
    let quota = Quota { connections_max: Some(2), ..Quota::default() };
    let (harness, bearer) = with_token(quota).await;
    let headers = [("authorization", bearer.as_str())];
    let mut first = harness.http().await;
    for _ in 0..5 {
        let response = first.request("GET", "/v1/w/state", &headers, "").await;
        assert_eq!(response.status, 200, "one connection is one, however often it is used");
    }
    let (response, second) = Socket::shake_hands(harness.address, &headers).await;
    assert_eq!(response.status, 101);
    let mut third = harness.http().await;
    let response = third.request("GET", "/v1/w/state", &headers, "").await;
    assert_eq!(response.problem(), (429, "quota.connections".to_owned()));
    drop(second);
    crate::harness::eventually("there is a place again", async || {
        third.request("GET", "/v1/w/state", &headers, "").await.status == 200
    })
    .await;
    harness.end().await;
}

#[tokio::test]
async fn watches_are_limited_and_released() {
    let quota = Quota { watches_max: Some(1), ..Quota::default() };
    let harness = limited(quota).await;
    let mut socket = harness.socket().await;
    let watch = |id: u64, workspace: &str| {
        let pattern = "**";
        json!({"id": id, "workspace": workspace, "command": "watch", "pattern": pattern})
    };
    assert!(socket.ask(watch(1, "w")).await["error"].is_null());
    assert_eq!(socket.ask(watch(2, "w")).await["error"]["code"], "quota.watches");
    let response = harness.http().await.get("/v1/w/watch").await;
    assert_eq!(response.problem(), (429, "quota.watches".to_owned()));
    assert!(socket.ask(watch(3, "other")).await["error"].is_null());
    let unwatch = json!({"id": 4, "workspace": "w", "command": "unwatch", "watch": 1});
    assert!(socket.ask(unwatch).await["error"].is_null());
    assert!(socket.ask(watch(5, "w")).await["error"].is_null());
    harness.end().await;
}

#[tokio::test]
async fn a_workspace_holds_data_up_to_its_quota() {
    let named = HashMap::from([(
        name("small"),
        StorageQuota { entries_max: Some(2), bytes_max: Some(20_000) },
    )]);
    let extents = Extents { named, ..Extents::default() };
    let options = Options { extents, ..Options::default() };
    let harness = Harness::on(in_memory(options), settings()).await;
    let mut http = harness.http().await;
    for (key, status) in [("a", 200), ("b", 200), ("c", 429), ("a", 200)] {
        let response = http.put(&format!("/v1/small/state/shared/{key}"), &json!(1)).await;
        assert_eq!(response.status, status, "{key}");
    }
    let response = http.put("/v1/small/state/shared/c", &json!(1)).await;
    assert_eq!(response.problem(), (429, "quota.entries".to_owned()));
    assert_eq!(response.header("retry-after"), None, "waiting does not help");
    let mut socket = harness.socket().await;
    let mut frame = set("c", &json!(1));
    frame["workspace"] = "small".into();
    assert_eq!(socket.ask(frame).await["error"]["code"], "quota.entries");
    let response = http.put("/v1/small/state/shared/a", &json!("x".repeat(30_000))).await;
    assert_eq!(response.problem(), (429, "quota.stored_bytes".to_owned()));
    let response = http.request("PUT", "/v1/small/artifacts", &[], &"x".repeat(30_000)).await;
    assert_eq!(response.problem().1, "quota.stored_bytes");
    assert_eq!(http.get("/v1/small/artifacts").await.json()["artifacts"], json!([]));
    assert_eq!(http.put("/v1/large/state/shared/c", &json!(1)).await.status, 200);
    assert_eq!(harness.metric("baton_quota_refused_total{quota=\"entries\"}").await, 3);
    assert_eq!(harness.metric("baton_quota_refused_total{quota=\"stored_bytes\"}").await, 2);
    harness.end().await;
}
