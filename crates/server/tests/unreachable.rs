//! Servers of a cluster that cannot be reached where they say, and programs that answer instead.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use baton_server::Settings;
use baton_server::server_log::Level;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::callers::http::lines;
use crate::callers::socket::Socket;
use crate::cluster::{Two, workspace};
use crate::harness::{eventually, settings};
use crate::server_log::{next, server_log};

const TOKEN: &str = "Bearer baton_of-a-client";

/// A program at the address of a server: it answers everything, and keeps what it is sent.
struct Foreign {
    address: SocketAddr,
    received: Arc<Mutex<Vec<u8>>>,
}

impl Foreign {
    async fn new(body: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("there is a free port");
        let address = listener.local_addr().expect("it listens");
        let received = Arc::<Mutex<Vec<u8>>>::default();
        let all = Arc::clone(&received);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let all = Arc::clone(&all);
                tokio::spawn(async move {
                    let mut piece = vec![0; 16 << 10];
                    while let Ok(count @ 1..) = stream.read(&mut piece).await {
                        all.lock()
                            .unwrap_or_else(PoisonError::into_inner)
                            .extend_from_slice(&piece[..count]);
                        let length = body.len();
                        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n");
                        let answer = head + body;
                        if stream.write_all(answer.as_bytes()).await.is_err() {
                            return;
                        }
                    }
                });
            }
        });
        Self { address, received }
    }

    fn received(&self) -> String {
        let received = self.received.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&received).into_owned()
    }
}

/// Asks the first server for what the second owns, by HTTP and by WebSocket: both are refused.
async fn refused(two: &Two) -> [Value; 2] {
    let name = workspace(1, 0);
    let mut socket = Socket::connect(two.members[0].address, Some("baton.v1.json")).await;
    let get = json!({"id": 1, "workspace": name, "command": "state.get",
                     "namespace": "shared", "key": "plan"});
    socket.send(&get).await;
    let mut http = two.members[0].http().await;
    let path = format!("/v1/{name}/state/shared/plan");
    let headers = [("authorization", TOKEN)];
    let answer = http.request("PUT", &path, &headers, "\"a secret plan\"").await;
    assert_eq!(answer.problem(), (503, "cluster.owner_unreachable".to_owned()));
    let framed = socket.answer(1).await["error"].clone();
    assert_eq!(framed["code"], "cluster.owner_unreachable", "{framed}");
    [answer.json(), framed]
}

#[tokio::test]
async fn an_owner_that_cannot_be_reached_is_named_and_logged_once() {
    let (server_log, lines) = server_log(Level::Info);
    let mut two = Two::new(&Settings { server_log, ..settings() }).await;
    two.advertised.insert(1, "http://127.0.0.1:1".to_owned());
    two.publish();
    for problem in refused(&two).await {
        assert_eq!(problem["address"], "http://127.0.0.1:1", "{problem}");
    }
    let logged = next(&lines, "peer.unreachable");
    assert_eq!(logged["server"], "server-1", "{logged}");
    assert_eq!(logged["address"], "http://127.0.0.1:1", "{logged}");
    two.advertised.clear();
    two.publish();
    let path = format!("/v1/{}/state/shared/plan", workspace(1, 0));
    assert_eq!(two.members[0].http().await.put(&path, &json!(1)).await.status, 200);
    // Every attempt of five seconds has failed, and one line says so.
    let after = lines.recv_timeout(crate::harness::PATIENCE).expect("there is another line");
    assert!(after.contains("peer.well"), "{after}");
    two.end().await;
}

#[tokio::test]
async fn a_foreign_program_at_the_address_gets_nothing_and_is_not_trusted() {
    let mut two = Two::new(&settings()).await;
    let foreign =
        Foreign::new(r#"{"value": "a lie", "shards": [0, 1, 2, 3], "workspaces": []}"#).await;
    two.advertised.insert(1, format!("http://{}", foreign.address));
    two.publish();
    for problem in refused(&two).await {
        let reason = problem["reason"].as_str().unwrap_or_default();
        assert!(reason.contains("another program"), "{problem}");
    }
    let status = two.members[0].http().await.get("/v1/access/cluster").await.json();
    assert_eq!(status["servers"][1].get("counters"), None, "{status}");
    let received = foreign.received();
    assert!(received.contains("/cluster/proof"), "it is asked for a proof: {received}");
    for private in ["baton_of-a-client", "of the schema", "plan", "baton-peer"] {
        assert!(!received.contains(private), "it got `{private}`: {received}");
    }
    two.end().await;
}

#[tokio::test]
async fn the_wrong_one_of_two_servers_with_the_same_address_is_noticed() {
    let mut two = Two::new(&settings()).await;
    two.advertised.insert(1, format!("http://{}", two.members[0].address));
    two.publish();
    for problem in refused(&two).await {
        let reason = problem["reason"].as_str().unwrap_or_default();
        assert!(reason.contains("server-0") && reason.contains("--advertise"), "{problem}");
    }
    two.end().await;
}

#[tokio::test]
async fn an_owner_that_gives_its_shard_away_may_finish_its_answers() {
    let mut two = Two::new(&settings()).await;
    let name = workspace(1, 0);
    let path = format!("/v1/{name}/locks/door");
    let forwarded = [("baton-forwarded", "1"), ("baton-shard", "1"), ("baton-agent", "ada")];
    let mut owner = two.members[1].http().await;
    let held = owner.request("POST", &format!("{path}/acquire"), &forwarded, "{}").await;
    assert_eq!(held.status, 200, "{held:?}");
    let body = json!({"wait_ms": 3_600_000}).to_string();
    let length = body.len().to_string();
    let headers =
        lines(&[("host", "localhost"), ("baton-agent", "bob"), ("content-length", &length)]);
    let mut waiting = two.members[0].http().await;
    waiting.send(format!("POST {path}/acquire HTTP/1.1\r\n{headers}\r\n{body}")).await;
    eventually("bob waits at the owner", async || {
        let lock = owner.request("GET", &path, &forwarded, "").await.json();
        lock["waiters"].as_array().is_some_and(|waiters| waiters.len() == 1)
    })
    .await;
    // The first server sees another owner, while the former one still has the request.
    two.owners[1] = Some(0);
    two.publish();
    let release = json!({"token": held.json()["token"]}).to_string();
    let released = owner.request("POST", &format!("{path}/release"), &forwarded, release).await;
    assert_eq!(released.status, 200, "{released:?}");
    let answer = waiting.response().await;
    assert_eq!((answer.status, &answer.json()["holder"]), (200, &json!("bob")), "{answer:?}");
    two.end().await;
}

#[tokio::test]
async fn an_owner_that_was_declared_gone_is_not_awaited() {
    let mut two = Two::new(&settings()).await;
    let name = workspace(1, 0);
    let path = format!("/v1/{name}/locks/door");
    let mut owner = two.members[1].http().await;
    let ada = [("baton-agent", "ada")];
    let held = owner.request("POST", &format!("{path}/acquire"), &ada, "{}").await;
    assert_eq!(held.status, 200, "{held:?}");
    let body = json!({"wait_ms": 3_600_000}).to_string();
    let length = body.len().to_string();
    let headers =
        lines(&[("host", "localhost"), ("baton-agent", "bob"), ("content-length", &length)]);
    let mut waiting = two.members[0].http().await;
    waiting.send(format!("POST {path}/acquire HTTP/1.1\r\n{headers}\r\n{body}")).await;
    eventually("bob waits at the owner", async || {
        let lock = owner.get(&path).await.json();
        lock["waiters"].as_array().is_some_and(|waiters| waiters.len() == 1)
    })
    .await;
    two.owners = vec![Some(0), None, Some(0), None];
    two.gone.insert(1);
    two.publish();
    assert_eq!(waiting.response().await.problem(), (503, "cluster.owner_lost".to_owned()));
    two.end().await;
}
