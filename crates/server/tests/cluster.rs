//! Two servers that share four shards: whichever is asked, the owner answers.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;

use baton::clock::SystemClock;
use baton::{Baton, Options};
use baton_cluster::{EncryptedSecrets, SecretsKey};
use baton_core::access::Grant;
use baton_log::{Log, MemoryLog};
use baton_server::access::{Tokens, Wanted};
use baton_server::{
    Cluster, ClusterHandle, DrainRequest, HOME, Otel, Routes, ServerStatus, Settings, shard_of,
};
use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::callers::http::Http;
use crate::callers::socket::Socket;
use crate::harness::{eventually, in_memory, settings, within};

pub(crate) const SHARDS: u32 = 4;

/// A server of the cluster.
pub(crate) struct Member {
    pub(crate) address: SocketAddr,
    handle: ClusterHandle,
    /// The requests of operators at this server.
    pub(crate) drains: Option<mpsc::Receiver<DrainRequest>>,
    stop: oneshot::Sender<()>,
    running: JoinHandle<()>,
}

impl Member {
    pub(crate) async fn new(settings: Settings) -> Self {
        let mut server = Cluster::bind(settings, None).await.expect("there is a free port");
        let drains = server.drains();
        let (address, handle) = (server.address(), server.handle());
        let (stop, stopped) = oneshot::channel();
        let running = tokio::spawn(server.run(async {
            let _ = stopped.await;
        }));
        Self { address, handle, drains, stop, running }
    }

    /// Gives it the view of the other servers from now on.
    pub(crate) fn see(&self, routes: Routes) {
        self.handle.set_routes(routes);
    }

    pub(crate) async fn http(&self) -> Http {
        Http::connect(self.address).await
    }
}

pub(crate) struct Two {
    pub(crate) members: Vec<Member>,
    /// The owners of the shards.
    pub(crate) owners: Vec<Option<usize>>,
    /// The addresses that servers advertise instead of their own.
    pub(crate) advertised: BTreeMap<usize, String>,
    /// Servers that were declared gone.
    pub(crate) gone: BTreeSet<usize>,
    /// Servers that give their shards away.
    pub(crate) draining: BTreeSet<usize>,
}

impl Two {
    /// The first server owns shards 0 and 2, the second 1 and 3.
    pub(crate) async fn new(settings: &Settings) -> Self {
        let two = Self::starting(settings).await;
        two.publish();
        two
    }

    /// Neither of them knows yet how many shards there are.
    pub(crate) async fn starting(settings: &Settings) -> Self {
        let members =
            vec![Member::new(settings.clone()).await, Member::new(settings.clone()).await];
        let mut two = Self {
            members,
            owners: vec![None; SHARDS as usize],
            advertised: BTreeMap::new(),
            gone: BTreeSet::new(),
            draining: BTreeSet::new(),
        };
        for shard in 0..SHARDS {
            two.adopt(shard, shard as usize % 2, in_memory(Options::default())).await;
        }
        two
    }

    /// One more server, which owns nothing.
    pub(crate) fn join(&mut self, member: Member) {
        self.members.push(member);
    }

    pub(crate) async fn adopt(&mut self, shard: u32, member: usize, baton: Baton) {
        self.members[member].handle.adopt(shard, SHARDS, baton).await;
        self.owners[shard as usize] = Some(member);
    }

    /// The owner of a shard gives it back, and no server has it.
    pub(crate) async fn release(&mut self, shard: u32) {
        let owner = self.owners[shard as usize].take().expect("it has an owner");
        self.members[owner].handle.release(shard).await;
        self.publish();
    }

    /// The owner of a shard serves it with this engine from now on.
    pub(crate) async fn replace(&mut self, shard: u32, baton: Baton) {
        let owner = self.owners[shard as usize].expect("it has an owner");
        self.members[owner].handle.release(shard).await;
        self.adopt(shard, owner, baton).await;
    }

    /// Tells all who owns what.
    pub(crate) fn publish(&self) {
        for (index, member) in self.members.iter().enumerate() {
            member.see(self.routes(index));
        }
    }

    /// The view of a server.
    pub(crate) fn routes(&self, me: usize) -> Routes {
        let server = |index: usize| ServerStatus {
            id: format!("server-{index}"),
            address: match self.advertised.get(&index) {
                Some(url) => url.clone(),
                None => format!("http://{}", self.members[index].address),
            },
            draining: self.draining.contains(&index),
            ..ServerStatus::default()
        };
        let present = (0..self.members.len()).filter(|index| !self.gone.contains(index));
        let owners = self.owners.iter();
        Routes {
            me: server(me).id,
            secret: "of the schema".to_owned(),
            servers: present.map(server).collect(),
            owners: owners.map(|owner| owner.map(|index| server(index).id)).collect(),
            ..Routes::default()
        }
    }

    pub(crate) async fn end(self) {
        for member in self.members {
            let _ = member.stop.send(());
            within(member.running).await.expect("the server ends well");
        }
    }
}

/// The name of a workspace in a shard, one of several.
pub(crate) fn workspace(shard: u32, number: usize) -> String {
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
        assert!(metrics.contains("baton_owner_wait_seconds_count 0"), "{metrics}");
        let status = http.get("/v1/access/cluster").await.json();
        assert_eq!((&status["shards"], &status["unowned"]), (&json!(4), &json!([])), "{status}");
        for server in status["servers"].as_array().expect("there are two") {
            assert_ne!(server["counters"]["forwarded"], 0, "every server is asked: {status}");
            assert_eq!(server["counters"]["forward_failures"], 0, "{status}");
        }
        // Routes of a while ago would not do.
        two.publish();
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
    let mut other = two.members[0].http().await;
    eventually("it waits", async || {
        let metrics = String::from_utf8(other.get("/metrics").await.body).unwrap();
        metrics.contains("baton_owner_waiting 1")
    })
    .await;
    two.adopt(1, 0, in_memory(Options::default())).await;
    two.publish();
    assert_eq!(http.response().await.json()["value"], 2);
    let metrics = String::from_utf8(http.get("/metrics").await.body).unwrap();
    assert!(metrics.contains("baton_owner_wait_seconds_count 1"), "{metrics}");
    assert!(metrics.contains("baton_owner_waiting 0"), "{metrics}");
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
async fn a_request_names_the_server_also_if_it_is_forwarded() {
    let two = Two::new(&settings()).await;
    let mut http = two.members[0].http().await;
    for shard in 0..SHARDS {
        let path = format!("/v1/{}/state/shared/plan", workspace(shard, 0));
        for (target, host, expected) in [
            (format!("http://evil.example{path}"), "localhost", 403),
            (path.clone(), "evil.example", 403),
            (format!("http://LocalHost{path}"), "localhost", 404),
        ] {
            let head = format!("GET {target} HTTP/1.1\r\nhost: {host}\r\n\r\n");
            http.send(head).await;
            let problem = http.response().await.problem();
            let code = if expected == 403 { "request.denied_host" } else { "state.not_found" };
            assert_eq!(problem, (expected, code.to_owned()), "{target} {host}");
        }
    }
    http.send("GET http://evil.example/v1/ws HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    assert_eq!(http.response().await.problem(), (403, "request.denied_host".to_owned()));
    // Health checks call it by any name.
    http.send("GET http://evil.example/readyz HTTP/1.1\r\nhost: evil.example\r\n\r\n").await;
    assert_eq!(http.response().await.status, 200);
    two.end().await;
}

#[tokio::test]
async fn requests_between_servers_need_their_secret() {
    let two = Two::new(&settings()).await;
    let mut http = two.members[0].http().await;
    for (method, path) in [
        ("GET", "/cluster/tokens"),
        ("GET", "/cluster/workspaces"),
        ("POST", "/cluster/fork?to=w1"),
    ] {
        assert_eq!(http.request(method, path, &[], "").await.problem().0, 404, "{path}");
    }
    two.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_contains_the_shards_of_all_servers() {
    let mut two = Two::new(&settings()).await;
    let mut http = two.members[0].http().await;
    let names: Vec<String> = (0..SHARDS).map(|shard| workspace(shard, 0)).collect();
    for name in &names {
        let path = format!("/v1/{name}/state/shared/plan");
        assert_eq!(http.put(&path, &json!(name)).await.status, 200);
    }
    for member in &two.members {
        let saved = member.http().await.get("/v1/access/backup").await;
        let found = baton::backup::verify(&saved.body[..]).expect("it is complete").workspaces;
        let found: Vec<&str> = found.iter().map(|entry| entry.workspace.as_str()).collect();
        let mut expected: Vec<&str> = names.iter().map(String::as_str).collect();
        expected.sort_unstable();
        assert_eq!(found, expected);
    }
    // A shard without an owner is awaited, so that nothing is left out.
    two.members[1].handle.release(3).await;
    two.owners[3] = None;
    two.publish();
    http.send("GET /v1/access/backup HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    two.adopt(3, 0, in_memory(Options::default())).await;
    two.publish();
    let found = baton::backup::verify(&http.response().await.body[..]).expect("it is complete");
    assert_eq!(found.workspaces.len(), names.len() - 1, "the new engine of a shard is empty");
    two.end().await;
}

/// Each shard's server notes in its own `baton.access` which spans it has exported.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_of_servers_that_export_spans_has_the_tokens_once() {
    let collector = Otel::new("http://127.0.0.1:9", None).expect("nothing listens there");
    let settings = Settings { otel: Some(collector), ..settings() };
    let mut two = Two::starting(&settings).await;
    let engines: Vec<Baton> = (0..SHARDS).map(|_| in_memory(Options::default())).collect();
    for (shard, engine) in (0..SHARDS).zip(&engines) {
        two.adopt(shard, shard as usize % 2, engine.clone()).await;
    }
    two.publish();
    for engine in &engines {
        let noted = engine.workspace(HOME).expect("it has a name").state("shared");
        eventually("it is noted", async || noted.get("otel/since").await.is_ok()).await;
    }
    let mut http = two.members[0].http().await;
    let saved = http.get("/v1/access/backup").await;
    let found = baton::backup::verify(&saved.body[..]).expect("it is complete").workspaces;
    let found: Vec<&str> = found.iter().map(|entry| entry.workspace.as_str()).collect();
    assert_eq!(found, [HOME]);
    // No list names it, since no call can access it.
    assert_eq!(http.get("/v1/w0/workspaces").await.json()["workspaces"], json!([]));
    two.end().await;
}

/// An engine on the log of a shard, of a server that has this key.
fn engine(log: &Arc<MemoryLog>, key: Option<&str>) -> Baton {
    let key = key.map(|digit| SecretsKey::parse(digit.repeat(64).as_bytes()).expect("a key"));
    let log = EncryptedSecrets::new(Arc::clone(log), key.map(Arc::new));
    Baton::on(log, SystemClock::default(), Options::default()).expect("memory does not fail")
}

/// Whether any blob of a log has these bytes.
fn is_readable(log: &MemoryLog, bytes: &[u8]) -> bool {
    log.list_blobs("").expect("memory does not fail").iter().any(|name| {
        let blob = log.open_blob(name).expect("memory does not fail").expect("it is listed");
        let mut content = vec![0; usize::try_from(blob.len()).expect("it is small")];
        blob.read_at(0, &mut content).expect("it has as many");
        content.windows(bytes.len()).any(|window| window == bytes)
    })
}

#[tokio::test]
async fn a_secret_is_encrypted_in_the_log_and_revealed_by_every_owner_with_the_key() {
    const VALUE: &str = "the password of the fleet";
    let mut two = Two::new(&settings()).await;
    let log = Arc::new(MemoryLog::default());
    two.members[1].handle.release(1).await;
    two.adopt(1, 1, engine(&log, Some("a"))).await;
    let secrets = format!("/v1/{}/secrets", workspace(1, 0));
    let mut http = two.members[0].http().await;
    let put = http.request("PUT", &secrets, &[], VALUE).await;
    assert!(put.status < 300, "{put:?}");
    let one = format!("{secrets}/{}", put.json()["secret"].as_str().expect("its reference"));
    let reveal = format!("{one}/reveal");
    assert_eq!(http.request("POST", &reveal, &[], "").await.body, VALUE.as_bytes());
    assert!(!is_readable(&log, VALUE.as_bytes()));
    // A fork within the shard has the secret, and so has the next owner.
    let fork = format!("/v1/{}/fork", workspace(1, 0));
    assert_eq!(http.post(&fork, &json!({"to": workspace(1, 1)})).await.status, 200);
    two.members[1].handle.release(1).await;
    two.adopt(1, 0, engine(&log, Some("a"))).await;
    two.publish();
    let forked = reveal.replace(&workspace(1, 0), &workspace(1, 1));
    let mut other = two.members[1].http().await;
    for path in [&reveal, &forked] {
        assert_eq!(other.request("POST", path, &[], "").await.body, VALUE.as_bytes(), "{path}");
    }
    assert!(!is_readable(&log, VALUE.as_bytes()));
    // A server without the key gives nothing out and stores nothing, but lists and deletes.
    two.members[0].handle.release(1).await;
    two.adopt(1, 0, engine(&log, None)).await;
    let refused = other.request("POST", &reveal, &[], "").await;
    assert_eq!(refused.problem(), (503, "secret.no_key".to_owned()));
    assert_eq!(refused.header("retry-after"), None, "waiting does not help");
    let refused = other.request("PUT", &secrets, &[], VALUE).await;
    assert_eq!(refused.problem(), (503, "secret.no_key".to_owned()));
    for to in [workspace(1, 2), workspace(2, 1)] {
        let refused = other.post(&fork, &json!({"to": to})).await;
        assert_eq!(refused.problem(), (503, "secret.no_key".to_owned()), "{to}");
    }
    let shown = other.get(&one).await.json();
    assert_eq!(shown["reveals"], 2, "what was refused is not recorded: {shown}");
    assert_eq!(other.delete(&one).await.status, 200);
    two.end().await;
}

#[tokio::test]
async fn tokens_are_known_to_all_servers() {
    let mut two = Two::new(&Settings { tokens: true, ..settings() }).await;
    let home = shard_of(HOME, SHARDS);
    let owner = home as usize % 2;
    let baton = in_memory(Options::default());
    let wanted =
        Wanted { name: "admin".to_owned(), grant: Grant::admin(), ttl_ms: None, quota: None };
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
