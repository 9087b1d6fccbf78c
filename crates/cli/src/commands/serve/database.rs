//! `baton serve --log postgres://…`: leader or standby, and the changes between the two.
//!
//! ```text
//!   standby ── the log is free, or its owner gone ──▶ leader ── stopped ──▶ end
//!      ▲                                                │
//!      └────── another has the log, or a write failed ──┘
//! ```

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use baton::clock::SystemClock;
use baton::error::Error;
use baton::{Baton, Options};
use baton_log::OpenError;
use baton_postgres::{LocationError, PostgresLocation, PostgresLog, Standby as Waiting};
use baton_server::server_log::{FieldValue, Level};
use baton_server::{Leader, Server, Settings, Standby};
use tokio::task::spawn_blocking;

use super::announcer::Announcer;
use super::{StopSignals, first_token};
use crate::failure::{Failure, Fault};

/// How often a leader looks whether it still is one.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How long to wait before a database that is away is tried again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Where an address leads.
pub(crate) fn location(address: &str, ca: Option<&Path>) -> Result<PostgresLocation, Failure> {
    let bad = |error: LocationError| Fault::Usage { reason: format!("--log: {error}") };
    let password = std::env::var("PGPASSWORD").ok();
    Ok(PostgresLocation::parse(address, password.as_deref(), ca).map_err(bad)?)
}

/// A server whose log is in a database.
pub(super) struct DatabaseServer {
    pub(super) location: PostgresLocation,
    /// The address that others are given; none for the one that it listens on.
    pub(super) advertise: Option<String>,
    pub(super) options: Options,
    pub(super) settings: Settings,
}

/// Why a leader has ended.
enum Ended {
    Stopped,
    Lost(String),
}

impl DatabaseServer {
    /// Serves until a signal.
    pub(super) async fn run(
        mut self,
        announcer: &Announcer,
        mut signals: StopSignals,
    ) -> Result<(), Failure> {
        let mut is_first = true;
        loop {
            let leader = Leader::default();
            let standby = Standby::bind(self.settings.clone(), leader.clone()).await?;
            // The port stays, also if it was chosen freely.
            self.settings.listen = standby.address();
            let is_stopped = Arc::new(AtomicBool::new(false));
            let opening = self.open(announcer, &leader, &is_stopped, is_first);
            let opened = standby.run(async {
                tokio::select! {
                    biased;
                    () = signals.received() => None,
                    opened = opening => Some(opened),
                }
            });
            let Some(opened) = opened.await else {
                is_stopped.store(true, Ordering::SeqCst);
                announcer.ended();
                return Ok(());
            };
            let log = opened?;
            is_first = false;
            let led = self.lead(&log, announcer, &mut signals).await;
            let is_lost = log.is_lost();
            // Giving the log back needs the network.
            let _ = spawn_blocking(move || log.close()).await;
            let why = match led {
                Ok(Ended::Stopped) => {
                    announcer.ended();
                    return Ok(());
                }
                Ok(Ended::Lost(why)) => why,
                Err(_) if is_lost => "another server has taken over".to_owned(),
                Err(failure) => return Err(failure),
            };
            let fields = [("why", FieldValue::Text(why.as_str()))];
            announcer.server_log.write(Level::Warn, "leader.lost", &fields);
        }
    }

    fn url(&self) -> String {
        let scheme = if self.settings.tls.is_some() { "https" } else { "http" };
        let own = || format!("{scheme}://{}", self.settings.listen);
        self.advertise.clone().unwrap_or_else(own)
    }

    /// Waits for the log. At the first start a database that is away is an error, later it is
    /// awaited.
    async fn open(
        &self,
        announcer: &Announcer,
        leader: &Leader,
        is_stopped: &Arc<AtomicBool>,
        is_first: bool,
    ) -> Result<Arc<PostgresLog>, Failure> {
        loop {
            let (location, url) = (self.location.clone(), self.url());
            let (leader, is_stopped) = (leader.clone(), Arc::clone(is_stopped));
            let waits = announcer.waits(is_first, location.description(), &url);
            let waits = move |owner: Option<&str>| {
                if leader.set(owner) {
                    waits(owner);
                }
                if is_stopped.load(Ordering::SeqCst) {
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(())
            };
            let opening = move || PostgresLog::open(location, &url, Waiting::Wait, waits);
            match spawn_blocking(opening).await.map_err(|_| Error::Closed)? {
                Ok(log) => return Ok(Arc::new(log)),
                Err(OpenError::Away { .. }) if !is_first => {
                    tokio::time::sleep(RETRY_AFTER).await;
                }
                Err(error) => return Err(Error::from(error).into()),
            }
        }
    }

    /// Serves as the leader.
    async fn lead(
        &self,
        log: &Arc<PostgresLog>,
        announcer: &Announcer,
        signals: &mut StopSignals,
    ) -> Result<Ended, Failure> {
        let (under, options) = (Arc::clone(log), self.options.clone().for_database());
        let starting = move || Baton::on(under, SystemClock::default(), options);
        let baton = spawn_blocking(starting).await.map_err(|_| Error::Closed)??;
        let first = if self.settings.tokens { first_token(&baton).await? } else { None };
        let server = Server::bind(baton.clone(), self.settings.clone()).await?;
        if let Some(token) = first {
            announcer.first_token(&token);
        }
        let has_tokens = self.settings.tokens || self.settings.jwt.is_some();
        announcer.began(&baton.description(), &self.url(), has_tokens);
        let mut ended = Ended::Stopped;
        let until = async {
            tokio::select! {
                () = signals.received() => {}
                why = lost(log, &baton) => ended = Ended::Lost(why),
            }
        };
        server.run(until).await;
        Ok(ended)
    }
}

/// Returns when the log has another owner, or the engine has stopped after a failed write.
async fn lost(log: &PostgresLog, baton: &Baton) -> String {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        if let Some(stopped) = baton.stopped() {
            return stopped.to_string();
        }
        if log.is_lost() {
            return "another server has taken over".to_owned();
        }
    }
}
