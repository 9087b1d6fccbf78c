//! Bugs planted on purpose, to prove that the simulator finds them. Compiled only with the
//! feature `planted`, which nothing but the simulator's own test turns on.

use std::cell::Cell;

thread_local! {
    static ACTIVE: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// Switches on one bug for this thread, or none.
pub fn set(name: Option<&'static str>) {
    ACTIVE.set(name);
}

/// Whether any bug is switched on.
pub fn any() -> bool {
    ACTIVE.get().is_some()
}

/// Whether this bug is switched on.
pub fn is(name: &str) -> bool {
    ACTIVE.get() == Some(name)
}
