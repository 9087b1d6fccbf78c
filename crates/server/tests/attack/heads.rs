//! Line breaks in names that become headers, and requests within requests.

use serde_json::json;

use super::answered;
use crate::callers::socket::Socket;
use crate::harness::Harness;

/// Text that would be a separate line if it were not escaped.
const INJECTED: &str = "x-injected";

#[tokio::test]
async fn no_message_text_becomes_a_header_line() {
    let harness = Harness::new().await;
    for name in [
        "a%0d%0ax-injected:%201",
        "a%0ax-injected:%201",
        "a%22%0d%0ax-injected:%201",
        "a%E5%98%8A%E5%98%8Dx-injected:%201",
        "a%00%0dx-injected",
        "a%22;%20filename=%22b",
    ] {
        let mut http = harness.http().await;
        let put = http.request("PUT", &format!("/v1/w/artifacts?name={name}"), &[], "bytes").await;
        if put.status < 300 {
            let id = put.json()["artifact"].as_str().expect("it has a name").to_owned();
            let got = http.get(&format!("/v1/w/artifacts/{id}")).await;
            let is_injected = |line: &str| line.to_ascii_lowercase().starts_with(INJECTED);
            assert!(!got.head.lines().any(is_injected), "{name}: {}", got.head);
            assert!(got.head.is_ascii(), "{name}: {}", got.head);
        }
    }
    // Names of servers, agents and keys are repeated in refusals.
    for header in ["host: localhost\u{b}x", "baton-agent: a\tb\u{c}", "idempotency-key: a\u{1}b"] {
        let request = format!("GET /v1/w/state HTTP/1.1\r\nhost: localhost\r\n{header}\r\n\r\n");
        let response = answered_once(&harness, &request).await;
        assert!(!response.contains(['\u{b}', '\u{c}', '\u{1}']), "{response:?}");
    }
    harness.end().await;
}

async fn answered_once(harness: &Harness, request: &str) -> String {
    answered(harness, request.replacen("\r\n", "\r\nconnection: close\r\n", 1)).await
}

/// A proxy would see one request where the server sees two, or the other way round.
#[tokio::test]
async fn lengths_that_contradict_each_other_are_not_guessed_at() {
    let harness = Harness::new().await;
    let set = r#"{"command":"state.set","namespace":"shared","key":"smuggled","value":1}"#;
    let inner = format!(
        "POST /v1/w/commands HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n{set}",
        set.len()
    );
    for lengths in [
        "content-length: 0\r\ncontent-length: 5",
        "content-length: 5, 0",
        "content-length: +0",
        "content-length: 0x0",
        "content-length: 5\r\ntransfer-encoding: identity",
        "transfer-encoding: chunked, identity",
        "transfer-encoding: xchunked",
        "transfer-encoding:\u{b}chunked",
        "transfer-encoding : chunked",
        " content-length: 0",
    ] {
        let request =
            format!("POST /v1/w/commands HTTP/1.1\r\nhost: localhost\r\n{lengths}\r\n\r\n{inner}");
        let response = answered(&harness, request).await;
        assert!(response.is_empty() || response.starts_with("HTTP/1.1 4"), "{lengths}: {response}");
    }
    let get = json!({"command": "state.get", "namespace": "shared", "key": "smuggled"});
    assert_eq!(harness.http().await.command(&get).await.status, 404, "a request within was taken");
    harness.end().await;
}

#[tokio::test]
async fn a_handshake_cannot_select_another_name() {
    let harness = Harness::new().await;
    for (name, value) in [
        ("host", "localhost:4747@evil.example"),
        ("host", "evil.example:127.0.0.1"),
        ("host", "127.0.0.1.evil.example"),
        ("host", "[::1].evil.example"),
        ("host", "localhost%00.evil.example"),
        ("host", "2130706433"),
        ("host", "0x7f.1"),
        ("origin", "http://localhost@evil.example"),
        ("origin", "http://localhost.evil.example"),
        ("origin", "http://evil.example#http://localhost"),
        ("origin", "chrome-extension://localhost"),
        ("origin", "http://localhost http://evil.example"),
    ] {
        let (response, _) = Socket::shake_hands(harness.address, &[(name, value)]).await;
        assert_eq!(response.status, 403, "{name}: {value}: {}", response.head);
    }
    harness.end().await;
}
