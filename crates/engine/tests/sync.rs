//! Copies of a workspace that have changed independently: they get the same values, once, and
//! nothing is lost without being reported.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Cursor;
use std::sync::{Arc, Mutex};

use baton::core::namespace::rules::Rules;
use baton::core::state::List;
use baton::core::state::merge::Merge;
use baton::core::sync::{Choice, Decision, How, SyncReport, Won};
use baton::core::{Json, Revision};
use baton::{Baton, Error, SyncOptions, Workspace};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::harness::{calm, in_memory, in_memory_with, key, namespace, restless, workspace};
use crate::time_travel::named;

/// Values, expiries and rules.
async fn content(workspace: &Workspace) -> BTreeMap<String, Value> {
    let mut content = BTreeMap::new();
    for namespace in workspace.namespaces().list().await.unwrap() {
        let name = namespace.name.as_str();
        let rules = serde_json::to_value(&namespace.rules).unwrap();
        content.insert(format!("rules {name}"), rules);
        let list = List { limit: Some(5_000), ..List::all(namespace.name.clone()) };
        for entry in workspace.state(name).list(list).await.unwrap().entries {
            let value: Value = serde_json::from_slice(entry.value()).unwrap();
            let expires_at = entry.expires_at().map(|moment| moment.0);
            content.insert(format!("{name}/{}", entry.key()), json!([value, expires_at]));
        }
    }
    content
}

async fn sync(to: &Workspace, from: &Workspace) -> SyncReport {
    to.sync_from(from, &SyncOptions::default()).await.unwrap()
}

fn summary(report: &SyncReport) -> Vec<String> {
    let line = |it: &baton::core::sync::SyncOutcome| {
        let key = it.key.as_ref().map_or("", |key| key.as_str());
        let won = serde_json::to_value(it.won).unwrap();
        let by = serde_json::to_value(it.by).unwrap();
        let lost = it.lost.as_ref().map_or("", |lost| lost.as_str());
        format!("{}/{key} {} {} {lost}", it.namespace, won.as_str().unwrap(), by.as_str().unwrap())
    };
    report.outcomes.iter().map(|outcome| line(outcome).trim_end().to_owned()).collect()
}

fn ruled(merge: Merge) -> Rules {
    Rules { merge: Some(merge), ..Rules::default() }
}

/// The workspace, and a copy of it in another engine.
async fn apart() -> (Workspace, Workspace, Vec<Baton>) {
    let (here, _, clock) = in_memory();
    let (there, _, later) = in_memory();
    let ada = workspace(&here);
    for (name, rules) in [
        ("counts", ruled(Merge::Counter)),
        ("votes", ruled(Merge::Union)),
        ("log", ruled(Merge::Append)),
        ("facts", ruled(Merge::JsonMerge)),
        ("fixed", ruled(Merge::Reject)),
    ] {
        ada.namespaces().create(name).rules(rules).await.unwrap();
    }
    ada.state("shared").set("plan", json!("draft")).await.unwrap();
    ada.state("shared").set("gone", json!(1)).await.unwrap();
    ada.state("counts").set("builds", json!(10)).await.unwrap();
    ada.state("votes").set("yes", json!(["ada"])).await.unwrap();
    ada.state("log").set("lines", json!(["start"])).await.unwrap();
    ada.state("facts").set("house", json!({"doors": 1, "roof": {"tiles": 9}})).await.unwrap();
    let file = Kept::default();
    ada.export(file.clone()).await.unwrap();
    clock.advance(5);
    later.advance(10);
    let bob = named(&there, "elsewhere");
    let bytes = file.0.lock().unwrap().clone();
    bob.import(Cursor::new(bytes)).await.unwrap();
    (ada, bob, vec![here, there])
}

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn two_separated_sites_get_the_same_values() {
    let (ada, bob, _engines) = apart().await;
    ada.state("shared").set("mine", json!(1)).await.unwrap();
    ada.state("shared").set("plan", json!("ship")).await.unwrap();
    ada.state("counts").set("builds", json!(2)).await.unwrap();
    ada.state("votes").set("yes", json!(["cho"])).await.unwrap();
    ada.state("log").set("lines", json!(["here"])).await.unwrap();
    ada.state("facts").set("house", json!({"doors": 2})).await.unwrap();
    ada.tasks().create("build").await.unwrap();
    bob.state("shared").set("theirs", json!({"a": [1]})).ttl_ms(60_000).await.unwrap();
    bob.state("shared").delete("gone").await.unwrap();
    bob.state("shared").set("plan", json!("wait")).await.unwrap();
    bob.state("counts").set("builds", json!(3)).await.unwrap();
    bob.state("votes").set("yes", json!(["bob"])).await.unwrap();
    bob.state("log").set("lines", json!(["there"])).await.unwrap();
    bob.state("facts").set("house", json!({"roof": {"tiles": 8}})).await.unwrap();
    bob.namespaces().create("new").rules(ruled(Merge::Max)).await.unwrap();
    bob.state("new").set("peak", json!(5)).await.unwrap();
    let dry = SyncOptions { dry_run: true, ..SyncOptions::default() };
    let before = (ada.revision().await.unwrap(), content(&ada).await);
    let planned = ada.sync_from(&bob, &dry).await.unwrap();
    assert_eq!((ada.revision().await.unwrap(), content(&ada).await), before);
    let report = sync(&ada, &bob).await;
    assert_eq!(planned.outcomes, report.outcomes);
    assert_eq!(
        summary(&report),
        [
            "counts/builds merged rule",
            "facts/house merged rule",
            "log/lines merged rule",
            "new/ theirs newer",
            "new/peak theirs newer",
            "shared/gone theirs newer",
            "shared/plan theirs last_write \"ship\"",
            "shared/theirs theirs newer",
            "votes/yes merged rule",
        ]
    );
    let back = sync(&bob, &ada).await;
    assert!(back.outcomes.iter().all(|it| it.by == How::Newer), "{:?}", summary(&back));
    assert_eq!(
        back.others.iter().map(|it| (it.kind.as_str(), it.count)).collect::<Vec<_>>(),
        [("tasks", 1)]
    );
    assert_eq!(content(&ada).await, content(&bob).await);
    let read = async |namespace: &str, key: &str| {
        let entry = ada.state(namespace).get(key).await.unwrap();
        serde_json::from_slice::<Value>(entry.value()).unwrap()
    };
    assert_eq!(read("counts", "builds").await, json!(15));
    assert_eq!(read("log", "lines").await, json!(["start", "here", "there"]));
    assert_eq!(read("facts", "house").await, json!({"doors": 2, "roof": {"tiles": 8}}));
    let revisions = (ada.revision().await.unwrap(), bob.revision().await.unwrap());
    for (to, from) in [(&ada, &bob), (&bob, &ada), (&ada, &bob)] {
        let again = sync(to, from).await;
        assert!(!again.changed && again.outcomes.is_empty(), "{again:?}");
    }
    assert_eq!((ada.revision().await.unwrap(), bob.revision().await.unwrap()), revisions);
    // One commit, in the history like any other.
    let origin = bob.why("state/shared/mine").await.unwrap();
    let text = serde_json::to_string(&origin).unwrap();
    assert!(text.contains("of `shared/mine` from another copy"), "{text}");
}

#[tokio::test]
async fn a_conflict_for_a_person_is_listed_and_then_decided() {
    let (ada, bob, _engines) = apart().await;
    ada.state("fixed").set("name", json!("ada")).await.unwrap();
    ada.state("shared").set("mine", json!(1)).await.unwrap();
    bob.state("fixed").set("name", json!("bob")).await.unwrap();
    bob.state("shared").set("theirs", json!(2)).await.unwrap();
    let before = (ada.revision().await.unwrap(), content(&ada).await);
    let error = ada.sync_from(&bob, &SyncOptions::default()).await.unwrap_err();
    assert_eq!(error.code(), "workspace.sync_conflict");
    assert_eq!((ada.revision().await.unwrap(), content(&ada).await), before);
    let dry = SyncOptions { dry_run: true, ..SyncOptions::default() };
    let planned = ada.sync_from(&bob, &dry).await.unwrap();
    assert_eq!(planned.conflicts.len(), 1);
    let decision = Decision { namespace: namespace("fixed"), key: key("name"), take: Choice::Ours };
    let decided = SyncOptions { decisions: vec![decision], dry_run: false };
    let report = ada.sync_from(&bob, &decided).await.unwrap();
    assert_eq!(report.outcomes[0].won, Won::Ours);
    assert_eq!(report.outcomes[0].lost.as_ref().unwrap().as_str(), "\"bob\"");
    sync(&bob, &ada).await;
    assert_eq!(content(&ada).await, content(&bob).await);
    assert_eq!(content(&bob).await["fixed/name"], json!(["ada", null]));
}

#[tokio::test]
async fn opposite_decisions_are_a_conflict_again() {
    let (ada, bob, _engines) = apart().await;
    ada.state("fixed").set("name", json!("ada")).await.unwrap();
    bob.state("fixed").set("name", json!("bob")).await.unwrap();
    let ours = |take| {
        let decision = Decision { namespace: namespace("fixed"), key: key("name"), take };
        SyncOptions { decisions: vec![decision], dry_run: false }
    };
    ada.sync_from(&bob, &ours(Choice::Ours)).await.unwrap();
    // Not known here yet: this is decided against what it was before.
    bob.state("fixed").delete("name").await.unwrap();
    let error = bob.sync_from(&ada, &SyncOptions::default()).await.unwrap_err();
    assert_eq!(error.code(), "workspace.sync_conflict");
    bob.sync_from(&ada, &ours(Choice::Theirs)).await.unwrap();
    sync(&ada, &bob).await;
    assert_eq!(content(&ada).await, content(&bob).await);
}

#[tokio::test]
async fn a_namespace_deleted_in_another_copy_stays_if_it_has_newer_entries() {
    let (ada, bob, _engines) = apart().await;
    ada.state("votes").set("no", json!(["ada"])).await.unwrap();
    bob.namespaces().delete("votes").await.unwrap();
    bob.namespaces().delete("log").await.unwrap();
    let report = sync(&ada, &bob).await;
    let lines = summary(&report);
    assert!(lines.contains(&"votes/ ours in_use".to_owned()), "{lines:?}");
    assert!(lines.contains(&"log/ theirs newer".to_owned()), "{lines:?}");
    sync(&bob, &ada).await;
    let content = (content(&ada).await, content(&bob).await);
    assert_eq!(content.0, content.1);
    assert!(content.0.contains_key("votes/no") && !content.0.contains_key("votes/yes"));
    assert!(!content.0.contains_key("rules log"));
}

#[tokio::test]
async fn only_copies_with_a_common_revision_are_synchronized() {
    let (ada, bob, engines) = apart().await;
    let code = async |to: &Workspace, from: &Workspace| {
        to.sync_from(from, &SyncOptions::default()).await.map(drop).map_err(|it| {
            assert!(matches!(it, Error::Rejected(_) | Error::Refused(_)));
            it.code().to_owned()
        })
    };
    assert_eq!(code(&ada, &ada).await, Err("workspace.same_copy".to_owned()));
    let stranger = named(&engines[1], ada.name().as_str());
    stranger.state("shared").set("plan", json!(0)).await.unwrap();
    assert_eq!(code(&ada, &stranger).await, Err("workspace.same_copy".to_owned()));
    let other = named(&engines[0], "other");
    other.state("shared").set("plan", json!(0)).await.unwrap();
    assert_eq!(code(&ada, &other).await, Err("workspace.no_common_revision".to_owned()));
    // A copy of another workspace of the same name.
    stranger.fork("impostor").await.unwrap();
    let impostor = named(&engines[1], "impostor");
    assert_eq!(code(&ada, &impostor).await, Err("workspace.no_common_revision".to_owned()));
    // A copy of the copy is related to both.
    bob.state("shared").set("theirs", json!(2)).await.unwrap();
    bob.fork("third").await.unwrap();
    let third = named(&engines[1], "third");
    third.state("shared").set("more", json!(3)).await.unwrap();
    assert_eq!(code(&ada, &third).await, Err("workspace.no_common_revision".to_owned()));
    sync(&ada, &bob).await;
    sync(&ada, &third).await;
    sync(&bob, &ada).await;
    assert_eq!(content(&ada).await, content(&third).await);
    assert_eq!(content(&ada).await, content(&bob).await);
}

#[tokio::test]
async fn documents_are_divided_and_survive_archiving() {
    let (baton, _, clock) = in_memory_with(restless());
    let ada = workspace(&baton);
    ada.state("shared").set("start", json!(0)).await.unwrap();
    ada.fork("copy").await.unwrap();
    let bob = named(&baton, "copy");
    for number in 0..1_300 {
        clock.advance(1);
        ada.state("shared").set(&format!("key-{}", number % 1_100), json!(number)).await.unwrap();
        bob.state("shared").set(&format!("other-{}", number % 7), json!(number)).await.unwrap();
    }
    let report = sync(&bob, &ada).await;
    // A key that changed again later may be in two documents.
    let keys: BTreeSet<_> = report.outcomes.iter().filter_map(|it| it.key.clone()).collect();
    assert_eq!(keys.len(), 1_100);
    assert!(!report.more);
    sync(&ada, &bob).await;
    assert_eq!(content(&ada).await, content(&bob).await);
    assert!(!sync(&bob, &ada).await.changed);
}

/// A step of a history.
#[derive(Clone, Debug)]
enum Step {
    Set { copy: usize, namespace: usize, key: u8, value: u8 },
    Delete { copy: usize, namespace: usize, key: u8 },
    DeleteNamespace { copy: usize },
    Tick(u8),
    Sync { to: usize, from: usize },
}

const NAMESPACES: [&str; 7] = ["shared", "counts", "votes", "log", "facts", "peaks", "passing"];

fn steps(copies: usize) -> impl Strategy<Value = Vec<Step>> {
    let set = (0..copies, 0..NAMESPACES.len(), 0_u8..3, any::<u8>());
    let set =
        set.prop_map(|(copy, namespace, key, value)| Step::Set { copy, namespace, key, value });
    let delete = (0..copies, 0..NAMESPACES.len(), 0_u8..3);
    let delete = delete.prop_map(|(copy, namespace, key)| Step::Delete { copy, namespace, key });
    let sync = (0..copies, 0..copies).prop_map(|(to, from)| Step::Sync { to, from });
    let step = prop_oneof![
        8 => set,
        2 => delete,
        1 => (0..copies).prop_map(|copy| Step::DeleteNamespace { copy }),
        2 => any::<u8>().prop_map(Step::Tick),
        3 => sync,
    ];
    proptest::collection::vec(step, 1..40)
}

/// Copies, and what a model knows of them.
struct Fleet {
    copies: Vec<Workspace>,
    _baton: Baton,
    clock: baton::clock::ManualClock,
    /// Keys that were written in a copy and not taken in by the other one, if there are two.
    unseen: Vec<BTreeSet<String>>,
    /// The sum that was added to each counter; none once it was deleted.
    counted: BTreeMap<String, Option<u64>>,
}

impl Fleet {
    async fn start(count: usize) -> Self {
        let (baton, _, clock) = in_memory_with(calm());
        let first = workspace(&baton);
        let rules = [
            ("counts", ruled(Merge::Counter)),
            ("votes", ruled(Merge::Union)),
            ("log", ruled(Merge::Append)),
            ("facts", ruled(Merge::JsonMerge)),
            ("peaks", ruled(Merge::Max)),
            ("passing", Rules::default()),
        ];
        for (name, rules) in rules {
            first.namespaces().create(name).rules(rules).await.unwrap();
        }
        let mut copies = vec![first.clone()];
        for number in 1..count {
            clock.advance(1);
            first.fork(&format!("copy-{number}")).await.unwrap();
            copies.push(named(&baton, &format!("copy-{number}")));
        }
        let unseen = vec![BTreeSet::new(); count];
        Self { copies, _baton: baton, clock, unseen, counted: BTreeMap::new() }
    }

    async fn execute(&mut self, step: &Step) {
        match step {
            Step::Set { copy, namespace, key, value } => {
                let (name, key) = (NAMESPACES[*namespace], format!("k{key}"));
                let written = match name {
                    "votes" | "log" => json!([value]),
                    "facts" => json!({ format!("m{}", value % 4): value }),
                    _ => json!(value),
                };
                let state = self.copies[*copy].state(name);
                if state.set(&key, written).await.is_err() {
                    // The namespace was deleted.
                    let namespaces = self.copies[*copy].namespaces();
                    namespaces.create(name).await.unwrap();
                    return;
                }
                let place = format!("{name}/{key}");
                if name == "counts" {
                    let counted = self.counted.entry(place.clone()).or_insert(Some(0));
                    *counted = counted.map(|counted| counted + u64::from(*value));
                }
                self.unseen[*copy].insert(place);
            }
            Step::Delete { copy, namespace, key } => {
                let (name, key) = (NAMESPACES[*namespace], format!("k{key}"));
                if self.copies[*copy].state(name).delete(&key).await.is_ok() {
                    self.counted.insert(format!("{name}/{key}"), None);
                    self.unseen[*copy].insert(format!("{name}/{key}"));
                }
            }
            Step::DeleteNamespace { copy } => {
                let keys = content(&self.copies[*copy]).await;
                if self.copies[*copy].namespaces().delete("passing").await.is_ok() {
                    let gone = keys.into_keys().filter(|key| key.starts_with("passing/"));
                    self.unseen[*copy].extend(gone);
                }
            }
            Step::Tick(milliseconds) => self.clock.advance(u64::from(*milliseconds)),
            Step::Sync { to, from } if to != from => drop(self.sync(*to, *from).await),
            Step::Sync { .. } => {}
        }
    }

    async fn sync(&mut self, to: usize, from: usize) -> SyncReport {
        let before = content(&self.copies[to]).await;
        let report = sync(&self.copies[to], &self.copies[from]).await;
        for outcome in &report.outcomes {
            let Some(key) = &outcome.key else { continue };
            let place = format!("{}/{key}", outcome.namespace);
            if self.copies.len() == 2 && outcome.by == How::Newer {
                assert!(!self.unseen[to].contains(&place), "{place} was lost silently");
            }
            if outcome.won == Won::Theirs && matches!(outcome.by, How::LastWrite | How::Rule) {
                let lost = outcome.lost.as_ref().map(Json::to_value);
                let was = before.get(&place).map(|was| was[0].clone());
                assert_eq!(lost, was, "the report has what {place} was");
            }
            if outcome.won == Won::Theirs {
                self.unseen[to].remove(&place);
            }
        }
        self.unseen[from].clear();
        report
    }

    async fn check(&mut self, is_count_exact: bool) {
        let count = self.copies.len();
        let pairs: Vec<_> = (1..count).chain(1..count).flat_map(|it| [(0, it), (it, 0)]).collect();
        for (to, from) in pairs.iter().copied() {
            self.sync(to, from).await;
        }
        let first = content(&self.copies[0]).await;
        for copy in &self.copies[1..] {
            assert_eq!(content(copy).await, first);
        }
        if is_count_exact {
            for (place, counted) in &self.counted {
                if let Some(counted) = counted {
                    assert_eq!(first[place][0], json!(counted), "{place}");
                }
            }
        }
        let mut revisions: Vec<Revision> = Vec::new();
        for copy in &self.copies {
            revisions.push(copy.revision().await.unwrap());
        }
        for (to, from) in pairs {
            assert!(!self.sync(to, from).await.changed);
        }
        for (copy, revision) in self.copies.iter().zip(revisions) {
            assert_eq!(copy.revision().await.unwrap(), revision);
        }
    }
}

fn converge(copies: usize, steps: &[Step]) {
    converge_with(copies, steps, copies == 2);
}

fn converge_with(copies: usize, steps: &[Step], is_count_exact: bool) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let mut fleet = Fleet::start(copies).await;
        for step in steps {
            fleet.execute(step).await;
        }
        fleet.check(is_count_exact).await;
    });
}

const COUNTS: usize = 1;
const LOG: usize = 3;
const FACTS: usize = 4;
const PASSING: usize = 6;

/// Two copies include the same writes, and one of them has combined them without knowing what they
/// have in common. They keep the same value.
#[test]
fn writes_that_were_combined_in_different_orders_have_one_value() {
    converge(
        3,
        &[
            Step::Set { copy: 2, namespace: LOG, key: 0, value: 0 },
            Step::Sync { to: 1, from: 2 },
            Step::Set { copy: 1, namespace: LOG, key: 0, value: 0 },
            Step::Set { copy: 2, namespace: LOG, key: 0, value: 1 },
            Step::Sync { to: 0, from: 2 },
            Step::Sync { to: 2, from: 1 },
        ],
    );
}

/// The write that wins includes the one that loses. Otherwise the third copy would combine the
/// deleted value with the winner, and the copy that deleted it would not learn of that.
#[test]
fn a_deleted_value_does_not_return_by_way_of_a_third_copy() {
    converge(
        3,
        &[
            Step::Set { copy: 0, namespace: FACTS, key: 0, value: 18 },
            Step::Set { copy: 1, namespace: FACTS, key: 0, value: 19 },
            Step::Sync { to: 2, from: 1 },
            Step::Delete { copy: 1, namespace: FACTS, key: 0 },
            Step::Sync { to: 1, from: 0 },
        ],
    );
}

/// A namespace that was deleted in two copies and created again in the third.
#[test]
fn a_namespace_exists_in_all_copies_or_in_none() {
    converge(
        3,
        &[
            Step::DeleteNamespace { copy: 2 },
            Step::Tick(1),
            Step::DeleteNamespace { copy: 0 },
            Step::Sync { to: 1, from: 0 },
            Step::Set { copy: 1, namespace: PASSING, key: 0, value: 0 },
            Step::Sync { to: 0, from: 2 },
            Step::Sync { to: 0, from: 1 },
            Step::Sync { to: 1, from: 2 },
        ],
    );
}

/// Two increments by the same amount are two increments.
#[test]
fn equal_additions_of_both_copies_count_twice() {
    converge(
        2,
        &[
            Step::Set { copy: 1, namespace: COUNTS, key: 2, value: 239 },
            Step::Set { copy: 0, namespace: COUNTS, key: 2, value: 239 },
        ],
    );
}

/// The common value is that of the last synchronization, also if it went in one direction only.
#[test]
fn included_changes_are_not_counted_again() {
    for (one, other) in [(0, 1), (1, 0)] {
        converge(
            2,
            &[
                Step::Set { copy: one, namespace: COUNTS, key: 2, value: 1 },
                Step::Set { copy: other, namespace: COUNTS, key: 2, value: 2 },
                Step::Sync { to: other, from: one },
                Step::Set { copy: one, namespace: COUNTS, key: 2, value: 5 },
            ],
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn two_copies_converge(steps in steps(2)) {
        converge(2, &steps);
    }

    #[test]
    fn three_copies_converge(steps in steps(3)) {
        converge(3, &steps);
    }

    #[test]
    fn copies_that_meet_in_one_count_once(steps in steps(4)) {
        let meet = |step: &Step| match step {
            Step::Sync { to, from } => *to == 0 || *from == 0,
            _ => true,
        };
        let steps: Vec<Step> = steps.into_iter().filter(meet).collect();
        converge_with(4, &steps, true);
    }
}
