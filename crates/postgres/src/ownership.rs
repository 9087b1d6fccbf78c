//! Ownership of a shard: taking it over, taking it again, giving it back.
//!
//! ```text
//!   free, or its owner is gone ──▶ take (epoch + 1, new holder) ──▶ … ──▶ give
//! ```

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use baton_cluster::now_ms;
use baton_log::ownership::Licence;

use crate::database::{Database, Failure, Value};

/// Free, mine, or of a server that is gone.
const TAKE: &str = "update shard s set epoch = epoch + 1, holder = gen_random_uuid(),
    server = $2::text::uuid
    where shard = $3 and epoch = $1
    and exists (select 1 from server v where v.id = $2::text::uuid and not v.gone)
    and (server is null or server = $2::text::uuid
        or not exists (select 1 from server v where v.id = s.server and not v.gone))
    returning epoch, holder::text";
/// No epoch is named: a repetition whose first execution had no answer takes it once more. A server
/// that was declared gone frees the shard instead, so that in either case the old claim has ended.
const TAKE_AGAIN: &str = "update shard s set epoch = epoch + 1, holder = gen_random_uuid(),
    server = case when exists (select 1 from server v
        where v.id = $1::text::uuid and not v.gone) then s.server end
    where shard = $2 and server = $1::text::uuid
    returning epoch, holder::text, server is not null";
const GIVE: &str = "update shard set server = null
    where shard = $1 and epoch = $2 and holder = $3::text::uuid returning 1";

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

/// This server as the owner of a shard.
pub(crate) struct Ownership {
    database: Database,
    server: String,
    shard: i32,
    claim: Mutex<Claim>,
    /// Held while the claim is renewed in the database and then here.
    renewing: Arc<tokio::sync::Mutex<()>>,
    licence: Arc<Licence>,
    is_lost: AtomicBool,
    /// Whether the log has lost what is in memory.
    is_stale: AtomicBool,
}

impl Ownership {
    /// Takes a shard whose epoch was read. None if it has another owner, or another epoch.
    pub(crate) async fn take(
        database: &Database,
        (server, licence): (&str, &Arc<Licence>),
        shard: i32,
        epoch: i64,
    ) -> Result<Option<Self>, Failure> {
        let wanted = vec![Value::Long(epoch), Value::Text(server.to_owned()), Value::Int(shard)];
        // Not repeated: a first execution without an answer has changed the epoch.
        let taken = database.query_once(TAKE, wanted).await?;
        let Some(row) = taken.first() else { return Ok(None) };
        let claim = Claim { epoch: row.get(0), holder: row.get(1) };
        Ok(Some(Self {
            database: database.clone(),
            server: server.to_owned(),
            shard,
            claim: Mutex::new(claim),
            renewing: Arc::default(),
            licence: Arc::clone(licence),
            is_lost: AtomicBool::new(false),
            is_stale: AtomicBool::new(false),
        }))
    }

    /// The shard, as a parameter of a statement.
    pub(crate) fn shard(&self) -> Value {
        Value::Int(self.shard)
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
        let is_stale = self.is_stale.load(Ordering::SeqCst);
        self.licence.is_valid(now_ms()) && !self.is_lost() && !is_stale
    }

    /// Whether another server has taken over, or may do so.
    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::SeqCst) || self.licence.is_lost()
    }

    /// Records that the log has lost what is in memory. The shard is still this server's.
    pub(crate) fn mark_stale(&self) {
        self.is_stale.store(true, Ordering::SeqCst);
    }

    /// Records that another server has taken over.
    pub(crate) fn lose(&self) {
        self.is_lost.store(true, Ordering::SeqCst);
    }

    /// Takes the shard over from oneself, so that nothing sent before can be executed any more.
    /// None if another server has it, or may take it.
    pub(crate) async fn take_again(&self) -> Result<Option<Claim>, Failure> {
        let _renewing = self.renewing.lock().await;
        let me = vec![Value::Text(self.server.clone()), self.shard()];
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

    /// Gives the shard back, so that the next owner need not wait. If it cannot be recorded, this
    /// server still owns it in the database, and takes it again or is declared gone.
    pub(crate) async fn give(&self) {
        let [epoch, holder] = self.claim().values();
        let values = vec![self.shard(), epoch, holder];
        let _ = self.database.query_once(GIVE, values).await;
    }
}
