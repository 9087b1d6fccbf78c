//! Conflicts of two documents, and refused documents.

use super::*;
use crate::json::Json;
use crate::names::{AgentId, CopyId, Key, NamespaceName, WorkspaceName};
use crate::namespace::rules::Rules;
use crate::numbers::Revision;
use crate::space::Space;
use crate::state::merge::Merge;
use crate::time::Timestamp;
use crate::workspace::Rejection;

fn copy(name: &str) -> CopyId {
    CopyId::parse(name).unwrap()
}

fn json(text: &str) -> Option<Json> {
    (text != "-").then(|| Json::parse(text).unwrap())
}

/// A document with one entry: its value, the value before, and the time.
fn document(name: &str, rules: &Rules, was: &str, (value, time): (&str, u64)) -> CopyChanges {
    let dots = vec![Dot { copy: copy(name), revision: Revision(5) }];
    let entry = EntryChange {
        namespace: NamespaceName::shared(),
        key: Key::parse("k").unwrap(),
        value: json(value),
        was: json(was),
        expires_at: None,
        written: Written { time: Timestamp(time), by: AgentId::parse("ada").unwrap(), dots },
    };
    CopyChanges {
        workspace: WorkspaceName::parse("w").unwrap(),
        copy: copy(name),
        revision: Revision(6),
        time: Timestamp(time),
        since: Revision(3),
        seen: Vec::new(),
        seen_before: Vec::new(),
        namespaces: vec![NamespaceChange {
            name: NamespaceName::shared(),
            rules: Some(rules.clone()),
            written: None,
        }],
        entries: vec![entry],
        others: Vec::new(),
        more: false,
    }
}

/// The value that one copy has afterwards, and how it was decided.
fn outcome(ours: &CopyChanges, theirs: &CopyChanges) -> (String, String) {
    let plan = plan(ours, theirs, &[]);
    if !plan.conflicts.is_empty() {
        return ("?".to_owned(), "conflict".to_owned());
    }
    let shown = |value: &Option<Json>| {
        value.as_ref().map_or("-".to_owned(), |value| value.as_str().to_owned())
    };
    let kept = shown(&ours.entries[0].value);
    let value = plan.entries.first().map_or(kept, |step| shown(&step.value));
    let how = plan.outcomes.first().map_or("same".to_owned(), |it| format!("{:?}", it.by));
    (value, how)
}

#[test]
fn both_copies_decide_a_conflict_in_the_same_way() {
    use Merge::{Append, Counter, JsonMerge, LastWriteWins, Max, Reject, Union};
    for (rule, was, one, other, expected, how) in [
        (LastWriteWins, "0", ("1", 10), ("2", 11), "2", "LastWrite"),
        (LastWriteWins, "0", ("1", 10), ("2", 9), "1", "LastWrite"),
        // At the same time, the larger copy id wins.
        (LastWriteWins, "0", ("1", 10), ("2", 10), "2", "LastWrite"),
        (LastWriteWins, "0", ("-", 10), ("2", 9), "-", "LastWrite"),
        (LastWriteWins, "0", ("1", 10), ("1.0", 9), "1", "same"),
        (LastWriteWins, "0", ("-", 10), ("-", 9), "-", "same"),
        (Reject, "0", ("1", 10), ("2", 11), "?", "conflict"),
        (Max, "0", ("7", 10), ("2", 11), "7", "Rule"),
        (Counter, "10", ("12", 10), ("13", 11), "15", "Rule"),
        (Counter, "10", ("9", 12), ("13", 11), "12", "Rule"),
        (Counter, "-", ("1", 10), ("2", 11), "3", "Rule"),
        (Counter, "0", ("18446744073709551615", 10), ("2", 11), "2", "LastWrite"),
        (Counter, "0", ("\"x\"", 10), ("2", 11), "2", "LastWrite"),
        (Counter, "0", ("-", 12), ("2", 11), "-", "LastWrite"),
        (Union, "[1]", ("[1,2]", 12), ("[1,3]", 11), "[1,3,2]", "Rule"),
        (Append, "[1]", ("[1,2]", 10), ("[1,3]", 11), "[1,2,3]", "Rule"),
        (Append, "[1]", ("[5,2]", 10), ("[1,3]", 11), "[1,3]", "LastWrite"),
        (
            JsonMerge,
            r#"{"a":1,"b":{"c":1,"d":1}}"#,
            (r#"{"a":2,"b":{"c":2,"d":1}}"#, 10),
            (r#"{"a":3,"b":{"c":1},"e":4}"#, 11),
            r#"{"a":3,"b":{"c":2},"e":4}"#,
            "Rule",
        ),
    ] {
        let rules = Rules { merge: Some(rule), ..Rules::default() };
        let (one, other) = (document("a", &rules, was, one), document("b", &rules, was, other));
        let (value, by) = outcome(&one, &other);
        assert_eq!((value.as_str(), by.as_str()), (expected, how), "{rule:?} {was}");
        let mirrored = outcome(&other, &one);
        if value != "?" {
            let (one, other) = (json(&value), json(&mirrored.0));
            let is_same = one.zip(other).is_none_or(|(one, other)| one.same_value(&other));
            assert!(is_same, "{rule:?}: {value} and {}", mirrored.0);
        }
        assert_eq!(by, mirrored.1);
    }
}

#[test]
fn an_append_only_entry_is_not_overwritten() {
    let rules = Rules { append_only: true, ..Rules::default() };
    let (one, other) =
        (document("a", &rules, "0", ("1", 10)), document("b", &rules, "0", ("2", 9)));
    assert_eq!(outcome(&one, &other).1, "conflict");
}

#[test]
fn a_write_that_was_seen_is_no_conflict() {
    let rules = Rules::default();
    let (one, mut other) =
        (document("a", &rules, "0", ("1", 90)), document("b", &rules, "0", ("2", 10)));
    other.seen.push(Seen { copy: copy("a"), revision: Revision(5), time: Timestamp(90) });
    assert_eq!(outcome(&one, &other), ("2".to_owned(), "Newer".to_owned()));
    assert_eq!(plan(&other, &one, &[]), SyncPlan::default());
}

#[test]
fn documents_that_do_not_fit_are_refused() {
    let rules = Rules::default();
    let space = Space::default();
    let theirs = document("b", &rules, "-", ("2", 10));
    let mut ours = document("a", &rules, "-", ("1", 10));
    ours.entries.clear();
    let code = |ours: &CopyChanges, theirs: &CopyChanges| {
        let (ours, theirs) = (ours.clone(), theirs.clone());
        let sync = Sync { theirs, ours, decisions: Vec::new(), dry_run: false };
        decide(&space, &sync).map(|(events, _)| events.len()).map_err(|it| match it {
            Rejection::SameCopy { .. } => "same copy",
            Rejection::SyncStale { .. } => "stale",
            Rejection::BadField(_) => "bad field",
            Rejection::OutOfRange(_) => "out of range",
            other => panic!("{other:?}"),
        })
    };
    assert_eq!(code(&ours, &theirs), Ok(2));
    assert_eq!(code(&ours, &ours), Err("same copy"));
    let mut seen = ours.clone();
    seen.seen.push(Seen { copy: copy("b"), revision: Revision(2), time: Timestamp(1) });
    assert_eq!(code(&seen, &theirs), Err("bad field"));
    seen.seen[0].revision = Revision(3);
    assert_eq!(code(&seen, &theirs), Err("stale"));
    let mut other_rules = ours.clone();
    other_rules.namespaces.clear();
    assert_eq!(code(&other_rules, &theirs), Err("stale"));
    let mut undotted = theirs.clone();
    undotted.entries[0].written.dots.clear();
    assert_eq!(code(&ours, &undotted), Err("bad field"));
    let mut without_shared = theirs.clone();
    without_shared.namespaces[0].rules = None;
    assert_eq!(code(&ours, &without_shared), Err("bad field"));
    let mut twice = theirs.clone();
    twice.entries = vec![theirs.entries[0].clone(); 2];
    assert_eq!(code(&ours, &twice), Err("bad field"));
    let mut twice = theirs.clone();
    twice.namespaces.push(theirs.namespaces[0].clone());
    assert_eq!(code(&ours, &twice), Err("bad field"));
    let mut many = theirs;
    many.entries = vec![many.entries[0].clone(); crate::limits::SYNC_ENTRIES_MAX + 1];
    assert_eq!(code(&ours, &many), Err("out of range"));
}
