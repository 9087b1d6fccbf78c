//! The requests of the loads, and callers that wait for each answer before they continue.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use baton::Workspace;
use baton::clock::SystemClock;
use baton::shard::Shard;
use baton_core::state::{Command, Set};
use baton_core::{AgentId, Json, Key, NamespaceName, Request, WorkspaceName};
use baton_log::{Log, MemoryLog};
use tokio::runtime::{Builder, Runtime};

use crate::Outcome;
pub(crate) use crate::samples::{key, value};

pub(crate) const WORKSPACE: &str = "bench";
pub(crate) const AGENT: &str = "ada";
/// Callers that fill a workspace; enough for large groups.
pub(crate) const FILLERS: usize = 1024;

/// The command that a caller sends; checking the value is part of its cost.
pub(crate) fn set(namespace: &NamespaceName, key: &str, value: &str) -> Outcome<Command> {
    Ok(Command::Set(Set::new(namespace.clone(), Key::parse(key)?, Json::parse(value)?)))
}

/// How many bytes Baton writes for one such command.
pub(crate) fn bytes_per_set() -> Outcome<usize> {
    let log = MemoryLog::default();
    let clock = Arc::new(SystemClock::default());
    let shard = Shard::open(log.clone(), clock, baton::Options::default())?;
    let workspace = WorkspaceName::parse(WORKSPACE)?;
    shard.load(&workspace)?;
    let command = baton_core::Command::from(set(&NamespaceName::shared(), &key(1), &value(1))?);
    let admission = shard.submit(&workspace, Request::from(command), &AgentId::parse(AGENT)?);
    let _answer = admission.answer().ok_or("the workspace is in memory")?;
    shard.flush();
    let records = log.read(log.start(), 1)?;
    Ok(records.first().ok_or("a set is written")?.body.len())
}

/// The runtime of callers: one thread, as in the server. The engine has its own threads.
pub(crate) fn runtime() -> Outcome<Runtime> {
    Ok(Builder::new_current_thread().build()?)
}

/// The workspace that loads use, as the agent that acts in them.
pub(crate) fn workspace(baton: &baton::Baton) -> Outcome<Workspace> {
    Ok(baton.workspace(WORKSPACE)?.as_agent(AGENT)?)
}

/// Writes the keys of these numbers, each durably, with many concurrent callers.
pub(crate) async fn fill(workspace: &Workspace, numbers: std::ops::Range<usize>) -> Outcome<()> {
    let next = Arc::new(AtomicUsize::new(numbers.start));
    let callers: Vec<_> = (0..FILLERS)
        .map(|_| {
            let (workspace, next) = (workspace.clone(), Arc::clone(&next));
            tokio::spawn(async move {
                let namespace = NamespaceName::shared();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= numbers.end {
                        return;
                    }
                    let command = set(&namespace, &key(number), &value(number));
                    let command = command.expect("the load is valid");
                    workspace.execute(command).await.expect("a set is carried out");
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await?;
    }
    Ok(())
}
