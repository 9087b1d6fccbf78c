//! Loads of requests and answers: all servers of a load are measured in rounds.

use serde_json::{Value, json};

use super::driver::TurnResult;
use super::processes::Server;
use super::{Bench, Kind, Load, baton, etcd, postgres, redis};
use crate::Outcome;
use crate::report::{Comparison, Report, Target, median, progress, rate};

/// NATS has only message loads, and the floor stores nothing.
const NO_KEYS: &str = "no load asks for a key of this server";

/// Runs a load, and reports a line for each peer.
pub(crate) fn run(bench: &Bench<'_>, load: &Load, report: &mut Report) -> Outcome<()> {
    let mut servers = vec![bench.start_ours()?];
    let mut targets = Vec::new();
    for (kind, least) in load.against {
        if let Some(server) = bench.start(*kind)? {
            servers.push(server);
            targets.push((*kind, Some(Target::AtLeast(*least))));
        }
    }
    for server in &servers {
        server.blame(fill(server, load))?;
    }
    if let Some(server) = bench.start_floor(&servers[0], load)? {
        servers.push(server);
        targets.push((Kind::Floor, None));
    }
    if targets.is_empty() {
        return Ok(());
    }
    let turns = alternate(load.name, servers.len(), bench.options.turns, |which, number| {
        let server = &servers[which];
        server.blame(turn(bench, server, load, number))
    })?;
    let (ours, theirs) = turns.split_first().ok_or("we take part")?;
    for ((kind, target), theirs) in targets.into_iter().zip(theirs) {
        let line = line(load.name, kind.name(), ours, theirs);
        let target = target.filter(|_| !bench.is_control());
        report.add(Comparison { target, ..line });
    }
    Ok(())
}

/// Measures this many sides in rounds, and shows which one is measured. Returns the results of
/// each, in order.
pub(crate) fn alternate<T>(
    load: &str,
    sides: usize,
    turns: usize,
    mut turn: impl FnMut(usize, usize) -> Outcome<T>,
) -> Outcome<Vec<Vec<T>>> {
    let mut taken: Vec<Vec<T>> = (0..sides).map(|_| Vec::new()).collect();
    for number in 0..turns {
        // Another one starts each time, so that none always follows the same one.
        for step in 0..sides {
            let which = (number + step) % sides;
            let done = number * sides + step;
            progress(&format!("{load}: round {} of {turns}", number + 1), done, sides * turns);
            taken[which].push(turn(which, number)?);
        }
    }
    Ok(taken)
}

fn fill(server: &Server, load: &Load) -> Outcome<()> {
    match server.kind() {
        Kind::Baton => baton::fill(server, load),
        Kind::Redis => redis::fill(server, load),
        Kind::Postgres => postgres::fill(server, load),
        Kind::Etcd => etcd::fill(server, load),
        Kind::Nats | Kind::Floor => Err(NO_KEYS.into()),
    }
}

fn turn(bench: &Bench<'_>, server: &Server, load: &Load, number: usize) -> Outcome<TurnResult> {
    let turn = bench.options.turn;
    match server.kind() {
        // Both have the same protocol.
        Kind::Baton | Kind::Floor => baton::turn(server, load, turn, number),
        Kind::Redis => redis::turn(server, load, turn, number),
        Kind::Postgres => postgres::turn(server, load, turn),
        Kind::Etcd => etcd::turn(server, load, turn),
        Kind::Nats => Err(NO_KEYS.into()),
    }
}

/// The result of a load against one peer: rates per round.
pub(crate) fn line(
    load: &str,
    peer: &str,
    ours: &[TurnResult],
    theirs: &[TurnResult],
) -> Comparison {
    let rates = |served: &TurnResult| served.measured.rate();
    let pairs = ours.iter().zip(theirs);
    let ratios: Vec<f64> = pairs.map(|(ours, theirs)| rates(ours) / rates(theirs)).collect();
    let (ours, theirs) = (Medians::of(ours), Medians::of(theirs));
    let name = format!("{load}, against {peer}");
    let sides = (ours.text(), theirs.text());
    let facts = json!({ "ours": ours.json(), "theirs": theirs.json(), "ratios": ratios });
    Comparison { facts, ..Comparison::of_ratios(&name, &ratios, sides) }
}

/// The medians of the rounds of a server.
pub(crate) struct Medians {
    per_second: f64,
    p50_us: f64,
    p99_us: f64,
    cpu_us: f64,
    user_us: f64,
    wakeups: f64,
    driver_cpu_us: f64,
}

impl Medians {
    pub(crate) fn of(turns: &[TurnResult]) -> Self {
        let middle = |number: fn(&TurnResult) -> f64| {
            median(&turns.iter().map(number).collect::<Vec<f64>>())
        };
        Self {
            per_second: middle(|turn| turn.measured.rate()),
            p50_us: middle(|turn| turn.p50_us),
            p99_us: middle(|turn| turn.p99_us),
            cpu_us: middle(|turn| turn.measured.cpu_us()),
            user_us: middle(|turn| turn.measured.user_us()),
            wakeups: middle(|turn| turn.measured.wakeups()),
            driver_cpu_us: middle(|turn| turn.measured.caller_cpu_us()),
        }
    }

    pub(crate) fn text(&self) -> String {
        let Self { p50_us, p99_us, cpu_us, user_us, wakeups, .. } = self;
        format!(
            "{}, {p50_us:.0}/{p99_us:.0} µs, CPU {cpu_us:.2} µs, of it user {user_us:.2}, \
             {wakeups:.2} wake-ups",
            rate(self.per_second)
        )
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "per_second": self.per_second,
            "p50_us": self.p50_us,
            "p99_us": self.p99_us,
            "cpu_us": self.cpu_us,
            "user_us": self.user_us,
            "wakeups": self.wakeups,
            "driver_cpu_us": self.driver_cpu_us,
        })
    }
}
