//! The stages: the same scenario on the rules alone, on engines, and through every door.
//!
//! | stage           | its clock is  | is opened anew    | knows the past |
//! |-----------------|---------------|-------------------|----------------|
//! | [`CoreStage`]   | an argument   | no                | no             |
//! | [`EngineStage`] | moved by hand | before every step | yes            |
//! | [`HttpStage`]   | moved by hand | no                | yes            |
//! | [`SocketStage`] | moved by hand | no                | yes            |

mod core;
mod engine;
mod http;
mod message;
mod reading;
mod served;
mod socket;
mod theatre;

pub use self::core::CoreStage;
pub use engine::{EngineStage, Storage};
pub use http::{HttpStage, Manner};
pub use socket::{SocketStage, SubProtocol};

use std::time::Duration;

use baton_core::Timestamp;

/// The workspace in which every scenario is played.
pub const WORKSPACE: &str = "scenario";

/// How long an answer is waited for before it counts as never coming.
const PATIENCE: Duration = Duration::from_mins(1);

/// The moment at which every scenario begins: 2023-11-14T22:13:20Z.
pub const BEGINNING: Timestamp = Timestamp(1_700_000_000_000);
