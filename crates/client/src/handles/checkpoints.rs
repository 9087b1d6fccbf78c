//! The checkpoints of a workspace.

use baton_core::checkpoint::{
    Checkpoint, Command, Copy, History, List, NewWrite, Prune, Query, Retain, Rule, Save, Write,
    encoded,
};
use baton_core::{CheckpointId, CheckpointKey, CheckpointLabel, Json, StateType, TaskId};
use serde::Serialize;

use crate::request::{Prepared, request};
use crate::{Checkpoints, Error};

impl Checkpoints {
    /// Saves the state of a task, or of another thread of work.
    pub fn save(&self, task: &str, state: impl Serialize) -> Saving {
        Saving::new(&self.workspace, self.prepare(task, &state))
    }

    /// Saves bytes of a type that only the caller knows.
    pub fn save_bytes(&self, task: &str, content_type: &str, state: &[u8]) -> Saving {
        let prepared = self.prepare(task, &encoded(state)).and_then(|save| {
            Ok(Save { content_type: Some(StateType::parse(content_type)?), ..save })
        });
        Saving::new(&self.workspace, prepared)
    }

    fn prepare(&self, task: &str, state: &impl Serialize) -> Prepared<Save> {
        Ok(Save {
            task: TaskId::parse(task)?,
            state: Json::of(state)?,
            content_type: None,
            key: None,
            parent_key: None,
            description: None,
            parent: None,
            label: None,
            metadata: None,
            token: self.workspace.token(),
        })
    }

    /// Reads the checkpoint that a task continues from, with its state; none if it has none.
    pub async fn latest(&self, task: &str) -> Result<Option<Checkpoint>, Error> {
        self.workspace.query(Query::Latest { task: TaskId::parse(task)? }).await
    }

    /// Reads a checkpoint with its state.
    pub async fn get(&self, checkpoint: &str) -> Result<Checkpoint, Error> {
        self.workspace.query(Query::Get { checkpoint: CheckpointId::parse(checkpoint)? }).await
    }

    /// Lists a page of checkpoints, newest first and without their states, with the cursor of the
    /// next page.
    pub async fn list(&self, list: List) -> Result<(Vec<Checkpoint>, Option<CheckpointId>), Error> {
        self.workspace.query(Query::List(list)).await
    }

    /// Reads a page of the checkpoints of a task that have keys, the greatest first, with their
    /// states and pending writes, and the cursor of the next page.
    pub async fn history(
        &self,
        history: History,
    ) -> Result<(Vec<Checkpoint>, Option<CheckpointKey>), Error> {
        self.workspace.query(Query::History(history)).await
    }

    /// Stores what a step wrote after the checkpoint with a key. Returns how many of the writes
    /// were new, or replaced others.
    pub async fn write(
        &self,
        task: &str,
        key: &str,
        writer: &str,
        writes: Vec<NewWrite>,
    ) -> Result<Written, Error> {
        let (task, key) = (TaskId::parse(task)?, CheckpointKey::parse(key)?);
        let (writer, path, token) = (writer.to_owned(), String::new(), self.workspace.token());
        self.workspace.run(Command::Write(Write { task, key, writer, path, writes, token })).await
    }

    /// Copies all checkpoints of a task, with their pending writes, to one that has none. Returns
    /// how many there are.
    pub async fn copy(&self, task: &str, to: &str) -> Result<Copied, Error> {
        let (task, to, token) = (TaskId::parse(task)?, TaskId::parse(to)?, self.workspace.token());
        self.workspace.run(Command::Copy(Copy { task, to, token })).await
    }

    /// Restores a checkpoint: its task continues from there. It is returned with its state.
    pub async fn restore(&self, checkpoint: &str) -> Result<Checkpoint, Error> {
        let (checkpoint, token) = (CheckpointId::parse(checkpoint)?, self.workspace.token());
        self.workspace.run(Command::Restore { checkpoint, token }).await
    }

    /// Starts another task, which has no checkpoints yet, from the content of one.
    pub async fn fork(&self, checkpoint: &str, task: &str) -> Result<Checkpoint, Error> {
        let (checkpoint, task) = (CheckpointId::parse(checkpoint)?, TaskId::parse(task)?);
        let token = self.workspace.token();
        self.workspace.run(Command::Fork { checkpoint, task, token }).await
    }

    /// Sets or removes the label of a checkpoint. A checkpoint with a label is kept.
    pub async fn label(&self, checkpoint: &str, label: Option<&str>) -> Result<Checkpoint, Error> {
        let checkpoint = CheckpointId::parse(checkpoint)?;
        let label = label.map(CheckpointLabel::parse).transpose()?;
        self.workspace.run(Command::Label { checkpoint, label }).await
    }

    /// Removes checkpoints of a task. Returns how many, and how many bytes that freed.
    pub async fn prune(&self, prune: Prune) -> Result<(u64, u64), Error> {
        self.workspace.run(Command::Prune(prune)).await
    }

    /// Sets how many checkpoints are kept and for how long. Returns all retention rules.
    pub async fn retain(&self, retain: Retain) -> Result<Vec<Rule>, Error> {
        self.workspace.run(Command::Retain(retain)).await
    }

    /// Reads the retention rules.
    pub async fn retention(&self) -> Result<Vec<Rule>, Error> {
        self.workspace.query(Query::Retention).await
    }
}

/// How many pending writes were stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written(pub u64);

/// How many checkpoints were copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied(pub u64);

request! {
    /// Saves a checkpoint when it is awaited.
    Saving(Save) -> Checkpoint: |workspace, save| workspace.run(Command::Save(save));
    /// Describes it in words.
    description(text: &str) |save| save.description = Some(text.to_owned());
    /// Sets the checkpoint that it follows, instead of the last one saved or restored.
    parent(checkpoint: &str) |save| save.parent = Some(CheckpointId::parse(checkpoint)?);
    /// Sets a key of your own, unique within the task. A checkpoint with the same key is replaced.
    key(key: &str) |save| save.key = Some(CheckpointKey::parse(key)?);
    /// Sets the key of the checkpoint that it follows.
    parent_key(key: &str) |save| save.parent_key = Some(CheckpointKey::parse(key)?);
    /// Sets a label to find it by. A checkpoint with a label is kept.
    label(label: &str) |save| save.label = Some(CheckpointLabel::parse(label)?);
    /// Attaches metadata: an object.
    metadata(metadata: impl Serialize) |save| save.metadata = Some(Json::of(&metadata)?);
}
