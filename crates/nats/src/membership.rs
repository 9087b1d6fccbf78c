//! The servers that share a log: joining, heartbeats, who owns which shard, and the licence for
//! reads.
//!
//! ```text
//!   join ──▶ beat, look ──▶ beat, look ──▶ … ──▶ leave
//!                  │ a server whose beat has not changed for 2.0 s: declare it gone
//! ```
//!
//! The known facts about a server are one message, replaced by compare-and-set. A late beat and the
//! declaration that the server is gone expect the same message, and one of them wins. A server that
//! was declared gone is never revived; it has to join again.

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
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::connection::{
    ANSWER_MAX, EXPECTED_LAST_OF_SUBJECT, Failure, Nats, Outgoing, Stored, random, repeated,
};
use crate::location::NatsLocation;
use crate::nats_log::NatsLog;
use crate::ownership::{Ownership, ServerFact, ShardFact, server_subject};
use crate::setup;

/// The interval at which a server sends a heartbeat and reads those of the others.
const BEAT: Duration = Duration::from_millis(BEAT_MS);
/// How long one beat may take before it is tried again.
const BEAT_MAX: Duration = Duration::from_millis(1_500);
/// How long to wait for a replica that does not have the last beat yet.
const LAG: Duration = Duration::from_millis(5);
/// More than there are shards, and servers since an hour ago.
const ROWS_MAX: u32 = 1_024;
/// How often a fact about a server is set that its heartbeats replace, too.
const SETS_MAX: u32 = 10;
/// How long it is remembered that a server is gone.
const GONE_KEPT_MS: u64 = 3_600_000;

/// This process as one of the servers of a log. It beats until it is dropped.
pub struct Member {
    nats: Nats,
    joined: Joined,
    cache: Arc<Mutex<ChunkCache<String>>>,
    heart: JoinHandle<()>,
    is_leaving: Arc<AtomicBool>,
    has_left: AtomicBool,
    /// Dropped last: giving shards back needs it.
    _network: Network,
}

impl Member {
    /// Joins the servers of a log, which is created if it does not exist. `address` is how other
    /// servers reach this one.
    pub fn join(
        location: NatsLocation,
        address: &str,
        shards: Shards,
    ) -> Result<Arc<Self>, OpenError> {
        let name = location.description().to_owned();
        let (nats, network) = Nats::connect(location)?;
        let (asked, address, place) = (nats.clone(), address.to_owned(), name.clone());
        let (licence, is_leaving) =
            (Arc::new(Licence::default()), Arc::new(AtomicBool::new(false)));
        let (lent, flag) = (Arc::clone(&licence), Arc::clone(&is_leaving));
        let joined = nats.network().wait(async move {
            let prepared = setup::prepare(&asked, shards).await?;
            let failed = |failure: Failure| failure.at_opening(&place);
            let shards = prepared.meta.shards;
            // Under a new id each time: what was stored without an answer never beats.
            let joined = repeated(|| {
                let shared = (Arc::clone(&lent), Arc::clone(&flag));
                let joining = Heart::join(&asked, &address, shards, shared);
                async {
                    let mut heart = joining.await?;
                    let view = heart.beat().await?;
                    Ok((heart, view))
                }
            });
            let (heart, view) = joined.await.map_err(failed)?;
            Ok((prepared, heart, view))
        });
        let reason = || "the program is ending".to_owned();
        let closing = || OpenError::Away { location: name.clone(), reason: reason() };
        let (prepared, heart, view) = joined.ok_or_else(closing)??;
        let (sender, receiver) = watch::channel(Arc::new(view));
        let joined = Joined {
            id: heart.me.clone(),
            licence,
            view: receiver,
            description: format!("{name}; {}", prepared.durable),
            shards: prepared.meta.shards,
            secret: prepared.meta.secret,
        };
        let heart = nats.network().spawn(heart.run(sender));
        Ok(Arc::new(Self {
            nats,
            joined,
            cache: Arc::default(),
            heart,
            is_leaving,
            has_left: AtomicBool::new(false),
            _network: network,
        }))
    }

    pub(crate) fn nats(&self) -> &Nats {
        &self.nats
    }
}

impl Location for NatsLocation {
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
        let (nats, mine) = (self.nats.clone(), mine.map(str::to_owned));
        let known = self.nats.network().wait(async move { setup::secrets_key(&nats, mine).await });
        let ended = || Err(Failure::refused("the program is ending"));
        let location = self.nats.location().description();
        known.unwrap_or_else(ended).map_err(|failure| failure.at_opening(location))
    }

    fn take(
        self: Arc<Self>,
        shard: u32,
        epoch: i64,
    ) -> Result<Option<Arc<dyn OwnedLog>>, OpenError> {
        let (nats, me) = (self.nats.clone(), self.joined.id.clone());
        let (licence, cache) = (Arc::clone(&self.joined.licence), Arc::clone(&self.cache));
        let taken = self.nats.network().wait(async move {
            let location = nats.location().description().to_owned();
            let taken = Ownership::take(&nats, (&me, &licence), shard, epoch).await;
            let Some(ownership) = taken.map_err(|failure| failure.at_opening(&location))? else {
                return Ok(None);
            };
            NatsLog::load(&nats, ownership, &cache).await
        });
        let Some(taken) = taken else { return Ok(None) };
        Ok(taken?.map(|loaded| Arc::new(NatsLog::of(&self, loaded)) as Arc<dyn OwnedLog>))
    }

    fn announce_leaving(&self) {
        // The next heartbeat announces it.
        self.is_leaving.store(true, Ordering::SeqCst);
    }

    fn set_drained(&self, server: &str, is_drained: bool) -> Result<DrainOutcome, OpenError> {
        let (nats, server) = (self.nats.clone(), server.to_owned());
        let set = self.nats.network().wait(async move {
            // Setting it twice is the same as once.
            repeated(|| set_drained(&nats, &server, is_drained)).await
        });
        let ended = || Err(Failure::refused("the program is ending"));
        let location = self.nats.location().description();
        set.unwrap_or_else(ended).map_err(|failure| failure.at_opening(location))
    }

    fn leave(&self) {
        if self.has_left.swap(true, Ordering::SeqCst) {
            return;
        }
        self.heart.abort();
        self.joined.licence.lose();
        let (nats, me) = (self.nats.clone(), self.joined.id.clone());
        let _ = self.nats.network().wait(async move { leave(&nats, &me).await.is_ok() });
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Says that this server is gone, and with it that its shards are free.
async fn leave(nats: &Nats, me: &str) -> Result<(), Failure> {
    let prefix = &nats.location().prefix;
    let subject = server_subject(prefix, me);
    // A beat that was being sent may come in between.
    for _ in 0..3 {
        let Some(found) = nats.last_on(&setup::roster(prefix), &subject).await? else {
            return Ok(());
        };
        let fact = ServerFact { gone: true, ..found.fact()? };
        let out = Outgoing::fact(subject.clone(), &fact);
        match nats.publish(out.with(EXPECTED_LAST_OF_SUBJECT, &found.sequence), ANSWER_MAX).await {
            Err(Failure::WrongSequence) => {}
            published => return published.map(drop),
        }
    }
    Ok(())
}

/// Records whether a server is to have no shards. Its own beats replace the same message, and keep
/// what is recorded there.
async fn set_drained(nats: &Nats, server: &str, is_drained: bool) -> Result<DrainOutcome, Failure> {
    let prefix = &nats.location().prefix;
    let subject = server_subject(prefix, server);
    for _ in 0..SETS_MAX {
        let Some(found) = nats.last_on(&setup::roster(prefix), &subject).await? else {
            return Ok(DrainOutcome::Unknown);
        };
        let fact: ServerFact = found.fact()?;
        if fact.gone {
            return Ok(DrainOutcome::Unknown);
        }
        if fact.leaving {
            return Ok(DrainOutcome::Leaving);
        }
        let fact = ServerFact { draining: is_drained, ..fact };
        let out = Outgoing::fact(subject.clone(), &fact);
        match nats.publish(out.with(EXPECTED_LAST_OF_SUBJECT, &found.sequence), ANSWER_MAX).await {
            // A beat came in between: the next is a fifth of a second away.
            Err(Failure::WrongSequence) => {}
            published => return published.map(|_| DrainOutcome::Recorded),
        }
    }
    Err(Failure::Broken("the server has sent a heartbeat each time".to_owned()))
}

/// The sender of heartbeats.
struct Heart {
    nats: Nats,
    me: String,
    shards: u32,
    licence: Arc<Licence>,
    is_leaving: Arc<AtomicBool>,
    fact: ServerFact,
    /// The sequence of the last beat; none if it is not known whether it was stored.
    sequence: Option<u64>,
    /// All looks are on one connection, and a new connection begins the observations anew: after a
    /// crash of NATS a beat that was seen before may have been lost.
    connection: u64,
    observed: Observations,
}

impl Heart {
    async fn join(
        nats: &Nats,
        address: &str,
        shards: u32,
        (licence, is_leaving): (Arc<Licence>, Arc<AtomicBool>),
    ) -> Result<Self, Failure> {
        let me = random(16)?;
        let fact = ServerFact {
            address: address.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            beat: 0,
            draining: false,
            leaving: false,
            gone: false,
        };
        let sent = now_ms();
        let out = Outgoing::fact(server_subject(&nats.location().prefix, &me), &fact);
        let out = out.with(EXPECTED_LAST_OF_SUBJECT, &0);
        let sequence = nats.publish(out, ANSWER_MAX).await?;
        licence.renew(sent);
        Ok(Self {
            nats: nats.clone(),
            me,
            shards,
            licence,
            is_leaving,
            fact,
            sequence: Some(sequence),
            connection: nats.connections(),
            observed: Observations::default(),
        })
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
                    self.observed.reconnect();
                    let why = failure.reason();
                    let why = if why.is_empty() { "NATS does not answer" } else { &why };
                    views.send_modify(|view| *view = Arc::new(view.troubled(why)));
                }
            }
        }
    }

    async fn beat(&mut self) -> Result<View, Failure> {
        let connection = self.nats.connections();
        if std::mem::replace(&mut self.connection, connection) != connection {
            self.observed.reconnect();
        }
        let (sent, begun) = (now_ms(), Instant::now());
        let Some(sequence) = self.send_beat().await? else {
            self.licence.lose();
            return Ok(View { me: self.me.clone(), is_gone: true, ..View::default() });
        };
        let heartbeat = begun.elapsed();
        self.licence.renew(sent);
        let rows = self.look(sequence).await?;
        let log_clock_ms = (self.nats.clock_ms(), now_ms());
        Ok(View { heartbeat, log_clock_ms, ..self.see(rows, sent).await? })
    }

    /// Beats. The sequence of the beat, or none if this server was declared gone.
    async fn send_beat(&mut self) -> Result<Option<u64>, Failure> {
        match self.send_beat_once().await {
            // Another server has changed what is stored: it has drained this one, or declared it
            // gone. The current sequence is read before the beat is sent again.
            Err(Failure::WrongSequence) => self.send_beat_once().await,
            sent => sent,
        }
    }

    async fn send_beat_once(&mut self) -> Result<Option<u64>, Failure> {
        let prefix = &self.nats.location().prefix;
        let subject = server_subject(prefix, &self.me);
        // Taken: if this ends without an answer, it is not known what is stored.
        let known = match self.sequence.take() {
            Some(known) => known,
            None => {
                let found = self.nats.last_on(&setup::roster(prefix), &subject).await?;
                let Some(found) = found else { return Ok(None) };
                let fact: ServerFact = found.fact()?;
                if fact.gone {
                    return Ok(None);
                }
                self.fact.beat = self.fact.beat.max(fact.beat);
                self.fact.draining = fact.draining;
                found.sequence
            }
        };
        self.fact.beat += 1;
        self.fact.leaving = self.is_leaving.load(Ordering::SeqCst);
        self.fact.draining |= self.fact.leaving;
        let out = Outgoing::fact(subject, &self.fact).with(EXPECTED_LAST_OF_SUBJECT, &known);
        let sequence = self.nats.publish(out, ANSWER_MAX).await?;
        self.sequence = Some(sequence);
        Ok(Some(sequence))
    }

    /// All that is known of servers and shards, at least as new as this server's beat.
    async fn look(&self, sequence: u64) -> Result<Vec<Stored>, Failure> {
        let prefix = &self.nats.location().prefix;
        let filters = [format!("{prefix}.roster.server.*"), format!("{prefix}.roster.shard.*")];
        let asked = json!({"multi_last": filters, "batch": ROWS_MAX});
        let subject = server_subject(prefix, &self.me);
        loop {
            let rows = self.nats.batch(&setup::roster(prefix), &asked).await?;
            let mine = rows.iter().find(|row| row.subject == subject);
            if let Some(mine) = mine.filter(|mine| mine.sequence >= sequence) {
                self.nats.see_clock(mine.time_ms);
                return Ok(rows);
            }
            tokio::time::sleep(LAG).await;
        }
    }

    async fn see(&mut self, rows: Vec<Stored>, sent: u64) -> Result<View, Failure> {
        let prefix = self.nats.location().prefix.clone();
        let now = self.nats.clock_ms();
        let mut servers = Vec::new();
        let mut shards = vec![ShardRow { epoch: 0, owner: None }; self.shards as usize];
        let of_server = server_subject(&prefix, "");
        let of_shard = format!("{prefix}.roster.shard.");
        for row in &rows {
            let Some(id) = row.subject.strip_prefix(&of_server) else { continue };
            let age_ms = now.saturating_sub(row.time_ms);
            let fact: ServerFact = row.fact()?;
            if fact.gone {
                self.forget(row, age_ms);
                continue;
            }
            let server = ServerRow {
                id: id.to_owned(),
                address: fact.address.clone(),
                version: fact.version.clone(),
                beat: fact.beat,
                is_draining: fact.draining,
                is_leaving: fact.leaving,
                age_ms,
            };
            if !self.is_declared_gone(&server, fact, row.sequence).await? {
                servers.push(server);
            }
        }
        servers.sort_by(|one, other| one.id.cmp(&other.id));
        self.observed.keep(&servers);
        for row in &rows {
            let number = row.subject.strip_prefix(&of_shard).and_then(|it| it.parse().ok());
            let Some(shard) = number.and_then(|number: usize| shards.get_mut(number)) else {
                continue;
            };
            let ShardFact { epoch, server } = row.fact()?;
            *shard = ShardRow::seen(epoch, server, &servers);
        }
        let me = self.me.clone();
        Ok(View { me, looked_at_ms: sent, servers, shards, ..View::default() })
    }

    /// Observes a server, and declares it gone if it was silent for too long.
    async fn is_declared_gone(
        &mut self,
        server: &ServerRow,
        fact: ServerFact,
        sequence: u64,
    ) -> Result<bool, Failure> {
        if server.id == self.me || !self.observed.is_silent(server, now_ms()) {
            return Ok(false);
        }
        let subject = server_subject(&self.nats.location().prefix, &server.id);
        let out = Outgoing::fact(subject, &ServerFact { gone: true, ..fact });
        match self.nats.publish(out.with(EXPECTED_LAST_OF_SUBJECT, &sequence), ANSWER_MAX).await {
            Err(Failure::WrongSequence) => Ok(false),
            published => published.map(|_| true),
        }
    }

    /// Removes what is known of a server that has been gone for long. If it returns, it finds
    /// nothing, and has to join again.
    fn forget(&self, row: &Stored, age_ms: u64) {
        if age_ms < GONE_KEPT_MS {
            return;
        }
        let (nats, subject) = (self.nats.clone(), row.subject.clone());
        drop(self.nats.network().spawn(async move {
            let stream = setup::roster(&nats.location().prefix);
            let _ = nats.purge(&stream, &json!({"filter": subject})).await;
        }));
    }
}
