//! Streams of a workspace.

use std::future::IntoFuture;

use baton_core::stream::{
    Command, Create, Frames, Query, Receive, Reply as StreamReply, Send, Sent as Taken, Stream,
};
use baton_core::{Json, Rejection, Reply, StreamName};
use serde::Serialize;

use crate::carrier::{Carrier, Failure};
use crate::{Prepared, Sent, Workspace};

/// Streams of a workspace, as one agent sees them.
#[derive(Clone, Debug)]
pub struct Streams<C> {
    workspace: Workspace<C>,
}

impl<C: Carrier> Streams<C> {
    pub(crate) fn new(workspace: Workspace<C>) -> Self {
        Self { workspace }
    }

    /// Makes a stream. How much it keeps may follow before this is awaited.
    pub fn create(&self, stream: &str) -> CreateStream<C> {
        let create = StreamName::parse(stream).map_err(Into::into).map(|stream| Create {
            stream,
            kept: None,
            frames_max: None,
            bytes_max: None,
        });
        CreateStream { workspace: self.workspace.clone(), create }
    }

    /// Sends one frame.
    pub async fn send(&self, stream: &str, data: impl Serialize) -> Result<Taken, C::Error> {
        self.send_all(stream, &[data]).await
    }

    /// Sends several frames at once, in order.
    pub async fn send_all(
        &self,
        stream: &str,
        frames: &[impl Serialize],
    ) -> Result<Taken, C::Error> {
        let stream = StreamName::parse(stream)?;
        let frames: Result<Vec<Json>, _> = frames.iter().map(Json::of).collect();
        let frames = frames.map_err(Rejection::from)?;
        match self
            .workspace
            .execute(Command::Send(Send { stream, data: None, frames }))
            .await?
            .reply
        {
            Reply::Stream(StreamReply::Sent(sent)) => Ok(sent),
            reply => Err(C::Error::odd(&reply)),
        }
    }

    /// Reads frames. From where, how many, and how long to wait at the end may follow before this
    /// is awaited.
    pub fn receive(&self, stream: &str) -> ReadingFrames<C> {
        let receive = StreamName::parse(stream).map_err(Into::into).map(|stream| Receive {
            stream,
            from: None,
            limit: None,
            wait_ms: None,
        });
        ReadingFrames { workspace: self.workspace.clone(), receive }
    }

    /// Says that nothing comes any more.
    pub async fn close(&self, stream: &str, reason: Option<&str>) -> Result<Stream, C::Error> {
        let (stream, reason) = (StreamName::parse(stream)?, reason.map(str::to_owned));
        record(self.workspace.execute(Command::Close { stream, reason }).await?.reply)
    }

    /// Removes a stream with all that it holds; how it was.
    pub async fn delete(&self, stream: &str) -> Result<Stream, C::Error> {
        let command = Command::Delete { stream: StreamName::parse(stream)? };
        record(self.workspace.execute(command).await?.reply)
    }

    /// One of them.
    pub async fn get(&self, stream: &str) -> Result<Stream, C::Error> {
        let query = Query::Get { stream: StreamName::parse(stream)? };
        record(self.workspace.ask(query).await?.reply)
    }

    /// All of them, by name.
    pub async fn list(&self) -> Result<Vec<Stream>, C::Error> {
        let (mut all, mut cursor) = (Vec::new(), None);
        loop {
            match self.workspace.ask(Query::List { limit: None, cursor }).await?.reply {
                Reply::Stream(StreamReply::Streams { streams, cursor: next }) => {
                    all.extend(streams);
                    match next {
                        Some(next) => cursor = Some(next),
                        None => return Ok(all),
                    }
                }
                reply => return Err(C::Error::odd(&reply)),
            }
        }
    }
}

fn record<F: Failure>(reply: Reply) -> Result<Stream, F> {
    match reply {
        Reply::Stream(StreamReply::Stream(stream)) => Ok(stream),
        reply => Err(F::odd(&reply)),
    }
}

/// A stream that comes to be when this is awaited.
#[must_use = "nothing is created before this is awaited"]
pub struct CreateStream<C> {
    workspace: Workspace<C>,
    create: Prepared<Create>,
}

impl<C: Carrier> CreateStream<C> {
    /// Frames are not kept: they go to whoever watches `streams/NAME`.
    pub fn live(mut self) -> Self {
        self.create = self.create.map(|create| Create { kept: Some(false), ..create });
        self
    }

    /// How many frames are kept at most; the oldest go first.
    pub fn frames_max(mut self, count: u64) -> Self {
        self.create = self.create.map(|create| Create { frames_max: Some(count), ..create });
        self
    }

    /// How many bytes of frames are kept at most; the oldest go first.
    pub fn bytes_max(mut self, bytes: u64) -> Self {
        self.create = self.create.map(|create| Create { bytes_max: Some(bytes), ..create });
        self
    }
}

impl<C: Carrier> IntoFuture for CreateStream<C> {
    type Output = Result<Stream, C::Error>;
    type IntoFuture = Sent<Stream, C>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            record(self.workspace.execute(Command::Create(self.create?)).await?.reply)
        })
    }
}

/// Frames that are read when this is awaited.
#[must_use = "nothing is read before this is awaited"]
pub struct ReadingFrames<C> {
    workspace: Workspace<C>,
    receive: Prepared<Receive>,
}

impl<C: Carrier> ReadingFrames<C> {
    /// From which offset on; else from the first that is kept.
    pub fn from(mut self, offset: u64) -> Self {
        self.receive = self.receive.map(|receive| Receive { from: Some(offset), ..receive });
        self
    }

    /// How many at most.
    pub fn limit(mut self, count: u64) -> Self {
        self.receive = self.receive.map(|receive| Receive { limit: Some(count), ..receive });
        self
    }

    /// How long to wait at the end for more.
    pub fn wait_ms(mut self, milliseconds: u64) -> Self {
        let wait_ms = Some(milliseconds);
        self.receive = self.receive.map(|receive| Receive { wait_ms, ..receive });
        self
    }
}

impl<C: Carrier> IntoFuture for ReadingFrames<C> {
    type Output = Result<Frames, C::Error>;
    type IntoFuture = Sent<Frames, C>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            match self.workspace.execute(Command::Receive(self.receive?)).await?.reply {
                Reply::Stream(StreamReply::Frames(frames)) => Ok(frames),
                reply => Err(C::Error::odd(&reply)),
            }
        })
    }
}
