//! `baton cluster`: the servers that share a database.

use baton_client::Method;
use baton_server::ClusterStatus;
use clap::{Args, Subcommand};
use serde::Serialize;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;

const AFTER_HELP: &str = "\
Examples:
  baton cluster status                 servers, the age of their heartbeats, and their shards
  baton --json cluster status          with the number of every shard

A server is started with `baton serve --log postgres://…`, and given its shards by the others. It
gives them back when it is stopped. See docs/postgres.md.";

const COLUMNS: [&str; 6] = ["id", "address", "version", "heartbeat_age_ms", "draining", "shards"];

/// Show the servers that share a database
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Cluster {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// List the servers and their shards, and shards without an owner
    Status,
}

/// A line of the table.
#[derive(Serialize)]
struct Line {
    id: String,
    address: String,
    version: String,
    heartbeat_age_ms: u64,
    draining: bool,
    shards: usize,
}

impl Cluster {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let Verb::Status = self.verb;
        let status: ClusterStatus = context.administer(Method::GET, "access/cluster", None).await?;
        let lines = status.servers.iter().map(|server| Line {
            id: server.id.clone(),
            address: server.address.clone(),
            version: server.version.clone(),
            heartbeat_age_ms: server.heartbeat_age_ms,
            draining: server.draining,
            shards: server.shards.len(),
        });
        let lines: Vec<Line> = lines.collect();
        let owned = status.shards as usize - status.unowned.len();
        output.show(&status, |output| {
            let table = output.table(&lines, &COLUMNS);
            format!("{table}{owned} of {} shards have an owner\n", status.shards)
        })
    }
}
