//! `baton serve` with a folder that is divided into shards: an engine, a thread and a log for each.

use baton::clock::SystemClock;
use baton::error::Error;
use baton::{Baton, Options};
use baton_log::{Options as FileOptions, ShardsLock, open_shards, shard_folders};
use baton_server::access::Tokens;
use baton_server::{Cluster, HOME, Routes, ServerStatus, Settings, shard_of};
use tokio::task::spawn_blocking;

use super::announcer::Announcer;
use super::{Scheme, StopSignals, first_token};
use crate::failure::{Failure, Fault};
use crate::settings::ServerSettings;

/// The id of the only server of the shards.
const ME: &str = "alone";

/// The engines of all shards of a folder.
pub(super) struct FolderShards {
    batons: Vec<Baton>,
    description: String,
    /// Kept until the engines have ended.
    _lock: ShardsLock,
}

impl FolderShards {
    /// None if one engine is to have the whole folder.
    pub(super) async fn open(
        serving: &ServerSettings,
        options: Options,
    ) -> Result<Option<Self>, Failure> {
        let is_divided = shard_folders(&serving.data).map_err(Error::from)?.is_some();
        if !is_divided && serving.shards.is_none_or(|shards| shards == 1) {
            return Ok(None);
        }
        if serving.artifacts.is_some() {
            let reason = "--artifacts cannot be combined with several shards: a bucket does not \
                know which shard a workspace is in";
            return Err(Fault::Usage { reason: reason.to_owned() }.into());
        }
        let (file, shards) = (FileOptions::new(&serving.data), serving.shards);
        let opening = move || {
            let (logs, lock) = open_shards(&file, shards)?;
            let shards = u32::try_from(logs.len()).unwrap_or(u32::MAX);
            let options = options.for_shard_of_folder(shards);
            let open = |log| Baton::on(log, SystemClock::default(), options.clone());
            let batons = logs.into_iter().map(open).collect::<Result<_, _>>()?;
            let description = format!("{shards} shards in {}", file.folder.display());
            Ok::<_, Error>(Self { batons, description, _lock: lock })
        };
        Ok(Some(spawn_blocking(opening).await.map_err(|_| Error::Closed)??))
    }

    /// Serves until a signal.
    pub(super) async fn serve(
        self,
        settings: Settings,
        announcer: &Announcer,
        mut signals: StopSignals,
    ) -> Result<(), Failure> {
        let shards = u32::try_from(self.batons.len()).unwrap_or(u32::MAX);
        let home = &self.batons[shard_of(HOME, shards) as usize];
        // Unreadable tokens would refuse every caller.
        Tokens::of(home)?.all().await?;
        let first = if settings.tokens { first_token(home).await? } else { None };
        let scheme = Scheme::of(&settings);
        let server = Cluster::bind(settings, None).await?.with_threads(shards)?;
        if let Some(token) = first {
            announcer.first_token(&token);
        }
        let (handle, url) = (server.handle(), scheme.url(server.address()));
        for (shard, baton) in (0..).zip(self.batons) {
            handle.adopt(shard, shards, baton).await;
        }
        handle.set_routes(routes(shards, &url));
        announcer.began(&self.description, &url, scheme.demands_tokens);
        server.run(async move { signals.received().await }).await;
        Ok(())
    }
}

/// This server has all shards, always.
fn routes(shards: u32, url: &str) -> Routes {
    let (id, address, version) =
        (ME.to_owned(), url.to_owned(), env!("CARGO_PKG_VERSION").to_owned());
    let server =
        ServerStatus { id, address, version, shards: (0..shards).collect(), ..Default::default() };
    Routes {
        me: ME.to_owned(),
        servers: vec![server],
        owners: vec![Some(ME.to_owned()); shards as usize],
        is_fixed: true,
        ..Routes::default()
    }
}
