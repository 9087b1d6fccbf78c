//! Known bugs that a test can switch on, to prove that it would find them.
//!
//! | name | what goes wrong |
//! |---|---|
//! | `log.skip_sync` | a buffered append answers before its bytes are synced |
//! | `log.ignore_bad_record` | recovery treats a damaged record in the middle as the end |
//! | `log.reuse_without_position_check` | old records in recycled segments are accepted |
//! | `log.lose_last_on_rotate` | a new segment begins where the last record of the old one began |
//! | `log.no_directory_sync` | created, renamed and removed files are not made durable |
//!
//! Without the feature `planted` the check is a constant `false` and the bugs are not compiled.

#[cfg(feature = "planted")]
mod switch {
    use std::cell::Cell;

    thread_local! {
        // Per thread, so that concurrent tests do not affect each other.
        static PLANTED: Cell<Option<&'static str>> = const { Cell::new(None) };
    }

    /// Switches on the bug of this name, or all bugs off, for the calling thread.
    pub fn set(name: Option<&'static str>) {
        PLANTED.set(name);
    }

    /// Whether the bug of this name is switched on.
    pub fn is(name: &str) -> bool {
        PLANTED.get() == Some(name)
    }
}

#[cfg(feature = "planted")]
pub use switch::{is, set};

/// Whether the bug of this name is switched on: never, in a build without the feature `planted`.
#[cfg(not(feature = "planted"))]
pub const fn is(_name: &str) -> bool {
    false
}
