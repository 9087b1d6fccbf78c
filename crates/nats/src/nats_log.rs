//! The contract of a log, in NATS.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use baton_cluster::chunks::ChunkCache;
use baton_cluster::{OwnedLog, open_alone};
use baton_log::{Log, OpenError, Position};
use tokio::task::JoinHandle;

use crate::blobs::{Blobs, Catalogue, NAMES};
use crate::connection::{Failure, Nats};
use crate::location::NatsLocation;
use crate::membership::Member;
use crate::ownership::Ownership;
use crate::records::{Loading, Records};
use crate::setup;
use crate::shard_stream::ShardStream;

/// Opens the only log with a prefix, which is created if it does not exist. Refused while another
/// process owns it, and if it has several shards: servers share those.
///
/// `address` is how others name this process.
pub fn open(location: &NatsLocation, address: &str) -> Result<Arc<dyn OwnedLog>, OpenError> {
    open_alone(location, address)
}

/// One shard in NATS, as its owner has it. One server at a time does.
pub(crate) struct NatsLog {
    ownership: Arc<Ownership>,
    records: Records,
    blobs: Blobs,
    sweeping: JoinHandle<()>,
    is_closed: AtomicBool,
    /// Dropped last: giving the shard back needs its network.
    member: Arc<Member>,
}

/// A shard that was taken and read.
pub(crate) struct Loaded {
    ownership: Arc<Ownership>,
    records: Records,
    blobs: Blobs,
}

impl NatsLog {
    /// Reads a shard that was taken; if it cannot be read, the shard is returned. None if another
    /// server has taken it in the meantime.
    pub(crate) async fn load(
        nats: &Nats,
        ownership: Ownership,
        cache: &Arc<Mutex<ChunkCache<String>>>,
    ) -> Result<Option<Loaded>, OpenError> {
        let location = nats.location().description();
        let opened = ShardStream::open(nats, ownership).await;
        let Some(stream) = opened.map_err(|failure| failure.at_opening(location))? else {
            return Ok(None);
        };
        let stream = Arc::new(stream);
        let ownership = Arc::clone(&stream.ownership);
        match Self::read(&stream).await {
            Ok((records, catalogue)) => {
                let blobs = Blobs::new(&stream, catalogue, cache);
                Ok(Some(Loaded { ownership, records, blobs }))
            }
            Err(reason) => {
                ownership.give().await;
                Err(OpenError::Unfit { location: location.to_owned(), reason })
            }
        }
    }

    async fn read(stream: &Arc<ShardStream>) -> Result<(Records, Catalogue), String> {
        let (last, start) = stream.ends().await;
        let mut loading = Loading::new(start);
        let mut catalogue = Catalogue::default();
        let mut next = 1;
        while next <= last {
            let read = stream.read(next, last).await;
            for message in read.map_err(|failure: Failure| failure.reason())? {
                next = message.sequence + 1;
                match stream.rest(&message.subject).to_owned().as_str() {
                    kind @ ("log" | "part") => {
                        loading.see(kind, message).map_err(|error| error.to_string())?;
                    }
                    rest => {
                        if let Some(token) = rest.strip_prefix(NAMES) {
                            let seen = catalogue.see(token, &message);
                            seen.map_err(|failure| failure.reason())?;
                        }
                    }
                }
            }
        }
        Ok((loading.finish(stream), catalogue))
    }

    pub(crate) fn of(member: &Arc<Member>, loaded: Loaded) -> Self {
        let Loaded { ownership, records, blobs } = loaded;
        let (is_closed, member) = (AtomicBool::new(false), Arc::clone(member));
        let sweeping = member.nats().network().spawn(blobs.clone().sweep());
        Self { ownership, records, blobs, sweeping, is_closed, member }
    }

    fn set_restoring(&self, restoring: bool) -> Result<bool, OpenError> {
        let nats = self.member.nats().clone();
        let location = nats.location().description().to_owned();
        let network = self.member.nats().network();
        let set = network.wait(async move { setup::set_restoring(&nats, restoring).await });
        let ended = || Err(Failure::refused("the program is ending"));
        set.unwrap_or_else(ended).map_err(|failure| failure.at_opening(&location))
    }
}

impl OwnedLog for NatsLog {
    fn is_lost(&self) -> bool {
        self.ownership.is_lost()
    }

    fn close(&self) {
        if self.is_closed.swap(true, Ordering::SeqCst) {
            return;
        }
        self.sweeping.abort();
        self.ownership.lose();
        let ownership = Arc::clone(&self.ownership);
        let _ = self.member.nats().network().wait(async move { ownership.give().await });
    }

    fn begin_restore(&self) -> Result<bool, OpenError> {
        if self.tail() != Position(0) || !self.blobs.is_empty() {
            return Ok(false);
        }
        self.set_restoring(true)
    }

    fn finish_restore(&self) -> Result<(), OpenError> {
        self.set_restoring(false).map(drop)
    }
}

impl Drop for NatsLog {
    fn drop(&mut self) {
        self.close();
    }
}

baton_cluster::log_of_parts!(NatsLog);
