//! The tables, and the settings of a database that would lose data.

use baton_log::OpenError;

use crate::database::{Database, Failure, Value};

/// The format of the tables that this program writes and reads.
const FORMAT: i32 = 1;

/// Creates the tables once; the first server does it. `SCHEMA` is replaced by the name.
///
/// One row per group of commits and shard, never one per entry; no row is updated by an append: a
/// row that every append updates slows down a hundredfold while a dump holds an old snapshot.
const TABLES: &str = "
begin;
select pg_advisory_xact_lock(hashtext('baton.SCHEMA'));
create schema if not exists SCHEMA;
create table SCHEMA.meta (format int not null, made_at timestamptz default now());
create table SCHEMA.server (
    id uuid primary key, address text not null, version text not null, beat bigint not null,
    seen_at timestamptz not null default clock_timestamp(), gone bool not null default false
) with (fillfactor = 20);
create table SCHEMA.shard (
    shard int primary key, epoch bigint not null, holder uuid not null, server uuid,
    start bigint not null
) with (fillfactor = 20);
create table SCHEMA.record (
    shard int, position bigint, next bigint not null, epoch bigint not null, crc bigint not null,
    body bytea not null, primary key (shard, position)
);
create table SCHEMA.blob (
    shard int, name text collate \"C\", id bigint not null unique, bytes bigint not null,
    primary key (shard, name)
);
create table SCHEMA.upload (
    id bigint generated always as identity primary key, shard int not null,
    begun_at timestamptz not null default now()
);
create table SCHEMA.chunk (
    id bigint, part int, body bytea not null, primary key (id, part)
);
create table SCHEMA.gone (
    id bigint primary key, gone_at timestamptz not null default now()
);
alter table SCHEMA.record alter body set storage external;
alter table SCHEMA.chunk alter body set storage external;
insert into SCHEMA.meta (format) select 1 where not exists (select 1 from SCHEMA.meta);
insert into SCHEMA.shard (shard, epoch, holder, server, start)
    values (0, 0, gen_random_uuid(), null, 0) on conflict do nothing;
commit;";

const FOUND: &str = "select m.format from meta m join shard s on s.shard = 0 limit 1";
/// The format of tables that are being restored.
const RESTORING: i32 = 0;
pub(crate) const BEGIN_RESTORE: &str = "update meta set format = 0 where format = 1
    and not exists (select 1 from record) and not exists (select 1 from blob) returning 1";
pub(crate) const FINISH_RESTORE: &str = "update meta set format = 1 where format = 0 returning 1";
const IS_THERE: &str = "select to_regclass($1) is not null";
const SETTINGS: &str = "select current_setting('fsync'), current_setting('full_page_writes'), \
    current_setting('server_encoding'), current_setting('synchronous_standby_names'), \
    current_setting('server_version')";

/// Creates the tables if they are missing, and refuses what cannot be used. Returns a description
/// of how durable the database is.
pub(crate) async fn prepare(database: &Database) -> Result<String, OpenError> {
    let location = database.location().description().to_owned();
    let away = |failure: Failure| failure.at_opening(&location);
    let row = database.query_one(SETTINGS, vec![]).await.map_err(away)?;
    let [fsync, pages, encoding, standbys, version]: [String; 5] =
        std::array::from_fn(|index| row.get(index));
    let unfit = |reason: String| OpenError::Unfit { location: location.clone(), reason };
    for (name, value) in [("fsync", fsync), ("full_page_writes", pages)] {
        if value != "on" {
            return Err(unfit(format!(
                "`{name}` is {value}, so a crash loses acknowledged writes"
            )));
        }
    }
    if encoding != "UTF8" {
        return Err(unfit(format!("its encoding is {encoding}, not UTF8")));
    }
    let schema = &database.location().schema;
    let meta = vec![Value::Text(format!("{schema}.meta"))];
    let is_there: bool = database.query_one(IS_THERE, meta).await.map_err(away)?.get(0);
    if !is_there {
        create(database).await?;
    }
    let foreign = |failure: Failure| match failure {
        Failure::Refused(reason) => unfit(format!(
            "the schema `{schema}` has tables of another program; name another one with \
             ?schema=: {reason}"
        )),
        other => other.at_opening(&location),
    };
    let found: i32 = database.query_one(FOUND, vec![]).await.map_err(foreign)?.get(0);
    if found == RESTORING {
        return Err(unfit(format!(
            "a restore into it has not finished; if none is running, `drop schema {schema} \
             cascade`, then restore again"
        )));
    }
    if found > FORMAT {
        let number = |format: i32| u32::try_from(format).unwrap_or_default();
        return Err(OpenError::Newer { found: number(found), supported: number(FORMAT) });
    }
    let durable = if standbys.is_empty() {
        "durable on the disk of one server".to_owned()
    } else {
        format!("durable on the disk and on standbys ({standbys})")
    };
    Ok(format!("PostgreSQL {version}, {durable}"))
}

/// Creates the tables, unless another server has done so in the meantime.
async fn create(database: &Database) -> Result<(), OpenError> {
    let schema = &database.location().schema;
    let created = database.run(&TABLES.replace("SCHEMA", schema)).await;
    let Err(failure) = created else { return Ok(()) };
    let location = database.location().description();
    let meta = vec![Value::Text(format!("{schema}.meta"))];
    let found = database.query_one(IS_THERE, meta).await;
    let is_there = found.map_err(|failure| failure.at_opening(location))?.get(0);
    if is_there { Ok(()) } else { Err(failure.at_opening(location)) }
}
