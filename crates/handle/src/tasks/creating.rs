//! A task that comes to be when this is awaited.

use std::future::IntoFuture;

use baton_core::task::{Backoff, Command, Create, OnExhausted, Task};
use baton_core::{AgentId, GroupName, Json, TaskId, TaskType, Traceparent};
use serde::Serialize;

use super::record;
use crate::carrier::Carrier;
use crate::{Prepared, Sent, Workspace};

/// A task that comes to be when this is awaited.
#[must_use = "nothing is created before this is awaited"]
pub struct Creating<C> {
    workspace: Workspace<C>,
    create: Prepared<Box<Create>>,
}

impl<C: Carrier> Creating<C> {
    pub(super) fn new(workspace: Workspace<C>, task_type: &str) -> Self {
        let task_type = TaskType::parse(task_type).map_err(Into::into);
        let create = task_type.map(|task_type| Box::new(Create::new(task_type)));
        Self { workspace, create }
    }

    fn with(mut self, change: impl FnOnce(&mut Create) -> Prepared<()>) -> Self {
        self.create = self.create.and_then(|mut create| {
            change(&mut create)?;
            Ok(create)
        });
        self
    }

    fn set(self, change: impl FnOnce(&mut Create)) -> Self {
        self.with(|create| {
            change(create);
            Ok(())
        })
    }

    /// Which task it shall be. Creating it again is then refused.
    pub fn id(self, id: &str) -> Self {
        self.with(|create| {
            create.id = Some(TaskId::parse(id)?);
            Ok(())
        })
    }

    /// What is to be done, in words.
    pub fn description(self, text: &str) -> Self {
        self.set(|create| create.description = Some(text.to_owned()))
    }

    /// What is to be done, as data.
    pub fn definition(self, definition: impl Serialize) -> Self {
        self.with(|create| {
            create.definition = Some(Json::of(&definition)?);
            Ok(())
        })
    }

    /// The only agent that may work on it.
    pub fn assigned_to(self, agent: &str) -> Self {
        self.with(|create| {
            create.assigned_agent = Some(AgentId::parse(agent)?);
            Ok(())
        })
    }

    /// Something that an agent must be able to do to work on it.
    pub fn capability(self, name: &str) -> Self {
        self.set(|create| {
            create.capabilities.insert(name.to_owned());
        })
    }

    /// Higher is sooner: -100 to 100.
    pub fn priority(self, priority: i32) -> Self {
        self.set(|create| create.priority = Some(priority))
    }

    /// It is not begun before so much time has passed.
    pub fn delay_ms(self, milliseconds: u64) -> Self {
        self.set(|create| create.delay_ms = Some(milliseconds))
    }

    /// It has failed if it is not finished after so much time.
    pub fn deadline_ms(self, milliseconds: u64) -> Self {
        self.set(|create| create.deadline_ms = Some(milliseconds))
    }

    /// How often it may be tried again.
    pub fn max_retries(self, count: u64) -> Self {
        self.set(|create| create.max_retries = Some(count))
    }

    /// How long to wait before that.
    pub fn backoff(self, backoff: Backoff) -> Self {
        self.set(|create| create.backoff = Some(backoff))
    }

    /// What becomes of it after that.
    pub fn on_exhausted(self, then: OnExhausted) -> Self {
        self.set(|create| create.on_exhausted = Some(then))
    }

    /// A task that must be completed before.
    pub fn after(self, task: &str) -> Self {
        self.with(|create| {
            create.depends_on.push(TaskId::parse(task)?);
            Ok(())
        })
    }

    /// The task it is a part of: with that it is cancelled.
    pub fn parent(self, task: &str) -> Self {
        self.with(|create| {
            create.parent = Some(TaskId::parse(task)?);
            Ok(())
        })
    }

    /// Which tasks it belongs with.
    pub fn group(self, name: &str) -> Self {
        self.with(|create| {
            create.group = Some(GroupName::parse(name)?);
            Ok(())
        })
    }

    /// Which version of the definition's schema it follows: a text or a number.
    pub fn schema_version(self, version: impl Serialize) -> Self {
        self.with(|create| {
            create.schema_version = Some(Json::of(&version)?);
            Ok(())
        })
    }

    /// Whatever else is worth knowing: an object.
    pub fn metadata(self, metadata: impl Serialize) -> Self {
        self.with(|create| {
            create.metadata = Some(Json::of(&metadata)?);
            Ok(())
        })
    }

    /// The trace that it is a part of, as W3C Trace Context writes it.
    pub fn traceparent(self, traceparent: &str) -> Self {
        self.with(|create| {
            create.traceparent = Some(Traceparent::parse(traceparent)?);
            Ok(())
        })
    }

    /// Only if there is a live agent that can do it; otherwise that is but a warning.
    pub fn if_capable(self) -> Self {
        self.set(|create| create.if_capable = true)
    }
}

impl<C: Carrier> IntoFuture for Creating<C> {
    type Output = Result<Task, C::Error>;
    type IntoFuture = Sent<Task, C>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            record(self.workspace.execute(Command::Create(self.create?)).await?.reply)
        })
    }
}
