//! The backends: the same scenario on the rules alone, on engines, and through every interface.
//!
//! | backend              | its clock     | is reopened       | has history    |
//! |----------------------|---------------|-------------------|----------------|
//! | [`CoreBackend`]      | an argument   | no                | no             |
//! | [`EngineBackend`]    | set manually  | before every step | yes            |
//! | [`HttpBackend`]      | set manually  | no                | yes            |
//! | [`WebSocketBackend`] | set manually  | no                | yes            |
//! | [`ExternalBackend`]  | set manually  | no                | yes            |

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

/// The workspace of every scenario.
pub const WORKSPACE: &str = "scenario";

/// The timeout after which an answer counts as missing.
const ANSWER_TIMEOUT: Duration = Duration::from_mins(1);

/// The start time of every scenario: 2023-11-14T22:13:20Z.
pub const BEGINNING: Timestamp = Timestamp(1_700_000_000_000);
