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
            /// The one after this.
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
    /// Position of a change in its workspace: +1 for every committed batch.
    Revision
);
number!(
    /// How often an entry has changed: 1 when it is new, +1 for every change.
    Version
);
number!(
    /// Fencing token. Whoever comes later has the larger one.
    Token
);
number!(
    /// How often a barrier has opened or been reset, counted from 1. It never repeats for a name.
    Generation
);
number!(
    /// A call that waits. It is the revision of the commit that queued it, so no two are alike.
    WaitId
);
