//! The limited resources: memory, slots and time of the server, and connections that never end.

use std::time::Duration;

use baton_core::access::Role;
use baton_server::Settings;
use serde_json::{Value, json};

use crate::access::{ask, grant, guarded};
use crate::callers::http::{Http, lines};
use crate::harness::{Harness, eventually, settings};

/// The head of an upload, of which the body follows.
fn upload(workspace: &str, bytes: usize, more: &[(&str, &str)]) -> String {
    let length = bytes.to_string();
    let head =
        lines(&[&[("host", "localhost"), ("content-length", length.as_str())], more].concat());
    format!("PUT /v1/{workspace}/artifacts HTTP/1.1\r\n{head}\r\n")
}

#[tokio::test]
async fn calls_that_wait_and_uploads_end_with_their_token() {
    let (harness, bearers) = guarded(vec![grant(Role::Admin), grant(Role::Worker)]).await;
    let [admin, worker] = <[String; 2]>::try_from(bearers).expect("there are two");
    let mut http = harness.http().await;
    let take = json!({"command": "lock.acquire", "name": "door", "ttl_ms": 600_000});
    assert_eq!(ask(&mut http, &admin, "/v1/w/commands", &take).await.0, 200);
    let waits: [Value; 4] = [
        json!({"command": "task.claim", "wait_ms": 3_600_000}),
        json!({"command": "inbox.receive", "wait_ms": 3_600_000}),
        json!({"command": "lock.acquire", "name": "door", "wait_ms": 3_600_000}),
        json!([{"command": "task.claim", "wait_ms": 3_600_000}]),
    ];
    let mut waiting = Vec::new();
    for (number, wait) in waits.iter().enumerate() {
        let mut http = harness.http().await;
        let (body, agent) = (wait.to_string(), format!("waiter-{number}"));
        let length = body.len().to_string();
        let head = lines(&[
            ("host", "localhost"),
            ("authorization", &worker),
            ("baton-agent", &agent),
            ("content-length", &length),
        ]);
        http.send(format!("POST /v1/w/commands HTTP/1.1\r\n{head}\r\n{body}")).await;
        waiting.push(http);
    }
    let mut half = harness.http().await;
    half.send(upload("w", 10, &[("authorization", &worker)])).await;
    half.send("hello").await;
    waiting.push(half);
    eventually("all of them are there", async || {
        let query = json!({"command": "lock.get", "name": "door"});
        let shown = ask(&mut http, &admin, "/v1/w/commands", &query).await.1;
        shown["result"]["waiters"].as_array().is_some_and(|waiters| !waiters.is_empty())
    })
    .await;

    let headers = [("authorization", admin.as_str())];
    let listed = http.request("GET", "/v1/access/tokens", &headers, "").await.json();
    let is_worker =
        |token: &&Value| token["role"] == "worker" || token["grant"]["role"] == "worker";
    let tokens = listed["tokens"].as_array().expect("a list");
    let id = tokens.iter().find(is_worker).expect("it is there")["id"].as_str().expect("a text");
    let gone = http.request("DELETE", &format!("/v1/access/tokens/{id}"), &headers, "").await;
    assert_eq!(gone.status, 200);
    for mut http in waiting {
        let response = http.response().await;
        assert_eq!(response.problem(), (401, "access.bad_token".to_owned()));
    }
    let query = json!({"command": "artifact.list"});
    let listed = ask(&mut http, &admin, "/v1/w/commands", &query).await.1;
    assert_eq!(listed["result"]["artifacts"], json!([]), "nothing is left of the upload");
}

#[tokio::test]
async fn a_refusal_because_of_the_head_affects_no_other_request() {
    let harness = Harness::new().await;
    let body = json!({"command": "state.set", "namespace": "shared", "key": "k", "value": 1});
    let body = format!("{body}{}", " ".repeat(4_000));
    for (line, more) in [
        ("POST /v1/w/nothing", ""),
        ("POST /v1/w/nothing", "baton-agent: \u{1}\r\n"),
        ("DELETE /v1/w/commands", ""),
        ("POST /v1/no%20such%20name/commands", ""),
        ("PUT /v1/w/artifacts?unknown=1", ""),
        ("POST /v1/w/commands", "authorization: Bearer nonsense\r\n"),
    ] {
        // The same connection again and again, with head and body in separate packets.
        let mut http = harness.http().await;
        for _ in 0..5 {
            let head = format!("{line} HTTP/1.1\r\nhost: localhost\r\n{more}");
            http.send(format!("{head}content-length: {}\r\n\r\n", body.len())).await;
            let response = http.response().await;
            assert!(response.status >= 400, "{line}");
            if response.header("connection") == Some("close") {
                assert!(more.contains('\u{1}'), "{line} is closed without need");
                http = harness.http().await;
                continue;
            }
            http.send(&body).await;
            assert_eq!(http.get("/v1/w/state").await.status, 200, "{line}");
        }
    }
}

#[tokio::test]
async fn an_unread_large_body_ends_the_connection_with_a_reason() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    http.send("POST /v1/w/nothing HTTP/1.1\r\nhost: localhost\r\ncontent-length: 300000\r\n\r\n")
        .await;
    http.send(vec![b' '; 300_000]).await;
    let response = http.response().await;
    assert_eq!(response.problem(), (404, "request.not_found".to_owned()));
    assert_eq!(response.header("connection"), Some("close"));
    http.ends().await;
    let mut http = harness.http().await;
    http.send(
        "POST /v1/w/nothing HTTP/1.1\r\nhost: localhost\r\ncontent-length: 10\r\n\
         expect: 100-continue\r\n\r\n",
    )
    .await;
    let response = http.response().await;
    assert_eq!(response.status, 404, "the body is not even asked for");
    assert_eq!(response.header("connection"), Some("close"));
}

#[tokio::test]
async fn a_slow_upload_times_out() {
    let settings = Settings {
        body_deadline: Duration::from_millis(400),
        upload_rate_min: 1 << 20,
        ..settings()
    };
    let harness = Harness::with(settings).await;
    let mut http = harness.http().await;
    http.send(upload("w", 1_000_000, &[])).await;
    // Every piece comes well within the deadline, and all of them together do not.
    let mut pieces = 0;
    let response = loop {
        http.send("x").await;
        pieces += 1;
        let answer = tokio::time::timeout(Duration::from_millis(20), http.response()).await;
        if let Ok(response) = answer {
            break response;
        }
        assert!(pieces < 3_000, "it is never left");
    };
    assert_eq!(response.problem(), (408, "request.timeout".to_owned()));
}

async fn begun(harness: &Harness, workspace: &str) -> Http {
    let mut http = harness.http().await;
    http.send(upload(workspace, 10, &[])).await;
    http.send("hello").await;
    http
}

#[tokio::test]
async fn slow_uploads_of_one_workspace_leave_room_for_another() {
    let harness = Harness::with(Settings { uploads_max: 8, ..settings() }).await;
    let mut slow = Vec::new();
    for _ in 0..8 {
        slow.push(begun(&harness, "greedy").await);
    }
    let mut refused = 0;
    for http in &mut slow {
        let answer = tokio::time::timeout(Duration::from_millis(300), http.response()).await;
        refused += usize::from(answer.is_ok_and(|response| response.status == 429));
    }
    assert_eq!(refused, 4, "it has half of the slots");
    let mut other = begun(&harness, "other").await;
    other.send("hello").await;
    assert_eq!(other.response().await.status, 201);
}

#[tokio::test]
async fn slow_bodies_of_one_workspace_leave_room_for_another() {
    let harness = Harness::with(Settings { receiving_bytes_max: 1 << 20, ..settings() }).await;
    let mut slow = Vec::new();
    for _ in 0..8 {
        let mut http = harness.http().await;
        let head = "POST /v1/greedy/commands HTTP/1.1\r\nhost: localhost\r\n";
        http.send(format!("{head}content-length: 300000\r\n\r\n")).await;
        http.send(vec![b' '; 200_000]).await;
        slow.push(http);
    }
    let value = json!({"command": "state.set", "namespace": "shared", "key": "k",
                       "value": "x".repeat(100_000)});
    for _ in 0..20 {
        let mut http = harness.http().await;
        let response = http.post("/v1/other/commands", &value).await;
        assert_eq!(response.status, 200, "{}", response.head);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    drop(slow);
}

#[tokio::test]
async fn queries_about_missing_workspaces_take_no_memory() {
    let harness = Harness::new().await;
    let mut socket = harness.socket().await;
    for number in 0..300 {
        let get = json!({"workspace": format!("none-{number}"), "command": "state.get",
                         "namespace": "shared", "key": "k"});
        let answer = socket.ask(get).await;
        assert_eq!(answer["error"]["code"], "state.not_found", "{answer}");
    }
    let mut http = harness.http().await;
    for number in 0..100 {
        assert_eq!(http.get(&format!("/v1/none-{number}/state/shared/k")).await.status, 404);
        assert_eq!(http.get(&format!("/v1/none-{number}/tasks")).await.status, 200);
    }
    // The workspace of the tokens is always there.
    assert!(harness.baton.resident_workspaces() <= 1);
}
