//! Tasks held by processes that are stopped or killed, on a server that is killed too.
//!
//! ```text
//!   test ──▶ server (baton serve)
//!     └────▶ workers: this program again, with commands on stdin and outcomes on stdout
//! ```
//!
//! A stopped worker does not know it: when it continues, its lease has expired, another worker has
//! the task, and every write with the old token is rejected. A killed worker is replaced. However
//! often the server is killed, tokens keep growing and every task is completed once.
//!
//! Leases are short only where a test is about their expiry, and then the test waits for it without
//! a time limit.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use baton_client::{Client, Error, Options, Workspace, connect_with};
use baton_core::task::{
    Claim, Command as TaskCommand, Complete, Create, Query, Reply as TaskReply, Statistics, Status,
    Task,
};
use baton_core::{Reply, TaskId, TaskType, Token};
use rustix::process::{Pid, Signal, WaitOptions, waitpid};

use crate::process::{Server, send};

const URL: &str = "BATON_WORKER_URL";
const NAME: &str = "BATON_WORKER_NAME";
/// The prefix of a worker's lines; the rest of its output is from the test harness.
const SAYS: &str = "worker: ";
/// Short enough to wait for its expiry.
const SHORT_LEASE_MS: u64 = 1_000;
/// Longer than any test.
const LONG_LEASE_MS: u64 = 3_600_000;

async fn connected(url: &str) -> Client {
    // Long enough to start a server on a slow machine.
    let options = Options { request_timeout: Duration::from_mins(5), ..Options::default() };
    connect_with(url, options).await.unwrap()
}

async fn claim(agent: &Workspace, lease_ms: u64, wait_ms: Option<u64>) -> Option<Box<Task>> {
    let claim = Claim { lease_ms: Some(lease_ms), wait_ms, ..Claim::default() };
    let answer = agent.execute(TaskCommand::Claim(claim)).await.unwrap();
    let Reply::Task(TaskReply::Claimed(task)) = answer.reply else { panic!("{answer:?}") };
    task
}

async fn complete(agent: &Workspace, task: &TaskId, token: Token) -> Result<(), Error> {
    let (task, result, artifacts, then_claim) = (task.clone(), None, None, None);
    let complete = Complete { task, token, result, artifacts, then_claim };
    agent.execute(TaskCommand::Complete(Box::new(complete))).await.map(drop)
}

async fn statistics(agent: &Workspace) -> Box<Statistics> {
    let answer = agent.ask(Query::Stats { task_type: None }).await.unwrap();
    let Reply::Task(TaskReply::Stats(statistics)) = answer.reply else { panic!("{answer:?}") };
    statistics
}

async fn task(agent: &Workspace, task: &str) -> Box<Task> {
    let task = TaskId::parse(task).unwrap();
    let answer = agent.ask(Query::Get { task }).await.unwrap();
    let Reply::Task(TaskReply::Task(task)) = answer.reply else { panic!("{answer:?}") };
    task
}

async fn create(agent: &Workspace, name: &str) {
    let mut create = Create::new(TaskType::parse("build").unwrap());
    (create.id, create.max_retries) = (Some(TaskId::parse(name).unwrap()), Some(1_000));
    agent.execute(TaskCommand::Create(Box::new(create))).await.unwrap();
}

#[expect(clippy::print_stdout, reason = "this is how a worker talks to its test")]
fn say(words: &str) {
    println!("{SAYS}{words}");
    std::io::stdout().flush().unwrap();
}

fn say_what_came(of: Result<(), Error>) {
    match of {
        Ok(()) => say("done"),
        Err(error) => say(&format!("refused {}", error.code())),
    }
}

/// The worker, which is not a test: it executes the commands on its stdin.
#[test]
fn worker() {
    let (Ok(url), Ok(name)) = (std::env::var(URL), std::env::var(NAME)) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let client = runtime.block_on(connected(&url));
    let agent = client.workspace("default").unwrap().as_agent(&name).unwrap();
    let mut held: Option<(TaskId, Token)> = None;
    for line in std::io::stdin().lines() {
        let line = line.unwrap();
        let words: Vec<&str> = line.split(' ').collect();
        runtime.block_on(async {
            match words.as_slice() {
                ["claim", lease_ms, wait_ms] => {
                    let (lease_ms, wait_ms) = (lease_ms.parse().unwrap(), wait_ms.parse().unwrap());
                    match claim(&agent, lease_ms, Some(wait_ms)).await {
                        Some(task) => {
                            let token = task.lease.as_ref().unwrap().token;
                            say(&format!("claimed {} {token}", task.id));
                            held = Some((task.id, token));
                        }
                        None => say("nothing"),
                    }
                }
                ["complete"] => {
                    let (task, token) = held.as_ref().unwrap();
                    say_what_came(complete(&agent, task, *token).await);
                }
                ["write", key] => {
                    let token = held.as_ref().unwrap().1;
                    let state = agent.under(token).state("shared");
                    say_what_came(state.set(key, &name).await.map(drop));
                }
                ["work", all] => work(&agent, all.parse().unwrap()).await,
                words => panic!("unknown command {words:?}"),
            }
        });
    }
}

/// Works until all tasks are completed, by any worker.
async fn work(agent: &Workspace, all: u64) {
    while statistics(agent).await.tasks.completed < all {
        // Other workers hold the last tasks; check again.
        let Some(task) = claim(agent, LONG_LEASE_MS, Some(200)).await else { continue };
        let token = task.lease.as_ref().unwrap().token;
        say(&format!("claimed {} {token}", task.id));
        let under = agent.under(token);
        under.state("shared").increment(&format!("done/{}", task.id), 1).await.unwrap();
        complete(agent, &task.id, token).await.unwrap();
        say(&format!("completed {}", task.id));
    }
    say("finished");
}

/// A worker process. It is killed at the end of the test.
struct Worker {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Worker {
    fn start(server: &Server, name: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "workers::worker", "--nocapture"]);
        command.env(URL, &server.url).env(NAME, name);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { child, stdin, stdout }
    }

    fn tell(&mut self, line: &str) {
        writeln!(self.stdin, "{line}").unwrap();
    }

    /// Its next line; none if it has exited.
    fn hear_any(&mut self) -> Option<String> {
        let mut line = String::new();
        loop {
            line.clear();
            if self.stdout.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            // The harness does not end its line before the first output of a test.
            if let Some((_, words)) = line.trim_end().split_once(SAYS) {
                return Some(words.to_owned());
            }
        }
    }

    fn hear(&mut self) -> String {
        self.hear_any().expect("it goes on")
    }

    fn ask(&mut self, line: &str) -> String {
        self.tell(line);
        self.hear()
    }

    /// The token of a task that it has claimed.
    fn claimed(&mut self, lease_ms: u64, name: &str) -> u64 {
        let said = self.ask(&format!("claim {lease_ms} {LONG_LEASE_MS}"));
        let token = said.strip_prefix(&format!("claimed {name} "));
        token.unwrap_or_else(|| panic!("it says: {said}")).parse().unwrap()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn stage() -> (Server, Workspace) {
    let server = Server::start();
    let client = connected(&server.url).await;
    let workspace = client.workspace("default").unwrap().as_agent("ada").unwrap();
    (server, workspace)
}

/// Stops a process, and waits until it has stopped: it may run for a moment after the signal.
fn stop(child: &Child) {
    send(child, Signal::STOP);
    let stopped = waitpid(Some(Pid::from_child(child)), WaitOptions::UNTRACED).unwrap();
    assert!(stopped.is_some_and(|(_, status)| status.stopped()), "it has stopped: {stopped:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_was_stopped_for_too_long_is_refused() {
    let (server, ada) = stage().await;
    create(&ada, "job").await;
    let (mut stopped, mut other) = (Worker::start(&server, "bob"), Worker::start(&server, "eve"));
    let old = tokio::task::block_in_place(|| {
        let old = stopped.claimed(SHORT_LEASE_MS, "job");
        stop(&stopped.child);
        // It will continue with this command when it is resumed.
        stopped.tell("complete");
        stopped.tell("write stale");
        let new = other.claimed(LONG_LEASE_MS, "job");
        assert!(new > old, "token {new} comes after {old}");
        send(&stopped.child, Signal::CONT);
        assert_eq!(stopped.hear(), "refused task.stale_token");
        assert_eq!(stopped.hear(), "refused request.stale_token");
        assert_eq!(other.ask("write good"), "done");
        old
    });
    let job = task(&ada, "job").await;
    assert_eq!(job.lease.as_ref().unwrap().holder.as_str(), "eve", "nothing has changed");
    assert_eq!(tokio::task::block_in_place(|| other.ask("complete")), "done");
    let job = task(&ada, "job").await;
    assert_eq!((job.status, job.attempts, job.retries), (Status::Completed, 2, 1));
    assert_eq!(ada.state("shared").get("stale").await.unwrap_err().code(), "state.not_found");
    assert_eq!(ada.state("shared").get("good").await.unwrap().json().as_str(), "\"eve\"");
    let again = complete(&ada, &job.id, Token(old)).await.unwrap_err();
    assert_eq!(again.code(), "task.stale_token");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_task_of_a_worker_that_was_killed_is_taken_over() {
    let (server, ada) = stage().await;
    create(&ada, "job").await;
    let (mut killed, mut other) = (Worker::start(&server, "bob"), Worker::start(&server, "eve"));
    tokio::task::block_in_place(|| {
        let old = killed.claimed(SHORT_LEASE_MS, "job");
        killed.child.kill().unwrap();
        let new = other.claimed(LONG_LEASE_MS, "job");
        assert!(new > old, "token {new} comes after {old}");
        assert_eq!(other.ask("complete"), "done");
    });
    assert_eq!(task(&ada, "job").await.status, Status::Completed);
}

/// The reports of three workers: claims with their tokens, and completions.
#[derive(Default)]
struct Said {
    tokens: BTreeSet<u64>,
    completed: BTreeMap<String, u64>,
}

impl Said {
    fn hear_out(&mut self, mut worker: Worker) {
        let mut last = 0;
        loop {
            let line = worker.hear();
            let words: Vec<&str> = line.split(' ').collect();
            match words.as_slice() {
                ["claimed", _, token] => {
                    let token = token.parse().unwrap();
                    assert!(token > last, "token {token} was given after {last}");
                    assert!(self.tokens.insert(token), "token {token} was given twice");
                    last = token;
                }
                ["completed", task] => *self.completed.entry((*task).to_owned()).or_default() += 1,
                ["finished"] => return,
                words => panic!("unknown words {words:?}"),
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_task_is_done_once_although_the_server_is_killed() {
    const TASKS: u64 = 90;
    const KILLS: u64 = 3;
    let (mut server, ada) = stage().await;
    for number in 0..TASKS {
        create(&ada, &format!("job-{number:02}")).await;
    }
    let workers: Vec<Worker> = ["bob", "eve", "zoe"]
        .into_iter()
        .map(|name| {
            let mut worker = Worker::start(&server, name);
            worker.tell(&format!("work {TASKS}"));
            worker
        })
        .collect();
    for kill in 1..=KILLS {
        while statistics(&ada).await.tasks.completed < kill * TASKS / (KILLS + 1) {
            tokio::task::yield_now().await;
        }
        tokio::task::block_in_place(|| {
            server.kill();
            server.restart();
        });
    }
    let mut said = Said::default();
    tokio::task::block_in_place(|| {
        for worker in workers {
            said.hear_out(worker);
        }
    });
    assert_eq!(said.completed.len() as u64, TASKS, "no task is lost");
    assert!(said.completed.values().all(|times| *times == 1), "{:?}", said.completed);
    assert_eq!(said.tokens.len() as u64, TASKS, "every claim was completed");
    for number in 0..TASKS {
        let name = format!("job-{number:02}");
        let job = task(&ada, &name).await;
        assert_eq!((job.status, job.attempts), (Status::Completed, 1), "{name}");
        let done = ada.state("shared").get(&format!("done/{name}")).await.unwrap();
        assert_eq!(done.json().as_str(), "1", "{name}");
    }
}
