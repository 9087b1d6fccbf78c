//! Names that decode, look or sort like others.

use baton_core::access::{Grant, Role};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::json;

use super::{CANARY, answered, aviary};
use crate::access::{ask, grant, guarded, patterns};
use crate::harness::Harness;

/// Ways to write the name of another workspace.
const WORKSPACES: [&str; 26] = [
    "/v1/red",
    "/v1/%72ed",
    "/v1/%72%65%64",
    "/v1/%2572ed",
    "/v1/RED",
    "/v1/red%00",
    "/v1/blue%00red",
    "/v1/red%20",
    "/v1/red.",
    "/v1/red%0d%0a",
    "/v1/r%D0%B5d",
    "/v1/r%EF%BD%85d",
    "/v1/red%CC%81",
    "/v1/%E2%80%AEder",
    "/v1/%C0%AE%C0%AE/red",
    "/v1/blue/../red",
    "/v1/blue/%2e%2e/red",
    "/v1/blue%2f..%2fred",
    "/v1/blue%5c..%5cred",
    "/v1/blue%252f..%252fred",
    "/v1/./red",
    "/v1//red",
    "//v1/red",
    "/V1/red",
    "/v1/blue;/red",
    "http://localhost/v1/red",
];

#[tokio::test]
async fn no_spelling_of_a_workspace_opens_it() {
    let (harness, _, blue) = aviary().await;
    for workspace in WORKSPACES {
        for rest in ["state/shared/k", "state", "history", "watch?from=1&snapshot=true"] {
            let request = format!(
                "GET {workspace}/{rest} HTTP/1.1\r\nhost: localhost\r\nauthorization: {blue}\r\n\
                 connection: close\r\n\r\n"
            );
            let response = answered(&harness, request).await;
            assert!(!response.contains(CANARY), "{workspace}/{rest}: {response}");
            assert!(!response.starts_with("HTTP/1.1 2"), "{workspace}/{rest}: {response}");
        }
    }
    harness.end().await;
}

#[tokio::test]
async fn no_spelling_of_a_namespace_opens_it() {
    let of_notes = Grant { namespaces: patterns(&["notes"]), ..grant(Role::Worker) };
    let (harness, bearers) = guarded(vec![grant(Role::Admin), of_notes]).await;
    let mut http = harness.http().await;
    for name in ["hidden", "notes"] {
        let create = json!({"command": "namespace.create", "name": name});
        ask(&mut http, &bearers[0], "/v1/w/commands", &create).await;
    }
    let set = json!({"command": "state.set", "namespace": "hidden", "key": "k", "value": CANARY});
    assert_eq!(ask(&mut http, &bearers[0], "/v1/w/commands", &set).await.0, 200);
    for namespace in [
        "hidden",
        "HIDDEN",
        "hidden\0",
        "notes\0hidden",
        "notes/../hidden",
        "notes/hidden",
        "notes\\hidden",
        "notes,hidden",
        "notes|hidden",
        "{notes,hidden}",
        "*",
        "**",
        "h*",
        "hi\u{200b}dden",
        "h\u{131}dden",
        "%68idden",
        " hidden",
        "",
    ] {
        let name = utf8_percent_encode(namespace, NON_ALPHANUMERIC);
        let headers = [("authorization", bearers[1].as_str())];
        let mut http = harness.http().await;
        for path in [format!("/v1/w/state/{name}/k"), format!("/v1/w/state/{name}")] {
            let response = http.request("GET", &path, &headers, "").await;
            let text = String::from_utf8_lossy(&response.body).into_owned();
            assert!(response.status >= 400 && !text.contains(CANARY), "{path}: {text}");
        }
        for command in ["state.get", "state.history", "state.list"] {
            let get = json!({"command": command, "namespace": namespace, "key": "k"});
            let (status, response) = ask(&mut http, &bearers[1], "/v1/w/commands", &get).await;
            assert!(status >= 400 && !response.to_string().contains(CANARY), "{get}: {response}");
        }
    }
    harness.end().await;
}

/// A key is the same through a path and through a document, byte for byte, or is refused by both.
#[tokio::test]
async fn a_key_is_the_same_on_every_interface() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    let keys = [
        "plain",
        "..",
        ".",
        "a/../b",
        "a//b",
        "/a",
        "a/",
        "%2e%2e",
        "a%00b",
        "a b",
        " ",
        "a\0b",
        "a\nb",
        "a\u{7f}b",
        "ключ",
        "\u{e9}",
        "e\u{301}",
        "a\u{202e}b",
        "a\u{feff}",
        "a?b#c",
        "a;b",
        "a\\b",
        "\u{1f511}",
    ];
    for key in keys {
        let path = format!("/v1/w/state/shared/{}", utf8_percent_encode(key, NON_ALPHANUMERIC));
        let by_path = http.put(&path, &json!(key)).await;
        let get = json!({"command": "state.get", "namespace": "shared", "key": key});
        let by_name = http.command(&get).await;
        assert_eq!(by_path.status, by_name.status, "{key:?}: {by_path:?} {by_name:?}");
        if by_path.status == 200 {
            assert_eq!(by_path.json()["key"], key);
            assert_eq!(by_name.json()["result"]["value"], key, "{key:?} is another one");
        }
    }
    harness.end().await;
}

/// No caller can act under the engine's name.
#[tokio::test]
async fn no_caller_acts_as_the_engine() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    let engine = [("baton-agent", "baton")];
    for (method, path, body) in [
        ("PUT", "/v1/w/state/shared/k", "1"),
        ("GET", "/v1/w/state/shared/k", ""),
        ("POST", "/v1/w/commands", r#"{"command":"state.list","namespace":"shared"}"#),
    ] {
        let response = http.request(method, path, &engine, body).await;
        assert_eq!(response.status, 400, "{method} {path}: {response:?}");
    }
    let set = json!({"command": "state.set", "namespace": "shared", "key": "k", "value": 1,
                     "agent": "baton"});
    assert_eq!(http.command(&set).await.status, 400);
    let mut socket = harness.socket().await;
    assert_eq!(socket.ask(set).await["error"]["kind"], "invalid");
    harness.end().await;
}
