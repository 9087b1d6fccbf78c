use super::super::redis::{Entry, Lock};
use super::{asked, refusal};
use crate::peers::redis::array;

const ADDED: &[u8] = b"$3\r\n5-0\r\n";
const READ: &[u8] =
    b"*1\r\n*2\r\n$1\r\ns\r\n*1\r\n*2\r\n$3\r\n5-0\r\n*2\r\n$10\r\ndefinition\r\n$2\r\n{}\r\n";

#[test]
fn what_is_read_is_acknowledged_and_deleted() {
    let mut script = Entry::new("s", "agent-1");
    for _ in 0..2 {
        let requests = asked(&mut script, &[ADDED, READ, b":1\r\n", b":1\r\n"]);
        let read = "XREADGROUP GROUP workers agent-1 COUNT 1 STREAMS s >";
        assert_eq!(requests[0], array(&read.split(' ').collect::<Vec<_>>()));
        let both = [array(&["XACK", "s", "workers", "5-0"]), array(&["XDEL", "s", "5-0"])];
        assert_eq!(requests[1], both.concat());
        assert!(requests[2].is_empty() && requests[3].is_empty());
    }
}

#[test]
fn an_entry_that_was_not_ours_fails_the_run() {
    let script = || Entry::new("s", "agent-1");
    assert_eq!(refusal(&mut script(), &[ADDED, READ, b":0\r\n"]), "refused: :0\\r\\n");
    assert_eq!(refusal(&mut script(), &[ADDED, READ, b":1\r\n", b":0\r\n"]), "refused: :0\\r\\n");
    assert_eq!(refusal(&mut script(), &[ADDED, b"*0\r\n"]), "refused: *0\\r\\n");
}

#[test]
fn what_is_acquired_is_released() {
    let mut script = Lock { release: b"release".to_vec(), is_held: false };
    for _ in 0..2 {
        assert_eq!(asked(&mut script, &[b"+OK\r\n", b":1\r\n"]), [&b"release"[..], b""]);
    }
    assert_eq!(refusal(&mut script, &[b"+OK\r\n", b":0\r\n"]), "refused: :0\\r\\n");
}
