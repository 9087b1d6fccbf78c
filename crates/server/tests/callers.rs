//! Clients that do exactly what a test requires, well-behaved or not.

pub(crate) mod http;
pub(crate) mod socket;
