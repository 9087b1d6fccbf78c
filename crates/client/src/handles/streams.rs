//! The streams of a workspace.

use baton_core::stream::{Command, Create, Frames, Query, Receive, Send, Sent, Stream};
use baton_core::{Json, Rejection, StreamName};
use serde::Serialize;

use crate::request::request;
use crate::{Error, Streams};

impl Streams {
    /// Creates a stream.
    pub fn create(&self, stream: &str) -> CreateStream {
        let create = StreamName::parse(stream).map_err(Into::into).map(|stream| {
            let (kept, frames_max, bytes_max) = (None, None, None);
            Create { stream, kept, frames_max, bytes_max }
        });
        CreateStream::new(&self.workspace, create)
    }

    /// Sends one frame.
    pub async fn send(&self, stream: &str, data: impl Serialize) -> Result<Sent, Error> {
        self.send_all(stream, &[data]).await
    }

    /// Sends several frames at once, in order.
    pub async fn send_all(&self, stream: &str, frames: &[impl Serialize]) -> Result<Sent, Error> {
        let stream = StreamName::parse(stream)?;
        let frames: Result<Vec<Json>, _> = frames.iter().map(Json::of).collect();
        let frames = frames.map_err(Rejection::from)?;
        self.workspace.run(Command::Send(Send { stream, data: None, frames })).await
    }

    /// Reads frames.
    pub fn receive(&self, stream: &str) -> ReadingFrames {
        let receive = StreamName::parse(stream).map_err(Into::into);
        let receive =
            receive.map(|stream| Receive { stream, from: None, limit: None, wait_ms: None });
        ReadingFrames::new(&self.workspace, receive)
    }

    /// Closes a stream: no more frames follow.
    pub async fn close(&self, stream: &str, reason: Option<&str>) -> Result<Stream, Error> {
        let (stream, reason) = (StreamName::parse(stream)?, reason.map(str::to_owned));
        self.workspace.run(Command::Close { stream, reason }).await
    }

    /// Deletes a stream with its frames. Returns it as it was.
    pub async fn delete(&self, stream: &str) -> Result<Stream, Error> {
        self.workspace.run(Command::Delete { stream: StreamName::parse(stream)? }).await
    }

    /// Reads a stream.
    pub async fn get(&self, stream: &str) -> Result<Stream, Error> {
        self.workspace.query(Query::Get { stream: StreamName::parse(stream)? }).await
    }

    /// Lists the streams, by name.
    pub async fn list(&self) -> Result<Vec<Stream>, Error> {
        self.workspace.pages(None, |cursor| Query::List { limit: None, cursor }).await
    }
}

request! {
    /// Creates a stream when it is awaited.
    CreateStream(Create) -> Stream: |workspace, create| workspace.run(Command::Create(create));
    /// Does not keep frames: they go to the present watchers of `streams/NAME`.
    live() |create| create.kept = Some(false);
    /// Limits how many frames are kept; the oldest are removed first.
    frames_max(count: u64) |create| create.frames_max = Some(count);
    /// Limits how many bytes of frames are kept; the oldest are removed first.
    bytes_max(bytes: u64) |create| create.bytes_max = Some(bytes);
}

request! {
    /// Reads frames when it is awaited.
    ReadingFrames(Receive) -> Frames: |workspace, receive| workspace.run(Command::Receive(receive));
    /// Starts at an offset, instead of at the oldest frame that is kept.
    from(offset: u64) |receive| receive.from = Some(offset);
    /// Limits how many frames are read.
    limit(count: u64) |receive| receive.limit = Some(count);
    /// Sets how long to wait at the end for more frames.
    wait_ms(milliseconds: u64) |receive| receive.wait_ms = Some(milliseconds);
}
