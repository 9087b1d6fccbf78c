//! The database that the servers share, and what it does by itself.

use std::fs;
use std::io::{BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use super::Turn;
use super::sets::{CONNECTIONS, IN_FLIGHT};
use crate::Outcome;
use crate::peers::driver::{PATIENCE, TurnResult};
use crate::peers::latencies::Latencies;
use crate::peers::postgres::{call_with_array, prepare, query, startup_as};
use crate::peers::processes::go_on_unless_interrupted;
use crate::resources::{Measured, Stopwatch, Usage, count, thread_cpu_seconds, tree_usage};
use crate::samples::{key, value};

/// Where `scripts/postgres` puts the address.
const VARIABLE: &str = "BATON_POSTGRES";
/// The port that names the socket, as nothing else is given.
const SOCKET: &str = ".s.PGSQL.5432";
/// The number of entries is that of the loads in flight: a server can group no more.
const ROWS: usize = CONNECTIONS * IN_FLIGHT;
const TABLE: &str = "drop table if exists bench_entry; create table bench_entry \
    (position bigint generated always as identity primary key, entry text)";
const STATEMENT: &str = "entries";
const INSERT: &str = "insert into bench_entry (entry) select unnest($1::text[])";

/// The database.
pub(super) struct Database {
    address: String,
    pid: u32,
    connection: BufReader<UnixStream>,
}

/// The parts of an address.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) user: String,
    /// The folder of the socket.
    pub(super) folder: String,
    pub(super) database: String,
}

impl Address {
    /// Parses an address of a socket, as `postgres://user@%2Ffolder/database`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (user, rest) = text.strip_prefix("postgres://")?.split_once('@')?;
        let (host, database) = rest.split_once('/')?;
        let folder = host.replace("%2F", "/");
        let is_socket = folder.starts_with('/') && !database.contains('?');
        let (user, database) = (user.to_owned(), database.to_owned());
        is_socket.then_some(Self { user, folder, database })
    }
}

impl Database {
    /// Connects to the database that the environment names.
    pub(super) fn from_environment() -> Outcome<Self> {
        let missing = |_| {
            format!(
                "`{VARIABLE}` names no database: run it by `scripts/postgres baton-bench cluster`"
            )
        };
        let address = std::env::var(VARIABLE).map_err(missing)?;
        let parsed = Address::parse(&address)
            .ok_or_else(|| format!("`{VARIABLE}={address}` is not the address of a socket"))?;
        let socket = Path::new(&parsed.folder).join(SOCKET);
        let stream = UnixStream::connect(&socket)
            .map_err(|error| format!("`{}`: {error}", socket.display()))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        // Its first line is the number of the process that has the socket.
        let lock = fs::read_to_string(socket.with_extension("5432.lock"))?;
        let pid = lock.lines().next().and_then(|line| line.trim().parse().ok());
        let pid = pid.ok_or("the lock of the socket names no process")?;
        let mut database = Self { address, pid, connection: BufReader::new(stream) };
        database.ask(&startup_as(&parsed.user, &parsed.database))?;
        database.ask(&query(TABLE))?;
        database.ask(&prepare(STATEMENT, INSERT))?;
        Ok(database)
    }

    /// The process of the database; those of its connections are its children.
    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    /// The address of an empty schema.
    pub(super) fn empty_schema(&mut self, name: &str) -> Outcome<String> {
        self.ask(&query(&format!("drop schema if exists {name} cascade")))?;
        Ok(format!("{}?schema={name}", self.address))
    }

    /// One connection that inserts one group of rows after the other, each durable before the next,
    /// as a server does with the groups of a shard.
    pub(super) fn grouped_inserts(&mut self, turn: Duration) -> Outcome<Turn> {
        self.ask(&query("truncate bench_entry"))?;
        let entries = (0..ROWS).map(|number| key(number) + &value(number)).collect::<Vec<_>>();
        let group = call_with_array(STATEMENT, &entries);
        let clock = Stopwatch::start();
        while clock.elapsed() < turn * 3 / 10 {
            self.ask(&group)?;
        }
        let (usage, callers, began) = (tree_usage(self.pid), thread_cpu_seconds(), clock.elapsed());
        let (mut latencies, mut rows, mut ended) = (Latencies::new(), 0, began);
        while ended < began + turn {
            self.ask(&group)?;
            let now = clock.elapsed();
            latencies.add(now.saturating_sub(ended));
            rows += ROWS as u64;
            ended = now;
        }
        let measured = Measured {
            operations: count(rows),
            seconds: ended.saturating_sub(began).as_secs_f64(),
            usage: tree_usage(self.pid) - usage,
            caller_cpu_seconds: thread_cpu_seconds() - callers,
        };
        let (p50_us, p99_us) = (latencies.quantile_us(0.5), latencies.quantile_us(0.99));
        let served = TurnResult { measured, p50_us, p99_us };
        Ok(Turn { served, database: Usage::default() })
    }

    /// Sends a message, and waits until the server is ready for the next.
    fn ask(&mut self, message: &[u8]) -> Outcome<()> {
        go_on_unless_interrupted()?;
        self.connection.get_mut().write_all(message)?;
        let mut refusal = None;
        loop {
            let mut head = [0; 5];
            self.connection.read_exact(&mut head)?;
            let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
            let length = length.checked_sub(4).ok_or("a message without a length")?;
            let mut body = vec![0; usize::try_from(length)?];
            self.connection.read_exact(&mut body)?;
            match (head[0], refusal) {
                (b'Z', None) => return Ok(()),
                (b'Z', Some(refusal)) => return Err(refusal),
                (b'E', _) => {
                    let text = String::from_utf8_lossy(&body).replace('\0', " ");
                    refusal = Some(format!("PostgreSQL refused: {text}").into());
                }
                (_, before) => refusal = before,
            }
        }
    }
}
