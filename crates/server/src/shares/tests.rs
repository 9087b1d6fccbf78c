//! Who has a turn, and when.

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
fn crowded() -> (Shares, WorkspaceName, WorkspaceName) {
    let (shares, noisy, quiet) = (Shares::default(), name("noisy"), name("quiet"));
    shares.portion(&quiet, false);
    shares.portion(&noisy, false);
    (shares, noisy, quiet)
}

/// Takes so many requests, if nothing is in the way; how many that were.
fn take(shares: &Shares, workspace: &WorkspaceName, has_waited: bool, wanted: usize) -> usize {
    let mut portion = shares.portion(workspace, has_waited);
    let mut count = 0;
    while count < wanted && !portion.is_spent() {
        portion.take(100);
        count += 1;
    }
    shares.took(workspace, portion);
    count
}

#[test]
fn who_is_alone_has_all() {
    let (shares, only) = (Shares::default(), name("only"));
    for _ in 0..3 {
        assert_eq!(take(&shares, &only, false, 10_000), 10_000);
    }
}

#[test]
fn beside_others_it_is_a_share_a_round() {
    let (shares, noisy, quiet) = crowded();
    assert_eq!(take(&shares, &noisy, false, 5), 5);
    assert_eq!(take(&shares, &noisy, false, 5), SHARE - 5);
    assert_eq!(take(&shares, &noisy, false, 5), 0);
    assert_eq!(take(&shares, &quiet, false, 1), 1);
    shares.begin_round();
    assert_eq!(take(&shares, &noisy, false, 500), SHARE);
}

#[test]
fn what_was_taken_beyond_a_share_is_owed() {
    let (shares, noisy, _) = crowded();
    let mut portion = shares.portion(&noisy, false);
    portion.take(BYTES * SHARE * 5 / 2);
    shares.took(&noisy, portion);
    for left in [0, 0, SHARE / 2 - 1, SHARE] {
        assert_eq!(take(&shares, &noisy, false, 500), left);
        shares.begin_round();
    }
}

#[test]
fn nobody_goes_past_those_who_wait() {
    let (shares, noisy, _) = crowded();
    take(&shares, &noisy, false, SHARE);
    let order = RefCell::new(Vec::new());
    let wait = async |who| {
        shares.turn(&noisy).await;
        order.borrow_mut().push((who, take(&shares, &noisy, true, 5)));
    };
    let (mut ada, mut bob, mut eve) = (pin!(wait("ada")), pin!(wait("bob")), pin!(wait("eve")));
    assert!(look(ada.as_mut()).is_pending());
    assert!(look(bob.as_mut()).is_pending());
    assert!(look(eve.as_mut()).is_pending());
    assert!(shares.begin_round());
    assert_eq!(take(&shares, &noisy, false, 1), 0, "there is a line");
    assert!(look(eve.as_mut()).is_pending());
    assert!(look(bob.as_mut()).is_pending());
    assert!(look(ada.as_mut()).is_ready());
    assert!(look(eve.as_mut()).is_pending());
    assert!(look(bob.as_mut()).is_ready(), "something was left");
    assert!(look(eve.as_mut()).is_pending(), "nothing was left");
    shares.begin_round();
    assert!(look(eve.as_mut()).is_ready());
    assert_eq!(*order.borrow(), [("ada", 5), ("bob", SHARE - 5), ("eve", 5)]);
    assert!(!shares.begin_round(), "nobody waits");
}

#[test]
fn a_round_is_told_whether_somebody_quiet_was_in_it() {
    let (shares, noisy, quiet) = crowded();
    take(&shares, &noisy, false, SHARE);
    let mut lined = pin!(shares.turn(&noisy));
    assert!(look(lined.as_mut()).is_pending());
    shares.served().has_quiet = false;
    shares.took(&noisy, Portion { left: 1, taken: 1 });
    assert!(!shares.served().has_quiet);
    take(&shares, &quiet, false, 1);
    assert!(shares.served().has_quiet);
}

#[test]
fn who_only_watches_is_not_served() {
    let (shares, noisy, idle) = crowded();
    shares.served().forget();
    take(&shares, &noisy, false, 1);
    assert!(!shares.portion_to_watch(&idle, false).is_spent());
    shares.served().forget();
    assert_eq!(shares.portion_to_watch(&idle, false).left, usize::MAX, "it is not known");
    assert_eq!(take(&shares, &noisy, false, 1_000), 1_000, "nobody else is");
}

#[test]
fn who_leaves_the_line_passes_the_turn_on() {
    let (shares, noisy, _) = crowded();
    take(&shares, &noisy, false, SHARE);
    let mut gone = Box::pin(shares.turn(&noisy));
    let mut next = pin!(shares.turn(&noisy));
    assert!(look(gone.as_mut()).is_pending());
    assert!(look(next.as_mut()).is_pending());
    shares.begin_round();
    drop(gone);
    assert!(look(next.as_mut()).is_ready());
}

#[test]
fn when_the_others_are_gone_the_line_is_too() {
    let (shares, noisy, _) = crowded();
    take(&shares, &noisy, false, SHARE);
    let mut lined: Vec<_> = (0..3).map(|_| Box::pin(shares.turn(&noisy))).collect();
    assert!(lined.iter_mut().all(|waits| look(waits.as_mut()).is_pending()));
    shares.served().forget();
    shares.served().forget();
    shares.begin_round();
    assert!(lined.iter_mut().all(|waits| look(waits.as_mut()).is_ready()));
    assert_eq!(take(&shares, &noisy, false, 1_000), 1_000);
}
