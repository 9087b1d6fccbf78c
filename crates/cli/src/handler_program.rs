//! A program that handles tasks, hand-offs or messages: input on stdin, result on stdout.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::pin::Pin;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;

use baton_client::{Setback, Workspace};
use baton_core::{HandoffId, MessageId, TaskId, Token, Traceparent, limits};
use clap::Args;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;

use crate::context::Context;
use crate::failure::{Failure, Fault};
use crate::output::{self, Output};
use crate::supervised::{FAREWELL, StopSignals, exit_code};
use crate::trace;
use crate::unknown_workspace;

/// Lines of stderr that become the error of a failed attempt.
const STDERR_LINES: usize = 20;
/// Maximum size of these lines.
const STDERR_BYTES: usize = 4 << 10;

/// Arguments of the commands that run a program for each task, hand-off or message.
#[derive(Args)]
pub(crate) struct HandlerArguments {
    /// How many programs to run concurrently
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    concurrency: usize,
    /// Program and arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    program: Vec<OsString>,
}

/// The inputs of a worker or a service.
pub(crate) struct Start {
    pub(crate) workspace: Workspace,
    pub(crate) concurrency: usize,
    pub(crate) program: Arc<HandlerProgram>,
    /// Completes when nothing new may be started.
    pub(crate) stop: Pin<Box<dyn Future<Output = ()>>>,
}

impl HandlerArguments {
    /// Runs a worker or a service. The first signal finishes the items in progress; the second
    /// kills their programs and leaves them.
    pub(crate) async fn run<T, F: Future<Output = Result<T, baton_client::Error>>>(
        self,
        context: &Context,
        output: &Output,
        items: &str,
        start: impl FnOnce(Start) -> F,
        leave: impl AsyncFnOnce(Workspace, Vec<Item>),
    ) -> Result<T, Failure> {
        let mut signals = StopSignals::listen()?;
        let workspace = signals.race(Box::pin(context.workplace())).await?;
        let program = Arc::new(HandlerProgram::new(self.program, context, output)?);
        let noted = async {
            unknown_workspace::noted(context, output).await;
            Ok(())
        };
        signals.race(noted).await?;
        let (stopping, stop) = oneshot::channel::<()>();
        // A dropped sender also means stop.
        let stop = Box::pin(async { drop(stop.await) });
        let mut in_progress = program.in_progress.subscribe();
        let left_in = workspace.clone();
        let running = start(Start { workspace, concurrency: self.concurrency, program, stop });
        let left = tokio::select! {
            ended = running => return Ok(ended?),
            left = async {
                signals.next().await;
                let _ = stopping.send(());
                let what = format!("finishing {items} in progress; press ctrl-c again to exit now");
                output.note(&what);
                tokio::select! {
                    _ = signals.next() => {}
                    () = idle(in_progress.clone()) => {}
                }
                in_progress.borrow().clone()
            } => left,
        };
        if !left.is_empty() {
            // The programs are killed before another worker may start on their tasks. An error
            // means that there is no program any more.
            let _ = timeout(FAREWELL, in_progress.wait_for(Vec::is_empty)).await;
            leave(left_in, left).await;
        }
        Err(Failure::Interrupted)
    }
}

/// Completes when no program has run for a while: the remaining step is to notify the server, which
/// may be away.
async fn idle(mut in_progress: watch::Receiver<Vec<Item>>) {
    loop {
        // An error means that there is no program any more, and none will come.
        if in_progress.wait_for(Vec::is_empty).await.is_err() {
            return tokio::time::sleep(FAREWELL).await;
        }
        let busy_again = in_progress.wait_for(|items| !items.is_empty());
        match timeout(FAREWELL, busy_again).await {
            Ok(Ok(_)) => {}
            Ok(Err(_)) | Err(_) => return,
        }
    }
}

/// A program that is run for each task, hand-off or message.
pub(crate) struct HandlerProgram {
    program: Vec<OsString>,
    environment: Vec<(&'static str, String)>,
    is_quiet: bool,
    /// The tasks and messages that programs are running for.
    in_progress: watch::Sender<Vec<Item>>,
}

/// The task or message that a program runs for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    Task { id: TaskId, token: Token, lease_ms: u64 },
    Message { id: MessageId },
    Handoff { id: HandoffId },
}

impl Item {
    /// The environment variables that identify the task or message for the program.
    fn variables(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Task { id, token, .. } => {
                vec![("BATON_TASK", id.to_string()), ("BATON_TASK_TOKEN", token.to_string())]
            }
            Self::Message { id } => vec![("BATON_MESSAGE", id.to_string())],
            Self::Handoff { id } => vec![("BATON_HANDOFF", id.to_string())],
        }
    }
}

/// One program that is running.
struct Running<'a>(&'a watch::Sender<Vec<Item>>, Item);

impl<'a> Running<'a> {
    fn begin(in_progress: &'a watch::Sender<Vec<Item>>, item: Item) -> Self {
        in_progress.send_modify(|items| items.push(item.clone()));
        Self(in_progress, item)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|items| items.retain(|item| *item != self.1));
    }
}

/// Kills the process group of a program on drop, unless the program has exited.
struct KillOnDrop(Option<Pid>);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl HandlerProgram {
    /// Checks that the program exists: otherwise every task would fail.
    pub(crate) fn new(
        program: Vec<OsString>,
        context: &Context,
        output: &Output,
    ) -> Result<Self, Failure> {
        let environment = context.environment().into_iter();
        let environment = environment.map(|(name, value)| (name, value.to_owned())).collect();
        let (in_progress, is_quiet) = (watch::Sender::new(Vec::new()), output.is_quiet());
        let handler = Self { program, environment, is_quiet, in_progress };
        handler.check()?;
        Ok(handler)
    }

    fn command(&self) -> Command {
        let (program, arguments) = self.program.split_first().expect("the command line has one");
        let mut command = Command::new(program);
        // In its own process group, so that ctrl-c does not reach it and it can finish.
        command.args(arguments).process_group(0).kill_on_drop(true);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        // The program belongs to the trace of its task, not to that of this process.
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
        let reason = "no such file".to_owned();
        Err(Fault::NoProgram { program, reason }.into())
    }

    /// Runs the program with this input and returns its output.
    pub(crate) async fn run(
        &self,
        item: Item,
        given: Vec<u8>,
        traceparent: Option<&Traceparent>,
    ) -> Result<Value, Setback> {
        let mut command = self.command();
        command.envs(item.variables());
        let _running = Running::begin(&self.in_progress, item);
        command.envs(traceparent.map(|traceparent| (trace::VARIABLE, traceparent.as_str())));
        let mut child = command.spawn()?;
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        let mut guard = KillOnDrop(id.and_then(Pid::from_raw));
        let (stdin, stdout, stderr) = pipes(&mut child);
        let ((), printed, said) =
            tokio::join!(write(stdin, given), read(stdout), forward(stderr, self.is_quiet));
        let status = child.wait().await?;
        guard.0 = None;
        outcome(status, &printed?, &said)
    }
}

fn pipes(child: &mut Child) -> (ChildStdin, ChildStdout, ChildStderr) {
    let stdin = child.stdin.take().expect("it was piped");
    let stdout = child.stdout.take().expect("it was piped");
    (stdin, stdout, child.stderr.take().expect("it was piped"))
}

async fn write(mut stdin: ChildStdin, given: Vec<u8>) {
    // The program need not read its input.
    let _ = stdin.write_all(&given).await;
    let _ = stdin.shutdown().await;
}

/// The output, truncated just above the maximum size of a result.
async fn read(stdout: ChildStdout) -> std::io::Result<Vec<u8>> {
    let mut printed = Vec::new();
    let bytes_max = limits::VALUE_BYTES_MAX as u64 + 1;
    let mut stdout = stdout;
    (&mut stdout).take(bytes_max).read_to_end(&mut printed).await?;
    // The rest is discarded, so that the program does not block on a full pipe.
    tokio::io::copy(&mut stdout, &mut tokio::io::sink()).await?;
    Ok(printed)
}

/// The last lines of stderr; all lines are forwarded unless quiet.
async fn forward(stderr: ChildStderr, is_quiet: bool) -> String {
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
        let detail = format!("the output is larger than {} bytes", limits::VALUE_BYTES_MAX);
        return Err(Setback::new(json!({"code": "result_too_large", "detail": detail})).for_good());
    }
    let text = String::from_utf8_lossy(printed);
    let text = text.trim_end();
    if text.is_empty() {
        return Ok(Value::Null);
    }
    Ok(serde_json::from_str(text).unwrap_or_else(|_| text.into()))
}
