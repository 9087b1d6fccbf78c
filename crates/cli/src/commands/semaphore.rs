//! `baton semaphore`: a limited number of holders at a time.

use std::ffi::OsString;
use std::time::Duration;

use baton_client::Semaphores;
use baton_core::Token;
use baton_core::semaphore::{Permit, PermitWait, Semaphore as Record};
use clap::{Args, Subcommand};
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Failure, Fault};
use crate::input::milliseconds;
use crate::output::Output;
use crate::supervised::{Lease, StopSignals};

const AFTER_HELP: &str = "\
Examples:
  baton semaphore run models --permits 4 --wait 10m -- ./ask-model.sh   at most four at a time
  baton semaphore run models --weight 2 --wait 10m -- ./ask-twice.sh    two of the four permits
  baton semaphore resize models 8                                       eight from now on
  baton semaphore ls                                                    list holders and waiters

The first use of a semaphore sets its number of permits; `resize` changes it. `run` renews the
permit while the program runs, passes its token to the program as BATON_PERMIT_TOKEN, and terminates
the program if the permit is lost. It exits with the exit code of the program, with 10 if the wait
for a permit times out, and with 5 if the permit is lost.";

/// Limit how many programs run at a time
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Semaphore {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Run(Run),
    Acquire(Acquire),
    /// Renew a permit
    Renew(Renew),
    /// Release a permit; the next waiter acquires it
    Release(Release),
    /// Change the number of permits; holders keep theirs
    Resize {
        /// Semaphore name
        name: String,
        /// New number of permits
        #[arg(value_name = "COUNT")]
        permits: u64,
    },
    /// Show a semaphore
    Get {
        /// Semaphore name
        name: String,
    },
    /// List semaphores, their holders and waiters
    Ls,
}

#[derive(Args)]
struct Wanted {
    /// Semaphore name
    name: String,
    /// Number of permits; required on first use
    #[arg(long, value_name = "COUNT")]
    permits: Option<u64>,
    /// How many of the permits to take [default: 1]
    #[arg(long, value_name = "COUNT")]
    weight: Option<u64>,
    /// How long to wait for a permit, such as 30s [default: do not wait]
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    wait: Option<u64>,
    /// Time to live of the permit unless it is renewed [default: 5m]
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    ttl: Option<u64>,
}

/// Run a program while holding a permit
#[derive(Args)]
struct Run {
    #[command(flatten)]
    wanted: Wanted,
    /// Program and arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    program: Vec<OsString>,
}

/// Acquire a permit and print its token
#[derive(Args)]
struct Acquire {
    #[command(flatten)]
    wanted: Wanted,
}

#[derive(Args)]
struct Renew {
    /// Semaphore name
    name: String,
    /// Token of the permit
    #[arg(long)]
    token: u64,
    /// New time to live, from now
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    ttl: Option<u64>,
}

#[derive(Args)]
struct Release {
    /// Semaphore name
    name: String,
    /// Token of the permit
    #[arg(long)]
    token: u64,
}

impl Semaphore {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let semaphores = async || Ok::<_, Failure>(context.workspace().await?.semaphores());
        match self.verb {
            Verb::Run(run) => run.run(context, output).await,
            Verb::Acquire(Acquire { wanted }) => {
                held(output, &wanted.acquire(&semaphores().await?).await?)
            }
            Verb::Renew(Renew { name, token, ttl }) => {
                held(output, &semaphores().await?.renew_for(&name, Token(token), ttl).await?)
            }
            Verb::Release(Release { name, token }) => {
                counted(output, &semaphores().await?.release(&name, Token(token)).await?)
            }
            Verb::Resize { name, permits } => {
                counted(output, &semaphores().await?.resize(&name, permits).await?)
            }
            Verb::Get { name } => {
                let semaphore = semaphores().await?.get(&name).await?;
                output.show(&semaphore, |output| output.table(&[Row::of(&semaphore)], &COLUMNS))
            }
            Verb::Ls => {
                let found = semaphores().await?.list().await?;
                output.many_as("semaphores", &found, |output| {
                    let rows: Vec<Row<'_>> = found.iter().map(Row::of).collect();
                    output.table(&rows, &COLUMNS)
                })
            }
        }
    }

    /// Whether it handles signals itself, because they are forwarded to the program.
    pub(crate) fn handles_signals(&self) -> bool {
        matches!(self.verb, Verb::Run(_))
    }
}

fn held(output: &mut Output, permit: &Permit) -> Result<(), Failure> {
    let Permit { name, token, expires_at, weight, .. } = permit;
    let what = if *weight == 1 { "permit".to_owned() } else { format!("{weight} permits") };
    let ending = output.until(*expires_at);
    let sentence = format!("{what} of {name} acquired, expires {ending} (token {token})");
    output.said(permit, &sentence)
}

fn counted(output: &mut Output, semaphore: &Record) -> Result<(), Failure> {
    let Record { name, free, permits, .. } = semaphore;
    let sentence = format!("semaphore {name} has {free} of {permits} permits free");
    output.said(semaphore, &sentence)
}

impl Wanted {
    async fn acquire(&self, semaphores: &Semaphores) -> Result<Permit, Failure> {
        let mut acquiring = semaphores.acquire(&self.name);
        if let Some(count) = self.permits {
            acquiring = acquiring.permits(count);
        }
        if let Some(weight) = self.weight {
            acquiring = acquiring.weight(weight);
        }
        if let Some(ttl_ms) = self.ttl {
            acquiring = acquiring.ttl_ms(ttl_ms);
        }
        if let Some(wait_ms) = self.wait {
            acquiring = acquiring.wait_ms(wait_ms);
        }
        let what = || match self.weight.unwrap_or(1) {
            1 => format!("all permits of `{}` are held, or others wait for them", self.name),
            weight => format!("{weight} permits of `{}` are not free, or others wait", self.name),
        };
        let permit = acquiring.await?;
        Ok(permit.ok_or_else(|| Fault::NothingInTime { what: what() })?)
    }
}

impl Run {
    async fn run(self, context: &Context, output: &Output) -> Result<(), Failure> {
        let mut signals = StopSignals::listen()?;
        let begin = async {
            let workspace = context.workplace().await?;
            Ok((self.wanted.acquire(&workspace.semaphores()).await?, workspace))
        };
        let (permit, workspace) = signals.race(Box::pin(begin)).await?;
        let semaphores = workspace.semaphores();
        let Permit { name, token, ttl_ms, .. } = permit;
        let held = Lease {
            workspace,
            what: format!("the permit of `{name}`"),
            variable: ("BATON_PERMIT_TOKEN", token),
            ttl: Duration::from_millis(ttl_ms),
        };
        let renew = async || semaphores.renew(name.as_str(), token).await.map(drop);
        let release = async || semaphores.release(name.as_str(), token).await.map(drop);
        held.run(&self.program, signals, renew, release, output).await
    }
}

/// The columns of a semaphore.
const COLUMNS: [&str; 5] = ["name", "permits", "free", "holders", "waiting"];

#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    permits: u64,
    free: u64,
    #[serde(skip_serializing_if = "String::is_empty")]
    holders: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    waiting: String,
}

impl<'a> Row<'a> {
    fn of(semaphore: &'a Record) -> Self {
        let holders = semaphore.holders.iter();
        // The token is shown to the holder only.
        let holder = |permit: &Permit| match (permit.token, permit.weight) {
            (Token::HIDDEN, 1) => permit.holder.to_string(),
            (Token::HIDDEN, weight) => format!("{} (weight {weight})", permit.holder),
            (token, 1) => format!("{} ({token})", permit.holder),
            (token, weight) => format!("{} ({token}, weight {weight})", permit.holder),
        };
        let waiter = |wait: &PermitWait| match wait.weight {
            1 => wait.agent.to_string(),
            weight => format!("{} (weight {weight})", wait.agent),
        };
        let holders: Vec<String> = holders.map(holder).collect();
        let waiting: Vec<String> = semaphore.waiters.iter().map(waiter).collect();
        Self {
            name: semaphore.name.as_str(),
            permits: semaphore.permits,
            free: semaphore.free,
            holders: holders.join(", "),
            waiting: waiting.join(", "),
        }
    }
}
