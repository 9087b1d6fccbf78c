//! Options of the engine: numbers that can be changed. Components that can be replaced are the log
//! and the clock.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use baton_core::access::CLOSED;
use baton_core::{StorageQuota, WorkspaceName};

/// Batches that are only in the log, if that is in a database.
const DATABASE_TAIL_BATCHES_MAX: usize = 50_000;
/// Bytes of a log in a database: they are read in less than a second.
const DATABASE_LOG_BYTES_MAX: u64 = 48 << 20;

/// Bytes of the log of a shard, however many there are.
const SHARD_LOG_BYTES_MIN: u64 = 8 << 20;
/// Workspaces in memory of a shard, however many there are.
const SHARD_RESIDENTS_MIN: usize = 1_000;

/// Storage quotas of workspaces; unlimited by default.
#[derive(Clone, Debug, Default)]
pub struct Extents {
    /// For every workspace that is not named.
    pub usual: Option<StorageQuota>,
    /// For these workspaces.
    pub named: HashMap<WorkspaceName, StorageQuota>,
    /// The history that every workspace keeps that is not named, in bytes.
    pub history_bytes_max: Option<u64>,
    /// The history that these workspaces keep, in bytes; none for no limit.
    pub history_named: HashMap<WorkspaceName, Option<u64>>,
}

impl Extents {
    /// The quota of one workspace. The workspace that stores tokens has none.
    pub(crate) fn of(&self, workspace: &WorkspaceName) -> Option<StorageQuota> {
        if workspace.as_str() == CLOSED {
            return None;
        }
        self.named.get(workspace).copied().or(self.usual)
    }

    /// How many bytes of history a workspace keeps, if there is a limit.
    pub(crate) fn history_of(&self, workspace: &WorkspaceName) -> Option<u64> {
        if workspace.as_str() == CLOSED {
            return None;
        }
        self.history_named.get(workspace).copied().unwrap_or(self.history_bytes_max)
    }
}

/// Options, each with a default that suits a laptop and a small server.
#[derive(Clone, Debug)]
pub struct Options {
    /// Groups up to this many batches are written by a caller, without waking a thread.
    pub inline_batches_max: usize,
    /// And up to this many bytes.
    pub inline_bytes_max: usize,
    /// And only while a write takes at most this long; a slow disk must not block an executor.
    pub inline_write_max: Duration,
    /// The size from which a group accepts no more; callers wait for it then. With one more batch
    /// it must fit into a log record. Every caller waits for the whole group of its request, so
    /// a large one delays small requests.
    pub group_bytes_max: usize,
    /// Maximum queued events of one watcher before it fails with `watch.lagged`.
    pub watch_queue_max: usize,
    /// Maximum number of entries that a watch may start with.
    pub watch_snapshot_max: usize,
    /// Batches that are only in the log before they are archived.
    pub tail_batches_max: usize,
    /// Batches that are only in the log before a query about the past archives them first, so that
    /// it and later queries are answered from an index.
    pub tail_batches_asked_max: usize,
    /// Bytes of log before the workspace that needs the oldest record is archived.
    pub log_bytes_max: u64,
    /// Largest run of archived batches, in bytes.
    pub run_bytes_max: u64,
    /// Log bytes since the last snapshot before another one is written. Large workspaces wait until
    /// a third of their size has changed.
    pub snapshot_bytes_min: u64,
    /// Entries captured between two groups while a snapshot is taken.
    pub snapshot_chunk: usize,
    /// Maximum number of batches that are replayed for one query about the past, if no snapshot is
    /// nearer: some seconds of work.
    pub past_batches_max: u64,
    /// Minimum free bytes on the disk: with less, writes are refused until there is more again. 0
    /// disables the check.
    pub disk_free_bytes_min: u64,
    /// Storage quotas.
    pub extents: Extents,
    /// How long a workspace is unused before it is archived, snapshotted and dropped from memory.
    pub idle: Duration,
    /// Workspaces in memory before the least recently used ones are dropped from it.
    pub residents_max: usize,
    /// How often compaction runs.
    pub compaction_interval: Duration,
    /// The file with the key that encrypts the values of secrets, for data in a database or in
    /// NATS: without it, secrets are refused there. Data in a folder have none.
    pub secrets_key_file: Option<PathBuf>,
}

impl Options {
    /// For a log in a database: callers never wait for the network, and the log stays short, since
    /// the next server reads all of it when it takes over.
    #[must_use]
    pub fn for_database(self) -> Self {
        Self {
            inline_batches_max: 0,
            tail_batches_max: self.tail_batches_max.min(DATABASE_TAIL_BATCHES_MAX),
            log_bytes_max: self.log_bytes_max.min(DATABASE_LOG_BYTES_MAX),
            ..self
        }
    }
}

impl Options {
    /// For one of several shards of a database whose engines are in one process: together they may
    /// have what one would.
    #[must_use]
    pub fn for_shard(self, shards: u32) -> Self {
        let options = self.for_database();
        let log_bytes = 4 * DATABASE_LOG_BYTES_MAX / u64::from(shards.max(1));
        options.divided_by(shards, log_bytes)
    }

    /// The same for one of several shards of a folder.
    #[must_use]
    pub fn for_shard_of_folder(self, shards: u32) -> Self {
        let log_bytes = self.log_bytes_max / u64::from(shards.max(1));
        self.divided_by(shards, log_bytes)
    }

    fn divided_by(self, shards: u32, log_bytes: u64) -> Self {
        let residents = self.residents_max / shards.max(1) as usize;
        Self {
            log_bytes_max: self.log_bytes_max.min(log_bytes.max(SHARD_LOG_BYTES_MIN)),
            residents_max: residents.max(SHARD_RESIDENTS_MIN),
            ..self
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            inline_batches_max: 64,
            inline_bytes_max: 64 << 10,
            inline_write_max: Duration::from_micros(250),
            group_bytes_max: 2 << 20,
            watch_queue_max: 4_096,
            watch_snapshot_max: 100_000,
            tail_batches_max: 150_000,
            tail_batches_asked_max: 20_000,
            log_bytes_max: 512 << 20,
            run_bytes_max: 64 << 20,
            snapshot_bytes_min: 64 << 20,
            snapshot_chunk: 1_024,
            past_batches_max: 5_000_000,
            disk_free_bytes_min: 0,
            extents: Extents::default(),
            idle: Duration::from_mins(5),
            residents_max: 100_000,
            compaction_interval: Duration::from_millis(500),
            secrets_key_file: None,
        }
    }
}
