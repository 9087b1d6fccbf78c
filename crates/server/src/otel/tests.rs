use std::collections::BTreeMap;

use baton_core::primitive::Event as _;
use baton_core::wire::{Call, Frame};
use baton_core::{AgentId, Event, Space, Timestamp, WorkspaceName, handoff, message};

use super::ids::SpanContext;
use super::lifecycles::{Lifecycle, LifecycleId, Seen, begins, ends, task_of};
use super::otlp::encode;
use super::span::{Kind, Span, Value};

/// Steps with time and agent, in the form of the wire.
type Step<'a> = (u64, &'a str, &'a str);

fn workspace() -> WorkspaceName {
    WorkspaceName::parse("w").unwrap()
}

/// The spans of a scenario, in the order in which they ended.
fn spans(steps: &[Step<'_>]) -> Vec<Span> {
    let (mut space, mut spans) = (Space::default(), Vec::new());
    let mut lifecycles: BTreeMap<LifecycleId, Lifecycle> = BTreeMap::new();
    let mut take_in = |batch: &baton_core::Batch| {
        for index in 0..batch.events.len() {
            let seen = Seen { workspace: &workspace(), batch, index };
            let Some(lifecycle_id) = LifecycleId::of(seen.event()) else { continue };
            let fresh = begins(seen.event());
            let known = lifecycles.remove(&lifecycle_id).filter(|_| !fresh);
            let mut lifecycle = known.unwrap_or_else(|| lifecycle_id.lifecycle());
            let of_task: Option<SpanContext> = task_of(seen.event()).and_then(|task| {
                let Some(Lifecycle::Task(lifecycle)) =
                    lifecycles.get(&LifecycleId::Task(task.clone()))
                else {
                    return None;
                };
                lifecycle.inside(&workspace(), task)
            });
            lifecycle.observe(&seen, of_task, &mut spans);
            if !ends(seen.event()) {
                lifecycles.insert(lifecycle_id, lifecycle);
            }
        }
    };
    // The last returned ids, by their placeholder in a step.
    let mut last: BTreeMap<&str, String> = BTreeMap::new();
    for (time, agent, text) in steps {
        let now = Timestamp(1_700_000_000_000 + time);
        while let Some(signal) = space.due(now).into_iter().next() {
            let due = space.signal(vec![signal], now).unwrap();
            take_in(&due.batch.expect("what is due happens"));
        }
        if text.is_empty() {
            continue;
        }
        let text = last.iter().fold((*text).to_owned(), |text, (word, it)| text.replace(word, it));
        let Call::Command(command) = Frame::parse(&text).unwrap().call().unwrap() else {
            panic!("{text} is no command")
        };
        let done = space.commit(command.into(), &AgentId::parse(agent).unwrap(), now);
        let done = done.unwrap_or_else(|refused| panic!("{text}: {refused}"));
        let batch = done.batch.expect("every step changes something");
        for event in &batch.events {
            match event {
                Event::Task(event) => {
                    let given = event.token().zip(event.task());
                    last.extend(given.map(|(token, _)| ("TOKEN", token.to_string())));
                    last.extend(given.map(|(_, task)| ("TASK", task.to_string())));
                }
                Event::Handoff(handoff::Event::Offered(offered)) => {
                    last.insert("HANDOFF", offered.id.to_string());
                }
                Event::Message(message::Event::Sent(sent)) => {
                    last.insert("MESSAGE", sent.message.to_string());
                }
                _ => {}
            }
        }
        take_in(&batch);
    }
    spans
}

fn attribute<'a>(span: &'a Span, name: &str) -> Option<&'a str> {
    let found = span.attributes.iter().find(|(known, _)| *known == name)?;
    match &found.1 {
        Value::Text(text) => Some(text),
        Value::Number(_) => None,
    }
}

/// A span in one line: name, start and end, outcome, and the name of its parent.
fn rendered(all: &[Span], span: &Span) -> String {
    let from = |time: Timestamp| time.0 - 1_700_000_000_000;
    let parent = all.iter().find(|other| Some(other.id) == span.context.parent);
    let parent = match (parent, span.context.parent) {
        (Some(parent), _) => parent.name.clone(),
        (None, Some(id)) => id.to_string(),
        (None, None) => "nothing".to_owned(),
    };
    let error = span.error.as_ref().map(|error| format!(" ({error})")).unwrap_or_default();
    let outcome = attribute(span, "baton.outcome").unwrap_or_default();
    let (begun, ended) = (from(span.begun), from(span.ended));
    format!("{} {begun}..{ended} {outcome}{error} below {parent}", span.name)
}

fn check(steps: &[Step<'_>], expected: &[&str]) -> Vec<Span> {
    let all = spans(steps);
    let lines: Vec<_> = all.iter().map(|span| rendered(&all, span)).collect();
    assert_eq!(lines, expected);
    all
}

const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

#[test]
fn a_task_is_a_span_and_so_is_every_period_with_a_holder() {
    let create = format!(
        r#"{{"command":"task.create","task":"t","type":"write","traceparent":"{TRACE}",
            "backoff":{{"initial_ms":0}}}}"#
    );
    let steps = [
        (0, "ann", create.as_str()),
        (5, "ada", r#"{"command":"task.claim","task":"t"}"#),
        (
            9,
            "ada",
            r#"{"command":"task.fail","task":"t","token":TOKEN,
                "error":{"code":"E1","text":"psst"}}"#,
        ),
        (10, "ada", r#"{"command":"task.claim","task":"t"}"#),
        (11, "ada", r#"{"command":"task.release","task":"t","token":TOKEN}"#),
        (12, "bob", r#"{"command":"task.claim","task":"t"}"#),
        (13, "bob", r#"{"command":"handoff.offer","to":"eve","task":"t","token":TOKEN}"#),
        (15, "eve", r#"{"command":"handoff.accept","handoff":"HANDOFF"}"#),
        (
            20,
            "eve",
            r#"{"command":"task.complete","task":"t","token":TOKEN,
                "result":{"text":"psst","model":"m",
                "usage":{"prompt_tokens":7,"completion_tokens":2}}}"#,
        ),
    ];
    let all = check(
        &steps,
        &[
            "invoke_agent ada 5..9 failed (E1) below task write",
            "invoke_agent ada 10..11 released below task write",
            "invoke_agent bob 12..15 handed_over below task write",
            "invoke_agent eve 15..20 completed below task write",
            "task write 0..20 completed below 00f067aa0ba902b7",
            "handoff bob 13..20 completed below task write",
        ],
    );
    assert!(all.iter().all(|span| span.context.trace.to_string() == TRACE[3..35]));
    let eve = &all[3];
    assert_eq!(attribute(eve, "gen_ai.operation.name"), Some("invoke_agent"));
    assert_eq!(attribute(eve, "gen_ai.agent.id"), Some("eve"));
    assert_eq!(attribute(eve, "gen_ai.response.model"), Some("m"));
    let number = |name| eve.attributes.iter().find(|(known, _)| *known == name).unwrap().1.clone();
    assert_eq!(number("gen_ai.usage.input_tokens"), Value::Number(7));
    assert_eq!(number("gen_ai.usage.output_tokens"), Value::Number(2));
    assert_eq!(number("baton.task.attempt"), Value::Number(3));
    assert_eq!(all[5].moments.len(), 1, "it was accepted");
    // Deriving them again gives the same spans, and the content of agents is not in them.
    assert_eq!(spans(&steps), all);
    assert!(!String::from_utf8(encode(&all)).unwrap().contains("psst"));
    let mut ids: Vec<_> = all.iter().map(|span| span.id.to_string()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), all.len(), "no two spans have the same id");
}

#[test]
fn without_a_trace_of_a_caller_each_has_its_own() {
    let steps = [
        (0, "ann", r#"{"command":"task.create","task":"t","type":"write"}"#),
        (0, "ann", r#"{"command":"task.create","task":"u","type":"write","max_retries":0}"#),
        (1, "ada", r#"{"command":"task.cancel","task":"t"}"#),
        (2, "ada", r#"{"command":"task.claim","task":"u","lease_ms":1000}"#),
        (1_500, "time", ""),
    ];
    let all = check(
        &steps,
        &[
            "task write 0..1 cancelled below nothing",
            "invoke_agent ada 2..1500 failed (lease_expired) below task write",
            "task write 0..1500 failed (lease_expired) below nothing",
        ],
    );
    assert_ne!(all[0].context.trace, all[1].context.trace);
}

#[test]
fn a_request_is_a_span_from_question_to_answer() {
    let ask = format!(
        r#"{{"command":"message.request","to":{{"handler":"sum"}},"body":1,"timeout_ms":50,
            "traceparent":"{TRACE}"}}"#
    );
    let all = check(
        &[
            (0, "bob", r#"{"command":"agent.register","agent":"bob"}"#),
            (0, "bob", r#"{"command":"handler.register","handler":"sum"}"#),
            (1, "ada", &ask),
            (4, "bob", r#"{"command":"message.reply","request":"MESSAGE","body":2}"#),
            (5, "ada", &ask),
            (6, "bob", r#"{"command":"message.reply","request":"MESSAGE","error":"no"}"#),
            (7, "ada", &ask),
            (90, "time", ""),
        ],
        &[
            "invoke_agent bob 1..4 replied below 00f067aa0ba902b7",
            "invoke_agent bob 5..6 failed (_OTHER) below 00f067aa0ba902b7",
            "invoke_agent bob 7..90 timed_out (timed_out) below 00f067aa0ba902b7",
        ],
    );
    assert_eq!(all[0].kind, Kind::Client);
    assert_eq!(attribute(&all[0], "gen_ai.conversation.id"), Some("m-0000000003"));
}

#[test]
fn the_tasks_of_a_pipeline_are_below_their_stages() {
    let create = format!(
        r#"{{"command":"pipeline.create","pipeline":"p","automatic":true,
            "stages":[{{"name":"a"}},{{"name":"b"}}],"traceparent":"{TRACE}"}}"#
    );
    check(
        &[
            (0, "ann", &create),
            (1, "ada", r#"{"command":"task.claim","types":["a"]}"#),
            (3, "ada", r#"{"command":"task.complete","task":"TASK","token":TOKEN,"result":1}"#),
            (5, "bob", r#"{"command":"task.claim","types":["b"]}"#),
            (7, "bob", r#"{"command":"task.complete","task":"TASK","token":TOKEN,"result":2}"#),
        ],
        &[
            "invoke_agent ada 1..3 completed below task a",
            "task a 0..3 completed below stage a",
            "stage a 0..3 completed below invoke_workflow p",
            "handoff ada 5..5 completed below task b",
            "invoke_agent bob 5..7 completed below task b",
            "task b 3..7 completed below stage b",
            "stage b 3..7 completed below invoke_workflow p",
            "invoke_workflow p 0..7 completed below 00f067aa0ba902b7",
        ],
    );
}

#[test]
fn spans_are_encoded_as_otlp() {
    let create =
        format!(r#"{{"command":"task.create","task":"t","type":"write","traceparent":"{TRACE}"}}"#);
    let all = spans(&[(0, "ann", &create), (1, "ann", r#"{"command":"task.cancel","task":"t"}"#)]);
    let tree: serde_json::Value = serde_json::from_slice(&encode(&all)).unwrap();
    let resource = &tree["resourceSpans"][0];
    assert_eq!(resource["resource"]["attributes"][0]["key"], "service.name");
    let span = &resource["scopeSpans"][0]["spans"][0];
    assert_eq!(span["traceId"], "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_eq!(span["parentSpanId"], "00f067aa0ba902b7");
    assert_eq!(span["spanId"].as_str().unwrap().len(), 16);
    assert_eq!(span["kind"], 1);
    assert_eq!(span["startTimeUnixNano"], "1700000000000000000");
    assert_eq!(span["endTimeUnixNano"], "1700000000001000000");
    let attributes = span["attributes"].as_array().unwrap();
    let revision = attributes.iter().find(|it| it["key"] == "baton.revision").unwrap();
    assert_eq!(revision["value"]["intValue"], "2", "whole numbers are texts");
}
