//! `baton cluster`: the servers that share a database.

use std::time::Duration;

use baton_client::Method;
use baton_server::{ClusterStatus, ServerStatus};
use clap::{Args, Subcommand};
use serde::Serialize;
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::context::Context;
use crate::failure::{Failure, Fault};
use crate::input::milliseconds;
use crate::output::Output;

const AFTER_HELP: &str = "\
Examples:
  baton cluster status                 servers, the age of their heartbeats, and their shards
  baton --json cluster status          with the number of every shard, and all counters
  baton cluster drain 3f9a1c           empty the server whose id begins so, without stopping it
  baton cluster drain http://10.0.0.5:4747 --wait 5m
  baton cluster undrain 3f9a1c         let it take shards again

`taken` and `lost` count shards, and `forwarded` requests, since the server was started.
A server is started with `baton serve --log postgres://…`, and given its shards by the others. It
gives them back when it is stopped or drained. A drained server forwards requests, and is not ready
for a load balancer; it remains drained until `undrain`, or until it is restarted. See
docs/postgres.md.";

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
    Drain(Drain),
    /// Let a drained server take shards again
    Undrain {
        /// Server: its address, its id or the beginning of it [default: the server that answers]
        server: Option<String>,
    },
}

/// Empty a server without stopping it: its shards go to the others
#[derive(Args)]
struct Drain {
    /// Server: its address, its id or the beginning of it [default: the server that answers]
    server: Option<String>,
    /// How long to wait until it has no shards; 0s does not wait
    #[arg(long, value_name = "DURATION", default_value = "1m", value_parser = milliseconds)]
    wait: u64,
}

/// The interval at which a server that is being emptied is queried. Its shards go two at a time,
/// each within a second.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// A status older than this may be outdated: a server looks several times a second.
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
        match self.verb {
            Verb::Status => show_status(context, output).await,
            Verb::Drain(drain) => drain.run(context, output).await,
            Verb::Undrain { server } => {
                let server = ask(context, "undrain", server).await?;
                output.said(&server, &format!("{} takes shards again", name(&server)))
            }
        }
    }
}

impl Drain {
    async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let (begun, wait) = (Instant::now(), Duration::from_millis(self.wait));
        let mut server = ask(context, "drain", self.server).await?;
        // The answer describes the server before the drain: it may take a shard until it sees it.
        let mut is_seen = false;
        while !is_seen || !server.shards.is_empty() {
            let left = server.shards.len();
            if wait.is_zero() {
                let text = format!("{} gives {left} shards to the others", name(&server));
                return output.said(&server, &text);
            }
            if begun.elapsed() >= wait {
                let what =
                    format!("{} still has {left} shards; the drain continues", name(&server));
                return Err(Fault::NothingInTime { what }.into());
            }
            sleep(LOOK_EVERY).await;
            let status: ClusterStatus =
                context.administer(Method::GET, "access/cluster", None).await?;
            match status.servers.into_iter().find(|row| row.id == server.id) {
                Some(row) => (is_seen, server) = (row.draining, row),
                // It was stopped meanwhile, or was declared gone: it has no shards.
                None => (is_seen, server.shards) = (true, Vec::new()),
            }
        }
        output.said(&server, &format!("{} has no shards", name(&server)))
    }
}

/// Asks for a server to be drained, or undrained. The server, as it was before.
async fn ask(
    context: &Context,
    verb: &str,
    server: Option<String>,
) -> Result<ServerStatus, Failure> {
    let asked = server.map_or_else(|| json!({}), |server| json!({"server": server}));
    context.administer(Method::POST, &format!("access/cluster/{verb}"), Some(&asked)).await
}

fn name(server: &ServerStatus) -> String {
    format!("server {} ({})", server.id, server.address)
}

async fn show_status(context: &Context, output: &mut Output) -> Result<(), Failure> {
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
