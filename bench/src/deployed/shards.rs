//! A folder that is divided into shards, each with a thread, against one that is not.
//!
//! ```text
//!   64 connections ── each with a workspace of its own ──▶ 1, 2 or 4 shards
//! ```
//!
//! The driver is one thread, which needs a processor as well: on a machine with two, all shards
//! together have little more than one. The effect of more processors is estimated from the
//! processor time of an operation, not from the rates.

use std::path::Path;

use super::{CONNECTIONS, IN_FLIGHT};
use crate::Outcome;
use crate::options::Options;
use crate::peers::baton;
use crate::peers::driver::{self, Opened, Requests, TurnResult};
use crate::peers::processes::Server;
use crate::peers::throughput::{alternate, line};
use crate::report::Report;

/// The numbers of shards that are compared with one.
const SHARDS: [usize; 3] = [1, 2, 4];
/// Keys of each workspace.
const KEYS: usize = 256;
/// The two loads: requests in flight on a connection.
const DEPTHS: [usize; 2] = [1, IN_FLIGHT];

/// Measures all numbers of shards in rounds.
pub(super) fn run(program: &Path, options: &Options, report: &mut Report) -> Outcome<()> {
    if !options.wants("shards") {
        return Ok(());
    }
    let started = SHARDS.iter().map(|shards| start(program, options, *shards));
    let servers = started.collect::<Outcome<Vec<_>>>()?;
    for depth in DEPTHS {
        let name = format!("set, {CONNECTIONS} x {depth}, {CONNECTIONS} workspaces");
        let turns = alternate(&name, servers.len(), options.turns, |which, _| {
            servers[which].blame(turn(&servers[which], depth, options))
        })?;
        for (shards, several) in SHARDS.iter().zip(&turns).skip(1) {
            report.add(line(&format!("{name}, {shards} shards"), "one", several, &turns[0]));
        }
    }
    Ok(())
}

fn start(program: &Path, options: &Options, shards: usize) -> Outcome<Server> {
    let server = baton::start_with(program, &options.folder, |command, _| {
        command.args(["--shards", &shards.to_string()]);
        Ok(())
    })?;
    driver::fill(open(&server)?, IN_FLIGHT, KEYS)?;
    Ok(server)
}

fn turn(server: &Server, depth: usize, options: &Options) -> Outcome<TurnResult> {
    driver::measure(open(server)?, depth, options.turn, server.pid())
}

/// A connection for every workspace.
fn open(server: &Server) -> Outcome<Vec<Opened<Sets, baton::Json>>> {
    let open = |number| {
        let workspace = format!("bench-{number}");
        let stream = baton::connect_for(server.port(), &workspace)?;
        let requests = (0..KEYS).map(|key| baton::set_in(&workspace, key)).collect();
        Ok((stream, Sets { requests, next: 0 }, baton::Json))
    };
    (0..CONNECTIONS).map(open).collect()
}

/// The sets of one workspace, in a cycle.
struct Sets {
    requests: Vec<Vec<u8>>,
    next: usize,
}

impl Requests for Sets {
    fn next(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.requests[self.next]);
        self.next = (self.next + 1) % self.requests.len();
    }
}
