//! Baton.
pub mod clock;
pub mod codec;
pub mod error;
pub mod files;
pub mod frames;
pub mod history;
pub mod keeping;
pub mod loading;
pub mod machine;
pub mod options;
pub mod settled;
pub mod shard;
pub mod snapshot;
pub mod watch;
