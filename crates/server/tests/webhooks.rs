//! Webhooks: called when they should be, with the right content, and only where allowed.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use baton_server::{Identity, Settings, Webhooks};
use baton_tls::{Accepted, Stream};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, mpsc};

use crate::harness::{Harness, eventually, settings, within};

/// A received request.
struct Received {
    head: String,
    body: Value,
}

impl Received {
    fn header(&self, name: &str) -> &str {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(':'));
        let found = lines.find(|(field, _)| field.eq_ignore_ascii_case(name));
        found.map_or("", |(_, value)| value.trim())
    }
}

/// A webhook endpoint that answers with these statuses, one after the other.
struct Receiver {
    address: SocketAddr,
    received: Mutex<mpsc::UnboundedReceiver<Received>>,
}

impl Receiver {
    async fn new(statuses: &'static [&'static str]) -> Arc<Self> {
        Self::of(statuses, None).await
    }

    /// With TLS if there is an identity. A failed handshake is ignored.
    async fn of(statuses: &'static [&'static str], identity: Option<Identity>) -> Arc<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let (sender, received) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            let mut statuses = statuses.iter();
            while let Ok((socket, _)) = listener.accept().await {
                let Some(mut stream) = begun(socket, identity.as_ref()).await else { continue };
                let request = read(&mut stream).await;
                let status = statuses.next().unwrap_or(&"200 OK");
                let extra = "content-length: 0\r\nlocation: http://127.0.0.1:1/\r\n";
                let answer = format!("HTTP/1.1 {status}\r\n{extra}\r\n");
                let _ = stream.write_all(answer.as_bytes()).await;
                let _ = stream.flush().await;
                let _ = sender.send(request);
            }
        });
        Arc::new(Self { address, received: Mutex::new(received) })
    }

    async fn next(&self) -> Received {
        within(async { self.received.lock().await.recv().await.expect("it goes on") }).await
    }
}

/// A connection after the TLS handshake, if there is one.
async fn begun(socket: TcpStream, identity: Option<&Identity>) -> Option<Stream> {
    let Some(identity) = identity else { return Some(Stream::from(socket)) };
    match identity.accept(socket).await {
        Ok(Accepted::Secure(stream)) => Some(stream),
        Ok(Accepted::Plain(_)) => panic!("what should be encrypted came in plain text"),
        Err(_) => None,
    }
}

async fn read(stream: &mut Stream) -> Received {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n")
            && let Ok(body) = serde_json::from_str(body)
        {
            return Received { head: head.to_owned(), body };
        }
        let mut more = [0; 4096];
        let count = stream.read(&mut more).await.expect("the server sends");
        assert!(count > 0, "the request breaks off: {text}");
        bytes.extend_from_slice(&more[..count]);
    }
}

fn calling(private: bool) -> Settings {
    let webhooks = Webhooks::new(private, None).expect("no file is read");
    Settings { webhooks: Some(webhooks), ..settings() }
}

/// Settings that trust the authorities in a file.
fn believing(ca_file: &Path) -> Settings {
    let webhooks = Webhooks::new(true, Some(ca_file)).expect("it is a certificate");
    Settings { webhooks: Some(webhooks), ..settings() }
}

/// A certificate for a name, `chain.pem`, and its key in a folder.
fn papers(folder: &TempDir, name: &str) -> Identity {
    let made = rcgen::generate_simple_self_signed([name.to_owned()]).expect("it is a name");
    let (certificate, key) = (folder.path().join("chain.pem"), folder.path().join("key.pem"));
    std::fs::write(&certificate, made.cert.pem()).expect("there is room");
    std::fs::write(&key, made.signing_key.serialize_pem()).expect("there is room");
    Identity::read(&certificate, &key).expect("they fit")
}

async fn add(harness: &Harness, url: &str, rest: Value) {
    let mut webhook = rest;
    webhook["url"] = url.into();
    let body = json!({"on": {"type": "go"}, "webhook": webhook});
    let added = harness.http().await.put("/v1/w/reactions/tell", &body).await;
    assert_eq!(added.status, 200, "{:?}", added.json());
}

async fn emit(harness: &Harness) {
    let said = harness.http().await.post("/v1/w/events", &json!({"type": "go"})).await;
    assert_eq!(said.status, 200);
}

async fn kinds(harness: &Harness) -> Vec<String> {
    let path = "/v1/w/events?order=oldest&type=reaction.call*";
    let page = harness.http().await.get(path).await.json();
    let events = page["events"].as_array().expect("a page").clone();
    events
        .iter()
        .map(|event| event["type"].as_str().expect("events have types").to_owned())
        .collect()
}

/// The reason of the last failed attempt, or of the dead call.
async fn detail(harness: &Harness, kind: &str) -> String {
    let page = harness.http().await.get(&format!("/v1/w/events?type={kind}")).await.json();
    page["events"][0]["detail"].as_str().expect("it says why").to_owned()
}

async fn ends_with(harness: &Harness, kind: &str) {
    let what = format!("the last word is {kind}");
    eventually(&what, async || kinds(harness).await.last().is_some_and(|last| last == kind)).await;
}

#[tokio::test]
async fn a_webhook_call_contains_the_event_and_is_signed() {
    let receiver = Receiver::new(&[]).await;
    let harness = Harness::with(calling(true)).await;
    let url = format!("http://{}/hook?x=1", receiver.address);
    add(&harness, &url, json!({"secret": "hush-hush"})).await;
    emit(&harness).await;
    let received = receiver.next().await;
    assert!(received.head.starts_with("POST /hook?x=1 HTTP/1.1"), "{}", received.head);
    assert_eq!(received.body["reaction"], "tell");
    assert_eq!(received.body["event"]["type"], "go");
    assert_eq!(received.body["event"]["revision"], 2);
    let named = ["baton-workspace", "baton-reaction", "baton-call", "baton-attempt"];
    assert_eq!(named.map(|name| received.header(name)), ["w", "tell", "1", "1"]);
    assert!(received.header("baton-signature").starts_with("sha256="));
    assert!(received.header("baton-timestamp").parse::<u64>().unwrap() > 1_600_000_000);
    ends_with(&harness, "reaction.call_done").await;
    let everything = harness.http().await.get("/v1/w/events?limit=1000").await;
    let shown = harness.http().await.get("/v1/w/reactions/tell").await;
    for response in [everything, shown] {
        assert!(!String::from_utf8(response.body).unwrap().contains("hush-hush"));
    }
    harness.end().await;
}

#[tokio::test]
async fn a_failed_call_is_retried_unless_it_can_never_succeed() {
    let receiver = Receiver::new(&["500 No", "200 OK", "302 Elsewhere"]).await;
    let harness = Harness::with(calling(true)).await;
    add(&harness, &format!("http://{}/", receiver.address), json!({})).await;
    emit(&harness).await;
    assert_eq!(receiver.next().await.header("baton-attempt"), "1");
    let again = receiver.next().await;
    assert_eq!((again.header("baton-call"), again.header("baton-attempt")), ("1", "2"));
    ends_with(&harness, "reaction.call_done").await;
    let response = kinds(&harness).await;
    let expected = ["called", "call_begun", "call_failed", "call_begun", "call_done"];
    assert_eq!(response, expected.map(|word| format!("reaction.{word}")));
    emit(&harness).await;
    assert_eq!(receiver.next().await.header("baton-call"), "2");
    ends_with(&harness, "reaction.call_dead").await;
    harness.end().await;
}

#[tokio::test]
async fn a_private_address_is_not_called_unless_that_is_allowed() {
    let receiver = Receiver::new(&[]).await;
    let harness = Harness::with(calling(false)).await;
    add(&harness, &format!("http://localhost:{}/", receiver.address.port()), json!({})).await;
    emit(&harness).await;
    ends_with(&harness, "reaction.call_dead").await;
    let shown = harness.http().await.get("/v1/w/reactions/tell").await.json();
    let detail = shown["trouble"]["detail"].as_str().expect("a detail");
    assert!(detail.contains("not a public address"), "{detail}");
    assert!(receiver.received.lock().await.try_recv().is_err(), "no receiver was called");
    harness.end().await;
}

#[tokio::test]
async fn a_webhook_call_survives_a_server_without_webhooks() {
    let receiver = Receiver::new(&[]).await;
    let folder = tempfile::tempdir().unwrap();
    let harness = Harness::on(baton::open(folder.path()).await.unwrap(), settings()).await;
    add(&harness, &format!("http://{}/", receiver.address), json!({})).await;
    emit(&harness).await;
    drop(harness.end().await);
    let baton = baton::open(folder.path()).await.unwrap();
    let harness = Harness::on(baton, calling(true)).await;
    assert_eq!(receiver.next().await.header("baton-call"), "1");
    ends_with(&harness, "reaction.call_done").await;
    drop(harness.end().await);
}

#[tokio::test]
async fn a_call_goes_over_tls_to_the_host_that_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let identity = papers(&folder, "localhost");
    let receiver = Receiver::of(&["500 No"], Some(identity)).await;
    let harness = Harness::with(believing(&folder.path().join("chain.pem"))).await;
    let url = format!("https://localhost:{}/hook?x=1", receiver.address.port());
    add(&harness, &url, json!({"secret": "hush-hush"})).await;
    emit(&harness).await;
    let received = receiver.next().await;
    assert!(received.head.starts_with("POST /hook?x=1 HTTP/1.1"), "{}", received.head);
    assert_eq!(received.header("host"), format!("localhost:{}", receiver.address.port()));
    assert_eq!(received.body["event"]["type"], "go");
    assert!(received.header("baton-signature").starts_with("sha256="));
    assert_eq!(receiver.next().await.header("baton-attempt"), "2", "it is made again as any other");
    ends_with(&harness, "reaction.call_done").await;
    harness.end().await;
}

#[tokio::test]
async fn nothing_is_sent_to_a_server_before_its_certificate_is_verified() {
    let (folder, trusted) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let identity = papers(&folder, "localhost");
    papers(&trusted, "localhost");
    let receiver = Receiver::of(&[], Some(identity.clone())).await;
    let harness = Harness::with(believing(&trusted.path().join("chain.pem"))).await;
    let url = format!("https://localhost:{}/", receiver.address.port());
    add(&harness, &url, json!({})).await;
    emit(&harness).await;
    ends_with(&harness, "reaction.call_failed").await;
    let said = detail(&harness, "reaction.call_failed").await;
    assert!(said.starts_with("tls.untrusted: `localhost` is not trusted"), "{said}");
    assert!(receiver.received.lock().await.try_recv().is_err(), "nothing was said");
    for file in ["chain.pem", "key.pem"] {
        std::fs::copy(trusted.path().join(file), folder.path().join(file)).unwrap();
    }
    identity.read_again().unwrap();
    assert_ne!(receiver.next().await.header("baton-attempt"), "1");
    ends_with(&harness, "reaction.call_done").await;
    harness.end().await;
}

#[tokio::test]
async fn nothing_is_sent_to_a_server_with_another_name_or_without_tls() {
    let folder = tempfile::tempdir().unwrap();
    let identity = papers(&folder, "elsewhere.example");
    let named = Receiver::of(&[], Some(identity)).await;
    let plain = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let plain_port = plain.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = plain.accept().await {
            let _ = socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
        }
    });
    for (port, code) in [(named.address.port(), "tls.untrusted"), (plain_port, "tls.plain_server")]
    {
        let harness = Harness::with(believing(&folder.path().join("chain.pem"))).await;
        add(&harness, &format!("https://localhost:{port}/"), json!({"retries": 0})).await;
        emit(&harness).await;
        ends_with(&harness, "reaction.call_dead").await;
        let said = detail(&harness, "reaction.call_dead").await;
        assert!(said.contains(code), "{code}: {said}");
        harness.end().await;
    }
    assert!(named.received.lock().await.try_recv().is_err(), "nothing was said");
}

#[tokio::test]
async fn a_private_address_is_not_called_over_tls_either() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let harness = Harness::with(calling(false)).await;
    let port = listener.local_addr().unwrap().port();
    add(&harness, &format!("https://localhost:{port}/"), json!({})).await;
    emit(&harness).await;
    ends_with(&harness, "reaction.call_dead").await;
    let said = detail(&harness, "reaction.call_dead").await;
    assert!(said.contains("not a public address"), "{said}");
    let nobody = tokio::time::timeout(crate::harness::SHORT, listener.accept()).await;
    assert!(nobody.is_err(), "a connection was opened");
    harness.end().await;
}

#[tokio::test]
async fn the_name_is_resolved_and_the_handshake_has_the_deadline_of_the_call() {
    let folder = tempfile::tempdir().unwrap();
    papers(&folder, "localhost");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let harness = Harness::with(believing(&folder.path().join("chain.pem"))).await;
    let port = listener.local_addr().unwrap().port();
    let least = json!({"timeout_ms": 100, "retries": 0});
    add(&harness, &format!("https://localhost:{port}/"), least).await;
    emit(&harness).await;
    // The first bytes of TLS are not encrypted; after them nothing is sent.
    let (mut silent, _) = within(listener.accept()).await.unwrap();
    let mut heard = Vec::new();
    while !heard.windows(9).any(|part| part == b"localhost") {
        let mut more = [0; 4096];
        let count = within(silent.read(&mut more)).await.unwrap();
        assert!(count > 0, "the name was not asked for");
        heard.extend_from_slice(&more[..count]);
    }
    ends_with(&harness, "reaction.call_dead").await;
    let said = detail(&harness, "reaction.call_dead").await;
    assert!(said.contains("no response within 100 ms"), "{said}");
    harness.end().await;
}
