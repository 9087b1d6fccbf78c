//! Reproducible random numbers: the same seed gives the same numbers on every machine and in every
//! release.
//!
//! Deliberately absent: a library. A seed in a bug report must mean the same after an update.

/// The generator known as `SplitMix64`.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// A sequence of numbers that depends on the seed alone.
    pub fn new(seed: u64) -> Self {
        // Seeds are small and close to each other; the first numbers must not be.
        let mut rng = Self(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x6a09_e667_f3bc_c908);
        rng.next();
        rng
    }

    /// The next number.
    #[expect(clippy::should_implement_trait, reason = "chance never ends, an iterator may")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "there is no number below zero");
        self.next() % bound
    }

    /// A number from `least` to `most`, both included.
    pub fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most - least + 1)
    }

    /// True once in this many times.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// One of several.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.index(choices.len())]
    }

    /// An index in a list of this length.
    pub fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).expect("it is below a length")
    }

    /// A choice by weight.
    pub fn weighted<T: Copy>(&mut self, choices: &[(T, u64)]) -> T {
        let total = choices.iter().map(|(_, weight)| weight).sum();
        let mut left = self.below(total);
        for (choice, weight) in choices {
            if left < *weight {
                return *choice;
            }
            left -= weight;
        }
        unreachable!("what is left is below the total")
    }
}
