//! The time of a workspace, for callers that measure their own deadlines by it.

use std::sync::{Arc, Weak};

use baton_core::{Timestamp, WorkspaceName};

use super::Baton;
use crate::driver::Driver;

/// The time of a workspace, which never runs backwards: not when the clock of the machine is set
/// back, and not when the engine starts with a clock that is behind the data. It does not keep the
/// engine open. Cheap to clone.
#[derive(Clone)]
pub struct WorkspaceClock {
    driver: Weak<Driver>,
    workspace: WorkspaceName,
}

impl std::fmt::Debug for WorkspaceClock {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "WorkspaceClock({})", self.workspace)
    }
}

impl WorkspaceClock {
    /// The current time of the workspace; none if the engine was dropped. How far a workspace is
    /// ahead of the clock is known once it was read or written.
    pub fn now(&self) -> Option<Timestamp> {
        let driver = self.driver.upgrade()?;
        let now = driver.shard.clock.now();
        Some(driver.shard.machine().local_time(&self.workspace, now))
    }
}

impl Baton {
    /// The time of a workspace.
    #[must_use]
    pub fn clock_of(&self, workspace: &WorkspaceName) -> WorkspaceClock {
        WorkspaceClock { driver: Arc::downgrade(&self.driver), workspace: workspace.clone() }
    }
}
