use super::super::cycle::{NextStep, Script};
use super::super::etcd::{Stepped, Unlock};
use crate::peers::driver::Requests;

/// Streams of the two frames of a call.
fn streams(call: &[u8]) -> [u32; 2] {
    let second = 9 + usize::from(call[2]);
    [5, second + 5].map(|at| u32::from_be_bytes(call[at..at + 4].try_into().unwrap()))
}

#[test]
fn both_calls_of_a_cycle_have_streams_that_only_grow() {
    let mut lock = Stepped::new(1, b"lock", 7);
    let unlock = Stepped::new(2, b"unlock", 9);
    let mut script = Unlock { unlock, is_held: false };
    let mut seen = Vec::new();
    for _ in 0..3 {
        let mut call = Vec::new();
        lock.next(&mut call);
        assert!(call.ends_with(b"lock"));
        seen.push(streams(&call));
        call.clear();
        assert_eq!(script.hear(b"", false, &mut call), Ok(NextStep::GoesOn));
        assert!(call.is_empty());
        assert_eq!(script.hear(b"", true, &mut call), Ok(NextStep::GoesOn));
        assert!(call.ends_with(b"unlock"));
        seen.push(streams(&call));
        call.clear();
        assert_eq!((script.hear(b"", true, &mut call), call.len()), (Ok(NextStep::Over), 0));
    }
    assert_eq!(seen, [7, 9, 11, 13, 15, 17].map(|stream| [stream; 2]));
}
