//! A watch that survives reconnects.

use std::pin::Pin;
use std::task::{Context, Poll};

use baton_core::Revision;
use futures_core::Stream;

use crate::net::client::Client;
use crate::{Error, Item, WatchStream};

/// A watch over as many connections as it takes.
///
/// It ends with an error when it cannot be resumed: when the events are no longer kept
/// (`history.gone`), when the client is closed, or, if
/// [`resume_watches`](crate::Options::resume_watches) is off, when the server ends it.
pub(crate) struct RemoteWatch {
    client: Client,
    number: u64,
}

impl RemoteWatch {
    pub(crate) fn new(client: Client, number: u64) -> Self {
        Self { client, number }
    }
}

impl WatchStream for RemoteWatch {
    fn resume_from(&self) -> Revision {
        self.client.multiplexer().resume_from(self.number)
    }
}

impl Stream for RemoteWatch {
    type Item = Result<Item, Error>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.client.multiplexer().poll_watch(self.number, context.waker())
    }
}

impl Drop for RemoteWatch {
    fn drop(&mut self) {
        self.client.multiplexer().leave_watch(self.number);
    }
}
