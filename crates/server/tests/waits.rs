//! Waiting calls: they block no other calls, none is forgotten, and a caller that has gone no
//! longer waits.

use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use baton_server::Settings;
use futures_util::poll;
use serde_json::{Value, json};

use crate::callers::http::{Http, lines};
use crate::callers::socket::Socket;
use crate::harness::{Harness, SHORT, eventually, settings, within};

/// Longer than any test takes, so that no call ends because of its timeout.
const LONG_MS: u64 = 3_600_000;

fn acquire(agent: &str, wait_ms: u64) -> Value {
    json!({"agent": agent, "command": "lock.acquire", "name": "door", "wait_ms": wait_ms})
}

fn release(hold: &Value) -> Value {
    let (agent, token) = (&hold["holder"], &hold["token"]);
    json!({"agent": agent, "command": "lock.release", "name": "door", "token": token})
}

/// Sends a request in the workspace `w` and does not wait for the answer.
async fn begin(socket: &mut Socket, id: u64, request: Value) {
    let mut document = request;
    document["id"] = id.into();
    document["workspace"] = "w".into();
    socket.send(&document).await;
}

async fn begin_over_http(http: &mut Http, agent: &str) {
    let body = json!({"wait_ms": LONG_MS}).to_string();
    let length = body.len().to_string();
    let lines =
        lines(&[("host", "localhost"), ("baton-agent", agent), ("content-length", &length)]);
    http.send(format!("POST /v1/w/locks/door/acquire HTTP/1.1\r\n{lines}\r\n{body}")).await;
}

async fn line(harness: &Harness) -> Vec<String> {
    let lock = harness.http().await.get("/v1/w/locks/door").await.json();
    let waiters = lock["waiters"].as_array().expect("a lock tells who waits");
    waiters.iter().map(|wait| wait["agent"].as_str().expect("a name").to_owned()).collect()
}

/// Waits until exactly these are queued.
async fn line_is(harness: &Harness, wanted: &[&str]) {
    eventually(&format!("{wanted:?} wait"), async || line(harness).await == wanted).await;
}

#[tokio::test]
async fn a_waiting_call_does_not_delay_others_on_its_connection() {
    let harness = Harness::new().await;
    let mut socket = harness.socket().await;
    let hold = socket.ask(acquire("ada", 0)).await["result"].clone();
    begin(&mut socket, 1, acquire("bob", LONG_MS)).await;
    begin(&mut socket, 2, acquire("cem", LONG_MS)).await;
    let set = json!({"command": "state.set", "namespace": "shared", "key": "k", "value": 1});
    assert_eq!(socket.ask(set).await["result"]["version"], 1);
    assert_eq!(line(&harness).await, ["bob", "cem"]);
    assert_eq!(socket.ask(release(&hold)).await["result"]["hold"]["holder"], "bob");
    let bobs = socket.answer(1).await["result"].clone();
    assert_eq!(bobs["holder"], "bob");
    let mut other = harness.socket().await;
    assert_eq!(other.ask(release(&bobs)).await["result"]["hold"]["holder"], "cem");
    let cems = socket.answer(2).await;
    assert_eq!(cems["result"]["holder"], "cem");
    assert!(cems["result"]["token"].as_u64() > bobs["token"].as_u64(), "{cems}");
}

/// Both are sent by the same thread, so what was sent first has arrived first.
#[tokio::test]
async fn the_next_holder_is_answered_before_the_releasing_call() {
    let harness = Harness::new().await;
    let (mut holder, mut next) = (harness.socket().await, harness.socket().await);
    let mut hold = holder.ask(acquire("ada", 0)).await["result"].clone();
    for round in 0..20 {
        let waiter = ["bob", "ada"][round % 2];
        begin(&mut next, 1, acquire(waiter, LONG_MS)).await;
        line_is(&harness, &[waiter]).await;
        begin(&mut holder, 2, release(&hold)).await;
        assert_eq!(holder.answer(2).await["result"]["hold"]["holder"], waiter);
        let granted = poll!(pin!(next.answer(1)));
        let Poll::Ready(granted) = granted else { panic!("it was answered later") };
        hold = granted["result"].clone();
        std::mem::swap(&mut holder, &mut next);
    }
}

#[tokio::test]
async fn a_waiting_http_call_is_answered_when_it_is_granted() {
    let harness = Harness::new().await;
    let mut holder = harness.http().await;
    let hold = holder.command(&acquire("ada", 0)).await.json()["result"].clone();
    let mut waiter = harness.http().await;
    begin_over_http(&mut waiter, "bob").await;
    line_is(&harness, &["bob"]).await;
    // In a list, the calls after the waiting one are executed in the meantime.
    let set = json!({"command": "state.set", "namespace": "shared", "key": "k", "value": 1});
    let mut list = harness.http().await;
    let body = json!([acquire("cem", LONG_MS), set]).to_string();
    let length = body.len().to_string();
    let head = lines(&[("host", "localhost"), ("content-length", &length)]);
    list.send(format!("POST /v1/w/commands HTTP/1.1\r\n{head}\r\n{body}")).await;
    eventually("the second of the list is carried out", async || {
        harness.http().await.get("/v1/w/state/shared/k").await.status == 200
    })
    .await;
    assert_eq!(holder.command(&release(&hold)).await.status, 200);
    let response = waiter.response().await;
    assert_eq!((response.status, response.json()["holder"].clone()), (200, json!("bob")));
    assert_eq!(holder.command(&release(&response.json())).await.status, 200);
    let answers = list.response().await.json();
    assert_eq!(answers[0]["result"]["holder"], "cem", "{answers}");
    assert_eq!(answers[1]["result"]["version"], 1, "{answers}");
}

#[tokio::test]
async fn the_wait_of_a_closed_connection_ends() {
    let harness = Harness::new().await;
    let mut holder = harness.socket().await;
    let hold = holder.ask(acquire("ada", 0)).await["result"].clone();
    let mut gone = harness.socket().await;
    begin(&mut gone, 1, acquire("bob", LONG_MS)).await;
    line_is(&harness, &["bob"]).await;
    let mut gone_too = harness.http().await;
    begin_over_http(&mut gone_too, "cem").await;
    line_is(&harness, &["bob", "cem"]).await;
    let mut stays = harness.http().await;
    begin_over_http(&mut stays, "dora").await;
    line_is(&harness, &["bob", "cem", "dora"]).await;
    drop(gone);
    line_is(&harness, &["cem", "dora"]).await;
    drop(gone_too);
    line_is(&harness, &["dora"]).await;
    holder.ask(release(&hold)).await;
    assert_eq!(stays.response().await.json()["holder"], "dora");
}

/// When the first of two calls leaves the queue of a semaphore, the second may get its permit: not
/// if the same caller waits in both, and is gone.
#[tokio::test]
async fn a_caller_that_leaves_is_granted_nothing_by_its_own_departure() {
    let harness = Harness::new().await;
    let path = "/v1/w/semaphores/models";
    let body = json!({"permits": 2, "ttl_ms": LONG_MS});
    harness.http().await.post(&format!("{path}/acquire"), &body).await;
    let wait = |weight: u64| {
        json!({"agent": "bob", "command": "semaphore.acquire", "name": "models",
            "weight": weight, "wait_ms": LONG_MS})
    };
    let counts = async || {
        let models = harness.http().await.get(path).await.json();
        let count = |list: &str| models[list].as_array().map(Vec::len);
        (count("holders"), count("waiters"))
    };
    let mut socket = harness.socket().await;
    begin(&mut socket, 1, wait(2)).await;
    begin(&mut socket, 2, wait(1)).await;
    eventually("both calls wait", async || counts().await == (Some(1), Some(2))).await;
    drop(socket);
    eventually("no call waits", async || counts().await.1 == Some(0)).await;
    assert_eq!(counts().await, (Some(1), Some(0)));
    let mut http = harness.http().await;
    let body = json!([wait(2), wait(1)]).to_string();
    let length = body.len().to_string();
    let lines = lines(&[("host", "localhost"), ("content-length", &length)]);
    http.send(format!("POST /v1/w/commands HTTP/1.1\r\n{lines}\r\n{body}")).await;
    eventually("both calls wait", async || counts().await == (Some(1), Some(2))).await;
    drop(http);
    eventually("no call waits", async || counts().await.1 == Some(0)).await;
    assert_eq!(counts().await, (Some(1), Some(0)));
}

#[tokio::test]
async fn a_wait_that_times_out_is_answered_with_null() {
    let harness = Harness::new().await;
    let mut socket = harness.socket().await;
    socket.ask(acquire("ada", 0)).await;
    for wait_ms in [0, 1, 20] {
        let answer = socket.ask(acquire("bob", wait_ms)).await;
        assert_eq!(answer["result"], Value::Null, "{answer}");
        assert!(answer["revision"].is_u64(), "{answer}");
        let body = json!({ "wait_ms": wait_ms });
        let response = harness.http().await.post("/v1/w/locks/door/acquire", &body).await;
        assert_eq!((response.status, response.json()), (200, Value::Null));
    }
    assert_eq!(line(&harness).await, [""; 0]);
}

#[tokio::test]
async fn no_deadline_of_a_door_ends_a_wait() {
    let hasty = Settings {
        head_deadline: SHORT,
        body_deadline: SHORT,
        write_deadline: SHORT,
        ..settings()
    };
    let harness = Harness::with(hasty).await;
    let mut socket = harness.socket().await;
    socket.ask(acquire("ada", 0)).await;
    let wait_ms = u64::try_from(5 * SHORT.as_millis()).expect("it is short");
    begin(&mut socket, 1, acquire("bob", wait_ms)).await;
    let body = json!({ "wait_ms": wait_ms });
    let response = harness.http().await.post("/v1/w/locks/door/acquire", &body).await;
    assert_eq!((response.status, response.json()), (200, Value::Null));
    assert_eq!(socket.answer(1).await["result"], Value::Null);
}

/// If they counted as requests in flight, the release that they wait for would never be read.
#[tokio::test]
async fn calls_that_wait_do_not_fill_a_connection_and_have_a_limit_of_their_own() {
    let few = Settings { in_flight_max: 2, waits_per_connection_max: 4, ..settings() };
    let harness = Harness::with(few).await;
    let mut socket = harness.socket().await;
    let hold = socket.ask(acquire("ada", 0)).await["result"].clone();
    for id in 1..=4 {
        begin(&mut socket, id, acquire(&format!("waiter-{id}"), LONG_MS)).await;
    }
    let refused = socket.ask(acquire("waiter-5", LONG_MS)).await;
    assert_eq!(refused["error"]["code"], "request.too_many", "{refused}");
    assert_eq!(refused["error"]["max"], 4, "{refused}");
    assert_eq!(line(&harness).await.len(), 4, "a refused call does not wait");
    let mut next = hold;
    for id in 1..=4 {
        socket.ask(release(&next)).await;
        next = socket.answer(id).await["result"].clone();
        assert_eq!(next["holder"], format!("waiter-{id}"));
    }
}

#[tokio::test]
async fn a_request_that_comes_again_under_its_key_takes_the_place_of_the_first() {
    let harness = Harness::new().await;
    let mut holder = harness.socket().await;
    let hold = holder.ask(acquire("ada", 0)).await["result"].clone();
    let mut keyed = acquire("bob", LONG_MS);
    keyed["idempotency_key"] = "k1".into();
    let mut first = harness.socket().await;
    begin(&mut first, 1, keyed.clone()).await;
    line_is(&harness, &["bob"]).await;
    let mut second = harness.socket().await;
    begin(&mut second, 1, keyed.clone()).await;
    assert_eq!(second.ask(json!({"command": "ping"})).await["result"], json!({}));
    assert_eq!(line(&harness).await, ["bob"], "there is one place in line for both");
    holder.ask(release(&hold)).await;
    let answer = first.answer(1).await;
    assert_eq!(answer["error"]["code"], "engine.unknown_outcome", "{answer}");
    let granted = second.answer(1).await;
    assert_eq!(granted["result"]["holder"], "bob", "{granted}");
    assert_eq!(holder.ask(keyed).await["result"], granted["result"], "it is answered as before");
}

#[tokio::test]
async fn a_stopping_server_refuses_waiting_calls() {
    // So long that the end would not be noticed if it waited for them.
    let patient = Settings { farewell: Duration::from_hours(1), ..settings() };
    let harness = Harness::with(patient).await;
    let mut socket = harness.socket().await;
    socket.ask(acquire("ada", 0)).await;
    begin(&mut socket, 1, acquire("bob", LONG_MS)).await;
    let mut http = harness.http().await;
    begin_over_http(&mut http, "cem").await;
    line_is(&harness, &["bob", "cem"]).await;
    let (baton, running) = harness.begin_shutdown();
    drop(baton);
    let answer = socket.answer(1).await;
    assert_eq!(answer["error"]["kind"], "unavailable", "{answer}");
    assert_eq!(socket.closed_with().await, Some(1001));
    let response = http.response().await;
    assert_eq!(response.problem().0, 503);
    drop((socket, http));
    within(running).await.unwrap();
}
