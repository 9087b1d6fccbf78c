//! Tests of buckets with a manual clock, and of the meters that are charged.

use proptest::prelude::*;

use super::bucket::Bucket;
use super::*;

const SECOND_NS: u64 = 1_000_000_000;

fn name(text: &str) -> WorkspaceName {
    WorkspaceName::parse(text).expect("it is a good name")
}

fn operations(rate: u64) -> Quota {
    Quota { operations_per_s: Some(rate), ..Quota::default() }
}

#[test]
fn a_bucket_holds_what_flows_in_within_a_second() {
    let bucket = Bucket::default();
    for _ in 0..5 {
        assert_eq!(bucket.has_some(5, 0), Ok(()));
        bucket.take(1, 5, 0);
    }
    assert_eq!(bucket.has_some(5, 0), Err(SECOND_NS / 5));
    assert_eq!(bucket.has_some(5, SECOND_NS / 5 - 1), Err(1));
    assert_eq!(bucket.has_some(5, SECOND_NS / 5), Ok(()));
    assert!(!bucket.is_full(SECOND_NS - 1));
    assert!(bucket.is_full(SECOND_NS));
}

#[test]
fn an_overdraft_is_a_debt() {
    let bucket = Bucket::default();
    bucket.take(1_000, 10, 0);
    assert_eq!(bucket.has_some(10, 0), Err(99 * SECOND_NS + SECOND_NS / 10));
    assert_eq!(bucket.has_some(10, 99 * SECOND_NS + SECOND_NS / 10), Ok(()));
    bucket.take(u64::MAX, 1, u64::MAX);
    assert!(bucket.has_some(1, u64::MAX - 2 * SECOND_NS).is_err(), "and none is forgotten");
}

proptest! {
    /// For any sequence of requests, no more is granted than was refilled.
    #[test]
    fn no_more_is_given_than_flows_in(
        rate in 1..2_000_u64,
        steps in prop::collection::vec((0..SECOND_NS, 1..50_u64), 1..200),
    ) {
        let bucket = Bucket::default();
        let (mut now, mut given, mut last) = (0, 0, 0);
        for (pause, amount) in steps {
            now += pause;
            if bucket.has_some(rate, now).is_ok() {
                bucket.take(amount, rate, now);
                given += amount;
                last = amount;
            }
        }
        // It starts full, and the last request may have gone into debt; one unit for rounding.
        let flown = u128::from(rate) * u128::from(now) / u128::from(SECOND_NS);
        prop_assert!(u128::from(given) <= flown + u128::from(rate + last + 1));
    }
}

#[test]
fn all_meters_are_charged_or_none() {
    let token = Meter::new(Owner::Token, operations(1_000));
    let workspace = Meter::new(Owner::Workspace, operations(1));
    let meters = [token.clone(), workspace];
    let many = Cost { operations: 100, bytes: 0 };
    assert_eq!(charge(&meters, many), Ok(()));
    for _ in 0..2_000 {
        let refused = charge(&meters, Cost::ONE).expect_err("the workspace is in debt");
        let OverQuota::Operations { of, max, retry_after_ms } = refused else { panic!() };
        assert_eq!((of, max), (Owner::Workspace, 1));
        assert!((90_000..=100_000).contains(&retry_after_ms));
    }
    assert_eq!(charge(&[token], many), Ok(()), "who was refused has not paid");
}

#[test]
fn unlimited_resources_have_no_meter() {
    assert!(Meter::new(Owner::Token, Quota::default()).is_none());
    assert!(Meters::new(&Quotas::default()).is_none());
    let quotas = Quotas {
        workspace: operations(1),
        workspaces: HashMap::from([(name("free"), Quota::default())]),
        token: Quota::default(),
    };
    let meters = Meters::new(&quotas).expect("some are limited");
    assert!(meters.of(&name("free")).is_none());
    assert!(meters.of(&name(CLOSED)).is_none(), "tokens can always be made and revoked");
    assert!(meters.of(&name("other")).is_some());
}

#[test]
fn unused_meters_are_removed() {
    let quotas = Quotas { workspace: operations(1), ..Quotas::default() };
    let meters = Meters::new(&quotas).expect("all are limited");
    let busy = meters.of(&name("busy")).expect("it is limited");
    pay(&[Some(Arc::clone(&busy))], Cost { operations: 1_000, bytes: 0 }, Instant::now());
    drop(busy);
    for number in 0..100_000 {
        meters.of(&name(&format!("w{number}"))).expect("it is limited");
    }
    let kept = meters.in_use.lock().expect("no thread panicked").len();
    assert!(kept < 8 * AT_REST_MAX, "{kept}");
    let busy = meters.of(&name("busy"));
    assert!(charge(&[busy], Cost::ONE).is_err(), "and debts are not forgotten");
}

#[test]
fn a_slot_is_free_again_when_it_is_released() {
    let quota = Quota { watches_max: Some(1), ..Quota::default() };
    let meters = [Meter::new(Owner::Token, quota), Meter::new(Owner::Workspace, quota)];
    let quota_guards = QuotaGuard::of_watch(&meters).expect("there is one");
    assert_eq!(quota_guards.len(), 2);
    assert!(QuotaGuard::of_watch(&meters).is_err());
    assert!(QuotaGuard::of_watch(&meters[1..]).is_err());
    drop(quota_guards);
    let other = QuotaGuard::of_watch(&meters[1..]).expect("it was left");
    assert!(QuotaGuard::of_watch(&meters).is_err(), "one of two is not enough");
    drop(other);
    assert!(QuotaGuard::of_watch(&meters).is_ok(), "and the first was given back");
}
