//! The engine without threads and files: a shard on a log in memory, driven manually.

use std::sync::Arc;

use baton::clock::SystemClock;
use baton::shard::{Flushed, Shard};
use baton_core::{AgentId, Answer, Rejection, Request, WorkspaceName};
use baton_log::{Log, MemoryLog};

use super::load;
use crate::Outcome;

/// Batches in a group, about as many as with many callers.
const GROUP: usize = 512;

/// A shard with one workspace.
pub(crate) struct InMemoryShard {
    log: MemoryLog,
    shard: Shard<MemoryLog>,
    workspace: WorkspaceName,
}

impl InMemoryShard {
    pub(crate) fn new() -> Outcome<Self> {
        let log = MemoryLog::default();
        let clock = Arc::new(SystemClock::default());
        let shard = Shard::open(log.clone(), clock, baton::Options::default())?;
        let workspace = WorkspaceName::parse(load::WORKSPACE)?;
        shard.load(&workspace)?;
        Ok(Self { log, shard, workspace })
    }

    /// Discards what was written: only tables are measured, and the log would take as much memory
    /// as they do.
    pub(crate) fn forget_log(&self) -> Outcome<()> {
        Ok(self.log.truncate(self.log.tail())?)
    }

    /// Submits requests, group by group. Answers are passed to a function.
    pub(crate) fn submit(
        &self,
        requests: Vec<Request>,
        agent: &AgentId,
        mut hear: impl FnMut(Result<Answer, Rejection>) -> Outcome<()>,
    ) -> Outcome<()> {
        let mut answers = Vec::with_capacity(GROUP);
        for request in requests {
            let admission = self.shard.submit(&self.workspace, request, agent);
            answers.push(admission.answer().ok_or("the workspace is in memory")?);
            if answers.len() == GROUP {
                let durable = self.flush()?;
                answers.drain(..).try_for_each(|held| hear(held.open(durable)))?;
            }
        }
        let durable = self.flush()?;
        answers.into_iter().try_for_each(|held| hear(held.open(durable)))
    }

    /// The shard, and the name of its workspace.
    pub(crate) fn parts(&self) -> (&Shard<MemoryLog>, &WorkspaceName) {
        (&self.shard, &self.workspace)
    }

    /// Makes everything durable; the last durable group.
    pub(crate) fn flush(&self) -> Outcome<u64> {
        match self.shard.flush() {
            Flushed::Durable { .. } | Flushed::Nothing => Ok(self.shard.machine().durable()),
            Flushed::Lost => Err("a log in memory does not fail".into()),
        }
    }
}
