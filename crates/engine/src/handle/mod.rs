//! The public API of the engine: opened on a folder, it executes the calls of the handles that
//! [`baton_client`] defines.

mod batch;
mod blobs;
mod carrier;
mod change_feed;
mod submission;
mod watch;
mod workspace_clock;

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use baton_client::{Caller, Workspace};
use baton_core::{Answer, Mutation, Query, Request, Revision, WorkspaceName, wire};
use baton_log::file::{FileLog, Options as FileOptions};
use baton_log::{Log, OpenError};

pub use change_feed::ChangeFeedPage;
pub use watch::EngineWatch;
pub use workspace_clock::WorkspaceClock;

use crate::admission::{Admission, Deferred};
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

/// Opens the data in a folder, which is created if it does not exist; or, with the feature
/// `postgres`, in a database: `postgres://user@host/database`; or, with the feature `nats`, in NATS
/// `JetStream`: `nats://host,host,host`.
///
/// Data can be open in one engine at a time, in one process.
pub async fn open(location: impl AsRef<Path>) -> Result<Baton, baton_client::Error> {
    open_with(location, Options::default()).await
}

/// Like [`open`], with options.
pub async fn open_with(
    location: impl AsRef<Path>,
    options: Options,
) -> Result<Baton, baton_client::Error> {
    let location = location.as_ref().to_owned();
    let opened = run_blocking(move || match database_address(&location) {
        Some(address) => open_database(address, options),
        None if options.secrets_key_file.is_some() => {
            let reason = "a key for secrets is for data in a database or in NATS".to_owned();
            Err(OpenError::Options { reason }.into())
        }
        None => {
            let log = FileLog::open(FileOptions::new(&location))?;
            Baton::on(log, SystemClock::default(), options)
        }
    });
    Ok(opened.await??)
}

/// The address of a database, if it is no folder.
fn database_address(location: &Path) -> Option<&str> {
    let schemes = ["postgres://", "postgresql://", "nats://"];
    location.to_str().filter(|text| schemes.iter().any(|scheme| text.starts_with(scheme)))
}

/// Opens a log that several processes share; refused while another one owns it.
fn open_database(address: &str, options: Options) -> Result<Baton, Error> {
    if address.starts_with("postgres") {
        return open_postgres(address, options);
    }
    open_nats(address, options)
}

#[cfg(any(feature = "nats", feature = "postgres"))]
fn open_shared(location: &dyn baton_cluster::Location, options: Options) -> Result<Baton, Error> {
    use baton_cluster::{SecretsKey, open_encrypted};

    let key = options.secrets_key_file.as_deref().map(SecretsKey::read).transpose()?;
    // How others name this process.
    let name = format!("process {}", std::process::id());
    let log = open_encrypted(location, &name, key)?;
    Baton::on(log, SystemClock::default(), options.for_database())
}

#[cfg(feature = "postgres")]
fn open_postgres(address: &str, options: Options) -> Result<Baton, Error> {
    use baton_postgres::{LocationError, PostgresLocation};

    let bad = |error: LocationError| OpenError::Options { reason: error.to_string() };
    let password = std::env::var("PGPASSWORD").ok();
    let location = PostgresLocation::parse(address, password.as_deref(), None).map_err(bad)?;
    open_shared(&location, options)
}

#[cfg(not(feature = "postgres"))]
fn open_postgres(_: &str, _: Options) -> Result<Baton, Error> {
    let reason = "a database needs the feature `postgres`".to_owned();
    Err(OpenError::Options { reason }.into())
}

#[cfg(feature = "nats")]
fn open_nats(address: &str, options: Options) -> Result<Baton, Error> {
    use baton_nats::{LocationError, NatsLocation, Secrets};

    let bad = |error: LocationError| OpenError::Options { reason: error.to_string() };
    let location = NatsLocation::parse(address, &Secrets::from_environment(), None).map_err(bad)?;
    open_shared(&location, options)
}

#[cfg(not(feature = "nats"))]
fn open_nats(_: &str, _: Options) -> Result<Baton, Error> {
    let reason = "data in NATS need the feature `nats`".to_owned();
    Err(OpenError::Options { reason }.into())
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
        self.driver.shard.check_serving()?;
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
    /// thread, so that no executor is blocked; and so does one of which the caller could not know
    /// that it is about the past.
    async fn query_past(
        &self,
        caller: &Caller,
        query: &Query,
        present: Revision,
        is_expected: bool,
    ) -> Result<Answer, Error> {
        let Caller { workspace, agent, .. } = caller.clone();
        let reads_little = matches!(query, Query::State(_) | Query::Task(_) | Query::UserEvent(_));
        if reads_little && is_expected {
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
                Admission::Answer(held) => return self.open_when_durable(held).await,
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
        let mut was_present = false;
        let shown = |mut answer: Answer| {
            answer.reply.hide_tokens(caller.viewer());
            answer
        };
        loop {
            driver.shard.check_serving()?;
            match driver.shard.ask(&caller.workspace, &query, Some(caller.viewer())) {
                Admission::Answer(held) => return self.open_when_durable(held).await,
                Admission::Wait(Deferred::Long) => {
                    was_present = true;
                    if let Some(held) = driver.ask_reader(&caller.workspace, &query).await? {
                        let durable = driver.wait_durable(held.group()).await?;
                        return Ok(shown(held.open(durable)?));
                    }
                }
                Admission::Wait(Deferred::Past(held)) => {
                    let durable = driver.wait_durable(held.group()).await?;
                    let present = held.open(durable);
                    driver.ensure_archived(&caller.workspace).await?;
                    driver.wait_settled(&caller.workspace).await;
                    let answer = self.query_past(caller, &query, present, !was_present).await;
                    let answer = answer.map(shown);
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
