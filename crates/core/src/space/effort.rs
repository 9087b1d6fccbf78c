//! The remaining effort for the checks of one commit, over all of its commands.
//!
//! | checks | bounded by |
//! |---|---|
//! | schemas of namespaces, declared contracts, schemas of rules | one [`Effort`] |
//! | rules for hand-offs | steps, and bytes that they read |
//!
//! A transaction may have a thousand commands. If each had a bound of its own, all of them together
//! would have none.

use std::cell::Cell;

use serde::Serialize;
use thiserror::Error;

use crate::limits;
use crate::schema::Effort;

/// The remaining effort for the checks of a commit.
pub(crate) struct CommitEffort {
    schemas: Effort,
    steps: Cell<usize>,
    bytes: Cell<usize>,
}

/// The rules for hand-offs take more than they may in one request. Serializes as its facts.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize)]
#[error("the rules for hand-offs take more than {max} {what} in one request")]
pub struct RulesTooCostly {
    /// The name of the limited quantity.
    pub what: &'static str,
    /// The limit.
    pub max: usize,
}

impl Default for CommitEffort {
    fn default() -> Self {
        Self {
            schemas: Effort::default(),
            steps: Cell::new(limits::RULE_STEPS_MAX),
            bytes: Cell::new(limits::RULE_BYTES_MAX),
        }
    }
}

impl CommitEffort {
    /// The remaining effort for schemas.
    pub(crate) fn schemas(&self) -> &Effort {
        &self.schemas
    }

    /// How many steps are left for rules.
    pub(crate) fn steps(&self) -> usize {
        self.steps.get()
    }

    /// Counts steps of rules.
    pub(crate) fn spend_steps(&self, steps: usize) {
        self.steps.set(self.steps.get().saturating_sub(steps));
    }

    /// Counts bytes that rules read, before they are copied for them.
    pub(crate) fn take_bytes(&self, bytes: usize) -> Result<(), RulesTooCostly> {
        let max = limits::RULE_BYTES_MAX;
        let left = self.bytes.get().checked_sub(bytes);
        self.bytes.set(left.unwrap_or_default());
        left.map(|_| ()).ok_or(RulesTooCostly { what: "bytes of state and tasks", max })
    }

    /// Refuses further rules if nothing is left for them.
    pub(crate) fn check_left(&self) -> Result<(), RulesTooCostly> {
        if self.steps.get() == 0 {
            return Err(RulesTooCostly { what: "steps", max: limits::RULE_STEPS_MAX });
        }
        Ok(())
    }

    /// Refuses the rules of another hand-off if nothing is left for their schemas.
    pub(crate) fn check_schemas(&self) -> Result<(), RulesTooCostly> {
        if self.schemas.is_spent() {
            return Err(RulesTooCostly {
                what: "steps of schemas",
                max: crate::schema::MEETINGS_MAX,
            });
        }
        Ok(())
    }
}
