//! Operations as HTTP resources: a path for every object, an `ETag` for every version.

use serde_json::{Value, json};

use crate::callers::http::Http;
use crate::harness::Harness;

#[tokio::test]
async fn a_write_that_prefers_a_minimal_answer_gets_one() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    let prefer = [("Prefer", "return=minimal")];
    let response = http.request("PUT", "/v1/w/state/shared/plan", &prefer, "{}").await;
    assert_eq!((response.status, response.json()), (200, json!({"version": 1})));
    assert_eq!(response.header("preference-applied"), Some("return=minimal"));
    assert_eq!(response.header("etag"), Some("\"1\""));
    assert_eq!(response.header("baton-revision"), Some("1"));
    let response = http.request("GET", "/v1/w/state/shared/plan", &prefer, "").await;
    assert_eq!((response.status, response.json()["key"].clone()), (200, json!("plan")));
    assert_eq!(response.header("preference-applied"), None, "it is no write");
    let response = http.request("POST", "/v1/w/locks/door/acquire", &prefer, "{}").await;
    assert_eq!((response.status, response.json()["name"].clone()), (200, json!("door")));
    assert_eq!(response.header("preference-applied"), None, "the hold is the answer");
    let refused = http.request("PUT", "/v1/w/state/nowhere/plan", &prefer, "{}").await;
    assert_eq!(refused.status, 404);
    let whole = [("Prefer", "return=representation")];
    let response = http.request("PUT", "/v1/w/state/shared/plan", &whole, "2").await;
    assert_eq!((response.status, response.json()["value"].clone()), (200, json!(2)));
}

#[tokio::test]
async fn an_entry_has_a_path_and_a_tag() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    let path = "/v1/w/state/shared/plans/the%20first%2Fone";
    let response = http.put(path, &json!({"step": 1})).await;
    assert_eq!(
        (response.status, response.header("etag")),
        (200, Some("\"1\"")),
        "{}",
        response.json()
    );
    assert_eq!(response.header("baton-revision"), Some("1"));
    assert_eq!(response.json()["key"], "plans/the first/one");
    let response = http.get(path).await;
    assert_eq!((response.status, response.json()["value"].clone()), (200, json!({"step": 1})));
    assert_eq!(response.header("etag"), Some("\"1\""));
    for tag in ["\"1\"", "W/\"1\"", "\"7\", \"1\"", "*"] {
        let response = http.request("GET", path, &[("If-None-Match", tag)], "").await;
        assert_eq!((response.status, response.header("etag")), (304, Some("\"1\"")), "{tag}");
    }
    let response = http.request("GET", path, &[("If-None-Match", "\"2\"")], "").await;
    assert_eq!(response.status, 200);
    let response = http.request("HEAD", path, &[], "").await;
    assert_eq!((response.status, response.header("etag")), (200, Some("\"1\"")));
    let response = http.request("PUT", path, &[("If-Match", "\"1\"")], "2").await;
    assert_eq!((response.status, response.header("etag")), (200, Some("\"2\"")));
    let response = http.request("PUT", path, &[("If-Match", "\"1\"")], "3").await;
    assert_eq!(response.problem(), (409, "state.version_conflict".to_owned()));
    let response = http.request("PUT", path, &[("If-None-Match", "*")], "3").await;
    assert_eq!(response.problem(), (409, "state.exists".to_owned()));
    let response =
        http.request("PUT", "/v1/w/state/shared/new", &[("If-None-Match", "*")], "3").await;
    assert_eq!(response.status, 200);
    let response = http.request("DELETE", path, &[("If-Match", "\"1\"")], "").await;
    assert_eq!(response.status, 409);
    let response = http.request("DELETE", path, &[("If-Match", "\"2\"")], "").await;
    assert_eq!(response.status, 200);
    assert_eq!(http.get(path).await.problem(), (404, "state.not_found".to_owned()));
}

/// A response, without its time.
async fn response(
    http: &mut Http,
    (method, path, body): (&str, &str, &str),
    more: &[Header],
) -> Value {
    let kind = ("content-type", "application/json");
    let headers: Vec<Header> = match method {
        "PUT" => [&[kind], more].concat(),
        _ => more.to_vec(),
    };
    let response = http.request(method, path, &headers, body).await;
    let mut body = response.json();
    if let Some(moment) = body.get_mut("updated_at") {
        *moment = Value::Null;
    }
    let head = ["content-type", "etag", "baton-revision", "content-length"];
    let head = head.map(|name| response.header(name).map(str::to_owned));
    json!({"status": response.status, "head": head, "body": body})
}

type Header = (&'static str, &'static str);

#[tokio::test]
async fn both_paths_write_the_same_notice_for_an_entry() {
    let (short, general) = (Harness::new().await, Harness::new().await);
    let (mut short, mut general) = (short.http().await, general.http().await);
    let steps = [
        ("GET", "/v1/w/state/shared/plan", ""),
        ("PUT", "/v1/w/state/shared/plan", r#"{"step": 1}"#),
        ("PUT", "/v1/w/state/shared/plan", "  [1, 2]\n"),
        ("GET", "/v1/w/state/shared/plan", ""),
        ("GET", "/v1/w/state/shared/plan", "a body"),
        ("PUT", "/v1/w/state/shared/deep/er/plan", "\"text\""),
        ("GET", "/v1/w/state/shared/deep/er/plan", ""),
        ("PUT", "/v1/w/state/shared/plan", "{"),
        ("PUT", "/v1/w/state/shared/plan", ""),
        ("PUT", "/v1/w/state/shared/plan", r#"{"a": 1, "a": 2}"#),
        ("PUT", "/v1/w/state/shared/../plan", "1"),
        ("PUT", "/v1/w/state/shared//plan", "1"),
        ("PUT", "/v1/w/state/shared/plan/", "1"),
        ("PUT", "/v1/w/state/none/plan", "1"),
        ("GET", "/v1/w/state/none/plan", ""),
        ("PUT", "/v1/W!/state/shared/plan", "1"),
        ("GET", "/v1/other/state/shared/plan", ""),
        ("PUT", "/v1/other/state/shared/plan", "1"),
        ("PUT", "/v1/_access/state/shared/plan", "1"),
        ("GET", "/v1/_access/state/shared/plan", ""),
    ];
    for agent in [&[][..], &[("baton-agent", "ada")], &[("baton-agent", "no name!")]] {
        for step in steps {
            // An unknown header might matter: such a request takes the general path.
            let looked_at = [agent, &[("x-unusual", "1")]].concat();
            let expected = response(&mut general, step, &looked_at).await;
            assert_eq!(response(&mut short, step, agent).await, expected, "{step:?} {agent:?}");
        }
    }
    let twice = [("baton-agent", "ada"), ("baton-agent", "bob")];
    let refused = response(&mut short, steps[1], &twice).await;
    assert_eq!(refused["body"]["code"], "request.duplicate_field");
}

#[tokio::test]
async fn a_patch_comes_in_three_forms() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    let path = "/v1/w/state/shared/doc";
    http.put(path, &json!({"a": 1, "list": [1]})).await;
    let merge = ("application/merge-patch+json", r#"{"b": 2, "a": null}"#);
    let json_patch = (
        "Application/JSON-Patch+JSON; charset=utf-8",
        r#"[{"op":"add","path":"/list/-","value":2}]"#,
    );
    let own = ("application/json", r#"{"merge": {"c": 3}}"#);
    for (kind, body) in [merge, json_patch, own] {
        let response = http.request("PATCH", path, &[("content-type", kind)], body).await;
        assert_eq!(response.status, 200, "{kind}: {}", response.json());
    }
    assert_eq!(http.get(path).await.json()["value"], json!({"b": 2, "list": [1, 2], "c": 3}));
    let conditional = [("content-type", merge.0), ("If-Match", "\"1\"")];
    assert_eq!(http.request("PATCH", path, &conditional, "{}").await.status, 409);
}

#[tokio::test]
async fn lists_snapshots_history_and_differences_are_paths() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    for number in 0..5 {
        http.put(&format!("/v1/w/state/shared/key-{number}"), &json!(number)).await;
    }
    let page = http.get("/v1/w/state/shared?limit=2&prefix=key-").await.json();
    assert_eq!(page["entries"].as_array().unwrap().len(), 2, "{page}");
    let cursor = page["cursor"].as_str().unwrap();
    let rest = http.get(&format!("/v1/w/state/shared?limit=9&cursor={cursor}&prefix=key-")).await;
    assert_eq!(rest.json()["entries"].as_array().unwrap().len(), 3);
    let all = http.get("/v1/w/state").await;
    assert_eq!(
        (all.json()["entries"].as_array().unwrap().len(), all.header("baton-revision")),
        (5, Some("5"))
    );
    let then = http.get("/v1/w/state?at=2").await.json();
    assert_eq!(then["entries"].as_array().unwrap().len(), 2, "{then}");
    assert_eq!(http.get("/v1/w/state/shared/key-0?at=1").await.json()["value"], 0);
    assert_eq!(http.get("/v1/w/state/shared/key-1?at=1").await.status, 404);
    let history = http.get("/v1/w/history?namespace=shared&key=key-3").await.json();
    assert_eq!(history["changes"][0]["new_value"], 3, "{history}");
    let diff = http.get("/v1/w/diff?from=1&to=3").await.json();
    assert_eq!(diff["changes"].as_array().unwrap().len(), 2, "{diff}");
    let moved = json!({"from_namespace": "shared", "to_namespace": "done", "keys": ["key-1"]});
    http.post("/v1/w/namespaces", &json!({"name": "done"})).await;
    let response = http.post("/v1/w/transfers", &moved).await;
    assert_eq!(response.json()["keys"], json!(["key-1"]));
}

#[tokio::test]
async fn namespaces_agents_and_workspaces_are_paths() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    let response = http.post("/v1/w/namespaces", &json!({"name": "team"})).await;
    assert_eq!(response.json()["name"], "team");
    let response = http.put("/v1/w/namespaces/team", &json!({"append_only": true})).await;
    assert_eq!(response.json()["rules"]["append_only"], true, "{}", response.json());
    assert_eq!(http.get("/v1/w/namespaces/team").await.json()["rules"]["append_only"], true);
    let names = http.get("/v1/w/namespaces").await.json();
    assert!(names["namespaces"].as_array().unwrap().iter().any(|one| one["name"] == "team"));
    assert_eq!(http.delete("/v1/w/namespaces/team").await.status, 200);
    assert_eq!(http.get("/v1/w/namespaces/team").await.status, 404);

    let response =
        http.post("/v1/w/agents", &json!({"agent": "ada", "capabilities": ["plan"]})).await;
    assert_eq!(response.json()["status"], "active", "{}", response.json());
    let response = http.request("POST", "/v1/w/agents/ada/heartbeat", &[], "").await;
    assert_eq!(response.status, 200, "{}", response.json());
    assert_eq!(http.get("/v1/w/agents/ada").await.json()["id"], "ada");
    assert_eq!(http.get("/v1/w/agents").await.json()["agents"][0]["id"], "ada");
    assert_eq!(http.delete("/v1/w/agents/ada").await.status, 200);
    assert_eq!(http.get("/v1/w/agents/ada").await.json()["status"], "left");

    let retention: Value = json!({"history_count": 9, "history_age_ms": 60_000});
    let response = http.request("PATCH", "/v1/w", &[], retention.to_string()).await;
    assert_eq!(response.status, 200, "{}", response.json());
    assert_eq!(http.get("/v1/w").await.json()["retention"]["history_count"], 9);
}

#[tokio::test]
async fn locks_are_paths_and_a_name_may_hold_anything() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    let path = "/v1/w/locks/a%2Fb%20c";
    let response = http.post(&format!("{path}/acquire"), &json!({"ttl_ms": 60_000})).await;
    let hold = response.json();
    assert_eq!((response.status, &hold["name"]), (200, &json!("a/b c")), "{hold}");
    let response = http.request("POST", &format!("{path}/acquire"), &[], "").await;
    assert_eq!((response.status, response.json()), (200, Value::Null));
    assert_eq!(http.get(path).await.json()["hold"], hold);
    assert_eq!(http.get("/v1/w/locks").await.json()["locks"][0]["hold"], hold);
    let renewal = json!({"token": hold["token"], "ttl_ms": 120_000});
    let renewed = http.post(&format!("{path}/renew"), &renewal).await.json();
    assert_eq!((&renewed["ttl_ms"], &renewed["token"]), (&json!(120_000), &hold["token"]));
    // The header means the same as the field.
    let token = hold["token"].to_string();
    let release = format!("{path}/release");
    let response = http.request("POST", &release, &[("Baton-Token", &token)], "").await;
    assert_eq!((response.status, response.json()["status"].clone()), (200, json!("free")));
    let response = http.request("POST", &release, &[("Baton-Token", &token)], "").await;
    assert_eq!(response.problem(), (412, "lock.stale_token".to_owned()));
    let both = json!({ "token": 1 }).to_string();
    let response = http.request("POST", &release, &[("Baton-Token", &token)], both).await;
    assert_eq!(response.problem(), (400, "request.duplicate_field".to_owned()));
    let response = http.post("/v1/w/locks/door/acquire", &json!({"ttl_ms": 1})).await;
    assert_eq!(response.status, 400, "{}", response.json());
}

#[tokio::test]
async fn semaphores_are_paths() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    let path = "/v1/w/semaphores/a%2Fb";
    let response = http.post(&format!("{path}/acquire"), &json!({"permits": 1})).await;
    let permit = response.json();
    assert_eq!((response.status, &permit["name"]), (200, &json!("a/b")), "{permit}");
    let response = http.request("POST", &format!("{path}/acquire"), &[], "").await;
    assert_eq!((response.status, response.json()), (200, Value::Null));
    assert_eq!(http.get(path).await.json()["holders"][0], permit);
    assert_eq!(http.get("/v1/w/semaphores").await.json()["semaphores"][0]["free"], 0);
    let own = json!({"token": permit["token"]});
    assert_eq!(http.post(&format!("{path}/renew"), &own).await.json(), permit);
    assert_eq!(http.post(&format!("{path}/release"), &own).await.json()["free"], 1);
    let response = http.post(&format!("{path}/release"), &own).await;
    assert_eq!(response.problem(), (412, "semaphore.stale_token".to_owned()));
    let resized = http.post(&format!("{path}/resize"), &json!({"permits": 3})).await;
    assert_eq!((resized.status, &resized.json()["free"]), (200, &json!(3)));
    let heavy = http.post(&format!("{path}/acquire"), &json!({"weight": 3})).await.json();
    assert_eq!(heavy["weight"], 3, "{heavy}");
    let response = http.post(&format!("{path}/acquire"), &json!({"weight": 4})).await;
    assert_eq!(response.problem(), (409, "semaphore.too_heavy".to_owned()));
    assert_eq!(http.get("/v1/w/semaphores/nobody").await.status, 404);
}

#[tokio::test]
async fn barriers_are_paths() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    let path = "/v1/w/barriers/a%2Fb";
    let response = http.post(&format!("{path}/arrive"), &json!({"count": 2})).await;
    assert_eq!((response.status, response.json()["opened"].clone()), (200, json!(false)));
    assert_eq!(http.get(path).await.json()["arrived"], json!(["anonymous"]));
    let response = http.request("POST", &format!("{path}/reset"), &[], "").await;
    assert_eq!(response.json()["arrived"], json!([]));
    let response =
        http.post(&format!("{path}/arrive"), &json!({"count": 1, "wait_ms": 1_000})).await;
    assert_eq!(response.json()["opened"], true, "{}", response.json());
    let response = http.request("POST", &format!("{path}/arrive"), &[], "").await;
    assert_eq!(response.problem(), (400, "request.missing_field".to_owned()));
}

#[tokio::test]
async fn rules_are_paths() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    let rule = json!({"check": {"expression": "hops < 3"}, "severity": "warning"});
    let response = http.put("/v1/w/rules/far", &rule).await;
    assert_eq!((response.status, &response.json()["severity"]), (200, &json!("warning")));
    let response = http.put("/v1/w/rules/far", &json!({"check": {"hops_max": 2}})).await;
    assert_eq!((response.status, &response.json()["severity"]), (200, &json!("error")));
    let rules = http.get("/v1/w/rules?limit=5").await.json();
    assert_eq!(rules["rules"][0]["check"], json!({"hops_max": 2}), "{rules}");
    let response = http.put("/v1/w/rules/bad", &json!({"check": {"expression": "hops <"}})).await;
    assert_eq!(response.json()["offset"], 6, "{}", response.json());
    assert_eq!(response.problem(), (400, "rule.bad_expression".to_owned()));
    let schema = json!({"check": {"schema": {"type": "nonsense"}}});
    let response = http.put("/v1/w/rules/bad", &schema).await;
    assert_eq!(response.problem(), (400, "request.bad_field".to_owned()));
    let response = http.delete("/v1/w/rules/far").await;
    assert_eq!((response.status, &response.json()["name"]), (200, &json!("far")));
    let response = http.delete("/v1/w/rules/far").await;
    assert_eq!(response.problem(), (404, "rule.not_found".to_owned()));
}

#[tokio::test]
async fn checkpoints_are_paths() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    let save = json!({"task": "t", "state": {"step": 1}, "metadata": {"node": "plan"}});
    let response = http.post("/v1/w/checkpoints", &save).await;
    assert_eq!(response.json()["number"], 1);
    assert_eq!(response.json()["state"], json!(null), "the caller has the state already");
    http.post("/v1/w/checkpoints", &json!({"task": "t", "state": {"step": 2}})).await;
    let one = "/v1/w/checkpoints/c-0000000001";
    assert_eq!(http.get(one).await.json()["state"], json!({"step": 1}));
    assert_eq!(http.get("/v1/w/tasks/t/checkpoint").await.json()["state"], json!({"step": 2}));
    let response = http.post(&format!("{one}/restore"), &json!({})).await;
    assert_eq!(response.json()["state"], json!({"step": 1}));
    let response = http.post(&format!("{one}/fork"), &json!({"task": "u"})).await;
    assert_eq!(response.json()["parent"], "c-0000000001");
    let response = http.post(&format!("{one}/label"), &json!({"label": "kept"})).await;
    assert_eq!(response.json()["label"], "kept");
    let response = http.get("/v1/w/checkpoints?metadata=%7B%22node%22:%22plan%22%7D&task=t").await;
    assert_eq!(response.json()["checkpoints"][0]["id"], "c-0000000001");
    let response = http.post("/v1/w/tasks/t/prune", &json!({"keep": 0})).await;
    assert_eq!(response.json()["pruned"], 1);
    let response = http.post("/v1/w/retention/checkpoints", &json!({"keep": 3})).await;
    assert_eq!(response.json(), http.get("/v1/w/retention/checkpoints").await.json());
    let keyed = json!({"task": "k", "key": "a/1", "content_type": "raw", "state": "/wA="});
    http.post("/v1/w/checkpoints", &keyed).await;
    let write = json!({"index": 0, "channel": "c", "value": 1});
    let write = json!({"key": "a/1", "writer": "w", "writes": [write]});
    assert_eq!(http.post("/v1/w/tasks/k/writes", &write).await.json()["written"], 1);
    assert_eq!(http.post("/v1/w/tasks/k/writes", &write).await.json()["written"], 0);
    http.post("/v1/w/tasks/k/copy", &json!({"to": "l"})).await;
    let history = http.get("/v1/w/tasks/l/checkpoints?prefix=a/&limit=1").await.json();
    assert_eq!(history["checkpoints"][0]["state"], "/wA=");
    assert_eq!(history["checkpoints"][0]["writes"][0]["value"], 1);
    let missing = http.get("/v1/w/checkpoints/c-9").await.problem();
    assert_eq!(missing, (404, "checkpoint.not_found".to_owned()));
    http.post("/v1/w/tasks", &json!({"type": "a", "id": "t"})).await;
    let refused = http.post("/v1/w/checkpoints", &save).await.problem();
    assert_eq!(refused, (412, "checkpoint.stale_token".to_owned()));
}

#[tokio::test]
async fn joins_are_paths() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    http.post("/v1/w/tasks", &json!({"id": "a", "type": "t"})).await;
    let response = http.post("/v1/w/joins", &json!({"id": "j", "tasks": ["a"]})).await;
    assert_eq!((response.status, response.json()["status"].clone()), (200, json!("waiting")));
    let response = http.post("/v1/w/joins/j/wait", &json!({"wait_ms": 1})).await;
    assert_eq!((response.status, response.json()), (200, Value::Null));
    http.post("/v1/w/tasks/a/cancel", &json!({})).await;
    let response = http.post("/v1/w/joins/j/wait", &json!({"wait_ms": 60_000})).await;
    assert_eq!(response.json()["members"][0]["status"], "cancelled", "{}", response.json());
    assert_eq!(http.get("/v1/w/joins/j").await.json(), response.json());
    assert_eq!(http.get("/v1/w/joins/k").await.problem(), (404, "join.not_found".to_owned()));
}

#[tokio::test]
async fn pipelines_are_paths() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    let wish = json!({"pipeline": "p", "stages": [{"name": "a"}, {"name": "b"}], "input": 1});
    let response = http.post("/v1/w/pipelines", &wish).await;
    assert_eq!((response.status, response.json()["ready"].clone()), (200, json!(["a"])));
    let path = |verb: &str| format!("/v1/w/pipelines/p/stages/{verb}");
    let response = http.post(&path("b/start"), &json!({})).await;
    assert_eq!(response.problem(), (409, "pipeline.wrong_order".to_owned()));
    let response = http.post(&path("a/start"), &json!({})).await;
    assert_eq!((response.status, response.json()["input"].clone()), (200, json!(1)));
    let response = http.post(&path("a/fail"), &json!({"error": "no"})).await;
    assert_eq!(response.json()["status"], "failed");
    let response = http.post(&path("a/retry"), &json!({})).await;
    assert_eq!(response.json()["status"], "ready");
    http.post(&path("a/start"), &json!({})).await;
    let response = http.post(&path("a/complete"), &json!({"output": {}})).await;
    assert_eq!(response.json()["next"]["name"], "b", "{}", response.json());
    assert_eq!(http.get(&path("a/output")).await.json()["output"], json!({}));
    let response = http.post(&path("b/skip"), &json!({"reason": "short"})).await;
    assert_eq!(response.json()["status"], "completed");
    let response = http.get("/v1/w/pipelines?status=completed").await;
    assert_eq!(response.json()["pipelines"][0]["done"], 2, "{}", response.json());
    let response = http.post("/v1/w/pipelines/p/abort", &json!({})).await;
    assert_eq!(response.problem(), (409, "pipeline.finished".to_owned()));
    assert_eq!(http.request("DELETE", "/v1/w/pipelines/p", &[], "").await.status, 200);
    let response = http.get("/v1/w/pipelines/p").await;
    assert_eq!(response.problem(), (404, "pipeline.not_found".to_owned()));
}

#[tokio::test]
async fn tasks_are_paths() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    let create = json!({"id": "claim", "type": "review", "priority": 3, "capabilities": ["rust"]});
    let response = http.post("/v1/w/tasks", &create).await;
    assert_eq!(
        (response.status, &response.json()["id"]),
        (200, &json!("claim")),
        "{}",
        response.json()
    );
    assert_eq!(response.json()["warnings"][0]["code"], "task.no_capable_agent");
    assert_eq!(http.post("/v1/w/tasks", &create).await.problem(), (409, "task.exists".to_owned()));
    assert_eq!(http.get("/v1/w/tasks/claim").await.json()["status"], "pending");
    let response = http.post("/v1/w/claims", &json!({})).await;
    assert_eq!((response.status, response.json()), (200, Value::Null), "no agent is capable");
    let claim = json!({"types": ["review"], "capabilities": ["rust"], "lease_ms": 60_000});
    let task = http.post("/v1/w/claims", &claim).await.json();
    let token = task["lease"]["token"].to_string();
    let header = [("Baton-Token", token.as_str())];
    for (verb, body, shown) in [
        ("heartbeat", "", "/lease/expires_at"),
        ("progress", r#"{"fraction": 0.5}"#, "/progress/fraction"),
        ("update", r#"{"fields": {"result": {"half": true}}}"#, "/result/half"),
        ("complete", r#"{"result": 7}"#, "/task/finished_at"),
    ] {
        let response =
            http.request("POST", &format!("/v1/w/tasks/claim/{verb}"), &header, body).await;
        assert!(response.json().pointer(shown).is_some(), "{verb}: {}", response.json());
    }
    let response = http.request("POST", "/v1/w/tasks/claim/heartbeat", &header, "").await;
    assert_eq!(response.problem(), (409, "task.finished".to_owned()));
    let history = http.get("/v1/w/tasks/claim/history").await.json();
    assert_eq!(history["events"][0]["type"], "task.completed", "{history}");
    assert_eq!(http.get("/v1/w/tasks/claim/why").await.json()["status"], "completed");
    assert_eq!(http.get("/v1/w/stats/tasks?type=review").await.json()["tasks"]["completed"], 1);
    let listed = http.get("/v1/w/tasks?status=completed&type=review&limit=5").await.json();
    assert_eq!(listed["tasks"][0]["id"], "claim", "{listed}");
    assert_eq!(http.get("/v1/w/tasks?status=pending").await.json()["tasks"], json!([]));
    let response = http.request("GET", "/v1/w/tasks", &[("Baton-Agent", "eve")], "").await;
    assert_eq!(response.json()["tasks"][0]["id"], "claim", "who asks does not narrow the list");
    let response = http.post("/v1/w/tasks/claim/cancel", &json!({"reason": "late"})).await;
    assert_eq!(response.problem(), (409, "task.finished".to_owned()));
    let response = http.post("/v1/w/tasks/claim/review", &json!({"verdict": "retry"})).await;
    assert_eq!(response.status, 409, "{}", response.json());
    assert_eq!(http.get("/v1/w/tasks/nothing").await.status, 404);
}

#[tokio::test]
async fn a_change_under_a_stale_token_is_refused() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    let hold = http.post("/v1/w/locks/door/acquire", &json!({})).await.json();
    let token = hold["token"].to_string();
    let header = [("Baton-Token", token.as_str())];
    let path = "/v1/w/state/shared/plan";
    let set = json!({"command": "state.set", "namespace": "shared", "key": "plan", "value": 2,
                     "token": hold["token"]});
    assert_eq!(http.request("PUT", path, &header, "1").await.status, 200);
    assert_eq!(http.command(&set).await.status, 200);
    assert_eq!(
        http.post("/v1/w/locks/door/release", &json!({"token": hold["token"]})).await.status,
        200
    );
    let stale = (412, "request.stale_token".to_owned());
    assert_eq!(http.request("PUT", path, &header, "3").await.problem(), stale);
    assert_eq!(http.request("DELETE", path, &header, "").await.problem(), stale);
    assert_eq!(http.request("PATCH", "/v1/w", &header, "{}").await.problem(), stale);
    assert_eq!(http.command(&set).await.problem(), stale);
    assert_eq!(http.request("GET", path, &header, "").await.json()["value"], 2);
    // Where it would be ignored, it is refused.
    for (path, body) in [
        ("/v1/w/commands", set.to_string()),
        ("/v1/w/transactions", json!({"commands": [set]}).to_string()),
    ] {
        let response = http.request("POST", path, &header, body).await;
        assert_eq!(response.problem(), (400, "request.bad_field".to_owned()), "{path}");
    }
    for bad in ["", "-1", "x", "1.5"] {
        let response = http.request("PUT", path, &[("Baton-Token", bad)], "3").await;
        assert_eq!(response.problem(), (400, "request.bad_field".to_owned()), "{bad:?}");
    }
}

/// As in `JSON.parse` and in Python. The text itself stays as it was written.
#[tokio::test]
async fn the_last_of_two_equal_keys_in_a_value_counts() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let rules = json!({"command": "namespace.create", "name": "n", "rules": {"schema": schema}});
    assert_eq!(http.command(&rules).await.status, 200);
    let path = "/v1/w/state/n/k";
    let text = r#"{"a": 1, "a": "x"}"#;
    assert_eq!(http.request("PUT", path, &[], text).await.status, 200);
    let stored = http.get(path).await;
    assert!(String::from_utf8_lossy(&stored.body).contains(text), "{stored:?}");
    let refused = http.request("PUT", path, &[], r#"{"a": "x", "a": 1}"#).await;
    assert_eq!(refused.problem(), (400, "state.schema_violation".to_owned()));
    let commands = format!(
        r#"{{"command": "state.set", "namespace": "n", "key": "k", "value": {}}}"#,
        r#"{"a": "x", "a": 1}"#
    );
    let refused = http.request("POST", "/v1/w/commands", &[], commands).await;
    assert_eq!(refused.problem(), (400, "state.schema_violation".to_owned()));
    let merged = http.request("PATCH", path, &[], r#"{"merge": {"b": true}}"#).await;
    assert_eq!(merged.status, 200);
    assert!(String::from_utf8_lossy(&merged.body).contains(r#"{"a":"x","b":true}"#), "{merged:?}");
    // A field of the request itself is written once.
    let twice = r#"{"command": "state.delete", "namespace": "n", "key": "k", "key": "k"}"#;
    let refused = http.request("POST", "/v1/w/commands", &[], twice).await;
    assert_eq!(refused.problem(), (400, "request.duplicate_field".to_owned()));
}

#[tokio::test]
async fn the_server_describes_itself() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    assert_eq!(http.get("/healthz").await.json()["status"], "ok");
    assert_eq!(http.get("/readyz").await.json()["status"], "ready");
    assert_eq!(http.get("/openapi.json").await.status, 200);
    http.get("/nowhere").await;
    let response = http.get("/metrics").await;
    assert!(response.header("content-type").unwrap().starts_with("text/plain"));
    let text = String::from_utf8(response.body).unwrap();
    let not_found = "baton_requests_total{interface=\"http\",outcome=\"not_found\"} 1";
    assert!(text.lines().any(|line| line == not_found), "{text}");
    assert!(text.lines().any(|line| line == "baton_connections 1"), "{text}");
    for line in text.lines() {
        let is_comment = line.starts_with("# HELP ") || line.starts_with("# TYPE ");
        let is_sample =
            line.rsplit_once(' ').is_some_and(|(_, count)| count.parse::<f64>().is_ok());
        assert!(is_comment || is_sample, "{line}");
    }
}
