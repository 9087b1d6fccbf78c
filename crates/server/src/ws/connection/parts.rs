//! Large messages, which arrive in parts: the workspace is charged for each part when it is
//! received.
//!
//! Without that, every connection of a workspace would receive a part in every round, and the
//! requests of other workspaces would wait for all of them.
//!
//! ```text
//!   a ▮       ▮           the message is complete: the rest of its cost is charged
//!   b   ▮       ▮
//!   c     ▮       ▮       a part in each round, paid for ahead after the turn
//! ```

use super::{Connection, RECEIVE_BYTES, Stop};

/// The part of its cost that a message has paid for when it is complete.
const SHARE: usize = 2;

/// The parts of the message that is being received, in bytes that are charged.
#[derive(Default)]
pub(super) struct PartCosts {
    /// Received, and not paid for.
    unpaid: usize,
    /// Paid for, and not received.
    ahead: usize,
    /// Paid for since the beginning of the message.
    paid: usize,
}

impl PartCosts {
    pub(super) fn received(&mut self, bytes: usize) {
        let cost = bytes / SHARE;
        self.unpaid = cost.saturating_sub(self.ahead);
        self.ahead = 0;
    }

    /// The message is complete; returns how many of its bytes are paid for.
    pub(super) fn end(&mut self, bytes: usize) -> usize {
        std::mem::take(self).paid.min(bytes)
    }

    /// What must be paid now: for the part that was received; or, by a connection whose turn it is,
    /// for the next one, because a turn that is not used passes to another connection at once.
    fn due(&mut self, is_its_turn: bool) -> usize {
        let mut due = std::mem::take(&mut self.unpaid);
        if is_its_turn && due == 0 {
            self.ahead = RECEIVE_BYTES / SHARE;
            due = self.ahead;
        }
        self.paid += due;
        due
    }
}

impl Connection {
    /// Pays for a part of a message that is not complete. If nothing is left of the budget, its
    /// turn has to be waited for.
    pub(super) fn pay_part(&mut self, is_its_turn: bool) -> Option<Stop> {
        if !self.budget.is_limited() {
            return None;
        }
        let due = self.part_costs.due(is_its_turn);
        if due > 0 {
            self.budget.spend(due);
        }
        let must_wait = self.budget.is_spent() && !is_its_turn;
        self.workspace.clone().filter(|_| must_wait).map(Stop::Spent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_pay_for_half_of_a_message() {
        let mut costs = PartCosts::default();
        for _ in 0..4 {
            costs.received(RECEIVE_BYTES);
            assert_eq!(costs.due(false), RECEIVE_BYTES / 2);
            assert_eq!(costs.due(false), 0, "it is paid for");
        }
        costs.received(100);
        let bytes = 4 * RECEIVE_BYTES + 100;
        assert_eq!(costs.end(bytes), 2 * RECEIVE_BYTES);
        assert_eq!(costs.end(bytes), 0, "that was the message before");
    }

    #[test]
    fn a_turn_is_paid_for_ahead() {
        let mut costs = PartCosts::default();
        assert_eq!(costs.due(true), RECEIVE_BYTES / 2);
        costs.received(RECEIVE_BYTES);
        assert_eq!(costs.due(false), 0, "it was paid for");
        costs.received(RECEIVE_BYTES);
        assert_eq!(
            costs.due(true),
            RECEIVE_BYTES / 2,
            "a part that was received is paid for first"
        );
        assert_eq!(costs.end(usize::MAX), RECEIVE_BYTES);
    }
}
