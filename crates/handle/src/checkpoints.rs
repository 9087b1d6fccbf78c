//! Checkpoints of a workspace.

use std::future::IntoFuture;

use baton_core::checkpoint::{
    Checkpoint, Command, List, Prune, Query, Reply as CheckpointReply, Retain, Rule, Save,
};
use baton_core::{CheckpointId, CheckpointLabel, Json, Reply, TaskId};
use serde::Serialize;

use crate::carrier::{Carrier, Failure};
use crate::{Prepared, Sent, Workspace};

/// Checkpoints of a workspace, as one agent sees them. Whoever works on a task saves and restores
/// its checkpoints [`under`](Workspace::under) the token of the lease.
#[derive(Clone, Debug)]
pub struct Checkpoints<C> {
    workspace: Workspace<C>,
}

impl<C: Carrier> Checkpoints<C> {
    pub(crate) fn new(workspace: Workspace<C>) -> Self {
        Self { workspace }
    }

    /// Saves the state of a task, or of another thread of work. What is to be noted about it may
    /// follow before this is awaited.
    pub fn save(&self, task: &str, state: impl Serialize) -> Saving<C> {
        let prepare = || {
            Ok(Save {
                task: TaskId::parse(task)?,
                state: Json::of(&state)?,
                description: None,
                parent: None,
                label: None,
                metadata: None,
                token: self.workspace.token(),
            })
        };
        Saving { workspace: self.workspace.clone(), save: prepare() }
    }

    /// The checkpoint that a task goes on from, with its state; nothing if it has none.
    pub async fn latest(&self, task: &str) -> Result<Option<Checkpoint>, C::Error> {
        match self.workspace.ask(Query::Latest { task: TaskId::parse(task)? }).await?.reply {
            Reply::Checkpoint(CheckpointReply::Latest(found)) => Ok(found.map(|found| *found)),
            reply => Err(C::Error::odd(&reply)),
        }
    }

    /// One of them, with its state.
    pub async fn get(&self, checkpoint: &str) -> Result<Checkpoint, C::Error> {
        let query = Query::Get { checkpoint: CheckpointId::parse(checkpoint)? };
        record(self.workspace.ask(query).await?.reply)
    }

    /// A page of them, the newest first and without their states, and where the next page begins.
    pub async fn list(
        &self,
        list: List,
    ) -> Result<(Vec<Checkpoint>, Option<CheckpointId>), C::Error> {
        match self.workspace.ask(Query::List(list)).await?.reply {
            Reply::Checkpoint(CheckpointReply::Checkpoints { checkpoints, cursor }) => {
                Ok((checkpoints, cursor))
            }
            reply => Err(C::Error::odd(&reply)),
        }
    }

    /// Goes back to one: its task goes on from there. It comes with its state.
    pub async fn restore(&self, checkpoint: &str) -> Result<Checkpoint, C::Error> {
        let (checkpoint, token) = (CheckpointId::parse(checkpoint)?, self.workspace.token());
        record(self.workspace.execute(Command::Restore { checkpoint, token }).await?.reply)
    }

    /// Begins another task, which has no checkpoints yet, with the content of one.
    pub async fn fork(&self, checkpoint: &str, task: &str) -> Result<Checkpoint, C::Error> {
        let (checkpoint, task) = (CheckpointId::parse(checkpoint)?, TaskId::parse(task)?);
        let token = self.workspace.token();
        record(self.workspace.execute(Command::Fork { checkpoint, task, token }).await?.reply)
    }

    /// Calls one by a name, which keeps it, or by none.
    pub async fn label(
        &self,
        checkpoint: &str,
        label: Option<&str>,
    ) -> Result<Checkpoint, C::Error> {
        let checkpoint = CheckpointId::parse(checkpoint)?;
        let label = label.map(CheckpointLabel::parse).transpose()?;
        record(self.workspace.execute(Command::Label { checkpoint, label }).await?.reply)
    }

    /// Removes some of a task; answers how many are gone, and how many bytes were in no other.
    pub async fn prune(&self, prune: Prune) -> Result<(u64, u64), C::Error> {
        match self.workspace.execute(Command::Prune(prune)).await?.reply {
            Reply::Checkpoint(CheckpointReply::Pruned { pruned, bytes }) => Ok((pruned, bytes)),
            reply => Err(C::Error::odd(&reply)),
        }
    }

    /// Says how many are kept, and for how long; answers with all rules.
    pub async fn retain(&self, retain: Retain) -> Result<Vec<Rule>, C::Error> {
        rules(self.workspace.execute(Command::Retain(retain)).await?.reply)
    }

    /// How many are kept, and for how long.
    pub async fn retention(&self) -> Result<Vec<Rule>, C::Error> {
        rules(self.workspace.ask(Query::Retention).await?.reply)
    }
}

fn record<F: Failure>(reply: Reply) -> Result<Checkpoint, F> {
    match reply {
        Reply::Checkpoint(
            CheckpointReply::Checkpoint(checkpoint) | CheckpointReply::Restored(checkpoint),
        ) => Ok(*checkpoint),
        reply => Err(F::odd(&reply)),
    }
}

fn rules<F: Failure>(reply: Reply) -> Result<Vec<Rule>, F> {
    match reply {
        Reply::Checkpoint(CheckpointReply::Rules { rules }) => Ok(rules),
        reply => Err(F::odd(&reply)),
    }
}

/// A checkpoint that is saved when this is awaited.
#[must_use = "nothing is saved before this is awaited"]
pub struct Saving<C> {
    workspace: Workspace<C>,
    save: Prepared<Save>,
}

impl<C: Carrier> Saving<C> {
    fn with(mut self, change: impl FnOnce(&mut Save) -> Prepared<()>) -> Self {
        self.save = self.save.and_then(|mut save| {
            change(&mut save)?;
            Ok(save)
        });
        self
    }

    /// What it is, in words.
    pub fn description(self, text: &str) -> Self {
        self.with(|save| {
            save.description = Some(text.to_owned());
            Ok(())
        })
    }

    /// The one it goes on from, instead of the last that was saved or restored.
    pub fn parent(self, checkpoint: &str) -> Self {
        self.with(|save| {
            save.parent = Some(CheckpointId::parse(checkpoint)?);
            Ok(())
        })
    }

    /// A name by which it is found, and kept.
    pub fn label(self, label: &str) -> Self {
        self.with(|save| {
            save.label = Some(CheckpointLabel::parse(label)?);
            Ok(())
        })
    }

    /// What to note about it: an object.
    pub fn metadata(self, metadata: impl Serialize) -> Self {
        self.with(|save| {
            save.metadata = Some(Json::of(&metadata)?);
            Ok(())
        })
    }
}

impl<C: Carrier> IntoFuture for Saving<C> {
    type Output = Result<Checkpoint, C::Error>;
    type IntoFuture = Sent<Checkpoint, C>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(
            async move { record(self.workspace.execute(Command::Save(self.save?)).await?.reply) },
        )
    }
}
