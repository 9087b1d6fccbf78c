//! Tasks that come to an end, one way or another, when these are awaited.

use std::future::IntoFuture;

use baton_core::task::{Command, Complete, Fail, Next, Reply as TaskReply, Review, Task, Verdict};
use baton_core::{Json, Reply, TaskId, Token};
use serde::Serialize;

use super::record;
use crate::carrier::{Carrier, Failure};
use crate::{Prepared, Sent, Workspace};

/// A task is done, and the next one may be begun.
#[derive(Clone, Debug, PartialEq)]
pub struct Done {
    /// The task that is done.
    pub task: Task,
    /// The one that was claimed next, if that was wanted and there was one.
    pub next: Option<Task>,
}

/// A task that is done when this is awaited.
#[must_use = "nothing is done before this is awaited"]
pub struct Completing<C> {
    workspace: Workspace<C>,
    complete: Prepared<Box<Complete>>,
}

impl<C: Carrier> Completing<C> {
    pub(super) fn new(workspace: Workspace<C>, task: &str, token: Token) -> Self {
        let complete = TaskId::parse(task).map_err(Into::into).map(|task| {
            Box::new(Complete { task, token, result: None, artifacts: None, then_claim: None })
        });
        Self { workspace, complete }
    }

    fn with(mut self, change: impl FnOnce(&mut Complete) -> Prepared<()>) -> Self {
        self.complete = self.complete.and_then(|mut complete| {
            change(&mut complete)?;
            Ok(complete)
        });
        self
    }

    /// What came of it.
    pub fn result(self, result: impl Serialize) -> Self {
        self.with(|complete| {
            complete.result = Some(Json::of(&result)?);
            Ok(())
        })
    }

    /// What it made besides: a list.
    pub fn artifacts(self, artifacts: impl Serialize) -> Self {
        self.with(|complete| {
            complete.artifacts = Some(Json::of(&artifacts)?);
            Ok(())
        })
    }

    /// Takes the next task in the same commit.
    pub fn then_claim(self, next: Next) -> Self {
        self.with(|complete| {
            complete.then_claim = Some(next);
            Ok(())
        })
    }
}

impl<C: Carrier> IntoFuture for Completing<C> {
    type Output = Result<Done, C::Error>;
    type IntoFuture = Sent<Done, C>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            match self.workspace.execute(Command::Complete(self.complete?)).await?.reply {
                Reply::Task(TaskReply::Completed { task, next }) => {
                    Ok(Done { task: *task, next: next.map(|next| *next) })
                }
                reply => Err(C::Error::odd(&reply)),
            }
        })
    }
}

/// A try that has failed when this is awaited.
#[must_use = "nothing has failed before this is awaited"]
pub struct Failing<C> {
    workspace: Workspace<C>,
    fail: Prepared<Fail>,
}

impl<C: Carrier> Failing<C> {
    pub(super) fn new(
        workspace: Workspace<C>,
        task: &str,
        token: Token,
        error: &impl Serialize,
    ) -> Self {
        let prepare = || {
            let (task, error) = (TaskId::parse(task)?, Json::of(error)?);
            Ok(Fail { task, token, error, retryable: None })
        };
        Self { workspace, fail: prepare() }
    }

    /// Trying again would not help.
    pub fn for_good(mut self) -> Self {
        if let Ok(fail) = &mut self.fail {
            fail.retryable = Some(false);
        }
        self
    }
}

impl<C: Carrier> IntoFuture for Failing<C> {
    type Output = Result<Task, C::Error>;
    type IntoFuture = Sent<Task, C>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(
            async move { record(self.workspace.execute(Command::Fail(self.fail?)).await?.reply) },
        )
    }
}

/// A person's decision that is made when this is awaited.
#[must_use = "nothing is decided before this is awaited"]
pub struct Reviewing<C> {
    workspace: Workspace<C>,
    review: Prepared<Review>,
}

impl<C: Carrier> Reviewing<C> {
    pub(super) fn new(workspace: Workspace<C>, task: &str, verdict: Verdict) -> Self {
        let review = TaskId::parse(task).map_err(Into::into).map(|task| Review {
            task,
            verdict,
            note: None,
            result: None,
        });
        Self { workspace, review }
    }

    /// Why.
    pub fn note(mut self, note: &str) -> Self {
        if let Ok(review) = &mut self.review {
            review.note = Some(note.to_owned());
        }
        self
    }

    /// What came of it.
    pub fn result(mut self, result: impl Serialize) -> Self {
        self.review = self.review.and_then(|mut review| {
            review.result = Some(Json::of(&result)?);
            Ok(review)
        });
        self
    }
}

impl<C: Carrier> IntoFuture for Reviewing<C> {
    type Output = Result<Task, C::Error>;
    type IntoFuture = Sent<Task, C>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            record(self.workspace.execute(Command::Review(self.review?)).await?.reply)
        })
    }
}
