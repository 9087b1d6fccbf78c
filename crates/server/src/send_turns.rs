//! Large output is sent in parts, and connections take turns: between two parts of any connections,
//! all others are served.
//!
//! ```text
//!   a ▮▮▮▮▮▮▮▮     round 1: everyone, a part of a
//!   b ▮▮▮▮▮▮▮▮     round 2: everyone, a part of b
//!   c ▮▮▮▮▮▮▮▮     round 3: everyone, a part of c …
//! ```
//!
//! Sending costs time in proportion to the bytes, most of it in the kernel. If every connection
//! sent a part in every round, a workspace with many connections would fill the rounds with
//! megabytes, and every request of another one takes several rounds.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::yield_now;

/// The number of bytes that are sent at a time. Less is no large output, and needs no turn.
pub(crate) const PART_BYTES: usize = 64 << 10;

/// The turns of all connections of a server.
#[derive(Clone)]
pub(crate) struct SendTurns(Arc<Semaphore>);

impl Default for SendTurns {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(1)))
    }
}

impl SendTurns {
    /// Waits for a turn, in the order of arrival.
    pub(crate) async fn next(&self) -> SendTurn {
        let turns = Arc::clone(&self.0);
        SendTurn(turns.acquire_owned().await.expect("the turns are never closed"))
    }
}

/// Permission to send one part.
pub(crate) struct SendTurn(OwnedSemaphorePermit);

impl SendTurn {
    /// A part was sent: the next one is sent when everyone else was served.
    pub(crate) async fn end(self) {
        yield_now().await;
        drop(self.0);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use super::*;

    /// However many send however much, other connections are served after each part.
    #[tokio::test]
    async fn everyone_is_served_between_two_parts() {
        let turns = SendTurns::default();
        let (order, are_done) = (RefCell::new(String::new()), Cell::new(0));
        let send = |name: char| {
            let (turns, order, are_done) = (&turns, &order, &are_done);
            async move {
                for _ in 0..3 {
                    let turn = turns.next().await;
                    order.borrow_mut().push(name);
                    turn.end().await;
                }
                are_done.set(are_done.get() + 1);
            }
        };
        let serve = async {
            while are_done.get() < 2 {
                order.borrow_mut().push('.');
                yield_now().await;
            }
        };
        tokio::join!(send('a'), send('b'), serve);
        let order = order.into_inner();
        assert!(!order.contains("ab") && !order.contains("ba"), "{order}");
        assert!(!order.contains("aa") && !order.contains("bb"), "{order}");
        let sent: String = order.chars().filter(|sign| *sign != '.').collect();
        assert_eq!(sent, "ababab");
    }
}
