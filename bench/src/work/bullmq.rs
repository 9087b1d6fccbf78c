//! `BullMQ`: a queue as a library, in a separate process, on its own Redis.
//!
//! ```text
//!   npm install ──▶ temporary folder ──▶ node drive.js PORT WORKERS ──RESP──▶ Redis, always
//!                                          ▲            │
//!                          milliseconds, one line       ▼ ready · begin · end {…} · idle
//! ```
//!
//! The library is the client, so it cannot be driven with prebuilt bytes: `bench/bullmq/drive.js`
//! is the driver, and its processor time is reported as that of the driver. The queue of Redis is
//! on the server.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use super::CLIENTS;
use crate::Outcome;
use crate::peers::driver::{PATIENCE, TurnResult};
use crate::peers::processes::{self, Server};
use crate::peers::programs;
use crate::report::say;
use crate::resources::{Measured, Usage, tree_usage};

const PACKAGE: &str = include_str!("../../bullmq/package.json");
const DRIVER: &str = include_str!("../../bullmq/drive.js");
const DRIVER_NAME: &str = "drive.js";
const LOG_NAME: &str = "drive.log";

/// The library and its runtime.
pub(crate) struct Installed {
    node: PathBuf,
    folder: TempDir,
}

/// Installs the library into a temporary folder, with npm.
pub(crate) fn install(parent: &Path) -> Outcome<Installed> {
    let node = programs::install("nodejs", || programs::find("node"))?;
    let npm = programs::install("npm", || programs::find("npm"))?;
    let folder = processes::folder(parent, "bullmq")?;
    fs::write(folder.path().join("package.json"), PACKAGE)?;
    fs::write(folder.path().join(DRIVER_NAME), DRIVER)?;
    say("installing `bullmq`");
    let mut command = Command::new(npm);
    command.args(["install", "--no-audit", "--no-fund"]).current_dir(folder.path());
    let output = command.stdin(Stdio::null()).output()?;
    if !output.status.success() {
        return Err(format!("`npm install`: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(Installed { node, folder })
}

/// The running driver.
pub(crate) struct BullMq {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
    redis: Server,
    folder: TempDir,
}

impl BullMq {
    /// Starts the driver and waits until its workers are ready.
    pub(crate) fn start(installed: Installed, redis: Server) -> Outcome<Self> {
        let Installed { node, folder } = installed;
        let log = File::create(folder.path().join(LOG_NAME))?;
        let mut command = Command::new(node);
        command.arg(DRIVER_NAME).args([redis.port().to_string(), CLIENTS.to_string()]);
        // A Ctrl-C reaches this process, which then stops that one.
        command.current_dir(folder.path()).stderr(log).process_group(0);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = child.stdin.take().ok_or("the driver has an input")?;
        let output = BufReader::new(child.stdout.take().ok_or("the driver has an output")?);
        let (sender, lines) = channel();
        // A pipe has no read timeout, a channel has: a stuck driver must not block the run.
        thread::spawn(move || {
            output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        let bullmq = Self { child, input, lines, redis, folder };
        bullmq.expect("ready", PATIENCE)?;
        Ok(bullmq)
    }

    /// One round.
    pub(crate) fn turn(&mut self, turn: Duration) -> Outcome<TurnResult> {
        processes::go_on_unless_interrupted()?;
        writeln!(self.input, "{}", turn.as_secs_f64() * 1e3)?;
        self.expect("begin", turn + PATIENCE)?;
        let before = tree_usage(self.redis.pid());
        let report = self.expect("end", turn + PATIENCE)?;
        let usage = tree_usage(self.redis.pid()) - before;
        self.expect("idle", PATIENCE)?;
        served(&report, usage)
    }

    /// The rest of the driver's line after this word.
    fn expect(&self, word: &str, patience: Duration) -> Outcome<String> {
        let log = || fs::read_to_string(self.folder.path().join(LOG_NAME)).unwrap_or_default();
        let line = self.lines.recv_timeout(patience);
        let line = line.map_err(|_| format!("BullMQ: `{word}` was never said\n{}", log()))?;
        let rest = line.strip_prefix(word);
        Ok(rest.ok_or_else(|| format!("BullMQ: `{line}` instead of `{word}`"))?.to_owned())
    }
}

/// The result of a round, as the driver reports it.
pub(crate) fn served(report: &str, usage: Usage) -> Outcome<TurnResult> {
    let report: Value = serde_json::from_str(report)?;
    let number = |name: &str| {
        let number = report.get(name).and_then(Value::as_f64);
        number.ok_or_else(|| format!("BullMQ: the driver tells no `{name}`"))
    };
    Ok(TurnResult {
        measured: Measured {
            operations: number("cycles")?,
            seconds: number("seconds")?,
            usage,
            caller_cpu_seconds: number("driver_cpu_seconds")?,
        },
        p50_us: number("p50_us")?,
        p99_us: number("p99_us")?,
    })
}

impl Drop for BullMq {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
