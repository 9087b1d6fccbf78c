//! Watches over a WebSocket: many on one connection, each with its own id.

use baton::Options;
use baton_server::Settings;
use serde_json::{Value, json};

use crate::callers::socket::Socket;
use crate::harness::{Harness, SHORT, eventually, in_memory, settings};

fn set(key: &str, value: impl Into<Value>) -> Value {
    json!({"command": "state.set", "namespace": "shared", "key": key, "value": value.into()})
}

async fn watch(socket: &mut Socket, id: u64, more: Value) -> Value {
    let mut request = json!({"id": id, "command": "watch", "pattern": "state/**"});
    for (name, value) in more.as_object().expect("fields are an object") {
        request[name] = value.clone();
    }
    socket.ask(request).await
}

#[tokio::test]
async fn several_watches_on_one_connection_each_get_their_events() {
    let harness = Harness::new().await;
    let mut socket = harness.socket().await;
    let begun = watch(&mut socket, 1, json!({})).await;
    assert_eq!(begun, json!({"id": 1, "revision": 0, "result": {"watch": 1, "from": 1}}));
    watch(&mut socket, 2, json!({"pattern": "state/shared/b*"})).await;
    watch(&mut socket, 3, json!({"types": ["state.deleted"]})).await;
    assert_eq!(harness.metric("baton_watches").await, 3);
    for key in ["a", "b", "bb"] {
        socket.ask(set(key, 1)).await;
    }
    socket.ask(json!({"command": "state.delete", "namespace": "shared", "key": "b"})).await;
    let mut seen = Vec::new();
    for _ in 0..4 {
        seen.push(socket.pushed(1).await["event"]["revision"].clone());
    }
    assert_eq!(seen, [1, 2, 3, 4]);
    for (revision, subject) in [(2, "b"), (3, "bb"), (4, "b")] {
        let event = &socket.pushed(2).await["event"];
        assert_eq!(event["revision"], revision);
        assert_eq!(event["subject"], format!("state/shared/{subject}"));
    }
    assert_eq!(socket.pushed(3).await["event"]["type"], "state.deleted");
}

#[tokio::test]
async fn only_the_last_event_of_a_commit_that_a_watch_gets_is_marked() {
    let harness = Harness::new().await;
    let mut socket = harness.socket().await;
    watch(&mut socket, 1, json!({})).await;
    watch(&mut socket, 2, json!({"pattern": "state/shared/a*"})).await;
    let commands = ["a1", "b1", "a2", "b2"].map(|key| set(key, 1));
    socket.ask(json!({"command": "transaction", "commands": commands})).await;
    let expected = |last: &[bool]| last.iter().map(|last| json!(last)).collect::<Vec<_>>();
    for (id, marks) in [(1, vec![false, false, false, true]), (2, vec![false, true])] {
        let mut seen = Vec::new();
        for _ in &marks {
            let event = socket.pushed(id).await["event"].clone();
            assert!(event.get("last").is_none_or(|last| last == true), "{event}");
            seen.push(json!(event["last"] == true));
        }
        assert_eq!(seen, expected(&marks), "watch {id}");
    }
    // Past events are marked in the same way.
    watch(&mut socket, 3, json!({"from": 1, "pattern": "state/shared/b*"})).await;
    assert_eq!(socket.pushed(3).await["event"].get("last"), None);
    assert_eq!(socket.pushed(3).await["event"]["last"], true);
}

#[tokio::test]
async fn a_number_is_free_again_after_unwatch() {
    let harness = Harness::new().await;
    let mut socket = harness.socket().await;
    watch(&mut socket, 7, json!({})).await;
    let again = watch(&mut socket, 7, json!({})).await;
    assert_eq!(again["error"]["code"], "request.bad_field", "{again}");
    let answer = socket.ask(json!({"command": "unwatch", "watch": 7})).await;
    assert_eq!((&answer["revision"], &answer["result"]), (&json!(0), &json!({})));
    assert_eq!(harness.metric("baton_watches").await, 0);
    let answer = socket.ask(json!({"command": "unwatch", "watch": 7})).await;
    assert_eq!(answer["error"]["code"], "request.bad_field");
    socket.ask(set("unseen", 1)).await;
    let begun = watch(&mut socket, 7, json!({})).await;
    assert_eq!(begun["result"], json!({"watch": 7, "from": 2}));
    socket.ask(set("seen", 1)).await;
    assert_eq!(socket.pushed(7).await["event"]["subject"], "state/shared/seen");
    for id in 100..400 {
        watch(&mut socket, id, json!({})).await;
        socket.ask(json!({"command": "unwatch", "watch": id})).await;
    }
    assert_eq!(harness.metric("baton_watches").await, 1);
    drop(socket);
    harness.becomes_idle().await;
}

#[tokio::test]
async fn a_watch_reports_its_first_revision() {
    let harness = Harness::new().await;
    let mut socket = harness.socket().await;
    for number in 1..=5 {
        socket.ask(set("k", number)).await;
    }
    let begun = watch(&mut socket, 1, json!({"snapshot": true})).await;
    assert_eq!(begun, json!({"id": 1, "revision": 5, "result": {"watch": 1, "from": 6}}));
    let snapshot = socket.pushed(1).await;
    assert_eq!(snapshot["snapshot"]["revision"], 5, "{snapshot}");
    assert_eq!(snapshot["snapshot"]["entries"][0]["value"], 5);
    let begun = watch(&mut socket, 2, json!({"from": 4})).await;
    assert_eq!(begun, json!({"id": 2, "revision": 5, "result": {"watch": 2, "from": 4}}));
    let begun = watch(&mut socket, 3, json!({"from": 6})).await;
    assert_eq!(begun, json!({"id": 3, "revision": 5, "result": {"watch": 3, "from": 6}}));
    let refused = watch(&mut socket, 4, json!({"from": 7})).await;
    assert_eq!(refused["error"]["code"], "history.not_yet", "{refused}");
    assert_eq!((&refused["error"]["asked"], &refused["error"]["newest"]), (&json!(7), &json!(5)));
    socket.ask(set("k", 6)).await;
    socket.ask(set("k", 7)).await;
    for (id, revisions) in [(1, vec![6, 7]), (2, vec![4, 5, 6, 7]), (3, vec![6, 7])] {
        for revision in revisions {
            assert_eq!(socket.pushed(id).await["event"]["revision"], revision, "watch {id}");
        }
    }
}

#[tokio::test]
async fn a_watcher_that_falls_behind_gets_the_revision_to_resume_from() {
    let options = Options { watch_queue_max: 10, ..Options::default() };
    let harness = Harness::on(in_memory(options), settings()).await;
    let mut watcher = Socket::narrow(harness.address).await;
    watch(&mut watcher, 1, json!({})).await;
    let mut writer = harness.socket().await;
    // More than the socket buffers hold, so that the rest must wait in the queue.
    let ballast = "x".repeat(100_000);
    let mut written = 0;
    for _ in 0..100 {
        writer.ask(set("k", ballast.as_str())).await;
        written += 1;
    }
    let mut next = 1;
    let resume_from = loop {
        let pushed = watcher.pushed(1).await;
        if let Some(revision) = pushed["event"]["revision"].as_u64() {
            assert_eq!(revision, next, "no event is skipped");
            next += 1;
        } else {
            assert_eq!(pushed["error"]["code"], "watch.lagged", "{pushed}");
            break pushed["error"]["resume_from"].as_u64().unwrap();
        }
    };
    assert_eq!(resume_from, next);
    assert_eq!(harness.metric("baton_watches").await, 0);
    watch(&mut watcher, 1, json!({"from": resume_from})).await;
    for revision in resume_from..=written {
        assert_eq!(watcher.pushed(1).await["event"]["revision"], revision);
    }
}

#[tokio::test]
async fn requests_are_read_while_a_watch_catches_up() {
    let harness = Harness::new().await;
    let mut writer = harness.socket().await;
    for number in 0..3_000_u64 {
        let mut request = set("k", number);
        request["id"] = json!(number);
        request["workspace"] = json!("w");
        writer.send(&request).await;
    }
    writer.answer(2_999).await;
    let mut watcher = harness.socket().await;
    watch(&mut watcher, 1, json!({"from": 1})).await;
    // The answer is sent between the events, not after them.
    watcher.send(&json!({"id": 2, "command": "ping"})).await;
    let (mut events, mut answered_after) = (0, None);
    while events < 3_000 {
        let heard = watcher.next().await;
        if heard["id"] == 2 {
            answered_after = Some(events);
        } else {
            events += 1;
            assert_eq!(heard["event"]["revision"], events);
        }
    }
    assert!(answered_after.is_some_and(|events| events < 3_000), "{answered_after:?}");
}

#[tokio::test]
async fn many_connections_get_all_answers_and_events_in_order() {
    const CROWD: u64 = 24;
    const SETS: u64 = 20;
    let harness = Harness::new().await;
    let mut crowd = Vec::new();
    for _ in 0..CROWD {
        let mut socket = harness.socket().await;
        watch(&mut socket, 1, json!({})).await;
        crowd.push(socket);
    }
    // So many that writers are used, with some slow readers.
    for round in 0..2 {
        for (number, socket) in crowd.iter_mut().enumerate() {
            let mut bytes = Vec::new();
            for id in 0..SETS {
                let mut request = set(&format!("{number}"), json!([round, "x".repeat(500)]));
                (request["id"], request["workspace"]) = (json!(100 + id), json!("w"));
                bytes.extend(socket.framed(&request));
            }
            socket.send_bytes(&bytes).await;
        }
        let first = round * CROWD * SETS;
        for socket in &mut crowd {
            let (mut answers, mut events) = (Vec::new(), Vec::new());
            while answers.len() as u64 + (events.len() as u64) < SETS + CROWD * SETS {
                let heard = socket.next().await;
                match heard["event"]["revision"].as_u64() {
                    Some(revision) => events.push(revision),
                    None => answers.push(heard["id"].as_u64().expect("an answer has a number")),
                }
            }
            assert!(answers.iter().copied().eq(100..100 + SETS), "{answers:?}");
            assert!(events.iter().copied().eq(first + 1..=first + CROWD * SETS), "{events:?}");
        }
    }
}

#[tokio::test]
async fn a_watch_of_removed_history_or_one_too_many_is_refused() {
    let few = Settings { watches_per_connection_max: 2, watches_max: 3, ..settings() };
    let options = Options { compaction_interval: SHORT, ..Options::default() };
    let harness = Harness::on(in_memory(options), few).await;
    let mut socket = harness.socket().await;
    let configure =
        json!({"command": "workspace.configure", "history_count": 1, "history_age_ms": 1});
    socket.ask(configure).await;
    for number in 0..20 {
        socket.ask(set("k", number)).await;
    }
    let workspace = harness.baton.workspace("w").unwrap();
    harness.baton.compact(&workspace).await.unwrap();
    let gone = watch(&mut socket, 1, json!({"from": 1})).await;
    assert_eq!(gone["error"]["code"], "history.gone", "{gone}");
    watch(&mut socket, 1, json!({})).await;
    watch(&mut socket, 2, json!({})).await;
    let refused = watch(&mut socket, 3, json!({})).await;
    assert_eq!(refused["error"]["code"], "request.too_many", "{refused}");
    assert_eq!(
        (&refused["error"]["kind"], &refused["error"]["max"]),
        (&json!("exhausted"), &json!(2))
    );
    let mut other = harness.socket().await;
    watch(&mut other, 1, json!({})).await;
    let refused = watch(&mut other, 2, json!({})).await;
    assert_eq!(refused["error"]["code"], "request.too_many");
    let response = harness.http().await.get("/v1/w/watch").await;
    assert_eq!(response.problem(), (429, "request.too_many".to_owned()));
    assert_eq!(response.header("retry-after"), Some("1"));
    for bad in
        [json!({"pattern": ""}), json!({"from": -1}), json!({"colour": 1}), json!({"types": 5})]
    {
        let refused = watch(&mut other, 9, bad.clone()).await;
        assert!(refused["error"]["code"].as_str().unwrap().starts_with("request."), "{bad}");
    }
    drop((socket, other));
    eventually("the places are free", async || harness.metric("baton_watches").await == 0).await;
    assert_eq!(watch(&mut harness.socket().await, 1, json!({})).await["result"]["watch"], 1);
}
