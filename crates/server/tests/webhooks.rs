//! Webhooks: called when they should be, with what they should say, and nowhere they should not.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use baton_server::{Settings, Webhooks};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, mpsc};

use crate::stage::{Stage, eventually, settings, within};

/// A request that somebody received.
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

/// Somebody who is called, and answers with these statuses, one after the other.
struct Receiver {
    address: SocketAddr,
    received: Mutex<mpsc::UnboundedReceiver<Received>>,
}

impl Receiver {
    async fn new(statuses: &'static [&'static str]) -> Arc<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let (sender, received) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            let mut statuses = statuses.iter();
            while let Ok((mut stream, _)) = listener.accept().await {
                let request = read(&mut stream).await;
                let status = statuses.next().unwrap_or(&"200 OK");
                let extra = "content-length: 0\r\nlocation: http://127.0.0.1:1/\r\n";
                let answer = format!("HTTP/1.1 {status}\r\n{extra}\r\n");
                let _ = stream.write_all(answer.as_bytes()).await;
                let _ = sender.send(request);
            }
        });
        Arc::new(Self { address, received: Mutex::new(received) })
    }

    async fn next(&self) -> Received {
        within(async { self.received.lock().await.recv().await.expect("it goes on") }).await
    }
}

async fn read(stream: &mut TcpStream) -> Received {
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
    Settings { webhooks: Some(Webhooks { private }), ..settings() }
}

async fn add(stage: &Stage, url: &str, rest: Value) {
    let mut webhook = rest;
    webhook["url"] = url.into();
    let body = json!({"on": {"type": "go"}, "webhook": webhook});
    let added = stage.http().await.put("/v1/w/reactions/tell", &body).await;
    assert_eq!(added.status, 200, "{:?}", added.json());
}

async fn emit(stage: &Stage) {
    let said = stage.http().await.post("/v1/w/events", &json!({"type": "go"})).await;
    assert_eq!(said.status, 200);
}

async fn kinds(stage: &Stage) -> Vec<String> {
    let path = "/v1/w/events?order=oldest&type=reaction.call*";
    let page = stage.http().await.get(path).await.json();
    let events = page["events"].as_array().expect("a page").clone();
    events
        .iter()
        .map(|event| event["type"].as_str().expect("events have types").to_owned())
        .collect()
}

async fn ends_with(stage: &Stage, kind: &str) {
    let what = format!("the last word is {kind}");
    eventually(&what, async || kinds(stage).await.last().is_some_and(|last| last == kind)).await;
}

#[tokio::test]
async fn a_call_says_what_happened_and_is_signed() {
    let receiver = Receiver::new(&[]).await;
    let stage = Stage::with(calling(true)).await;
    let url = format!("http://{}/hook?x=1", receiver.address);
    add(&stage, &url, json!({"secret": "hush-hush"})).await;
    emit(&stage).await;
    let received = receiver.next().await;
    assert!(received.head.starts_with("POST /hook?x=1 HTTP/1.1"), "{}", received.head);
    assert_eq!(received.body["reaction"], "tell");
    assert_eq!(received.body["event"]["type"], "go");
    assert_eq!(received.body["event"]["revision"], 2);
    let named = ["baton-workspace", "baton-reaction", "baton-call", "baton-attempt"];
    assert_eq!(named.map(|name| received.header(name)), ["w", "tell", "1", "1"]);
    assert!(received.header("baton-signature").starts_with("sha256="));
    assert!(received.header("baton-timestamp").parse::<u64>().unwrap() > 1_600_000_000);
    ends_with(&stage, "reaction.call_done").await;
    let everything = stage.http().await.get("/v1/w/events?limit=1000").await;
    let shown = stage.http().await.get("/v1/w/reactions/tell").await;
    for told in [everything, shown] {
        assert!(!String::from_utf8(told.body).unwrap().contains("hush-hush"));
    }
    stage.end().await;
}

#[tokio::test]
async fn a_call_that_fails_is_made_again_and_one_that_never_can_is_not() {
    let receiver = Receiver::new(&["500 No", "200 OK", "302 Elsewhere"]).await;
    let stage = Stage::with(calling(true)).await;
    add(&stage, &format!("http://{}/", receiver.address), json!({})).await;
    emit(&stage).await;
    assert_eq!(receiver.next().await.header("baton-attempt"), "1");
    let again = receiver.next().await;
    assert_eq!((again.header("baton-call"), again.header("baton-attempt")), ("1", "2"));
    ends_with(&stage, "reaction.call_done").await;
    let told = kinds(&stage).await;
    let expected = ["called", "call_begun", "call_failed", "call_begun", "call_done"];
    assert_eq!(told, expected.map(|word| format!("reaction.{word}")));
    emit(&stage).await;
    assert_eq!(receiver.next().await.header("baton-call"), "2");
    ends_with(&stage, "reaction.call_dead").await;
    stage.end().await;
}

#[tokio::test]
async fn a_private_address_is_not_called_unless_that_is_allowed() {
    let receiver = Receiver::new(&[]).await;
    let stage = Stage::with(calling(false)).await;
    add(&stage, &format!("http://localhost:{}/", receiver.address.port()), json!({})).await;
    emit(&stage).await;
    ends_with(&stage, "reaction.call_dead").await;
    let shown = stage.http().await.get("/v1/w/reactions/tell").await.json();
    let detail = shown["trouble"]["detail"].as_str().expect("a detail");
    assert!(detail.contains("not a public address"), "{detail}");
    assert!(receiver.received.lock().await.try_recv().is_err(), "nobody was called");
    stage.end().await;
}

#[tokio::test]
async fn a_call_outlives_the_server_that_does_not_make_any() {
    let receiver = Receiver::new(&[]).await;
    let folder = tempfile::tempdir().unwrap();
    let stage = Stage::on(baton::open(folder.path()).await.unwrap(), settings()).await;
    add(&stage, &format!("http://{}/", receiver.address), json!({})).await;
    emit(&stage).await;
    drop(stage.end().await);
    let baton = baton::open(folder.path()).await.unwrap();
    let stage = Stage::on(baton, calling(true)).await;
    assert_eq!(receiver.next().await.header("baton-call"), "1");
    ends_with(&stage, "reaction.call_done").await;
    drop(stage.end().await);
}
