//! A caller of one workspace tries to read another one.

use baton_core::wire::{Effect, operation};
use serde_json::{Value, json};

use super::{CANARY, aviary, replaced};
use crate::access::{ask, examples, socket};
use crate::callers::http::Http;

/// Puts the marker into every text that any operation stores.
async fn plant(http: &mut Http, admin: &str) -> usize {
    let mut kept = 0;
    for (name, example) in examples() {
        if operation(&name).is_none_or(|operation| operation.effect == Effect::Asks) {
            continue;
        }
        let copies = replaced(&example, CANARY);
        for copy in copies.iter().chain([&example]) {
            let (status, _) = ask(http, admin, "/v1/red/commands", copy).await;
            kept += usize::from(status == 200 && copy.to_string().contains(CANARY));
        }
    }
    kept
}

/// Every path of the `OpenAPI` document, in the workspace `red`, with a value for each parameter.
fn paths() -> Vec<(String, String)> {
    let document: Value = serde_json::from_str(baton_server::openapi()).expect("it is JSON");
    let paths = document["paths"].as_object().expect("there are paths").iter();
    let of_workspaces = paths.filter(|(path, _)| path.contains("{workspace}"));
    let filled = of_workspaces.flat_map(|(path, methods)| {
        let path = path.replace("{workspace}", "red").replace("{namespace}", "shared");
        let parts = path.split('/').map(|part| if part.starts_with('{') { "k" } else { part });
        let path = parts.collect::<Vec<_>>().join("/");
        let methods = methods.as_object().expect("they have methods").keys();
        methods.map(|method| (method.to_uppercase(), path.clone())).collect::<Vec<_>>()
    });
    filled.collect()
}

#[tokio::test]
async fn no_operation_and_no_path_leads_into_another_workspace() {
    let (harness, admin, blue) = aviary().await;
    let mut http = harness.http().await;
    let kept = plant(&mut http, &admin).await;
    assert!(kept > 40, "the canary is in {kept} places only");
    let mut socket = socket(&harness, &blue).await;
    for (name, example) in examples() {
        let (status, response) = ask(&mut http, &blue, "/v1/red/commands", &example).await;
        assert_eq!(
            (status, &response["code"]),
            (403, &json!("access.workspace")),
            "{name}: {response}"
        );
        let mut frame = example.clone();
        frame["workspace"] = "red".into();
        let answer = socket.ask(frame).await;
        assert_eq!(answer["error"]["code"], "access.workspace", "{name}: {answer}");
    }
    let paths = paths();
    assert!(paths.len() > 100, "{}", paths.len());
    for (method, path) in paths {
        let headers = [("authorization", blue.as_str()), ("content-type", "application/json")];
        let mut http = harness.http().await;
        let response = http.request(&method, &path, &headers, "").await;
        let text = String::from_utf8_lossy(&response.body).into_owned();
        assert!(
            (400..500).contains(&response.status),
            "{method} {path}: {} {text}",
            response.status
        );
        assert!(!text.contains(CANARY), "{method} {path}: {text}");
    }
    harness.end().await;
}

#[tokio::test]
async fn no_field_leads_there_either() {
    let (harness, admin, blue) = aviary().await;
    let mut http = harness.http().await;
    plant(&mut http, &admin).await;
    let mut socket = socket(&harness, &blue).await;
    let mut tried = 0;
    for (name, example) in examples() {
        for trick in ["red", "../red", "red/shared/k", "workspace/red"] {
            for copy in replaced(&example, trick) {
                tried += 1;
                let (_, response) = ask(&mut http, &blue, "/v1/blue/commands", &copy).await;
                assert!(!response.to_string().contains(CANARY), "{name}: {copy}: {response}");
                let mut frame = copy.clone();
                frame["workspace"] = "blue".into();
                let answer = socket.ask(frame).await;
                assert!(!answer.to_string().contains(CANARY), "{name}: {copy}: {answer}");
            }
        }
    }
    assert!(tried > 500, "{tried}");
    harness.end().await;
}

#[tokio::test]
async fn a_watch_of_everything_is_limited_to_its_workspace() {
    let (harness, admin, blue) = aviary().await;
    let mut http = harness.http().await;
    let mut watching = socket(&harness, &blue).await;
    watching
        .send(&json!({"id": 7, "workspace": "blue", "command": "watch", "pattern": "**",
                          "from": 1}))
        .await;
    assert_eq!(watching.answer(7).await["error"], Value::Null);
    plant(&mut http, &admin).await;
    let set = json!({"command": "state.set", "namespace": "shared", "key": "end", "value": 1});
    ask(&mut http, &admin, "/v1/blue/commands", &set).await;
    loop {
        let pushed = watching.pushed(7).await.to_string();
        assert!(!pushed.contains(CANARY), "{pushed}");
        if pushed.contains("state/shared/end") {
            break;
        }
    }
    for path in ["/metrics", "/openapi.json", "/healthz", "/readyz"] {
        let response = http.request("GET", path, &[("authorization", &blue)], "").await;
        assert!(!String::from_utf8_lossy(&response.body).contains(CANARY), "{path}");
    }
    harness.end().await;
}
