//! The interfaces with TLS: the same operations, the same limits, and no bypass.

use std::path::PathBuf;

use baton_server::{Identity, Settings};
use baton_tls::Trust;
use serde_json::json;
use tempfile::TempDir;
use tokio::net::TcpStream;

use crate::callers::http::Http;
use crate::callers::socket::Socket;
use crate::harness::{Harness, SHORT, settings, within};

/// A new certificate in a new folder.
pub(crate) struct Papers {
    _folder: TempDir,
    certificate: PathBuf,
    key: PathBuf,
}

impl Papers {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("there is room");
        let made =
            rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("it is a name");
        let (certificate, key) = (folder.path().join("chain.pem"), folder.path().join("key.pem"));
        std::fs::write(&certificate, made.cert.pem()).expect("there is room");
        std::fs::write(&key, made.signing_key.serialize_pem()).expect("there is room");
        Self { _folder: folder, certificate, key }
    }

    pub(crate) fn settings(&self) -> Settings {
        let identity = Identity::read(&self.certificate, &self.key).expect("they fit");
        Settings { tls: Some(identity), ..settings() }
    }

    pub(crate) fn trust(&self) -> Trust {
        Trust::of(Some(&self.certificate)).expect("it is one")
    }
}

#[tokio::test]
async fn every_interface_works_over_tls() {
    let papers = Papers::new();
    let trust = papers.trust();
    let harness = Harness::with(papers.settings()).await;
    let mut http = Http::secure(harness.address, &trust).await.unwrap();
    assert_eq!(http.put("/v1/w/state/shared/k", &json!(1)).await.status, 200);

    let mut events = Http::secure(harness.address, &trust).await.unwrap();
    events.send("GET /v1/w/watch?from=1 HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    assert_eq!(events.head().await.0, 200);
    let mut response = String::new();
    while !response.contains("state/shared/k") {
        let chunk = events.chunk().await.expect("the watch goes on");
        response += str::from_utf8(&chunk).unwrap();
    }

    let line = Http::secure(harness.address, &trust).await.unwrap();
    let (greeting, mut socket) = Socket::upgrade(line, &[]).await;
    assert_eq!(greeting.status, 101);
    let get = json!({"command": "state.get", "namespace": "shared", "key": "k"});
    assert_eq!(socket.ask(get).await["result"]["value"], 1);
    let watch = json!({"command": "watch", "pattern": "**"});
    assert_eq!(socket.ask(watch).await["error"], json!(null));
    // Larger than the buffers of TLS, in both directions.
    let large = "x".repeat(700_000);
    let set = json!({"command": "state.set", "namespace": "shared", "key": "k", "value": large});
    assert_eq!(socket.ask(set).await["result"]["value"], large.as_str());
    let (status, body) = {
        let response = http.get("/v1/w/state/shared/k").await;
        (response.status, response.json())
    };
    assert_eq!((status, body["value"].as_str()), (200, Some(large.as_str())));
    let baton = harness.end().await;
    drop(baton);
    assert_eq!(socket.closed_with().await, Some(1001), "the end is announced over TLS, too");
}

#[tokio::test]
async fn a_server_with_an_untrusted_certificate_is_not_called() {
    let harness = Harness::with(Papers::new().settings()).await;
    let Err(refused) = Http::secure(harness.address, &Papers::new().trust()).await else {
        panic!("a stranger was trusted")
    };
    assert_eq!(refused.code(), "tls.untrusted");
}

#[tokio::test]
async fn a_plain_text_client_is_told_to_use_tls() {
    let papers = Papers::new();
    let harness = Harness::with(papers.settings()).await;
    for text in ["GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n", "\r\n", "BREW"] {
        let mut plain = harness.http().await;
        plain.send(text).await;
        let response = plain.response().await;
        assert_eq!(response.problem(), (400, "request.plain_text".to_owned()));
        assert_eq!(plain.ends().await, b"");
    }
    let plain = Harness::new().await;
    let Err(refused) = Http::secure(plain.address, &papers.trust()).await else {
        panic!("there was TLS where there is none")
    };
    assert_eq!(refused.code(), "tls.plain_server");
}

#[tokio::test]
async fn incomplete_handshakes_are_dropped_and_delay_no_other_connection() {
    let papers = Papers::new();
    let trust = papers.trust();
    let harness = Harness::with(Settings { head_deadline: SHORT, ..papers.settings() }).await;
    // The beginning of a handshake, and then nothing; and nothing at all.
    let beginnings: [&[u8]; 3] = [b"", b"\x16", b"\x16\x03\x01\x02\x00\x01\x00"];
    let mut silent = Vec::new();
    for beginning in beginnings {
        let mut plain = harness.http().await;
        plain.send(beginning).await;
        silent.push(plain);
    }
    let mut others = Http::secure(harness.address, &trust).await.unwrap();
    assert_eq!(others.get("/healthz").await.status, 200, "others are served meanwhile");
    for mut plain in silent {
        assert_eq!(plain.ends().await, b"");
    }
    // A connection that sends nothing leaves nothing behind.
    drop(within(TcpStream::connect(harness.address)).await.unwrap());
    let mut others = Http::secure(harness.address, &trust).await.unwrap();
    let metrics = others.get("/metrics").await;
    assert_eq!(metrics.status, 200);
}

#[tokio::test]
async fn one_connection_too_many_is_refused_behind_tls() {
    let papers = Papers::new();
    let trust = papers.trust();
    let harness = Harness::with(Settings { connections_max: 1, ..papers.settings() }).await;
    let mut first = Http::secure(harness.address, &trust).await.unwrap();
    assert_eq!(first.get("/healthz").await.status, 200);
    let mut second = Http::secure(harness.address, &trust).await.unwrap();
    let response = second.response().await;
    assert_eq!(response.problem(), (429, "server.too_many_connections".to_owned()));
}

#[tokio::test]
async fn a_client_that_does_not_read_is_disconnected_with_tls_too() {
    let papers = Papers::new();
    let trust = papers.trust();
    let harness = Harness::with(Settings { write_deadline: SHORT, ..papers.settings() }).await;
    let mut writer = Http::secure(harness.address, &trust).await.unwrap();
    writer.put("/v1/w/state/shared/k", &json!("x".repeat(1_000_000))).await;
    let request = "GET /v1/w/state/shared/k HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let mut pipelining = Http::secure(harness.address, &trust).await.unwrap();
    pipelining.send(request.repeat(20)).await;
    let line = Http::secure(harness.address, &trust).await.unwrap();
    let (_, mut greedy) = Socket::upgrade(line, &[]).await;
    let get = json!({"id": 1, "workspace": "w", "command": "state.get",
                     "namespace": "shared", "key": "k"});
    let gets: Vec<u8> = (0..20).flat_map(|_| greedy.framed(&get)).collect();
    greedy.send_bytes(&gets).await;
    crate::harness::eventually("only the writer is left", async || {
        let response = writer.get("/metrics").await;
        String::from_utf8(response.body).unwrap().contains("\nbaton_connections 1\n")
    })
    .await;
}
