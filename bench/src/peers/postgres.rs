//! Postgres: an upsert by a prepared statement, durable by `synchronous_commit`.
//!
//! ```text
//!   before the round  startup ── parse "upsert" ── sync          each connection once
//!   a request         bind(key, value) ── execute ── sync        prebuilt, one write
//!   its answer        2 bind complete ── C "INSERT 0 1" ── Z ready for query
//! ```
//!
//! A message is a type, a length that counts itself, and a body. The server does not run as root,
//! so when this does, the server runs as `postgres` or `nobody`.

use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::driver::{self, Answers, Element, Opened, TurnResult};
use super::processes::{self, Ending, Server};
use super::programs::Postgres;
use super::requests::{self, Cycle, Prebuilt};
use super::{Kind, Load, Operation};
use crate::Outcome;
use crate::samples::{key, value};

const USER: &str = "postgres";
const PROTOCOL: u32 = 3 << 16;
const STATEMENT: &str = "upsert";
/// The number of the type `text`.
const TEXT_TYPE: u32 = 25;
const TABLE: &str = "CREATE TABLE kv (key text PRIMARY KEY, value jsonb, version bigint)";
const UPSERT: &str = "INSERT INTO kv VALUES ($1, $2, 1) ON CONFLICT (key) \
    DO UPDATE SET value = excluded.value, version = kv.version + 1";
const SETTINGS: [&str; 6] = [
    "listen_addresses=127.0.0.1",
    "max_connections=200",
    "shared_buffers=256MB",
    "fsync=on",
    "synchronous_commit=on",
    "full_page_writes=on",
];

/// The user of the server process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) user: u32,
    pub(crate) group: u32,
}

/// Creates a database in a fresh folder, starts a server and waits until it has the table.
pub(crate) fn start(programs: &Postgres, parent: &Path) -> Outcome<Server> {
    let folder = processes::folder(parent, "postgres")?;
    let [port] = processes::free_ports()?;
    let is_root = rustix::process::geteuid().is_root();
    let identity = is_root.then(|| identity(&fs::read_to_string("/etc/passwd")?)).transpose()?;
    if let Some(Identity { user, group }) = identity {
        chown(folder.path(), Some(user), Some(group))?;
    }
    let data = folder.path().join("data");
    let mut initdb = Command::new(&programs.initdb);
    initdb.arg("--pgdata").arg(&data).args(["--username", USER, "--auth", "trust"]);
    initdb.args(["--encoding", "UTF8", "--locale", "C", "--no-sync"]);
    run_as(&mut initdb, identity, folder.path());
    let output = initdb.stdin(Stdio::null()).output()?;
    if !output.status.success() {
        return Err(format!("`initdb`: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let mut command = Command::new(&programs.server);
    command.arg("-D").arg(&data).args(["-p", &port.to_string(), "-k"]).arg(folder.path());
    for setting in SETTINGS {
        command.args(["-c", setting]);
    }
    run_as(&mut command, identity, folder.path());
    let server = Server::start(Kind::Postgres, folder, port, command, Ending::Quit)?;
    server.wait_until(|port| {
        let mut stream = connect(port)?;
        driver::ask(&mut stream, &query(TABLE), &mut Messages, 1)?;
        Ok(())
    })
}

fn run_as(command: &mut Command, identity: Option<Identity>, folder: &Path) {
    command.current_dir(folder);
    if let Some(Identity { user, group }) = identity {
        command.uid(user).gid(group);
    }
}

/// The first existing user that the server may run as.
pub(crate) fn identity(users: &str) -> Outcome<Identity> {
    let find = |name: &str| {
        users.lines().find_map(|line| {
            let fields: Vec<&str> = line.split(':').collect();
            let &[found, _, user, group, ..] = &fields[..] else { return None };
            (found == name)
                .then_some(Identity { user: user.parse().ok()?, group: group.parse().ok()? })
        })
    };
    let found = [USER, "nobody"].into_iter().find_map(find);
    found.ok_or_else(|| "there is no user `postgres` or `nobody` to run the server as".into())
}

/// Writes every key once.
pub(crate) fn fill(server: &Server, load: &Load) -> Outcome<()> {
    let (opened, each) = (upserts(server, load)?, requests::share(load.connections));
    driver::fill(opened, load.in_flight, each)
}

/// One round.
pub(crate) fn turn(server: &Server, load: &Load, turn: Duration) -> Outcome<TurnResult> {
    match load.operation {
        Operation::Set => {
            driver::measure(upserts(server, load)?, load.in_flight, turn, server.pid())
        }
        operation => Err(format!("no load asks PostgreSQL for {operation:?}").into()),
    }
}

fn upserts(server: &Server, load: &Load) -> Outcome<Vec<Opened<Cycle, Messages>>> {
    let prebuilt = Prebuilt::build(|number| call(STATEMENT, &[&key(number), &value(number)]));
    let open = |number| {
        let mut stream = connect(server.port())?;
        driver::ask(&mut stream, &prepare(STATEMENT, UPSERT), &mut Messages, 1)?;
        Ok((stream, prebuilt.of_connection(number, load.connections), Messages))
    };
    (0..load.connections).map(open).collect()
}

/// A connection that is ready for queries.
pub(crate) fn connect(port: u16) -> Outcome<TcpStream> {
    let mut stream = driver::connect(port)?;
    driver::ask(&mut stream, &startup(), &mut Messages, 1)?;
    Ok(stream)
}

/// The only message without a type.
pub(crate) fn startup() -> Vec<u8> {
    startup_as(USER, USER)
}

/// The same for another user and database.
pub(crate) fn startup_as(user: &str, database: &str) -> Vec<u8> {
    let mut body = PROTOCOL.to_be_bytes().to_vec();
    for text in ["user", user, "database", database, ""] {
        push_text(&mut body, text);
    }
    with_length(&body)
}

/// Statements without parameters, all in one message.
pub(crate) fn query(text: &str) -> Vec<u8> {
    let mut body = Vec::new();
    push_text(&mut body, text);
    message(b'Q', &body)
}

/// Prepares a statement under a name.
pub(crate) fn prepare(name: &str, statement: &str) -> Vec<u8> {
    let mut parse = Vec::new();
    push_text(&mut parse, name);
    push_text(&mut parse, statement);
    // The server infers the types of the parameters.
    parse.extend_from_slice(&0_u16.to_be_bytes());
    [message(b'P', &parse), message(b'S', &[])].concat()
}

/// Executes a prepared statement, and commits.
pub(crate) fn call(name: &str, parameters: &[&str]) -> Vec<u8> {
    let mut bind = Vec::new();
    push_text(&mut bind, "");
    push_text(&mut bind, name);
    // No formats: parameters are text.
    bind.extend_from_slice(&0_u16.to_be_bytes());
    let count = u16::try_from(parameters.len()).expect("statements have few parameters");
    bind.extend_from_slice(&count.to_be_bytes());
    for parameter in parameters {
        bind.extend_from_slice(&length(parameter.len()));
        bind.extend_from_slice(parameter.as_bytes());
    }
    executed(bind)
}

/// Executes a prepared statement whose only parameter is an array of texts, and commits.
pub(crate) fn call_with_array(name: &str, texts: &[String]) -> Vec<u8> {
    let mut bind = Vec::new();
    push_text(&mut bind, "");
    push_text(&mut bind, name);
    // One parameter, in the binary format.
    for number in [1_u16, 1, 1] {
        bind.extend_from_slice(&number.to_be_bytes());
    }
    let mut array = Vec::new();
    // One dimension without nulls, its length, and the number of its first element.
    for number in [1, 0, TEXT_TYPE] {
        array.extend_from_slice(&u32::to_be_bytes(number));
    }
    array.extend_from_slice(&length(texts.len()));
    array.extend_from_slice(&1_u32.to_be_bytes());
    for text in texts {
        array.extend_from_slice(&length(text.len()));
        array.extend_from_slice(text.as_bytes());
    }
    bind.extend_from_slice(&length(array.len()));
    bind.extend_from_slice(&array);
    executed(bind)
}

/// The rest of a call after its parameters.
fn executed(mut bind: Vec<u8>) -> Vec<u8> {
    // No formats for results: they are text.
    bind.extend_from_slice(&0_u16.to_be_bytes());
    let mut execute = Vec::new();
    push_text(&mut execute, "");
    // No limit on rows.
    execute.extend_from_slice(&0_u32.to_be_bytes());
    [message(b'B', &bind), message(b'E', &execute), message(b'S', &[])].concat()
}

fn push_text(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    [vec![kind], with_length(body)].concat()
}

fn with_length(body: &[u8]) -> Vec<u8> {
    [&length(body.len() + 4)[..], body].concat()
}

fn length(bytes: usize) -> [u8; 4] {
    u32::try_from(bytes).expect("messages of a load are short").to_be_bytes()
}

/// An answer is complete when the server is ready for the next query. Any error is a refusal, and
/// so is a statement that did not write exactly one row.
#[derive(Clone, Copy)]
pub(crate) struct Messages;

impl Answers for Messages {
    fn take(&mut self, bytes: &[u8], _: &mut Vec<u8>) -> Result<Option<Element>, String> {
        let Some(head) = bytes.first_chunk::<5>() else { return Ok(None) };
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
        let end = 1 + usize::try_from(length).map_err(|_| "a message is too long")?;
        let Some(body) = bytes.get(5..end) else { return Ok(None) };
        match head[0] {
            b'Z' => Ok(Some(Element::answer(end))),
            b'C' if body.starts_with(b"INSERT") && body != b"INSERT 0 1\0" => {
                Err(format!("not one row: {}", String::from_utf8_lossy(body)))
            }
            b'E' => Err(format!("refused: {}", String::from_utf8_lossy(body).replace('\0', " "))),
            _ => Ok(Some(Element::other(end))),
        }
    }
}
