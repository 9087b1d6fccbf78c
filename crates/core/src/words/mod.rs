//! Values that every primitive uses: names, numbers, times, JSON, patterns, schemas, expressions,
//! limits, and the refusals that all primitives share.

#[cfg(feature = "schema")]
mod described;
pub mod expression;
pub mod histogram;
pub mod json;
pub mod kind;
pub mod limits;
pub mod names;
pub mod nearest;
pub mod numbers;
pub mod page;
pub mod pattern;
pub mod quoted;
pub mod refusal;
pub mod refusals;
pub mod schema;
pub mod spending;
pub mod time;
