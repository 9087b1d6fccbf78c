//! The public API of the engine: opened on a folder, it executes the calls of the handles that
//! [`baton_client`] defines.

mod blobs;
mod carrier;
mod change_feed;
mod submission;
mod watch;

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use baton_client::{Caller, Workspace};
use baton_core::{Answer, Mutation, Query, Request, Revision, WorkspaceName, wire};
use baton_log::Log;
use baton_log::file::{FileLog, Options as FileOptions};

pub use change_feed::ChangeFeedPage;
pub use watch::EngineWatch;

use crate::admission::Admission;
use crate::backup::Summary;
use crate::clock::{Clock, SystemClock};
use crate::driver::{Driver, Threads};
use crate::error::Error;
use crate::metrics::MetricsSnapshot;
use crate::oneshot::run_blocking;
use crate::options::Options;

/// The engine. Cheap to clone; it stops when the last clone, and every handle made from it, is
/// dropped.
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

/// Opens the data in a folder, which is created if it does not exist.
///
/// A folder can be open in one engine at a time, in one process.
pub async fn open(folder: impl AsRef<Path>) -> Result<Baton, baton_client::Error> {
    open_with(folder, Options::default()).await
}

/// Like [`open`], with options.
pub async fn open_with(
    folder: impl AsRef<Path>,
    options: Options,
) -> Result<Baton, baton_client::Error> {
    let folder = folder.as_ref().to_owned();
    let opened = run_blocking(move || {
        let log = FileLog::open(FileOptions::new(&folder))?;
        Baton::on(log, SystemClock::default(), options)
    });
    Ok(opened.await??)
}

impl Baton {
    /// An engine on any log and clock.
    pub fn on(log: impl Log, clock: impl Clock, options: Options) -> Result<Self, Error> {
        let (driver, threads) = Driver::start(Arc::new(log), Arc::new(clock), options)?;
        Ok(Self { driver, threads: Arc::new(threads) })
    }

    /// The location of the data, and how it is made durable.
    pub fn description(&self) -> String {
        self.driver.shard.log.description()
    }

    /// A workspace. It is created by its first change.
    pub fn workspace(&self, name: &str) -> Result<Workspace, baton_client::Error> {
        Workspace::new(Arc::new(self.clone()), name)
    }

    /// Completes what was submitted, closes the data, and refuses everything from now on. The
    /// folder is free when the last clone of the engine is dropped.
    pub async fn close(self) {
        // If no thread can be started, the work is done here; closing must not fail.
        let threads = Arc::clone(&self.threads);
        if run_blocking(move || threads.stop()).await.is_err() {
            self.threads.stop();
        }
    }

    /// Writes a snapshot of a workspace now, and archives its history. Not required: the engine
    /// does so automatically when it is worthwhile.
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

    /// Workspaces in memory with pending webhook calls.
    pub fn calling(&self) -> Vec<WorkspaceName> {
        self.driver.shard.machine().calling()
    }

    /// Loads every workspace with a deadline, one after the other: pending webhook calls from
    /// before the last shutdown are in one of them. Workspaces that cannot be loaded are skipped.
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

    /// The metrics of the engine.
    pub async fn metrics(&self) -> Result<MetricsSnapshot, Error> {
        let driver = Arc::clone(&self.driver);
        run_blocking(move || driver.shard.metrics()).await
    }
}

impl Baton {
    /// Answers from files. A query that may need a complete past workspace runs on a separate
    /// thread, so that no executor is blocked.
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

impl Baton {
    /// Executes a command or a transaction.
    pub async fn mutate(&self, caller: &Caller, mutation: Mutation) -> Result<Answer, Error> {
        let mut request = Request { mutation, idempotency_key: caller.idempotency_key.clone() };
        let driver = &self.driver;
        loop {
            match driver.submit(&caller.workspace, request, &caller.agent)? {
                Admission::Answer(held) => {
                    let durable = driver.wait_durable(held.group()).await?;
                    return Ok(held.open(durable)?);
                }
                Admission::Wait(waiting) => return waiting.answer().await,
                Admission::Retry(back, after) => {
                    request = back;
                    driver.wait_for_retry(&caller.workspace, after).await?;
                }
            }
        }
    }

    /// Answers a query.
    pub async fn ask(&self, caller: &Caller, query: Query) -> Result<Answer, Error> {
        let driver = &*self.driver;
        loop {
            if let Some(stopped) = driver.shard.watermark().stopped() {
                return Err(stopped);
            }
            match driver.shard.ask(&caller.workspace, &query, Some(&caller.agent)) {
                Admission::Answer(held) => {
                    let durable = driver.wait_durable(held.group()).await?;
                    return Ok(held.open(durable)?);
                }
                Admission::Wait(held) => {
                    let durable = driver.wait_durable(held.group()).await?;
                    let present = held.open(durable);
                    driver.ensure_archived(&caller.workspace).await?;
                    let answer = self.query_past(caller, &query, present).await;
                    // A failed write elsewhere may empty the memory while the past is read.
                    if answer.is_ok() || driver.shard.is_resident(&caller.workspace) {
                        return answer;
                    }
                }
                Admission::Retry((), after) => {
                    driver.wait_for_retry(&caller.workspace, after).await?;
                }
            }
        }
    }

    /// Starts a watch.
    pub async fn watch(&self, caller: &Caller, request: wire::Watch) -> Result<EngineWatch, Error> {
        EngineWatch::begin(self, &caller.workspace, request).await
    }
}
