//! Estimates the work of a request or a query from its content, before anything is executed, so
//! that long work can be done on a thread on which no other request waits.
//!
//! | what | is work in proportion to |
//! |---|---|
//! | a value that schemas or contracts check | its bytes, for each, and parts of large schemas |
//! | a value with contracts about its fields | the bytes of the value that it replaces, too |
//! | a patch, or a write that is merged | the bytes of both values, which are parsed |
//! | a precondition about a value, an expected value | the bytes of both values |
//! | moving or deleting a namespace | its entries |
//! | rules of a namespace | declared contracts |
//! | a hand-off | its keys, the bytes of their values, and for each rule all that it reads |
//! | cancelling or retrying a task | the tasks that it concerns |
//! | pruning or copying checkpoints, saving one | their number, the bytes of its state |
//! | the changes of another copy | their number |
//! | frames of a stream, writes after a checkpoint | their number |
//! | a list | the records that are looked at, and those that are returned |
//!
//! A request that is not in this table takes as long as its own text at most, or has a limit that
//! keeps it below about a millisecond. Every command and query is named, so that a new one is
//! decided about.
//!
//! Deliberately absent: the consequences of a request. Such work is counted while it is executed,
//! see [`Space::begin_commit`].

mod handoffs;
mod queries;
#[cfg(test)]
mod tests;

use super::Space;
use crate::command::{Command, Mutation};
use crate::json::Json;
use crate::names::{Key, NamespaceName, TaskId};
use crate::schema::Schema;
use crate::transaction::Precondition;
use crate::{checkpoint, namespace, pipeline, state, stream, task, workspace};

/// Bytes of a value that take about as long to parse and to check as an entry to move.
const BYTES_PER_UNIT: usize = 64;
/// Bytes that take about as long to hash or to compare.
const HASHED_BYTES_PER_UNIT: usize = 256;
/// Fields of a contract that take about as long to look up.
const FIELDS_PER_UNIT: usize = 16;
/// Patterns of contracts that take about as long to compare with a key.
const PATTERNS_PER_UNIT: usize = 16;

/// The checks that read the new value of a key.
#[derive(Default)]
struct Handling {
    /// Whether something checks it.
    is_checked: bool,
    /// Schemas and contracts that look inside of it, and so take time for each of its bytes.
    readers: usize,
    /// Units beside that.
    units: usize,
    /// Whether new values are merged with old ones.
    is_merged: bool,
    /// Whether contracts are about its fields: what was there before may explain a missing one.
    has_fields: bool,
}

impl Space {
    /// The units of work of a request that takes more than this many; none if it does not. A unit
    /// is an entry to move or delete, or 64 bytes to parse and check.
    pub fn long_work(&self, mutation: &Mutation, units_max: usize) -> Option<usize> {
        let mut units = self.requirements(mutation);
        for command in mutation.commands() {
            // An estimate that is already long need not be exact, since exactness takes time, too.
            units += if units > units_max { 1 } else { self.units(command, units_max) };
        }
        (units > units_max).then_some(units)
    }

    fn requirements(&self, mutation: &Mutation) -> usize {
        let Mutation::Transaction { require, .. } = mutation.executed() else { return 0 };
        let units = |precondition: &Precondition| match precondition {
            Precondition::Entry { namespace, key, value: Some(value), .. } => {
                self.comparison(namespace, key, value)
            }
            Precondition::Entry { value: None, .. }
            | Precondition::Namespace { .. }
            | Precondition::Agent { .. }
            | Precondition::Task { .. }
            | Precondition::Lock { .. }
            | Precondition::Handoff { .. }
            | Precondition::Token(_)
            | Precondition::Revision(_) => 0,
        };
        require.iter().map(units).sum()
    }

    /// Values of different lengths may be equal, so both are parsed.
    fn comparison(&self, namespace: &NamespaceName, key: &Key, expected: &Json) -> usize {
        1 + (expected.as_bytes().len() + self.bytes(namespace, key)) / BYTES_PER_UNIT
    }

    /// The units of a command. Beyond this many they need not be exact.
    fn units(&self, command: &Command, units_max: usize) -> usize {
        match command {
            Command::State(command) => self.state_units(command, units_max),
            Command::Namespace(command) => match command {
                namespace::Command::Delete { name } => {
                    let patterns = self.contract.patterns() / PATTERNS_PER_UNIT;
                    self.state.count(name) * (1 + patterns)
                }
                namespace::Command::Create { .. } | namespace::Command::Configure { .. } => {
                    self.contract.len()
                }
            },
            Command::Handoff(command) => self.handoff_units(command, units_max),
            Command::Task(command) => self.task_units(command, units_max),
            Command::Checkpoint(command) => self.checkpoint_units(command),
            Command::Workspace(command) => match command {
                workspace::Command::Sync(sync) => {
                    let documents = [&sync.theirs, &sync.ours];
                    let changes = documents.map(|it| it.entries.len() + it.namespaces.len());
                    changes.iter().sum()
                }
                workspace::Command::Configure { .. } => 0,
            },
            Command::Stream(command) => match command {
                stream::Command::Send(send) => send.frames.len(),
                stream::Command::Create(_)
                | stream::Command::Receive(_)
                | stream::Command::Close { .. }
                | stream::Command::Delete { .. } => 0,
            },
            Command::Pipeline(command) => pipeline_units(command),
            // Each is about one record, or as many as one agent may hold.
            Command::Agent(_)
            | Command::Artifact(_)
            | Command::Barrier(_)
            | Command::Contract(_)
            | Command::Join(_)
            | Command::Lock(_)
            | Command::Message(_)
            | Command::Reaction(_)
            | Command::Rule(_)
            | Command::Secret(_)
            | Command::Semaphore(_)
            | Command::Spend(_)
            | Command::Topic(_)
            | Command::UserEvent(_)
            | Command::Wait(_) => 0,
        }
    }

    fn state_units(&self, command: &state::Command, units_max: usize) -> usize {
        match command {
            state::Command::Set(set) => {
                let expected = set.expected_value.as_ref();
                let compared = expected
                    .map_or(0, |expected| self.comparison(&set.namespace, &set.key, expected));
                compared + self.set_units(set)
            }
            state::Command::Patch(patch) => {
                let bytes = patch.patch.value().as_bytes().len();
                let bytes = bytes + self.bytes(&patch.namespace, &patch.key);
                let handling = self.handling(&patch.namespace, &patch.key, bytes);
                handling.units + handling.readers.max(1) * (bytes / BYTES_PER_UNIT)
            }
            state::Command::Transfer(transfer) => self.transfer_units(transfer, units_max),
            state::Command::Delete(_) => self.contract.patterns() / PATTERNS_PER_UNIT,
        }
    }

    fn set_units(&self, set: &state::Set) -> usize {
        let bytes = set.value.as_bytes().len();
        let handling = self.handling(&set.namespace, &set.key, bytes);
        let mut parsed = 0;
        if handling.is_merged || handling.readers > 0 {
            parsed += bytes * handling.readers.max(1);
        }
        if handling.is_merged || handling.has_fields {
            parsed += self.bytes(&set.namespace, &set.key);
        }
        let units = handling.units + parsed / BYTES_PER_UNIT;
        if handling.is_checked { units.max(1) } else { units }
    }

    fn transfer_units(&self, transfer: &state::Transfer, units_max: usize) -> usize {
        let from = &transfer.from_namespace;
        let count = transfer.keys.as_ref().map_or(self.state.count(from), Vec::len);
        let readers = self.contract.reaching(transfer.to_namespace.as_str()).len();
        let there = self.namespace.get(&transfer.to_namespace);
        let schemas: Vec<&Schema> = there.map_or_else(Vec::new, |there| there.rules.schemas());
        if count > units_max || (readers == 0 && schemas.is_empty()) {
            return count;
        }
        // Each value is checked at its destination.
        let bytes: usize = match &transfer.keys {
            Some(keys) => keys.iter().map(|key| self.bytes(from, key)).sum(),
            None => {
                let list = state::List::all(from.clone());
                self.state.listed(&list).map(|entry| entry.as_bytes().len()).sum()
            }
        };
        let readers = readers + usize::from(!schemas.is_empty());
        let usual = bytes / count.max(1);
        let checked = schemas.iter().map(|schema| schema.units(usual)).max().unwrap_or_default();
        count * (readers + checked) + readers * (bytes / BYTES_PER_UNIT)
    }

    fn handling(&self, namespace: &NamespaceName, key: &Key, bytes: usize) -> Handling {
        let rules = self.namespace.get(namespace).map(|there| there.rules.for_key(key));
        let is_merged = rules.is_some_and(|rules| rules.merge.is_some());
        let mut handling = Handling { is_merged, ..Handling::default() };
        if let Some(schema) = rules.and_then(|rules| rules.schema.as_ref()) {
            handling.is_checked = true;
            handling.readers += 1;
            handling.units += schema.units(bytes);
        }
        if self.contract.is_empty() {
            return handling;
        }
        handling.units += self.contract.patterns() / PATTERNS_PER_UNIT;
        for (_, terms) in self.contract.concerning(&format!("{namespace}/{key}")) {
            handling.is_checked = true;
            handling.has_fields |= !terms.fields.is_empty();
            handling.units += 1 + terms.fields.len() / FIELDS_PER_UNIT;
            handling.units += terms.schema.as_ref().map_or(0, |schema| schema.units(bytes));
            handling.readers += usize::from(terms.schema.is_some());
        }
        // Fields are looked up in a value that is parsed once.
        handling.readers = handling.readers.max(usize::from(handling.has_fields));
        handling
    }

    fn bytes(&self, namespace: &NamespaceName, key: &Key) -> usize {
        self.state.packed(namespace, key).map_or(0, |entry| entry.as_bytes().len())
    }

    fn task_units(&self, command: &task::Command, units_max: usize) -> usize {
        match command {
            task::Command::Cancel { task, .. } => self.with_below(task, units_max),
            task::Command::Retry(retry) => {
                self.task.links().dependents(&retry.task).take(units_max.saturating_add(1)).count()
            }
            task::Command::Create(_)
            | task::Command::Claim(_)
            | task::Command::Heartbeat(_)
            | task::Command::Progress(_)
            | task::Command::Update(_)
            | task::Command::Release(_)
            | task::Command::Complete(_)
            | task::Command::Fail(_)
            | task::Command::Review(_) => 0,
        }
    }

    /// How many tasks a task and those below it are; about as many are counted as this.
    fn with_below(&self, task: &TaskId, max: usize) -> usize {
        let (mut pending, mut count) = (vec![task], 0);
        while let Some(task) = pending.pop() {
            let below = self.task.links().children(task);
            pending.extend(below.take(max.saturating_sub(pending.len())));
            count += 1;
            if count > max {
                break;
            }
        }
        count
    }

    fn checkpoint_units(&self, command: &checkpoint::Command) -> usize {
        let kept = |task| self.checkpoint.thread(task).map_or(0, |thread| thread.kept.len());
        match command {
            checkpoint::Command::Save(save) => save.state.as_bytes().len() / HASHED_BYTES_PER_UNIT,
            checkpoint::Command::Write(write) => write.writes.len(),
            checkpoint::Command::Copy(copy) => kept(&copy.task),
            checkpoint::Command::Prune(prune) => kept(&prune.task),
            checkpoint::Command::Restore { .. }
            | checkpoint::Command::Fork { .. }
            | checkpoint::Command::Label { .. }
            | checkpoint::Command::Retain(_) => 0,
        }
    }
}

/// The tasks of a pipeline are counted while they are created or cancelled.
fn pipeline_units(command: &pipeline::Command) -> usize {
    match command {
        pipeline::Command::Create(_)
        | pipeline::Command::StartStage { .. }
        | pipeline::Command::CompleteStage { .. }
        | pipeline::Command::ReviewStage(_)
        | pipeline::Command::FailStage { .. }
        | pipeline::Command::RetryStage { .. }
        | pipeline::Command::SkipStage { .. }
        | pipeline::Command::Abort { .. }
        | pipeline::Command::Delete { .. } => 0,
    }
}
