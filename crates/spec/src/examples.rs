//! An example of every operation, for people who read the document and programs that try it out.

use serde_json::{Map, Value, json};

/// An example of an operation as a command.
pub(crate) fn example(name: &str) -> Option<Value> {
    if name == "transaction" {
        let mut example = transaction();
        example["command"] = name.into();
        return Some(example);
    }
    let mut example = own(name)?;
    example["command"] = name.into();
    Some(example)
}

/// The fields of an example that are not elsewhere.
pub(crate) fn fields(name: &str, elsewhere: &[&str]) -> Option<Value> {
    let mut example = own(name)?;
    example.as_object_mut()?.retain(|field, _| !elsewhere.contains(&field.as_str()));
    Some(example)
}

/// Every operation's example, by its name.
pub(crate) fn all() -> Value {
    let names = baton_core::wire::OPERATIONS.iter().map(|operation| operation.name);
    let examples = names.chain(["transaction"]).filter_map(|name| {
        let value = example(name)?;
        Some((name.to_owned(), json!({"value": value})))
    });
    examples.collect::<Map<_, _>>().into()
}

/// An example of a transaction.
pub(crate) fn transaction() -> Value {
    json!({
        "require": [{"entry": {"namespace": "shared", "key": "plan", "exists": true}}],
        "commands": [
            {"command": "state.patch", "namespace": "shared", "key": "plan", "merge": {"step": 2}},
            {"command": "state.set", "namespace": "shared", "key": "by", "value": "ada"},
        ],
    })
}

fn own(name: &str) -> Option<Value> {
    Some(match name {
        "state.set" => {
            json!({"namespace": "shared", "key": "plan", "value": {"step": 1}})
        }
        "state.patch" => json!({"namespace": "shared", "key": "plan", "merge": {"step": 2}}),
        "state.delete" => json!({"namespace": "shared", "key": "plan", "expected_version": 2}),
        "state.transfer" => {
            json!({"from_namespace": "agent:ada", "to_namespace": "agent:bob", "keys": ["notes"]})
        }
        "state.get" | "state.history" => json!({"namespace": "shared", "key": "plan"}),
        "state.list" => json!({"namespace": "shared", "pattern": "task:*", "limit": 10}),
        "state.snapshot" | "rule.list" | "lock.list" | "semaphore.list" => json!({"limit": 100}),
        "state.diff" => json!({"from": 0}),
        "namespace.create" => {
            json!({"name": "notes", "rules": {"append_only": true}})
        }
        "namespace.configure" => json!({"name": "notes", "rules": {"ttl_ms": 86_400_000}}),
        "namespace.delete" | "namespace.get" => json!({"name": "notes"}),
        "namespace.list" | "workspace.get" => json!({}),
        "workspace.list" => json!({"limit": 10}),
        "workspace.fork" => json!({"to": "research-what-if", "at": 42}),
        "workspace.diff" => json!({"from": "2026-01-31T12:00:00Z", "pattern": "tasks/**"}),
        "workspace.search" => json!({"query": "status:failed type:build \"out of memory\""}),
        "workspace.why" => json!({"subject": "state/shared/plan"}),
        "agent.register" => {
            json!({"agent": "ada", "capabilities": ["search"], "metadata": {"model": "m1"}})
        }
        "agent.heartbeat" | "agent.leave" | "agent.get" => json!({"agent": "ada"}),
        "agent.list" => json!({"status": "active"}),
        "rule.add" => json!({
            "name": "green", "on": {"task_type": "code:*"},
            "check": {"expression": "state.tests.failed == 0"},
            "message": "run the tests first",
        }),
        "contract.show" => json!({"pattern": "shared/**"}),
        "contract.check" => json!({"namespace": "shared", "schema": {"type": "object"}}),
        "rule.remove" => json!({"name": "green"}),
        "lock.acquire" => json!({"name": "release", "ttl_ms": 60_000, "wait_ms": 1_000}),
        "lock.renew" | "lock.release" => json!({"name": "release", "token": 42}),
        "lock.get" => json!({"name": "release"}),
        "semaphore.acquire" => {
            json!({"name": "models", "permits": 4, "ttl_ms": 60_000, "wait_ms": 1_000})
        }
        "semaphore.renew" | "semaphore.release" => json!({"name": "models", "token": 42}),
        "barrier.arrive" => json!({"name": "start", "count": 1, "wait_ms": 1_000}),
        "join.create" => json!({"group": "release", "need": "all", "deadline_ms": 3_600_000}),
        "join.wait" => json!({"join": "j-9", "wait_ms": 1_000}),
        "join.get" => json!({"join": "j-9"}),
        "barrier.reset" | "barrier.get" => json!({"name": "start"}),
        "semaphore.get" => json!({"name": "models"}),
        "workspace.configure" => json!({"history_count": 1_000_000}),
        name => {
            let later = of_pipeline(name).or_else(|| of_checkpoint(name));
            let later = later.or_else(|| of_reaction(name)).or_else(|| of_talk(name));
            let later = later.or_else(|| of_content(name));
            return of_task(name).or(later).or_else(|| of_handoff(name));
        }
    })
}

fn of_reaction(name: &str) -> Option<Value> {
    Some(match name {
        "event.emit" => json!({"type": "deploy.finished", "payload": {"version": 7}}),
        "event.history" => json!({"type": "task.*", "limit": 10}),
        "reaction.add" => json!({
            "name": "announce", "on": {"type": "task.completed", "where": "has(event.result)"},
            "do": [{
                "command": "state.set", "namespace": "shared", "key": "done/{{task}}",
                "value": {"result": "{{result}}", "by": "{{agent}}"},
            }],
        }),
        "reaction.enable" | "reaction.disable" | "reaction.get" => {
            json!({"name": "record-completed-tasks"})
        }
        "context.build" => json!({"agent": "ada", "token_budget": 4_000}),
        "reaction.remove" => json!({"name": "announce"}),
        "reaction.list" => json!({"limit": 100}),
        _ => return None,
    })
}

fn of_handoff(name: &str) -> Option<Value> {
    Some(match name {
        "handoff.offer" | "handoff.execute" | "handoff.validate" => json!({
            "to": "bob", "task": "t-7", "token": 12, "reason": "the sources are in",
            "work_completed": ["read"], "remaining_work": ["write"],
            "state": {"tone": "dry"}, "keys": ["agent:ada/plan"],
        }),
        "handoff.receive" => json!({"wait_ms": 30_000}),
        "handoff.accept" => json!({"handoff": "h-9", "lease_ms": 300_000}),
        "handoff.reject" | "handoff.cancel" => json!({"handoff": "h-9", "reason": "not now"}),
        "handoff.complete" => json!({"handoff": "h-9", "result": {"words": 900}}),
        "handoff.approve" => json!({"handoff": "h-9", "reason": "go ahead"}),
        "handoff.get" | "handoff.export" => json!({"handoff": "h-9"}),
        "handoff.list" => json!({"to": "bob", "status": "offered", "limit": 10}),
        "handoff.history" => json!({"task": "t-7"}),
        "handoff.stats" => json!({}),
        _ => return None,
    })
}

fn of_talk(name: &str) -> Option<Value> {
    Some(match name {
        "message.send" => json!({"to": "bob", "body": {"text": "the draft is there"}}),
        "message.request" => {
            json!({"to": {"handler": "sum"}, "body": [1, 2], "timeout_ms": 10_000})
        }
        "message.reply" => json!({"request": "m-0000000007", "body": 3}),
        "message.get" | "inbox.requeue" => json!({"message": "m-0000000007"}),
        "inbox.receive" => json!({"agent": "bob", "limit": 10, "wait_ms": 30_000}),
        "inbox.ack" => json!({"agent": "bob", "messages": ["m-0000000007"]}),
        "inbox.list" => json!({"agent": "bob", "status": "waiting", "limit": 10}),
        "handler.register" | "handler.remove" => json!({"handler": "sum"}),
        "handler.list" | "stream.list" => json!({"limit": 10}),
        "topic.publish" => json!({"topic": "news/tech", "body": {"title": "tides"}}),
        "topic.get" => json!({"topic": "news/tech"}),
        "topic.list" => json!({"prefix": "news/", "limit": 10}),
        "stream.create" => json!({"stream": "answer-7", "frames_max": 10_000}),
        "stream.send" => json!({"stream": "answer-7", "frames": ["to", "ken"]}),
        "stream.receive" => {
            json!({"stream": "answer-7", "from": 0, "limit": 100, "wait_ms": 30_000})
        }
        "stream.close" => json!({"stream": "answer-7", "reason": "done"}),
        "stream.delete" | "stream.get" => json!({"stream": "answer-7"}),
        _ => return None,
    })
}

fn of_pipeline(name: &str) -> Option<Value> {
    Some(match name {
        "pipeline.create" => json!({
            "pipeline": "article", "automatic": true, "input": {"topic": "tides"},
            "stages": [
                {"name": "research", "agent": "ada"},
                {"name": "write", "capabilities": ["prose"], "max_retries": 2},
                {"name": "check", "type": "review", "after": ["write"]},
            ],
        }),
        "pipeline.start_stage" | "pipeline.retry_stage" | "pipeline.output" => {
            json!({"pipeline": "article", "stage": "write"})
        }
        "pipeline.complete_stage" => {
            json!({"pipeline": "article", "stage": "write", "output": {"words": 900}})
        }
        "pipeline.fail_stage" => {
            json!({"pipeline": "article", "stage": "write", "error": {"code": "model_overloaded"}})
        }
        "pipeline.skip_stage" => {
            json!({"pipeline": "article", "stage": "check", "reason": "it is short"})
        }
        "pipeline.abort" => json!({"pipeline": "article", "reason": "no longer wanted"}),
        "pipeline.delete" | "pipeline.get" => json!({"pipeline": "article"}),
        "pipeline.list" => json!({"status": "running", "limit": 10}),
        _ => return None,
    })
}

fn of_checkpoint(name: &str) -> Option<Value> {
    Some(match name {
        "checkpoint.save" => json!({
            "task": "thread-7", "state": {"step": 3}, "description": "the outline stands",
            "label": "outline", "metadata": {"node": "plan"},
        }),
        "checkpoint.restore" | "checkpoint.get" => json!({"checkpoint": "c-0000000003"}),
        "checkpoint.fork" => json!({"checkpoint": "c-0000000003", "task": "thread-8"}),
        "checkpoint.label" => json!({"checkpoint": "c-0000000003", "label": "outline"}),
        "checkpoint.prune" => json!({"task": "thread-7", "keep": 10, "older_than_ms": 3_600_000}),
        "checkpoint.retain" => json!({"task": "thread-*", "keep": 20, "max_age_ms": 604_800_000}),
        "checkpoint.latest" => json!({"task": "thread-7"}),
        "checkpoint.list" => {
            json!({"task": "thread-7", "metadata": {"node": "plan"}, "limit": 10})
        }
        "checkpoint.retention" => json!({}),
        _ => return None,
    })
}

fn of_content(name: &str) -> Option<Value> {
    let artifact = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let secret = "secret:5d1c0ad72f0b4f1e9be2a3c7d6e8f901";
    Some(match name {
        "artifact.get" | "artifact.delete" => json!({"artifact": artifact}),
        "artifact.list" => json!({"free": true, "limit": 10}),
        "secret.get" | "secret.delete" => json!({"secret": secret}),
        "secret.list" => json!({"limit": 10}),
        _ => return None,
    })
}

fn of_task(name: &str) -> Option<Value> {
    Some(match name {
        "task.create" => json!({
            "type": "review", "description": "review the change", "definition": {"change": 7},
            "priority": 5, "capabilities": ["rust"], "max_retries": 2, "deadline_ms": 3_600_000,
        }),
        "task.claim" => json!({"types": ["review"], "lease_ms": 60_000, "wait_ms": 1_000}),
        "task.heartbeat" | "task.release" => json!({"task": "t-7", "token": 42}),
        "task.progress" => json!({"task": "t-7", "token": 42, "fraction": 0.5, "note": "halfway"}),
        "task.update" => {
            json!({"task": "t-7", "token": 42, "fields": {"metadata": {"model": "m1"}}})
        }
        "task.complete" => json!({"task": "t-7", "token": 42, "result": {"verdict": "good"}}),
        "task.fail" => json!({"task": "t-7", "token": 42, "error": {"code": "model_overloaded"}}),
        "task.cancel" => json!({"task": "t-7", "reason": "no longer wanted"}),
        "task.review" => json!({"task": "t-7", "verdict": "retry", "note": "the model is back"}),
        "task.get" | "task.why" | "task.history" => json!({"task": "t-7"}),
        "task.list" => json!({"status": "pending", "type": "review", "limit": 10}),
        "task.stats" => json!({"type": "review"}),
        _ => return None,
    })
}
