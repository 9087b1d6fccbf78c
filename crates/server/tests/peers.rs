//! Agents of other systems: two servers hand tasks to each other, and some peers are none.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use baton_core::WorkspaceName;
use baton_core::access::Role;
use baton_server::{Peer, Peers, Settings};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::access::{grant, guarded};
use crate::callers::http::Http;
use crate::harness::{Harness, SHORT, eventually, settings};

const JSON: (&str, &str) = ("content-type", "application/json");

/// Settings with the agent `remote`, who is at another address.
fn with_peer(url: &str, token: Option<&str>, private: bool) -> Settings {
    let mut peer = Peer::parse(&format!("remote=a2a:{url}")).expect("it is a peer");
    peer.token = token.map(str::to_owned);
    let mut peers = Peers::new(vec![peer], private, None).expect("there is nothing to read");
    (peers.pause, peers.patience, peers.deadline) = (SHORT / 10, SHORT, SHORT * 20);
    Settings { a2a_peers: Some(peers), ..settings() }
}

async fn command(http: &mut Http, agent: &str, command: &Value) -> Value {
    let headers = [JSON, ("baton-agent", agent)];
    let path = "/v1/default/commands";
    let response = http.request("POST", path, &headers, command.to_string()).await;
    assert_eq!(response.status, 200, "{command}: {:?}", response.json());
    response.json()["result"].clone()
}

/// Waits until a field of what a query returns has a value.
async fn becomes(http: &mut Http, query: &Value, field: &str, wanted: &Value) -> Value {
    eventually(&format!("{field} of {query} is {wanted}"), async || {
        command(http, "ada", query).await.pointer(field).unwrap_or(&Value::Null) == wanted
    })
    .await;
    command(http, "ada", query).await
}

async fn task_becomes(http: &mut Http, task: &Value, wanted: &str) -> Value {
    let get = json!({"command": "task.get", "task": task});
    becomes(http, &get, "/status", &json!(wanted)).await
}

/// Claims a task as the agent `bob`, who works at the other server.
async fn claimed(http: &mut Http) -> Value {
    let claim = json!({"command": "task.claim", "wait_ms": 60_000});
    let claimed = command(http, "bob", &claim).await;
    assert!(claimed.is_object(), "it never arrived");
    claimed
}

/// A server with the agent `bob`, and one that knows him as `remote`.
async fn pair() -> (Harness, Harness) {
    let there = Harness::new().await;
    let register = json!({"command": "agent.register", "agent": "bob", "ttl_ms": 600_000});
    command(&mut there.http().await, "bob", &register).await;
    let url = format!("http://{}/a2a/agents/bob", there.address);
    (Harness::with(with_peer(&url, None, true)).await, there)
}

async fn created(ada: &mut Http) -> Value {
    let create = json!({"command": "task.create", "type": "write", "description": "write it",
                        "assigned_agent": "remote", "max_retries": 0});
    command(ada, "ada", &create).await["id"].clone()
}

/// A task that `ada` holds and offers to `remote`: the task, its token and the hand-off.
async fn offered(ada: &mut Http, more: &Value) -> (Value, Value, Value) {
    let create = json!({"command": "task.create", "type": "write", "description": "go on"});
    let task = command(ada, "ada", &create).await["id"].clone();
    let held = command(ada, "ada", &json!({"command": "task.claim", "task": task})).await;
    let token = held["lease"]["token"].clone();
    let mut offer = json!({"command": "handoff.offer", "to": "remote", "task": task,
                           "token": token});
    for (name, value) in more.as_object().into_iter().flatten() {
        offer[name] = value.clone();
    }
    let handoff = command(ada, "ada", &offer).await["id"].clone();
    (task, token, handoff)
}

fn done(work: &Value, result: &Value) -> Value {
    json!({"command": "task.complete", "task": work["id"], "token": work["lease"]["token"],
           "result": result})
}

fn update(work: &Value, metadata: &Value) -> Value {
    json!({"command": "task.update", "task": work["id"], "token": work["lease"]["token"],
           "fields": {"metadata": metadata}})
}

#[tokio::test]
async fn a_task_with_state_is_done_by_an_agent_of_another_server() {
    let (here, there) = pair().await;
    let (mut ada, mut bob) = (here.http().await, there.http().await);
    let context = json!({"state": {"tone": "dry"}, "output_keys": ["report"]});
    let create = json!({"command": "task.create", "type": "write", "description": "write it",
                        "assigned_agent": "remote", "metadata": {"transfer_context": context}});
    let task = command(&mut ada, "ada", &create).await["id"].clone();
    let work = claimed(&mut bob).await;
    assert_eq!((&work["description"], &work["type"]), (&json!("write it"), &json!("write")));
    let handed = &work["metadata"]["transfer_context"];
    assert_eq!((&handed["state"]["tone"], &handed["originating_task_id"]), (&json!("dry"), &task));
    let half = json!({"command": "task.progress", "task": work["id"],
                      "token": work["lease"]["token"], "fraction": 0.5, "note": "halfway"});
    command(&mut bob, "bob", &half).await;
    let get = json!({"command": "task.get", "task": task});
    let seen = becomes(&mut ada, &get, "/progress/note", &json!("halfway")).await;
    assert_eq!(seen["progress"]["fraction"], 0.5, "{seen}");
    command(&mut bob, "bob", &update(&work, &json!({"question": "how long?"}))).await;
    becomes(&mut ada, &get, "/metadata/question", &json!("how long?")).await;
    let answer = json!({"command": "message.send", "to": "remote",
                        "body": {"task": task, "message": {"parts": [{"text": "short"}]}}});
    command(&mut ada, "ada", &answer).await;
    let receive = json!({"command": "inbox.receive", "wait_ms": 60_000});
    let mail = command(&mut bob, "bob", &receive).await["messages"][0].clone();
    assert_eq!(mail["body"]["message"]["parts"][0]["text"], "short", "{mail}");
    let change = json!({"question": null, "transfer_context": {"state": {"report": "r-1"}}});
    command(&mut bob, "bob", &update(&work, &change)).await;
    becomes(&mut ada, &get, "/metadata/question", &Value::Null).await;
    command(&mut bob, "bob", &done(&work, &json!({"words": 12}))).await;
    let ended = task_becomes(&mut ada, &task, "completed").await;
    assert_eq!(ended["result"]["words"], 12, "{ended}");
    let state = &ended["metadata"]["transfer_context"]["state"];
    assert_eq!(state, &json!({"tone": "dry", "report": "r-1"}), "{ended}");
    let inbox = command(&mut bob, "bob", &json!({"command": "inbox.list"})).await;
    assert_eq!(inbox["messages"].as_array().map(Vec::len), Some(1), "one answer: {inbox}");
    here.end().await;
    there.end().await;
}

#[tokio::test]
async fn a_hand_off_to_another_server_comes_back_with_its_changes() {
    let (here, there) = pair().await;
    let (mut ada, mut bob) = (here.http().await, there.http().await);
    ada.put("/v1/default/state/shared/outline", &json!(["one", "two"])).await;
    let more = json!({"state": {"tone": "dry"}, "remaining_work": "the end",
                      "keys": ["shared/outline"]});
    let (task, _, handoff) = offered(&mut ada, &more).await;
    let work = claimed(&mut bob).await;
    let handed = &work["metadata"]["transfer_context"];
    assert_eq!((&handed["handoff_id"], &handed["state"]["tone"]), (&handoff, &json!("dry")));
    let parts = work["definition"]["message"]["parts"].to_string();
    assert!(parts.contains("the end"), "{parts}");
    assert!(parts.contains(r#""shared/outline":["one","two"]"#), "{parts}");
    let change = json!({"transfer_context": {"state": {"n": 1}}});
    command(&mut bob, "bob", &update(&work, &change)).await;
    command(&mut bob, "bob", &done(&work, &json!("done"))).await;
    let ended = task_becomes(&mut ada, &task, "completed").await;
    assert_eq!(ended["result"], "done", "{ended}");
    let get = json!({"command": "handoff.get", "handoff": handoff});
    let ended = command(&mut ada, "ada", &get).await;
    assert_eq!((&ended["status"], &ended["changes"]), (&json!("completed"), &json!({"n": 1})));
    here.end().await;
    there.end().await;
}

#[tokio::test]
async fn the_rules_of_the_other_server_hold() {
    let (here, there) = pair().await;
    let (mut ada, mut bob) = (here.http().await, there.http().await);
    let rule = json!({"command": "rule.add", "name": "brief", "message": "no secrets",
                      "check": {"expression": "!('secret' in state)"}});
    command(&mut bob, "bob", &rule).await;
    let (task, token, handoff) = offered(&mut ada, &json!({"state": {"secret": 1}})).await;
    let get = json!({"command": "handoff.get", "handoff": handoff});
    let refused = becomes(&mut ada, &get, "/status", &json!("rejected")).await;
    assert!(refused.to_string().contains("no secrets"), "{refused}");
    let all = command(&mut bob, "bob", &json!({"command": "task.list"})).await;
    assert_eq!(all["tasks"], json!([]), "nothing was begun there");
    // The giver has kept it.
    let finish = json!({"command": "task.complete", "task": task, "token": token});
    command(&mut ada, "ada", &finish).await;
    here.end().await;
    there.end().await;
}

#[tokio::test]
async fn cancellations_and_failures_reach_both_sides() {
    let (here, there) = pair().await;
    let (mut ada, mut bob) = (here.http().await, there.http().await);
    let task = created(&mut ada).await;
    let work = claimed(&mut bob).await;
    let failed = json!({"command": "task.fail", "task": work["id"], "retryable": false,
                        "token": work["lease"]["token"], "error": "no model"});
    command(&mut bob, "bob", &failed).await;
    let ended = task_becomes(&mut ada, &task, "failed").await;
    assert_eq!(
        (&ended["error"]["code"], &ended["error"]["detail"]),
        (&json!("a2a.failed"), &json!("no model"))
    );
    let task = created(&mut ada).await;
    let work = claimed(&mut bob).await;
    command(&mut ada, "ada", &json!({"command": "task.cancel", "task": task})).await;
    task_becomes(&mut bob, &work["id"], "cancelled").await;
    here.end().await;
    there.end().await;
}

#[tokio::test]
async fn undelivered_work_is_returned() {
    let here = Harness::with(with_peer("http://127.0.0.1:1/a2a/agents/bob", None, true)).await;
    let mut ada = here.http().await;
    let (task, token, handoff) = offered(&mut ada, &json!({})).await;
    let get = json!({"command": "handoff.get", "handoff": handoff});
    let rejected = becomes(&mut ada, &get, "/status", &json!("rejected")).await;
    assert!(rejected.to_string().contains("cannot connect"), "{rejected}");
    let finish = json!({"command": "task.complete", "task": task, "token": token});
    command(&mut ada, "ada", &finish).await;
    let offer = json!({"command": "handoff.offer", "to": "remote", "state": {"a": 1}});
    let handoff = command(&mut ada, "ada", &offer).await["id"].clone();
    let get = json!({"command": "handoff.get", "handoff": handoff});
    let rejected = becomes(&mut ada, &get, "/status", &json!("rejected")).await;
    assert!(rejected.to_string().contains("only tasks"), "{rejected}");
    // Which keys a pattern selects is decided when it is accepted, after the message was sent.
    let (task, token, handoff) = offered(&mut ada, &json!({"keys": ["shared/plan-*"]})).await;
    let get = json!({"command": "handoff.get", "handoff": handoff});
    let rejected = becomes(&mut ada, &get, "/status", &json!("rejected")).await;
    assert!(rejected.to_string().contains("name each of them"), "{rejected}");
    let finish = json!({"command": "task.complete", "task": task, "token": token});
    command(&mut ada, "ada", &finish).await;
    let ended = created(&mut ada).await;
    let ended = task_becomes(&mut ada, &ended, "failed").await;
    assert_eq!(ended["error"]["code"], "a2a.undelivered", "{ended}");
    here.end().await;
}

/// A server that answers every request with what a function makes of its path, or never.
async fn odd_peer(answer: impl Fn(&str) -> Option<String> + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    tokio::spawn(async move {
        let mut hung = Vec::new();
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut head = vec![0; 16 << 10];
            let length = socket.read(&mut head).await.unwrap_or_default();
            let head = String::from_utf8_lossy(&head[..length]).into_owned();
            let path = head.split(' ').nth(1).unwrap_or_default();
            match answer(path) {
                Some(answer) => drop(socket.write_all(answer.as_bytes()).await),
                None => hung.push(socket),
            }
        }
    });
    address
}

fn response(status: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nlocation: /\r\ncontent-length: {length}\r\n\r\n{body}")
}

fn card(url: &str, version: &str) -> String {
    let interface = json!({"url": url, "protocolBinding": "JSONRPC", "protocolVersion": version});
    json!({"name": "odd", "supportedInterfaces": [interface]}).to_string()
}

/// The reason with which the hand-off to a peer is rejected.
async fn rejection(settings: Settings) -> String {
    let here = Harness::with(settings).await;
    let mut ada = here.http().await;
    let (_, _, handoff) = offered(&mut ada, &json!({})).await;
    let get = json!({"command": "handoff.get", "handoff": handoff});
    let rejected = becomes(&mut ada, &get, "/status", &json!("rejected")).await;
    here.end().await;
    rejected.to_string()
}

#[tokio::test]
async fn an_invalid_peer_is_refused_with_a_reason() {
    type Answer = fn(&str) -> Option<String>;
    let large = || response("200 OK", &format!("\"{}\"", "x".repeat(5 << 20)));
    let answers: [(Answer, &str); 7] = [
        (|_| Some(response("302 Found", "")), "redirects are not followed"),
        (|_| Some(response("200 OK", "<html>")), "not a JSON object"),
        (|_| Some(response("404 Not Found", "")), "status 404"),
        (|_| Some(response("200 OK", &card("http://127.0.0.1:9/", "1.0"))), "another host"),
        (|_| Some(response("200 OK", &card("http://169.254.169.254/", "1.0"))), "another host"),
        (|_| Some("nonsense\r\n\r\n".to_owned()), "the connection broke"),
        (|_| None, "no response within"),
    ];
    for (answer, reason) in answers {
        let address = odd_peer(answer).await;
        let mut settings = with_peer(&format!("http://{address}"), None, true);
        if let Some(peers) = &mut settings.a2a_peers {
            peers.deadline = SHORT;
        }
        let rejected = rejection(settings).await;
        assert!(rejected.contains(reason), "{reason}: {rejected}");
    }
    let address = odd_peer(move |_| Some(large())).await;
    let rejected = rejection(with_peer(&format!("http://{address}"), None, true)).await;
    assert!(rejected.contains("is larger than"), "{rejected}");
}

/// A peer whose card is good, and whose answers are not.
async fn false_friend(version: &'static str, body: &'static str) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port is free");
    let port = listener.local_addr().expect("it is bound").port();
    drop(listener);
    let own = format!("http://127.0.0.1:{port}/rpc");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.expect("it was free");
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut head = vec![0; 16 << 10];
            let length = socket.read(&mut head).await.unwrap_or_default();
            let is_card = head[..length].starts_with(b"GET /.well-known");
            let body = if is_card { card(&own, version) } else { body.to_owned() };
            let _ = socket.write_all(response("200 OK", &body).as_bytes()).await;
        }
    });
    format!("http://127.0.0.1:{port}")
}

#[tokio::test]
async fn invalid_answers_are_refused_with_a_reason() {
    for (version, body, reason) in [
        ("0.3", "{}", "version `0.3`"),
        ("2.0", "{}", "version `2.0`"),
        ("1.0", "[]", "not a JSON object"),
        ("1.0", "{}", "neither `result` nor `error`"),
        ("1.0", r#"{"result":{}}"#, "neither a task nor a message"),
        ("1.0", r#"{"result":{"task":{"id":"t","status":{"state":"done"}}}}"#, "without a state"),
        ("1.0", r#"{"error":{"code":-32602,"message":"hush no"}}"#, "[token] no"),
    ] {
        let url = false_friend(version, body).await;
        let rejected = rejection(with_peer(&url, Some("hush"), true)).await;
        assert!(rejected.contains(reason), "{reason}: {rejected}");
        assert!(!rejected.contains("hush"), "{rejected}");
    }
    // An agent may answer with a message instead of a task.
    let url = false_friend("1.0", r#"{"result":{"message":{"parts":[{"text":"42"}]}}}"#).await;
    let here = Harness::with(with_peer(&url, None, true)).await;
    let mut ada = here.http().await;
    let task = created(&mut ada).await;
    assert_eq!(task_becomes(&mut ada, &task, "completed").await["result"], "42");
    here.end().await;
}

#[tokio::test]
async fn a_private_address_is_not_called_unless_that_is_allowed() {
    let url = false_friend("1.0", "{}").await;
    let rejected = rejection(with_peer(&url, None, false)).await;
    assert!(rejected.contains("127.0.0.1 is not a public address"), "{rejected}");
}

#[tokio::test]
async fn a_peer_that_is_gone_for_too_long_loses_its_task() {
    let (here, there) = pair().await;
    let (mut ada, mut bob) = (here.http().await, there.http().await);
    let task = created(&mut ada).await;
    claimed(&mut bob).await;
    drop(bob);
    there.end().await;
    let ended = task_becomes(&mut ada, &task, "failed").await;
    assert_eq!(ended["error"]["code"], "a2a.undelivered", "{ended}");
    here.end().await;
}

#[tokio::test]
async fn a_peer_with_tokens_is_called_with_the_one_that_is_named() {
    let (there, bearers) = guarded(vec![grant(Role::Worker)]).await;
    let token = bearers[0].strip_prefix("Bearer ").expect("it is a bearer token");
    let url = format!("http://{}/a2a/fleet", there.address);
    let rejected = rejection(with_peer(&url, Some("baton_wrong"), true)).await;
    assert!(rejected.contains("status 401") && !rejected.contains("baton_wrong"), "{rejected}");
    let here = Harness::with(with_peer(&url, Some(token), true)).await;
    let mut ada = here.http().await;
    let task = created(&mut ada).await;
    let get = json!({"command": "task.get", "task": task});
    eventually("it has arrived there", async || {
        command(&mut ada, "ada", &get).await["metadata"]["a2a_peer"]["task"].is_string()
    })
    .await;
    let events = ada.get("/v1/default/events?limit=1000").await;
    assert!(!String::from_utf8(events.body).unwrap().contains(token));
    here.end().await;
    there.end().await;
}

#[tokio::test]
async fn an_agent_may_register_with_its_address_where_that_is_allowed() {
    let (other, there) = pair().await;
    other.end().await;
    let mut settings = with_peer("http://127.0.0.1:1", None, true);
    let peers = settings.a2a_peers.as_mut().expect("there are peers");
    peers.registered = vec![WorkspaceName::parse("default").expect("it is a name")];
    let here = Harness::with(settings).await;
    let (mut ada, mut bob) = (here.http().await, there.http().await);
    let url = format!("a2a:http://{}/a2a/agents/bob", there.address);
    let register = json!({"command": "agent.register", "agent": "guest", "ttl_ms": 600_000,
                          "metadata": {"a2a": url}});
    command(&mut ada, "guest", &register).await;
    let create = json!({"command": "task.create", "type": "write", "assigned_agent": "guest"});
    let task = command(&mut ada, "ada", &create).await["id"].clone();
    let work = claimed(&mut bob).await;
    command(&mut bob, "bob", &done(&work, &json!("welcome"))).await;
    let ended = task_becomes(&mut ada, &task, "completed").await;
    assert_eq!(ended["result"], "welcome", "{ended}");
    // It is no longer a peer, and no server takes its tasks.
    let leave = json!({"command": "agent.leave", "agent": "guest"});
    command(&mut ada, "guest", &leave).await;
    let register = json!({"command": "agent.register", "agent": "guest", "ttl_ms": 600_000});
    command(&mut ada, "guest", &register).await;
    // The line to it has ended; those that are left are to `remote`, and for registrations.
    here.comes_to("baton_watches", 2).await;
    let task = command(&mut ada, "ada", &create).await["id"].clone();
    let claim = json!({"command": "task.claim", "task": task, "wait_ms": 0});
    assert_eq!(command(&mut ada, "guest", &claim).await["id"], task);
    here.end().await;
    there.end().await;
}

#[test]
fn peers_are_named_by_agent_and_address() {
    for (text, name, url) in [
        ("bob=https://a.example", "default/bob", "https://a.example"),
        ("team/bob=a2a:https://a.example/x?y=1", "team/bob", "https://a.example/x?y=1"),
    ] {
        let peer = Peer::parse(text).unwrap();
        assert_eq!((peer.name().as_str(), peer.url.as_str()), (name, url));
    }
    for bad in [
        "bob",
        "bob=",
        "=https://a.example",
        "a b=https://a.example",
        "bob=ftp://a",
        "bob=https://user:word@a.example",
        "a/b/c=https://a.example",
    ] {
        assert!(Peer::parse(bad).is_err(), "{bad}");
    }
    let mut peer = Peer::parse("bob=https://a.example").unwrap();
    peer.token = Some("hush".to_owned());
    assert!(!format!("{peer:?}").contains("hush"));
    assert!(Duration::from_mins(1) < Peers::new(vec![peer], false, None).unwrap().patience);
}
