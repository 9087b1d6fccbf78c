//! The log on a real `PostgreSQL`, which `scripts/postgres` starts; without one these tests check
//! nothing.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;

use baton_log::shared_conformance::{Cut, MemoryStore, Shared};
use baton_log::{AppendError, BlobError, Log, MemoryLog, OpenError, Position};
use baton_postgres::{PostgresLocation, PostgresLog, Standby};

mod proxy;

use proxy::Proxy;

/// The database with a schema of its own; none if no server was started.
fn location() -> Option<PostgresLocation> {
    static SCHEMAS: AtomicU32 = AtomicU32::new(0);
    let address = std::env::var("BATON_POSTGRES").ok()?;
    let number = SCHEMAS.fetch_add(1, Ordering::SeqCst);
    let address = format!("{address}?schema=t{}_{number}", std::process::id());
    Some(PostgresLocation::parse(&address, None, None).expect("the script gives a good address"))
}

fn open(location: &PostgresLocation, name: &str) -> Result<PostgresLog, OpenError> {
    PostgresLog::open(location.clone(), name, Standby::Refuse, |_| ControlFlow::Continue(()))
}

fn schema(location: &PostgresLocation) -> &str {
    location.description().rsplit(' ').next().expect("it names the schema")
}

fn bodies(log: &PostgresLog, from: Position) -> Vec<Vec<u8>> {
    let records = log.read(from, usize::MAX).expect("it is readable");
    records.into_iter().map(|record| record.body).collect()
}

/// Executes statements of an operator.
fn execute(location: &PostgresLocation, sql: &str) {
    let address = std::env::var("BATON_POSTGRES").expect("a location was made of it");
    let sql = format!("set search_path = {}; {sql}", schema(location));
    let runtime = tokio::runtime::Runtime::new().expect("a thread can be started");
    runtime.block_on(async {
        let (client, connection) =
            tokio_postgres::connect(&address, tokio_postgres::NoTls).await.expect("it is there");
        tokio::spawn(connection);
        client.batch_execute(&sql).await.expect("the statement is good");
    });
}

baton_log::conformance!(postgres, {
    let (location, memory) = (location(), MemoryLog::default());
    move || match &location {
        Some(location) => Box::new(open(location, "tests").expect("it is free")) as Box<dyn Log>,
        None => Box::new(memory.clone()),
    }
});

#[test]
fn a_second_server_is_refused_by_the_name_of_the_first() {
    let Some(location) = location() else { return };
    let first = open(&location, "http://a:4747").expect("it is free");
    let refused = open(&location, "http://b:4747").err().expect("it is in use");
    assert_eq!(refused.code(), "log.in_use");
    assert!(refused.to_string().contains("http://a:4747"), "{refused}");
    drop(first);
    open(&location, "http://b:4747").expect("it was given back");
}

#[test]
fn a_standby_takes_over_what_was_acknowledged() {
    let Some(location) = location() else { return };
    let first = open(&location, "first").expect("it is free");
    let start = first.tail();
    let tail = first.append(start, b"acknowledged").expect("it is healthy");
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        let standby = scope.spawn(|| {
            let waits = move |owner: Option<&str>| {
                drop(sender.send(owner.map(str::to_owned)));
                ControlFlow::Continue(())
            };
            PostgresLog::open(location.clone(), "second", Standby::Wait, waits)
        });
        assert_eq!(receiver.recv().expect("it waits").as_deref(), Some("first"));
        drop(first);
        let second = standby.join().expect("no panic").expect("it takes over");
        assert_eq!(second.tail(), tail);
        let records = second.read(start, 100).expect("it is readable");
        assert_eq!(records[0].body, b"acknowledged");
        second.append(tail, b"next").expect("it is the owner");
    });
}

#[test]
fn an_append_whose_connection_was_cut_has_one_outcome() {
    let Some(location) = location() else { return };
    let log = open(&location, "cut").expect("it is free");
    let mut tail = log.tail();
    let start = tail;
    for round in 0..5_u8 {
        execute(
            &location,
            "select pg_terminate_backend(pid) from pg_stat_activity
             where application_name = 'baton ' || current_schema",
        );
        tail = log.append(tail, &[round]).expect("it is resolved");
    }
    assert_eq!(bodies(&log, start), [[0], [1], [2], [3], [4]]);
    drop(log);
    assert_eq!(open(&location, "again").expect("it was given back").tail(), tail);
}

/// The same schema of the same database, through a proxy.
fn through(proxy: &Proxy, location: &PostgresLocation) -> PostgresLocation {
    let folder = proxy.folder().display().to_string().replace('/', "%2F");
    let address = format!("postgres://baton@{folder}/postgres?schema={}", schema(location));
    PostgresLocation::parse(&address, None, None).expect("a good address")
}

fn proxy() -> Proxy {
    let address = std::env::var("BATON_POSTGRES").expect("a location was made of it");
    let folder = address.split(['@', '/']).nth(3).expect("the folder of a socket");
    Proxy::start(&Path::new(&folder.replace("%2F", "/")).join(".s.PGSQL.5432"))
}

/// The database as the laws of shared logs use it; the log in memory if no server was started.
enum Store {
    Memory(MemoryStore),
    Postgres { location: Box<PostgresLocation>, proxy: Proxy, is_open: bool },
}

impl Store {
    fn new() -> Self {
        match location() {
            Some(location) => {
                let location = Box::new(location);
                Self::Postgres { location, proxy: proxy(), is_open: false }
            }
            None => Self::Memory(MemoryStore::default()),
        }
    }
}

impl Shared for Store {
    fn open(&mut self) -> Box<dyn Log> {
        self.declare_gone();
        match self {
            Self::Memory(memory) => memory.open(),
            Self::Postgres { location, proxy, is_open } => {
                *is_open = true;
                Box::new(open(&through(proxy, location), "tests").expect("the other is gone"))
            }
        }
    }

    fn declare_gone(&mut self) {
        match self {
            Self::Memory(memory) => memory.declare_gone(),
            Self::Postgres { location, is_open: true, .. } => {
                execute(location, "update server set gone = true");
            }
            // The first opening creates the tables.
            Self::Postgres { is_open: false, .. } => {}
        }
    }

    fn cut_next_append(&mut self, cut: Cut) {
        match self {
            Self::Memory(memory) => memory.cut_next_append(cut),
            Self::Postgres { proxy, .. } => proxy.cut(cut),
        }
    }

    fn has_cut(&self) -> bool {
        match self {
            Self::Memory(memory) => memory.has_cut(),
            Self::Postgres { proxy, .. } => proxy.has_cut(),
        }
    }
}

baton_log::shared_conformance!(shared, Store::new());

#[test]
fn a_full_database_loses_nothing_and_goes_on() {
    let Some(location) = location() else { return };
    let log = open(&location, "full").expect("it is free");
    let tail = log.append(log.tail(), b"before").expect("it is healthy");
    execute(
        &location,
        "create function refuse() returns trigger language plpgsql as
            $$ begin raise exception 'no space left' using errcode = '53100'; end $$;
         create trigger refuse before insert on record execute function refuse();
         create trigger refuse before insert on chunk execute function refuse()",
    );
    assert_eq!(log.append(tail, b"full"), Err(AppendError::Full));
    let mut blob = log.create_blob("w/a").expect("the name is free");
    assert_eq!(blob.write(&vec![0; 1 << 20]), Err(BlobError::Full));
    drop(blob);
    execute(&location, "drop trigger refuse on record; drop trigger refuse on chunk");
    log.append(tail, b"after").expect("there is space again");
    assert_eq!(log.list_blobs(""), Ok(vec![]));
}

#[test]
fn a_schema_of_another_program_is_refused_and_left_alone() {
    let Some(location) = location() else { return };
    let schema = schema(&location);
    execute(&location, &format!("create schema {schema}; create table {schema}.meta (a int)"));
    let refused = open(&location, "baton").err().expect("it is not ours");
    assert_eq!(refused.code(), "log.unfit");
    assert!(refused.to_string().contains("tables of another program"), "{refused}");
}

#[test]
fn a_database_cannot_be_opened_while_it_is_restored() {
    let Some(location) = location() else { return };
    let log = open(&location, "restore").expect("it is free");
    assert_eq!(log.begin_restore(), Ok(true));
    drop(log);
    let refused = open(&location, "server").err().expect("it is not complete");
    assert_eq!(refused.code(), "log.unfit");
    execute(&location, "update meta set format = 1");
    let log = open(&location, "server").expect("it is complete");
    log.append(log.tail(), b"data").expect("it is healthy");
    assert_eq!(log.begin_restore(), Ok(false), "it has data");
}

#[test]
fn a_database_that_is_not_there_is_named_without_its_password() {
    let address = "postgres://ada:secret@127.0.0.1:1/fleet";
    let location = PostgresLocation::parse(address, None, None).expect("a good address");
    let refused = open(&location, "nobody").err().expect("nothing is there");
    assert_eq!(refused.code(), "log.away");
    let said = refused.to_string();
    assert!(said.contains("postgres://127.0.0.1/fleet") && !said.contains("secret"), "{said}");
}

#[test]
fn tables_of_a_newer_program_and_settings_that_lose_data_are_refused() {
    let Some(location) = location() else { return };
    drop(open(&location, "first").expect("it is free"));
    execute(&location, "update meta set format = 2");
    let newer = open(&location, "old").err();
    assert_eq!(newer, Some(OpenError::Newer { found: 2, supported: 1 }));
}
