//! References of records to artifacts.
//!
//! A command is refused if it references an artifact that does not exist. References are counted
//! when events are applied, whatever caused them.

use super::Space;
use super::tables::Undo;
use crate::artifact::{Holder, in_list, mentioned, mentions};
use crate::command::Command;
use crate::event::Event;
use crate::handoff::{Handoff, Offer};
use crate::json::Json;
use crate::message::Message;
use crate::names::{ArtifactId, MessageId, TaskId};
use crate::primitive::Forgotten;
use crate::rejection::Rejection;
use crate::space::batch::Moment;
use crate::task::Record;
use crate::{artifact, checkpoint, handoff, message, namespace, state, task};

impl Space {
    /// Refuses a command that references an artifact that does not exist.
    #[inline]
    pub(super) fn check_artifact_refs(&self, command: &Command) -> Result<(), Rejection> {
        match command {
            Command::State(state::Command::Set(set)) => self.check_values([&set.value]),
            Command::State(state::Command::Patch(patch)) => {
                self.check_values([patch.patch.value()])
            }
            Command::Task(command) => self.check_task(command),
            Command::Message(command) => self.check_message(command),
            Command::Handoff(command) => self.check_handoff(command),
            Command::Checkpoint(checkpoint::Command::Save(save)) => {
                let readable = save.content_type.is_none().then_some(&save.state);
                self.check_values(readable.into_iter().chain(&save.metadata))
            }
            _ => Ok(()),
        }
    }

    fn check_task(&self, command: &task::Command) -> Result<(), Rejection> {
        match command {
            task::Command::Create(create) => {
                self.check_values(create.definition.iter().chain(&create.metadata))
            }
            task::Command::Update(update) => self.check_values([&update.fields]),
            task::Command::Complete(complete) => {
                self.check_values(&complete.result)?;
                self.check_list(complete.artifacts.as_ref())
            }
            task::Command::Review(review) => self.check_values(&review.result),
            _ => Ok(()),
        }
    }

    fn check_message(&self, command: &message::Command) -> Result<(), Rejection> {
        match command {
            message::Command::Send(send) => self.check_values([&send.body]),
            message::Command::Request(request) => self.check_values([&request.body]),
            message::Command::Reply(respond) => {
                self.check_values(respond.body.iter().chain(&respond.error))
            }
            _ => Ok(()),
        }
    }

    fn check_handoff(&self, command: &handoff::Command) -> Result<(), Rejection> {
        match command {
            handoff::Command::Offer(offer)
            | handoff::Command::Execute(offer)
            | handoff::Command::Validate(offer) => {
                let Offer { work_completed, remaining_work, notes, state, output_keys, .. } =
                    &**offer;
                let said = [work_completed, remaining_work, notes, output_keys];
                self.check_values(said.into_iter().flatten().chain(state.values()))?;
                self.check_list(offer.artifacts.as_ref())
            }
            handoff::Command::ImportContext(import) => {
                let context = &import.context;
                self.check_values(context.state.values().chain(&context.output_keys))
            }
            handoff::Command::ExecuteAll(all) => self.check_values(&all.notes),
            handoff::Command::Complete(complete) => self.check_values(&complete.result),
            _ => Ok(()),
        }
    }

    fn check_values<'a>(
        &self,
        values: impl IntoIterator<Item = &'a Json>,
    ) -> Result<(), Rejection> {
        for json in values {
            for mention in mentions(json.as_str()).filter(|mention| mention.is_named) {
                self.check_there(&mention.artifact)?;
            }
        }
        Ok(())
    }

    fn check_list(&self, list: Option<&Json>) -> Result<(), Rejection> {
        let Some(list) = list else { return Ok(()) };
        in_list(list)?.iter().try_for_each(|artifact| self.check_there(artifact))
    }

    fn check_there(&self, artifact: &ArtifactId) -> Result<(), Rejection> {
        if self.artifact.get(artifact).is_some() {
            return Ok(());
        }
        Err(artifact::Rejection::NotFound { artifact: artifact.clone() }.into())
    }

    /// The artifacts that the values reference, sorted and without duplicates.
    pub(super) fn named_in<'a>(
        &self,
        values: impl IntoIterator<Item = &'a Json>,
    ) -> Vec<ArtifactId> {
        if self.artifact.is_empty() {
            return Vec::new();
        }
        let mut named = mentioned(values);
        named.retain(|artifact| self.artifact.get(artifact).is_some());
        named
    }

    /// Updates the references of the record that an event is about.
    pub(super) fn update_artifact_refs(&mut self, event: &Event, moment: &Moment<'_>) {
        let changes = match event {
            Event::State(event) => {
                let (namespace, key) = event.entry_key();
                let named = match event {
                    state::Event::Set { value, .. } => self.named_in([value]),
                    state::Event::Deleted { .. } => Vec::new(),
                };
                vec![(Holder::Entry(namespace.clone(), key.clone()), named)]
            }
            Event::Namespace(namespace::Event::Deleted { name }) => {
                nothing(self.artifact.holders_in(name))
            }
            Event::Task(event) if says_something(event) => {
                let record = event.task().and_then(|task| self.task.get(task));
                let Some(record) = record else { return };
                vec![(Holder::Task(record.id.clone()), self.named_in(said_of_task(record)))]
            }
            Event::Handoff(event) => {
                let handoff = event.handoff().and_then(|handoff| self.handoff.get(handoff));
                let Some(handoff) = handoff else { return };
                let named = self.named_in(said_in_handoff(handoff));
                vec![(Holder::Handoff(handoff.id.clone()), named)]
            }
            Event::Checkpoint(event) => self.named_by_checkpoints(event),
            Event::Message(event) => {
                let Some(message) = speaking(event).and_then(|id| self.message.get(id)) else {
                    return;
                };
                let named = self.named_in(said_in_message(message));
                vec![(Holder::Message(message.id.clone()), named)]
            }
            _ => return,
        };
        let undo = self.artifact.refer(changes, moment.time);
        self.undo_log.extend(undo.map(Undo::Artifact));
    }

    fn named_by_checkpoints(&self, event: &checkpoint::Event) -> Vec<(Holder, Vec<ArtifactId>)> {
        let holder = |id| {
            let record = self.checkpoint.get(id)?;
            Some(Holder::Checkpoint(record.task.clone(), record.number))
        };
        match event {
            checkpoint::Event::Saved(saved) => {
                let is_there = |artifact: &&ArtifactId| self.artifact.get(artifact).is_some();
                let named = saved.artifacts.iter().filter(is_there).cloned().collect();
                holder(&saved.checkpoint).map(|holder| (holder, named)).into_iter().collect()
            }
            checkpoint::Event::Forked { checkpoint, source, .. } => {
                let named = holder(source).map(|source| self.artifact.named_by(&source).to_vec());
                holder(checkpoint).zip(named).into_iter().collect()
            }
            checkpoint::Event::Copied { task, source, .. } => {
                let threads = (self.checkpoint.thread(source), self.checkpoint.thread(task));
                let (Some(from), Some(to)) = threads else { return Vec::new() };
                let copies = from.kept.keys().zip(to.kept.keys());
                let named = |(original, copy): (&u64, &u64)| {
                    let original = Holder::Checkpoint(source.clone(), *original);
                    let named = self.artifact.named_by(&original).to_vec();
                    (Holder::Checkpoint(task.clone(), *copy), named)
                };
                copies.map(named).filter(|(_, named)| !named.is_empty()).collect()
            }
            checkpoint::Event::Pruned { task, numbers, .. } => {
                let pruned = numbers.iter();
                nothing(pruned.flat_map(|range| self.artifact.checkpoints_of(task, *range)))
            }
            checkpoint::Event::Restored { .. }
            | checkpoint::Event::Written { .. }
            | checkpoint::Event::Labelled { .. }
            | checkpoint::Event::Retained { .. } => Vec::new(),
        }
    }

    /// Removes the references of records that are forgotten after a batch. Replay forgets the same
    /// records, and it cannot be refused.
    pub(super) fn release_artifact_refs(&mut self, forgotten: Vec<Forgotten>) {
        if self.artifact.is_idle() {
            return;
        }
        let gone = forgotten.into_iter().map(|record| match record {
            Forgotten::Task(task) => Holder::Task(task),
            Forgotten::Handoff(handoff) => Holder::Handoff(handoff),
            Forgotten::Message(message) => Holder::Message(message),
        });
        self.artifact.refer(nothing(gone), self.time);
    }

    /// Asserts that every holder exists and mentions its artifacts.
    pub(super) fn check_mentions(&self) {
        for (holder, artifacts) in self.artifact.holders() {
            let named = match holder {
                Holder::Entry(namespace, key) => {
                    let entry = self.state.entry(namespace, key);
                    entry.map(|entry| mentioned([&entry.json()]))
                }
                Holder::Task(task) => self.task.get(task).map(|it| mentioned(said_of_task(it))),
                Holder::Handoff(handoff) => {
                    self.handoff.get(handoff).map(|it| mentioned(said_in_handoff(it)))
                }
                Holder::Checkpoint(task, number) => self.named_by_number(task, *number),
                Holder::Message(message) => {
                    self.message.get(message).map(|it| mentioned(said_in_message(it)))
                }
            };
            let named = named.unwrap_or_else(|| panic!("`{holder}` holds although it is gone"));
            for artifact in artifacts {
                assert!(named.contains(artifact), "`{holder}` holds what it does not name");
                assert!(self.artifact.get(artifact).is_some(), "what is held is there");
            }
        }
    }

    fn named_by_number(&self, task: &TaskId, number: u64) -> Option<Vec<ArtifactId>> {
        let (id, _) = self.checkpoint.thread(task)?.kept.get(&number)?;
        let record = self.checkpoint.get(id)?;
        let state = self.checkpoint.state(id).ok()?;
        Some(mentioned(std::iter::once(&state).chain(&record.metadata)))
    }
}

fn nothing(holders: impl IntoIterator<Item = Holder>) -> Vec<(Holder, Vec<ArtifactId>)> {
    holders.into_iter().map(|holder| (holder, Vec::new())).collect()
}

/// Whether an event changes the content of a task.
fn says_something(event: &task::Event) -> bool {
    matches!(
        event,
        task::Event::Created(_)
            | task::Event::Updated { .. }
            | task::Event::Completed { .. }
            | task::Event::Submitted { .. }
            | task::Event::Reviewed { .. }
    )
}

fn said_of_task(record: &Record) -> impl Iterator<Item = &Json> {
    let metadata = record.terms.iter().flat_map(|terms| &terms.metadata);
    let execution = record.execution.iter().flat_map(|it| it.result.iter().chain(&it.artifacts));
    record.definition.iter().chain(metadata).chain(execution)
}

/// The message whose content an event changes, if that may reference artifacts.
fn speaking(event: &message::Event) -> Option<&MessageId> {
    #[cfg(feature = "planted")]
    if crate::planted::is("artifact.messages_hold_nothing") {
        return None;
    }
    match event {
        message::Event::Sent(sent) => sent.holds.then_some(&sent.message),
        message::Event::Replied { message, holds, .. } => holds.then_some(message),
        _ => None,
    }
}

fn said_in_message(message: &Message) -> impl Iterator<Item = &Json> {
    let answer = message.request.iter().flat_map(|asked| &asked.answer);
    let answer = answer.flat_map(|given| given.body.iter().chain(&given.error));
    std::iter::once(&message.body).chain(answer)
}

fn said_in_handoff(handoff: &Handoff) -> impl Iterator<Item = &Json> {
    let Handoff { work_completed, remaining_work, notes, output_keys, artifacts, .. } = handoff;
    let said = [work_completed, remaining_work, notes, output_keys, artifacts, &handoff.result];
    let maps = handoff.state.values().chain(handoff.changes.values());
    said.into_iter().flatten().chain(maps)
}
