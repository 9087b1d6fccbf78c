//! The servers that share a log, as the program uses them wherever the log is.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use baton_log::{Log, OpenError, Position};
use tokio::sync::watch;

use crate::secrets::{EncryptedSecrets, SecretsKey, check_key};
use crate::view::{Shards, View};

/// Where a log is that several servers share.
pub trait Location: Send + Sync {
    /// Joins the servers of the log, which is created if it does not exist. `address` is how other
    /// servers reach this one.
    fn join(&self, address: &str, shards: Shards) -> Result<Arc<dyn Roster>, OpenError>;

    /// Where it is, without a password.
    fn description(&self) -> &str;
}

/// This process as one of the servers of a log. It beats until it leaves.
pub trait Roster: Send + Sync {
    /// The id of this server.
    fn id(&self) -> &str;

    /// How many shards the log has.
    fn shards(&self) -> u32;

    /// What servers of the log prove to each other: reading it takes access to the log.
    fn secret(&self) -> &str;

    /// Where the data are, and how durable.
    fn description(&self) -> &str;

    /// The servers and shards, as they change.
    fn view(&self) -> watch::Receiver<Arc<View>>;

    /// Whether this server was declared gone. It has to join again.
    fn is_gone(&self) -> bool;

    /// The id of the key that the secrets of the log are encrypted with. If it has none yet, it
    /// keeps `mine`.
    fn secrets_key(&self, mine: Option<&str>) -> Result<Option<String>, OpenError>;

    /// Takes a shard over, and reads its log. None if it has another owner, or the epoch has
    /// changed.
    fn take(
        self: Arc<Self>,
        shard: u32,
        epoch: i64,
    ) -> Result<Option<Arc<dyn OwnedLog>>, OpenError>;

    /// Announces that this server gives its shards back and takes none until it joins again: it
    /// stops, or cannot open them.
    fn announce_leaving(&self);

    /// Whether a server is to have no shards, as an operator wishes. All servers see it with their
    /// next look.
    fn set_drained(&self, server: &str, is_drained: bool) -> Result<DrainOutcome, OpenError>;

    /// Gives everything back, and ends. A server that cannot say so is declared gone by the others.
    fn leave(&self);
}

/// What became of the wish that a server has no shards, or has some again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrainOutcome {
    /// It is recorded.
    Recorded,
    /// There is no such server, or it was declared gone.
    Unknown,
    /// The server leaves, and takes no shards in any case.
    Leaving,
}

/// One shard, as its owner has it. One server at a time does.
pub trait OwnedLog: Log {
    /// Whether another server has taken the shard over. Nothing can be written or read any more.
    fn is_lost(&self) -> bool;

    /// Gives the shard back, so that the next owner need not wait. Everything is refused from now
    /// on.
    fn close(&self);

    /// Marks an empty log as one that is being restored: it cannot be opened until
    /// [`finish_restore`](Self::finish_restore). False if it is not empty.
    fn begin_restore(&self) -> Result<bool, OpenError>;

    /// The log is complete.
    fn finish_restore(&self) -> Result<(), OpenError>;
}

/// Opens the only shard of a log, which is created if it does not exist. Refused while another
/// process owns it, and if the log has several shards: servers share those.
///
/// `address` is how others name this process.
pub fn open_alone(location: &dyn Location, address: &str) -> Result<Arc<dyn OwnedLog>, OpenError> {
    let roster = location.join(address, Shards::One)?;
    take_only(&roster, location.description())
}

/// Like [`open_alone`], for an engine: secrets are encrypted with this key. Refused if the log was
/// used with another one.
pub fn open_encrypted(
    location: &dyn Location,
    address: &str,
    key: Option<SecretsKey>,
) -> Result<EncryptedSecrets<Arc<dyn OwnedLog>>, OpenError> {
    let roster = location.join(address, Shards::One)?;
    check_key(location.description(), &*roster, key.as_ref())?;
    let log = take_only(&roster, location.description())?;
    Ok(EncryptedSecrets::new(log, key.map(Arc::new)))
}

fn take_only(roster: &Arc<dyn Roster>, location: &str) -> Result<Arc<dyn OwnedLog>, OpenError> {
    if roster.shards() > 1 {
        let reason = format!(
            "it has {} shards, which only servers can share: use `baton serve`, and connect",
            roster.shards()
        );
        return Err(OpenError::Unfit { location: location.to_owned(), reason });
    }
    take_free(roster, location, 0)
}

/// Opens all shards of a log, which is created if it does not exist. Refused while a server owns
/// one of them, and if the log was used with another key for secrets.
pub fn open_shards(
    location: &dyn Location,
    address: &str,
    shards: Shards,
    key: Option<&SecretsKey>,
) -> Result<Vec<Arc<dyn OwnedLog>>, OpenError> {
    let roster = location.join(address, shards)?;
    let place = location.description();
    check_key(place, &*roster, key)?;
    (0..roster.shards()).map(|shard| take_free(&roster, place, shard)).collect()
}

/// Marks all shards of a log as being restored. False if one of them is not empty.
pub fn begin_restore(logs: &[Arc<dyn OwnedLog>]) -> Result<bool, OpenError> {
    let is_empty = |log: &Arc<dyn OwnedLog>| {
        log.tail() == Position(0) && log.list_blobs("").is_ok_and(|names| names.is_empty())
    };
    match logs.first() {
        Some(first) if logs.iter().all(is_empty) => first.begin_restore(),
        Some(_) | None => Ok(false),
    }
}

/// Takes a shard that no living process owns.
fn take_free(
    roster: &Arc<dyn Roster>,
    location: &str,
    shard: u32,
) -> Result<Arc<dyn OwnedLog>, OpenError> {
    let away =
        |reason: &str| OpenError::Away { location: location.to_owned(), reason: reason.to_owned() };
    let mut views = roster.view();
    let first = Arc::clone(&views.borrow());
    loop {
        let view = Arc::clone(&views.borrow_and_update());
        if view.is_gone {
            return Err(away("this process was declared gone"));
        }
        let epoch = view.shards.get(shard as usize).map_or(0, |shard| shard.epoch);
        match view.owner(shard) {
            None => {
                if let Some(log) = Arc::clone(roster).take(shard, epoch)? {
                    return Ok(log);
                }
            }
            Some(owner) => {
                let before = first.servers.iter().find(|server| server.id == owner.id);
                if before.is_none_or(|before| before.beat != owner.beat) {
                    let (folder, holder) = (location.into(), owner.address.clone());
                    return Err(OpenError::InUse { folder, holder });
                }
            }
        }
        wait(views.changed()).map_err(|_| away("the program is ending"))?;
    }
}

/// Wakes a thread that waits.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits without an executor: the caller may be a thread of one, which must not enter another.
pub(crate) fn wait<T>(work: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut work = pin!(work);
    loop {
        if let Poll::Ready(done) = work.as_mut().poll(&mut Context::from_waker(&waker)) {
            return done;
        }
        std::thread::park();
    }
}
