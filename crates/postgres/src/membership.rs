//! The servers that share a schema: joining, heartbeats, who owns which shard, and the licence for
//! reads.
//!
//! ```text
//!   join ──▶ beat, look ──▶ beat, look ──▶ … ──▶ leave
//!                  │ a server whose beat has not changed for 2.0 s: declare it gone
//! ```
//!
//! That a server is gone is a fact in the database, decided by one statement: a late beat and the
//! declaration meet on the row, and one of them wins. A server that was declared gone is never
//! revived; it has to join again.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use baton_log::OpenError;
use baton_log::ownership::{LOOK_MS, Licence, Observation};
use rustix::time::{ClockId, clock_gettime};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::blobs::{self, Cache};
use crate::database::{Database, Failure, Network, Purpose, Session, Value};
use crate::location::PostgresLocation;
use crate::ownership::Ownership;
use crate::postgres_log::PostgresLog;
use crate::schema::{self, Shards};

/// How often a server beats, and looks at the others.
const BEAT: Duration = Duration::from_millis(LOOK_MS);
/// How long one beat may take before it is tried on another connection.
const BEAT_MAX: Duration = Duration::from_millis(1_500);

const JOIN: &str = "with old as (delete from server v where seen_at < now() - interval '1 hour'
        and not exists (select 1 from shard s where s.server = v.id))
    insert into server (id, address, version, beat) values (gen_random_uuid(), $1, $2, 0)
    returning id::text";
const BEAT_ONCE: &str = "update server set beat = beat + 1, seen_at = clock_timestamp()
    where id = $1::text::uuid and not gone returning beat";
const SERVERS: &str = "select id::text, address, version, beat, draining,
    (extract(epoch from clock_timestamp() - seen_at) * 1000)::bigint
    from server where not gone order by id";
const SHARDS: &str = "select epoch, coalesce(server::text, '') from shard order by shard";
const DECLARE_GONE: &str = "update server set gone = true
    where id = $1::text::uuid and not gone and beat = $2 returning 1";
const DRAIN: &str = "update server set draining = true where id = $1::text::uuid";
const LEAVE: &str = "with given as (update shard set server = null where server = $1::text::uuid)
    update server set gone = true where id = $1::text::uuid returning 1";

/// Milliseconds that also count while the machine is suspended.
#[must_use]
pub fn now_ms() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    let part = |number: i64| u64::try_from(number).unwrap_or_default();
    part(now.tv_sec) * 1_000 + part(now.tv_nsec) / 1_000_000
}

/// A server that was not declared gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerRow {
    /// Its id, new at every start.
    pub id: String,
    /// How others reach it.
    pub address: String,
    /// The version of its program.
    pub version: String,
    /// The number of its last heartbeat.
    pub beat: i64,
    /// Whether it gives its shards back.
    pub is_draining: bool,
    /// How long ago its last heartbeat was, by the clock of the database.
    pub age_ms: u64,
}

/// A shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardRow {
    /// How often it was taken.
    pub epoch: i64,
    /// The id of its owner; none if it has none that is alive.
    pub owner: Option<String>,
}

/// The servers and shards of a schema, as one of the servers has seen them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// The id of the server that looked.
    pub me: String,
    /// When it began to look, by [`now_ms`].
    pub looked_at_ms: u64,
    /// Whether it was declared gone. Then nothing else here is true any more.
    pub is_gone: bool,
    /// The servers, by id.
    pub servers: Vec<ServerRow>,
    /// The shards, by number.
    pub shards: Vec<ShardRow>,
}

impl View {
    /// The server that owns a shard, if one that is alive does.
    #[must_use]
    pub fn owner(&self, shard: u32) -> Option<&ServerRow> {
        let owner = self.shards.get(shard as usize)?.owner.as_deref()?;
        self.servers.iter().find(|server| server.id == owner)
    }
}

/// This process as one of the servers of a schema. It beats until it is dropped.
pub struct Member {
    database: Database,
    id: String,
    licence: Arc<Licence>,
    view: watch::Receiver<Arc<View>>,
    cache: Arc<Mutex<Cache>>,
    description: String,
    shards: u32,
    secret: String,
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
        let id = heart.me.clone();
        let tasks =
            [database.spawn(heart.run(sender)), database.spawn(blobs::sweep(database.clone()))];
        Ok(Arc::new(Self {
            database,
            id,
            licence,
            view: receiver,
            cache: Arc::default(),
            description: format!("{name}; {}", prepared.durable),
            shards: prepared.shards,
            secret: prepared.secret,
            tasks,
            has_left: AtomicBool::new(false),
            _network: network,
        }))
    }

    /// The id of this server.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// How many shards the schema has.
    #[must_use]
    pub fn shards(&self) -> u32 {
        self.shards
    }

    /// What servers of the schema prove to each other: reading it takes access to the database.
    #[must_use]
    pub fn secret(&self) -> &str {
        &self.secret
    }

    /// Where the data are, and how durable.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The servers and shards, as they change.
    #[must_use]
    pub fn view(&self) -> watch::Receiver<Arc<View>> {
        self.view.clone()
    }

    /// Whether this server was declared gone. It has to join again.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.licence.is_lost()
    }

    /// Takes a shard over, and reads its log. None if it has another owner, or the epoch has
    /// changed.
    pub fn take(
        self: &Arc<Self>,
        shard: u32,
        epoch: i64,
    ) -> Result<Option<PostgresLog>, OpenError> {
        let number = i32::try_from(shard).unwrap_or(i32::MAX);
        let (database, me) = (self.database.clone(), self.id.clone());
        let (licence, cache) = (Arc::clone(&self.licence), Arc::clone(&self.cache));
        let location = self.database.location().description().to_owned();
        let taken = self.database.wait(async move {
            let taken = Ownership::take(&database, (&me, &licence), number, epoch).await;
            let Some(ownership) = taken.map_err(|failure| failure.at_opening(&location))? else {
                return Ok(None);
            };
            PostgresLog::load(&database, ownership, &cache).await.map(Some)
        });
        let Some(taken) = taken else { return Ok(None) };
        Ok(taken?.map(|loaded| PostgresLog::of(self, loaded)))
    }

    /// Announces that this server gives its shards back, so that others take them.
    pub fn drain(&self) {
        let _ = self.database.ask(DRAIN, vec![Value::Text(self.id.clone())]);
    }

    /// Gives everything back, and ends. A server that cannot say so is declared gone by the others.
    pub fn leave(&self) {
        if self.has_left.swap(true, Ordering::SeqCst) {
            return;
        }
        for task in &self.tasks {
            task.abort();
        }
        self.licence.lose();
        let (database, me) = (self.database.clone(), vec![Value::Text(self.id.clone())]);
        let _ = self.database.wait(async move { database.query_once(LEAVE, me).await.is_ok() });
    }

    pub(crate) fn database(&self) -> &Database {
        &self.database
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.leave();
    }
}

/// What beats.
struct Heart {
    database: Database,
    me: String,
    licence: Arc<Licence>,
    /// All looks are on one connection, and a new connection begins the observations anew: after a
    /// crash of the database a beat that was seen before may have been lost.
    session: Option<Session>,
    /// What was seen of every other server, by the clock of this machine.
    observed: HashMap<String, Observation<()>>,
}

impl Heart {
    async fn join(
        database: &Database,
        address: &str,
        licence: Arc<Licence>,
    ) -> Result<Self, Failure> {
        let sent = now_ms();
        let session = database.connect(Purpose::Beat).await?;
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let joined = [Value::Text(address.to_owned()), Value::Text(version)];
        let rows = session.query(JOIN, &joined).await?;
        let none = || Failure::Refused("the database gave no number".to_owned());
        let me: String = rows.first().ok_or_else(none)?.get(0);
        licence.renew(sent);
        let (database, session) = (database.clone(), Some(session));
        Ok(Self { database, me, licence, session, observed: HashMap::new() })
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
                Err(_) => {
                    self.session = None;
                    self.observed.clear();
                }
            }
        }
    }

    async fn beat(&mut self) -> Result<View, Failure> {
        let session = match self.session.take() {
            Some(session) => session,
            None => self.database.connect(Purpose::Beat).await?,
        };
        let sent = now_ms();
        let me = self.me.clone();
        if session.query(BEAT_ONCE, &[Value::Text(me.clone())]).await?.is_empty() {
            self.licence.lose();
            return Ok(View { me, is_gone: true, ..View::default() });
        }
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
                age_ms: u64::try_from(age_ms).unwrap_or_default(),
            };
            if !self.is_declared_gone(&session, &server).await? {
                servers.push(server);
            }
        }
        self.observed.retain(|id, _| servers.iter().any(|server| server.id == *id));
        let rows = session.query(SHARDS, &[]).await?;
        let shards = rows.iter().map(|row| {
            let owner: String = row.get(1);
            let is_alive = servers.iter().any(|server| server.id == owner);
            ShardRow { epoch: row.get(0), owner: is_alive.then_some(owner) }
        });
        let shards = shards.collect();
        self.session = Some(session);
        Ok(View { me, looked_at_ms: sent, is_gone: false, servers, shards })
    }

    /// Observes a server, and declares it gone if it was silent for too long.
    async fn is_declared_gone(
        &mut self,
        session: &Session,
        server: &ServerRow,
    ) -> Result<bool, Failure> {
        if server.id == self.me {
            return Ok(false);
        }
        let now = now_ms();
        let observation = self.observed.entry(server.id.clone()).or_default();
        observation.see((), server.beat, now);
        if !observation.is_silent(now) {
            return Ok(false);
        }
        let judged = [Value::Text(server.id.clone()), Value::Long(server.beat)];
        Ok(!session.query(DECLARE_GONE, &judged).await?.is_empty())
    }
}
