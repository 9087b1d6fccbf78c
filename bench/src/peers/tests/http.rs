use super::super::driver::Answers;
use super::super::http::Http;
use super::{assert_needs_every_byte, take_all};

#[test]
fn an_answer_is_taken_when_its_body_is_whole() {
    let plain = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n\r\n\r\n!";
    let other_case =
        b"HTTP/1.1 201 Created\r\nDate: x\r\nContent-Length:  2\r\nETag: \"1\"\r\n\r\nab";
    let empty = b"HTTP/1.1 204 No Content\r\ncontent-length: 0\r\n\r\n";
    for answer in [&plain[..], other_case, empty] {
        assert_needs_every_byte(|| Http, answer, true);
    }
}

#[test]
fn several_answers_are_taken_one_by_one() {
    let answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nab";
    let (taken, replies, left) = take_all(&mut Http, answer.repeat(3).as_bytes()).unwrap();
    assert_eq!((taken.len(), replies.len(), left), (3, 0, 0));
}

#[test]
fn other_statuses_and_unknown_ends_are_refused() {
    for refusal in [
        "HTTP/1.1 409 Conflict\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\n",
        "HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
        "no HTTP at all\n",
    ] {
        assert!(Http.take(refusal.as_bytes(), &mut Vec::new()).is_err(), "{refusal:?}");
    }
}
