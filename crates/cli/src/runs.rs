//! A program for each of many things to do: it gets one on stdin, and what it prints came of it.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::process::{ExitStatus, Stdio};

use baton_client::Setback;
use baton_core::{Traceparent, limits};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use crate::context::Context;
use crate::failure::{Failure, Fault};
use crate::output::{self, Output};
use crate::program::exit_code;
use crate::trace;

/// Lines of stderr that are told as the error of a try.
const STDERR_LINES: usize = 20;
/// Bytes of them, at most.
const STDERR_BYTES: usize = 4 << 10;

/// A program that is run for each task, or for each message.
pub(crate) struct Runs {
    program: Vec<OsString>,
    around: Vec<(&'static str, String)>,
    is_quiet: bool,
}

/// Ends a program with all that it has started, unless it has ended itself.
struct Ends(Option<Pid>);

impl Drop for Ends {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Runs {
    /// A program that is there: one that is not would fail everything there is to do.
    pub(crate) fn new(
        program: Vec<OsString>,
        context: &Context,
        output: &Output,
    ) -> Result<Self, Failure> {
        let around = context.around().into_iter();
        let around = around.map(|(name, value)| (name, value.to_owned())).collect();
        let runs = Self { program, around, is_quiet: output.is_quiet() };
        runs.check()?;
        Ok(runs)
    }

    fn command(&self) -> Command {
        let (program, arguments) = self.program.split_first().expect("the command line has one");
        let mut command = Command::new(program);
        // In a group of its own, so that ctrl-c leaves it time to finish.
        command.args(arguments).process_group(0).kill_on_drop(true);
        command.envs(self.around.iter().map(|(name, value)| (name, value)));
        // What it does is a part of the trace of what there is to do, not of whoever started us.
        command.env_remove(trace::VARIABLE);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn check(&self) -> Result<(), Failure> {
        let program = &self.program[0];
        let is_path = program.to_string_lossy().contains('/');
        let paths = std::env::var_os("PATH").unwrap_or_default();
        let is_there = if is_path {
            std::path::Path::new(program).is_file()
        } else {
            std::env::split_paths(&paths).any(|folder| folder.join(program).is_file())
        };
        if is_there {
            return Ok(());
        }
        let program = program.to_string_lossy().into_owned();
        let reason = "there is no such file".to_owned();
        Err(Fault::NoProgram { program, reason }.into())
    }

    /// Gives it something on stdin, and takes what it prints.
    pub(crate) async fn run(
        &self,
        given: Vec<u8>,
        variables: impl IntoIterator<Item = (&'static str, String)>,
        traceparent: Option<&Traceparent>,
    ) -> Result<Value, Setback> {
        let mut command = self.command();
        command.envs(variables);
        command.envs(traceparent.map(|traceparent| (trace::VARIABLE, traceparent.as_str())));
        let mut child = command.spawn()?;
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        let mut ends = Ends(id.and_then(Pid::from_raw));
        let (stdin, stdout, stderr) = pipes(&mut child);
        let ((), printed, said) =
            tokio::join!(give(stdin, given), read(stdout), listen(stderr, self.is_quiet));
        let status = child.wait().await?;
        ends.0 = None;
        outcome(status, &printed?, &said)
    }
}

fn pipes(child: &mut Child) -> (ChildStdin, ChildStdout, ChildStderr) {
    let stdin = child.stdin.take().expect("it was asked for");
    let stdout = child.stdout.take().expect("it was asked for");
    (stdin, stdout, child.stderr.take().expect("it was asked for"))
}

async fn give(mut stdin: ChildStdin, given: Vec<u8>) {
    // A program may do without.
    let _ = stdin.write_all(&given).await;
    let _ = stdin.shutdown().await;
}

/// All that was printed, or the beginning of more than a result may be.
async fn read(stdout: ChildStdout) -> std::io::Result<Vec<u8>> {
    let mut printed = Vec::new();
    let bytes_max = limits::VALUE_BYTES_MAX as u64 + 1;
    let mut stdout = stdout;
    (&mut stdout).take(bytes_max).read_to_end(&mut printed).await?;
    // The rest is read and forgotten, so that the program does not get stuck on it.
    tokio::io::copy(&mut stdout, &mut tokio::io::sink()).await?;
    Ok(printed)
}

/// The last lines of what was said; all of it is shown.
async fn listen(stderr: ChildStderr, is_quiet: bool) -> String {
    let mut lines = BufReader::new(stderr);
    let mut last = VecDeque::new();
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line).await.is_ok_and(|count| count > 0) {
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        if !is_quiet {
            output::say(&text);
        }
        last.push_back(text);
        if last.len() > STDERR_LINES {
            last.pop_front();
        }
        line.clear();
    }
    let said = Vec::from(last).join("\n");
    let start = said.len().saturating_sub(STDERR_BYTES);
    let start = (start..said.len()).find(|place| said.is_char_boundary(*place)).unwrap_or(0);
    said[start..].to_owned()
}

fn outcome(status: ExitStatus, printed: &[u8], said: &str) -> Result<Value, Setback> {
    if !status.success() {
        let code = format!("exit_{}", exit_code(status));
        return Err(Setback::new(json!({"code": code, "stderr": said})));
    }
    if printed.len() > limits::VALUE_BYTES_MAX {
        let detail = format!("more than {} bytes were printed", limits::VALUE_BYTES_MAX);
        return Err(Setback::new(json!({"code": "result_too_large", "detail": detail})).for_good());
    }
    let text = String::from_utf8_lossy(printed);
    let text = text.trim_end();
    if text.is_empty() {
        return Ok(Value::Null);
    }
    Ok(serde_json::from_str(text).unwrap_or_else(|_| text.into()))
}
