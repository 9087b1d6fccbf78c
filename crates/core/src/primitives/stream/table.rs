//! The table of streams.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::vocabulary::{Event, Frame, Frames, Status, Stream};
use crate::json::Json;
use crate::limits;
use crate::names::{AgentId, StreamName};
use crate::numbers::WaitId;
use crate::primitive;
use crate::space::batch::Moment;
use crate::time::Timestamp;
use crate::waiting::wait::Wait;
use crate::waiting::wait_queue::{self, WaitQueues};

/// A call that waits for more of a stream.
pub type Waiter = wait_queue::Waiter<StreamName>;

/// The frames that a waiting call waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Want {
    /// The offset to read from.
    pub from: u64,
    /// The maximum number of frames.
    pub limit: u64,
}

/// One stream. A snapshot shares its frames.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    name: StreamName,
    /// Whether it is open.
    pub status: Status,
    /// Why it was closed.
    pub reason: Option<String>,
    /// Whether frames are kept.
    pub kept: bool,
    /// The offset of the next frame.
    pub next: u64,
    frames: VecDeque<Arc<Json>>,
    bytes: usize,
    frames_max: u64,
    bytes_max: u64,
    created_by: AgentId,
    created_at: Timestamp,
    updated_at: Timestamp,
}

/// Everything about streams that a snapshot holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Every stream, by name.
    pub records: Vec<Record>,
    /// The waiting calls, in order of arrival.
    pub waits: Vec<(Waiter, Want)>,
}

/// All streams of a workspace. Changes only by `Table::evolve` and `Table::undo`.
#[derive(Default)]
pub struct Table {
    streams: BTreeMap<StreamName, Record>,
    bytes: usize,
    wait_queues: WaitQueues<StreamName>,
    wants: BTreeMap<WaitId, Want>,
}

/// How to undo one change.
pub enum Undo {
    /// A stream was created.
    Created(StreamName),
    /// Frames were appended, and others dropped in exchange.
    Sent {
        /// The stream.
        stream: StreamName,
        /// How many were appended.
        added: usize,
        /// The dropped frames.
        dropped: Vec<Arc<Json>>,
        /// The time of the previous change.
        updated_at: Timestamp,
    },
    /// A stream was closed.
    Closed {
        /// The stream.
        stream: StreamName,
        /// The time of the previous change.
        updated_at: Timestamp,
    },
    /// A stream was deleted.
    Deleted(Box<Record>),
    /// A call started or stopped waiting: the previous state.
    Wait(WaitId, Option<(Waiter, Want)>),
    /// Nothing changed.
    Nothing,
}

impl Record {
    /// The first offset that is kept.
    pub fn first(&self) -> u64 {
        self.next - self.frames.len() as u64
    }

    /// Frames from this offset on.
    pub fn read(&self, from: u64, limit: u64) -> Frames {
        let skipped = usize::try_from(from - self.first()).expect("frames are in memory");
        let most = usize::try_from(limit).expect("pages are small");
        let mut bytes = 0;
        let there = self.frames.iter().skip(skipped).take(most).take_while(|data| {
            let is_first = bytes == 0;
            bytes += data.as_bytes().len();
            is_first || bytes <= limits::PAGE_BYTES_MAX
        });
        let frames: Vec<Frame> = (from..)
            .zip(there)
            .map(|(offset, data)| Frame { offset, data: Json::clone(data) })
            .collect();
        let next = from + frames.len() as u64;
        // A reader that has not read all frames has not reached the end.
        let status = if next < self.next { Status::Open } else { self.status };
        Frames { stream: self.name.clone(), frames, next, status }
    }
}

impl primitive::Table for Table {
    type Event = Event;
    type Undo = Undo;
    type Facts = Facts;

    fn evolve(&mut self, event: &Event, moment: &Moment<'_>) -> Undo {
        match event {
            Event::Created { stream, kept, frames_max, bytes_max } => {
                let record = Record {
                    name: stream.clone(),
                    status: Status::Open,
                    reason: None,
                    kept: *kept,
                    next: 0,
                    frames: VecDeque::new(),
                    bytes: 0,
                    frames_max: *frames_max,
                    bytes_max: *bytes_max,
                    created_by: moment.agent.clone(),
                    created_at: moment.time,
                    updated_at: moment.time,
                };
                self.streams.insert(stream.clone(), record);
                Undo::Created(stream.clone())
            }
            Event::Sent { stream, frames, .. } => self.append(stream, frames, moment.time),
            Event::Closed { stream, reason } => {
                let record = self.record(stream);
                let updated_at = std::mem::replace(&mut record.updated_at, moment.time);
                (record.status, record.reason) = (Status::Closed, reason.clone());
                Undo::Closed { stream: stream.clone(), updated_at }
            }
            Event::Deleted { stream } => {
                let Some(record) = self.streams.remove(stream) else { return Undo::Nothing };
                self.bytes -= record.bytes;
                Undo::Deleted(Box::new(record))
            }
            Event::Queued { stream, reader, wait, from, limit, until } => {
                let (agent, since, until) = (reader.clone(), moment.time, *until);
                let there = Wait { id: *wait, agent, since, until };
                let waiter = Waiter::new(stream.clone(), there, 0);
                let want = Want { from: *from, limit: *limit };
                Undo::Wait(*wait, self.replace_wait(*wait, Some((waiter, want))))
            }
            Event::Told { wait, .. } | Event::GaveUp { wait, .. } => {
                Undo::Wait(*wait, self.replace_wait(*wait, None))
            }
        }
    }

    fn undo(&mut self, undo: Undo) {
        match undo {
            Undo::Created(stream) => drop(self.streams.remove(&stream)),
            Undo::Sent { stream, added, dropped, updated_at } => {
                let record = self.record(&stream);
                let before = record.bytes;
                for frame in dropped.into_iter().rev() {
                    record.frames.push_front(frame);
                }
                record.frames.truncate(record.frames.len() - added);
                record.bytes = record.frames.iter().map(|frame| frame.as_bytes().len()).sum();
                record.next -= added as u64;
                record.updated_at = updated_at;
                self.bytes = self.bytes - before + self.streams[&stream].bytes;
            }
            Undo::Closed { stream, updated_at } => {
                let record = self.record(&stream);
                (record.status, record.reason) = (Status::Open, None);
                record.updated_at = updated_at;
            }
            Undo::Deleted(record) => {
                self.bytes += record.bytes;
                self.streams.insert(record.name.clone(), *record);
            }
            Undo::Wait(id, before) => drop(self.replace_wait(id, before)),
            Undo::Nothing => {}
        }
    }

    fn facts(&self) -> Facts {
        let records = self.streams.values().cloned().collect();
        let waits = self.wait_queues.all().map(|waiter| (waiter.clone(), self.want(waiter)));
        Facts { records, waits: waits.collect() }
    }

    fn restore(Facts { records, waits }: Facts) -> Self {
        let mut table = Self::default();
        for record in records {
            table.bytes += record.bytes;
            table.streams.insert(record.name.clone(), record);
        }
        for (waiter, want) in waits {
            table.replace_wait(waiter.wait.id, Some((waiter, want)));
        }
        table
    }

    fn check(&self) {
        self.wait_queues.check();
        let mut all = 0;
        for (name, record) in &self.streams {
            let bytes: usize = record.frames.iter().map(|frame| frame.as_bytes().len()).sum();
            assert_eq!(record.bytes, bytes, "the bytes of `{name}` are counted");
            assert!(record.frames.len() as u64 <= record.next, "offsets of `{name}` only grow");
            all += bytes;
        }
        assert_eq!(self.bytes, all, "the bytes of all streams are counted");
        for waiter in self.wait_queues.all() {
            let record =
                self.streams.get(&waiter.name).expect("no call waits for a deleted stream");
            assert_eq!(record.status, Status::Open, "no call waits for a closed stream");
            assert_eq!(self.want(waiter).from, record.next, "no call waits for available frames");
        }
    }

    fn next_deadline(&self) -> Option<Timestamp> {
        self.wait_queues.next_end()
    }

    fn wait_ids(&self) -> impl Iterator<Item = WaitId> {
        self.wait_queues.all().map(|waiter| waiter.wait.id)
    }

    fn caller(&self, wait: WaitId) -> Option<&AgentId> {
        self.wait_queues.caller(wait)
    }

    fn has_caller(&self, agent: &AgentId) -> bool {
        self.wait_queues.has_caller(agent)
    }
}

impl Table {
    fn replace_wait(
        &mut self,
        id: WaitId,
        after: Option<(Waiter, Want)>,
    ) -> Option<(Waiter, Want)> {
        let want = self.wants.remove(&id);
        let waiter = match after {
            Some((waiter, want)) => {
                self.wants.insert(id, want);
                self.wait_queues.replace(id, Some(waiter))
            }
            None => self.wait_queues.replace(id, None),
        };
        waiter.zip(want)
    }

    fn record(&mut self, stream: &StreamName) -> &mut Record {
        self.streams.get_mut(stream).expect("only a known stream changes")
    }

    fn append(&mut self, stream: &StreamName, frames: &[Json], at: Timestamp) -> Undo {
        let record = self.record(stream);
        let updated_at = std::mem::replace(&mut record.updated_at, at);
        let (before, mut dropped) = (record.bytes, Vec::new());
        for frame in frames {
            record.bytes += frame.as_bytes().len();
            record.frames.push_back(Arc::new(frame.clone()));
            record.next += 1;
        }
        // The newest frame is kept, whatever its size.
        while record.frames.len() > 1
            && (record.frames.len() as u64 > record.frames_max
                || record.bytes as u64 > record.bytes_max)
        {
            #[cfg(feature = "planted")]
            if crate::planted::is("stream.drops_the_newest") {
                let gone = record.frames.pop_back().expect("there is more than one");
                record.bytes -= gone.as_bytes().len();
                record.next -= 1;
                continue;
            }
            let gone = record.frames.pop_front().expect("there is more than one");
            record.bytes -= gone.as_bytes().len();
            dropped.push(gone);
        }
        self.bytes = self.bytes - before + self.streams[stream].bytes;
        Undo::Sent { stream: stream.clone(), added: frames.len(), dropped, updated_at }
    }

    /// The frames that a waiting call waits for.
    pub fn want(&self, waiter: &Waiter) -> Want {
        self.wants[&waiter.wait.id]
    }

    /// A stream.
    pub fn get(&self, name: &StreamName) -> Option<&Record> {
        self.streams.get(name)
    }

    /// A stream as callers see it.
    pub fn shown(&self, name: &StreamName) -> Option<Stream> {
        let record = self.streams.get(name)?;
        Some(Stream {
            name: name.clone(),
            status: record.status,
            reason: record.reason.clone(),
            kept: record.kept,
            first: record.first(),
            next: record.next,
            bytes: record.bytes as u64,
            frames_max: record.frames_max,
            bytes_max: record.bytes_max,
            created_by: record.created_by.clone(),
            created_at: record.created_at,
            updated_at: record.updated_at,
            readers_waiting: self.wait_queues.of(name).count() as u64,
        })
    }

    /// Names of streams, after this one.
    pub fn after(&self, cursor: Option<&StreamName>) -> impl Iterator<Item = &StreamName> {
        let from = cursor.map_or(Bound::Unbounded, Bound::Excluded);
        self.streams.range::<StreamName, _>((from, Bound::Unbounded)).map(|(name, _)| name)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.streams.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.streams.is_empty()
    }

    /// The size of all kept frames in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The waiting calls.
    pub fn wait_queues(&self) -> &WaitQueues<StreamName> {
        &self.wait_queues
    }
}
