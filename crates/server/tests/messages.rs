//! Messages, requests, topics and streams as HTTP resources, and live messages.

use serde_json::{Value, json};

use crate::callers::http::Http;
use crate::harness::{Harness, eventually, within};

/// Operations that are tested only here: they need an id from others, or another agent's answer.
pub(crate) const TRIED: [&str; 5] =
    ["message.get", "inbox.ack", "inbox.requeue", "message.request", "message.reply"];

async fn by_name(http: &mut Http, agent: &str, command: &str, mut fields: Value) -> Value {
    fields["command"] = command.into();
    fields["agent"] = agent.into();
    let response = http.command(&fields).await;
    assert_eq!(response.status, 200, "{command}: {}", response.json());
    response.json()["result"].clone()
}

#[tokio::test]
async fn mail_is_received_and_acknowledged_by_its_owner() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    let sent = http.post("/v1/w/messages", &json!({"to": "bob", "body": 1})).await.json();
    let id = sent["id"].as_str().unwrap().to_owned();
    let shown = by_name(&mut http, "bob", "message.get", json!({"message": id})).await;
    assert_eq!(shown["status"], "waiting");
    let received = http.post("/v1/w/inbox/bob/receive", &json!({"limit": 1})).await.json();
    assert_eq!(received["messages"][0]["id"], id.as_str());
    let ours = http.post("/v1/w/inbox/bob/receive", &json!({"agent": "eve"})).await;
    assert_eq!(ours.problem().0, 400, "an agent is named once");
    let requeued = http.post(&format!("/v1/w/messages/{id}/requeue"), &json!({})).await;
    assert_eq!(requeued.problem(), (403, "message.not_yours".to_owned()));
    let response = http.post("/v1/w/inbox/bob/ack", &json!({"message": id})).await.json();
    assert_eq!(response["messages"][0], id.as_str());
    by_name(&mut http, "bob", "inbox.ack", json!({"message": id})).await;
    let requeue = json!({"command": "inbox.requeue", "agent": "bob", "message": id});
    let response = http.command(&requeue).await;
    assert_eq!(response.problem(), (409, "message.wrong_status".to_owned()));
    let listed = http.get("/v1/w/inbox/bob?status=acked").await.json();
    assert_eq!(listed["messages"][0]["id"], id.as_str());
}

#[tokio::test]
async fn a_request_is_answered_while_its_caller_waits() {
    let harness = Harness::new().await;
    let (mut asker, mut handler) = (harness.http().await, harness.http().await);
    let none = asker.post("/v1/w/requests", &json!({"to": "bob", "body": 1})).await;
    assert_eq!(none.problem(), (404, "message.no_handler".to_owned()));
    by_name(&mut handler, "bob", "agent.register", json!({})).await;
    by_name(&mut handler, "bob", "handler.register", json!({"handler": "sum"})).await;
    let request = json!({"to": {"handler": "sum"}, "body": [1, 2], "timeout_ms": 60_000});
    let asking = async { asker.post("/v1/w/requests", &request).await.json() };
    let answering = async {
        let receive = json!({"wait_ms": 60_000});
        let received = by_name(&mut handler, "bob", "inbox.receive", receive).await;
        let id = received["messages"][0]["id"].as_str().unwrap().to_owned();
        let reply = json!({"request": id, "body": 3});
        by_name(&mut handler, "bob", "message.reply", reply.clone()).await;
        let again = json!({"command": "message.reply", "agent": "bob", "request": id, "body": 3});
        let response = handler.command(&again).await;
        assert_eq!(response.problem(), (409, "message.already_replied".to_owned()));
    };
    let (answer, ()) = within(async { tokio::join!(asking, answering) }).await;
    assert_eq!((&answer["body"], &answer["from"]), (&json!(3), &json!("bob")));
}

#[tokio::test]
async fn a_live_post_reaches_watchers_and_is_in_no_history() {
    let harness = Harness::new().await;
    let (mut http, mut socket) = (harness.http().await, harness.socket().await);
    let watch = json!({"command": "watch", "pattern": "topics/**", "workspace": "w"});
    let begun = socket.ask(watch).await;
    assert_eq!(begun["result"]["from"], 1);
    let path = "/v1/w/topics/news%2Fa";
    http.post(path, &json!({"body": 1, "durable": false})).await;
    http.post(path, &json!({"body": 2})).await;
    http.post(path, &json!({"body": 3, "durable": false})).await;
    let mut heard = Vec::new();
    for _ in 0..3 {
        let event =
            within(socket.find(|response| !response["event"].is_null())).await["event"].clone();
        heard.push((event["body"].clone(), event["revision"].clone(), event["live"].clone()));
    }
    let due = [(1, 0, true), (2, 1, false), (3, 1, true)];
    let due = due.map(|(body, revision, live)| {
        (json!(body), json!(revision), if live { json!(true) } else { Value::Null })
    });
    assert_eq!(heard, due);
    let topic = http.get(path).await.json();
    assert_eq!(topic["posts"], 1, "only what is written down counts");
}

#[tokio::test]
async fn a_reader_waits_for_frames_over_http() {
    let harness = Harness::new().await;
    let (mut writer, mut reader) = (harness.http().await, harness.http().await);
    writer.post("/v1/w/streams", &json!({"stream": "s"})).await;
    let reading = async { reader.get("/v1/w/streams/s/frames?from=0&wait_ms=60000").await.json() };
    let writing = async {
        eventually("a call waits", async || {
            writer.get("/v1/w/streams/s").await.json()["readers_waiting"] == 1
        })
        .await;
        writer.post("/v1/w/streams/s/frames", &json!({"frames": ["to", "ken"]})).await;
        writer.post("/v1/w/streams/s/close", &json!({})).await;
    };
    let (read, ()) = within(async { tokio::join!(reading, writing) }).await;
    assert_eq!(read["frames"][1]["data"], "ken");
    let rest = reader.get("/v1/w/streams/s/frames?from=2&wait_ms=60000").await.json();
    assert_eq!((&rest["status"], &rest["next"]), (&json!("closed"), &json!(2)));
}
