//! Calls that wait: the wait queue of a resource, deadlocks between waiters, and how long what was
//! granted may be held.

pub(crate) mod deadlock;
pub(crate) mod lease_time;
pub mod wait;
pub mod wait_queue;
