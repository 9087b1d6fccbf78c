//! Callers that do exactly what they are told, well-behaved or not.

pub(crate) mod http;
pub(crate) mod socket;
