//! Events: handlers that fail separately, and queries about all events.

use std::sync::{Arc, Mutex};

use baton::Error;
use baton::core::history::At;
use baton::core::state::History;
use baton::core::{Revision, Timestamp};
use serde_json::json;

use crate::harness::{eventually, forgetful, in_memory, in_memory_with, restless, workspace};

#[tokio::test]
async fn a_handler_that_fails_or_panics_stops_no_other() {
    let (baton, _, _) = in_memory();
    let workspace = workspace(&baton);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let failed = Arc::new(Mutex::new(Vec::new()));
    let (hears, fails) = (Arc::clone(&heard), Arc::clone(&failed));
    let handling = workspace
        .events()
        .on("build.*", async |_| Err("no luck".into()))
        .on("build.done", async |_| panic!("oh no"))
        .on("b*", move |event| {
            hears.lock().unwrap().push(event.kind().to_owned());
            async { Ok(()) }
        })
        .on_failure(move |failure| fails.lock().unwrap().push(failure.reason))
        .from(1);
    let listening = tokio::spawn(handling.listen());
    for kind in ["build.begun", "other", "build.done"] {
        workspace.events().emit(kind, json!({"n": 1})).await.unwrap();
    }
    let what = "both events were heard";
    eventually(what, async || heard.lock().unwrap().len() == 2).await;
    assert_eq!(*heard.lock().unwrap(), ["build.begun", "build.done"]);
    assert_eq!(*failed.lock().unwrap(), ["no luck", "no luck", "it panicked: oh no"]);
    assert!(!listening.is_finished(), "it listens on");
    listening.abort();
    let bad = workspace.events().on("", async |_| Ok(())).listen().await.unwrap_err();
    assert_eq!(bad.code(), "request.bad_pattern");
}

/// Watched events are equal to those in the history, wherever the batches have moved to.
#[tokio::test]
async fn history_is_what_happened_in_pages_of_any_size() {
    let (baton, _, clock) = in_memory_with(restless());
    let workspace = workspace(&baton);
    let events = workspace.events();
    let mut delivered = Vec::new();
    for number in 0..60_u64 {
        clock.advance(1_000);
        let kind = if number % 3 == 0 { "fizz" } else { "other.thing" };
        let revision = events.emit(kind, json!({"number": number})).await.unwrap();
        delivered.push((revision, kind.to_owned()));
    }
    for limit in [1, 7, 1_000] {
        let (mut found, mut cursor) = (Vec::new(), None::<String>);
        loop {
            let mut asking = events.history().oldest_first().limit(limit);
            if let Some(cursor) = &cursor {
                asking = asking.after(cursor);
            }
            let page = asking.await.unwrap();
            assert!(page.events.len() as u64 <= limit);
            found.extend(page.events.iter().map(|it| (it.revision(), it.kind().to_owned())));
            match page.cursor {
                Some(next) => cursor = Some(next),
                None => break,
            }
        }
        assert_eq!(found, delivered, "{limit} at a time");
    }
    let fizz = events.history().kind("f*").limit(3).await.unwrap().events;
    let fizz: Vec<u64> = fizz.iter().map(|event| event.revision().0).collect();
    assert_eq!(fizz, [58, 55, 52]);
    let middle = events.history().subject("events/fizz").to(At::Revision(Revision(10)));
    assert_eq!(middle.await.unwrap().events.len(), 4);
    let first = events.history().oldest_first().limit(1).await.unwrap().events[0].time();
    let since = At::Time(Timestamp(first.0 + 57_000));
    let late = events.history().from(since).await.unwrap().events;
    assert_eq!(late.iter().map(|event| event.revision().0).collect::<Vec<_>>(), [60, 59, 58]);
    let until = events.history().to(At::Time(Timestamp(first.0 + 500))).await.unwrap();
    assert_eq!(until.events.len(), 1);
}

#[tokio::test]
async fn events_that_are_no_longer_kept_are_refused_as_gone() {
    let (baton, _, _) = in_memory_with(forgetful());
    let workspace = workspace(&baton);
    let configure =
        baton::core::workspace::Command::Configure { history_count: Some(5), history_age_ms: None };
    workspace.execute(configure).await.unwrap();
    for number in 0..20 {
        workspace.events().emit("tick", number).await.unwrap();
    }
    let gone = workspace.events().history().from(At::Revision(Revision(2))).await.unwrap_err();
    assert_eq!(gone.code(), "history.gone");
    let kept = workspace.events().history().await.unwrap();
    assert_eq!((kept.events.len(), kept.oldest), (5, Revision(16)));
    // A call from the revision that an error names is not refused again.
    let from = async |revision| {
        let revision = Revision(revision);
        let events = workspace.events().history().from(At::Revision(revision)).await.map(drop);
        let history = History { from: Some(revision), ..History::default() };
        let changes = workspace.state("shared").history(history).await.map(drop);
        [events, changes, workspace.watch("**").from(revision).await.map(drop)]
    };
    let named = |error: &Error, fact| error.fact(fact).unwrap().to::<Revision>().unwrap();
    for refused in from(16).await {
        let gone = refused.unwrap_err();
        assert_eq!(gone.code(), "history.gone");
        assert_eq!((named(&gone, "asked"), named(&gone, "oldest")), (Revision(16), Revision(17)));
    }
    assert!(from(17).await.iter().all(Result::is_ok));
    // The state of the revision before it is kept as well.
    assert!(workspace.at(Revision(16)).revision().await.is_ok());
    assert_eq!(named(&workspace.at(Revision(15)).revision().await.unwrap_err(), "oldest").0, 16);
}

#[tokio::test]
async fn the_kept_events_of_a_workspace_are_limited_in_bytes() {
    let extents = baton::Extents { history_bytes_max: Some(64 << 10), ..Default::default() };
    let (baton, _, _) = in_memory_with(baton::Options { extents, ..restless() });
    let workspace = workspace(&baton);
    workspace.state("shared").set("plan", 7).await.unwrap();
    for _ in 0..400 {
        workspace.events().emit("tick", "x".repeat(1 << 10)).await.unwrap();
    }
    eventually("only the newest events are kept", async || {
        let kept = workspace.events().history().limit(1).await.unwrap();
        kept.oldest > Revision(400 - 64)
    })
    .await;
    let gone = workspace.events().history().from(At::Revision(Revision(2))).await.unwrap_err();
    assert_eq!(gone.code(), "history.gone");
    // The stored value does not depend on the history.
    assert_eq!(workspace.state("shared").get("plan").await.unwrap().value(), b"7");
    workspace.events().emit("tick", 1).await.unwrap();
}
