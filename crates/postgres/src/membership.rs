//! The servers that share a schema: joining, heartbeats, who owns which shard, and the licence for
//! reads.
//!
//! ```text
//!   join ──▶ beat, look ──▶ beat, look ──▶ … ──▶ leave
//!                  │ a server whose beat has not changed for 2.0 s: declare it gone
//! ```
//!
//! One statement in the database declares a server gone: a late beat and the declaration conflict
//! on the row, and one of them wins. A server that was declared gone is never revived; it has to
//! join again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use baton_cluster::chunks::ChunkCache;
use baton_cluster::{
    DrainOutcome, Joined, Location, Network, Observations, OwnedLog, Roster, ServerRow, ShardRow,
    Shards, View, now_ms,
};
use baton_log::OpenError;
use baton_log::ownership::{BEAT_MS, Licence};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::blobs;
use crate::database::{Database, Failure, Purpose, Session, Value};
use crate::location::PostgresLocation;
use crate::ownership::Ownership;
use crate::postgres_log::PostgresLog;
use crate::schema;

/// The interval at which a server sends a heartbeat and reads those of the others.
const BEAT: Duration = Duration::from_millis(BEAT_MS);
/// How long one beat may take before it is tried on another connection.
const BEAT_MAX: Duration = Duration::from_millis(1_500);

const JOIN: &str = "with old as (delete from server v where seen_at < now() - interval '1 hour'
        and not exists (select 1 from shard s where s.server = v.id))
    insert into server (id, address, version, beat) values (gen_random_uuid(), $1, $2, 0)
    returning id::text";
const BEAT_ONCE: &str = "update server set beat = beat + 1, seen_at = clock_timestamp()
    where id = $1::text::uuid and not gone
    returning (extract(epoch from clock_timestamp()) * 1000)::bigint";
const SERVERS: &str = "select id::text, address, version, beat, draining,
    (extract(epoch from clock_timestamp() - seen_at) * 1000)::bigint, leaving
    from server where not gone order by id";
const SHARDS: &str = "select epoch, coalesce(server::text, '') from shard order by shard";
const DECLARE_GONE: &str = "update server set gone = true
    where id = $1::text::uuid and not gone and beat = $2 returning 1";
const LEAVING: &str = "update server set draining = true, leaving = true
    where id = $1::text::uuid";
const SET_DRAINED: &str = "update server set draining = $2::text::bool
    where id = $1::text::uuid and not gone and not leaving returning 1";
const IS_HERE: &str = "select 1 from server where id = $1::text::uuid and not gone";
const LEAVE: &str = "with given as (update shard set server = null where server = $1::text::uuid)
    update server set gone = true where id = $1::text::uuid returning 1";

/// The timeline of the database: another one after a standby was promoted, or an archive restored.
const TIMELINE: &str = "select substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)";

/// This process as one of the servers of a schema. It beats until it is dropped.
pub struct Member {
    database: Database,
    joined: Joined,
    cache: Arc<Mutex<ChunkCache<i64>>>,
    tasks: [JoinHandle<()>; 2],
    has_left: AtomicBool,
    /// Dropped last: giving shards back needs it.
    _network: Network,
}

impl Member {
    /// Joins the servers of a schema, which is created if it does not exist. `address` is how other
    /// servers reach this one.
    pub fn join(
        location: PostgresLocation,
        address: &str,
        shards: Shards,
    ) -> Result<Arc<Self>, OpenError> {
        let name = location.description().to_owned();
        let away = |reason: String| OpenError::Away { location: name.clone(), reason };
        let (database, network) = Database::new(location).map_err(|it| away(it.to_string()))?;
        let (asked, address, place) = (database.clone(), address.to_owned(), name.clone());
        let licence = Arc::new(Licence::default());
        let lent = Arc::clone(&licence);
        let joined = database.wait(async move {
            let prepared = schema::prepare(&asked, shards).await?;
            let failed = |failure: Failure| failure.at_opening(&place);
            let mut heart = Heart::join(&asked, &address, lent).await.map_err(failed)?;
            let view = heart.beat().await.map_err(failed)?;
            Ok((prepared, heart, view))
        });
        let closing = || away("the program is ending".to_owned());
        let (prepared, heart, view) = joined.ok_or_else(closing)??;
        let (sender, receiver) = watch::channel(Arc::new(view));
        let joined = Joined {
            id: heart.me.clone(),
            licence,
            view: receiver,
            description: format!("{name}; {}", prepared.durable),
            shards: prepared.shards,
            secret: prepared.secret,
        };
        let tasks =
            [database.spawn(heart.run(sender)), database.spawn(blobs::sweep(database.clone()))];
        Ok(Arc::new(Self {
            database,
            joined,
            cache: Arc::default(),
            tasks,
            has_left: AtomicBool::new(false),
            _network: network,
        }))
    }

    pub(crate) fn database(&self) -> &Database {
        &self.database
    }
}

impl Location for PostgresLocation {
    fn join(&self, address: &str, shards: Shards) -> Result<Arc<dyn Roster>, OpenError> {
        Ok(Member::join(self.clone(), address, shards)?)
    }

    fn description(&self) -> &str {
        Self::description(self)
    }
}

impl Roster for Member {
    baton_cluster::roster_of_joined!(joined);

    fn secrets_key(&self, mine: Option<&str>) -> Result<Option<String>, OpenError> {
        let (database, mine) = (self.database.clone(), mine.map(str::to_owned));
        let known = self.database.wait(async move { schema::secrets_key(&database, mine).await });
        let ended = || Err(Failure::Broken("the program is ending".to_owned()));
        let location = self.database.location().description();
        known.unwrap_or_else(ended).map_err(|failure| failure.at_opening(location))
    }

    fn take(
        self: Arc<Self>,
        shard: u32,
        epoch: i64,
    ) -> Result<Option<Arc<dyn OwnedLog>>, OpenError> {
        let number = i32::try_from(shard).unwrap_or(i32::MAX);
        let (database, me) = (self.database.clone(), self.joined.id.clone());
        let (licence, cache) = (Arc::clone(&self.joined.licence), Arc::clone(&self.cache));
        let location = self.database.location().description().to_owned();
        let taken = self.database.wait(async move {
            let taken = Ownership::take(&database, (&me, &licence), number, epoch).await;
            let Some(ownership) = taken.map_err(|failure| failure.at_opening(&location))? else {
                return Ok(None);
            };
            PostgresLog::load(&database, ownership, &cache).await.map(Some)
        });
        let Some(taken) = taken else { return Ok(None) };
        Ok(taken?.map(|loaded| Arc::new(PostgresLog::of(&self, loaded)) as Arc<dyn OwnedLog>))
    }

    fn announce_leaving(&self) {
        let _ = self.database.ask(LEAVING, vec![Value::Text(self.joined.id.clone())]);
    }

    fn set_drained(&self, server: &str, is_drained: bool) -> Result<DrainOutcome, OpenError> {
        let location = self.database.location().description();
        let ask = |sql, values| {
            let asked = self.database.ask(sql, values);
            asked.map_err(|failure: Failure| failure.at_opening(location))
        };
        let id = Value::Text(server.to_owned());
        let wish = Value::Text(is_drained.to_string());
        if !ask(SET_DRAINED, vec![id.clone(), wish])?.is_empty() {
            return Ok(DrainOutcome::Recorded);
        }
        let is_here = !ask(IS_HERE, vec![id])?.is_empty();
        Ok(if is_here { DrainOutcome::Leaving } else { DrainOutcome::Unknown })
    }

    fn leave(&self) {
        if self.has_left.swap(true, Ordering::SeqCst) {
            return;
        }
        for task in &self.tasks {
            task.abort();
        }
        self.joined.licence.lose();
        let (database, me) = (self.database.clone(), vec![Value::Text(self.joined.id.clone())]);
        let _ = self.database.wait(async move { database.query_once(LEAVE, me).await.is_ok() });
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.leave();
    }
}

/// The sender of heartbeats.
struct Heart {
    database: Database,
    me: String,
    licence: Arc<Licence>,
    /// All looks are on one connection, and a new connection begins the observations anew: after a
    /// crash of the database a beat that was seen before may have been lost.
    session: Option<Session>,
    /// The timeline of the database when this server joined.
    timeline: String,
    observed: Observations,
}

impl Heart {
    async fn join(
        database: &Database,
        address: &str,
        licence: Arc<Licence>,
    ) -> Result<Self, Failure> {
        let sent = now_ms();
        let session = database.connect(Purpose::Beat).await?;
        let timeline = timeline(&session).await?;
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let joined = [Value::Text(address.to_owned()), Value::Text(version)];
        let rows = session.query(JOIN, &joined).await?;
        let none = || Failure::Refused("the database gave no number".to_owned());
        let me: String = rows.first().ok_or_else(none)?.get(0);
        licence.renew(sent);
        let (database, session) = (database.clone(), Some(session));
        let observed = Observations::default();
        Ok(Self { database, me, licence, session, timeline, observed })
    }

    /// Beats until this server is declared gone.
    async fn run(mut self, views: watch::Sender<Arc<View>>) {
        loop {
            tokio::time::sleep(BEAT).await;
            let beaten = tokio::time::timeout(BEAT_MAX, self.beat()).await;
            match beaten.unwrap_or_else(|_| Err(Failure::Broken(String::new()))) {
                Ok(view) => {
                    let is_gone = view.is_gone;
                    views.send_replace(Arc::new(view));
                    if is_gone {
                        return;
                    }
                }
                Err(failure) => {
                    self.session = None;
                    self.observed.reconnect();
                    let why = failure.reason();
                    let why = if why.is_empty() { "the database does not answer" } else { &why };
                    views.send_modify(|view| *view = Arc::new(view.troubled(why)));
                }
            }
        }
    }

    async fn beat(&mut self) -> Result<View, Failure> {
        let session = match self.session.take() {
            Some(session) => session,
            None => {
                let session = self.database.connect(Purpose::Beat).await?;
                if let Some(gone) = self.leave_if_promoted(&session).await? {
                    return Ok(gone);
                }
                session
            }
        };
        let (sent, begun) = (now_ms(), Instant::now());
        let me = self.me.clone();
        let beaten = session.query(BEAT_ONCE, &[Value::Text(me.clone())]).await?;
        let Some(row) = beaten.first() else {
            self.licence.lose();
            return Ok(View { me, is_gone: true, ..View::default() });
        };
        let (heartbeat, time_ms) = (begun.elapsed(), row.get::<_, i64>(0));
        let log_clock_ms = (u64::try_from(time_ms).unwrap_or_default(), now_ms());
        self.licence.renew(sent);
        let rows = session.query(SERVERS, &[]).await?;
        let mut servers = Vec::with_capacity(rows.len());
        for row in &rows {
            let age_ms: i64 = row.get(5);
            let server = ServerRow {
                id: row.get(0),
                address: row.get(1),
                version: row.get(2),
                beat: row.get(3),
                is_draining: row.get(4),
                is_leaving: row.get(6),
                age_ms: u64::try_from(age_ms).unwrap_or_default(),
            };
            if !self.is_declared_gone(&session, &server).await? {
                servers.push(server);
            }
        }
        self.observed.keep(&servers);
        let rows = session.query(SHARDS, &[]).await?;
        let shards = rows.iter().map(|row| ShardRow::seen(row.get(0), Some(row.get(1)), &servers));
        let shards = shards.collect();
        self.session = Some(session);
        let view = View { me, looked_at_ms: sent, heartbeat, log_clock_ms, ..View::default() };
        Ok(View { servers, shards, ..view })
    }

    /// A database that was a standby may lack records that were acknowledged, and what this server
    /// has in memory. It leaves, so that everything is loaded again from what the database has.
    async fn leave_if_promoted(&mut self, session: &Session) -> Result<Option<View>, Failure> {
        let (before, now) = (&self.timeline, timeline(session).await?);
        if *before == now {
            return Ok(None);
        }
        let why = format!(
            "the database went from timeline {before} to {now}: everything is loaded again, and \
             acknowledged writes that the database does not have are lost"
        );
        self.licence.lose();
        let me = self.me.clone();
        session.query(LEAVE, &[Value::Text(me.clone())]).await?;
        Ok(Some(View { me, is_gone: true, trouble: Some(why), ..View::default() }))
    }

    /// Observes a server, and declares it gone if it was silent for too long.
    async fn is_declared_gone(
        &mut self,
        session: &Session,
        server: &ServerRow,
    ) -> Result<bool, Failure> {
        if server.id == self.me || !self.observed.is_silent(server, now_ms()) {
            return Ok(false);
        }
        let judged = [Value::Text(server.id.clone()), Value::Long(server.beat)];
        Ok(!session.query(DECLARE_GONE, &judged).await?.is_empty())
    }
}

async fn timeline(session: &Session) -> Result<String, Failure> {
    let rows = session.query(TIMELINE, &[]).await?;
    let none = || Failure::Refused("the database did not name its timeline".to_owned());
    Ok(rows.first().ok_or_else(none)?.get(0))
}
