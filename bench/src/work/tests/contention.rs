//! The record of holds, and fake clients of locks.

use std::time::Duration;

use super::super::contention::{Arena, Contender, contend};
use crate::Outcome;

const TURN: Duration = Duration::from_millis(20);

/// Every client gets it.
struct Open;

impl Contender for Open {
    fn acquire(&mut self) -> Outcome<()> {
        Ok(())
    }

    fn release(&mut self) -> Outcome<()> {
        Ok(())
    }
}

/// No client gets it.
struct Closed;

impl Contender for Closed {
    fn acquire(&mut self) -> Outcome<()> {
        Err("refused".into())
    }

    fn release(&mut self) -> Outcome<()> {
        Ok(())
    }
}

fn outcome(contenders: Vec<Box<dyn Contender>>) -> Outcome<crate::peers::driver::TurnResult> {
    contend(contenders, TURN, std::process::id())
}

#[test]
fn only_those_who_waited_are_handed_the_lock() {
    let arena = Arena::new();
    arena.is_held(1_000, 2_000).unwrap();
    assert!(arena.hand_overs().total() < 0.5, "it had no holder before");
    arena.is_let_go(3_000);
    arena.is_held(3_500, 4_000).unwrap();
    assert!(arena.hand_overs().total() < 0.5, "it was free when it was asked for");
    arena.is_let_go(5_000);
    arena.is_held(4_500, 105_000).unwrap();
    assert!((arena.hand_overs().total() - 1.0).abs() < 0.5);
    let took_us = arena.hand_overs().quantile_us(0.5);
    assert!((98.0..102.0).contains(&took_us), "{took_us} µs instead of 100");
}

#[test]
fn two_holders_fail_the_run() {
    let arena = Arena::new();
    arena.is_held(1_000, 2_000).unwrap();
    let error = arena.is_held(1_000, 2_000).unwrap_err();
    assert_eq!(error.to_string(), "2 clients hold the lock at once");
}

#[test]
fn nobody_who_waits_is_nothing_measured() {
    let error = outcome(vec![Box::new(Open)]).unwrap_err();
    assert_eq!(error.to_string(), "the lock was never handed over");
}

#[test]
fn a_refusal_fails_the_run_at_once() {
    let error = outcome(vec![Box::new(Closed)]).unwrap_err();
    assert_eq!(error.to_string(), "refused");
}
