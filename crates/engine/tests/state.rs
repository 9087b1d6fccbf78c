//! Shared state through the handle: entries, conditions, history, rules, merges, contention.

use std::collections::BTreeSet;

use baton::core::namespace::rules::KeyRules;
use baton::core::schema::Schema;
use baton::core::state::merge::{Merge, Patch};
use baton::core::state::{History, List};
use baton::core::{AgentId, Pattern, Rejection, Revision, Rules, Version, state};
use baton::{Error, State};
use serde_json::{Value, json};

use crate::harness::{
    BEGINNING, eventually, folder, in_memory, json_of, key, listed, namespace, open, shared, tick,
    value, workspace,
};

fn conflict(error: Error) -> state::Rejection {
    match error {
        Error::Rejected(Rejection::State(rejection)) => rejection,
        error => panic!("a refusal by shared state was expected, not {error:?}"),
    }
}

#[tokio::test]
async fn an_entry_has_all_its_fields() {
    let (baton, _, clock) = in_memory();
    let plan = shared(&baton);
    plan.set("plan", json!({"step": 1})).await.unwrap();
    clock.advance(7);
    let bob = workspace(&baton).as_agent("bob").unwrap();
    let written = bob.state("shared").set("plan", json!({"step": 2})).await.unwrap();
    let read = plan.get("plan").await.unwrap();
    assert_eq!(written, read);
    assert_eq!(read.value(), br#"{"step":2}"#);
    assert_eq!((read.version(), read.revision()), (Version(2), Revision(2)));
    assert_eq!(read.updated_at(), BEGINNING.after(7));
    assert_eq!(read.updated_by().as_str(), "bob");
    assert_eq!(read.checksum(), format!("crc32:{:08x}", crc32fast::hash(br#"{"step":2}"#)));
    assert!(read.expires_at().is_none() && !read.is_ephemeral() && read.warnings().is_empty());
}

#[tokio::test]
async fn a_reader_holds_nothing_that_changes_under_it() {
    let (baton, _, _) = in_memory();
    let plan = shared(&baton);
    plan.set("plan", 1).await.unwrap();
    let before = plan.get("plan").await.unwrap();
    plan.set("plan", 2).await.unwrap();
    plan.delete("plan").await.unwrap();
    assert_eq!((before.value(), before.version()), (&b"1"[..], Version(1)));
}

#[tokio::test]
async fn a_deleted_entry_continues_after_its_last_version() {
    let (baton, _, _) = in_memory();
    let plan = shared(&baton);
    plan.set("plan", 1).await.unwrap();
    plan.set("plan", 2).await.unwrap();
    let removed = plan.delete("plan").await.unwrap();
    assert_eq!((value(&removed), removed.version()), (json!(2), Version(2)));
    assert_eq!(plan.get("plan").await.unwrap_err().code(), "state.not_found");
    assert_eq!(plan.delete("plan").await.unwrap_err().code(), "state.not_found");
    let again = plan.set("plan", 3).expected_version(0).await.unwrap();
    assert_eq!((again.version(), again.revision()), (Version(3), Revision(4)));
    assert_eq!(
        plan.delete_version("plan", Version(2)).await.unwrap_err().code(),
        "state.version_conflict"
    );
    plan.delete_version("plan", Version(3)).await.unwrap();
    let late = plan.delete_revision("plan", Revision(4)).await.unwrap_err();
    assert_eq!(late.code(), "state.revision_conflict");
    let again = plan.set("plan", 4).expected_revision(0).await.unwrap();
    assert_eq!(again.version(), Version(4));
    plan.delete_revision("plan", again.revision()).await.unwrap();
}

#[tokio::test]
async fn the_loser_of_a_conflict_gets_the_winning_entry() {
    let (baton, _, _) = in_memory();
    let plan = shared(&baton);
    let winner = plan.set("plan", json!({"winner": true})).if_absent().await.unwrap();

    let lost = conflict(plan.set("plan", 0).expected_version(7).await.unwrap_err());
    let state::Rejection::VersionConflict { expected, entry, .. } = lost else {
        panic!("{lost:?}");
    };
    assert_eq!((expected, entry.as_deref()), (Version(7), Some(&winner)));

    let lost = conflict(plan.set("plan", 0).if_absent().await.unwrap_err());
    assert_eq!(lost, state::Rejection::Exists { entry: Box::new(winner.clone()), merge: None });

    let lost =
        conflict(plan.set("plan", 0).expected_value(json!({"winner": false})).await.unwrap_err());
    let state::Rejection::ValueConflict { entry, .. } = lost else { panic!("{lost:?}") };
    assert_eq!(entry.as_deref(), Some(&winner));

    let lost = conflict(plan.set("none", 0).expected_version(1).await.unwrap_err());
    let state::Rejection::VersionConflict { entry, .. } = lost else { panic!("{lost:?}") };
    assert_eq!(entry, None);
    assert_eq!(workspace(&baton).revision().await.unwrap(), Revision(1));

    plan.set("plan", 1).expected_value(json!({ "winner" : true })).await.unwrap();
    plan.set("plan", 2).expected_version(2).await.unwrap();
    assert_eq!(plan.get("plan").await.unwrap().version(), Version(3));
}

/// Thirty-two tasks on four threads, each adding one twenty-five times.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_update_is_lost_in_contention() {
    const TASKS: usize = 32;
    const UPDATES: usize = 25;
    let folder = folder();
    let baton = open(folder.path()).await;
    let mut jobs = Vec::new();
    for number in 0..TASKS {
        let agent = workspace(&baton).as_agent(&format!("agent-{number}")).unwrap();
        jobs.push(tokio::spawn(async move {
            let counter = agent.state("shared");
            let mut versions = Vec::new();
            for _ in 0..UPDATES {
                let add = |entry: Option<&baton::core::Entry>| {
                    entry.map_or(0, |entry| value(entry).as_u64().expect("a number")) + 1
                };
                let written = counter.update("counter", add).await.unwrap();
                assert_eq!(value(&written), json!(written.version().0), "each adds exactly one");
                counter.increment("patched", 1).await.unwrap();
                versions.push(written.version());
            }
            versions
        }));
    }
    let mut versions = BTreeSet::new();
    for job in jobs {
        versions.extend(job.await.unwrap());
    }
    assert_eq!(versions.len(), TASKS * UPDATES, "no version was returned twice");
    for name in ["counter", "patched"] {
        let last = shared(&baton).get(name).await.unwrap();
        assert_eq!(value(&last), json!(TASKS * UPDATES), "{name}");
    }
    let revision = workspace(&baton).revision().await.unwrap();
    assert_eq!(revision, Revision(2 * (TASKS * UPDATES) as u64), "a refused write is no revision");
    baton.close().await;
}

#[tokio::test]
async fn lists_page_through_everything_once() {
    let (baton, _, _) = in_memory();
    let plan = shared(&baton);
    let names: Vec<String> = (0..57).map(|number| format!("task:{number:03}")).collect();
    for name in &names {
        plan.set(name, 1).await.unwrap();
    }
    plan.set("zebra", 1).await.unwrap();
    for limit in [1, 7, 57, 58, 59] {
        let found = listed(&plan, "shared", None, limit).await.unwrap();
        let found: Vec<&str> = found.iter().map(baton::core::Entry::key).collect();
        let expected: Vec<&str> = names.iter().map(String::as_str).chain(["zebra"]).collect();
        assert_eq!(found, expected, "limit {limit}");
    }
    let page = plan.matching("task:*").await.unwrap();
    assert_eq!((page.entries.len(), page.cursor), (57, None));
    let prefix = List { prefix: Some("task:01".into()), ..List::all(namespace("shared")) };
    assert_eq!(plan.list(prefix).await.unwrap().entries.len(), 10);
}

#[tokio::test]
async fn history_names_author_operation_and_time() {
    let (baton, _, clock) = in_memory();
    let (ada, bob) = (shared(&baton), workspace(&baton).as_agent("bob").unwrap().state("shared"));
    ada.set("plan", 1).await.unwrap();
    clock.advance(10);
    bob.increment("plan", 4).await.unwrap();
    ada.set("other", "x").await.unwrap();
    bob.delete("plan").await.unwrap();

    let described = |changes: Vec<state::Change>| -> Vec<String> {
        let described = |change: state::Change| {
            let shown = |value: Option<baton::core::Json>| {
                value.map_or("-".to_owned(), |value| value.to_string())
            };
            format!(
                "{} +{}ms {} {} {} {} -> {}",
                change.revision,
                change.time.since(BEGINNING),
                change.agent,
                change.operation,
                change.key,
                shown(change.old_value),
                shown(change.new_value)
            )
        };
        changes.into_iter().map(described).collect()
    };
    let all = [
        "4 +10ms bob state.deleted plan 5 -> -",
        "3 +10ms ada state.set other - -> \"x\"",
        "2 +10ms bob state.patched plan 1 -> 5",
        "1 +0ms ada state.set plan - -> 1",
    ];
    let ask = |history: History| {
        let ada = ada.clone();
        async move { described(ada.history(history).await.unwrap().0) }
    };
    assert_eq!(ask(History::default()).await, all);
    let of_plan = History { key: Some(key("plan")), ..History::default() };
    assert_eq!(ask(of_plan).await, [all[0], all[2], all[3]]);
    let by_ada = History { author: Some(AgentId::parse("ada").unwrap()), ..History::default() };
    assert_eq!(ask(by_ada).await, [all[1], all[3]]);
    let pattern = Pattern::parse("oth*").unwrap();
    let matching = History { pattern: Some(pattern), ..History::default() };
    assert_eq!(ask(matching).await, [all[1]]);
    let middle = History { from: Some(Revision(2)), to: Some(Revision(3)), ..History::default() };
    assert_eq!(ask(middle).await, [all[1], all[2]]);
}

fn schema(text: &Value) -> Schema {
    Schema::compile(&json_of(text)).unwrap()
}

#[tokio::test]
async fn rules_hold_for_a_namespace_and_for_some_of_its_keys() {
    let (baton, _, _) = in_memory();
    let ada = workspace(&baton);
    let number = Rules { schema: Some(schema(&json!({"type": "number"}))), ..Rules::default() };
    let special = KeyRules { pattern: Pattern::parse("n:*").unwrap(), rules: number };
    let rules = Rules { append_only: true, flat: true, keys: vec![special], ..Rules::default() };
    ada.namespaces().create("notes").rules(rules).await.unwrap();
    let notes = ada.state("notes");

    let warned = notes.set("first", json!({"deep": {"er": 1}})).await.unwrap();
    assert_eq!(warned.warnings()[0].code, "state.nested_value");
    let code = |error: Error| error.code().to_owned();
    assert_eq!(notes.set("first", 2).await.map_err(code), Err("state.append_only".to_owned()));
    assert_eq!(notes.delete("first").await.map_err(code), Err("state.append_only".to_owned()));
    notes.set("list", json!([1])).await.unwrap();
    let grown = notes.append("list", json!([2, 3])).await.unwrap();
    assert_eq!(value(&grown), json!([1, 2, 3]));

    notes.set("n:1", 1).await.unwrap();
    notes.set("n:1", 2).await.unwrap();
    let refused = conflict(notes.set("n:1", "two").await.unwrap_err());
    assert_eq!(refused.code(), "state.schema_violation");
    assert_eq!(value(&notes.get("n:1").await.unwrap()), json!(2));
}

#[tokio::test]
async fn schemas_have_versions_that_only_grow() {
    let (baton, _, _) = in_memory();
    let ada = workspace(&baton);
    let rules = |kind: &str, version: u32| Rules {
        schema: Some(schema(&json!({"type": kind}))),
        schema_version: Some(version),
        ..Rules::default()
    };
    ada.namespaces().create("typed").rules(rules("number", 3)).await.unwrap();
    ada.state("typed").set("a", 1).await.unwrap();
    let old = ada.namespaces().configure("typed", rules("string", 3)).await.unwrap_err();
    assert_eq!(old.code(), "namespace.old_schema_version");
    ada.namespaces().configure("typed", rules("string", 4)).await.unwrap();
    assert_eq!(ada.state("typed").set("a", 1).await.unwrap_err().code(), "state.schema_violation");
    ada.state("typed").set("a", "one").await.unwrap();
}

#[tokio::test]
async fn an_entry_with_a_ttl_expires() {
    let (baton, _, clock) = in_memory();
    let ada = workspace(&baton);
    ada.namespaces()
        .create("brief")
        .rules(Rules { ttl_ms: Some(1_000), ..Rules::default() })
        .await
        .unwrap();
    let brief = ada.state("brief");
    let kept = brief.set("a", 1).await.unwrap();
    assert_eq!(kept.expires_at(), Some(BEGINNING.after(1_000)));
    brief.set("b", 1).ttl_ms(5_000).await.unwrap();
    clock.advance(999);
    tick(&baton).await;
    brief.get("a").await.unwrap();
    // Incrementing an entry with an expiry must not make it permanent.
    brief.increment("a", 1).await.unwrap();
    clock.advance(1);
    tick(&baton).await;
    eventually("`a` has expired", async || brief.get("a").await.is_err()).await;
    brief.get("b").await.unwrap();
    brief.set("b", 2).ttl_ms(50_000).await.unwrap();
    clock.advance(10_000);
    tick(&baton).await;
    assert_eq!(value(&brief.get("b").await.unwrap()), json!(2));
    let history = History { key: Some(key("a")), limit: Some(1), ..History::default() };
    let (changes, _) = brief.history(history).await.unwrap();
    assert_eq!(
        (changes[0].operation.as_str(), changes[0].agent.as_str()),
        ("state.expired", "baton")
    );
}

async fn fold_in(state: &State, writes: &[Value]) -> Result<Value, Error> {
    let mut last = Value::Null;
    for write in writes {
        last = value(&state.set("key", write).await?);
    }
    Ok(last)
}

#[tokio::test]
async fn merge_rules_combine_the_written_value_with_the_current_one() {
    let cases = [
        (Merge::LastWriteWins, vec![json!(1), json!("b")], json!("b")),
        (Merge::Reject, vec![json!({"a": 1}), json!({"a": 1})], json!({"a": 1})),
        (
            Merge::JsonMerge,
            vec![json!({"a": 1, "b": 2}), json!({"b": null, "c": 3})],
            json!({"a": 1, "c": 3}),
        ),
        (Merge::Append, vec![json!(1), json!([2, 3]), json!([[4]])], json!([1, 2, 3, [4]])),
        (Merge::Union, vec![json!([1, 2]), json!([2, 3]), json!(1)], json!([1, 2, 3])),
        (Merge::Counter, vec![json!(5), json!(-2), json!(4)], json!(7)),
        (Merge::Max, vec![json!(5), json!(9), json!(7)], json!(9)),
    ];
    let (baton, _, _) = in_memory();
    let ada = workspace(&baton);
    for (number, (merge, writes, expected)) in cases.into_iter().enumerate() {
        let name = format!("merge-{number}");
        let rules = Rules { merge: Some(merge), ..Rules::default() };
        ada.namespaces().create(&name).rules(rules).await.unwrap();
        let found = fold_in(&ada.state(&name), &writes).await;
        assert_eq!(found.unwrap(), expected, "{merge:?}");
    }
    let rejected = ada.state("merge-1").set("key", json!({"a": 2})).await.unwrap_err();
    assert_eq!(rejected.code(), "state.exists");
}

#[tokio::test]
async fn patches_change_a_part_and_keep_the_rest() {
    let (baton, _, _) = in_memory();
    let plan = shared(&baton);
    plan.set("doc", json!({"steps": ["a"], "done": 0})).await.unwrap();
    let operations = json!([
        {"op": "test", "path": "/done", "value": 0},
        {"op": "add", "path": "/steps/-", "value": "b"},
        {"op": "replace", "path": "/done", "value": 1},
    ]);
    let patched = plan.patch("doc", Patch::JsonPatch(json_of(&operations))).await.unwrap();
    assert_eq!(value(&patched), json!({"steps": ["a", "b"], "done": 1}));
    let refused = plan.patch("doc", Patch::JsonPatch(json_of(&operations))).await.unwrap_err();
    assert_eq!(refused.code(), "state.patch_failed");
    assert_eq!(plan.get("doc").await.unwrap(), patched, "a patch is all or nothing");
    plan.patch("doc", Patch::Merge(json_of(&json!({"done": null}))))
        .expected_version(2)
        .await
        .unwrap();
    assert_eq!(value(&plan.get("doc").await.unwrap()), json!({"steps": ["a", "b"]}));
}
