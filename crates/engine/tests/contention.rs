//! Many callers on several threads compete for the same locks and tasks, and all answers must be
//! linearizable.
//!
//! A few thousand calls run by default; `BATON_CALLS` sets another number, such as a hundred
//! thousand. Histories are split into objects of at most a thousand calls, since longer ones cannot
//! be checked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use baton::core::lock::{Acquire, Command as LockCommand, Reply as LockReply};
use baton::core::task::{
    Claim, Command as TaskCommand, Complete, Create, Next, Release, Reply as TaskReply, Task,
};
use baton::core::{Kind, LockName, Reply, TaskId, TaskType, Token};
use baton::{Baton, Error, Workspace};

use crate::harness::{in_memory, workspace};
use crate::linearizability::{Answered, Model, Recorder, is_linearizable};

/// Calls by default.
const CALLS: u64 = 5_000;
/// The maximum number of calls about one object.
const CALLS_PER_THING: u64 = 1_000;
/// Concurrent callers.
const CALLERS: u64 = 24;
/// Longer than any test; no clock runs here.
const FOREVER_MS: u64 = 3_600_000;

fn calls() -> u64 {
    let asked = std::env::var("BATON_CALLS").ok();
    asked.map_or(CALLS, |number| number.parse().expect("BATON_CALLS is a number"))
}

fn agent(baton: &Baton, number: u64) -> Workspace {
    workspace(baton).as_agent(&format!("agent-{number}")).unwrap()
}

fn is_stale(error: &Error) -> bool {
    error.kind() == Kind::Stale || error.code() == "task.finished"
}

/// A lock: its holder and token, and the last issued token.
struct Lock;

#[derive(Clone, Debug)]
enum LockCall {
    Acquired(Token),
    NothingToGet,
    Released(Token),
    Written(Token),
    Refused(Token),
}

impl Model for Lock {
    type State = (Option<u64>, u64);
    type Call = LockCall;

    fn step((holder, last): &Self::State, call: &LockCall) -> Option<Self::State> {
        match call {
            LockCall::Acquired(token) => {
                let is_next = holder.is_none() && token.0 > *last;
                is_next.then_some((Some(token.0), token.0))
            }
            LockCall::NothingToGet => holder.map(|holder| (Some(holder), *last)),
            LockCall::Released(token) => (*holder == Some(token.0)).then_some((None, *last)),
            LockCall::Written(token) => (*holder == Some(token.0)).then_some((*holder, *last)),
            LockCall::Refused(token) => (*holder != Some(token.0)).then_some((*holder, *last)),
        }
    }
}

/// One caller's calls about one lock. It keeps using released tokens, as a caller does that was
/// paused for too long.
async fn contend(agent: Workspace, name: String, recorder: Arc<Recorder<LockCall>>, rounds: u64) {
    let lock = LockName::parse(&name).unwrap();
    let mut old = None;
    for round in 0..rounds {
        let wait_ms = (round % 4 != 0).then_some(FOREVER_MS);
        let acquire = Acquire { name: lock.clone(), ttl_ms: Some(FOREVER_MS), wait_ms };
        let began = recorder.now();
        let answer = agent.execute(LockCommand::Acquire(acquire)).await.unwrap();
        let Reply::Lock(LockReply::Hold(hold)) = answer.reply else { panic!("{answer:?}") };
        let acquired = hold.as_ref().map(|hold| LockCall::Acquired(hold.token));
        recorder.note(began, acquired.unwrap_or(LockCall::NothingToGet));
        if let Some(token) = old {
            write(&agent, &name, token, &recorder).await;
        }
        let Some(hold) = hold else { continue };
        write(&agent, &name, hold.token, &recorder).await;
        release(&agent, &lock, hold.token, &recorder).await;
        if round % 3 == 0 {
            release(&agent, &lock, hold.token, &recorder).await;
        }
        old = Some(hold.token);
    }
}

async fn write(agent: &Workspace, name: &str, token: Token, recorder: &Recorder<LockCall>) {
    let began = recorder.now();
    let written = agent.under(token).state("shared").set(name, token.0).await;
    match written {
        Ok(_) => recorder.note(began, LockCall::Written(token)),
        Err(error) if is_stale(&error) => recorder.note(began, LockCall::Refused(token)),
        Err(error) => panic!("{error}"),
    }
}

async fn release(agent: &Workspace, name: &LockName, token: Token, recorder: &Recorder<LockCall>) {
    let began = recorder.now();
    match agent.execute(LockCommand::Release { name: name.clone(), token }).await {
        Ok(_) => recorder.note(began, LockCall::Released(token)),
        Err(error) if is_stale(&error) => recorder.note(began, LockCall::Refused(token)),
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn contended_locks_are_linearizable() {
    let (baton, _log, _clock) = in_memory();
    let mut tokens = BTreeSet::new();
    let mut counted = 0;
    let mut thing = 0;
    while counted < calls() {
        thing += 1;
        let recorder = Arc::new(Recorder::default());
        // Each round is at most six calls.
        let rounds = CALLS_PER_THING / CALLERS / 6;
        let callers: Vec<_> = (0..CALLERS)
            .map(|number| {
                let (agent, name) = (agent(&baton, number), format!("lock-{thing}"));
                tokio::spawn(contend(agent, name, Arc::clone(&recorder), rounds))
            })
            .collect();
        for caller in callers {
            caller.await.unwrap();
        }
        let history = Arc::into_inner(recorder).unwrap().history();
        assert!(history.len() as u64 <= CALLS_PER_THING, "{} calls", history.len());
        counted += history.len() as u64;
        for answered in &history {
            if let LockCall::Acquired(token) = answered.call {
                assert!(tokens.insert(token), "token {token} was given twice");
            }
        }
        assert!(is_linearizable::<Lock>(&history), "lock-{thing}: {history:?}");
    }
}

/// A task: whether it exists, its holder, whether it is done, and the last issued token.
struct Work;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Stage {
    #[default]
    Unknown,
    Ready,
    Held(u64),
    Done,
}

#[derive(Clone, Debug)]
enum TaskCall {
    Created,
    Claimed(Token),
    Released(Token),
    Completed(Token),
    Refused(Token),
}

impl Model for Work {
    type State = (Stage, u64);
    type Call = TaskCall;

    fn step((stage, last): &Self::State, call: &TaskCall) -> Option<Self::State> {
        let is_held_by = |token: &Token| *stage == Stage::Held(token.0);
        match call {
            TaskCall::Created => (*stage == Stage::Unknown).then_some((Stage::Ready, *last)),
            TaskCall::Claimed(token) => {
                let is_next = *stage == Stage::Ready && token.0 > *last;
                is_next.then_some((Stage::Held(token.0), token.0))
            }
            TaskCall::Released(token) => is_held_by(token).then_some((Stage::Ready, *last)),
            TaskCall::Completed(token) => is_held_by(token).then_some((Stage::Done, *last)),
            TaskCall::Refused(token) => (!is_held_by(token)).then_some((*stage, *last)),
        }
    }
}

type Works = Recorder<(TaskId, TaskCall)>;

fn token_of(task: &Task) -> Token {
    task.lease.as_ref().expect("a claimed task has a lease").token
}

/// The expected outcome of a call about a task with a token.
fn note(works: &Works, began: u64, task: &TaskId, done: TaskCall, refused: Option<&Error>) {
    let call = match (refused, done) {
        (None, done) => done,
        (Some(error), TaskCall::Released(token) | TaskCall::Completed(token)) => {
            assert!(is_stale(error), "{error}");
            TaskCall::Refused(token)
        }
        (Some(error), _) => panic!("{error}"),
    };
    works.note(began, (task.clone(), call));
}

/// The next task, and when the call that claimed it began; none if nothing is ready.
async fn claim(agent: &Workspace, works: &Works) -> Option<(u64, Box<Task>)> {
    let claim = Claim { lease_ms: Some(FOREVER_MS), ..Claim::default() };
    let began = works.now();
    let answer = agent.execute(TaskCommand::Claim(claim)).await.unwrap();
    let Reply::Task(TaskReply::Claimed(task)) = answer.reply else { panic!("{answer:?}") };
    task.map(|task| (began, task))
}

/// Completes a task, and half of the time claims the next one with the same call.
async fn complete(
    agent: &Workspace,
    works: &Works,
    (task, token): (&TaskId, Token),
    goes_on: bool,
) -> Option<Option<(u64, Box<Task>)>> {
    let next = Next { lease_ms: Some(FOREVER_MS), ..Next::default() };
    let then_claim = goes_on.then_some(next);
    let (result, artifacts) = (None, None);
    let complete = Complete { task: task.clone(), token, result, artifacts, then_claim };
    let began = works.now();
    let answer = agent.execute(TaskCommand::Complete(Box::new(complete))).await;
    note(works, began, task, TaskCall::Completed(token), answer.as_ref().err());
    match answer.ok()?.reply {
        Reply::Task(TaskReply::Completed { next, .. }) => Some(next.map(|task| (began, task))),
        reply => panic!("{reply:?}"),
    }
}

/// Works until all tasks are done: claims them, releases some and uses their tokens nevertheless,
/// completes the others.
async fn work(agent: Workspace, works: Arc<Works>, done: Arc<AtomicU64>, all: u64) {
    let mut seen = 0_u64;
    let mut next = None;
    while done.load(Ordering::SeqCst) < all {
        let claimed = match next.take() {
            Some(claimed) => Some(claimed),
            None => claim(&agent, &works).await,
        };
        let Some((began, task)) = claimed else {
            tokio::task::yield_now().await;
            continue;
        };
        let (id, token) = (task.id.clone(), token_of(&task));
        works.note(began, (id.clone(), TaskCall::Claimed(token)));
        seen += 1;
        if seen.is_multiple_of(3) {
            let release = Release { task: id.clone(), token, reason: None };
            let began = works.now();
            let refused = agent.execute(TaskCommand::Release(release)).await.err();
            note(&works, began, &id, TaskCall::Released(token), refused.as_ref());
        }
        let completed = complete(&agent, &works, (&id, token), seen.is_multiple_of(2)).await;
        if let Some(claimed) = completed {
            done.fetch_add(1, Ordering::SeqCst);
            next = claimed;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn contended_tasks_are_linearizable_and_done_once() {
    let (baton, _log, _clock) = in_memory();
    // Each is created, claimed and completed, and every third claim is given back.
    let all = calls() / 4;
    let (works, done) = (Arc::new(Works::default()), Arc::new(AtomicU64::new(0)));
    let workers: Vec<_> = (0..CALLERS)
        .map(|number| {
            let (works, done) = (Arc::clone(&works), Arc::clone(&done));
            tokio::spawn(work(agent(&baton, number), works, done, all))
        })
        .collect();
    let creator = workspace(&baton);
    for number in 0..all {
        let id = TaskId::parse(&format!("task-{number}")).unwrap();
        let mut create = Create::new(TaskType::parse("build").unwrap());
        create.id = Some(id.clone());
        let began = works.now();
        creator.execute(TaskCommand::Create(Box::new(create))).await.unwrap();
        works.note(began, (id, TaskCall::Created));
    }
    for worker in workers {
        worker.await.unwrap();
    }
    let history = Arc::into_inner(works).unwrap().history();
    assert!(history.len() as u64 >= 3 * all, "{} calls for {all} tasks", history.len());
    let mut tokens = BTreeSet::new();
    let mut by_task: BTreeMap<TaskId, Vec<Answered<TaskCall>>> = BTreeMap::new();
    for Answered { began, ended, call: (id, call) } in history {
        if let TaskCall::Claimed(token) = call {
            assert!(tokens.insert(token), "token {token} was given twice");
        }
        by_task.entry(id).or_default().push(Answered { began, ended, call });
    }
    assert_eq!(by_task.len() as u64, all, "no task is lost");
    for (id, history) in by_task {
        let completed = history.iter().filter(|it| matches!(it.call, TaskCall::Completed(_)));
        assert_eq!(completed.count(), 1, "`{id}` is done once");
        assert!(is_linearizable::<Work>(&history), "`{id}`: {history:?}");
    }
}

/// The checker detects errors: histories with one false answer are refused.
#[test]
fn lies_are_noticed() {
    fn at<Call>(began: u64, call: Call) -> Answered<Call> {
        Answered { began, ended: began + 1, call }
    }
    let good = [
        at(1, LockCall::Acquired(Token(1))),
        at(3, LockCall::NothingToGet),
        at(5, LockCall::Released(Token(1))),
        at(7, LockCall::Acquired(Token(2))),
        at(9, LockCall::Refused(Token(1))),
    ];
    assert!(is_linearizable::<Lock>(&good));
    let two_holders = [at(1, LockCall::Acquired(Token(1))), at(3, LockCall::Acquired(Token(2)))];
    assert!(!is_linearizable::<Lock>(&two_holders));
    let mut stale = good.to_vec();
    stale[4].call = LockCall::Written(Token(1));
    assert!(!is_linearizable::<Lock>(&stale));
    let mut repeated = good.to_vec();
    repeated[3].call = LockCall::Acquired(Token(1));
    assert!(!is_linearizable::<Lock>(&repeated));
    let done_twice = [
        at(1, TaskCall::Created),
        at(3, TaskCall::Claimed(Token(1))),
        at(5, TaskCall::Completed(Token(1))),
        at(7, TaskCall::Completed(Token(1))),
    ];
    assert!(is_linearizable::<Work>(&done_twice[..3]));
    assert!(!is_linearizable::<Work>(&done_twice));
}
