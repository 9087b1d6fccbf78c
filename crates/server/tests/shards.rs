//! A server with four engines, each with a thread of its own: whatever the first request of a
//! connection is for, it may use every workspace.

use std::net::SocketAddr;

use baton::Options;
use baton_core::access::Grant;
use baton_server::access::{Tokens, Wanted};
use baton_server::{Cluster, HOME, Routes, ServerStatus, Settings, shard_of};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::callers::http::Http;
use crate::callers::socket::{CLOSE, Socket};
use crate::cluster::{SHARDS, workspace};
use crate::harness::{in_memory, settings, within};

struct Divided {
    address: SocketAddr,
    /// The token of the administrator.
    admin: String,
    stop: oneshot::Sender<()>,
    running: JoinHandle<()>,
}

impl Divided {
    async fn new(settings: Settings) -> Self {
        let server = Cluster::bind(settings, None).await.expect("there is a free port");
        let server = server.with_threads(SHARDS).expect("there are enough threads");
        let (address, handle) = (server.address(), server.handle());
        let engines: Vec<_> = (0..SHARDS).map(|_| in_memory(Options::default())).collect();
        let tokens = Tokens::of(&engines[shard_of(HOME, SHARDS) as usize]).expect("it is new");
        let (name, grant) = ("admin".to_owned(), Grant::admin());
        let wanted = Wanted { name, grant, ttl_ms: None, quota: None };
        let admin = tokens.create(wanted).await.expect("it is the first").token;
        drop(tokens);
        for (shard, engine) in (0..).zip(engines) {
            handle.adopt(shard, SHARDS, engine).await;
        }
        let (id, shards) = ("alone".to_owned(), (0..SHARDS).collect());
        let server_status = ServerStatus { id: id.clone(), shards, ..ServerStatus::default() };
        handle.set_routes(Routes {
            me: id.clone(),
            servers: vec![server_status],
            owners: vec![Some(id); SHARDS as usize],
            is_fixed: true,
            ..Routes::default()
        });
        let (stop, stopped) = oneshot::channel();
        let running = tokio::spawn(server.run(async {
            let _ = stopped.await;
        }));
        Self { address, admin: format!("Bearer {admin}"), stop, running }
    }

    async fn http(&self) -> Http {
        Http::connect(self.address).await
    }

    /// A WebSocket of a client that says which workspace it will use.
    async fn socket(&self, workspace: &str, protocol: &str) -> Socket {
        let headers = [("baton-workspace", workspace), ("sec-websocket-protocol", protocol)];
        let (response, socket) = Socket::shake_hands(self.address, &headers).await;
        assert_eq!(response.status, 101, "{}", response.head);
        socket
    }

    async fn end(self) {
        let _ = self.stop.send(());
        within(self.running).await.expect("the server ends well");
    }
}

fn set(workspace: &str, key: &str, value: impl Into<Value>) -> Value {
    json!({"workspace": workspace, "command": "state.set", "namespace": "shared", "key": key,
           "value": value.into()})
}

#[tokio::test]
async fn a_websocket_uses_its_workspace_and_those_of_other_shards() {
    let server = Divided::new(settings()).await;
    for protocol in ["baton.v1.json", "baton.v1.msgpack"] {
        for first in 0..SHARDS {
            let mut socket = server.socket(&workspace(first, 0), protocol).await;
            for shard in (0..SHARDS).cycle().skip(first as usize).take(SHARDS as usize) {
                let name = workspace(shard, 0);
                let begun = socket
                    .ask(json!({"workspace": name, "command": "watch", "pattern": "**"}))
                    .await;
                let watch = begun["result"]["watch"].as_u64().unwrap_or_else(|| panic!("{begun}"));
                let answer = socket.ask(set(&name, protocol, shard)).await;
                assert_eq!(answer["result"]["value"], shard, "{answer}");
                let pushed = socket.pushed(watch).await;
                assert_eq!(pushed["event"]["subject"], format!("state/shared/{protocol}"));
                let ended = socket.ask(json!({"command": "unwatch", "watch": watch})).await;
                assert!(ended.get("error").is_none(), "{ended}");
                let again = socket.ask(json!({"command": "unwatch", "watch": watch})).await;
                assert_eq!(again["error"]["kind"], "invalid", "{again}");
            }
            let pong = socket.ask(json!({"command": "ping"})).await;
            assert!(pong.get("error").is_none(), "{pong}");
        }
    }
    server.end().await;
}

#[tokio::test]
async fn requests_for_all_shards_at_once_are_answered_in_order() {
    const ROUNDS: u64 = 10;
    const EACH: u64 = 50;
    let server = Divided::new(settings()).await;
    let names: Vec<String> = (0..SHARDS).map(|shard| workspace(shard, 0)).collect();
    let mut socket = server.socket(&names[0], "baton.v1.json").await;
    // Long enough that what is received at a time ends anywhere in a message.
    let padding = "x".repeat(4_000);
    let mut versions = vec![0; names.len()];
    for round in 0..ROUNDS {
        let count = EACH * u64::from(SHARDS);
        let mut bytes = Vec::new();
        for id in (1..=count).map(|number| round * count + number) {
            let name = &names[usize::try_from(id).unwrap() % names.len()];
            let mut request = set(name, "log", format!("{id} {padding}"));
            request["id"] = id.into();
            bytes.extend(socket.framed(&request));
        }
        socket.send_bytes(&bytes).await;
        for _ in 0..count {
            let answer = socket.next().await;
            let id = answer["id"].as_u64().unwrap_or_else(|| panic!("{answer}"));
            let version = &mut versions[usize::try_from(id).unwrap() % names.len()];
            *version += 1;
            assert_eq!(answer["result"]["version"], *version, "a workspace keeps its order");
        }
    }
    assert_eq!(versions, vec![ROUNDS * EACH; names.len()]);
    server.end().await;
}

#[tokio::test]
async fn a_websocket_that_names_no_workspace_uses_all_of_them() {
    let server = Divided::new(settings()).await;
    let mut socket = Socket::connect(server.address, Some("baton.v1.json")).await;
    for shard in 0..SHARDS {
        let answer = socket.ask(set(&workspace(shard, 0), "plan", shard)).await;
        assert_eq!(answer["result"]["value"], shard, "{answer}");
    }
    server.end().await;
}

#[tokio::test]
async fn one_http_connection_uses_all_workspaces() {
    let server = Divided::new(settings()).await;
    let mut http = server.http().await;
    let mut names = Vec::new();
    for shard in 0..SHARDS {
        let name = workspace(shard, 0);
        let path = format!("/v1/{name}/state/shared/plan");
        assert_eq!(http.put(&path, &json!(shard)).await.status, 200);
        assert_eq!(server.http().await.get(&path).await.json()["value"], shard);
        names.push(name);
    }
    names.sort();
    let listed = http.get("/v1/w0/workspaces").await.json();
    let found: Vec<_> = listed["workspaces"].as_array().expect("a list").iter().collect();
    let found = found.iter().map(|it| it["id"].as_str().unwrap()).filter(|name| *name != HOME);
    assert_eq!(found.collect::<Vec<_>>(), names);
    let (from, far) = (workspace(1, 0), workspace(2, 1));
    let forked = http.post(&format!("/v1/{from}/fork"), &json!({"to": far})).await;
    assert_eq!(forked.json()["id"], far.as_str(), "{forked:?}");
    assert_eq!(http.get(&format!("/v1/{far}/state/shared/plan")).await.json()["value"], 1);
    names.push(far);
    names.sort();
    let metrics = String::from_utf8(http.get("/metrics").await.body).unwrap();
    assert!(metrics.contains("baton_shards 4"), "{metrics}");
    assert_eq!(http.get("/healthz").await.json()["role"], "leader");
    assert_eq!(http.get("/readyz").await.json()["status"], "ready");
    let status = http.get("/v1/access/cluster").await.json();
    assert_eq!((&status["shards"], &status["unowned"]), (&json!(4), &json!([])), "{status}");
    for path in ["/v1/access/cluster/drain", "/v1/access/cluster/undrain"] {
        let refused = http.post(path, &json!({})).await;
        assert_eq!(refused.problem(), (400, "cluster.alone".to_owned()), "{path}");
    }
    let saved = http.get("/v1/access/backup").await;
    let saved = baton::backup::verify(&saved.body[..]).expect("it is complete").workspaces;
    let mut saved: Vec<_> = saved.iter().map(|entry| entry.workspace.as_str()).collect();
    saved.retain(|name| *name != HOME);
    assert_eq!(saved, names);
    assert_eq!(http.get("/cluster/tokens").await.problem().0, 404, "there is no other server");
    server.end().await;
}

#[tokio::test]
async fn a_token_is_known_in_every_shard_until_it_is_revoked() {
    let server = Divided::new(Settings { tokens: true, ..settings() }).await;
    let admin = server.admin.clone();
    let headers = [("authorization", admin.as_str()), ("content-type", "application/json")];
    let mut http = server.http().await;
    let wanted = json!({"name": "worker", "grant": {"role": "worker"}}).to_string();
    let made = http.request("POST", "/v1/access/tokens", &headers, &wanted).await;
    assert_eq!(made.status, 201, "{made:?}");
    let worker = format!("Bearer {}", made.json()["token"].as_str().unwrap());
    let path = |shard| format!("/v1/{}/state/shared/plan", workspace(shard, 0));
    let mut sockets = Vec::new();
    for shard in 0..SHARDS {
        let headers = [("authorization", worker.as_str())];
        assert_eq!(
            server.http().await.request("PUT", &path(shard), &headers, "1").await.status,
            200
        );
        assert_eq!(server.http().await.request("PUT", &path(shard), &[], "1").await.status, 401);
        let named = workspace(shard, 0);
        let headers = [("authorization", worker.as_str()), ("baton-workspace", &named)];
        let (response, mut socket) = Socket::shake_hands(server.address, &headers).await;
        assert_eq!(response.status, 101, "{}", response.head);
        let elsewhere = workspace((shard + 1) % SHARDS, 0);
        let answer = socket.ask(set(&elsewhere, "plan", 2)).await;
        assert_eq!(answer["result"]["value"], 2, "{answer}");
        sockets.push(socket);
    }
    let revoke = format!("/v1/access/tokens/{}", made.json()["id"].as_str().unwrap());
    assert_eq!(http.request("DELETE", &revoke, &headers, "").await.status, 200);
    for (shard, mut socket) in (0..).zip(sockets) {
        let headers = [("authorization", worker.as_str())];
        let refused = server.http().await.request("PUT", &path(shard), &headers, "1").await;
        assert_eq!(refused.status, 401, "{refused:?}");
        assert_eq!(socket.frame().await.expect("it is closed").0, CLOSE);
    }
    server.end().await;
}

#[tokio::test]
async fn a_shutdown_answers_the_requests_to_every_shard() {
    let server = Divided::new(settings()).await;
    let mut sockets = Vec::new();
    for shard in 0..SHARDS {
        let mut socket = server.socket(&workspace(shard, 0), "baton.v1.json").await;
        socket.ask(set(&workspace(shard, 0), "plan", 1)).await;
        sockets.push(socket);
    }
    let Divided { stop, running, .. } = server;
    let _ = stop.send(());
    for socket in &mut sockets {
        let (first, payload) = socket.frame().await.expect("it is closed");
        assert_eq!((first, &payload[..2]), (CLOSE, &1001_u16.to_be_bytes()[..]));
    }
    within(running).await.expect("the server ends well");
}
