//! The history: what was recorded while writing can be read later, wherever it has moved to.
//!
//! [`Chronicle`] writes at random into a few namespaces, deletes and recreates them, and records
//! every revision. Then all of them are read from the engine: from the log, from archived runs,
//! after a snapshot, after it was opened again, after the workspace left memory, and while the
//! history is being moved.

use std::collections::BTreeMap;

use baton::core::state::{Change, Command, Delete, Diff, History, Query, Reply as StateReply, Set};
use baton::core::{Entry, Json, Kind, Reply, Revision, Rules, namespace as spaces, task};
use baton::error::Error as EngineError;
use baton::{Baton, Error, Options, Workspace};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};

use crate::harness::{
    calm, eventually, everything, folder, forgetful, in_memory_with, json_of, key, listed,
    namespace, on_memory, on_small_segments, restless, shared, value, workspace,
};

type Place = (String, String);

/// The state of a workspace after a revision: its namespaces, and values with their versions.
#[derive(Clone, Default, PartialEq)]
struct Moment {
    namespaces: Vec<String>,
    entries: BTreeMap<Place, (Value, u64)>,
}

/// A change in the history: revision, entry, value before and after.
type RecordedChange = (u64, Place, Option<Value>, Option<Value>);

/// A workspace with a complete record of its changes.
struct Chronicle {
    workspace: Workspace,
    chance: StdRng,
    moments: Vec<Moment>,
    /// The last version of every key that ever was.
    versions: BTreeMap<Place, u64>,
    /// All changes in order; those of a deleted namespace against the order of its keys.
    recorded: Vec<RecordedChange>,
}

/// The state that is remembered while no engine is open.
struct Memory(StdRng, Vec<Moment>, BTreeMap<Place, u64>, Vec<RecordedChange>);

const NAMESPACES: [&str; 3] = ["shared", "notes", "drafts"];

impl Chronicle {
    fn new(baton: &Baton, seed: u64) -> Self {
        let beginning = Moment { namespaces: vec!["shared".into()], entries: BTreeMap::new() };
        Self {
            workspace: workspace(baton),
            chance: StdRng::seed_from_u64(seed),
            moments: vec![beginning],
            versions: BTreeMap::new(),
            recorded: Vec::new(),
        }
    }

    /// Drops the engine, so that its folder can be opened again.
    fn leave(self) -> Memory {
        Memory(self.chance, self.moments, self.versions, self.recorded)
    }

    /// The same history, checked against an engine that was opened later.
    fn again(baton: &Baton, Memory(chance, moments, versions, recorded): Memory) -> Self {
        Self { workspace: workspace(baton), chance, moments, versions, recorded }
    }

    fn last(&self) -> Revision {
        Revision(self.moments.len() as u64 - 1)
    }

    async fn write(&mut self, count: usize) {
        for _ in 0..count {
            self.step().await;
        }
    }

    async fn step(&mut self) {
        let name = NAMESPACES[self.chance.random_range(0..NAMESPACES.len())];
        let there = self.moments.last().expect("there is a beginning");
        let mut after = there.clone();
        let exists = there.namespaces.iter().any(|there| there == name);
        let revision = match self.chance.random_range(0..100) {
            _ if !exists => {
                after.namespaces.push(name.to_owned());
                after.namespaces.sort();
                self.workspace.namespaces().create(name).await.unwrap().revision
            }
            0..2 if name != "shared" => {
                after.namespaces.retain(|there| there != name);
                let delete = self.empty(name, &mut after);
                self.workspace.execute(delete).await.unwrap().revision
            }
            2..4 if name != "shared" => {
                let (name_again, rules) = (namespace(name), Rules::default());
                let create = spaces::Command::Create { name: name_again, rules };
                let transaction = self.workspace.transaction();
                let transaction = transaction.command(self.change(name, &mut after));
                let transaction = transaction.command(self.empty(name, &mut after));
                let transaction = transaction.command(create);
                let transaction = transaction.command(self.change(name, &mut after));
                let transaction = transaction.command(self.change(name, &mut after));
                transaction.commit().await.unwrap().0
            }
            4..20 => {
                let commands: Vec<Command> =
                    (0..3).map(|_| self.change(name, &mut after)).collect();
                let mut transaction = self.workspace.transaction();
                for command in commands {
                    transaction = transaction.command(command);
                }
                transaction.commit().await.unwrap().0
            }
            _ => {
                let command = self.change(name, &mut after);
                self.workspace.execute(command).await.unwrap().revision
            }
        };
        self.moments.push(after);
        assert_eq!(revision, self.last(), "revisions are dense");
    }

    /// Deletes a namespace with all its entries.
    fn empty(&mut self, name: &str, after: &mut Moment) -> spaces::Command {
        let revision = self.moments.len() as u64;
        let (gone, kept) =
            after.entries.clone().into_iter().partition(|((there, _), _)| there == name);
        after.entries = kept;
        let gone: BTreeMap<Place, (Value, u64)> = gone;
        let dropped =
            gone.into_iter().map(|(place, (value, _))| (revision, place, Some(value), None));
        self.recorded.extend(dropped.rev());
        spaces::Command::Delete { name: namespace(name) }
    }

    /// One change of one entry, and the resulting state.
    fn change(&mut self, name: &str, after: &mut Moment) -> Command {
        let revision = self.moments.len() as u64;
        let place = (name.to_owned(), format!("key:{:02}", self.chance.random_range(0..15)));
        let before = after.entries.get(&place).cloned();
        let old_value = before.clone().map(|(value, _)| value);
        if before.is_some() && self.chance.random_bool(0.3) {
            after.entries.remove(&place);
            self.recorded.push((revision, place.clone(), old_value, None));
            let (namespace, key) = (namespace(name), key(&place.1));
            let (expected_version, expected_revision) = (None, None);
            return Command::Delete(Delete { namespace, key, expected_version, expected_revision });
        }
        // Few values, so that some revisions change an entry and later restore it.
        let value = json!({ "n": self.chance.random_range(0..4) });
        // No version of a key comes twice, not even after it was deleted.
        let version = self.versions.entry(place.clone()).or_default();
        *version += 1;
        let version = *version;
        after.entries.insert(place.clone(), (value.clone(), version));
        let recorded = (revision, place.clone(), old_value, Some(value.clone()));
        self.recorded.push(recorded);
        Command::Set(Set::new(namespace(name), key(&place.1), json_of(&value)))
    }

    /// Checks one revision with every kind of query.
    async fn check_at(&self, at: Revision) {
        let moment = &self.moments[usize::try_from(at.0).unwrap()];
        let entries = everything(&self.workspace, Some(at), 4).await.unwrap();
        assert_eq!(picture(&entries), moment.entries, "snapshot at {at}");
        for name in NAMESPACES {
            let state = self.workspace.state(name);
            let listed = listed(&state, name, Some(at), 3).await;
            if moment.namespaces.iter().any(|there| there == name) {
                let mut own = moment.entries.clone();
                own.retain(|(there, _), _| there == name);
                assert_eq!(picture(&listed.unwrap()), own, "list of {name} at {at}");
            } else {
                assert_eq!(listed.unwrap_err().code(), "state.unknown_namespace", "{name} at {at}");
            }
            let place = (name.to_owned(), format!("key:{:02}", at.0 % 15));
            match (state.get_at(&place.1, at).await, moment.entries.get(&place)) {
                (Ok(entry), Some((there, version))) => {
                    assert_eq!((&value(&entry), entry.version().0), (there, *version), "{place:?}");
                    assert!(entry.revision() <= at);
                    assert_eq!(entry.updated_by().as_str(), "ada");
                }
                (Err(error), None) => assert_eq!(error.kind(), Kind::NotFound, "{error:?}"),
                (found, expected) => panic!("{place:?} at {at}: {found:?}, not {expected:?}"),
            }
        }
    }

    async fn check_diff(&self, from: Revision, to: Revision) {
        let [before, after] =
            [from, to].map(|at| &self.moments[usize::try_from(at.0).unwrap()].entries);
        let mut expected: BTreeMap<Place, (Option<Value>, Option<Value>)> = BTreeMap::new();
        for place in before.keys().chain(after.keys()) {
            let of = |moment: &BTreeMap<Place, (Value, u64)>| {
                moment.get(place).map(|(value, _)| value.clone())
            };
            if of(before) != of(after) {
                expected.insert(place.clone(), (of(before), of(after)));
            }
        }
        let diff = Diff { namespace: None, from, to: Some(to) };
        let (changes, _) = changes(&self.workspace, Query::Diff(diff)).await.unwrap();
        let found: Vec<_> = changes.iter().map(|change| (place(change), values(change))).collect();
        assert_eq!(found, expected.into_iter().collect::<Vec<_>>(), "between {from} and {to}");
    }

    /// Reads the whole history, and that of one key, page by page.
    async fn check_history(&self, oldest: u64) {
        let kept =
            || self.recorded.iter().rev().filter(|(revision, ..)| *revision >= oldest).cloned();
        let expected: Vec<RecordedChange> = kept().collect();
        for limit in [2, 5, 10_000] {
            let found = all_changes(&self.workspace, &History::default(), limit).await;
            assert_eq!(found, expected, "in pages of {limit}");
        }

        let (name, wanted) = ("notes", "key:03");
        let of_key = History {
            namespace: Some(namespace(name)),
            key: Some(key(wanted)),
            ..History::default()
        };
        let found = all_changes(&self.workspace, &of_key, 1).await;
        let place = (name.to_owned(), wanted.to_owned());
        // When the namespace is deleted, so is the key, and its history shows it.
        let expected: Vec<RecordedChange> =
            kept().filter(|(_, there, ..)| *there == place).collect();
        assert_eq!(found, expected);

        let of_namespace = History { namespace: Some(namespace(name)), ..History::default() };
        let found = all_changes(&self.workspace, &of_namespace, 3).await;
        let expected: Vec<RecordedChange> =
            kept().filter(|(_, there, ..)| there.0 == name).collect();
        assert_eq!(found, expected);
    }

    /// Checks some revisions, evenly spread, and the last one.
    async fn check(&self, oldest: u64) {
        let last = self.last().0;
        let step = usize::try_from((last - oldest) / 12 + 1).unwrap();
        let asked: Vec<u64> = (oldest..=last).step_by(step).chain([last]).collect();
        for at in &asked {
            self.check_at(Revision(*at)).await;
        }
        for pair in asked.windows(2) {
            self.check_diff(Revision(pair[0]), Revision(pair[1])).await;
        }
        self.check_diff(Revision(oldest), Revision(last)).await;
        self.check_diff(Revision(last), Revision(oldest)).await;
        self.check_history(oldest + 1).await;
    }
}

fn place(change: &Change) -> Place {
    (change.namespace.as_str().to_owned(), change.key.as_str().to_owned())
}

fn values(change: &Change) -> (Option<Value>, Option<Value>) {
    let read = |json: &Option<Json>| json.as_ref().map(Json::to_value);
    (read(&change.old_value), read(&change.new_value))
}

fn picture(entries: &[Entry]) -> BTreeMap<Place, (Value, u64)> {
    let mut picture = BTreeMap::new();
    for entry in entries {
        let place = (entry.namespace().as_str().to_owned(), entry.key().to_owned());
        let before = picture.insert(place, (value(entry), entry.version().0));
        assert!(before.is_none(), "every entry is on one page");
    }
    picture
}

async fn changes(
    workspace: &Workspace,
    query: Query,
) -> Result<(Vec<Change>, Option<String>), Error> {
    match workspace.ask(query).await?.reply {
        Reply::State(StateReply::Changes { changes, cursor, .. }) => Ok((changes, cursor)),
        reply => panic!("the engine answered with {reply:?}"),
    }
}

async fn all_changes(workspace: &Workspace, query: &History, limit: usize) -> Vec<RecordedChange> {
    let mut all = Vec::new();
    let mut cursor = None;
    loop {
        let page = History { limit: Some(limit), cursor, ..query.clone() };
        let (changes, next) = changes(workspace, Query::History(page)).await.unwrap();
        assert!(changes.len() <= limit, "a page is no longer than asked for");
        all.extend(changes.iter().map(|change| {
            let (before, after) = values(change);
            (change.revision.0, place(change), before, after)
        }));
        match next {
            Some(next) => cursor = Some(next),
            None => return all,
        }
    }
}

#[tokio::test]
async fn the_past_is_unchanged_wherever_it_is_stored() {
    let (baton, log, clock) = in_memory_with(calm());
    let mut story = Chronicle::new(&baton, 1);
    story.write(150).await;
    story.check(0).await;
    baton.compact(&workspace(&baton)).await.unwrap();
    story.check(0).await;
    story.write(60).await;
    story.check(0).await;
    baton.compact(&workspace(&baton)).await.unwrap();
    story.write(30).await;
    story.check(0).await;
    let memory = story.leave();
    baton.close().await;

    let baton = on_memory(&log, &clock, calm());
    let mut story = Chronicle::again(&baton, memory);
    story.check(0).await;
    story.write(20).await;
    story.check(0).await;
}

#[tokio::test]
async fn the_past_survives_when_a_workspace_leaves_memory() {
    let (baton, log, clock) = in_memory_with(forgetful());
    let mut story = Chronicle::new(&baton, 2);
    for _ in 0..4 {
        story.write(40).await;
        eventually("nothing is in memory", async || baton.resident_workspaces() == 0).await;
        story.check(0).await;
    }
    let memory = story.leave();
    drop(baton);
    let baton = on_memory(&log, &clock, forgetful());
    Chronicle::again(&baton, memory).check(0).await;
}

#[tokio::test]
async fn the_past_survives_on_disk_with_everything_moving() {
    let folder = folder();
    let baton = on_small_segments(folder.path(), restless()).unwrap();
    let mut story = Chronicle::new(&baton, 3);
    for _ in 0..6 {
        story.write(80).await;
        story.check(0).await;
    }
    let memory = story.leave();
    drop(baton);
    let baton = on_small_segments(folder.path(), restless()).unwrap();
    Chronicle::again(&baton, memory).check(0).await;
}

/// Readers query the past while archiving moves it from the log into runs and merges them.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn readers_of_the_past_do_not_notice_that_it_is_moved() {
    let (baton, _, _) = in_memory_with(restless());
    let mut story = Chronicle::new(&baton, 4);
    story.write(60).await;
    let mut readers = Vec::new();
    for number in 0..2_u64 {
        let moments = story.moments.clone();
        let workspace = story.workspace.clone();
        readers.push(tokio::spawn(async move {
            for round in 0..60 {
                let at = (round * 7 + number) % (moments.len() as u64);
                let entries = everything(&workspace, Some(Revision(at)), 5).await.unwrap();
                let expected = &moments[usize::try_from(at).unwrap()].entries;
                assert_eq!(picture(&entries), *expected, "reader {number} at {at}");
            }
        }));
    }
    for _ in 0..12 {
        story.write(25).await;
        baton.compact(&story.workspace).await.unwrap();
    }
    for reader in readers {
        reader.await.unwrap();
    }
    story.check(0).await;
}

/// Just after opening, the engine has not read the content of the log yet. The first query reads
/// it, while the log may be truncated.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn the_first_readers_after_opening_do_not_notice_that_the_past_is_moved() {
    let folder = folder();
    for round in 0..24_u64 {
        let baton = on_small_segments(folder.path(), restless()).unwrap();
        let ada = workspace(&baton);
        let mut readers = Vec::new();
        for at in [1, 20, 40].map(|back| (round * 40).saturating_sub(back)) {
            let state = ada.state("shared");
            readers.push(tokio::spawn(async move {
                if at == 0 {
                    return;
                }
                let then = state.get_at("key", Revision(at)).await.unwrap();
                assert_eq!(value(&then)["number"], json!(at), "in round {round}");
            }));
        }
        if round % 2 == 0 {
            baton.compact(&ada).await.unwrap();
        }
        for reader in readers {
            reader.await.unwrap();
        }
        drop((ada, baton));
        // The log is left with batches that were not read yet.
        let baton = on_small_segments(folder.path(), calm()).unwrap();
        let state = workspace(&baton).state("shared");
        for number in round * 40 + 1..=round * 40 + 40 {
            let ballast = "x".repeat(2_500);
            state.set("key", json!({ "number": number, "ballast": ballast })).await.unwrap();
        }
    }
}

fn assert_gone(error: &Error, expected_oldest: Option<u64>) -> u64 {
    assert_eq!((error.code(), error.kind()), ("history.gone", Kind::NotFound));
    assert_eq!(error.fact("workspace"), Some(Json::of(&"research").unwrap()));
    let [asked, oldest]: [Revision; 2] =
        ["asked", "oldest"].map(|name| error.fact(name).expect(name).to().unwrap());
    assert!(asked < oldest);
    assert!(expected_oldest.is_none_or(|expected| expected == oldest.0), "{error}");
    oldest.0
}

#[tokio::test]
async fn retention_by_count_reports_removed_revisions_and_keeps_the_rest() {
    // Small runs, because only complete ones are dropped.
    let options = Options { run_bytes_max: 4 << 10, ..restless() };
    let (baton, log, clock) = in_memory_with(options);
    let mut story = Chronicle::new(&baton, 5);
    story.write(120).await;
    // Explicitly: background compaction that falls behind would write everything into one run,
    // which is only dropped as a whole.
    baton.compact(&story.workspace).await.unwrap();
    let configure = baton::core::workspace::Command::Configure {
        history_count: Some(50),
        history_age_ms: None,
    };
    story.workspace.execute(configure).await.unwrap();
    // The configuration is a revision in which no entry changes.
    let last = story.moments.last().unwrap().clone();
    story.moments.push(last);
    story.write(100).await;
    let oldest = story.last().0 - 50;
    let state = story.workspace.state("shared");
    assert_gone(&state.get_at("key:01", Revision(oldest - 1)).await.unwrap_err(), Some(oldest));
    assert_gone(&state.diff(Revision(3), story.last()).await.unwrap_err(), Some(oldest));
    // The state at the oldest revision is known, its events are not.
    let watch = story.workspace.watch("**").from(2).await.map(|_| ()).unwrap_err();
    assert_gone(&watch, Some(oldest + 1));
    let from = History { from: Some(Revision(9)), ..History::default() };
    assert_gone(&state.history(from).await.unwrap_err(), Some(oldest + 1));
    story.check(oldest).await;

    eventually("runs were folded", async || {
        let blobs = baton::log::Log::list_blobs(&log, "workspaces/research/base-").unwrap();
        !blobs.is_empty()
    })
    .await;
    story.check(oldest).await;
    let memory = story.leave();
    baton.close().await;
    let baton = on_memory(&log, &clock, calm());
    let mut story = Chronicle::again(&baton, memory);
    story.check(oldest).await;
    story.write(10).await;
    story.check(oldest + 10).await;
}

#[tokio::test]
async fn retention_by_age_removes_older_revisions_and_keeps_the_rest() {
    let (baton, _, clock) = in_memory_with(restless());
    let mut story = Chronicle::new(&baton, 6);
    let configure = baton::core::workspace::Command::Configure {
        history_count: None,
        history_age_ms: Some(10_000),
    };
    story.workspace.execute(configure).await.unwrap();
    story.moments.push(story.moments[0].clone());
    story.write(50).await;
    baton.compact(&story.workspace).await.unwrap();
    clock.advance(9_999);
    story.write(30).await;
    story.check(0).await;
    clock.advance(2);
    let state = story.workspace.state("shared");
    eventually("the first revisions are gone", async || {
        state.get_at("key:01", Revision(5)).await.is_err_and(|error| error.code() == "history.gone")
    })
    .await;
    let oldest = assert_gone(&state.get_at("key:01", Revision(5)).await.unwrap_err(), None);
    assert!(oldest <= 51, "what is young enough is kept, but the oldest is {oldest}");
    story.check(oldest).await;
}

#[tokio::test]
async fn a_future_revision_is_refused_with_its_number() {
    let (baton, _, _) = in_memory_with(calm());
    let mut story = Chronicle::new(&baton, 7);
    story.write(5).await;
    let state = story.workspace.state("shared");
    for error in [
        state.get_at("key:01", Revision(6)).await.map(|_| ()).unwrap_err(),
        state.diff(Revision(0), Revision(6)).await.map(|_| ()).unwrap_err(),
        everything(&story.workspace, Some(Revision(6)), 5).await.map(|_| ()).unwrap_err(),
    ] {
        let workspace = story.workspace.name().clone();
        let not_yet = EngineError::NotYet { workspace, asked: Revision(6), newest: Revision(5) };
        assert_eq!(error, not_yet.into());
    }
}

/// The history of a task can be read page by page, wherever it has moved to.
#[tokio::test]
async fn the_history_of_a_task_is_listed_newest_first() {
    let (baton, _log, _clock) = in_memory_with(restless());
    let ada = workspace(&baton);
    let command = |name: &str, fields: Value| -> baton::core::Command {
        serde_json::from_value(json!({"task": {name: fields}})).expect("it is a command")
    };
    ada.execute(command("create", json!({"id": "t", "type": "review"}))).await.unwrap();
    let claim = ada.execute(command("claim", json!({"types": ["review"]}))).await.unwrap();
    let Reply::Task(task::Reply::Claimed(Some(claimed))) = claim.reply else { panic!("a task") };
    let token = claimed.lease.expect("it was claimed").token;
    for number in 0..200 {
        // Other writes continue, so that the history is archived.
        shared(&baton).set("other", number).await.unwrap();
        let fields = json!({"task": "t", "token": token, "fraction": f64::from(number) / 200.0});
        ada.execute(command("progress", fields)).await.unwrap();
    }
    let fields = json!({"task": "t", "token": token, "result": {"fine": true}});
    ada.execute(command("complete", fields)).await.unwrap();
    let (mut recorded, mut cursor) = (Vec::new(), None);
    loop {
        let task = baton::core::TaskId::parse("t").unwrap();
        let query = task::Query::History { task, limit: Some(7), cursor };
        let Reply::Task(task::Reply::History { events, oldest, cursor: next }) =
            ada.ask(baton::core::Query::from(query)).await.unwrap().reply
        else {
            panic!("a history was asked for")
        };
        assert_eq!(oldest, Revision(0));
        assert!(events.len() <= 7);
        recorded.extend(events);
        match next {
            Some(next) => cursor = Some(next),
            None => break,
        }
    }
    assert_eq!(recorded.len(), 203);
    assert!(recorded.is_sorted_by(|later, earlier| later.revision > earlier.revision));
    assert_eq!(recorded[0].kind, "task.completed");
    assert_eq!(recorded[0].fields.to_value()["result"]["fine"], true);
    assert_eq!(recorded[201].kind, "task.claimed");
    assert_eq!(recorded[202].kind, "task.created");
    let unknown = baton::core::TaskId::parse("nobody").unwrap();
    let query = task::Query::History { task: unknown, limit: None, cursor: None };
    let refused = ada.ask(baton::core::Query::from(query)).await.unwrap_err();
    assert_eq!(refused.code(), "task.not_found");
}
