use super::super::bullmq::served;
use crate::resources::Usage;

#[test]
fn what_the_driver_tells_is_a_turn() {
    let report =
        r#" {"cycles":500,"seconds":2.0,"driver_cpu_seconds":1.5,"p50_us":9,"p99_us":12.5}"#;
    let usage = Usage { user_seconds: 0.3, system_seconds: 0.2, wakeups: 0.0 };
    let served = served(report, usage).unwrap();
    assert!((served.measured.rate() - 250.0).abs() < 1e-9);
    assert!((served.measured.cpu_us() - 1_000.0).abs() < 1e-9);
    assert!((served.measured.caller_cpu_us() - 3_000.0).abs() < 1e-9);
    assert!((served.p50_us - 9.0).abs() < 1e-9 && (served.p99_us - 12.5).abs() < 1e-9);
}

#[test]
fn a_number_that_is_missing_is_named() {
    let error =
        served(r#"{"cycles":1,"seconds":1,"driver_cpu_seconds":1}"#, Usage::default()).unwrap_err();
    assert_eq!(error.to_string(), "BullMQ: the driver tells no `p50_us`");
    assert!(served("undefined", Usage::default()).is_err());
}
