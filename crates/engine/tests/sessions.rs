//! Sessions: scoped names, and variables that move with a hand-off and return changed.

use std::collections::BTreeMap;

use baton::core::handoff::Complete;
use baton::core::{Json, Revision};
use serde_json::json;

use crate::harness::{in_memory, workspace};

fn value(value: &serde_json::Value) -> Json {
    Json::of(value).unwrap()
}

fn map<const N: usize>(names: [(&str, serde_json::Value); N]) -> BTreeMap<String, Json> {
    names.into_iter().map(|(name, json)| (name.to_owned(), value(&json))).collect()
}

#[tokio::test]
async fn a_name_is_seen_as_far_as_its_scope_reaches() {
    let (baton, _, _) = in_memory();
    let workspace = workspace(&baton);
    let mut first = workspace.session("shop", "ann", "1").unwrap();
    let changes = map([
        ("app:theme", json!("dark")),
        ("user:name", json!("Ann")),
        ("cart", json!(["tea"])),
        ("temp:draft", json!("…")),
    ]);
    first.apply(changes.clone()).await.unwrap();
    assert_eq!(first.state().await.unwrap(), changes);
    let page = workspace.state("shared").matching("**").await.unwrap();
    assert_eq!(page.revision, Revision(1), "all of it was one commit");
    assert!(page.entries.iter().all(|entry| !entry.key().contains("draft")), "{page:?}");

    let second = workspace.session("shop", "ann", "2").unwrap();
    let seen = map([("app:theme", json!("dark")), ("user:name", json!("Ann"))]);
    assert_eq!(second.state().await.unwrap(), seen);
    let other = workspace.session("shop", "bob", "1").unwrap();
    assert_eq!(other.state().await.unwrap(), map([("app:theme", json!("dark"))]));
    let elsewhere = workspace.session("bank", "ann", "1").unwrap();
    assert_eq!(elsewhere.state().await.unwrap(), BTreeMap::new());
    assert_eq!(other.get("temp:draft").await.unwrap(), None);
    assert_eq!(first.get("temp:draft").await.unwrap(), Some(value(&json!("…"))));
}

#[tokio::test]
async fn changes_by_the_receiver_are_written_back() {
    let (baton, _, _) = in_memory();
    let workspace = workspace(&baton);
    let mut session = workspace.session("shop", "ann", "1").unwrap();
    session.apply(map([("stage", json!("plan")), ("user:name", json!("Ann"))])).await.unwrap();
    let offer = workspace.handoffs().offer("bob").variables(session.state().await.unwrap());
    let offer = offer.await.unwrap();
    let bob = workspace.as_agent("bob").unwrap();
    let accepted = bob.handoffs().accept(offer.id.as_str()).await.unwrap();
    assert_eq!(accepted.handoff.state, session.state().await.unwrap());
    let changes = map([("stage", json!("done")), ("answer", json!(42)), ("temp:x", json!(1))]);
    let complete = Complete { handoff: offer.id, result: None, changes };
    let done = bob.handoffs().complete_as(complete).await.unwrap();
    session.apply(done.changes).await.unwrap();
    assert_eq!(session.get("stage").await.unwrap(), Some(value(&json!("done"))));
    assert_eq!(session.get("answer").await.unwrap(), Some(value(&json!(42))));
    assert_eq!(session.get("user:name").await.unwrap(), Some(value(&json!("Ann"))));
}

#[tokio::test]
async fn more_names_than_a_page_are_all_there() {
    let (baton, _, _) = in_memory();
    let workspace = workspace(&baton);
    let mut session = workspace.session("shop", "ann", "1").unwrap();
    let many: BTreeMap<String, Json> =
        (0..250).map(|number| (format!("n{number}"), value(&json!(number)))).collect();
    let mut halves = many.clone().into_iter();
    session.apply(halves.by_ref().take(125).collect()).await.unwrap();
    session.apply(halves.collect()).await.unwrap();
    assert_eq!(session.state().await.unwrap(), many);
}

#[tokio::test]
async fn a_name_cannot_leave_its_scope() {
    let (baton, _, _) = in_memory();
    let workspace = workspace(&baton);
    for (app, user, session) in [("", "ann", "1"), ("shop", "a/b", "1"), ("shop", "ann", "/")] {
        let refused = workspace.session(app, user, session).unwrap_err();
        assert_eq!(refused.code(), "request.bad_name");
    }
    let mut session = workspace.session("shop", "ann", "1").unwrap();
    let refused = session.apply(map([("good", json!(1)), ("bad\n", json!(2))])).await.unwrap_err();
    assert_eq!(refused.code(), "request.bad_name");
    assert_eq!(session.state().await.unwrap(), BTreeMap::new(), "all or none");
}
