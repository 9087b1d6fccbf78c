//! Attacks, as tables: each is tried at every door it fits, and none may hit.
//!
//! | file        | who tries what                                                               |
//! |-------------|------------------------------------------------------------------------------|
//! | `canaries`  | somebody of one workspace wants what stands in another, with every operation |
//! | `names`     | the same by names that decode, look or sort like others                      |
//! | `heads`     | lines in names that become headers, requests within requests                 |
//! | `documents` | documents that are deep, wide or long                                        |
//! | `traces`    | what is left behind where people look: no token, no control character        |
//!
//! What is tried is made of the vocabulary where it can be, so that an operation that is added is
//! attacked without anybody thinking of it. Slow peers, forged hosts and origins and malformed
//! frames have files of their own beside this folder.

mod canaries;
mod documents;
mod heads;
mod names;
mod traces;

use baton_core::access::{Grant, Role};
use serde_json::{Value, json};

use crate::access::{ask, grant, guarded, patterns};
use crate::callers::http::Http;
use crate::harness::Harness;

/// Stands in the workspace `red`, and must not be seen by those of `blue`.
const CANARY: &str = "canary-3e9d";

/// A server with a canary in `red`: the bearer of an admin, and that of somebody who may do
/// everything, but in `blue` alone.
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

/// Sends one request over a connection of its own, since it may be one that breaks it; all that was
/// answered, as it came.
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
