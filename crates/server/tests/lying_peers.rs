//! A server of the cluster that knows the secret, and lies or is broken: what it says is not taken
//! for what is true, and nothing is reported as done that may not be.

use std::net::SocketAddr;

use ring::hmac::{HMAC_SHA256, Key, sign};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::cluster::{Two, workspace};
use crate::harness::settings;

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
