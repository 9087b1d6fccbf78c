//! Chance: for waits that shall differ between clients, and names that shall never be the same.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// Anything from 0 to 1.
pub(crate) fn fraction() -> f64 {
    SmallRng::from_os_rng().random()
}

/// Any number.
pub(crate) fn number() -> u64 {
    SmallRng::from_os_rng().random()
}
