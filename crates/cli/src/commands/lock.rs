//! `baton lock`: exclusive locks.

use std::ffi::OsString;
use std::time::Duration;

use baton_client::Locks;
use baton_core::lock::{Hold, Link, Lock as Record};
use baton_core::{Token, limits};
use clap::{Args, Subcommand};
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Failure, Fault};
use crate::input::milliseconds;
use crate::output::{Output, plain};
use crate::supervised::{Lease, StopSignals};

const AFTER_HELP: &str = "\
Examples:
  baton lock run deploy -- ./deploy.sh              run a program under the lock
  baton lock run deploy --wait 10m -- ./deploy.sh   wait up to 10 minutes for the lock
  baton lock ls                                     list holders, waiters and deadlocks

In scripts that cannot use `run`:
  token=$(baton lock acquire deploy --wait 1m --ttl 10m --field token)
  baton lock renew deploy --token $token
  baton lock release deploy --token $token

A lock expires after its TTL unless it is renewed. `run` renews it while the program runs, passes
its token to the program as BATON_LOCK_TOKEN, and terminates the program if the lock is lost. It
exits with the exit code of the program, with 10 if the wait for the lock times out, and with 5 if
the lock is lost.";

/// Run programs under a lock, one at a time
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Lock {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Run(Run),
    Acquire(Acquire),
    /// Renew a lock
    Renew(Renew),
    /// Release a lock; the next waiter acquires it
    Release(Release),
    /// Show a lock
    Get {
        /// Lock name
        name: String,
    },
    /// List held locks, their waiters, and deadlocks
    Ls,
}

#[derive(Args)]
struct Wanted {
    /// Lock name
    name: String,
    /// How long to wait for the lock, such as 30s [default: do not wait]
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    wait: Option<u64>,
    /// Time to live of the lock unless it is renewed [default: 5m]
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    ttl: Option<u64>,
}

/// Run a program while holding a lock
#[derive(Args)]
struct Run {
    #[command(flatten)]
    wanted: Wanted,
    /// Program and arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    program: Vec<OsString>,
}

/// Acquire a lock and print its token
#[derive(Args)]
struct Acquire {
    #[command(flatten)]
    wanted: Wanted,
}

#[derive(Args)]
struct Renew {
    /// Lock name
    name: String,
    /// Token of the lock
    #[arg(long)]
    token: u64,
    /// New time to live, from now
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    ttl: Option<u64>,
}

#[derive(Args)]
struct Release {
    /// Lock name
    name: String,
    /// Token of the lock
    #[arg(long)]
    token: u64,
}

impl Lock {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        match self.verb {
            Verb::Run(run) => run.run(context, output).await,
            Verb::Acquire(Acquire { wanted }) => {
                let hold = wanted.acquire(&context.workspace().await?.locks()).await?;
                held(output, &hold)
            }
            Verb::Renew(Renew { name, token, ttl }) => {
                let locks = context.workspace().await?.locks();
                held(output, &locks.renew_for(&name, Token(token), ttl).await?)
            }
            Verb::Release(Release { name, token }) => {
                let locks = context.workspace().await?.locks();
                let lock = locks.release(&name, Token(token)).await?;
                let sentence = match &lock.hold {
                    Some(hold) => format!("lock {name} released; {} holds it now", hold.holder),
                    None => format!("lock {name} released"),
                };
                output.said(&lock, &sentence)
            }
            Verb::Get { name } => {
                let lock = context.workspace().await?.locks().get(&name).await?;
                output.show(&lock, |output| output.table(&[Row::of(&lock)], &COLUMNS))
            }
            Verb::Ls => {
                let found = context.workspace().await?.locks().list().await?;
                let list = List { locks: found.locks, deadlocks: found.deadlocks };
                output.list(("locks", list.locks.len()), &list, |output| list.text(output))
            }
        }
    }

    /// Whether it handles signals itself, because they are forwarded to the program.
    pub(crate) fn handles_signals(&self) -> bool {
        matches!(self.verb, Verb::Run(_))
    }
}

fn held(output: &mut Output, hold: &Hold) -> Result<(), Failure> {
    let Hold { name, token, expires_at, .. } = hold;
    let until = output.until(*expires_at);
    output.said(hold, &format!("lock {name} acquired, expires {until} (token {token})"))
}

impl Wanted {
    async fn acquire(&self, locks: &Locks) -> Result<Hold, Failure> {
        let mut acquiring = locks.acquire(&self.name);
        if let Some(ttl_ms) = self.ttl {
            acquiring = acquiring.ttl_ms(ttl_ms);
        }
        if let Some(wait_ms) = self.wait {
            acquiring = acquiring.wait_ms(wait_ms);
        }
        let none = || Fault::NothingInTime { what: format!("the lock `{}` is held", self.name) };
        Ok(acquiring.await?.ok_or_else(none)?)
    }
}

impl Run {
    async fn run(self, context: &Context, output: &Output) -> Result<(), Failure> {
        let mut signals = StopSignals::listen()?;
        let begin = async {
            let workspace = context.workplace().await?;
            Ok((self.wanted.acquire(&workspace.locks()).await?, workspace))
        };
        let (hold, workspace) = signals.race(Box::pin(begin)).await?;
        let locks = workspace.locks();
        let Hold { name, token, ttl_ms, .. } = hold;
        let held = Lease {
            workspace,
            what: format!("lock `{name}`"),
            variable: ("BATON_LOCK_TOKEN", token),
            ttl: Duration::from_millis(ttl_ms),
        };
        let renew = async || locks.renew(name.as_str(), token).await.map(drop);
        let release = async || locks.release(name.as_str(), token).await.map(drop);
        held.run(&self.program, signals, renew, release, output).await
    }
}

/// The columns of a lock.
const COLUMNS: [&str; 6] = ["name", "status", "holder", "token", "expires_at", "waiting"];

#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    status: &'a baton_core::lock::Status,
    #[serde(flatten)]
    hold: Option<&'a Hold>,
    #[serde(skip_serializing_if = "String::is_empty")]
    waiting: String,
}

impl<'a> Row<'a> {
    fn of(lock: &'a Record) -> Self {
        let waiting: Vec<&str> = lock.waiters.iter().map(|wait| wait.agent.as_str()).collect();
        Self {
            name: lock.name.as_str(),
            status: &lock.status,
            hold: lock.hold.as_ref(),
            waiting: waiting.join(", "),
        }
    }
}

/// As over HTTP, but with all pages.
#[derive(Serialize)]
struct List {
    locks: Vec<Record>,
    deadlocks: Vec<Vec<Link>>,
}

impl List {
    fn text(&self, output: &Output) -> String {
        let rows: Vec<Row<'_>> = self.locks.iter().map(Row::of).collect();
        let deadlocks = self.deadlocks.iter().map(|cycle| deadlock(cycle));
        std::iter::once(output.table(&rows, &COLUMNS)).chain(deadlocks).collect()
    }
}

fn deadlock(cycle: &[Link]) -> String {
    let links = cycle.iter().map(|link| {
        let Link { agent, waits_for, held_by } = link;
        format!("{agent} waits for {waits_for}, held by {held_by}")
    });
    format!("deadlock: {}\n", plain(&links.collect::<Vec<_>>().join("; ")))
}

const _: () = assert!(limits::HOLD_TTL_MS_DEFAULT == 300_000, "the help says five minutes");
