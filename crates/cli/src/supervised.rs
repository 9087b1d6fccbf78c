//! Child processes that run while a lock or permit is held.
//!
//! ```text
//!   start ──▶ runs ──▶ exits ──────────────────────▶ its exit code
//!              │ ▲
//!              │ └── signals are forwarded to it
//!              └──▶ lost ──▶ SIGTERM ──▶ SIGKILL ──▶ why the lock was lost
//! ```
//!
//! 1. When this returns, the program has exited.
//! 2. A program that receives SIGTERM has a grace period before SIGKILL.
//!
//! Deliberately absent: the program's own child processes, which are its responsibility.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::process::ExitStatus;
use std::time::Duration;

use baton_client::{Error, Workspace, keep_held};
use baton_core::Token;
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};
use tokio::time::timeout;

use crate::failure::{Failure, Fault};
use crate::output::Output;

/// The time between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(5);

/// The exit code after SIGTERM, as shells report it.
const EXIT_TERMINATED: u8 = 128 + 15;

/// How long the server is waited for once this process should end: it may be away.
pub(crate) const FAREWELL: Duration = Duration::from_millis(1_500);

/// The signals that stop this process. The handlers are installed before the program starts.
pub(crate) struct StopSignals {
    interrupt: Signals,
    terminate: Signals,
    /// On a terminal, ctrl-c reaches the program directly.
    is_shared: bool,
}

impl StopSignals {
    pub(crate) fn listen() -> io::Result<Self> {
        let interrupt = signal(SignalKind::interrupt())?;
        let terminate = signal(SignalKind::terminate())?;
        Ok(Self { interrupt, terminate, is_shared: io::stdin().is_terminal() })
    }

    /// Does something unless a signal comes first, which then ends this process.
    pub(crate) async fn race<T>(
        &mut self,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        tokio::select! {
            done = work => done,
            signal = self.next() => Err(match signal {
                Some(Signal::TERM) => Failure::Ended { exit: EXIT_TERMINATED },
                Some(_) | None => Failure::Interrupted,
            }),
        }
    }

    /// Waits for a signal. Returns the signal to forward to the program, if any.
    pub(crate) async fn next(&mut self) -> Option<Signal> {
        tokio::select! {
            _ = self.interrupt.recv() => (!self.is_shared).then_some(Signal::INT),
            _ = self.terminate.recv() => Some(Signal::TERM),
        }
    }
}

/// Waits for a program to exit, and forwards signals to it. If the lock is lost first, the program
/// is terminated, and the reason is returned.
async fn supervise<L>(
    child: &mut Child,
    signals: &mut StopSignals,
    lost: impl Future<Output = L>,
) -> io::Result<Result<ExitStatus, L>> {
    let mut lost = std::pin::pin!(lost);
    loop {
        tokio::select! {
            status = child.wait() => return status.map(Ok),
            why = &mut lost => {
                terminate(child).await?;
                return Ok(Err(why));
            }
            signal = signals.next() => forward(child, signal),
        }
    }
}

fn forward(child: &Child, signal: Option<Signal>) {
    let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    if let (Some(id), Some(signal)) = (id, signal) {
        // It may have exited in the meantime, which is fine.
        let _ = kill_process(id, signal);
    }
}

async fn terminate(child: &mut Child) -> io::Result<()> {
    forward(child, Some(Signal::TERM));
    match timeout(GRACE, child.wait()).await {
        Ok(ended) => ended.map(drop),
        Err(_) => child.kill().await,
    }
}

/// A lock or permit that is held while a program runs, and expires unless it is renewed.
pub(crate) struct Lease {
    /// The workspace, as the agent that holds it.
    pub(crate) workspace: Workspace,
    /// Its name in messages.
    pub(crate) what: String,
    /// The environment variable for its token, and the token.
    pub(crate) variable: (&'static str, Token),
    /// The time to live after a renewal.
    pub(crate) ttl: Duration,
}

impl Lease {
    /// Runs a program, then releases the lock. The exit code is that of the program.
    pub(crate) async fn run<F: Future<Output = Result<(), Error>>>(
        self,
        program: &[OsString],
        mut signals: StopSignals,
        renew: impl FnMut() -> F,
        release: impl AsyncFnOnce() -> Result<(), Error>,
        output: &Output,
    ) -> Result<(), Failure> {
        let Self { workspace, what, variable: (variable, token), ttl } = self;
        let (name, arguments) = program.split_first().expect("the command line has one");
        let mut command = Command::new(name);
        command.args(arguments).env(variable, token.to_string()).kill_on_drop(true);
        let outcome = match command.spawn() {
            Ok(mut child) => {
                let lost = keep_held(&workspace, ttl, renew);
                supervise(&mut child, &mut signals, lost).await?
            }
            Err(error) => {
                // If the release fails, the lock expires; the error of the program matters more.
                let _ = timeout(FAREWELL, release()).await;
                let program = name.to_string_lossy().into_owned();
                return Err(Fault::NoProgram { program, reason: error.to_string() }.into());
            }
        };
        let status = outcome.map_err(|lost| Failure::lost(&what, lost))?;
        // If the release fails, the lock expires; the program ran while it was held.
        match timeout(FAREWELL, release()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => output.note(&format!("could not release {what}: {error}")),
            Err(_) => output.note(&format!("could not release {what} in time: it expires")),
        }
        Err(Failure::Ended { exit: exit_code(status) })
    }
}

/// The exit code of a program, as shells report it: 128 plus the signal if it was killed.
pub(crate) fn exit_code(status: ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt;
    let by_signal = || status.signal().map(|signal| 128 + signal);
    status.code().or_else(by_signal).and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
