//! What the table of pipelines is made of.
//!
//! | part | is |
//! |---|---|
//! | [`Create`], [`Design`] | a pipeline and its stages as somebody wants them |
//! | [`Pipeline`], [`Stage`], [`Summary`] | the same as callers see them |
//! | [`Record`], [`Course`] | the same as the table keeps them |
//! | [`graph`] | which stage comes after which, and whether that makes sense |
//! | [`flow`] | what follows from how a pipeline is |
//! | [`Following`] | doing that, as much of it as fits |
//! | [`passing`] | what a stage is given, and what its tasks shall do |
//!
//! The rules stand in [`pipeline`](crate::pipeline).

pub mod flow;
mod following;
pub mod graph;
pub mod passing;
mod record;
mod shown;
mod wishes;

pub use flow::Step;
pub use following::{Budget, Following};
pub use passing::Misfit;
pub use record::{Course, Heard, Member, Outcome, Plan, Record};
pub use shown::{Moved, Output, Pipeline, Stage, StageStatus, Status, Summary};
pub use wishes::{Create, Design, List};
