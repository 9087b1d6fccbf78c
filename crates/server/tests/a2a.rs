//! The A2A protocol: tasks of a fleet for agents of other systems.

use baton_a2a::TRANSFER_CONTEXT;
use baton_core::access::Role;
use baton_server::{Settings, Webhooks};
use serde_json::{Value, json};

use crate::access::{grant, guarded, patterns};
use crate::callers::http::{Http, Response};
use crate::harness::{Harness, settings};

const JSON: (&str, &str) = ("content-type", "application/json");
const VERSION: (&str, &str) = ("a2a-version", "1.0");
const FLEET: &str = "/a2a/fleet";

fn message(id: &str, text: &str) -> Value {
    json!({"messageId": id, "role": "ROLE_USER", "parts": [{"text": text}]})
}

/// A message whose sender does not wait.
fn sent(message: &Value) -> Value {
    json!({"message": message, "configuration": {"returnImmediately": true}})
}

async fn rpc_with(
    http: &mut Http,
    path: &str,
    headers: &[(&str, &str)],
    method: &str,
    params: &Value,
) -> Value {
    let call = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    let response = http.request("POST", path, headers, call.to_string()).await;
    assert_eq!(response.status, 200, "{response:?}");
    let answer = response.json();
    assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(7)), "{answer}");
    answer
}

async fn rpc(http: &mut Http, method: &str, params: &Value) -> Value {
    rpc_with(http, FLEET, &[JSON, VERSION], method, params).await
}

async fn created(http: &mut Http, id: &str) -> Value {
    let answer = rpc(http, "SendMessage", &sent(&message(id, "go"))).await;
    answer["result"]["task"].clone()
}

async fn command(http: &mut Http, agent: &str, command: &Value) -> Value {
    let headers = [JSON, ("baton-agent", agent)];
    let path = "/v1/default/commands";
    let response = http.request("POST", path, &headers, command.to_string()).await;
    assert_eq!(response.status, 200, "{command}: {:?}", response.json());
    response.json()["result"].clone()
}

/// The next update of a stream; none at its end.
async fn update(http: &mut Http) -> Option<Value> {
    loop {
        let chunk = http.chunk().await?;
        let text = String::from_utf8(chunk).expect("events are text");
        if let Some(data) = text.strip_prefix("data: ") {
            return Some(serde_json::from_str(data.trim()).expect("data is JSON"));
        }
    }
}

fn state(update: &Value) -> &str {
    let state = &update["result"]["statusUpdate"]["status"]["state"];
    state.as_str().unwrap_or_default().trim_start_matches("TASK_STATE_")
}

async fn subscribe(http: &mut Http, task: &Value) -> Value {
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "SubscribeToTask",
                      "params": {"id": task}});
    let call = call.to_string();
    let length = call.len();
    let head = format!(
        "POST {FLEET} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         a2a-version: 1.0\r\ncontent-length: {length}\r\n\r\n{call}"
    );
    http.send(head).await;
    let (status, head) = http.head().await;
    assert_eq!(status, 200, "{head}");
    assert!(head.contains("text/event-stream"), "{head}");
    update(http).await.expect("a stream begins with the task")
}

#[tokio::test]
async fn a_message_is_a_task_that_a_worker_completes() {
    let harness = Harness::new().await;
    let (mut http, mut stream) = (harness.http().await, harness.http().await);
    let task = created(&mut http, "m-1").await;
    assert_eq!(task["status"]["state"], "TASK_STATE_SUBMITTED", "{task}");
    assert_eq!(task["history"][0]["parts"][0]["text"], "go", "{task}");
    let first = subscribe(&mut stream, &task["id"]).await;
    assert_eq!(first["result"]["task"]["id"], task["id"], "{first}");
    let claimed = command(&mut http, "ada", &json!({"command": "task.claim"})).await;
    assert_eq!((&claimed["id"], &claimed["description"]), (&task["id"], &json!("go")));
    let token = &claimed["lease"]["token"];
    let half = json!({"command": "task.progress", "task": task["id"], "token": token,
                      "fraction": 0.5, "note": "halfway"});
    command(&mut http, "ada", &half).await;
    let done = json!({"command": "task.complete", "task": task["id"], "token": token,
                      "result": {"answer": 42}});
    command(&mut http, "ada", &done).await;
    let mut seen = Vec::new();
    while let Some(update) = update(&mut stream).await {
        seen.push(update);
    }
    let states: Vec<&str> = seen.iter().map(state).collect();
    assert_eq!(states, ["WORKING", "WORKING", "", "COMPLETED"], "{seen:?}");
    let note = &seen[1]["result"]["statusUpdate"]["status"]["message"]["parts"][0]["text"];
    assert_eq!(note, "halfway");
    let artifact = &seen[2]["result"]["artifactUpdate"]["artifact"];
    assert_eq!(artifact["parts"][0]["data"]["answer"], 42, "{artifact}");
    let read = rpc(&mut http, "GetTask", &json!({"id": task["id"], "historyLength": 0})).await;
    assert_eq!(read["result"]["status"]["state"], "TASK_STATE_COMPLETED", "{read}");
    assert_eq!(read["result"]["artifacts"][0], *artifact, "{read}");
    assert_eq!(read["result"].get("history"), None, "{read}");
    harness.end().await;
}

#[tokio::test]
async fn a_repeated_message_has_one_effect() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    let first = created(&mut http, "m-1").await;
    let again = created(&mut http, "m-1").await;
    assert_eq!(first["id"], again["id"]);
    let other = rpc(&mut http, "SendMessage", &sent(&message("m-1", "stop"))).await;
    assert_eq!(other["error"]["code"], -32_602, "{other}");
    let all = rpc(&mut http, "ListTasks", &json!({})).await;
    assert_eq!(all["result"]["totalSize"], 1, "{all}");
    harness.end().await;
}

#[tokio::test]
async fn bad_requests_get_the_errors_of_the_protocol() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    let task = created(&mut http, "m-1").await;
    let code = |answer: Value| answer["error"]["code"].as_i64().unwrap_or_default();
    for (method, params, expected) in [
        ("message/send", json!({}), -32_601),
        ("GetTask", json!({"id": "t-404"}), -32_001),
        ("GetTask", json!({"id": "not a name!"}), -32_001),
        ("GetTask", json!({}), -32_602),
        ("GetTask", json!({"id": task["id"], "historyLength": -1}), -32_602),
        ("GetTask", json!({"id": task["id"], "tenant": "not a name!"}), -32_602),
        ("GetTask", json!({"id": task["id"], "tenant": "elsewhere"}), -32_001),
        ("CancelTask", json!({"id": "t-404"}), -32_001),
        ("SubscribeToTask", json!({"id": "t-404"}), -32_001),
        ("ListTasks", json!({"pageSize": 0}), -32_602),
        ("ListTasks", json!({"pageSize": 101}), -32_602),
        ("ListTasks", json!({"pageToken": "x"}), -32_602),
        ("ListTasks", json!({"status": "working"}), -32_602),
        ("ListTasks", json!({"statusTimestampAfter": "yesterday"}), -32_602),
        ("SendMessage", json!({}), -32_602),
        ("SendMessage", json!({"message": {"messageId": "m"}}), -32_602),
        ("CreateTaskPushNotificationConfig", json!({"taskId": task["id"]}), -32_003),
    ] {
        let answer = rpc(&mut http, method, &params).await;
        assert_eq!(code(answer.clone()), expected, "{method} {params}: {answer}");
        assert!(answer["error"]["data"][0]["reason"].is_string(), "{answer}");
    }
    for (headers, expected) in [
        (&[JSON][..], -32_009),
        (&[JSON, ("a2a-version", "0.3")], -32_009),
        (&[JSON, VERSION, ("a2a-version", "2.0")], -32_600),
        (&[("content-type", "text/plain"), VERSION], -32_005),
    ] {
        let answer = rpc_with(&mut http, FLEET, headers, "ListTasks", &json!({})).await;
        assert_eq!(code(answer.clone()), expected, "{headers:?}: {answer}");
    }
    let mut unfitting = message("m-2", "go");
    unfitting["contextId"] = "other".into();
    unfitting["taskId"] = task["id"].clone();
    assert_eq!(code(rpc(&mut http, "SendMessage", &sent(&unfitting)).await), -32_602);
    unfitting["contextId"] = task["contextId"].clone();
    assert_eq!(code(rpc(&mut http, "SendMessage", &sent(&unfitting)).await), -32_004);
    let large = message("m-3", &"x".repeat(2 << 20));
    assert_eq!(code(rpc(&mut http, "SendMessage", &sent(&large)).await), -32_602);
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let response = http.request("POST", FLEET, &[JSON, VERSION], deep).await;
    assert_eq!(response.json()["error"]["code"], -32_700);
    harness.end().await;
}

async fn rest(http: &mut Http, method: &str, path: &str, body: &Value) -> Response {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    http.request(method, &format!("{FLEET}{path}"), &[JSON, VERSION], body).await
}

#[tokio::test]
async fn the_same_works_as_resources() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    let response =
        rest(&mut http, "POST", "/team/message:send", &sent(&message("m-1", "go"))).await;
    assert_eq!(response.status, 200, "{response:?}");
    assert_eq!(response.header("content-type"), Some("application/a2a+json"));
    let task = response.json()["task"].clone();
    let path = format!("/team/tasks/{}", task["id"].as_str().expect("a task has an id"));
    let read = rest(&mut http, "GET", &path, &Value::Null).await;
    assert_eq!(read.json()["contextId"], task["contextId"]);
    let listed = rest(&mut http, "GET", "/team/tasks?pageSize=1", &Value::Null).await.json();
    assert_eq!(listed["tasks"][0]["id"], task["id"], "{listed}");
    assert_eq!((&listed["nextPageToken"], &listed["totalSize"]), (&json!(""), &json!(1)));
    let elsewhere = rest(&mut http, "GET", "/tasks", &Value::Null).await.json();
    assert_eq!(elsewhere["totalSize"], 0, "the workspace `default` is another tenant");
    let cancel = format!("{path}:cancel");
    let disagree = rest(&mut http, "POST", &cancel, &json!({"tenant": "other"})).await;
    assert_eq!(disagree.status, 400, "{disagree:?}");
    let cancelled = rest(&mut http, "POST", &cancel, &json!({})).await;
    assert_eq!(cancelled.json()["status"]["state"], "TASK_STATE_CANCELED");
    let over = rest(&mut http, "GET", &format!("{path}:subscribe"), &Value::Null).await;
    assert_eq!(over.status, 400, "{over:?}");
    assert_eq!(over.json()["error"]["details"][0]["reason"], "UNSUPPORTED_OPERATION");
    let nothing = rest(&mut http, "GET", "/team/tasks/t-404", &Value::Null).await;
    assert_eq!((nothing.status, &nothing.json()["error"]["status"]), (404, &json!("NOT_FOUND")));
    assert_eq!(rest(&mut http, "PUT", "/tasks", &json!({})).await.status, 404);
    harness.end().await;
}

#[tokio::test]
async fn tasks_are_listed_page_by_page_the_last_changed_first() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    for number in 0..5 {
        created(&mut http, &format!("m-{number}")).await;
    }
    let (mut seen, mut token) = (Vec::new(), json!(""));
    loop {
        let params = json!({"pageSize": 2, "pageToken": token, "historyLength": 0});
        let page = rpc(&mut http, "ListTasks", &params).await["result"].clone();
        assert_eq!(page["totalSize"], 5, "{page}");
        let tasks = page["tasks"].as_array().expect("there are tasks").clone();
        assert!(tasks.len() <= 2, "{page}");
        seen.extend(tasks);
        token = page["nextPageToken"].clone();
        if token == "" {
            break;
        }
    }
    let mut ids: Vec<&str> = seen.iter().filter_map(|task| task["id"].as_str()).collect();
    assert_eq!(ids.len(), 5);
    let times = seen.iter().map(|task| task["status"]["timestamp"].as_str());
    assert!(times.is_sorted_by(|newer, older| newer >= older), "{seen:?}");
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 5, "no task is on two pages");
    let context = json!({"contextId": seen[0]["contextId"]});
    assert_eq!(rpc(&mut http, "ListTasks", &context).await["result"]["totalSize"], 1);
    let working = json!({"status": "TASK_STATE_WORKING"});
    assert_eq!(rpc(&mut http, "ListTasks", &working).await["result"]["totalSize"], 0);
    harness.end().await;
}

#[tokio::test]
async fn a_question_of_the_worker_is_input_that_is_required() {
    let harness = Harness::new().await;
    let (mut http, mut stream) = (harness.http().await, harness.http().await);
    let task = created(&mut http, "m-1").await;
    subscribe(&mut stream, &task["id"]).await;
    let claimed = command(&mut http, "ada", &json!({"command": "task.claim"})).await;
    let token = &claimed["lease"]["token"];
    let ask = json!({"command": "task.update", "task": task["id"], "token": token,
                     "fields": {"metadata": {"question": "which one?"}}});
    command(&mut http, "ada", &ask).await;
    assert_eq!(state(&update(&mut stream).await.expect("it goes on")), "WORKING");
    assert_eq!(state(&update(&mut stream).await.expect("it goes on")), "INPUT_REQUIRED");
    assert_eq!(update(&mut stream).await, None, "a stream ends where input is required");
    let mut answer = message("m-2", "the second");
    answer["taskId"] = task["id"].clone();
    for _ in 0..2 {
        let answered = rpc(&mut http, "SendMessage", &sent(&answer)).await;
        let status = &answered["result"]["task"]["status"];
        assert_eq!(status["message"]["parts"][0]["text"], "which one?", "{answered}");
    }
    let mail = command(&mut http, "ada", &json!({"command": "inbox.list"})).await;
    let mail = mail["messages"].as_array().expect("there is mail");
    assert_eq!(mail.len(), 1, "a repeated answer has one effect: {mail:?}");
    assert_eq!(mail[0]["body"]["message"]["parts"][0]["text"], "the second", "{mail:?}");
    harness.end().await;
}

#[tokio::test]
async fn a_task_without_remaining_retries_waits_for_a_verdict() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    let create = json!({"command": "task.create", "id": "t", "type": "x", "max_retries": 0,
                        "on_exhausted": "review"});
    command(&mut http, "ada", &create).await;
    let claimed = command(&mut http, "ada", &json!({"command": "task.claim"})).await;
    let fail = json!({"command": "task.fail", "task": "t", "token": claimed["lease"]["token"],
                      "error": "no model"});
    command(&mut http, "ada", &fail).await;
    let read = rpc(&mut http, "GetTask", &json!({"id": "t"})).await;
    assert_eq!(read["result"]["status"]["state"], "TASK_STATE_INPUT_REQUIRED", "{read}");
    let mut verdict = message("m-1", "it is not needed");
    verdict["taskId"] = "t".into();
    verdict["parts"] = json!([{"text": "it is not needed"}, {"data": {"verdict": "fail"}}]);
    let decided = rpc(&mut http, "SendMessage", &json!({"message": verdict})).await;
    assert_eq!(decided["result"]["task"]["status"]["state"], "TASK_STATE_FAILED", "{decided}");
    harness.end().await;
}

#[tokio::test]
async fn cards_list_the_capabilities_of_the_fleet_and_its_agents() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    let register = json!({"command": "agent.register", "agent": "ada",
                          "capabilities": ["rust", "sql"],
                          "metadata": {"description": "Writes code."}});
    command(&mut http, "ada", &register).await;
    let card = http.get("/.well-known/agent-card.json").await;
    assert_eq!(card.header("cache-control"), Some("max-age=60"));
    let tag = card.header("etag").expect("a card has a tag").to_owned();
    let known = [("if-none-match", &*tag)];
    let same = http.request("GET", "/.well-known/agent-card.json", &known, "").await;
    assert_eq!(same.status, 304);
    let card = card.json();
    let ids = |card: &Value| {
        let skills = card["skills"].as_array().expect("a card has skills").clone();
        skills.into_iter().map(|skill| skill["id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&card), ["task", "rust", "sql"], "{card}");
    assert_eq!(card["supportedInterfaces"][0]["url"], "http://localhost/a2a/fleet");
    assert_eq!(card["capabilities"]["extensions"][0]["uri"], TRANSFER_CONTEXT);
    let own = http.get("/a2a/agents/ada/.well-known/agent-card.json").await.json();
    assert_eq!((&own["name"], &own["description"]), (&json!("ada"), &json!("Writes code.")));
    assert_eq!(ids(&own), ["rust", "sql"], "{own}");
    let unknown = http.get("/a2a/agents/eve/.well-known/agent-card.json").await;
    assert_eq!(unknown.status, 404, "{unknown:?}");
    let of_tenant = http.get("/a2a/fleet/team/.well-known/agent-card.json").await.json();
    assert_eq!(of_tenant["supportedInterfaces"][1]["tenant"], "team", "{of_tenant}");
    let to_ada = "/a2a/agents/ada";
    let params = sent(&message("m-1", "go"));
    let answer = rpc_with(&mut http, to_ada, &[JSON, VERSION], "SendMessage", &params).await;
    let task = json!({"command": "task.get", "task": answer["result"]["task"]["id"]});
    assert_eq!(command(&mut http, "ada", &task).await["assigned_agent"], "ada");
    let mut skilled = sent(&message("m-2", "go"));
    skilled["metadata"] = json!({"skill": "sql", "type": "query"});
    let answer = rpc(&mut http, "SendMessage", &skilled).await;
    let task = json!({"command": "task.get", "task": answer["result"]["task"]["id"]});
    let task = command(&mut http, "ada", &task).await;
    assert_eq!((&task["capabilities"], &task["type"]), (&json!(["sql"]), &json!("query")));
    harness.end().await;
}

#[tokio::test]
async fn a_transfer_context_is_checked_kept_and_returned() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    command(&mut http, "ada", &json!({"command": "agent.register", "agent": "ada"})).await;
    let context = json!({"originating_task_id": "t-9", "originating_agent": "planner",
                         "state": {"tone": "dry"}, "output_keys": ["report"],
                         "handoff_id": "h-9", "token": 7});
    let mut handed = message("m-1", "continue");
    handed["metadata"] = json!({TRANSFER_CONTEXT: context});
    let to_ada = "/a2a/agents/ada";
    let ignored =
        rpc_with(&mut http, to_ada, &[JSON, VERSION], "SendMessage", &sent(&handed)).await;
    assert_eq!(ignored["error"]["code"], -32_602, "it would be ignored: {ignored}");
    let headers = [JSON, VERSION, ("a2a-extensions", TRANSFER_CONTEXT)];
    let nobody = rpc_with(&mut http, FLEET, &headers, "SendMessage", &sent(&handed)).await;
    assert_eq!(nobody["error"]["code"], -32_602, "it has no receiver: {nobody}");
    let rule = json!({"command": "rule.add", "name": "needs-budget",
                      "check": {"expression": "has(state.budget)"}});
    command(&mut http, "ada", &rule).await;
    let answer = rpc_with(&mut http, to_ada, &headers, "SendMessage", &sent(&handed)).await;
    assert_eq!(answer["error"]["code"], -32_602, "a rule forbids it: {answer}");
    handed["metadata"][TRANSFER_CONTEXT]["state"]["budget"] = 3.into();
    let answer = rpc_with(&mut http, to_ada, &headers, "SendMessage", &sent(&handed)).await;
    let task = &answer["result"]["task"];
    let kept = &task["metadata"][TRANSFER_CONTEXT];
    assert_eq!(kept, &handed["metadata"][TRANSFER_CONTEXT], "{answer}");
    let claimed = command(&mut http, "ada", &json!({"command": "task.claim"})).await;
    assert_eq!(claimed["metadata"]["transfer_context"]["state"]["tone"], "dry", "{claimed}");
    let change = json!({"transfer_context": {"state": {"report": "done"}}});
    let update = json!({"command": "task.update", "task": claimed["id"],
                        "token": claimed["lease"]["token"], "fields": {"metadata": change}});
    command(&mut http, "ada", &update).await;
    let read = rpc(&mut http, "GetTask", &json!({"id": claimed["id"]})).await;
    let state = &read["result"]["metadata"][TRANSFER_CONTEXT]["state"];
    assert_eq!(state, &json!({"tone": "dry", "budget": 3, "report": "done"}), "{read}");
    harness.end().await;
}

/// Methods with the least role that may call them, and whether they succeed then.
fn methods(task: &Value) -> Vec<(&'static str, Value, Role)> {
    let config = json!({"taskId": task, "id": "c", "url": "http://a.example/"});
    vec![
        ("GetTask", json!({"id": task}), Role::Reader),
        ("ListTasks", json!({}), Role::Reader),
        ("GetExtendedAgentCard", json!({}), Role::Reader),
        ("ListTaskPushNotificationConfigs", json!({"taskId": task}), Role::Reader),
        ("SendMessage", sent(&message("m", "go")), Role::Worker),
        ("CreateTaskPushNotificationConfig", config.clone(), Role::Operator),
        ("GetTaskPushNotificationConfig", config.clone(), Role::Reader),
        ("DeleteTaskPushNotificationConfig", config, Role::Operator),
        ("CancelTask", json!({"id": task}), Role::Worker),
    ]
}

#[tokio::test]
async fn every_method_needs_the_role_of_its_operation() {
    let mut elsewhere = grant(Role::Admin);
    elsewhere.workspaces = patterns(&["team-*"]);
    let grants: Vec<_> = Role::ALL.map(grant).into_iter().chain([elsewhere]).collect();
    let (harness, bearers) = guarded(grants).await;
    let mut http = harness.http().await;
    let head = |bearer| [JSON, VERSION, ("authorization", bearer)];
    let admin = head(&bearers[3]);
    let params = sent(&message("m-0", "go"));
    let first = rpc_with(&mut http, FLEET, &admin, "SendMessage", &params).await;
    let task = &first["result"]["task"]["id"];
    let reason = |answer: &Value| answer["error"]["data"][0]["reason"].clone();
    for (role, bearer) in Role::ALL.into_iter().zip(&bearers) {
        for (method, params, least) in methods(task) {
            if method.contains("Push") {
                continue;
            }
            let answer = rpc_with(&mut http, FLEET, &head(bearer), method, &params).await;
            let is_refused = reason(&answer) == "ACCESS_ROLE";
            assert_eq!(is_refused, role < least, "{method} as {role:?}: {answer}");
        }
    }
    let other = head(&bearers[4]);
    for (method, mut params, _) in methods(task) {
        let answer = rpc_with(&mut http, FLEET, &other, method, &params).await;
        let is_push = method.contains("Push");
        let expected = if is_push { "PUSH_NOTIFICATION_NOT_SUPPORTED" } else { "ACCESS_WORKSPACE" };
        assert_eq!(reason(&answer), expected, "{method}: {answer}");
        params["tenant"] = "team-a".into();
        let answer = rpc_with(&mut http, FLEET, &other, method, &params).await;
        assert_ne!(reason(&answer), "ACCESS_WORKSPACE", "{method}: {answer}");
    }
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "ListTasks"}).to_string();
    let response = http.request("POST", FLEET, &[JSON, VERSION], call).await;
    assert_eq!(response.problem(), (401, "access.no_token".to_owned()));
    let card = http.get("/.well-known/agent-card.json").await.json();
    assert_eq!(card["skills"].as_array().map(Vec::len), Some(1), "it tells no secrets: {card}");
    assert!(card["securityRequirements"][0]["schemes"]["bearer"].is_object(), "{card}");
    harness.end().await;
}

#[tokio::test]
async fn push_configurations_need_the_role_of_reactions() {
    let webhooks = Webhooks::new(true, None).expect("there is nothing to read");
    let settings = Settings { webhooks: Some(webhooks), ..settings() };
    let harness = Harness::with(settings).await;
    let mut http = harness.http().await;
    let task = created(&mut http, "m-1").await["id"].clone();
    let config = json!({"taskId": task, "url": "http://127.0.0.1:1/hook", "token": "hush",
                        "authentication": {"scheme": "Bearer", "credentials": "hush"}});
    let made = rpc(&mut http, "CreateTaskPushNotificationConfig", &config).await;
    let id = &made["result"]["id"];
    assert!(!made.to_string().contains("hush"), "a secret is in no answer: {made}");
    let listed = rpc(&mut http, "ListTaskPushNotificationConfigs", &config).await;
    assert_eq!(listed["result"]["configs"][0]["id"], *id, "{listed}");
    let named = json!({"taskId": task, "id": id});
    let read = rpc(&mut http, "GetTaskPushNotificationConfig", &named).await;
    assert_eq!(read["result"]["url"], config["url"], "{read}");
    for bad in [json!("ftp://a"), json!("http://u:p@a/"), json!("")] {
        let config = json!({"taskId": task, "url": bad});
        let refused = rpc(&mut http, "CreateTaskPushNotificationConfig", &config).await;
        assert_eq!(refused["error"]["code"], -32_602, "{refused}");
    }
    for _ in 0..2 {
        let gone = rpc(&mut http, "DeleteTaskPushNotificationConfig", &named).await;
        assert_eq!(gone["result"], json!({}), "{gone}");
    }
    let read = rpc(&mut http, "GetTaskPushNotificationConfig", &named).await;
    assert!(read["error"].is_object(), "{read}");
    harness.end().await;
}
