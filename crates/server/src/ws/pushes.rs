//! The watches of one connection.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use baton::error::Error;
use baton::{EngineWatch, Item};
use futures_util::Stream;
use futures_util::stream::SelectAll;

use crate::fairness::Budget;
use crate::shared::WatchSlot;

/// An item of a watch.
pub(crate) struct Push {
    /// The watch: the id of the request that started it.
    pub(crate) watch: u64,
    /// The item, or how it ends.
    pub(crate) item: Result<Item, Error>,
    /// Whether it is the last of its commit.
    pub(crate) is_last: bool,
}

/// One watch. It releases its slot when it ends, for whatever reason.
pub(crate) struct Subscription {
    watch: u64,
    stream: Option<(EngineWatch, WatchSlot)>,
    waker: Option<Waker>,
    /// Its position in the queue of the workspace, if that has used its quantum.
    queued: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl Subscription {
    fn end(&mut self) {
        (self.stream, self.queued) = (None, None);
    }
}

/// The budget of one watch; unlimited while only one workspace is active.
fn poll_budget(
    queued: &mut Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    slot: &WatchSlot,
    context: &mut Context<'_>,
) -> Poll<Budget> {
    let fairness = &slot.shared().fairness;
    if queued.is_none() && !fairness.is_contended() {
        return Poll::Ready(Budget::ALL);
    }
    let mut has_waited = false;
    loop {
        if let Some(waits) = queued {
            ready!(waits.as_mut().poll(context));
            (*queued, has_waited) = (None, true);
        }
        let budget = fairness.budget_to_watch(&slot.workspace, has_waited);
        if !budget.is_spent() {
            return Poll::Ready(budget);
        }
        let (shared, workspace) = (Arc::clone(slot.shared()), slot.workspace.clone());
        *queued = Some(Box::pin(async move { shared.fairness.wait_turn(&workspace).await }));
    }
}

impl Stream for Subscription {
    type Item = Push;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Push>> {
        let Self { watch, stream, queued, waker } = &mut *self;
        let watch = *watch;
        let Some((stream, slot)) = stream else { return Poll::Ready(None) };
        let Poll::Ready(mut budget) = poll_budget(queued, slot, context) else {
            *waker = Some(context.waker().clone());
            return Poll::Pending;
        };
        let next = Pin::new(&mut *stream).poll_next(context);
        if next.is_ready() {
            budget.spend(0);
        }
        slot.shared().fairness.charge(&slot.workspace, budget);
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
/// polled directly, and of the others only those that were woken.
#[derive(Default)]
pub(crate) struct Pushes {
    // Boxed, so that ten thousand connections without watches cost little.
    first: Option<Box<Subscription>>,
    others: Option<Box<SelectAll<Subscription>>>,
    count: usize,
    /// The first had an item last: the others are polled before it.
    others_next: bool,
}

impl Pushes {
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Whether there is a watch with this id.
    pub(crate) fn has(&self, watch: u64) -> bool {
        let others = self.others.iter().flat_map(|others| others.iter());
        let mut all = self.first.as_deref().into_iter().chain(others);
        all.any(|subscription| subscription.watch == watch && subscription.stream.is_some())
    }

    /// Adds a watch, whose slot was taken.
    pub(crate) fn add(&mut self, watch: u64, stream: EngineWatch, slot: WatchSlot) {
        let subscription =
            Subscription { watch, stream: Some((stream, slot)), waker: None, queued: None };
        if self.first.is_none() {
            self.first = Some(Box::new(subscription));
        } else {
            self.others.get_or_insert_default().push(subscription);
        }
        self.count += 1;
    }

    /// Ends a watch; returns whether it existed.
    pub(crate) fn end(&mut self, watch: u64) -> bool {
        if self.first.as_ref().is_some_and(|first| first.watch == watch) {
            self.first = None;
            self.count -= 1;
            return true;
        }
        let Some(others) = &mut self.others else { return false };
        let mut all = others.iter_mut();
        let Some(subscription) = all.find(|one| one.watch == watch && one.stream.is_some()) else {
            return false;
        };
        subscription.end();
        // So that it is polled once more, and removed from the list.
        if let Some(waker) = subscription.waker.take() {
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
