//! Every operation by name: alone, in a list, in a transaction.

use serde_json::{Value, json};

use crate::callers::http::Http;
use crate::harness::Harness;

fn set(key: &str, value: impl Into<Value>) -> Value {
    json!({"command": "state.set", "namespace": "shared", "key": key, "value": value.into()})
}

type Steps = Vec<(Value, &'static str)>;

/// All operations, in an order in which every command succeeds; with the field of the result that
/// shows that it was executed.
pub(crate) fn vocabulary() -> Steps {
    // Commands that grant tokens come first: tokens are the numbers of their commits.
    let first = [of_holds(), of_tasks(), of_tasks_together(), of_agents_and_state(), of_spending()]
        .concat();
    [first, of_handoffs(LAST), of_pipelines(), of_events(), of_talk()].concat()
}

fn with(command: &str, fields: Value) -> Value {
    let mut all = fields;
    all["command"] = command.into();
    all
}

/// A document of a copy in which nothing has changed.
fn copy(copy: &str) -> Value {
    let time = "2026-01-31T12:00:00.000Z";
    json!({"workspace": "w", "copy": copy, "revision": 1_000, "time": time, "since": 1})
}

fn of_holds() -> Steps {
    vec![
        (with("lock.acquire", json!({"name": "door", "ttl_ms": 60_000})), "/token"),
        (with("lock.renew", json!({"name": "door", "token": 1})), "/expires_at"),
        (with("lock.get", json!({"name": "door"})), "/hold/holder"),
        (with("lock.list", json!({})), "/locks/0/name"),
        (with("lock.release", json!({"name": "door", "token": 1})), "/status"),
        (with("semaphore.acquire", json!({"name": "models", "permits": 2})), "/token"),
        (with("semaphore.renew", json!({"name": "models", "token": 3})), "/expires_at"),
        (with("semaphore.get", json!({"name": "models"})), "/holders/0/holder"),
        (with("semaphore.list", json!({})), "/semaphores/0/permits"),
        (with("semaphore.release", json!({"name": "models", "token": 3})), "/free"),
        (with("semaphore.resize", json!({"name": "models", "permits": 2})), "/permits"),
        (with("artifact.list", json!({})), "/artifacts"),
        (with("secret.list", json!({})), "/secrets"),
    ]
}

fn of_tasks() -> Steps {
    vec![
        (with("task.create", json!({"type": "review", "task": "a"})), "/created_at"),
        (with("task.why", json!({"task": "a"})), "/sentence"),
        (with("task.claim", json!({"types": ["review"]})), "/lease/holder"),
        (with("task.heartbeat", json!({"task": "a", "token": 6})), "/lease/expires_at"),
        (with("task.progress", json!({"task": "a", "token": 6, "fraction": 0.5})), "/progress/at"),
        (with("task.update", json!({"task": "a", "token": 6, "fields": {"priority": 1}})), "/id"),
        (with("task.complete", json!({"task": "a", "token": 6, "result": 1})), "/task/result"),
        (with("task.get", json!({"task": "a"})), "/finished_at"),
        (with("task.wait", json!({"task": "a"})), "/finished_at"),
        (
            with(
                "task.create",
                json!({"type": "review", "task": "b", "max_retries": 0,
                "on_exhausted": "review"}),
            ),
            "/id",
        ),
        (with("task.claim", json!({"task": "b"})), "/lease/token"),
        (with("task.fail", json!({"task": "b", "token": 11, "error": "no"})), "/error"),
        (with("task.review", json!({"task": "b", "verdict": "fail"})), "/finished_at"),
        (with("task.retry", json!({"task": "b", "reason": "again"})), "/reason"),
        (with("task.cancel", json!({"task": "b"})), "/finished_at"),
        (with("task.create", json!({"type": "review", "task": "c"})), "/id"),
        (with("agent.next", json!({})), "/task/lease/token"),
        (with("task.release", json!({"task": "c", "token": 17, "reason": "tired"})), "/reason"),
        (with("task.cancel", json!({"task": "c"})), "/finished_at"),
        (with("task.list", json!({"type": "review"})), "/tasks/2/id"),
        (with("task.stats", json!({})), "/tasks/completed"),
        (with("task.history", json!({"task": "a"})), "/events/0/type"),
    ]
}

fn of_tasks_together() -> Steps {
    vec![
        (with("barrier.arrive", json!({"name": "start", "count": 2})), "/generation"),
        (with("barrier.get", json!({"name": "start"})), "/arrived/0"),
        (with("barrier.reset", json!({"name": "start"})), "/generation"),
        (with("join.create", json!({"tasks": ["a", "b"], "join": "j"})), "/created_at"),
        (with("join.wait", json!({"join": "j", "wait_ms": 1_000})), "/members/0/result"),
        (with("join.get", json!({"join": "j"})), "/settled_at"),
        (with("checkpoint.save", json!({"task": "thread", "state": {"step": 1}})), "/checksum"),
        (with("checkpoint.restore", json!({"checkpoint": "c-0000000001"})), "/state/step"),
        (with("checkpoint.fork", json!({"checkpoint": "c-0000000001", "task": "u"})), "/parent"),
        (with("checkpoint.label", json!({"checkpoint": "c-0000000001", "label": "x"})), "/label"),
        (with("checkpoint.latest", json!({"task": "u"})), "/state/step"),
        (with("checkpoint.get", json!({"checkpoint": "c-0000000001"})), "/state/step"),
        (with("checkpoint.list", json!({"label": "x"})), "/checkpoints/0/label"),
        (with("checkpoint.save", keyed_save()), "/key"),
        (with("checkpoint.write", pending_write()), "/written"),
        (with("checkpoint.copy", json!({"task": "keyed", "to": "copied"})), "/copied"),
        (with("checkpoint.history", json!({"task": "copied"})), "/checkpoints/0/writes/0/value"),
        (with("checkpoint.retain", json!({"keep": 9})), "/rules/0/keep"),
        (with("checkpoint.retention", json!({})), "/rules/0/keep"),
        (with("checkpoint.prune", json!({"task": "u", "all": true})), "/pruned"),
    ]
}

fn keyed_save() -> Value {
    json!({"task": "keyed", "key": "k-1", "content_type": "raw", "state": "/wA="})
}

fn pending_write() -> Value {
    let write = json!({"index": 0, "channel": "c", "value": "/wA=", "content_type": "raw"});
    json!({"task": "keyed", "key": "k-1", "writer": "w", "writes": [write]})
}

fn of_events() -> Steps {
    vec![
        (with("event.emit", json!({"type": "deploy.finished"})), "/subject"),
        (with("event.history", json!({"type": "deploy.*"})), "/events/0/type"),
        (
            with(
                "reaction.add",
                json!({"name": "note", "on": {"type": "x"},
                       "do": [{"command": "event.emit", "type": "y"}]}),
            ),
            "/enabled",
        ),
        (with("reaction.disable", json!({"name": "note"})), "/enabled"),
        (with("reaction.enable", json!({"name": "note"})), "/enabled"),
        (with("reaction.get", json!({"name": "note"})), "/runs"),
        (with("reaction.list", json!({})), "/reactions/0/name"),
        (with("context.build", json!({"agent": "ada", "token_budget": 500})), "/text"),
        (with("reaction.remove", json!({"name": "note"})), "/name"),
    ]
}

fn of_agents_and_state() -> Steps {
    let plan = json!({"namespace": "shared", "key": "plan"});
    vec![
        (with("agent.register", json!({"agent": "ada", "ttl_ms": 60_000})), "/id"),
        (with("agent.heartbeat", json!({"agent": "ada"})), "/id"),
        (with("agent.get", json!({"agent": "ada"})), "/status"),
        (with("agent.list", json!({})), "/agents/0/id"),
        (with("rule.add", json!({"name": "far", "check": {"hops_max": 3}})), "/check/hops_max"),
        (with("rule.list", json!({})), "/rules/0/name"),
        (with("rule.remove", json!({"name": "far"})), "/name"),
        (
            with("contract.declare", json!({"name": "plans", "keys": [{"key": "shared/plan"}]})),
            "/owner",
        ),
        (with("contract.list", json!({})), "/declarations/0/name"),
        (with("contract.delete", json!({"name": "plans"})), "/name"),
        (with("contract.show", json!({})), "/contracts"),
        (with("contract.check", json!({"namespace": "shared"})), "/problems"),
        (
            with("state.set", json!({"namespace": "shared", "key": "plan", "value": {"n": 1}})),
            "/version",
        ),
        (
            with("state.patch", json!({"namespace": "shared", "key": "plan", "merge": {"m": 2}})),
            "/value/m",
        ),
        (with("state.get", plan.clone()), "/value/n"),
        (with("state.list", json!({"namespace": "shared"})), "/entries/0/key"),
        (with("state.snapshot", json!({})), "/entries/0/key"),
        (with("state.history", json!({"namespace": "shared"})), "/changes/0/operation"),
        (with("state.diff", json!({"from": 0})), "/changes/0/key"),
        (with("namespace.create", json!({"name": "team"})), "/name"),
        (
            with("namespace.configure", json!({"name": "team", "rules": {"flat": true}})),
            "/rules/flat",
        ),
        (with("namespace.get", json!({"name": "team"})), "/name"),
        (with("namespace.list", json!({})), "/namespaces/0/name"),
        (
            with("state.transfer", json!({"from_namespace": "shared", "to_namespace": "team"})),
            "/keys/0",
        ),
        (with("state.delete", json!({"namespace": "team", "key": "plan"})), ""),
        (with("namespace.delete", json!({"name": "team"})), ""),
        (with("workspace.get", json!({})), "/retention"),
        (
            with("workspace.configure", json!({"history_count": 5_000, "history_age_ms": 60_000})),
            "/retention/history_count",
        ),
        (with("agent.leave", json!({"agent": "ada"})), ""),
    ]
}

fn of_spending() -> Steps {
    vec![
        (
            with("spend.limit", json!({"of": {"agent": "zoe"}, "budget": {"calls": 1}})),
            "/account/left/calls",
        ),
        (with("spend.record", json!({"task": "a", "tokens": 7})), "/record/number"),
        (with("spend.get", json!({"task": "a"})), "/account/spent/tokens"),
        (with("spend.list", json!({"limit": 1})), "/records/0/task"),
    ]
}

fn of_pipelines() -> Steps {
    let stage = |name: &str| json!({"pipeline": "p", "stage": name});
    let reviewed = json!({"name": "d", "review": true, "after": []});
    let stages = json!([{"name": "a"}, {"name": "b"}, {"name": "c"}, reviewed]);
    vec![
        (with("pipeline.create", json!({"pipeline": "p", "stages": stages})), "/stages/2/name"),
        (with("pipeline.start_stage", stage("a")), "/worker"),
        (
            with("pipeline.fail_stage", json!({"pipeline": "p", "stage": "a", "error": "no"})),
            "/error",
        ),
        (with("pipeline.retry_stage", stage("a")), "/retries"),
        (with("pipeline.start_stage", stage("a")), "/worker"),
        (
            with("pipeline.complete_stage", json!({"pipeline": "p", "stage": "a", "output": 1})),
            "/next/name",
        ),
        (with("pipeline.output", stage("a")), "/output"),
        (with("pipeline.skip_stage", stage("b")), "/stage/status"),
        (with("pipeline.start_stage", stage("d")), "/review"),
        (with("pipeline.complete_stage", stage("d")), "/stage/submitted_by"),
        (
            with(
                "pipeline.review_stage",
                json!({"pipeline": "p", "stage": "d", "verdict": "retry", "note": "more"}),
            ),
            "/stage/reason",
        ),
        (with("pipeline.get", json!({"pipeline": "p"})), "/ready/0"),
        (with("pipeline.list", json!({})), "/pipelines/0/name"),
        (with("pipeline.abort", json!({"pipeline": "p"})), "/status"),
        (with("pipeline.delete", json!({"pipeline": "p"})), "/name"),
    ]
}

/// Except for operations that need an id from others, or another agent's answer: `messages` tests
/// those.
fn of_talk() -> Steps {
    let by_hal = |command: &str, mut fields: Value| {
        fields["agent"] = "hal".into();
        with(command, fields)
    };
    vec![
        (with("message.send", json!({"to": "hal", "body": {"text": "hello"}})), "/thread"),
        (by_hal("inbox.list", json!({})), "/messages/0/body/text"),
        (by_hal("inbox.receive", json!({"limit": 1})), "/messages/0/id"),
        (by_hal("agent.register", json!({})), "/token"),
        (by_hal("handler.register", json!({"handler": "sum"})), "/since"),
        (with("handler.list", json!({})), "/handlers/0/agent"),
        (by_hal("handler.remove", json!({"handler": "sum"})), "/handler"),
        (with("topic.publish", json!({"topic": "news/a", "body": 1})), "/posts"),
        (with("topic.publish", json!({"topic": "b", "body": 1, "durable": false})), "/durable"),
        (with("topic.get", json!({"topic": "news/a"})), "/last_by"),
        (with("topic.list", json!({"prefix": "news"})), "/topics/0/posts"),
        (with("stream.create", json!({"stream": "s"})), "/status"),
        (with("stream.send", json!({"stream": "s", "frames": [1, 2]})), "/offset"),
        (with("stream.receive", json!({"stream": "s", "from": 1})), "/frames/0/data"),
        (with("stream.get", json!({"stream": "s"})), "/next"),
        (with("stream.list", json!({})), "/streams/0/stream"),
        (with("stream.close", json!({"stream": "s", "reason": "done"})), "/reason"),
        (with("stream.delete", json!({"stream": "s"})), "/next"),
    ]
}

/// The revision after everything before the hand-offs.
const LAST: u64 = 46;

/// The ids of hand-offs contain the revision, so these come last.
fn of_handoffs(last: u64) -> Steps {
    let by = |agent: &str, command: &str, mut fields: Value| {
        fields["agent"] = agent.into();
        with(command, fields)
    };
    let id = |number: u64| format!("h-{:010}", last + number);
    let this = |number: u64| json!({"handoff": id(number)});
    let elsewhere = json!({
        "originating_task_id": "t-7", "originating_agent": "https://agents.example/ada",
        "state": {"tone": "dry"}, "output_keys": [],
    });
    vec![
        (by("gil", "handoff.validate", json!({"to": "bob"})), "/valid"),
        (by("gil", "handoff.offer", json!({"to": "bob", "approval": true})), "/digest"),
        (by("eve", "handoff.approve", this(1)), "/approval/approved_by"),
        (by("bob", "handoff.receive", json!({})), "/delivery/receiver"),
        (by("bob", "handoff.accept", this(1)), "/handoff/receipt"),
        (by("bob", "handoff.complete", this(1)), "/ended_at"),
        (by("gil", "handoff.offer", json!({"to": "bob"})), "/id"),
        (by("bob", "handoff.reject", this(6)), "/ended_at"),
        (by("gil", "handoff.offer", json!({"to": "bob"})), "/id"),
        (by("gil", "handoff.cancel", this(8)), "/ended_at"),
        (by("gil", "task.create", json!({"type": "passed", "task": "passed"})), "/id"),
        (by("gil", "task.claim", json!({"task": "passed"})), "/lease/token"),
        (
            by(
                "gil",
                "handoff.execute",
                json!({"to": "bob", "task": "passed", "token": last + 11}),
            ),
            "/steps/2/step",
        ),
        (by("hal", "task.create", json!({"type": "all", "task": "all"})), "/id"),
        (by("hal", "task.claim", json!({"task": "all"})), "/lease/token"),
        (by("hal", "handoff.execute_all", json!({"to": "bob"})), "/handoffs/0/id"),
        (by("hal", "handoff.import_context", json!({"to": "bob", "context": elsewhere})), "/id"),
        (with("handoff.get", this(1)), "/digest"),
        (with("handoff.wait", this(1)), "/ended_at"),
        (with("handoff.export", this(1)), "/originating_agent"),
        (with("handoff.list", json!({"from": "gil"})), "/handoffs/0/id"),
        (with("handoff.history", json!({"task": "passed"})), "/handoffs/0/id"),
        (with("handoff.stats", json!({})), "/success_rate"),
        (with("workspace.list", json!({})), "/workspaces/0/revision"),
        (with("workspace.fork", json!({"to": "copy", "at": 7})), "/origin/revision"),
        (with("workspace.diff", json!({"from": 0})), "/differences/0/change"),
        (with("workspace.changes", json!({})), "/copy"),
        (with("workspace.sync", json!({"theirs": copy("w.1"), "ours": copy("w")})), "/with"),
        (with("workspace.search", json!({"query": "kind:task"})), "/found/0/fields/status"),
        (with("workspace.why", json!({"subject": "tasks/passed"})), "/causes/0/sentence"),
        (with("workspace.delete", json!({"revision": 1})), "/revision"),
    ]
}

#[tokio::test]
async fn every_operation_works_by_name() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    let known: Vec<&str> =
        baton_core::wire::OPERATIONS.iter().map(|operation| operation.name).collect();
    let mut used = Vec::new();
    for (command, shown) in vocabulary() {
        let response = http.command(&command).await;
        assert_eq!(response.status, 200, "{command}: {}", response.json());
        let body = response.json();
        assert!(body["revision"].is_u64(), "{command}: {body}");
        assert!(body["result"].pointer(shown).is_some(), "{command}: {body}");
        used.push(command["command"].as_str().unwrap().to_owned());
    }
    used.extend(crate::messages::TRIED.map(str::to_owned));
    // These need bytes, which are uploaded separately: see `contents`.
    let others = ["artifact.get", "artifact.delete", "secret.get", "secret.delete"];
    for name in known.into_iter().filter(|name| !others.contains(name)) {
        assert!(used.iter().any(|used| used == name), "{name} was not tried");
    }
}

#[tokio::test]
async fn a_list_is_answered_in_order_with_independent_results() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    let commands: Vec<Value> = vocabulary().into_iter().map(|(command, _)| command).collect();
    let response = http.post("/v1/w/commands", &json!(commands)).await;
    assert_eq!(response.status, 200);
    for (answer, (command, shown)) in response.json().as_array().unwrap().iter().zip(vocabulary()) {
        assert!(answer["result"].pointer(shown).is_some(), "{command}: {answer}");
    }
    let mixed = json!([
        set("a", 1),
        {"command": "state.get", "namespace": "shared", "key": "nothing"},
        {"command": "state.fly"},
        7,
        {"command": "watch", "pattern": "**"},
        {"command": "state.get", "namespace": "shared", "key": "a"},
        {"command": "transaction", "commands": [set("b", 1), set("c", 1)]},
    ]);
    let response = http.post("/v1/other/commands", &mixed).await;
    let answers = response.json();
    assert_eq!(response.status, 200, "{answers}");
    assert_eq!(answers[0]["result"]["version"], 1);
    let code = |place: usize| answers[place]["error"]["code"].as_str().unwrap().to_owned();
    assert_eq!(code(1), "state.not_found");
    assert_eq!(code(2), "request.unknown_command");
    assert_eq!(code(3), "request.malformed");
    assert_eq!(code(4), "request.malformed");
    assert_eq!(answers[5]["result"]["value"], 1);
    assert_eq!(answers[6]["results"][1]["key"], "c");
    assert_eq!(answers.as_array().unwrap().len(), 7);
    let response = http.post("/v1/w/commands", &json!([])).await;
    assert_eq!((response.status, response.json()), (200, json!([])));
}

#[tokio::test]
async fn a_refused_command_is_a_problem_with_its_facts() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    http.command(&set("plan", "first")).await;
    let mut second = set("plan", "second");
    second["expected_version"] = json!(7);
    let response = http.command(&second).await;
    assert_eq!(response.problem(), (409, "state.version_conflict".to_owned()));
    let problem = response.json();
    assert_eq!(problem["entry"]["value"], "first", "{problem}");
    assert_eq!(problem["kind"], "conflict");
    assert_eq!(problem["type"], "/docs/errors#state.version_conflict");
}

#[tokio::test]
async fn a_transaction_is_applied_completely_or_not_at_all() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    let both = json!({"commands": [set("a", 1), set("b", 2)]});
    let response = http.post("/v1/w/transactions", &both).await.json();
    assert_eq!((&response["revision"], &response["results"][1]["value"]), (&json!(1), &json!(2)));
    let entry = json!({"entry": {"namespace": "shared", "key": "a", "version": 1}});
    let guarded = json!({"require": [entry], "commands": [set("a", 3)]});
    assert_eq!(http.post("/v1/w/transactions", &guarded).await.status, 200);
    let response = http.post("/v1/w/transactions", &guarded).await;
    assert_eq!(response.status, 409, "{}", response.json());
    let delete = json!({"command": "state.delete", "namespace": "shared", "key": "none"});
    let half = json!({"commands": [set("x", 1), delete]});
    let response = http.post("/v1/w/transactions", &half).await;
    assert!(response.status >= 400, "{}", response.json());
    assert_eq!(http.get("/v1/w/state/shared/x").await.status, 404);
    for (body, code) in [
        (json!({}), "request.missing_field"),
        (json!({"commands": 7}), "request.bad_field"),
        (json!({"commands": [], "commands2": []}), "request.unknown_field"),
        (json!({"command": "state.set", "commands": []}), "request.unknown_field"),
        (
            json!({"commands": [{"command": "state.get", "namespace": "a", "key": "b"}]}),
            "transaction.command_refused",
        ),
        (
            json!({"commands": [{"command": "state.set", "agent": "x"}]}),
            "transaction.command_refused",
        ),
        (json!([]), "request.malformed"),
    ] {
        let response = http.post("/v1/w/transactions", &body).await;
        assert_eq!(response.problem(), (400, code.to_owned()), "{body}");
    }
}

async fn written_by(http: &mut Http, headers: &[(&str, &str)], command: &Value) -> Value {
    let response = http.request("POST", "/v1/w/commands", headers, command.to_string()).await;
    assert_eq!(response.status, 200, "{}", response.json());
    response.json()["result"]["updated_by"].clone()
}

#[tokio::test]
async fn the_acting_agent_is_in_the_header_or_in_the_body() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    let header = [("Baton-Agent", "ada")];
    assert_eq!(written_by(&mut http, &[], &set("a", 1)).await, "anonymous");
    assert_eq!(written_by(&mut http, &header, &set("a", 2)).await, "ada");
    let mut command = set("a", 3);
    command["agent"] = json!("bob");
    assert_eq!(written_by(&mut http, &[], &command).await, "bob");
    let response = http.request("POST", "/v1/w/commands", &header, command.to_string()).await;
    assert_eq!(response.problem(), (400, "request.bad_field".to_owned()), "one agent acts");
    command["agent"] = json!("no good");
    let response = http.request("POST", "/v1/w/commands", &header, command.to_string()).await;
    assert_eq!(response.problem(), (400, "request.bad_field".to_owned()));
    let response = http.request("PUT", "/v1/w/state/shared/a", &header, "4").await;
    assert_eq!(response.json()["updated_by"], "ada");
}

#[tokio::test]
async fn a_repeated_key_is_answered_as_before_and_done_once() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    let key = [("Idempotency-Key", "once")];
    let increment =
        json!({"command": "state.patch", "namespace": "shared", "key": "n", "increment": 1});
    http.command(&set("n", 0)).await;
    for _ in 0..3 {
        let response = http.request("POST", "/v1/w/commands", &key, increment.to_string()).await;
        assert_eq!(response.json()["result"]["value"], 1);
    }
    let mut inside = increment.clone();
    inside["idempotency_key"] = json!("twice");
    for _ in 0..3 {
        assert_eq!(http.command(&inside).await.json()["result"]["value"], 2);
    }
    let list = json!([increment, increment]).to_string();
    let response = http.request("POST", "/v1/w/commands", &key, &list).await;
    assert_eq!(response.problem(), (400, "request.bad_field".to_owned()));
}

#[tokio::test]
async fn a_key_in_the_header_and_another_in_the_body_are_refused() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    let key = [("Idempotency-Key", "once")];
    let mut increment =
        json!({"command": "state.patch", "namespace": "shared", "key": "n", "increment": 1});
    http.command(&set("n", 0)).await;
    increment["idempotency_key"] = json!("twice");
    let transaction = json!({
        "commands": [set("n", 7)],
        "idempotency_key": "twice",
    });
    for (path, body) in [("/v1/w/commands", &increment), ("/v1/w/transactions", &transaction)] {
        let response = http.request("POST", path, &key, body.to_string()).await;
        assert_eq!(response.problem(), (400, "request.bad_field".to_owned()), "{path}");
        assert_eq!(response.json()["field"], "idempotency_key");
    }
    assert_eq!(http.get("/v1/w/state/shared/n").await.json()["value"], 0, "nothing was done");
    increment["idempotency_key"] = json!("once");
    for _ in 0..2 {
        let response = http.request("POST", "/v1/w/commands", &key, increment.to_string()).await;
        assert_eq!(response.json()["result"]["value"], 1, "the same key may be given twice");
    }
}

#[tokio::test]
async fn a_request_that_is_a_part_of_a_trace_makes_parts_of_it() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    let given = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let own = "00-5bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let create = json!({"command": "task.create", "type": "write"});
    let mut said = create.clone();
    said["traceparent"] = own.into();
    let post = async |http: &mut Http, path: &str, traceparent: &str, body: Value| {
        let headers = [("traceparent", traceparent)];
        let response = http.request("POST", path, &headers, body.to_string()).await;
        assert_eq!(response.status, 200, "{response:?}");
        response.json()
    };
    let path = "/v1/w/commands";
    let one = post(&mut http, path, given, create.clone()).await;
    assert_eq!(one["result"]["traceparent"], given);
    let many = post(&mut http, path, given, json!([create, said])).await;
    assert_eq!(many[0]["result"]["traceparent"], given);
    assert_eq!(many[1]["result"]["traceparent"], own, "a given field takes precedence");
    let together = json!({"commands": [create, {"command": "message.send", "to": "bob", "body": 1},
                                       {"command": "handoff.offer", "to": "bob"},
                                       {"command": "topic.publish", "topic": "news", "body": 1}]});
    let together = post(&mut http, "/v1/w/transactions", given, together).await;
    for place in 0..3 {
        assert_eq!(together["results"][place]["traceparent"], given, "{together}");
    }
    // The header was not written for us, so an invalid one is not an error.
    for odd in ["whatever", "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"] {
        let response = post(&mut http, path, odd, create.clone()).await;
        assert_eq!(response["result"]["traceparent"], Value::Null);
    }
    harness.end().await;
}
