use super::super::cycle::{NextStep, Script};
use super::super::postgres::Row;
use crate::peers::postgres::call;

const READY: &[u8] = b"Z\0\0\0\x05I";
/// Two columns: 17 and {}.
const ROW: &[u8] = b"D\0\0\0\x12\0\x02\0\0\0\x0217\0\0\0\x02{}";

fn done(tag: &str) -> Vec<u8> {
    [b"C\0\0\0\0", tag.as_bytes(), b"\0"].concat()
}

#[test]
fn the_row_that_was_claimed_is_deleted() {
    let mut script = Row::new("type-1", "agent-1");
    for _ in 0..2 {
        let mut out = Vec::new();
        let (insert, update, delete) = (done("INSERT 0 1"), done("UPDATE 1"), done("DELETE 1"));
        for element in [&insert[..], ROW, &update, &delete] {
            let then = script.hear(element, false, &mut out);
            assert_eq!((then, out.len()), (Ok(NextStep::GoesOn), 0));
            if element != ROW {
                let expected = if element == delete { NextStep::Over } else { NextStep::GoesOn };
                assert_eq!(script.hear(READY, true, &mut out), Ok(expected));
            }
            match element {
                _ if element == insert => assert_eq!(out, call("claim", &["type-1", "agent-1"])),
                _ if element == update => assert_eq!(out, call("complete", &["17"])),
                _ => assert!(out.is_empty()),
            }
            out.clear();
        }
    }
}

#[test]
fn a_statement_that_changed_no_row_fails_the_run() {
    for tag in ["INSERT 0 0", "UPDATE 0", "DELETE 0", "UPDATE 11"] {
        let refused = Row::new("t", "a").hear(&done(tag), false, &mut Vec::new());
        assert!(refused.unwrap_err().starts_with("refused: "), "{tag}");
    }
    let mut script = Row::new("t", "a");
    assert_eq!(script.hear(READY, true, &mut Vec::new()), Ok(NextStep::GoesOn));
    let refused = script.hear(READY, true, &mut Vec::new()).unwrap_err();
    assert_eq!(refused, "refused: no row was claimed");
}
