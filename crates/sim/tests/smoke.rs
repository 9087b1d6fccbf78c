//! A few seeds for every change; the program runs thousands.

use baton_sim::{FleetSize, simulate, simulate_servers};

/// Enough to detect serious errors, few enough to run always.
const SEEDS: u64 = 20;

#[test]
fn some_seeds_are_clean() {
    for seed in 1..=SEEDS {
        let outcome = simulate(seed, None, None);
        assert_eq!(outcome.breach, None, "seed {seed}");
    }
}

#[test]
fn the_same_seed_gives_the_same_story() {
    for seed in [3, 7, 11] {
        let (once, again) = (simulate(seed, None, None), simulate(seed, None, None));
        assert_eq!(once.digest, again.digest, "seed {seed}");
        assert_eq!(once.steps, again.steps, "seed {seed}");
    }
    assert_ne!(simulate(1, None, None).digest, simulate(2, None, None).digest);
}

#[test]
fn several_servers_are_clean_and_repeatable() {
    several_are_clean_and_repeatable(FleetSize { servers: 3, shards: 1 });
}

#[test]
fn several_shards_are_clean_and_repeatable() {
    several_are_clean_and_repeatable(FleetSize { servers: 3, shards: 4 });
}

fn several_are_clean_and_repeatable(size: FleetSize) {
    for seed in 1..=SEEDS {
        let outcome = simulate_servers(seed, size, None, None);
        assert_eq!(outcome.breach, None, "seed {seed}");
        if seed % 5 == 0 {
            let again = simulate_servers(seed, size, None, None);
            assert_eq!(outcome.digest, again.digest, "seed {seed}");
        }
    }
}
