use super::{Times, cpu_seconds, tree_cpu_seconds};

#[test]
fn times_come_after_a_name_that_may_contain_anything() {
    let stat = "7 (a) b (c)) S 3 7 7 0 -1 4 1 0 0 0 150 50 30 20 20 0 1 0 100 0 0";
    let times = Times::parse(stat).unwrap();
    assert_eq!(times.parent, 3);
    let seconds = (times.own_seconds, times.ended_children_seconds);
    assert!((seconds.0 - 2.0).abs() < 1e-9 && (seconds.1 - 0.5).abs() < 1e-9, "{seconds:?}");
    assert!(Times::parse("7 (a S 3").is_none());
    assert!(Times::parse("7 (a) S 3 7").is_none());
}

#[test]
fn a_process_counts_itself() {
    let before = cpu_seconds();
    assert!(tree_cpu_seconds(std::process::id()) >= before);
}
