//! Waiting calls: the wait queues of resources, deadlocks between waiters, and the duration of
//! holds.

pub(crate) mod deadlock;
pub(crate) mod lease_time;
pub mod wait;
pub mod wait_queue;
