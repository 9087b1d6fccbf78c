//! The rules of checkpoints, one function per command.

use std::collections::BTreeSet;

use super::keyed;
use super::refusals::Rejection;
use super::table::Table;
use super::vocabulary::{Command, Event, Query, Reply, Saved, Signal, Why};
use crate::checkpoint::{
    Checkpoint, Checksum, Copy, List, Prune, Record, Retain, Rule, Save, Thread, contains, ranges,
};
use crate::json::Json;
use crate::limits;
use crate::names::{ArtifactId, CheckpointId, CheckpointKey, CheckpointLabel, TaskId};
use crate::numbers::Token;
use crate::page;
use crate::pattern::Pattern;
use crate::primitive::{self, Rules};
use crate::refusal::{TooMany, fits, has_room, within};
use crate::space::stamp::Stamp;
use crate::space::{Happening, ReplyPlan, Space};
use crate::task::Lease;
use crate::time::Timestamp;

/// The other tables, as far as checkpoints read them.
pub trait View {
    /// The agent that holds the lease of a task.
    fn work(&self, task: &TaskId) -> Work<'_>;
    /// Whether this token, of whatever kind, is still valid.
    fn is_live(&self, token: Token) -> bool;
    /// The artifacts that the values reference, sorted and without duplicates.
    fn named<'a>(&self, values: impl Iterator<Item = &'a Json>) -> Vec<ArtifactId>;
}

/// The agent that holds the lease of a task.
#[derive(Clone, Copy)]
pub enum Work<'a> {
    /// There is no such task.
    Unknown,
    /// No agent does.
    Free,
    /// The holder of this lease.
    Leased(&'a Lease),
}

/// The outcome of a command.
pub(super) type Decided = primitive::Decided<Event>;

/// A checkpoint, as it is after the events.
fn checkpoint(id: CheckpointId) -> ReplyPlan {
    ReplyPlan::after(move |space| {
        Reply::Checkpoint(Box::new(found(&space.checkpoint, &id).shown(None)))
    })
}

fn found<'a>(table: &'a Table, id: &CheckpointId) -> &'a Record {
    table.get(id).expect("only known checkpoints are answered with")
}

impl Rules for Table {
    type Command = Command;
    type Signal = Signal;
    type Query = Query;
    type Reply = Reply;
    type Rejection = Rejection;

    fn decide(
        space: &Space,
        command: Command,
        stamp: &Stamp,
        happening: &mut Happening<'_>,
    ) -> Result<ReplyPlan, Rejection> {
        Ok(happening.take(decide(&space.checkpoint, space, command, stamp)?))
    }

    fn expire(space: &Space, stamp: &Stamp) -> Vec<Event> {
        let table = &space.checkpoint;
        let mut room = limits::EXPIRIES_PER_BATCH_MAX;
        let mut events = Vec::new();
        for (task, thread, age_ms) in table.overdue(stamp.now) {
            let over = thread.beyond(0, thread.head, false);
            let over = over.take_while(|number| thread.kept[number].1.after(age_ms) <= stamp.now);
            let numbers: Vec<u64> = over.take(room).collect();
            room -= numbers.len();
            if !numbers.is_empty() {
                let (task, bytes) = (task.clone(), freed(table, thread, &numbers));
                let numbers = ranges(numbers.into_iter());
                events.push(Event::Pruned { task, numbers, bytes, why: Why::Age });
            }
            if room == 0 {
                break;
            }
        }
        events
    }

    fn query(space: &Space, query: &Query) -> Option<Result<Reply, Rejection>> {
        Some(self::query(&space.checkpoint, query))
    }
}

/// Decides a command against the current table.
fn decide(
    table: &Table,
    view: &impl View,
    command: Command,
    stamp: &Stamp,
) -> Result<Decided, Rejection> {
    match command {
        Command::Save(command) => save(table, view, command),
        Command::Restore { checkpoint, token } => restore(table, view, checkpoint, token),
        Command::Fork { checkpoint, task, token } => fork(table, view, checkpoint, task, token),
        Command::Write(command) => keyed::write(table, view, command),
        Command::Copy(Copy { task, to, token }) => keyed::copy(table, view, task, to, token),
        Command::Label { checkpoint, label } => label_one(table, checkpoint, label),
        Command::Prune(command) => prune(table, command, stamp),
        Command::Retain(command) => retain(table, command),
    }
}

fn known<'a>(table: &'a Table, checkpoint: &CheckpointId) -> Result<&'a Record, Rejection> {
    table.get(checkpoint).ok_or_else(|| Rejection::NotFound { checkpoint: checkpoint.clone() })
}

/// Whether the caller may change the checkpoints of a task: only the holder of its lease. While
/// there is no lease, only what needs none is allowed.
pub(super) fn check_token(
    view: &impl View,
    task: &TaskId,
    given: Option<Token>,
    needs_lease: bool,
) -> Result<(), Rejection> {
    let (may, lease) = match view.work(task) {
        Work::Leased(lease) => (given.is_some_and(|given| lease.permits(given)), Some(lease)),
        Work::Free => (given.is_none() && !needs_lease, None),
        // Other units of work may be guarded by a lock, a permit or a session.
        Work::Unknown => (given.is_none_or(|token| view.is_live(token)), None),
    };
    #[cfg(feature = "planted")]
    let may = may || (crate::planted::is("checkpoint.stale_saves") && given.is_some());
    if may {
        return Ok(());
    }
    let lease = lease.map(Lease::without_token);
    Err(Rejection::StaleToken { task: task.clone(), given, lease })
}

fn check_words(description: Option<&String>, metadata: Option<&Json>) -> Result<(), Rejection> {
    let description = description.map_or(0, String::len);
    fits("description", description, limits::DESCRIPTION_BYTES_MAX)?;
    let Some(metadata) = metadata else { return Ok(()) };
    fits("metadata", metadata.as_bytes().len(), limits::METADATA_BYTES_MAX)?;
    if metadata.as_bytes().first() == Some(&b'{') { Ok(()) } else { Err(Rejection::BadMetadata {}) }
}

fn save(table: &Table, view: &impl View, command: Save) -> Result<Decided, Rejection> {
    check_token(view, &command.task, command.token, true)?;
    let state = keyed::stored("state", &command.state, command.content_type.as_ref())?.0;
    fits("state", state.len(), limits::CHECKPOINT_BYTES_MAX)?;
    check_words(command.description.as_ref(), command.metadata.as_ref())?;
    let task = command.task.clone();
    let thread = table.thread(&task);
    let parent = followed(table, thread, &command)?;
    let replaced = thread.and_then(|it| it.keys.get(command.key.as_ref()?).copied());
    let surplus = surplus(table, &task, thread, replaced, command.label.is_some());
    let gone = surplus.len() + usize::from(replaced.is_some());
    check_counts(table, thread.map_or(0, |thread| thread.kept.len() - gone))?;
    let recipe = table.content().recipe(parent.map_or(&[], |parent| &parent.pages), &state);
    let words = command.description.as_ref().map_or(0, String::len)
        + command.metadata.as_ref().map_or(0, |metadata| metadata.as_bytes().len());
    check_bytes(table, recipe.growth() + words)?;
    let checkpoint = table.next_id();
    // Bytes of a type are not looked into.
    let readable = command.content_type.is_none().then_some(&command.state);
    let saved = Saved {
        checkpoint: checkpoint.clone(),
        task: command.task,
        parent: parent.map(|parent| parent.id.clone()),
        artifacts: view.named(readable.into_iter().chain(&command.metadata)),
        key: command.key,
        parent_key: command.parent_key,
        content_type: command.content_type,
        description: command.description,
        label: command.label,
        metadata: command.metadata,
        bytes: state.len() as u64,
        checksum: Checksum::of(&state),
        recipe,
    };
    let mut events = vec![Event::Saved(Box::new(saved))];
    let replaced: Vec<u64> = replaced.into_iter().collect();
    for (gone, why) in [(replaced, Why::Replaced), (surplus, Why::Count)] {
        if let Some(thread) = thread.filter(|_| !gone.is_empty()) {
            let bytes = freed(table, thread, &gone);
            let numbers = ranges(gone.into_iter());
            events.push(Event::Pruned { task: task.clone(), numbers, bytes, why });
        }
    }
    Ok(Decided::new(events, self::checkpoint(checkpoint)))
}

/// The checkpoint that a new one continues.
fn followed<'a>(
    table: &'a Table,
    thread: Option<&'a Thread>,
    save: &Save,
) -> Result<Option<&'a Record>, Rejection> {
    let head = |thread: &'a Thread| known(table, thread.head_id());
    match (&save.parent, &save.parent_key) {
        (Some(parent), _) => parent_of(table, &save.task, thread, parent).map(Some),
        (None, Some(key)) => Ok(table.with_key(&save.task, key)),
        (None, None) if save.key.is_some() => Ok(None),
        (None, None) => thread.map(head).transpose(),
    }
}

/// The parent of a new checkpoint of this task: one of its own, or the one that it was forked from.
fn parent_of<'a>(
    table: &'a Table,
    task: &TaskId,
    thread: Option<&Thread>,
    parent: &CheckpointId,
) -> Result<&'a Record, Rejection> {
    let record = known(table, parent)?;
    let first = thread.and_then(|thread| thread.kept.get(&1));
    let first = first.and_then(|(first, _)| table.get(first));
    let is_source = first.is_some_and(|first| first.parent.as_ref() == Some(parent));
    if record.task == *task || is_source {
        return Ok(record);
    }
    let (parent, parent_task) = (parent.clone(), record.task.clone());
    Err(Rejection::WrongParent { parent, parent_task, task: task.clone() })
}

/// The checkpoints to prune by the rule for their task when another one is saved, besides the one
/// that it replaces.
fn surplus(
    table: &Table,
    task: &TaskId,
    thread: Option<&Thread>,
    replaced: Option<u64>,
    has_label: bool,
) -> Vec<u64> {
    let keep = table.rules().of(task).and_then(|rule| rule.keep);
    let (Some(keep), Some(thread)) = (keep, thread) else { return Vec::new() };
    let keep = usize::try_from(keep).unwrap_or(usize::MAX);
    #[cfg(feature = "planted")]
    let keep = if crate::planted::is("checkpoint.rule_prunes_one_more") { keep - 1 } else { keep };
    // The new one becomes the head and counts towards those that stay.
    let others = if has_label { keep } else { keep.saturating_sub(1) };
    let is_counted = replaced.is_some_and(|number| thread.loose.contains(&number));
    let beyond = thread.beyond(others + usize::from(is_counted), 0, false);
    beyond.filter(|number| Some(*number) != replaced).collect()
}

/// Whether another checkpoint is allowed for a task that has this many.
fn check_counts(table: &Table, of_task: usize) -> Result<(), Rejection> {
    let counts = [
        ("checkpoints of this task", of_task, limits::CHECKPOINTS_PER_TASK_MAX),
        ("checkpoints", table.len(), limits::CHECKPOINTS_MAX),
    ];
    Ok(has_room(counts)?)
}

/// Whether this many more bytes are allowed.
pub(super) fn check_bytes(table: &Table, growth: usize) -> Result<(), Rejection> {
    let max = limits::CHECKPOINTS_BYTES_MAX;
    if table.bytes() + growth > max {
        return Err(TooMany { what: "bytes of checkpoints", max }.into());
    }
    Ok(())
}

fn restore(
    table: &Table,
    view: &impl View,
    checkpoint: CheckpointId,
    token: Option<Token>,
) -> Result<Decided, Rejection> {
    let record = known(table, &checkpoint)?;
    let task = record.task.clone();
    check_token(view, &task, token, false)?;
    let is_head = table.thread(&task).is_some_and(|thread| thread.head == record.number);
    let restored = Event::Restored { checkpoint: checkpoint.clone(), task };
    let events = if is_head { Vec::new() } else { vec![restored] };
    let restored = ReplyPlan::after(move |space| {
        let table = &space.checkpoint;
        Reply::Restored(Box::new(table.shown(found(table, &checkpoint))))
    });
    Ok(Decided::new(events, restored))
}

fn fork(
    table: &Table,
    view: &impl View,
    source: CheckpointId,
    task: TaskId,
    token: Option<Token>,
) -> Result<Decided, Rejection> {
    let record = known(table, &source)?;
    check_token(view, &task, token, false)?;
    if let Some(thread) = table.thread(&task) {
        return Err(Rejection::Exists { task, checkpoint: thread.head_id().clone() });
    }
    check_counts(table, 0)?;
    check_bytes(table, record.footprint())?;
    let checkpoint = table.next_id();
    let forked = Event::Forked { checkpoint: checkpoint.clone(), task, source };
    Ok(Decided::new(vec![forked], self::checkpoint(checkpoint)))
}

fn label_one(
    table: &Table,
    checkpoint: CheckpointId,
    label: Option<CheckpointLabel>,
) -> Result<Decided, Rejection> {
    let record = known(table, &checkpoint)?;
    let mut events = Vec::new();
    if record.label != label {
        let task = record.task.clone();
        events.push(Event::Labelled { checkpoint: checkpoint.clone(), task, label });
    }
    Ok(Decided::new(events, self::checkpoint(checkpoint)))
}

/// How many bytes pruning these checkpoints of a task frees.
fn freed(table: &Table, thread: &Thread, numbers: &[u64]) -> u64 {
    let gone = numbers.iter().filter_map(|number| table.get(&thread.kept.get(number)?.0));
    table.content().only_in(gone.map(|record| &*record.pages)) as u64
}

fn prune(table: &Table, command: Prune, stamp: &Stamp) -> Result<Decided, Rejection> {
    let Prune { task, keep, older_than_ms, metadata, keys, all } = command;
    let is_filtered = metadata.is_some() || keys.is_some();
    if keep.is_none() && older_than_ms.is_none() && !is_filtered && !all {
        return Err(Rejection::NoBound {});
    }
    let is_everything = keep.is_none_or(|keep| keep == 0) && older_than_ms.is_none() && all;
    let keep = usize::try_from(keep.unwrap_or(0)).unwrap_or(usize::MAX);
    let before = older_than_ms.map(|age_ms| Timestamp(stamp.now.0.saturating_sub(age_ms)));
    let nothing = Reply::Pruned { pruned: 0, bytes: 0 };
    let Some(thread) = table.thread(&task) else {
        let has_writes = table.writes().of(&task).is_some() && is_everything && !is_filtered;
        let pruned = Event::Pruned { task, numbers: Vec::new(), bytes: 0, why: Why::Asked };
        let events = if has_writes { vec![pruned] } else { Vec::new() };
        return Ok(Decided::reply(events, nothing));
    };
    let metadata = metadata.as_ref().map(Json::to_value);
    let keys: Option<BTreeSet<CheckpointKey>> = keys.map(|keys| keys.into_iter().collect());
    let is_wanted = |record: &Record| {
        let of_key = |keys: &BTreeSet<_>| record.key.as_ref().is_some_and(|it| keys.contains(it));
        keys.as_ref().is_none_or(of_key)
            && metadata.as_ref().is_none_or(|wanted| {
                record.metadata.as_ref().is_some_and(|it| contains(&it.to_value(), wanted))
            })
    };
    let record = |number: &u64| table.get(&thread.kept[number].0);
    let beyond = thread.beyond(keep, thread.head, all);
    let numbers: Vec<u64> = beyond
        .filter(|number| before.is_none_or(|before| thread.is_older(*number, before)))
        .filter(|number| !is_filtered || record(number).is_some_and(is_wanted))
        .collect();
    if numbers.is_empty() {
        return Ok(Decided::reply(Vec::new(), nothing));
    }
    let bytes = freed(table, thread, &numbers);
    let reply = Reply::Pruned { pruned: numbers.len() as u64, bytes };
    let numbers = ranges(numbers.into_iter());
    Ok(Decided::reply(vec![Event::Pruned { task, numbers, bytes, why: Why::Asked }], reply))
}

fn retain(table: &Table, command: Retain) -> Result<Decided, Rejection> {
    let Retain { task, keep, max_age_ms } = command;
    let keep = keep.map(|keep| within("keep", Some(keep), keep, (1, u64::MAX))).transpose()?;
    let max_age_ms = max_age_ms
        .map(|age| within("max_age_ms", Some(age), age, (1, limits::TTL_MS_MAX)))
        .transpose()?;
    let task = task.unwrap_or_else(|| Pattern::parse("**").expect("it is a pattern"));
    let rule = Rule { task, keep, max_age_ms };
    let before = table.rules().get(&rule.task);
    let is_bound = keep.is_some() || max_age_ms.is_some();
    let max = limits::CHECKPOINT_RULES_MAX;
    if before.is_none() && is_bound && table.rules().all().len() >= max {
        return Err(TooMany { what: "rules about checkpoints", max }.into());
    }
    let is_same = before.map_or(!is_bound, |before| *before == rule);
    let events = if is_same { Vec::new() } else { vec![Event::Retained { rule }] };
    Ok(Decided::new(events, ReplyPlan::after(|space| rules(&space.checkpoint))))
}

fn rules(table: &Table) -> Reply {
    Reply::Rules { rules: table.rules().all().cloned().collect() }
}

/// Answers a query.
pub fn query(table: &Table, query: &Query) -> Result<Reply, Rejection> {
    match query {
        Query::Latest { task } => {
            let head = table.thread(task).and_then(|thread| table.get(thread.head_id()));
            Ok(Reply::Latest(head.map(|record| Box::new(table.shown_with_writes(record)))))
        }
        Query::Get { checkpoint } => {
            Ok(Reply::Checkpoint(Box::new(table.shown_with_writes(known(table, checkpoint)?))))
        }
        Query::List(query) => list(table, query),
        Query::History(query) => keyed::history(table, query),
        Query::Retention => Ok(rules(table)),
    }
}

fn list(table: &Table, query: &List) -> Result<Reply, Rejection> {
    let List { task, label, metadata, before, limit, cursor } = query;
    let limit = page::limit(*limit)?;
    let wanted_metadata = metadata.as_ref().map(Json::to_value);
    let wanted = |record: &Record| {
        label.as_ref().is_none_or(|label| record.label.as_ref() == Some(label))
            && wanted_metadata.as_ref().is_none_or(|wanted| {
                record.metadata.as_ref().is_some_and(|it| contains(&it.to_value(), wanted))
            })
    };
    // The cursor is an upper bound too.
    let before = before.iter().chain(cursor).min();
    let mut checkpoints: Vec<Checkpoint> = Vec::new();
    let (mut last, mut cursor, mut bytes) = (None, None, 0);
    for (examined, record) in table.newest(task.as_ref(), before).enumerate() {
        let is_full = checkpoints.len() == limit || bytes > limits::PAGE_BYTES_MAX;
        if examined == limits::TASKS_EXAMINED_MAX || (is_full && wanted(record)) {
            cursor = last;
            break;
        }
        last = Some(record.id.clone());
        if wanted(record) {
            bytes += record.footprint();
            checkpoints.push(record.shown(None));
        }
    }
    Ok(Reply::Checkpoints { checkpoints, cursor })
}
