//! The requests and answers of every side in a cycle, and the record of a contended lock.

mod baton;
mod bullmq;
mod contention;
mod cycle;
mod etcd;
mod postgres;
mod redis;

use super::cycle::{NextStep, Script};

/// The requests of a script after each of these answers. All but the last must continue the cycle.
fn asked(script: &mut impl Script, answers: &[&[u8]]) -> Vec<Vec<u8>> {
    let hear = |(number, answer): (usize, &&[u8])| {
        let mut out = Vec::new();
        let then = script.hear(answer, true, &mut out);
        let is_last = number + 1 == answers.len();
        assert_eq!(
            then,
            Ok(if is_last { NextStep::Over } else { NextStep::GoesOn }),
            "answer {number}"
        );
        out
    };
    answers.iter().enumerate().map(hear).collect()
}

/// Why a script refuses the last of these answers.
fn refusal(script: &mut impl Script, answers: &[&[u8]]) -> String {
    let (last, before) = answers.split_last().unwrap();
    for answer in before {
        assert_eq!(script.hear(answer, true, &mut Vec::new()), Ok(NextStep::GoesOn));
    }
    script.hear(last, true, &mut Vec::new()).unwrap_err()
}
