//! The tasks of a workspace.

use baton_core::spend::Budget;
use baton_core::task::{
    Backoff, Claim, Command, Complete, Create, Fail, Heartbeat, List, Next, OnExhausted, Query,
    Release, Report, Retry, Review, Statistics, Status, Task, Transition, Update, Verdict, Why,
};
use baton_core::{
    AgentId, GroupName, Json, Rejection, Reply, TaskId, TaskType, Token, Traceparent, wait,
};
use serde::Serialize;

use crate::request::request;
use crate::{Error, Tasks};

/// A completed task, and the next one.
#[derive(Clone, Debug, PartialEq)]
pub struct Done {
    /// The task that was completed.
    pub task: Task,
    /// The task that was claimed in the same commit, if one was requested and available.
    pub next: Option<Task>,
}

impl Tasks {
    /// Creates a task.
    pub fn create(&self, task_type: &str) -> Creating {
        let task_type = TaskType::parse(task_type).map_err(Into::into);
        Creating::new(&self.workspace, task_type.map(Create::new))
    }

    /// Claims the next task; none if there was none in time.
    ///
    /// Dropping the call while it waits removes it from the queue. If a task is granted at that
    /// time, it may stay claimed until its lease expires.
    pub fn claim(&self) -> Claiming {
        Claiming::new(&self.workspace, Ok(Claim::default()))
    }

    /// Renews a lease.
    pub async fn heartbeat(&self, task: &str, token: Token) -> Result<Task, Error> {
        let task = TaskId::parse(task)?;
        self.workspace.run(Command::Heartbeat(Heartbeat { task, token, lease_ms: None })).await
    }

    /// Renews a lease, without the task in the answer.
    #[cfg(feature = "net")]
    pub(crate) async fn beat(&self, task: &TaskId, token: Token) -> Result<(), Error> {
        let heartbeat = Heartbeat { task: task.clone(), token, lease_ms: None };
        self.workspace.execute_minimal(Command::Heartbeat(heartbeat)).await.map(drop)
    }

    /// Renews a lease and changes its length.
    pub async fn heartbeat_for(
        &self,
        task: &str,
        token: Token,
        lease_ms: u64,
    ) -> Result<Task, Error> {
        let (task, lease_ms) = (TaskId::parse(task)?, Some(lease_ms));
        self.workspace.run(Command::Heartbeat(Heartbeat { task, token, lease_ms })).await
    }

    /// Reports progress, from 0 to 1. It renews the lease.
    pub async fn progress(
        &self,
        task: &str,
        token: Token,
        fraction: f64,
        note: Option<&str>,
    ) -> Result<Task, Error> {
        let (task, note) = (TaskId::parse(task)?, note.map(str::to_owned));
        self.workspace.run(Command::Progress(Report { task, token, fraction, note })).await
    }

    /// Changes fields of a task: `description`, `priority`, and by JSON Merge Patch `definition`,
    /// `metadata` and `result`.
    pub async fn update(
        &self,
        task: &str,
        token: Token,
        fields: impl Serialize,
    ) -> Result<Task, Error> {
        let (task, fields) = (TaskId::parse(task)?, Json::of(&fields).map_err(Rejection::from)?);
        self.workspace.run(Command::Update(Update { task, token, fields })).await
    }

    /// Releases a task for others to claim; it does not count as an attempt.
    pub async fn release(
        &self,
        task: &str,
        token: Token,
        reason: Option<&str>,
    ) -> Result<Task, Error> {
        let (task, reason) = (TaskId::parse(task)?, reason.map(str::to_owned));
        self.workspace.run(Command::Release(Release { task, token, reason })).await
    }

    /// Completes a task.
    pub fn complete(&self, task: &str, token: Token) -> Completing {
        let task = TaskId::parse(task).map_err(Into::into);
        let complete = task.map(|task| {
            let (result, artifacts, then_claim) = (None, None, None);
            Complete { task, token, result, artifacts, then_claim }
        });
        Completing::new(&self.workspace, complete)
    }

    /// Reports that an attempt has failed. The task is retried unless it may not be.
    pub fn fail(&self, task: &str, token: Token, error: impl Serialize) -> Failing {
        let prepare = || {
            let (task, error) = (TaskId::parse(task)?, Json::of(&error)?);
            Ok(Fail { task, token, error, retryable: None })
        };
        Failing::new(&self.workspace, prepare())
    }

    /// Cancels a task and its subtasks.
    pub async fn cancel(&self, task: &str, reason: Option<&str>) -> Result<Task, Error> {
        let (task, reason) = (TaskId::parse(task)?, reason.map(str::to_owned));
        self.workspace.run(Command::Cancel { task, reason }).await
    }

    /// Decides about a task that waits for review.
    pub fn review(&self, task: &str, verdict: Verdict) -> Reviewing {
        let task = TaskId::parse(task).map_err(Into::into);
        let review =
            task.map(|task| Review { task, verdict, attempt: None, note: None, result: None });
        Reviewing::new(&self.workspace, review)
    }

    /// Returns a failed task to the queue under its own id, with the tasks that were cancelled
    /// because of it.
    pub fn retry(&self, task: &str) -> Retrying {
        let task = TaskId::parse(task).map_err(Into::into);
        let retry = task.map(|task| Retry { task, reason: None, deadline_ms: None });
        Retrying::new(&self.workspace, retry)
    }

    /// Waits until a task has finished or has one of these statuses; `None` if the wait times
    /// out.
    pub async fn wait(
        &self,
        task: &str,
        statuses: &[Status],
        wait_ms: u64,
    ) -> Result<Option<Task>, Error> {
        let (task, statuses) = (TaskId::parse(task)?, Some(statuses.iter().copied().collect()));
        self.workspace.run(wait::Command::Task { task, statuses, wait_ms: Some(wait_ms) }).await
    }

    /// Reads a task.
    pub async fn get(&self, task: &str) -> Result<Task, Error> {
        self.workspace.query(Query::Get { task: TaskId::parse(task)? }).await
    }

    /// Lists all tasks that match, by id; at most as many as the limit, if there is one.
    pub async fn list(&self, list: List) -> Result<Vec<Task>, Error> {
        let page = |cursor: Option<_>| {
            let cursor = cursor.or_else(|| list.cursor.clone());
            Query::List(List { cursor, ..list.clone() })
        };
        self.workspace.pages(list.limit, page).await
    }

    /// Reads statistics: counts, durations and failures, of one task type or of all.
    pub async fn stats(&self, task_type: Option<&str>) -> Result<Statistics, Error> {
        let task_type = task_type.map(TaskType::parse).transpose()?;
        self.workspace.query(Query::Stats { task_type }).await
    }

    /// Explains why a task is not running.
    pub async fn why(&self, task: &str) -> Result<Why, Error> {
        self.workspace.query(Query::Why { task: TaskId::parse(task)? }).await
    }

    /// Lists the transitions of a task, newest first, as far as they are kept.
    pub async fn history(&self, task: &str) -> Result<Vec<Transition>, Error> {
        let task = TaskId::parse(task)?;
        let page = |cursor| Query::History { task: task.clone(), limit: None, cursor };
        self.workspace.pages(None, page).await
    }
}

request! {
    /// Creates a task when it is awaited.
    Creating(Create) -> Task: |workspace, create| workspace.run(Command::Create(Box::new(create)));
    /// Sets its id. Creating it again is then refused.
    id(id: &str) |create| create.id = Some(TaskId::parse(id)?);
    /// Describes the work in words.
    description(text: &str) |create| create.description = Some(text.to_owned());
    /// Describes the work as data.
    definition(definition: impl Serialize) |create|
        create.definition = Some(Json::of(&definition)?);
    /// Assigns it to an agent; no other agent may work on it.
    assigned_to(agent: &str) |create| create.assigned_agent = Some(AgentId::parse(agent)?);
    /// Requires a capability of the agent that works on it; repeatable.
    capability(name: &str) |create| create.capabilities.insert(name.to_owned());
    /// Sets its priority, from -100 to 100; higher is sooner.
    priority(priority: i32) |create| create.priority = Some(priority);
    /// Sets how long it cannot be claimed.
    delay_ms(milliseconds: u64) |create| create.delay_ms = Some(milliseconds);
    /// Sets when it fails if it has not finished.
    deadline_ms(milliseconds: u64) |create| create.deadline_ms = Some(milliseconds);
    /// Sets how often it is retried.
    max_retries(count: u64) |create| create.max_retries = Some(count);
    /// Sets the wait before each retry.
    backoff(backoff: Backoff) |create| create.backoff = Some(backoff);
    /// Sets what happens after the last retry.
    on_exhausted(then: OnExhausted) |create| create.on_exhausted = Some(then);
    /// Adds a task that must be completed first; repeatable.
    after(task: &str) |create| create.depends_on.push(TaskId::parse(task)?);
    /// Makes it a subtask, which is cancelled with its parent.
    parent(task: &str) |create| create.parent = Some(TaskId::parse(task)?);
    /// Sets its group.
    group(name: &str) |create| create.group = Some(GroupName::parse(name)?);
    /// Requires that another agent accepts the result before it is completed.
    review() |create| create.review = true;
    /// Has its result accepted by this agent; further calls add others, of which one must.
    reviewer(agent: &str) |create| {
        create.reviewers.get_or_insert_default().agents.insert(AgentId::parse(agent)?);
    };
    /// Has its result accepted by an agent with this capability.
    reviewer_with(capability: &str) |create| {
        create.reviewers.get_or_insert_default().capability = Some(capability.to_owned());
    };
    /// Sets what it may cost, with all its subtasks.
    budget(budget: Budget) |create| create.budget = Some(budget);
    /// Sets the version of the definition's schema: a string or a number.
    schema_version(version: impl Serialize) |create|
        create.schema_version = Some(Json::of(&version)?);
    /// Attaches metadata: an object.
    metadata(metadata: impl Serialize) |create| create.metadata = Some(Json::of(&metadata)?);
    /// Sets the trace that it belongs to, as W3C Trace Context.
    traceparent(traceparent: &str) |create|
        create.traceparent = Some(Traceparent::parse(traceparent)?);
    /// Refuses to create it if no active agent has the capabilities. Without this, the reply has a
    /// warning.
    if_capable() |create| create.if_capable = true;
}

request! {
    /// Claims a task when it is awaited.
    Claiming(Claim) -> Option<Task>: |workspace, claim| workspace.run(Command::Claim(claim));
    /// Only tasks of this type; repeatable.
    of_type(task_type: &str) |claim|
        claim.types.get_or_insert_default().insert(TaskType::parse(task_type)?);
    /// Sets a capability of the claimant, instead of those it registered with; repeatable.
    capability(name: &str) |claim|
        claim.capabilities.get_or_insert_default().insert(name.to_owned());
    /// Only this task.
    task(task: &str) |claim| claim.task = Some(TaskId::parse(task)?);
    /// Sets how long the lease lasts unless it is renewed.
    lease_ms(milliseconds: u64) |claim| claim.lease_ms = Some(milliseconds);
    /// Sets how long to wait for a task.
    wait_ms(milliseconds: u64) |claim| claim.wait_ms = Some(milliseconds);
}

impl Claiming {
    /// Claims as many tasks as are ready, at most this many, in one commit. A call that has to wait
    /// gets the first one that becomes ready. Empty if there was none in time.
    pub async fn several(self, count: u64) -> Result<Vec<Task>, Error> {
        if count == 1 {
            return Ok(self.await?.into_iter().collect());
        }
        let claim = Claim { limit: Some(count), ..self.request? };
        self.workspace.run(Command::Claim(claim)).await
    }
}

request! {
    /// Completes a task when it is awaited.
    Completing(Complete) -> Done: |workspace, complete|
        workspace.run(Command::Complete(Box::new(complete)));
    /// Sets the result.
    result(result: impl Serialize) |complete| complete.result = Some(Json::of(&result)?);
    /// Sets the artifacts that the work produced: a list.
    artifacts(artifacts: impl Serialize) |complete|
        complete.artifacts = Some(Json::of(&artifacts)?);
    /// Claims the next task in the same commit.
    then_claim(next: Next) |complete| complete.then_claim = Some(next);
}

impl Completing {
    /// Completes the task, and returns the next one: shorter than the answer when it is awaited,
    /// which contains the completed task.
    pub async fn next(self) -> Result<Option<Task>, Error> {
        let complete = Command::Complete(Box::new(self.request?));
        match self.workspace.execute_minimal(complete).await?.reply {
            Reply::Minimal(minimal) => Ok(minimal.next.map(|task| *task)),
            reply => Err(Error::unexpected(&reply)),
        }
    }
}

request! {
    /// Reports a failed attempt when it is awaited.
    Failing(Fail) -> Task: |workspace, fail| workspace.run(Command::Fail(fail));
    /// The task is not retried.
    for_good() |fail| fail.retryable = Some(false);
}

request! {
    /// Retries a failed task when it is awaited.
    Retrying(Retry) -> Task: |workspace, retry| workspace.run(Command::Retry(retry));
    /// Sets the reason.
    reason(reason: &str) |retry| retry.reason = Some(reason.to_owned());
    /// Sets a new deadline, from now.
    deadline_ms(milliseconds: u64) |retry| retry.deadline_ms = Some(milliseconds);
}

request! {
    /// Decides a review when it is awaited.
    Reviewing(Review) -> Task: |workspace, review| workspace.run(Command::Review(review));
    /// Refuses the verdict unless this attempt waits for review.
    attempt(attempt: u64) |review| review.attempt = Some(attempt);
    /// Sets the reason.
    note(note: &str) |review| review.note = Some(note.to_owned());
    /// Sets the result of the task.
    result(result: impl Serialize) |review| review.result = Some(Json::of(&result)?);
}
