//! The rules of keys, pending writes and copies.

use std::sync::Arc;

use super::decide::{Decided, View, check_bytes, check_token};
use super::pending::{Pending, Write, Writes};
use super::refusals::Rejection;
use super::table::Table;
use super::vocabulary::{Event, Reply};
use crate::checkpoint::{Chunk, History, Record, contains, decoded};
use crate::json::Json;
use crate::limits;
use crate::names::{StateType, TaskId};
use crate::numbers::Token;
use crate::page;
use crate::refusal::{TooMany, fits, has_room, within};

/// The bytes to store for a value: those of the JSON, or those that it has in Base64.
pub(super) fn stored(
    what: &'static str,
    value: &Json,
    content_type: Option<&StateType>,
) -> Result<Chunk, Rejection> {
    if content_type.is_none() {
        return Ok(Chunk::from(value.as_bytes()));
    }
    let text = value.as_str();
    let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    // Some encoders escape a slash.
    let bytes = if text.contains('\\') {
        value.to_value().as_str().and_then(decoded)
    } else {
        inner.and_then(decoded)
    };
    Ok(Chunk(bytes.ok_or(Rejection::BadBase64 { what })?.into()))
}

pub(super) fn write(table: &Table, view: &impl View, command: Write) -> Result<Decided, Rejection> {
    let Write { task, key, writer, path, writes, token } = command;
    check_token(view, &task, token, true)?;
    let shortest = within("writer", Some(writer.len() as u64), 1, (1, u64::MAX));
    shortest?;
    fits("writer", writer.len(), limits::KEY_BYTES_MAX)?;
    fits("path", path.len(), limits::KEY_BYTES_MAX)?;
    let (writer, path): (Arc<str>, Arc<str>) = (writer.into(), path.into());
    let present = table.writes().after(&task, &key);
    let mut kept: Vec<Pending> = Vec::new();
    for write in writes {
        fits("channel", write.channel.len(), limits::KEY_BYTES_MAX)?;
        let value = stored("value", &write.value, write.content_type.as_ref())?;
        let (writer, index) = (Arc::clone(&writer), write.index);
        let is_same = |it: &&mut Pending| it.index == index;
        let earlier = kept.iter_mut().find(is_same);
        let place = (writer, index);
        let is_there = earlier.is_some() || present.is_some_and(|it| it.contains_key(&place));
        #[cfg(feature = "planted")]
        let is_there = is_there && !crate::planted::is("checkpoint.first_write_replaced");
        if is_there && !write.replace {
            continue;
        }
        let (channel, content_type) = (write.channel.into(), write.content_type);
        let (writer, path) = (place.0, Arc::clone(&path));
        let pending = Pending { writer, index, path, channel, content_type, value };
        match earlier {
            Some(earlier) => *earlier = pending,
            None => kept.push(pending),
        }
    }
    let bytes: usize = kept.iter().map(Pending::footprint).sum();
    fits("writes", bytes, limits::CHECKPOINT_BYTES_MAX)?;
    let of_task = table.writes().of(&task);
    let is_new = present.is_none() && !kept.is_empty();
    let keys = of_task.map_or(0, |thread| if is_new { thread.len() } else { 0 });
    has_room([("checkpoints with writes of this task", keys, limits::CHECKPOINTS_PER_TASK_MAX)])?;
    let max = limits::CHECKPOINT_WRITES_MAX;
    if present.map_or(0, Writes::len) + kept.len() > max {
        return Err(TooMany { what: "writes after this checkpoint", max }.into());
    }
    check_bytes(table, bytes)?;
    let reply = Reply::Written { written: kept.len() as u64 };
    let writes: Vec<_> = kept.into_iter().map(Arc::new).collect();
    let events =
        if writes.is_empty() { Vec::new() } else { vec![Event::Written { task, key, writes }] };
    Ok(Decided::reply(events, reply))
}

pub(super) fn copy(
    table: &Table,
    view: &impl View,
    source: TaskId,
    task: TaskId,
    token: Option<Token>,
) -> Result<Decided, Rejection> {
    check_token(view, &task, token, false)?;
    let Some(thread) = table.thread(&source) else {
        return Err(Rejection::NoCheckpoints { task: source });
    };
    if let Some(thread) = table.thread(&task) {
        return Err(Rejection::Exists { task, checkpoint: thread.head_id().clone() });
    }
    let count = thread.kept.len();
    let max = limits::CHECKPOINTS_MAX;
    if table.len() + count > max {
        return Err(TooMany { what: "checkpoints", max }.into());
    }
    let records = thread.kept.values().filter_map(|(id, _)| table.get(id));
    let bytes: usize = records.map(Record::footprint).sum();
    check_bytes(table, bytes + table.writes().bytes_of(&source))?;
    let copied = Event::Copied { task, source, checkpoint: table.next_id(), count: count as u64 };
    Ok(Decided::reply(vec![copied], Reply::Copied { copied: count as u64 }))
}

pub(super) fn history(table: &Table, query: &History) -> Result<Reply, Rejection> {
    let History { task, key, prefix, before, metadata, limit, cursor } = query;
    let limit = page::limit(*limit)?;
    let metadata = metadata.as_ref().map(Json::to_value);
    let wanted = |record: &&Record| {
        metadata.as_ref().is_none_or(|wanted| {
            record.metadata.as_ref().is_some_and(|it| contains(&it.to_value(), wanted))
        })
    };
    // The cursor is an upper bound too.
    let before = before.iter().chain(cursor).min();
    let begins = key.as_ref().or(prefix.as_ref()).map_or("", |begins| begins.as_str());
    let is_right = |record: &&Record| match (key, prefix, &record.key) {
        (Some(wanted), _, Some(key)) if wanted != key => false,
        (_, Some(prefix), Some(key)) => key.as_str().starts_with(prefix.as_str()),
        (_, _, it) => it.is_some(),
    };
    let found = table.by_key(task, begins, before).filter(is_right);
    let (mut checkpoints, mut bytes, mut cursor) = (Vec::new(), 0, None);
    for record in found.filter(wanted) {
        if checkpoints.len() == limit || bytes > limits::PAGE_BYTES_MAX {
            cursor = checkpoints.last().and_then(|it: &super::Checkpoint| it.key.clone());
            break;
        }
        let shown = table.shown_with_writes(record);
        bytes += record.footprint() + usize::try_from(record.bytes).unwrap_or(usize::MAX);
        bytes += shown.writes.iter().map(|write| write.value.as_bytes().len()).sum::<usize>();
        checkpoints.push(shown);
    }
    Ok(Reply::History { checkpoints, cursor })
}
