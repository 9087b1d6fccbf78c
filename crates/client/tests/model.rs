//! Models: what they are sent, and what happens to their completions.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use baton::clock::SystemClock;
use baton::log::MemoryLog;
use baton_client::Workspace;
use baton_client::core::task::{Status, Task};
use baton_client::model::{Endpoint, ModelError, RunError, run_with_context};
use baton_server::Identity;
use baton_tls::{Accepted, Stream};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// An endpoint that answers once, and returns the request.
async fn endpoint(
    status: &'static str,
    answer: &'static str,
) -> (SocketAddr, oneshot::Receiver<String>) {
    endpoint_of(status, answer, None).await
}

/// The same with TLS, if there is an identity.
async fn endpoint_of(
    status: &'static str,
    answer: &'static str,
    identity: Option<Identity>,
) -> (SocketAddr, oneshot::Receiver<String>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let (asked, heard) = oneshot::channel();
    tokio::spawn(async move {
        let (socket, _) = listener.accept().await.unwrap();
        let mut stream = match identity {
            None => Stream::from(socket),
            Some(identity) => match identity.accept(socket).await {
                Ok(Accepted::Secure(stream)) => stream,
                Ok(Accepted::Plain(_)) => panic!("what should be encrypted came in plain text"),
                // The caller did not trust it: nothing is received or sent.
                Err(_) => return,
            },
        };
        let mut text = String::new();
        let is_whole = |text: &str| {
            let body = text.split_once("\r\n\r\n").map(|(_, body)| body);
            body.is_some_and(|body| serde_json::from_str::<Value>(body).is_ok())
        };
        while !is_whole(&text) {
            let mut more = [0; 4096];
            let count = stream.read(&mut more).await.unwrap();
            assert!(count > 0, "the request breaks off");
            text.push_str(str::from_utf8(&more[..count]).unwrap());
        }
        let length = answer.len();
        let head = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n\r\n");
        stream.write_all(format!("{head}{answer}").as_bytes()).await.unwrap();
        stream.flush().await.unwrap();
        let _ = asked.send(text);
    });
    (address, heard)
}

/// A claimed task.
async fn claimed() -> (Workspace, Task) {
    let options = baton::Options::default();
    let baton = baton::Baton::on(MemoryLog::default(), SystemClock::default(), options).unwrap();
    let lab = baton.workspace("lab").unwrap().as_agent("ada").unwrap();
    lab.state("shared").set("style", "short").await.unwrap();
    lab.tasks().create("write").description("Write as shared/style says").await.unwrap();
    let task = lab.tasks().claim().await.unwrap().expect("there is one");
    (lab, task)
}

fn at(address: SocketAddr) -> Endpoint {
    Endpoint::new(&format!("http://{address}/v1"), "small").unwrap().key("sk-hush")
}

#[tokio::test]
async fn a_model_does_a_task_and_the_result_says_how() {
    let (lab, task) = claimed().await;
    let answer = r#"{"id":"x","model":"small-1","choices":[{"index":0,"message":{"role":"assistant",
        "content":"Done."}}],"usage":{"prompt_tokens":7,"completion_tokens":2,"total_tokens":9}}"#;
    let (address, heard) = endpoint("200 OK", answer).await;
    let token = task.lease.as_ref().unwrap().token;
    let done = run_with_context(&lab, task.id.as_str(), token, &at(address), None, None).await;
    let done = done.unwrap();
    assert_eq!(done.status, Status::Completed);
    let result: Value = done.result.unwrap().to().unwrap();
    assert_eq!((&result["text"], &result["model"]), (&json!("Done."), &json!("small-1")));
    assert_eq!(result["usage"]["total_tokens"], 9);
    let sections = result["lineage"]["sections"].as_array().unwrap();
    assert!(sections.iter().any(|it| it["items"][0] == "entry shared/style"), "{sections:?}");
    let asked = heard.await.unwrap();
    assert!(asked.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{asked}");
    assert!(asked.contains("authorization: Bearer sk-hush"), "{asked}");
    let body: Value = serde_json::from_str(asked.split_once("\r\n\r\n").unwrap().1).unwrap();
    let context = body["messages"][1]["content"].as_str().unwrap();
    assert!(
        context.contains("Write as shared/style says") && context.contains("\"short\""),
        "{context}"
    );
    assert_eq!((&body["model"], &body["messages"][0]["role"]), (&json!("small"), &json!("system")));
}

#[tokio::test]
async fn a_model_without_an_answer_fails_the_attempt() {
    for (status, answer, wanted) in [
        ("500 No", "overloaded", "status 500"),
        ("200 OK", "{}", "otherwise than it should"),
        ("200 OK", r#"{"choices":[]}"#, "there is no text in it"),
        ("200 OK", r#"{"choices":[{"message":{"content":null}}]}"#, "there is no text in it"),
        ("200 OK", r#"{"choices":[{"message":{"content":" \n"}}]}"#, "there is no text in it"),
    ] {
        let (lab, task) = claimed().await;
        let (address, _heard) = endpoint(status, answer).await;
        let token = task.lease.as_ref().unwrap().token;
        let id = task.id.as_str();
        let error = run_with_context(&lab, id, token, &at(address), None, None).await.unwrap_err();
        assert!(matches!(error, RunError::Model(_)) && error.to_string().contains(wanted));
        assert!(!error.to_string().contains("hush"));
        let after = lab.tasks().get(id).await.unwrap();
        assert_eq!(after.retries, 1);
        assert!(after.error.unwrap().as_str().contains(wanted));
    }
}

#[tokio::test]
async fn an_unreachable_endpoint_and_a_lost_lease_are_reported() {
    let (lab, task) = claimed().await;
    let token = task.lease.as_ref().unwrap().token;
    let nobody = {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        listener.local_addr().unwrap()
    };
    let id = task.id.as_str();
    let error = run_with_context(&lab, id, token, &at(nobody), None, None).await.unwrap_err();
    assert!(matches!(error, RunError::Model(ModelError::Unreachable { .. })), "{error}");
    let answer = r#"{"choices":[{"message":{"content":"late"}}]}"#;
    let (address, _heard) = endpoint("200 OK", answer).await;
    let error = run_with_context(&lab, id, token, &at(address), None, None).await.unwrap_err();
    let RunError::Baton(error) = error else { panic!("{error}") };
    assert_eq!(error.code(), "task.stale_token", "a worker without the lease completes nothing");
    let error =
        run_with_context(&lab, "t-none", token, &at(address), None, None).await.unwrap_err();
    assert_eq!(error.to_string(), "there is no task `t-none`");
}

/// A certificate for a name, and its key, in a folder.
fn papers(folder: &Path, name: &str) -> (PathBuf, Identity) {
    let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
    let (certificate, key) = (folder.join("chain.pem"), folder.join("key.pem"));
    std::fs::write(&certificate, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let identity = Identity::read(&certificate, &key).unwrap();
    (certificate, identity)
}

fn secure(address: SocketAddr, ca_file: &Path) -> Endpoint {
    let endpoint = Endpoint::new(&format!("https://localhost:{}/v1", address.port()), "small");
    endpoint.unwrap().key("sk-hush").ca_file(ca_file).unwrap()
}

#[tokio::test]
async fn a_model_is_asked_over_tls() {
    let folder = tempfile::tempdir().unwrap();
    let (certificate, identity) = papers(folder.path(), "localhost");
    let answer = r#"{"choices":[{"message":{"content":"Done."}}]}"#;
    let (address, heard) = endpoint_of("200 OK", answer, Some(identity)).await;
    let (lab, task) = claimed().await;
    let token = task.lease.as_ref().unwrap().token;
    let endpoint = secure(address, &certificate);
    assert!(format!("{endpoint:?}").starts_with("https://localhost:"), "{endpoint:?}");
    let done = run_with_context(&lab, task.id.as_str(), token, &endpoint, None, None).await;
    assert_eq!(done.unwrap().status, Status::Completed);
    assert!(heard.await.unwrap().contains("authorization: Bearer sk-hush"));
}

#[tokio::test]
async fn an_untrusted_endpoint_receives_neither_the_context_nor_the_key() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (_, stranger) = papers(folder.path(), "localhost");
    let (trusted, misnamed) = papers(other.path(), "elsewhere.example");
    let (address, heard) = endpoint_of("200 OK", "{}", Some(stranger)).await;
    let (named, heard_too) = endpoint_of("200 OK", "{}", Some(misnamed)).await;
    for (endpoint, heard) in
        [(secure(address, &trusted), heard), (secure(named, &trusted), heard_too)]
    {
        let (lab, task) = claimed().await;
        let (id, token) = (task.id.as_str(), task.lease.as_ref().unwrap().token);
        let error = run_with_context(&lab, id, token, &endpoint, None, None).await.unwrap_err();
        let RunError::Model(ModelError::Tls(error)) = error else { panic!("{error}") };
        assert_eq!(error.code(), "tls.untrusted", "{error}");
        let after = lab.tasks().get(id).await.unwrap();
        assert_eq!(after.retries, 1, "it is tried again as its author has said");
        assert!(after.error.unwrap().as_str().contains("`localhost` is not trusted"));
        assert!(heard.await.is_err(), "nothing was said");
    }
    let missing = folder.path().join("missing.pem");
    let refused = Endpoint::new("https://localhost/v1", "small").unwrap().ca_file(&missing);
    let Err(ModelError::Tls(error)) = refused else { panic!("a file was read that is not there") };
    assert_eq!(error.code(), "tls.unreadable");
}

#[tokio::test]
async fn a_handshake_has_the_deadline_of_the_answer() {
    let folder = tempfile::tempdir().unwrap();
    let (certificate, _) = papers(folder.path(), "localhost");
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let endpoint = secure(silent.local_addr().unwrap(), &certificate);
    let endpoint = endpoint.timeout(Duration::from_millis(50));
    let (lab, task) = claimed().await;
    let (id, token) = (task.id.as_str(), task.lease.as_ref().unwrap().token);
    let error = run_with_context(&lab, id, token, &endpoint, None, None).await.unwrap_err();
    assert!(error.to_string().contains("no response within 50ms"), "{error}");
}
