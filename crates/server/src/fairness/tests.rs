//! The order in which workspaces are served.

use std::cell::RefCell;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use super::*;

fn name(text: &str) -> WorkspaceName {
    WorkspaceName::parse(text).expect("it is a good name")
}

fn look<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Two workspaces, both served.
fn contended() -> (Fairness, WorkspaceName, WorkspaceName) {
    let (fairness, noisy, quiet) = (Fairness::default(), name("noisy"), name("quiet"));
    fairness.budget(&quiet, false);
    fairness.budget(&noisy, false);
    (fairness, noisy, quiet)
}

/// Submits this many requests as far as the budget allows; returns how many.
fn take(fairness: &Fairness, workspace: &WorkspaceName, has_waited: bool, wanted: usize) -> usize {
    let mut budget = fairness.budget(workspace, has_waited);
    let mut count = 0;
    while count < wanted && !budget.is_spent() {
        budget.spend(100);
        count += 1;
    }
    fairness.charge(workspace, budget);
    count
}

#[test]
fn a_single_workspace_has_the_whole_budget() {
    let (fairness, only) = (Fairness::default(), name("only"));
    for _ in 0..3 {
        assert_eq!(take(&fairness, &only, false, 10_000), 10_000);
    }
}

#[test]
fn a_workspace_beside_others_has_one_share_per_round() {
    let (fairness, noisy, quiet) = contended();
    assert_eq!(take(&fairness, &noisy, false, 5), 5);
    assert_eq!(take(&fairness, &noisy, false, 5), QUANTUM - 5);
    assert_eq!(take(&fairness, &noisy, false, 5), 0);
    assert_eq!(take(&fairness, &quiet, false, 1), 1);
    fairness.begin_round();
    assert_eq!(take(&fairness, &noisy, false, 500), QUANTUM);
}

#[test]
fn spending_beyond_a_share_is_a_debt() {
    let (fairness, noisy, _) = contended();
    let mut budget = fairness.budget(&noisy, false);
    budget.spend(BYTES_PER_UNIT * QUANTUM * 5 / 2);
    fairness.charge(&noisy, budget);
    for left in [0, 0, QUANTUM / 2 - 1, QUANTUM] {
        assert_eq!(take(&fairness, &noisy, false, 500), left);
        fairness.begin_round();
    }
}

#[test]
fn no_caller_overtakes_the_queue() {
    let (fairness, noisy, _) = contended();
    take(&fairness, &noisy, false, QUANTUM);
    let order = RefCell::new(Vec::new());
    let wait = async |who| {
        fairness.wait_turn(&noisy).await;
        order.borrow_mut().push((who, take(&fairness, &noisy, true, 5)));
    };
    let (mut ada, mut bob, mut eve) = (pin!(wait("ada")), pin!(wait("bob")), pin!(wait("eve")));
    assert!(look(ada.as_mut()).is_pending());
    assert!(look(bob.as_mut()).is_pending());
    assert!(look(eve.as_mut()).is_pending());
    assert!(fairness.begin_round());
    assert_eq!(take(&fairness, &noisy, false, 1), 0, "there is a line");
    assert!(look(eve.as_mut()).is_pending());
    assert!(look(bob.as_mut()).is_pending());
    assert!(look(ada.as_mut()).is_ready());
    assert!(look(eve.as_mut()).is_pending());
    assert!(look(bob.as_mut()).is_ready(), "something was left");
    assert!(look(eve.as_mut()).is_pending(), "nothing was left");
    fairness.begin_round();
    assert!(look(eve.as_mut()).is_ready());
    assert_eq!(*order.borrow(), [("ada", 5), ("bob", QUANTUM - 5), ("eve", 5)]);
    assert!(!fairness.begin_round(), "no caller waits");
}

#[test]
fn a_round_reports_whether_a_quiet_workspace_was_served() {
    let (fairness, noisy, quiet) = contended();
    take(&fairness, &noisy, false, QUANTUM);
    let mut queued = pin!(fairness.wait_turn(&noisy));
    assert!(look(queued.as_mut()).is_pending());
    fairness.schedule().has_quiet = false;
    fairness.charge(&noisy, Budget { left: 1, taken: 1 });
    assert!(!fairness.schedule().has_quiet);
    take(&fairness, &quiet, false, 1);
    assert!(fairness.schedule().has_quiet);
}

#[test]
fn watchers_do_not_take_a_turn() {
    let (fairness, noisy, idle) = contended();
    fairness.schedule().forget();
    take(&fairness, &noisy, false, 1);
    assert!(!fairness.budget_to_watch(&idle, false).is_spent());
    fairness.schedule().forget();
    assert_eq!(fairness.budget_to_watch(&idle, false).left, usize::MAX, "it is not known");
    assert_eq!(take(&fairness, &noisy, false, 1_000), 1_000, "there is no other workspace");
}

#[test]
fn a_caller_that_leaves_the_queue_wakes_the_next() {
    let (fairness, noisy, _) = contended();
    take(&fairness, &noisy, false, QUANTUM);
    let mut gone = Box::pin(fairness.wait_turn(&noisy));
    let mut next = pin!(fairness.wait_turn(&noisy));
    assert!(look(gone.as_mut()).is_pending());
    assert!(look(next.as_mut()).is_pending());
    fairness.begin_round();
    drop(gone);
    assert!(look(next.as_mut()).is_ready());
}

#[test]
fn the_queue_is_empty_when_the_others_are_gone() {
    let (fairness, noisy, _) = contended();
    take(&fairness, &noisy, false, QUANTUM);
    let mut queued: Vec<_> = (0..3).map(|_| Box::pin(fairness.wait_turn(&noisy))).collect();
    assert!(queued.iter_mut().all(|waits| look(waits.as_mut()).is_pending()));
    fairness.schedule().forget();
    fairness.schedule().forget();
    fairness.begin_round();
    assert!(queued.iter_mut().all(|waits| look(waits.as_mut()).is_ready()));
    assert_eq!(take(&fairness, &noisy, false, 1_000), 1_000);
}

#[test]
fn the_actual_cost_of_a_request_is_charged_too() {
    let (fairness, noisy, quiet) = contended();
    fairness.owe(&noisy, 5 * QUANTUM);
    for left in [0, 0, 0, 0, 0, QUANTUM] {
        assert_eq!(take(&fairness, &noisy, false, 500), left);
        assert_eq!(take(&fairness, &quiet, false, 1), 1, "others have their share");
        fairness.begin_round();
    }
    fairness.owe(&name("gone"), 100);
}
