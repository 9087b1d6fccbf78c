//! `baton serve --log postgres://…` or `nats://…`: one of the servers that share a log.
//!
//! ```text
//!   join ──▶ take shards ◀──▶ give shards ──▶ SIGTERM: give all, then end
//!     ▲          │
//!     ├── declared gone: drop everything
//!     └── cannot open a shard: leave, join without shards, and try again later
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use baton::clock::SystemClock;
use baton::error::Error;
use baton::{Baton, Options};
use baton_cluster::placement::{self, Act};
use baton_cluster::{
    DrainOutcome, EncryptedSecrets, Location, OwnedLog, Roster, SecretsKey, ShardRow, Shards, View,
    check_key, now_ms,
};
use baton_core::Timestamp;
use baton_log::OpenError;
use baton_server::server_log::{FieldValue, Level};
use baton_server::{
    Cluster, ClusterHandle, DrainRequest, HOME, Recorded, Routes, Settings, shard_of,
};
use baton_tls::Trust;
use tokio::sync::mpsc;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::Instant;

use super::announcer::Announcer;
use super::drained::Drained;
use super::failovers::Failovers;
use super::failures::Failures;
use super::seen::{has_others, routes};
use super::troubles::{Reasons, Troubles, loss};
use super::{StopSignals, first_token};
use crate::failure::{Failure, Fault};

/// How often a server looks whether it still owns its shards.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How long to wait before a database that is away is tried again.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// How long to wait before a shard that cannot be opened is tried again.
const SHARD_RETRY_MS: u64 = 5_000;
/// A view older than this may be outdated.
const VIEW_MS_MAX: u64 = 3_000;
/// How long a server may take to give its shards to others before it ends.
const LEAVING_MS_MAX: u64 = 20_000;

/// Parses an address of a log.
pub(crate) fn location(address: &str, ca: Option<&Path>) -> Result<Arc<dyn Location>, Failure> {
    if address.starts_with("nats://") {
        return nats(address, ca);
    }
    postgres(address, ca)
}

#[cfg(feature = "postgres")]
fn postgres(address: &str, ca: Option<&Path>) -> Result<Arc<dyn Location>, Failure> {
    use baton_postgres::{LocationError, PostgresLocation};

    let bad = |error: LocationError| Fault::Usage { reason: format!("--log: {error}") };
    let password = std::env::var("PGPASSWORD").ok();
    Ok(Arc::new(PostgresLocation::parse(address, password.as_deref(), ca).map_err(bad)?))
}

#[cfg(not(feature = "postgres"))]
fn postgres(_: &str, _: Option<&Path>) -> Result<Arc<dyn Location>, Failure> {
    Err(Fault::NotBuilt { what: "a log in PostgreSQL", feature: "postgres" }.into())
}

#[cfg(feature = "nats")]
fn nats(address: &str, ca: Option<&Path>) -> Result<Arc<dyn Location>, Failure> {
    use baton_nats::{LocationError, NatsLocation, Secrets};

    let bad = |error: LocationError| Fault::Usage { reason: format!("--log: {error}") };
    Ok(Arc::new(NatsLocation::parse(address, &Secrets::from_environment(), ca).map_err(bad)?))
}

#[cfg(not(feature = "nats"))]
fn nats(_: &str, _: Option<&Path>) -> Result<Arc<dyn Location>, Failure> {
    Err(Fault::NotBuilt { what: "a log in NATS", feature: "nats" }.into())
}

/// A server whose data are in a log that several servers share.
pub(super) struct DatabaseServer {
    pub(super) location: Arc<dyn Location>,
    /// The address that others are given; none for the one that it listens on.
    pub(super) advertise: Option<String>,
    pub(super) shards: Option<u32>,
    pub(super) ca_file: Option<PathBuf>,
    /// The key for secrets.
    pub(super) key: Option<Arc<SecretsKey>>,
    pub(super) options: Options,
    pub(super) settings: Settings,
}

impl DatabaseServer {
    /// Serves until a signal.
    pub(super) async fn run(
        self,
        announcer: &Announcer,
        mut signals: StopSignals,
    ) -> Result<(), Failure> {
        let is_secure = self.settings.tls.is_some()
            || self.advertise.as_deref().is_some_and(|url| url.starts_with("https://"));
        let trust = if is_secure { Some(Trust::of(self.ca_file.as_deref())?) } else { None };
        let mut server = Cluster::bind(self.settings.clone(), trust).await?;
        let drains = server.drains().ok_or(Error::Closed)?;
        let scheme = if self.settings.tls.is_some() { "https" } else { "http" };
        let own = || format!("{scheme}://{}", server.address());
        let mut keeper = Keeper {
            location: self.location,
            url: self.advertise.unwrap_or_else(own),
            shards: self.shards.map_or(Shards::Several, Shards::Exactly),
            key: self.key,
            options: self.options,
            wants_tokens: self.settings.tokens,
            has_tokens: self.settings.tokens || self.settings.jwt.is_some(),
            handle: server.handle(),
            announcer,
            held: BTreeMap::new(),
            busy: BTreeSet::new(),
            not_before_ms: BTreeMap::new(),
            member: None,
            failures: Failures::default(),
            drains,
            drained: Drained::default(),
            failovers: Failovers::default(),
        };
        keeper.warn_of_key();
        let mut outcome = Ok(());
        server.run(async { outcome = keeper.keep(&mut signals).await }).await;
        keeper.leave().await;
        if outcome.is_ok() {
            announcer.ended();
        }
        outcome
    }
}

/// A shard that this server owns.
struct OwnedShard {
    log: Arc<dyn OwnedLog>,
    baton: Baton,
}

/// The result of a job for a shard.
enum Done {
    Taken {
        shard: u32,
        held: Option<OwnedShard>,
        first_token: Option<String>,
        took: Duration,
    },
    /// `is_away` if the log did not answer, which is no evidence about the shard.
    Failed {
        shard: u32,
        why: String,
        is_away: bool,
    },
    Given {
        shard: u32,
    },
}

/// How the work as a member ends.
enum Ended {
    Stopped,
    Gone,
    /// It begins or ends a rest, for which it joins as another server.
    Again,
}

/// Takes and gives shards.
struct Keeper<'a> {
    location: Arc<dyn Location>,
    url: String,
    shards: Shards,
    key: Option<Arc<SecretsKey>>,
    options: Options,
    wants_tokens: bool,
    has_tokens: bool,
    handle: ClusterHandle,
    announcer: &'a Announcer,
    held: BTreeMap<u32, OwnedShard>,
    /// Shards that are being taken or given.
    busy: BTreeSet<u32>,
    /// Views from this time or before are outdated for the shard.
    not_before_ms: BTreeMap<u32, u64>,
    member: Option<Arc<dyn Roster>>,
    failures: Failures,
    /// The requests of operators at this server.
    drains: mpsc::Receiver<DrainRequest>,
    drained: Drained,
    failovers: Failovers,
}

impl Keeper<'_> {
    /// Keeps shards until a signal.
    async fn keep(&mut self, signals: &mut StopSignals) -> Result<(), Failure> {
        let mut is_first = true;
        loop {
            let joined = tokio::select! {
                biased;
                () = signals.received() => return Ok(()),
                joined = self.join(is_first) => joined?,
            };
            if is_first {
                let secrets = match &self.key {
                    Some(key) => format!("secrets encrypted with the key {}", key.id()),
                    None => "no secrets, without --secrets-key-file".to_owned(),
                };
                let data = format!("{}; {secrets}", joined.description());
                self.announcer.began(&data, &self.url, self.has_tokens);
            }
            is_first = false;
            self.member = Some(Arc::clone(&joined));
            self.resume_drains(&joined).await;
            match self.follow(&joined, signals).await {
                Ended::Stopped => return Ok(()),
                Ended::Gone => {
                    let trouble = joined.view().borrow().trouble.clone();
                    match trouble.filter(|_| joined.view().borrow().is_gone) {
                        Some(why) => self.note(Level::Error, "log.went_back", None, &why),
                        None => self.note(Level::Warn, "cluster.gone", None, "declared gone"),
                    }
                    self.handle.metrics().lost.add(self.held.len() as u64);
                    self.drop_all().await;
                }
                Ended::Again => self.leave().await,
            }
        }
    }

    /// A server that was drained, or cannot open shards, joins as such.
    async fn resume_drains(&mut self, joined: &Arc<dyn Roster>) {
        if self.drained.is_wished() {
            let joined = Arc::clone(joined);
            let set = move || joined.set_drained(joined.id(), true);
            if !matches!(spawn_blocking(set).await, Ok(Ok(DrainOutcome::Recorded))) {
                let why = "it has joined again, and the log does not answer";
                self.note(Level::Warn, "server.undrained", None, why);
                self.drained = Drained::default();
            }
            self.drained.recorded(now_ms());
        }
        if self.failures.why().is_some() {
            let joined = Arc::clone(joined);
            let _ = spawn_blocking(move || joined.announce_leaving()).await;
        }
    }

    /// Joins the servers of the database. At the first start a database that is away is an error,
    /// later it is awaited.
    async fn join(&self, is_first: bool) -> Result<Arc<dyn Roster>, Failure> {
        let mut reasons = Reasons::default();
        loop {
            let (location, url, shards) =
                (Arc::clone(&self.location), self.url.clone(), self.shards);
            let key = self.key.clone();
            let joining = spawn_blocking(move || {
                let member = location.join(&url, shards)?;
                check_key(location.description(), &*member, key.as_deref())?;
                Ok(member)
            });
            match joining.await.map_err(|_| Error::Closed)? {
                Ok(member) => return Ok(member),
                Err(OpenError::Away { reason, .. }) if !is_first => {
                    if reasons.is_new(&reason) {
                        self.note(Level::Warn, "log.unreachable", None, &reason);
                    }
                    tokio::time::sleep(RETRY_AFTER).await;
                }
                Err(error) => return Err(Error::from(error).into()),
            }
        }
    }

    /// Takes and gives shards as the database assigns them, until a signal or until this server is
    /// gone.
    async fn follow(&mut self, member: &Arc<dyn Roster>, signals: &mut StopSignals) -> Ended {
        let mut views = member.view();
        let mut routed_at_ms = None;
        let mut jobs = JoinSet::new();
        let mut left_by_ms = None;
        let mut troubles = Troubles::default();
        loop {
            let view = Arc::clone(&views.borrow_and_update());
            for (level, what, why) in troubles.see(&view) {
                self.note(level, what, None, &why);
            }
            self.failovers.see(&view);
            if let Some(is_drained) = self.drained.see(&view) {
                let what = if is_drained { "server.drained" } else { "server.undrained" };
                self.note(Level::Info, what, None, "");
            }
            if routed_at_ms.replace(view.looked_at_ms) != Some(view.looked_at_ms) {
                self.publish(&view, member, left_by_ms.is_some());
                if !view.is_gone {
                    self.handle.metrics().heartbeats.record(view.heartbeat);
                }
            }
            if view.is_gone {
                jobs.shutdown().await;
                return Ended::Gone;
            }
            if self.failures.why().is_none() && !self.drained.is_too_old(&view) {
                self.give_lost(&mut jobs);
                self.act(member, &view, &mut jobs);
            }
            if left_by_ms.is_none() && self.begins_or_ends_rest(&view) {
                jobs.shutdown().await;
                return Ended::Again;
            }
            if left_by_ms.is_some_and(|deadline| self.may_leave(&view, deadline)) {
                jobs.shutdown().await;
                return Ended::Stopped;
            }
            tokio::select! {
                changed = views.changed() => if changed.is_err() {
                    return Ended::Gone;
                },
                Some(done) = jobs.join_next() => if let Ok(done) = done {
                    self.finish(done);
                },
                () = signals.received(), if left_by_ms.is_none() => {
                    left_by_ms = Some(now_ms() + LEAVING_MS_MAX);
                    self.publish(&view, member, true);
                    let member = Arc::clone(member);
                    let _ = spawn_blocking(move || member.announce_leaving()).await;
                }
                Some(asked) = self.drains.recv() => record(member, asked),
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
        }
    }

    fn publish(&self, view: &View, member: &Arc<dyn Roster>, is_leaving: bool) {
        let failing = self.failures.why().map(str::to_owned);
        self.handle.set_routes(Routes { failing, ..routes(view, member.secret(), is_leaving) });
    }

    /// Whether it has to join again, without shards or to take some: see [`Failures`]. An old view
    /// is no evidence about other servers.
    fn begins_or_ends_rest(&mut self, view: &View) -> bool {
        let is_recent = view.looked_at_ms + VIEW_MS_MAX > now_ms();
        if !is_recent {
            // Without the log, every server fails: that must not make all of them rest.
            self.failures.forget();
            return false;
        }
        if self.failures.why().is_some() {
            return self.failures.has_rested(now_ms(), has_others(view));
        }
        if !self.failures.are_too_many() || !has_others(view) {
            return false;
        }
        let pause_ms = self.failures.rest(now_ms());
        let why = format!(
            "{}; other servers take the shards, the next attempt is in {} s",
            self.failures.why().unwrap_or_default(),
            pause_ms / 1_000
        );
        self.note(Level::Error, "server.resting", None, &why);
        true
    }

    /// Whether this server is no longer needed. Until others own its shards, requests that arrive
    /// here would be refused, which other servers answer.
    fn may_leave(&self, view: &View, deadline_ms: u64) -> bool {
        let is_taken = |shard: &ShardRow| shard.owner.as_ref().is_some_and(|it| *it != view.me);
        let is_empty = self.held.is_empty() && self.busy.is_empty();
        let is_handed_over = is_empty && view.shards.iter().all(is_taken);
        is_handed_over || !has_others(view) || now_ms() > deadline_ms
    }

    /// A key that others can read protects nothing from them.
    fn warn_of_key(&self) {
        let Some(mode) = self.key.as_ref().and_then(|key| key.exposed()) else { return };
        let why = format!("others may read the key file, its mode is {mode:04o}: chmod 600");
        self.note(Level::Warn, "secrets_key.exposed", None, &why);
    }

    fn note(&self, level: Level, what: &'static str, shard: Option<u32>, why: &str) {
        let mut fields = Vec::new();
        if let Some(shard) = shard {
            fields.push(("shard", FieldValue::Number(shard.into())));
        }
        if !why.is_empty() {
            fields.push(("why", FieldValue::Text(why)));
        }
        self.announcer.server_log.write(level, what, &fields);
    }

    /// Gives shards back that another server has, or whose engine has stopped after a failed write.
    fn give_lost(&mut self, jobs: &mut JoinSet<Done>) {
        let line = |held: &OwnedShard| loss(held.baton.stopped().as_ref(), held.log.is_lost());
        let lost: Vec<_> =
            self.held.iter().filter_map(|(shard, held)| Some((*shard, line(held)?))).collect();
        for (shard, (level, what, why)) in lost {
            self.note(level, what, Some(shard), &why);
            self.handle.metrics().lost.add(1);
            self.give(shard, jobs);
        }
    }

    fn act(&mut self, member: &Arc<dyn Roster>, view: &View, jobs: &mut JoinSet<Done>) {
        let held = self.held.keys().copied().collect();
        for act in placement::next(view, &held) {
            let (Act::Take { shard, .. } | Act::Give { shard }) = act;
            // A look of the same millisecond may have been earlier: a shard that was just given
            // back would be taken again.
            let ended_ms = self.not_before_ms.get(&shard).copied().unwrap_or_default();
            if self.busy.contains(&shard) || view.looked_at_ms <= ended_ms {
                continue;
            }
            match act {
                Act::Take { shard, epoch } => self.take(member, shard, epoch, jobs),
                Act::Give { shard } => self.give(shard, jobs),
            }
        }
    }

    fn take(&mut self, member: &Arc<dyn Roster>, shard: u32, epoch: i64, jobs: &mut JoinSet<Done>) {
        self.busy.insert(shard);
        let (member, handle, options) =
            (Arc::clone(member), self.handle.clone(), self.options.clone());
        let (shards, key, view) = (member.shards(), self.key.clone(), member.view());
        let wants_token = self.wants_tokens && shard_of(HOME, shards) == shard;
        let begun = Instant::now();
        let opening = move || {
            let Some(log) = member.take(shard, epoch)? else { return Ok(None) };
            let options = options.for_shard(shards);
            let encrypted = EncryptedSecrets::new(Arc::clone(&log), key);
            // All owners of a shard have one clock, that of the log: a machine with a wrong clock
            // ends nothing early.
            let clock = SystemClock::beginning_at(Timestamp(view.borrow().log_time_ms()));
            let baton = Baton::on(encrypted, clock, options)?;
            Ok::<_, Error>(Some(OwnedShard { log, baton }))
        };
        jobs.spawn(async move {
            let held = match spawn_blocking(opening).await {
                Ok(Ok(held)) => held,
                Ok(Err(error)) => {
                    let is_away = matches!(error, Error::Away | Error::Fenced);
                    return Done::Failed { shard, why: error.to_string(), is_away };
                }
                Err(error) => {
                    return Done::Failed { shard, why: error.to_string(), is_away: false };
                }
            };
            let mut first = None;
            if let Some(OwnedShard { baton, .. }) = &held {
                if wants_token {
                    // If it cannot be written, the shard is lost, and the next owner tries.
                    first = first_token(baton).await.unwrap_or_default();
                }
                handle.adopt(shard, shards, baton.clone()).await;
            }
            Done::Taken { shard, held, first_token: first, took: begun.elapsed() }
        });
    }

    fn give(&mut self, shard: u32, jobs: &mut JoinSet<Done>) {
        let Some(held) = self.held.remove(&shard) else { return };
        self.busy.insert(shard);
        let handle = self.handle.clone();
        jobs.spawn(async move {
            give_back(&handle, shard, held).await;
            Done::Given { shard }
        });
    }

    fn finish(&mut self, done: Done) {
        match done {
            Done::Taken { shard, held, first_token, took } => {
                self.ended(shard, 0);
                if let Some(held) = held {
                    self.failures.opened(shard);
                    self.handle.metrics().taken.add(1);
                    self.handle.metrics().take_times.record(took);
                    if let Some(lasted) = self.failovers.served(shard, now_ms()) {
                        self.handle.metrics().failovers.record(lasted);
                    }
                    self.note(Level::Info, "shard.taken", Some(shard), "");
                    self.held.insert(shard, held);
                }
                if let Some(token) = first_token {
                    self.announcer.first_token(&token);
                }
            }
            Done::Failed { shard, why, is_away } => {
                if !is_away {
                    self.failures.failed(shard, &why);
                }
                self.note(Level::Error, "shard.failed", Some(shard), &why);
                self.ended(shard, SHARD_RETRY_MS);
            }
            Done::Given { shard } => {
                self.note(Level::Info, "shard.given", Some(shard), "");
                self.ended(shard, 0);
            }
        }
    }

    fn ended(&mut self, shard: u32, pause_ms: u64) {
        self.busy.remove(&shard);
        self.not_before_ms.insert(shard, now_ms() + pause_ms);
    }

    /// Ends the service of all shards.
    async fn drop_all(&mut self) {
        let mut giving = JoinSet::new();
        for (shard, held) in std::mem::take(&mut self.held) {
            let handle = self.handle.clone();
            giving.spawn(async move { give_back(&handle, shard, held).await });
        }
        while giving.join_next().await.is_some() {}
        // The shards that were being taken when the work was given up.
        for shard in std::mem::take(&mut self.busy) {
            self.handle.release(shard).await;
        }
        self.not_before_ms.clear();
    }

    /// Gives everything back.
    async fn leave(&mut self) {
        self.drop_all().await;
        if let Some(member) = self.member.take() {
            let _ = spawn_blocking(move || member.leave()).await;
        }
    }
}

/// Records in the log what an operator asks for. Only the operator waits for it.
fn record(member: &Arc<dyn Roster>, asked: DrainRequest) {
    if !asked.is_awaited() {
        return;
    }
    let member = Arc::clone(member);
    drop(spawn_blocking(move || {
        let recorded = match member.set_drained(&asked.server, asked.is_drained) {
            Ok(DrainOutcome::Recorded) => Recorded::Done,
            Ok(DrainOutcome::Unknown) => Recorded::Unknown,
            Ok(DrainOutcome::Leaving) => Recorded::Leaving,
            Err(_) => Recorded::Away,
        };
        asked.answer(recorded);
    }));
}

/// Ends the service of a shard, then gives it back: giving needs the network.
async fn give_back(handle: &ClusterHandle, shard: u32, held: OwnedShard) {
    handle.release(shard).await;
    let OwnedShard { log, baton } = held;
    drop(baton);
    let _ = spawn_blocking(move || log.close()).await;
}
