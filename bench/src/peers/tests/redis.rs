use super::super::driver::{Answers, Requests, decimal};
use super::super::redis::{CompareAndSet, Resp, array, set_and_publish};
use super::{assert_needs_every_byte, take_all};

#[test]
fn commands_are_arrays_of_their_words() {
    assert_eq!(array(&["GET", "a"]), b"*2\r\n$3\r\nGET\r\n$1\r\na\r\n");
    let both = set_and_publish("k", "c", "v");
    let set = b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n";
    assert_eq!(both, [&set[..], b"*3\r\n$7\r\nPUBLISH\r\n$1\r\nc\r\n$1\r\nv\r\n"].concat());
}

#[test]
fn every_call_compares_with_the_version_that_the_one_before_made() {
    let mut calls = CompareAndSet::new("abc", "k", "v");
    let mut out = Vec::new();
    (0..11).for_each(|_| calls.next(&mut out));
    let call = |version: &str| array(&["EVALSHA", "abc", "1", "k", version, "v"]);
    let expected: Vec<u8> = (0..11).flat_map(|version| call(&version.to_string())).collect();
    assert_eq!(out, expected);
}

#[test]
fn an_answer_is_taken_when_it_is_whole() {
    let message = b"*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$2\r\n\r\n\r\n";
    for answer in [&b"+OK\r\n"[..], b":1000\r\n", b"$3\r\na\nb\r\n", b"$0\r\n\r\n", message] {
        assert_needs_every_byte(|| Resp, answer, true);
    }
}

#[test]
fn several_answers_are_taken_one_by_one() {
    let (taken, _, left) = take_all(&mut Resp, b"+OK\r\n$1\r\na\r\n:4\r\n$5\r\nab").unwrap();
    assert_eq!(taken.iter().map(|taken| taken.bytes).collect::<Vec<_>>(), [5, 7, 4]);
    assert_eq!(left, 6);
}

#[test]
fn errors_and_nothing_are_refusals() {
    for refusal in ["-ERR no\r\n", "$-1\r\n", ":-1\r\n", "*-1\r\n", "?\r\n", "\r\n", "$\r\n"] {
        let taken = Resp.take(refusal.as_bytes(), &mut Vec::new());
        assert!(taken.unwrap_err().starts_with("refused: "), "{refusal:?}");
    }
    let within = Resp.take(b"*2\r\n+OK\r\n-ERR no\r\n", &mut Vec::new());
    assert_eq!(within.unwrap_err(), "refused: -ERR no");
}

#[test]
fn a_number_has_digits_only_and_fits() {
    assert_eq!(decimal(b"1024"), Some(1024));
    for digits in [&b""[..], b"-1", b"1 ", b"99999999999999999999999"] {
        assert_eq!(decimal(digits), None);
    }
}
