//! Two servers that share four shards: whichever is asked, the owner answers.

use std::net::SocketAddr;

use baton::{Baton, Options};
use baton_core::access::Grant;
use baton_server::access::{Tokens, Wanted};
use baton_server::{Cluster, ClusterHandle, HOME, Quota, Routes, ServerStatus, Settings, shard_of};
use serde_json::json;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::callers::http::Http;
use crate::callers::socket::Socket;
use crate::harness::{eventually, in_memory, settings, within};

const SHARDS: u32 = 4;

/// A server of the cluster.
struct Member {
    address: SocketAddr,
    handle: ClusterHandle,
    stop: oneshot::Sender<()>,
    running: JoinHandle<()>,
}

impl Member {
    async fn new(settings: Settings) -> Self {
        let server = Cluster::bind(settings, None).await.expect("there is a free port");
        let (address, handle) = (server.address(), server.handle());
        let (stop, stopped) = oneshot::channel();
        let running = tokio::spawn(server.run(async {
            let _ = stopped.await;
        }));
        Self { address, handle, stop, running }
    }

    async fn http(&self) -> Http {
        Http::connect(self.address).await
    }
}

struct Two {
    members: [Member; 2],
    /// The owners of the shards.
    owners: Vec<Option<usize>>,
}

impl Two {
    /// The first server owns shards 0 and 2, the second 1 and 3.
    async fn new(settings: &Settings) -> Self {
        let members = [Member::new(settings.clone()).await, Member::new(settings.clone()).await];
        let mut two = Self { members, owners: vec![None; SHARDS as usize] };
        for shard in 0..SHARDS {
            two.adopt(shard, shard as usize % 2, in_memory(Options::default())).await;
        }
        two.publish();
        two
    }

    async fn adopt(&mut self, shard: u32, member: usize, baton: Baton) {
        self.members[member].handle.adopt(shard, SHARDS, baton).await;
        self.owners[shard as usize] = Some(member);
    }

    /// Tells both who owns what.
    fn publish(&self) {
        let server = |index: usize| ServerStatus {
            id: format!("server-{index}"),
            address: format!("http://{}", self.members[index].address),
            ..ServerStatus::default()
        };
        for (index, member) in self.members.iter().enumerate() {
            let owners = self.owners.iter();
            member.handle.set_routes(Routes {
                me: server(index).id,
                secret: "of the schema".to_owned(),
                servers: vec![server(0), server(1)],
                owners: owners.map(|owner| owner.map(|index| server(index).id)).collect(),
                is_leaving: false,
            });
        }
    }

    async fn end(self) {
        for member in self.members {
            let _ = member.stop.send(());
            within(member.running).await.expect("the server ends well");
        }
    }
}

/// The name of a workspace in a shard, one of several.
fn workspace(shard: u32, number: usize) -> String {
    let mut names = (0..).map(|number| format!("w{number}"));
    let is_there = |name: &String| shard_of(name, SHARDS) == shard;
    names.by_ref().filter(is_there).nth(number).expect("there are enough names")
}

#[tokio::test]
async fn every_workspace_is_served_at_every_server() {
    let two = Two::new(&settings()).await;
    let mut everywhere: Vec<String> = Vec::new();
    for shard in 0..SHARDS {
        let name = workspace(shard, 0);
        let path = format!("/v1/{name}/state/shared/plan");
        for (number, member) in two.members.iter().enumerate() {
            let mut http = member.http().await;
            let written = http.put(&path, &json!({"from": number})).await;
            assert_eq!(written.status, 200, "{written:?}");
            assert_eq!(written.json()["version"], number + 1);
            // More than is kept in memory to be sent again.
            let artifacts = format!("/v1/{name}/artifacts");
            let stored = http.request("PUT", &artifacts, &[], vec![b'x'; 3 << 20]).await;
            assert!(stored.status < 300, "{}", stored.status);
        }
        for member in &two.members {
            let mut http = member.http().await;
            assert_eq!(http.get(&path).await.json()["value"], json!({"from": 1}));
            let refused = http.get(&format!("/v1/{name}/state/shared/none")).await.problem();
            assert_eq!(refused, (404, "state.not_found".to_owned()));
        }
        everywhere.push(name);
    }
    everywhere.sort();
    for member in &two.members {
        let mut http = member.http().await;
        let list = http.get("/v1/w0/workspaces").await.json();
        let names: Vec<&str> = list["workspaces"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["id"].as_str().unwrap())
            .collect();
        assert_eq!(names, everywhere, "{list}");
        let page = http.get("/v1/w0/workspaces?limit=3").await.json();
        assert_eq!(page["cursor"], everywhere[2].as_str(), "{page}");
        let metrics = String::from_utf8(http.get("/metrics").await.body).unwrap();
        assert!(metrics.contains("baton_shards 2"), "{metrics}");
        assert!(!metrics.contains("baton_forwarded_total 0"), "{metrics}");
        let status = http.get("/v1/access/cluster").await.json();
        assert_eq!((&status["shards"], &status["unowned"]), (&json!(4), &json!([])), "{status}");
        assert_eq!(http.get("/readyz").await.status, 200);
        assert_eq!(http.get("/healthz").await.json()["role"], "member");
    }
    two.end().await;
}

#[tokio::test]
async fn one_websocket_uses_workspaces_of_all_owners() {
    let two = Two::new(&settings()).await;
    for protocol in ["baton.v1.json", "baton.v1.msgpack"] {
        let mut socket = Socket::connect(two.members[0].address, Some(protocol)).await;
        for shard in 0..SHARDS {
            let name = workspace(shard, 1);
            let watch = json!({"workspace": name, "command": "watch", "pattern": "**"});
            let begun = socket.ask(watch).await;
            let watch = begun["result"]["watch"].as_u64().unwrap_or_else(|| panic!("{begun}"));
            let set = json!({"workspace": name, "command": "state.set", "namespace": "shared",
                             "key": protocol, "value": shard});
            let answer = socket.ask(set).await;
            assert_eq!(answer["result"]["value"], shard, "{answer}");
            let pushed = socket.pushed(watch).await;
            assert_eq!(pushed["event"]["workspace"].as_str().unwrap_or(&name), name, "{pushed}");
            let ended = socket.ask(json!({"command": "unwatch", "watch": watch})).await;
            assert!(ended.get("error").is_none(), "{ended}");
        }
        let pong = socket.ask(json!({"command": "ping"})).await;
        assert!(pong.get("error").is_none(), "{pong}");
        let refused = socket.ask(json!({"command": "state.get"})).await;
        assert_eq!(refused["error"]["kind"], "invalid", "{refused}");
    }
    two.end().await;
}

#[tokio::test]
async fn a_request_waits_for_an_owner_and_is_never_forwarded_twice() {
    let mut two = Two::new(&settings()).await;
    let path = format!("/v1/{}/state/shared/plan", workspace(1, 0));
    let mut http = two.members[0].http().await;
    assert_eq!(http.put(&path, &json!(1)).await.status, 200);
    two.members[1].handle.release(1).await;
    two.owners[1] = None;
    two.publish();
    let body = "2";
    let head = format!("PUT {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\n\r\n{body}");
    http.send(head).await;
    // It has arrived: the next request on another connection is answered after it.
    assert_eq!(two.members[0].http().await.get("/healthz").await.status, 200);
    two.adopt(1, 0, in_memory(Options::default())).await;
    two.publish();
    assert_eq!(http.response().await.json()["value"], 2);
    let forwarded = [("baton-forwarded", "1"), ("baton-shard", "1")];
    let answer = two.members[1].http().await.request("GET", &path, &forwarded, "").await;
    assert_eq!(answer.problem(), (503, "cluster.elsewhere".to_owned()));
    // A wrong route is refused by the engine.
    let wrong = [("baton-forwarded", "1"), ("baton-shard", "0")];
    let answer = two.members[0].http().await.request("GET", &path, &wrong, "").await;
    assert_eq!(answer.problem(), (503, "cluster.elsewhere".to_owned()));
    two.end().await;
}

#[tokio::test]
async fn what_one_shard_cannot_do_is_refused() {
    let two = Two::new(&settings()).await;
    let mut http = two.members[0].http().await;
    let (from, near, far) = (workspace(1, 0), workspace(1, 1), workspace(2, 0));
    let path = format!("/v1/{from}/state/shared/plan");
    assert_eq!(http.put(&path, &json!(1)).await.status, 200);
    let fork = format!("/v1/{from}/fork");
    let refused = http.post(&fork, &json!({"to": far})).await.problem();
    assert_eq!(refused, (400, "cluster.fork_elsewhere".to_owned()));
    assert_eq!(http.post(&fork, &json!({"to": near})).await.status, 200);
    assert_eq!(http.get(&format!("/v1/{near}/state/shared/plan")).await.json()["value"], 1);
    let refused = http.get("/v1/access/backup").await.problem();
    assert_eq!(refused, (400, "cluster.backup".to_owned()));
    assert_eq!(http.get("/cluster/tokens").await.problem().0, 404, "it needs the secret");
    two.end().await;
}

#[tokio::test]
async fn tokens_are_known_to_all_servers() {
    let mut two = Two::new(&Settings { tokens: true, ..settings() }).await;
    let home = shard_of(HOME, SHARDS);
    let owner = home as usize % 2;
    let baton = in_memory(Options::default());
    let wanted = Wanted {
        name: "admin".to_owned(),
        grant: Grant::admin(),
        ttl_ms: None,
        quota: Quota::default(),
    };
    let tokens = Tokens::of(&baton).expect("memory does not fail");
    let admin = tokens.create(wanted).await.expect("it is the first").token;
    two.members[owner].handle.release(home).await;
    two.adopt(home, owner, baton).await;
    let bearer = |token: &str| format!("Bearer {token}");
    let admin = bearer(&admin);
    for number in 0..SHARDS {
        let path = format!("/v1/{}/state/shared/plan", workspace(number, 0));
        for member in &two.members {
            let mut http = member.http().await;
            let headers = [("authorization", admin.as_str())];
            assert_eq!(http.request("PUT", &path, &headers, "1").await.status, 200);
            assert_eq!(http.request("PUT", &path, &[], "1").await.problem().0, 401);
        }
    }
    // Created at one server, a token is valid at the other at once.
    let mut http = two.members[1 - owner].http().await;
    let wanted = json!({"name": "worker", "grant": {"role": "worker"}}).to_string();
    let headers = [("authorization", admin.as_str()), ("content-type", "application/json")];
    let made = http.request("POST", "/v1/access/tokens", &headers, &wanted).await;
    assert_eq!(made.status, 201, "{made:?}");
    let (id, worker) = (made.json()["id"].clone(), made.json()["token"].clone());
    let worker = bearer(worker.as_str().unwrap());
    let elsewhere = (0..SHARDS).find(|shard| *shard as usize % 2 != owner).unwrap();
    let path = format!("/v1/{}/state/shared/plan", workspace(elsewhere, 0));
    let as_worker = [("authorization", worker.as_str())];
    assert_eq!(http.request("PUT", &path, &as_worker, "2").await.status, 200);
    let revoke = format!("/v1/access/tokens/{}", id.as_str().unwrap());
    let revoked = http.request("DELETE", &revoke, &headers[..1], "").await;
    assert_eq!(revoked.status, 200, "{revoked:?}");
    eventually("a revoked token is refused everywhere", async || {
        http.request("PUT", &path, &as_worker, "3").await.status == 401
    })
    .await;
    two.end().await;
}
