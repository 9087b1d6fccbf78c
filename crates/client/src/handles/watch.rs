//! Watches of a workspace.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use baton_core::{Entry, Notice, Pattern, Rejection, Revision, wire};
use futures_core::Stream;

use crate::request::request;
use crate::{Error, Workspace};

/// An item of a watch.
#[derive(Clone, Debug)]
pub enum Item {
    /// The entries at the start of the watch.
    Snapshot {
        /// Their revision; the events after it follow.
        revision: Revision,
        /// The entries that match.
        entries: Vec<Entry>,
    },
    /// An event.
    Event(Arc<Notice>),
}

/// The events of a workspace, in order, without gaps or duplicates.
///
/// A watch ends with an error if it cannot continue: it fell behind, the engine or the client was
/// closed, or the events are no longer kept. The error contains the revision to
/// [resume](Error::resume_from) from, if that is possible. Over a connection a watch survives
/// reconnects.
pub struct Watch(Box<dyn WatchStream>);

/// The source of a [`Watch`].
pub trait WatchStream: Stream<Item = Result<Item, Error>> + Send + Unpin {
    /// See [`Watch::resume_from`].
    fn resume_from(&self) -> Revision;
}

impl Watch {
    /// A watch over any source, for carriers.
    pub fn new(stream: impl WatchStream + 'static) -> Self {
        Self(Box::new(stream))
    }

    /// The next item; none when the watch has ended.
    pub async fn next(&mut self) -> Option<Result<Item, Error>> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// The revision to watch from, in order to miss nothing and see nothing twice, if this watch is
    /// dropped now. A commit that was delivered in part counts as not delivered.
    pub fn resume_from(&self) -> Revision {
        self.0.resume_from()
    }
}

impl Stream for Watch {
    type Item = Result<Item, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Pin::new(&mut *self.0).poll_next(context)
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Watch(from {})", self.resume_from())
    }
}

impl Watching {
    pub(crate) fn of(workspace: &Workspace, pattern: &str) -> Self {
        let pattern = Pattern::parse(pattern).map_err(Rejection::from);
        let request = pattern.map(|pattern| wire::Watch {
            pattern,
            types: Vec::new(),
            from: None,
            snapshot: false,
            waits: false,
        });
        Self::new(workspace, request)
    }
}

request! {
    /// Starts a watch when it is awaited.
    Watching(wire::Watch) -> Watch: |workspace, watch|
        workspace.carrier.watch(&workspace.caller, watch);
    /// Only events whose type matches, such as `state.set` or `task.*`; repeatable.
    kind(kind: &str) |watch| watch.types.push(Pattern::parse(kind)?);
    /// Starts at a revision, a past one or the next, instead of now.
    from(revision: impl Into<Revision>) |watch| watch.from = Some(revision.into());
    /// Starts with the entries that match, at an exact revision; the events after it follow.
    with_snapshot() |watch| watch.snapshot = true;
    /// Also the events that are only about waiting calls, such as `lock.queued`.
    with_waits() |watch| watch.waits = true;
}
