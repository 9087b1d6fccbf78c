//! Servers that share a Postgres: what it costs not to write to one's own disk, what further
//! servers bring, what forwarding costs, and how long a failure lasts.
//!
//! ```text
//!   one server     own disk ── Postgres ── Postgres, one shard ── Postgres's own inserts
//!   256 workspaces one server ── two ── three ── three, the owner asked ── three, another asked
//!   failures       kill -9 of one of three; one of three that is drained
//! ```
//!
//! 1. The address of the database is in `BATON_POSTGRES`, as `scripts/postgres` gives it. Every
//!    group of servers has its own schema in it.
//! 2. Rounds take turns, as everywhere here. Processor time is that of all servers of a group, and
//!    beside it that of the database, both per operation.
//! 3. All of it shares one machine: with as many servers as cores, further servers bring what they
//!    save each other, and not what further machines would.
//!
//! Deliberately absent: TLS, and a database on another machine.

mod database;
mod failover;
mod group;
mod sets;
#[cfg(test)]
mod tests;

use serde_json::json;

use crate::Outcome;
use crate::options::Options;
use crate::peers::driver::TurnResult;
use crate::peers::throughput::{Medians, alternate};
use crate::peers::{baton, processes, programs};
use crate::report::{Comparison, Report, Target, median, say};
use crate::resources::Usage;
use database::Database;
use group::Group;
use sets::{Asked, Sets, Transport};

/// Durable sets through Postgres, against the lesser of the disk and Postgres's own rate.
const ON_POSTGRES_LEAST: f64 = 0.6;

/// One round of one side.
#[derive(Clone, Copy)]
pub(crate) struct Turn {
    pub(crate) served: TurnResult,
    /// The resources that the database has used for it.
    pub(crate) database: Usage,
}

/// Measures everything.
pub(crate) fn run(options: &Options) -> Outcome<()> {
    let program = programs::baton(options.baton.as_deref())?;
    let mut database = Database::from_environment()?;
    processes::watch_for_interrupts()?;
    processes::allow_many_files();
    let mut report = Report::default();
    if options.wants("one server") {
        one_server(&program, options, &mut database, &mut report)?;
    }
    if options.wants("256 workspaces") {
        several_servers(&program, options, &mut database, &mut report)?;
    }
    if options.wants("failures") {
        failover::run(&program, options, &mut database, &mut report)?;
    }
    say(&report.summary());
    if let Some(path) = &options.json {
        report.write_json(path)?;
    }
    Ok(())
}

/// One server, whose log is on its own disk or in the database.
fn one_server(
    program: &std::path::Path,
    options: &Options,
    database: &mut Database,
    report: &mut Report,
) -> Outcome<()> {
    let disk = baton::start(program, &options.folder)?;
    let usual = Group::start(program, options, database, ("bench_usual", 1, None))?;
    let single = Group::start(program, options, database, ("bench_single", 1, Some(1)))?;
    let sets = Sets::new(Transport::WebSocket, 1);
    sets.fill_one(disk.port())?;
    sets.fill(&usual)?;
    sets.fill(&single)?;
    let pid = database.pid();
    let turns = alternate("one server", 4, options.turns, |which, _| match which {
        0 => disk.blame(sets.turn_of_one(&disk, options.turn)),
        1 => usual.blame(sets.turn(&usual, Asked::Any, options.turn, pid)),
        2 => single.blame(sets.turn(&single, Asked::Any, options.turn, pid)),
        _ => database.grouped_inserts(options.turn),
    })?;
    let [disk, usual, single, inserts] = &turns[..] else { return Err("there are four".into()) };
    let rate = |turns: &[Turn]| median(&rates(turns));
    let is_disk_less = rate(disk) <= rate(inserts);
    let name = "set, 64 x 16, one server on PostgreSQL";
    let target = Target::AtLeast(ON_POSTGRES_LEAST);
    let lines = [
        (line(name, "its own disk", usual, disk), is_disk_less),
        (line(name, "inserts of 1024 rows", usual, inserts), !is_disk_less),
        (line(&format!("{name}, one shard"), "its own disk", single, disk), false),
        (line(&format!("{name}, one shard"), "16 shards", single, usual), false),
    ];
    for (line, has_target) in lines {
        report.add(if has_target { line.target(target) } else { line });
    }
    Ok(())
}

/// One, two and three servers, and what forwarding costs.
fn several_servers(
    program: &std::path::Path,
    options: &Options,
    database: &mut Database,
    report: &mut Report,
) -> Outcome<()> {
    let one = Group::start(program, options, database, ("bench_one", 1, None))?;
    let two = Group::start(program, options, database, ("bench_two", 2, None))?;
    let three = Group::start(program, options, database, ("bench_three", 3, None))?;
    let pid = database.pid();
    for (transport, shape) in [(Transport::WebSocket, "64 x 16"), (Transport::Http, "64 x 1, HTTP")]
    {
        let sets = Sets::new(transport, sets::WORKSPACES);
        for group in [&one, &two, &three] {
            group.blame(sets.fill(group))?;
        }
        let sides = [
            (&one, Asked::Any),
            (&two, Asked::Any),
            (&three, Asked::Any),
            (&three, Asked::Owner),
            (&three, Asked::Other),
        ];
        let turns = alternate("256 workspaces", sides.len(), options.turns, |which, _| {
            let (group, asked) = sides[which];
            group.blame(sets.turn(group, asked, options.turn, pid))
        })?;
        let [one, two, any, owner, other] = &turns[..] else { return Err("there are five".into()) };
        let name = |what: &str| format!("set, {shape}, 256 workspaces, {what}");
        report.add(line(&name("two servers"), "one", two, one));
        report.add(line(&name("three servers"), "one", any, one));
        report.add(line(&name("three servers, the owner asked"), "one", owner, one));
        let forwarded = name("three servers, another one asked");
        report.add(line(&forwarded, "the owner asked", other, owner));
    }
    Ok(())
}

fn rates(turns: &[Turn]) -> Vec<f64> {
    turns.iter().map(|turn| turn.served.measured.rate()).collect()
}

/// The result of one side against another.
fn line(load: &str, peer: &str, ours: &[Turn], theirs: &[Turn]) -> Comparison {
    let pairs = rates(ours).into_iter().zip(rates(theirs));
    let ratios: Vec<f64> = pairs.map(|(ours, theirs)| ours / theirs).collect();
    let name = format!("{load}, against {peer}");
    let facts = json!({ "ours": facts(ours), "theirs": facts(theirs), "ratios": ratios });
    Comparison { facts, ..Comparison::of_ratios(&name, &ratios, (text(ours), text(theirs))) }
}

fn medians(turns: &[Turn]) -> Medians {
    Medians::of(&turns.iter().map(|turn| turn.served).collect::<Vec<_>>())
}

/// The time that the database used, per operation: outside the kernel, and inside.
fn database_us(turns: &[Turn]) -> (f64, f64) {
    let each = |seconds: fn(&Usage) -> f64| {
        let used = turns
            .iter()
            .map(|turn| seconds(&turn.database) / turn.served.measured.operations * 1e6);
        median(&used.collect::<Vec<f64>>())
    };
    (each(|usage| usage.user_seconds), each(|usage| usage.system_seconds))
}

fn text(turns: &[Turn]) -> String {
    let (user, system) = database_us(turns);
    let own = medians(turns).text();
    if user + system == 0.0 {
        return own;
    }
    format!("{own}, database user {user:.2} and system {system:.2} µs")
}

fn facts(turns: &[Turn]) -> serde_json::Value {
    let (user, system) = database_us(turns);
    let mut facts = medians(turns).json();
    facts["database_user_us"] = user.into();
    facts["database_system_us"] = system.into();
    facts
}
