//! Attacks as tables: each is tried on every interface it applies to, and none may succeed.
//!
//! | file        | attack                                                                       |
//! |-------------|------------------------------------------------------------------------------|
//! | `canaries`  | a caller of one workspace tries to read another one, with every operation    |
//! | `names`     | the same by names that decode, look or sort like others                      |
//! | `heads`     | line breaks in names that become headers, requests within requests           |
//! | `documents` | documents that are deep, wide or long                                        |
//! | `exhaustion` | memory, slots and time that one caller takes from the others                |
//! | `traces`    | what appears in logs and pages: no token, no control character               |
//!
//! Attacks are generated from the vocabulary where possible, so that a new operation is attacked
//! automatically. Slow peers, forged hosts and origins and malformed frames are in separate files
//! beside this folder.

mod canaries;
mod documents;
mod exhaustion;
mod heads;
mod names;
mod traces;

use baton_core::access::{Grant, Role};
use serde_json::{Value, json};

use crate::access::{ask, grant, guarded, patterns};
use crate::callers::http::Http;
use crate::harness::Harness;

/// A marker in the workspace `red`, which callers of `blue` must not see.
const CANARY: &str = "canary-3e9d";

/// A server with a canary in `red`: the token of an admin, and one that may do everything, but only
/// in `blue`.
async fn aviary() -> (Harness, String, String) {
    let of_blue = Grant { workspaces: patterns(&["blue"]), ..grant(Role::Admin) };
    let (harness, bearers) = guarded(vec![grant(Role::Admin), of_blue]).await;
    let [admin, blue] = <[String; 2]>::try_from(bearers).expect("there are two");
    let mut http = harness.http().await;
    for (workspace, value) in [("red", CANARY), ("blue", "harmless")] {
        let set =
            json!({"command": "state.set", "namespace": "shared", "key": "k", "value": value});
        let (status, response) =
            ask(&mut http, &admin, &format!("/v1/{workspace}/commands"), &set).await;
        assert_eq!(status, 200, "{response}");
    }
    (harness, admin, blue)
}

/// Sends one request over a new connection, since it may break it; returns the raw response.
async fn answered(harness: &Harness, request: impl AsRef<[u8]>) -> String {
    let mut http: Http = harness.http().await;
    http.send(request).await;
    String::from_utf8_lossy(&http.ends().await).into_owned()
}

/// Every text in a document, replaced one at a time.
fn replaced(document: &Value, by: &str) -> Vec<Value> {
    match document {
        Value::String(_) => vec![by.into()],
        Value::Array(items) => {
            let each = items.iter().enumerate().flat_map(|(place, item)| {
                replaced(item, by).into_iter().map(move |new| (place, new))
            });
            let with = |(place, new): (usize, Value)| {
                let mut copy = document.clone();
                copy[place] = new;
                copy
            };
            each.map(with).collect()
        }
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(name, _)| *name != "command");
            let each = fields.flat_map(|(name, field)| {
                replaced(field, by).into_iter().map(move |new| (name.clone(), new))
            });
            let with = |(name, new): (String, Value)| {
                let mut copy = document.clone();
                copy[name] = new;
                copy
            };
            each.map(with).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

#[test]
fn every_text_is_replaced_once() {
    let document = json!({"command": "x", "a": "1", "b": [{"c": "2"}, 3], "d": true});
    let replaced = replaced(&document, "!");
    assert_eq!(
        replaced,
        [
            json!({"command": "x", "a": "!", "b": [{"c": "2"}, 3], "d": true}),
            json!({"command": "x", "a": "1", "b": [{"c": "!"}, 3], "d": true}),
        ]
    );
}
