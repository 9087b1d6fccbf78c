//! Streams according to the log: their frames, and the calls that wait for more.
//!
//! Laws:
//!
//! 1. Frames have no gaps; the oldest are dropped beyond the limit, and never the newest.
//! 2. A call waits only at the end of an open stream; the batch that appends more, or closes it,
//!    answers all of them in order of arrival.
//! 3. A closed stream gets no more frames, and frames that are not kept are in no log.
//! 4. A reader gets the frames from its offset on, and the next offset.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use baton_core::stream::{
    Command, Create, Event, Frame, Frames, Query, Receive, Rejection, Reply, Status,
};
use baton_core::waiting::wait::Left;
use baton_core::{
    AgentId, Answer, Batch, Event as AnyEvent, Json, Rejection as AnyRejection, Reply as AnyReply,
    StreamName,
};

use crate::auditor::answers::DecidedRequest;
use crate::auditor::explain::BatchReader;
use crate::auditor::ledger::Ledger;
use crate::auditor::timeline::Timeline;
use crate::auditor::{Audit, Breach, demand};
use crate::coverage::Coverage;
use crate::models::wait::WaitEnd;

/// The default number of frames per read.
const PAGE_DEFAULT: u64 = 100;

/// A stream as it was.
#[derive(Clone, Debug)]
pub struct StreamModel {
    frames: Vec<(u64, Json)>,
    next: u64,
    is_closed: bool,
    is_kept: bool,
    frames_max: u64,
    bytes_max: u64,
}

impl StreamModel {
    fn first(&self) -> u64 {
        self.frames.first().map_or(self.next, |(offset, _)| *offset)
    }

    fn push(&mut self, frames: &[Json]) {
        for frame in frames {
            self.frames.push((self.next, frame.clone()));
            self.next += 1;
        }
        let bytes = |all: &[(u64, Json)]| -> u64 {
            all.iter().map(|(_, frame)| frame.as_bytes().len() as u64).sum()
        };
        while self.frames.len() > 1
            && (self.frames.len() as u64 > self.frames_max || bytes(&self.frames) > self.bytes_max)
        {
            self.frames.remove(0);
        }
    }
}

/// All streams of a workspace.
#[derive(Default)]
pub struct Streams {
    all: BTreeMap<StreamName, Timeline<Option<Arc<StreamModel>>>>,
    /// The waiting calls: the stream, and the offset.
    queue: BTreeMap<u64, (StreamName, u64)>,
    is_touched: bool,
}

impl Streams {
    fn at(&self, name: &StreamName, at: u64) -> Option<&StreamModel> {
        self.all.get(name)?.at(at)?.as_deref()
    }

    fn set(&mut self, name: &StreamName, batch: &Batch, model: Option<StreamModel>) {
        let timeline = self.all.entry(name.clone()).or_default();
        timeline.set(batch.revision.0, model.map(Arc::new));
    }
}

impl Ledger {
    /// Applies a durable event about streams.
    pub(crate) fn add_stream(
        &mut self,
        batch: &Batch,
        event: &Event,
        ended: &BTreeSet<AgentId>,
        coverage: &mut Coverage,
    ) -> Audit {
        self.streams.is_touched = true;
        let name = event.stream();
        let there = self.streams.at(name, u64::MAX).cloned();
        let known = || there.clone().ok_or_else(|| Breach(format!("there is no `{name}`")));
        match event {
            Event::Created { kept, frames_max, bytes_max, .. } => {
                demand!(there.is_none(), "`{name}` was there");
                let (is_closed, is_kept) = (false, *kept);
                let (frames_max, bytes_max) = (*frames_max, *bytes_max);
                let frames = Vec::new();
                let model =
                    StreamModel { frames, next: 0, is_closed, is_kept, frames_max, bytes_max };
                self.streams.set(name, batch, Some(model));
            }
            Event::Sent { offset, frames, live, .. } => {
                let mut model = known()?;
                demand!(!live && model.is_kept, "a live message is in the log");
                demand!(!model.is_closed, "`{name}` was closed");
                demand!(*offset == Some(model.next), "`{name}` continues at {offset:?}");
                model.push(frames);
                if model.first() > 0 {
                    coverage.met("stream: oldest dropped");
                }
                self.streams.set(name, batch, Some(model));
            }
            Event::Closed { .. } => {
                let model = known()?;
                demand!(!model.is_closed, "`{name}` was closed");
                coverage.met("stream: closed");
                self.streams.set(name, batch, Some(StreamModel { is_closed: true, ..model }));
            }
            Event::Deleted { .. } => {
                known()?;
                self.streams.set(name, batch, None);
            }
            Event::Queued { reader, wait, from, until, .. } => {
                let model = known()?;
                demand!(!model.is_closed && *from == model.next, "there was something to read");
                self.waits.begin(batch, reader, *wait, *until)?;
                self.streams.queue.insert(wait.0, (name.clone(), *from));
            }
            Event::Told { reader, wait, from, .. } => {
                let first = self.streams.queue.iter().find(|(_, (stream, _))| stream == name);
                let due = first.map(|(wait, (_, from))| (*wait, *from));
                demand!(due == Some((wait.0, *from)), "{due:?} must be answered first");
                self.waits.notified(batch, *wait, reader)?;
                self.streams.queue.remove(&wait.0);
                coverage.met("stream: waiting call answered");
            }
            Event::GaveUp { reader, wait, left, .. } => {
                coverage.left(*left);
                self.waits.left(batch, *wait, reader, *left, ended)?;
                self.streams.queue.remove(&wait.0);
            }
        }
        Ok(())
    }

    /// A batch is complete: no call waits for a frame that exists.
    pub(crate) fn check_streams(&mut self) -> Audit {
        if !std::mem::take(&mut self.streams.is_touched) {
            return Ok(());
        }
        for (wait, (name, from)) in &self.streams.queue {
            let model = self.streams.at(name, u64::MAX);
            let rests = model.is_some_and(|model| !model.is_closed && model.next == *from);
            demand!(rests, "call {wait} waits for `{name}` from {from}: {model:?}");
        }
        Ok(())
    }

    /// Checks that a read returns what the stream had.
    fn frames_shown(&self, receive: &Receive, shown: &Frames, at: u64) -> Audit {
        let Some(model) = self.streams.at(&receive.stream, at) else {
            return Err(Breach(format!("there is no `{}`", receive.stream)));
        };
        let from = receive.from.unwrap_or_else(|| model.first());
        let most = receive.limit.unwrap_or(PAGE_DEFAULT);
        let there = model.frames.iter().filter(|(offset, _)| *offset >= from);
        let there = there.take(usize::try_from(most).unwrap_or(usize::MAX));
        let there: Vec<Frame> =
            there.map(|(offset, data)| Frame { offset: *offset, data: data.clone() }).collect();
        let next = from + there.len() as u64;
        let is_end = model.is_closed && next == model.next;
        let status = if is_end { Status::Closed } else { Status::Open };
        let due = Frames { stream: receive.stream.clone(), frames: there, next, status };
        demand!(*shown == due, "{shown:?} is shown, it is {due:?}");
        Ok(())
    }

    /// Checks an accepted command without effect.
    pub(crate) fn stream_no_effect(&self, command: &Command, reply: &AnyReply, at: u64) -> Audit {
        match (command, reply) {
            (Command::Receive(receive), AnyReply::Stream(Reply::Frames(shown))) => {
                self.frames_shown(receive, shown, at)
            }
            (Command::Create(Create { stream, .. }), AnyReply::Stream(Reply::Stream(_))) => {
                demand!(self.streams.at(stream, at).is_some(), "`{stream}` was not there");
                Ok(())
            }
            (Command::Close { stream, .. }, AnyReply::Stream(Reply::Stream(_))) => {
                let closed = self.streams.at(stream, at).is_some_and(|model| model.is_closed);
                demand!(closed, "`{stream}` was not closed");
                Ok(())
            }
            (Command::Send(send), AnyReply::Stream(Reply::Sent(sent))) => {
                let kept = self.streams.at(&send.stream, at).is_some_and(|model| model.is_kept);
                demand!(!kept && sent.offset.is_none(), "frames of `{}` are kept", send.stream);
                Ok(())
            }
            (command, reply) => Err(Breach(format!("{command:?} was answered with {reply:?}"))),
        }
    }

    /// Checks the answer to a command with an effect.
    pub(crate) fn stream_reply(&self, command: &Command, reply: &Reply, at: u64) -> Audit {
        match (command, reply) {
            (Command::Send(send), Reply::Sent(sent)) => {
                let model = self.streams.at(&send.stream, at);
                demand!(
                    model.is_some_and(|model| model.next == sent.next),
                    "{sent:?}, not {model:?}"
                );
                Ok(())
            }
            (
                Command::Create(_) | Command::Close { .. } | Command::Delete { .. },
                Reply::Stream(_),
            ) => Ok(()),
            (command, reply) => Err(Breach(format!("{command:?} was answered with {reply:?}"))),
        }
    }

    /// Whether a stream existed.
    pub(crate) fn knows_stream(&self, stream: &StreamName, at: u64) -> bool {
        self.streams.at(stream, at).is_some()
    }

    /// Checks the answer to a query about streams.
    pub(crate) fn streams_shown(&self, query: &Query, reply: &Reply, at: u64) -> Audit {
        let (Query::Get { stream }, Reply::Stream(shown)) = (query, reply) else {
            return Err(Breach(format!("{query:?} was answered with {reply:?}")));
        };
        let model = self.streams.at(stream, at);
        let same = model.is_some_and(|model| {
            (model.first(), model.next, model.is_closed)
                == (shown.first, shown.next, shown.status == Status::Closed)
        });
        demand!(same, "{shown:?} is shown, it is {model:?}");
        Ok(())
    }

    /// Checks the answer to a call that waited for more.
    pub(crate) fn stream_wait_ended(
        &self,
        receive: &Receive,
        (revision, how): (u64, WaitEnd),
        outcome: &Result<Answer, AnyRejection>,
    ) -> Audit {
        let reply = outcome.as_ref().map(|answer| &answer.reply);
        match (how, reply) {
            (WaitEnd::Granted, Ok(AnyReply::Stream(Reply::Frames(shown)))) => {
                // A stream that was deleted in the same batch was returned as it was.
                let at = match self.streams.at(&receive.stream, revision) {
                    Some(_) => revision,
                    None => revision - 1,
                };
                self.frames_shown(receive, shown, at)
            }
            (
                WaitEnd::Granted,
                Err(AnyRejection::Stream(Rejection::OffsetGone { from, first, .. })),
            ) => {
                demand!(from < first, "{from} is not before {first}");
                Ok(())
            }
            (WaitEnd::Left(Left::Timeout), Ok(AnyReply::Stream(Reply::Frames(shown)))) => {
                demand!(shown.frames.is_empty(), "it waited although there was {shown:?}");
                Ok(())
            }
            (
                WaitEnd::Left(Left::SessionEnded),
                Err(AnyRejection::Stream(Rejection::SessionEnded { .. })),
            ) => Ok(()),
            (_, outcome) => Err(Breach(format!("the answer is {outcome:?}"))),
        }
    }

    /// Checks a refused command about streams.
    pub(crate) fn refused_stream(
        &self,
        asked: &DecidedRequest<'_>,
        rejection: &Rejection,
    ) -> Audit {
        let at = asked.decided_at;
        match rejection {
            Rejection::NotFound { stream } => {
                demand!(self.streams.at(stream, at).is_none(), "`{stream}` was there");
            }
            Rejection::Exists { stream } => {
                demand!(self.streams.at(&stream.name, at).is_some(), "there was no {stream:?}");
            }
            Rejection::Closed { stream, .. } => {
                let closed = self.streams.at(stream, at).is_some_and(|model| model.is_closed);
                demand!(closed, "`{stream}` was not closed");
            }
            Rejection::OffsetGone { stream, from, first } => {
                let there = self.streams.at(stream, at).map(StreamModel::first);
                demand!(there == Some(*first) && from < first, "`{stream}` begins at {there:?}");
            }
            Rejection::NotKept { stream } => {
                let kept = self.streams.at(stream, at).is_some_and(|model| model.is_kept);
                demand!(!kept, "frames of `{stream}` are kept");
            }
            // An offset of a stream that was created again is beyond its end.
            Rejection::OutOfRange(out) if out.what == "from" => {}
            other => {
                let code = other.code();
                return Err(Breach(format!("no request can cause `{code}`")));
            }
        }
        Ok(())
    }
}

impl BatchReader<'_> {
    /// The effects of a stream command.
    pub(crate) fn stream(&mut self, command: &Command) -> Audit {
        // Live frames are in no log.
        let Some(AnyEvent::Stream(event)) = self.peek() else { return Ok(()) };
        let same = match (command, event) {
            (Command::Create(create), Event::Created { stream, .. }) => create.stream == *stream,
            (Command::Send(send), Event::Sent { stream, frames, .. }) => {
                let sent = send.data.iter().chain(&send.frames);
                send.stream == *stream && sent.eq(frames)
            }
            (Command::Receive(receive), Event::Queued { stream, limit, .. }) => {
                receive.stream == *stream && receive.limit.unwrap_or(PAGE_DEFAULT) == *limit
            }
            (Command::Close { stream: asked, .. }, Event::Closed { stream, .. })
            | (
                Command::Delete { stream: asked },
                Event::Told { stream, .. } | Event::Deleted { stream },
            ) => asked == stream,
            _ => false,
        };
        demand!(same, "{command:?} became {event:?}");
        self.skip();
        while let Some(AnyEvent::Stream(Event::Told { .. } | Event::Deleted { .. })) = self.peek() {
            self.skip();
        }
        Ok(())
    }
}
