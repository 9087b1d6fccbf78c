use super::{Times, Usage, cpu_seconds, tree_usage, voluntary_switches};

#[test]
fn times_come_after_a_name_that_may_contain_anything() {
    let stat = "7 (a) b (c)) S 3 7 7 0 -1 4 1 0 0 0 150 50 30 20 20 0 1 0 100 0 0";
    let times = Times::parse(stat).unwrap();
    assert_eq!(times.parent, 3);
    let of = |user_seconds, system_seconds| Usage { user_seconds, system_seconds, wakeups: 0.0 };
    assert_eq!((times.own, times.ended_children), (of(1.5, 0.5), of(0.3, 0.2)));
    assert!(Times::parse("7 (a S 3").is_none());
    assert!(Times::parse("7 (a) S 3 7").is_none());
}

#[test]
fn a_process_counts_itself() {
    let before = cpu_seconds();
    assert!(tree_usage(std::process::id()).cpu_seconds() >= before);
}

#[test]
fn a_thread_that_waited_was_woken() {
    let status = "Name:\ta\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n";
    assert_eq!(voluntary_switches(status), Some(12));
    assert_eq!(voluntary_switches("Name:\ta\n"), None);
}
