//! The A2A protocol in the binding gRPC: the same operations, in frames of HTTP/2.

use std::net::SocketAddr;

use baton_core::access::Role;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper::{HeaderMap, Request};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::access::{grant, guarded};
use crate::cluster::{SHARDS, Two, workspace};
use crate::harness::{Harness, settings, within};
use crate::secure::Papers;

type Client = SendRequest<Full<Bytes>>;
const SERVICE: &str = "/lf.a2a.v1.A2AService";
const VERSION: (&str, &str) = ("a2a-version", "1.0");

async fn connect(harness: &Harness) -> Client {
    connect_to(harness.address).await
}

async fn connect_to(address: SocketAddr) -> Client {
    let stream = TcpStream::connect(address).await.expect("the server listens");
    let (client, connection) =
        handshake(TokioExecutor::new(), TokioIo::new(stream)).await.expect("it speaks HTTP/2");
    tokio::spawn(connection);
    client
}

/// A field that has a length: a text, or a message.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let length = u8::try_from(content.len()).expect("fields of tests are short");
    assert!(length < 128);
    [&[number << 3 | 2, length][..], content].concat()
}

fn framed(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).expect("messages of tests are short");
    [&[0][..], &length.to_be_bytes(), message].concat()
}

/// A message whose sender does not wait.
fn sent(tenant: &str, id: &str) -> Vec<u8> {
    let part = field(1, b"go");
    let message = [field(1, id.as_bytes()), vec![0x20, 1], field(5, &part)].concat();
    let tenant = if tenant.is_empty() { Vec::new() } else { field(1, tenant.as_bytes()) };
    [tenant, field(2, &message), field(3, &[0x20, 1])].concat()
}

struct Answer {
    head: HeaderMap,
    body: Vec<u8>,
    trailers: HeaderMap,
}

impl Answer {
    fn header(&self, name: &str) -> &str {
        let value = self.trailers.get(name).or_else(|| self.head.get(name));
        value.map(|value| value.to_str().expect("a header is text")).unwrap_or_default()
    }

    fn status(&self) -> &str {
        self.header("grpc-status")
    }

    /// The id of the task that a message has led to: the first field of the first field.
    fn task_id(&self) -> String {
        assert_eq!(self.status(), "0", "{}", self.header("grpc-message"));
        // After the head of the frame, a tag and a length of one or two bytes.
        let length = if self.body[6] < 128 { 1 } else { 2 };
        let task = &self.body[6 + length..];
        assert_eq!(task[0], 0x0a);
        let id = &task[2..2 + usize::from(task[1])];
        String::from_utf8(id.to_vec()).expect("an id is text")
    }
}

fn request(host: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Request<Full<Bytes>> {
    let mut request = Request::post(format!("http://{host}{path}"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.header("content-type", "application/grpc").header("te", "trailers");
    request.body(Full::new(Bytes::copy_from_slice(body))).expect("it is a valid request")
}

async fn answered(client: &mut Client, request: Request<Full<Bytes>>) -> Answer {
    let response = within(client.send_request(request)).await.expect("the server answers");
    assert_eq!(response.status(), 200, "{response:?}");
    let head = response.headers().clone();
    let collected = within(response.into_body().collect()).await.expect("the answer ends");
    let trailers = collected.trailers().cloned().unwrap_or_default();
    Answer { head, body: collected.to_bytes().to_vec(), trailers }
}

async fn call(client: &mut Client, method: &str, message: &[u8]) -> Answer {
    let path = format!("{SERVICE}/{method}");
    answered(client, request("localhost", &path, &[VERSION], &framed(message))).await
}

#[tokio::test]
async fn an_operation_is_the_same_in_frames() {
    let harness = Harness::new().await;
    let (mut client, mut http) = (connect(&harness).await, harness.http().await);
    let created = call(&mut client, "SendMessage", &sent("", "m-1")).await;
    assert_eq!(created.status(), "0");
    let again = call(&mut client, "SendMessage", &sent("", "m-1")).await;
    assert_eq!(again.task_id(), created.task_id(), "a repeated message has one effect");
    let task = created.task_id();
    let read = http.get(&format!("/v1/default/tasks/{task}")).await.json();
    assert_eq!(read["description"], "go", "{read}");
    // A stream: the task first, then its changes, and a status at the end.
    let subscribe = framed(&field(2, task.as_bytes()));
    let subscribe =
        request("localhost", &format!("{SERVICE}/SubscribeToTask"), &[VERSION], &subscribe);
    let response = within(client.send_request(subscribe)).await.unwrap();
    let mut updates = response.into_body();
    let first = within(updates.frame()).await.unwrap().unwrap();
    let holds = |data: &Bytes| data.windows(task.len()).any(|part| part == task.as_bytes());
    assert!(first.data_ref().is_some_and(holds), "it begins with the task");
    let cancelled = call(&mut client, "CancelTask", &field(2, task.as_bytes())).await;
    assert_eq!(cancelled.status(), "0");
    let rest = within(updates.collect()).await.unwrap();
    assert_eq!(rest.trailers().unwrap()["grpc-status"], "0");
    assert!(!rest.to_bytes().is_empty(), "the end of the task is an update");
    // Another workspace, and an agent of it.
    let register = json!({"command": "agent.register", "agent": "ada", "ttl_ms": 600_000});
    assert_eq!(http.post("/v1/team/commands", &register).await.status, 200);
    let elsewhere = call(&mut client, "SendMessage", &sent("team/agents/ada", "m-2")).await;
    let read = http.get(&format!("/v1/team/tasks/{}", elsewhere.task_id())).await.json();
    assert_eq!(read["assigned_agent"], "ada", "{read}");
    let card = http.get("/a2a/agents/ada/team/.well-known/agent-card.json").await.json();
    assert_eq!(card["supportedInterfaces"][2]["tenant"], "team/agents/ada", "{card}");
    let card = http.get("/a2a/fleet/team/.well-known/agent-card.json").await.json();
    let grpc = &card["supportedInterfaces"][2];
    assert_eq!(
        *grpc,
        json!({"url": "localhost:80", "protocolBinding": "GRPC", "tenant": "team",
                             "protocolVersion": "1.0"})
    );
    harness.end().await;
}

#[tokio::test]
async fn a_server_of_a_cluster_passes_a_call_on_to_the_owner() {
    let mut two = Two::new(&settings()).await;
    let addresses = [two.members[0].address, two.members[1].address];
    let mut clients = [connect_to(addresses[0]).await, connect_to(addresses[1]).await];
    for shard in 0..SHARDS {
        let tenant = workspace(shard, 0);
        let created = call(&mut clients[0], "SendMessage", &sent(&tenant, "m-1")).await;
        let again = call(&mut clients[1], "SendMessage", &sent(&tenant, "m-1")).await;
        assert_eq!(again.task_id(), created.task_id(), "one owner has both messages");
        let task = created.task_id();
        let about = [field(1, tenant.as_bytes()), field(2, task.as_bytes())].concat();
        let path = format!("{SERVICE}/SubscribeToTask");
        let mut streams = Vec::new();
        for client in &mut clients {
            let subscribe = request("localhost", &path, &[VERSION], &framed(&about));
            let mut updates = within(client.send_request(subscribe)).await.unwrap().into_body();
            let first = within(updates.frame()).await.unwrap().unwrap();
            assert!(first.is_data(), "it begins with the task");
            streams.push(updates);
        }
        let cancelled = call(&mut clients[0], "CancelTask", &about).await;
        assert_eq!(cancelled.status(), "0", "{}", cancelled.header("grpc-message"));
        for updates in streams {
            let rest = within(updates.collect()).await.unwrap();
            assert_eq!(rest.trailers().unwrap()["grpc-status"], "0", "trailers are passed on");
            assert!(!rest.to_bytes().is_empty(), "the end of the task is an update");
        }
        let missing = [field(1, tenant.as_bytes()), field(2, b"t-404")].concat();
        for client in &mut clients {
            let missing = call(client, "GetTask", &missing).await;
            assert_eq!(missing.status(), "5");
            assert!(!missing.header("grpc-status-details-bin").is_empty());
        }
    }
    // A call without a tenant or a service, or with another name, is refused as by a single server.
    assert_eq!(call(&mut clients[0], "ListTasks", &[]).await.status(), "0");
    assert_eq!(call(&mut clients[0], "GetTasks", &[]).await.status(), "12");
    let path = format!("{SERVICE}/GetTask");
    let foreign = request("evil.example", &path, &[VERSION], &framed(&[]));
    assert_eq!(answered(&mut clients[0], foreign).await.status(), "7");
    let large = request("localhost", &path, &[VERSION], &vec![0; 10 << 20]);
    assert_eq!(answered(&mut clients[0], large).await.status(), "3");
    // A stream whose owner is lost has a status, by which its client subscribes again.
    let tenant = workspace(1, 0);
    let task = call(&mut clients[0], "SendMessage", &sent(&tenant, "m-2")).await.task_id();
    let about = [field(1, tenant.as_bytes()), field(2, task.as_bytes())].concat();
    let path = format!("{SERVICE}/SubscribeToTask");
    let subscribe = request("localhost", &path, &[VERSION], &framed(&about));
    let mut updates = within(clients[0].send_request(subscribe)).await.unwrap().into_body();
    assert!(within(updates.frame()).await.unwrap().unwrap().is_data());
    two.owners[1] = None;
    two.publish();
    let rest = within(updates.collect()).await.unwrap();
    assert_eq!(rest.trailers().unwrap()["grpc-status"], "14");
    drop(clients);
    two.end().await;
}

#[tokio::test]
async fn refusals_have_a_status_and_a_reason() {
    let harness = Harness::new().await;
    let mut client = connect(&harness).await;
    let missing = call(&mut client, "GetTask", &field(2, b"t-404")).await;
    assert_eq!(missing.status(), "5");
    assert!(missing.header("grpc-message").contains("t-404"));
    assert!(!missing.header("grpc-status-details-bin").is_empty());
    assert_eq!(call(&mut client, "GetTasks", &[]).await.status(), "12");
    assert_eq!(call(&mut client, "GetTask", &[0x12, 9]).await.status(), "3");
    let bad_tenant = call(&mut client, "SendMessage", &sent("a/b", "m")).await;
    assert_eq!(bad_tenant.status(), "3");
    let path = format!("{SERVICE}/GetTask");
    let get = framed(&field(2, b"t-1"));
    for (what, request, status) in [
        ("no version", request("localhost", &path, &[], &get), "9"),
        ("another", request("localhost", &path, &[("a2a-version", "0.3")], &get), "9"),
        ("no frame", request("localhost", &path, &[VERSION], b""), "3"),
        ("two frames", request("localhost", &path, &[VERSION], &[&*get, &*get].concat()), "3"),
        ("another service", request("localhost", "/grpc.health.v1.Health/Check", &[], b""), "12"),
        ("a foreign name", request("evil.example", &path, &[VERSION], &get), "7"),
        ("two names", request("localhost", &path, &[VERSION, ("host", "evil")], &get), "7"),
        ("a page", request("localhost", &path, &[("origin", "http://evil.example")], &get), "7"),
    ] {
        let answer = answered(&mut client, request).await;
        assert_eq!(answer.status(), status, "{what}: {}", answer.header("grpc-message"));
    }
    let large = vec![0; 10 << 20];
    let large = answered(&mut client, request("localhost", &path, &[VERSION], &large)).await;
    assert_eq!(large.status(), "3");
    // The connection is as good as before.
    assert_eq!(call(&mut client, "ListTasks", &[]).await.status(), "0");
    let mut http = harness.http().await;
    let headers = [("content-type", "application/grpc"), VERSION];
    let spoken = http.request("POST", &path, &headers, get).await;
    assert_eq!((spoken.status, spoken.header("grpc-status")), (200, Some("3")), "it needs HTTP/2");
    harness.end().await;
}

#[tokio::test]
async fn a_call_has_the_rights_of_its_token() {
    let [reader, .., admin] = Role::ALL;
    let (harness, tokens) = guarded(vec![grant(reader), grant(admin)]).await;
    let mut client = connect(&harness).await;
    let path = format!("{SERVICE}/SendMessage");
    let body = framed(&sent("", "m-1"));
    for (token, status) in [(None, "16"), (Some("Bearer no"), "16"), (Some(&*tokens[0]), "7")] {
        let mut headers = vec![VERSION];
        headers.extend(token.map(|token| ("authorization", token)));
        let answer = answered(&mut client, request("localhost", &path, &headers, &body)).await;
        assert_eq!(answer.status(), status, "{token:?}: {}", answer.header("grpc-message"));
    }
    let headers = [VERSION, ("authorization", &*tokens[1])];
    let answer = answered(&mut client, request("localhost", &path, &headers, &body)).await;
    assert_eq!(answer.status(), "0", "{}", answer.header("grpc-message"));
    harness.end().await;
}

#[tokio::test]
async fn a_stream_says_that_the_server_stops() {
    let harness = Harness::new().await;
    let mut client = connect(&harness).await;
    let task = call(&mut client, "SendMessage", &sent("", "m-1")).await.task_id();
    let body = framed(&field(2, task.as_bytes()));
    let path = format!("{SERVICE}/SubscribeToTask");
    let request = request("localhost", &path, &[VERSION], &body);
    let response = within(client.send_request(request)).await.unwrap();
    let mut updates = response.into_body();
    assert!(within(updates.frame()).await.unwrap().unwrap().is_data());
    let (_, ending) = harness.begin_shutdown();
    let rest = within(updates.collect()).await.unwrap();
    assert_eq!(rest.trailers().unwrap()["grpc-status"], "14", "the client subscribes again");
    drop(client);
    within(ending).await.unwrap();
}

#[tokio::test]
async fn a_client_that_vanishes_during_a_stream_leaves_nothing() {
    let harness = Harness::new().await;
    let mut client = connect(&harness).await;
    let task = call(&mut client, "SendMessage", &sent("", "m-1")).await.task_id();
    let body = framed(&field(2, task.as_bytes()));
    let path = format!("{SERVICE}/SubscribeToTask");
    let response = client.send_request(request("localhost", &path, &[VERSION], &body));
    let mut updates = within(response).await.unwrap().into_body();
    assert!(within(updates.frame()).await.unwrap().unwrap().is_data());
    harness.comes_to("baton_watches", 1).await;
    // A stream that is reset ends alone.
    drop(updates);
    harness.comes_to("baton_watches", 0).await;
    assert_eq!(call(&mut client, "ListTasks", &[]).await.status(), "0");
    drop(client);
    harness.becomes_idle().await;
    harness.end().await;
}

#[tokio::test]
async fn it_works_behind_tls() {
    let papers = Papers::new();
    let harness = Harness::with(papers.settings()).await;
    let socket = TcpStream::connect(harness.address).await.unwrap();
    let connector = TlsConnector::from(papers.trust().client_config(b"h2"));
    let name = "localhost".try_into().unwrap();
    let stream = within(connector.connect(name, socket)).await.unwrap();
    let (_, session) = stream.get_ref();
    assert_eq!(session.alpn_protocol(), Some(&b"h2"[..]));
    let (mut client, connection) =
        handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    assert_eq!(call(&mut client, "SendMessage", &sent("", "m-1")).await.status(), "0");
    drop(client);
    harness.end().await;
}

#[tokio::test]
async fn the_first_bytes_say_which_protocol_it_is() {
    let harness = Harness::new().await;
    let mut stream = TcpStream::connect(harness.address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    for byte in b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" {
        stream.write_all(&[*byte]).await.unwrap();
    }
    stream.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0]).await.unwrap();
    let mut head = [0; 9];
    within(stream.read_exact(&mut head)).await.unwrap();
    assert_eq!(head[3], 4, "the server sends its settings");
    let mut stream = TcpStream::connect(harness.address).await.unwrap();
    // As far as it goes, it could be either.
    for piece in ["PR", "OPFIND / HTTP/1.1\r\nhost: localhost\r\n\r\n"] {
        stream.write_all(piece.as_bytes()).await.unwrap();
    }
    let mut head = [0; 12];
    within(stream.read_exact(&mut head)).await.unwrap();
    assert_eq!(&head, b"HTTP/1.1 405");
    harness.end().await;
}
