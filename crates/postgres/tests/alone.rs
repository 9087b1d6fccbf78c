//! Tests that change the database that `scripts/postgres` starts, its settings or its users;
//! without one they check nothing. Each is alone with it, so they are a program of their own.

use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use baton_cluster::{OwnedLog, Roster, Shards, View};
use baton_log::{Log, OpenError, Position};
use baton_postgres::{Member, PostgresLocation};

/// The address of the database, for one test at a time; none if no server was started.
fn alone() -> Option<(String, MutexGuard<'static, ()>)> {
    static DATABASE: Mutex<()> = Mutex::new(());
    let address = std::env::var("BATON_POSTGRES").ok()?;
    Some((address, DATABASE.lock().unwrap_or_else(PoisonError::into_inner)))
}

/// Executes statements of an operator, one by one: the first field of the last one's row.
fn execute(address: &str, statements: &[&str]) -> Option<String> {
    let runtime = tokio::runtime::Runtime::new().expect("a thread can be started");
    runtime.block_on(async {
        let (client, connection) =
            tokio_postgres::connect(address, tokio_postgres::NoTls).await.expect("it is there");
        tokio::spawn(connection);
        let mut last = None;
        for statement in statements {
            let rows = client.simple_query(statement).await.expect("the statement is good");
            last = rows.iter().find_map(|row| match row {
                tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
                _ => None,
            });
        }
        last
    })
}

fn refused(address: &str) -> OpenError {
    let location = PostgresLocation::parse(address, None, None).expect("a good address");
    baton_postgres::open(&location, "http://a:4747").err().expect("it cannot be used")
}

#[test]
fn settings_that_lose_data_are_refused() {
    let Some((address, _alone)) = alone() else { return };
    for setting in ["fsync", "full_page_writes"] {
        let set = format!("alter system set {setting} = off");
        execute(&address, &[&set, "select pg_reload_conf()"]);
        let show = format!("show {setting}");
        while execute(&address, &[&show]).as_deref() == Some("on") {}
        let refused = refused(&format!("{address}?schema=unsafe"));
        assert_eq!(refused.code(), "log.unfit");
        assert!(refused.to_string().contains(&format!("`{setting}` is off")), "{refused}");
        execute(&address, &["alter system reset all", "select pg_reload_conf()"]);
        while execute(&address, &[&show]).as_deref() == Some("off") {}
    }
    let is_there = "select to_regnamespace('unsafe') is not null";
    assert_eq!(execute(&address, &[is_there]).as_deref(), Some("f"), "nothing was changed");
}

#[test]
fn a_user_without_password_or_permission_is_refused_with_the_reason() {
    let Some((address, _alone)) = alone() else { return };
    let of_admin = format!("{address}?schema=closed");
    let location = PostgresLocation::parse(&of_admin, None, None).expect("a good address");
    drop(baton_postgres::open(&location, "http://a:4747").expect("it is free"));
    execute(&address, &["create role locked login password 'the right one'"]);
    let with = |password: &str| of_admin.replace("baton@", &format!("locked:{password}@"));
    let wrong = refused(&with("guessed"));
    assert_eq!(wrong.code(), "log.away");
    let said = wrong.to_string();
    assert!(said.contains("password authentication failed for user \"locked\""), "{said}");
    assert!(!said.contains("guessed"), "{said}");
    let right = with("the%20right%20one");
    let denied = refused(&right).to_string();
    assert!(denied.contains("permission denied for schema closed"), "{denied}");
    execute(&address, &["grant usage on schema closed to locked"]);
    let denied = refused(&right);
    assert_eq!(denied.code(), "log.away", "{denied}");
    let said = denied.to_string();
    assert!(said.contains("permission denied for table meta"), "{said}");
    assert!(!said.contains("another program") && !said.contains("right one"), "{said}");
}

/// Executes a command of the script that has started the database.
fn run(command: &str) {
    let status = Command::new("sh").arg("-c").arg(command).status().expect("there is a shell");
    assert!(status.success(), "{command}: {status}");
}

fn join(address: &str) -> Arc<Member> {
    let address = format!("{address}?schema=promoted{}", std::process::id());
    let location = PostgresLocation::parse(&address, None, None).expect("a good address");
    Member::join(location, "http://a:4747", Shards::Exactly(1)).expect("it is there")
}

/// What a server sees when it looks next, and the condition holds.
fn seen(member: &Member, is_it: impl Fn(&View) -> bool) -> Arc<View> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("it can be built");
    let mut views = member.view();
    runtime.block_on(views.wait_for(|view| is_it(view))).expect("it beats").clone()
}

fn take(member: &Arc<Member>) -> Arc<dyn OwnedLog> {
    let view = seen(member, |view| view.owner(0).is_none());
    let taken = Arc::clone(member).take(0, view.shards[0].epoch);
    taken.expect("the database answers").expect("it is free")
}

fn bodies(log: &dyn Log) -> Vec<Vec<u8>> {
    let records = log.read(Position(0), usize::MAX).expect("it is readable");
    records.into_iter().map(|record| record.body).collect()
}

#[test]
fn a_server_reports_that_a_promoted_standby_lacks_acknowledged_writes() {
    let Some((address, _alone)) = alone() else { return };
    let command = |name: &str| std::env::var(name).expect("the script names it");
    let (copy, promote) = (command("BATON_POSTGRES_COPY"), command("BATON_POSTGRES_PROMOTE"));
    let member = join(&address);
    let log = take(&member);
    let kept = log.append(log.tail(), b"kept").expect("it is the owner");
    run(&copy);
    let tail = log.append(kept, b"lost").expect("the standby is not asked");
    run(&promote);

    // The heartbeat or the append finds out first; in either case nothing is written.
    let refused = log.append(tail, b"more").expect_err("what it follows is lost");
    assert_eq!(refused.code(), "log.went_back", "{refused}");
    let gone = seen(&member, |view| view.is_gone);
    let trouble = gone.trouble.as_deref().expect("it says why");
    assert!(trouble.contains("timeline") && trouble.contains("are lost"), "{trouble}");
    assert!(!log.is_current(), "it answers no reads");
    drop((log, member));

    let member = join(&address);
    let log = take(&member);
    assert_eq!(bodies(&*log), [b"kept".to_vec()]);
    log.append(kept, b"new").expect("it is the owner");
    assert_eq!(seen(&member, |_| true).trouble, None, "the new timeline is its own");
}
