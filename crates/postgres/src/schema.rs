//! The tables, and the settings of a database that would lose data.

use baton_cluster::{SHARDS_MAX, Shards};
use baton_log::OpenError;

use crate::database::{Database, Failure, Value};

/// The format of the tables that this program writes and reads.
const FORMAT: i32 = 2;
/// The format before there were shards.
const FORMAT_OF_ONE: i32 = 1;

/// Creates the tables once; the first server does it. `SCHEMA` is replaced by the name.
///
/// One row per group of commits and shard, never one per entry; no row is updated by an append: a
/// row that every append updates slows down a hundredfold while a dump holds an old snapshot.
const TABLES: &str = "
begin;
select pg_advisory_xact_lock(hashtext('baton.SCHEMA'));
create schema if not exists SCHEMA;
create table SCHEMA.meta (
    format int not null, made_at timestamptz default now(), shards int not null default 1,
    secret text not null default replace(gen_random_uuid()::text || gen_random_uuid(), '-', ''),
    secrets_key text
);
create table SCHEMA.server (
    id uuid primary key, address text not null, version text not null, beat bigint not null,
    seen_at timestamptz not null default clock_timestamp(), gone bool not null default false,
    draining bool not null default false, leaving bool not null default false
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
insert into SCHEMA.meta (format, shards) select 2, SHARDS
    where not exists (select 1 from SCHEMA.meta);
insert into SCHEMA.shard (shard, epoch, holder, server, start)
    select number, 0, gen_random_uuid(), null, 0 from generate_series(0, SHARDS - 1) number
    on conflict do nothing;
commit;";
/// Tables of a program before there were shards have one.
const UPGRADE: &str = "
begin;
select pg_advisory_xact_lock(hashtext('baton.SCHEMA'));
alter table SCHEMA.meta add column if not exists shards int not null default 1;
alter table SCHEMA.meta add column if not exists secret text not null
    default replace(gen_random_uuid()::text || gen_random_uuid(), '-', '');
alter table SCHEMA.server add column if not exists draining bool not null default false;
update SCHEMA.meta set format = 2 where format = 1;
commit;";
const META: &str = "select shards, secret from meta limit 1";

/// Tables of an earlier program do not have these columns.
const ADD_SECRETS_KEY: &str = "alter table SCHEMA.meta add column if not exists secrets_key text";
const ADD_LEAVING: &str = "alter table SCHEMA.server
    add column if not exists leaving bool not null default false";
const HAS_COLUMN: &str = "select exists (select 1 from pg_attribute
    where attrelid = to_regclass($1) and attname = $2 and not attisdropped)";
const KEEP_SECRETS_KEY: &str =
    "update meta set secrets_key = $1 where secrets_key is null returning secrets_key";
const SECRETS_KEY: &str = "select coalesce(secrets_key, '') from meta limit 1";

const FOUND: &str = "select m.format from meta m join shard s on s.shard = 0 limit 1";
/// The format of tables that are being restored.
const RESTORING: i32 = 0;
pub(crate) const BEGIN_RESTORE: &str = "update meta set format = 0 where format = 2
    and not exists (select 1 from record) and not exists (select 1 from blob) returning 1";
pub(crate) const FINISH_RESTORE: &str = "update meta set format = 2 where format = 0 returning 1";
const IS_THERE: &str = "select to_regclass($1) is not null";
const SETTINGS: &str = "select current_setting('fsync'), current_setting('full_page_writes'), \
    current_setting('server_encoding'), current_setting('synchronous_standby_names'), \
    current_setting('server_version')";

/// The known facts about the tables.
pub(crate) struct Prepared {
    /// How durable the database is.
    pub(crate) durable: String,
    pub(crate) shards: u32,
    /// The secret with which servers authenticate to each other: reading it takes access to the
    /// database.
    pub(crate) secret: String,
}

/// Creates the tables if they are missing, with this many shards, and refuses what cannot be used.
pub(crate) async fn prepare(database: &Database, shards: Shards) -> Result<Prepared, OpenError> {
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
        create(database, shards.created()).await?;
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
    if found == FORMAT_OF_ONE {
        database.run(&UPGRADE.replace("SCHEMA", schema)).await.map_err(away)?;
    }
    if !has_column(database, "server", "leaving").await.map_err(away)? {
        database.run(&ADD_LEAVING.replace("SCHEMA", schema)).await.map_err(away)?;
    }
    let row = database.query_one(META, vec![]).await.map_err(away)?;
    let (has, secret): (i32, String) = (row.get(0), row.get(1));
    let has = u32::try_from(has).unwrap_or_default();
    if let Shards::Exactly(wanted) = shards
        && wanted != has
    {
        return Err(unfit(format!(
            "the schema `{schema}` was created with {has} shards, which cannot be changed to \
             {wanted}"
        )));
    }
    let durable = if standbys.is_empty() {
        "durable on the disk of one server".to_owned()
    } else {
        format!("durable on the disk and on standbys ({standbys})")
    };
    Ok(Prepared { durable: format!("PostgreSQL {version}, {durable}"), shards: has, secret })
}

/// The id of the key for secrets; if there is none yet, `mine` is kept.
pub(crate) async fn secrets_key(
    database: &Database,
    mine: Option<String>,
) -> Result<Option<String>, Failure> {
    if !has_column(database, "meta", "secrets_key").await? {
        if mine.is_none() {
            return Ok(None);
        }
        let schema = &database.location().schema;
        database.run(&ADD_SECRETS_KEY.replace("SCHEMA", schema)).await?;
    }
    if let Some(mine) = mine {
        database.query(KEEP_SECRETS_KEY, vec![Value::Text(mine)]).await?;
    }
    let known: String = database.query_one(SECRETS_KEY, vec![]).await?.get(0);
    Ok(Some(known).filter(|known| !known.is_empty()))
}

/// Whether a table has a column, which tables of an earlier program may lack.
async fn has_column(database: &Database, table: &str, column: &str) -> Result<bool, Failure> {
    let table = format!("{}.{table}", database.location().schema);
    let named = vec![Value::Text(table), Value::Text(column.to_owned())];
    Ok(database.query_one(HAS_COLUMN, named).await?.get(0))
}

/// Creates the tables, unless another server has done so in the meantime.
async fn create(database: &Database, shards: u32) -> Result<(), OpenError> {
    let schema = &database.location().schema;
    let location = database.location().description();
    if !(1..=SHARDS_MAX).contains(&shards) {
        let reason = format!("a schema has 1 to {SHARDS_MAX} shards, not {shards}");
        return Err(OpenError::Unfit { location: location.to_owned(), reason });
    }
    let tables = TABLES.replace("SCHEMA", schema).replace("SHARDS", &shards.to_string());
    let Err(failure) = database.run(&tables).await else { return Ok(()) };
    let meta = vec![Value::Text(format!("{schema}.meta"))];
    let found = database.query_one(IS_THERE, meta).await;
    let is_there = found.map_err(|failure| failure.at_opening(location))?.get(0);
    if is_there { Ok(()) } else { Err(failure.at_opening(location)) }
}
