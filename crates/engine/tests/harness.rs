//! The harness of every test: folders, logs, clocks, small settings, and waiting without sleeping.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use baton::clock::{ManualClock, SystemClock};
use baton::core::state::{Command, List, Page, Query, Reply as StateReply, Set, Snapshot};
use baton::core::{Entry, Json, Key, NamespaceName, Reply, Revision, Timestamp};
use baton::error::Error as EngineError;
use baton::log::faulty::FaultyDisk;
use baton::log::{FileLog, MemoryLog, Options as FileOptions, Prepare};
use baton::{Baton, Error, Item, Options, State, Watch, Workspace};
use serde_json::{Value, json};

/// How often [`eventually`] polls before it gives up. Each poll yields the processor, so even on a
/// busy machine this is long enough for everything in the background to happen.
const LOOKS_MAX: u64 = 5_000_000;

/// The initial time of every manual clock.
pub(crate) const BEGINNING: Timestamp = Timestamp(1_700_000_000_000);

/// Polls until a condition holds.
pub(crate) async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    for _ in 0..LOOKS_MAX {
        if holds().await {
            return;
        }
        std::thread::yield_now();
        tokio::task::yield_now().await;
    }
    panic!("it never came about that {what}");
}

/// An empty folder that is removed with the test.
pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("there is room for a folder")
}

/// An engine on a folder, with default options.
pub(crate) async fn open(folder: &Path) -> Baton {
    baton::open(folder).await.expect("the folder can be opened")
}

/// An engine in memory, with a clock that does not advance.
pub(crate) fn in_memory() -> (Baton, MemoryLog, ManualClock) {
    in_memory_with(Options::default())
}

/// The same with options.
pub(crate) fn in_memory_with(options: Options) -> (Baton, MemoryLog, ManualClock) {
    let (log, clock) = (MemoryLog::default(), ManualClock::at(BEGINNING));
    let baton = on_memory(&log, &clock, options);
    (baton, log, clock)
}

/// An engine on a log in memory that may have been used before.
pub(crate) fn on_memory(log: &MemoryLog, clock: &ManualClock, options: Options) -> Baton {
    Baton::on(log.clone(), clock.clone(), options).expect("memory does not fail")
}

/// Options under which everything that usually takes hours happens within a few writes.
pub(crate) fn restless() -> Options {
    Options {
        tail_batches_max: 40,
        log_bytes_max: 64 << 10,
        run_bytes_max: 256 << 10,
        snapshot_bytes_min: 8 << 10,
        snapshot_chunk: 7,
        group_bytes_max: 16 << 10,
        compaction_interval: Duration::from_millis(1),
        ..Options::default()
    }
}

/// Options without background work, so that a test decides when it happens.
pub(crate) fn calm() -> Options {
    Options { compaction_interval: Duration::from_hours(1), ..Options::default() }
}

/// Options under which unused workspaces leave memory at once.
pub(crate) fn forgetful() -> Options {
    Options {
        idle: Duration::ZERO,
        compaction_interval: Duration::from_millis(1),
        ..Options::default()
    }
}

/// The location of the log on a faulty disk.
pub(crate) const FAULTY_FOLDER: &str = "/baton";

/// An engine on a disk that can fail. Segments are small and prepared inline, so that the order of
/// operations is the same every time.
pub(crate) fn on_disk(disk: &FaultyDisk, options: Options) -> Result<Baton, EngineError> {
    on_disk_with(disk, 256 << 10, options)
}

/// The same with segments of this size.
pub(crate) fn on_disk_with(
    disk: &FaultyDisk,
    segment_bytes: u64,
    options: Options,
) -> Result<Baton, EngineError> {
    let file =
        FileOptions { segment_bytes, prepare: Prepare::Inline, ..FileOptions::new(FAULTY_FOLDER) };
    Baton::on(FileLog::open_on(disk.clone(), file)?, SystemClock::default(), options)
}

/// An engine on a folder, with small segments and small options.
pub(crate) fn on_small_segments(folder: &Path, options: Options) -> Result<Baton, EngineError> {
    let file = FileOptions { segment_bytes: 64 << 10, ..FileOptions::new(folder) };
    Baton::on(FileLog::open(file)?, SystemClock::default(), options)
}

/// A workspace in which `ada` acts.
pub(crate) fn workspace(baton: &Baton) -> Workspace {
    let workspace = baton.workspace("research").expect("the name is valid");
    workspace.as_agent("ada").expect("the name is valid")
}

/// Its namespace `shared`.
pub(crate) fn shared(baton: &Baton) -> State {
    workspace(baton).state("shared")
}

/// The name of a namespace.
pub(crate) fn namespace(name: &str) -> NamespaceName {
    NamespaceName::parse(name).expect("the name is valid")
}

/// A key.
pub(crate) fn key(name: &str) -> Key {
    Key::parse(name).expect("the name is valid")
}

/// A value as the engine stores it.
pub(crate) fn json_of(value: &Value) -> Json {
    Json::of(value).expect("it is JSON")
}

/// A command that writes into `shared`.
pub(crate) fn set(name: &str, value: &Value) -> Command {
    Command::Set(Set::new(namespace("shared"), key(name), json_of(value)))
}

/// The value of an entry.
pub(crate) fn value(entry: &Entry) -> Value {
    serde_json::from_slice(entry.value()).expect("what was written was JSON")
}

/// A value of this many bytes as JSON text.
pub(crate) fn value_of_bytes(bytes: usize) -> Value {
    json!("x".repeat(bytes.checked_sub(2).expect("two are for the quotes")))
}

/// Every entry of every namespace at a revision, or now: page by page, `limit` at a time.
pub(crate) async fn everything(
    workspace: &Workspace,
    at: Option<Revision>,
    limit: usize,
) -> Result<Vec<Entry>, Error> {
    let mut all = Vec::new();
    let mut cursor = None;
    loop {
        let snapshot = Snapshot { namespace: None, at, limit: Some(limit), cursor };
        let page = page(workspace.ask(Query::Snapshot(snapshot)).await?.reply);
        assert!(page.entries.len() <= limit, "a page is no longer than asked for");
        all.extend(page.entries);
        match page.cursor {
            Some(next) => cursor = Some(next),
            None => return Ok(all),
        }
    }
}

/// Every entry of a namespace at a revision, or now: page by page, `limit` at a time.
pub(crate) async fn listed(
    state: &State,
    name: &str,
    at: Option<Revision>,
    limit: usize,
) -> Result<Vec<Entry>, Error> {
    let mut all = Vec::new();
    let mut cursor = None;
    loop {
        let list = List { at, limit: Some(limit), cursor, ..List::all(namespace(name)) };
        let page = state.list(list).await?;
        assert!(page.entries.len() <= limit, "a page is no longer than asked for");
        all.extend(page.entries);
        match page.cursor {
            Some(next) => cursor = Some(next),
            None => return Ok(all),
        }
    }
}

fn page(reply: Reply) -> Page {
    match reply {
        Reply::State(StateReply::Entries(page)) => page,
        reply => panic!("the engine answered with {reply:?}"),
    }
}

/// The next event of a watch: its revision, type and subject.
pub(crate) async fn next_event(watch: &mut Watch) -> (u64, String, String) {
    match watch.next().await.expect("the watch goes on").expect("the watch is healthy") {
        Item::Event(notice) => {
            (notice.revision().0, notice.kind().to_owned(), notice.subject().to_owned())
        }
        item @ Item::Snapshot { .. } => panic!("an event was expected, not {item:?}"),
    }
}

/// Makes the engine read its clock. It does so whenever it has loaded a workspace, so an unused one
/// is requested.
pub(crate) async fn tick(baton: &Baton) {
    static TICKS: AtomicU64 = AtomicU64::new(0);
    let name = format!("tick-{}", TICKS.fetch_add(1, Ordering::Relaxed));
    let workspace = baton.workspace(&name).expect("the name is valid");
    workspace.revision().await.expect("an unused workspace can be asked");
}
