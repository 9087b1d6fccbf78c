//! The backends: the same scenario on the rules alone, on engines, and through every door.
//!
//! | backend              | its clock is  | is opened anew    | knows the past |
//! |----------------------|---------------|-------------------|----------------|
//! | [`CoreBackend`]      | an argument   | no                | no             |
//! | [`EngineBackend`]    | moved by hand | before every step | yes            |
//! | [`HttpBackend`]      | moved by hand | no                | yes            |
//! | [`WebSocketBackend`] | moved by hand | no                | yes            |
//! | [`ExternalBackend`]  | moved by hand | no                | yes            |

mod codec;
mod core;
mod engine;
mod external;
mod harness;
mod http;
mod http_client;
mod server;
mod websocket;

pub use self::core::CoreBackend;
pub use engine::{EngineBackend, Storage};
pub use external::{ExternalBackend, ExternalProgram};
pub use http::{BodyForm, HttpBackend};
pub use websocket::{SubProtocol, WebSocketBackend};

use std::time::Duration;

use baton_core::Timestamp;

/// The workspace in which every scenario is run.
pub const WORKSPACE: &str = "scenario";

/// How long an answer is waited for before it counts as never coming.
const ANSWER_TIMEOUT: Duration = Duration::from_mins(1);

/// The moment at which every scenario begins: 2023-11-14T22:13:20Z.
pub const BEGINNING: Timestamp = Timestamp(1_700_000_000_000);
