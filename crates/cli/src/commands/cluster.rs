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
  baton --json cluster status          with the number of every shard, and all counters

`taken` and `lost` count shards, and `forwarded` requests, since the server was started.
A server is started with `baton serve --log postgres://…`, and given its shards by the others. It
gives them back when it is stopped. See docs/postgres.md.";

const COLUMNS: [&str; 10] = [
    "id",
    "address",
    "version",
    "heartbeat_age_ms",
    "heartbeat_us",
    "draining",
    "shards",
    "taken",
    "lost",
    "forwarded",
];

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

/// What was seen longer ago than this may have changed: a server looks several times a second.
const RECENT_MS: u64 = 3_000;

/// A line of the table.
#[derive(Serialize)]
struct Line {
    id: String,
    address: String,
    version: String,
    heartbeat_age_ms: u64,
    /// How long a heartbeat takes on average; none if the server does not answer.
    heartbeat_us: Option<u64>,
    draining: bool,
    shards: usize,
    /// Since the server was started.
    taken: Option<u64>,
    lost: Option<u64>,
    forwarded: Option<u64>,
}

impl Cluster {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let Verb::Status = self.verb;
        let status: ClusterStatus = context.administer(Method::GET, "access/cluster", None).await?;
        let lines = status.servers.iter().map(|server| {
            let counters = server.counters.as_ref();
            Line {
                id: server.id.clone(),
                address: server.address.clone(),
                version: server.version.clone(),
                heartbeat_age_ms: server.heartbeat_age_ms,
                heartbeat_us: counters.map(|it| it.heartbeat_us_mean),
                draining: server.draining,
                shards: server.shards.len(),
                taken: counters.map(|it| it.shards_taken),
                lost: counters.map(|it| it.shards_lost),
                forwarded: counters.map(|it| it.forwarded),
            }
        });
        let lines: Vec<Line> = lines.collect();
        let owned = status.shards as usize - status.unowned.len();
        output.show(&status, |output| {
            if matches!(&status.servers[..], [only] if only.counters.is_none()) {
                return "this server shares its data with no other\n".to_owned();
            }
            let table = output.table(&lines, &COLUMNS);
            let age = seen(status.age_ms);
            format!("{table}{owned} of {} shards have an owner{age}\n", status.shards)
        })
    }
}

/// How old the status is, if it is not recent.
fn seen(age_ms: u64) -> String {
    if age_ms <= RECENT_MS {
        return String::new();
    }
    let seconds = age_ms / 1_000;
    format!(", as of {seconds} s ago: the log does not answer the server that was asked")
}

#[cfg(test)]
mod tests {
    use super::seen;

    #[test]
    fn a_status_that_is_not_recent_has_an_age() {
        assert_eq!(seen(200), "");
        assert!(seen(12_400).starts_with(", as of 12 s ago"));
    }
}
