//! Known bugs that a test can switch on, to prove that it would find them.
//!
//! | name | what goes wrong |
//! |---|---|
//! | `log.skip_sync` | a buffered append answers before its bytes are synced |
//! | `log.ignore_bad_record` | recovery treats a damaged record in the middle as the end |
//! | `log.reuse_without_position_check` | old records in recycled segments are accepted |
//! | `log.lose_last_on_rotate` | a new segment begins where the last record of the old one began |
//! | `log.no_directory_sync` | created, renamed and removed files are not made durable |
//! | `shared.append_unfenced` | a server that is no longer the owner appends |
//! | `shared.blobs_unfenced` | a server that is no longer the owner commits and deletes blobs |
//! | `shared.licence_from_the_answer` | a licence counts from the answer to a heartbeat |
//! | `shared.judges_while_blind` | time without a connection counts as silence of the owner |
//! | `shared.revives_after_gone` | a server that was declared gone sends heartbeats again |
//! | `shared.tail_not_read_again` | a new owner continues after the tail that it saw as a standby |
//! | `shared.fenced_without_looking` | a fenced append is reported as lost without a look |
//! | `shared.given_shard_still_answers` | a shard that is being given back answers reads |
//! | `shared.unknown_reported_as_lost` | an append of unknown outcome is reported as lost |
//! | `placement.unanswered_take_forgotten` | a shard that was taken without an answer is idle |
//! | `placement.owner_gone_keeps_shards` | a shard is left to an owner that was declared gone |
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

    /// The bug that is switched on. Threads that a test starts switch on the same.
    pub fn active() -> Option<&'static str> {
        PLANTED.get()
    }

    /// Whether the bug of this name is switched on.
    pub fn is(name: &str) -> bool {
        PLANTED.get() == Some(name)
    }
}

#[cfg(feature = "planted")]
pub use switch::{active, is, set};

/// Whether the bug of this name is switched on: never, in a build without the feature `planted`.
#[cfg(not(feature = "planted"))]
pub const fn is(_name: &str) -> bool {
    false
}
