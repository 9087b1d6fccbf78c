//! The multiplexer without a connection: the errors of calls that time out. Time is paused, so it
//! advances as soon as all tasks wait.

use std::pin::pin;
use std::task::Context;
use std::time::Duration;

use baton_core::lock::{self, Acquire};
use baton_core::wire::Problem;
use baton_core::{AgentId, Kind, LockName, Pattern, WorkspaceName};
use serde_json::json;

use super::*;
use crate::net::frames::{Awaits, Expects};

fn multiplexer(options: Options) -> Multiplexer {
    Multiplexer::new("http://nowhere:1".to_owned(), false, options)
}

fn encoded(text: &str) -> EncodedRequest {
    EncodedRequest {
        text: text.to_owned(),
        expects: Expects::One("state.get".to_owned()),
        awaits: None,
    }
}

fn caller() -> Caller {
    Caller {
        workspace: WorkspaceName::parse("lab").unwrap(),
        agent: AgentId::parse("ada").unwrap(),
        idempotency_key: None,
        sees_tokens: false,
    }
}

fn everything() -> wire::Watch {
    let pattern = Pattern::parse("**").unwrap();
    wire::Watch { pattern, types: Vec::new(), from: None, snapshot: false, waits: false }
}

fn outgoing(multiplexer: &Multiplexer) -> Vec<String> {
    let mut out = Vec::new();
    multiplexer.outgoing(&mut out);
    out.into_iter().map(|text| text.to_string()).collect()
}

fn is_pending(future: std::pin::Pin<&mut impl Future>) -> bool {
    future.poll(&mut Context::from_waker(Waker::noop())).is_pending()
}

fn refusal(id: u64, code: &str) -> String {
    let words = format!(r#""code":"{code}","kind":"unavailable","detail":"d","hint":"h""#);
    format!(r#"{{"id":{id},"error":{{{words}}}}}"#)
}

const EFFECTS: [Effect; 3] = [Effect::Asks, Effect::ChangesOnce, Effect::Changes];

#[tokio::test(start_paused = true)]
async fn a_request_that_was_never_sent_was_not_executed() {
    for effect in EFFECTS {
        let multiplexer = multiplexer(Options::default());
        multiplexer.broken("it rains");
        let begun = Instant::now();
        let error = multiplexer.call(1, encoded("a"), effect).await.unwrap_err();
        assert_eq!(begun.elapsed().as_secs(), 30);
        assert_eq!(error.code(), "client.unreachable");
        assert_eq!(error.to_string(), "cannot connect to http://nowhere:1: it rains");
        assert!(!error.is_unknown());
        multiplexer.connected();
        assert!(outgoing(&multiplexer).is_empty(), "what was given up is not sent later");
    }
}

#[tokio::test(start_paused = true)]
async fn an_unanswered_write_has_an_unknown_outcome() {
    for (effect, code) in EFFECTS.into_iter().zip([
        "client.timeout",
        "client.unknown_outcome",
        "client.unknown_outcome",
    ]) {
        let multiplexer = multiplexer(Options::default());
        let (outcome, ()) = tokio::join!(multiplexer.call(1, encoded("a"), effect), async {
            multiplexer.work().await;
            assert_eq!(outgoing(&multiplexer), ["a"]);
        });
        assert_eq!(outcome.unwrap_err().code(), code, "{effect:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_outcome_stays_unknown_without_a_connection() {
    for (effect, code) in
        [(Effect::Asks, "client.unreachable"), (Effect::ChangesOnce, "client.unknown_outcome")]
    {
        let multiplexer = multiplexer(Options::default());
        let (outcome, ()) = tokio::join!(multiplexer.call(1, encoded("a"), effect), async {
            multiplexer.work().await;
            assert_eq!(outgoing(&multiplexer), ["a"]);
            multiplexer.broken("it rains");
        });
        assert_eq!(outcome.unwrap_err().code(), code);
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_at_the_last_moment_counts() {
    let multiplexer = multiplexer(Options::default());
    let mut call = pin!(multiplexer.call(1, encoded("a"), Effect::Changes));
    assert!(is_pending(call.as_mut()));
    assert_eq!(outgoing(&multiplexer), ["a"]);
    tokio::time::advance(Duration::from_secs(31)).await;
    multiplexer.received(&refusal(1, "x.y")).unwrap();
    assert_eq!(call.await.unwrap_err().code(), "x.y");
}

#[tokio::test]
async fn nothing_more_is_sent_to_a_closing_server() {
    let multiplexer = multiplexer(Options { automatic_keys: false, ..Options::default() });
    let mut first = pin!(multiplexer.call(1, encoded("a"), Effect::Changes));
    assert!(is_pending(first.as_mut()));
    assert_eq!(outgoing(&multiplexer), ["a"]);
    let mut second = pin!(multiplexer.call(2, encoded("b"), Effect::Changes));
    assert!(is_pending(second.as_mut()));
    multiplexer.received(&refusal(1, "server.closing")).unwrap();
    assert!(outgoing(&multiplexer).is_empty());
    multiplexer.broken("it is gone");
    multiplexer.connected();
    assert_eq!(outgoing(&multiplexer), ["a", "b"], "nothing was done, so it may be sent again");
}

/// A live request was perhaps delivered before the server refused what still waits.
#[tokio::test]
async fn what_acts_before_it_waits_is_not_sent_again_without_a_key() {
    for (is_all, effect, is_repeated) in [
        (false, Effect::Changes, false),
        (false, Effect::ChangesOnce, true),
        (true, Effect::Changes, true),
    ] {
        let multiplexer = multiplexer(Options::default());
        let awaits = Some(Awaits { wait_ms: 30_000, caller: caller(), is_all });
        let mut call = pin!(multiplexer.call(1, EncodedRequest { awaits, ..encoded("a") }, effect));
        assert!(is_pending(call.as_mut()));
        assert_eq!(outgoing(&multiplexer), ["a"]);
        multiplexer.received(&refusal(1, "engine.closed")).unwrap();
        multiplexer.broken("it is gone");
        multiplexer.connected();
        let expected: &[&str] = if is_repeated { &["a"] } else { &[] };
        assert_eq!(outgoing(&multiplexer), expected, "{effect:?}");
        if !is_repeated {
            assert_eq!(call.await.unwrap_err().code(), "client.unknown_outcome");
        }
    }
}

#[tokio::test]
async fn a_watch_that_a_closing_server_refuses_begins_at_the_next() {
    let multiplexer = multiplexer(Options { resume_watches: false, ..Options::default() });
    let caller = caller();
    let mut begun = pin!(multiplexer.watch(&caller, everything()));
    assert!(is_pending(begun.as_mut()));
    assert!(outgoing(&multiplexer)[0].starts_with(r#"{"id":2,"#));
    multiplexer.received(&refusal(2, "engine.closed")).unwrap();
    assert!(outgoing(&multiplexer).is_empty());
    multiplexer.broken("it is gone");
    multiplexer.connected();
    assert!(outgoing(&multiplexer)[0].starts_with(r#"{"id":3,"#));
    multiplexer.received(r#"{"id":3,"revision":0,"result":{"watch":3,"from":1}}"#).unwrap();
    assert_eq!(begun.await.unwrap(), 1);
}

/// A multiplexer of a client that can use several servers.
fn of_several() -> Multiplexer {
    Multiplexer::new("http://nowhere:1".to_owned(), true, Options::default())
}

/// Sends everything in flight to the next server.
fn move_on(multiplexer: &Multiplexer) -> Vec<String> {
    assert!(outgoing(multiplexer).is_empty(), "nothing more is sent to the server that refused");
    multiplexer.broken("it was left");
    multiplexer.connected();
    outgoing(multiplexer)
}

#[tokio::test]
async fn what_a_server_of_several_cannot_serve_is_sent_to_the_next() {
    for (code, _) in PASSING {
        for effect in [Effect::Asks, Effect::ChangesOnce] {
            let multiplexer = of_several();
            let mut call = pin!(multiplexer.call(1, encoded("a"), effect));
            let mut other = pin!(multiplexer.call(2, encoded("b"), Effect::Asks));
            assert!(is_pending(call.as_mut()) && is_pending(other.as_mut()));
            assert_eq!(outgoing(&multiplexer), ["a", "b"]);
            let reason = multiplexer.received(&refusal(1, code)).unwrap_err();
            assert_eq!(reason, "the server cannot serve the workspace: d");
            assert_eq!(multiplexer.refusals(), 1);
            assert_eq!(move_on(&multiplexer), ["a", "b"]);
            assert_eq!(multiplexer.refusals(), 0, "{code}");
            multiplexer.received(&refusal(1, code)).unwrap_err();
            assert_eq!(multiplexer.refusals(), 2, "they are counted for each call");
            assert_eq!(move_on(&multiplexer), ["a", "b"]);
            multiplexer.received(&refusal(1, "x.y")).unwrap();
            assert_eq!(call.await.unwrap_err().code(), "x.y");
        }
    }
}

#[tokio::test]
async fn a_refusal_that_does_not_pass_ends_the_call() {
    let cases = [
        (of_several(), "engine.full", Effect::ChangesOnce),
        // Nothing of what is in flight may be lost with the connection.
        (of_several(), "cluster.owner_lost", Effect::Changes),
        (multiplexer(Options::default()), "log.away", Effect::ChangesOnce),
    ];
    for (multiplexer, code, effect) in cases {
        let mut call = pin!(multiplexer.call(1, encoded("a"), effect));
        assert!(is_pending(call.as_mut()));
        assert_eq!(outgoing(&multiplexer), ["a"]);
        multiplexer.received(&refusal(1, code)).unwrap();
        assert_eq!(call.await.unwrap_err().code(), code);
    }
}

/// The time of the call ends before a server has served it.
#[tokio::test(start_paused = true)]
async fn the_last_refusal_is_the_error_unless_the_call_may_have_been_executed() {
    for (code, effect, expected) in [
        ("log.away", Effect::ChangesOnce, "log.away"),
        ("cluster.owner_lost", Effect::Asks, "cluster.owner_lost"),
        ("cluster.owner_lost", Effect::ChangesOnce, "client.unknown_outcome"),
    ] {
        let multiplexer = of_several();
        let mut call = pin!(multiplexer.call(1, encoded("a"), effect));
        assert!(is_pending(call.as_mut()));
        assert_eq!(outgoing(&multiplexer), ["a"]);
        multiplexer.received(&refusal(1, code)).unwrap_err();
        multiplexer.broken("it was left");
        assert_eq!(call.await.unwrap_err().code(), expected, "{code}, {effect:?}");
    }
}

#[tokio::test]
async fn a_watch_that_a_server_of_several_cannot_serve_begins_at_the_next() {
    let multiplexer = of_several();
    let caller = caller();
    let mut begun = pin!(multiplexer.watch(&caller, everything()));
    assert!(is_pending(begun.as_mut()));
    assert!(outgoing(&multiplexer)[0].starts_with(r#"{"id":2,"#));
    multiplexer.received(&refusal(2, "cluster.no_owner")).unwrap_err();
    assert!(move_on(&multiplexer)[0].starts_with(r#"{"id":3,"#));
    multiplexer.received(r#"{"id":3,"revision":0,"result":{"watch":3,"from":1}}"#).unwrap();
    assert_eq!(begun.await.unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_does_not_begin_in_time_leaves_nothing_behind() {
    let multiplexer = multiplexer(Options { watches_max: 1, ..Options::default() });
    multiplexer.broken("it rains");
    let caller = caller();
    for _ in 0..2 {
        let error = multiplexer.watch(&caller, everything()).await.unwrap_err();
        assert_eq!(error.code(), "client.unreachable");
    }
    multiplexer.connected();
    let (begun, ()) = tokio::join!(multiplexer.watch(&caller, everything()), async {
        multiplexer.work().await;
        assert_eq!(outgoing(&multiplexer).len(), 1, "only this one is asked for");
    });
    assert_eq!(begun.unwrap_err().code(), "client.timeout");
    assert_eq!(outgoing(&multiplexer).len(), 1, "and given back");
}

#[tokio::test]
async fn more_waiting_calls_than_the_limit_are_refused_immediately() {
    let multiplexer = multiplexer(Options { queue_max: 2, in_flight_max: 1, ..Options::default() });
    multiplexer.broken("it rains");
    let mut waiting: Vec<_> =
        (1..=2).map(|id| Box::pin(multiplexer.call(id, encoded("a"), Effect::Asks))).collect();
    assert!(waiting.iter_mut().all(|call| is_pending(call.as_mut())));
    let error = multiplexer.call(3, encoded("a"), Effect::Asks).await.unwrap_err();
    assert_eq!(error.code(), "client.crowded");
    assert_eq!(error.to_string(), "too many calls are waiting in the client (limit 2)");

    multiplexer.connected();
    assert_eq!(outgoing(&multiplexer).len(), 1, "no more than may be in flight");
    assert_eq!(outgoing(&multiplexer).len(), 0, "not later either");
    drop(waiting.remove(1));
    drop(waiting.remove(0));
    assert_eq!(outgoing(&multiplexer).len(), 0, "what was dropped is not sent");
}

#[tokio::test]
async fn more_bytes_than_may_wait_are_refused_but_one_call_always_fits() {
    let multiplexer = multiplexer(Options { queue_bytes_max: 3, ..Options::default() });
    let mut large = Box::pin(multiplexer.call(1, encoded("large"), Effect::Asks));
    assert!(is_pending(large.as_mut()));
    let error = multiplexer.call(2, encoded("x"), Effect::Asks).await.unwrap_err();
    assert_eq!(error.code(), "client.crowded");
    drop(large);
    assert!(is_pending(pin!(multiplexer.call(3, encoded("xyz"), Effect::Asks))));
}

#[tokio::test]
async fn a_call_that_would_make_the_server_close_the_connection_is_not_sent() {
    let multiplexer = multiplexer(Options { request_bytes_max: 3, ..Options::default() });
    let error = multiplexer.call(1, encoded("four"), Effect::Changes).await.unwrap_err();
    assert_eq!(error.code(), "request.too_large");
    assert_eq!(error.to_string(), "the request has 4 bytes; at most 3 are allowed");
    assert_eq!(error.fact("max").unwrap().as_str(), "3");
    assert!(!error.is_unknown() && outgoing(&multiplexer).is_empty());
}

#[tokio::test]
async fn more_watches_than_may_be_are_refused() {
    let multiplexer = multiplexer(Options { watches_max: 0, ..Options::default() });
    let error = multiplexer.watch(&caller(), everything()).await.unwrap_err();
    assert_eq!(error.code(), "client.crowded");
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_keeps_ending_is_resumed_with_growing_pauses() {
    let multiplexer = multiplexer(Options::default());
    let begin = async {
        multiplexer.work().await;
        answer_watch(&multiplexer);
    };
    let caller = caller();
    let (number, ()) = tokio::join!(multiplexer.watch(&caller, everything()), begin);
    let number = number.unwrap();
    let mut waits = Vec::new();
    let mut id = 2;
    for round in 0..7 {
        if round == 6 {
            let event = r#""revision":1,"index":0,"time":"2026-01-01T00:00:00.000Z","agent":"bob",
                "type":"state.deleted","subject":"state/shared/a","last":true,
                "namespace":"shared","key":"a","version":1"#;
            multiplexer.received(&format!(r#"{{"watch":{id},"event":{{{event}}}}}"#)).unwrap();
        }
        let end = format!(
            r#"{{"watch":{id},"error":{{"code":"watch.interrupted","kind":"unavailable",
            "detail":"d","hint":"h","resume_from":1}}}}"#
        );
        multiplexer.received(&end).unwrap();
        let begun = Instant::now();
        let mut out = Vec::new();
        while let Some(moment) = multiplexer.outgoing(&mut out) {
            tokio::time::sleep_until(moment).await;
        }
        waits.push(begun.elapsed().as_millis());
        assert_eq!(out.len(), 1);
        id += 1;
        multiplexer
            .received(&format!(r#"{{"id":{id},"revision":1,"result":{{"from":1}}}}"#))
            .unwrap();
    }
    assert_eq!(waits[0], 0, "the first time at once: {waits:?}");
    assert_eq!(waits.pop(), Some(0), "an item has come in between");
    for (index, wait) in waits.iter().enumerate().skip(1) {
        let most = 50 << (index - 1);
        assert!(*wait >= most / 2 && *wait <= most + 1, "{waits:?}");
    }
    assert_eq!(multiplexer.resume_from(number).0, 1);
}

/// Answers the only watch that is sent, which has the second number of the multiplexer.
fn answer_watch(multiplexer: &Multiplexer) {
    let out = outgoing(multiplexer);
    assert_eq!(out.len(), 1);
    assert!(out[0].starts_with(r#"{"id":2,"#), "{out:?}");
    multiplexer.received(r#"{"id":2,"revision":0,"result":{"watch":2,"from":1}}"#).unwrap();
}

fn acquire(id: u64, wait_ms: u64) -> EncodedRequest {
    let name = LockName::parse("door").unwrap();
    let command = lock::Command::Acquire(Acquire { name, ttl_ms: None, wait_ms: Some(wait_ms) });
    frames::mutation(id, &caller(), None, &Mutation::Command(command.into()))
}

fn granted(id: u64) -> String {
    let hold = r#"{"name":"door","holder":"ada","token":7,"acquired_at":"2023-11-14T22:13:20.000Z",
        "expires_at":"2023-11-14T22:18:20.000Z","ttl_ms":300000}"#;
    format!(r#"{{"id":{id},"revision":7,"result":{hold}}}"#)
}

#[tokio::test(start_paused = true)]
async fn the_timeout_of_a_waiting_call_includes_its_wait() {
    for (wait_ms, seconds) in [(0, 30), (3_600_000, 3_630)] {
        let multiplexer = multiplexer(Options::default());
        let begun = Instant::now();
        let error =
            multiplexer.call(1, acquire(1, wait_ms), Effect::ChangesOnce).await.unwrap_err();
        assert_eq!((begun.elapsed().as_secs(), error.code()), (seconds, "client.timeout"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_grant_to_an_abandoned_call_is_released() {
    let multiplexer = multiplexer(Options::default());
    {
        let mut call = pin!(multiplexer.call(1, acquire(1, 1_000), Effect::ChangesOnce));
        assert!(is_pending(call.as_mut()));
        assert_eq!(outgoing(&multiplexer).len(), 1);
    }
    multiplexer.received(&granted(1)).unwrap();
    let release = outgoing(&multiplexer);
    assert_eq!(release.len(), 1, "{release:?}");
    for part in
        [r#""command":"lock.release""#, r#""name":"door""#, r#""token":7"#, r#""agent":"ada""#]
    {
        assert!(release[0].contains(part), "{release:?}");
    }
    // No call waits for it, and there is nothing to release if nothing was granted.
    multiplexer.received(r#"{"id":1,"revision":8,"result":null}"#).unwrap();
    let mut call = Box::pin(multiplexer.call(2, acquire(2, 1_000), Effect::ChangesOnce));
    assert!(is_pending(call.as_mut()));
    outgoing(&multiplexer);
    drop(call);
    multiplexer.received(r#"{"id":2,"revision":8,"result":null}"#).unwrap();
    assert!(outgoing(&multiplexer).is_empty());
}

#[tokio::test(start_paused = true)]
async fn nothing_waits_for_a_connection_after_a_denial_until_something_is_asked() {
    let multiplexer = multiplexer(Options::default());
    let denial = Problem::new("access.bad_token", Kind::Denied, &"no", "ask", &json!({}));
    let denial = Error::Refused(Box::new(denial));
    let mut waiting = pin!(multiplexer.call(1, acquire(1, 1_000), Effect::ChangesOnce));
    let mut sent = pin!(multiplexer.call(2, encoded("a"), Effect::ChangesOnce));
    let mut asked = pin!(multiplexer.call(3, encoded("b"), Effect::Asks));
    assert!(is_pending(waiting.as_mut()) && is_pending(sent.as_mut()));
    assert!(is_pending(asked.as_mut()));
    assert_eq!(outgoing(&multiplexer).len(), 3);
    multiplexer.broken("it rains");
    let caller = caller();
    let mut unsent = pin!(multiplexer.call(4, encoded("c"), Effect::Changes));
    let mut watch = pin!(multiplexer.watch(&caller, everything()));
    assert!(is_pending(unsent.as_mut()) && is_pending(watch.as_mut()));
    multiplexer.denied(&denial);
    // A command that was sent may have been executed; one that waits was cancelled.
    assert_eq!(waiting.await.unwrap_err(), denial);
    assert_eq!(sent.await.unwrap_err().code(), "client.unknown_outcome");
    assert_eq!(asked.await.unwrap_err(), denial);
    assert_eq!(unsent.await.unwrap_err(), denial);
    assert_eq!(watch.await.unwrap_err(), denial);
    assert!(is_pending(pin!(multiplexer.wanted())));
    let mut next = pin!(multiplexer.call(5, encoded("d"), Effect::Asks));
    assert!(is_pending(next.as_mut()));
    multiplexer.wanted().await;
    multiplexer.connected();
    assert_eq!(outgoing(&multiplexer), ["d"]);
}

#[tokio::test(start_paused = true)]
async fn waiting_calls_leave_capacity_for_the_calls_that_end_the_wait() {
    let multiplexer = multiplexer(Options { in_flight_max: 1, ..Options::default() });
    let mut calls: Vec<_> = (1..=3)
        .map(|id| Box::pin(multiplexer.call(id, acquire(id, 1_000), Effect::ChangesOnce)))
        .collect();
    assert!(calls.iter_mut().all(|call| is_pending(call.as_mut())));
    let mut first = pin!(multiplexer.call(4, encoded("a"), Effect::Asks));
    let mut second = pin!(multiplexer.call(5, encoded("b"), Effect::Asks));
    assert!(is_pending(first.as_mut()) && is_pending(second.as_mut()));
    assert_eq!(outgoing(&multiplexer).len(), 4, "all that wait, and one that does not");
    // After a broken connection they are sent again, and counted as before.
    multiplexer.broken("it rains");
    multiplexer.connected();
    assert_eq!(outgoing(&multiplexer).len(), 4);
    multiplexer.received(&granted(2)).unwrap();
    assert!(calls.remove(1).await.is_ok());
    assert!(outgoing(&multiplexer).is_empty(), "one that does not wait is in flight still");
    multiplexer.received(&refusal(4, "state.not_found")).unwrap();
    assert!(first.await.is_err());
    assert_eq!(outgoing(&multiplexer), ["b"]);
    // Closing does not wait for calls that may wait for an hour.
    multiplexer.received(&refusal(5, "state.not_found")).unwrap();
    multiplexer.close();
    multiplexer.finished().await;
}
