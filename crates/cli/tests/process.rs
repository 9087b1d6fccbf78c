//! Starts the program as a user would.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// The program, isolated from the settings of the machine.
pub(crate) fn baton(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_baton"));
    for name in [
        "URL",
        "WORKSPACE",
        "AGENT",
        "TOKEN",
        "CONFIG",
        "LISTEN",
        "DATA",
        "TOKENS",
        "OUTPUT",
        "CA_FILE",
    ] {
        command.env_remove(format!("BATON_{name}"));
    }
    for name in [
        "TRACEPARENT",
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "OTEL_EXPORTER_OTLP_HEADERS",
        "NOTIFY_SOCKET",
    ] {
        command.env_remove(name);
    }
    command.env_remove("COLUMNS").env("HOME", home).current_dir(home);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The exit code and output of a command.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    pub(crate) fn of(mut command: Command, stdin: &str) -> Self {
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        // A program that does not read its stdin has exited; its exit code is checked below.
        let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
        let output = child.wait_with_output().unwrap();
        Self {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Its output as JSON.
    pub(crate) fn json(&self) -> serde_json::Value {
        assert_eq!(self.code, 0, "{self:?}");
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Its error as JSON.
    pub(crate) fn error(&self) -> serde_json::Value {
        assert_eq!((self.stdout.as_str(), self.stderr.lines().count()), ("", 1), "{self:?}");
        serde_json::from_str::<serde_json::Value>(&self.stderr).unwrap()["error"].take()
    }
}

/// A separate server with its own folder. It is killed at the end of the test.
pub(crate) struct Server {
    pub(crate) home: TempDir,
    pub(crate) url: String,
    pub(crate) child: Child,
    stderr: BufReader<ChildStderr>,
    /// Its output before it was ready.
    pub(crate) banner: String,
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::in_home(tempfile::tempdir().unwrap(), &[])
    }

    /// In an existing folder, with more options.
    pub(crate) fn in_home(home: TempDir, more: &[&str]) -> Self {
        let (child, stderr, banner, url) = serve(home.path(), "127.0.0.1:0", more).unwrap();
        Self { home, url, child, stderr, banner }
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.home.path().join("data")
    }

    /// A command against this server.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Command {
        let mut command = baton(self.home.path());
        command.env("BATON_URL", &self.url).args(words);
        command
    }

    /// Runs a command against this server; its words are separated by spaces.
    pub(crate) fn run(&self, line: &str) -> Ran {
        Ran::of(self.command(line.split(' ')), "")
    }

    /// The next line of its stderr.
    pub(crate) fn says(&mut self) -> String {
        let mut line = String::new();
        self.stderr.read_line(&mut line).unwrap();
        line
    }

    /// `kill -9`.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Restarts it with the same address and data.
    pub(crate) fn restart(&mut self) {
        let address = self.url.strip_prefix("http://").unwrap().to_owned();
        // The port may be in use as a client port for a moment.
        let is_taken = |said: &String| said.contains("server.address_taken");
        let begun = std::iter::repeat_with(|| serve(self.home.path(), &address, &[]));
        let mut begun = begun.take(100).skip_while(|begun| begun.as_ref().is_err_and(is_taken));
        let (child, stderr, banner, url) = begun.next().unwrap().unwrap();
        drop(begun);
        assert_eq!(url, self.url);
        (self.child, self.stderr, self.banner) = (child, stderr, banner);
    }

    /// Stops it, and returns its exit code and last output.
    pub(crate) fn end(mut self, signal: Signal) -> (i32, String) {
        send(&self.child, signal);
        let mut last = String::new();
        self.stderr.read_to_string(&mut last).unwrap();
        (self.child.wait().unwrap().code().unwrap(), last)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

type Begun = (Child, BufReader<ChildStderr>, String, String);

/// Starts a server and waits until it is ready; otherwise returns its output.
fn serve(home: &Path, listen: &str, more: &[&str]) -> Result<Begun, String> {
    let mut command = baton(home);
    command.args(["serve", "--data", "data", "--listen", listen]).args(more).stdout(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut banner = String::new();
    while !banner.contains("Press ctrl-c to stop.\n") {
        if stderr.read_line(&mut banner).unwrap() == 0 {
            child.wait().unwrap();
            return Err(banner);
        }
    }
    let url = banner.lines().find_map(|line| line.strip_prefix("  address  ")).unwrap().to_owned();
    Ok((child, stderr, banner, url))
}

/// A long-running command, such as a watch. It is killed at the end of the test.
pub(crate) struct Running {
    pub(crate) child: Child,
    lines: Option<BufReader<std::process::ChildStdout>>,
}

impl Running {
    pub(crate) fn of(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let lines = child.stdout.take().map(BufReader::new);
        Self { child, lines }
    }

    /// The next line of its stdout.
    pub(crate) fn line(&mut self) -> String {
        let line = self.try_line();
        line.unwrap_or_else(|| panic!("it ended: {:?}", self.child.wait()))
    }

    /// The next line of its stdout; none at its end.
    pub(crate) fn try_line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.lines.as_mut().unwrap().read_line(&mut line).unwrap();
        (read > 0).then_some(line)
    }

    /// The next line of its stderr, without its end.
    pub(crate) fn error_line(&mut self) -> String {
        // A buffer of one byte: what follows is read when the program has ended.
        let mut stderr = BufReader::with_capacity(1, self.child.stderr.as_mut().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        line.trim_end_matches('\n').to_owned()
    }

    /// Closes the pipe that reads its stdout.
    pub(crate) fn close(&mut self) {
        self.lines = None;
    }

    /// Waits for its end; returns its exit code and stderr.
    pub(crate) fn ended(&mut self) -> (i32, String) {
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap().code().unwrap(), said)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
