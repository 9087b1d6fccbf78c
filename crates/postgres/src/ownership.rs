//! Who may write: joining, beating, taking over, giving back; and the licence for reads.
//!
//! ```text
//!   join ──▶ wait for a free shard ──▶ take (epoch + 1, new holder) ──▶ beat … ──▶ give
//!                 │   the owner's beat has not changed for 2.0 s: declare it gone
//! ```
//!
//! That a server is gone is a fact in the database, decided by one statement: a late beat and the
//! declaration meet on the row, and one of them wins. A server that was declared gone is never
//! revived; it has to join again.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use baton_log::OpenError;
use baton_log::ownership::{BEAT_MS, LOOK_MS, Licence, Observation};
use rustix::time::{ClockId, clock_gettime};

use crate::database::{Database, Failure, Purpose, Session, Value};

/// How often an owner beats.
const BEAT: Duration = Duration::from_millis(BEAT_MS);
/// How long one beat may take before it is tried on another connection.
const BEAT_MAX: Duration = Duration::from_millis(1_500);
/// How often a standby looks.
const LOOK: Duration = Duration::from_millis(LOOK_MS);

const JOIN: &str = "with old as (delete from server v where seen_at < now() - interval '1 hour'
        and not exists (select 1 from shard s where s.server = v.id))
    insert into server (id, address, version, beat) values (gen_random_uuid(), $1, $2, 0)
    returning id::text";
const BEAT_ONCE: &str = "update server set beat = beat + 1, seen_at = clock_timestamp()
    where id = $1::text::uuid and not gone returning beat";
const OWNER: &str = "select s.epoch, s.server is null or coalesce(v.gone, true),
    coalesce(v.id::text, ''), coalesce(v.beat, 0), coalesce(v.address, '')
    from shard s left join server v on v.id = s.server where s.shard = 0";
const DECLARE_GONE: &str = "update server set gone = true
    where id = $1::text::uuid and not gone and beat = $2 returning 1";
/// Free, mine, or of a server that is gone.
const TAKE: &str = "update shard s set epoch = epoch + 1, holder = gen_random_uuid(),
    server = $2::text::uuid
    where shard = 0 and epoch = $1
    and exists (select 1 from server v where v.id = $2::text::uuid and not v.gone)
    and (server is null or server = $2::text::uuid
        or not exists (select 1 from server v where v.id = s.server and not v.gone))
    returning epoch, holder::text";
/// No epoch is named: a repetition whose first execution had no answer takes it once more. A server
/// that was declared gone frees the log instead, so that in either case the old claim has ended.
const TAKE_AGAIN: &str = "update shard s set epoch = epoch + 1, holder = gen_random_uuid(),
    server = case when exists (select 1 from server v
        where v.id = $1::text::uuid and not v.gone) then s.server end
    where shard = 0 and server = $1::text::uuid
    returning epoch, holder::text, server is not null";
const GIVE: &str = "with given as (update shard set server = null
        where shard = 0 and epoch = $2 and holder = $3::text::uuid)
    update server set gone = true where id = $1::text::uuid returning 1";
const LEAVE: &str = "update server set gone = true where id = $1::text::uuid";

/// Milliseconds that also count while the machine is suspended.
pub(crate) fn now_ms() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    let part = |number: i64| u64::try_from(number).unwrap_or_default();
    part(now.tv_sec) * 1_000 + part(now.tv_nsec) / 1_000_000
}

/// What to do while another server owns the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standby {
    /// Refuse to open it.
    Refuse,
    /// Wait, and take over when the owner ends or is gone.
    Wait,
}

/// The right to write, as the database records it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) epoch: i64,
    pub(crate) holder: String,
}

impl Claim {
    /// As parameters of a statement.
    pub(crate) fn values(&self) -> [Value; 2] {
        [Value::Long(self.epoch), Value::Text(self.holder.clone())]
    }
}

/// This server as the owner of the log.
pub(crate) struct Ownership {
    database: Database,
    server: String,
    claim: Mutex<Claim>,
    /// Held while the claim is renewed in the database and then here.
    renewing: Arc<tokio::sync::Mutex<()>>,
    licence: Arc<Licence>,
}

impl Ownership {
    /// Joins, waits for the log if another server owns it, and takes it.
    pub(crate) async fn acquire(
        database: &Database,
        address: &str,
        standby: Standby,
        waits: &(dyn Fn(Option<&str>) -> ControlFlow<()> + Sync),
    ) -> Result<Self, OpenError> {
        let location = database.location().description().to_owned();
        let away = |failure: Failure| failure.at_opening(&location);
        let mut lookout = Lookout::new(database, address);
        loop {
            let sent = now_ms();
            let view = match lookout.look().await {
                Ok(view) => view,
                Err(failure @ (Failure::Broken(_) | Failure::Again(_)))
                    if standby == Standby::Wait =>
                {
                    if waits(None).is_break() {
                        return Err(away(failure));
                    }
                    tokio::time::sleep(LOOK).await;
                    continue;
                }
                Err(failure) => return Err(away(failure)),
            };
            if view.is_free || view.owner == view.me {
                let wanted = vec![Value::Long(view.epoch), Value::Text(view.me.clone())];
                let taken = database.query(TAKE, wanted).await.map_err(away)?;
                if let Some(row) = taken.first() {
                    let claim = Claim { epoch: row.get(0), holder: row.get(1) };
                    return Ok(Self::of(database, view.me, claim, sent));
                }
                continue;
            }
            let is_refused = match standby {
                Standby::Refuse => lookout.observation.is_alive(),
                Standby::Wait => waits(Some(&view.address)).is_break(),
            };
            if is_refused {
                // The row of this server goes with time if it cannot be marked.
                let _ = database.query(LEAVE, vec![Value::Text(view.me)]).await;
                return Err(OpenError::InUse { folder: location.into(), holder: view.address });
            }
            lookout.declare_gone_if_silent(&view).await;
            tokio::time::sleep(LOOK).await;
        }
    }

    fn of(database: &Database, server: String, claim: Claim, sent: u64) -> Self {
        let licence = Arc::new(Licence::default());
        licence.renew(sent);
        let (database, claim, renewing) = (database.clone(), Mutex::new(claim), Arc::default());
        Self { database, server, claim, renewing, licence }
    }

    fn lock(&self) -> MutexGuard<'_, Claim> {
        self.claim.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The present claim.
    pub(crate) fn claim(&self) -> Claim {
        self.lock().clone()
    }

    /// Whether reads may be answered from memory.
    pub(crate) fn is_current(&self) -> bool {
        self.licence.is_valid(now_ms())
    }

    /// Whether another server has taken over.
    pub(crate) fn is_lost(&self) -> bool {
        self.licence.is_lost()
    }

    /// Records that another server has taken over.
    pub(crate) fn lose(&self) {
        self.licence.lose();
    }

    /// Takes the log over from oneself, so that nothing sent before can be executed any more. None
    /// if another server has it, or may take it.
    pub(crate) async fn take_again(&self) -> Result<Option<Claim>, Failure> {
        let _renewing = self.renewing.lock().await;
        let me = vec![Value::Text(self.server.clone())];
        let taken = self.database.query(TAKE_AGAIN, me).await?;
        let Some(row) = taken.first().filter(|row| row.get(2)) else {
            self.lose();
            return Ok(None);
        };
        let claim = Claim { epoch: row.get(0), holder: row.get(1) };
        self.lock().clone_from(&claim);
        Ok(Some(claim))
    }

    /// Whether a claim that the database has refused was renewed by this server in the meantime. If
    /// not, another server has taken over.
    pub(crate) fn was_renewed(&self, refused: &Claim) -> bool {
        let renewing = Arc::clone(&self.renewing);
        let _ = self.database.wait(async move { drop(renewing.lock().await) });
        let was_renewed = self.claim() != *refused;
        if !was_renewed {
            self.lose();
        }
        was_renewed
    }

    /// Beats until the log is lost.
    pub(crate) fn beat(&self) -> tokio::task::JoinHandle<()> {
        let (database, licence) = (self.database.clone(), Arc::clone(&self.licence));
        let me = [Value::Text(self.server.clone())];
        self.database.spawn(async move {
            let mut session: Option<Session> = None;
            loop {
                let sent = now_ms();
                let beaten = beat_once(&database, &mut session, &me);
                let beaten = tokio::time::timeout(BEAT_MAX, beaten).await;
                match beaten.unwrap_or_else(|_| Err(Failure::Broken(String::new()))) {
                    Ok(true) => licence.renew(sent),
                    Ok(false) => {
                        licence.lose();
                        return;
                    }
                    Err(_) => session = None,
                }
                tokio::time::sleep(BEAT).await;
            }
        })
    }

    /// Gives the log back, so that the next opening need not wait.
    pub(crate) fn give(&self) {
        let claim = self.claim();
        let [epoch, holder] = claim.values();
        let values = vec![Value::Text(self.server.clone()), epoch, holder];
        // A server that cannot say so is declared gone after two seconds.
        let database = self.database.clone();
        let _ = self.database.wait(async move { database.query_one(GIVE, values).await.is_ok() });
    }
}

async fn beat_once(
    database: &Database,
    session: &mut Option<Session>,
    me: &[Value],
) -> Result<bool, Failure> {
    let open = match session.take() {
        Some(open) => open,
        None => database.connect(Purpose::Beat).await?,
    };
    let beaten = open.query(BEAT_ONCE, me).await?;
    *session = Some(open);
    Ok(!beaten.is_empty())
}

/// Who owns the log.
struct View {
    /// This server.
    me: String,
    epoch: i64,
    is_free: bool,
    owner: String,
    beat: i64,
    address: String,
}

/// A server that observes the owner.
///
/// All looks are on one connection, and a new connection begins the observation anew: after a crash
/// of the database a beat that was seen before may have been lost.
struct Lookout<'a> {
    database: &'a Database,
    address: &'a str,
    session: Option<(Session, String)>,
    observation: Observation<String>,
}

impl<'a> Lookout<'a> {
    fn new(database: &'a Database, address: &'a str) -> Self {
        Self { database, address, session: None, observation: Observation::default() }
    }

    /// Beats, so that this server is not taken for gone while it waits, and looks who owns the log.
    async fn look(&mut self) -> Result<View, Failure> {
        let (session, me) = match self.session.take() {
            Some(joined) => joined,
            None => {
                self.observation.reconnect();
                self.join().await?
            }
        };
        if session.query(BEAT_ONCE, &[Value::Text(me.clone())]).await?.is_empty() {
            return Err(Failure::Again("this server was declared gone".to_owned()));
        }
        let rows = session.query(OWNER, &[]).await?;
        let none = || Failure::Refused("the table `shard` has no row".to_owned());
        let row = rows.first().ok_or_else(none)?;
        let (owner, beat): (String, i64) = (row.get(2), row.get(3));
        let view = View {
            me: me.clone(),
            epoch: row.get(0),
            is_free: row.get(1),
            owner: owner.clone(),
            beat,
            address: row.get(4),
        };
        self.session = Some((session, me));
        self.observation.see(owner, beat, now_ms());
        Ok(view)
    }

    async fn join(&self) -> Result<(Session, String), Failure> {
        let session = self.database.connect(Purpose::Beat).await?;
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let joined = [Value::Text(self.address.to_owned()), Value::Text(version)];
        let rows = session.query(JOIN, &joined).await?;
        let none = || Failure::Refused("the database gave no number".to_owned());
        let me = rows.first().ok_or_else(none)?.get(0);
        Ok((session, me))
    }

    async fn declare_gone_if_silent(&mut self, view: &View) {
        if !self.observation.is_silent(now_ms()) {
            return;
        }
        let Some((session, _)) = &self.session else { return };
        let judged = [Value::Text(view.owner.clone()), Value::Long(view.beat)];
        if session.query(DECLARE_GONE, &judged).await.is_err() {
            self.session = None;
        }
    }
}
