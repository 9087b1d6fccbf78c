//! Authentication and permissions: every operation, role and interface, and attempts to bypass
//! them.

use baton::clock::ManualClock;
use baton::{Baton, Options};
use baton_core::access::{CLOSED, Grant, Role};
use baton_core::state::List;
use baton_core::wire::{Effect, OPERATIONS};
use baton_core::{AgentId, NamespaceName, Pattern, Timestamp};
use baton_log::MemoryLog;
use baton_server::Settings;
use baton_server::access::{Tokens, Wanted};
use serde_json::{Value, json};

use crate::callers::http::Http;
use crate::callers::socket::Socket;
use crate::harness::{Harness, in_memory, settings};

/// Operations that need at least the role operator.
const SET_UP: [&str; 15] = [
    "namespace.create",
    "namespace.configure",
    "namespace.delete",
    "rule.add",
    "rule.remove",
    "reaction.add",
    "reaction.remove",
    "reaction.enable",
    "reaction.disable",
    "workspace.configure",
    "workspace.sync",
    "checkpoint.prune",
    "checkpoint.retain",
    "spend.limit",
    "semaphore.resize",
];
/// Operations that only an admin may call.
const ADMINISTER: [&str; 2] = ["workspace.fork", "workspace.delete"];
/// A marker in data that a caller must not see.
const CANARY: &str = "canary-7c1f";

pub(crate) fn grant(role: Role) -> Grant {
    Grant { role, workspaces: Vec::new(), namespaces: Vec::new(), agent: None }
}

pub(crate) fn patterns(texts: &[&str]) -> Vec<Pattern> {
    texts.iter().map(|text| Pattern::parse(text).expect("it is a pattern")).collect()
}

async fn token(baton: &Baton, grant: Grant) -> String {
    let wanted = Wanted { name: "somebody".to_owned(), grant, ttl_ms: None, quota: None };
    let tokens = Tokens::of(baton).expect("its name is good");
    tokens.create(wanted).await.expect("it can be kept").token
}

/// A server that requires tokens, with one for each of these.
pub(crate) async fn guarded(grants: Vec<Grant>) -> (Harness, Vec<String>) {
    let baton = in_memory(Options::default());
    let mut tokens = Vec::new();
    for grant in grants {
        tokens.push(format!("Bearer {}", token(&baton, grant).await));
    }
    (Harness::on(baton, Settings { tokens: true, ..settings() }).await, tokens)
}

pub(crate) async fn ask(
    http: &mut Http,
    bearer: &str,
    path: &str,
    command: &Value,
) -> (u16, Value) {
    let headers = [("authorization", bearer), ("content-type", "application/json")];
    let response = http.request("POST", path, &headers, &command.to_string()).await;
    (response.status, response.json())
}

pub(crate) async fn socket(harness: &Harness, bearer: &str) -> Socket {
    let (response, socket) =
        Socket::shake_hands(harness.address, &[("authorization", bearer)]).await;
    assert_eq!(response.status, 101, "{}", response.head);
    socket
}

/// An example of every operation, from the `OpenAPI` document.
pub(crate) fn examples() -> Vec<(String, Value)> {
    let document: Value = serde_json::from_str(baton_server::openapi()).expect("it is JSON");
    let path = "/paths/~1v1~1{workspace}~1commands/post/requestBody/content/application~1json";
    let examples = document.pointer(&format!("{path}/examples")).expect("there are examples");
    let examples = examples.as_object().expect("they have names");
    let of = |(name, example): (&String, &Value)| {
        let mut value = example["value"].clone();
        // No call may wait here.
        for field in ["wait_ms", "timeout_ms"] {
            value.as_object_mut().expect("it is a command").remove(field);
        }
        (name.clone(), value)
    };
    examples.iter().map(of).filter(|(name, _)| name.contains('.')).collect()
}

pub(crate) fn least(name: &str) -> Role {
    let operation = OPERATIONS.iter().find(|operation| operation.name == name);
    match operation.unwrap_or_else(|| panic!("`{name}` is no operation")).effect {
        _ if ADMINISTER.contains(&name) => Role::Admin,
        _ if SET_UP.contains(&name) => Role::Operator,
        Effect::Changes => Role::Worker,
        Effect::Asks => Role::Reader,
    }
}

#[tokio::test]
async fn every_operation_requires_its_role_on_every_interface() {
    let (harness, bearers) = guarded(Role::ALL.map(grant).to_vec()).await;
    let examples = examples();
    assert_eq!(examples.len(), OPERATIONS.len(), "there is an example of every operation");
    for (role, bearer) in Role::ALL.into_iter().zip(&bearers) {
        let mut http = harness.http().await;
        let mut socket = socket(&harness, bearer).await;
        for (name, example) in &examples {
            let is_refused = |answer: &Value| answer["code"] == "access.role";
            let expected = role < least(name);
            let (_, alone) = ask(&mut http, bearer, "/v1/w/commands", example).await;
            assert_eq!(is_refused(&alone), expected, "{name} as {role:?}: {alone}");
            let list = json!([example]);
            let (_, listed) = ask(&mut http, bearer, "/v1/w/commands", &list).await;
            assert_eq!(is_refused(&listed[0]["error"]), expected, "{name} as {role:?}: {listed}");
            let mut frame = example.clone();
            frame["workspace"] = "w".into();
            let answer = socket.ask(frame).await;
            assert_eq!(is_refused(&answer["error"]), expected, "{name} as {role:?}: {answer}");
        }
    }
    harness.end().await;
}

#[tokio::test]
async fn without_a_token_there_are_health_checks_and_documents_only() {
    let (harness, _) = guarded(vec![grant(Role::Admin)]).await;
    let mut http = harness.http().await;
    for path in ["/healthz", "/readyz", "/openapi.json", "/llms.txt", "/docs/errors"] {
        assert_eq!(http.get(path).await.status, 200, "{path}");
    }
    for path in ["/metrics", "/v1/w/state", "/v1/access/tokens", "/nothing"] {
        let response = http.get(path).await;
        assert_eq!(response.header("www-authenticate"), Some("Bearer"), "{path}");
        assert_eq!(response.problem(), (401, "access.no_token".to_owned()), "{path}");
    }
    let wrong = [
        "Bearer",
        "Bearer ",
        "Basic YWRhOmFkYQ==",
        "Bearer baton_0000000000000000000000000000000000000000000000000000000000000000",
        "Bearer baton_",
        "baton_",
    ];
    for bearer in wrong {
        let response = http.request("GET", "/v1/w/state", &[("authorization", bearer)], "").await;
        assert_eq!(response.problem(), (401, "access.bad_token".to_owned()), "{bearer}");
    }
    let (response, _) = Socket::shake_hands(harness.address, &[]).await;
    assert_eq!(response.status, 401);
    harness.end().await;
}

#[tokio::test]
async fn a_token_in_an_address_is_refused_even_if_it_is_good() {
    let (harness, bearers) = guarded(vec![grant(Role::Admin)]).await;
    let mut http = harness.http().await;
    let bearer = &bearers[0];
    let path = format!("/v1/w/state?access_token={}", &bearer["Bearer ".len()..]);
    let response = http.request("GET", &path, &[("authorization", bearer)], "").await;
    assert_eq!(response.problem(), (400, "access.token_in_url".to_owned()));
    harness.end().await;
}

/// Larger than what the sockets of both sides buffer.
const LARGE_BYTES: usize = 24 << 20;

#[tokio::test]
async fn a_download_is_aborted_when_its_token_is_revoked() {
    let (harness, bearers) = guarded(vec![grant(Role::Admin), grant(Role::Worker)]).await;
    let mut http = harness.http().await;
    let admin = [("authorization", bearers[0].as_str())];
    let worker = [("authorization", bearers[1].as_str())];
    let content = "x".repeat(LARGE_BYTES);
    let put = http.request("PUT", "/v1/w/artifacts", &worker, &content).await;
    assert_eq!(put.status, 201);
    let artifact = put.json()["artifact"].as_str().unwrap().to_owned();
    let mut downloading = Http::narrow(harness.address).await;
    downloading
        .send(format!(
            "GET /v1/w/artifacts/{artifact} HTTP/1.1\r\nhost: localhost\r\n\
             authorization: {}\r\n\r\n",
            bearers[1]
        ))
        .await;
    assert_eq!(downloading.head().await.0, 200);
    let listed = http.request("GET", "/v1/access/tokens", &admin, "").await.json();
    let tokens = listed["tokens"].as_array().unwrap();
    let token = tokens.iter().find(|token| token["role"] == "worker").unwrap();
    let path = format!("/v1/access/tokens/{}", token["id"].as_str().unwrap());
    assert_eq!(http.request("DELETE", &path, &admin, "").await.status, 200);
    assert!(downloading.ends().await.len() < LARGE_BYTES);
    harness.end().await;
}

#[tokio::test]
async fn metrics_need_a_token_without_limits() {
    let limited = Grant { workspaces: patterns(&["w"]), ..grant(Role::Admin) };
    let partly = Grant { namespaces: patterns(&["shared"]), ..grant(Role::Admin) };
    let (harness, bearers) = guarded(vec![grant(Role::Reader), limited, partly]).await;
    let mut http = harness.http().await;
    let mut status = async |bearer: &str| {
        http.request("GET", "/metrics", &[("authorization", bearer)], "").await.status
    };
    assert_eq!((status(&bearers[0]).await, status(&bearers[1]).await), (200, 403));
    assert_eq!(status(&bearers[2]).await, 403);
    harness.end().await;
}

#[tokio::test]
async fn a_revoked_token_is_rejected_and_its_connections_end() {
    let (harness, bearers) = guarded(vec![grant(Role::Admin), grant(Role::Worker)]).await;
    let mut http = harness.http().await;
    let mut socket = socket(&harness, &bearers[1]).await;
    let ping = json!({"id": 1, "command": "ping"});
    assert!(socket.ask(ping).await["error"].is_null());
    let mut watching = harness.http().await;
    let head = format!(
        "GET /v1/w/watch HTTP/1.1\r\nhost: localhost\r\nauthorization: {}\r\n\r\n",
        bearers[1]
    );
    watching.send(head).await;
    assert_eq!(watching.head().await.0, 200);
    let admin = [("authorization", bearers[0].as_str())];
    let listed = http.request("GET", "/v1/access/tokens", &admin, "").await.json();
    assert!(!listed.to_string().contains("digest"), "{listed}");
    let tokens = listed["tokens"].as_array().unwrap();
    let worker = tokens.iter().find(|token| token["role"] == "worker").unwrap();
    let path = format!("/v1/access/tokens/{}", worker["id"].as_str().unwrap());
    assert_eq!(http.request("DELETE", &path, &admin, "").await.status, 200);
    assert_eq!(socket.closed_with().await, Some(1008));
    while watching.chunk().await.is_some() {}
    let response = http.request("GET", "/v1/w/state", &[("authorization", &bearers[1])], "").await;
    assert_eq!(response.problem(), (401, "access.bad_token".to_owned()));
    // Revoking it again is a no-op, and an unknown one is not found.
    assert_eq!(http.request("DELETE", &path, &admin, "").await.status, 200);
    let response = http.request("DELETE", "/v1/access/tokens/none", &admin, "").await;
    assert_eq!(response.problem(), (404, "access.unknown_token".to_owned()));
    harness.end().await;
}

#[tokio::test]
async fn only_an_admin_of_everything_makes_tokens_and_backups() {
    let limited = Grant { workspaces: patterns(&["w"]), ..grant(Role::Admin) };
    let roles = [Role::Reader, Role::Worker, Role::Operator].map(grant);
    let (harness, bearers) = guarded(roles.into_iter().chain([limited]).collect()).await;
    let mut http = harness.http().await;
    let wanted = json!({"name": "mine", "grant": {"role": "admin"}});
    for bearer in &bearers {
        let (status, response) = ask(&mut http, bearer, "/v1/access/tokens", &wanted).await;
        assert_eq!(status, 403, "{response}");
        let response =
            http.request("GET", "/v1/access/backup", &[("authorization", bearer)], "").await;
        assert_eq!(response.status, 403);
    }
    let response = http.request("GET", "/v1/access/backup", &[], "").await;
    assert_eq!(response.status, 401);
    harness.end().await;
}

#[tokio::test]
async fn a_backup_over_http_is_complete_and_contains_the_tokens() {
    let (harness, bearers) = guarded(vec![grant(Role::Admin)]).await;
    let mut http = harness.http().await;
    let admin = [("authorization", bearers[0].as_str())];
    let response = http.request("GET", "/v1/access/backup", &admin, "").await;
    assert_eq!((response.status, response.header("cache-control")), (200, Some("no-store")));
    let log = MemoryLog::default();
    let summary = baton::backup::restore(&response.body[..], log.clone()).unwrap();
    assert_eq!(summary.workspaces.len(), 1, "{summary:?}");
    let clock = baton::clock::SystemClock::default();
    let restored = Baton::on(log, clock, Options::default()).unwrap();
    let restored = Harness::on(restored, Settings { tokens: true, ..settings() }).await;
    let response = restored.http().await.request("GET", "/v1/access/tokens", &admin, "").await;
    assert_eq!(response.status, 200, "the token is known there, too");
    restored.end().await;
    harness.end().await;
}

#[tokio::test]
async fn a_token_that_was_made_over_http_works_and_is_shown_once() {
    let (harness, bearers) = guarded(vec![grant(Role::Admin)]).await;
    let mut http = harness.http().await;
    let wanted = json!({"name": "ci", "grant": {"role": "worker", "agent": "ci"}});
    let (status, made) = ask(&mut http, &bearers[0], "/v1/access/tokens", &wanted).await;
    assert_eq!(status, 201, "{made}");
    let bearer = format!("Bearer {}", made["token"].as_str().unwrap());
    let set = json!({"command": "state.set", "namespace": "shared", "key": "k", "value": 1});
    let (status, response) = ask(&mut http, &bearer, "/v1/w/commands", &set).await;
    assert_eq!((status, &response["result"]["updated_by"]), (200, &json!("ci")), "{response}");
    // The author is the token's agent, whatever a request names.
    let mut named = set.clone();
    named["agent"] = "ada".into();
    let (status, response) = ask(&mut http, &bearer, "/v1/w/commands", &named).await;
    assert_eq!((status, &response["code"]), (403, &json!("access.agent")), "{response}");
    for (wanted, code) in [
        (json!({"name": " ", "grant": {"role": "reader"}}), "access.bad_name"),
        (json!({"name": "a\u{1b}[31m", "grant": {"role": "reader"}}), "access.bad_name"),
        (json!({"name": "a", "grant": {"role": "king"}}), "request.bad_field"),
        (json!({"name": "a", "grant": {"role": "worker", "agent": "baton"}}), "request.bad_name"),
        (json!({"name": "a", "grant": {"role": "reader", "x": 1}}), "request.bad_field"),
        (json!({"name": "a"}), "request.missing_field"),
        // All its positions are empty: a list does not say which limits it means.
        (
            json!({"name": "a", "grant": {"role": "reader"}, "quota": [null, null]}),
            "request.bad_field",
        ),
        (json!({"name": "a", "role": "reader"}), "request.unknown_field"),
    ] {
        let (_, response) = ask(&mut http, &bearers[0], "/v1/access/tokens", &wanted).await;
        assert_eq!(response["code"], code, "{wanted}: {response}");
    }
    let admin = [("authorization", bearers[0].as_str())];
    let response = http.request("POST", "/v1/access/tokens", &admin, &" ".repeat(70_000)).await;
    assert_eq!(response.problem(), (413, "request.too_large".to_owned()));
    let mut http = harness.http().await;
    for page in ["before=0", "limit=0", "limit=1001", "limit", "before=x", "after=1"] {
        let path = format!("/v1/access/refusals?{page}");
        let response = http.request("GET", &path, &admin, "").await;
        assert_eq!(response.problem(), (400, "request.bad_field".to_owned()), "{page}");
    }
    let listed = http.request("GET", "/v1/access/tokens", &admin, "").await.json().to_string();
    assert!(!listed.contains(made["token"].as_str().unwrap()), "it is shown once");
    harness.end().await;
}

/// Puts a marker into every place that the grant does not include, and calls every operation: it
/// must not appear in any answer.
#[tokio::test]
async fn nothing_of_other_workspaces_is_revealed() {
    let mine = Grant {
        workspaces: patterns(&["mine"]),
        namespaces: patterns(&["shared"]),
        ..grant(Role::Operator)
    };
    let (harness, bearers) = guarded(vec![grant(Role::Admin), mine]).await;
    let mut http = harness.http().await;
    for (workspace, namespace) in [("other", "shared"), ("mine", "hidden")] {
        let path = format!("/v1/{workspace}/commands");
        let create = json!({"command": "namespace.create", "name": namespace});
        ask(&mut http, &bearers[0], &path, &create).await;
        let set = json!({"command": "state.set", "namespace": namespace, "key": CANARY,
                         "value": {"secret": CANARY}});
        let (status, response) = ask(&mut http, &bearers[0], &path, &set).await;
        assert_eq!(status, 200, "{response}");
    }
    let mut socket = socket(&harness, &bearers[1]).await;
    for (name, example) in examples() {
        for workspace in ["mine", "other", "baton.access"] {
            let path = format!("/v1/{workspace}/commands");
            let (_, response) = ask(&mut http, &bearers[1], &path, &example).await;
            assert!(!response.to_string().contains(CANARY), "{name} in {workspace}: {response}");
            let mut frame = example.clone();
            frame["workspace"] = workspace.into();
            let answer = socket.ask(frame).await;
            assert!(!answer.to_string().contains(CANARY), "{name} in {workspace}: {answer}");
        }
    }
    for query in ["pattern=**", "pattern=state/hidden/**", "pattern=*/hidden/*&snapshot=true", ""] {
        let path = format!("/v1/mine/watch?{query}&from=1");
        let response = http.request("GET", &path, &[("authorization", &bearers[1])], "").await;
        assert_eq!(response.problem(), (403, "access.namespace".to_owned()), "{query}");
    }
    harness.end().await;
}

/// Records outside of namespaces belong to the workspace, and so do the names of keys that they
/// mention; values do not.
#[tokio::test]
async fn a_token_for_a_namespace_sees_holders_and_keys_of_others_but_no_value() {
    let mine = Grant { namespaces: patterns(&["shared"]), ..grant(Role::Worker) };
    let (harness, bearers) = guarded(vec![grant(Role::Admin), mine]).await;
    let mut http = harness.http().await;
    for command in [
        json!({"command": "agent.register", "agent": "ada"}),
        json!({"command": "state.set", "namespace": "agent:ada", "key": "plan", "value": CANARY,
               "agent": "ada"}),
        json!({"command": "lock.acquire", "name": "door", "agent": "ada"}),
        json!({"command": "handoff.offer", "keys": ["agent:ada/plan"], "to": "bob",
               "agent": "ada"}),
    ] {
        let (status, answer) = ask(&mut http, &bearers[0], "/v1/w/commands", &command).await;
        assert_eq!(status, 200, "{answer}");
    }
    let headers = [("authorization", bearers[1].as_str())];
    for (path, shown) in [
        ("locks/door", "\"holder\":\"ada\""),
        ("locks", "\"holder\":\"ada\""),
        ("handoffs", "\"keys\":[\"agent:ada/plan\"]"),
    ] {
        let response = http.request("GET", &format!("/v1/w/{path}"), &headers, "").await;
        let text = response.json().to_string();
        assert!(text.contains(shown) && !text.contains(CANARY), "{path}: {text}");
    }
    let response = http.request("GET", "/v1/w/state/agent:ada/plan", &headers, "").await;
    assert_eq!(response.problem(), (403, "access.namespace".to_owned()));
    harness.end().await;
}

#[tokio::test]
async fn the_workspace_of_the_tokens_is_closed_to_everyone() {
    let (harness, bearers) = guarded(vec![grant(Role::Admin)]).await;
    let mut http = harness.http().await;
    let headers = [("authorization", bearers[0].as_str())];
    for path in ["/v1/baton.access/state", "/v1/baton.access/history", "/v1/baton.access/watch"] {
        let response = http.request("GET", path, &headers, "").await;
        assert_eq!(response.problem(), (403, "access.workspace".to_owned()), "{path}");
    }
    let open = Harness::new().await;
    let response = open.http().await.get("/v1/baton.access/state").await;
    assert_eq!(response.problem(), (403, "access.workspace".to_owned()));
    open.end().await;
    harness.end().await;
}

/// Earlier versions made such tokens.
#[tokio::test]
async fn a_stored_token_for_the_engine_itself_is_not_accepted() {
    let baton = in_memory(Options::default());
    let agent = Some(AgentId::parse("ada").unwrap());
    let made = token(&baton, Grant { agent, ..grant(Role::Worker) }).await;
    let tokens = baton.workspace(CLOSED).unwrap().state("shared");
    let stored = tokens.list(List::all(NamespaceName::shared())).await.unwrap().entries;
    let mut record: Value = serde_json::from_slice(stored[0].value()).unwrap();
    record["agent"] = "baton".into();
    tokens.set(stored[0].key(), &record).await.unwrap();
    let harness = Harness::on(baton, Settings { tokens: true, ..settings() }).await;
    let bearer = format!("Bearer {made}");
    let set = json!({"command": "state.set", "namespace": "shared", "key": "k", "value": 1});
    let (status, refused) = ask(&mut harness.http().await, &bearer, "/v1/w/commands", &set).await;
    assert_eq!((status, &refused["code"]), (401, &json!("access.bad_token")), "{refused}");
    harness.end().await;
}

/// A list names it to nobody, not even where no token is required.
#[tokio::test]
async fn the_workspace_of_the_tokens_is_in_no_list() {
    let mine = Grant { namespaces: patterns(&["shared"]), ..grant(Role::Worker) };
    let (harness, bearers) = guarded(vec![grant(Role::Admin), mine]).await;
    let mut http = harness.http().await;
    let set = json!({"command": "state.set", "namespace": "shared", "key": "k", "value": 1});
    assert_eq!(ask(&mut http, &bearers[0], "/v1/w/commands", &set).await.0, 200);
    for bearer in &bearers {
        let response =
            http.request("GET", "/v1/w/workspaces", &[("authorization", bearer)], "").await;
        let listed = json!({"workspaces": [{"id": "w", "revision": 1}]});
        assert_eq!(response.json(), listed, "{}", response.status);
    }
    harness.end().await;
}

#[tokio::test]
async fn a_token_lasts_as_long_as_it_was_made_for() {
    let baton = in_memory(Options::default());
    let agent = AgentId::parse("ada").unwrap();
    let grant = Grant { agent: Some(agent), ..grant(Role::Worker) };
    let wanted = Wanted { name: "short".to_owned(), grant, ttl_ms: Some(1), quota: None };
    let made = Tokens::of(&baton).unwrap().create(wanted).await.unwrap();
    let bearer = format!("Bearer {}", made.token);
    let harness = Harness::on(baton, settings()).await;
    crate::harness::eventually("its time is over", async || {
        let mut http = harness.http().await;
        let response = http.request("GET", "/v1/w/state", &[("authorization", &bearer)], "").await;
        response.status == 401
    })
    .await;
    harness.end().await;
}

/// Tokens live by the time of their workspace, whatever the clock of the machine says: before a
/// token is made, while it is used, and when the server starts again.
#[tokio::test]
async fn a_clock_that_is_set_back_ends_no_token_early_and_revives_none() {
    let beginning = Timestamp(1_700_000_000_000);
    let (log, clock) = (MemoryLog::default(), ManualClock::at(beginning));
    let open = || Baton::on(log.clone(), clock.clone(), Options::default()).unwrap();
    let status = async |harness: &Harness, bearer: &str| {
        let headers = [("authorization", bearer)];
        harness.http().await.request("GET", "/v1/w/state", &headers, "").await.status
    };
    let baton = open();
    let admin = format!("Bearer {}", token(&baton, grant(Role::Admin)).await);
    // The clock is behind the data when the server starts.
    baton.close().await;
    clock.set(Timestamp(beginning.0 - 120_000));
    let harness = Harness::on(open(), settings()).await;
    let mut http = harness.http().await;
    let wanted = json!({"name": "short", "grant": {"role": "worker"}, "ttl_ms": 60_000});
    let (created, made) = ask(&mut http, &admin, "/v1/access/tokens", &wanted).await;
    assert_eq!((created, &made["created_at"]), (201, &json!(beginning)), "{made}");
    assert_eq!(made["expires_at"], json!(beginning.after(60_000)));
    let short = format!("Bearer {}", made["token"].as_str().expect("it is shown once"));
    assert_eq!(status(&harness, &short).await, 200);
    clock.advance(59_999);
    assert_eq!(status(&harness, &short).await, 200);
    // The server ends and starts again a day earlier.
    drop(http);
    harness.end().await;
    clock.set(Timestamp(beginning.0 - 86_400_000));
    let harness = Harness::on(open(), settings()).await;
    assert_eq!(status(&harness, &short).await, 200);
    clock.advance(60_000);
    assert_eq!(status(&harness, &short).await, 401);
    // Its end is recorded, so it does not come back with the next start.
    // Loading a workspace wakes the engine, whose clock is not the one of its threads.
    assert_eq!(harness.http().await.get("/v1/other/state/shared/k").await.status, 404);
    let ends = harness.baton.workspace(CLOSED).unwrap();
    crate::harness::eventually("its end is recorded", async || {
        let list = List { prefix: Some("ends/".to_owned()), ..List::all(NamespaceName::shared()) };
        ends.state("shared").list(list).await.unwrap().entries.is_empty()
    })
    .await;
    drop(ends);
    harness.end().await;
    clock.set(Timestamp(beginning.0 - 2 * 86_400_000));
    let harness = Harness::on(open(), settings()).await;
    assert_eq!(status(&harness, &short).await, 401);
    assert_eq!(status(&harness, &admin).await, 200);
    harness.end().await;
}

/// A token limits who acts, not whom a query is about: over every interface the same.
#[tokio::test]
async fn an_agents_token_reads_about_others() {
    let agent = Some(AgentId::parse("ada").expect("it is a name"));
    let (harness, bearers) = guarded(vec![Grant { agent, ..grant(Role::Worker) }]).await;
    let [ada] = &bearers[..] else { panic!("there is one") };
    let mut http = harness.http().await;
    let mut socket = socket(&harness, ada).await;
    let send = json!({"command": "message.send", "to": "bob", "body": 1});
    assert_eq!(ask(&mut http, ada, "/v1/w/commands", &send).await.0, 200);
    for command in ["inbox.list", "task.list", "spend.get", "spend.list"] {
        let query = json!({"command": command, "agent": "bob"});
        let (status, answer) = ask(&mut http, ada, "/v1/w/commands", &query).await;
        assert_eq!(status, 200, "{command}: {answer}");
        let query = json!({"workspace": "w", "command": command, "agent": "bob"});
        assert_eq!(socket.ask(query).await["result"], answer["result"], "{command}");
        let acts = json!({"command": "state.set", "namespace": "shared", "key": "k", "value": 1,
            "agent": "bob"});
        let (status, refused) = ask(&mut http, ada, "/v1/w/commands", &acts).await;
        assert_eq!((status, &refused["code"]), (403, &json!("access.agent")), "{refused}");
    }
    harness.end().await;
}

/// Knowing a fencing token is not enough: a call is made by the agent of the access token.
#[tokio::test]
async fn an_agents_token_is_rejected_for_the_holds_of_another() {
    let of = |name: &str| {
        let agent = Some(AgentId::parse(name).expect("it is a name"));
        Grant { agent, ..grant(Role::Worker) }
    };
    let (harness, bearers) = guarded(vec![of("bob"), of("eve"), grant(Role::Operator)]).await;
    let [bob, eve, operator] = &bearers[..] else { panic!("there are three") };
    let mut http = harness.http().await;
    let acquire = json!({"command": "lock.acquire", "name": "door"});
    let (_, hold) = ask(&mut http, bob, "/v1/w/commands", &acquire).await;
    let token = hold["result"]["token"].clone();
    let release = json!({"command": "lock.release", "name": "door", "token": token});
    let (status, refused) = ask(&mut http, eve, "/v1/w/commands", &release).await;
    assert_eq!((status, &refused["code"]), (403, &json!("request.not_holder")), "{refused}");

    let token = token.to_string();
    let fenced = [("authorization", eve.as_str()), ("baton-token", &token)];
    for path in ["/v1/w/state/shared/plan", "/v1/w/artifacts?name=plan.txt"] {
        let response = http.request("PUT", path, &fenced, "1").await;
        assert_eq!(response.problem(), (403, "request.not_holder".to_owned()), "{path}");
    }

    // An operator whose token is for any agent acts in the name of the holder.
    let mut release = release;
    release["agent"] = "bob".into();
    let (status, denied) = ask(&mut http, eve, "/v1/w/commands", &release).await;
    assert_eq!((status, &denied["code"]), (403, &json!("access.agent")), "{denied}");
    let (status, released) = ask(&mut http, operator, "/v1/w/commands", &release).await;
    assert_eq!((status, &released["result"]["status"]), (200, &json!("free")), "{released}");
    harness.end().await;
}

/// Fencing tokens are shown to their holder and to operators, on every interface.
#[tokio::test]
async fn tokens_of_others_are_shown_to_operators_only() {
    let of = |name: &str, role| {
        let agent = Some(AgentId::parse(name).expect("it is a name"));
        Grant { agent, ..grant(role) }
    };
    let grants = [Role::Reader, Role::Worker, Role::Operator, Role::Admin].map(|it| of("eve", it));
    let (harness, bearers) =
        guarded([vec![of("bob", Role::Worker)], grants.to_vec()].concat()).await;
    let mut http = harness.http().await;
    for command in [
        json!({"command": "task.create", "type": "review", "id": "report"}),
        json!({"command": "task.claim", "task": "report"}),
        json!({"command": "lock.acquire", "name": "door"}),
        json!({"command": "semaphore.acquire", "name": "models", "permits": 2}),
        json!({"command": "agent.register", "agent": "bob"}),
    ] {
        let (status, answer) = ask(&mut http, &bearers[0], "/v1/w/commands", &command).await;
        assert_eq!(status, 200, "{answer}");
    }
    for (index, bearer) in bearers.iter().enumerate() {
        let is_shown = matches!(index, 0 | 3 | 4);
        let headers = [("authorization", bearer.as_str())];
        let paths = ["tasks/report", "tasks", "locks/door", "locks", "semaphores/models", "agents"];
        for path in paths {
            let path = format!("/v1/w/{path}");
            let response = http.request("GET", &path, &headers, "").await;
            let text = response.json().to_string();
            assert!(text.contains("\"bob\""), "{path}: {text}");
            assert_eq!(text.contains("\"token\""), is_shown, "{index} at {path}: {text}");
        }
        let mut socket = socket(&harness, bearer).await;
        for (at, more) in [("task.get", json!({"task": "report"})), ("task.list", json!({}))] {
            let mut frame = json!({"id": 1, "workspace": "w", "command": at});
            frame.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let text = socket.ask(frame).await.to_string();
            assert_eq!(text.contains("\"token\""), is_shown, "{index}, {at}: {text}");
        }
        // The past and the events, for operators as well: a notice is the same for everyone.
        let past = http.request("GET", "/v1/w/tasks/report?at=2", &headers, "").await;
        let text = past.json().to_string();
        assert_eq!(text.contains("\"token\""), is_shown, "{index}: {text}");
        for path in ["/v1/w/tasks/report/history", "/v1/w/events"] {
            let response = http.request("GET", path, &headers, "").await;
            let text = response.json().to_string();
            assert!(text.contains("task.claimed") && !text.contains("\"token\""), "{path}: {text}");
        }
    }
    harness.end().await;
}
