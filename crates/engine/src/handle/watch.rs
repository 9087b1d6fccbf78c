//! Watching a workspace.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use baton_client::Item;
use baton_core::{Entry, Revision, WorkspaceName, wire};
use futures_core::Stream;

use super::Baton;
use crate::error::Error;
use crate::oneshot::run_blocking;
use crate::watch::{Arrival, Filter, Notices, Queue};

/// How much history is read at a time while a watch catches up.
const CATCH_UP_BYTES: usize = 64 << 10;

/// The events of a workspace, in order, without gaps or duplicates: a watch with the errors of the
/// engine, for programs that serve watches to others.
///
/// It ends with an error that contains the revision to resume from: when it fell too far behind, or
/// when the engine had to drop the workspace after a failed write.
pub struct EngineWatch {
    baton: Baton,
    workspace: WorkspaceName,
    queue: Arc<Queue>,
    /// The first revision that has not been delivered.
    next: Revision,
    /// Newer events arrive in the queue; older ones are read from the history.
    registered: Revision,
    ready: VecDeque<Item>,
    ended: bool,
}

impl EngineWatch {
    pub(super) async fn begin(
        baton: &Baton,
        workspace: &WorkspaceName,
        request: wire::Watch,
    ) -> Result<Self, Error> {
        // The events before a snapshot are not delivered: a caller that asks for them must not
        // believe that it has them.
        if request.snapshot && request.from.is_some() {
            let reason = "with `snapshot`, a watch starts after its snapshot";
            return Err(Error::TwoStarts { field: "from", reason });
        }
        let filter =
            Filter { pattern: request.pattern, kinds: request.types, waits: request.waits };
        let driver = &*baton.driver;
        let held = loop {
            driver.shard.check_serving()?;
            match driver.shard.watch(workspace, &filter) {
                Some(held) => break held,
                None => driver.ensure_loaded(workspace).await?,
            }
        };
        let durable = driver.wait_durable(held.group()).await?;
        let (queue, registered) = held.open(durable);
        driver.wait_settled(workspace).await;
        let mut watch = Self {
            baton: baton.clone(),
            workspace: workspace.clone(),
            queue,
            next: registered.next(),
            registered,
            ready: VecDeque::new(),
            ended: false,
        };
        if request.snapshot {
            let pattern = watch.queue.filter().pattern.clone();
            let (aside, name) = (Arc::clone(&baton.driver), workspace.clone());
            let held = run_blocking(move || aside.shard.matching(&name, &pattern)).await??;
            // The jobs that waited for that are done now.
            driver.notify_sync();
            let durable = driver.wait_durable(held.group()).await?;
            let (entries, revision) = held.open(durable);
            watch.next = revision.next();
            watch.ready.push_back(Item::Snapshot { revision, entries });
        } else if let Some(from) = request.from {
            let past = driver.shard.past(workspace, registered)?;
            // A watch from a revision that has not happened would silently miss what happens
            // until then.
            let before = Revision(from.0.saturating_sub(1));
            if before > registered {
                let (workspace, newest) = (workspace.clone(), registered);
                return Err(Error::NotYet { workspace, asked: from, newest });
            }
            past.check_events_from(from)?;
            watch.next = from.max(Revision(1));
        }
        Ok(watch)
    }

    /// The next item; none when the watch has ended.
    pub async fn next(&mut self) -> Option<Result<Item, Error>> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// Takes out the snapshot that the watch starts with, if it is still to come. For a program
    /// that encodes it elsewhere.
    pub fn take_snapshot(&mut self) -> Option<(Revision, Vec<Entry>)> {
        match self.ready.pop_front()? {
            Item::Snapshot { revision, entries } => Some((revision, entries)),
            event @ Item::Event(_) => {
                self.ready.push_front(event);
                None
            }
        }
    }

    /// The newest revision when the watch started.
    pub fn begun_at(&self) -> Revision {
        self.registered
    }

    /// The revision to watch from to miss nothing and see nothing twice, if this watch is dropped
    /// now. A partly delivered commit counts as not delivered.
    pub fn resume_from(&self) -> Revision {
        match self.ready.front() {
            Some(Item::Event(notice)) => notice.resume_from(),
            Some(Item::Snapshot { revision, .. }) => *revision,
            None => self.next,
        }
    }

    fn catch_up(&mut self) -> Result<(), Error> {
        let shard = &self.baton.driver.shard;
        let batches = shard.batches(&self.workspace, self.next, self.registered, CATCH_UP_BYTES)?;
        for batch in batches {
            self.next = batch.revision.next();
            let notices = Notices::of(&Arc::new(batch));
            let wanted = notices.wanted(self.queue.filter());
            self.ready.extend(wanted.map(|notice| Item::Event(Arc::clone(notice))));
        }
        Ok(())
    }

    fn end(&mut self, error: Error) -> Poll<Option<Result<Item, Error>>> {
        self.ended = true;
        self.queue.leave();
        Poll::Ready(Some(Err(error)))
    }
}

impl Stream for EngineWatch {
    type Item = Result<Item, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Poll::Ready(Some(Ok(item)));
            }
            if self.ended {
                return Poll::Ready(None);
            }
            if self.next <= self.registered {
                if let Err(error) = self.catch_up() {
                    return self.end(error);
                }
                continue;
            }
            let arrived = self.queue.poll_next(context);
            if arrived.is_ready() {
                // If there are many watchers, the first ones that are woken wake the others.
                self.baton.driver.shard.watermark().wake_deferred();
            }
            match arrived {
                Poll::Pending => return Poll::Pending,
                // A live event is not part of a commit, and follows everything before it.
                Poll::Ready(Arrival::Notice(notice)) if notice.is_live() => {
                    if notice.resume_from() >= self.next {
                        return Poll::Ready(Some(Ok(Item::Event(notice))));
                    }
                }
                Poll::Ready(Arrival::Notice(notice)) => {
                    if notice.revision() >= self.next {
                        // A commit is queued completely, so the rest of it is in the queue now.
                        let revision = notice.revision();
                        let is_last = !self.queue.begins_with(revision);
                        self.next = if is_last { revision.next() } else { revision };
                        return Poll::Ready(Some(Ok(Item::Event(notice))));
                    }
                }
                Poll::Ready(Arrival::Ended(ended)) => {
                    let resume_from = ended.resume_from.max(self.next);
                    return self.end(if ended.lagged {
                        Error::Lagged { resume_from }
                    } else {
                        Error::Interrupted { resume_from }
                    });
                }
            }
        }
    }
}

impl Drop for EngineWatch {
    fn drop(&mut self) {
        self.queue.leave();
    }
}
