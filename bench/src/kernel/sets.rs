//! Durable sets and plain gets, as fast as callers in process can send them.
//!
//! Our side is the complete path: the key and the JSON are validated, the command is decided, its
//! event encoded, written and synced, and the answer returned as an entry.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use baton_core::state::{Get, Query};
use baton_core::{Key, NamespaceName};
use tempfile::TempDir;

use super::load;
use super::segment_file::{self, WakeMode};
use crate::Outcome;
use crate::options::{Options, Part};
use crate::report::{Comparison, Report, Target, progress, say};
use crate::resources::{Measured, MeasuredTurn};

/// Keys that callers overwrite.
const KEYS: usize = 10_000;
/// Different values, so that every write has to be processed.
const VALUES: usize = 64;
/// The name of the process with our side alone, for a profiler.
pub(crate) const PART: &str = "sets";
const PROFILED: Duration = Duration::from_secs(4);

/// Many callers, each with one set in flight.
pub(crate) fn many(options: &Options, report: &mut Report, callers: usize) -> Outcome<()> {
    let bytes = load::bytes_per_set()?;
    let against = |wake_mode| {
        alternate(
            options,
            |folder| ours(folder, options.turn, callers),
            |folder| segment_file::many(folder, options.turn, callers, bytes, wake_mode),
        )
    };
    let name = format!("sets, {callers} callers");
    let line = Comparison::of_turns(&name, &against(WakeMode::Each)?);
    report.add(if callers == 1024 { line.target(Target::AtLeast(0.4)) } else { line });
    let name = format!("{name}, against the barest file");
    report.add(Comparison::of_turns(&name, &against(WakeMode::First)?));
    Ok(())
}

/// One caller with one set in flight.
pub(crate) fn one(options: &Options, report: &mut Report) -> Outcome<()> {
    let bytes = load::bytes_per_set()?;
    let turns = alternate(
        options,
        |folder| ours(folder, options.turn, 1),
        |folder| segment_file::one(folder, options.turn, bytes),
    )?;
    report.add(Comparison::of_turns("sets, one caller", &turns).target(Target::AtLeast(0.8)));
    Ok(())
}

/// Many readers, against a hash map behind a mutex.
pub(crate) fn gets(options: &Options, report: &mut Report) -> Outcome<()> {
    let callers = 1024;
    let turns = alternate(
        options,
        |folder| our_gets(folder, options.turn, callers),
        |_| map_gets(options.turn, callers),
    )?;
    let mut line = Comparison::of_turns("gets, 1024 callers, against a map", &turns);
    line.note += ", each after a turn of the others";
    report.add(line);
    Ok(())
}

/// Our side alone, so that a profiler sees nothing else. The number is that of the callers.
pub(crate) fn be(part: &Part) -> Outcome<()> {
    let measured = ours(&part.folder, PROFILED, part.number)?;
    say(&format!("{:.0} sets/s, CPU {:.2} µs each", measured.rate(), measured.cpu_us()));
    Ok(())
}

/// Measures both sides alternately, each round in a fresh folder, and alternates the order.
fn alternate(
    options: &Options,
    ours: impl Fn(&Path) -> Outcome<Measured>,
    raw: impl Fn(&Path) -> Outcome<Measured>,
) -> Outcome<Vec<(Measured, Measured)>> {
    let fresh = || TempDir::with_prefix_in("baton-bench-", &options.folder);
    let turn = |number: usize| {
        progress(
            &format!("sets: round {} of {}", number + 1, options.turns),
            number,
            options.turns,
        );
        if number.is_multiple_of(2) {
            let ours = ours(fresh()?.path())?;
            Ok((ours, raw(fresh()?.path())?))
        } else {
            let raw = raw(fresh()?.path())?;
            Ok((ours(fresh()?.path())?, raw))
        }
    };
    (0..options.turns).map(turn).collect()
}

fn ours(folder: &Path, turn: Duration, callers: usize) -> Outcome<Measured> {
    let (keys, values) = texts();
    load::runtime()?.block_on(async {
        let baton = baton::open(folder).await?;
        let workspace = load::workspace(&baton)?;
        let turn = Arc::new(MeasuredTurn::begin(turn));
        let callers: Vec<_> = (0..callers)
            .map(|caller| {
                let (workspace, turn) = (workspace.clone(), Arc::clone(&turn));
                let (keys, values) = (Arc::clone(&keys), Arc::clone(&values));
                tokio::spawn(async move {
                    let namespace = NamespaceName::shared();
                    for round in 0.. {
                        let key = &keys[(caller + round * callers) % KEYS];
                        let value = &values[round % VALUES];
                        let command = load::set(&namespace, key, value).expect("the load is valid");
                        workspace.execute(command).await.expect("a set is carried out");
                        if !turn.goes_on() {
                            return;
                        }
                    }
                })
            })
            .collect();
        for caller in callers {
            caller.await?;
        }
        baton.close().await;
        Ok(turn.measured())
    })
}

fn our_gets(folder: &Path, turn: Duration, callers: usize) -> Outcome<Measured> {
    let (keys, _) = texts();
    load::runtime()?.block_on(async {
        let baton = baton::open(folder).await?;
        let workspace = load::workspace(&baton)?;
        load::fill(&workspace, 0..KEYS).await?;
        let get = move |number: usize| {
            let (namespace, key) = (NamespaceName::shared(), Key::parse(&keys[number]));
            let get = Get { namespace, key: key.expect("the load is valid"), at: None };
            let workspace = workspace.clone();
            async move {
                let found = workspace.ask(Query::Get(get)).await;
                found.expect("what was filled is there");
            }
        };
        let measured = read_in_turns(turn, callers, get).await?;
        baton.close().await;
        Ok(measured)
    })
}

fn map_gets(turn: Duration, callers: usize) -> Outcome<Measured> {
    let (keys, values) = texts();
    let filled = keys.iter().enumerate().map(|(number, key)| {
        let value: Arc<str> = values[number % VALUES].as_str().into();
        (key.clone(), value)
    });
    let map: Arc<Mutex<HashMap<String, Arc<str>>>> = Arc::new(Mutex::new(filled.collect()));
    let get = move |number: usize| {
        let map = map.lock().expect("no thread panics with the lock");
        let found = map.get(&keys[number]).cloned();
        assert!(found.is_some(), "what was filled is there");
        std::future::ready(())
    };
    load::runtime()?.block_on(read_in_turns(turn, callers, get))
}

/// Every caller yields after a read, since a read need not wait.
async fn read_in_turns<F: Future<Output = ()> + Send>(
    turn: Duration,
    callers: usize,
    get: impl Fn(usize) -> F + Clone + Send + 'static,
) -> Outcome<Measured> {
    let turn = Arc::new(MeasuredTurn::begin(turn));
    let callers: Vec<_> = (0..callers)
        .map(|caller| {
            let (get, turn) = (get.clone(), Arc::clone(&turn));
            tokio::spawn(async move {
                for round in 0.. {
                    get((caller + round * callers) % KEYS).await;
                    if !turn.goes_on() {
                        return;
                    }
                    tokio::task::yield_now().await;
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await?;
    }
    Ok(turn.measured())
}

type Texts = Arc<Vec<String>>;

fn texts() -> (Texts, Texts) {
    let keys = (0..KEYS).map(load::key).collect();
    (Arc::new(keys), Arc::new((0..VALUES).map(load::value).collect()))
}
