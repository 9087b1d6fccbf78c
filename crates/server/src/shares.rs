//! A limited resource that tokens and workspaces share.
//!
//! ```text
//!   taken by all ──────┐
//!   taken by one ──┐   │
//!   ├──────────────┼───┼──────────────┤ all there is
//!                      └── free: the maximum for one sharer
//! ```
//!
//! No sharer may take more than what was free before. The first sharer gets at most half of the
//! resource, the next one half of the rest, and so on, so that something is always left for
//! another.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use baton_core::WorkspaceName;

/// The owner of a share.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Sharer {
    /// The owner of a token.
    Token(String),
    /// A workspace.
    Workspace(WorkspaceName),
}

/// The limited resource, and how much of it each sharer has.
pub(crate) struct Shares {
    all: usize,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    amount: usize,
    by: HashMap<Sharer, usize>,
}

/// The part that one request has taken. It is returned when this is dropped.
pub(crate) struct Share {
    shares: Arc<Shares>,
    sharers: Vec<Sharer>,
    amount: usize,
}

impl Shares {
    pub(crate) fn new(all: usize) -> Arc<Self> {
        Arc::new(Self { all, taken: Mutex::default() })
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Share {
    /// An empty share.
    pub(crate) fn new(shares: &Arc<Shares>, sharers: Vec<Sharer>) -> Self {
        Self { shares: Arc::clone(shares), sharers, amount: 0 }
    }

    /// It has this amount now; false, and unchanged, if there is not enough.
    pub(crate) fn set(&mut self, amount: usize) -> bool {
        if amount == self.amount {
            return true;
        }
        let mut taken = self.shares.taken();
        if let Some(more) = amount.checked_sub(self.amount) {
            let free = self.shares.all.saturating_sub(taken.amount);
            let own = |sharer| taken.by.get(sharer).copied().unwrap_or_default();
            if self.sharers.iter().map(own).max().unwrap_or_default().saturating_add(more) > free {
                return false;
            }
        }
        taken.amount = taken.amount - self.amount + amount;
        for sharer in &self.sharers {
            let own = taken.by.entry(sharer.clone()).or_default();
            *own = *own - self.amount + amount;
            if *own == 0 {
                taken.by.remove(sharer);
            }
        }
        drop(taken);
        self.amount = amount;
        true
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(shares: &Arc<Shares>, token: &str) -> Share {
        Share::new(shares, vec![Sharer::Token(token.to_owned())])
    }

    /// How many shares of one it can take.
    fn filled(shares: &Arc<Shares>, token: &str) -> Vec<Share> {
        let one = |_| {
            let mut share = of(shares, token);
            share.set(1).then_some(share)
        };
        (0..shares.all).map_while(one).collect()
    }

    #[test]
    fn there_is_always_a_share_left_for_another() {
        let shares = Shares::new(64);
        let held: Vec<Vec<Share>> =
            ["a", "b", "c", "d"].iter().map(|token| filled(&shares, token)).collect();
        let counts: Vec<usize> = held.iter().map(Vec::len).collect();
        assert_eq!(counts, [32, 16, 8, 4]);
        drop(held);
        assert_eq!(shares.taken().amount, 0);
        assert!(shares.taken().by.is_empty(), "nothing is kept of those who have nothing");
        assert_eq!(filled(&Shares::new(1), "a").len(), 1, "any sharer may take the last one");
    }

    #[test]
    fn a_token_of_many_workspaces_has_one_share() {
        let shares = Shares::new(64);
        let in_workspace = |name: &str| {
            let workspace = WorkspaceName::parse(name).unwrap();
            vec![Sharer::Token("a".to_owned()), Sharer::Workspace(workspace)]
        };
        let mut held = Vec::new();
        for number in 0..64 {
            let mut share = Share::new(&shares, in_workspace(&format!("w{number}")));
            held.extend(share.set(1).then_some(share));
        }
        assert_eq!(held.len(), 32);
    }

    #[test]
    fn a_share_grows_and_shrinks() {
        let shares = Shares::new(100);
        let mut share = of(&shares, "a");
        assert!(share.set(40) && share.set(50), "half of all");
        assert!(!share.set(51), "more is for others");
        assert!(share.set(10) && share.set(50));
        let mut other = of(&shares, "b");
        assert!(!other.set(51) && other.set(25));
    }
}
