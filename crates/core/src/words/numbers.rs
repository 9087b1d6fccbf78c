//! Counters that must not be mistaken for one another.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! number {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize,
            Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(pub u64);

        impl $name {
            /// The next number.
            #[must_use]
            pub fn next(self) -> Self {
                Self(self.0 + 1)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, formatter)
            }
        }

        impl From<u64> for $name {
            fn from(number: u64) -> Self {
                Self(number)
            }
        }
    };
}

number!(
    /// Position of a commit in the history of its workspace; each commit adds one.
    Revision
);
number!(
    /// Version of an entry: 1 when it is created, plus one for every change.
    Version
);
number!(
    /// Fencing token. Later tokens are larger.
    Token
);

impl Token {
    /// A token that is not shown to the caller. No token is 0.
    pub const HIDDEN: Self = Self(0);

    /// Whether it is not shown to the caller.
    pub fn is_hidden(&self) -> bool {
        *self == Self::HIDDEN
    }
}

number!(
    /// Generation of a barrier, counted from 1. It never repeats for a name.
    Generation
);
number!(
    /// A waiting call: the revision of the commit that queued it, so that it is unique.
    WaitId
);

impl WaitId {
    /// No revision is as large.
    const LIVE: u64 = 1 << 63;

    /// The call that waits for the reply to a live request, by the number of the request. No event
    /// is about such a call.
    pub fn of_live(number: u64) -> Self {
        Self(Self::LIVE | number)
    }

    /// The number of its live request, if it waits for the reply to one.
    pub fn live_number(self) -> Option<u64> {
        (self.0 >= Self::LIVE).then_some(self.0 & !Self::LIVE)
    }
}
