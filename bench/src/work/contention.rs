//! One contended lock: the time from one holder to the next.
//!
//! ```text
//!   ada   ──held 1 ms──▶ release ─▶ server ─▶ …            pauses for 8 ms, then acquires again
//!   bob   acquire, waits ──────────────────────▶ knows it is the holder
//!                        └───── hand-over ─────┘
//! ```
//!
//! 1. Every client is a thread that blocks on its socket, like a program that waits for a lock.
//! 2. A hand-over counts only if the next holder sent its request before the release was sent:
//!    otherwise it did not wait.
//! 3. A client records the end of its hold before it sends the release, so the record never shows
//!    two holders unless the server granted two; then the run fails.
//!
//! A client pauses after each hold: where a lock has no queue, the releasing client would otherwise
//! acquire it again and again. With sixteen of them, at least one always waits nevertheless.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::json;

use super::{CLIENTS, baton, postgres};
use crate::Outcome;
use crate::peers::driver::TurnResult;
use crate::peers::latencies::Latencies;
use crate::peers::processes::{Server, go_on_unless_interrupted};
use crate::peers::{Bench, Kind, throughput};
use crate::report::{Comparison, Report, Target};
use crate::resources::{Measured, Stopwatch, cpu_seconds, pause, tree_usage};

pub(crate) const NAME: &str = "contended lock, 16 clients, 1 ms hold, hand-over";
const PEER: &str = "PostgreSQL advisory locks";
const HOLD: Duration = Duration::from_millis(1);
const AWAY: Duration = Duration::from_millis(8);
/// How often to check whether a round has to end early.
const LOOK: Duration = Duration::from_millis(20);
const MOST: f64 = 1.0;

/// A client of the contended lock.
pub(crate) trait Contender: Send {
    /// Returns when the lock is held.
    fn acquire(&mut self) -> Outcome<()>;
    /// Returns when the release is confirmed.
    fn release(&mut self) -> Outcome<()>;
}

/// Measures hand-overs on both sides, and reports the median and the tail.
pub(crate) fn run(bench: &Bench<'_>, report: &mut Report) -> Outcome<()> {
    let kind = if bench.is_control() { Kind::Postgres } else { Kind::Baton };
    let (Some(ours), Some(theirs)) = (bench.start(kind)?, bench.start(Kind::Postgres)?) else {
        return Ok(());
    };
    let servers = [ours, theirs];
    let taken = throughput::alternate(NAME, servers.len(), bench.options.turns, |which, _| {
        let server = &servers[which];
        server.blame(turn(server, bench.options.turn))
    })?;
    let (p50, p99): (Quantile, Quantile) = (|turn| turn.p50_us, |turn| turn.p99_us);
    for (name, quantile) in [("p50", p50), ("p99", p99)] {
        let line = line(&format!("{NAME} {name}, against {PEER}"), quantile, &taken[0], &taken[1]);
        report.add(if bench.is_control() { line } else { line.target(Target::AtMost(MOST)) });
    }
    Ok(())
}

type Quantile = fn(&TurnResult) -> f64;

fn line(name: &str, quantile: Quantile, ours: &[TurnResult], theirs: &[TurnResult]) -> Comparison {
    let pairs = ours.iter().zip(theirs);
    let ratios: Vec<f64> = pairs.map(|(ours, theirs)| quantile(ours) / quantile(theirs)).collect();
    let (ours, theirs) = (throughput::Medians::of(ours), throughput::Medians::of(theirs));
    let facts = json!({ "ours": ours.json(), "theirs": theirs.json(), "ratios": ratios });
    Comparison { facts, ..Comparison::of_ratios(name, &ratios, (ours.text(), theirs.text())) }
}

fn turn(server: &Server, turn: Duration) -> Outcome<TurnResult> {
    let contenders = (0..CLIENTS).map(|client| match server.kind() {
        Kind::Baton => baton::contender(server, client),
        Kind::Postgres => postgres::contender(server),
        kind @ (Kind::Redis | Kind::Etcd | Kind::Nats | Kind::Floor) => {
            Err(format!("no load contends for a lock of {}", kind.name()).into())
        }
    });
    contend(contenders.collect::<Outcome<Vec<_>>>()?, turn, server.pid())
}

/// Lets clients contend for the warm-up and the measured time.
pub(crate) fn contend(
    contenders: Vec<Box<dyn Contender>>,
    turn: Duration,
    pid: u32,
) -> Outcome<TurnResult> {
    let arena = Arena::new();
    thread::scope(|scope| {
        let threads: Vec<_> = contenders
            .into_iter()
            .map(|contender| scope.spawn(|| arena.attend(contender)))
            .collect();
        arena.pass(turn * 3 / 10);
        arena.hand_overs().clear();
        let (before, our_cpu) = (tree_usage(pid), cpu_seconds());
        let began = arena.clock.elapsed();
        arena.pass(turn);
        let seconds = arena.clock.elapsed().saturating_sub(began).as_secs_f64();
        let (usage, our_cpu) = (tree_usage(pid) - before, cpu_seconds() - our_cpu);
        let (operations, p50_us, p99_us) = {
            let times = arena.hand_overs();
            (times.total(), times.quantile_us(0.5), times.quantile_us(0.99))
        };
        arena.is_over.store(true, Ordering::Relaxed);
        for thread in threads {
            thread.join().map_err(|_| "a client panicked")??;
        }
        if operations == 0.0 {
            return Err("the lock was never handed over".into());
        }
        let measured = Measured { operations, seconds, usage, caller_cpu_seconds: our_cpu };
        Ok(TurnResult { measured, p50_us, p99_us })
    })
}

/// The shared record of holds.
pub(crate) struct Arena {
    clock: Stopwatch,
    is_over: AtomicBool,
    holders: AtomicUsize,
    /// When the last release was sent, in nanoseconds; 0 if there was none.
    released_at_ns: AtomicU64,
    hand_overs: Mutex<Latencies>,
}

impl Arena {
    pub(crate) fn new() -> Self {
        Self {
            clock: Stopwatch::start(),
            is_over: AtomicBool::new(false),
            holders: AtomicUsize::new(0),
            released_at_ns: AtomicU64::new(0),
            hand_overs: Mutex::new(Latencies::new()),
        }
    }

    pub(crate) fn hand_overs(&self) -> std::sync::MutexGuard<'_, Latencies> {
        self.hand_overs.lock().expect("no thread panics with the times")
    }

    /// Waits for a duration, unless a client has failed.
    fn pass(&self, duration: Duration) {
        let end = self.clock.elapsed() + duration;
        while !self.is_over.load(Ordering::Relaxed) {
            match end.checked_sub(self.clock.elapsed()) {
                Some(left) if !left.is_zero() => pause(left.min(LOOK)),
                Some(_) | None => return,
            }
        }
    }

    fn attend(&self, contender: Box<dyn Contender>) -> Result<(), String> {
        let outcome = self.try_attend(contender);
        if outcome.is_err() {
            self.is_over.store(true, Ordering::Relaxed);
        }
        outcome.map_err(|error| error.to_string())
    }

    fn try_attend(&self, mut contender: Box<dyn Contender>) -> Outcome<()> {
        while !self.is_over.load(Ordering::Relaxed) {
            go_on_unless_interrupted()?;
            let asked_at_ns = self.now_ns();
            contender.acquire()?;
            self.is_held(asked_at_ns, self.now_ns())?;
            pause(HOLD);
            self.is_let_go(self.now_ns());
            contender.release()?;
            pause(AWAY);
        }
        Ok(())
    }

    /// Records that a client that sent its request then holds the lock now.
    pub(crate) fn is_held(&self, asked_at_ns: u64, now_ns: u64) -> Outcome<()> {
        let others = self.holders.fetch_add(1, Ordering::SeqCst);
        if others > 0 {
            return Err(format!("{} clients hold the lock at once", others + 1).into());
        }
        let released_at_ns = self.released_at_ns.load(Ordering::SeqCst);
        if released_at_ns > asked_at_ns {
            self.hand_overs().add(Duration::from_nanos(now_ns.saturating_sub(released_at_ns)));
        }
        Ok(())
    }

    /// Records that the lock is free from now on.
    pub(crate) fn is_let_go(&self, now_ns: u64) {
        self.released_at_ns.store(now_ns, Ordering::SeqCst);
        self.holders.fetch_sub(1, Ordering::SeqCst);
    }

    fn now_ns(&self) -> u64 {
        u64::try_from(self.clock.elapsed().as_nanos()).expect("no run takes centuries")
    }
}
