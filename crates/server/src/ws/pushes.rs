//! The watches of one connection.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use baton::{Error, Item, Watch};
use futures_util::Stream;
use futures_util::stream::SelectAll;

use crate::shared::Watching;
use crate::shares::Portion;

/// What a watch brings.
pub(crate) struct Push {
    /// Which watch: the number of the request that began it.
    pub(crate) watch: u64,
    /// What it brings, or how it ends.
    pub(crate) item: Result<Item, Error>,
    /// Whether it is the last of its commit.
    pub(crate) is_last: bool,
}

/// One watch. It lets go of its place when it ends, whichever way.
pub(crate) struct Pushing {
    watch: u64,
    stream: Option<(Watch, Watching)>,
    waker: Option<Waker>,
    /// Its place in the line of the workspace, if that has had its share.
    line: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl Pushing {
    fn end(&mut self) {
        (self.stream, self.line) = (None, None);
    }
}

/// What is left for one watch. While only one workspace is served, all is.
fn poll_portion(
    line: &mut Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    place: &Watching,
    context: &mut Context<'_>,
) -> Poll<Portion> {
    let shares = &place.shared().shares;
    if line.is_none() && !shares.is_crowded() {
        return Poll::Ready(Portion::ALL);
    }
    let mut has_waited = false;
    loop {
        if let Some(waits) = line {
            ready!(waits.as_mut().poll(context));
            (*line, has_waited) = (None, true);
        }
        let portion = shares.portion_to_watch(&place.workspace, has_waited);
        if !portion.is_spent() {
            return Poll::Ready(portion);
        }
        let (shared, workspace) = (Arc::clone(place.shared()), place.workspace.clone());
        *line = Some(Box::pin(async move { shared.shares.turn(&workspace).await }));
    }
}

impl Stream for Pushing {
    type Item = Push;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Push>> {
        let Self { watch, stream, line, waker } = &mut *self;
        let watch = *watch;
        let Some((stream, place)) = stream else { return Poll::Ready(None) };
        let Poll::Ready(mut portion) = poll_portion(line, place, context) else {
            *waker = Some(context.waker().clone());
            return Poll::Pending;
        };
        let next = Pin::new(&mut *stream).poll_next(context);
        if next.is_ready() {
            portion.take(0);
        }
        place.shared().shares.took(&place.workspace, portion);
        match next {
            Poll::Pending => {
                *waker = Some(context.waker().clone());
                Poll::Pending
            }
            Poll::Ready(None) => {
                self.end();
                Poll::Ready(None)
            }
            Poll::Ready(Some(item)) => {
                let is_last = match &item {
                    Ok(Item::Event(notice)) => {
                        notice.is_live() || stream.resume_from() > notice.revision()
                    }
                    Ok(Item::Snapshot { .. }) | Err(_) => true,
                };
                if item.is_err() {
                    self.end();
                }
                Poll::Ready(Some(Push { watch, item, is_last }))
            }
        }
    }
}

/// The watches of one connection. Most have none, many have one, and few have more: the first is
/// asked itself, and of the others only those that have something.
#[derive(Default)]
pub(crate) struct Pushes {
    // In boxes, so that ten thousand connections that watch nothing cost little.
    first: Option<Box<Pushing>>,
    others: Option<Box<SelectAll<Pushing>>>,
    count: usize,
    /// The first had something last: the others are asked before it.
    others_next: bool,
}

impl Pushes {
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Whether there is a watch of this number.
    pub(crate) fn has(&self, watch: u64) -> bool {
        let others = self.others.iter().flat_map(|others| others.iter());
        let mut all = self.first.as_deref().into_iter().chain(others);
        all.any(|pushing| pushing.watch == watch && pushing.stream.is_some())
    }

    /// Adds a watch, whose place was taken.
    pub(crate) fn add(&mut self, watch: u64, stream: Watch, place: Watching) {
        let pushing = Pushing { watch, stream: Some((stream, place)), waker: None, line: None };
        if self.first.is_none() {
            self.first = Some(Box::new(pushing));
        } else {
            self.others.get_or_insert_default().push(pushing);
        }
        self.count += 1;
    }

    /// Ends a watch; whether there was one.
    pub(crate) fn end(&mut self, watch: u64) -> bool {
        if self.first.as_ref().is_some_and(|first| first.watch == watch) {
            self.first = None;
            self.count -= 1;
            return true;
        }
        let Some(others) = &mut self.others else { return false };
        let mut all = others.iter_mut();
        let Some(pushing) = all.find(|one| one.watch == watch && one.stream.is_some()) else {
            return false;
        };
        pushing.end();
        // So that it is looked at once more, and taken off the list.
        if let Some(waker) = pushing.waker.take() {
            waker.wake();
        }
        self.count -= 1;
        true
    }

    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Push> {
        let others_first = std::mem::take(&mut self.others_next);
        if others_first && let Poll::Ready(push) = self.poll_others(context) {
            return Poll::Ready(push);
        }
        if let Poll::Ready(push) = self.poll_first(context) {
            self.others_next = true;
            return Poll::Ready(push);
        }
        if others_first { Poll::Pending } else { self.poll_others(context) }
    }

    fn poll_first(&mut self, context: &mut Context<'_>) -> Poll<Push> {
        let Some(first) = &mut self.first else { return Poll::Pending };
        match Pin::new(&mut **first).poll_next(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(push) => {
                if push.as_ref().is_none_or(|push| push.item.is_err()) {
                    self.first = None;
                    self.count -= 1;
                }
                push.map_or(Poll::Pending, Poll::Ready)
            }
        }
    }

    fn poll_others(&mut self, context: &mut Context<'_>) -> Poll<Push> {
        let Some(others) = &mut self.others else { return Poll::Pending };
        match Pin::new(&mut **others).poll_next(context) {
            Poll::Ready(Some(push)) => {
                if push.item.is_err() {
                    self.count -= 1;
                }
                Poll::Ready(push)
            }
            // Empty: it is polled again when a watch was added.
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        }
    }
}
