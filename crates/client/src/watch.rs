//! A watch that outlives the connection.

use std::pin::Pin;
use std::task::{Context, Poll};

use baton_core::Revision;
use baton_handle::Item;
use futures_core::Stream;

use crate::client::Client;
use crate::error::Error;

/// Events of a workspace, in order, without gap or duplicate, over as many connections as it
/// takes.
///
/// It ends with an error when it cannot be resumed: when what it would need is no longer kept
/// (`history.gone`), when the client is closed, or, if
/// [`resume_watches`](crate::Options::resume_watches) is off, when the server ends it. Such an
/// error may say from where to [resume](Error::resume_from).
pub struct Watch {
    client: Client,
    number: u64,
}

impl Watch {
    pub(crate) fn new(client: Client, number: u64) -> Self {
        Self { client, number }
    }

    /// The next item; none when the watch has ended.
    pub async fn next(&mut self) -> Option<Result<Item, Error>> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// The revision to watch from in order to miss nothing and see nothing twice, if this watch
    /// is dropped now. A commit that was delivered in part counts as not delivered.
    pub fn resume_from(&self) -> Revision {
        self.client.multiplexer().resume_from(self.number)
    }
}

impl Stream for Watch {
    type Item = Result<Item, Error>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.client.multiplexer().poll_watch(self.number, context.waker())
    }
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Watch(from {})", self.resume_from())
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.client.multiplexer().leave_watch(self.number);
    }
}
