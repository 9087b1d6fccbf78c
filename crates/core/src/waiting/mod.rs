//! Waiting calls: the wait queues of resources, deadlocks between waiters, and holds with their
//! duration.

pub(crate) mod deadlock;
pub mod holds;
pub(crate) mod lease_time;
pub mod wait;
pub mod wait_queue;
