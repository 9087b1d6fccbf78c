use serde_json::{Value, json};

use super::super::baton::{Lock, Task};
use super::super::cycle::{NextStep, Script};
use super::{asked, refusal};
use crate::peers::tests::baton::json_of;
use crate::peers::tests::websocket::from_server;

fn answer(result: &Value) -> Vec<u8> {
    from_server(0x81, format!(r#"{{"id":1,"revision":7,"result":{result}}}"#).as_bytes())
}

fn claimed() -> Vec<u8> {
    answer(&json!({
        "id": "t-0000000003", "type": "type-3", "definition": { "note": "x" },
        "lease": { "holder": "agent-3", "token": 41, "expires_at": "2026-01-01T00:00:00.000Z" },
    }))
}

#[test]
fn what_is_claimed_is_completed_with_the_token_of_its_lease() {
    let mut script = Task::new(3);
    let created = answer(&json!({ "id": "t-0000000003", "status": "pending" }));
    let done = answer(&json!({ "id": "t-0000000003", "status": "completed" }));
    for _ in 0..2 {
        let requests = asked(&mut script, &[&created, &claimed(), &done]);
        let claim = json!({
            "id": 1, "workspace": "bench", "agent": "agent-3", "command": "task.claim",
            "types": ["type-3"],
        });
        let complete = json!({
            "id": 1, "workspace": "bench", "agent": "agent-3", "command": "task.complete",
            "task": "t-0000000003", "token": 41,
        });
        assert_eq!((json_of(&requests[0]).0, json_of(&requests[1]).0), (claim, complete));
        assert!(requests[2].is_empty());
    }
}

#[test]
fn a_claim_that_gets_nothing_fails_the_run() {
    let created = answer(&json!({ "id": "t-1" }));
    for nothing in [json!(null), json!({ "id": "t-1" }), json!({ "lease": { "token": 1 } })] {
        let refused = refusal(&mut Task::new(0), &[&created, &answer(&nothing)]);
        assert!(refused.starts_with("refused: "), "{refused}");
    }
}

#[test]
fn what_is_acquired_is_released_with_its_token() {
    let mut script = Lock::new(5, "lock-5");
    let held = answer(&json!({ "name": "lock-5", "holder": "agent-5", "token": 9 }));
    for _ in 0..2 {
        let requests = asked(&mut script, &[&held, &answer(&json!({}))]);
        let release = json!({
            "id": 1, "workspace": "bench", "agent": "agent-5", "command": "lock.release",
            "name": "lock-5", "token": 9,
        });
        assert_eq!(json_of(&requests[0]).0, release);
        assert!(requests[1].is_empty());
    }
    let refused = refusal(&mut Lock::new(5, "lock-5"), &[&answer(&json!(null))]);
    assert!(refused.starts_with("refused: "), "{refused}");
}

#[test]
fn a_ping_between_answers_changes_nothing() {
    let ping = from_server(0x89, b"x");
    assert_eq!(Task::new(0).hear(&ping, false, &mut Vec::new()), Ok(NextStep::GoesOn));
    assert_eq!(Lock::new(0, "l").hear(&ping, false, &mut Vec::new()), Ok(NextStep::GoesOn));
}
