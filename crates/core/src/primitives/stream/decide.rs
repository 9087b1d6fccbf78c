//! The rules of streams, one function per command.

use super::refusals::Rejection;
use super::table::{Record, Table, Waiter, Want};
use super::vocabulary::{
    Command, Create, Event, Query, Receive, Reply, Send, Sent, Signal, Status,
};
use crate::json::Json;
use crate::limits;
use crate::names::{AgentId, StreamName};
use crate::numbers::WaitId;
use crate::page;
use crate::primitive::{self, Rules};
use crate::refusal::{OutOfRange, bad, fits, has_room, text_fits, within};
use crate::space::stamp::Stamp;
use crate::space::{Happening, ReplyPlan, Space};
use crate::waiting::wait::Left;

/// The outcome of a command.
type Decided = primitive::Decided<Event>;

/// The stream, as it is after the events.
fn stream(name: StreamName) -> ReplyPlan {
    ReplyPlan::after(move |space| {
        let shown = space.stream.shown(&name);
        Reply::Stream(shown.expect("only known streams are answered with"))
    })
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
        Ok(happening.take(decide(&space.stream, command, stamp)?))
    }

    fn expire(space: &Space, stamp: &Stamp) -> Vec<Event> {
        let table = &space.stream;
        let waits = table
            .wait_queues()
            .overdue(stamp.now)
            .map(|waiter| gave_up(table, waiter, Left::Timeout));
        waits.take(limits::EXPIRIES_PER_BATCH_MAX).collect()
    }

    fn give_up(space: &Space, wait: WaitId) -> Vec<Event> {
        let table = &space.stream;
        let waiter = table.wait_queues().get(wait);
        waiter.map(|waiter| gave_up(table, waiter, Left::Gone)).into_iter().collect()
    }

    fn let_go(space: &Space, agent: &AgentId, _stamp: &Stamp) -> Vec<Event> {
        let table = &space.stream;
        let waits = table.wait_queues().of_agent(agent);
        waits.map(|waiter| gave_up(table, waiter, Left::SessionEnded)).collect()
    }

    fn handle(space: &Space, signal: Signal, _stamp: &Stamp) -> Result<Vec<Event>, Rejection> {
        let Signal::Tell { stream } = signal;
        Ok(tell(&space.stream, &stream))
    }

    fn query(space: &Space, query: &Query) -> Option<Result<Reply, Rejection>> {
        Some(self::query(&space.stream, query))
    }

    fn ending(space: &Space, event: &Event) -> Result<Reply, Rejection> {
        ending(&space.stream, event)
    }
}

/// Decides a command against the current table.
fn decide(table: &Table, command: Command, stamp: &Stamp) -> Result<Decided, Rejection> {
    match command {
        Command::Create(create) => self::create(table, create),
        Command::Send(send) => self::send(table, send),
        Command::Receive(receive) => self::receive(table, receive, stamp),
        Command::Close { stream, reason } => close(table, stream, reason),
        Command::Delete { stream } => delete(table, &stream),
    }
}

fn create(table: &Table, command: Create) -> Result<Decided, Rejection> {
    let Create { stream, kept, frames_max, bytes_max } = command;
    let (usual, most) = (limits::STREAM_FRAMES_DEFAULT, limits::STREAM_FRAMES_MAX);
    let frames_max = within("frames_max", frames_max, usual, (1, most))?;
    let (usual, most) = (limits::STREAM_BYTES_DEFAULT, limits::STREAM_BYTES_MAX);
    let bytes_max = within("bytes_max", bytes_max, usual, (1, most))?;
    let kept = kept.unwrap_or(true);
    if let Some(present) = table.shown(&stream) {
        let is_alike = present.status == Status::Open
            && (present.kept, present.frames_max, present.bytes_max)
                == (kept, frames_max, bytes_max);
        // Creating the same stream again is a no-op.
        if is_alike {
            return Ok(Decided::new(Vec::new(), self::stream(stream)));
        }
        return Err(Rejection::Exists { stream: Box::new(present) });
    }
    has_room([("streams in this workspace", table.len(), limits::STREAMS_MAX)])?;
    let created = Event::Created { stream: stream.clone(), kept, frames_max, bytes_max };
    Ok(Decided::new(vec![created], self::stream(stream)))
}

fn send(table: &Table, command: Send) -> Result<Decided, Rejection> {
    let Send { stream: name, data, frames } = command;
    let frames: Vec<Json> = data.into_iter().chain(frames).collect();
    check_frames(&frames)?;
    let stream = known(table, &name)?;
    if stream.status == Status::Closed {
        let reason = stream.reason.clone();
        return Err(Rejection::Closed { stream: name, reason });
    }
    let bytes = ("bytes of streams in this workspace", table.bytes());
    has_room([(bytes.0, bytes.1, limits::STREAMS_BYTES_MAX)])?;
    let (count, live) = (frames.len() as u64, !stream.kept);
    let offset = stream.kept.then_some(stream.next);
    let next = stream.next + if live { 0 } else { count };
    let sent = Sent { stream: name.clone(), offset, frames: count, next };
    let event = Event::Sent { stream: name, offset, frames, live };
    Ok(Decided::reply(vec![event], Reply::Sent(sent)))
}

fn check_frames(frames: &[Json]) -> Result<(), Rejection> {
    let (count, max) = (frames.len(), limits::STREAM_FRAMES_AT_ONCE_MAX);
    if count == 0 || count > max {
        let reason = format!("send 1 to {max} frames at once, not {count}");
        return Err(bad("frames", reason).into());
    }
    let bytes: usize = frames.iter().map(|frame| frame.as_bytes().len()).sum();
    Ok(fits("frames", bytes, limits::VALUE_BYTES_MAX)?)
}

fn known<'a>(table: &'a Table, name: &StreamName) -> Result<&'a Record, Rejection> {
    table.get(name).ok_or_else(|| Rejection::NotFound { stream: name.clone() })
}

fn receive(table: &Table, command: Receive, stamp: &Stamp) -> Result<Decided, Rejection> {
    let Receive { stream: name, from, limit, wait_ms } = command;
    let wait_ms = within("wait_ms", wait_ms, 0, (0, limits::WAIT_MS_MAX))?;
    let limit = page::limit(limit)? as u64;
    let stream = known(table, &name)?;
    if !stream.kept {
        return Err(Rejection::NotKept { stream: name });
    }
    let from = from.unwrap_or(stream.first());
    if from < stream.first() {
        return Err(Rejection::OffsetGone { stream: name, from, first: stream.first() });
    }
    if from > stream.next {
        let (min, max) = (stream.first(), stream.next);
        return Err(OutOfRange { what: "from", given: from, min, max }.into());
    }
    let is_at_end = from == stream.next && stream.status == Status::Open;
    if !is_at_end || wait_ms == 0 {
        return Ok(Decided::reply(Vec::new(), Reply::Frames(stream.read(from, limit))));
    }
    let reader = stamp.agent.clone();
    let own = table.wait_queues().of_agent(&reader).count();
    has_room([
        ("calls of this agent that wait for streams", own, limits::READERS_PER_AGENT_MAX),
        (
            "calls that wait for this stream",
            table.wait_queues().of(&name).count(),
            limits::READERS_MAX,
        ),
        ("calls that wait for streams", table.wait_queues().all().len(), limits::WAITS_MAX),
    ])?;
    let (wait, until) = (stamp.wait(), stamp.now.after(wait_ms));
    let queued = Event::Queued { stream: name, reader, wait, from, limit, until };
    Ok(Decided::waits(queued))
}

fn close(table: &Table, name: StreamName, reason: Option<String>) -> Result<Decided, Rejection> {
    text_fits("reason", reason.as_ref(), limits::NOTE_BYTES_MAX)?;
    // Closing a closed stream again is a no-op.
    if known(table, &name)?.status == Status::Closed {
        return Ok(Decided::new(Vec::new(), stream(name)));
    }
    let closed = Event::Closed { stream: name.clone(), reason };
    Ok(Decided::new(vec![closed], stream(name)))
}

fn delete(table: &Table, name: &StreamName) -> Result<Decided, Rejection> {
    let missing = || Rejection::NotFound { stream: name.clone() };
    let shown = table.shown(name).ok_or_else(missing)?;
    // Waiting calls are answered before it is deleted.
    let waits = table.wait_queues().of(name).map(|waiter| delivered(table, waiter));
    let events = waits.chain([Event::Deleted { stream: name.clone() }]).collect();
    Ok(Decided::reply(events, Reply::Stream(shown)))
}

fn delivered(table: &Table, waiter: &Waiter) -> Event {
    let Want { from, limit } = table.want(waiter);
    Event::Told {
        stream: waiter.name.clone(),
        reader: waiter.wait.agent.clone(),
        wait: waiter.wait.id,
        from,
        limit,
    }
}

/// Answers the waiting calls that can be answered: there are more frames, or the stream was closed.
fn tell(table: &Table, name: &StreamName) -> Vec<Event> {
    let Some(stream) = table.get(name) else { return Vec::new() };
    let is_closed = stream.status == Status::Closed;
    let waits = table.wait_queues().of(name);
    let concerned = waits.filter(|waiter| is_closed || table.want(waiter).from < stream.next);
    concerned.map(|waiter| delivered(table, waiter)).collect()
}

fn gave_up(table: &Table, waiter: &Waiter, left: Left) -> Event {
    Event::GaveUp {
        stream: waiter.name.clone(),
        reader: waiter.wait.agent.clone(),
        wait: waiter.wait.id,
        from: table.want(waiter).from,
        left,
    }
}

/// The result of the waiting call that this event ends.
pub fn ending(table: &Table, event: &Event) -> Result<Reply, Rejection> {
    let (stream, from, limit) = match event {
        Event::Told { stream, from, limit, .. } => (stream, *from, *limit),
        Event::GaveUp { stream, reader, left: Left::SessionEnded, .. } => {
            let (stream, agent) = (stream.clone(), reader.clone());
            return Err(Rejection::SessionEnded { stream, agent });
        }
        Event::GaveUp { stream, from, .. } => (stream, *from, 0),
        Event::Created { .. }
        | Event::Sent { .. }
        | Event::Closed { .. }
        | Event::Deleted { .. }
        | Event::Queued { .. } => unreachable!("no call waits for it"),
    };
    let record = known(table, stream)?;
    // One commit may have appended more frames than are kept.
    if from < record.first() {
        let (stream, first) = (stream.clone(), record.first());
        return Err(Rejection::OffsetGone { stream, from, first });
    }
    Ok(Reply::Frames(record.read(from, limit)))
}

/// Answers a query.
pub fn query(table: &Table, query: &Query) -> Result<Reply, Rejection> {
    match query {
        Query::Get { stream } => {
            let missing = || Rejection::NotFound { stream: stream.clone() };
            Ok(Reply::Stream(table.shown(stream).ok_or_else(missing)?))
        }
        Query::List { limit, cursor } => {
            let limit = page::limit(*limit)?;
            let found = table.after(cursor.as_ref()).filter_map(|name| table.shown(name));
            let (streams, cursor) = page::first(found, limit, |last| last.name.clone());
            Ok(Reply::Streams { streams, cursor })
        }
    }
}
