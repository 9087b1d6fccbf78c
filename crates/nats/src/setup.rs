//! The streams of a log, and the settings of NATS that would lose data.
//!
//! | stream | subjects | what |
//! |---|---|---|
//! | `baton-roster` | `baton.roster.>` | servers, owners of shards, the number of shards |
//! | `baton-shard-K` | `baton.shard.K.>` | everything durable of a shard but the bytes of blobs |
//! | `baton-blobs` | `baton.blobs.>` | the bytes of blobs, in chunks |

use std::collections::HashMap;
use std::time::Duration;

use baton_cluster::{SHARDS_MAX, Shards};
use baton_log::OpenError;
use futures_util::future::try_join_all;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::connection::{EXPECTED_LAST_OF_SUBJECT, Failure, Nats, Outgoing, random, repeated};
use crate::location::Durability;

/// The format of the streams that this program writes and reads.
const FORMAT: u32 = 1;
const FORMAT_NAME: &str = "baton-format";
/// The first version that returns several messages for one request.
const VERSION_MIN: (i64, i64, i64) = (2, 11, 0);
/// Chunks and their headers must fit into a message.
const PAYLOAD_BYTES_MIN: usize = 600 << 10;
const REPLICAS_USUAL: u32 = 3;
/// How long to wait for the settings of a server.
const MONITOR_MAX: Duration = Duration::from_secs(2);
const MONITOR_BYTES_MAX: u64 = 1 << 20;

/// The name of the stream with the servers.
pub(crate) fn roster(prefix: &str) -> String {
    format!("{prefix}-roster")
}

/// The name of the stream of a shard.
pub(crate) fn shard(prefix: &str, shard: u32) -> String {
    format!("{prefix}-shard-{shard}")
}

/// The name of the stream with the bytes of blobs.
pub(crate) fn blobs(prefix: &str) -> String {
    format!("{prefix}-blobs")
}

fn meta_subject(prefix: &str) -> String {
    format!("{prefix}.roster.meta")
}

/// The known facts about a log.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Meta {
    pub(crate) shards: u32,
    /// The secret with which servers authenticate to each other: reading it takes access to NATS.
    pub(crate) secret: String,
    #[serde(default)]
    pub(crate) restoring: bool,
    /// The id of the key for secrets.
    #[serde(default)]
    pub(crate) secrets_key: Option<String>,
}

/// A log that can be used.
pub(crate) struct Prepared {
    pub(crate) meta: Meta,
    /// How durable it is.
    pub(crate) durable: String,
}

#[derive(Deserialize)]
struct StreamInfo {
    config: StreamConfig,
}

#[derive(Deserialize)]
struct StreamConfig {
    num_replicas: u32,
    #[serde(default)]
    storage: String,
    #[serde(default)]
    allow_direct: bool,
    #[serde(default)]
    subjects: Vec<String>,
    #[serde(default)]
    metadata: HashMap<String, String>,
}

/// Creates the streams if they are missing, with this many shards, and refuses what cannot be used.
pub(crate) async fn prepare(nats: &Nats, shards: Shards) -> Result<Prepared, OpenError> {
    let setup =
        Setup { nats, location: nats.location().description(), prefix: &nats.location().prefix };
    setup.check_servers().await?;
    let durable = setup.check_durability().await?;
    let replicas = setup.create_roster().await?;
    let meta = match setup.meta().await? {
        Some(meta) => meta,
        None => setup.create(shards.created(), replicas).await?,
    };
    if meta.restoring {
        return Err(setup.unfit(format!(
            "a restore into it has not finished; if none is running, delete the streams \
             `{}-*`, then restore again",
            setup.prefix
        )));
    }
    if let Shards::Exactly(wanted) = shards
        && wanted != meta.shards
    {
        return Err(setup.unfit(format!(
            "a log with the prefix `{}` was created with {} shards, which cannot be changed to \
             {wanted}; another log needs another ?prefix=",
            setup.prefix, meta.shards
        )));
    }
    let version = nats.client().server_info().version;
    let copies = if replicas == 1 { "on one server" } else { "on a majority of the replicas" };
    let durable = format!("NATS {version}, {durable} {copies} (R{replicas})");
    Ok(Prepared { meta, durable })
}

/// Sets whether the log is being restored.
pub(crate) async fn set_restoring(nats: &Nats, restoring: bool) -> Result<bool, Failure> {
    let prefix = &nats.location().prefix;
    let (stream, subject) = (roster(prefix), meta_subject(prefix));
    let found = nats.last_on(&stream, &subject).await?.ok_or(Failure::Missing)?;
    let mut meta: Meta = found.fact()?;
    if meta.restoring == restoring {
        return Ok(false);
    }
    meta.restoring = restoring;
    let out = Outgoing::fact(subject, &meta).with(EXPECTED_LAST_OF_SUBJECT, &found.sequence);
    nats.publish_repeated(out).await.map(|_| true)
}

/// The id of the key for secrets; if there is none yet, `mine` is kept.
pub(crate) async fn secrets_key(
    nats: &Nats,
    mine: Option<String>,
) -> Result<Option<String>, Failure> {
    let prefix = &nats.location().prefix;
    let (stream, subject) = (roster(prefix), meta_subject(prefix));
    loop {
        let found = repeated(|| nats.last_on(&stream, &subject)).await?;
        let found = found.ok_or(Failure::Missing)?;
        let mut meta: Meta = found.fact()?;
        if meta.secrets_key.is_some() || mine.is_none() {
            return Ok(meta.secrets_key);
        }
        meta.secrets_key.clone_from(&mine);
        let out = Outgoing::fact(subject.clone(), &meta);
        match nats.publish_repeated(out.with(EXPECTED_LAST_OF_SUBJECT, &found.sequence)).await {
            // Another server has changed it in the meantime, or this one without an answer.
            Ok(_) | Err(Failure::WrongSequence) => {}
            Err(failure) => return Err(failure),
        }
    }
}

struct Setup<'a> {
    nats: &'a Nats,
    location: &'a str,
    prefix: &'a str,
}

impl Setup<'_> {
    fn unfit(&self, reason: String) -> OpenError {
        OpenError::Unfit { location: self.location.to_owned(), reason }
    }

    fn failed(&self, failure: &Failure) -> OpenError {
        failure.at_opening(self.location)
    }

    async fn check_servers(&self) -> Result<(), OpenError> {
        let client = self.nats.client();
        let (major, minor, patch) = VERSION_MIN;
        let info = client.server_info();
        if !client.is_server_compatible(major, minor, patch) {
            let version = info.version;
            return Err(self.unfit(format!("it is NATS {version}; {major}.{minor} is needed")));
        }
        if info.max_payload < PAYLOAD_BYTES_MIN {
            return Err(self.unfit(format!(
                "`max_payload` is {} bytes, at least {PAYLOAD_BYTES_MIN} are needed",
                info.max_payload
            )));
        }
        let account: Result<Value, _> = self.nats.api("INFO", &json!({})).await;
        match account {
            Ok(_) => Ok(()),
            Err(Failure::Again(_)) => Err(self.failed(&Failure::refused(
                "JetStream is not enabled, or has no leader at the moment: start nats-server with \
                 -js, and more than half of the servers of a cluster",
            ))),
            Err(failure) => Err(self.failed(&failure)),
        }
    }

    /// Finds out whether a message is on disk when it is acknowledged: the words for it.
    async fn check_durability(&self) -> Result<&'static str, OpenError> {
        let location = self.nats.location();
        if location.durability == Durability::Replicated {
            return Ok("in memory or on disk");
        }
        let mut seen = 0;
        for monitor in &location.monitors {
            match timeout(MONITOR_MAX, syncs_always(monitor)).await {
                Ok(Some(true)) => seen += 1,
                Ok(Some(false)) => {
                    return Err(self.unfit(format!(
                        "the server of NATS at {monitor} acknowledges messages before they are on \
                         its disk: set `jetstream {{ sync_interval: always }}`, or accept that \
                         acknowledged writes are lost if all replicas lose power at once with \
                         ?durability=replicated"
                    )));
                }
                Ok(None) | Err(_) => {}
            }
        }
        if seen > 0 {
            return Ok("on disk");
        }
        Err(self.unfit(format!(
            "whether NATS writes every message to disk cannot be seen at {}: set \
             `jetstream {{ sync_interval: always }}` and `http: 8222`, and name where with \
             ?monitor=host:port,…, or say ?durability=replicated",
            location.monitors.join(" or ")
        )))
    }

    async fn info(&self, stream: &str) -> Result<Option<StreamConfig>, OpenError> {
        let info: Result<StreamInfo, _> =
            self.nats.api_repeated(&format!("STREAM.INFO.{stream}"), &json!({})).await;
        match info {
            Ok(info) => self.check_stream(stream, info.config).map(Some),
            Err(Failure::Missing) => Ok(None),
            Err(failure) => Err(self.failed(&failure)),
        }
    }

    /// Refuses a stream of another program, or with settings that would lose data.
    fn check_stream(&self, name: &str, config: StreamConfig) -> Result<StreamConfig, OpenError> {
        let format = config.metadata.get(FORMAT_NAME).and_then(|format| format.parse().ok());
        let prefix = format!("{}.", self.prefix);
        let Some(found) =
            format.filter(|_| config.subjects.iter().all(|subject| subject.starts_with(&prefix)))
        else {
            return Err(self.unfit(format!(
                "the stream `{name}` is of another program; name another prefix with ?prefix="
            )));
        };
        if found > FORMAT {
            return Err(OpenError::Newer { found, supported: FORMAT });
        }
        if config.storage != "file" || !config.allow_direct {
            return Err(self.unfit(format!(
                "the stream `{name}` must be stored in files and allow direct access"
            )));
        }
        Ok(config)
    }

    /// Creates a stream, unless it is there. Its replicas.
    async fn create_stream(
        &self,
        name: String,
        subjects: String,
        replicas: u32,
        per_subject: i64,
    ) -> Result<u32, OpenError> {
        if let Some(found) = self.info(&name).await? {
            return Ok(found.num_replicas);
        }
        let wanted = json!({
            "name": name, "subjects": [subjects], "retention": "limits", "storage": "file",
            "discard": "new", "num_replicas": replicas, "max_consumers": -1, "max_msgs": -1,
            "max_bytes": -1, "max_age": 0, "max_msg_size": -1, "max_msgs_per_subject": per_subject,
            "allow_direct": true, "metadata": {FORMAT_NAME: FORMAT.to_string()},
        });
        let made: Result<StreamInfo, _> =
            self.nats.api_repeated(&format!("STREAM.CREATE.{name}"), &wanted).await;
        match made {
            Ok(made) => Ok(made.config.num_replicas),
            // Another server has created it in the meantime, or this one without an answer.
            Err(Failure::Refused { code: 10_058, .. }) => {
                let found = self.info(&name).await?;
                Ok(found.map_or(replicas, |found| found.num_replicas))
            }
            Err(Failure::Refused { code: 10_065, .. }) => Err(self.unfit(format!(
                "another stream has subjects of `{}.>`; name another prefix with ?prefix=",
                self.prefix
            ))),
            Err(Failure::Refused { code: 10_074 | 10_005, reason }) if replicas > 1 => {
                Err(self.unfit(format!("it cannot have {replicas} replicas: {reason}")))
            }
            Err(failure) => Err(self.failed(&failure)),
        }
    }

    /// The stream with the servers. How many replicas it has: all streams have as many.
    async fn create_roster(&self) -> Result<u32, OpenError> {
        let create = |replicas| {
            let subjects = format!("{}.roster.>", self.prefix);
            self.create_stream(roster(self.prefix), subjects, replicas, 1)
        };
        let location = self.nats.location();
        let is_clustered = self.nats.client().server_info().cluster.is_some();
        match location.replicas {
            Some(replicas) => create(replicas).await,
            None if is_clustered => create(REPLICAS_USUAL).await,
            None => create(1).await,
        }
    }

    async fn meta(&self) -> Result<Option<Meta>, OpenError> {
        // A stream that was just created may have no leader yet.
        let (stream, subject) = (roster(self.prefix), meta_subject(self.prefix));
        let found = repeated(|| self.nats.last_on(&stream, &subject)).await;
        let found = found.map_err(|failure| self.failed(&failure))?;
        let meta = found.map(|found| found.fact()).transpose();
        meta.map_err(|failure| self.unfit(failure.reason()))
    }

    /// Creates the other streams, and then the record that the log exists.
    async fn create(&self, shards: u32, replicas: u32) -> Result<Meta, OpenError> {
        if !(1..=SHARDS_MAX).contains(&shards) {
            return Err(self.unfit(format!("a log has 1 to {SHARDS_MAX} shards, not {shards}")));
        }
        let of_shards = (0..shards).map(|number| {
            let subjects = format!("{}.shard.{number}.>", self.prefix);
            self.create_stream(shard(self.prefix, number), subjects, replicas, -1)
        });
        try_join_all(of_shards).await?;
        let subjects = format!("{}.blobs.>", self.prefix);
        self.create_stream(blobs(self.prefix), subjects, replicas, -1).await?;
        let secret = random(32).map_err(|failure| self.failed(&failure))?;
        let meta = Meta { shards, secret, restoring: false, secrets_key: None };
        let out = Outgoing::fact(meta_subject(self.prefix), &meta);
        let made = self.nats.publish_repeated(out.with(EXPECTED_LAST_OF_SUBJECT, &0)).await;
        match made {
            // Another server has created it in the meantime, or this one without an answer.
            Ok(_) | Err(Failure::WrongSequence) => {}
            Err(failure) => return Err(self.failed(&failure)),
        }
        let missing = || self.failed(&Failure::Missing);
        self.meta().await?.ok_or_else(missing)
    }
}

/// Whether a server of NATS syncs every message, by what it shows of its settings. None if it shows
/// nothing.
async fn syncs_always(monitor: &str) -> Option<bool> {
    let mut socket = TcpStream::connect(monitor).await.ok()?;
    let request = format!("GET /varz HTTP/1.0\r\nhost: {monitor}\r\n\r\n");
    socket.write_all(request.as_bytes()).await.ok()?;
    let mut answer = Vec::new();
    socket.take(MONITOR_BYTES_MAX).read_to_end(&mut answer).await.ok()?;
    let body = answer.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let shown: Value = serde_json::from_slice(&answer[body..]).ok()?;
    let jetstream = shown.get("jetstream")?.get("config")?;
    Some(jetstream.get("sync_always").and_then(Value::as_bool).unwrap_or(false))
}
