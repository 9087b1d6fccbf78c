//! Servers as processes: started on free loopback ports with their data in a temporary folder, and
//! cleaned up in any case.
//!
//! ```text
//!   the run ends, fails or panics ──▶ `Server` is dropped ──▶ process ended, folder removed
//!   Ctrl-C, SIGTERM ──▶ a flag ──▶ the loop that waits returns an error ──▶ the same
//!   Ctrl-C again    ──▶ this process ends at once
//! ```
//!
//! Servers have their own process groups: a Ctrl-C reaches this process, which then stops them.

use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, setrlimit};
use signal_hook::consts::{SIGINT, SIGTERM};
use tempfile::TempDir;

use super::Kind;
use crate::Outcome;
use crate::resources::{Stopwatch, pause, resident_bytes_of};

/// How long a server may take to start.
const START: Duration = Duration::from_secs(30);
/// How long a server may take to stop.
const QUIT: Duration = Duration::from_secs(5);
/// The delay between two attempts to reach a server that is starting or stopping.
const ATTEMPT: Duration = Duration::from_millis(20);
/// How much of a server's output is shown when it did not start.
const LOG_LINES: usize = 8;
const LOG_NAME: &str = "server.log";

static INTERRUPTED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// From now on a Ctrl-C ends the run cleanly, and a second one at once.
pub(crate) fn watch_for_interrupts() -> Outcome<()> {
    let flag = INTERRUPTED.get_or_init(Arc::default);
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(flag))?;
        signal_hook::flag::register(signal, Arc::clone(flag))?;
    }
    Ok(())
}

/// An error if the run should end.
pub(crate) fn go_on_unless_interrupted() -> Outcome<()> {
    if INTERRUPTED.get().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
        return Err("interrupted".into());
    }
    Ok(())
}

/// How a server is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Killed: its data is removed anyway.
    Kill,
    /// By its own signal for a fast shutdown, so that it can stop its children.
    Quit,
}

/// A running server.
pub(crate) struct Server {
    kind: Kind,
    child: Child,
    port: u16,
    ending: Ending,
    folder: TempDir,
}

impl Server {
    /// Starts a process whose output goes to a file in its folder.
    pub(crate) fn start(
        kind: Kind,
        folder: TempDir,
        port: u16,
        mut command: Command,
        ending: Ending,
    ) -> Outcome<Self> {
        let log = File::create(folder.path().join(LOG_NAME))?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).process_group(0);
        let child = command.spawn().map_err(|error| {
            format!("`{}` does not start: {error}", command.get_program().display())
        })?;
        Ok(Self { kind, child, port, ending, folder })
    }

    /// Retries until the server succeeds, has ended, or the time is over.
    pub(crate) fn wait_until(mut self, attempt: impl Fn(u16) -> Outcome<()>) -> Outcome<Self> {
        let clock = Stopwatch::start();
        loop {
            go_on_unless_interrupted()?;
            let Err(error) = attempt(self.port) else { return Ok(self) };
            if let Some(status) = self.child.try_wait()? {
                return Err(format!("{} ended: {status}{}", self.name(), self.last_words()).into());
            }
            if clock.elapsed() > START {
                let (name, words) = (self.name(), self.last_words());
                return Err(format!("{name} does not answer: {error}{words}").into());
            }
            pause(ATTEMPT);
        }
    }

    /// The output so far.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join(LOG_NAME)).unwrap_or_default()
    }

    fn last_words(&self) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        let last = &lines[lines.len().saturating_sub(LOG_LINES)..];
        if last.is_empty() { String::new() } else { format!("\n  {}", last.join("\n  ")) }
    }

    /// Signals the process until it has ended or the time is over. A process that has just been
    /// started may miss the first signal.
    fn has_quit(&mut self) -> bool {
        let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) else {
            return false;
        };
        let clock = Stopwatch::start();
        while clock.elapsed() < QUIT {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return true;
            }
            let _ = kill_process(pid, Signal::QUIT);
            pause(ATTEMPT);
        }
        false
    }

    /// Asks the process to end as a person would, and waits until it has.
    pub(crate) fn terminate(&mut self) -> Outcome<()> {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        kill_process(pid.ok_or("a process has a number")?, Signal::TERM)?;
        let clock = Stopwatch::start();
        while self.child.try_wait()?.is_none() {
            go_on_unless_interrupted()?;
            if clock.elapsed() > START {
                return Err(format!("{} does not end{}", self.name(), self.last_words()).into());
            }
            pause(ATTEMPT);
        }
        Ok(())
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    fn name(&self) -> &'static str {
        self.kind.name()
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Memory of the process itself.
    pub(crate) fn resident_bytes(&self) -> Outcome<u64> {
        let found = resident_bytes_of(&self.pid().to_string());
        found.ok_or_else(|| format!("{} has ended{}", self.name(), self.last_words()).into())
    }

    /// Adds the name and the output of the server to an error.
    pub(crate) fn blame<T>(&self, outcome: Outcome<T>) -> Outcome<T> {
        outcome.map_err(|error| format!("{}: {error}{}", self.name(), self.last_words()).into())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.ending == Ending::Quit && self.has_quit() {
            return;
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Free ports. All are held until all are found, so that they differ.
pub(crate) fn free_ports<const COUNT: usize>() -> Outcome<[u16; COUNT]> {
    let mut ports = [0; COUNT];
    let mut held = Vec::with_capacity(COUNT);
    for port in &mut ports {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        *port = listener.local_addr()?.port();
        held.push(listener);
    }
    Ok(ports)
}

/// A folder that is removed with its server.
pub(crate) fn folder(parent: &Path, name: &str) -> Outcome<TempDir> {
    Ok(TempDir::with_prefix_in(format!("baton-bench-{name}-"), parent)?)
}

/// Raises the limit of open files of this process, and of the servers it starts, as far as allowed.
/// Returns the limit.
pub(crate) fn allow_many_files() -> u64 {
    let limits = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limits.maximum, maximum: limits.maximum };
    let allowed = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limits.maximum,
        Err(_) => limits.current,
    };
    allowed.unwrap_or(u64::MAX)
}
