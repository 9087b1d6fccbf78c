//! Tasks of a workspace.

mod claiming;
mod creating;
mod finishing;

use baton_core::task::{
    Command, Heartbeat, List, Query, Release, Reply as TaskReply, Report, Statistics, Task,
    Transition, Update, Why,
};
use baton_core::{Json, Rejection, Reply, TaskId, TaskType, Token};
use serde::Serialize;

pub use claiming::Claiming;
pub use creating::Creating;
pub use finishing::{Completing, Done, Failing, Reviewing};

use crate::Workspace;
use crate::carrier::{Carrier, Failure};

/// Tasks of a workspace, as one agent sees them.
#[derive(Clone, Debug)]
pub struct Tasks<C> {
    workspace: Workspace<C>,
}

impl<C: Carrier> Tasks<C> {
    pub(crate) fn new(workspace: Workspace<C>) -> Self {
        Self { workspace }
    }

    /// Wants something done. What else there is to say may follow before this is awaited.
    pub fn create(&self, task_type: &str) -> Creating<C> {
        Creating::new(self.workspace.clone(), task_type)
    }

    /// Takes the next task. Which, for how long, and how long to wait for one may follow before
    /// this is awaited; it answers with nothing if there was none to get in time.
    ///
    /// Whoever drops it while it waits gives up. What is granted in that very moment may be held
    /// until its lease is over.
    pub fn claim(&self) -> Claiming<C> {
        Claiming::new(self.workspace.clone())
    }

    /// Says that the work goes on: the lease lasts longer.
    pub async fn heartbeat(&self, task: &str, token: Token) -> Result<Task, C::Error> {
        let task = TaskId::parse(task)?;
        self.execute(Command::Heartbeat(Heartbeat { task, token, lease_ms: None })).await
    }

    /// The same, for so long from now on.
    pub async fn heartbeat_for(
        &self,
        task: &str,
        token: Token,
        lease_ms: u64,
    ) -> Result<Task, C::Error> {
        let (task, lease_ms) = (TaskId::parse(task)?, Some(lease_ms));
        self.execute(Command::Heartbeat(Heartbeat { task, token, lease_ms })).await
    }

    /// Says how far the work is, from 0 to 1. It counts as a heartbeat.
    pub async fn progress(
        &self,
        task: &str,
        token: Token,
        fraction: f64,
        note: Option<&str>,
    ) -> Result<Task, C::Error> {
        let (task, note) = (TaskId::parse(task)?, note.map(str::to_owned));
        self.execute(Command::Progress(Report { task, token, fraction, note })).await
    }

    /// Changes some fields: `description`, `priority`, and by JSON Merge Patch `definition`,
    /// `metadata` and `result`.
    pub async fn update(
        &self,
        task: &str,
        token: Token,
        fields: impl Serialize,
    ) -> Result<Task, C::Error> {
        let (task, fields) = (TaskId::parse(task)?, Json::of(&fields).map_err(Rejection::from)?);
        self.execute(Command::Update(Update { task, token, fields })).await
    }

    /// Lets a task go, for others to take; that counts as no try.
    pub async fn release(
        &self,
        task: &str,
        token: Token,
        reason: Option<&str>,
    ) -> Result<Task, C::Error> {
        let (task, reason) = (TaskId::parse(task)?, reason.map(str::to_owned));
        self.execute(Command::Release(Release { task, token, reason })).await
    }

    /// Says that a task is done. What came of it may follow before this is awaited.
    pub fn complete(&self, task: &str, token: Token) -> Completing<C> {
        Completing::new(self.workspace.clone(), task, token)
    }

    /// Says that a try has failed. Whether trying again may help may follow before this is awaited.
    pub fn fail(&self, task: &str, token: Token, error: impl Serialize) -> Failing<C> {
        Failing::new(self.workspace.clone(), task, token, &error)
    }

    /// Cancels a task and everything below it.
    pub async fn cancel(&self, task: &str, reason: Option<&str>) -> Result<Task, C::Error> {
        let (task, reason) = (TaskId::parse(task)?, reason.map(str::to_owned));
        self.execute(Command::Cancel { task, reason }).await
    }

    /// Decides about a task that waits for a person. Why may follow before this is awaited.
    pub fn review(&self, task: &str, verdict: baton_core::task::Verdict) -> Reviewing<C> {
        Reviewing::new(self.workspace.clone(), task, verdict)
    }

    /// One of them.
    pub async fn get(&self, task: &str) -> Result<Task, C::Error> {
        record(self.ask(Query::Get { task: TaskId::parse(task)? }).await?)
    }

    /// All that fit, by id. A limit says how many at most.
    pub async fn list(&self, list: List) -> Result<Vec<Task>, C::Error> {
        let wanted = list.limit.and_then(|limit| usize::try_from(limit).ok());
        let wanted = wanted.unwrap_or(usize::MAX);
        let mut all = Vec::new();
        let mut list = list;
        loop {
            match self.ask(Query::List(list.clone())).await? {
                Reply::Task(TaskReply::Tasks { tasks, cursor }) => {
                    all.extend(tasks);
                    match cursor {
                        Some(next) if all.len() < wanted => list.cursor = Some(next),
                        Some(_) | None => {
                            all.truncate(wanted);
                            return Ok(all);
                        }
                    }
                }
                reply => return Err(C::Error::odd(&reply)),
            }
        }
    }

    /// How many there are, how long they took, why they failed: of one type, or of all.
    pub async fn stats(&self, task_type: Option<&str>) -> Result<Statistics, C::Error> {
        let task_type = task_type.map(TaskType::parse).transpose()?;
        match self.ask(Query::Stats { task_type }).await? {
            Reply::Task(TaskReply::Stats(statistics)) => Ok(*statistics),
            reply => Err(C::Error::odd(&reply)),
        }
    }

    /// Why a task is not running.
    pub async fn why(&self, task: &str) -> Result<Why, C::Error> {
        match self.ask(Query::Why { task: TaskId::parse(task)? }).await? {
            Reply::Task(TaskReply::Why(why)) => Ok(*why),
            reply => Err(C::Error::odd(&reply)),
        }
    }

    /// What happened to a task, newest first, as far as it is kept.
    pub async fn history(&self, task: &str) -> Result<Vec<Transition>, C::Error> {
        let task = TaskId::parse(task)?;
        let mut all = Vec::new();
        let mut cursor = None;
        loop {
            let query = Query::History { task: task.clone(), limit: None, cursor };
            match self.ask(query).await? {
                Reply::Task(TaskReply::History { events, cursor: next, .. }) => {
                    all.extend(events);
                    match next {
                        Some(next) => cursor = Some(next),
                        None => return Ok(all),
                    }
                }
                reply => return Err(C::Error::odd(&reply)),
            }
        }
    }

    async fn ask(&self, query: Query) -> Result<Reply, C::Error> {
        Ok(self.workspace.ask(query).await?.reply)
    }

    async fn execute(&self, command: Command) -> Result<Task, C::Error> {
        record(self.workspace.execute(command).await?.reply)
    }
}

fn record<F: Failure>(reply: Reply) -> Result<Task, F> {
    match reply {
        Reply::Task(TaskReply::Task(task)) => Ok(*task),
        reply => Err(F::odd(&reply)),
    }
}
