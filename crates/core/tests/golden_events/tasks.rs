//! Tasks.

use std::collections::BTreeSet;

use baton_core::task::{Cause, Outcome, Returns};
use baton_core::waiting::wait::Left;
use baton_core::{Event, GroupName, TaskId, TaskType, Timestamp, Token, WaitId};

use super::{ada, handoff_id, json, spend, talk, task};

fn created_with_nothing() -> task::Created {
    task::Created {
        task: task(),
        task_type: TaskType::parse("review").unwrap(),
        ready: true,
        description: None,
        definition: None,
        assigned_agent: None,
        capabilities: BTreeSet::new(),
        priority: 0,
        group: None,
        parent: None,
        budget: None,
        depends_on: Vec::new(),
        not_before: None,
        deadline: None,
        max_retries: None,
        backoff: None,
        on_exhausted: None,
        review: false,
        reviewers: None,
        schema_version: None,
        metadata: None,
        traceparent: None,
    }
}

fn created_with_everything() -> task::Created {
    let moment = Some(Timestamp(1_794_700_800_123));
    let other = |name| TaskId::parse(name).unwrap();
    task::Created {
        ready: false,
        description: Some("Read it twice.".to_owned()),
        definition: Some(json(r#"{"file":"a.rs"}"#)),
        assigned_agent: Some(ada()),
        review: true,
        budget: Some(spend::Budget { tokens: Some(70_000), cost_micros: None, calls: Some(9) }),
        capabilities: ["rust".to_owned(), "write".to_owned()].into(),
        priority: -7,
        group: Some(GroupName::parse("release").unwrap()),
        parent: Some(other("t-0000000040")),
        depends_on: vec![other("t-0000000041"), other("build")],
        not_before: moment,
        deadline: moment,
        max_retries: Some(5),
        backoff: Some(task::Backoff::default()),
        on_exhausted: Some(task::OnExhausted::Agent(ada())),
        schema_version: Some(json("2")),
        metadata: Some(json(r#"{"model":"m"}"#)),
        ..created_with_nothing()
    }
}

fn task_failures() -> Vec<(&'static str, task::Event)> {
    let error = || json(r#"{"code":"E1"}"#);
    let failed =
        |cause, outcome| task::Event::Failed { task: task(), error: error(), cause, outcome };
    let not_before = Some(Timestamp(1_794_700_800_123));
    vec![
        ("task.failed", failed(Cause::Reported, Outcome::Retry { not_before })),
        (
            "task.failed with the lease over",
            failed(Cause::LeaseExpired, Outcome::Retry { not_before: None }),
        ),
        ("task.failed with the agent gone", failed(Cause::AgentGone, Outcome::Review)),
        ("task.failed with the deadline past", failed(Cause::Deadline, Outcome::Failed)),
        (
            "task.failed with another to try",
            failed(Cause::Reported, Outcome::Reassigned { to: ada() }),
        ),
    ]
}

fn tasks_that_change_hands() -> Vec<(&'static str, task::Event)> {
    let (token, lease_ms, until) = (Token(300), 300_000, Timestamp(1_794_700_800_123));
    vec![
        ("task.offered", task::Event::Offered { task: task(), handoff: handoff_id() }),
        ("task.abandoned", task::Event::Abandoned { task: task(), handoff: handoff_id() }),
        ("task.taken_back", task::Event::TakenBack { task: task(), handoff: handoff_id() }),
        (
            "task.handed_over",
            task::Event::HandedOver {
                task: task(),
                handoff: handoff_id(),
                holder: ada(),
                token,
                lease_ms,
            },
        ),
        (
            "task.handed_off",
            task::Event::HandedOff {
                task: task(),
                handoff: handoff_id(),
                to: ada(),
                returns: Returns { to: Some(ada()), at: until, within_ms: 60_000 },
            },
        ),
    ]
}

/// How the work on a task ends, and starts again.
fn endings() -> Vec<(&'static str, task::Event)> {
    let until = Timestamp(1_794_700_800_123);
    let said = || Some("because".to_owned());
    let reviewed = |verdict, accepts| task::Event::Reviewed {
        task: task(),
        verdict,
        accepts,
        note: None,
        result: None,
    };
    vec![
        ("task.released", task::Event::Released { task: task(), reason: said() }),
        ("task.ready", task::Event::Ready { task: task() }),
        (
            "task.completed",
            task::Event::Completed {
                task: task(),
                result: Some(json("null")),
                artifacts: Some(json("[]")),
            },
        ),
        (
            "task.submitted",
            task::Event::Submitted { task: task(), result: Some(json("7")), artifacts: None },
        ),
        ("task.cancelled", task::Event::Cancelled { task: task(), reason: None, because: None }),
        (
            "task.cancelled with a cause",
            task::Event::Cancelled { task: task(), reason: said(), because: Some(task()) },
        ),
        (
            "task.retried",
            task::Event::Retried { task: task(), because: None, deadline: None, reason: said() },
        ),
        (
            "task.retried with a cause",
            task::Event::Retried {
                task: task(),
                because: Some(task()),
                deadline: Some(until),
                reason: None,
            },
        ),
        ("task.reviewed", reviewed(task::Verdict::Retry, false)),
        ("task.reviewed with the work done", reviewed(task::Verdict::Complete, false)),
        ("task.reviewed with the result accepted", reviewed(task::Verdict::Complete, true)),
        ("task.reviewed with the work failed", reviewed(task::Verdict::Fail, false)),
    ]
}

pub(super) fn tasks() -> Vec<(&'static str, Event)> {
    let (token, wait, lease_ms) = (Token(300), WaitId(70_000), 300_000);
    let until = Timestamp(1_794_700_800_123);
    let claimed =
        |wait| task::Event::Claimed { task: task(), holder: ada(), token, lease_ms, wait };
    let queued = |types, capabilities, task, limit| task::Event::Queued {
        wait,
        claimant: ada(),
        until,
        types,
        capabilities,
        task,
        lease_ms,
        limit,
    };
    let types = BTreeSet::from([TaskType::parse("review").unwrap()]);
    let said = || Some("because".to_owned());
    let events = vec![
        ("task.created", task::Event::Created(Box::new(created_with_nothing()))),
        ("task.created with everything", task::Event::Created(Box::new(created_with_everything()))),
        ("task.created with a trace", talk::traced_task(created_with_nothing())),
        ("task.claimed", claimed(None)),
        ("task.claimed with a wait before it", claimed(Some(wait))),
        ("task.queued", queued(None, BTreeSet::new(), None, None)),
        ("task.queued with a limit", queued(None, BTreeSet::new(), None, Some(8))),
        (
            "task.queued with everything",
            queued(Some(types), ["rust".to_owned()].into(), Some(task()), None),
        ),
        ("task.gave_up", task::Event::GaveUp { wait, claimant: ada(), left: Left::Timeout }),
        ("task.renewed", task::Event::Renewed { task: task(), lease_ms }),
        ("task.progressed", task::Event::Progressed { task: task(), fraction: 0.25, note: said() }),
        (
            "task.updated",
            task::Event::Updated {
                task: task(),
                description: said(),
                definition: Some(json("1")),
                metadata: Some(json("{}")),
                result: Some(json("[2]")),
                priority: Some(7),
            },
        ),
    ];
    let events = events.into_iter().chain(endings());
    let events = events.chain(tasks_that_change_hands()).chain(task_failures());
    events.map(|(name, event)| (name, Event::Task(event))).collect()
}

pub(crate) fn spend_variant(event: &spend::Event) -> &'static str {
    match event {
        spend::Event::Recorded { .. } => "spend recorded",
        spend::Event::Limited { .. } => "spend limited",
        spend::Event::Exhausted(_) => "spend exhausted",
    }
}

pub(crate) fn spending() -> Vec<(&'static str, Event)> {
    let spent = spend::Amounts { tokens: 1_250, cost_micros: 18_750, calls: 1 };
    let recorded = |tasks, model: Option<&str>, note: Option<&str>| spend::Event::Recorded {
        number: 300,
        by: ada(),
        tasks,
        spent,
        model: model.map(str::to_owned),
        note: note.map(str::to_owned),
    };
    let limited = |of, tokens| {
        let budget = spend::Budget { tokens, ..spend::Budget::default() };
        spend::Event::Limited { of, budget }
    };
    let used_up = spend::UsedUp {
        of: spend::Payer::Agent(ada()),
        unit: spend::Unit::CostMicros,
        limit: 5_000_000,
        used: 5_000_001,
    };
    let events = vec![
        ("spend.recorded", recorded(vec![task()], Some("m1"), Some("the first draft"))),
        ("spend.recorded with no task", recorded(Vec::new(), None, None)),
        ("spend.limited", limited(spend::Payer::Task(task()), Some(1_000_000))),
        ("spend.limited with nothing", limited(spend::Payer::Workspace, None)),
        ("spend.exhausted", spend::Event::Exhausted(used_up)),
    ];
    events.into_iter().map(|(name, event)| (name, Event::Spend(event))).collect()
}
