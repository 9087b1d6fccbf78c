//! What a program holds in its hands: the engine. The vocabulary is [`baton_handle`]'s, with the
//! engine as its carrier.

mod blobs;
mod change_feed;
mod submission;
mod watch;

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use baton_core::{
    Answer, Entry, Kind, Mutation, Query, Rejection, Reply, Request, Revision, WorkspaceName,
    state as rules, wire,
};
use baton_handle::{Caller, Carrier, Failure};
use baton_log::Log;
use baton_log::file::{FileLog, Options as FileOptions};

pub use baton_handle::Item;
pub use blobs::ArtifactReader;
pub use change_feed::ChangeFeedPage;
pub use watch::Watch;

use crate::backup::Summary;
use crate::clock::{Clock, SystemClock};
use crate::driver::{Driver, Submitted, Threads};
use crate::error::Error;
use crate::machine::{Absent, Asked};
use crate::metrics::MetricsSnapshot;
use crate::oneshot::run_blocking;
use crate::options::Options;

/// A lock that is taken when this is awaited.
pub type Acquiring = baton_handle::Acquiring<Baton>;
/// A permit that is taken when this is awaited.
pub type AcquiringPermit = baton_handle::AcquiringPermit<Baton>;
/// Agents of a workspace.
pub type Agents = baton_handle::Agents<Baton>;
/// An arrival that happens when this is awaited.
pub type Arriving = baton_handle::Arriving<Baton>;
/// Barriers of a workspace, as one agent sees them.
pub type Barriers = baton_handle::Barriers<Baton>;
/// A task that is taken when this is awaited.
pub type Claiming = baton_handle::Claiming<Baton>;
/// A task that is done when this is awaited.
pub type Completing = baton_handle::Completing<Baton>;
/// A namespace that is created when this is awaited.
pub type CreateNamespace = baton_handle::CreateNamespace<Baton>;
/// A task that comes to be when this is awaited.
pub type Creating = baton_handle::Creating<Baton>;
/// A try that has failed when this is awaited.
pub type Failing = baton_handle::Failing<Baton>;
/// Messages of a workspace, as one agent sees them.
pub type Messages = baton_handle::Messages<Baton>;
/// Mail that is received when this is awaited.
pub type Receiving = baton_handle::Receiving<Baton>;
/// A request that is made when this is awaited.
pub type Requesting = baton_handle::Requesting<Baton>;
/// A message that is sent when this is awaited.
pub type Sending = baton_handle::Sending<Baton>;
/// Topics of a workspace, as one agent sees them.
pub type Topics = baton_handle::Topics<Baton>;
/// Streams of a workspace, as one agent sees them.
pub type Streams = baton_handle::Streams<Baton>;
/// A stream that comes to be when this is awaited.
pub type CreateStream = baton_handle::CreateStream<Baton>;
/// Frames that are read when this is awaited.
pub type ReadingFrames = baton_handle::ReadingFrames<Baton>;
/// A rule that is added when this is awaited.
pub type AddingRule = baton_handle::AddingRule<Baton>;
/// A context that is built when this is awaited.
pub type BuildingContext = baton_handle::BuildingContext<Baton>;
/// A reaction that is added when this is awaited.
pub type AddingReaction = baton_handle::AddingReaction<Baton>;
/// A question about what happened, which is asked when this is awaited.
pub type AskingHistory = baton_handle::AskingHistory<Baton>;
/// Events of a workspace, as one agent sees them.
pub type Events = baton_handle::Events<Baton>;
/// Handlers that are called when this listens.
pub type Handling = baton_handle::Handling<Baton>;
/// Reactions of a workspace, as one agent sees them.
pub type Reactions = baton_handle::Reactions<Baton>;
/// Who depends on which keys of a workspace.
pub type Contracts = baton_handle::Contracts<Baton>;
/// Rules for hand-offs of a workspace, as one agent sees them.
pub type HandoffRules = baton_handle::HandoffRules<Baton>;
/// Checkpoints of a workspace, as one agent sees them.
pub type Checkpoints = baton_handle::Checkpoints<Baton>;
/// Artifacts of a workspace, as one agent sees them.
pub type Artifacts = baton_handle::Artifacts<Baton>;
/// Bytes that are put when this is awaited.
pub type Putting = baton_handle::Putting<Baton>;
/// An artifact that is being read.
pub type Reading = baton_handle::Reading<Baton>;
/// Secrets of a workspace, as one agent sees them.
pub type Secrets = baton_handle::Secrets<Baton>;
/// A secret that is handed in when this is awaited.
pub type Hiding = baton_handle::Hiding<Baton>;
/// A checkpoint that is saved when this is awaited.
pub type Saving = baton_handle::Saving<Baton>;
/// A join that comes to be when this is awaited.
pub type Joining = baton_handle::Joining<Baton>;
/// Joins of a workspace, as one agent sees them.
pub type Joins = baton_handle::Joins<Baton>;
/// Locks of a workspace, as one agent sees them.
pub type Locks = baton_handle::Locks<Baton>;
/// Namespaces of a workspace, as one agent sees them.
pub type Namespaces = baton_handle::Namespaces<Baton>;
/// A patch that is carried out when it is awaited.
pub type Patching = baton_handle::Patching<Baton>;
/// A session that begins when this is awaited.
pub type Registration = baton_handle::Registration<Baton>;
/// A person's decision that is made when this is awaited.
pub type Reviewing = baton_handle::Reviewing<Baton>;
/// The state of one conversation of a user with an application.
pub type Session = baton_handle::Session<Baton>;
/// Semaphores of a workspace, as one agent sees them.
pub type Semaphores = baton_handle::Semaphores<Baton>;
/// A write that is carried out when it is awaited.
pub type Setting = baton_handle::Setting<Baton>;
/// Shared state in one namespace, as one agent sees it.
pub type State = baton_handle::State<Baton>;
/// Hand-offs of a workspace, as one agent sees them.
pub type Handoffs = baton_handle::Handoffs<Baton>;
/// A hand-off that is offered when this is awaited.
pub type Offering = baton_handle::Offering<Baton>;
/// Pipelines of a workspace, as one agent sees them.
pub type Pipelines = baton_handle::Pipelines<Baton>;
/// A pipeline that comes to be when this is awaited.
pub type CreatePipeline = baton_handle::CreatePipeline<Baton>;
/// Tasks of a workspace, as one agent sees them.
pub type Tasks = baton_handle::Tasks<Baton>;
/// Commands that are carried out together, or not at all.
pub type Transaction = baton_handle::Transaction<Baton>;
/// A watch that begins when this is awaited.
pub type Watching = baton_handle::Watching<Baton>;
/// A workspace as one agent sees it. Cheap to clone.
pub type Workspace = baton_handle::Workspace<Baton>;

/// The engine. Cheap to clone; it stops when the last clone, and everything made from it, is gone.
#[derive(Clone)]
pub struct Baton {
    driver: Arc<Driver>,
    threads: Arc<Threads>,
}

impl std::fmt::Debug for Baton {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Baton({})", self.description())
    }
}

/// Opens the data in a folder, which is created if it is not there.
///
/// Only one process, and only one engine in it, can have a folder open at a time.
pub async fn open(folder: impl AsRef<Path>) -> Result<Baton, Error> {
    open_with(folder, Options::default()).await
}

/// As [`open`], with settings.
pub async fn open_with(folder: impl AsRef<Path>, options: Options) -> Result<Baton, Error> {
    let folder = folder.as_ref().to_owned();
    run_blocking(move || {
        let log = FileLog::open(FileOptions::new(&folder))?;
        Baton::on(log, SystemClock::default(), options)
    })
    .await?
}

impl Baton {
    /// An engine on any log and clock.
    pub fn on(log: impl Log, clock: impl Clock, options: Options) -> Result<Self, Error> {
        let (driver, threads) = Driver::start(Arc::new(log), Arc::new(clock), options)?;
        Ok(Self { driver, threads: Arc::new(threads) })
    }

    /// Where the data is and how it is made durable.
    pub fn description(&self) -> String {
        self.driver.shard.log.description()
    }

    /// A workspace. It comes into being with its first change.
    pub fn workspace(&self, name: &str) -> Result<Workspace, Error> {
        Workspace::new(self.clone(), name)
    }

    /// Finishes what was begun, closes the data, and refuses everything from now on. The folder is
    /// free when the last clone of the engine is dropped.
    pub async fn close(self) {
        // Without a thread for it the work is done here; closing must not fail.
        let threads = Arc::clone(&self.threads);
        if run_blocking(move || threads.stop()).await.is_err() {
            self.threads.stop();
        }
    }

    /// Writes a snapshot of a workspace now, and archives its past. Nobody needs to: the engine
    /// does it by itself when it is worth while.
    pub async fn compact(&self, workspace: &Workspace) -> Result<(), Error> {
        self.driver.ensure_loaded(workspace.name()).await?;
        let (driver, name) = (Arc::clone(&self.driver), workspace.name().clone());
        run_blocking(move || {
            driver.shard.archive(&name)?;
            driver.shard.snapshot(&name)
        })
        .await?
    }

    /// Writes all workspaces into one file while they are used; see [`backup`](crate::backup).
    pub async fn backup(&self, to: Box<dyn Write + Send>) -> Result<Summary, Error> {
        let driver = Arc::clone(&self.driver);
        run_blocking(move || driver.shard.backup(to)).await?
    }

    /// Workspaces in memory that have calls of webhooks to make, for whoever makes them.
    pub fn calling(&self) -> Vec<WorkspaceName> {
        self.driver.shard.machine().calling()
    }

    /// Loads every workspace in which time will cause something, one after the other: a call that
    /// was not made before the engine was closed is in one of them. What cannot be loaded is passed
    /// over.
    pub async fn wake_sleepers(&self) {
        let asleep = self.driver.shard.machine().asleep();
        for workspace in asleep {
            let _ = self.driver.ensure_loaded(&workspace).await;
        }
    }

    /// How many workspaces are in memory.
    pub fn resident_workspaces(&self) -> usize {
        self.driver.shard.machine().residents().len()
    }

    /// How much there is of everything, and how the engine does.
    pub async fn metrics(&self) -> Result<MetricsSnapshot, Error> {
        let driver = Arc::clone(&self.driver);
        run_blocking(move || driver.shard.metrics()).await
    }
}

impl Baton {
    /// Answers from files. What may need a whole workspace of the past is built on a thread of its
    /// own, so that no executor is held up.
    async fn query_past(
        &self,
        caller: &Caller,
        query: &Query,
        present: Revision,
    ) -> Result<Answer, Error> {
        let Caller { workspace, agent, .. } = caller.clone();
        if matches!(query, Query::State(_) | Query::Task(_) | Query::UserEvent(_)) {
            return self.driver.shard.query_past(&workspace, &agent, query, present);
        }
        let (driver, query) = (Arc::clone(&self.driver), query.clone());
        run_blocking(move || driver.shard.query_past(&workspace, &agent, &query, present)).await?
    }
}

impl Carrier for Baton {
    type Error = Error;
    type Watch = Watch;

    async fn mutate(&self, caller: &Caller, mutation: Mutation) -> Result<Answer, Error> {
        let mut request = Request { mutation, idempotency_key: caller.idempotency_key.clone() };
        let driver = &self.driver;
        loop {
            match driver.submit(&caller.workspace, request, &caller.agent)? {
                Submitted::Held(held) => {
                    let durable = driver.wait_durable(held.group()).await?;
                    return Ok(held.open(durable)?);
                }
                Submitted::Waits(waiting) => return waiting.answer().await,
                Submitted::Absent(back) => {
                    request = back;
                    driver.ensure_loaded(&caller.workspace).await?;
                }
                Submitted::Crowded(back, group) => {
                    request = back;
                    driver.wait_durable(group).await?;
                }
            }
        }
    }

    async fn ask(&self, caller: &Caller, query: Query) -> Result<Answer, Error> {
        let driver = &*self.driver;
        loop {
            if let Some(stopped) = driver.shard.watermark().stopped() {
                return Err(stopped);
            }
            match driver.shard.ask(&caller.workspace, &query) {
                Ok(Asked::Present(held)) => {
                    let durable = driver.wait_durable(held.group()).await?;
                    return Ok(held.open(durable)?);
                }
                Ok(Asked::Past(held)) => {
                    let durable = driver.wait_durable(held.group()).await?;
                    let present = held.open(durable);
                    driver.ensure_archived(&caller.workspace).await?;
                    let answer = self.query_past(caller, &query, present).await;
                    // A failed write elsewhere may empty the memory while the past is read.
                    if answer.is_ok() || driver.shard.is_resident(&caller.workspace) {
                        return answer;
                    }
                }
                Err(Absent(())) => driver.ensure_loaded(&caller.workspace).await?,
            }
        }
    }

    async fn watch(&self, caller: &Caller, request: wire::Watch) -> Result<Watch, Error> {
        Watch::begin(self, &caller.workspace, request).await
    }
}

impl Failure for Error {
    fn code(&self) -> &str {
        self.code()
    }

    fn kind(&self) -> Kind {
        self.kind()
    }

    fn hint(&self) -> &str {
        self.hint()
    }

    fn is_unknown(&self) -> bool {
        self.is_unknown()
    }

    fn into_winner(self) -> Result<Option<Entry>, Self> {
        match self {
            Self::Rejected(Rejection::State(rules::Rejection::VersionConflict {
                entry, ..
            })) => Ok(entry.map(|entry| *entry)),
            error => Err(error),
        }
    }

    fn odd(reply: &Reply) -> Self {
        unreachable!("the rules answered with {reply:?}")
    }
}
