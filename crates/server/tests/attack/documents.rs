//! Documents that are deep, wide or long. Each is refused with its reason, and affects no other
//! caller.

use serde_json::{Value, json};

use crate::callers::socket::{BINARY, TEXT, frame};
use crate::harness::Harness;

/// Deeper than any recursive parser could handle.
const DEPTH: usize = 100_000;

fn deep(open: &str, close: &str) -> String {
    format!("{}1{}", open.repeat(DEPTH), close.repeat(DEPTH))
}

fn hostile() -> Vec<(&'static str, String)> {
    let set = |value: &str| {
        format!(r#"{{"command":"state.set","namespace":"shared","key":"k","value":{value}}}"#)
    };
    let many = (0..200_000).map(|number| format!("\"f{number}\":1,")).collect::<Vec<_>>().concat();
    vec![
        ("a deep list", deep("[", "]")),
        ("a deep object", deep("{\"a\":", "}")),
        ("a list without an end", "[".repeat(DEPTH)),
        ("a deep value", set(&deep("[", "]"))),
        ("a deep value of objects", set(&deep("{\"a\":", "}"))),
        ("a command of many fields", format!("{{{many}\"command\":\"state.set\"}}")),
        ("a list of lists", format!("[{}[]]", "[],".repeat(DEPTH))),
        ("a number beyond all numbers", set(&format!("1e{}", "9".repeat(400)))),
        ("a name that is long", format!(r#"{{"command":"{}"}}"#, "x".repeat(1 << 20))),
        ("a key that is long", set("1").replace("\"k\"", &format!("\"{}\"", "k".repeat(1 << 20)))),
        ("half a character", set(r#""\ud800""#)),
        ("the same field twice", set("1").replace("\"key\":\"k\"", "\"key\":\"k\",\"key\":\"l\"")),
    ]
}

#[tokio::test]
async fn hostile_documents_are_refused_on_every_interface() {
    let harness = Harness::new().await;
    let mut bystander = harness.http().await;
    for (what, text) in hostile() {
        for path in ["/v1/w/commands", "/v1/w/transactions", "/v1/w/handoffs", "/v1/access/tokens"]
        {
            let mut http = harness.http().await;
            let response =
                http.request("POST", path, &[("content-type", "application/json")], &text).await;
            let is_list = response.status == 200 && response.json().is_array();
            assert!(
                is_list || (400..500).contains(&response.status),
                "{what} {path}: {}",
                response.status
            );
        }
        let mut http = harness.http().await;
        let response = http.request("PUT", "/v1/w/state/shared/deep", &[], &text).await;
        let is_refused = (400..500).contains(&response.status);
        assert!(is_refused || !text.contains("[[[["), "{what}: {}", response.status);
        let mut socket = harness.socket().await;
        socket.send_bytes(&frame(TEXT, text.as_bytes())).await;
        // It is answered with an error, or the connection ends; the server continues.
        if let Some((TEXT, answer)) = socket.frame().await {
            let answer: Value = serde_json::from_slice(&answer).unwrap();
            assert!(answer["error"].is_object(), "{what}: {answer}");
        }
        assert_eq!(bystander.get("/healthz").await.status, 200, "{what}");
    }
    let get = json!({"command": "state.get", "namespace": "shared", "key": "k"});
    assert_eq!(bystander.command(&get).await.status, 404, "none of them was carried out");
    harness.end().await;
}

#[tokio::test]
async fn hostile_messagepack_is_refused() {
    let harness = Harness::new().await;
    let mut bystander = harness.http().await;
    let deep_lists = [0x91].repeat(DEPTH);
    let deep_maps = [0x81, 0xA1, b'a'].repeat(DEPTH);
    let lying: [&[u8]; 4] = [
        &[0xDD, 0xFF, 0xFF, 0xFF, 0xFF],
        &[0xDF, 0xFF, 0xFF, 0xFF, 0xFF],
        &[0xDB, 0xFF, 0xFF, 0xFF, 0xFF],
        &[0xC6, 0xFF, 0xFF, 0xFF, 0xFF],
    ];
    for bytes in [&*deep_lists, &*deep_maps].into_iter().chain(lying) {
        let (response, mut socket) = crate::callers::socket::Socket::shake_hands(
            harness.address,
            &[("sec-websocket-protocol", "baton.v1.msgpack")],
        )
        .await;
        assert_eq!(response.status, 101);
        socket.send_bytes(&frame(BINARY, bytes)).await;
        assert!(socket.frame().await.is_some(), "it gets the error");
        assert_eq!(bystander.get("/healthz").await.status, 200);
    }
    harness.end().await;
}
