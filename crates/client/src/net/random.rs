//! Random numbers, for waits that differ between clients and for unique names.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// A number from 0 to 1.
pub(crate) fn fraction() -> f64 {
    SmallRng::from_os_rng().random()
}

/// A 64-bit number.
pub(crate) fn number() -> u64 {
    SmallRng::from_os_rng().random()
}
