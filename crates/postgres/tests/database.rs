//! The log on a real `PostgreSQL`, which `scripts/postgres` starts; without one these tests check
//! nothing.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use baton_cluster::{CutProxy, OwnedLog, Roster, Shards, Upstream, View};
use baton_log::shared_conformance::{Cut, MemoryStore, Shared};
use baton_log::{AppendError, BlobError, Log, MemoryLog, OpenError, Position, TruncateError};
use baton_postgres::{Member, PostgresLocation};

/// The database with a schema of its own; none if no server was started.
fn location() -> Option<PostgresLocation> {
    static SCHEMAS: AtomicU32 = AtomicU32::new(0);
    let address = std::env::var("BATON_POSTGRES").ok()?;
    let number = SCHEMAS.fetch_add(1, Ordering::SeqCst);
    let address = format!("{address}?schema=t{}_{number}", std::process::id());
    Some(PostgresLocation::parse(&address, None, None).expect("the script gives a good address"))
}

fn open(location: &PostgresLocation, name: &str) -> Result<Arc<dyn OwnedLog>, OpenError> {
    baton_postgres::open(location, name)
}

fn schema(location: &PostgresLocation) -> &str {
    location.description().rsplit(' ').next().expect("it names the schema")
}

fn bodies(log: &dyn Log, from: Position) -> Vec<Vec<u8>> {
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

baton_cluster::roster_conformance!(roster, location());

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

fn join(location: &PostgresLocation, name: &str) -> Arc<Member> {
    Member::join(location.clone(), name, Shards::Exactly(3)).expect("it has three shards")
}

/// What a server sees when it looks next, and the condition holds.
fn seen(member: &Member, is_it: impl Fn(&View) -> bool) -> Arc<View> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("it can be built");
    let mut views = member.view();
    runtime.block_on(views.wait_for(|view| is_it(view))).expect("it beats").clone()
}

fn take(member: &Arc<Member>, shard: u32) -> Option<Arc<dyn OwnedLog>> {
    let epoch = seen(member, |_| true).shards[shard as usize].epoch;
    Arc::clone(member).take(shard, epoch).expect("the database answers")
}

#[test]
fn servers_share_the_shards_of_a_schema() {
    let Some(location) = location() else { return };
    let (a, b) = (join(&location, "http://a:4747"), join(&location, "http://b:4747"));
    let of_a = take(&a, 0).expect("it is free");
    let of_b = take(&b, 1).expect("it is free");
    let tail = of_a.append(of_a.tail(), b"of a").expect("it is the owner");
    of_b.append(of_b.tail(), b"of b").expect("it is the owner");
    let mut blob = of_a.create_blob("w/same").expect("the name is free");
    blob.write(b"of a").expect("there is space");
    blob.commit().expect("it is the owner");
    assert_eq!(of_b.list_blobs(""), Ok(vec![]), "shards have their own names");
    let view = seen(&b, |view| view.owner(0).is_some());
    assert_eq!(view.owner(0).map(|owner| owner.address.as_str()), Some("http://a:4747"));
    assert!(
        Arc::clone(&b).take(0, view.shards[0].epoch).expect("it answers").is_none(),
        "it has an owner"
    );
    drop(of_a);
    let view = seen(&b, |view| view.owner(0).is_none());
    let taken = Arc::clone(&b)
        .take(0, view.shards[0].epoch)
        .expect("it answers")
        .expect("it was given back");
    assert_eq!((taken.tail(), bodies(&*taken, Position(0))), (tail, vec![b"of a".to_vec()]));
    assert_eq!(taken.list_blobs(""), Ok(vec!["w/same".to_owned()]));
    a.leave();
    let view = seen(&b, |view| view.servers.len() == 1);
    assert!(view.owner(0).is_some_and(|owner| owner.id == b.id()), "it beats on");
}

#[test]
fn the_shards_of_a_server_that_is_gone_can_be_taken_and_it_can_change_nothing() {
    let Some(location) = location() else { return };
    let (zombie, other) = (join(&location, "zombie"), join(&location, "other"));
    let old = take(&zombie, 2).expect("it is free");
    let tail = old.append(old.tail(), b"one").expect("it is the owner");
    execute(&location, "update server set gone = true where address = 'zombie'");
    let view = seen(&other, |view| view.servers.len() == 1);
    let new =
        Arc::clone(&other).take(2, view.shards[2].epoch).expect("it answers").expect("it is free");
    let refused = old.append(tail, b"two").expect_err("it is fenced");
    assert_eq!(refused, AppendError::Fenced { expected: tail, tail });
    assert_eq!(old.truncate(tail), Err(TruncateError::Fenced));
    assert!(seen(&zombie, |view| view.is_gone).is_gone && zombie.is_gone());
    assert!(!old.is_current(), "it answers no reads");
    assert!(take_as(&zombie, 0).is_none(), "it takes nothing any more");
    new.append(tail, b"two").expect("it is the owner");
}

/// Takes a shard that was never taken.
fn take_as(member: &Arc<Member>, shard: u32) -> Option<Arc<dyn OwnedLog>> {
    Arc::clone(member).take(shard, 0).expect("the database answers")
}

#[test]
fn a_schema_keeps_its_number_of_shards() {
    let Some(location) = location() else { return };
    let member = join(&location, "three");
    assert_eq!(member.shards(), 3);
    let four = Member::join(location.clone(), "four", Shards::Exactly(4)).err();
    let said = four.expect("it has three").to_string();
    assert!(said.contains("created with 3 shards"), "{said}");
    let several = Member::join(location.clone(), "any", Shards::Several).expect("any will do");
    assert_eq!((several.shards(), several.secret()), (3, member.secret()));
    let alone = open(&location, "alone").err().expect("it cannot have all");
    assert_eq!(alone.code(), "log.unfit");
}

#[test]
fn tables_from_before_there_were_shards_have_one() {
    let Some(location) = location() else { return };
    let log = open(&location, "old").expect("it is free");
    let tail = log.append(log.tail(), b"kept").expect("it is healthy");
    drop(log);
    execute(
        &location,
        "alter table meta drop shards, drop secret;
         alter table server drop draining, drop leaving;
         update meta set format = 1",
    );
    let member = Member::join(location.clone(), "new", Shards::Several).expect("it is upgraded");
    assert_eq!(member.shards(), 1);
    assert!(member.secret().len() >= 32, "servers have what proves them");
    assert_eq!(take(&member, 0).expect("it is free").tail(), tail);
}

#[test]
fn a_schema_remembers_the_key_of_its_secrets() {
    let Some(location) = location() else { return };
    let member = join(&location, "first");
    // Tables of an earlier program have no place for it.
    execute(&location, "alter table meta drop secrets_key");
    assert_eq!(member.secrets_key(None), Ok(None));
    let kept = Some("first".to_owned());
    assert_eq!(member.secrets_key(Some("first")), Ok(kept.clone()));
    let other = join(&location, "second");
    assert_eq!(other.secrets_key(Some("second")), Ok(kept.clone()));
    assert_eq!(other.secrets_key(None), Ok(kept));
    let log = take(&member, 0).expect("it is free");
    assert!(!log.can_store_secrets(), "others can read it");
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
    assert_eq!(bodies(&*log, start), [[0], [1], [2], [3], [4]]);
    drop(log);
    assert_eq!(open(&location, "again").expect("it was given back").tail(), tail);
}

/// The same schema of the same database, through a proxy.
fn through(proxy: &CutProxy, location: &PostgresLocation) -> PostgresLocation {
    let (proxy, schema) = (proxy.address(), schema(location));
    let address = format!("postgres://baton@{proxy}/postgres?schema={schema}");
    PostgresLocation::parse(&address, None, None).expect("a good address")
}

fn proxy() -> CutProxy {
    let address = std::env::var("BATON_POSTGRES").expect("a location was made of it");
    let folder = address.split(['@', '/']).nth(3).expect("the folder of a socket");
    let socket = Path::new(&folder.replace("%2F", "/")).join(".s.PGSQL.5432");
    CutProxy::start(Upstream::Socket(socket), b"insert into record")
}

/// The database as the laws of shared logs use it; the log in memory if no server was started.
enum Store {
    Memory(MemoryStore),
    Postgres { location: Box<PostgresLocation>, proxy: CutProxy, is_open: bool },
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

    fn lose_last(&mut self) {
        match self {
            Self::Memory(memory) => memory.lose_last(),
            Self::Postgres { location, .. } => execute(
                location,
                "delete from record where position = (select max(position) from record)",
            ),
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
    execute(&location, "update meta set format = 2");
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
    assert!(said.contains("postgres://127.0.0.1:1/fleet") && !said.contains("secret"), "{said}");
}

#[test]
fn tables_of_a_newer_program_are_refused() {
    let Some(location) = location() else { return };
    drop(open(&location, "first").expect("it is free"));
    execute(&location, "update meta set format = 3");
    let newer = open(&location, "old").err();
    assert_eq!(newer, Some(OpenError::Newer { found: 3, supported: 2 }));
}
