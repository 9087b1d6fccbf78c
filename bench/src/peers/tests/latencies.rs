use std::time::Duration;

use super::super::latencies::Latencies;

fn assert_near(found_us: f64, expected_us: f64) {
    let off = (found_us - expected_us).abs() / expected_us;
    assert!(off <= 1.0 / 64.0, "{found_us} instead of {expected_us}");
}

#[test]
fn quantiles_are_off_by_a_sixty_fourth_at_most() {
    let mut latencies = Latencies::new();
    (1..=1000).for_each(|microseconds| latencies.add(Duration::from_micros(microseconds)));
    for (part, expected_us) in [(0.001, 1.0), (0.5, 500.0), (0.99, 990.0), (1.0, 1000.0)] {
        assert_near(latencies.quantile_us(part), expected_us);
    }
}

#[test]
fn every_magnitude_has_its_bucket() {
    for bits in 0..40 {
        for nanoseconds in [1_u64 << bits, (1 << bits) * 3 / 2, (2 << bits) - 1] {
            let mut latencies = Latencies::new();
            latencies.add(Duration::from_nanos(nanoseconds));
            let found_ns = latencies.quantile_us(0.5) * 1e3;
            let expected = Duration::from_nanos(nanoseconds).as_secs_f64() * 1e9;
            let off = (found_ns - expected).abs();
            assert!(off <= (expected / 64.0).max(0.501), "{found_ns} instead of {nanoseconds} ns");
        }
    }
}

#[test]
fn what_is_cleared_does_not_count() {
    let mut latencies = Latencies::new();
    assert!(latencies.quantile_us(0.5) < f64::EPSILON);
    latencies.add(Duration::MAX);
    latencies.clear();
    latencies.add(Duration::from_micros(3));
    assert_near(latencies.quantile_us(1.0), 3.0);
}
