//! Failures below the server: each is reported correctly on every interface.

use std::net::SocketAddr;

use baton::clock::SystemClock;
use baton::{Baton, Options};
use baton_log::faulty::{FaultyDisk, Operation};
use baton_log::{FileLog, Options as FileOptions, Prepare};
use serde_json::{Value, json};

use crate::callers::http::Http;
use crate::harness::{Harness, eventually, settings};

fn on_disk(disk: &FaultyDisk) -> Baton {
    // A group fits into a segment, and these are small.
    on_disk_with(disk, Options { group_bytes_max: 128 << 10, ..Options::default() })
}

fn on_disk_with(disk: &FaultyDisk, options: Options) -> Baton {
    let file = FileOptions {
        segment_bytes: 256 << 10,
        prepare: Prepare::Inline,
        ..FileOptions::new("/baton")
    };
    let log = FileLog::open_on(disk.clone(), file).expect("the disk is well");
    Baton::on(log, SystemClock::default(), options).expect("the log is well")
}

fn set(key: &str, value: impl Into<Value>) -> Value {
    json!({"command": "state.set", "namespace": "shared", "key": key, "value": value.into()})
}

/// Writes until there is no space left; returns how many writes succeeded.
async fn fill(address: SocketAddr) -> u64 {
    let mut http = Http::connect(address).await;
    for number in 0..10_000_u64 {
        let response = http.command(&set(&format!("fill{}", number % 5), "x".repeat(3_000))).await;
        if response.status != 200 {
            assert_eq!(response.problem(), (503, "engine.full".to_owned()));
            assert_eq!(response.header("retry-after"), Some("1"));
            return number;
        }
    }
    panic!("the disk was never full");
}

#[tokio::test]
async fn a_full_disk_refuses_writes_answers_reads_and_recovers() {
    let disk = FaultyDisk::new(7);
    let harness = Harness::on(on_disk(&disk), settings()).await;
    let mut http = harness.http().await;
    let mut socket = harness.socket().await;
    assert_eq!(http.command(&set("k", 1)).await.status, 200);
    disk.set_capacity(Some(disk.bytes_used() + 64 * 1_024));
    fill(harness.address).await;
    let ballast = "x".repeat(3_000);
    let get = json!({"command": "state.get", "namespace": "shared", "key": "k"});
    let list = json!([set("k", ballast.as_str()), get]);
    let response = http.post("/v1/w/commands", &list).await.json();
    assert_eq!(response[0]["error"]["code"], "engine.full", "{response}");
    let answer = socket.ask(set("k", ballast.as_str())).await;
    assert_eq!(answer["error"]["code"], "engine.full", "{answer}");
    assert_eq!(answer["error"]["kind"], "unavailable");
    assert_eq!(socket.ask(get).await["result"]["value"], 1);
    assert_eq!(http.get("/readyz").await.status, 200);
    disk.set_capacity(None);
    assert_eq!(socket.ask(set("k", 4)).await["result"]["value"], 4);
    assert_eq!(http.command(&set("k", 5)).await.json()["result"]["value"], 5);
}

/// Repeats a request until it has the expected answer.
async fn until(http: &mut Http, path: &str, status: &str) -> Value {
    let mut last = Value::Null;
    for _ in 0..1_000_000 {
        last = http.get(path).await.json();
        if last["status"] == status {
            return last;
        }
        tokio::task::yield_now().await;
    }
    panic!("it never was {status}: {last}");
}

/// The commands that free space, and those that renew or end what a caller holds.
fn reliefs(artifact: &Value, task: &Value, hold: &Value) -> [Value; 6] {
    [
        json!({"command": "state.delete", "namespace": "shared", "key": "k"}),
        json!({"command": "workspace.configure", "history_count": 10}),
        json!({"command": "artifact.delete", "artifact": artifact}),
        json!({"command": "task.heartbeat", "task": "t", "token": task["lease"]["token"]}),
        json!({"command": "lock.renew", "name": "door", "token": hold["token"]}),
        json!({"command": "lock.release", "name": "door", "token": hold["token"]}),
    ]
}

#[tokio::test]
async fn a_nearly_full_disk_is_read_only_until_space_is_freed() {
    let disk = FaultyDisk::new(11);
    let compaction_interval = std::time::Duration::from_millis(1);
    let options =
        Options { disk_free_bytes_min: 1 << 20, compaction_interval, ..Options::default() };
    let harness = Harness::on(on_disk_with(&disk, options), settings()).await;
    let mut http = harness.http().await;
    let mut socket = harness.socket().await;
    socket.ask(json!({"id": 1, "command": "watch", "pattern": "**"})).await;
    assert_eq!(http.command(&set("k", 1)).await.status, 200);
    assert_eq!(socket.pushed(1).await["event"]["revision"], 1);
    // Without watchers, writes take the fast path.
    let plain = json!({"command": "state.set", "workspace": "unwatched", "namespace": "shared",
        "key": "k", "value": 1});
    for version in 1..3 {
        assert_eq!(socket.ask(plain.clone()).await["result"]["version"], version);
    }
    let acquire = json!({"command": "lock.acquire", "name": "door", "ttl_ms": 600_000});
    let held = http.post("/v1/unwatched/commands", &acquire).await.json();
    let create = json!({"command": "task.create", "type": "long", "id": "t"});
    assert_eq!(http.post("/v1/unwatched/commands", &create).await.status, 200);
    let claim = json!({"command": "task.claim", "task": "t", "lease_ms": 600_000});
    let leased = http.post("/v1/unwatched/commands", &claim).await.json();
    let stored = http.request("PUT", "/v1/unwatched/artifacts", &[], "large").await.json();
    until(&mut http, "/readyz", "ready").await;
    disk.set_capacity(Some(disk.bytes_used() + (1 << 19)));
    let response = until(&mut http, "/readyz", "read_only").await;
    assert!(response["detail"].as_str().unwrap().contains("bytes are free"), "{response}");
    // Long before the disk is full, on every interface, and nothing is written.
    let response = http.command(&set("k", 2)).await;
    assert_eq!(response.problem(), (429, "engine.disk_low".to_owned()));
    let answer = socket.ask(set("k", 2)).await;
    assert_eq!(answer["error"]["code"], "engine.disk_low", "{answer}");
    assert_eq!(answer["error"]["kind"], "exhausted");
    let answer = socket.ask(plain).await;
    assert_eq!(answer["error"]["code"], "engine.disk_low", "{answer}");
    let put = http.request("PUT", "/v1/w/artifacts", &[], "bytes").await;
    assert_eq!(put.problem(), (429, "engine.disk_low".to_owned()));
    let put = http.request("PUT", "/v1/w/secrets", &[], "bytes").await;
    assert_eq!(put.problem(), (429, "engine.disk_low".to_owned()));
    let fork = http.post("/v1/w/fork", &json!({"to": "copy"})).await;
    assert_eq!(fork.problem(), (429, "engine.disk_low".to_owned()));
    let get = json!({"command": "state.get", "namespace": "shared", "key": "k"});
    assert_eq!(socket.ask(get).await["result"]["value"], 1);
    // Commands that free space are accepted, as are those that renew or end what a caller holds.
    for relief in reliefs(&stored["artifact"], &leased["result"], &held["result"]) {
        let response = http.post("/v1/unwatched/commands", &relief).await;
        assert_eq!(response.status, 200, "{relief}: {}", response.json());
    }
    // Below half of the limit, what is left is for the engine.
    disk.set_capacity(Some(disk.bytes_used() + (1 << 18)));
    let heartbeat = &reliefs(&stored["artifact"], &leased["result"], &held["result"])[3];
    eventually("nothing is accepted any more", async || {
        let response = http.post("/v1/unwatched/commands", heartbeat).await;
        response.status != 200 && response.problem() == (429, "engine.disk_low".to_owned())
    })
    .await;
    // A little more is not enough, so that it does not switch back and forth; much more is.
    disk.set_capacity(Some(disk.bytes_used() + (1 << 20) + 1_000));
    assert_eq!(http.command(&set("k", 2)).await.problem().1, "engine.disk_low");
    disk.set_capacity(None);
    until(&mut http, "/readyz", "ready").await;
    assert_eq!(http.command(&set("k", 3)).await.json()["result"]["version"], 2);
    assert_eq!(socket.pushed(1).await["event"]["revision"], 2);
}

#[tokio::test]
async fn every_caller_of_a_lost_group_gets_the_failure_and_no_other_does() {
    for round in 0..6_u64 {
        let disk = FaultyDisk::new(round);
        let harness = Harness::on(on_disk(&disk), settings()).await;
        let mut socket = harness.socket().await;
        socket.ask(set("k", 0)).await;
        disk.set_capacity(Some(disk.bytes_used() + 20_000 * (round + 1)));
        let mut bytes = Vec::new();
        for id in 1..=300_u64 {
            let mut request = set("k", json!([id, "x".repeat(3_000)]));
            request["id"] = json!(id);
            request["workspace"] = json!("w");
            bytes.extend(socket.framed(&request));
        }
        socket.send_bytes(&bytes).await;
        let mut last = 0;
        for id in 1..=300 {
            let answer = socket.answer(id).await;
            match answer["result"]["revision"].as_u64() {
                Some(revision) => last = revision,
                None => assert_eq!(answer["error"]["code"], "engine.full", "{answer}"),
            }
            if id == 150 {
                disk.set_capacity(None);
            }
        }
        let get = json!({"command": "state.get", "namespace": "shared", "key": "k"});
        let kept = socket.ask(get).await;
        assert_eq!(kept["result"]["revision"].as_u64(), Some(last.max(1)), "round {round}: {kept}");
        // Acknowledged state must exist after a restart.
        drop(socket);
        drop(harness.end().await);
        let baton = on_disk(&disk);
        let workspace = baton.workspace("w").unwrap();
        let entry = workspace.state("shared").get("k").await.unwrap();
        assert_eq!(entry.revision().0, last.max(1), "round {round}");
    }
}

#[tokio::test]
async fn a_failed_sync_is_an_unknown_outcome_and_stops_the_engine() {
    let disk = FaultyDisk::new(3);
    disk.refuse_direct(true);
    let harness = Harness::on(on_disk(&disk), settings()).await;
    let mut http = harness.http().await;
    let mut socket = harness.socket().await;
    let watch = json!({"id": 1, "command": "watch", "pattern": "**"});
    socket.ask(watch).await;
    assert_eq!(http.command(&set("k", 1)).await.status, 200);
    disk.fail_nth(Operation::Sync, disk.counts().sync);
    let response = http.command(&set("k", 2)).await;
    assert_eq!(response.problem(), (503, "engine.unknown_outcome".to_owned()));
    assert_eq!(socket.pushed(1).await["event"]["revision"], 1);
    let ended = socket.pushed(1).await;
    assert_eq!(ended["error"]["resume_from"], 2, "{ended}");
    for door in [http.command(&set("k", 3)).await, http.get("/readyz").await] {
        assert_eq!(door.problem(), (503, "engine.stopped".to_owned()));
    }
    let answer = socket.ask(set("k", 3)).await;
    assert_eq!(answer["error"]["code"], "engine.stopped", "{answer}");
    assert_eq!(http.get("/healthz").await.status, 200, "the process itself is well");
    drop((http, socket));
    drop(harness.end().await);
}
