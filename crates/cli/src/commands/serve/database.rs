//! `baton serve --log postgres://…`: one of the servers that share a database.
//!
//! ```text
//!   join ──▶ take shards ◀──▶ give shards ──▶ SIGTERM: give all, then end
//!     ▲          │
//!     └── declared gone: drop everything
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use baton::clock::SystemClock;
use baton::error::Error;
use baton::{Baton, Options};
use baton_log::OpenError;
use baton_postgres::placement::{self, Act};
use baton_postgres::{LocationError, Member, PostgresLocation, PostgresLog, Shards, View, now_ms};
use baton_server::server_log::{FieldValue, Level};
use baton_server::{Cluster, ClusterHandle, HOME, Routes, ServerStatus, Settings, shard_of};
use baton_tls::Trust;
use tokio::task::{JoinSet, spawn_blocking};

use super::announcer::Announcer;
use super::{StopSignals, first_token};
use crate::failure::{Failure, Fault};

/// How often a server looks whether it still owns its shards.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How long to wait before a database that is away is tried again.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// How long to wait before a shard that cannot be opened is tried again.
const SHARD_RETRY_MS: u64 = 5_000;
/// How long a server may take to give its shards to others before it ends.
const DRAIN_MS_MAX: u64 = 20_000;

/// Where an address leads.
pub(crate) fn location(address: &str, ca: Option<&Path>) -> Result<PostgresLocation, Failure> {
    let bad = |error: LocationError| Fault::Usage { reason: format!("--log: {error}") };
    let password = std::env::var("PGPASSWORD").ok();
    Ok(PostgresLocation::parse(address, password.as_deref(), ca).map_err(bad)?)
}

/// A server whose data are in a database.
pub(super) struct DatabaseServer {
    pub(super) location: PostgresLocation,
    /// The address that others are given; none for the one that it listens on.
    pub(super) advertise: Option<String>,
    pub(super) shards: Option<u32>,
    pub(super) ca_file: Option<PathBuf>,
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
        let server = Cluster::bind(self.settings.clone(), trust).await?;
        let scheme = if self.settings.tls.is_some() { "https" } else { "http" };
        let own = || format!("{scheme}://{}", server.address());
        let mut keeper = Keeper {
            location: self.location,
            url: self.advertise.unwrap_or_else(own),
            shards: self.shards.map_or(Shards::Several, Shards::Exactly),
            options: self.options,
            wants_tokens: self.settings.tokens,
            has_tokens: self.settings.tokens || self.settings.jwt.is_some(),
            handle: server.handle(),
            announcer,
            held: BTreeMap::new(),
            busy: BTreeSet::new(),
            not_before_ms: BTreeMap::new(),
            member: None,
        };
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
struct Held {
    log: Arc<PostgresLog>,
    baton: Baton,
}

/// What has become of a shard.
enum Done {
    Taken { shard: u32, held: Option<Held>, first_token: Option<String> },
    Failed { shard: u32, why: String },
    Given { shard: u32 },
}

/// How the work as a member ends.
enum Ended {
    Stopped,
    Gone,
}

/// Takes and gives shards.
struct Keeper<'a> {
    location: PostgresLocation,
    url: String,
    shards: Shards,
    options: Options,
    wants_tokens: bool,
    has_tokens: bool,
    handle: ClusterHandle,
    announcer: &'a Announcer,
    held: BTreeMap<u32, Held>,
    /// Shards that are being taken or given.
    busy: BTreeSet<u32>,
    /// What was seen before this says nothing about the shard any more.
    not_before_ms: BTreeMap<u32, u64>,
    member: Option<Arc<Member>>,
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
                self.announcer.began(joined.description(), &self.url, self.has_tokens);
            }
            is_first = false;
            self.member = Some(Arc::clone(&joined));
            match self.follow(&joined, signals).await {
                Ended::Stopped => return Ok(()),
                Ended::Gone => self.note(Level::Warn, "cluster.gone", None, "declared gone"),
            }
            self.drop_all().await;
        }
    }

    /// Joins the servers of the database. At the first start a database that is away is an error,
    /// later it is awaited.
    async fn join(&self, is_first: bool) -> Result<Arc<Member>, Failure> {
        loop {
            let (location, url, shards) = (self.location.clone(), self.url.clone(), self.shards);
            let joining = spawn_blocking(move || Member::join(location, &url, shards));
            match joining.await.map_err(|_| Error::Closed)? {
                Ok(member) => return Ok(member),
                Err(OpenError::Away { .. }) if !is_first => {
                    tokio::time::sleep(RETRY_AFTER).await;
                }
                Err(error) => return Err(Error::from(error).into()),
            }
        }
    }

    /// Takes and gives shards as the database says, until a signal or until this server is gone.
    async fn follow(&mut self, member: &Arc<Member>, signals: &mut StopSignals) -> Ended {
        let mut views = member.view();
        let mut routed_at_ms = None;
        let mut jobs = JoinSet::new();
        let mut drained_by_ms = None;
        loop {
            let view = Arc::clone(&views.borrow_and_update());
            if routed_at_ms.replace(view.looked_at_ms) != Some(view.looked_at_ms) {
                self.handle.set_routes(routes(&view, member.secret(), drained_by_ms.is_some()));
            }
            if view.is_gone {
                jobs.shutdown().await;
                return Ended::Gone;
            }
            self.give_lost(&mut jobs);
            self.act(member, &view, &mut jobs);
            if let Some(deadline) = drained_by_ms {
                let has_others = view.servers.iter().any(|it| it.id != view.me && !it.is_draining);
                let is_empty = self.held.is_empty() && self.busy.is_empty();
                if is_empty || !has_others || now_ms() > deadline {
                    jobs.shutdown().await;
                    return Ended::Stopped;
                }
            }
            tokio::select! {
                changed = views.changed() => if changed.is_err() {
                    return Ended::Gone;
                },
                Some(done) = jobs.join_next() => if let Ok(done) = done {
                    self.finish(done);
                },
                () = signals.received(), if drained_by_ms.is_none() => {
                    drained_by_ms = Some(now_ms() + DRAIN_MS_MAX);
                    self.handle.set_routes(routes(&view, member.secret(), true));
                    let member = Arc::clone(member);
                    let _ = spawn_blocking(move || member.drain()).await;
                }
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
        }
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
        let why = |held: &Held| match held.baton.stopped() {
            Some(stopped) => Some(stopped.to_string()),
            None => held.log.is_lost().then(|| "another server has taken over".to_owned()),
        };
        let lost: Vec<_> =
            self.held.iter().filter_map(|(shard, held)| Some((*shard, why(held)?))).collect();
        for (shard, why) in lost {
            self.note(Level::Warn, "shard.lost", Some(shard), &why);
            self.give(shard, jobs);
        }
    }

    fn act(&mut self, member: &Arc<Member>, view: &View, jobs: &mut JoinSet<Done>) {
        let held = self.held.keys().copied().collect();
        for act in placement::next(view, &held) {
            let (Act::Take { shard, .. } | Act::Give { shard }) = act;
            let not_before_ms = self.not_before_ms.get(&shard).copied().unwrap_or_default();
            if self.busy.contains(&shard) || view.looked_at_ms < not_before_ms {
                continue;
            }
            match act {
                Act::Take { shard, epoch } => self.take(member, shard, epoch, jobs),
                Act::Give { shard } => self.give(shard, jobs),
            }
        }
    }

    fn take(&mut self, member: &Arc<Member>, shard: u32, epoch: i64, jobs: &mut JoinSet<Done>) {
        self.busy.insert(shard);
        let (member, handle, options) =
            (Arc::clone(member), self.handle.clone(), self.options.clone());
        let shards = member.shards();
        let wants_token = self.wants_tokens && shard_of(HOME, shards) == shard;
        let opening = move || {
            let Some(log) = member.take(shard, epoch)? else { return Ok(None) };
            let log = Arc::new(log);
            let options = options.for_shard(shards);
            let baton = Baton::on(Arc::clone(&log), SystemClock::default(), options)?;
            Ok::<_, Error>(Some(Held { log, baton }))
        };
        jobs.spawn(async move {
            let held = match spawn_blocking(opening).await {
                Ok(Ok(held)) => held,
                Ok(Err(error)) => return Done::Failed { shard, why: error.to_string() },
                Err(error) => return Done::Failed { shard, why: error.to_string() },
            };
            let mut first = None;
            if let Some(Held { baton, .. }) = &held {
                if wants_token {
                    // If it cannot be written, the shard is lost, and the next owner tries.
                    first = first_token(baton).await.unwrap_or_default();
                }
                handle.adopt(shard, shards, baton.clone()).await;
            }
            Done::Taken { shard, held, first_token: first }
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
            Done::Taken { shard, held, first_token } => {
                self.ended(shard, 0);
                if let Some(held) = held {
                    self.note(Level::Info, "shard.taken", Some(shard), "");
                    self.held.insert(shard, held);
                }
                if let Some(token) = first_token {
                    self.announcer.first_token(&token);
                }
            }
            Done::Failed { shard, why } => {
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
        // What was being taken when the work was given up.
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

/// Ends the service of a shard, then gives it back: giving needs the network.
async fn give_back(handle: &ClusterHandle, shard: u32, held: Held) {
    handle.release(shard).await;
    let Held { log, baton } = held;
    drop(baton);
    let _ = spawn_blocking(move || log.close()).await;
}

fn shards_of(view: &View, server: &str) -> Vec<u32> {
    let numbered = (0..).zip(&view.shards);
    let own = numbered.filter(|(_, shard)| shard.owner.as_deref() == Some(server));
    own.map(|(number, _)| number).collect()
}

/// Where the shards are, for the server.
fn routes(view: &View, secret: &str, is_leaving: bool) -> Routes {
    let servers = view.servers.iter().map(|server| ServerStatus {
        id: server.id.clone(),
        address: server.address.clone(),
        version: server.version.clone(),
        heartbeat_age_ms: server.age_ms,
        draining: server.is_draining,
        shards: shards_of(view, &server.id),
    });
    let owners = view.shards.iter().map(|shard| shard.owner.clone());
    Routes {
        me: view.me.clone(),
        secret: secret.to_owned(),
        servers: servers.collect(),
        owners: owners.collect(),
        is_leaving,
    }
}
