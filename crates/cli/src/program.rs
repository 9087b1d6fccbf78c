//! Programs that are run under something that may be lost: a lock, a lease.
//!
//! ```text
//!   start ──▶ runs ──▶ ends by itself ───────────────────────▶ its exit code
//!              │ ▲
//!              │ └── a signal to us is handed on to it
//!              └──▶ lost ──▶ asked to end ──▶ … or made to ──▶ why it was lost
//! ```
//!
//! 1. When this returns, the program has ended.
//! 2. A program that is asked to end has some seconds for it, and no more.
//!
//! Deliberately absent: what the program has started itself. Whoever starts others sees to them.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::process::ExitStatus;
use std::time::Duration;

use baton_client::{Error, keep};
use baton_core::Token;
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};
use tokio::time::timeout;

use crate::failure::{Failure, Fault};
use crate::output::Output;

/// How long a program may take to end when it is asked to.
const GRACE: Duration = Duration::from_secs(5);

/// What asks us to end while a program runs. Listened to before the program is there.
pub(crate) struct Asked {
    interrupt: Signals,
    terminate: Signals,
    /// On a terminal ctrl-c reaches the program by itself.
    is_shared: bool,
}

impl Asked {
    pub(crate) fn listen() -> io::Result<Self> {
        let interrupt = signal(SignalKind::interrupt())?;
        let terminate = signal(SignalKind::terminate())?;
        Ok(Self { interrupt, terminate, is_shared: io::stdin().is_terminal() })
    }

    /// Waits until somebody asks; what to hand on, if anything.
    pub(crate) async fn told(&mut self) -> Option<Signal> {
        tokio::select! {
            _ = self.interrupt.recv() => (!self.is_shared).then_some(Signal::INT),
            _ = self.terminate.recv() => Some(Signal::TERM),
        }
    }
}

/// Waits for a program to end, and hands on to it what we are asked. If what it works under is
/// lost first, it is ended, and why it was lost is the answer.
async fn attend<L>(
    child: &mut Child,
    asked: &mut Asked,
    lost: impl Future<Output = L>,
) -> io::Result<Result<ExitStatus, L>> {
    let mut lost = std::pin::pin!(lost);
    loop {
        tokio::select! {
            status = child.wait() => return status.map(Ok),
            why = &mut lost => {
                end(child).await?;
                return Ok(Err(why));
            }
            signal = asked.told() => hand_on(child, signal),
        }
    }
}

fn hand_on(child: &Child, signal: Option<Signal>) {
    let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    if let (Some(id), Some(signal)) = (id, signal) {
        // It may have ended in this moment, which is what was wanted.
        let _ = kill_process(id, signal);
    }
}

async fn end(child: &mut Child) -> io::Result<()> {
    hand_on(child, Some(Signal::TERM));
    match timeout(GRACE, child.wait()).await {
        Ok(ended) => ended.map(drop),
        Err(_) => child.kill().await,
    }
}

/// Something that a program is run under: it ends by itself unless it is renewed.
pub(crate) struct Held {
    /// What it is, for people.
    pub(crate) what: String,
    /// Its token, and where the program finds it.
    pub(crate) variable: (&'static str, Token),
    /// How long a renewal lasts.
    pub(crate) ttl: Duration,
}

impl Held {
    /// Runs a program while it is held, and lets go of it. How the program ended is how we do.
    pub(crate) async fn run<F: Future<Output = Result<(), Error>>>(
        self,
        program: &[OsString],
        mut asked: Asked,
        renew: impl FnMut() -> F,
        release: impl AsyncFnOnce() -> Result<(), Error>,
        output: &Output,
    ) -> Result<(), Failure> {
        let Self { what, variable: (variable, token), ttl } = self;
        let (name, arguments) = program.split_first().expect("the command line has one");
        let mut command = Command::new(name);
        command.args(arguments).env(variable, token.to_string()).kill_on_drop(true);
        let outcome = match command.spawn() {
            Ok(mut child) => attend(&mut child, &mut asked, keep(ttl, renew)).await?,
            Err(error) => {
                // It ends by itself if that fails, and why nothing is run is more important.
                let _ = release().await;
                let program = name.to_string_lossy().into_owned();
                return Err(Fault::NoProgram { program, reason: error.to_string() }.into());
            }
        };
        let status = outcome.map_err(|lost| Failure::lost(&what, lost))?;
        // If that fails, it ends by itself; what the program did, it did while this was held.
        if let Err(error) = release().await {
            output.note(&format!("{what} could not be released: {error}"));
        }
        Err(Failure::Ended { exit: exit_code(status) })
    }
}

/// The exit code that says how a program ended, as shells have it.
pub(crate) fn exit_code(status: ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt;
    let by_signal = || status.signal().map(|signal| 128 + signal);
    status.code().or_else(by_signal).and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
