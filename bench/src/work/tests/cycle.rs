use super::super::cycle::{Cycles, FirstRequest, NextStep, Script, refused};
use crate::peers::driver::{Answers, Element, Requests};
use crate::peers::tests::take_all;

/// One byte each: `p` is the protocol's own and is replied to, everything else is an answer.
struct Bytes;

impl Answers for Bytes {
    fn take(&mut self, bytes: &[u8], replies: &mut Vec<u8>) -> Result<Option<Element>, String> {
        match bytes.first() {
            Some(b'p') => {
                replies.push(b'P');
                Ok(Some(Element::other(1)))
            }
            Some(_) => Ok(Some(Element::answer(1))),
            None => Ok(None),
        }
    }
}

/// Sends `b` after `a`, ends with `c`, and accepts nothing else.
struct Alphabet;

impl Script for Alphabet {
    fn hear(
        &mut self,
        element: &[u8],
        is_answer: bool,
        out: &mut Vec<u8>,
    ) -> Result<NextStep, String> {
        match (element, is_answer) {
            (b"a", true) => {
                out.push(b'b');
                Ok(NextStep::GoesOn)
            }
            (b"c", true) => Ok(NextStep::Over),
            (b"p", false) => Ok(NextStep::GoesOn),
            _ => Err(refused(element)),
        }
    }
}

#[test]
fn a_cycle_is_one_answer_however_many_it_has() {
    let mut cycles = Cycles { protocol: Bytes, script: Alphabet };
    let (taken, replies, left) = take_all(&mut cycles, b"apcac").unwrap();
    let is_over: Vec<bool> = taken.iter().map(|taken| taken.is_answer).collect();
    assert_eq!(is_over, [false, false, true, false, true]);
    assert_eq!((&replies[..], left), (&b"bPb"[..], 0));
}

#[test]
fn what_a_script_does_not_want_fails_the_run() {
    let mut cycles = Cycles { protocol: Bytes, script: Alphabet };
    assert_eq!(take_all(&mut cycles, b"a\n").unwrap_err(), "refused: \\n");
}

#[test]
fn every_cycle_opens_with_the_same() {
    let (mut opening, mut out) = (FirstRequest(b"ab".to_vec()), Vec::new());
    (0..2).for_each(|_| opening.next(&mut out));
    assert_eq!(out, b"abab");
}
