//! A server of the cluster that knows the secret, and lies or is broken: what it says is not taken
//! for what is true, and nothing is reported as done that may not be.

use std::net::SocketAddr;

use baton_core::access::Role;
use baton_server::{HOME, shard_of};
use ring::hmac::{HMAC_SHA256, Key, sign};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::callers::http::Http;
use crate::cluster::{SHARDS, Two, workspace};
use crate::elsewhere::guarded;
use crate::harness::{eventually, settings};

/// The secret and the id of the second of two servers.
const SECRET: &str = "of the schema";
const ID: &str = "server-1";

/// A server that proves itself, and then answers everything with the same bytes.
struct Liar {
    address: SocketAddr,
}

impl Liar {
    async fn new(lie: impl Into<String>) -> Self {
        let lie = lie.into();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("there is a free port");
        let address = listener.local_addr().expect("it listens");
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer_all(stream, lie.clone()));
            }
        });
        Self { address }
    }

    /// A cluster in which it is at the address of the second server.
    fn instead_of_the_second(self, two: &mut Two) {
        two.advertised.insert(1, format!("http://{}", self.address));
        two.publish();
    }
}

async fn answer_all(mut stream: TcpStream, lie: String) {
    while let Some(head) = received(&mut stream).await {
        let nonce = header(&head, "baton-nonce").filter(|_| head.starts_with("GET /cluster/proof"));
        let answer = match nonce {
            Some(nonce) => {
                let key = Key::new(HMAC_SHA256, SECRET.as_bytes());
                let tag = sign(&key, format!("baton server proof\0{nonce}\0{ID}").as_bytes());
                let proof = [tag.as_ref(), ID.as_bytes()].concat();
                let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", proof.len());
                [head.as_bytes(), &proof].concat()
            }
            None => lie.clone().into_bytes(),
        };
        if stream.write_all(&answer).await.is_err() {
            return;
        }
    }
}

/// The head of the next request, after its body was received, too.
async fn received(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let length = header(&head, "content-length").and_then(|length| length.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).await.ok()?;
    Some(head)
}

fn header(head: &str, name: &str) -> Option<String> {
    let lines = head.lines().filter_map(|line| line.split_once(':'));
    let mut found = lines.filter(|(given, _)| given.eq_ignore_ascii_case(name));
    found.next().map(|(_, value)| value.trim().to_owned())
}

fn with_body(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

#[tokio::test]
async fn a_list_of_workspaces_is_complete_or_refused() {
    let mut two = Two::new(&settings()).await;
    let (mine, path) = (workspace(0, 0), format!("/v1/{}/workspaces", workspace(0, 0)));
    let mut http = two.members[0].http().await;
    assert_eq!(http.put(&format!("/v1/{mine}/state/shared/plan"), &json!(1)).await.status, 200);
    // Numbers of shards that do not exist do not make a list complete.
    let shards = json!({"revision": 0, "shards": [7, 8], "workspaces": [], "has_more": false});
    for lie in [with_body(&shards.to_string()), with_body("<html>"), "SSH-2.0-lie\r\n".to_owned()] {
        Liar::new(lie.clone()).await.instead_of_the_second(&mut two);
        let refused = http.get(&path).await;
        assert_eq!(refused.problem(), (503, "log.away".to_owned()), "{lie}");
    }
    two.end().await;
}

#[tokio::test]
async fn workspaces_of_shards_that_a_server_does_not_have_are_not_listed() {
    let mut two = Two::new(&settings()).await;
    let of = |number: usize| json!({"id": workspace(3, number), "revision": 1});
    let ghost = json!({"id": workspace(0, 1), "revision": 1});
    let lie = json!({
        "revision": 0, "shards": [1, 3], "workspaces": [ghost, of(0), of(0)], "has_more": false
    });
    Liar::new(with_body(&lie.to_string())).await.instead_of_the_second(&mut two);
    let path = format!("/v1/{}/workspaces", workspace(0, 0));
    let listed = two.members[0].http().await.get(&path).await.json();
    assert_eq!(listed["workspaces"], json!([of(0)]), "{listed}");
    two.end().await;
}

#[tokio::test]
async fn tokens_that_cannot_be_read_admit_nobody_and_are_asked_for_again() {
    let (mut two, bearers) = guarded([(Role::Worker, None)]).await;
    assert_eq!(shard_of(HOME, SHARDS) % 2, 1, "the second server has the tokens");
    let path = format!("/v1/{}/state/shared/plan", workspace(0, 0));
    let headers = [("authorization", bearers[0].as_str())];
    let first = two.members[0].address;
    let status =
        async || Http::connect(first).await.request("PUT", &path, &headers, "1").await.status;
    for lie in [with_body("<html>"), with_body(r#"[{"id": 5}]"#), "SSH-2.0-lie\r\n".to_owned()] {
        // A connection that was kept would be used for the next server with its id.
        let lie = lie.replacen("\r\n", "\r\nconnection: close\r\n", 1);
        Liar::new(lie.clone()).await.instead_of_the_second(&mut two);
        assert_eq!(status().await, 401, "{lie}");
    }
    two.advertised.clear();
    two.publish();
    eventually("the token is learned from the server that has it", async || status().await == 200)
        .await;
    two.end().await;
}

#[tokio::test]
async fn a_server_that_denies_to_have_its_shard_is_not_asked_for_ever() {
    let mut two = Two::new(&settings()).await;
    let denial =
        "HTTP/1.1 503 Service Unavailable\r\nbaton-elsewhere: 1\r\ncontent-length: 0\r\n\r\n";
    Liar::new(denial).await.instead_of_the_second(&mut two);
    let path = format!("/v1/{}/state/shared/plan", workspace(1, 0));
    let refused = two.members[0].http().await.put(&path, &json!(1)).await;
    assert_eq!(refused.problem(), (503, "cluster.no_owner".to_owned()));
    two.end().await;
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_is_an_unknown_outcome() {
    let mut two = Two::new(&settings()).await;
    let path = format!("/v1/{}/state/shared/plan", workspace(1, 0));
    for lie in ["SSH-2.0-lie\r\n", "HTTP/1.1 200 OK\r\ncontent-length: a lot\r\n\r\n"] {
        Liar::new(lie).await.instead_of_the_second(&mut two);
        let refused = two.members[0].http().await.put(&path, &json!(1)).await;
        assert_eq!(refused.problem(), (503, "cluster.owner_lost".to_owned()), "{lie}");
    }
    let status = two.members[0].http().await.get("/v1/access/cluster").await.json();
    assert_eq!(status["servers"][1].get("counters"), None, "{status}");
    two.end().await;
}
