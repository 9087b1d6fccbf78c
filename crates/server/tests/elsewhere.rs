//! Requests at a server that does not own the workspace: they have the answer and the effect that
//! they would have at the owner, once.

use std::collections::HashMap;
use std::sync::Arc;

use baton::clock::SystemClock;
use baton::{Baton, Options};
use baton_cluster::{CutProxy, Upstream};
use baton_core::access::Role;
use baton_log::shared::{Candidate, DirectLink, SharedMemory};
use baton_log::shared_conformance::Cut;
use baton_server::access::{Tokens, Wanted};
use baton_server::{HOME, Quota, Quotas, Settings, shard_of};
use serde_json::{Value, json};

use crate::access::{ask, examples, grant, least};
use crate::callers::http::{Http, lines};
use crate::callers::socket::Socket;
use crate::cluster::{SHARDS, Two, workspace};
use crate::harness::{eventually, in_memory, settings};

/// A workspace of the second server, which the first is asked for.
fn far() -> String {
    workspace(1, 0)
}

/// Two servers that require tokens, and the bearers of these.
pub(crate) async fn guarded(
    wanted: impl IntoIterator<Item = (Role, Option<Quota>)>,
) -> (Two, Vec<String>) {
    let mut two = Two::new(&Settings { tokens: true, ..settings() }).await;
    let home = shard_of(HOME, SHARDS);
    let baton = in_memory(Options::default());
    let tokens = Tokens::of(&baton).expect("memory does not fail");
    let mut bearers = Vec::new();
    for (role, quota) in wanted {
        let wanted =
            Wanted { name: "somebody".to_owned(), grant: grant(role), ttl_ms: None, quota };
        let made = tokens.create(wanted).await.expect("it can be kept");
        bearers.push(format!("Bearer {}", made.token));
    }
    two.replace(home, baton).await;
    (two, bearers)
}

#[tokio::test]
async fn every_operation_requires_its_role_on_every_server() {
    let (two, bearers) = guarded(Role::ALL.map(|role| (role, None))).await;
    let examples = examples();
    for (edge, name) in [(0, workspace(1, 0)), (1, workspace(0, 0))] {
        let path = format!("/v1/{name}/commands");
        let address = two.members[edge].address;
        for (role, bearer) in Role::ALL.into_iter().zip(&bearers) {
            let mut http = Http::connect(address).await;
            let (response, mut socket) =
                Socket::shake_hands(address, &[("authorization", bearer)]).await;
            assert_eq!(response.status, 101, "{}", response.head);
            for (operation, example) in &examples {
                let is_refused = |answer: &Value| answer["code"] == "access.role";
                let expected = role < least(operation);
                let (_, alone) = ask(&mut http, bearer, &path, example).await;
                assert_eq!(is_refused(&alone), expected, "{operation} as {role:?}: {alone}");
                let mut frame = example.clone();
                frame["workspace"] = json!(name);
                let framed = socket.ask(frame).await["error"].take();
                assert_eq!(is_refused(&framed), expected, "{operation} as {role:?}: {framed}");
            }
        }
    }
    two.end().await;
}

#[tokio::test]
async fn a_workspace_has_one_quota_and_a_token_one_at_each_owner() {
    let one = Quota { operations_per_s: Some(1), ..Quota::default() };
    let quotas = Quotas { workspace: one, workspaces: HashMap::default(), token: Quota::default() };
    let two = Two::new(&Settings { quotas, ..settings() }).await;
    let path = format!("/v1/{}/state/shared/plan", far());
    spend(&mut two.members[0].http().await, &far(), &[]).await;
    for member in &two.members {
        let refused = member.http().await.put(&path, &json!(1)).await;
        assert_eq!(refused.problem(), (429, "quota.operations".to_owned()));
        assert_eq!(refused.json()["of"], "workspace", "{refused:?}");
    }
    two.end().await;

    let (two, bearers) = guarded([(Role::Worker, Some(one))]).await;
    let bearer = [("authorization", bearers[0].as_str())];
    spend(&mut two.members[0].http().await, &far(), &bearer).await;
    for member in &two.members {
        let refused = member.http().await.request("PUT", &path, &bearer, "1").await;
        assert_eq!(refused.problem(), (429, "quota.operations".to_owned()));
        assert_eq!(refused.json()["of"], "token", "{refused:?}");
    }
    let other = format!("/v1/{}/state/shared/plan", workspace(2, 0));
    let written = two.members[1].http().await.request("PUT", &other, &bearer, "1").await;
    assert_eq!(written.status, 200, "another owner counts for itself: {written:?}");
    two.end().await;
}

/// So much at once that repaying it takes many minutes.
async fn spend(http: &mut Http, name: &str, headers: &[(&str, &str)]) {
    let set = |number| {
        json!({"command": "state.set", "namespace": "shared", "key": format!("k{number}"),
               "value": 1})
    };
    let commands: Vec<Value> = (0..1_000).map(set).collect();
    let path = format!("/v1/{name}/transactions");
    let body = json!({"commands": commands}).to_string();
    let response = http.request("POST", &path, headers, &body).await;
    assert_eq!(response.status, 200, "{response:?}");
}

#[tokio::test]
async fn a_call_that_waits_at_one_server_is_answered_by_a_write_at_another() {
    let two = Two::new(&settings()).await;
    let (tasks, claims) = (format!("/v1/{}/tasks", far()), format!("/v1/{}/claims", far()));
    let mut waiting = two.members[0].http().await;
    let body = json!({"wait_ms": 3_600_000}).to_string();
    let length = body.len().to_string();
    let headers =
        lines(&[("host", "localhost"), ("baton-agent", "ada"), ("content-length", &length)]);
    waiting.send(format!("POST {claims} HTTP/1.1\r\n{headers}\r\n{body}")).await;
    let mut owner = two.members[1].http().await;
    eventually("ada waits at the owner", async || {
        let text = String::from_utf8(owner.get("/metrics").await.body).expect("it is text");
        text.contains("baton_task_claims_waiting 1")
    })
    .await;
    let created = owner.post(&tasks, &json!({"type": "review"})).await;
    assert!(created.status < 300, "{created:?}");
    let claimed = waiting.response().await;
    assert_eq!(claimed.status, 200, "{claimed:?}");
    assert_eq!(claimed.json()["id"], created.json()["id"], "{claimed:?}");
    two.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_workspace_is_exported_and_imported_at_servers_that_do_not_own_it() {
    let two = Two::new(&settings()).await;
    let mut http = two.members[0].http().await;
    let state = format!("/v1/{}/state/shared/plan", far());
    assert_eq!(http.put(&state, &json!("as planned")).await.status, 200);
    let artifacts = format!("/v1/{}/artifacts", far());
    // The file is larger than what a server keeps to be able to send it again.
    let stored = http.request("PUT", &artifacts, &[], incompressible(3 << 20)).await;
    assert_eq!(stored.status, 201, "{stored:?}");
    let exported = http.get(&format!("/v1/{}/export", far())).await;
    assert_eq!(exported.status, 200, "{exported:?}");
    assert!(exported.body.len() > 3 << 20, "{}", exported.body.len());

    let (other, mut http) = (workspace(2, 0), two.members[1].http().await);
    let import = format!("/v1/{other}/import");
    let imported = http.request("POST", &import, &[], &exported.body).await;
    assert_eq!(imported.status, 201, "{imported:?}");
    for member in &two.members {
        let copied = member.http().await.get(&state.replace(&far(), &other)).await;
        assert_eq!(copied.json()["value"], "as planned");
    }
    let again = http.request("POST", &import, &[], &exported.body).await;
    assert_eq!(again.problem(), (409, "workspace.exists".to_owned()));
    two.end().await;
}

fn incompressible(bytes: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let next = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        state.to_be_bytes()[0]
    };
    (0..bytes).map(next).collect()
}

#[cfg(feature = "mcp")]
#[tokio::test]
async fn the_tools_of_mcp_work_at_every_server() {
    use crate::mcp::call_in;

    let two = Two::new(&settings()).await;
    let (near, path) = (two.members[1].address, format!("/v1/{}/state/shared/plan", far()));
    let mut edge = two.members[0].http().await;
    let arguments = json!({"ref": "shared/plan", "value": "by a tool"});
    let answer = call_in(&mut edge, &far(), "baton_write_state", arguments).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(Http::connect(near).await.get(&path).await.json()["value"], "by a tool");
    let brief = call_in(&mut edge, &far(), "baton_brief", json!({})).await;
    assert_eq!(brief.status, 200, "{brief:?}");
    assert!(String::from_utf8_lossy(&brief.body).contains(&far()), "{brief:?}");
    two.end().await;
}

/// The version of the entry counts the executions.
#[tokio::test]
async fn a_write_without_a_key_is_not_repeated_when_its_owner_dies() {
    let mut two = Two::new(&settings()).await;
    let owner = Upstream::Address(two.members[1].address.to_string());
    let proxy = CutProxy::start(owner, b"to be counted");
    two.advertised.insert(1, format!("http://{}", proxy.address()));
    two.publish();
    let path = format!("/v1/{}/state/shared/plan", far());
    let mut edge = two.members[0].http().await;
    let mut owner = two.members[1].http().await;
    assert_eq!(edge.put(&path, &json!("first")).await.json()["version"], 1);
    for (cut, version) in [(Cut::After, 2), (Cut::Before, 2)] {
        proxy.cut(cut);
        let answer = edge.put(&path, &json!("to be counted")).await;
        assert_eq!(answer.problem(), (503, "cluster.owner_lost".to_owned()), "{cut:?}");
        assert!(answer.json()["hint"].as_str().is_some_and(|hint| hint.contains("key")));
        assert!(proxy.has_cut(), "{cut:?}");
        eventually("it is executed at most once", async || {
            owner.get(&path).await.json()["version"] == version
        })
        .await;
    }
    // Had one of them been sent again, it would be before this one.
    assert_eq!(edge.put(&path, &json!("last")).await.json()["version"], 3);
    two.end().await;
}

/// The engine of a shard on what is left of its log.
fn opened(database: &SharedMemory) -> Baton {
    database.declare_all_gone();
    let candidate = Candidate::new(database, Arc::new(DirectLink::default()), "memory");
    let log = candidate.open().expect("it is free");
    Baton::on(log, SystemClock::default(), Options::default()).expect("memory does not fail")
}

#[tokio::test]
async fn a_log_that_lost_acknowledged_writes_is_reported_and_nothing_else_is_answered() {
    let mut two = Two::new(&settings()).await;
    let database = SharedMemory::default();
    two.replace(1, opened(&database)).await;
    let path = format!("/v1/{}/state/shared/plan", far());
    let mut edge = two.members[0].http().await;
    for value in ["kept", "lost"] {
        assert_eq!(edge.put(&path, &json!(value)).await.status, 200);
    }
    database.lose_last();
    let refused = edge.put(&path, &json!("after")).await;
    assert_eq!(refused.problem(), (503, "log.went_back".to_owned()));
    for member in &two.members {
        let refused = member.http().await.get(&path).await;
        assert_eq!(refused.problem(), (503, "log.went_back".to_owned()));
    }
    two.replace(1, opened(&database)).await;
    let entry = edge.get(&path).await.json();
    assert_eq!((&entry["value"], &entry["version"]), (&json!("kept"), &json!(1)), "{entry}");
    two.end().await;
}
