//! `baton lock`: one holder at a time.

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
use crate::program::{Asked, Held};

const AFTER_HELP: &str = "\
Examples:
  baton lock run deploy -- ./deploy.sh              while nobody else does
  baton lock run deploy --wait 10m -- ./deploy.sh   wait for whoever does
  baton lock ls                                     who holds what, who waits for whom

In scripts that cannot be one program:
  token=$(baton lock acquire deploy --wait 1m --ttl 10m -o json | jq .token)
  baton lock renew deploy --token $token
  baton lock release deploy --token $token

A lock ends by itself after its time to live. `run` renews it for as long as the program runs, gives
the program the token as BATON_LOCK_TOKEN, and ends the program if the lock is lost. Its exit code
is that of the program; 10 if the lock was not to be had in time, 5 if it was lost.";

/// Let one program at a time do something
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
    /// Keep it for longer
    Renew(Renew),
    /// Let it go; the next in line has it at once
    Release(Release),
    /// Show one
    Get {
        /// Which lock
        name: String,
    },
    /// List those that are held, who waits for them, and who waits in vain
    Ls,
}

#[derive(Args)]
struct Wanted {
    /// Which lock
    name: String,
    /// How long to wait for it, such as 30s; not at all unless given
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    wait: Option<u64>,
    /// How long it is held unless it is renewed [default: 5m]
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    ttl: Option<u64>,
}

/// Run a program while holding it
#[derive(Args)]
struct Run {
    #[command(flatten)]
    wanted: Wanted,
    /// The program and what it is given
    #[arg(last = true, required = true, value_name = "COMMAND")]
    program: Vec<OsString>,
}

/// Take it and print its token
#[derive(Args)]
struct Acquire {
    #[command(flatten)]
    wanted: Wanted,
}

#[derive(Args)]
struct Renew {
    /// Which lock
    name: String,
    /// The token it was acquired with
    #[arg(long)]
    token: u64,
    /// How long from now on
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    ttl: Option<u64>,
}

#[derive(Args)]
struct Release {
    /// Which lock
    name: String,
    /// The token it was acquired with
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
                    Some(hold) => format!("lock {name} is released; {} has it now", hold.holder),
                    None => format!("lock {name} is released"),
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
                output.show(&list, |output| list.text(output))
            }
        }
    }

    /// Whether it sees to signals itself, because a program has to hear of them.
    pub(crate) fn ends_itself(&self) -> bool {
        matches!(self.verb, Verb::Run(_))
    }
}

fn held(output: &mut Output, hold: &Hold) -> Result<(), Failure> {
    let Hold { name, token, expires_at, .. } = hold;
    output.said(hold, &format!("lock {name} is held until {expires_at} (token {token})"))
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
        let mut asked = Asked::listen()?;
        let locks = context.workplace().await?.locks();
        let hold = tokio::select! {
            hold = self.wanted.acquire(&locks) => hold?,
            _ = asked.told() => return Err(Failure::Interrupted),
        };
        let Hold { name, token, ttl_ms, .. } = hold;
        let held = Held {
            what: format!("lock `{name}`"),
            variable: ("BATON_LOCK_TOKEN", token),
            ttl: Duration::from_millis(ttl_ms),
        };
        let renew = async || locks.renew(name.as_str(), token).await.map(drop);
        let release = async || locks.release(name.as_str(), token).await.map(drop);
        held.run(&self.program, asked, renew, release, output).await
    }
}

/// What is shown of a lock.
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

/// As over HTTP, but whole.
#[derive(Serialize)]
struct List {
    locks: Vec<Record>,
    deadlocks: Vec<Vec<Link>>,
}

impl List {
    fn text(&self, output: &Output) -> String {
        let rows: Vec<Row<'_>> = self.locks.iter().map(Row::of).collect();
        let circles = self.deadlocks.iter().map(|circle| told(circle));
        std::iter::once(output.table(&rows, &COLUMNS)).chain(circles).collect()
    }
}

fn told(circle: &[Link]) -> String {
    let links = circle.iter().map(|link| {
        let Link { agent, waits_for, held_by } = link;
        format!("{agent} waits for {waits_for}, which {held_by} holds")
    });
    format!("deadlock: {}\n", plain(&links.collect::<Vec<_>>().join("; ")))
}

const _: () = assert!(limits::HOLD_TTL_MS_DEFAULT == 300_000, "the help says five minutes");
