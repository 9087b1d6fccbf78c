//! Requests that are built before a round starts, so that sending one is copying its bytes.

use std::rc::Rc;

use super::driver::Requests;

/// Keys that connections overwrite.
pub(crate) const KEYS: usize = 10_000;

/// All requests of a load, one for each key.
#[derive(Clone)]
pub(crate) struct Prebuilt(Rc<[Vec<u8>]>);

impl Prebuilt {
    /// Builds them from the numbers of their keys.
    pub(crate) fn build(request: impl Fn(usize) -> Vec<u8>) -> Self {
        Self((0..KEYS).map(request).collect())
    }

    /// The requests of one connection: its own share of the keys first, so that as many requests as
    /// keys touch every key, then the shares of the others.
    pub(crate) fn of_connection(&self, number: usize, connections: usize) -> Cycle {
        Cycle { requests: Self(Rc::clone(&self.0)), next: number * share(connections) % KEYS }
    }
}

/// The number of keys in the share of one connection; all shares together are all keys.
pub(crate) fn share(connections: usize) -> usize {
    KEYS.div_ceil(connections)
}

/// Prebuilt requests, in a cycle.
pub(crate) struct Cycle {
    requests: Prebuilt,
    next: usize,
}

impl Requests for Cycle {
    fn next(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.requests.0[self.next]);
        self.next = (self.next + 1) % KEYS;
    }
}
