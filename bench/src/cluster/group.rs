//! Servers that share a schema, and which of them owns what.

use std::path::{Path, PathBuf};
use std::time::Duration;

use baton_server::shard_of;
use serde_json::Value;

use super::database::Database;
use crate::Outcome;
use crate::options::Options;
use crate::peers::baton::{ask_http, start_ready};
use crate::peers::processes::{Server, go_on_unless_interrupted};
use crate::resources::{Stopwatch, pause};

/// How long servers may take to divide the shards.
const SETTLE_MAX: Duration = Duration::from_mins(1);
/// The delay between two looks at them.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Servers that share a schema.
pub(super) struct Group {
    program: PathBuf,
    folder: PathBuf,
    log: String,
    shards: Option<u32>,
    pub(super) servers: Vec<Server>,
}

/// The servers that own the shards, by their places in the group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Owners(pub(super) Vec<usize>);

impl Owners {
    /// The place of the owner of a workspace.
    pub(super) fn of(&self, workspace: &str) -> usize {
        let shards = u32::try_from(self.0.len()).expect("there are few shards");
        self.0[shard_of(workspace, shards) as usize]
    }

    /// The owners by the state of the cluster; none while shards move, or servers come and go.
    pub(super) fn parse(status: &Value, addresses: &[String]) -> Option<Self> {
        let shards = usize::try_from(status["shards"].as_u64()?).ok()?;
        let servers = status["servers"].as_array()?;
        let mut owners = vec![None; shards];
        for server in servers {
            let place = addresses.iter().position(|address| server["address"] == **address)?;
            let owned = server["shards"].as_array()?;
            if owned.len() > shards.div_ceil(addresses.len()) {
                return None;
            }
            for shard in owned {
                *owners.get_mut(usize::try_from(shard.as_u64()?).ok()?)? = Some(place);
            }
        }
        let all = owners.into_iter().collect::<Option<Vec<usize>>>()?;
        (servers.len() == addresses.len()).then_some(Self(all))
    }
}

impl Group {
    /// Starts as many servers on an empty schema, and waits until they have divided the shards.
    pub(super) fn start(
        program: &Path,
        options: &Options,
        database: &mut Database,
        (schema, servers, shards): (&str, usize, Option<u32>),
    ) -> Outcome<Self> {
        let (program, folder) = (program.to_path_buf(), options.folder.clone());
        let log = database.empty_schema(schema)?;
        let mut group = Self { program, folder, log, shards, servers: Vec::new() };
        for _ in 0..servers {
            group.add()?;
        }
        group.owners()?;
        Ok(group)
    }

    /// Starts one more server.
    pub(super) fn add(&mut self) -> Outcome<()> {
        let server = start_ready(&self.program, &self.folder, "/readyz", |command, _| {
            command.args(["--log", &self.log]);
            if let Some(shards) = self.shards {
                command.args(["--shards", &shards.to_string()]);
            }
            Ok(())
        })?;
        self.servers.push(server);
        Ok(())
    }

    /// The owners of the shards, when all have an owner and no server has more than its share.
    pub(super) fn owners(&self) -> Outcome<Owners> {
        let addresses =
            self.servers.iter().map(|server| format!("http://127.0.0.1:{}", server.port()));
        let addresses: Vec<String> = addresses.collect();
        let clock = Stopwatch::start();
        loop {
            go_on_unless_interrupted()?;
            let status = ask_http(self.servers[0].port(), "GET", "/v1/access/cluster", "")?;
            if let Some(owners) = Owners::parse(&serde_json::from_str(&status)?, &addresses) {
                return Ok(owners);
            }
            if clock.elapsed() > SETTLE_MAX {
                return Err(format!("the shards are not divided: {status}").into());
            }
            pause(LOOK_EVERY);
        }
    }

    /// The processes of the servers.
    pub(super) fn pids(&self) -> Vec<u32> {
        self.servers.iter().map(Server::pid).collect()
    }

    /// Adds the output of the first server to an error.
    pub(super) fn blame<T>(&self, outcome: Outcome<T>) -> Outcome<T> {
        self.servers[0].blame(outcome)
    }
}
